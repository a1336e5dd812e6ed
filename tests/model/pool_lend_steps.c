/* SPDX-License-Identifier: MIT */
/* Taking and giving, and giving what is no lease. */
#include "model/pool_steps.h"

#include <string.h>

#include "model/pool_crew.h"
#include "support/world.h"

/* ---- Take ---------------------------------------------------------------------------- */

/* The pool's patience is used where it ends at a moment of its own. */
cen_deadline deadline_of(const rig *r, const twin *t, int choice, int who, int64_t *until)
{
    static const int64_t choices[] = {0, 40, 200, 1200};
    int64_t by_default = r->now + t->shape.patience_ns, wait = choices[choice % 4];
    *until = wait ? moment_of(r->now + wait, WHEN_DEADLINE + who) : r->now;
    if (choice == PATIENCES - 1 && moment_of(by_default, WHEN_DEADLINE + who) == by_default) {
        *until = by_default;
        return (cen_deadline){0};
    }
    return wait ? cen_in_ns(*until - r->now) : CEN_NOW;
}

taking taking_until(const rig *r, int64_t until)
{
    return (taking){.waits = until > r->now, .none = CEN_TIMEOUT};
}

void main_takes(rig *r, const char *where)
{
    r->actors[MAIN].where = where;
    r->of_main.lease = (cen_lease){0};
}

void main_has_taken(rig *r, cen_status status)
{
    r->of_main = outcome_of_take(status, &r->of_main.lease);
    ceni_world_settle();
}

/* Main has taken, or will have when the model's time has come. */
const char *model_take_by_main(rig *r, twin *t, taking how, int64_t until)
{
    actor *main_one = &r->actors[MAIN];
    main_one->until = until;
    TRY(model_take(r, t, MAIN, how));
    for (bool happened = true; main_one->phase == WAITING && happened;) TRY(model_event(r, until, &happened));
    return NULL;
}

void keep_in_hand(rig *r, twin *t)
{
    if (r->of_main.status == CEN_OK && r->in_hand < HAND)
        r->hands[r->in_hand++] = (hand){r->of_main.lease, r->of_main.index, t};
}

const char *check_error(const rig *r, twin *t, const cen_error *error)
{
    if (r->of_main.status == CEN_OK) return NULL;
    if (r->of_main.status == CEN_EMPTY || r->of_main.status == CEN_TIMEOUT) model_meet_holders(r, t);
    if (error->status != r->of_main.status) return "the error has another status";
    if (r->of_main.status == OPEN_FAILED && (error->code != OPEN_FAILED_CODE || !strstr(error->text, OPEN_FAILED_TEXT)))
        return wrong("the driver's words are lost: %s", error->text);
    return strstr(error->text, "\"twin\"") ? NULL : wrong("the pool has no name in: %s", error->text);
}

const char *step_try_take(void *state, int a, int b)
{
    rig *r = state;
    twin *t = r->pools[a];
    cen_error error = {0};
    (void)b;
    if (r->in_hand == HAND) return NULL;
    main_takes(r, "try_take");
    main_has_taken(r, cen_pool_try_take_at(t->pool, &r->of_main.lease, &error, "try_take"));
    TRY(model_take_by_main(r, t, (taking){.none = CEN_EMPTY}, r->now));
    TRY(check_error(r, t, &error));
    keep_in_hand(r, t);
    return compare_all(r);
}

const char *step_take(void *state, int a, int b)
{
    rig *r = state;
    twin *t = r->pools[a];
    cen_error error = {0};
    int64_t until;
    if (r->in_hand == HAND) return NULL;
    cen_deadline deadline = deadline_of(r, t, b, MAIN, &until);
    main_takes(r, "take");
    main_has_taken(r, cen_pool_take_at(t->pool, deadline, &r->of_main.lease, &error, "take"));
    TRY(model_take_by_main(r, t, taking_until(r, until), until));
    TRY(check_error(r, t, &error));
    keep_in_hand(r, t);
    return compare_all(r);
}

/* A fiber takes, waits if it must, holds, and gives back. */
const char *step_send(void *state, int a, int b)
{
    static const int64_t holds[] = {KEEP, 30, 300, 2500};
    rig *r = state;
    int who = 1 + a % FIBERS;
    twin *t = r->pools[a / FIBERS];
    actor *one = &r->actors[who];
    if (one->phase != FREE || r->in_hand + FIBERS > HAND) return NULL;
    int patience = b % (PATIENCES + 1);
    cen_deadline deadline = CEN_NEVER;
    one->until = INT64_MAX;
    if (patience < PATIENCES) deadline = deadline_of(r, t, patience, who, &one->until);
    one->hold_ns = holds[b / (PATIENCES + 1) % HOLDS];
    one->discards = b / ((PATIENCES + 1) * HOLDS);
    one->where = "a fiber";
    crew_send(who, (task){.pool = t->pool,
                          .deadline = deadline,
                          .hold_ns = one->hold_ns,
                          .discards = one->discards,
                          .where = one->where});
    ceni_world_settle();
    TRY(model_take(r, t, who, taking_until(r, one->until)));
    return compare_all(r);
}

/* ---- Give and discard ----------------------------------------------------------------------- */

hand take_from_hand(rig *r, int pick)
{
    static const hand empty;
    if (r->in_hand == 0) return empty;
    unsigned at = (unsigned)pick % r->in_hand;
    hand h = r->hands[at];
    r->hands[at] = r->hands[--r->in_hand];
    return h;
}

