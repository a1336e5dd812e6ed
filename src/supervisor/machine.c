/* SPDX-License-Identifier: MIT */
/*
 * The state machine of a child.
 *
 *     DOWN ──its turn, or at once──▶ STARTING ──started──▶ RUNNING
 *     STARTING, RUNNING ──must end, or the start is late──▶ STOPPING
 *     all three ──its tenure is over──▶ DOWN ──to be restarted later──▶ WAITING ──▶ DOWN
 *
 * What follows when a tenure is over:
 *   it was meant to end                   ▶ down; started again if its group is; forgotten if it was removed, or
 *                                           is temporary or numbered
 *   its start failed, and a thread waits  ▶ that thread gets the error; the child is forgotten, or down
 *   the supervisor's first start failed   ▶ the supervisor stops, with that error
 *   else: a death                         ▶ its policy, the intensity, the back-off, and its group (order.c)
 *
 * Invariants
 *  M1 A child has a tenure exactly while it is STARTING, RUNNING or STOPPING.
 *  M2 Only the end of a child that was not meant to end counts as a death. A child that dies while its group is being
 *     stopped does not count. A death is counted once, when the tenure is over.
 *  M3 A step reads only flags that were set under the mutex, and a child whose flags changed is on the agenda. So no
 *     step depends on the order in which flags were set, except for the order of deaths.
 *
 * Everything is under the mutex, in the steward.
 *
 * Tested by tests/unit/supervisor/strategy_test.c against a model, life_test.c, limit_test.c, restart_test.c.
 */
#include "base/error.h"
#include "base/plant.h"
#include "supervisor/internal.h"

static int64_t now_of(const cen_supervisor *supervisor)
{
    return ceni_runtime_now(supervisor->runtime);
}

static int64_t after(int64_t now, int64_t ns)
{
    return ns > CENI_FOREVER - now ? CENI_FOREVER : now + ns;
}

static bool is_due(const ceni_child_record *child)
{
    return child->moment != 0 && now_of(child->supervisor) >= child->moment;
}

/* ---- Ending a supervisor, and one child --------------------------------------------------------- */

void ceni_machine_patron_locked(ceni_child_record *child, const cen_error *error)
{
    ceni_patron *patron = child->patron;
    if (!patron) return;
    child->patron = NULL;
    patron->is_told = true;
    if (error) patron->error = *error;
    if (child->tenure) patron->child = child->tenure->handle;
    ceni_supervisor_turn_locked(child->supervisor);
}

static void refuse_patron_locked(ceni_child_record *child)
{
    cen_error error;
    if (!child->patron) return;
    ceni_error_set(&error, CEN_CLOSED, 0, "supervisor \"%s\": child \"%.200s\" stopped before its start",
                   child->supervisor->name, child->name);
    ceni_machine_patron_locked(child, &error);
}

void ceni_machine_end_locked(ceni_child_record *child, ceni_ending ending)
{
    cen_supervisor *supervisor = child->supervisor;
    child->wanted = false;
    ceni_child_set_fresh_locked(child, false);
    if (!child->tenure) {
        if (child->state == CEN_CHILD_WAITING) supervisor->not_before = 0; /* its group waited for its back-off */
        ceni_child_due_locked(child, 0);
        if (child->state != CEN_CHILD_DOWN) ceni_child_set_locked(child, CEN_CHILD_DOWN);
        refuse_patron_locked(child);
        return;
    }
    if (ending == CENI_ENDING_IN_ORDER && child->ending != CENI_ENDING_IN_ORDER) {
        supervisor->to_stop++;
        supervisor->back = supervisor->children.previous;
    }
    if (ending > child->ending) child->ending = ending;
    ceni_child_note_locked(child);
}

