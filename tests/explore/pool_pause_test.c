/* SPDX-License-Identifier: MIT */
/*
 * Pause and resume under every schedule: nobody gets anything past a pause, and
 * nobody sleeps beside an object after it.
 */
#include "explore/lives.h"

static void pause_pool(void *unused)
{
    (void)unused;
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
}

static void resume_pool(void *unused)
{
    (void)unused;
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
}

static void pause_and_resume(void *unused)
{
    pause_pool(unused);
    resume_pool(unused);
}

static void resume_serves(void (*who)(void *), cen_pool_options options, unsigned cpus)
{
    ceni_world_set_cpus(cpus);
    options.max = 1;
    make_filled(options);
    pause_pool(NULL);
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", who, &other);
    resume_pool(NULL);
    join(waiter);
    expect_equal(other.status, CEN_OK);
    expect_rest(1);
    end();
}

EXPLORE(L3_resume_serves_a_thread_that_waits, 4)
{
    resume_serves(take_and_give, (cen_pool_options){.max = 1}, 1);
}

EXPLORE(L3_resume_serves_a_thread_that_polls, 4)
{
    resume_serves(take_and_give, (cen_pool_options){.max = 1}, 2);
}

EXPLORE(L3_resume_serves_a_thread_of_a_strict_pool, 4)
{
    resume_serves(take_and_give, (cen_pool_options){.max_barging_ns = CEN_NONE}, 1);
}

EXPLORE(L3_resume_serves_a_pending_waiter, 4)
{
    resume_serves(ask_and_give, (cen_pool_options){.max = 1}, 1);
}

/* A thread is on its way to an object while the pool stops and goes on. */
EXPLORE(L3_a_pause_in_between_loses_no_give, 3)
{
    ceni_world_set_cpus(1);
    make_filled((cen_pool_options){.max = 1});
    taker giver = {.lease = take_one()}, other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_and_give, &other), gives = start("give", give_lease, &giver);
    pause_and_resume(NULL);
    join(waiter);
    join(gives);
    expect_equal(other.status, CEN_OK);
    expect_rest(1);
    end();
}

EXPLORE(L3_a_pause_in_between_loses_no_opening, 4)
{
    ceni_world_set_cpus(1);
    make_opening((cen_pool_options){.max = 1});
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_and_give, &other);
    pause_and_resume(NULL);
    join(waiter);
    expect_equal(other.status, CEN_OK);
    expect_rest(1);
    end();
}

/* The first gives up in the pause: its role is passed on, by the resume if by nobody else. */
EXPLORE(L5_one_who_gives_up_in_a_pause_leaves_what_is_idle_to_the_next, 3)
{
    ceni_world_set_cpus(1);
    make_filled((cen_pool_options){.max = 1});
    pause_pool(NULL);
    taker one = {.deadline = cen_in_ns(1000)}, two = {.deadline = CEN_NEVER};
    ceni_thread first = start("first", take_and_give, &one), second = start("second", take_and_give, &two);
    resume_pool(NULL);
    join(first);
    join(second);
    expect(one.status == CEN_OK || one.status == CEN_TIMEOUT);
    expect_equal(two.status, CEN_OK);
    expect_rest(1);
    end();
}
