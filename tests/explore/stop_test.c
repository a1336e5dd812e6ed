/* SPDX-License-Identifier: MIT */
/*
 * Stop tokens under every schedule: no stop is lost, a stopped wait ends in order, and nobody touches the
 * record of a thread that has returned. Tokens and futures lie in memory of their own, which is freed as
 * soon as the header allows it.
 */
#include <cenote/future.h>
#include <cenote/queue.h>
#include <cenote/stop.h>

#include "base/alloc.h"
#include "explore/pools.h"
#include "sync/stop.h"

static cen_stop_token *token;

static void make_token(void)
{
    token = ceni_alloc(NULL, sizeof *token, _Alignof(cen_stop_token));
    expect(token != NULL);
    cen_stop_token_init(token);
}

static void free_token(void)
{
    _Atomic uint32_t barrier = 0; /* stores that are held back arrive before the memory is passed on */
    ceni_add_seq_cst(&barrier, 1);
    ceni_free(NULL, token, sizeof *token, _Alignof(cen_stop_token));
}

static void set_token(void *unused)
{
    (void)unused;
    cen_stop_token_set(token);
}

static void set_and_reset_token(void *unused)
{
    (void)unused;
    cen_stop_token_set(token);
    cen_stop_token_reset(token);
}

/* ---- Futures ------------------------------------------------------------------------------ */

static cen_promise promise;

static cen_future *promised(void)
{
    cen_future *future = ceni_alloc(NULL, sizeof *future, _Alignof(cen_future));
    expect(future != NULL);
    cen_future_init(future);
    expect_equal(cen_promise_init(&promise, future), CEN_OK);
    return future;
}

static void free_future(cen_future *future)
{
    ceni_free(NULL, future, sizeof *future, _Alignof(cen_future));
}

static void keep(void *unused)
{
    (void)unused;
    expect(cen_promise_complete(&promise, NULL));
}

/* guarantees: stop.never-lost */
EXPLORE(a_stop_before_during_or_after_the_join_ends_a_wait_for_a_future, 4)
{
    make_token();
    cen_future *future = promised();
    ceni_thread setter = start("set", set_token, NULL);
    expect_equal(cen_future_wait_stoppable(future, CEN_NEVER, token), CEN_INTERRUPTED);
    expect(cen_stop_token_is_set(token));
    expect_equal(cen_future_wait_stoppable(future, CEN_NEVER, token), CEN_INTERRUPTED); /* it stays set */
    expect(cen_future_cancel(future));
    free_future(future);
    join(setter);
    free_token();
}

/* guarantees: stop.future */
EXPLORE(a_stop_and_a_keep_at_once_lose_neither, 3)
{
    make_token();
    cen_future *future = promised();
    ceni_thread setter = start("set", set_token, NULL), keeper = start("keep", keep, NULL);
    cen_status first = cen_future_wait_stoppable(future, CEN_NEVER, token);
    expect(first == CEN_OK || first == CEN_INTERRUPTED);
    if (first == CEN_INTERRUPTED) expect_equal(cen_future_wait(future, CEN_NEVER), CEN_OK); /* it went on */
    free_future(future);
    join(setter);
    join(keeper);
    free_token();
}

/* guarantees: stop.future */
EXPLORE(a_stop_and_a_deadline_at_once_give_one_answer, 3)
{
    make_token();
    cen_future *future = promised();
    ceni_thread setter = start("set", set_token, NULL);
    cen_status status = cen_future_wait_stoppable(future, cen_in_ns(1000), token);
    expect(status == CEN_INTERRUPTED || status == CEN_TIMEOUT);
    expect(cen_future_cancel(future));
    free_future(future);
    join(setter);
    free_token();
}

typedef struct sleeper {
    _Atomic uint32_t word;
    cen_status joined, status;
} sleeper;

enum { AWAKE, PARKED };

/* A wait of its own: it joins, says so, and sleeps until it is stopped. */
static void sleep_until_stopped(void *into)
{
    sleeper *self = into;
    ceni_stop_wait wait;
    self->joined = ceni_stop_join(&wait, token, &self->word, PARKED, AWAKE);
    if (self->joined != CEN_OK) return;
    ceni_store_seq_cst(&self->word, PARKED);
    while (!ceni_stop_is_hit(&wait)) ceni_futex_wait(&self->word, PARKED, CENI_FOREVER);
    self->status = CEN_INTERRUPTED;
    ceni_stop_leave(&wait);
}

