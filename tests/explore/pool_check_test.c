/* SPDX-License-Identifier: MIT */
/* A driver whose check only reads: a give looks at the object on the quick path, as its only user. */
#include "explore/pools.h"

static cen_condition condition; /* what the check says */

/* Whoever looks has the object alone: the world sees to it that something orders this with all other uses. */
static cen_condition check_thing(void *unused, void *object)
{
    (void)unused;
    thing *mine = object;
    uint32_t number = (uint32_t)ceni_thread_id();
    expect_equal(ceni_load_relaxed(&mine->is_open), 1);
    ceni_watch_copy(&mine->bytes, &number, sizeof number);
    return condition;
}

static const cen_driver_calls looking_calls = {.size = sizeof looking_calls,
                                               .open = open_thing,
                                               .close = close_thing,
                                               .interrupt = interrupt_thing,
                                               .check = check_thing,
                                               .check_only_reads = true};

static cen_lease make_looking(cen_pool_options options, cen_condition says)
{
    ceni_world_set_cpus(1);
    begin(options.max);
    condition = says;
    options.size = sizeof options;
    options.driver = (cen_driver){&looking_calls, NULL};
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_lease first = take_one();
    use(&first);
    return first;
}

/* Two have copies of one lease, and a third waits: one of the two gives it, and is the only one who looks. */
static void give_copies(cen_condition says, uint32_t idle)
{
    cen_lease mine = make_looking((cen_pool_options){.max = 1}, says);
    taker other = {.lease = mine};
    ceni_thread giving = start("give", give_lease, &other);
    cen_status status = cen_pool_give(&mine);
    join(giving);
    expect((status == CEN_OK && other.given == CEN_STALE) || (status == CEN_STALE && other.given == CEN_OK));
    expect_rest(idle);
    end();
}

/* guarantees: drivers.prepare */
EXPLORE(L2_of_two_who_give_copies_of_a_lease_one_looks_at_the_object, 4)
{
    give_copies(CEN_CLEAN, 1);
}

/* guarantees: drivers.prepare */
EXPLORE(L2_of_two_who_give_copies_of_a_lease_one_finds_it_broken_and_it_is_closed_once, 4)
{
    give_copies(CEN_BROKEN, 0);
}

static void give_beside_a_take(cen_pool_options options, cen_condition says)
{
    cen_lease mine = make_looking(options, says);
    taker other = {.deadline = CEN_NEVER};
    ceni_thread taking = start("take", take_and_give, &other);
    give_one(mine);
    join(taking);
    expect_equal(other.status, CEN_OK);
    expect_equal(other.given, CEN_OK);
    expect_rest(says == CEN_CLEAN ? 1 : 0);
    end();
}

/* guarantees: drivers.prepare */
EXPLORE(L6_a_give_with_a_look_wakes_who_waits, 4)
{
    give_beside_a_take((cen_pool_options){.max = 1}, CEN_CLEAN);
}

EXPLORE(L6_a_give_with_a_look_wakes_who_waits_in_a_strict_pool, 4)
{
    give_beside_a_take((cen_pool_options){.max = 1, .max_barging_ns = CEN_NONE}, CEN_CLEAN);
}

/* guarantees: drivers.prepare */
EXPLORE(L6_what_is_found_broken_makes_room_for_who_waits, 3)
{
    give_beside_a_take((cen_pool_options){.max = 1}, CEN_BROKEN);
}

/* guarantees: drivers.prepare */
EXPLORE(L15_close_awaits_a_give_with_a_look_or_takes_the_object_away, 4)
{
    cen_lease mine = make_looking((cen_pool_options){.max = 1}, CEN_CLEAN);
    taker other = {.lease = mine};
    ceni_thread giving = start("give", give_lease, &other);
    cen_close_report report = CEN_SIZED(cen_close_report);
    cen_status status = cen_pool_close(pool, CEN_NOW, &report, NULL);
    expect(status == CEN_OK || status == CEN_TIMEOUT);
    join(giving);
    expect(other.given == CEN_OK || other.given == CEN_REVOKED);
    end();
}
