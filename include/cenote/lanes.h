/* SPDX-License-Identifier: MIT */
/*
 * Lanes: priority lanes for tasks, with admission limits. Tasks of high, normal and low priority each run on a crew of
 * their own.
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
 * A lane is a crew (see crew.h). Its workers run tasks of one priority only. Heavy tasks of one lane compete with
 * another lane for processor time, as the system schedules it, but never for its workers or its limit.
 *
 * Limits: submit admits a task. The task counts until it is over, however it ends: while it is queued, running or
 * suspended. Each lane has a limit, and all lanes together may have one. Both are exact under any number of concurrent
 * submits: they are never exceeded, no task is refused while there is room, and no place is ever lost. A task gives its
 * place back before its future is done. So a thread that waits for the future and then submits finds the place free.
 *
 * Tasks are those of crew.h. They are written, awaited and cancelled as described there. task->note belongs to the
 * lanes. Tasks that are submitted to a lane's crew directly (cen_lanes_crew), and jobs that are posted to it, run and
 * do not count.
 *
 * Threads: every function may be called from any thread, and from within tasks.
 * Fork: see options.on_fork. With CEN_FORK_RENEW the child's lanes are empty, and have the limits that were set last.
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

/* The number of priorities: the length of arrays that are indexed by cen_priority. */
#define CEN_LANES 3

/* The highest limit of a lane. The highest limit of all lanes together is three times this. */
#define CEN_LANE_TASKS_MAX 1048575

/* Options of one lane. Zero means default in every field. */
typedef struct cen_lane_options {
    bool is_absent; /* the lane does not exist: submit returns INVALID */
    /* Options of the lane's crew, read by cen_lanes_new only. Default: the name is "NAME-high" and so on, and workers
     * has the default of a crew, except that the low lane has half as many workers as there are processors, at least
     * one. An observer in these options is called too, and must not use task->note. Runtime, on_fork and allocator are
     * those of the lanes and must not be set here. */
    const cen_crew_options *crew;
    int64_t max_tasks; /* maximum number of admitted tasks; default 2000 for each worker; CEN_OFF: CEN_LANE_TASKS_MAX */
    void *reserved_[4];
} cen_lane_options; /* a part of cen_lanes_options: its size never changes */

/* Zero means default in every field. Fields are only ever appended. */
typedef struct cen_lanes_options {
    size_t size;      /* sizeof(cen_lanes_options), set by the macro */
    const char *name; /* copied; default "lanes" */
    cen_lane_options high, normal, low;
    int64_t max_total; /* maximum number of admitted tasks of all lanes together; default, and CEN_OFF: no such limit */
    /* Do not record latencies. With latencies, a task of one step reads the clock three times, and two more times for
     * each further step. Without them nothing is estimated, no task is refused with OVERLOAD, and retry_after_ns is
     * always a guess of 1 ms. */
    bool without_latency;
    cen_fork_policy on_fork;        /* default CEN_FORK_REFUSE: in the child calls return FORKED */
    cen_runtime *runtime;           /* keeps time; must have threads; default the process' own */
    const cen_allocator *allocator; /* default malloc */
} cen_lanes_options;

/* Options with the given fields: CEN_LANES_OPTIONS(.name = "store", .max_total = 500). All others are zero. */
#define CEN_LANES_OPTIONS(...) CEN_OPTIONS_(cen_lanes_options, __VA_ARGS__)

/* Create lanes, and start their crews. With any status but OK nothing is left behind.
 * Returns:
 *   OK
 *   INVALID  out is NULL, or an option is invalid; the text names it
 *   others   as cen_crew_new
 */
CEN_API cen_status cen_lanes_new(const cen_lanes_options *options, cen_lanes **out, cen_error *error);

/* ---- Submitting --------------------------------------------------------------------- */

