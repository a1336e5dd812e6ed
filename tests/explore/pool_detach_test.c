/* SPDX-License-Identifier: MIT */
/*
 * Detach and give of one lease, in every order (L13); backtraces that are read
 * while the next is written (L19).
 */
#include "explore/pools.h"

/* ---- Detach and give ------------------------------------------------------------------------ */

static void detach_lease(void *into)
{
    taker *self = into;
    self->status = cen_pool_detach(&self->lease);
}

static bool is_detached(void)
{
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect_equal(count, 1);
    return holding.is_detached;
}

/* A lease is given and its slot lent again while somebody detaches it. */
/* guarantees: pool.L13 */
EXPLORE(L13_a_detach_that_meets_a_give_leaves_the_next_lease_alone, 4)
{
    make_filled((cen_pool_options){.max = 1});
    cen_lease mine = take_one();
    taker other = {.lease = mine};
    ceni_thread detaching = start("detach", detach_lease, &other);
    give_one(mine);
    cen_lease next = take_one();
    join(detaching);
    expect(other.status == CEN_OK || other.status == CEN_STALE);
    expect(!is_detached());
    give_one(next);
    expect_rest(1);
    end();
}

/* guarantees: pool.L13 */
EXPLORE(L13_two_who_detach_one_lease_both_do, 4)
{
    make_filled((cen_pool_options){.max = 1});
    taker mine = {.lease = take_one()}, other = mine;
    ceni_thread detaching = start("detach", detach_lease, &other);
    detach_lease(&mine);
    join(detaching);
    expect(mine.status == CEN_OK && other.status == CEN_OK);
    expect(is_detached());
    give_one(mine.lease);
    expect_rest(1);
    end();
}

/* ---- Backtraces ------------------------------------------------------------------------------------- */

/* Every address says whose it is: a trace is of the thread that holds, or is not shown. */
EXPLORE(L19_no_trace_is_shown_for_the_lease_of_another, 3)
{
    make_filled((cen_pool_options){.max = 1, .backtraces = true});
    cen_lease mine = take_one();
    give_one(mine);
    taker other = {.deadline = CEN_NOW};
    ceni_thread taking = start("take", take_and_give, &other);
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    if (count) {
        expect(holding.backtrace_count == 0 || holding.backtrace_count == 3);
        for (uint32_t i = 0; i < holding.backtrace_count; i++)
            expect((uintptr_t)holding.backtrace[i] == (holding.holder << 8 | (i + 1)));
    }
    join(taking);
    expect_rest(1);
    end();
}
