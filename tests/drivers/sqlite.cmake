# SPDX-License-Identifier: MIT
# The suite of all drivers, and what is SQLite's own. No server: files in temporary directories.
cenote_test(drivers/sqlite_conformance_test.c REAL drivers/conformance.c)
cenote_test(drivers/sqlite_test.c REAL)
cenote_test(drivers/sqlite_pool_test.c REAL)
cenote_test(drivers/sqlite_memory_test.c REAL)
cenote_test(drivers/sized_sqlite_test.c REAL support/sized.c)
foreach(program sized_sqlite_test sqlite_conformance_test sqlite_test sqlite_pool_test sqlite_memory_test)
  target_link_libraries(drivers-${program} PRIVATE sqlite-tested)
endforeach()
foreach(wrapped calloc malloc strdup strndup)
  target_link_options(drivers-sqlite_memory_test PRIVATE -Wl,--wrap=${wrapped})
endforeach()
