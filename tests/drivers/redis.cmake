# SPDX-License-Identifier: MIT
# Tests of libcenote-redis
# cenote_redis_test(file [source...]): beside the driver, with Redis
function(cenote_redis_test file)
  cenote_server_test(${file} ${ARGN} drivers/redis_place.c LIBS redis-tested)
endfunction()
cenote_redis_test(drivers/redis_conformance_test.c drivers/conformance.c)
cenote_redis_test(drivers/redis_dirty_test.c)
cenote_redis_test(drivers/redis_loop_test.c)
cenote_redis_test(drivers/redis_server_test.c)
cenote_redis_test(drivers/redis_failure_test.c)
cenote_redis_test(drivers/sized_redis_test.c support/sized.c)

cenote_test(drivers/redis_url_test.c REAL)
target_link_libraries(drivers-redis_url_test PRIVATE redis-tested)
