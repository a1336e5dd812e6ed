/* SPDX-License-Identifier: MIT */
/* Push, pop, close and force_push of the three kinds, in virtual time. */
#include <stdlib.h>

#include "unit/sync/queues.h"

/* ---- Order and contents ------------------------------------------------------- */

static void fill(unsigned char *element, size_t size, uint64_t number)
{
    uint64_t state = number;
    for (size_t i = 0; i < size; i++) element[i] = (unsigned char)(i % 64 ? number + i : test_random(&state));
}

/* Elements come out as they went in, over many laps and in bursts of every length up to `most`. */
static void elements_stay_whole(cen_queue *queue, size_t most, uint64_t total)
{
    size_t size = cen_queue_element_size(queue);
    unsigned char *sent = malloc(size + 1), *got = malloc(size + 1);
    uint64_t pushed = 0, popped = 0;
    for (size_t burst = 1; pushed < total; burst = burst % most + 1) {
        for (size_t i = 0; i < burst; i++) {
            fill(sent, size, pushed++);
            expect_equal(cen_queue_try_push(queue, sent), CEN_OK);
            expect_equal(cen_queue_length(queue), i + 1);
        }
        for (size_t i = 0; i < burst; i++) {
            fill(sent, size, popped++);
            got[size] = 0x5A;
            expect_equal(cen_queue_pop(queue, got), CEN_OK);
            expect(memcmp(sent, got, size) == 0);
            expect_equal(got[size], 0x5A);
        }
        expect_equal(cen_queue_length(queue), 0);
    }
    free(sent);
    free(got);
}

/* guarantees: queue.order */
TEST(elements_of_any_size_come_out_whole_and_in_order_bounded)
{
    static const size_t sizes[] = {1, 3, 8, 24, 4097};
    static const size_t capacities[] = {1, 2, 3, 1000};
    for (size_t s = 0; s < 5; s++)
        for (size_t c = 0; c < 4; c++) {
            cen_queue *queue = make_sized(CEN_QUEUE_BOUNDED, capacities[c], sizes[s]);
            elements_stay_whole(queue, capacities[c] < 40 ? capacities[c] : 40, 300);
            cen_queue_free(queue);
        }
}

/* guarantees: queue.order */
TEST(elements_of_any_size_come_out_whole_and_in_order_unbounded)
{
    static const size_t sizes[] = {1, 3, 8, 24, 4097};
    for (size_t s = 0; s < 5; s++) {
        cen_queue *queue = make_sized(CEN_QUEUE_UNBOUNDED, 0, sizes[s]);
        elements_stay_whole(queue, 50, 600);
        cen_queue_free(queue);
    }
}

/* guarantees: queue.order */
TEST(a_ring_wraps_around_thousands_of_times_and_stays_in_order)
{
    cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, 3);
    push_all(queue, 0, 1);
    for (int i = 2; i < 30000; i++) {
        push_all(queue, i, i);
        expect_equal(cen_queue_length(queue), 3);
        expect_popped(queue, i - 2, i - 2);
    }
    cen_queue_free(queue);
}

/* ---- Full and empty -------------------------------------------------------------- */

/* guarantees: queue.capacity, crossbeam.send, crossbeam.recv, crossbeam.failed-send, crossbeam.len */
TEST(a_bounded_queue_takes_exactly_its_capacity_and_then_is_full)
{
    static const size_t capacities[] = {1, 2, 3, 1000};
    for (int c = 0; c < 4; c++) {
        int capacity = (int)capacities[c], refused = 5;
        cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, capacities[c]);
        push_all(queue, 1, capacity);
        expect_equal(cen_queue_try_push(queue, &refused), CEN_FULL);
        expect(refused == 5 && cen_queue_length(queue) == capacities[c]);
        expect_popped(queue, 1, capacity);
        expect_equal(cen_queue_try_pop(queue, &refused), CEN_EMPTY);
        expect(refused == 5 && cen_queue_length(queue) == 0);
        cen_queue_free(queue);
    }
}

/* guarantees: queue.capacity */
TEST(an_unbounded_queue_takes_far_more_than_a_block_before_anything_is_popped)
{
    cen_queue *queue = make_queue(CEN_QUEUE_UNBOUNDED, 0);
    push_all(queue, 1, 5000);
    expect_equal(cen_queue_length(queue), 5000);
    expect_popped(queue, 1, 5000);
    int value = UNSET;
    expect_equal(cen_queue_try_pop(queue, &value), CEN_EMPTY);
    expect_equal(value, UNSET);
    cen_queue_free(queue);
}