/* guarantees: stop.all */
EXPLORE(a_reset_right_after_the_set_leaves_nobody_asleep_who_had_joined, 3)
{
    make_token();
    sleeper one = {.word = AWAKE};
    ceni_thread sleeps = start("sleep", sleep_until_stopped, &one);
    ceni_world_settle(); /* it sleeps */
    ceni_thread setter = start("set", set_and_reset_token, NULL);
    join(sleeps);
    expect(one.joined == CEN_OK && one.status == CEN_INTERRUPTED);
    join(setter);
    expect(!cen_stop_token_is_set(token));
    free_token();
}

/* guarantees: stop.all */
EXPLORE(one_set_stops_all_who_join_and_leave_meanwhile, 2)
{
    make_token();
    sleeper one = {.word = AWAKE}, two = {.word = AWAKE};
    ceni_thread first = start("first", sleep_until_stopped, &one), second = start("second", sleep_until_stopped, &two);
    cen_stop_token_set(token);
    join(first);
    join(second);
    expect(one.joined == CEN_INTERRUPTED || one.status == CEN_INTERRUPTED);
    expect(two.joined == CEN_INTERRUPTED || two.status == CEN_INTERRUPTED);
    free_token();
}

/* guarantees: stop.all */
EXPLORE(two_sets_at_once_walk_the_list_beside_one_who_leaves, 2)
{
    make_token();
    sleeper one = {.word = AWAKE};
    ceni_thread sleeps = start("sleep", sleep_until_stopped, &one), setter = start("set", set_token, NULL);
    cen_stop_token_set(token);
    join(sleeps);
    join(setter);
    expect(one.joined == CEN_INTERRUPTED || one.status == CEN_INTERRUPTED);
    free_token();
}

/* ---- Select -------------------------------------------------------------------------------- */

static cen_queue *queue;

static void make_queue(cen_queue_kind kind)
{
    cen_queue_options options =
        CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .kind = kind, .capacity = kind == CEN_QUEUE_BOUNDED ? 1 : 0);
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
}

typedef struct popper {
    cen_status status;
    int value;
} popper;

static void pop_until_stopped(void *into)
{
    popper *self = into;
    size_t which;
    cen_case only = cen_case_pop(queue, &self->value);
    self->status = cen_select_stoppable(&only, 1, CEN_NEVER, token, &which);
}

static void pop_for_ever(void *into)
{
    popper *self = into;
    self->status = cen_queue_pop_until(queue, CEN_NEVER, &self->value);
}

/* guarantees: stop.never-lost */
EXPLORE(a_stop_ends_a_select, 4)
{
    make_token();
    make_queue(CEN_QUEUE_BOUNDED);
    popper one = {0};
    ceni_thread pops = start("pop", pop_until_stopped, &one);
    cen_stop_token_set(token);
    join(pops);
    expect_equal(one.status, CEN_INTERRUPTED);
    cen_queue_free(queue);
    free_token();
}

static void one_push_one_stop(cen_queue_kind kind)
{
    make_token();
    make_queue(kind);
    popper one = {0};
    ceni_thread pops = start("pop", pop_until_stopped, &one), setter = start("set", set_token, NULL);
    int value = 7;
    cen_status pushed = cen_queue_push_until(queue, &value, cen_in_ns(1000));
    join(pops);
    join(setter);
    bool has = one.status == CEN_OK, left = cen_queue_length(queue) == 1;
    expect(has || one.status == CEN_INTERRUPTED);
    expect_equal(pushed == CEN_OK, has || left); /* the element is in one place, exactly */
    if (has) expect_equal(one.value, 7);
    cen_queue_free(queue);
    free_token();
}

/* guarantees: stop.select */
EXPLORE(a_stopped_pop_of_a_ring_has_the_element_or_leaves_it, 2)
{
    one_push_one_stop(CEN_QUEUE_BOUNDED);
}

/* guarantees: stop.select */
EXPLORE(a_stopped_pop_of_a_rendezvous_has_the_element_or_leaves_it, 2)
{
    one_push_one_stop(CEN_QUEUE_RENDEZVOUS);
}

