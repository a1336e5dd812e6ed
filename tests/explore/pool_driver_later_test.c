/* SPDX-License-Identifier: MIT */
/*
 * Calls that are done later, under every schedule: done against all that may
 * come in its way. The runtime has no threads, so that there are few.
 */
#include <cenote/pool_async.h>

#include "explore/lives.h"

/* Nothing happens because time passes, but what a test names. */
#define FEW_LIMITS \
    .backoff_initial_ns = CEN_OFF, .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = CEN_OFF, .test_interval_ns = CEN_OFF
#define OPENS_IN_TIME FEW_LIMITS, .test_after_idle_ns = CEN_OFF, .test_timeout_ns = CEN_OFF, .open_timeout_ns = SECOND
#define TESTS_IN_TIME FEW_LIMITS, .test_after_idle_ns = SECOND, .test_timeout_ns = SECOND, .open_timeout_ns = CEN_OFF
#define TRUSTS_FOR_A_TIME \
    FEW_LIMITS, .test_after_idle_ns = SECOND, .test_timeout_ns = CEN_OFF, .open_timeout_ns = CEN_OFF

static cen_ticket ticket; /* of the call that was begun last */
static uint32_t begun, finis;
static bool tests_at_once; /* done before its function returns */
static _Atomic uint32_t cancels;

static void begin_open(void *unused, cen_ticket issued)
{
    (void)unused;
    ticket = issued;
    begun++;
}

static void begin_test(void *unused, void *object, cen_ticket issued)
{
    (void)object;
    begin_open(unused, issued);
    if (tests_at_once) expect_equal(cen_driver_done(issued, CEN_OK, NULL, NULL), CEN_OK);
}

static void cancel(void *unused, cen_ticket which)
{
    (void)unused, (void)which;
    expect_equal(ceni_add_relaxed(&cancels, 1), 0); /* once */
}

static void end_driver(void *unused)
{
    (void)unused;
    finis++;
}

static const cen_driver_calls later_calls = {.size = sizeof later_calls,
                                             .close = close_thing,
                                             .interrupt = interrupt_thing,
                                             .open_async = begin_open,
                                             .test_async = begin_test,
                                             .cancel = cancel,
                                             .fini = end_driver};

/* A pool in which an opening is under way that nobody waits for. */
static void begin_opening(cen_pool_options options)
{
    begun = finis = 0;
    tests_at_once = false;
    cancels = 0;
    make_timed(&later_calls, options);
    cen_lease lease;
    expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_EMPTY);
    cen_runtime_poll(runtime);
    expect_equal(begun, 1);
}

typedef struct finisher {
    uint32_t number; /* of the object */
    cen_status status, answer;
} finisher;

static void finish_call(void *argument)
{
    finisher *self = argument;
    thing *mine = &things[self->number];
    bool opened = self->status == CEN_OK;
    if (opened) ceni_add_relaxed(&mine->is_open, 1);
    if (opened) ceni_add_relaxed(&alive, 1);
    self->answer = cen_driver_done(ticket, self->status, opened ? mine : NULL, NULL);
    if (self->answer == CEN_OK || !opened) return;
    close_thing(NULL, mine); /* it is still the driver's */
}

/* The same of a test, whose object the pool has. */
static void finish_test(void *argument)
{
    finisher *self = argument;
    self->answer = cen_driver_done(ticket, self->status, NULL, NULL);
}

static void advance(void *unused)
{
    (void)unused;
    expect_equal(cen_runtime_advance(runtime, 2 * SECOND), CEN_OK);
}

static void expect_nothing_counted(void)
{
    expect_equal(pool->busy[CENI_CHORE_OPEN] + pool->busy[CENI_CHORE_TEST] + pool->busy[CENI_CHORE_CLOSE], 0);
    expect_equal(pool->testing_for_waiters + pool->opening_for_minimum, 0);
}

/* ---- Done and done ------------------------------------------------------------------------------- */

