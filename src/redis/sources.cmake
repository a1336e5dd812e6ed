# SPDX-License-Identifier: MIT
set(redis_sources
  src/redis/blocking.c
  src/redis/capacity.c
  src/redis/command.c
  src/redis/driver.c
  src/redis/later.c
  src/redis/ledger.c
  src/redis/channel.c
  src/redis/seal.c
  src/redis/talk.c
  src/redis/url.c
  src/redis/words.c
)
