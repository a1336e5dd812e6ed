/* SPDX-License-Identifier: MIT */
/*
 * The queue under every schedule: what is pushed is popped once, in order,
 * nobody sleeps beside what it waits for, and memory is given back once.
 * Each body uses the public functions of the shipping sources.
 */
#include "explore/queues.h"

/* ---- A push wakes a sleeping pop --------------------------------------------------- */

static void push_wakes_pop(cen_queue_kind kind, size_t capacity)
{
    queue = make(kind, capacity);
    popped a = {.count = 0};
    ceni_thread popper = start("pop", pop_one, &a);
    push_number((void *)7);
    join(popper);
    expect_equal(a.last, CEN_OK);
    expect_equal(a.values[0], 7);
    cen_queue_free(queue);
}

/* guarantees: queue.L3 */
EXPLORE(a_push_wakes_a_sleeping_pop_bounded, 4)
{
    push_wakes_pop(CEN_QUEUE_BOUNDED, 2);
}

/* guarantees: queue.L3 */
EXPLORE(a_push_wakes_a_sleeping_pop_unbounded, 4)
{
    push_wakes_pop(CEN_QUEUE_UNBOUNDED, 0);
}

/* guarantees: queue.L3 */
EXPLORE(a_push_wakes_a_sleeping_pop_rendezvous, 4)
{
    push_wakes_pop(CEN_QUEUE_RENDEZVOUS, 0);
}

/* guarantees: queue.L3 */
EXPLORE(a_pop_wakes_a_push_that_waits_for_room, 4)
{
    queue = make(CEN_QUEUE_BOUNDED, 1);
    ceni_thread pusher = start("push", push_two, (void *)1);
    popped a = {.count = 0};
    pop_one(&a);
    pop_one(&a);
    join(pusher);
    expect_equal(a.values[0], 1);
    expect_equal(a.values[1], 2);
    expect_equal(cen_queue_length(queue), 0);
    cen_queue_free(queue);
}

/* ---- Nothing is lost or doubled -------------------------------------------------------- */

static void two_pushers_one_popper(cen_queue_kind kind, size_t capacity)
{
    queue = make(kind, capacity);
    ceni_thread one = start("push 1", push_number, (void *)1);
    ceni_thread two = start("push 10", push_number, (void *)10);
    popped a = {.count = 0};
    pop_one(&a);
    pop_one(&a);
    join(one);
    join(two);
    expect_equal(sum(&a), 11);
    cen_queue_free(queue);
}

/* guarantees: queue.order */
EXPLORE(two_pushes_reach_one_pop_bounded, 3)
{
    two_pushers_one_popper(CEN_QUEUE_BOUNDED, 1);
}

/* guarantees: queue.order */
EXPLORE(two_pushes_reach_one_pop_unbounded, 3)
{
    two_pushers_one_popper(CEN_QUEUE_UNBOUNDED, 0);
}

/* guarantees: queue.order */
EXPLORE(two_pushes_reach_one_pop_rendezvous, 3)
{
    two_pushers_one_popper(CEN_QUEUE_RENDEZVOUS, 0);
}

static void two_poppers_share(cen_queue_kind kind, size_t capacity)
{
    queue = make(kind, capacity);
    popped a = {.count = 0}, b = {.count = 0};
    ceni_thread one = start("pop a", pop_one, &a);
    ceni_thread two = start("pop b", pop_one, &b);
    push_two((void *)1);
    join(one);
    join(two);
    expect_equal(sum(&a) + sum(&b), 3);
    expect(a.count == 1 && b.count == 1);
    cen_queue_free(queue);
}

/* guarantees: queue.order */
EXPLORE(two_sleeping_pops_share_two_pushes_bounded, 3)
{
    two_poppers_share(CEN_QUEUE_BOUNDED, 2);
}

/* guarantees: queue.order */
EXPLORE(two_sleeping_pops_share_two_pushes_unbounded, 3)
{
    two_poppers_share(CEN_QUEUE_UNBOUNDED, 0);
}

/* guarantees: queue.order */
EXPLORE(two_sleeping_pops_share_two_pushes_rendezvous, 3)
{
    two_poppers_share(CEN_QUEUE_RENDEZVOUS, 0);
}

/* ---- Deadlines ------------------------------------------------------------------------------ */

/* One element, a pop that may time out and one that waits: if the first gives
 * up, even after it has been called, the second must get the element. */
static void expiry_passes_the_role_on(cen_queue_kind kind, size_t capacity)
{
    queue = make(kind, capacity);
    popped impatient = {.count = 0}, patient = {.count = 0};
    ceni_thread one = start("impatient", pop_or_time_out, &impatient);
    ceni_thread two = start("patient", pop_until_closed, &patient);
    int value = 5;
    expect_equal(cen_queue_push(queue, &value), CEN_OK);
    join(one);
    while (impatient.count == 0 && cen_queue_length(queue) > 0) /* no progress here is a lost wake-up */
        ceni_sleep_until(ceni_clock_now() + 1000000);
    expect_equal(cen_queue_close(queue), CEN_OK);
    join(two);
    expect_equal(sum(&impatient) + sum(&patient), 5);
    cen_queue_free(queue);
}

