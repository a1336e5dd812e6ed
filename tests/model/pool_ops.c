/* SPDX-License-Identifier: MIT */
/*
 * Looking, the passing of time, and all steps in one table. A run has two
 * pools of random shapes, a third that was freed and is still partly out, main,
 * three fibers and three who ask.
 *
 * An operation that has nothing to work on, a give with empty hands, say, is
 * done with a lease of nobody's and must be refused.
 */
#include "model/pool_ops.h"

#include <stdio.h>

#include "model/pool_askers.h"
#include "model/pool_crew.h"
#include "model/pool_steps.h"
#include "support/world.h"

const char *compare_all(rig *r)
{
    r->any_order = false;
    if (cen_clock() != r->now)
        return wrong("the clock is %lld, the model's %lld", (long long)cen_clock(), (long long)r->now);
    for (int i = 0; i < POOLS; i++) TRY(twin_compare(r, r->pools[i]));
    for (int i = 1; i <= FIBERS; i++)
        if (crew_has_outcome(i))
            return wrong("actor %d was told %s, unasked", i, cen_status_name(crew_outcome(i)->status));
    for (int i = FIBERS + 1; i < ACTORS; i++)
        if (asker_has_outcome(i))
            return wrong("actor %d was told %s, unasked", i, cen_status_name(asker_outcome(i, r->now)->status));
    return NULL;
}

/* ---- Time -------------------------------------------------------------------------- */

static const char *pass_time(void *state, int a, int b)
{
    rig *r = state;
    int64_t until = moment_of(r->now + a * a, WHEN_MAIN_WAKES);
    (void)b;
    ceni_sleep_until(until);
    ceni_world_settle();
    for (bool happened = true; happened;) TRY(model_event(r, until, &happened));
    r->now = until;
    return compare_all(r);
}

/* ---- Visit ---------------------------------------------------------------------------- */

/* What a visitor does when it sees the first object. After that the visit ends. */
typedef enum errand { NONE, TRY_TAKE, TAKE, GIVE, DISCARD, MISUSE, TAKE_ELSEWHERE, ERRANDS } errand;

typedef struct visit {
    rig *rig;
    twin *twin, *other;
    errand errand;
    uint32_t next; /* index */
    bool called;
    hand hand;
    const char *text;
} visit;

static uint32_t next_object(const twin *t, uint32_t from)
{
    while (from < TWIN_PLACES && t->places[from].state == VACANT) from++;
    return from;
}

static void run_errand(visit *v)
{
    rig *r = v->rig;
    cen_lease *lease = &r->of_main.lease;
    switch (v->errand) {
    case NONE:
    case ERRANDS: break;
    case TRY_TAKE: r->of_main.status = cen_pool_try_take_at(v->twin->pool, lease, NULL, "a visitor"); break;
    case TAKE: r->of_main.status = cen_pool_take_at(v->twin->pool, cen_in_s(1), lease, NULL, "a visitor"); break;
    case TAKE_ELSEWHERE: r->of_main.status = cen_pool_try_take_at(v->other->pool, lease, NULL, "a visitor"); break;
    case GIVE: v->text = end_lease(&v->hand, false); break;
    case DISCARD:
        if (v->hand.twin) v->text = expect_status("discard by a visitor", cen_pool_discard(&v->hand.lease), CEN_MISUSE);
        break;
    case MISUSE:
        v->text = expect_status("resize by a visitor", cen_pool_resize(v->twin->pool, 3, NULL), CEN_MISUSE);
        if (!v->text)
            v->text =
                expect_status("close by a visitor", cen_pool_close(v->twin->pool, CEN_NOW, NULL, NULL), CEN_MISUSE);
        if (!v->text) v->text = expect_status("free by a visitor", cen_pool_free(v->twin->pool), CEN_MISUSE);
        break;
    }
}

static bool see(void *argument, const cen_object_view *h)
{
    visit *v = argument;
    v->called = true;
    v->next = next_object(v->twin, v->next);
    if (v->next >= TWIN_PLACES) v->text = "more objects are shown than there are";
    else v->text = twin_compare_holding(v->rig, v->twin, h, v->next++);
    if (!v->text && v->errand != NONE) run_errand(v);
    return !v->text && v->errand == NONE;
}

