/* SPDX-License-Identifier: MIT */
/*
 * Lanes: tasks of high, normal and low priority, each kind on a crew of its own,
 * and never more of them than may be.
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
 * A lane is a crew (see crew.h): its workers run tasks of that priority and no
 * others, so heavy tasks of one lane take processors from another's, as the system shares them
 * out, but never its workers, nor its places.
 *
 * Limits: a task is admitted by submit and counts until it is over, however that
 * comes about: queued, running or suspended. Each lane has a limit, and all
 * together may have one. Both are exact: however many submit at once they
 * are never exceeded, nobody is refused while there is room, and no place is ever lost.
 * What a place was freed by is told after: who waits for a task's future and submits
 * then finds its place free.
 *
 * Tasks are those of crew.h and are written, awaited and cancelled as there;
 * but task->note is the lanes'. What is submitted to a lane's crew directly, by
 * cen_lanes_crew, or posted to it, is run, and counts for nothing here.
 *
 * Threads: everything may be called from any thread, and from within tasks.
 * Fork: as options.on_fork says; with RENEW the child's lanes are empty, with the limits as set last.
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

/* How many kinds of priority there are: arrays of so many are indexed by cen_priority. */
#define CEN_LANES 3

/* The highest limit of a lane; of all together it is three times as many. */
#define CEN_LANE_TASKS_MAX 1048575

/* What one lane is like. Zero means default in every field. */
typedef struct cen_lane_options {
    bool is_absent; /* there is no such lane: submit answers INVALID */
    /* Its crew; read by new only. Default: name "NAME-high" and so on; workers as a crew's default, but for the
     * low lane half as many as there are processors, at least one. Its observer, if it has one, is
     * told too, and leaves task->note alone. Its runtime, on_fork and allocator are those of the lanes: not set here. */
    const cen_crew_options *crew;
    int64_t max_tasks; /* admitted at a time; default 2000 for each worker; CEN_OFF: CEN_LANE_TASKS_MAX */
    void *reserved_[4];
} cen_lane_options; /* a part of cen_lanes_options: its size never changes */

/* Zero means default in every field. Fields are only ever appended. */
typedef struct cen_lanes_options {
    size_t size;      /* sizeof(cen_lanes_options), set by the macro */
    const char *name; /* copied; default "lanes" */
    cen_lane_options high, normal, low;
    int64_t max_total; /* tasks admitted at a time, of all lanes; default: no limit beside theirs (CEN_OFF) */
    /* Keeps no times: without them a task reads the clock three times, and twice more for each step
     * after its first. Then nothing is estimated, nothing refused for its deadline, retry_after_ns is a guess of 1 ms. */
    bool without_latency;
    cen_fork_policy on_fork;
    cen_runtime *runtime;           /* keeps their time, with threads; default the process' own */
    const cen_allocator *allocator; /* default malloc */
} cen_lanes_options;

#define CEN_LANES_OPTIONS(...) CEN_OPTIONS_(cen_lanes_options, __VA_ARGS__)

/* Errors: INVALID (the text names the field), and those of cen_crew_new: then nothing is left. */
CEN_API cen_status cen_lanes_new(const cen_lanes_options *options, cen_lanes **out, cen_error *error);

/* ---- Submitting --------------------------------------------------------------------- */

/* Hands the task to the lane of that priority. Never waits, and allocates nothing.
 *
 * `deadline` becomes the task's own: not begun by then, it never is; see cen_task. CEN_DEFAULT: the task keeps what it has,
 * and nothing is refused on account of it.
 *
 * Errors, after which the task is the caller's and as it was. Refused are, by the first of these rules that applies
 * (error->cause, with an estimate of when to try again in error->retry_after_ns):
 *   OVERLOAD  it would most likely begin too late (CEN_CAUSE_LATE): never in a lane that has a worker free for it
 *   FULL      so many of the lane are admitted (CEN_CAUSE_LANE_FULL; error->current and error->max)
 *   FULL      so many of all lanes are (CEN_CAUSE_ALL_LANES_FULL; likewise)
 * and further TIMEOUT (the deadline has passed), INVALID (NULL, or there is no such lane), MISUSE (the task is in a
 * lane already), and those of cen_crew_submit. Of these CLOSED: once the lanes are stopped to drain, only a task may
 * submit to its own lane. */
CEN_API cen_status cen_lanes_submit(cen_lanes *lanes, cen_priority priority, cen_task *task, cen_deadline deadline,
                                    cen_error *error);

/* In how long a task would begin that were submitted now: how many steps must end first, times the average of how
 * long one keeps a worker, divided by the workers; at least as long as no step has begun or task ended. 0 if a worker is
 * free. A step that awaits others counts with what its worker ran meanwhile.
 * Errors: INVALID, FORKED, EMPTY (no times are kept). */
CEN_API cen_status cen_lanes_estimate(cen_lanes *lanes, cen_priority priority, int64_t *out);

/* ---- Changing it ----------------------------------------------------------------------- */

