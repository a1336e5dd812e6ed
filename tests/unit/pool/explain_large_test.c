/* SPDX-License-Identifier: MIT */
/*
 * Explaining a pool of a million objects: one text of a few lines, and a take
 * that fails does not read all slots.
 */
#include <stdlib.h>

#include "pool/internal.h"
#include "unit/pool/pools.h"

enum { MOST = CEN_POOL_MAX };

static cen_lease *leases;
static cen_pool *pool;

static cen_status open_number(void *argument, void **out, cen_error *error)
{
    (void)error;
    *out = (void *)(uintptr_t)++ * (uint32_t *)argument;
    return CEN_OK;
}

static const cen_driver_calls calls = {.size = sizeof(cen_driver_calls), .open = open_number, .closes_nothing = true};

static void make_exhausted(uint32_t *opened)
{
    *opened = 0;
    leases = calloc(MOST, sizeof *leases);
    expect(leases != NULL);
    pool = make_pool(.name = "huge", .max = MOST, .driver = {&calls, opened});
    for (uint32_t i = 0; i < MOST; i++) leases[i] = take_now(pool);
}

TEST(explain_of_a_million_held_objects_is_a_few_lines_and_takes_no_lock_for_long)
{
    uint32_t opened;
    char text[2000];
    make_exhausted(&opened);
    for (int i = 0; i < 2; i++) {
        int64_t began = cen_clock();
        size_t needed = cen_pool_explain(pool, text, sizeof text);
        printf("     explained in %lld ms\n", (long long)((cen_clock() - began) / 1000000));
        expect(needed <= sizeof text);
    }
    expect(strstr(text, "max is 1000000: 1000000 held, 0 idle, 0 opening; 0 waiting.\n") != NULL);
    expect(strstr(text, "  and 999995 more\n") != NULL);
    for (uint32_t i = 0; i < MOST; i++) give_back(&leases[i]);
    free_pool(pool);
    free(leases);
}

/* Reading them all each time would take minutes, and the test has an alarm. */
TEST(a_thousand_takes_that_fail_in_a_pool_of_a_million_do_not_read_all_slots)
{
    uint32_t opened;
    cen_lease none;
    cen_error error;
    make_exhausted(&opened);
    int64_t began = cen_clock();
    for (int i = 0; i < 1000; i++) expect_equal(cen_pool_try_take(pool, &none, &error), CEN_EMPTY);
    int64_t some = cen_clock() - began;
    began = cen_clock();
    char text[2000];
    for (int i = 0; i < 10; i++) cen_pool_explain(pool, text, sizeof text);
    int64_t all = cen_clock() - began;
    printf("     a text of a failure in %lld us, an explanation in %lld us\n", (long long)(some / 1000000),
           (long long)(all / 10000));
    expect(some / 1000 < all / 10);
    expect_error(&error, CEN_EMPTY, "max is 1000000: 1000000 held or idle, 0 opening; 0 waiting.");
    expect_error(&error, CEN_EMPTY, "Held longest: object ");
    for (uint32_t i = 0; i < MOST; i++) give_back(&leases[i]);
    free_pool(pool);
    free(leases);
}
