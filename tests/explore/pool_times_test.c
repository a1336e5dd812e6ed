/* SPDX-License-Identifier: MIT */
/*
 * Leases whose time is taken, under every schedule: the longer way that their
 * give goes loses no object, no waiter and no lease, and each is counted once,
 * whoever ends it.
 */
#include "explore/pools.h"

/* Leases that were counted. Time stands still while anybody can run, so all of them took none. */
static uint64_t uses(void)
{
    static cen_histogram all;
    ceni_compact_snapshot(&pool->times->use, pool->times->use_stripes, CENI_USE_STRIPES - 1, &pool->times->use_stock,
                          &all);
    expect_equal(all.buckets[0] + all.buckets[16], all.count); /* the second: what has no line */
    return all.count;
}

/* As if its slot had been lent so often that the next lease is one that is sampled: takes that. */
static cen_lease take_sampled(void)
{
    give_one(take_one());
    uint64_t generation = 1;
    while (!ceni_word_next_is_sampled(ceni_word(generation, CENI_SLOT_HELD | CENI_LISTED))) generation++;
    pool->base[0].word = ceni_word(generation, CENI_SLOT_IDLE | CENI_LISTED); /* there is nobody else yet */
    cen_lease lease = take_one();
    expect(ceni_word_is_sampled(ceni_word(lease.generation, CENI_SLOT_HELD | CENI_LISTED)));
    return lease;
}

static cen_lease make_sampled(void)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 1});
    cen_lease lease = take_sampled();
    expect_equal(uses(), 0);
    return lease;
}

/* ---- Nobody is forgotten ------------------------------------------------------------------ */

static void give_reaches(void (*who)(void *))
{
    cen_lease held = make_sampled();
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiting = start("wait", who, &other);
    give_one(held);
    join(waiting);
    expect(other.status == CEN_OK && other.given == CEN_OK);
    expect_equal(uses(), 1);
    expect_rest(1);
    end();
}

/* guarantees: pool-api.timed-lease */
EXPLORE(L3_a_give_whose_time_is_taken_reaches_a_thread_that_waits, 3)
{
    give_reaches(take_and_give);
}

/* guarantees: pool-api.timed-lease */
EXPLORE(L3_a_give_whose_time_is_taken_reaches_who_is_pending, 3)
{
    give_reaches(ask_and_give);
}

/* guarantees: pool-api.timed-lease */
EXPLORE(L12_a_reload_that_meets_a_give_whose_time_is_taken_closes_the_object, 3)
{
    taker holder = {.lease = make_sampled()};
    ceni_thread giving = start("give", give_lease, &holder);
    expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK);
    join(giving);
    expect_equal(holder.given, CEN_OK);
    expect_equal(alive, 0);
    expect_equal(uses(), 1);
    expect_rest(0);
    end();
}

/* Its memory is given back by whoever is last, and touched by nobody afterwards. */
/* guarantees: pool-api.timed-lease */
EXPLORE(L15_a_pool_that_is_freed_lives_until_a_give_whose_time_is_taken_is_done, 2)
{
    taker holder = {.lease = make_sampled()};
    ceni_thread giving = start("give", give_lease, &holder);
    expect_equal(cen_pool_free(pool), CEN_OK);
    join(giving);
    expect(holder.given == CEN_OK || holder.given == CEN_REVOKED);
    expect_equal(alive, 0);
}

/* ---- Each once ------------------------------------------------------------------------------- */

static cen_lease make_exact(void)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 1, .exact_times = true});
    return take_one();
}

/* guarantees: pool-api.use-times */
EXPLORE(a_lease_that_is_given_while_it_is_revoked_is_counted_once, 3)
{
    taker holder = {.lease = make_exact()};
    ceni_thread giving = start("give", give_lease, &holder);
    cen_pool_close(pool, CEN_NOW, NULL, NULL);
    join(giving);
    expect(holder.given == CEN_OK || holder.given == CEN_REVOKED);
    expect_equal(uses(), 1);
    expect_rest(0);
    end();
}

/* guarantees: pool-api.use-times */
EXPLORE(of_two_who_end_one_lease_one_does_and_it_is_counted_once, 3)
{
    taker holder = {.lease = make_exact()}, other = holder;
    ceni_thread giving = start("give", give_lease, &holder);
    discard_lease(&other);
    join(giving);
    expect((holder.given == CEN_OK) != (other.given == CEN_OK));
    expect_equal(uses(), 1);
    expect_rest(holder.given == CEN_OK ? 1 : 0);
    end();
}

/* The one that was handed over, and the one that its taker found at the same moment and gave back: nobody had that. */
/* guarantees: pool-api.use-times */
EXPLORE(what_is_found_and_given_back_because_another_was_granted_counts_as_no_use, 2)
{
    ceni_world_set_cpus(1);
    make_filled((cen_pool_options){.max = 2, .exact_times = true});
    cen_lease a = take_one(), b = take_one();
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiting = start("wait", take_and_give, &other);
    give_one(a);
    give_one(b);
    join(waiting);
    expect(other.status == CEN_OK && other.given == CEN_OK);
    expect_equal(uses(), 3);
    expect_rest(2);
    end();
}