void ceni_machine_stop_locked(cen_supervisor *supervisor, const cen_error *why)
{
    if (supervisor->phase != CENI_PHASE_STARTING && supervisor->phase != CENI_PHASE_UP) return;
    supervisor->phase = CENI_PHASE_STOPPING;
    if (why) supervisor->error = *why;
    for (ceni_list *link = supervisor->children.next; link != &supervisor->children; link = link->next)
        if (!CENI_CHILD_OF(link, link)->is_gone)
            ceni_machine_end_locked(CENI_CHILD_OF(link, link), CENI_ENDING_IN_ORDER);
    ceni_supervisor_turn_locked(supervisor);
}

void ceni_machine_run_locked(cen_supervisor *supervisor)
{
    supervisor->phase = CENI_PHASE_STARTING;
    supervisor->error = (cen_error){.status = CEN_OK};
    supervisor->report = CEN_SIZED(cen_supervisor_report);
    supervisor->hurry = supervisor->over_told = false;
    supervisor->not_before = 0;
    ceni_intensity_clear(&supervisor->intensity);
    ceni_list *before = &supervisor->children;
    for (size_t i = supervisor->initial_count; i-- > 0; before = &supervisor->initial[i]->link) {
        ceni_child_record *child = supervisor->initial[i];
        /* cannot fail: all of them fitted when the supervisor was created */
        if (!child->is_listed) ceni_child_list_locked(child, before, NULL);
        child->starts = child->restarts = child->failures = 0;
        child->has_run = false;
        child->error = (cen_error){.status = CEN_OK};
        child->wanted = true;
        ceni_child_set_fresh_locked(child, true);
    }
}

/* ---- Deaths ---------------------------------------------------------------------------------------- */

static bool is_again(const ceni_child_record *child, bool normal)
{
    switch (child->options.restart) {
    case CEN_RESTART_PERMANENT: return true;
    case CEN_RESTART_TRANSIENT: return !normal;
    case CEN_RESTART_TEMPORARY: return ceni_planted(supervisor_restarts_a_temporary);
    }
    return false;
}

/* Whether a significant child other than this one runs, or will. */
static bool another_is_significant(const ceni_child_record *ended)
{
    cen_supervisor *supervisor = ended->supervisor;
    for (ceni_list *link = supervisor->children.next; link != &supervisor->children; link = link->next) {
        const ceni_child_record *child = CENI_CHILD_OF(link, link);
        if (child != ended && !child->is_gone && child->options.significant && (child->tenure || child->wanted))
            return true;
    }
    return false;
}

static void end_for_good(ceni_child_record *child)
{
    cen_supervisor *supervisor = child->supervisor;
    bool is_last =
        child->options.significant && (supervisor->auto_stop == CEN_AUTO_STOP_ANY || !another_is_significant(child));
    child->wanted = false;
    ceni_child_set_fresh_locked(child, false);
    if (child->options.restart == CEN_RESTART_TEMPORARY || !child->options.name) ceni_child_forget_locked(child);
    if (is_last) ceni_machine_stop_locked(supervisor, NULL);
}

static void give_up(ceni_child_record *child, ceni_out *out)
{
    cen_supervisor *supervisor = child->supervisor;
    cen_error error;
    ceni_error_set(
        &error, child->error.status != CEN_OK ? child->error.status : CEN_DOWN, child->error.code,
        "supervisor \"%s\": gave up: more than %u restarts within %lld ms; last restart: child \"%.60s\"%s%.200s",
        supervisor->name, supervisor->intensity.max, (long long)(supervisor->intensity.window_ns / 1000000),
        child->name, child->error.status != CEN_OK ? ": " : "", child->error.text);
    child->wanted = false;
    ceni_machine_stop_locked(supervisor, &error);
    ceni_supervisor_event_own_locked(out, CEN_EVENT_GAVE_UP, supervisor);
}

