# Tests of the life of a pool's objects: opening, failure, tests, limits,
# holders, settings. In a world, where helpers and keepers are fibers.
cenote_test(unit/pool/gate_test.c WORLD)
cenote_test(unit/pool/open_test.c WORLD)
cenote_test(unit/pool/failure_test.c WORLD)
cenote_test(unit/pool/outage_table_test.c WORLD)
cenote_test(unit/pool/overdue_test.c WORLD)
cenote_test(unit/pool/check_test.c WORLD)
cenote_test(unit/pool/left_test.c WORLD)
cenote_test(unit/pool/idle_tests_test.c WORLD)
cenote_test(unit/pool/tested_order_test.c WORLD)
cenote_test(unit/pool/trust_test.c WORLD)
cenote_test(unit/pool/checkup_test.c WORLD)
cenote_test(unit/pool/limits_test.c WORLD)
cenote_test(unit/pool/reload_test.c WORLD)
cenote_test(unit/pool/call_limit_test.c WORLD)
cenote_test(unit/pool/holders_test.c WORLD)
cenote_test(unit/pool/pause_test.c WORLD)
cenote_test(unit/pool/settings_test.c WORLD)
cenote_test(unit/pool/manual_life_test.c WORLD)
cenote_test(unit/pool/quick_test.c WORLD)
target_link_options(unit-pool-quick_test PRIVATE -Wl,--wrap=ceni_clock_now -Wl,--wrap=ceni_mutex_lock)
cenote_test(faults/pool_life_faults_test.c WORLD support/faults.c)
cenote_test(unit/pool/classes_test.c WORLD)
cenote_test(unit/pool/demand_test.c WORLD)

# Drivers whose calls are done later
cenote_test(unit/pool/driver_later_test.c WORLD)
cenote_test(unit/pool/tested_first_test.c WORLD)
cenote_test(unit/pool/hanging_test.c WORLD)
target_link_options(unit-pool-hanging_test PRIVATE -Wl,--wrap=ceni_futex_wait)
cenote_test(unit/pool/async_driver_test.c WORLD)

# Those who ask and do not wait
cenote_test(unit/pool/async_test.c WORLD)
cenote_test(unit/pool/async_end_test.c WORLD)
cenote_test(unit/pool/neighbours_test.c WORLD)
cenote_test(unit/pool/async_life_test.c WORLD support/faults.c)
cenote_test(unit/pool/async_many_test.c WORLD)
target_link_options(unit-pool-async_many_test PRIVATE -Wl,--wrap=ceni_wheel_insert -Wl,--wrap=ceni_wheel_cancel
                    -Wl,--wrap=ceni_wheel_next)
cenote_test(explore/pool_async_test.c WORLD)
cenote_test(explore/pool_async_end_test.c WORLD)
cenote_test(unit/pool/original_async_test.c WORLD)

# Gives and closes that are told when they are over
cenote_test(unit/pool/outcome_test.c WORLD)
cenote_test(explore/pool_outcome_test.c WORLD)
