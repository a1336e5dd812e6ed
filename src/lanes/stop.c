/* SPDX-License-Identifier: MIT */
/*
 * Stopping lanes: all crews are stopped by one deadline.
 *
 * Submits are refused by `stopped` from the first moment, since the crews are stopped one after the other. A drain
 * waits for each crew while the next ones still run, because its tasks may wait for theirs. A drop first tells all
 * crews to drop, and then waits for each. If a task of a lane calls the stop, its own crew comes last.
 *
 * For a submit that read `stopped` before it was set, the crew decides: the task runs, is dropped, or fails with
 * CLOSED.
 */
#include "base/plant.h"
#include "base/error.h"
#include "lanes/internal.h"

static void add(cen_lane_report *sum, const cen_lane_report *one)
{
    sum->finished += one->finished;
    sum->dropped += one->dropped;
    sum->running += one->running;
    sum->waiting += one->waiting;
    sum->queued += one->queued;
}

static cen_status stop_crew(cen_crew *crew, cen_stop how, cen_deadline deadline, cen_lane_report *out)
{
    cen_crew_report report = CEN_SIZED(cen_crew_report);
    if (!crew) return CEN_OK;
    bool own = crew == cen_crew_current();
    if (!own) cen_blocking_begin();
    cen_status status = cen_crew_stop(crew, how, deadline, &report, NULL);
    if (!own) cen_blocking_end();
    *out = (cen_lane_report){.finished = report.finished,
                             .dropped = report.dropped,
                             .running = report.running,
                             .waiting = report.waiting,
                             .queued = report.queued};
    return status;
}

static void stop_all(cen_lanes *lanes, cen_stop how, cen_deadline deadline, cen_lanes_report *out, cen_status *status)
{
    for (unsigned last = 0; last < 2; last++)
        for (unsigned i = 0; i < CEN_LANES; i++) {
            cen_crew *crew = lanes->lane[i].crew;
            if (!crew || (crew == cen_crew_current()) != (last == 1)) continue;
            cen_status one = stop_crew(crew, how, deadline, &out->lane[i]);
            if (*status == CEN_OK) *status = one;
        }
}

static uint64_t finished_of(cen_crew *crew)
{
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    return crew && cen_crew_stats_get(crew, &stats) == CEN_OK ? stats.finished : 0;
}

/* Refuse submits from now on. */
static void close_all(cen_lanes *lanes, cen_stop how)
{
    uint64_t finished[CEN_LANES];
    for (unsigned i = 0; i < CEN_LANES; i++) finished[i] = finished_of(lanes->lane[i].crew);
    ceni_mutex_lock(&lanes->mutex, CENI_RANK_LANES);
    uint32_t before = ceni_setting(&lanes->stopped);
    for (unsigned i = 0; i < CEN_LANES && !before; i++) lanes->lane[i].finished_before = finished[i];
    if (before != CEN_STOP_DROP) ceni_setting_put(&lanes->stopped, (uint32_t)how);
    ceni_mutex_unlock(&lanes->mutex, CENI_RANK_LANES);
}

/* A crew's report counts tasks that ended since that crew was stopped, which may have been late. Count from the lanes'
 * stop. */
static void count_finished(cen_lanes *lanes, cen_lanes_report *report)
{
    uint64_t before[CEN_LANES];
    ceni_mutex_lock(&lanes->mutex, CENI_RANK_LANES);
    for (unsigned i = 0; i < CEN_LANES; i++) before[i] = lanes->lane[i].finished_before;
    ceni_mutex_unlock(&lanes->mutex, CENI_RANK_LANES);
    for (unsigned i = 0; i < CEN_LANES; i++) {
        cen_lane_report *one = &report->lane[i];
        uint64_t ended = finished_of(lanes->lane[i].crew) - before[i];
        if (ended > one->finished + one->dropped) one->finished = ended - one->dropped;
        add(&report->total, one);
    }
}