static void restart(ceni_child_record *child, int64_t ran_ns, ceni_out *out)
{
    cen_supervisor *supervisor = child->supervisor;
    int64_t now = now_of(supervisor);
    if (!ceni_intensity_add(&supervisor->intensity, now)) {
        give_up(child, out);
        return;
    }
    if (ran_ns >= supervisor->backoff.backoff_reset_ns && !ceni_planted(supervisor_never_calms)) child->failures = 0;
    if (child->failures < UINT32_MAX) child->failures++;
    int64_t until = after(now, ceni_backoff_draw(&supervisor->backoff, child->failures, ceni_random()));
    supervisor->restarts++;
    child->restarts++;
    child->wanted = true;
    if (supervisor->supervision != CEN_ONE_FOR_ONE) {
        if (until < supervisor->not_before) until = supervisor->not_before; /* another child's back-off goes on */
        ceni_order_group_locked(child);
        supervisor->not_before = until;
    } else {
        ceni_child_set_fresh_locked(child, false);
    }
    if (until <= now) {
        ceni_child_note_locked(child);
        return;
    }
    ceni_child_set_locked(child, CEN_CHILD_WAITING);
    ceni_child_due_locked(child, until);
    ceni_supervisor_event_locked(out, CEN_EVENT_CHILD_WAITING, child, NULL);
}

/* A child that was not meant to end has ended. ran_ns: -1 if its start has failed. */
static void die(ceni_child_record *child, bool normal, int64_t ran_ns, const cen_error *why, ceni_out *out)
{
    cen_supervisor *supervisor = child->supervisor;
    bool failed = ran_ns < 0;
    if (failed && child->patron) {
        bool keeps = child->patron->keeps_child;
        ceni_machine_patron_locked(child, why);
        child->wanted = false;
        ceni_child_set_fresh_locked(child, false);
        if (!keeps) ceni_child_forget_locked(child);
        return;
    }
    if (failed && supervisor->phase == CENI_PHASE_STARTING && !child->has_run && child->fresh &&
        !supervisor->retry_start) {
        ceni_machine_stop_locked(supervisor, why);
        return;
    }
    if (!is_again(child, normal)) {
        end_for_good(child);
        return;
    }
    restart(child, ran_ns, out);
}

/* A child that was meant to end has ended. */
static void settle(ceni_child_record *child)
{
    cen_supervisor *supervisor = child->supervisor;
    if (child->ending == CENI_ENDING_IN_ORDER) supervisor->to_stop--;
    child->ending = CENI_ENDING_NO;
    bool is_over = child->options.restart == CEN_RESTART_TEMPORARY || (!child->options.name && !child->wanted);
    bool goes = child->leaving || (is_over && supervisor->phase != CENI_PHASE_STOPPING);
    if (goes || !child->wanted) refuse_patron_locked(child);
    if (goes) ceni_child_forget_locked(child);
}

/* ---- The end of a tenure ------------------------------------------------------------------------------ */

static void explain(const ceni_child_record *child, const ceni_tenure *tenure, cen_error *why)
{
    *why = tenure->why;
    if (child->is_late)
        ceni_error_set(why, CEN_TIMEOUT, 0, "child \"%.200s\": start timed out after %lld ms", child->name,
                       (long long)(child->options.start_ns / 1000000));
    else if (tenure->abandoned)
        ceni_error_set(why, CEN_TIMEOUT, 0, "child \"%.200s\": did not end in time, abandoned", child->name);
    else if (!tenure->ran && why->status == CEN_OK && child->ending == CENI_ENDING_NO)
        ceni_error_set(why, CEN_DOWN, 0, "child \"%.200s\": ended during its start", child->name);
}

static void count_end(cen_supervisor *supervisor, const ceni_tenure *tenure)
{
    if (supervisor->phase != CENI_PHASE_STOPPING) return;
    if (tenure->abandoned) supervisor->report.abandoned++;
    else supervisor->report.ended++;
    if (tenure->killed && !tenure->abandoned) supervisor->report.killed++;
}

