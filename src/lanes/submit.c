/* SPDX-License-Identifier: MIT */
/*
 * Submitting: the lane of a task, admission by limits and deadline, and the error texts of refusals.
 *
 *     route ──▶ in time? ──▶ a place in the ledger ──▶ note: QUEUED ──▶ the crew
 *       │          │                 │                                   │ refuses
 *    INVALID   TIMEOUT, OVERLOAD   FULL           place and note are taken back
 *
 * A task that is refused for a limit or for its deadline has taken nothing. A task that its crew refuses had a place
 * for a moment. A crew refuses when it is stopped, when the task is misused, or when the system has no thread to start.
 *
 * Another way to spread tasks (shares of one crew, multi-level feedback queues) is another body of ceni_lanes_route,
 * which all callers use.
 *
 * Tested by tests/unit/lanes, tests/explore/lanes_test.c, tests/stress/lanes_stress.c.
 */
#include "base/error.h"
#include "base/plant.h"
#include "lanes/internal.h"
#include "port/deadline.h"
#include "record/events.h"

static const int64_t REFUSALS_APART_NS = 1000000000;

const char *const ceni_lane_names[CEN_LANES] = {
    [CEN_PRIORITY_NORMAL] = "normal", [CEN_PRIORITY_HIGH] = "high", [CEN_PRIORITY_LOW] = "low"};

ceni_lane *ceni_lanes_route(cen_lanes *lanes, cen_priority priority)
{
    if ((unsigned)priority >= CEN_LANES) return NULL;
    ceni_lane *lane = &lanes->lane[priority];
    return lane->is_absent ? NULL : lane;
}

/* ---- Refusals -------------------------------------------------------------------------------- */

typedef struct refusal {
    cen_status status;
    cen_cause cause;
    uint64_t current, max;
    int64_t retry_after_ns;
} refusal;

static long long us(int64_t ns)
{
    return (long long)(ns / 1000 + (ns % 1000 != 0));
}

static void explain(const ceni_lane *lane, const refusal *why, cen_error *error)
{
    const char *name = lane->lanes->name, *kind = ceni_lane_names[lane->index];
    if (why->cause == CEN_CAUSE_LATE)
        ceni_error_set(error, why->status, 0,
                       "lanes \"%s\": a task of %s priority would start about %lld us after its deadline", name, kind,
                       us(why->retry_after_ns));
    else
        ceni_error_set(error, why->status, 0,
                       "lanes \"%s\": %llu tasks%s%s%s admitted, limit %llu (%s); try again in about %lld us", name,
                       (unsigned long long)why->current, why->cause == CEN_CAUSE_LANE_FULL ? " of " : "",
                       why->cause == CEN_CAUSE_LANE_FULL ? kind : "",
                       why->cause == CEN_CAUSE_LANE_FULL ? " priority" : " in all", (unsigned long long)why->max,
                       why->cause == CEN_CAUSE_LANE_FULL ? "max_tasks" : "max_total", us(why->retry_after_ns));
    error->cause = why->cause;
    error->retry_after_ns = why->retry_after_ns;
    error->current = (int64_t)why->current;
    error->max = (int64_t)why->max;
}

static bool is_closed(const ceni_lane *lane)
{
    uint32_t how = ceni_setting(&lane->lanes->stopped);
    return how == CEN_STOP_DROP || (how == CEN_STOP_DRAIN && cen_crew_current() != lane->crew);
}

/* Write an event for the first refusal, and then at most one a second. Two refusals at the same moment may both write
 * one. */
static void tell_refusal(ceni_lane *lane, const refusal *why, int64_t now)
{
    int64_t before = ceni_setting(&lane->refusal_told);
    if (before && now - before < REFUSALS_APART_NS && !ceni_planted(lanes_tell_every_refusal)) return;
    ceni_setting_put(&lane->refusal_told, now);
    cen_error error = {.text = ""};
    explain(lane, why, &error);
    ceni_event_write(&(ceni_occurrence){.level = CEN_LEVEL_WARNING,
                                        .kind = CEN_EVENT_REFUSED,
                                        .of = &lane->lanes->entry,
                                        .value = (int64_t)why->current,
                                        .cause = why->cause},
                     error.text);
}

static cen_status refuse(ceni_lane *lane, const refusal *why, int64_t now, cen_error *error)
{
    ceni_lane_tally(lane, why->cause == CEN_CAUSE_LATE        ? CENI_LANE_REFUSED_LATE
                          : why->cause == CEN_CAUSE_LANE_FULL ? CENI_LANE_REFUSED_FULL
                                                              : CENI_LANE_REFUSED_TOTAL);
    tell_refusal(lane, why, now ? now : ceni_lanes_now(lane->lanes));
    if (error) explain(lane, why, error);
    return why->status;
}

/* By how much the task would begin after its deadline; 0: it would not, or there is no estimate. */
static int64_t lateness(const ceni_lane *lane, cen_deadline deadline, int64_t now)
{
    if (deadline.ns_ == 0 || !lane->clocks) return 0;
    int64_t patience = ceni_deadline_moment(deadline, now) - now, wait = ceni_pace_wait(lane, now);
    return wait > patience ? wait - patience : 0;
}

