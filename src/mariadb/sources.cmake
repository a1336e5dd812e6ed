# SPDX-License-Identifier: MIT
set(mariadb_sources
  src/mariadb/capacity.c
  src/mariadb/connection.c
  src/mariadb/driver.c
  src/mariadb/interrupt.c
  src/mariadb/later.c
  src/mariadb/server.c
  src/mariadb/statements.c
  src/mariadb/tls.c
  src/mariadb/url.c
  src/mariadb/words.c
  src/mariadb/work.c
)
set(mariadb_first_header mysql.h)
