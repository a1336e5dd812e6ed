# SPDX-License-Identifier: MIT
set(sqlite_sources
  src/sqlite/base.c
  src/sqlite/driver.c
  src/sqlite/open.c
  src/sqlite/pool.c
  src/sqlite/statements.c
  src/sqlite/table.c
  src/sqlite/tell.c
)
