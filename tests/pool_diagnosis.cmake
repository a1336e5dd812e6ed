# Tests of what a pool tells: events, the texts of failures, explain
cenote_test(unit/pool/events_test.c WORLD)
cenote_test(unit/pool/events_inside_test.c WORLD)
cenote_test(unit/pool/events_real_test.c REAL)
cenote_test(unit/pool/explain_test.c WORLD)
cenote_test(unit/pool/explain_large_test.c REAL)
cenote_test(explore/pool_events_test.c WORLD)
cenote_test(explore/pool_explain_test.c WORLD)
