/* SPDX-License-Identifier: MIT */
/*
 * The queue under every schedule: what is pushed is popped once, in order,
 * nobody sleeps beside what it waits for, and memory is given back once.
 * Each body uses the public functions of the shipping sources.
 */
#include <cenote/queue.h>

#include "base/atomic.h"
#include "support/world.h"
#include "sync/queue_inside.h"

static cen_queue *queue;

static cen_queue *make(cen_queue_kind kind, size_t capacity)
{
    cen_queue *made;
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .kind = kind, .capacity = capacity);
    expect_equal(cen_queue_new(&options, &made, NULL), CEN_OK);
    return made;
}

/* What one thread popped; looked at by main after it has joined the thread. */
typedef struct popped {
    int values[8];
    int count;
    cen_status last;
} popped;

static void pop_one(void *into)
{
    popped *out = into;
    out->last = cen_queue_pop(queue, &out->values[out->count]);
    if (out->last == CEN_OK) out->count++;
}

static void pop_until_closed(void *into)
{
    popped *out = into;
    while ((out->last = cen_queue_pop(queue, &out->values[out->count])) == CEN_OK) out->count++;
}

static void pop_or_time_out(void *into)
{
    popped *out = into;
    out->last = cen_queue_pop_until(queue, &out->values[out->count], cen_in_ms(1));
    if (out->last == CEN_OK) out->count++;
}

static void try_pop_one(void *into)
{
    popped *out = into;
    out->last = cen_queue_try_pop(queue, &out->values[out->count]);
    if (out->last == CEN_OK) out->count++;
}

static void push_number(void *number)
{
    int value = (int)(intptr_t)number;
    expect_equal(cen_queue_push(queue, &value), CEN_OK);
}

static void push_two(void *number)
{
    for (int i = 0; i < 2; i++) {
        int value = (int)(intptr_t)number + i;
        expect_equal(cen_queue_push(queue, &value), CEN_OK);
    }
}

static int sum(const popped *all)
{
    int total = 0;
    for (int i = 0; i < all->count; i++) total += all->values[i];
    return total;
}

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

EXPLORE(a_push_wakes_a_sleeping_pop_bounded, 4)
{
    push_wakes_pop(CEN_QUEUE_BOUNDED, 2);
}

EXPLORE(a_push_wakes_a_sleeping_pop_unbounded, 4)
{
    push_wakes_pop(CEN_QUEUE_UNBOUNDED, 0);
}

EXPLORE(a_push_wakes_a_sleeping_pop_rendezvous, 4)
{
    push_wakes_pop(CEN_QUEUE_RENDEZVOUS, 0);
}

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

EXPLORE(two_pushes_reach_one_pop_bounded, 3)
{
    two_pushers_one_popper(CEN_QUEUE_BOUNDED, 1);
}

EXPLORE(two_pushes_reach_one_pop_unbounded, 3)
{
    two_pushers_one_popper(CEN_QUEUE_UNBOUNDED, 0);
}

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

EXPLORE(two_sleeping_pops_share_two_pushes_bounded, 3)
{
    two_poppers_share(CEN_QUEUE_BOUNDED, 2);
}

EXPLORE(two_sleeping_pops_share_two_pushes_unbounded, 3)
{
    two_poppers_share(CEN_QUEUE_UNBOUNDED, 0);
}

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

EXPLORE(an_expired_pop_passes_its_role_on_bounded, 3)
{
    expiry_passes_the_role_on(CEN_QUEUE_BOUNDED, 1);
}

EXPLORE(an_expired_pop_passes_its_role_on_unbounded, 3)
{
    expiry_passes_the_role_on(CEN_QUEUE_UNBOUNDED, 0);
}

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

EXPLORE(close_wakes_the_waiting_and_drains_bounded, 4)
{
    close_drains(CEN_QUEUE_BOUNDED, 1);
}

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

