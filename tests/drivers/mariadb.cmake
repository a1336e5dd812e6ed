# SPDX-License-Identifier: MIT
# The suite of all drivers, and what is MariaDB's own, beside a real server.
cenote_server_test(drivers/mariadb_conformance_test.c drivers/conformance.c LIBS mariadb-tested)
cenote_server_test(drivers/mariadb_url_test.c LIBS mariadb-tested)
cenote_server_test(drivers/mariadb_session_test.c LIBS mariadb-tested)
cenote_server_test(drivers/mariadb_life_test.c LIBS mariadb-tested)
cenote_server_test(drivers/sized_mariadb_test.c support/sized.c LIBS mariadb-tested)
cenote_server_test(drivers/mariadb_tls_test.c LIBS mariadb-tested)
cenote_server_test(drivers/mariadb_memory_test.c LIBS mariadb-tested)
foreach(wrapped calloc malloc strdup strndup)
  target_link_options(drivers-mariadb_memory_test PRIVATE -Wl,--wrap=${wrapped})
endforeach()
