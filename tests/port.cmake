# Tests of src/port
# The seam as users get it, and where the portable one differs, that as well.
cenote_test(unit/port/deadline_test.c REAL)
cenote_test(unit/port/thread_test.c REAL)
cenote_test(unit/port/thread_exit_test.c REAL)
cenote_test(unit/port/fork_test.c REAL)
cenote_test(unit/port/futex_test.c REAL)
cenote_test(unit/port/futex_test.c PORTABLE)
cenote_test(unit/port/bell_test.c REAL)
cenote_test(unit/port/bell_test.c PORTABLE)
cenote_test(unit/port/mutex_test.c REAL)
cenote_test(unit/port/mutex_explored_test.c WORLD)
cenote_test(unit/port/fake/world_test.c WORLD)
cenote_test(unit/port/fake/order_test.c WORLD)
