/* SPDX-License-Identifier: MIT */
/*
 * An inbox: an executor with a file descriptor, for a thread that has its own event loop.
 *
 *     cen_inbox *inbox;
 *     cen_inbox_new(NULL, &inbox, &error);
 *     epoll_ctl(loop, EPOLL_CTL_ADD, cen_inbox_fd(inbox), &readable);
 *     for (;;) {
 *         epoll_wait(loop, events, 64, -1);
 *         cen_inbox_run_ready(inbox);       // runs what has arrived, on this thread
 *     }
 *
 * However many jobs are posted, the descriptor is written to at most once each time the loop goes to sleep. A post
 * writes to the descriptor only if the inbox is armed, and cen_inbox_run_ready arms it. To avoid writes while the loop
 * is awake, call cen_inbox_arm when the loop is about to sleep, and cen_inbox_poll as soon as it wakes up, for whatever
 * reason:
 *
 *     for (;;) {
 *         while (cen_inbox_poll(inbox, 0) > 0 || !cen_inbox_arm(inbox)) continue;
 *         epoll_wait(loop, events, 64, -1);
 *         cen_inbox_poll(inbox, 0);     // from here on, no post writes to the descriptor
 *         // ...                        the loop's other work, which may post here too
 *     }
 *
 * A pollable (cenote/pollable.h) contains an inbox, arms it automatically, and handles deadlines behind the same
 * descriptor.
 *
 * Threads: jobs may be posted from any thread. Only the thread that runs the loop may call cen_inbox_poll,
 * cen_inbox_arm, cen_inbox_run_ready and cen_inbox_wait; never two threads at a time. A job may post, but must not poll
 * the inbox that runs it. A job must return and must not end its thread. A thread that may be cancelled must disable
 * cancellation during these calls.
 * Fork: the child may free an inbox of its parent, whatever the inbox contains. In the child, none of the inbox's jobs
 * run, and posting a job to the inbox wakes no thread.
 */
#ifndef CENOTE_INBOX_H
#define CENOTE_INBOX_H

#include <stdbool.h>
#include <stddef.h>

#include <cenote/allocator.h>
#include <cenote/deadline.h>
#include <cenote/executor.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_inbox cen_inbox;

/* In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_inbox_options {
    size_t size;                    /* sizeof(cen_inbox_options), set by the macro */
    const cen_allocator *allocator; /* default malloc */
} cen_inbox_options;

/* Options with the given fields: CEN_INBOX_OPTIONS(.allocator = &mine). All others are zero. */
#define CEN_INBOX_OPTIONS(...) CEN_OPTIONS_(cen_inbox_options, __VA_ARGS__)

/* Create an inbox. `options` NULL: defaults.
 * Returns:
 *   OK
 *   INVALID    out is NULL, or an option is invalid; the text names it
 *   NO_MEMORY
 *   SYSTEM     no descriptor could be created for it
 */
CEN_API cen_status cen_inbox_new(const cen_inbox_options *options, cen_inbox **out, cen_error *error);

/* Free an inbox. NULL is allowed. Nothing may be posted to it afterwards, so all futures whose `done` goes to it must
 * have completed or been cancelled.
 * Returns:
 *   OK
 *   BUSY  the inbox contains a job, or a thread is polling it; nothing changes
 */
CEN_API cen_status cen_inbox_free(cen_inbox *inbox);

/* Return the inbox as an executor. Return NULL for NULL. */
CEN_API cen_executor *cen_inbox_executor(cen_inbox *inbox);

/* Return the descriptor to watch. It is readable when a job has arrived since the loop armed the inbox. It may
 * occasionally be readable even though there is no job, because a thread that posts may write to it after its job has
 * run. The first cen_inbox_poll or cen_inbox_run_ready after the inbox was armed makes it unreadable again. Never read
 * it. Return -1 for NULL. */
CEN_API int cen_inbox_fd(const cen_inbox *inbox);

/* Run at most `most` of the jobs in the inbox (0: all jobs that are in it at the time of the call), in the order in
 * which they were posted. Return the number of jobs run. Does not arm the inbox. If it is called within a job of this
 * inbox, it runs nothing and returns 0. If two threads poll at the same time, which is not allowed, each job is run by
 * exactly one of them, in no particular order. */
CEN_API size_t cen_inbox_poll(cen_inbox *inbox, size_t most);

/* Arm the inbox before the loop sleeps: the next job that is posted makes the descriptor readable. Return false if
 * there is already a job; in that case, poll again instead. */
CEN_API bool cen_inbox_arm(cen_inbox *inbox);

/* Run jobs until none are left, then arm the inbox. Return the number of jobs run. Jobs that keep posting do not hold
 * up the loop forever: after a few thousand jobs, the call leaves the descriptor readable and returns. */
CEN_API size_t cen_inbox_run_ready(cen_inbox *inbox);

/* Run the jobs in the inbox. If there are none, sleep until a job arrives, then run the jobs that are there by then.
 * This is for threads without a loop. Does not arm the inbox. Return the number of jobs run; 0 means that the deadline
 * has passed.
 * Blocking: until the deadline (CEN_DEFAULT: 30 s). */
CEN_API size_t cen_inbox_wait(cen_inbox *inbox, cen_deadline deadline);

#ifdef __cplusplus
}
#endif
#endif
