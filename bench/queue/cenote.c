/* SPDX-License-Identifier: MIT */
/* cenote's own queue, through the shared library as users link it. */
#include <cenote/queue.h>

#include "../rules/transfer.h"

static cen_queue *queue;

static void queue_make(const struct bench_plan *plan)
{
    cen_queue_options options =
        CEN_QUEUE_OPTIONS(.name = "bench", .element_size = sizeof(uint64_t),
                          .kind = plan->bounded ? CEN_QUEUE_BOUNDED : CEN_QUEUE_UNBOUNDED, .capacity = plan->capacity);
    cen_error error;
    if (cen_queue_new(&options, &queue, &error) != CEN_OK) bench_fail("%s", error.text);
}

static void queue_enter(bool producing)
{
    (void)producing;
}

static void queue_push(uint64_t element)
{
    cen_status status = cen_queue_push(queue, &element);
    if (status != CEN_OK) bench_fail("push: %s", cen_status_text(status));
}

static uint64_t queue_pop(void)
{
    uint64_t element;
    cen_status status = cen_queue_pop(queue, &element);
    if (status != CEN_OK) bench_fail("pop: %s", cen_status_text(status));
    return element;
}

#include "../rules/transfer_loop.h"
