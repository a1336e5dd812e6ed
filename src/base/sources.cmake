list(APPEND cenote_sources
  src/base/alloc.c
  src/base/fault.c
  src/base/hash.c
  src/base/heap.c
  src/base/plant.c
  src/base/sized.c
  src/base/status.c)
