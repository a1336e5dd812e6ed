/* SPDX-License-Identifier: MIT */
/* The unbounded queue under every schedule: the ends of its blocks, and pushes
 * that are stuck midway. */
#include "sync/queue_internal.h"

#include "explore/queues.h"

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

/* ---- The end of a block ---------------------------------------------------------------------- */

/* guarantees: crossbeam-bugs.972 */
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

/* guarantees: crossbeam-bugs.972 */
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

/* guarantees: crossbeam-bugs.972 */
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

/* ---- A push stuck midway ------------------------------------------------------------------------ */

/* Two pushes in flight, one pop that does not wait: it gets an element as soon
 * as one of the pushes has returned, whichever that is. */
/* guarantees: crossbeam-bugs.997 */
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
