/* SPDX-License-Identifier: MIT */
/*
 * Lanes: priority lanes for tasks, with admission limits. Tasks of high, normal and low priority each run on their own
 * crew.
 *
 *     cen_lanes *lanes;
 *     cen_crew_options writes = CEN_CREW_OPTIONS(.workers = 1);
 *     cen_lanes_options options = CEN_LANES_OPTIONS(.name = "store", .normal.max_tasks = 500, .low.crew = &writes);
 *     cen_lanes_new(&options, &lanes, &error);
 *
 *     cen_task_init(&read->task, begin);
 *     if (cen_lanes_submit(lanes, CEN_PRIORITY_HIGH, &read->task, cen_in_ms(50), &error) != CEN_OK)
 *         try_elsewhere(error.text, error.cause, error.retry_after_ns);
 *     // ...
 *     cen_lanes_stop(lanes, CEN_STOP_DRAIN, cen_in_s(5), &report, NULL);
 *     cen_lanes_free(lanes);
 *
 * A lane is a crew (see crew.h). Its workers run tasks of one priority only. Heavy tasks in one lane compete with other
 * lanes for processor time, which the system schedules, but never for workers or room under the limits.
 *
 * Limits: cen_lanes_submit admits a task. The task then counts towards the limits while it is queued, running or
 * suspended, until it is over, however it ends. Each lane has a limit. There may also be a limit for all lanes
 * together. Both limits are exact under any number of concurrent submits: they are never exceeded, no task is refused
 * while there is room, and no place is ever lost. A task gives up its place before its future completes, so if a thread
 * waits for the future and then submits another task, the place is free.
 *
 * Tasks are the tasks of crew.h: they are written, awaited and cancelled as described there. task->note is reserved for
 * the lanes. Tasks that are submitted directly to a lane's crew (cen_lanes_crew), and jobs that are posted to it, run
 * but do not count towards the limits.
 *
 * Threads: every function may be called from any thread, and from within tasks.
 * Fork: see options.on_fork. With CEN_FORK_RENEW, the child's lanes are empty and keep the limits that were set last.
 */
#ifndef CENOTE_LANES_H
#define CENOTE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/choice.h>
#include <cenote/crew.h>
#include <cenote/deadline.h>
#include <cenote/runtime.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_lanes cen_lanes;

/* The number of priorities: the length of arrays indexed by cen_priority. */
#define CEN_LANES 3

/* The highest limit of a lane. The highest limit of all lanes together is three times this. */
#define CEN_LANE_TASKS_MAX 1048575

/* Options of one lane. In every field, zero means the default. */
typedef struct cen_lane_options {
    bool is_absent; /* the lane does not exist: submit returns INVALID */
    /* Options of the lane's crew, read only by cen_lanes_new. By default, the crew's name is "NAME-high" and so on, and
     * `workers` has the same default as in any crew. The low lane is an exception: by default, it has half as many
     * workers as there are processors, but at least one. An observer in these options is also called, but must not use
     * task->note. `runtime`, `on_fork` and `allocator` are those of the lanes and must not be set here. */
    const cen_crew_options *crew;
    int64_t max_tasks; /* maximum number of admitted tasks; default 2000 per worker; CEN_OFF: CEN_LANE_TASKS_MAX */
    void *reserved_[4];
} cen_lane_options; /* a part of cen_lanes_options: its size never changes */

/* In every field, zero means the default. Fields are only ever appended. */
typedef struct cen_lanes_options {
    size_t size;      /* sizeof(cen_lanes_options), set by the macro */
    const char *name; /* copied; default "lanes" */
    cen_lane_options high, normal, low;
    int64_t max_total; /* maximum number of admitted tasks of all lanes together; default and CEN_OFF: no limit */
    /* Do not record latencies. If latencies are recorded, a one-step task reads the clock three times, and each further
     * step reads it twice more. If they are not recorded, nothing is estimated, no task is refused with OVERLOAD, and
     * retry_after_ns is always 1 ms, a guess. */
    bool without_latency;
    cen_fork_policy on_fork;        /* default CEN_FORK_REFUSE: in the child, calls return FORKED */
    cen_runtime *runtime;           /* for timers; must have threads; default the process's own */
    const cen_allocator *allocator; /* default malloc */
} cen_lanes_options;

/* Options with the given fields: CEN_LANES_OPTIONS(.name = "store", .max_total = 500). All others are zero. */
#define CEN_LANES_OPTIONS(...) CEN_OPTIONS_(cen_lanes_options, __VA_ARGS__)

/* Create lanes, and start their crews. With any status other than OK, nothing is left behind.
 * Returns:
 *   OK
 *   INVALID  out is NULL, or an option is invalid; the text names it
 *   others   as cen_crew_new
 */
CEN_API cen_status cen_lanes_new(const cen_lanes_options *options, cen_lanes **out, cen_error *error);

/* ---- Submitting --------------------------------------------------------------------- */

