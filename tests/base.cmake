# Tests of src/base
cenote_test(unit/base/alloc_test.c REAL)
cenote_test(unit/base/list_test.c REAL)
cenote_test(unit/base/status_test.c REAL)
