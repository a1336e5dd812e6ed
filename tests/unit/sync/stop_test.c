/* SPDX-License-Identifier: MIT */
/* Stop tokens: each sentence of the header, in virtual time. */
#include <cenote/future.h>
#include <cenote/pool_async.h>
#include <cenote/queue.h>
#include <cenote/stop.h>

#include <string.h>

#include "unit/pool/takers.h"

static cen_stop_token token;

static cen_future future;
static cen_promise promise;

static void promise_anew(void)
{
    cen_future_init(&future);
    expect_equal(cen_promise_init(&promise, &future), CEN_OK);
}

/* guarantees: stop.all */
TEST(a_token_is_not_set_until_it_is_set_and_then_until_it_is_reset)
{
    cen_stop_token statically = CEN_STOP_TOKEN_INIT;
    expect(!cen_stop_token_is_set(&statically));
    cen_stop_token_set(&statically);
    cen_stop_token_set(&statically);
    expect(cen_stop_token_is_set(&statically));
    cen_stop_token_reset(&statically);
    expect(!cen_stop_token_is_set(&statically));
    cen_stop_token_set(&statically);
    cen_stop_token_init(&statically);
    expect(!cen_stop_token_is_set(&statically));
}

/* guarantees: stop.all */
TEST(a_token_that_is_null_is_never_set)
{
    cen_stop_token_init(NULL);
    cen_stop_token_set(NULL);
    cen_stop_token_reset(NULL);
    expect(!cen_stop_token_is_set(NULL));
    promise_anew();
    expect_equal(cen_future_wait_stoppable(&future, cen_in_ns(1), NULL), CEN_TIMEOUT);
    expect(cen_future_cancel(&future));
}

/* ---- Futures ------------------------------------------------------------------------------ */

/* guarantees: stop.never-lost */
TEST(a_wait_with_a_token_that_was_set_before_returns_at_once_and_the_future_stays_pending)
{
    cen_stop_token_init(&token);
    cen_stop_token_set(&token);
    promise_anew();
    int64_t began = cen_clock();
    expect_equal(cen_future_wait_stoppable(&future, CEN_NEVER, &token), CEN_INTERRUPTED);
    expect_equal(cen_clock(), began);
    cen_stop_token_reset(&token);
    expect_equal(cen_future_wait_stoppable(&future, cen_in_ns(1000), &token), CEN_TIMEOUT);
    expect(cen_promise_complete(&promise, &token));
    cen_stop_token_set(&token);
    expect_equal(cen_future_wait_stoppable(&future, CEN_NEVER, &token), CEN_OK); /* a result is never withheld */
    expect(future.value == &token);
}

typedef struct waiting {
    cen_status status;
    ceni_thread thread;
} waiting;

static void wait_for_future(void *into)
{
    waiting *self = into;
    self->status = cen_future_wait_stoppable(&future, CEN_NEVER, &token);
}

/* guarantees: stop.future */
TEST(a_stopped_wait_can_be_continued_cancelled_or_told_later)
{
    cen_stop_token_init(&token);
    promise_anew();
    waiting one = {.status = CEN_OK};
    one.thread = start("wait", wait_for_future, &one);
    ceni_world_settle();
    cen_stop_token_set(&token);
    join(one.thread);
    expect_equal(one.status, CEN_INTERRUPTED);
    expect(!cen_future_is_done(&future));
    expect(cen_future_cancel(&future));
}

/* guarantees: stop.all */
TEST(one_token_stops_waits_for_pools_queues_and_futures)
{
    cen_stop_token_init(&token);
    promise_anew();
    waiting one = {.status = CEN_OK}, two = one;
    one.thread = start("wait", wait_for_future, &one);
    cen_future other;
    cen_promise kept;
    cen_future_init(&other);
    expect_equal(cen_promise_init(&kept, &other), CEN_OK);
    ceni_world_settle();
    cen_stop_token_set(&token);
    join(one.thread);
    two.status = cen_future_wait_stoppable(&other, CEN_NEVER, &token);
    expect(one.status == CEN_INTERRUPTED && two.status == CEN_INTERRUPTED);
    expect(cen_future_cancel(&other) && cen_future_cancel(&future));
}

/* ---- Select --------------------------------------------------------------------------------- */

