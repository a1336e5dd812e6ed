/* SPDX-License-Identifier: MIT */
/* Adopting, scopes, and the life of a pool: resize, close, free and new. */
#include "model/pool_steps.h"

#include <string.h>

#include "support/world.h"

/* ---- Adopt ------------------------------------------------------------------------------------- */

const char *step_adopt(void *state, int a, int b)
{
    rig *r = state;
    twin *t = r->pools[a];
    (void)b;
    thing *object = thing_made(t);
    cen_status expected = t->closed ? CEN_CLOSED : t->live >= t->max ? CEN_FULL : CEN_OK;
    cen_status status = cen_pool_adopt(t->pool, object, NULL);
    ceni_world_settle();
    TRY(expect_status("adopt", status, expected));
    if (status != CEN_OK) return compare_all(r);
    uint32_t index = index_shown(t->pool, object);
    if (index == NOWHERE) return "the adopted object is nowhere";
    t->tally.adopted++;
    TRY(model_put(r, t, object, index));
    return compare_all(r);
}

/* ---- Scopes -------------------------------------------------------------------------------------- */

/* The open scope of main in a pool whose lease has not ended; NULL if there is none. */
static entered *outer_scope(rig *r, const twin *t)
{
    for (unsigned i = 0; i < r->scope_count; i++) {
        entered *e = &r->scopes[i];
        if (e->hand.twin == t && model_status_of(&e->hand) != CEN_STALE) return e;
    }
    return NULL;
}

const char *step_enter(void *state, int a, int b)
{
    rig *r = state;
    twin *t = r->pools[a];
    cen_error error = {0};
    entered in;
    memset(&in, 0, sizeof in);
    int64_t until;
    if (r->scope_count == ENTERED) return NULL;
    cen_deadline deadline = deadline_of(r, t, b, MAIN, &until);
    entered *outer = outer_scope(r, t);
    main_takes(r, "enter");
    cen_status status = cen_pool_enter_at(t->pool, deadline, &in.scope, &error, "enter");
    r->of_main.lease = in.scope.lease;
    main_has_taken(r, status);
    in.hand = (hand){in.scope.lease, r->of_main.index, t};
    if (outer) {
        TRY(expect_status("an inner enter", r->of_main.status, model_status_of(&outer->hand)));
        bool same = memcmp(&in.scope.lease, &outer->scope.lease, sizeof(cen_lease)) == 0;
        if (r->of_main.status == CEN_OK && !same) return "an inner scope has another object";
    } else {
        TRY(model_take_by_main(r, t, taking_until(r, until), until));
    }
    TRY(check_error(r, t, &error));
    if (r->of_main.status == CEN_OK) r->scopes[r->scope_count++] = in;
    return compare_all(r);
}

/* How many open scopes share the lease of this one, itself included. */
static unsigned sharing(const rig *r, const entered *e)
{
    unsigned count = 0;
    for (unsigned i = 0; i < r->scope_count; i++)
        count += memcmp(&r->scopes[i].scope.lease, &e->scope.lease, sizeof(cen_lease)) == 0;
    return count;
}

const char *step_leave(void *state, int a, int b)
{
    rig *r = state;
    (void)b;
    if (r->scope_count == 0) return expect_status("leave", cen_pool_leave(&(cen_scope){.holder = 0}), CEN_STALE);
    unsigned at = (unsigned)a % r->scope_count;
    entered e = r->scopes[at];
    cen_status of_lease = model_status_of(&e.hand);
    bool last = sharing(r, &e) == 1;
    r->scopes[at] = r->scopes[--r->scope_count];
    cen_status expected = of_lease == CEN_REVOKED && !last ? CEN_OK : of_lease;
    cen_status status = cen_pool_leave(&e.scope);
    ceni_world_settle();
    TRY(expect_status("leave", status, expected));
    if (status != CEN_STALE && cen_pool_leave(&e.scope) != CEN_STALE) return "leaving twice is not STALE";
    if (last && status != CEN_STALE) TRY(model_end(r, &e.hand, false));
    return compare_all(r);
}

/* The lease of a scope ends by hand: its scopes have nothing any more. */
const char *step_end_entered(void *state, int a, int b)
{
    rig *r = state;
    if (r->scope_count == 0) return NULL;
    const entered *e = &r->scopes[(unsigned)a % r->scope_count];
    if (e->hand.twin->freed) return NULL;
    TRY(end_and_model(r, e->hand, b));
    return compare_all(r);
}

/* ---- Resize, close, anew ---------------------------------------------------------------------------- */

const char *step_resize(void *state, int a, int b)
{
    rig *r = state;
    twin *t = r->pools[a];
    uint32_t max = (uint32_t)b;
    cen_status expected = max == 0 ? CEN_INVALID : t->closed ? CEN_CLOSED : CEN_OK;
    cen_status status = cen_pool_resize(t->pool, max, NULL);
    ceni_world_settle();
    TRY(expect_status("resize", status, expected));
    if (status == CEN_OK) TRY(model_resize(r, t, max));
    return compare_all(r);
}

