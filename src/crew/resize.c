/* SPDX-License-Identifier: MIT */
/*
 * More and fewer workers.
 *
 * Tested by tests/unit/crew/threads_test.c.
 */
#include <stdio.h>

#include "base/error.h"
#include "crew/internal.h"
#include "record/events.h"

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
    ceni_call_for_work(core);
    tell_resized(crew, before, workers);
    return CEN_OK;
}
