# Tests of src/pool
include(pool_unit.cmake)
include(pool_explore.cmake)
include(pool_model.cmake)
cenote_test(explore/pool_role_test.c WORLD)
cenote_test(explore/pool_surplus_test.c WORLD)