/* Submit a task to the lane of the given priority.
 *
 * `deadline` becomes the task's own deadline: a task that has not begun by then never begins (see cen_task).
 * CEN_DEFAULT: the task keeps its existing deadline, and is not refused because of it.
 *
 * Ownership: with OK, the task belongs to the library until its future completes. With any other status, it still
 * belongs to the caller and is unchanged.
 * Blocking: never waits. Allocates no memory.
 * Errors: with OVERLOAD and FULL, error->cause is the reason, and error->retry_after_ns is an estimate of when to try
 * again. With FULL, error->current is the number of admitted tasks, and error->max is the limit. If several reasons
 * apply, the first in this order is reported: the deadline, the limit of the lane, the limit of all lanes.
 * Returns:
 *   OK        the task is admitted
 *   OVERLOAD  the task would most likely begin too late (CEN_CAUSE_LATE); never returned if a worker of the lane is
 *             free
 *   FULL      the limit of the lane (CEN_CAUSE_LANE_FULL) or of all lanes (CEN_CAUSE_ALL_LANES_FULL) is reached
 *   TIMEOUT   the deadline has passed
 *   INVALID   lanes or task is NULL, the lane does not exist, or the task has no first step
 *   MISUSE    the task is already in a lane; or as cen_crew_submit
 *   CLOSED    the lanes were stopped; after a stop with CEN_STOP_DRAIN, a task may still submit to its own lane
 *   others    as cen_crew_submit
 */
CEN_API cen_status cen_lanes_submit(cen_lanes *lanes, cen_priority priority, cen_task *task, cen_deadline deadline,
                                    cen_error *error);

/* Run a function as a one-step task of the lane of the given priority. The library allocates the task. `name` is the
 * task's name; NULL: "a call". `deadline` is as in cen_lanes_submit; CEN_DEFAULT: the task has no deadline.
 *
 * If `result` is not NULL, it is an initialised future (cen_future_init). This call promises it, and it completes with
 * the value that the function returns.
 * The future may be cancelled at any time. If it is cancelled before the task begins, the function is never called.
 * Returns:
 *   OK         the task is admitted
 *   INVALID    lanes or call is NULL, or the lane does not exist
 *   MISUSE     result is not an initialised future, or was used before and has not been initialised again
 *   NO_MEMORY  out of memory for the task
 *   others     as cen_lanes_submit
 */
CEN_API cen_status cen_lanes_submit_function(cen_lanes *lanes, cen_priority priority, const char *name,
                                             void *(*call)(void *argument), void *argument, cen_deadline deadline,
                                             cen_future *result, cen_error *error);

/* Estimate how many nanoseconds a task submitted now would wait before it begins. The estimate is the number of steps
 * that must end first, multiplied by the average time for which a step occupies a worker, and divided by the number of
 * workers. The estimate is never less than the time since a step last began or a task last ended, except that it is 0
 * if a worker is free. The time of a step that awaits other tasks includes whatever its worker ran in the meantime.
 * Returns:
 *   OK
 *   INVALID  lanes or out is NULL, or the lane does not exist
 *   FORKED   the lanes belong to the parent process (options.on_fork)
 *   EMPTY    no latencies are recorded (options.without_latency)
 */
CEN_API cen_status cen_lanes_estimate(cen_lanes *lanes, cen_priority priority, int64_t *out);

/* ---- Changing limits and workers -------------------------------------------------------- */

/* Set the limit of a lane, or of all lanes together: 1 to CEN_LANE_TASKS_MAX (all lanes: three times that), CEN_OFF for
 * no limit other than that maximum, or 0 for the default.
 *
 * After the call, no task is admitted under the old limit. (The only exception is a submit that is preempted between
 * two instructions while the limits change sixteen times.) If the new limit is lower, tasks in excess of it stay until
 * they are over.
 * Returns:
 *   OK
 *   INVALID  lanes is NULL, the lane does not exist, or the limit is out of range
 *   FORKED   the lanes belong to the parent process (options.on_fork)
 */
CEN_API cen_status cen_lanes_max_tasks_set(cen_lanes *lanes, cen_priority priority, int64_t max_tasks,
                                           cen_error *error);
CEN_API cen_status cen_lanes_max_total_set(cen_lanes *lanes, int64_t max_total, cen_error *error);

/* Change the number of workers of a lane. If the lane has the default limit, the limit changes as well. Use this
 * function instead of cen_crew_resize for a lane's crew.
 * Returns:
 *   OK
 *   INVALID  lanes is NULL, the lane does not exist, or workers is 0 or more than the crew's options.max
 *   others   as cen_crew_resize
 */
CEN_API cen_status cen_lanes_resize(cen_lanes *lanes, cen_priority priority, uint32_t workers, cen_error *error);

/* Return the crew of a lane, for its stats, for its executor, or for tasks that should not count towards the limits.
 * Return NULL if the lane does not exist. The crew belongs to the lanes: only they may stop and free it. */
CEN_API cen_crew *cen_lanes_crew(cen_lanes *lanes, cen_priority priority);

/* ---- Stopping ---------------------------------------------------------------------------- */

/* A part of cen_lanes_report, with the numbers of a cen_crew_report: its size never changes. */
typedef struct cen_lane_report {
    uint64_t finished, dropped, running, waiting, queued;
    uint64_t reserved_[3];
} cen_lane_report;

