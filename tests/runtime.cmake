# Tests of src/runtime
# What needs processes, descriptors or the system's threads runs on the real
# seam; all else in a world, in virtual time.
cenote_test(unit/runtime/alarm_test.c WORLD)
cenote_test(unit/runtime/errand_test.c WORLD)
cenote_test(unit/runtime/executor_test.c WORLD)
cenote_test(unit/runtime/life_test.c WORLD)
cenote_test(unit/runtime/limit_test.c WORLD)
cenote_test(unit/runtime/manual_test.c WORLD)
cenote_test(unit/runtime/timer_test.c WORLD)
cenote_test(unit/runtime/poll_test.c REAL)
cenote_test(unit/runtime/poll_test.c PORTABLE)
cenote_test(unit/runtime/own_test.c REAL)
cenote_test(unit/runtime/exit_test.c REAL)
cenote_test(unit/runtime/fork_test.c REAL)
cenote_test(unit/runtime/timer_fork_test.c REAL)
cenote_test(faults/runtime_faults_test.c WORLD support/faults.c)

# Under every schedule
cenote_test(explore/process_exit_test.c WORLD)
cenote_test(explore/runtime_alarm_test.c WORLD)
cenote_test(explore/runtime_errand_test.c WORLD)
cenote_test(explore/runtime_executor_test.c WORLD)
cenote_test(explore/runtime_life_test.c WORLD)
cenote_test(explore/runtime_manual_test.c WORLD)
cenote_test(explore/runtime_timer_test.c WORLD)

# Load on real threads
cenote_test(stress/runtime_stress.c REAL)
cenote_test(stress/runtime_stress.c PORTABLE)