/* guarantees: stop.select */
EXPLORE(a_select_that_is_called_and_stopped_at_once_passes_its_role_on, 2)
{
    make_token();
    make_queue(CEN_QUEUE_BOUNDED);
    popper one = {0}, two = {0};
    ceni_thread first = start("first", pop_until_stopped, &one);
    ceni_world_settle();
    ceni_thread second = start("second", pop_for_ever, &two);
    ceni_world_settle();
    ceni_thread setter = start("set", set_token, NULL);
    int value = 7;
    for (int pushes = 0; pushes < 2; pushes++) expect_equal(cen_queue_push_until(queue, &value, CEN_NEVER), CEN_OK);
    join(second); /* one of two elements is for it, whoever was called first */
    join(first);
    join(setter);
    expect_equal(two.status, CEN_OK);
    expect(one.status == CEN_OK || one.status == CEN_INTERRUPTED);
    cen_queue_free(queue);
    free_token();
}

/* ---- Pools --------------------------------------------------------------------------------- */

static void take_until_stopped(void *into)
{
    taker *self = into;
    self->status = cen_pool_take_stoppable(pool, self->deadline, token, &self->lease, NULL);
    if (self->status != CEN_OK) return;
    use(&self->lease);
    cen_lease lease = self->lease;
    self->given = cen_pool_give(&lease);
}

static void stop_or_serve(cen_pool_options options, cen_deadline deadline)
{
    ceni_world_set_cpus(1);
    make_token();
    options.max = 1;
    make_filled(options);
    taker giver = {.lease = take_one()}, other = {.deadline = deadline};
    ceni_thread waiter = start("wait", take_until_stopped, &other), gives = start("give", give_lease, &giver);
    cen_stop_token_set(token);
    join(waiter);
    join(gives);
    bool late = other.status == CEN_TIMEOUT && deadline.ns_ != CEN_NEVER.ns_;
    expect(other.status == CEN_OK || other.status == CEN_INTERRUPTED || late);
    expect_rest(1);
    end();
    free_token();
}

/* guarantees: stop.L5 */
EXPLORE(L6_a_take_that_is_stopped_and_served_at_once_has_one_answer, 3)
{
    stop_or_serve((cen_pool_options){.max = 1}, CEN_NEVER);
}

/* guarantees: stop.L5 */
EXPLORE(L6_a_take_of_a_strict_pool_that_is_stopped_and_served_at_once_has_one_answer, 3)
{
    stop_or_serve((cen_pool_options){.max_barging_ns = CEN_NONE}, CEN_NEVER);
}

/* guarantees: stop.L5 */
EXPLORE(L5_a_take_that_is_stopped_served_and_too_late_at_once_has_one_answer, 2)
{
    stop_or_serve((cen_pool_options){.max = 1}, cen_in_ns(1000));
}

/* Nobody gives: the stop alone must end it. */
/* guarantees: stop.never-lost */
EXPLORE(a_stop_ends_a_take_that_waits, 3)
{
    ceni_world_set_cpus(1);
    make_token();
    make_filled((cen_pool_options){.max = 1});
    cen_lease held = take_one();
    taker other = {.deadline = CEN_NEVER};
    ceni_thread waiter = start("wait", take_until_stopped, &other);
    cen_stop_token_set(token);
    join(waiter);
    expect_equal(other.status, CEN_INTERRUPTED);
    give_one(held);
    expect_rest(1);
    end();
    free_token();
}

/* The first in the queue leaves, so the give calls the second, which is stopped before it has looked. */
/* guarantees: stop.L5 */
EXPLORE(L5_a_take_that_is_called_and_stopped_at_once_passes_its_role_on, 1)
{
    ceni_world_set_cpus(1);
    make_token();
    make_filled((cen_pool_options){.max = 1});
    cen_lease held = take_one();
    taker takers[3] = {{.deadline = cen_in_ns(1000)}, {.deadline = CEN_NEVER}, {.deadline = CEN_NEVER}};
    ceni_thread threads[3];
    for (int i = 0; i < 3; i++) {
        threads[i] = start("wait", i == 1 ? take_until_stopped : take_and_give, &takers[i]);
        ceni_world_settle();
    }
    ceni_world_advance(1000);
    join(threads[0]);
    give_one(held);
    cen_stop_token_set(token);
    join(threads[1]);
    join(threads[2]);
    expect_equal(takers[0].status, CEN_TIMEOUT);
    expect(takers[1].status == CEN_OK || takers[1].status == CEN_INTERRUPTED);
    expect_equal(takers[2].status, CEN_OK);
    expect_rest(1);
    end();
    free_token();
}
