/* SPDX-License-Identifier: MIT */
/*
 * The threads of a crew: seats, how a worker begins and ends, and blocking sections.
 *
 *     seat claimed, counted ▶ started ▶ context made ▶ works ▶ hands over what it has ▶ departs, seat free
 *                             └ fails ▶ counted back
 *     works ──pthread_exit or cancel in a task──▶ its tasks fail ▶ hands over ▶ another takes its place ▶ departs
 *
 * Invariants
 *  T1 `threads` counts every thread that may still touch the crew, from before its start to its last critical section.
 *  T2 A worker's record is allocated once for its seat and stays until the crew is freed: thieves and cancellers look
 *     at it at any time. When its thread departs, its deque is empty.
 *  T3 Each departed thread is joined by the next thread that departs, or by free. `ended` is the one that is not joined
 *     yet.
 *
 * The mutex orders everything except one word.
 *
 * Order table
 * [T1] claim | store of seats | seq_cst | W1 in worker.c | that there is another deque to look at | a worker that parks misses a deque with a job, whose owner has read the idle word before
 *
 * Tested by tests/unit/crew/threads_test.c, tests/unit/crew/lost_test.c.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "crew/internal.h"
#include "record/events.h"

void ceni_turn_locked(ceni_core *core)
{
    /* a woken thread takes the mutex; carries nothing */
    ceni_store_relaxed(&core->turns, ceni_load_relaxed(&core->turns) + 1);
    ceni_futex_wake(&core->turns, UINT32_MAX);
}

/* ---- Seats -------------------------------------------------------------------------------- */

/* The record of a seat that has had no worker yet. */
static ceni_worker *place_worker_locked(ceni_core *core, uint32_t number, ceni_worker *worker)
{
    worker->core = core;
    worker->number = number;
    const cen_observer *observer = &core->crew->options.observer;
    worker->observer = observer->began || observer->paused || observer->over ? observer : NULL;
    ceni_list_init(&worker->link);
    snprintf(worker->name, sizeof worker->name, "%.10s:%u", core->crew->name, number);
    ceni_setting_put(&core->workers[number], worker);
    return worker;
}

bool ceni_seat_record_fetch_locked(ceni_core *core, ceni_seat_record *record)
{
    if (!record->is_wanted) return false;
    ceni_core_unlock(core);
    record->worker = ceni_alloc(core->crew->options.allocator, sizeof *record->worker, _Alignof(ceni_worker));
    ceni_core_lock(core);
    return true;
}

void ceni_seat_record_free_locked(ceni_core *core, ceni_seat_record *record)
{
    if (!record->worker) return;
    ceni_core_unlock(core);
    ceni_free(core->crew->options.allocator, record->worker, sizeof *record->worker, _Alignof(ceni_worker));
    record->worker = NULL;
    ceni_core_lock(core);
}

ceni_worker *ceni_seat_claim_locked(ceni_core *core, ceni_seat_record *record)
{
    uint32_t number = 0;
    ceni_worker *worker = NULL;
    for (; number < core->max; number++) {
        worker = ceni_worker_at(core, number);
        if (!worker || !worker->is_used) break;
    }
    if (number == core->max) return NULL;
    if (!worker && !record->worker) {
        record->is_wanted = true;
        return NULL;
    }
    if (!worker) {
        worker = place_worker_locked(core, number, record->worker);
        record->worker = NULL;
    }
    /* Raised before a job can be in its deque. Written under the mutex, so reading it carries nothing. */
    if (number >= ceni_load_relaxed(&core->seats)) ceni_store_seq_cst(&core->seats, number + 1); /* [T1] */
    worker->is_used = true;
    core->threads++;
    core->active++;
    return worker;
}

/* Give the seat back, and wake the threads that wait for the end of all. */
static void unclaim_locked(ceni_core *core, ceni_worker *worker)
{
    worker->is_used = false;
    if (worker->is_leaving) core->leaving--;
    worker->is_leaving = false;
    core->threads--;
    ceni_update_locked(core, 0);
    ceni_turn_locked(core);
}

/* ---- Beginning ------------------------------------------------------------------------------ */

static void note_failure_locked(ceni_core *core, const cen_error *error)
{
    ceni_event_write(&(ceni_occurrence){.level = CEN_LEVEL_WARNING,
                                        .kind = CEN_EVENT_WORKER_FAILED,
                                        .of = &core->crew->entry,
                                        .status = error->status,
                                        .code = error->code},
                     error->text);
    if (core->start_error.status == CEN_OK) core->start_error = *error;
    core->starts_barred = true;
}

/* A worker that was counted as searching or active will not look after all: call another (P1 in idle.c). */
static void look_again(ceni_core *core)
{
    if (ceni_work_is_visible(core)) ceni_call_one(core);
}