static const char *close_until(rig *r, twin *t, int64_t until)
{
    cen_close_report report = {.size = sizeof(cen_close_report), .busy = 9}, right = CEN_SIZED(cen_close_report);
    bool was_closed = t->closed, waits = until > r->now;
    cen_status status = cen_pool_close(t->pool, waits ? cen_at(until) : CEN_NOW, &report, NULL);
    ceni_world_settle();
    if (was_closed) return expect_status("a second close", status, CEN_CLOSED);
    TRY(model_close_begin(r, t, &right));
    for (bool happened = waits; happened && t->live > 0;) TRY(model_event(r, until, &happened));
    if (waits && t->live > 0) r->now = until;
    TRY(model_close_end(t, &right));
    TRY(expect_status("close", status, right.revoked ? CEN_TIMEOUT : CEN_OK));
    if (memcmp(&report, &right, sizeof report) == 0) return NULL;
    return wrong("close reports waiting %u, idle %u, given %u, revoked %u; the model %u, %u, %u, %u", report.waiting,
                 report.idle, report.given, report.revoked, right.waiting, right.idle, right.given, right.revoked);
}

const char *step_close(void *state, int a, int b)
{
    static const int64_t waits[WAITS] = {0, 100, 1000, 10000};
    rig *r = state;
    TRY(close_until(r, r->pools[a], b ? moment_of(r->now + waits[b], WHEN_CLOSES) : r->now));
    return compare_all(r);
}

/* Finds a new pool's objects where the system has put them. */
typedef struct census {
    rig *rig;
    twin *twin;
    const char *text;
    uint64_t last;
} census;

static bool count_object(void *argument, const cen_object_view *h)
{
    census *c = argument;
    thing *object = h->object;
    if (h->index != c->twin->live || object->number <= c->last) c->text = "the objects were not made in order";
    if (!c->text) c->text = model_put(c->rig, c->twin, object, h->index);
    c->twin->tally.opened++;
    c->last = object->number;
    return !c->text;
}

const char *make(rig *r, twin *t, shape s)
{
    cen_error error = {0};
    unsigned made = t->sound < s.max || t->failing == 0 ? t->sound : s.max;
    bool fails = s.eager && s.opens && t->failing > 0 && made < s.max;
    cen_status expected = s.eager && !s.opens ? CEN_INVALID : fails ? OPEN_FAILED : CEN_OK;
    TRY(expect_status("new", twin_new(t, s, &error), expected));
    if (t->misdeed) return t->misdeed;
    if (expected != CEN_OK && t->closes_seen != (s.closes && fails ? made : 0))
        return "a failed new has not closed what it made";
    if (expected != CEN_OK) {
        s.eager = false;
        t->sound = t->failing = 0;
        TRY(expect_status("new", twin_new(t, s, &error), CEN_OK));
    }
    t->model_sound = t->sound;
    t->model_failing = t->failing;
    census c = {r, t, NULL, 0};
    TRY(expect_status("visit", cen_pool_each(t->pool, count_object, &c), CEN_OK));
    return c.text ? c.text : t->live == (s.eager ? s.max : 0) ? NULL : "eager has not made all objects";
}

/* Frees a pool. What is out stays out, and the last of it takes the memory along. */
const char *end_one(rig *r, twin *t)
{
    if (t->waiting) TRY(close_until(r, t, r->now));
    cen_close_report unseen = CEN_SIZED(cen_close_report);
    t->quiet = true;
    TRY(expect_status("free", cen_pool_free(t->pool), CEN_OK));
    ceni_world_settle();
    bool was_closed = t->closed;
    t->freed = true;
    if (!was_closed) TRY(model_close_begin(r, t, &unseen));
    if (!was_closed) TRY(model_close_end(t, &unseen));
    for (unsigned i = 0; i < OLD; i++)
        if (r->old[i].twin == t) r->old[i] = (hand){{0}, NOWHERE, NULL};
    for (unsigned i = 0; i < r->scope_count;)
        if (r->scopes[i].hand.twin == t && model_status_of(&r->scopes[i].hand) == CEN_STALE)
            r->scopes[i] = r->scopes[--r->scope_count];
        else i++;
    return model_bury(r, t);
}

static twin *spare_twin(rig *r)
{
    for (int i = 0; i < TWINS; i++)
        if (!r->twins[i].pool) return &r->twins[i];
    return NULL;
}

static bool has_held(const twin *t)
{
    for (int i = 0; i < TWIN_PLACES; i++)
        if (t->places[i].state == HELD || t->places[i].state == REVOKED) return true;
    return false;
}

const char *step_renew(void *state, int a, int b)
{
    rig *r = state;
    twin *old = r->pools[a];
    if (has_held(old) && !spare_twin(r)) return NULL; /* one at a time lives on after it was freed */
    TRY(end_one(r, old));
    twin *fresh = spare_twin(r);
    unsigned sound = old->sound, failing = old->failing;
    fresh->sound = sound;
    fresh->failing = failing;
    r->pools[a] = fresh;
    TRY(make(r, fresh, shape_of(b)));
    ceni_world_settle();
    return compare_all(r);
}

const char *step_fail_opens(void *state, int a, int b)
{
    rig *r = state;
    twin *t = r->pools[a];
    t->sound = t->model_sound = (unsigned)b / 3;
    t->failing = t->model_failing = (unsigned)b % 3;
    return compare_all(r);
}