/* guarantees: later.L8 */
EXPLORE(L8_of_two_who_say_that_a_call_is_done_one_is_believed, 4)
{
    begin_opening((cen_pool_options){.max = 1, NO_LIMITS});
    finisher one = {.number = 0, .status = CEN_OK}, two = {.number = 1, .status = CEN_DRIVER};
    ceni_thread other = start("done", finish_call, &one);
    finish_call(&two);
    join(other);
    expect((one.answer == CEN_OK) + (two.answer == CEN_OK) == 1);
    expect((one.answer == CEN_STALE) + (two.answer == CEN_STALE) == 1);
    cen_runtime_poll(runtime);
    expect_calm(one.answer == CEN_OK);
    expect_nothing_counted();
    end_timed();
}

/* ---- Done and too late ------------------------------------------------------------------------------ */

/* guarantees: later.C */
EXPLORE(C_an_object_that_meets_its_time_limit_is_lent_or_cancelled_and_closed_and_never_both, 3)
{
    begin_opening((cen_pool_options){.max = 1, OPENS_IN_TIME});
    finisher one = {.number = 0, .status = CEN_OK};
    ceni_thread other = start("done", finish_call, &one);
    advance(NULL);
    join(other);
    expect_equal(one.answer, CEN_OK);
    cen_runtime_poll(runtime);
    expect_equal(alive, !cancels);
    expect_calm(!cancels);
    expect_nothing_counted();
    end_timed();
}

/* guarantees: later.C */
EXPLORE(C_a_test_that_meets_its_time_limit_leaves_the_object_idle_or_closed_and_counts_nothing_twice, 2)
{
    begin_opening((cen_pool_options){.max = 1, TESTS_IN_TIME});
    finisher one = {.number = 0, .status = CEN_OK};
    finish_call(&one);
    expect_equal(cen_runtime_advance(runtime, 4 * SECOND), CEN_OK);
    cen_lease lease;
    expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_EMPTY);
    cen_runtime_poll(runtime);
    expect(begun == 2 && look_alive().testing == 1);
    ceni_thread other = start("done", finish_test, &one);
    advance(NULL);
    join(other);
    cen_runtime_poll(runtime);
    if (cancels) expect_equal(alive, 0);
    expect_calm(alive);
    expect_nothing_counted();
    end_timed();
}

/* ---- Done and the end ---------------------------------------------------------------------------------- */

static void close_now(void *unused)
{
    (void)unused;
    cen_status status = cen_pool_close(pool, CEN_NOW, NULL, NULL);
    expect(status == CEN_OK || status == CEN_TIMEOUT);
}

/* guarantees: later.L15 */
EXPLORE(L15_an_object_that_is_opened_while_the_pool_is_closed_is_closed, 3)
{
    begin_opening((cen_pool_options){.max = 1, NO_LIMITS});
    finisher one = {.number = 0, .status = CEN_OK};
    ceni_thread other = start("done", finish_call, &one);
    close_now(NULL);
    join(other);
    cen_runtime_poll(runtime);
    expect_equal(one.answer, CEN_OK);
    expect(alive == 0 && pool->live == 0);
    expect_nothing_counted();
    end_timed();
}

