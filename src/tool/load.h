/* SPDX-License-Identifier: MIT */
/*
 * A load: clients that take an object from a pool, do one operation with it and give it back, again and again, and the
 * results.
 *
 * Closed loop: each client starts its next operation when the last one has ended. Open loop (rate > 0): operations are
 * due at fixed times, one every 1/rate seconds. The next free client takes the next one, and each is timed from when it
 * was due, so a stall counts for all operations that were due in it.
 *
 * What counts: an operation that ended in the measured time, which follows the warm-up; and, as `unfinished`, one that
 * the end of the measured time cut off. It was waiting or running then or, open loop, due and never begun. It counts
 * with the time it had had until then, so that operations that hang at the end are not forgotten.
 *     attempts = operations + timed_out + refused + failed + unfinished = whole.count
 *     use.count = those that had an object and gave it back: operations, and failures with an object
 *     wait.count = attempts less those that were never begun
 * A client whose take failed in less than 10 ms pauses for the rest of these 10 ms before the next take (closed loop),
 * so that a load does not attack a server that is down.
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
    double share;      /* elapsed part of the time, 0 to 1 */
    bool is_warming;   /* warming up: nothing counts yet */
    double per_second; /* recently */
    uint64_t operations, failed;
    cen_pool_stats pool;
} load_progress;

typedef struct load_plan {
    target *target;
    cen_pool *pool;
    cen_pool *writer; /* for writes; NULL: writes use `pool` */
    uint32_t clients;
    /* clients are futures on one thread's inbox, with operations on a crew, instead of threads */
    bool futures;
    int64_t warm_up_ns, duration_ns;
    double rate;        /* operations per second in all; 0: closed loop */
    int64_t think_ns;   /* pause of a client between operations, without an object; closed loop */
    int64_t hold_ns;    /* extra time with the object after each operation */
    int64_t timeout_ns; /* of a take; 0: 30 s */
    /* the interval in which throughput is recorded; default 100 ms; longer if there would be more than
     * LOAD_WINDOWS_MOST */
    int64_t window_ns;
    uint64_t seed;           /* of the random numbers; 0: from the clock */
    const atomic_bool *stop; /* ends it early; may be NULL */
    /* called several times per second, on the caller's thread; may be NULL */
    void (*tick)(void *argument, const load_progress *progress);
    void *argument;
} load_plan;

typedef struct load_cause {
    cen_status status;
    int code;                       /* the driver's code or 0 */
    bool in_take;                   /* the take failed; false: the operation did */
    char text[CEN_ERROR_TEXT_SIZE]; /* of the first failure with this cause */
    uint64_t count;
    int64_t first; /* its time, on the monotonic clock */
} load_cause;

typedef struct load_result {
    double seconds; /* the measured time, after the warm-up */
    bool stopped;   /* ended early */
    uint64_t attempts;
    uint64_t operations;                 /* successful ones */
    uint64_t timed_out, refused, failed; /* takes that timed out; takes that got FULL or OVERLOAD; all other failures */
    uint64_t unfinished;                 /* cut off by the end */
    uint64_t never_begun;                /* among these; open loop */
    uint64_t writes;                     /* among the operations */
    load_cause causes[LOAD_CAUSES];      /* most frequent first; count 0 ends the list */
    uint64_t other_causes;               /* failures whose causes did not fit */
    /* Time waiting for an object; with it; from due, or begin, to end. Failures count in wait and whole. */
    cen_histogram wait, use, whole;
    double utilisation;        /* of the pool: time held / (max x seconds), 0 to 1 */
    double writer_utilisation; /* the same of the writer's pool, if there is one */
    double waiting;            /* the share of the clients' time spent waiting for an object, 0 to 1 */
    double fairness;           /* Jain's index over the clients' operations, 0 to 1; 1 without operations */
    uint64_t least, most;      /* operations of the clients with the fewest and the most */
    double cpu_seconds;        /* processor time of this process */
    uint32_t windows;          /* successful operations in each */
    uint32_t window[LOAD_WINDOWS_MOST];
    double window_seconds;
} load_result;

/* Run a load. The result is about 70 KiB: allocate it on the heap. A pool whose operations still hang 3 s after the end
 * is closed: see cen_pool_is_closed. Errors: SYSTEM (no threads), NO_MEMORY, INVALID. Failed operations are part of the
 * result, not an error. */
cen_status load_run(const load_plan *plan, load_result *out, cen_error *error);

#endif
