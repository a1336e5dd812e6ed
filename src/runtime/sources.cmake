list(APPEND cenote_sources
  src/runtime/clock.c
  src/runtime/errands.c
  src/runtime/jobs.c
  src/runtime/keeper.c
  src/runtime/manual.c
  src/runtime/runtime.c
  src/runtime/threads.c
  src/runtime/timer.c)
