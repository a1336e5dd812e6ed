/* SPDX-License-Identifier: MIT */
/*
 * Stopping, watching the end, and a supervisor as a child of another.
 *
 * Tested by tests/unit/supervisor/life_test.c, limit_test.c, tests/explore/supervisor_test.c.
 */
#include "base/error.h"
#include "supervisor/internal.h"
#include "sync/future.h"

/* ---- Stop ---------------------------------------------------------------------------------- */

/* Kill and abandon the remaining children without waiting. */
static void hurry_locked(cen_supervisor *supervisor)
{
    supervisor->hurry = true;
    for (ceni_list *link = supervisor->children.next; link != &supervisor->children; link = link->next)
        if (CENI_CHILD_OF(link, link)->tenure) ceni_child_note_locked(CENI_CHILD_OF(link, link));
}

static cen_status check_stop_locked(const cen_supervisor *supervisor, bool waits)
{
    if (supervisor->parent.supervisor_ != 0) return CEN_MISUSE;
    return waits && ceni_is_steward_locked(supervisor) ? CEN_MISUSE : CEN_OK;
}

/* Call the steward, and take the mutex again. */
static void call_steward_locked(cen_supervisor *supervisor)
{
    ceni_steward_unlock(supervisor);
    ceni_supervisor_lock(supervisor);
}

static bool is_over_locked(const cen_supervisor *supervisor)
{
    return supervisor->phase == CENI_PHASE_OVER || supervisor->phase == CENI_PHASE_NEW;
}

static cen_status say_stop(const cen_supervisor *supervisor, cen_status status, cen_error *error)
{
    const char *why = status == CEN_MISUSE    ? "a child must not wait for the end of its supervisor"
                      : status == CEN_TIMEOUT ? "children did not end by the deadline; killed or abandoned"
                      : status == CEN_FORKED  ? "it belongs to the parent process"
                                              : cen_status_text(status);
    if (status == CEN_OK) return status;
    return ceni_error_set(error, status, 0, "supervisor \"%s\": %s", supervisor->name, why);
}

cen_status cen_supervisor_stop(cen_supervisor *supervisor, cen_deadline deadline, cen_supervisor_report *report,
                               cen_error *error)
{
    if (!supervisor) return ceni_error_set(error, CEN_INVALID, 0, "cen_supervisor_stop: supervisor is NULL");
    if (!ceni_fork_is(supervisor->epoch)) return say_stop(supervisor, CEN_FORKED, error);
    if (report && cen_sized_check(report, sizeof *report, "cen_supervisor_stop: report", error) != CEN_OK)
        return CEN_INVALID;
    int64_t moment = ceni_wait_moment(supervisor, deadline);
    ceni_supervisor_lock(supervisor);
    cen_status status = check_stop_locked(supervisor, true);
    if (status == CEN_OK) {
        ceni_machine_stop_locked(supervisor, NULL);
        call_steward_locked(supervisor);
        while (!is_over_locked(supervisor)) {
            if (ceni_wait_locked(supervisor, moment)) continue;
            status = CEN_TIMEOUT;
            hurry_locked(supervisor);
            call_steward_locked(supervisor);
            moment = CENI_FOREVER;
        }
        if (report) cen_sized_write(report, &supervisor->report, sizeof supervisor->report);
    }
    ceni_supervisor_unlock(supervisor);
    return say_stop(supervisor, status, error);
}

cen_status cen_supervisor_request_stop(cen_supervisor *supervisor)
{
    if (!supervisor) return CEN_INVALID;
    if (!ceni_fork_is(supervisor->epoch)) return CEN_FORKED;
    ceni_supervisor_lock(supervisor);
    cen_status status = check_stop_locked(supervisor, false);
    if (status == CEN_OK) ceni_machine_stop_locked(supervisor, NULL);
    ceni_steward_unlock(supervisor);
    return status;
}

/* ---- Watching the end------------------------------------------------------------------------- */

static bool withdraw(cen_future *future)
{
    cen_supervisor *supervisor = future->source_;
    ceni_supervisor_lock(supervisor);
    bool withdrawn = supervisor->over == future;
    if (withdrawn) supervisor->over = NULL;
    ceni_supervisor_unlock(supervisor);
    return withdrawn;
}

cen_status cen_supervisor_watch(cen_supervisor *supervisor, cen_future *future)
{
    if (!supervisor || !future) return CEN_INVALID;
    if (!ceni_fork_is(supervisor->epoch)) return CEN_FORKED;
    if (!ceni_future_is_fresh(future)) return CEN_MISUSE;
    ceni_supervisor_lock(supervisor);
    cen_status status = supervisor->over ? CEN_MISUSE : CEN_OK;
    bool is_over = supervisor->phase == CENI_PHASE_OVER;
    cen_error error = supervisor->error;
    if (status == CEN_OK) {
        ceni_future_begin(future, withdraw, supervisor);
        if (!is_over) supervisor->over = future;
    }
    ceni_supervisor_unlock(supervisor);
    if (status != CEN_OK || !is_over) return status;
    future->status = error.status;
    future->code = error.code;
    if (error.status != CEN_OK && future->error) *future->error = error;
    ceni_future_complete(future);
    return CEN_OK;
}

/* ---- A supervisor as a child -------------------------------------------------------------------- */

static cen_status start_inner(void *argument, cen_child child, cen_error *error)
{
    cen_supervisor *inner = argument;
    ceni_supervisor_lock(inner);
    bool is_over = is_over_locked(inner) && !inner->at_work;
    if (is_over) {
        inner->parent = child;
        ceni_machine_run_locked(inner);
    }
    ceni_steward_unlock(inner);
    if (is_over) return CEN_OK;
    return ceni_error_set(error, CEN_BUSY, 0, "supervisor \"%s\": still stopping, or started by another supervisor",
                          inner->name);
}

static void stop_inner(void *argument, cen_child child)
{
    cen_supervisor *inner = argument;
    (void)child;
    ceni_supervisor_lock(inner);
    ceni_machine_stop_locked(inner, NULL);
    ceni_steward_unlock(inner);
}

static void kill_inner(void *argument, cen_child child)
{
    cen_supervisor *inner = argument;
    (void)child;
    ceni_supervisor_lock(inner);
    ceni_machine_stop_locked(inner, NULL);
    hurry_locked(inner);
    ceni_steward_unlock(inner);
}

void cen_supervisor_child_fill_(cen_supervisor *inner, cen_child_options *out)
{
    const cen_child_options options = {
        .size = sizeof(cen_child_options),
        .name = inner ? inner->name : NULL,
        .argument = inner,
        .start = inner && inner->nested ? start_inner : NULL,
        .stop = stop_inner,
        .kill = kill_inner,
        .reports_start = true,
        .shutdown_ns = CEN_OFF,
        .inner = inner,
    };
    if (cen_sized_check(out, sizeof options, "cen_supervisor_child", NULL) == CEN_OK)
        cen_sized_write(out, &options, sizeof options);
}
