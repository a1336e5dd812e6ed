list(APPEND cenote_sources
  src/actor/actor.c
  src/actor/later.c
  src/actor/new.c
  src/actor/refusal.c
  src/actor/stop.c
  src/actor/watch.c)
