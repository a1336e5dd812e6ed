/* SPDX-License-Identifier: MIT */
/*
 * The settings that can change while the lanes are in use: limits and workers.
 *
 * The mutex serialises changes: the ledger accepts one at a time, and a default limit follows the workers. A resize
 * calls the crew with no lock held. If two resizes of one lane overlap, the limit follows the one that was recorded
 * last, and the crew the one that reached it last.
 */
#include <stdio.h>

#include "base/error.h"
#include "lanes/internal.h"
#include "record/events.h"

enum { DEFAULT_FOR_EACH_WORKER = 2000 };

uint32_t ceni_lane_limit_of(int64_t max_tasks, uint32_t workers)
{
    int64_t limit = max_tasks == 0 ? (int64_t)workers * DEFAULT_FOR_EACH_WORKER : max_tasks;
    return limit == CEN_OFF || limit > CEN_LANE_TASKS_MAX ? CEN_LANE_TASKS_MAX : (uint32_t)limit;
}

uint32_t ceni_lanes_limit_of(int64_t max_total)
{
    return max_total == 0 || max_total == CEN_OFF ? CEN_LANES * CEN_LANE_TASKS_MAX : (uint32_t)max_total;
}

static void tell_limit(const cen_lanes *lanes, const char *lane, uint32_t limit)
{
    char text[128];
    snprintf(text, sizeof text, "lanes \"%s\": limit of %s set to %u tasks", lanes->name, lane, limit);
    ceni_event_tell(CEN_LEVEL_NOTICE, CEN_EVENT_LIMITED, &lanes->entry, limit, text);
}

static cen_status refuse(const cen_lanes *lanes, cen_status status, const char *why, cen_error *error)
{
    if (!lanes) return ceni_error_set(error, CEN_INVALID, 0, "the lanes are NULL");
    ceni_error_set(error, status, 0, "lanes \"%s\": %s", lanes->name, why);
    return ceni_error_because(error, status == CEN_CLOSED ? CEN_CAUSE_CLOSED : CEN_CAUSE_NONE, status);
}

static cen_status refuse_number(const cen_lanes *lanes, const char *name, int64_t value, int64_t max, cen_error *error)
{
    if (!lanes) return refuse(lanes, CEN_INVALID, NULL, error);
    return ceni_error_set(error, CEN_INVALID, 0,
                          "lanes \"%s\": %s must be 1 to %lld, 0 for the default, or CEN_OFF (got %lld)", lanes->name,
                          name, (long long)max, (long long)value);
}

/* The lane of that priority, if this process may use the lanes. */
static ceni_lane *enter(cen_lanes *lanes, cen_priority priority, cen_status *status, cen_error *error)
{
    *status = ceni_lanes_enter(lanes);
    if (*status != CEN_OK) {
        refuse(lanes, *status, cen_status_text(*status), error);
        return NULL;
    }
    ceni_lane *lane = ceni_lanes_route(lanes, priority);
    if (!lane) *status = refuse(lanes, CEN_INVALID, "no lane has that priority", error);
    return lane;
}

cen_status cen_lanes_max_tasks_set(cen_lanes *lanes, cen_priority priority, int64_t max_tasks, cen_error *error)
{
    if (!lanes || max_tasks < CEN_OFF || max_tasks > CEN_LANE_TASKS_MAX)
        return refuse_number(lanes, "max_tasks", max_tasks, CEN_LANE_TASKS_MAX, error);
    cen_status status;
    ceni_lane *lane = enter(lanes, priority, &status, error);
    if (!lane) return status;
    ceni_mutex_lock(&lanes->mutex, CENI_RANK_LANES);
    lane->limit_is_default = max_tasks == 0;
    uint32_t limit = ceni_lane_limit_of(max_tasks, ceni_setting(&lane->workers));
    ceni_ledger_limit(&lanes->ledger, lane->index, limit);
    ceni_mutex_unlock(&lanes->mutex, CENI_RANK_LANES);
    tell_limit(lanes, ceni_lane_names[lane->index], limit);
    return CEN_OK;
}

cen_status cen_lanes_max_total_set(cen_lanes *lanes, int64_t max_total, cen_error *error)
{
    static const int64_t most = CEN_LANES * (int64_t)CEN_LANE_TASKS_MAX;
    if (!lanes || max_total < CEN_OFF || max_total > most)
        return refuse_number(lanes, "max_total", max_total, most, error);
    cen_status status = ceni_lanes_enter(lanes);
    if (status != CEN_OK) return refuse(lanes, status, cen_status_text(status), error);
    ceni_mutex_lock(&lanes->mutex, CENI_RANK_LANES);
    ceni_ledger_limit(&lanes->ledger, CENI_LEDGER_TOTAL, ceni_lanes_limit_of(max_total));
    ceni_mutex_unlock(&lanes->mutex, CENI_RANK_LANES);
    tell_limit(lanes, "all lanes", ceni_lanes_limit_of(max_total));
    return CEN_OK;
}

cen_status cen_lanes_resize(cen_lanes *lanes, cen_priority priority, uint32_t workers, cen_error *error)
{
    if (!lanes) return refuse(lanes, CEN_INVALID, NULL, error);
    cen_status status;
    ceni_lane *lane = enter(lanes, priority, &status, error);
    if (!lane) return status;
    status = cen_crew_resize(lane->crew, workers, error);
    if (status != CEN_OK) return status;
    ceni_mutex_lock(&lanes->mutex, CENI_RANK_LANES);
    ceni_setting_put(&lane->workers, workers);
    if (lane->limit_is_default) ceni_ledger_limit(&lanes->ledger, lane->index, ceni_lane_limit_of(0, workers));
    ceni_mutex_unlock(&lanes->mutex, CENI_RANK_LANES);
    return CEN_OK;
}

cen_crew *cen_lanes_crew(cen_lanes *lanes, cen_priority priority)
{
    ceni_lane *lane = lanes ? ceni_lanes_route(lanes, priority) : NULL;
    return lane ? lane->crew : NULL;
}
