/* SPDX-License-Identifier: MIT */
/*
 * Seats: the places of a crew's workers, and starting a thread in one.
 *
 *     seat claimed, counted ▶ thread started ▶ threads.c ▶ seat free
 *                             └ fails ▶ counted back
 *
 * Invariants
 *  T1 `threads` counts every thread that may still touch the crew, from before its start to its last critical section.
 *  T2 A worker's record is allocated once for its seat and stays until the crew is freed: thieves and cancellers look
 *     at it at any time. When its thread departs, its deque is empty.
 *
 * The mutex orders everything except one word.
 *
 * Order table
 * [T1] claim | store of seats | seq_cst | W1 in find.c | that there is another deque to look at | a worker that parks misses a deque with a job, whose owner has read the idle word before
 *
 * Tested by tests/unit/crew/threads_test.c, tests/unit/crew/lost_test.c.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "crew/internal.h"
#include "record/events.h"

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

void ceni_seat_unclaim_locked(ceni_core *core, ceni_worker *worker)
{
    worker->is_used = false;
    if (worker->is_leaving) core->leaving--;
    worker->is_leaving = false;
    core->threads--;
    ceni_update_locked(core, 0);
    ceni_turn_locked(core);
}

/* ---- Beginning ------------------------------------------------------------------------------ */

void ceni_start_failed_locked(ceni_core *core, const cen_error *error)
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
    ceni_start_failed_locked(core, &error);
    if (core->arriving > 0) core->arriving--;
    core->active--;
    ceni_update_locked(core, -1);
    ceni_core_unlock(core);
    ceni_call_for_work(
        core); /* P1 in idle.c; while its seat is counted: the crew is not freed, and no further start is tried */
    ceni_core_lock(core);
    ceni_seat_unclaim_locked(core, worker);
    ceni_core_unlock(core);
    return false;
}
