list(APPEND net_sources
  src/net/address.c
  src/net/client.c
  src/net/close.c
  src/net/connect.c
  src/net/lookup.c
  src/net/loop.c
  src/net/mux.c
  src/net/pool.c
  src/net/pool_async.c
  src/net/pool_connection.c
  src/net/pool_look.c
  src/net/server.c
  src/net/socket.c
  src/net/watch.c)
