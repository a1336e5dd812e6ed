/* SPDX-License-Identifier: MIT */
/*
 * Takes in the last round of thread-specific destructors (L13).
 *
 * The leases of a thread that ends are handled in an exit hook, which runs after the program's destructors. A
 * destructor of the program that takes once more, after the hook, arms the hook again. But there may be no further
 * round that calls it. Such a thread is also watched: a helper of the process's own runtime sleeps until the thread
 * has ended, and handles the leases that it left.
 *
 *     hook has run ──▶ a destructor takes ──▶ armed again, and watched
 *                       a round follows: the hook handles the lease    the helper finds nothing
 *                       none follows                                   the helper handles it
 *
 * A lease ends once, by either of the two (W1 in holders.c).
 *
 * Not noticed: a thread whose very first use of the library is in the last round. It cannot know that its destructors
 * are running.
 *
 * Tested by tests/unit/pool/last_round_test.c.
 */
#include <stddef.h>

#include "base/alloc.h"
#include "pool/internal.h"
#include "port/port.h"

typedef struct departure {
    cen_job job;
    ceni_thread_watch watch;
    uint64_t holder;
} departure;

static void take_back(cen_job *job)
{
    departure *self = (departure *)(void *)((char *)job - offsetof(departure, job));
    ceni_thread_watch_await(&self->watch);
    ceni_holder_of_pools.ended(self->holder);
    ceni_free(NULL, self, sizeof *self, _Alignof(departure));
}

bool ceni_holder_watch_thread(void)
{
    departure *self = ceni_alloc(NULL, sizeof *self, _Alignof(departure));
    if (!self) return false;
    self->job = (cen_job){.run = take_back};
    self->holder = ceni_thread_id();
    if (ceni_thread_watch_begin(&self->watch) != CEN_OK) {
        ceni_free(NULL, self, sizeof *self, _Alignof(departure));
        return false;
    }
    cen_executor *executor = cen_runtime_executor(NULL);
    executor->post(executor, &self->job); /* from here on the helper owns it */
    return true;
}
