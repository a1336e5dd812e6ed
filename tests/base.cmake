# Tests of src/base
cenote_test(unit/base/heap_test.c WORLD)
cenote_test(unit/base/hash_test.c WORLD)
cenote_test(unit/base/alloc_test.c REAL)
cenote_test(unit/base/list_test.c REAL)
cenote_test(unit/base/status_test.c REAL)
cenote_test(unit/base/sized_test.c REAL support/sized.c)
cenote_test(unit/base/sized_core_test.c REAL support/sized.c)
cenote_test(unit/base/options_test.c REAL)
