/* SPDX-License-Identifier: MIT */
/* Ticks in virtual time: busy or idle, between two steps, and one at the end. */
#include "unit/crew/crews.h"

enum { MOST = 8 };

static unsigned ticks[MOST], in_step[MOST];
static int64_t last_tick[MOST];

static cen_status create(void *argument, uint32_t worker, void **out, cen_error *error)
{
    (void)argument, (void)error;
    *out = (void *)(intptr_t)(worker + 1);
    return CEN_OK;
}

static void tick(void *argument, void *data)
{
    intptr_t worker = (intptr_t)data - 1;
    (void)argument;
    expect_equal(in_step[worker], 0);
    ticks[worker]++;
    last_tick[worker] = ceni_clock_now();
}

#define TICKING .context = {.create = create, .on_tick = tick}

static void busy(work *self)
{
    uint32_t worker = cen_worker_current();
    in_step[worker]++;
    nap(self->ns);
    in_step[worker]--;
}

/* guarantees: crew.tick */
TEST(idle_workers_tick_at_every_interval)
{
    make_crew(.workers = 2, TICKING, .tick_ns = 2 * SECOND);
    nap(11 * SECOND);
    expect_equal(ticks[0], 5);
    expect_equal(ticks[1], 5);
    finish();
    expect_equal(ticks[0], 6); /* the last */
}

/* guarantees: crew.tick */
TEST(without_an_interval_it_is_a_second)
{
    make_crew(.workers = 1, TICKING);
    nap(3 * SECOND + SECOND / 2);
    expect_equal(ticks[0], 3);
    finish();
}

/* guarantees: crew.tick */
TEST(a_busy_worker_ticks_between_two_steps)
{
    work ten[10];
    init_works(ten, 10);
    make_crew(.workers = 1, TICKING, .tick_ns = SECOND);
    for (int i = 0; i < 10; i++) {
        ten[i].inside = busy;
        ten[i].ns = 600 * MS;
    }
    submit_works(ten, 10);
    for (int i = 0; i < 10; i++) expect_end(&ten[i], CEN_OK);
    expect(ticks[0] >= 5 && ticks[0] <= 6);
    finish();
}

/* guarantees: crew.tick */
TEST(ticks_that_were_missed_in_a_long_step_are_one)
{
    work one;
    init_work(&one, 'a', run_once);
    one.inside = busy;
    one.ns = 10 * SECOND + SECOND / 2;
    make_crew(.workers = 1, TICKING, .tick_ns = SECOND);
    submit(&one);
    expect_end(&one, CEN_OK);
    settle();
    expect_equal(ticks[0], 1);
    finish();
}

/* guarantees: crew.tick */
TEST(a_worker_that_comes_later_does_not_owe_the_ticks_of_before)
{
    work two[2];
    init_works(two, 2);
    make_crew(.workers = 2, .min = 1, TICKING, .tick_ns = SECOND);
    nap(5 * SECOND + SECOND / 2);
    for (int i = 0; i < 2; i++) {
        two[i].inside = busy;
        two[i].ns = 100 * MS;
        submit(&two[i]);
    }
    expect_end(&two[0], CEN_OK);
    expect_end(&two[1], CEN_OK);
    settle();
    expect_equal(look().threads, 2);
    expect_equal(ticks[0], 5);
    expect_equal(ticks[1], 0);
    nap(SECOND);
    expect_equal(ticks[1], 1);
    finish();
}

static void await_long(work *self)
{
    cen_timer_init(&self->timer);
    expect_equal(cen_timer_start(&self->timer, NULL, cen_in_s(4), NULL), CEN_OK);
    expect_equal(cen_await(&self->timer.future, CEN_NEVER), CEN_OK);
}

/* guarantees: crew.tick */
TEST(a_worker_that_awaits_and_sleeps_ticks)
{
    work one;
    init_work(&one, 'a', run_once);
    one.inside = await_long;
    make_crew(.workers = 1, TICKING, .tick_ns = SECOND);
    submit(&one);
    nap(3 * SECOND + SECOND / 2);
    expect_equal(ticks[0], 3);
    finish();
}
