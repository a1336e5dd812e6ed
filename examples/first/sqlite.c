/* SPDX-License-Identifier: MIT */
/* One SQLite file for many threads: writers take turns, readers run beside them.
 * cc sqlite.c $(pkg-config --cflags --libs cenote-sqlite) */
#include <cenote/cenote.h>
#include <cenote/sqlite.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    char folder[] = "/tmp/first-XXXXXX";
    if (!mkdtemp(folder) || chdir(folder) != 0) return perror(folder), 1;
    cen_sqlite_pool_options options = CEN_SQLITE_POOL_OPTIONS(.path = "orders.db", .readers = 4);
    cen_sqlite_pool *orders;
    cen_error error;
    if (cen_sqlite_pool_new(&options, &orders, &error) != CEN_OK) return puts(error.text), 1;
    CEN_WITH (cen_sqlite_pool_writer(orders), cen_in_s(1), sqlite3 *, db, &error)
        sqlite3_exec(db, "create table t (n); insert into t values (40), (2)", NULL, NULL, NULL);
    CEN_WITH (cen_sqlite_pool_readers(orders), cen_in_s(1), sqlite3 *, db, &error) {
        sqlite3_stmt *sum;
        if (cen_sqlite_prepare(db, "select sum(n) from t", &sum, &error) == CEN_OK && sqlite3_step(sum) == SQLITE_ROW)
            printf("the sum is %d\n", sqlite3_column_int(sum, 0));
    } else puts(error.text);
    cen_sqlite_pool_close(orders, cen_in_s(5), NULL);
    cen_sqlite_pool_free(orders);
    unlink("orders.db");
    return rmdir(folder);
}
