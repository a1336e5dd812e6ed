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
 * However many jobs are posted, the descriptor is written to once for each time that the loop goes to sleep, and not at
 * all while the loop is busy: only an armed inbox writes. cen_inbox_run_ready arms it. A loop that is to save even that
 * write calls cen_inbox_arm when it is about to sleep, and cen_inbox_poll as soon as it is awake, whatever has woken
 * it:
 *
 *     for (;;) {
 *         while (cen_inbox_poll(inbox, 0) > 0 || !cen_inbox_arm(inbox)) continue;
 *         epoll_wait(loop, events, 64, -1);
 *         cen_inbox_poll(inbox, 0);     // from now on no post writes to the descriptor
 *         // ...                        the loop's other work, which may post here too
 *     }
 *
 * A pollable (cenote/pollable.h) contains an inbox, arms it by itself, and keeps time behind the same descriptor.
 *
 * Threads: jobs may be posted from any thread. One thread at a time calls cen_inbox_poll, cen_inbox_arm,
 * cen_inbox_run_ready and cen_inbox_wait: the loop's. A job may post, and must not poll the inbox that runs it. A job
 * must return and must not end its thread. A thread that may be cancelled disables cancellation during these calls.
 * Fork: the child may free an inbox of its parent, whatever is in it, and runs no job of it. A job that the child posts
 * to it wakes no thread.
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

/* Zero means default in every field. Fields are only ever appended. */
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
 *   SYSTEM     the system has no descriptor for it
 */
CEN_API cen_status cen_inbox_new(const cen_inbox_options *options, cen_inbox **out, cen_error *error);

/* Free an inbox. NULL is allowed. Nothing may be posted to it from then on: futures whose `done` goes to it are done or
 * cancelled before.
 * Returns:
 *   OK
 *   BUSY  a job is in it, or a thread polls it; nothing changes
 */
CEN_API cen_status cen_inbox_free(cen_inbox *inbox);

/* Return the inbox as an executor. NULL for NULL. */
CEN_API cen_executor *cen_inbox_executor(cen_inbox *inbox);

/* Return the descriptor to watch. It is readable when a job has arrived since the loop armed the inbox. Now and then it
 * is readable although there is no job: a thread that posts may write to it after its job was run. The next
 * cen_inbox_poll or cen_inbox_run_ready after an arm makes it unreadable. Never read it. -1 for NULL. */
CEN_API int cen_inbox_fd(const cen_inbox *inbox);

/* Run at most `most` of the jobs that are there (0: all that are there at the call), in the order in which they were
 * posted. Return how many were run. Does not arm. Within a job of this inbox it runs nothing and returns 0. If two
 * threads poll at once, which is not allowed, each job is run by one of them, in no order. */
CEN_API size_t cen_inbox_poll(cen_inbox *inbox, size_t most);

/* Arm the inbox before the loop sleeps: the next job that is posted makes the descriptor readable. Return false if a
 * job is there already: poll again instead. */
CEN_API bool cen_inbox_arm(cen_inbox *inbox);

/* Run jobs until none is left, then arm. Return how many were run. Jobs that keep posting do not keep the loop: after a
 * few thousand jobs the call leaves the descriptor readable and returns. */
CEN_API size_t cen_inbox_run_ready(cen_inbox *inbox);

/* Run the jobs that are there. If there is none, sleep until one arrives, and run what is there then. For a thread
 * without a loop. Does not arm. Return how many were run; 0: the deadline has passed.
 * Blocking: until the deadline (CEN_DEFAULT: 30 s). */
CEN_API size_t cen_inbox_wait(cen_inbox *inbox, cen_deadline deadline);

#ifdef __cplusplus
}
#endif
#endif
