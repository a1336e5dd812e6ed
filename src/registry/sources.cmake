list(APPEND route_sources
  src/registry/change.c
  src/registry/index.c
  src/registry/key.c
  src/registry/keys.c
  src/registry/new.c
  src/registry/owner.c
  src/registry/read.c
  src/registry/shelf.c
  src/registry/describe.c
  src/registry/tell.c)