/* OK: it has a place. */
static cen_status admit(ceni_lane *lane, cen_deadline deadline, int64_t now, cen_error *error)
{
    int64_t late = lateness(lane, deadline, now);
    if (late > 0)
        return refuse(lane, &(refusal){.status = CEN_OVERLOAD, .cause = CEN_CAUSE_LATE, .retry_after_ns = late}, now,
                      error);
    ceni_ledger_refusal full;
    if (ceni_ledger_take(&lane->lanes->ledger, lane->index, &full)) return CEN_OK;
    int64_t retry =
        full.cause == CEN_CAUSE_LANE_FULL ? ceni_pace_next_end(lane, now) : ceni_pace_next_end_of_all(lane->lanes, now);
    return refuse(lane, &(refusal){CEN_FULL, full.cause, full.current, full.max, retry}, now, error);
}

/* ---- Submitting --------------------------------------------------------------------------------- */

/* The cause of a refusal that is neither by a limit nor by an estimate. */
static cen_cause cause_of(cen_status status)
{
    if (status == CEN_TIMEOUT) return CEN_CAUSE_EXPIRED;
    return status == CEN_CLOSED ? CEN_CAUSE_CLOSED : CEN_CAUSE_NONE;
}

static cen_status hand_over(ceni_lane *lane, cen_task *task, cen_deadline deadline, int64_t now, cen_error *error)
{
    cen_deadline before = task->deadline;
    if (deadline.ns_) task->deadline = deadline;
    ceni_lane_admit(lane, task, now);
    cen_error why;
    why.text[0] = '\0'; /* the rest is written if the crew refuses the task */
    cen_status status = cen_crew_submit(lane->crew, task, &why);
    if (status == CEN_OK) {
        ceni_lane_tally(lane, CENI_LANE_SUBMITTED);
        return CEN_OK;
    }
    ceni_lane_dismiss(lane, task);
    task->deadline = before;
    if (!ceni_planted(lanes_lose_what_the_crew_refuses)) ceni_ledger_give(&lane->lanes->ledger, lane->index);
    ceni_error_set(error, status, 0, "lanes \"%s\": the crew of the %s lane refused a task: %.300s", lane->lanes->name,
                   ceni_lane_names[lane->index], why.text[0] ? why.text : cen_status_text(status));
    return ceni_error_because(error, cause_of(status), status);
}

static cen_status refuse_plainly(const cen_lanes *lanes, cen_status status, const char *what, cen_error *error)
{
    return ceni_error_because(error, cause_of(status),
                              ceni_error_set(error, status, 0, "lanes \"%s\": %s", lanes->name, what));
}

cen_status cen_lanes_submit(cen_lanes *lanes, cen_priority priority, cen_task *task, cen_deadline deadline,
                            cen_error *error)
{
    if (!lanes || !task) return ceni_error_set(error, CEN_INVALID, 0, "cen_lanes_submit: lanes or task is NULL");
    cen_status status = ceni_lanes_enter(lanes);
    if (status != CEN_OK) return refuse_plainly(lanes, status, cen_status_text(status), error);
    ceni_lane *lane = ceni_lanes_route(lanes, priority);
    if (!lane) return refuse_plainly(lanes, CEN_INVALID, "no lane has that priority", error);
    if (is_closed(lane)) return refuse_plainly(lanes, CEN_CLOSED, "they have been stopped", error);
    if (ceni_lane_has(task)) return refuse_plainly(lanes, CEN_MISUSE, "the task is already in a lane", error);
    int64_t now = lane->clocks || deadline.ns_ ? ceni_lanes_now(lanes) : 0;
    if (deadline.ns_ && ceni_deadline_moment(deadline, now) <= now)
        return refuse_plainly(lanes, CEN_TIMEOUT, "the task's deadline has passed", error);
    status = admit(lane, deadline, now, error);
    return status == CEN_OK ? hand_over(lane, task, deadline, now, error) : status;
}

cen_status cen_lanes_submit_function(cen_lanes *lanes, cen_priority priority, const char *name,
                                     void *(*function)(void *argument), void *argument, cen_deadline deadline,
                                     cen_future *result, cen_error *error)
{
    if (!lanes || !function)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_lanes_submit_function: lanes or call is NULL");
    cen_task *task;
    cen_status status = cen_function_task_new(name, function, argument, result, lanes->allocator, &task);
    if (status == CEN_MISUSE)
        return refuse_plainly(
            lanes, status, "the result's future is not initialised, or was used before; call cen_future_init", error);
    if (status != CEN_OK) return refuse_plainly(lanes, status, cen_status_text(status), error);
    status = cen_lanes_submit(lanes, priority, task, deadline, error);
    if (status != CEN_OK) cen_function_task_free(task);
    return status;
}

cen_status cen_lanes_estimate(cen_lanes *lanes, cen_priority priority, int64_t *out)
{
    if (!lanes || !out) return CEN_INVALID;
    cen_status status = ceni_lanes_enter(lanes);
    if (status != CEN_OK) return status;
    const ceni_lane *lane = ceni_lanes_route(lanes, priority);
    if (!lane) return CEN_INVALID;
    if (!lane->clocks) return CEN_EMPTY;
    *out = ceni_pace_wait(lane, ceni_lanes_now(lanes));
    return CEN_OK;
}