/* guarantees: stop.never-lost */
TEST(a_select_with_a_set_token_does_nothing_even_if_it_could)
{
    cen_queue *queue = NULL;
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .capacity = 1);
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
    int value = 5;
    size_t which = 9;
    cen_case push = cen_case_push(queue, &value);
    cen_stop_token_init(&token);
    cen_stop_token_set(&token);
    expect_equal(cen_select_stoppable(&push, 1, CEN_NEVER, &token, &which), CEN_INTERRUPTED);
    expect(which == 9 && cen_queue_length(queue) == 0);
    cen_stop_token_reset(&token);
    expect_equal(cen_select_stoppable(&push, 1, CEN_NEVER, &token, &which), CEN_OK);
    expect_equal(cen_select_stoppable(&push, 1, cen_in_ns(1), NULL, &which), CEN_TIMEOUT);
    expect(which == 0 && cen_queue_length(queue) == 1);
    cen_queue_free(queue);
}

static void select_nothing(void *into)
{
    waiting *self = into;
    size_t which;
    self->status = cen_select_stoppable(NULL, 0, CEN_NEVER, &token, &which);
}

/* guarantees: stop.never-lost */
TEST(a_select_over_nothing_may_wait_for_a_token)
{
    cen_stop_token_init(&token);
    waiting one = {.status = CEN_OK};
    one.thread = start("select", select_nothing, &one);
    ceni_world_settle();
    cen_stop_token_set(&token);
    join(one.thread);
    expect_equal(one.status, CEN_INTERRUPTED);
}

/* ---- Takes ------------------------------------------------------------------------------------ */

typedef struct stopped {
    taker take;
    cen_take_options options;
    bool scoped;
    cen_scope scope;
} stopped;

static void run_stopped(void *argument)
{
    stopped *self = argument;
    taker *one = &self->take;
    if (self->scoped) one->status = cen_pool_enter_with(one->pool, &self->options, &self->scope, &one->error);
    else one->status = cen_pool_take_with(one->pool, &self->options, &one->lease, &one->error);
    if (one->status == CEN_OK && !self->scoped) expect_equal(cen_pool_detach(&one->lease), CEN_OK);
    one->returned = true;
}

static void begin_stopped(stopped *one, cen_pool *pool, cen_priority priority)
{
    *one = (stopped){.take = {.pool = pool}, .scoped = one->scoped};
    one->options = CEN_TAKE_OPTIONS(.deadline = CEN_NEVER, .priority = priority, .stop = &token);
    one->take.thread = start("stopped", run_stopped, one);
    ceni_world_settle();
}

/* guarantees: stop.never-lost */
TEST(a_take_with_a_set_token_takes_nothing_even_if_an_object_is_idle)
{
    cen_stop_token_init(&token);
    cen_stop_token_set(&token);
    workshop shop = {0};
    cen_pool *pool = make_pool(.max = 1, .driver = driver_of(&shop));
    cen_lease lease = take_now(pool);
    give_back(&lease);
    cen_error error;
    expect_equal(cen_pool_take_stoppable(pool, CEN_NEVER, &token, &lease, &error), CEN_INTERRUPTED);
    expect(strstr(error.text, "the stop token is set"));
    expect_counts(pool, 1, 0);
    cen_stop_token_reset(&token);
    expect_equal(cen_pool_take_stoppable(pool, CEN_NEVER, &token, &lease, &error), CEN_OK);
    give_back(&lease);
    free_pool(pool);
}

/* guarantees: stop.L5, life-bugs.E3c */
TEST(E3c_stopped_takes_leave_the_queue_and_the_others_keep_their_order)
{
    for (int scoped = 0; scoped < 2; scoped++) {
        cen_stop_token_init(&token);
        workshop shop = {0};
        cen_pool *pool = make_pool(.max = 1, .driver = driver_of(&shop));
        cen_lease held = take_now(pool);
        stopped first = {.scoped = scoped}, third = first;
        taker second, fourth;
        begin_stopped(&first, pool, CEN_PRIORITY_NORMAL);
        begin_take(&second, pool, CEN_NEVER);
        begin_stopped(&third, pool, CEN_PRIORITY_NORMAL);
        begin_take(&fourth, pool, CEN_NEVER);
        cen_stop_token_set(&token);
        expect_answer(&first.take, CEN_INTERRUPTED);
        expect_answer(&third.take, CEN_INTERRUPTED);
        expect(strstr(first.take.error.text, "interrupted after"));
        expect_equal(expect_sound(pool).waiting, 2);
        expect(expect_sound(pool).cancelled == 2 && expect_sound(pool).failed == 0);
        give_back(&held);
        expect_taken(&second, 1);
        expect_waiting(&fourth);
        give_back(&second.lease);
        expect_taken(&fourth, 1);
        give_back(&fourth.lease);
        free_pool(pool);
    }
}

