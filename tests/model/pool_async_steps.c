/* SPDX-License-Identifier: MIT */
/* Asking without waiting, cancelling, and polling what was told. */
#include "model/pool_askers.h"
#include "model/pool_steps.h"
#include "support/world.h"

const char *step_ask(void *state, int a, int b)
{
    rig *r = state;
    int who = FIBERS + 1 + a % ASKERS;
    twin *t = r->pools[a / ASKERS];
    actor *one = &r->actors[who];
    if (one->phase != FREE || !asker_is_free(who) || r->in_hand + FIBERS + ASKERS > HAND) return NULL;
    int patience = b % (PATIENCES + 1);
    cen_deadline deadline = CEN_NEVER;
    one->until = INT64_MAX;
    if (patience < PATIENCES) deadline = deadline_of(r, t, patience, who, &one->until);
    one->hold_ns = KEEP;
    one->where = "asked";
    TRY(expect_status("ask", asker_asks(who, t->pool, deadline, b / (PATIENCES + 1), one->where), CEN_OK));
    ceni_world_settle();
    TRY(model_take(r, t, who, taking_until(r, one->until)));
    return compare_all(r);
}

const char *step_cancel(void *state, int a, int b)
{
    rig *r = state;
    int who = FIBERS + 1 + a;
    bool waits = r->actors[who].phase == WAITING;
    (void)b;
    if (!waits && asker_is_free(who)) return NULL;
    if (asker_cancels(who) != waits)
        return waits ? "one who waits could not be cancelled" : "what was told was cancelled";
    ceni_world_settle();
    if (waits) TRY(model_cancel(r, who));
    return compare_all(r);
}

const char *step_poll(void *state, int a, int b)
{
    (void)b;
    TRY(askers_poll((unsigned)a));
    return compare_all(state);
}
