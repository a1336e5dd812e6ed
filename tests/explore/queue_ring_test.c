/* SPDX-License-Identifier: MIT */
/* The bounded queue under every schedule: forced pushes, attempts that do not
 * wait, and its length. */
#include "explore/queues.h"

/* ---- Overwriting the oldest ---------------------------------------------------------------------- */

static void force_number(void *into)
{
    popped *evicted = into;
    int value = 100;
    bool was = false;
    evicted->last = cen_queue_force_push(queue, &value, &evicted->values[0], &was);
    evicted->count = was;
}

/* guarantees: crossbeam-bugs.400 */
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

/* guarantees: crossbeam-bugs.400 */
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

/* guarantees: crossbeam-bugs.400 */
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

/* ---- Two lengths at a time ------------------------------------------------------------------------ */

static void pop_and_look(void *length)
{
    int value = 0;
    expect_equal(cen_queue_try_pop(queue, &value), CEN_OK);
    *(size_t *)length = cen_queue_length(queue);
}

/* One thread sees the pop and not yet the push; no other may see the push and not yet the pop. */
static void lengths_agree(cen_queue_kind kind, size_t capacity)
{
    queue = make(kind, capacity);
    push_number((void *)1);
    size_t after_the_pop = 0;
    ceni_thread popper = start("pop", pop_and_look, &after_the_pop);
    ceni_thread pusher = start("push", push_number, (void *)2);
    size_t length = cen_queue_length(queue);
    join(popper);
    join(pusher);
    expect(!(after_the_pop == 0 && length == 2));
    cen_queue_free(queue);
}

EXPLORE(two_lengths_agree_on_the_order_of_a_push_and_a_pop_bounded, 3)
{
    lengths_agree(CEN_QUEUE_BOUNDED, 2);
}

EXPLORE(two_lengths_agree_on_the_order_of_a_push_and_a_pop_unbounded, 3)
{
    lengths_agree(CEN_QUEUE_UNBOUNDED, 0);
}