static void finish(ceni_child_record *child, ceni_out *out)
{
    cen_supervisor *supervisor = child->supervisor;
    ceni_tenure *tenure = child->tenure;
    bool was_to_end = child->ending != CENI_ENDING_NO;
    int64_t ran_ns = tenure->ran ? now_of(supervisor) - tenure->since : -1;
    cen_error why;
    explain(child, tenure, &why);
    if (why.status != CEN_OK) child->error = why;
    count_end(supervisor, tenure);
    if (tenure->abandoned) ceni_supervisor_event_locked(out, CEN_EVENT_CHILD_ABANDONED, child, NULL);
    if (!was_to_end && ran_ns < 0) ceni_supervisor_event_locked(out, CEN_EVENT_CHILD_FAILED, child, &why);
    else if (!tenure->abandoned)
        ceni_supervisor_event_locked(out, CEN_EVENT_CHILD_ENDED, child, why.status != CEN_OK ? &why : NULL);
    child->previous = tenure->handle.number_;
    child->is_late = false;
    ceni_child_due_locked(child, 0);
    child->refs++; /* the tenure's reference may be the last */
    ceni_tenure_let_go_locked(tenure);
    ceni_child_set_locked(child, CEN_CHILD_DOWN);
    if (was_to_end) settle(child);
    else die(child, why.status == CEN_OK, ran_ns, &why, out);
    ceni_child_drop_locked(child);
}

/* End its owner and cancel its future before its end is reported. */
static void begin_close(ceni_child_record *child, ceni_out *out)
{
    ceni_tenure *tenure = child->tenure;
    tenure->closing = true;
    ceni_tenure_unlist_locked(tenure);
    out->closing = tenure;
    out->death = tenure->death;
    tenure->untold = tenure->death != NULL;
    tenure->death = NULL;
    ceni_child_note_locked(child);
}

/* ---- Steps ------------------------------------------------------------------------------------------------ */

bool ceni_machine_start_locked(ceni_child_record *child, ceni_out *out)
{
    cen_supervisor *supervisor = child->supervisor;
    if (!ceni_supply_has_tenure_locked(supervisor)) return false;
    if (!ceni_tenure_begin_locked(child, out)) {
        cen_error why;
        ceni_error_set(&why, CEN_NO_MEMORY, 0, "child \"%.200s\": start failed: out of memory", child->name);
        child->error = why;
        ceni_supervisor_event_locked(out, CEN_EVENT_CHILD_FAILED, child, &why);
        die(child, false, -1, &why, out);
        return true;
    }
    ceni_child_set_locked(child, CEN_CHILD_STARTING);
    ceni_child_due_locked(child, child->options.start_ns > 0 ? after(now_of(supervisor), child->options.start_ns) : 0);
    return true;
}

static void runs(ceni_child_record *child, ceni_out *out)
{
    cen_supervisor *supervisor = child->supervisor;
    bool again = child->has_run;
    child->tenure->ran = child->has_run = true;
    child->starts++;
    child->tenure->since = now_of(supervisor);
    ceni_child_due_locked(child, 0);
    ceni_child_set_locked(child, CEN_CHILD_RUNNING);
    ceni_child_set_fresh_locked(child, false);
    supervisor->starts++;
    ceni_machine_patron_locked(child, NULL);
    ceni_supervisor_event_locked(out, again ? CEN_EVENT_CHILD_RESTARTED : CEN_EVENT_CHILD_STARTED, child, NULL);
    ceni_child_note_locked(child);
}

void ceni_machine_stop_child_locked(ceni_child_record *child, ceni_out *out)
{
    const cen_child_options *o = &child->options;
    int64_t now = now_of(child->supervisor);
    child->tenure->stopping = true;
    ceni_child_set_locked(child, CEN_CHILD_STOPPING);
    ceni_child_due_locked(child, o->kill_at_once ? now : o->shutdown_ns < 0 ? 0 : after(now, o->shutdown_ns));
    if (!o->kill_at_once) ceni_tenure_ask_locked(child->tenure, out);
    ceni_child_note_locked(child);
}