/* guarantees: stop.take-options */
TEST(a_take_with_options_has_its_priority_and_its_place)
{
    cen_stop_token_init(&token);
    workshop shop = {0};
    cen_pool *pool = make_pool(.max = 1, .driver = driver_of(&shop));
    cen_lease held = take_now(pool);
    taker low;
    stopped high = {.scoped = false};
    begin_take(&low, pool, CEN_NEVER);
    begin_stopped(&high, pool, CEN_PRIORITY_HIGH);
    give_back(&held);
    expect_taken(&high.take, 1);
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect(count == 1 && strstr(holding.where, "stop_test.c:"));
    expect_waiting(&low);
    give_back(&high.take.lease);
    expect_taken(&low, 1);
    give_back(&low.lease);
    free_pool(pool);
}

/* guarantees: stop.take-options */
TEST(a_take_with_options_that_make_no_sense_is_invalid)
{
    workshop shop = {0};
    cen_pool *pool = make_pool(.max = 1, .driver = driver_of(&shop));
    cen_lease lease;
    cen_scope scope;
    cen_error error;
    cen_take_options none = {.size = 0}, wrong = CEN_TAKE_OPTIONS(.priority = (cen_priority)3);
    expect_equal(cen_pool_take_with(pool, NULL, &lease, &error), CEN_INVALID);
    expect_equal(cen_pool_take_with(pool, &none, &lease, &error), CEN_INVALID);
    expect_equal(cen_pool_take_with(pool, &wrong, &lease, &error), CEN_INVALID);
    expect_equal(cen_pool_enter_with(pool, NULL, &scope, &error), CEN_INVALID);
    expect_equal(cen_pool_enter_with(pool, &none, &scope, &error), CEN_INVALID);
    cen_take_options former = CEN_TAKE_OPTIONS(.deadline = CEN_NOW);
    former.size = offsetof(cen_take_options, where); /* as a program has it that knows no later field */
    expect_equal(cen_pool_take_with(pool, &former, &lease, &error), CEN_OK);
    give_back(&lease);
    free_pool(pool);
}

static void await_take(void *argument)
{
    cen_take_op *take = argument;
    expect_equal(cen_future_wait_stoppable(&take->future, CEN_NEVER, &token), CEN_INTERRUPTED);
}

/* guarantees: stop.future */
TEST(an_asynchronous_take_whose_wait_is_stopped_keeps_its_place_in_the_queue)
{
    cen_stop_token_init(&token);
    workshop shop = {0};
    cen_pool *pool = make_pool(.max = 1, .driver = driver_of(&shop));
    cen_lease held = take_now(pool);
    cen_take_op take;
    cen_take_op_init(&take, NULL, NULL);
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &take), CEN_OK);
    ceni_thread thread = start("await", await_take, &take);
    taker later;
    begin_take(&later, pool, CEN_NEVER);
    cen_stop_token_set(&token);
    join(thread);
    expect_equal(expect_sound(pool).waiting, 2);
    give_back(&held); /* the asynchronous take came first */
    cen_stop_token_reset(&token);
    expect_equal(cen_future_wait_stoppable(&take.future, CEN_NEVER, &token), CEN_OK);
    expect_equal(take.future.status, CEN_OK);
    expect_waiting(&later);
    give_back(&take.lease);
    expect_taken(&later, 1);
    give_back(&later.lease);
    free_pool(pool);
}

/* guarantees: stop.never-lost */
TEST(a_take_from_a_pool_of_a_manual_runtime_is_stopped)
{
    cen_stop_token_init(&token);
    cen_runtime *runtime = NULL;
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = true);
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    workshop shop = {0};
    cen_pool *pool = make_pool(.max = 1, .driver = driver_of(&shop), .runtime = runtime);
    cen_lease held = take_now(pool);
    stopped one = {.scoped = false};
    begin_stopped(&one, pool, CEN_PRIORITY_NORMAL);
    expect_waiting(&one.take);
    cen_stop_token_set(&token);
    expect_answer(&one.take, CEN_INTERRUPTED);
    give_back(&held);
    free_pool(pool);
    cen_runtime_free(runtime);
}

/* ---- Fork --------------------------------------------------------------------------------------- */

/* guarantees: stop.fork */
TEST(a_child_sets_a_token_of_its_parent_and_waits_with_it_after_init)
{
    cen_stop_token_init(&token);
    promise_anew();
    expect_equal(cen_future_wait_stoppable(&future, cen_in_ns(1), &token), CEN_TIMEOUT);
    ceni_world_fork();
    expect_equal(cen_future_wait_stoppable(&future, cen_in_ns(1), &token), CEN_FORKED);
    cen_stop_token_set(&token);
    expect(cen_stop_token_is_set(&token));
    cen_stop_token_init(&token);
    expect_equal(cen_future_wait_stoppable(&future, cen_in_ns(1), &token), CEN_TIMEOUT);
    expect(cen_future_cancel(&future));
}
