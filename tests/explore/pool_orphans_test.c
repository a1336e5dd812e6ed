/* SPDX-License-Identifier: MIT */
/*
 * Orphans in every order: the end of a holder beside a give by another thread, a revoke, a free; and late gives beside one
 * another (L13).
 */
#include "explore/pools.h"

static void abandon_thing(void *unused, void *object)
{
    (void)unused;
    thing *mine = object;
    expect_equal(ceni_load_relaxed(&mine->is_open), 1);
}

static const cen_driver_calls cut_calls = {.size = sizeof cut_calls,
                                           .open = open_thing,
                                           .close = close_thing,
                                           .interrupt = interrupt_thing,
                                           .abandon = abandon_thing};

static void make_orphaning(bool abandons)
{
    begin(2); /* an orphan and the object in its place */
    cen_pool_options options = {
        .size = sizeof options, .max = 1, .driver = {abandons ? &cut_calls : &thing_calls, NULL}};
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    ceni_world_with_hooks();
}

typedef struct producer {
    cen_lease lease;
    _Atomic uint32_t has;
} producer;

static void produce_and_end(void *into)
{
    producer *self = into;
    self->lease = take_one();
    use(&self->lease);
    ceni_store_release(&self->has, 1);
    ceni_futex_wake(&self->has, 1);
}

static cen_lease handed_by(producer *one)
{
    while (ceni_load_acquire(&one->has) == 0) ceni_futex_wait(&one->has, 0, CENI_FOREVER);
    return one->lease;
}

/* The consumer uses the object while its taker ends, and gives it: it is never closed before. */
static void given_by_a_consumer(bool abandons)
{
    make_orphaning(abandons);
    producer one = {.has = 0};
    ceni_thread thread = start("producer", produce_and_end, &one);
    cen_lease lease = handed_by(&one), copy = lease;
    use(&lease);
    cen_status given = cen_pool_give(&lease);
    join(thread);
    expect(given == CEN_OK || given == CEN_REVOKED);
    expect_equal(things[0].is_open, given == CEN_OK);
    expect_equal(cen_pool_give(&copy), CEN_STALE);
    expect_rest(things[0].is_open);
    end();
}

/* guarantees: pool.L13-orphan */
EXPLORE(L13_a_give_while_its_taker_ends_is_ok_or_revoked_and_never_stale, 4)
{
    given_by_a_consumer(true);
}

/* guarantees: pool.L13-orphan */
EXPLORE(L13_a_give_while_its_taker_ends_is_ok_or_revoked_without_an_abandon, 3)
{
    given_by_a_consumer(false);
}

static void give_copy(void *argument)
{
    cen_lease *copy = argument;
    cen_status given = cen_pool_give(copy);
    copy->generation = given;
}

/* guarantees: pool.L13-orphan */
EXPLORE(L13_of_two_late_gives_of_an_orphan_one_is_stale, 3)
{
    make_orphaning(true);
    producer one = {.has = 0};
    join(start("producer", produce_and_end, &one));
    cen_lease first = one.lease, second = one.lease;
    ceni_thread other = start("other", give_copy, &second);
    cen_status given = cen_pool_give(&first);
    join(other);
    expect((given == CEN_REVOKED && second.generation == CEN_STALE) ||
           (given == CEN_STALE && second.generation == CEN_REVOKED));
    expect_equal(things[0].is_open, 0);
    expect_rest(0);
    end();
}

/* Close takes the object away while its taker ends: the consumer still uses it, and it is closed once. */
static void revoked_while_its_taker_ends(bool abandons)
{
    make_orphaning(abandons);
    producer one = {.has = 0};
    ceni_thread thread = start("producer", produce_and_end, &one);
    cen_lease lease = handed_by(&one);
    cen_status status = cen_pool_close(pool, CEN_NOW, NULL, NULL);
    use(&lease);
    join(thread);
    expect(status == CEN_OK || status == CEN_TIMEOUT);
    use(&lease);
    cen_pool_stats s = look();
    expect_equal(s.revoked, !abandons);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    expect_equal(things[0].is_open, 0);
    expect_rest(0);
    end();
}

/* guarantees: pool.L13-orphan */
EXPLORE(L15_what_is_revoked_while_its_taker_ends_becomes_an_orphan, 3)
{
    revoked_while_its_taker_ends(true);
}

/* guarantees: pool.L13-orphan */
EXPLORE(L15_what_is_revoked_while_its_taker_ends_keeps_its_place_without_an_abandon, 2)
{
    revoked_while_its_taker_ends(false);
}

/* Free while the taker ends: whoever is last closes the object, and the memory is gone. */
static void freed_while_its_taker_ends(bool abandons)
{
    make_orphaning(abandons);
    producer one = {.has = 0};
    ceni_thread thread = start("producer", produce_and_end, &one);
    handed_by(&one);
    expect_equal(cen_pool_free(pool), CEN_OK);
    join(thread);
    expect_equal(alive, 0);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: pool.L13-orphan */
EXPLORE(L15_a_pool_that_is_freed_while_a_lease_becomes_an_orphan_is_gone_afterwards, 3)
{
    freed_while_its_taker_ends(true);
}

/* guarantees: pool.L13-orphan */
EXPLORE(L15_a_pool_that_is_freed_while_an_orphan_keeps_its_place_is_gone_afterwards, 3)
{
    freed_while_its_taker_ends(false);
}