/* Submit a task to the lane of that priority.
 *
 * `deadline` becomes the task's own deadline: a task that has not begun by then never begins (see cen_task).
 * CEN_DEFAULT: the task keeps the deadline it has, and is not refused because of it.
 *
 * Ownership: with OK the task belongs to the library until its future is done. With any other status it is the
 * caller's, and unchanged.
 * Blocking: never waits. Allocates nothing.
 * Errors: with OVERLOAD and FULL, error->cause has the reason, and error->retry_after_ns an estimate of when to try
 * again. With FULL, error->current and error->max have the number of admitted tasks and the limit. If several reasons
 * apply, the first of this order decides: the deadline, the limit of the lane, the limit of all lanes.
 * Returns:
 *   OK        the task is admitted
 *   OVERLOAD  the task would most likely begin too late (CEN_CAUSE_LATE); never if a worker of the lane is free for it
 *   FULL      the limit of the lane (CEN_CAUSE_LANE_FULL) or of all lanes (CEN_CAUSE_ALL_LANES_FULL) is reached
 *   TIMEOUT   the deadline has passed
 *   INVALID   lanes or task is NULL, the lane does not exist, or the task has no first step
 *   MISUSE    the task is in a lane already, or as cen_crew_submit
 *   CLOSED    the lanes were stopped; after a stop to drain, a task may still submit to its own lane
 *   others    as cen_crew_submit
 */
CEN_API cen_status cen_lanes_submit(cen_lanes *lanes, cen_priority priority, cen_task *task, cen_deadline deadline,
                                    cen_error *error);

/* Estimate in how many nanoseconds a task would begin if it were submitted now. The estimate is the number of steps
 * that must end first, times the average time for which a step occupies a worker, divided by the number of workers. It
 * is at least the time since a step began or a task ended last. It is 0 if a worker is free. The time of a step that
 * awaits others includes what its worker ran meanwhile.
 * Returns:
 *   OK
 *   INVALID  lanes or out is NULL, or the lane does not exist
 *   FORKED   the lanes belong to the parent process (options.on_fork)
 *   EMPTY    no latencies are recorded (options.without_latency)
 */
CEN_API cen_status cen_lanes_estimate(cen_lanes *lanes, cen_priority priority, int64_t *out);

/* ---- Changing limits and workers -------------------------------------------------------- */

/* Set the limit of a lane, or of all lanes together: 1 to CEN_LANE_TASKS_MAX (all lanes: three times that), CEN_OFF for
 * no limit but that maximum, or 0 for the default.
 *
 * After the call no task is admitted by the old limit. (The exception: sixteen changes occur while one submit is
 * between two instructions.) Tasks that are beyond a lower limit stay until they are over.
 * Returns:
 *   OK
 *   INVALID  lanes is NULL, the lane does not exist, or the limit is out of range
 *   FORKED   the lanes belong to the parent process (options.on_fork)
 */
CEN_API cen_status cen_lanes_max_tasks_set(cen_lanes *lanes, cen_priority priority, int64_t max_tasks,
                                           cen_error *error);
CEN_API cen_status cen_lanes_max_total_set(cen_lanes *lanes, int64_t max_total, cen_error *error);

/* Change the number of workers of a lane. A limit that is the default changes with it. Use this function, and not
 * cen_crew_resize, on a lane's crew.
 * Returns:
 *   OK
 *   INVALID  lanes is NULL, the lane does not exist, or workers is 0 or more than the crew's options.max
 *   others   as cen_crew_resize
 */
CEN_API cen_status cen_lanes_resize(cen_lanes *lanes, cen_priority priority, uint32_t workers, cen_error *error);

/* Return the crew of a lane: for its stats, for its executor, or for tasks that are not to count. NULL if the lane does
 * not exist. The crew belongs to the lanes: only they stop and free it. */
CEN_API cen_crew *cen_lanes_crew(cen_lanes *lanes, cen_priority priority);

/* ---- The end ----------------------------------------------------------------------------- */

/* A part of cen_lanes_report, with the numbers of a cen_crew_report: its size never changes. */
typedef struct cen_lane_report {
    uint64_t finished, dropped, running, waiting, queued;
    uint64_t reserved_[3];
} cen_lane_report;

/* The result of a stop. */
typedef struct cen_lanes_report {
    size_t size;                     /* sizeof(cen_lanes_report), set by CEN_SIZED */
    cen_lane_report lane[CEN_LANES]; /* by cen_priority */
    cen_lane_report total;
} cen_lanes_report;

