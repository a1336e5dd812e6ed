/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the queue share: making one, and a call that another
 * thread makes and whose outcome can be looked at before it has returned.
 */
#ifndef TESTS_UNIT_SYNC_QUEUES_H
#define TESTS_UNIT_SYNC_QUEUES_H

#include <cenote/queue.h>

#include "support/world.h"

#define SECOND INT64_C(1000000000)
#define UNSET (-77) /* in memory that must stay as it is */

static const cen_queue_kind all_kinds[] = {CEN_QUEUE_BOUNDED, CEN_QUEUE_UNBOUNDED, CEN_QUEUE_RENDEZVOUS};

static inline cen_queue *make_sized(cen_queue_kind kind, size_t capacity, size_t element_size)
{
    cen_queue *queue = NULL;
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = element_size, .kind = kind, .capacity = capacity);
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
    return queue;
}

/* Of ints. Capacity 0 where the kind has none. */
static inline cen_queue *make_queue(cen_queue_kind kind, size_t capacity)
{
    return make_sized(kind, kind == CEN_QUEUE_BOUNDED ? capacity : 0, sizeof(int));
}

static inline void push_all(cen_queue *queue, int first, int last)
{
    for (int i = first; i <= last; i++) expect_equal(cen_queue_try_push(queue, &i), CEN_OK);
}

static inline void expect_popped(cen_queue *queue, int first, int last)
{
    for (int i = first; i <= last; i++) {
        int value = UNSET;
        expect_equal(cen_queue_try_pop(queue, &value), CEN_OK);
        expect_equal(value, i);
    }
}

/* One blocking call in a thread of its own. */
typedef struct call {
    cen_queue *queue;
    int value; /* pushed, or popped to */
    cen_deadline deadline;
    cen_status status;
    bool returned;
    ceni_thread thread;
} call;

static inline void call_pop(void *argument)
{
    call *one = argument;
    one->value = UNSET;
    one->status = cen_queue_pop_until(one->queue, one->deadline, &one->value);
    one->returned = true;
}

static inline void call_push(void *argument)
{
    call *one = argument;
    one->status = cen_queue_push_until(one->queue, &one->value, one->deadline);
    one->returned = true;
}

/* Starts the call and lets it run until it waits or has returned. */
static inline void begin_pop(call *one, cen_queue *queue, cen_deadline deadline)
{
    *one = (call){.queue = queue, .deadline = deadline};
    one->thread = start("pop", call_pop, one);
    ceni_world_settle();
}

static inline void begin_push(call *one, cen_queue *queue, int value, cen_deadline deadline)
{
    *one = (call){.queue = queue, .value = value, .deadline = deadline};
    one->thread = start("push", call_push, one);
    ceni_world_settle();
}

static inline void expect_call(call *one, cen_status status, int value)
{
    ceni_world_settle();
    expect(one->returned);
    join(one->thread);
    expect_equal(one->status, status);
    expect_equal(one->value, value);
}

#endif
