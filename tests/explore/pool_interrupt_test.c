/* SPDX-License-Identifier: MIT */
/*
 * Interrupts and changes of the settings under every schedule: who is
 * interrupted answers once, keeps nothing, and passes its role on.
 */
#include "explore/lives.h"

typedef struct known {
    taker take;
    _Atomic uint64_t number;
} known;

static void take_known(void *into)
{
    known *self = into;
    ceni_store_seq_cst(&self->number, cen_thread_number());
    take_and_give(&self->take);
}

static uint64_t number_of(known *who)
{
    ceni_world_settle(); /* it is in line, or has been served */
    return ceni_load_seq_cst(&who->number);
}

static void one_answer(cen_pool_options options, cen_deadline deadline)
{
    ceni_world_set_cpus(1);
    options.max = 1;
    make_filled(options);
    taker giver = {.lease = take_one()};
    known other = {.take = {.deadline = deadline}};
    ceni_thread waiter = start("wait", take_known, &other);
    uint64_t number = number_of(&other);
    ceni_thread gives = start("give", give_lease, &giver);
    bool interrupted = cen_pool_interrupt(pool, number);
    join(waiter);
    join(gives);
    if (interrupted) expect_equal(other.take.status, CEN_INTERRUPTED);
    else expect(other.take.status == CEN_OK || other.take.status == CEN_TIMEOUT);
    expect_rest(1);
    end();
}

EXPLORE(L6_one_who_is_interrupted_and_served_at_once_has_one_answer, 3)
{
    one_answer((cen_pool_options){.max = 1}, CEN_NEVER);
}

EXPLORE(L6_one_of_a_strict_pool_who_is_interrupted_and_served_at_once_has_one_answer, 3)
{
    one_answer((cen_pool_options){.max_barging_ns = CEN_NONE}, CEN_NEVER);
}

EXPLORE(L5_one_who_is_interrupted_served_and_too_late_at_once_has_one_answer, 2)
{
    one_answer((cen_pool_options){.max = 1}, cen_in_ns(1000));
}

typedef struct meddler {
    cen_lease lease;
    uint64_t number;
} meddler;

static void give_and_interrupt(void *into)
{
    meddler *self = into;
    give_one(self->lease);
    cen_pool_interrupt(pool, self->number);
}

/* A give was left to the first, who is interrupted before it has looked. */
EXPLORE(L5_the_next_in_line_that_is_interrupted_passes_its_role_on, 2)
{
    ceni_world_set_cpus(1);
    make_filled((cen_pool_options){.max = 1});
    meddler third = {.lease = take_one(), .number = cen_thread_number()};
    taker first = {.deadline = CEN_NEVER}, second = {.deadline = CEN_NEVER};
    ceni_thread two = start("second", take_and_give, &second), three = start("meddle", give_and_interrupt, &third);
    take_and_give(&first);
    join(two);
    join(three);
    expect(first.status == CEN_OK || first.status == CEN_INTERRUPTED);
    expect_equal(second.status, CEN_OK);
    expect_rest(1);
    end();
}

/* ---- Settings ------------------------------------------------------------------------------ */

static void set_options(cen_pool_options wanted)
{
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &options), CEN_OK);
    options.max_barging_ns = wanted.max_barging_ns;
    options.order = wanted.order;
    options.exact_times = wanted.exact_times;
    expect_equal(cen_pool_options_set(pool, &options, NULL), CEN_OK);
}

static void settings_change(cen_pool_options from, cen_pool_options to)
{
    ceni_world_set_cpus(1);
    from.max = 1;
    make_filled(from);
    cen_lease mine = take_one();
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_and_give, &other);
    set_options(to);
    give_one(mine);
    join(waiter);
    expect_equal(other.status, CEN_OK);
    expect_rest(1);
    end();
}

EXPLORE(L16_a_pool_becomes_strict_while_a_thread_joins, 2)
{
    settings_change((cen_pool_options){.max = 1}, (cen_pool_options){.max_barging_ns = CEN_NONE});
}

EXPLORE(L16_a_pool_is_strict_no_more_while_a_thread_joins, 2)
{
    settings_change((cen_pool_options){.max_barging_ns = CEN_NONE}, (cen_pool_options){.max_barging_ns = 0});
}

EXPLORE(L16_a_pool_becomes_fifo_while_a_thread_takes_and_gives, 2)
{
    ceni_world_set_cpus(1);
    make_filled((cen_pool_options){.max = 2});
    taker other = {.deadline = CEN_NEVER};
    ceni_thread thread = start("take", take_and_give, &other);
    set_options((cen_pool_options){.order = CEN_ORDER_FIFO});
    join(thread);
    expect_equal(other.status, CEN_OK);
    expect_rest(2);
    cen_lease one = take_one(), two = take_one(); /* both can be found */
    give_one(one);
    give_one(two);
    end();
}

EXPLORE(L16_a_pool_is_fifo_no_more_while_a_thread_takes_and_gives, 2)
{
    ceni_world_set_cpus(1);
    make_filled((cen_pool_options){.max = 2, .order = CEN_ORDER_FIFO});
    taker other = {.deadline = CEN_NEVER};
    ceni_thread thread = start("take", take_and_give, &other);
    set_options((cen_pool_options){.order = CEN_ORDER_WARM});
    join(thread);
    expect_equal(other.status, CEN_OK);
    expect_rest(2);
    cen_lease one = take_one(), two = take_one();
    give_one(one);
    give_one(two);
    end();
}
