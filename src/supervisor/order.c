/* SPDX-License-Identifier: MIT */
/*
 * Ordered work: the first start, the restart of a group, and the stop of all children.
 *
 * Two marks on children record what is left. `ending` IN_ORDER: stop it when the children after it are down. `fresh`:
 * start it when the children before it run. A death in a group sets both marks on its members, whatever they are doing
 * at that moment. Nothing else records that a restart is in progress. So a second death, on the way down or on the way
 * up, only sets more marks.
 *
 *     stop:  the last that ends in order is stopped ▶ it is down ▶ the one before it ...
 *     start: no child ends in order, and the back-off is over ▶ the first fresh child starts ▶ it runs ▶ the next ...
 *
 * Invariants
 *  O1 Of the children that end in order, at most the last one is STOPPING because of that. With stop_together each
 *     child does it by itself (machine.c).
 *  O2 Of the fresh children, at most the first is STARTING.
 *  O3 Outside a one-for-one supervisor no fresh child is started while a child ends in order.
 *  O4 No fresh child is before `front` in the list, and no child that ends in order is after `back`. Marking resets
 *     both to the ends of the list. So a whole start or stop looks at each child once.
 *
 * Everything is under the mutex, in the steward.
 *
 * Tested by tests/unit/supervisor/strategy_test.c, life_test.c.
 */
#include "base/plant.h"
#include "supervisor/internal.h"

/* ---- Groups -------------------------------------------------------------------------------- */

/* Mark a sibling of the dead child: it is stopped, and started again unless it is temporary. A child whose first turn
 * has not come keeps waiting for it. A thread that waits for the start of a marked child waits for the next start. */
static void take_along(ceni_child_record *child)
{
    bool again = child->options.restart != CEN_RESTART_TEMPORARY || (child->fresh && !child->tenure);
    ceni_patron *patron = child->patron;
    /* It was terminated, alone or while its group was being stopped: it is not started again. */
    if (child->ending == CENI_ENDING_ALONE || (child->ending == CENI_ENDING_IN_ORDER && !child->wanted)) return;
    if (again) child->patron = NULL;
    ceni_machine_end_locked(child, CENI_ENDING_IN_ORDER);
    if (again) child->patron = patron;
    child->wanted = again;
    ceni_child_set_fresh_locked(child, again);
}

void ceni_order_group_locked(ceni_child_record *dead)
{
    cen_supervisor *supervisor = dead->supervisor;
    ceni_list *link = supervisor->supervision == CEN_ONE_FOR_ALL ? supervisor->children.next : dead->link.next;
    if (supervisor->supervision == CEN_REST_FOR_ONE && ceni_planted(supervisor_rest_misses_the_later))
        link = &supervisor->children;
    for (; link != &supervisor->children; link = link->next) {
        ceni_child_record *child = CENI_CHILD_OF(link, link);
        if (child != dead && !child->is_gone) take_along(child);
    }
    ceni_child_set_fresh_locked(dead, true);
}

/* ---- Stopping ---------------------------------------------------------------------------------- */

static ceni_child_record *last_to_stop(cen_supervisor *supervisor)
{
    for (; supervisor->back != &supervisor->children; supervisor->back = supervisor->back->previous)
        if (CENI_CHILD_OF(link, supervisor->back)->ending == CENI_ENDING_IN_ORDER)
            return CENI_CHILD_OF(link, supervisor->back);
    return NULL;
}

/* For the planted bug. */
static ceni_child_record *first_to_stop(cen_supervisor *supervisor)
{
    for (ceni_list *link = supervisor->children.next; link != &supervisor->children; link = link->next)
        if (CENI_CHILD_OF(link, link)->ending == CENI_ENDING_IN_ORDER) return CENI_CHILD_OF(link, link);
    return NULL;
}

static bool stop_next(cen_supervisor *supervisor, ceni_out *out)
{
    ceni_child_record *child = last_to_stop(supervisor);
    if (ceni_planted(supervisor_stops_in_start_order)) child = first_to_stop(supervisor);
    if (!child || child->state == CEN_CHILD_STOPPING) return false;
    ceni_machine_stop_child_locked(child, out);
    return true;
}

/* ---- Starting ------------------------------------------------------------------------------------ */

static ceni_child_record *first_fresh(cen_supervisor *supervisor)
{
    for (; supervisor->front != &supervisor->children; supervisor->front = supervisor->front->next)
        if (CENI_CHILD_OF(link, supervisor->front)->fresh) return CENI_CHILD_OF(link, supervisor->front);
    return NULL;
}

static bool start_next(cen_supervisor *supervisor, ceni_out *out)
{
    bool is_held = supervisor->supervision != CEN_ONE_FOR_ONE && supervisor->to_stop > 0;
    if (is_held && !ceni_planted(supervisor_starts_beside_a_stop)) return false;
    if (ceni_runtime_now(supervisor->runtime) < supervisor->not_before) return false;
    ceni_child_record *child = first_fresh(supervisor);
    if (!child || (child->state != CEN_CHILD_DOWN && child->state != CEN_CHILD_WAITING)) return false;
    ceni_child_due_locked(child, 0);
    ceni_machine_start_locked(child, out);
    return true;
}

/* ---- The end -------------------------------------------------------------------------------------- */

/* Forget the children that were added: they belong to this run of the supervisor only. */
static void forget_added(cen_supervisor *supervisor)
{
    for (ceni_list *link = supervisor->children.next, *next; link != &supervisor->children; link = next) {
        next = link->next;
        if (!CENI_CHILD_OF(link, link)->is_initial) ceni_child_forget_locked(CENI_CHILD_OF(link, link));
    }
}

/* No child is left to be stopped. */
static bool end(cen_supervisor *supervisor, ceni_out *out)
{
    forget_added(supervisor);
    bool is_held = supervisor->hands - supervisor->lost > 1 && !ceni_planted(supervisor_over_too_early);
    if (supervisor->over_told || is_held) return false; /* D3 in steward.c */
    supervisor->over_told = true;
    ceni_supervisor_event_own_locked(out, CEN_EVENT_OVER, supervisor);
    return true;
}

static void is_up(cen_supervisor *supervisor, ceni_out *out)
{
    supervisor->phase = CENI_PHASE_UP;
    out->started = supervisor->started;
    supervisor->started = NULL;
    out->tell_parent = supervisor->parent.supervisor_ != 0;
    ceni_supervisor_turn_locked(supervisor);
}

bool ceni_order_step_locked(cen_supervisor *supervisor, ceni_out *out)
{
    if (supervisor->to_stop > 0 && !supervisor->stop_together && stop_next(supervisor, out)) return true;
    if (supervisor->phase == CENI_PHASE_STOPPING) return supervisor->to_stop == 0 && end(supervisor, out);
    if (supervisor->to_start > 0) return start_next(supervisor, out);
    if (supervisor->phase != CENI_PHASE_STARTING) return false;
    is_up(supervisor, out);
    return true;
}
