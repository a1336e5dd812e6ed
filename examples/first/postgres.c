/* SPDX-License-Identifier: MIT */
/* A connection pool for PostgreSQL. The environment (PGHOST, PGUSER, ...) says where the server is.
 * cc postgres.c $(pkg-config --cflags --libs cenote-pq) */
#include <cenote/cenote.h>
#include <cenote/pq.h>
#include <stdio.h>

int main(void)
{
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "shop", .driver = cen_pq("postgresql:///postgres"), .max = 10,
                                                .max_lifetime_ns = CEN_MINUTES(30), .idle_timeout_ns = CEN_MINUTES(10));
    cen_pool *pool;
    cen_error error;
    int status = 1;
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), 1;
    CEN_WITH (pool, cen_in_s(5), PGconn *, conn, &error) {
        PGresult *result = NULL;
        if (cen_pq_run(conn, "select 6 * 7", 0, NULL, &result, &error) == CEN_OK) {
            printf("the server says %s\n", PQgetvalue(result, 0, 0));
            status = 0;
        } else puts(error.text);
        PQclear(result);
    } else puts(error.text);
    cen_pool_close(pool, cen_in_s(5), NULL, NULL);
    cen_pool_free(pool);
    return status;
}
