# SPDX-License-Identifier: MIT
set(curl_sources
  src/curl/body.c
  src/curl/driver.c
  src/curl/exit.c
  src/curl/flight.c
  src/curl/get.c
  src/curl/http.c
  src/curl/link.c
  src/curl/loop.c
  src/curl/process.c
  src/curl/record.c
  src/curl/site.c
  src/curl/sockets.c
  src/curl/stream.c
  src/curl/words.c
)
