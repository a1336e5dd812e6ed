# Tests of src/router and src/rcu
cenote_test(unit/router/new_test.c WORLD)
cenote_test(unit/router/sized_route_test.c REAL support/sized.c)
cenote_test(unit/router/member_test.c WORLD)
cenote_test(unit/router/listener_test.c WORLD)
cenote_test(unit/router/route_test.c WORLD)
cenote_test(unit/router/limits_test.c WORLD)
cenote_test(unit/router/backlog_test.c WORLD)
cenote_test(unit/router/time_test.c WORLD)
cenote_test(unit/router/end_test.c WORLD)
cenote_test(unit/router/cells_test.c WORLD)
cenote_test(unit/router/allocator_test.c WORLD)
cenote_test(unit/router/look_test.c WORLD)
cenote_test(unit/router/describe_test.c WORLD)
cenote_test(unit/router/threads_test.c REAL)
cenote_test(unit/router/fork_test.c REAL)
cenote_test(faults/router_faults_test.c WORLD support/faults.c)

# Under every schedule
cenote_test(explore/router_test.c WORLD)
cenote_test(explore/router_end_test.c WORLD)
cenote_test(explore/router_free_test.c WORLD)
cenote_test(explore/router_wait_test.c WORLD)

# Load on real threads
cenote_test(stress/router_stress.c REAL)
