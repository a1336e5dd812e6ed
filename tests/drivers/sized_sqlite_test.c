/* SPDX-License-Identifier: MIT */
/* The ABI rule of cenote/sized.h for every struct of libcenote-sqlite. */
#include <cenote/cenote.h>
#include <cenote/sqlite.h>

#include "support/sized.h"
#include "support/test.h"

static cen_lease lease;

static void fill_options(void *full)
{
    ((cen_sqlite_options *)full)->path = ":memory:";
}

static cen_status call_options(void *given)
{
    cen_pool *pool = NULL;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_sqlite_with(given));
    cen_status status = cen_pool_new(&options, &pool, NULL);
    expect_equal(cen_pool_free(pool), CEN_OK);
    return status;
}

static void fill_pool(void *full)
{
    ((cen_sqlite_pool_options *)full)->path = ":memory:";
}

static cen_status call_pool(void *given)
{
    cen_sqlite_pool *both = NULL;
    cen_status status = cen_sqlite_pool_new(given, &both, NULL);
    if (!both) return status;
    expect_equal(cen_sqlite_pool_close(both, cen_in_s(30), NULL), CEN_OK);
    expect_equal(cen_sqlite_pool_free(both), CEN_OK);
    return status;
}

static cen_status call_pool_database(void *given)
{
    cen_sqlite_pool_options options = CEN_SQLITE_POOL_OPTIONS(.path = ":memory:", .database = given);
    return call_pool(&options);
}

static cen_status call_pool_pool(void *given)
{
    cen_sqlite_pool_options options = CEN_SQLITE_POOL_OPTIONS(.path = ":memory:", .pool = given);
    return call_pool(&options);
}

static cen_status call_look(void *given)
{
    return cen_sqlite_cache_get(lease.object, given);
}

/* guarantees: sized.every-size */
TEST(structs_of_every_size_are_accepted)
{
    static const sized_case cases[] = {
        SIZED_INPUT(cen_sqlite_options, path, fill_options, call_options),
        SIZED_INPUT(cen_sqlite_options, size, NULL, call_pool_database),
        SIZED_INPUT(cen_pool_options, size, NULL, call_pool_pool),
        SIZED_INPUT(cen_sqlite_pool_options, path, fill_pool, call_pool),
        SIZED_OUTPUT(cen_sqlite_cache, call_look),
    };
    cen_pool *pool = NULL;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_sqlite(":memory:"));
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    expect_equal(cen_pool_take(pool, cen_in_s(30), &lease, NULL), CEN_OK);
    SIZED_TRY(cases);
    cen_pool_give(&lease);
    expect_equal(cen_pool_free(pool), CEN_OK);
}