EXPLORE(a_push_that_races_close_is_popped_or_refused_bounded, 4)
{
    close_races_push(CEN_QUEUE_BOUNDED, 1);
}

EXPLORE(a_push_that_races_close_is_popped_or_refused_unbounded, 4)
{
    close_races_push(CEN_QUEUE_UNBOUNDED, 0);
}

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

/* ---- The end of a block ---------------------------------------------------------------------- */

/* Brings the ends of an unbounded queue to the last slot of its first block. */
static void go_to_the_end_of_a_block(void)
{
    queue = make(CEN_QUEUE_UNBOUNDED, 0);
    for (int i = 0; i < CENI_BLOCK_SLOTS - 1; i++) {
        int value = i;
        expect_equal(cen_queue_try_push(queue, &value), CEN_OK);
        expect_equal(cen_queue_try_pop(queue, &value), CEN_OK);
    }
}

EXPLORE(two_pushes_cross_a_block_while_one_pops, 3)
{
    go_to_the_end_of_a_block();
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

EXPLORE(two_pops_cross_a_block_and_one_of_them_frees_it, 3)
{
    go_to_the_end_of_a_block();
    popped a = {.count = 0}, b = {.count = 0};
    push_two((void *)1);
    ceni_thread one = start("pop a", pop_one, &a);
    ceni_thread two = start("pop b", pop_one, &b);
    join(one);
    join(two);
    expect_equal(sum(&a) + sum(&b), 3);
    cen_queue_free(queue);
}

static void pop_two(void *into)
{
    pop_one(into);
    pop_one(into);
}

EXPLORE(a_block_is_freed_only_after_its_last_reader, 4)
{
    queue = make(CEN_QUEUE_UNBOUNDED, 0);
    for (int i = 1; i <= 3; i++) push_number((void *)(intptr_t)i); /* fills the block */
    push_number((void *)4);
    popped first = {.count = 0};
    pop_one(&first);
    popped a = {.count = 0}, b = {.count = 0};
    ceni_thread slow = start("slow pop", pop_one, &a);
    pop_two(&b);
    join(slow);
    expect_equal(sum(&first) + sum(&a) + sum(&b), 1 + 2 + 3 + 4);
    cen_queue_free(queue);
}

EXPLORE(a_block_is_used_again_only_after_its_last_reader, 4)
{
    queue = make(CEN_QUEUE_UNBOUNDED, 0);
    for (int i = 1; i <= CENI_BLOCK_SLOTS + 1; i++) push_number((void *)(intptr_t)i);
    popped a = {.count = 0}, b = {.count = 0};
    ceni_thread slow = start("slow pop", pop_one, &a);
    pop_two(&b);
    for (int i = 0; i < 2 * CENI_BLOCK_SLOTS; i++) push_number((void *)10); /* the first block comes round again */
    join(slow);
    while (b.count < 8) pop_one(&b);
    expect_equal(sum(&a) + sum(&b), 1 + 2 + 3 + 4 + 5 * 10);
    expect_equal(cen_queue_length(queue), 1);
    pop_one(&a);
    cen_queue_free(queue);
}

/* One pop looks at the tail; the other relies on that look at the end of the block. */
EXPLORE(a_pop_that_relies_on_anothers_look_finds_the_next_block, 3)
{
    go_to_the_end_of_a_block();
    popped a = {.count = 0}, b = {.count = 0};
    ceni_thread pusher = start("push", push_two, (void *)1), popper = start("pop", pop_one, &a);
    pop_one(&b);
    join(popper);
    join(pusher);
    expect_equal(sum(&a) + sum(&b), 3);
    cen_queue_free(queue);
}

/* ---- A push stuck midway ------------------------------------------------------------------------ */

/* Two pushes in flight, one pop that does not wait: it gets an element as soon
 * as one of the pushes has returned, whichever that is. */
EXPLORE(try_pop_passes_over_a_push_that_is_stuck_midway, 4)
{
    queue = make(CEN_QUEUE_UNBOUNDED, 0);
    ceni_thread stuck = start("stuck push", push_number, (void *)1);
    popped a = {.count = 0};
    push_number((void *)10);
    try_pop_one(&a);
    expect_equal(a.last, CEN_OK);
    join(stuck);
    try_pop_one(&a);
    expect_equal(a.last, CEN_OK);
    expect_equal(sum(&a), 11);
    cen_queue_free(queue);
}

/* ---- Overwriting the oldest ---------------------------------------------------------------------- */

static void force_number(void *into)
{
    popped *evicted = into;
    int value = 100;
    bool was = false;
    evicted->last = cen_queue_force_push(queue, &value, &evicted->values[0], &was);
    evicted->count = was;
}

EXPLORE(a_forced_push_evicts_at_most_one_and_loses_none, 4)
{
    queue = make(CEN_QUEUE_BOUNDED, 1);
    push_number((void *)1);
    popped evicted = {.count = 0}, a = {.count = 0};
    ceni_thread forcer = start("force", force_number, &evicted);
    try_pop_one(&a);
    join(forcer);
    expect_equal(evicted.last, CEN_OK);
    while (a.last == CEN_OK || a.count == 0) try_pop_one(&a);
    expect_equal(sum(&a) + sum(&evicted), 101);
    cen_queue_free(queue);
}

EXPLORE(two_forced_pushes_and_a_pop_lose_none, 3)
{
    queue = make(CEN_QUEUE_BOUNDED, 2);
    push_two((void *)1);
    popped one = {.count = 0}, two = {.count = 0}, a = {.count = 0};
    ceni_thread forcer = start("force", force_number, &one);
    ceni_thread another = start("force", force_number, &two);
    try_pop_one(&a);
    join(forcer);
    join(another);
    do try_pop_one(&a);
    while (a.last == CEN_OK);
    expect_equal(sum(&a) + sum(&one) + sum(&two), 203);
    cen_queue_free(queue);
}

EXPLORE(a_forced_push_that_races_close_says_what_it_evicted, 4)
{
    queue = make(CEN_QUEUE_BOUNDED, 1);
    push_number((void *)1);
    popped evicted = {.count = 0}, a = {.count = 0};
    ceni_thread forcer = start("force", force_number, &evicted);
    expect_equal(cen_queue_close(queue), CEN_OK);
    join(forcer);
    do try_pop_one(&a);
    while (a.last == CEN_OK);
    expect_equal(sum(&a) + sum(&evicted), evicted.last == CEN_OK ? 101 : 1);
    cen_queue_free(queue);
}

static void try_push_one(void *into)
{
    int value = 1;
    *(cen_status *)into = cen_queue_try_push(queue, &value);
}

EXPLORE(a_forced_push_meets_a_push_that_is_stuck_midway, 4)
{
    queue = make(CEN_QUEUE_BOUNDED, 1);
    cen_status pushed = CEN_INVALID;
    popped evicted = {.count = 0}, a = {.count = 0};
    ceni_thread pusher = start("push", try_push_one, &pushed);
    force_number(&evicted);
    join(pusher);
    pop_one(&a);
    expect_equal(sum(&a) + sum(&evicted), 100 + (pushed == CEN_OK));
    expect_equal(cen_queue_length(queue), 0);
    cen_queue_free(queue);
}

EXPLORE(a_forced_push_leaves_a_closed_queue_closed, 4)
{
    queue = make(CEN_QUEUE_BOUNDED, 1);
    push_number((void *)1);
    popped evicted = {.count = 0};
    ceni_thread forcer = start("force", force_number, &evicted);
    expect_equal(cen_queue_close(queue), CEN_OK);
    expect(cen_queue_is_closed(queue));
    join(forcer);
    expect(cen_queue_is_closed(queue));
    cen_queue_free(queue);
}

EXPLORE(a_forced_push_wakes_a_sleeping_pop, 4)
{
    queue = make(CEN_QUEUE_BOUNDED, 1);
    popped evicted = {.count = 0}, a = {.count = 0};
    ceni_thread popper = start("pop", pop_one, &a);
    force_number(&evicted);
    join(popper);
    expect_equal(sum(&a), 100);
    expect_equal(evicted.count, 0);
    cen_queue_free(queue);
}

/* ---- Attempts that do not wait ------------------------------------------------------------------- */

EXPLORE(two_pops_that_do_not_wait_find_two_finished_pushes, 4)
{
    queue = make(CEN_QUEUE_BOUNDED, 4);
    push_two((void *)1);
    popped a = {.count = 0}, b = {.count = 0};
    ceni_thread popper = start("pop", try_pop_one, &a);
    try_pop_one(&b);
    join(popper);
    expect_equal(sum(&a) + sum(&b), 3);
    cen_queue_free(queue);
}

EXPLORE(two_pushes_that_do_not_wait_fit_into_room_for_two, 4)
{
    queue = make(CEN_QUEUE_BOUNDED, 2);
    cen_status one = CEN_INVALID, two = CEN_INVALID;
    ceni_thread pusher = start("push", try_push_one, &one);
    try_push_one(&two);
    join(pusher);
    expect(one == CEN_OK && two == CEN_OK);
    expect_equal(cen_queue_length(queue), 2);
    cen_queue_free(queue);
}

EXPLORE(a_close_while_a_block_is_being_linked_is_not_forgotten, 4)
{
    go_to_the_end_of_a_block();
    cen_status pushed = CEN_INVALID;
    ceni_thread pusher = start("push", try_push_one, &pushed);
    expect_equal(cen_queue_close(queue), CEN_OK);
    join(pusher);
    expect(cen_queue_is_closed(queue));
    popped a = {.count = 0};
    do try_pop_one(&a);
    while (a.last == CEN_OK);
    expect_equal(a.count, pushed == CEN_OK);
    cen_queue_free(queue);
}

EXPLORE(a_block_that_is_used_again_is_as_good_as_new, 4)
{
    queue = make(CEN_QUEUE_UNBOUNDED, 0);
    for (int i = 0; i < 3 * CENI_BLOCK_SLOTS; i++) {
        int value = 1;
        expect_equal(cen_queue_try_push(queue, &value), CEN_OK);
        expect_equal(cen_queue_try_pop(queue, &value), CEN_OK);
    }
    popped a = {.count = 0};
    ceni_thread pusher = start("push", push_number, (void *)10);
    push_two((void *)1);
    pop_two(&a);
    join(pusher);
    pop_one(&a);
    expect_equal(sum(&a), 13);
    cen_queue_free(queue);
}

static void look_at_the_length(void *unused)
{
    (void)unused;
    for (int i = 0; i < 2; i++) expect(cen_queue_length(queue) <= 1);
}

static void length_stays_plausible(cen_queue_kind kind, size_t capacity)
{
    queue = make(kind, capacity);
    ceni_thread looker = start("look", look_at_the_length, NULL);
    for (int i = 0; i < 3; i++) {
        int value = 1;
        expect_equal(cen_queue_push(queue, &value), CEN_OK);
        expect_equal(cen_queue_pop(queue, &value), CEN_OK);
    }
    join(looker);
    cen_queue_free(queue);
}

EXPLORE(the_length_is_one_that_the_queue_had_bounded, 4)
{
    length_stays_plausible(CEN_QUEUE_BOUNDED, 2);
}

EXPLORE(the_length_is_one_that_the_queue_had_unbounded, 4)
{
    length_stays_plausible(CEN_QUEUE_UNBOUNDED, 0);
}

/* ---- Rendezvous, byte by byte ----------------------------------------------------------------------- */

static void pop_into_marked_memory(void *into)
{
    popped *out = into;
    out->values[0] = -1;
    out->last = cen_queue_pop_until(queue, &out->values[0], cen_in_ms(1));
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
