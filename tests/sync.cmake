# Tests of src/sync
cenote_test(unit/sync/wheel_test.c WORLD)
cenote_test(explore/waitlist_test.c WORLD)
cenote_test(unit/sync/waitlist_test.c WORLD)