/* The worker was counted as active and as searching. */
bool ceni_thread_begin(ceni_core *core, ceni_worker *worker)
{
    const cen_crew *crew = core->crew;
    uint32_t number = worker->number;
    ceni_thread_options options = {.name = worker->name, .stack_size = crew->options.stack_size};
    if (crew->cpu_count > 0) {
        options.cpus = &crew->cpus[number % crew->cpu_count];
        options.cpu_count = 1;
    }
    ceni_thread unused; /* see ceni_thread_self */
    int code = 0;
    if (ceni_thread_start_with(&unused, &options, ceni_worker_main, worker, &code) == CEN_OK) return true;
    cen_error error = {0};
    ceni_error_set(&error, CEN_SYSTEM, code, "crew \"%s\": cannot start a worker thread (errno %d)", crew->name, code);
    ceni_core_lock(core);
    note_failure_locked(core, &error);
    if (core->arriving > 0) core->arriving--;
    core->active--;
    ceni_update_locked(core, -1);
    ceni_core_unlock(core);
    look_again(core); /* while its seat is counted: the crew is not freed, and no further start is tried */
    ceni_core_lock(core);
    unclaim_locked(core, worker);
    ceni_core_unlock(core);
    return false;
}

/* Creating its context may take long. A pusher must not count on this worker meanwhile, but call one that sleeps. */
static void search_later(ceni_worker *worker)
{
    ceni_core *core = worker->core;
    worker->is_searching = false;
    ceni_core_lock(core);
    ceni_update_locked(core, -1);
    bool sleeps = core->parked > 0; /* else a further thread would be started for the job that this one is for */
    ceni_core_unlock(core);
    if (sleeps) look_again(core);
}

static bool make_context(ceni_worker *worker)
{
    ceni_core *core = worker->core;
    const cen_context_type *type = &core->crew->options.context;
    cen_error error = {0};
    cen_status status = CEN_OK;
    worker->context = NULL;
    if (type->create) {
        ceni_rank_expect_none("create of a worker's context");
        search_later(worker);
        status = type->create(type->argument, worker->number, &worker->context, &error);
        if (status != CEN_OK && error.status == CEN_OK)
            ceni_error_set(&error, status, 0, "crew \"%s\": cannot create the context of worker %u: %s",
                           core->crew->name, worker->number, cen_status_text(status));
    }
    ceni_core_lock(core);
    if (status != CEN_OK) {
        note_failure_locked(core, &error);
        core->active--;
        ceni_update_locked(core, 0);
    }
    if (core->arriving > 0) {
        core->arriving--;
        ceni_turn_locked(core);
    }
    ceni_core_unlock(core);
    if (status != CEN_OK) look_again(core);
    return status == CEN_OK;
}

/* ---- Ending ------------------------------------------------------------------------------------ */

static void end_context(ceni_worker *worker)
{
    const cen_context_type *type = &worker->core->crew->options.context;
    if (type->on_tick) type->on_tick(type->argument, worker->context);
    if (type->destroy) type->destroy(type->argument, worker->context);
    worker->context = NULL;
}

/* Move the jobs that its deque still has to the injector. */
static void hand_over(ceni_worker *worker)
{
    ceni_core *core = worker->core;
    bool any = false;
    worker->is_ending = true; /* jobs that its context's last callbacks post go to the injector */
    for (cen_job *job; (job = ceni_deque_pop(&worker->deque)); any = true) {
        ceni_load load = {.what = CENI_PUT_MOVED, .count = 1, .job = job};
        ceni_injector_put(&core->injector, &load, false);
    }
    if (any) ceni_call_one(core);
}

/* The thread's last touch of the crew. It also starts the thread that replaces it, which is counted by then. */
static void depart(ceni_worker *worker, bool is_lost)
{
    ceni_core *core = worker->core;
    ceni_thread me = ceni_thread_self();
    *ceni_thread_worker() = NULL;
    ceni_core_lock(core);
    ceni_thread before = core->ended;
    bool must_join = core->somebody_ended;
    core->ended = me;
    core->somebody_ended = true;
    unclaim_locked(core, worker);
    /* A lost worker that is needed is replaced at once: there may never be another submit. And once the crew is over,
     * the other workers may have ended before this one handed over its jobs. */
    bool needed = is_lost && core->active < core->target && (!core->over || ceni_work_is_visible(core));
    ceni_seat_record none = {.worker = NULL}; /* not needed: its own seat is free, and has a record */
    ceni_worker *seat = needed ? ceni_seat_claim_locked(core, &none) : NULL;
    if (seat) ceni_update_locked(core, 1);
    ceni_core_unlock(core);
    if (seat) ceni_thread_begin(core, seat);
    if (must_join) ceni_thread_join(&before);
}

static void tell_lost(const ceni_worker *worker)
{
    char text[CEN_ERROR_TEXT_SIZE];
    snprintf(text, sizeof text, "crew \"%s\": a task ended worker thread \"%s\"", worker->core->crew->name,
             worker->name);
    ceni_event_tell(CEN_LEVEL_WARNING, CEN_EVENT_WORKER_LOST, &worker->core->crew->entry, worker->number, text);
}

