/* SPDX-License-Identifier: MIT */
/* The ABI rule of cenote/sized.h for every struct of libcenote-mariadb. */
#include "drivers/mariadb_server.h"
#include "support/sized.h"

static cen_lease lease;

void test_program_begin(void)
{
    mariadb = server_start(SERVER_MARIADB, (const char *const[]){"max_connections=14", NULL});
}

void test_program_end(void)
{
    server_stop(mariadb);
}

static void fill_options(void *full)
{
    ((cen_mariadb_options *)full)->url = "mariadb://127.0.0.1";
}

static cen_status call_options(void *given)
{
    cen_pool *pool = NULL;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_mariadb_with(given));
    cen_status status = cen_pool_new(&options, &pool, NULL);
    expect_equal(cen_pool_free(pool), CEN_OK);
    return status;
}

static cen_status call_capacity(void *given)
{
    return cen_mariadb_capacity(lease.object, 3, given, NULL);
}

static cen_status call_look(void *given)
{
    return cen_mariadb_cache_get(lease.object, given);
}

/* guarantees: sized.every-size */
TEST(structs_of_every_size_are_accepted)
{
    static const sized_case cases[] = {
        SIZED_INPUT(cen_mariadb_options, url, fill_options, call_options),
        SIZED_OUTPUT(cen_mariadb_capacity_report, call_capacity),
        SIZED_OUTPUT(cen_mariadb_cache, call_look),
    };
    cen_pool *pool = NULL;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_mariadb(server_url(mariadb)));
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    expect_equal(cen_pool_take(pool, cen_in_s(30), &lease, NULL), CEN_OK);
    SIZED_TRY(cases);
    cen_pool_give(&lease);
    expect_equal(cen_pool_close(pool, cen_in_s(30), NULL, NULL), CEN_OK);
    expect_equal(cen_pool_free(pool), CEN_OK);
}
