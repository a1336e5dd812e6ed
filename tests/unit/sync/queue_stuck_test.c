/* SPDX-License-Identifier: MIT */
/*
 * States of the queue that take long or bad luck to reach, made by hand: the
 * ends after very many laps, and threads that stopped in the middle of a push
 * or pop and will never go on.
 */
#include "sync/queue_internal.h"
#include "unit/sync/queues.h"

/* ---- Very many laps -------------------------------------------------------------- */

/* Brings the ends of an empty queue to where they are after so many laps of its ring. */
static void go_to_lap(cen_queue *queue, uint64_t lap)
{
    expect(lap < (UINT64_C(1) << 62) / queue->ring.lap); /* there is room to count them */
    uint64_t position = lap * queue->ring.lap;
    for (size_t i = 0; i < queue->ring.capacity; i++)
        *(uint64_t *)(void *)(queue->ring.slots + i * queue->ring.slot_size) = position + i;
    ceni_store_relaxed(&queue->ring.head, position);
    ceni_store_relaxed(&queue->ring.tail, position);
}

/* A queue of one, pushed and popped once a microsecond, has gone round 2^38
 * times in three days; the word that counts also says whether it is closed. */
/* guarantees: queue.laps */
TEST(a_small_queue_works_on_after_centuries_of_laps)
{
    for (int capacity = 1; capacity <= 3; capacity++) {
        cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, (size_t)capacity);
        go_to_lap(queue, UINT64_C(1) << 59);
        for (int i = 0; i < 5; i++) {
            push_all(queue, 1, capacity);
            expect(!cen_queue_is_closed(queue));
            expect_equal(cen_queue_length(queue), capacity);
            int value = 99;
            expect_equal(cen_queue_try_push(queue, &value), CEN_FULL);
            expect_popped(queue, 1, capacity);
            expect_equal(cen_queue_try_pop(queue, &value), CEN_EMPTY);
        }
        expect_equal(cen_queue_close(queue), CEN_OK);
        cen_queue_free(queue);
    }
}

/* ---- Threads stuck midway ---------------------------------------------------------- */

/* guarantees: crossbeam-bugs.997 */
TEST(try_pop_of_a_bounded_queue_says_empty_instead_of_waiting_for_a_stuck_push)
{
    cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, 4);
    ceni_add_seq_cst(&queue->ring.tail, 1); /* a push that has claimed its place and stopped */
    push_all(queue, 2, 2);
    int value = UNSET;
    expect_equal(cen_queue_try_pop(queue, &value), CEN_EMPTY);
    expect_equal(cen_queue_pop_until(queue, CEN_NOW, &value), CEN_TIMEOUT);
    expect_equal(cen_queue_pop_until(queue, cen_in_s(30), &value), CEN_TIMEOUT);
    expect_equal(value, UNSET);
    cen_queue_free(queue);
}

/* guarantees: crossbeam-bugs.997 */
TEST(try_pop_of_an_unbounded_queue_gets_what_was_pushed_behind_a_stuck_push)
{
    cen_queue *queue = make_queue(CEN_QUEUE_UNBOUNDED, 0);
    ceni_add_seq_cst(&queue->blocks.tail, 1); /* the same */
    push_all(queue, 2, 2);
    expect_popped(queue, 2, 2);
    int value = UNSET;
    expect_equal(cen_queue_try_pop(queue, &value), CEN_EMPTY);
    cen_queue_free(queue);
}

/* guarantees: crossbeam-bugs.997 */
TEST(try_push_of_a_bounded_queue_says_full_instead_of_waiting_for_a_stuck_pop)
{
    cen_queue *queue = make_queue(CEN_QUEUE_BOUNDED, 2);
    push_all(queue, 1, 2);
    ceni_add_seq_cst(&queue->ring.head, 1); /* a pop that has claimed its element and stopped */
    int value = 3;
    expect_equal(cen_queue_try_push(queue, &value), CEN_FULL);
    expect_equal(cen_queue_push_until(queue, &value, cen_in_s(30)), CEN_TIMEOUT);
    expect_popped(queue, 2, 2);
    cen_queue_free(queue);
}

/* guarantees: crossbeam-bugs.997 */
TEST(try_pop_of_an_unbounded_queue_says_empty_instead_of_waiting_for_a_pop_stuck_between_blocks)
{
    cen_queue *queue = make_queue(CEN_QUEUE_UNBOUNDED, 0);
    push_all(queue, 1, CENI_BLOCK_SLOTS + 1);
    expect_popped(queue, 1, CENI_BLOCK_SLOTS - 1);
    ceni_add_seq_cst(&queue->blocks.head, 1); /* a pop that has claimed the last of a block and stopped */
    int value = UNSET;
    expect_equal(cen_queue_try_pop(queue, &value), CEN_EMPTY);
    expect_equal(cen_queue_pop_until(queue, cen_in_s(30), &value), CEN_TIMEOUT);
    expect_equal(value, UNSET);
    cen_queue_free(queue);
}

static void try_pop_of(void *argument)
{
    call *one = argument;
    one->status = cen_queue_try_pop(one->queue, &one->value);
}

/* Nothing is being pushed here. One of the two may meet the other between the
 * blocks and say EMPTY; it never waits, nothing is lost, and both never do. */
/* guarantees: queue.empty */
EXPLORE(of_two_pops_that_do_not_wait_only_one_may_miss_an_element_in_the_next_block, 4)
{
    cen_queue *queue = make_queue(CEN_QUEUE_UNBOUNDED, 0);
    push_all(queue, 1, CENI_BLOCK_SLOTS + 1);
    expect_popped(queue, 1, CENI_BLOCK_SLOTS - 1);
    call other = {.queue = queue}, mine = {.queue = queue};
    other.thread = start("pop", try_pop_of, &other);
    try_pop_of(&mine);
    join(other.thread);
    expect(other.status == CEN_OK || mine.status == CEN_OK);
    int missed = (other.status == CEN_EMPTY) + (mine.status == CEN_EMPTY);
    expect_equal(cen_queue_length(queue), missed);
    if (missed) expect_equal(cen_queue_try_pop(queue, &mine.value), CEN_OK);
    cen_queue_free(queue);
}