/* Ends a lease by the system's call and says whether the answer was right. */
const char *end_lease(hand *h, bool discards)
{
    cen_lease before = h->lease;
    cen_status expected = model_status_of(h);
    cen_status status = discards ? cen_pool_discard(&h->lease) : cen_pool_give(&h->lease);
    TRY(expect_status(discards ? "discard" : "give", status, expected));
    if (status != CEN_STALE && h->lease.pool) return "the lease still has a pool";
    if (status == CEN_STALE && memcmp(&before, &h->lease, sizeof before) != 0) return "a refused lease was changed";
    if (status != CEN_STALE) h->lease = before;
    return NULL;
}

const char *end_and_model(rig *r, hand h, bool discards)
{
    cen_status expected = model_status_of(&h);
    TRY(end_lease(&h, discards));
    ceni_world_settle();
    if (expected == CEN_STALE) return NULL;
    return model_end(r, &h, discards);
}

const char *step_give(void *state, int a, int b)
{
    rig *r = state;
    (void)b;
    TRY(end_and_model(r, take_from_hand(r, a), false));
    return compare_all(r);
}

const char *step_discard(void *state, int a, int b)
{
    rig *r = state;
    (void)b;
    TRY(end_and_model(r, take_from_hand(r, a), true));
    return compare_all(r);
}

/* Gives all that main has of a pool before anybody else can run. */
const char *step_give_all(void *state, int a, int b)
{
    rig *r = state;
    twin *t = r->pools[a];
    hand given[HAND];
    unsigned count = 0;
    (void)b;
    for (unsigned i = 0; i < r->in_hand;)
        if (r->hands[i].twin == t) given[count++] = take_from_hand(r, (int)i);
        else i++;
    cen_status expected[HAND];
    for (unsigned i = 0; i < count; i++) {
        expected[i] = model_status_of(&given[i]);
        TRY(end_lease(&given[i], false));
    }
    ceni_world_settle();
    r->any_order = true;
    for (unsigned i = 0; i < count; i++)
        if (expected[i] != CEN_STALE) TRY(model_end(r, &given[i], false));
    TRY(model_serve(r, t));
    return compare_all(r);
}

/* Gives one and tries to take one before anybody else can run. Where overtaking
 * is off the first in line has it; otherwise either may. */
const char *step_give_and_take(void *state, int a, int b)
{
    rig *r = state;
    (void)b;
    if (r->in_hand == 0 || r->hands[(unsigned)a % r->in_hand].twin->freed) return NULL;
    hand h = take_from_hand(r, a);
    twin *t = h.twin;
    cen_status expected = model_status_of(&h);
    TRY(end_lease(&h, false));
    main_takes(r, "give_and_take");
    main_has_taken(r, cen_pool_try_take_at(t->pool, &r->of_main.lease, NULL, "give_and_take"));
    bool overtook = t->waiting && r->of_main.status == CEN_OK;
    if (overtook && t->shape.max_barging_ns == CEN_NONE) return "one who waits was overtaken, which is switched off";
    unsigned waiting = t->waiting;
    if (overtook) t->waiting = 0; /* nobody stands between */
    if (expected != CEN_STALE) TRY(model_end(r, &h, false));
    TRY(model_take_by_main(r, t, (taking){.none = CEN_EMPTY}, r->now));
    if (overtook) t->waiting = waiting;
    keep_in_hand(r, t);
    return compare_all(r);
}

/* ---- Leases that are none -------------------------------------------------------------------- */

static const char *const wrong_names[WRONGS] = {"a lease that has ended",
                                                "no lease at all",
                                                "the next generation",
                                                "a slot of nobody's",
                                                "the middle of a slot",
                                                "another pool",
                                                "NULL"};

/* Each field of a lease changed in turn; every one of these must be refused and change nothing. */
const char *step_give_wrong(void *state, int a, int b)
{
    static const cen_status expected[WRONGS] = {CEN_STALE,   CEN_STALE,   CEN_STALE,  CEN_FOREIGN,
                                                CEN_FOREIGN, CEN_FOREIGN, CEN_INVALID};
    rig *r = state;
    int kind = b;
    hand h = {{0}, NOWHERE, NULL};
    if (kind == 0 && r->old_count) h = r->old[(unsigned)a % (r->old_count < OLD ? r->old_count : OLD)];
    if (kind > 1 && r->in_hand) h = r->hands[(unsigned)a % r->in_hand];
    if (kind < WRONGS - 1 && (!h.twin || h.twin->freed)) kind = 1;
    cen_lease lease = kind == 1 ? (cen_lease){0} : h.lease;
    if (kind == 2) lease.generation++;
    if (kind == 3) lease.slot = &h;
    if (kind == 4) lease.slot = (char *)lease.slot + 8;
    const twin *other = r->pools[h.twin && r->pools[0] == h.twin];
    if (kind == 5) lease.pool = other->pool;
    bool older = kind == 5 && lease.generation <= other->first; /* as one of a pool that had the struct before */
    cen_lease before = lease, *given = kind == WRONGS - 1 ? NULL : &lease;
    cen_status status = a % 2 ? cen_pool_discard(given) : cen_pool_give(given);
    ceni_world_settle();
    TRY(expect_status(wrong_names[kind], status, older ? CEN_STALE : expected[kind]));
    if (memcmp(&before, &lease, sizeof before) != 0) return "a refused lease was changed";
    return compare_all(r);
}