/* guarantees: queue.null */
TEST(nothing_can_be_done_without_a_queue_or_an_element)
{
    int value = UNSET;
    bool evicted = true;
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 2);
        expect_equal(cen_queue_try_push(queue, NULL), CEN_INVALID);
        expect_equal(cen_queue_push(queue, NULL), CEN_INVALID);
        expect_equal(cen_queue_push_until(queue, NULL, CEN_NEVER), CEN_INVALID);
        expect_equal(cen_queue_try_pop(queue, NULL), CEN_INVALID);
        expect_equal(cen_queue_pop(queue, NULL), CEN_INVALID);
        expect_equal(cen_queue_pop_until(queue, CEN_NEVER, NULL), CEN_INVALID);
        expect_equal(cen_queue_force_push(queue, NULL, &value, &evicted), CEN_INVALID);
        expect_equal(cen_queue_force_push(queue, &value, NULL, &evicted), CEN_INVALID);
        expect_equal(cen_queue_force_push(queue, &value, &value, NULL), CEN_INVALID);
        expect_equal(cen_queue_length(queue), 0);
        cen_queue_free(queue);
    }
    expect_equal(cen_queue_try_push(NULL, &value), CEN_INVALID);
    expect_equal(cen_queue_push(NULL, &value), CEN_INVALID);
    expect_equal(cen_queue_push_until(NULL, &value, CEN_NEVER), CEN_INVALID);
    expect_equal(cen_queue_try_pop(NULL, &value), CEN_INVALID);
    expect_equal(cen_queue_pop(NULL, &value), CEN_INVALID);
    expect_equal(cen_queue_pop_until(NULL, CEN_NEVER, &value), CEN_INVALID);
    expect_equal(cen_queue_force_push(NULL, &value, &value, &evicted), CEN_INVALID);
    expect_equal(cen_queue_close(NULL), CEN_INVALID);
    expect(value == UNSET && evicted);
}

/* ---- Waiting ------------------------------------------------------------------------ */

/* guarantees: queue.fifo-waiters, crossbeam.recv */
TEST(waiting_pops_are_served_in_the_order_they_came)
{
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 4);
        call pops[3];
        for (int i = 0; i < 3; i++) begin_pop(&pops[i], queue, CEN_NEVER);
        expect_equal(ceni_world_waiting(), 3);
        for (int i = 0; i < 3; i++) {
            push_all(queue, i, i);
            expect_call(&pops[i], CEN_OK, i);
            expect_equal(ceni_world_waiting(), 2 - i);
        }
        cen_queue_free(queue);
    }
}

/* guarantees: queue.fifo-waiters, crossbeam.send */
TEST(waiting_pushes_are_let_in_in_the_order_they_came)
{
    cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, 1);
    push_all(queue, 0, 0);
    call pushes[3];
    for (int i = 0; i < 3; i++) begin_push(&pushes[i], queue, i + 1, CEN_NEVER);
    expect_equal(ceni_world_waiting(), 3);
    for (int i = 0; i < 3; i++) {
        expect_popped(queue, i, i);
        expect_call(&pushes[i], CEN_OK, i + 1);
    }
    expect_popped(queue, 3, 3);
    cen_queue_free(queue);
}

/* guarantees: queue.L3 */
TEST(one_burst_of_pushes_reaches_every_waiting_pop)
{
    enum { POPS = 10 };
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_queue(all_kinds[k], POPS);
        call pops[POPS];
        for (int i = 0; i < POPS; i++) begin_pop(&pops[i], queue, CEN_NEVER);
        push_all(queue, 1, POPS);
        int sum = 0;
        ceni_world_settle();
        for (int i = 0; i < POPS; i++) {
            expect(pops[i].returned && pops[i].status == CEN_OK);
            sum += pops[i].value;
            join(pops[i].thread);
        }
        expect_equal(sum, POPS * (POPS + 1) / 2);
        cen_queue_free(queue);
    }
}

/* guarantees: crossbeam-bugs.1154 */
TEST(a_waiting_pop_sleeps_instead_of_spinning)
{
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 1);
        call pop;
        begin_pop(&pop, queue, cen_in_s(3600));
        expect_equal(ceni_world_waiting(), 1); /* asleep: one that polls is never counted here */
        ceni_world_advance(3599 * SECOND);
        ceni_world_settle();
        expect_equal(ceni_world_waiting(), 1);
        expect_equal(cen_queue_close(queue), CEN_OK);
        expect_call(&pop, CEN_CLOSED, UNSET);
        cen_queue_free(queue);
    }
}

