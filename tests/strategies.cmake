# Tests of the strategies of src/router. Each has a manual runtime with virtual time; those that count picks are quick on the real seam.
cenote_test(unit/router/strategy_random_test.c REAL)
cenote_test(unit/router/strategy_weighted_test.c REAL)
cenote_test(unit/router/strategy_round_robin_test.c REAL)
cenote_test(unit/router/strategy_strict_test.c REAL)
cenote_test(unit/router/strategy_least_test.c REAL)
cenote_test(unit/router/strategy_two_choices_test.c REAL)
cenote_test(unit/router/strategy_peak_ewma_test.c REAL)
cenote_test(unit/router/strategy_consistent_hash_test.c REAL)
cenote_test(unit/router/strategy_quick_test.c REAL)
cenote_test(unit/router/strategy_own_test.c REAL)
cenote_test(unit/router/strategy_memory_test.c REAL)

# Under every schedule
cenote_test(explore/strategy_test.c WORLD)
