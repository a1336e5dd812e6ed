list(APPEND wire_sources
  src/wire/after.c
  src/wire/requests.c
  src/wire/batch.c
  src/wire/codec.c
  src/wire/exchange.c
  src/wire/input.c
  src/wire/request.c
  src/wire/roles.c
  src/wire/wire.c)