/* ---- Rendezvous ------------------------------------------------------------------------ */

/* guarantees: queue.rendezvous */
TEST(a_rendezvous_without_a_partner_is_full_and_empty_at_once)
{
    cen_queue *queue = make_queue(CEN_QUEUE_RENDEZVOUS, 0);
    int value = UNSET;
    expect_equal(cen_queue_try_push(queue, &value), CEN_FULL);
    expect_equal(cen_queue_try_pop(queue, &value), CEN_EMPTY);
    expect(value == UNSET && cen_queue_length(queue) == 0);
    cen_queue_free(queue);
}

/* guarantees: queue.rendezvous, crossbeam.rendezvous */
TEST(a_push_to_a_rendezvous_is_done_when_a_pop_takes_it_and_not_before)
{
    cen_queue *queue = make_queue(CEN_QUEUE_RENDEZVOUS, 0);
    call first, second;
    begin_push(&first, queue, 1, CEN_NEVER);
    begin_push(&second, queue, 2, CEN_NEVER);
    expect(!first.returned && !second.returned && cen_queue_length(queue) == 0);
    expect_popped(queue, 1, 1);
    expect_call(&first, CEN_OK, 1);
    expect(!second.returned);
    expect_popped(queue, 2, 2);
    expect_call(&second, CEN_OK, 2);
    cen_queue_free(queue);
}

/* guarantees: queue.rendezvous */
TEST(try_push_meets_a_pop_that_waits)
{
    cen_queue *queue = make_queue(CEN_QUEUE_RENDEZVOUS, 0);
    call pop;
    begin_pop(&pop, queue, CEN_NEVER);
    push_all(queue, 8, 8);
    expect_call(&pop, CEN_OK, 8);
    int value = 9;
    expect_equal(cen_queue_try_push(queue, &value), CEN_FULL);
    cen_queue_free(queue);
}

/* ---- Close --------------------------------------------------------------------------------- */

static void expect_refused(cen_queue *queue)
{
    int value = 5, evicted = UNSET;
    bool out = false;
    cen_status forced = cen_queue_capacity(queue) == 0 ? CEN_INVALID : CEN_CLOSED;
    expect_equal(cen_queue_try_push(queue, &value), CEN_CLOSED);
    expect_equal(cen_queue_push(queue, &value), CEN_CLOSED);
    expect_equal(cen_queue_push_until(queue, &value, CEN_NEVER), CEN_CLOSED);
    expect_equal(cen_queue_force_push(queue, &value, &evicted, &out), forced);
    expect(value == 5 && evicted == UNSET && !out);
}

static void expect_drained(cen_queue *queue)
{
    int value = UNSET;
    expect_equal(cen_queue_try_pop(queue, &value), CEN_CLOSED);
    expect_equal(cen_queue_pop(queue, &value), CEN_CLOSED);
    expect_equal(cen_queue_pop_until(queue, CEN_NEVER, &value), CEN_CLOSED);
    expect_equal(value, UNSET);
}

/* guarantees: queue.closed, crossbeam.disconnect */
TEST(a_closed_queue_refuses_pushes_pops_what_it_holds_and_then_says_closed)
{
    for (int k = 0; k < 2; k++)
        for (int held = 0; held <= 7; held++) { /* every place in a block, and a full ring */
            cen_queue *queue = make_queue(all_kinds[k], 7);
            push_all(queue, 1, held);
            expect(!cen_queue_is_closed(queue));
            expect_equal(cen_queue_close(queue), CEN_OK);
            expect(cen_queue_is_closed(queue));
            expect_refused(queue);
            expect_equal(cen_queue_length(queue), held);
            expect_popped(queue, 1, held);
            expect_drained(queue);
            cen_queue_free(queue);
        }
}

/* guarantees: queue.closed */
TEST(a_closed_rendezvous_refuses_both_sides)
{
    cen_queue *queue = make_queue(CEN_QUEUE_RENDEZVOUS, 0);
    expect(!cen_queue_is_closed(queue));
    expect_equal(cen_queue_close(queue), CEN_OK);
    expect(cen_queue_is_closed(queue));
    expect_refused(queue);
    expect_drained(queue);
    cen_queue_free(queue);
}