/* guarantees: later.L15 */
EXPLORE(L15_a_pool_that_is_freed_while_a_call_is_done_goes_once_and_after_it, 3)
{
    begin_opening((cen_pool_options){.max = 1, NO_LIMITS});
    finisher one = {.number = 0, .status = CEN_OK};
    ceni_thread other = start("done", finish_call, &one);
    expect_equal(cen_pool_free(pool), CEN_OK);
    join(other);
    cen_runtime_poll(runtime);
    expect_equal(one.answer, CEN_OK);
    expect(alive == 0 && finis == 1);
    finish_call(&one); /* the pool is gone, and is not touched */
    expect_equal(one.answer, CEN_STALE);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

/* guarantees: later.L15 */
EXPLORE(L15_what_fails_while_the_pool_is_freed_is_believed_once, 2)
{
    begin_opening((cen_pool_options){.max = 1, NO_LIMITS});
    finisher one = {.status = CEN_DRIVER};
    ceni_thread other = start("done", finish_call, &one);
    expect_equal(cen_pool_free(pool), CEN_OK);
    join(other);
    cen_runtime_poll(runtime);
    expect(one.answer == CEN_OK && alive == 0 && finis == 1);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

/* ---- Done and those who wait ------------------------------------------------------------------------------ */

static void take_for_ever(void *argument)
{
    taker *self = argument;
    expect_equal(cen_pool_take(pool, CEN_NEVER, &self->lease, NULL), CEN_OK);
    expect(self->lease.object == &things[0]);
}

/* The object is being tested when the taker comes. */
/* guarantees: later.test-first */
EXPLORE(L3_who_comes_while_a_test_is_done_gets_the_object, 3)
{
    begin_opening((cen_pool_options){.max = 1, TRUSTS_FOR_A_TIME});
    finisher one = {.number = 0, .status = CEN_OK};
    finish_call(&one);
    expect_equal(cen_runtime_advance(runtime, 4 * SECOND), CEN_OK);
    cen_lease lease;
    expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_EMPTY);
    cen_runtime_poll(runtime);
    expect_equal(begun, 2);
    taker two = {.given = CEN_OK};
    ceni_thread other = start("take", take_for_ever, &two);
    finish_test(&one);
    join(other);
    expect_equal(cen_pool_give(&two.lease), CEN_OK);
    expect_calm(1);
    expect_nothing_counted();
    end_timed();
}

/* A round has met what is idle; then time passes. */
static void grow_old(void)
{
    ceni_keeper_round(pool);
    ceni_keeper_retire(pool);
    ceni_store_relaxed(&pool->alarm_at, INT64_MIN); /* no round but those of the test */
    expect_equal(cen_runtime_advance(runtime, SECOND), CEN_OK);
}

/* A round marks the object while a thread looks for it: it is tested, and not passed by. */
static void mark_beside_a_look(cen_order order)
{
    begin_opening((cen_pool_options){.max = 1, .order = order, TRUSTS_FOR_A_TIME});
    finisher one = {.number = 0, .status = CEN_OK};
    finish_call(&one);
    tests_at_once = true;
    grow_old();
    taker two = {.given = CEN_OK};
    ceni_thread keeper = start("keeper", keep_once, NULL);
    take_for_ever(&two);
    join(keeper);
    expect_equal(cen_pool_give(&two.lease), CEN_OK);
    expect_calm(1);
    expect_nothing_counted();
    end_timed();
}

/* guarantees: later.test-first */
EXPLORE(L3_an_object_that_is_marked_while_it_is_looked_for_is_tested_and_lent, 3)
{
    mark_beside_a_look(CEN_ORDER_WARM);
}

/* guarantees: later.test-first */
EXPLORE(L3_an_object_of_a_fifo_pool_that_is_marked_while_it_is_looked_for_is_tested_and_lent, 3)
{
    mark_beside_a_look(CEN_ORDER_FIFO);
}

/* The same of an object that is being opened. */
/* guarantees: later.test-first */
EXPLORE(L3_who_comes_while_an_opening_is_done_gets_the_object, 3)
{
    begin_opening((cen_pool_options){.max = 1, NO_LIMITS});
    finisher one = {.number = 0, .status = CEN_OK};
    taker two = {.given = CEN_OK};
    ceni_thread other = start("take", take_for_ever, &two);
    finish_call(&one);
    join(other);
    expect_equal(cen_pool_give(&two.lease), CEN_OK);
    expect_calm(1);
    expect_nothing_counted();
    end_timed();
}

/* A round marks the object while one asks for it, who cannot test: whoever pumps does. */
static void mark_beside_an_ask(bool fails)
{
    make_timed(&tested_calls, (cen_pool_options){.max = 1, TRUSTS_FOR_A_TIME});
    give_one(take_one());
    grow_old();
    tests_fail = fails;
    cen_take_op take;
    cen_take_op_init(&take, NULL, NULL);
    ceni_thread keeper = start("keeper", keep_once, NULL);
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &take), CEN_OK);
    join(keeper);
    expect(cen_future_is_done(&take.future) && take.future.status == CEN_OK);
    expect_equal(pool->testing_for_waiters, 0);
    give_one(take.lease);
    expect_calm(1);
    end_timed();
}

/* guarantees: later.async */
EXPLORE(L3_an_object_that_is_marked_while_it_is_asked_for_is_tested_and_granted, 3)
{
    mark_beside_an_ask(false);
}

/* guarantees: later.async */
EXPLORE(L3_one_who_asks_gets_another_object_when_the_one_that_was_marked_fails, 3)
{
    mark_beside_an_ask(true);
}

