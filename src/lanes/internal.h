/* SPDX-License-Identifier: MIT */
/* Internal declarations of the lanes. Only the files of src/lanes include this. */
#ifndef CENI_LANES_INTERNAL_H
#define CENI_LANES_INTERNAL_H

#include <cenote/lanes.h>

#include "base/atomic.h"
#include "lanes/ledger.h"
#include "port/eventcount.h"
#include "port/mutex.h"
#include "port/port.h"
#include "record/directory.h"
#include "record/histogram.h"

enum { CENI_LANES_NAME = 32 };

/* The state of a task of a lane, in task->note[2]. 0 if no lane admitted the task. */
typedef enum ceni_lane_state {
    CENI_LANE_NONE = 0,
    CENI_LANE_QUEUED,
    CENI_LANE_RUNNING,
    CENI_LANE_SUSPENDED
} ceni_lane_state;

/* How a task ended, or why it did not begin. */
typedef enum ceni_lane_count {
    CENI_LANE_SUBMITTED,
    CENI_LANE_DONE,
    CENI_LANE_FAILED,
    CENI_LANE_CANCELLED,
    CENI_LANE_LATE,
    CENI_LANE_DROPPED,
    CENI_LANE_REFUSED_FULL,
    CENI_LANE_REFUSED_TOTAL,
    CENI_LANE_REFUSED_LATE,
    CENI_LANE_COUNTS
} ceni_lane_count;

/* Any thread, atomically. */
typedef struct ceni_lane_clocks {
    ceni_live_histogram wait, run, total;
} ceni_lane_clocks;

typedef struct ceni_lane {
    /* fixed before use */
    cen_lanes *lanes;
    unsigned index; /* its cen_priority */
    bool is_absent;
    cen_crew *crew;           /* NULL: absent, or freed */
    cen_observer observer;    /* the program's own */
    ceni_lane_clocks *clocks; /* NULL: no times are kept */

    /* settings: written under the mutex, read by any thread */
    _Atomic uint32_t workers;
    /* under the mutex */
    bool limit_is_default;
    uint64_t finished_before; /* the crew's finished tasks when the lanes were first stopped */

    /* any thread, atomically: the states of the tasks, see observe.c */
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t states;
    /* likewise, see pace.c; a moment is 0 if there was none */
    _Atomic int64_t step, run, between; /* averages: of a step, of all steps of a task, from one end to the next */
    _Atomic int64_t ended, progress;    /* when a task ended last; when one ended or began a step */
    _Atomic int64_t refusal_told;       /* when the last event about refused tasks was written */

    /* any thread, atomically: statistics */
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t counts[CENI_LANE_COUNTS];
} ceni_lane;

struct cen_lanes {
    /* fixed before use */
    cen_runtime *runtime;
    const cen_allocator *allocator;
    cen_fork_policy on_fork;
    bool timed;
    ceni_directory_entry entry;
    char name[CENI_LANES_NAME];

    /* any thread, atomically */
    _Atomic uint64_t epoch;   /* of the process whose tasks are counted */
    _Atomic uint64_t renewer; /* of the process that clears the counts, or did */
    ceni_eventcount changes;  /* of epoch */
    _Atomic uint32_t stopped; /* 0, or the cen_stop */

    ceni_mutex mutex; /* of rank LANES: changes of limits and workers */

    ceni_ledger ledger;
    ceni_lane lane[CEN_LANES]; /* by cen_priority */
};

extern const char *const ceni_lane_names[CEN_LANES];

static inline int64_t ceni_lanes_now(const cen_lanes *lanes)
{
    return cen_runtime_now(lanes->runtime);
}

static inline void ceni_lane_tally(ceni_lane *lane, ceni_lane_count which)
{
    ceni_add_relaxed(&lane->counts[which], 1); /* a number; carries nothing */
}

/* new.c: OK or FORKED. In a child whose policy is CEN_FORK_RENEW, the first call clears the counts. */
cen_status ceni_lanes_enter(cen_lanes *lanes);
/* ... and frees the lanes, once the crews are freed */
void ceni_lanes_release(cen_lanes *lanes);

/* submit.c: the lane of a priority; NULL: there is none. */
ceni_lane *ceni_lanes_route(cen_lanes *lanes, cen_priority priority);

/* observe.c: ceni_lane_admit marks a task that has a place as queued since `now`. ceni_lane_dismiss removes the mark if
 * the crew has refused the task. */
bool ceni_lane_has(const cen_task *task); /* a lane has it */
void ceni_lane_admit(ceni_lane *lane, cen_task *task, int64_t now);
void ceni_lane_dismiss(ceni_lane *lane, cen_task *task);
cen_observer ceni_lane_observer(ceni_lane *lane);
uint64_t ceni_lane_in(uint64_t states, ceni_lane_state state);

/* pace.c */
void ceni_pace_step(ceni_lane *lane, int64_t ns);      /* a step took `ns` */
void ceni_pace_progress(ceni_lane *lane, int64_t now); /* a step begins, a task ends, or a task could begin */
void ceni_pace_ended(ceni_lane *lane, int64_t now, int64_t run_ns, bool begun, bool empty);
int64_t ceni_pace_wait(const ceni_lane *lane, int64_t now);     /* until a task that is submitted now begins */
int64_t ceni_pace_next_end(const ceni_lane *lane, int64_t now); /* until a place is free */
int64_t ceni_pace_next_end_of_all(const cen_lanes *lanes, int64_t now);

/* describe.c */
size_t ceni_lanes_snapshot(const void *object, cen_metric *metrics, size_t room);
extern const ceni_component_calls ceni_lanes_calls;

/* settings.c: the limit in tasks that an option means. */
uint32_t ceni_lane_limit_of(int64_t max_tasks, uint32_t workers);
uint32_t ceni_lanes_limit_of(int64_t max_total);

#endif
