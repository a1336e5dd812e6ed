/* SPDX-License-Identifier: MIT */
/*
 * The threads of a crew: how a worker begins and ends. seats.c starts them.
 *
 *     started ▶ context made ▶ works ▶ hands over what it has ▶ departs, seat free
 *               └ fails ▶ departs
 *     works ──pthread_exit or cancel in a task──▶ its tasks fail ▶ hands over ▶ another takes its place ▶ departs
 *
 * Invariants
 *  T3 Each departed thread is joined by the next thread that departs, or by free. `ended` is the one that is not joined
 *     yet.
 *
 * The mutex orders everything.
 *
 * Tested by tests/unit/crew/threads_test.c, tests/unit/crew/lost_test.c.
 */
#include <stdio.h>

#include "base/error.h"
#include "base/plant.h"
#include "crew/internal.h"
#include "record/events.h"

/* ---- Beginning ------------------------------------------------------------------------------ */

/* Creating its context may take long. A pusher must not count on this worker meanwhile, but call one that sleeps. */
static void search_later(ceni_worker *worker)
{
    ceni_core *core = worker->core;
    worker->is_searching = false;
    ceni_core_lock(core);
    ceni_update_locked(core, -1);
    bool sleeps = core->parked > 0; /* else a further thread would be started for the job that this one is for */
    ceni_core_unlock(core);
    if (sleeps) ceni_call_for_work(core);
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
        ceni_start_failed_locked(core, &error);
        core->active--;
        ceni_update_locked(core, 0);
    }
    if (core->arriving > 0) {
        core->arriving--;
        ceni_turn_locked(core);
    }
    ceni_core_unlock(core);
    if (status != CEN_OK) ceni_call_for_work(core);
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
    ceni_seat_unclaim_locked(core, worker);
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
