list(APPEND cenote_sources
  src/record/compact.c
  src/record/directory.c
  src/record/histogram_buckets.c
  src/record/histogram.c
  src/record/event_kinds.c
  src/record/events.c
  src/record/ring.c)