/* The model's side of the errand. */
static const char *model_errand(visit *v)
{
    rig *r = v->rig;
    if (v->errand == GIVE && v->hand.twin) return model_end(r, &v->hand, false);
    if (v->errand == TRY_TAKE) TRY(model_take(r, v->twin, MAIN, (taking){.inside = true, .none = CEN_EMPTY}));
    else if (v->errand == TAKE) TRY(model_take(r, v->twin, MAIN, (taking){.inside = true, .waits = true}));
    else if (v->errand == TAKE_ELSEWHERE) TRY(model_take(r, v->other, MAIN, (taking){.none = CEN_EMPTY}));
    else return NULL;
    keep_in_hand(r, v->errand == TAKE_ELSEWHERE ? v->other : v->twin);
    return NULL;
}

/* A lease of this pool that main may give, taken from the hand if it is going to be. */
static hand hand_of(rig *r, const twin *t, bool takes)
{
    for (unsigned i = 0; i < r->in_hand; i++)
        if (r->hands[i].twin == t && model_status_of(&r->hands[i]) == CEN_OK)
            return takes ? take_from_hand(r, (int)i) : r->hands[i];
    return (hand){{0}, NOWHERE, NULL};
}

static const char *step_visit(void *state, int a, int b)
{
    rig *r = state;
    if (r->in_hand == HAND) return NULL;
    visit v = {.rig = r, .twin = r->pools[a], .other = r->pools[1 - a], .errand = (errand)b};
    bool sees = next_object(v.twin, 0) < TWIN_PLACES;
    if (sees && (v.errand == GIVE || v.errand == DISCARD)) v.hand = hand_of(r, v.twin, v.errand == GIVE);
    main_takes(r, "a visitor");
    r->of_main.status = CEN_EMPTY; /* unless it takes something */
    TRY(expect_status("visit", cen_pool_each(v.twin->pool, see, &v), CEN_OK));
    main_has_taken(r, r->of_main.status);
    if (v.text) return v.text;
    if (v.called != sees) return "the visitor was called without an object, or not at all";
    if (v.errand == NONE && next_object(v.twin, v.next) < TWIN_PLACES) return "not all objects were shown";
    if (sees) TRY(model_errand(&v));
    return compare_all(r);
}

/* ---- Holders ------------------------------------------------------------------------------- */

enum { ROOM = 4 };

static const char *step_holders(void *state, int a, int b)
{
    rig *r = state;
    twin *t = r->pools[a];
    cen_object_view shown[ROOM];
    size_t count = 99, seen = 0;
    TRY(expect_status("holders", cen_pool_holders(t->pool, b ? shown : NULL, (size_t)b, &count), CEN_OK));
    for (uint32_t i = 0; i < TWIN_PLACES; i++) {
        place *p = &t->places[i];
        if (p->state != HELD && p->state != REVOKED) continue;
        if (seen < (size_t)b) TRY(twin_compare_holding(r, t, &shown[seen], i));
        if (!p->met) p->met = r->now;
        seen++;
    }
    return count == seen ? compare_all(r) : wrong("%zu holders, the model has %zu", count, seen);
}

/* ---- In words ---------------------------------------------------------------------------------- */

#define SHOW(step, format, ...) \
    static void show_##step(char *text, size_t room, int a, int b) \
    { \
        (void)a; \
        (void)b; \
        snprintf(text, room, format, __VA_ARGS__); \
    }

static const char *const patiences[] = {"now", "in 40 ns", "in 200 ns", "in 1200 ns", "the default", "never"};
static const char *const holds[] = {"keep it", "hold it 30 ns", "hold it 300 ns", "hold it 2500 ns"};
static const char *const errands[] = {"nothing", "try_take", "take", "give", "discard", "misuse", "take elsewhere"};

SHOW(try_take, "try_take(%c)", 'A' + a)
SHOW(take, "take(%c, %s)", 'A' + a, patiences[b])
SHOW(send, "fiber %d: take(%c, %s), %s, %s", 1 + a % FIBERS, 'A' + a / FIBERS, patiences[b % (PATIENCES + 1)],
     holds[b / (PATIENCES + 1) % HOLDS], b / (PATIENCES + 1) / HOLDS ? "discard" : "give")
SHOW(ask, "actor %d: ask(%c, %s), told %s", FIBERS + 1 + a % ASKERS, 'A' + a / ASKERS, patiences[b % (PATIENCES + 1)],
     b / (PATIENCES + 1) ? "by the inbox" : "inline")
