# watch: what a program sees of all that lives in it
list(APPEND cenote_sources
  src/watch/dump.c
  src/watch/keep.c
  src/watch/listen.c
  src/watch/events.c
  src/watch/component.c)
