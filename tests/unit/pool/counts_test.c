/* SPDX-License-Identifier: MIT */
/* Every take that gets no object is counted once: as missed, as refused, or as one of those that waited. */
#include <cenote/stop.h>

#include "unit/pool/askers.h"
#include "unit/pool/scripted.h"

static script s;
static cen_pool *pool;

static void prepare(void)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.name = "counted", .max = 1), 1);
}

static void expect_missed(uint64_t count)
{
    cen_pool_stats n = expect_sound(pool);
    expect_equal(n.missed, count);
    expect(n.waited == 0 && n.refused == 0 && n.timed_out == 0 && n.failed == 0);
}

/* guarantees: pool-api.miss-counters */
TEST(a_take_that_would_not_wait_and_found_nothing_is_missed)
{
    prepare();
    cen_lease held = take_now(pool), lease;
    expect_missed(0);
    cen_error error;
    expect_equal(cen_pool_try_take(pool, &lease, &error), CEN_EMPTY);
    expect_missed(1);
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_TIMEOUT);
    expect_missed(2);
    asker one;
    ask(&one, pool, CEN_NOW);
    expect_told(&one, CEN_TIMEOUT);
    expect_missed(3);
    char text[2000];
    cen_pool_explain(pool, text, sizeof text);
    expect(strstr(text, "Takes that found no object and did not wait: 3.\n"));
    give_back(&held);
    held = take_now(pool);
    expect_missed(3);
    give_back(&held);
    free_pool(pool);
}

/* Once, however many objects it tried. */
/* guarantees: pool-api.miss-counters */
TEST(a_take_whose_objects_all_fail_their_tests_is_missed_once)
{
    s = (script){.opened = 0};
    pool = begin_life(&s, HAS_TEST | BLOCKS, .max = 3, .test_after_idle_ns = SECOND, .test_interval_ns = CEN_OFF);
    warm_up(pool, 3);
    pass(10 * SECOND);
    for (int i = 1; i <= 3; i++) s.things[i].broken = true;
    cen_lease lease;
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_TIMEOUT); /* its time has passed with the first test */
    cen_pool_stats n = look(pool);
    expect(n.missed == 1 && n.timed_out == 0 && n.test_failed == 1);
    expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_EMPTY);
    n = look(pool);
    expect(n.missed == 2 && n.timed_out == 0 && n.test_failed == 3);
    expect(n.taken == 6 && n.ended == 6); /* three were leases that nobody had */
    end_life(&s, pool);
}

typedef struct stopped {
    cen_stop_token token;
    cen_status status;
    cen_error error;
    uint64_t number;
} stopped;

static void take_until_stopped(void *argument)
{
    stopped *self = argument;
    cen_lease lease;
    self->number = cen_thread_number();
    self->status = cen_pool_take_stoppable(pool, CEN_NEVER, &self->token, &lease, &self->error);
}

static ceni_thread begin_stopped(stopped *self)
{
    cen_stop_token_init(&self->token);
    ceni_thread thread = start("stopped", take_until_stopped, self);
    ceni_world_settle();
    return thread;
}

/* The bug this looks for: what the program ends itself looks like a failure of the server. */
/* guarantees: pool-api.miss-counters */
TEST(a_take_that_waits_and_is_ended_by_the_program_is_cancelled_and_has_not_failed)
{
    prepare();
    cen_lease held = take_now(pool);
    asker one;
    ask(&one, pool, CEN_NEVER);
    expect(cen_future_cancel(&one.take.future));
    static stopped set, interrupted;
    ceni_thread first = begin_stopped(&set), second = begin_stopped(&interrupted);
    cen_stop_token_set(&set.token);
    expect(cen_pool_interrupt(pool, interrupted.number));
    join(first);
    join(second);
    expect(set.status == CEN_INTERRUPTED && interrupted.status == CEN_INTERRUPTED);
    expect_because(&set.error, CEN_CAUSE_STOPPED);
    expect_because(&interrupted.error, CEN_CAUSE_INTERRUPTED);
    cen_pool_stats n = expect_sound(pool);
    expect(n.cancelled == 3 && n.failed == 0 && n.waited == 3 && n.missed == 0);
    char text[2000];
    cen_pool_explain(pool, text, sizeof text);
    expect(strstr(text, "0 failed otherwise, 3 cancelled"));
    give_back(&held);
    free_pool(pool);
}

/* guarantees: pool-api.miss-counters */
TEST(a_take_that_the_breaker_refuses_before_it_waits_is_counted)
{
    s = (script){.opened = 0};
    fail_all(&s, CALL_OPEN);
    pool = begin_life(&s, BLOCKS, .max = 1, .breaker_failures = 1, .breaker_wait_ns = CEN_OFF,
                      .backoff_initial_ns = 600 * SECOND, .backoff_max_ns = 600 * SECOND);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_answer(&one, CEN_DRIVER);
    cen_pool_stats n = look(pool);
    expect(n.failed == 1 && n.refused_breaker == 0);
    begin_take(&one, pool, CEN_NEVER);
    expect_answer(&one, CEN_DRIVER);
    expect_equal(one.error.cause, CEN_CAUSE_BREAKER_OPEN);
    n = look(pool);
    expect(n.failed == 1 && n.refused_breaker == 1 && n.waited == 1);
    end_life(&s, pool);
}
