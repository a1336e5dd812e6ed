# Tests of src/actor
cenote_test(unit/actor/actor_test.c WORLD)
cenote_test(unit/actor/ask_test.c WORLD)
cenote_test(unit/actor/later_test.c WORLD)
cenote_test(unit/actor/stop_test.c WORLD)
cenote_test(unit/actor/refusal_test.c WORLD)
cenote_test(unit/actor/watch_test.c WORLD)
cenote_test(unit/actor/describe_test.c WORLD)
cenote_test(unit/actor/cancel_test.c REAL)
cenote_test(unit/actor/fork_test.c REAL)
cenote_test(faults/actor_faults_test.c WORLD support/faults.c)

# Under every schedule
cenote_test(explore/actor_test.c WORLD)
cenote_test(explore/actor_later_test.c WORLD)
cenote_test(explore/actor_watch_test.c WORLD)

# Load on real threads
cenote_test(stress/actor_stress.c REAL)
cenote_test(stress/actor_stress.c PORTABLE)
