list(APPEND cenote_sources
  src/crew/stop_request.c
  src/crew/await.c
  src/crew/call.c
  src/crew/clock.c
  src/crew/context.c
  src/crew/idle.c
  src/crew/injector.c
  src/crew/look.c
  src/crew/new.c
  src/crew/describe.c
  src/crew/refusal.c
  src/crew/step.c
  src/crew/stop.c
  src/crew/suspend.c
  src/crew/task.c
  src/crew/threads.c
  src/crew/worker.c)
