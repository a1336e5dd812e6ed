/* SPDX-License-Identifier: MIT */
/*
 * A load: clients that take an object of a pool, do one operation with it and give
 * it back, for a while, and what came of it.
 *
 * Closed loop: each client goes on when it has done. Open loop (rate > 0): operations are due at times fixed
 * beforehand, one every 1/rate seconds; the next client that is free takes the next one, and each is timed from when it was
 * due, so that a stall counts for all that were due in it.
 *
 * What counts: an operation that ended in the measured time, which comes after the warm-up; and one that the end of the
 * measured time cut off, as `unfinished`: it was waiting or at work then or, open loop, due and never begun. It counts
 * with the time that it had had until then, so that what hangs at the end is not forgotten.
 *     attempts = operations + timed_out + refused + failed + unfinished = whole.count
 *     use.count = those that had an object and gave it back: operations and what failed with one
 *     wait.count = attempts less those that were never begun
 * A client whose take failed in less than 10 ms pauses for the rest of these before the next (closed loop): a load is no
 * attack on what is down already.
 */
#ifndef CENOTE_TOOL_LOAD_H
#define CENOTE_TOOL_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cenote/histogram.h>
#include <cenote/pool.h>

#include "tool/target.h"

enum { LOAD_CAUSES = 8, LOAD_WINDOWS_MOST = 4096, LOAD_THREADS_MOST = 1024, LOAD_FUTURES_MOST = 100000 };

typedef struct load_progress {
    double share;      /* of the time, 0 to 1 */
    bool is_warming;   /* nothing counts yet */
    double per_second; /* of late */
    uint64_t operations, failed;
    cen_pool_stats pool;
} load_progress;

typedef struct load_plan {
    target *target;
    cen_pool *pool;
    cen_pool *writer; /* where writes go; NULL: where reads go */
    uint32_t clients;
    bool futures; /* clients are futures on one thread's inbox, with operations on a crew, instead of threads */
    int64_t warm_up_ns, duration_ns;
    double rate;         /* operations a second in all; 0: closed loop */
    int64_t think_ns;    /* between two of one client, while it holds nothing; closed loop */
    int64_t hold_ns;     /* beyond the operation, while it holds the object */
    int64_t patience_ns; /* of a take; 0: 30 s */
    /* throughput is noted for each; default 100 ms; longer if there would be more than LOAD_WINDOWS_MOST */
    int64_t window_ns;
    uint64_t seed;           /* of what is drawn; 0: one of the clock's */
    const atomic_bool *stop; /* ends it early; may be NULL */
    /* several times a second, on the caller's thread; may be NULL */
    void (*tick)(void *argument, const load_progress *progress);
    void *argument;
} load_plan;

typedef struct load_cause {
    cen_status status;
    int code;                       /* the driver's own number, or 0 */
    bool in_take;                   /* the take failed; else the operation did */
    char text[CEN_ERROR_TEXT_SIZE]; /* of the first such */
    uint64_t count;
    int64_t first; /* when that was, on the monotonic clock */
} load_cause;

typedef struct load_result {
    double seconds; /* measured, after the warm-up */
    bool stopped;   /* early */
    uint64_t attempts;
    uint64_t operations;                 /* that succeeded */
    uint64_t timed_out, refused, failed; /* takes that ran out of patience; that were told FULL or OVERLOAD; all else */
    uint64_t unfinished;                 /* cut off by the end */
    uint64_t never_begun;                /* of these; open loop */
    uint64_t writes;                     /* of the operations */
    load_cause causes[LOAD_CAUSES];      /* most frequent first; count 0: no more */
    uint64_t other_causes;               /* failures that found no place there */
    /* For an object; with it; from when it was due or begun to its end. Failures count in wait and whole. */
    cen_histogram wait, use, whole;
    double utilisation;        /* of the pool: time held / (max x seconds), 0 to 1 */
    double writer_utilisation; /* of the writer's, if there is one */
    double waiting;            /* of the clients' time, the share in which they waited for an object, 0 to 1 */
    double fairness;           /* Jain's index over the clients' operations, 0 to 1; 1 if there were none */
    uint64_t least, most;      /* operations of the client with the fewest and the most */
    double cpu_seconds;        /* of this process */
    uint32_t windows;          /* operations that succeeded in each */
    uint32_t window[LOAD_WINDOWS_MOST];
    double window_seconds;
} load_result;

/* Some 70 KiB: on the heap. A pool whose operations still hang three seconds after the end is closed: see cen_pool_is_closed.
 * Errors: SYSTEM (no threads), NO_MEMORY, INVALID. Operations that fail are no error of this. */
cen_status load_run(const load_plan *plan, load_result *out, cen_error *error);

#endif