/* Sets the limit of a lane, or of all together: 1 to CEN_LANE_TASKS_MAX (three times as many), CEN_OFF, or 0: the default.
 * When it returns nothing more is admitted by the old one; what is beyond a lower one stays until it is over.
 * (Unless sixteen changes come while one submit is between two instructions.) Errors: INVALID, FORKED. */
CEN_API cen_status cen_lanes_max_tasks_set(cen_lanes *lanes, cen_priority priority, int64_t max_tasks,
                                           cen_error *error);
CEN_API cen_status cen_lanes_max_total_set(cen_lanes *lanes, int64_t max_total, cen_error *error);

/* cen_crew_resize of the lane's crew; a limit that is the default goes along. Use this and not that. Errors: as there. */
CEN_API cen_status cen_lanes_resize(cen_lanes *lanes, cen_priority priority, uint32_t workers, cen_error *error);

/* The crew of a lane, for looks, its executor, or what should count for nothing. It is stopped and freed by the lanes only.
 * NULL if there is none. */
CEN_API cen_crew *cen_lanes_crew(cen_lanes *lanes, cen_priority priority);

/* ---- The end ----------------------------------------------------------------------------- */

/* A part of cen_lanes_report, with the numbers of a cen_crew_report: its size never changes. */
typedef struct cen_lane_report {
    uint64_t finished, dropped, running, waiting, queued;
    uint64_t reserved_[3];
} cen_lane_report;

typedef struct cen_lanes_report {
    size_t size;                     /* sizeof(cen_lanes_report), set by CEN_SIZED */
    cen_lane_report lane[CEN_LANES]; /* by cen_priority */
    cen_lane_report total;
} cen_lanes_report;

/* cen_crew_stop of all crews: submits are refused at once in all of them, and there is one deadline, for all of them
 * (CEN_DEFAULT: 30 seconds). Tasks of one lane may await those of another to their end. `report` may be NULL. Errors: as there. */
CEN_API cen_status cen_lanes_stop(cen_lanes *lanes, cen_stop how, cen_deadline deadline, cen_lanes_report *report,
                                  cen_error *error);

/* NULL is allowed. Errors: BUSY (they have not been stopped, or something is left), MISUSE (from within one of the
 * tasks): call it again later. No other call may be in progress or come later. */
CEN_API cen_status cen_lanes_free(cen_lanes *lanes);

/* ---- A look at it --------------------------------------------------------------------------- */

/* A part of cen_lanes_stats: its size never changes. */
typedef struct cen_lane_stats {
    bool is_absent;
    uint64_t max;                        /* the limit */
    uint64_t admitted;                   /* tasks that count for it now */
    uint64_t queued, running, suspended; /* of these: for their next step; in a step; waiting for a future */
    uint64_t submitted;                  /* tasks that were admitted, ever */
    uint64_t done, failed;               /* that began and are over: with OK, or not */
    uint64_t cancelled, late, dropped;   /* that never began: taken back, past their deadline, by a stop */
    /* that were not admitted: by max_tasks, max_total, a deadline */
    uint64_t refused_full, refused_total, refused_late;
    int64_t estimated_wait_ns; /* see cen_lanes_estimate; 0 also if no times are kept */
    uint64_t reserved_[4];
} cen_lane_stats;

typedef struct cen_lanes_stats {
    size_t size;                    /* sizeof(cen_lanes_stats), set by CEN_SIZED */
    cen_lane_stats lane[CEN_LANES]; /* by cen_priority */
    uint64_t max, admitted;         /* of all lanes */
    bool is_stopped;
} cen_lanes_stats;

/* Each number was true during the call.
 *   admitted of all lanes is the sum of theirs: these four were true at one moment
 *   queued, running and suspended of a lane were true at one moment, and are together never more than its limit was
 *   if nothing happens meanwhile, admitted = queued + running + suspended, and
 *   submitted = admitted + done + failed + cancelled + late + dropped
 * Errors: INVALID, FORKED. */
CEN_API cen_status cen_lanes_stats_get(cen_lanes *lanes, cen_lanes_stats *out);

/* Histograms. A percentile is wrong by at most 1/64 of itself; all else is exact. 0 if there are none. A part of
 * cen_lane_latency: its size never changes. */
typedef struct cen_latency_summary {
    uint64_t count;
    int64_t sum_ns, shortest_ns, p50_ns, p90_ns, p99_ns, p999_ns, longest_ns;
} cen_latency_summary;

/* Of every task that was admitted and has come so far; those that failed, were cancelled or too late included. */
typedef struct cen_lane_latency {
    size_t size;               /* sizeof(cen_lane_latency), set by CEN_SIZED */
    cen_latency_summary wait;  /* from submit until it began, or was over without */
    cen_latency_summary run;   /* in its steps, of those that began */
    cen_latency_summary total; /* from submit until it was over */
} cen_lane_latency;

/* The times of a lane since it was made. Each number was true during the call.
 * Errors: INVALID, FORKED, EMPTY (no times are kept), NO_MEMORY. */
CEN_API cen_status cen_lanes_latency_get(cen_lanes *lanes, cen_priority priority, cen_lane_latency *out);

#ifdef __cplusplus
}
#endif
#endif