/* A step has called pthread_exit, or its thread was cancelled in it. */
static void lost(void *argument)
{
    ceni_worker *worker = argument;
    ceni_core *core = worker->core;
    if (worker->is_away || !ceni_fork_is(core->epoch)) return;
    ceni_stop_abandon(worker);
    ceni_task_lost(worker);
    ceni_look_for_the_end(core); /* it will not park, where a worker looks for the end */
    hand_over(worker);
    end_context(worker);
    ceni_core_lock(core);
    core->lost++;
    core->active--;
    ceni_update_locked(core, 0);
    ceni_core_unlock(core);
    tell_lost(worker);
    depart(worker, !ceni_planted(crew_loses_its_worker));
}

void ceni_worker_main(void *argument)
{
    ceni_worker *worker = argument;
    *ceni_thread_worker() = worker;
    worker->is_searching = true;
    worker->stack_base = (uintptr_t)__builtin_frame_address(0);
    worker->is_away = worker->is_ending = worker->is_spilling = false;
    worker->task = worker->under_job = NULL;
    worker->step = 0;
    worker->ticks = ceni_load_relaxed(&worker->core->ticks); /* a count; carries nothing */
    ceni_store_relaxed(&worker->depth, 0u);                  /* its own; carries nothing */
    worker->blocking = 0;
    ceni_cancel_hold(); /* for good: a thread that is cancelled goes on, unless a step allows it */
    if (!make_context(worker)) {
        depart(worker, false);
        return;
    }
    ceni_thread_run_guarded(ceni_worker_loop, lost, worker);
    if (worker->is_away) return;
    hand_over(worker);
    end_context(worker);
    depart(worker, false);
}

/* ---- More and fewer ----------------------------------------------------------------------------- */

static void tell_resized(const cen_crew *crew, uint32_t before, uint32_t workers)
{
    char text[128];
    snprintf(text, sizeof text, "crew \"%s\": resized to %u workers (was %u)", crew->name, workers, before);
    ceni_event_tell(CEN_LEVEL_NOTICE, CEN_EVENT_RESIZED, &crew->entry, workers, text);
}

cen_status cen_crew_resize(cen_crew *crew, uint32_t workers, cen_error *error)
{
    if (!crew || workers == 0) return ceni_crew_refuse(crew, CEN_INVALID, "workers must be at least 1 (got 0)", error);
    if (workers > crew->options.max)
        return ceni_error_set(error, CEN_INVALID, 0, "crew \"%s\": %u workers exceed options.max (%u)", crew->name,
                              workers, crew->options.max);
    cen_status status;
    ceni_core *core = ceni_crew_core(crew, &status);
    if (!core) return ceni_crew_refuse_task(crew, NULL, status, error);
    ceni_core_lock(core);
    uint32_t before = core->target;
    bool closed = ceni_load_relaxed(&core->closing) != 0; /* written under the mutex; carries nothing */
    if (!closed) {
        uint32_t fewer = workers < core->target ? core->target - workers : 0, more = workers - core->target + fewer;
        core->too_many = core->too_many + fewer > more ? core->too_many + fewer - more : 0;
        core->target = workers;
        ceni_store_relaxed(&core->workers_guess, workers); /* for readers without the mutex; carries nothing */
        ceni_setting_put(&core->injector.is_ordered, workers == 1);
        core->starts_barred = false;
        ceni_update_locked(core, 0);
        ceni_sleepers_nudge_locked(core);
    }
    ceni_core_unlock(core);
    if (closed) return ceni_crew_refuse_task(crew, NULL, CEN_CLOSED, error);
    if (ceni_work_is_visible(core)) ceni_call_one(core);
    tell_resized(crew, before, workers);
    return CEN_OK;
}

/* ---- Blocking sections ---------------------------------------------------------------------------- */

static void open_section(ceni_worker *worker)
{
    ceni_core *core = worker->core;
    ceni_core_lock(core);
    core->blocked++;
    worker->is_blocked = true;
    core->active--;
    core->starts_barred = false;
    ceni_update_locked(core, 0);
    ceni_core_unlock(core);
    if (!ceni_planted(crew_blocks_in_silence) && ceni_work_is_visible(core)) ceni_call_one(core);
}

static void close_section(ceni_worker *worker)
{
    ceni_core *core = worker->core;
    ceni_core_lock(core);
    core->blocked--;
    worker->is_blocked = false;
    core->active++;
    ceni_update_locked(core, 0);
    ceni_core_unlock(core);
}

/* NULL also in a child that a step has forked: the crew's threads are not there. */
static ceni_worker *worker_here(void)
{
    ceni_worker *worker = ceni_worker_here();
    return worker && ceni_fork_is(worker->core->epoch) ? worker : NULL;
}

void cen_blocking_begin(void)
{
    ceni_worker *worker = worker_here();
    if (worker && worker->blocking++ == 0) open_section(worker);
}

void cen_blocking_end(void)
{
    ceni_worker *worker = worker_here();
    if (worker && worker->blocking > 0 && --worker->blocking == 0) close_section(worker);
}

void ceni_close_sections(ceni_worker *worker)
{
    if (worker->blocking == 0) return;
    worker->blocking = 0;
    close_section(worker);
}
