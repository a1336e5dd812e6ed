# Tests of src/pool
include(pool_unit.cmake OPTIONAL)
include(pool_explore.cmake OPTIONAL)
include(pool_model.cmake OPTIONAL)
cenote_test(explore/pool_role_test.c WORLD)
cenote_test(explore/pool_surplus_test.c WORLD)