SHOW(cancel, "actor %d: cancel", FIBERS + 1 + a)
SHOW(poll, "poll(%d)", a)
SHOW(give, "give(the lease number %d in hand)", a)
SHOW(discard, "discard(the lease number %d in hand)", a)
SHOW(give_all, "give all leases of %c before anybody runs", 'A' + a)
SHOW(give_and_take, "give(number %d) and try_take before anybody runs", a)
SHOW(give_wrong, "%s what is no lease, number %d, in manner %d", a % 2 ? "discard" : "give", a, b)
SHOW(adopt, "adopt(%c)", 'A' + a)
SHOW(enter, "enter(%c, %s)", 'A' + a, patiences[b])
SHOW(leave, "leave(scope number %d)", a)
SHOW(end_entered, "%s the lease of scope number %d by hand", b ? "discard" : "give", a)
SHOW(resize, "resize(%c, %d)", 'A' + a, b)
SHOW(close, "close(%c, patience %d)", 'A' + a, b)
SHOW(fail_opens, "driver of %c: %d openings succeed, then %d fail", 'A' + a, b / 3, b % 3)
SHOW(pass_time, "%d ns pass", a *a)
SHOW(visit, "visit(%c), the visitor does: %s", 'A' + a, errands[b])
SHOW(holders, "holders(%c), with room for %d", 'A' + a, b)

static void show_renew(char *text, size_t room, int a, int b)
{
    char words[100];
    shape_show(b, words, sizeof words);
    snprintf(text, room, "free %c and make it anew: %s", 'A' + a, words);
}

const model_op pool_ops[POOL_OPS] = {
    {"try_take", 10, POOLS, 0, step_try_take, show_try_take},
    {"take", 8, POOLS, PATIENCES, step_take, show_take},
    {"send", 16, POOLS *FIBERS, (PATIENCES + 1) * HOLDS * 2, step_send, show_send},
    {"ask", 14, POOLS *ASKERS, (PATIENCES + 1) * 2, step_ask, show_ask},
    {"cancel", 5, ASKERS, 0, step_cancel, show_cancel},
    {"poll", 8, 3, 0, step_poll, show_poll},
    {"give", 12, 8, 0, step_give, show_give},
    {"discard", 4, 8, 0, step_discard, show_discard},
    {"give_all", 2, POOLS, 0, step_give_all, show_give_all},
    {"give_and_take", 5, 8, 0, step_give_and_take, show_give_and_take},
    {"give_wrong", 6, 32, WRONGS, step_give_wrong, show_give_wrong},
    {"adopt", 4, POOLS, 0, step_adopt, show_adopt},
    {"enter", 6, POOLS, PATIENCES, step_enter, show_enter},
    {"leave", 6, 8, 0, step_leave, show_leave},
    {"end_entered", 1, 8, 2, step_end_entered, show_end_entered},
    {"resize", 4, POOLS, SIZES, step_resize, show_resize},
    {"close", 1, POOLS, WAITS, step_close, show_close},
    {"renew", 3, POOLS, SHAPES, step_renew, show_renew},
    {"fail_opens", 3, POOLS, FAILURES, step_fail_opens, show_fail_opens},
    {"pass_time", 10, 50, 0, pass_time, show_pass_time},
    {"visit", 5, POOLS, ERRANDS, step_visit, show_visit},
    {"holders", 4, POOLS, ROOM + 1, step_holders, show_holders},
};

/* ---- A run ---------------------------------------------------------------------------------------- */

void *pool_ops_setup(void)
{
    static rig one;
    one = (rig){.now = cen_clock()};
    crew_start();
    askers_start();
    for (int i = 0; i < POOLS; i++) {
        one.pools[i] = &one.twins[i];
        const char *text = make(&one, one.pools[i], shape_of(4 * i)); /* max 1 and 2 */
        if (text) ceni_world_fail("%s", text);
    }
    return &one;
}

const char *pool_ops_teardown(void *state)
{
    rig *r = state;
    for (int i = 0; i < POOLS; i++) TRY(end_one(r, r->pools[i]));
    while (r->in_hand) TRY(end_and_model(r, take_from_hand(r, 0), false));
    while (r->scope_count) {
        entered e = r->scopes[0];
        if (model_status_of(&e.hand) == CEN_STALE) r->scopes[0] = r->scopes[--r->scope_count];
        else TRY(end_and_model(r, e.hand, false));
    }
    int64_t until = moment_of(r->now + 100000, WHEN_MAIN_WAKES);
    ceni_sleep_until(until);
    ceni_world_settle();
    for (bool happened = true; happened;) TRY(model_event(r, until, &happened));
    crew_end();
    TRY(askers_poll(0));
    askers_end();
    for (int i = 0; i < TWINS; i++)
        if (r->twins[i].pool) return "something is still out at the end";
    return NULL;
}
