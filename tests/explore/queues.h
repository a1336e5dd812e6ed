/* SPDX-License-Identifier: MIT */
/* What the explored tests of the queue share: one queue, and threads that push
 * to it and pop from it. */
#ifndef TESTS_EXPLORE_QUEUES_H
#define TESTS_EXPLORE_QUEUES_H

#include <cenote/queue.h>

#include "base/atomic.h"
#include "support/world.h"

static cen_queue *queue;

static inline cen_queue *make(cen_queue_kind kind, size_t capacity)
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

static inline void pop_one(void *into)
{
    popped *out = into;
    out->last = cen_queue_pop(queue, &out->values[out->count]);
    if (out->last == CEN_OK) out->count++;
}

static inline void pop_until_closed(void *into)
{
    popped *out = into;
    while ((out->last = cen_queue_pop(queue, &out->values[out->count])) == CEN_OK) out->count++;
}

static inline void pop_or_time_out(void *into)
{
    popped *out = into;
    out->last = cen_queue_pop_until(queue, cen_in_ms(1), &out->values[out->count]);
    if (out->last == CEN_OK) out->count++;
}

static inline void try_pop_one(void *into)
{
    popped *out = into;
    out->last = cen_queue_try_pop(queue, &out->values[out->count]);
    if (out->last == CEN_OK) out->count++;
}

static inline void push_number(void *number)
{
    int value = (int)(intptr_t)number;
    expect_equal(cen_queue_push(queue, &value), CEN_OK);
}

static inline void push_two(void *number)
{
    for (int i = 0; i < 2; i++) {
        int value = (int)(intptr_t)number + i;
        expect_equal(cen_queue_push(queue, &value), CEN_OK);
    }
}

static inline int sum(const popped *all)
{
    int total = 0;
    for (int i = 0; i < all->count; i++) total += all->values[i];
    return total;
}

static inline void pop_two(void *into)
{
    pop_one(into);
    pop_one(into);
}

static inline void try_push_one(void *into)
{
    int value = 1;
    *(cen_status *)into = cen_queue_try_push(queue, &value);
}

#endif
