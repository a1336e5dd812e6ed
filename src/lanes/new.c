/* SPDX-License-Identifier: MIT */
/*
 * Creating lanes, and clearing their counts in the child of a fork.
 *
 * In a child the crews have none of the parent's tasks, so the parent's counts are places that would never be given
 * back. The first call in the child clears the counts, before its own task is counted:
 *
 *     epoch = parent's ──renewer: cas──▶ one clears ──▶ epoch = the child's
 *                               others wait until it is
 *
 * Invariants
 *  N1 The counts are cleared once, by the thread whose cas sets renewer to this process's epoch, and before `epoch` is
 *     set.
 *  N2 No thread changes a count before `epoch` is this process's. The crews report only tasks that were submitted in
 *     this process, and those passed ceni_lanes_enter.
 *  N3 A child that was forked while its parent was clearing the counts has both words of the parent, and clears them
 *     again.
 *
 * Order table
 * [N1] enter | cas of renewer | acq_rel | N1, each other | nothing but which thread is first | two threads clear, the second what the first has counted
 * [N2] enter | store of epoch | release | N3 | the cleared counts | a task is counted, and its count cleared
 * [N3] enter | load of epoch | acquire | N2 | the same | the same
 *
 * Tested by tests/unit/lanes/lanes_test.c, fork_test.c.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "lanes/internal.h"

#include <stdio.h>
#include <string.h>

/* ---- Checking ------------------------------------------------------------------------------ */

static cen_status refuse(cen_error *error, const char *what)
{
    return ceni_error_set(error, CEN_INVALID, 0, "cen_lanes_new: %s", what);
}

static const cen_lane_options *lane_options(const cen_lanes_options *o, unsigned index)
{
    return index == CEN_PRIORITY_HIGH ? &o->high : index == CEN_PRIORITY_LOW ? &o->low : &o->normal;
}

static cen_status refuse_lane(cen_error *error, unsigned index, const char *field, const char *what)
{
    return ceni_error_set(error, CEN_INVALID, 0, "cen_lanes_new: options.%s.%s %s", ceni_lane_names[index], field,
                          what);
}

static cen_status check_lane(const cen_lane_options *o, unsigned index, cen_error *error)
{
    char what[48];
    cen_crew_options crew;
    if (o->max_tasks < CEN_OFF || o->max_tasks > CEN_LANE_TASKS_MAX)
        return refuse_lane(error, index, "max_tasks", "must be 1 to CEN_LANE_TASKS_MAX, 0 for the default, or CEN_OFF");
    if (!o->crew) return CEN_OK;
    snprintf(what, sizeof what, "cen_lanes_new: options.%s.crew", ceni_lane_names[index]);
    cen_status status = cen_sized_read(&crew, sizeof crew, o->crew, what, error);
    if (status != CEN_OK) return status;
    if (crew.runtime) return refuse_lane(error, index, "crew->runtime", "must not be set; set it in cen_lanes_options");
    if (crew.allocator)
        return refuse_lane(error, index, "crew->allocator", "must not be set; set it in cen_lanes_options");
    if (crew.on_fork) return refuse_lane(error, index, "crew->on_fork", "must not be set; set it in cen_lanes_options");
    return CEN_OK;
}

static cen_status check_options(const cen_lanes_options *given, cen_lanes_options *o, cen_error *error)
{
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_lanes_new: options", error);
    if (status != CEN_OK) return status;
    if (o->high.is_absent && o->normal.is_absent && o->low.is_absent)
        return refuse(error, "all three lanes are absent");
    if (o->max_total < CEN_OFF || o->max_total > CEN_LANES * (int64_t)CEN_LANE_TASKS_MAX)
        return refuse(error,
                      "options.max_total must be 1 to three times CEN_LANE_TASKS_MAX, 0 for the default, or CEN_OFF");
    if ((unsigned)o->on_fork > CEN_FORK_RENEW) return refuse(error, "options.on_fork must be a cen_fork_policy");
    if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
        return refuse(error, "options.allocator lacks alloc or free");
    for (unsigned i = 0; i < CEN_LANES && status == CEN_OK; i++) status = check_lane(lane_options(o, i), i, error);
    return status;
}