static void give_second(void *argument)
{
    give_one(*(cen_lease *)argument);
}

/* One is idle and must be tested, another is given meanwhile: whichever is ready first serves, and nothing is lost. */
/* guarantees: later.async */
EXPLORE(L3_one_who_asks_is_served_by_a_give_or_by_a_test, 3)
{
    make_timed(&tested_calls, (cen_pool_options){.max = 2, TRUSTS_FOR_A_TIME});
    cen_lease one = take_one(), two = take_one();
    give_one(one);
    grow_old();
    ceni_keeper_round(pool);
    cen_take_op take;
    cen_take_op_init(&take, NULL, NULL);
    ceni_thread giver = start("giver", give_second, &two);
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &take), CEN_OK);
    join(giver);
    expect(cen_future_is_done(&take.future) && take.future.status == CEN_OK);
    expect_equal(pool->testing_for_waiters, 0);
    give_one(take.lease);
    expect_calm(2);
    end_timed();
}

/* ---- Tests that are asked for ------------------------------------------------------------------------- */

static void test_all(void *unused)
{
    (void)unused;
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
}

/* What was idle when a round of tests was asked for is being tested by the time that is noted: its time limit counts. */
EXPLORE(a_test_that_begins_while_tests_are_asked_for_still_has_its_time_limit, 2)
{
    begin_opening((cen_pool_options){.max = 1, TESTS_IN_TIME});
    finisher one = {.number = 0, .status = CEN_OK};
    finish_call(&one);
    grow_old();
    ceni_keeper_round(pool);
    ceni_store_relaxed(&pool->alarm_at, CENI_FOREVER);
    cen_take_op take;
    cen_take_op_init(&take, NULL, NULL);
    ceni_thread other = start("tests", test_all, NULL);
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &take), CEN_OK);
    cen_runtime_poll(runtime);
    join(other);
    cen_runtime_poll(runtime);
    expect_equal(begun, 2);
    advance(NULL);
    expect_equal(cancels, 1);
    expect(cen_future_cancel(&take.future));
    finish_test(&one);
    cen_runtime_poll(runtime);
    expect_calm(0);
    end_timed();
}

/* ---- Done and a leak ---------------------------------------------------------------------------------- */

static void close_at_once(void *unused, void *object, cen_ticket issued)
{
    close_thing(unused, object);
    expect_equal(cen_driver_done(issued, CEN_OK, NULL, NULL), CEN_OK);
}

static const cen_driver_calls closing_later_calls = {.size = sizeof closing_later_calls,
                                                     .interrupt = interrupt_thing,
                                                     .open_async = begin_open,
                                                     .close_async = close_at_once};

static void hear_nothing(void *unused, const cen_event *event, uint64_t missed)
{
    (void)missed;
    (void)unused, (void)event;
}

static void discard_and_close(void *argument)
{
    expect_equal(cen_pool_discard(argument), CEN_OK);
    cen_runtime_poll(runtime);
}

/* The keeper notes in the slot that the leak is told; by then the slot may be another call's. */
EXPLORE(a_lease_that_ends_while_it_is_told_as_a_leak_leaves_its_slots_next_call_its_ticket, 2)
{
    begun = 0;
    make_timed(&closing_later_calls, (cen_pool_options){.max = 1, .leak_after_ns = 8 * SECOND, NO_LIMITS});
    expect_equal(cen_pool_listen(pool, hear_nothing, NULL, NULL), CEN_OK);
    ceni_add_relaxed(&things[0].is_open, 1);
    ceni_add_relaxed(&alive, 1);
    expect_equal(cen_pool_adopt(pool, &things[0], NULL), CEN_OK);
    cen_lease lease = take_one();
    ceni_keeper_round(pool);         /* it meets the lease */
    pool->next_round = CENI_FOREVER; /* the one that tells is the thread's below */
    expect_equal(cen_runtime_advance(runtime, SECOND), CEN_OK);
    pool->options.leak_after_ns = SECOND;
    ceni_thread keeper = start("keeper", keep_once, NULL);
    discard_and_close(&lease);
    join(keeper);
    cen_runtime_poll(runtime);
    expect_calm(0);
    expect_nothing_counted();
    end_timed();
}
