/* SPDX-License-Identifier: MIT */
/*
 * A poller: it tells drivers when a file descriptor is ready, so that they can connect, test and reset objects without
 * a thread for each one.
 *
 * By default, a poller has its own thread:
 *
 *     cen_poller *poller;
 *     cen_poller_options options = CEN_POLLER_OPTIONS(.name = "orders");
 *     cen_poller_new(&options, &poller, &error);
 *     cen_pq_options server = CEN_PQ_OPTIONS(.uri = "postgresql://ann@db/shop", .poller = poller);
 *     // ...
 *     cen_poller_free(poller);               // after the pools that use it
 *
 * If options.manual is set, the poller has no thread. Instead, the program watches the poller's descriptor in its event
 * loop, and calls cen_poller_poll when that descriptor is readable. The descriptor also becomes readable when a
 * deadline passes, so the loop needs no timeout.
 *
 *     struct pollfd fds[] = {{cen_poller_fd(poller), POLLIN, 0}};   // and the program's own
 *     for (;;) {
 *         poll(fds, 1, -1);
 *         cen_poller_poll(poller, CEN_NOW, NULL, NULL);
 *     }
 *
 * Each watch reports only one event. For the next event, call cen_poller_watch again.
 *
 * Threads: every function may be called from any thread. `ready` runs on the poller's thread, or in cen_poller_poll,
 * with no lock held. It may call any function of cenote except cen_poller_free and cen_poller_poll of this poller.
 * While `ready` runs, all other watches of the poller are delayed, so it must not block.
 * Fork: the child does not have the thread, and nothing is watched there. Every call returns FORKED, except
 * cen_poller_free, which frees the memory.
 * Systems: Linux. Elsewhere cen_poller_new fails with SYSTEM.
 */
#ifndef CENOTE_POLLER_H
#define CENOTE_POLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/deadline.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_poller cen_poller;

/* Options of a poller. In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_poller_options {
    size_t size;                    /* sizeof(cen_poller_options), set by the macro */
    const char *name;               /* copied, cut after 15 bytes; the thread's name; default "cenote:poller" */
    bool manual;                    /* no thread; the program calls cen_poller_poll */
    const cen_allocator *allocator; /* default malloc */
} cen_poller_options;

/* Options with the given fields: CEN_POLLER_OPTIONS(.name = "orders"). All others are zero. */
#define CEN_POLLER_OPTIONS(...) CEN_OPTIONS_(cen_poller_options, __VA_ARGS__)

/* Events: what a watch waits for, and what has happened. */
enum {
    CEN_READABLE = 1,
    CEN_WRITABLE = 2,
    /* The other side has closed the connection, or there is an error. It is reported whether or not it was requested,
     * together with READABLE and WRITABLE if they were requested, so that the next read or write finds the error. */
    CEN_HUNG_UP = 4,
};

/* A watch: it waits for one descriptor or one deadline. Caller-owned. Before its first use, set `ready` and `argument`,
 * and set everything else to zero. It must stay in place while it is watched. */
typedef struct cen_watch {
    /* Called with the events that have happened (CEN_READABLE and so on), or with 0 if the deadline passed first. When
     * this function is entered, the watch already belongs to the caller again, so it may be reused or freed even during
     * the call. */
    void (*ready)(struct cen_watch *watch, unsigned events);
    void *argument; /* the program's own; never touched */
    /* private */
    int fd_;
    uint32_t watched_;
    struct {
        int64_t due;
        size_t place;
    } node_;
    void *reserved_[4];
} cen_watch;

/* Create a poller, and start its thread unless options.manual is set. `options` NULL: defaults.
 * Returns:
 *   OK         *out is the poller
 *   INVALID    out is NULL, or an option is invalid; the text names it
 *   NO_MEMORY  out of memory
 *   SYSTEM     no descriptor or thread could be created for it, or the system is not Linux; error->code is errno
 */
CEN_API cen_status cen_poller_new(const cen_poller_options *options, cen_poller **out, cen_error *error);

/* End the thread, wait for it and free the memory. NULL is allowed. With any status other than OK, nothing changes.
 *
 * Blocking: if a `ready` is running, waits until it has returned, and only then determines the result.
 * Returns:
 *   OK      the poller is freed, or was NULL
 *   BUSY    something is watched, or another thread polls it
 *   MISUSE  called in a `ready` of this poller
 */
CEN_API cen_status cen_poller_free(cen_poller *poller);

/* Watch a descriptor: watch->ready is called at most once, when one of `events` has happened or the deadline has
 * passed, whichever is first. CEN_DEFAULT: CEN_NEVER. If fd is -1 and no events are given, only the deadline is
 * awaited. error->text names the poller and the descriptor.
 *
 * Ownership: the watch belongs to the poller until `ready` is entered or cen_poller_unwatch returns true. The
 * descriptor must stay open until then.
 * Blocking: never waits.
 * Callbacks: `ready` is never called from within this call.
 * Returns:
 *   OK         the descriptor is watched
 *   INVALID    poller, watch or watch->ready is NULL; there are no events for a descriptor; or the system cannot watch
 *              the descriptor: it is closed, or is a regular file
 *   MISUSE     the watch is in use
 *   EXISTS     another watch already has that descriptor
 *   NO_MEMORY  out of memory
 *   FORKED     the poller belongs to the parent process
 */
CEN_API cen_status cen_poller_watch(cen_poller *poller, cen_watch *watch, int fd, unsigned events,
                                    cen_deadline deadline, cen_error *error);

/* End a watch. Return true if `ready` will not be called for it. Return false if it has already been called, or if the
 * watch was not in use.
 *
 * Blocking: if `ready` is running for this watch on another thread, waits until it has returned. Therefore, the caller
 * must not hold a lock that `ready` takes. In a `ready` of this poller, this function never waits. */
CEN_API bool cen_poller_unwatch(cen_poller *poller, cen_watch *watch);

/* Return the descriptor of a manual poller, for an event loop. It is readable when cen_poller_poll has something to do.
 * Return -1 for NULL, for a poller that has a thread, and in a forked child. */
CEN_API int cen_poller_fd(const cen_poller *poller);

/* Poll a manual poller: call `ready` of every watch that is ready or whose deadline has passed. *told, if not NULL, is
 * set to the number of calls made. error->text names the poller.
 *
 * Blocking: until a watch is ready, or until the deadline (CEN_DEFAULT: CEN_NEVER). CEN_NOW does not wait.
 * Threads: one thread at a time.
 * Returns:
 *   OK       at least one `ready` was called
 *   TIMEOUT  no watch became ready in time
 *   MISUSE   the poller has a thread, another thread polls it, or this was called in a `ready` of this poller
 *   FORKED   the poller belongs to the parent process
 *   INVALID  poller is NULL
 */
CEN_API cen_status cen_poller_poll(cen_poller *poller, cen_deadline deadline, uint32_t *told, cen_error *error);

#ifdef __cplusplus
}
#endif
#endif
