/* SPDX-License-Identifier: MIT */
/*
 * Stopping and freeing a crew.
 *
 *     open ──stop──▶ shut to outsiders (drain), or to all tasks (drop)
 *          ──as many tasks out as in──▶ sealed, over (end.c) ──▶ workers run what jobs are left, and depart ──▶ free
 *
 * Order table
 * [S2] posters | load of posting | acquire | J9 in injector.c | that the posters are done | the crew is freed under a poster
 * [S3] drop  | load of seats | seq_cst | T1 in seats.c | which deques there are | a queued task is dropped later, by a worker
 * [S4] drop  | store of the state | release | K2 in task.c | that it cannot be cancelled | its alarm searches for it without end
 *
 * Tested by tests/unit/crew/stop_test.c, tests/explore/crew_stop_test.c.
 */
#include <stdio.h>

#include "base/error.h"
#include "base/plant.h"
#include "crew/internal.h"
#include "port/deadline.h"
#include "record/events.h"
#include "sync/backoff.h"

enum { DEFAULT_PATIENCE_S = 30, LOOK_AGAIN_NS = 1000000 };

/* ---- Dropping ------------------------------------------------------------------------------- */

/* Tasks that have not begun fail. The rest is put back. None of them is QUEUED when the first future is completed: a
 * `done` that cancels another of them would search for it without end. */
static void drop(ceni_core *core, cen_job **jobs, uint32_t count)
{
    uint32_t dropped = 0;
    for (uint32_t i = 0; i < count; i++) {
        cen_task *task = jobs[i]->run == ceni_task_run ? CENI_TASK_OF_JOB(jobs[i]) : NULL;
        /* ordered by the queue; carries nothing */
        if (task && ceni_load_relaxed(&task->state_) == CENI_TASK_QUEUED) {
            ceni_store_release(&task->state_, (uint32_t)CENI_TASK_FREE); /* [S4] */
            jobs[dropped++] = jobs[i];
            continue;
        }
        /* Another stop may have ended the crew and its workers meanwhile: then jobs are refused. */
        ceni_load load = {.what = task ? CENI_PUT_MOVED : CENI_PUT_JOB, .count = 1, .job = jobs[i]};
        if (!ceni_injector_put(&core->injector, &load, false)) ceni_post_elsewhere(jobs[i]);
    }
    if (dropped < count) ceni_call_one(core);
    for (uint32_t i = 0; i < dropped; i++) ceni_task_over_elsewhere(core, CENI_TASK_OF_JOB(jobs[i]), CEN_CLOSED, true);
}

/* Drop all tasks that are queued now. Workers drop those that they find later. */
static void drop_queued(ceni_core *core)
{
    cen_job *jobs[CENI_BATCH];
    uint32_t seats = ceni_load_seq_cst(&core->seats); /* [S3] */
    ceni_core_lock(core);
    uint64_t left = ceni_live_locked(core) + CENI_BATCH; /* a bound, since jobs that are put back come again */
    ceni_core_unlock(core);
    for (uint32_t got = 1; got > 0 && left > 0; left = left > got ? left - got : 0) {
        got = ceni_injector_take(&core->injector, 0, 1, jobs, CENI_BATCH);
        drop(core, jobs, got);
    }
    for (uint32_t i = 0; i < seats; i++)
        for (uint32_t got = 1; got > 0;) {
            got = ceni_deque_steal(&ceni_worker_at(core, i)->deque, jobs, CENI_BATCH);
            drop(core, jobs, got);
        }
}

/* ---- Stopping --------------------------------------------------------------------------------- */

static void tell_stop(const cen_crew *crew, cen_stop how)
{
    char text[128];
    snprintf(text, sizeof text, "crew \"%s\": stopping; %s", crew->name,
             how == CEN_STOP_DROP ? "queued and suspended tasks are dropped" : "submitted tasks run to their end");
    ceni_event_tell(CEN_LEVEL_NOTICE, CEN_EVENT_STOPPED, &crew->entry, 0, text);
}

static void shut(ceni_core *core, cen_stop how)
{
    ceni_core_lock(core);
    bool first = ceni_load_relaxed(&core->closing) == 0; /* written under the mutex; carries nothing */
    if (first) core->stop_base = ceni_tasks_out_locked(core);
    bool drops = ceni_load_relaxed(&core->closing) == CEN_STOP_DROP; /* likewise; carries nothing */
    if (!drops) ceni_setting_put(&core->closing, (uint32_t)how);
    ceni_core_unlock(core);
    ceni_injector_shut(&core->injector, how == CEN_STOP_DROP ? CENI_SHUT_TASKS : CENI_SHUT_OUTSIDE);
    if (first) tell_stop(core->crew, how);
    if (how != CEN_STOP_DROP) return;
    drop_queued(core);
    ceni_suspended_drop(core);
}

static bool threads_are_gone_locked(ceni_core *core)
{
    return core->threads == 0 && core->alarms == 0;
}

/* Wait until `is_so`. The mutex is held before and afterwards. False: the deadline has passed. */
static bool wait_locked(ceni_core *core, bool (*is_so)(ceni_core *core), int64_t moment)
{
    while (!is_so(core)) {
        uint32_t turns = ceni_load_relaxed(&core->turns); /* written under the mutex; carries nothing */
        ceni_core_unlock(core);
        ceni_woken woken = ceni_futex_wait(&core->turns, turns, moment);
        ceni_core_lock(core);
        if (woken == CENI_TIMED_OUT) return is_so(core);
    }
    return true;
}

static bool nothing_lives_locked(ceni_core *core)
{
    return ceni_live_locked(core) == 0;
}

