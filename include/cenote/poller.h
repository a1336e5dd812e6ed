/* SPDX-License-Identifier: MIT */
/*
 * A poller: who says when a descriptor is ready, for drivers that connect, test
 * and reset without a thread for each.
 *
 * It has a thread of its own:
 *
 *     cen_poller *poller;
 *     cen_poller_options options = CEN_POLLER_OPTIONS(.name = "orders");
 *     cen_poller_new(&options, &poller, &error);
 *     cen_pq_options server = CEN_PQ_OPTIONS(.uri = "postgresql://ann@db/shop", .poller = poller);
 *     // ...
 *     cen_poller_free(poller);               // after the pools that use it
 *
 * or, if options.manual says so, none: the program watches its one descriptor in whatever loop it has, and calls poll
 * when that is readable. Deadlines make it readable too, so that nothing else is to be asked.
 *
 *     struct pollfd fds[] = {{cen_poller_fd(poller), POLLIN, 0}};   // and the program's own
 *     for (;;) {
 *         poll(fds, 1, -1);
 *         cen_poller_poll(poller, CEN_NOW, NULL);
 *     }
 *
 * A watch is for one event: what was told once is told again when it was watched again.
 *
 * Threads: every function may be called from any thread. `ready` runs on the poller's thread, or in poll; it holds
 * up all other watches meanwhile and must not block. No lock is held then, and it may watch, unwatch, and call all of
 * cenote but cen_poller_free.
 * Fork: the child has no such thread, and nothing is watched there: every call answers FORKED, and free gives the
 * memory back.
 * Systems: Linux. Elsewhere cen_poller_new answers SYSTEM.
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

/* Zero means default in every field. Fields are only ever appended. */
typedef struct cen_poller_options {
    size_t size;                    /* sizeof(cen_poller_options), set by the macro */
    const char *name;               /* copied; the thread's name; default "cenote:poller" */
    bool manual;                    /* no thread; the program polls */
    const cen_allocator *allocator; /* default malloc */
} cen_poller_options;

#define CEN_POLLER_OPTIONS(...) CEN_OPTIONS_(cen_poller_options, __VA_ARGS__)

/* What is waited for, and what has come. */
enum {
    CEN_READABLE = 1,
    CEN_WRITABLE = 2,
    /* The other end is gone, or there is an error: told whether it was asked for or not, with READABLE and WRITABLE as far
     * as these were asked for, so that whoever reads or writes finds out. */
    CEN_HUNG_UP = 4,
};

/* One descriptor that somebody waits for. Caller-owned; all zero but `ready` and `argument` before its first use. While it
 * is watched it must stay where it is. */
typedef struct cen_watch {
    /* Tells what has come: CEN_READABLE and so on, or 0 if the deadline was first. The watch is the caller's again when
     * this is entered: it may be watched anew or its memory be freed in here. */
    void (*ready)(struct cen_watch *watch, unsigned events);
    void *argument; /* the caller's own */
    /* cenote's */
    int fd_;
    uint32_t watched_;
    struct {
        int64_t due;
        size_t place;
    } node_;
    void *reserved_[4];
} cen_watch;

/* The thread has begun when it returns. Errors: INVALID (the text names the field), NO_MEMORY, SYSTEM. */
CEN_API cen_status cen_poller_new(const cen_poller_options *options, cen_poller **out, cen_error *error);

/* Ends the thread, waits for it and gives the memory back. NULL is allowed. If a `ready` is being called it has returned before
 * this decides. Errors: BUSY (something is watched), MISUSE (from `ready`): nothing changes. */
CEN_API cen_status cen_poller_free(cen_poller *poller);

/* Lets watch->ready be called once, when the descriptor is as `events` say or the deadline has come, whatever is first.
 * CEN_DEFAULT: CEN_NEVER. Never within this call. A descriptor can be watched once at a time and must stay open until then, or
 * until it is unwatched. With fd -1 and no events only the deadline is waited for.
 * Errors: INVALID (NULL, no events, a descriptor that cannot be watched), MISUSE (it is watched already), EXISTS (another
 * watch has that descriptor), NO_MEMORY, FORKED. */
CEN_API cen_status cen_poller_watch(cen_poller *poller, cen_watch *watch, int fd, unsigned events,
                                    cen_deadline deadline);

/* Watches no more: true if `ready` will not be called on that account. False: it was called before, or was never watched. If
 * it was just being called on another thread it has returned when this does: so whoever calls this holds no lock
 * that `ready` takes. From within a `ready` it never waits. */
CEN_API bool cen_poller_unwatch(cen_poller *poller, cen_watch *watch);

/* The descriptor for a loop: readable when poll has something to do. -1 if it has a thread. */
CEN_API int cen_poller_fd(const cen_poller *poller);

/* Waits until the deadline for something to happen (CEN_NOW: does not wait; CEN_DEFAULT: CEN_NEVER), and calls `ready` of all that
 * are. *told, if not NULL: how many. One thread at a time. Errors: TIMEOUT (nothing was), MISUSE (it has a
 * thread, another thread polls, or this is called from `ready`), FORKED, INVALID. */
CEN_API cen_status cen_poller_poll(cen_poller *poller, cen_deadline deadline, uint32_t *told);

#ifdef __cplusplus
}
#endif
#endif
