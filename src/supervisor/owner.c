/* SPDX-License-Identifier: MIT */
/*
 * The owner of the entries that a start of a child registers.
 *
 * It is made by the first call that needs it, outside the mutex. If two calls need it at once, one of the two new
 * owners is ended unused. The steward ends the owner when the start is over and cannot be found, before the end is
 * reported. So the next start never meets entries of the one before it.
 *
 * Tested by tests/unit/supervisor/owner_test.c.
 */
#include "base/error.h"
#include "base/plant.h"
#include "supervisor/internal.h"

#include <stdio.h>

void ceni_child_owner_end(cen_owner *owner)
{
    ceni_rank_expect_none("the end of a child's owner");
    if (owner && !ceni_planted(supervisor_owner_never_ends)) cen_owner_end(owner);
}

/* Return the owner, held for the caller. NULL: there is none yet, or the start is over (*is_over). If there is none,
 * `made` becomes it. */
static cen_owner *hold_or_put(cen_child child, cen_owner **made, bool *is_over)
{
    ceni_tenure *tenure = ceni_house_find_and_lock(child);
    *is_over = !tenure;
    if (!tenure) return NULL;
    if (!tenure->owner) {
        tenure->owner = *made;
        *made = NULL;
    }
    cen_owner *owner = tenure->owner;
    if (owner) cen_owner_hold(owner);
    ceni_supervisor_unlock(tenure->supervisor);
    return owner;
}

static cen_status make(cen_child child, cen_owner **out, cen_error *error)
{
    char name[48] = "child";
    const cen_allocator *allocator = NULL;
    ceni_tenure *tenure = ceni_house_find_and_lock(child);
    if (tenure) {
        snprintf(name, sizeof name, "child %.40s", tenure->child->name);
        allocator = tenure->supervisor->allocator;
        ceni_supervisor_unlock(tenure->supervisor);
    }
    cen_owner_options options = CEN_OWNER_OPTIONS(.name = name, .allocator = allocator);
    return cen_owner_new(&options, out, error);
}

cen_status cen_child_owner(cen_child child, cen_owner **out, cen_error *error)
{
    if (!out) return ceni_error_set(error, CEN_INVALID, 0, "cen_child_owner: out is NULL");
    cen_owner *made = NULL;
    bool is_over;
    cen_owner *owner = hold_or_put(child, &made, &is_over);
    if (!owner && !is_over) {
        cen_status status = make(child, &made, error);
        if (status != CEN_OK) return status;
        owner = hold_or_put(child, &made, &is_over);
        cen_owner_end(made); /* another call was first, or the start is over */
    }
    if (is_over) return ceni_error_set(error, CEN_ABSENT, 0, "cen_child_owner: this start of the child has ended");
    *out = owner;
    return CEN_OK;
}