static cen_status fail_stop(const cen_lanes *lanes, cen_status status, cen_error *error)
{
    return ceni_error_set(error, status, 0, "lanes \"%s\": %s", lanes->name, cen_status_text(status));
}

static cen_status tell_left(const cen_lanes *lanes, const cen_lane_report *left, cen_error *error)
{
    return ceni_error_set(
        error, CEN_TIMEOUT, 0,
        "lanes \"%s\": not stopped by the deadline (tasks: %llu running, %llu waiting, %llu queued); call stop again",
        lanes->name, (unsigned long long)left->running, (unsigned long long)left->waiting,
        (unsigned long long)left->queued);
}

cen_status cen_lanes_stop(cen_lanes *lanes, cen_stop how, cen_deadline deadline, cen_lanes_report *report,
                          cen_error *error)
{
    if (!lanes) return ceni_error_set(error, CEN_INVALID, 0, "the lanes are NULL");
    if (how != CEN_STOP_DRAIN && how != CEN_STOP_DROP)
        return ceni_error_set(error, CEN_INVALID, 0, "lanes \"%s\": how must be CEN_STOP_DRAIN or CEN_STOP_DROP",
                              lanes->name);
    if (report && cen_sized_check(report, sizeof *report, "cen_lanes_stop: report", error) != CEN_OK)
        return CEN_INVALID;
    cen_status status = ceni_lanes_enter(lanes);
    if (status != CEN_OK) return fail_stop(lanes, status, error);
    deadline = cen_deadline_fix(deadline.ns_ ? deadline : cen_in_s(30));
    cen_lanes_report mine = CEN_SIZED(cen_lanes_report);
    close_all(lanes, how);
    if (how == CEN_STOP_DROP) stop_all(lanes, how, CEN_NOW, &mine, &(cen_status){CEN_OK});
    stop_all(lanes, how, deadline, &mine, &status);
    count_finished(lanes, &mine);
    if (report) cen_sized_write(report, &mine, sizeof mine);
    if (status == CEN_TIMEOUT) return tell_left(lanes, &mine.total, error);
    return status == CEN_OK ? CEN_OK : fail_stop(lanes, status, error);
}

/* OK if each crew can be freed, as far as its statistics show; in a child the parent's always can. */
static cen_status can_be_freed(cen_lanes *lanes)
{
    if (!ceni_fork_is(ceni_setting(&lanes->epoch))) return CEN_OK;
    for (unsigned i = 0; i < CEN_LANES; i++) {
        cen_crew *crew = lanes->lane[i].crew;
        cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
        if (!crew) continue;
        if (crew == cen_crew_current()) return CEN_MISUSE;
        if (cen_crew_stats_get(crew, &stats) != CEN_OK) continue; /* cen_crew_free fails with the reason */
        if (!stats.is_stopped || stats.queued + stats.running + stats.waiting > 0) return CEN_BUSY;
    }
    return CEN_OK;
}

cen_status cen_lanes_free(cen_lanes *lanes)
{
    if (!lanes) return CEN_OK;
    cen_status status = can_be_freed(lanes);
    if (status != CEN_OK) return status;
    /* Before the crews are freed: a client of the component may be about to resize one. */
    if (!ceni_planted(lanes_leave_after_their_crews)) ceni_directory_leave(ceni_directory_process(), &lanes->entry);
    for (unsigned i = 0; i < CEN_LANES && status == CEN_OK; i++) {
        status = cen_crew_free(lanes->lane[i].crew);
        if (status == CEN_OK) lanes->lane[i].crew = NULL;
    }
    if (ceni_planted(lanes_leave_after_their_crews)) ceni_directory_leave(ceni_directory_process(), &lanes->entry);
    if (status == CEN_OK) ceni_lanes_release(lanes);
    else ceni_directory_join(ceni_directory_process(), &lanes->entry);
    return status;
}