/* Whether it must end now, and not after those behind it. */
static bool ends_now(const ceni_child_record *child)
{
    return child->ending == CENI_ENDING_ALONE || (child->ending != CENI_ENDING_NO && child->supervisor->stop_together);
}

/* Whether its start has succeeded. Also true if it has ended since, so that a death is not taken for a failed start. */
static bool is_started(const ceni_child_record *child)
{
    const ceni_tenure *tenure = child->tenure;
    if (child->state != CEN_CHILD_STARTING || !tenure->has_started || (tenure->calls & CENI_CALL_START)) return false;
    return !child->options.reports_start || tenure->said_started;
}

static void step_starting(ceni_child_record *child, ceni_out *out)
{
    bool is_late = is_due(child);
    if (!ends_now(child) && !is_late) return;
    child->is_late = is_late && !ends_now(child);
    ceni_machine_stop_child_locked(child, out);
}

/* Its end is reported in finish, after its owner has ended and its future was cancelled. */
static void abandon(ceni_child_record *child)
{
    cen_supervisor *supervisor = child->supervisor;
    child->tenure->abandoned = true;
    supervisor->lost += child->tenure->hands;
    supervisor->abandoned++;
    ceni_child_note_locked(child);
}

static void step_stopping(ceni_child_record *child, ceni_tenure *tenure, ceni_out *out)
{
    cen_supervisor *supervisor = child->supervisor;
    if (tenure->abandoned) return; /* cen_child_watch is becoming the consumer of its future */
    if (!child->options.kill_at_once) ceni_tenure_ask_locked(tenure, out);
    if (!supervisor->hurry && !is_due(child)) return;
    if (child->options.kill && !tenure->killed) {
        ceni_supervisor_event_locked(out, CEN_EVENT_CHILD_KILLED, child, NULL);
        ceni_tenure_kill_locked(tenure, out);
        ceni_child_due_locked(child, after(now_of(supervisor), child->options.kill_ns));
        if (supervisor->hurry) ceni_child_note_locked(child);
        return;
    }
    abandon(child);
}

static void step_waiting(ceni_child_record *child)
{
    if (!is_due(child)) return;
    ceni_child_due_locked(child, 0);
    ceni_child_set_locked(child, CEN_CHILD_DOWN);
    ceni_child_note_locked(child);
}

/* It is DOWN or WAITING (M1). */
static void step_idle(ceni_child_record *child, ceni_out *out)
{
    if (child->state == CEN_CHILD_WAITING) step_waiting(child);
    else if (child->wanted && !child->fresh && !ceni_machine_start_locked(child, out))
        ceni_list_push_front(&child->supervisor->agenda, &child->agenda); /* its turn is still the next */
}

static void step_child(ceni_child_record *child, ceni_out *out)
{
    ceni_tenure *tenure = child->tenure;
    if (!tenure) {
        step_idle(child, out);
    } else if (is_started(child)) {
        runs(child, out);
    } else if (ceni_tenure_is_over_locked(tenure)) {
        if (!tenure->closing) begin_close(child, out);
        else if (!tenure->untold) finish(child, out);
    } else if (child->state == CEN_CHILD_STOPPING) {
        step_stopping(child, tenure, out);
    } else if (child->state == CEN_CHILD_STARTING) {
        step_starting(child, out);
    } else if (ends_now(child)) {
        ceni_machine_stop_child_locked(child, out);
    }
}

bool ceni_machine_step_locked(cen_supervisor *supervisor, ceni_out *out)
{
    ceni_list *link = ceni_list_first(&supervisor->agenda);
    if (!link) return ceni_order_step_locked(supervisor, out);
    ceni_list_remove(link);
    step_child(CENI_CHILD_OF(agenda, link), out);
    return true;
}
