list(APPEND cenote_sources
  src/record/counter.c
  src/record/directory.c
  src/record/histogram.c
  src/record/ring.c
  src/record/spread.c)
