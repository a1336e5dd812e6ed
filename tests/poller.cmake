# Tests of src/poller: descriptors of the system, so not in a world.
cenote_test(unit/poller/poller_test.c REAL)