/* The worker runs other tasks meanwhile, as in cen_await. When there are none it looks again every millisecond: a task
 * that is resumed may find no other worker to run it. */
static bool wait_inside(ceni_worker *worker, int64_t moment)
{
    ceni_core *core = worker->core;
    uint32_t before = ceni_count_stopping(worker, ceni_worker_depth(worker));
    for (bool alone = false;;) {
        ceni_core_lock(core);
        alone = ceni_live_locked(core) <= core->stopping;
        uint32_t turns = ceni_load_relaxed(&core->turns); /* written under the mutex; carries nothing */
        ceni_core_unlock(core);
        int64_t now = ceni_clock_now();
        if (alone || now >= moment) {
            ceni_count_stopping(worker, before);
            return alone;
        }
        if (ceni_await_help_one(worker)) {
            if (worker->is_away) return false; /* in a child that it forked */
            continue;
        }
        cen_blocking_begin();
        ceni_futex_wait(&core->turns, turns, moment - now > LOOK_AGAIN_NS ? now + LOOK_AGAIN_NS : moment);
        cen_blocking_end();
    }
}

static void await_posters(ceni_core *core)
{
    ceni_backoff backoff = {0};
    for (uint32_t i = 0; i < core->injector.count; i++)
        while (ceni_load_acquire(&core->injector.shards[i].posting) != 0) ceni_backoff_wait(&backoff); /* [S2] */
}

static void fill_report(ceni_core *core, cen_crew_report *out)
{
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    if (!out) return;
    cen_crew_stats_get(core->crew, &stats);
    ceni_core_lock(core);
    cen_crew_report report = {.finished = ceni_tasks_out_locked(core) - core->stop_base - core->dropped,
                              .dropped = core->dropped};
    ceni_core_unlock(core);
    uint64_t left = stats.submitted - stats.finished;
    report.waiting = stats.waiting < left ? stats.waiting : left;
    report.queued = stats.queued < left - report.waiting ? stats.queued : left - report.waiting;
    report.running = left - report.waiting - report.queued;
    cen_sized_write(out, &report, sizeof report);
}

/* No task is inside, and none will be. */
static bool end_workers(ceni_core *core, int64_t moment)
{
    ceni_make_over(core);
    ceni_core_lock(core);
    bool gone = wait_locked(core, threads_are_gone_locked, moment);
    ceni_core_unlock(core);
    if (gone) await_posters(core);
    return gone;
}

static cen_status time_out(const ceni_core *core, const cen_crew_report *left, cen_error *error)
{
    return ceni_error_set(
        error, CEN_TIMEOUT, 0,
        "crew \"%s\": not stopped by the deadline (tasks: %llu running, %llu waiting, %llu queued); call stop again",
        core->crew->name, (unsigned long long)left->running, (unsigned long long)left->waiting,
        (unsigned long long)left->queued);
}

cen_status cen_crew_stop(cen_crew *crew, cen_stop how, cen_deadline deadline, cen_crew_report *report, cen_error *error)
{
    if (!crew || (how != CEN_STOP_DRAIN && how != CEN_STOP_DROP))
        return ceni_crew_refuse(crew, CEN_INVALID, "how must be CEN_STOP_DRAIN or CEN_STOP_DROP", error);
    if (report && cen_sized_check(report, sizeof *report, "cen_crew_stop: report", error) != CEN_OK) return CEN_INVALID;
    ceni_core *core = ceni_setting(&crew->core);
    if (!ceni_fork_is(core->epoch)) return ceni_crew_refuse_task(crew, NULL, CEN_FORKED, error);
    deadline = ceni_deadline_or(deadline, cen_in_s(DEFAULT_PATIENCE_S));
    int64_t moment = ceni_deadline_moment(deadline, ceni_clock_now());
    ceni_worker *inside = ceni_worker_of(core);
    bool ended;
    shut(core, how);
    if (inside) {
        ended = wait_inside(inside, moment);
        if (inside->is_away) return ceni_crew_refuse_task(crew, NULL, CEN_FORKED, error);
        ceni_core_lock(core);
        core->ends_itself = true; /* with the calling task, or with the tasks that it could not wait for */
        ceni_core_unlock(core);
    } else {
        ceni_core_lock(core);
        ended = wait_locked(core, nothing_lives_locked, moment);
        ceni_core_unlock(core);
    }
    if (!ended) shut(core, CEN_STOP_DROP);
    if (ended && !inside) ended = end_workers(core, moment);
    cen_crew_report left = CEN_SIZED(cen_crew_report);
    fill_report(core, &left);
    if (report) cen_sized_write(report, &left, sizeof left);
    return ended ? CEN_OK : time_out(core, &left, error);
}

/* ---- Freeing ------------------------------------------------------------------------------------ */

cen_status cen_crew_free(cen_crew *crew)
{
    if (!crew) return CEN_OK;
    ceni_core *core = ceni_setting(&crew->core);
    ceni_worker *worker = ceni_worker_here();
    bool inside = worker && worker->core->crew == crew;
    if (ceni_fork_is(core->epoch)) {
        if (inside) return CEN_MISUSE;
        ceni_core_lock(core);
        bool busy = !core->over || !threads_are_gone_locked(core);
        ceni_core_unlock(core);
        if (busy) return CEN_BUSY;
        await_posters(core);
        if (core->somebody_ended) ceni_thread_join(&core->ended);
        ceni_directory_leave(ceni_directory_process(), &crew->entry);
        ceni_runtime_leave(core->runtime);
    }
    ceni_crew_release(crew);
    return CEN_OK;
}