/* Stop all crews, as cen_crew_stop does. Submits fail in all lanes at once, and one deadline holds for all crews. Until
 * they end, tasks of one lane may await those of another. `report` may be NULL.
 *
 * Blocking: until the deadline (CEN_DEFAULT: 30 s).
 * Returns:
 *   OK       all tasks have ended
 *   TIMEOUT  the deadline passed first; *report and the text of the error say what is left
 *   INVALID  lanes is NULL, `how` is not a cen_stop, or the size of the report is not set
 *   FORKED   the lanes belong to the parent process (options.on_fork)
 */
CEN_API cen_status cen_lanes_stop(cen_lanes *lanes, cen_stop how, cen_deadline deadline, cen_lanes_report *report,
                                  cen_error *error);

/* Free stopped lanes. NULL is allowed. No other call may be in progress or follow. A call that fails may be repeated.
 * Returns:
 *   OK
 *   BUSY    the lanes have not been stopped, or something is left
 *   MISUSE  called on a worker of the lanes
 */
CEN_API cen_status cen_lanes_free(cen_lanes *lanes);

/* ---- Stats -------------------------------------------------------------------------------- */

/* A part of cen_lanes_stats: its size never changes. */
typedef struct cen_lane_stats {
    bool is_absent;
    uint64_t max;                        /* the limit */
    uint64_t admitted;                   /* tasks that count now */
    uint64_t queued, running, suspended; /* of these: queued for a step; in a step; waiting for a future */
    uint64_t submitted;                  /* tasks that were admitted, ever */
    uint64_t done, failed;               /* tasks that began and are over, with OK or with another status */
    uint64_t cancelled, late, dropped;   /* tasks that never began: cancelled, past their deadline, dropped by a stop */
    /* tasks that were refused because of max_tasks, of max_total, of their deadline (OVERLOAD) */
    uint64_t refused_full, refused_total, refused_late;
    int64_t estimated_wait_ns; /* see cen_lanes_estimate; 0 if no latencies are recorded */
    uint64_t reserved_[4];
} cen_lane_stats;

/* Stats of lanes: of each, and of all together. */
typedef struct cen_lanes_stats {
    size_t size;                    /* sizeof(cen_lanes_stats), set by CEN_SIZED */
    cen_lane_stats lane[CEN_LANES]; /* by cen_priority */
    uint64_t max, admitted;         /* of all lanes together */
    bool is_stopped;
} cen_lanes_stats;

/* Get the numbers of the lanes. Each was true during the call.
 *   - `admitted` of all lanes is the sum of theirs: these four numbers were true at one moment.
 *   - queued, running and suspended of a lane were true at one moment, and together never exceed what its limit was.
 *   - If nothing happens meanwhile, admitted = queued + running + suspended, and
 *     submitted = admitted + done + failed + cancelled + late + dropped.
 * Returns:
 *   OK
 *   INVALID  lanes or out is NULL, or the size of *out is not set
 *   FORKED   the lanes belong to the parent process (options.on_fork)
 */
CEN_API cen_status cen_lanes_stats_get(cen_lanes *lanes, cen_lanes_stats *out);

/* A histogram of latencies in short. A percentile is wrong by at most 1/64 of its value; the other numbers are exact.
 * All are 0 if nothing was recorded. A part of cen_lane_latency: its size never changes. */
typedef struct cen_latency_summary {
    uint64_t count;
    int64_t sum_ns, shortest_ns, p50_ns, p90_ns, p99_ns, p999_ns, longest_ns;
} cen_latency_summary;

/* Latencies of all admitted tasks, including those that failed, were cancelled or timed out. */
typedef struct cen_lane_latency {
    size_t size;               /* sizeof(cen_lane_latency), set by CEN_SIZED */
    cen_latency_summary wait;  /* from submit until the task began, or ended without having begun */
    cen_latency_summary run;   /* in its steps; only of tasks that began and are over */
    cen_latency_summary total; /* from submit until the task was over */
} cen_lane_latency;

/* Get the latencies of a lane since it was created. Each number was true during the call. Allocates memory for the
 * call.
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
