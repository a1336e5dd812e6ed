# Tests of src/rcu
cenote_test(unit/rcu/bin_test.c WORLD)
cenote_test(unit/rcu/thread_test.c REAL)
cenote_test(unit/rcu/thread_test.c PORTABLE)
cenote_test(unit/rcu/fork_test.c REAL)

# Under every schedule
cenote_test(explore/rcu_test.c WORLD)