/* guarantees: queue.closed */
TEST(closing_twice_says_closed_and_changes_nothing)
{
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 2);
        if (k < 2) push_all(queue, 1, 2);
        expect_equal(cen_queue_close(queue), CEN_OK);
        expect_equal(cen_queue_close(queue), CEN_CLOSED);
        expect_equal(cen_queue_close(queue), CEN_CLOSED);
        if (k < 2) expect_popped(queue, 1, 2);
        expect_drained(queue);
        cen_queue_free(queue);
    }
}

/* guarantees: queue.close-wakes */
TEST(close_wakes_every_waiting_pop)
{
    for (int k = 0; k < 3; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 2);
        call pops[4];
        for (int i = 0; i < 4; i++) begin_pop(&pops[i], queue, i % 2 ? CEN_NEVER : cen_in_s(9));
        expect_equal(cen_queue_close(queue), CEN_OK);
        for (int i = 0; i < 4; i++) expect_call(&pops[i], CEN_CLOSED, UNSET);
        cen_queue_free(queue);
    }
}

/* guarantees: queue.close-wakes, crossbeam.failed-send */
TEST(close_wakes_every_waiting_push_and_none_of_them_gets_in)
{
    for (int k = 0; k < 3; k += 2) {
        cen_queue *queue = make_queue(all_kinds[k], 1);
        if (k == 0) push_all(queue, 1, 1);
        call pushes[4];
        for (int i = 0; i < 4; i++) begin_push(&pushes[i], queue, 50 + i, i % 2 ? CEN_NEVER : cen_in_s(9));
        expect_equal(cen_queue_close(queue), CEN_OK);
        for (int i = 0; i < 4; i++) expect_call(&pushes[i], CEN_CLOSED, 50 + i);
        if (k == 0) expect_popped(queue, 1, 1);
        expect_drained(queue);
        cen_queue_free(queue);
    }
}

/* ---- Overwriting the oldest ------------------------------------------------------------------- */

/* guarantees: crossbeam-bugs.400 */
TEST(a_forced_push_evicts_the_oldest_of_a_full_queue_and_only_then)
{
    static const int capacities[] = {1, 2, 3};
    for (int c = 0; c < 3; c++) {
        int capacity = capacities[c];
        cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, (size_t)capacity);
        for (int i = 0; i < 100; i++) {
            int evicted = UNSET;
            bool out = i < capacity; /* the opposite of what is to come */
            expect_equal(cen_queue_force_push(queue, &i, &evicted, &out), CEN_OK);
            expect_equal(out, i >= capacity);
            expect_equal(evicted, i >= capacity ? i - capacity : UNSET);
        }
        expect_popped(queue, 100 - capacity, 99);
        expect_equal(cen_queue_length(queue), 0);
        cen_queue_free(queue);
    }
}

/* guarantees: crossbeam-bugs.400 */
TEST(a_forced_push_wakes_a_waiting_pop_and_evicts_nothing)
{
    for (int k = 0; k < 2; k++) {
        cen_queue *queue = make_queue(all_kinds[k], 1);
        call pop;
        begin_pop(&pop, queue, CEN_NEVER);
        int value = 3, evicted = UNSET;
        bool out = true;
        expect_equal(cen_queue_force_push(queue, &value, &evicted, &out), CEN_OK);
        expect(!out && evicted == UNSET);
        expect_call(&pop, CEN_OK, 3);
        cen_queue_free(queue);
    }
}

/* guarantees: crossbeam-bugs.400 */
TEST(a_forced_push_leaves_waiting_pushes_waiting_in_their_order)
{
    cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, 1);
    push_all(queue, 0, 0);
    call pushes[2];
    for (int i = 0; i < 2; i++) begin_push(&pushes[i], queue, i + 1, CEN_NEVER);
    int value = 9, evicted = UNSET;
    bool out = false;
    expect_equal(cen_queue_force_push(queue, &value, &evicted, &out), CEN_OK);
    expect(out && evicted == 0);
    ceni_world_settle();
    expect(!pushes[0].returned && !pushes[1].returned);
    expect_popped(queue, 9, 9);
    expect_call(&pushes[0], CEN_OK, 1);
    expect_popped(queue, 1, 1);
    expect_call(&pushes[1], CEN_OK, 2);
    cen_queue_free(queue);
}
