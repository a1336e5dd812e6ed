# Tests of src/supervisor
cenote_test(unit/supervisor/life_test.c WORLD)
cenote_test(unit/supervisor/intensity_test.c WORLD)
cenote_test(unit/supervisor/restart_test.c WORLD)
cenote_test(unit/supervisor/strategy_test.c WORLD)
cenote_test(unit/supervisor/limit_test.c WORLD)
cenote_test(unit/supervisor/dynamic_test.c WORLD)
cenote_test(unit/supervisor/nested_test.c WORLD)
cenote_test(unit/supervisor/look_test.c WORLD)
cenote_test(unit/supervisor/describe_test.c WORLD)
cenote_test(unit/supervisor/owner_test.c WORLD)
cenote_test(unit/supervisor/allocator_test.c WORLD)
cenote_test(unit/supervisor/thread_test.c REAL)
cenote_test(unit/supervisor/fork_test.c REAL)
cenote_test(faults/supervisor_faults_test.c WORLD support/faults.c)

# Under every schedule
cenote_test(explore/supervisor_test.c WORLD)

# Load on real threads
cenote_test(stress/supervisor_stress.c REAL)
cenote_test(stress/supervisor_stress.c PORTABLE)
