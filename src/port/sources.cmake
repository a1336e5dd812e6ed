list(APPEND cenote_sources
  src/port/deadline.c
  src/port/mutex.c
  src/port/process_exit.c
  src/port/rank.c)
list(APPEND port_common_sources
  src/port/posix/clock.c
  src/port/posix/symbol.c
  src/port/posix/file.c
  src/port/posix/process.c
  src/port/posix/thread.c
  src/port/posix/thread_exit.c
  src/port/posix/thread_watch.c
  src/port/posix/fork.c)
list(APPEND port_linux_sources
  src/port/linux/cancel.c
  src/port/linux/futex.c
  src/port/linux/names.c
  src/port/linux/pages.c
  src/port/linux/bell.c)
list(APPEND port_portable_sources
  src/port/posix/futex.c
  src/port/posix/names.c
  src/port/posix/pages.c
  src/port/posix/bell.c)
list(APPEND port_fake_sources
  src/port/fake/arena.c
  src/port/fake/crash.c
  src/port/fake/explore.c
  src/port/fake/fiber.c
  src/port/fake/memory.c
  src/port/fake/order.c
  src/port/fake/port.c
  src/port/fake/story.c
  src/port/fake/world.c)
list(APPEND port_unwind_sources
  src/port/posix/backtrace.c)
list(APPEND port_no_unwind_sources
  src/port/posix/backtrace_least.c)