/* The result of a stop. */
typedef struct cen_lanes_report {
    size_t size;                     /* sizeof(cen_lanes_report), set by CEN_SIZED */
    cen_lane_report lane[CEN_LANES]; /* indexed by cen_priority */
    cen_lane_report total;
} cen_lanes_report;

/* Stop all crews, as cen_crew_stop does. Submits begin to fail in all lanes at the same moment. One deadline applies to
 * all crews. Until the crews have ended, tasks of one lane may await tasks of another. `report` may be NULL.
 *
 * Blocking: until the deadline (CEN_DEFAULT: 30 s).
 * Returns:
 *   OK       all tasks have ended
 *   TIMEOUT  the deadline passed first; *report and the error text say what remains
 *   INVALID  lanes is NULL, `how` is not a cen_stop, or the size of the report is not set
 *   FORKED   the lanes belong to the parent process (options.on_fork)
 */
CEN_API cen_status cen_lanes_stop(cen_lanes *lanes, cen_stop how, cen_deadline deadline, cen_lanes_report *report,
                                  cen_error *error);

/* Free stopped lanes. NULL is allowed. No other call may be in progress, and none may follow. If this call fails, it
 * may be repeated.
 * Returns:
 *   OK
 *   BUSY    the lanes have not been stopped, or tasks or workers remain
 *   MISUSE  called on a worker of the lanes
 */
CEN_API cen_status cen_lanes_free(cen_lanes *lanes);

/* ---- Stats -------------------------------------------------------------------------------- */

/* A part of cen_lanes_stats: its size never changes. */
typedef struct cen_lane_stats {
    bool is_absent;
    uint64_t max;                        /* the limit */
    uint64_t admitted;                   /* tasks that count towards the limit now */
    uint64_t queued, running, suspended; /* admitted tasks: queued for a step, in a step, waiting for a future */
    uint64_t submitted;                  /* tasks admitted so far */
    uint64_t done, failed;               /* tasks that began and are over, with OK or with another status */
    uint64_t cancelled, late, dropped;   /* tasks that never began: cancelled, past their deadline, dropped by a stop */
    /* tasks refused because of max_tasks, because of max_total, and because of their deadline (OVERLOAD) */
    uint64_t refused_full, refused_total, refused_late;
    int64_t estimated_wait_ns; /* see cen_lanes_estimate; 0 if no latencies are recorded */
    uint64_t reserved_[4];
} cen_lane_stats;

/* Stats of each lane, and of all lanes together. */
typedef struct cen_lanes_stats {
    size_t size;                    /* sizeof(cen_lanes_stats), set by CEN_SIZED */
    cen_lane_stats lane[CEN_LANES]; /* indexed by cen_priority */
    uint64_t max, admitted;         /* of all lanes together */
    bool is_stopped;
} cen_lanes_stats;

/* Get the stats of the lanes. Each number was correct at some moment during the call.
 *   - The total `admitted` is the sum of the lanes' `admitted`: these four numbers are a consistent snapshot.
 *   - The queued, running and suspended numbers of a lane are a consistent snapshot. Their sum never exceeds the limit
 *     under which the tasks were admitted.
 *   - If nothing happens during the call, admitted = queued + running + suspended, and
 *     submitted = admitted + done + failed + cancelled + late + dropped.
 * Returns:
 *   OK
 *   INVALID  lanes or out is NULL, or the size of *out is not set
 *   FORKED   the lanes belong to the parent process (options.on_fork)
 */
CEN_API cen_status cen_lanes_stats_get(cen_lanes *lanes, cen_lanes_stats *out);

/* A summary of a latency histogram. The error of a percentile is at most 1/64 of its value; the other numbers are
 * exact. All numbers are 0 if nothing was recorded. A part of cen_lane_latency: its size never changes. */
typedef struct cen_latency_summary {
    uint64_t count;
    int64_t sum_ns, shortest_ns, p50_ns, p90_ns, p99_ns, p999_ns, longest_ns;
} cen_latency_summary;

/* Latencies of all admitted tasks, including tasks that failed, were cancelled or timed out. */
typedef struct cen_lane_latency {
    size_t size;               /* sizeof(cen_lane_latency), set by CEN_SIZED */
    cen_latency_summary wait;  /* from submit until the task began, or ended without having begun */
    cen_latency_summary run;   /* time spent in its steps; only for tasks that began and are over */
    cen_latency_summary total; /* from submit until the task was over */
} cen_lane_latency;

/* Get the latencies of a lane since it was created. Each number was correct at some moment during the call. Allocates
 * memory temporarily.
 * Returns:
 *   OK
 *   INVALID    lanes or out is NULL, the size of *out is not set, or the lane does not exist
 *   FORKED     the lanes belong to the parent process (options.on_fork)
 *   EMPTY      no latencies are recorded (options.without_latency)
 *   NO_MEMORY
 */
CEN_API cen_status cen_lanes_latency_get(cen_lanes *lanes, cen_priority priority, cen_lane_latency *out);

#ifdef __cplusplus
}
#endif
#endif
