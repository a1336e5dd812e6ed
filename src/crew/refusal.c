/* SPDX-License-Identifier: MIT */
/* Error texts of the crew, formatted only when a call has failed. */
#include "base/error.h"
#include "crew/internal.h"

static const char *why_misused(const cen_task *task)
{
    return task && ceni_load_relaxed(&task->state_) != CENI_TASK_FREE /* a reason for a text; carries nothing */
               ? "the task is already submitted and not over; wait for its future"
               : "the task's future was used before; cen_task_init makes it ready again";
}

static const char *why(const cen_task *task, cen_status status)
{
    switch (status) {
    case CEN_INVALID: return task ? "the task has no first step; cen_task_init sets it" : "the task is NULL";
    case CEN_MISUSE: return why_misused(task);
    case CEN_CLOSED: return "it has been stopped";
    case CEN_FORKED: return "it belongs to the parent process";
    case CEN_SYSTEM: return "cannot start a thread";
    case CEN_NO_MEMORY: return "out of memory";
    default: return cen_status_text(status);
    }
}

cen_status ceni_crew_refuse(const cen_crew *crew, cen_status status, const char *text, cen_error *error)
{
    if (!crew) return ceni_error_set(error, CEN_INVALID, 0, "the crew is NULL");
    ceni_error_set(error, status, 0, "crew \"%s\": %s", crew->name, text);
    return ceni_error_because(error, status == CEN_CLOSED ? CEN_CAUSE_CLOSED : CEN_CAUSE_NONE, status);
}

cen_status ceni_crew_refuse_task(const cen_crew *crew, const cen_task *task, cen_status status, cen_error *error)
{
    return ceni_crew_refuse(crew, status, why(task, status), error);
}

cen_status ceni_crew_refuse_all(const cen_crew *crew, cen_task *const tasks[], size_t count, cen_status status,
                                cen_error *error)
{
    if (!tasks) return ceni_crew_refuse(crew, CEN_INVALID, "tasks is NULL", error);
    if (status != CEN_INVALID && status != CEN_MISUSE) return ceni_crew_refuse_task(crew, NULL, status, error);
    /* None was submitted. The first task that is not ready is the cause. */
    size_t i = 0;
    while (i + 1 < count && tasks[i] && tasks[i]->step_ &&
           ceni_load_relaxed(&tasks[i]->state_) == CENI_TASK_FREE) /* carries nothing */
        i++;
    if (!crew) return ceni_crew_refuse(crew, status, NULL, error);
    return ceni_error_set(error, status, 0, "crew \"%s\": task %zu of %zu: %s", crew->name, i + 1, count,
                          why(tasks[i], status));
}