/* ---- Creating -------------------------------------------------------------------------------- */

static void start_lane(ceni_lane *lane)
{
    ceni_store_relaxed(&lane->states, 0); /* no other thread uses it yet; carries nothing */
    _Atomic int64_t *const paces[] = {&lane->step, &lane->run, &lane->between, &lane->ended, &lane->progress};
    /* likewise; carries nothing */
    for (size_t i = 0; i < sizeof paces / sizeof *paces; i++) ceni_store_relaxed(paces[i], 0);
    /* likewise; carries nothing */
    for (unsigned i = 0; i < CENI_LANE_COUNTS; i++) ceni_store_relaxed(&lane->counts[i], 0);
    if (!lane->clocks) return;
    ceni_live_histogram_init(&lane->clocks->wait);
    ceni_live_histogram_init(&lane->clocks->run);
    ceni_live_histogram_init(&lane->clocks->total);
}

static cen_status make_crew(ceni_lane *lane, const cen_lane_options *o, cen_error *error)
{
    const cen_lanes *lanes = lane->lanes;
    char name[CENI_LANES_NAME + 8];
    snprintf(name, sizeof name, "%s-%s", lanes->name, ceni_lane_names[lane->index]);
    cen_crew_options crew = CEN_CREW_OPTIONS(.name = NULL);
    if (o->crew) cen_sized_read(&crew, sizeof crew, o->crew, "options.crew", NULL); /* checked before */
    if (!crew.name) crew.name = name;
    if (!crew.workers && lane->index == CEN_PRIORITY_LOW) crew.workers = (ceni_cpu_count() + 1) / 2;
    lane->observer = crew.observer;
    crew.observer = ceni_lane_observer(lane);
    crew.runtime = lanes->runtime;
    crew.without_actions = true; /* the lanes offer them, and keep their limits in step */
    crew.allocator = lanes->allocator;
    crew.on_fork = lanes->on_fork;
    cen_error why = {.text = ""};
    cen_status status = cen_crew_new(&crew, &lane->crew, &why);
    if (status == CEN_OK) return CEN_OK;
    return ceni_error_set(error, status, why.code, "cen_lanes_new: options.%s.crew: %.300s",
                          ceni_lane_names[lane->index], why.text);
}

static cen_status make_lane(cen_lanes *lanes, unsigned index, const cen_lane_options *o, cen_error *error)
{
    ceni_lane *lane = &lanes->lane[index];
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    lane->lanes = lanes;
    lane->index = index;
    lane->is_absent = o->is_absent;
    if (lane->is_absent) return CEN_OK;
    if (lanes->timed) lane->clocks = ceni_alloc(lanes->allocator, sizeof *lane->clocks, _Alignof(ceni_lane_clocks));
    if (lanes->timed && !lane->clocks)
        return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_lanes_new: out of memory for the histograms");
    start_lane(lane);
    cen_status status = make_crew(lane, o, error);
    if (status == CEN_OK) status = cen_crew_stats_get(lane->crew, &stats);
    if (status != CEN_OK) return status;
    ceni_setting_put(&lane->workers, stats.workers);
    lane->limit_is_default = o->max_tasks == 0;
    return CEN_OK;
}

static void fill(cen_lanes *lanes, const cen_lanes_options *o)
{
    lanes->runtime = o->runtime;
    lanes->allocator = o->allocator;
    lanes->on_fork = o->on_fork;
    lanes->timed = !o->without_latency;
    ceni_store_relaxed(&lanes->epoch, ceni_fork_epoch());   /* no other thread uses it yet; carries nothing */
    ceni_store_relaxed(&lanes->renewer, ceni_fork_epoch()); /* likewise; carries nothing */
    snprintf(lanes->name, sizeof lanes->name, "%s", o->name ? o->name : "lanes");
}

