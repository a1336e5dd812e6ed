/* SPDX-License-Identifier: MIT */
/* GLib's GAsyncQueue: unbounded only. Its elements are pointers; ours travel as such. */
#include <glib.h>

#include "../../rules/transfer.h"

static GAsyncQueue *queue;

static void queue_make(const struct bench_plan *plan)
{
    if (plan->bounded) bench_fail("GAsyncQueue has no limit");
    queue = g_async_queue_new();
}

static void queue_enter(bool producing)
{
    (void)producing;
}

static void queue_push(uint64_t element)
{
    g_async_queue_push(queue, (gpointer)(uintptr_t)element);
}

static uint64_t queue_pop(void)
{
    return (uint64_t)(uintptr_t)g_async_queue_pop(queue);
}

#include "../../rules/transfer_loop.h"
