# SPDX-License-Identifier: MIT
# Tests of libcenote-pq
# cenote_pq_test(file): beside the driver, with PostgreSQL
function(cenote_pq_test file)
  cenote_server_test(${file} drivers/pq_place.c drivers/conformance.c LIBS pq-tested)
endfunction()
cenote_pq_test(drivers/pq_conformance_test.c)
cenote_pq_test(drivers/pq_statements_test.c)
cenote_pq_test(drivers/pq_reset_test.c)
cenote_pq_test(drivers/pq_role_test.c)
cenote_pq_test(drivers/pq_session_test.c)
cenote_pq_test(drivers/pq_open_test.c)
cenote_server_test(drivers/sized_pq_test.c drivers/pq_place.c drivers/conformance.c support/sized.c LIBS pq-tested)
cenote_pq_test(drivers/pq_memory_test.c)
foreach(wrapped calloc malloc strdup strndup)
  target_link_options(drivers-pq_memory_test PRIVATE -Wl,--wrap=${wrapped})
endforeach()
