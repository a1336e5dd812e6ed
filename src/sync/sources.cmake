list(APPEND cenote_sources
  src/sync/waitlist.c
  src/sync/wheel.c)
