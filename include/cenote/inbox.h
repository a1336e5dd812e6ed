/* SPDX-License-Identifier: MIT */
/*
 * An inbox: an executor with a file descriptor, for a thread that has an event
 * loop of its own.
 *
 *     cen_inbox *inbox;
 *     cen_inbox_new(NULL, &inbox, &error);
 *     epoll_ctl(loop, EPOLL_CTL_ADD, cen_inbox_fd(inbox), &readable);
 *     for (;;) {
 *         epoll_wait(loop, events, 64, -1);
 *         cen_inbox_run_ready(inbox);       // runs what has arrived, on this thread
 *     }
 *
 * However much arrives, the descriptor is written to once for each time the
 * loop goes to sleep, and not at all while it is busy: only a drain, or arm,
 * asks for it. A loop that wants to save even that calls cen_inbox_arm when it is
 * about to sleep, and cen_inbox_poll as soon as it is awake, whatever has woken it:
 *
 *     for (;;) {
 *         while (cen_inbox_poll(inbox, 0) > 0 || !cen_inbox_arm(inbox)) continue;
 *         epoll_wait(loop, events, 64, -1);
 *         cen_inbox_poll(inbox, 0);     // from now on nobody writes to the descriptor
 *         // ...                        the loop's other work, which may post here, too
 *     }
 *
 * A pollable (cenote/pollable.h) has an inbox in it, arms it by itself, and keeps time behind the same descriptor.
 *
 * Threads: anything may be posted from anywhere. One thread at a time polls,
 * arms, drains or waits: the loop's. A job may post, and may poll no inbox that
 * is just running it. A job returns: it does not end its thread, and a thread that
 * may be cancelled disables that while it polls, drains or waits.
 *
 * Fork: the child may free an inbox of its parent's, whatever is in it, and runs
 * nothing of it. What the child posts to it wakes nobody.
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

#define CEN_INBOX_OPTIONS(...) CEN_OPTIONS_(cen_inbox_options, __VA_ARGS__)

/* options NULL: defaults. Errors: INVALID, NO_MEMORY, SYSTEM (no descriptor). */
CEN_API cen_status cen_inbox_new(const cen_inbox_options *options, cen_inbox **out, cen_error *error);

/* NULL is allowed. Nothing may be posted any more: what is still to be told to
 * this inbox must have been told, or cancelled. Error: BUSY (something is in it,
 * or it is being polled): nothing changes. */
CEN_API cen_status cen_inbox_free(cen_inbox *inbox);

CEN_API cen_executor *cen_inbox_executor(cen_inbox *inbox);

/* Readable when something has arrived since the loop armed it, and now and then once in vain: who
 * posts may ring after its job was run. The next poll or drain after an arm ends it. Watch it, and
 * never read it. */
CEN_API int cen_inbox_fd(const cen_inbox *inbox);

/* Runs at most `most` jobs that are there (0: all that are there when it is called), in the order in
 * which they were posted, and tells how many. Does not arm. From within a job of
 * this inbox: 0, and nothing is run. Of two threads that poll it at once, against the
 * rule, each job is run by one, in no order. */
CEN_API size_t cen_inbox_poll(cen_inbox *inbox, size_t most);

/* The loop is about to sleep: the next that is posted makes the descriptor
 * readable. False if something is there already: poll instead. */
CEN_API bool cen_inbox_arm(cen_inbox *inbox);

/* Polls until nothing is there, and arms. Jobs that keep posting do not keep it for ever: after some
 * thousand it leaves the descriptor readable and returns. Tells how many it ran. */
CEN_API size_t cen_inbox_run_ready(cen_inbox *inbox);

/* For a thread without a loop: polls, and if there was nothing sleeps until something
 * arrives, or the deadline (CEN_DEFAULT: 30 seconds), and polls again. Does not arm. 0: the deadline has passed. */
CEN_API size_t cen_inbox_wait(cen_inbox *inbox, cen_deadline deadline);

#ifdef __cplusplus
}
#endif
#endif
