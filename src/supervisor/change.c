/* SPDX-License-Identifier: MIT */
/*
 * Changes at run time: add, terminate, remove and restart children.
 *
 * A thread that waits for a start has a patron on its stack, to which the child points. The steward settles the start:
 * it writes the result into the patron and clears the pointer. A thread that gives up clears the pointer itself. So a
 * failed start has exactly one of two ends: its patron gets the error and the child is not kept, or it counts as a
 * death.
 *
 * A thread that waits for an end has a reference to the child's record, and the number of the start that must end.
 *
 * The mutex orders everything.
 *
 * Tested by tests/unit/supervisor/dynamic_test.c.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "port/deadline.h"
#include "supervisor/internal.h"

static cen_status check(cen_supervisor *supervisor)
{
    if (!supervisor) return CEN_INVALID;
    return ceni_fork_is(supervisor->epoch) ? CEN_OK : CEN_FORKED;
}

/* The text for what check refuses. */
static const char *why_not(const cen_supervisor *supervisor)
{
    return supervisor ? "the supervisor belongs to the parent process" : "supervisor is NULL";
}

static cen_status check_locked(const cen_supervisor *supervisor, cen_deadline deadline, cen_error *error)
{
    if (supervisor->phase != CENI_PHASE_UP) {
        ceni_error_set(error, CEN_CLOSED, 0, "supervisor \"%s\": it is not running", supervisor->name);
        return ceni_error_because(error, CEN_CAUSE_CLOSED, CEN_CLOSED);
    }
    if (!ceni_deadline_is_now(deadline) && ceni_is_steward_locked(supervisor))
        return ceni_error_set(error, CEN_MISUSE, 0,
                              "supervisor \"%s\": a listener must not wait for its own supervisor", supervisor->name);
    return CEN_OK;
}

static cen_status refuse_absent(const cen_supervisor *supervisor, const char *name, cen_error *error)
{
    return ceni_error_set(error, CEN_ABSENT, 0, "supervisor \"%s\": no child \"%.200s\"", supervisor->name, name);
}

/* ---- Starts -------------------------------------------------------------------------------- */

/* Call the steward, and wait until it settles the start or the deadline passes. Unlocks. */
static cen_status await_patron(cen_supervisor *supervisor, ceni_child_record *child, ceni_patron *patron,
                               cen_deadline deadline, cen_error *error)
{
    int64_t moment = ceni_wait_moment(supervisor, deadline);
    child->refs++;
    ceni_steward_unlock(supervisor);
    ceni_supervisor_lock(supervisor);
    while (!patron->is_told && ceni_wait_locked(supervisor, moment)) continue;
    if (!patron->is_told) {
        child->patron = NULL;
        ceni_error_set(&patron->error, CEN_TIMEOUT, 0,
                       "supervisor \"%s\": child \"%.200s\" has not started by the deadline", supervisor->name,
                       child->name);
    }
    ceni_child_drop_locked(child);
    ceni_supervisor_unlock_and_free(supervisor);
    if (patron->error.status != CEN_OK && error) *error = patron->error;
    return patron->error.status;
}

/* Lock, with buckets for one more name. Free the rest in *room after the mutex is dropped. */
static void lock_with_room(cen_supervisor *supervisor, ceni_table_room *room)
{
    ceni_supervisor_lock(supervisor);
    ceni_table_room_for(&supervisor->names, supervisor->names.count + 1, room);
    if (room->count == 0) return;
    ceni_supervisor_unlock(supervisor);
    ceni_table_room_alloc(&supervisor->names, room);
    ceni_supervisor_lock(supervisor);
    ceni_table_room_use(&supervisor->names, room);
}

static cen_status add_locked(cen_supervisor *supervisor, ceni_child_record *child, cen_deadline deadline,
                             cen_error *error)
{
    cen_status status = check_locked(supervisor, deadline, error);
    if (status == CEN_OK) status = ceni_child_list_locked(child, &supervisor->children, error);
    if (status != CEN_OK) return status;
    child->wanted = true;
    /* Where a child depends on the children before it, it waits for its turn. */
    if (supervisor->supervision != CEN_ONE_FOR_ONE) ceni_child_set_fresh_locked(child, true);
    ceni_child_note_locked(child);
    return CEN_OK;
}

cen_status cen_supervisor_add(cen_supervisor *supervisor, const cen_child_options *options, cen_deadline deadline,
                              cen_child *out, cen_error *error)
{
    cen_status status = check(supervisor);
    if (status != CEN_OK) return ceni_error_set(error, status, 0, "cen_supervisor_add: %s", why_not(supervisor));
    cen_child_options known;
    status = ceni_child_read(options, &known, supervisor->auto_stop, error);
    if (status != CEN_OK) return status;
    ceni_child_record *child = ceni_child_make(supervisor, &known, false);
    if (!child) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_supervisor_add: out of memory");
    ceni_patron patron = {.is_told = false};
    bool waits = !ceni_deadline_is_now(deadline);
    ceni_table_room room;
    lock_with_room(supervisor, &room);
    status = add_locked(supervisor, child, deadline, error);
    if (status == CEN_OK && waits) child->patron = &patron;
    if (status == CEN_OK && !waits) ceni_steward_unlock(supervisor);
    if (status != CEN_OK) {
        ceni_child_drop_locked(child);
        ceni_supervisor_unlock_and_free(supervisor);
    } else if (waits) {
        status = await_patron(supervisor, child, &patron, deadline, error);
    }
    ceni_table_room_free(&supervisor->names, &room);
    if (status == CEN_OK && out) *out = patron.child;
    return status;
}