static void open_ledger(cen_lanes *lanes, const cen_lanes_options *o)
{
    uint32_t limits[CEN_LANES + 1];
    for (unsigned i = 0; i < CEN_LANES; i++)
        limits[i] = ceni_lane_limit_of(lane_options(o, i)->max_tasks, ceni_setting(&lanes->lane[i].workers));
    limits[CENI_LEDGER_TOTAL] = ceni_lanes_limit_of(o->max_total);
    ceni_ledger_init(&lanes->ledger, limits);
}

void ceni_lanes_release(cen_lanes *lanes)
{
    for (unsigned i = 0; i < CEN_LANES; i++)
        ceni_free(lanes->allocator, lanes->lane[i].clocks, sizeof(ceni_lane_clocks), _Alignof(ceni_lane_clocks));
    ceni_free(lanes->allocator, lanes, sizeof *lanes, _Alignof(cen_lanes));
}

/* Stop and free the crews. They never had a task. */
static void end_crews(cen_lanes *lanes)
{
    for (unsigned i = 0; i < CEN_LANES; i++) {
        cen_crew *crew = lanes->lane[i].crew;
        if (!crew) continue;
        cen_crew_stop(crew, CEN_STOP_DROP, CEN_NEVER, NULL, NULL);
        cen_crew_free(crew);
    }
}

cen_status cen_lanes_new(const cen_lanes_options *options, cen_lanes **out, cen_error *error)
{
    cen_lanes_options known;
    const cen_lanes_options *o = &known;
    if (!out) return refuse(error, "out is NULL");
    cen_status status = check_options(options, &known, error);
    if (status != CEN_OK) return status;
    cen_lanes *lanes = ceni_alloc(o->allocator, sizeof *lanes, _Alignof(cen_lanes));
    if (!lanes) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_lanes_new: out of memory");
    fill(lanes, o);
    for (unsigned i = 0; i < CEN_LANES && status == CEN_OK; i++)
        status = make_lane(lanes, i, lane_options(o, i), error);
    if (status != CEN_OK) goto undo_lanes;
    open_ledger(lanes, o);
    lanes->entry = (ceni_directory_entry){.kind = "lanes",
                                          .name = lanes->name,
                                          .snapshot = ceni_lanes_snapshot,
                                          .object = lanes,
                                          .calls = &ceni_lanes_calls};
    ceni_directory_join(ceni_directory_process(), &lanes->entry);
    *out = lanes;
    return CEN_OK;

undo_lanes:
    end_crews(lanes);
    ceni_lanes_release(lanes);
    return status;
}

/* ---- In the child of a fork ----------------------------------------------------------------------- */

static void renew(cen_lanes *lanes)
{
    memset(&lanes->mutex, 0, sizeof lanes->mutex); /* its holder is not in this process */
    ceni_ledger_clear(&lanes->ledger);
    for (unsigned i = 0; i < CEN_LANES; i++)
        if (!lanes->lane[i].is_absent) start_lane(&lanes->lane[i]);
    ceni_directory_join(ceni_directory_process(), &lanes->entry);
}

static cen_status enter_child(cen_lanes *lanes)
{
    /* a guess for the cas; carries nothing */
    uint64_t mine = ceni_fork_epoch(), before = ceni_load_relaxed(&lanes->renewer);
    if (lanes->on_fork != CEN_FORK_RENEW) return CEN_FORKED;
    if (before != mine && ceni_cas_acq_rel(&lanes->renewer, &before, mine)) { /* [N1] */
        renew(lanes);
        ceni_store_release(&lanes->epoch, mine); /* [N2] */
        ceni_eventcount_advance(&lanes->changes);
    }
    for (;;) {
        uint32_t seen = ceni_eventcount_read(&lanes->changes);
        if (ceni_load_acquire(&lanes->epoch) == mine) return CEN_OK; /* [N3] */
        ceni_eventcount_wait(&lanes->changes, seen);
    }
}

cen_status ceni_lanes_enter(cen_lanes *lanes)
{
    bool here = ceni_fork_is(ceni_load_acquire(&lanes->epoch)); /* [N3] */
    return here ? CEN_OK : enter_child(lanes);
}
