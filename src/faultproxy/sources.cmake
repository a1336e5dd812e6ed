list(APPEND faultproxy_sources
  src/faultproxy/address.c
  src/faultproxy/bytes.c
  src/faultproxy/command.c
  src/faultproxy/control.c
  src/faultproxy/faults.c
  src/faultproxy/flow.c
  src/faultproxy/link.c
  src/faultproxy/listener.c
  src/faultproxy/main.c
  src/faultproxy/options.c
  src/faultproxy/proxy.c
  src/faultproxy/stats.c)
