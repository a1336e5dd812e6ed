/* SPDX-License-Identifier: MIT */
/* What whoever watches is told of a queue. */
#include "port/port.h"
#include "support/description.h"
#include "support/world.h"
#include "unit/sync/queues.h"

static cen_queue *make(cen_queue_kind kind, size_t capacity)
{
    cen_queue_options options =
        CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .name = "line", .kind = kind, .capacity = capacity);
    cen_queue *queue;
    expect_equal(cen_queue_new(&options, &queue, NULL), CEN_OK);
    return queue;
}

TEST(a_bounded_queue_shows_its_length_its_capacity_and_that_it_is_closed)
{
    description s;
    cen_queue *queue = make(CEN_QUEUE_BOUNDED, 5);
    push_all(queue, 1, 3);
    description_take(&s, "queue", "line", 10);
    expect_text(description_words(&s, "form"), "bounded");
    expect_equal(description_number(&s, "capacity"), 5);
    expect_equal(description_number(&s, "length"), 3);
    expect_equal(description_number(&s, "element_size"), sizeof(int));
    expect(!description_truth(&s, "closed"));
    expect_equal(metric_of("queue", "line", "capacity"), 5);
    description_drop(&s);
    expect_equal(cen_queue_close(queue), CEN_OK);
    description_take(&s, "queue", "line", 10);
    expect(description_truth(&s, "closed"));
    description_drop(&s);
    cen_queue_free(queue);
}

static void pop_one(void *queue)
{
    int element;
    expect_equal(cen_queue_pop(queue, &element), CEN_OK);
}

TEST(one_that_waits_is_seen_and_a_queue_without_bounds_has_no_capacity)
{
    description s;
    ceni_thread thread;
    int element = 7;
    cen_queue *queue = make(CEN_QUEUE_UNBOUNDED, 0);
    expect_equal(ceni_thread_start(&thread, "pops", pop_one, queue, NULL), CEN_OK);
    ceni_world_settle();
    description_take(&s, "queue", "line", 10);
    expect_text(description_words(&s, "form"), "unbounded");
    expect_equal(description_number(&s, "pops_waiting"), 1);
    expect_equal(description_number(&s, "pushes_waiting"), 0);
    expect(!description_has(&s, "capacity"));
    description_drop(&s);
    expect_equal(cen_queue_push(queue, &element), CEN_OK);
    ceni_thread_join(&thread);
    cen_queue_free(queue);
}
