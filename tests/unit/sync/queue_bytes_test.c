/* SPDX-License-Identifier: MIT */
/*
 * The stamp of a slot is all that orders the bytes of an element. ThreadSanitizer judges it.
 *
 * The two threads take turns by relaxed words, which order nothing. So each run has the same interleaving, and the only
 * happens-before edge between the write of the bytes and their read is the queue's own. Without it every run is reported.
 */
#include <cenote/queue.h>

#include "base/atomic.h"
#include "port/port.h"
#include "support/test.h"

enum { ELEMENT = 64, LAPS = 5 };

typedef struct element {
    unsigned char bytes[ELEMENT];
} element;

static cen_queue *queue;
static _Atomic uint32_t pushed, popped;

static void wait_until(_Atomic uint32_t *word, uint32_t count)
{
    while (ceni_load_relaxed(word) < count) ceni_thread_yield(); /* carries nothing, on purpose */
}

static void pop_in_turn(void *unused)
{
    (void)unused;
    for (uint32_t i = 0; i < LAPS; i++) {
        element got;
        wait_until(&pushed, i + 1);
        expect_equal(cen_queue_try_pop(queue, &got), CEN_OK);
        expect_equal(got.bytes[0], i);
        expect_equal(got.bytes[ELEMENT - 1], i);
        ceni_store_relaxed(&popped, i + 1); /* carries nothing, on purpose */
    }
}

static void pass_elements(cen_queue_kind kind, size_t capacity)
{
    int code;
    ceni_thread consumer;
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(element), .kind = kind, .capacity = capacity);
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
    expect_equal(ceni_thread_start(&consumer, "consumer", pop_in_turn, NULL, &code), CEN_OK);
    for (uint32_t i = 0; i < LAPS; i++) {
        element next;
        memset(next.bytes, (int)i, sizeof next.bytes);
        wait_until(&popped, i);
        expect_equal(cen_queue_try_push(queue, &next), CEN_OK);
        ceni_store_relaxed(&pushed, i + 1); /* carries nothing, on purpose */
    }
    ceni_thread_join(&consumer);
    cen_queue_free(queue);
}

TEST(the_bytes_of_an_element_happen_before_its_pop_from_a_bounded_queue)
{
    pass_elements(CEN_QUEUE_BOUNDED, 2);
}

TEST(the_bytes_of_an_element_happen_before_its_pop_from_an_unbounded_queue)
{
    pass_elements(CEN_QUEUE_UNBOUNDED, 0);
}