/* The child, if it can be started now; else NULL, and *why. */
static ceni_child_record *find_idle_locked(cen_supervisor *supervisor, const char *name, cen_error *why)
{
    ceni_child_record *child = ceni_child_find_locked(supervisor, name);
    if (!child) refuse_absent(supervisor, name, why);
    if (!child || (!child->tenure && !child->patron)) return child;
    ceni_error_set(why, CEN_BUSY, 0, "supervisor \"%s\": child \"%.200s\" is %s", supervisor->name, child->name,
                   cen_child_state_name(child->state));
    return NULL;
}

cen_status cen_supervisor_restart(cen_supervisor *supervisor, const char *name, cen_deadline deadline, cen_error *error)
{
    cen_status status = name ? check(supervisor) : CEN_INVALID;
    if (status != CEN_OK)
        return ceni_error_set(error, status, 0, "cen_supervisor_restart: %s",
                              name ? why_not(supervisor) : "name is NULL");
    ceni_patron patron = {.keeps_child = true};
    cen_error why = {.status = CEN_OK};
    ceni_supervisor_lock(supervisor);
    ceni_child_record *child = NULL;
    if (check_locked(supervisor, deadline, &why) == CEN_OK) child = find_idle_locked(supervisor, name, &why);
    if (!child) {
        ceni_supervisor_unlock(supervisor);
        if (error) *error = why;
        return why.status;
    }
    ceni_machine_end_locked(child, CENI_ENDING_ALONE); /* ends its back-off */
    child->wanted = true;
    child->failures = 0;
    if (supervisor->supervision != CEN_ONE_FOR_ONE) ceni_child_set_fresh_locked(child, true); /* its turn, as in add */
    ceni_child_note_locked(child);
    if (ceni_deadline_is_now(deadline)) {
        ceni_steward_unlock(supervisor);
        return CEN_OK;
    }
    child->patron = &patron;
    return await_patron(supervisor, child, &patron, deadline, error);
}

/* ---- Ends -------------------------------------------------------------------------------------- */

/* Let the child end, and wait for that. Unlocks. */
static cen_status end_child(ceni_child_record *child, bool leaves, cen_deadline deadline, cen_error *error)
{
    cen_supervisor *supervisor = child->supervisor;
    int64_t moment = ceni_wait_moment(supervisor, deadline);
    const ceni_tenure *tenure = child->tenure;
    uint64_t number = tenure ? tenure->handle.number_ : 0;
    cen_status status = CEN_OK;
    if (leaves) child->leaving = true;
    child->refs++;
    ceni_machine_end_locked(child, CENI_ENDING_ALONE);
    if (!tenure && (child->leaving || !child->options.name)) ceni_child_forget_locked(child);
    ceni_steward_unlock(supervisor);
    ceni_supervisor_lock(supervisor);
    while (status == CEN_OK && child->tenure && child->tenure->handle.number_ == number)
        if (!ceni_wait_locked(supervisor, moment))
            status = ceni_error_set(error, CEN_TIMEOUT, 0,
                                    "supervisor \"%s\": child \"%.200s\" has not ended by the deadline",
                                    supervisor->name, child->name);
    ceni_child_drop_locked(child);
    ceni_supervisor_unlock_and_free(supervisor);
    return status;
}

static cen_status end_by_name(cen_supervisor *supervisor, const char *name, bool leaves, cen_deadline deadline,
                              cen_error *error)
{
    cen_status status = name ? check(supervisor) : CEN_INVALID;
    if (status != CEN_OK)
        return ceni_error_set(error, status, 0, "%s: %s", leaves ? "cen_supervisor_remove" : "cen_supervisor_terminate",
                              name ? why_not(supervisor) : "name is NULL");
    cen_error why = {.status = CEN_OK};
    ceni_supervisor_lock(supervisor);
    status = check_locked(supervisor, deadline, &why);
    ceni_child_record *child = status == CEN_OK ? ceni_child_find_locked(supervisor, name) : NULL;
    if (child) return end_child(child, leaves, deadline, error);
    if (status == CEN_OK) status = refuse_absent(supervisor, name, &why);
    ceni_supervisor_unlock(supervisor);
    if (error) *error = why;
    return status;
}

cen_status cen_supervisor_terminate(cen_supervisor *supervisor, const char *name, cen_deadline deadline,
                                    cen_error *error)
{
    return end_by_name(supervisor, name, false, deadline, error);
}

cen_status cen_supervisor_remove(cen_supervisor *supervisor, const char *name, cen_deadline deadline, cen_error *error)
{
    return end_by_name(supervisor, name, true, deadline, error);
}

cen_status cen_child_terminate(cen_child child, cen_deadline deadline, cen_error *error)
{
    ceni_tenure *tenure = ceni_house_find_and_lock(child);
    if (!tenure) return ceni_error_set(error, CEN_ABSENT, 0, "cen_child_terminate: the child has ended");
    cen_error why = {.status = CEN_OK};
    cen_status status = check_locked(tenure->supervisor, deadline, &why);
    if (status == CEN_OK) return end_child(tenure->child, false, deadline, error);
    ceni_supervisor_unlock(tenure->supervisor);
    if (error) *error = why;
    return status;
}