/* guarantees: queue.role */
EXPLORE(an_expired_pop_passes_its_role_on_bounded, 3)
{
    expiry_passes_the_role_on(CEN_QUEUE_BOUNDED, 1);
}

/* guarantees: queue.role */
EXPLORE(an_expired_pop_passes_its_role_on_unbounded, 3)
{
    expiry_passes_the_role_on(CEN_QUEUE_UNBOUNDED, 0);
}

/* guarantees: queue.rendezvous */
EXPLORE(a_rendezvous_that_times_out_passes_nothing, 4)
{
    queue = make(CEN_QUEUE_RENDEZVOUS, 0);
    popped a = {.count = 0};
    ceni_thread popper = start("pop", pop_or_time_out, &a);
    int value = 9;
    cen_status pushed = cen_queue_push_until(queue, &value, cen_in_ms(1));
    join(popper);
    expect((pushed == CEN_OK) == (a.last == CEN_OK));
    expect_equal(sum(&a), pushed == CEN_OK ? 9 : 0);
    cen_queue_free(queue);
}

/* ---- Close ------------------------------------------------------------------------------------ */

static void close_drains(cen_queue_kind kind, size_t capacity)
{
    queue = make(kind, capacity);
    popped a = {.count = 0};
    ceni_thread popper = start("pop", pop_until_closed, &a);
    push_number((void *)3);
    expect_equal(cen_queue_close(queue), CEN_OK);
    join(popper);
    expect_equal(a.last, CEN_CLOSED);
    expect_equal(sum(&a), 3);
    cen_queue_free(queue);
}

/* guarantees: queue.close-wakes, crossbeam.iteration */
EXPLORE(close_wakes_the_waiting_and_drains_bounded, 4)
{
    close_drains(CEN_QUEUE_BOUNDED, 1);
}

/* guarantees: queue.close-wakes, crossbeam.iteration */
EXPLORE(close_wakes_the_waiting_and_drains_unbounded, 4)
{
    close_drains(CEN_QUEUE_UNBOUNDED, 0);
}

static void push_or_closed(void *into)
{
    int value = 4;
    *(cen_status *)into = cen_queue_push(queue, &value);
}

/* A push that said OK is popped; one that said CLOSED is not. */
static void close_races_push(cen_queue_kind kind, size_t capacity)
{
    queue = make(kind, capacity);
    cen_status pushed = CEN_INVALID;
    ceni_thread pusher = start("push", push_or_closed, &pushed);
    popped a = {.count = 0};
    expect_equal(cen_queue_close(queue), CEN_OK);
    while (a.last == CEN_OK) try_pop_one(&a);
    join(pusher);
    while (a.last != CEN_CLOSED) try_pop_one(&a);
    expect(pushed == CEN_OK || pushed == CEN_CLOSED);
    expect_equal(a.count, pushed == CEN_OK);
    cen_queue_free(queue);
}

/* guarantees: queue.close-race */
EXPLORE(a_push_that_races_close_is_popped_or_refused_bounded, 4)
{
    close_races_push(CEN_QUEUE_BOUNDED, 1);
}

/* guarantees: queue.close-race */
EXPLORE(a_push_that_races_close_is_popped_or_refused_unbounded, 4)
{
    close_races_push(CEN_QUEUE_UNBOUNDED, 0);
}

/* guarantees: queue.close-race */
EXPLORE(a_push_that_races_close_is_popped_or_refused_rendezvous, 4)
{
    queue = make(CEN_QUEUE_RENDEZVOUS, 0);
    cen_status pushed = CEN_OK;
    ceni_thread pusher = start("push", push_or_closed, &pushed);
    expect_equal(cen_queue_close(queue), CEN_OK);
    join(pusher);
    expect_equal(pushed, CEN_CLOSED);
    cen_queue_free(queue);
}

/* ---- Rendezvous, byte by byte ----------------------------------------------------------------------- */

static void pop_into_marked_memory(void *into)
{
    popped *out = into;
    out->values[0] = -1;
    out->last = cen_queue_pop_until(queue, cen_in_ms(1), &out->values[0]);
}

EXPLORE(a_rendezvous_that_times_out_leaves_the_bytes_alone, 4)
{
    queue = make(CEN_QUEUE_RENDEZVOUS, 0);
    popped a = {.count = 0};
    ceni_thread popper = start("pop", pop_into_marked_memory, &a);
    int value = 9;
    cen_queue_push_until(queue, &value, cen_in_ms(1));
    join(popper);
    expect_equal(a.values[0], a.last == CEN_OK ? 9 : -1);
    cen_queue_free(queue);
}

/* ---- Queues come and go -------------------------------------------------------------------------------- */

static void make_and_free(void *unused)
{
    (void)unused;
    cen_queue_free(make(CEN_QUEUE_RENDEZVOUS, 0));
}

EXPLORE(queues_may_be_made_and_freed_at_the_same_time, 4)
{
    ceni_thread other = start("other", make_and_free, NULL);
    make_and_free(NULL);
    join(other);
}
