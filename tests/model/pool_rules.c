/* SPDX-License-Identifier: MIT */
/*
 * The model's steps. Each follows one sentence of pool.h and says where the
 * system went another way. Nothing here waits or is concurrent: who waits is a
 * name in an array, and time is a number.
 */
#include "model/pool_askers.h"
#include "model/pool_crew.h"
#include "model/pool_twin.h"

int64_t moment_of(int64_t moment, int kind)
{
    int64_t rest = (kind - moment % MOMENTS) % MOMENTS;
    return moment + (rest < 0 ? rest + MOMENTS : rest);
}

/* ---- Slots ---------------------------------------------------------------------- */

static bool any_idle(const twin *t)
{
    for (int i = 0; i < TWIN_PLACES; i++)
        if (t->places[i].state == IDLE) return true;
    return false;
}

static bool may_open(const twin *t)
{
    return t->shape.opens && !t->closed && t->live < t->max;
}

/* The idle slot that became so first, or last; or the one with the lowest or highest index. */
typedef enum rank { OLDEST, NEWEST, LOWEST, HIGHEST } rank;

static uint32_t idle_by(const twin *t, rank by)
{
    uint32_t best = NOWHERE;
    for (uint32_t i = 0; i < TWIN_PLACES; i++) {
        if (t->places[i].state != IDLE) continue;
        uint64_t turn = t->places[i].turn, against = best == NOWHERE ? turn : t->places[best].turn;
        bool first = best == NOWHERE;
        if (first || by == HIGHEST || (by == OLDEST && turn < against) || (by == NEWEST && turn > against)) best = i;
    }
    return best;
}

/* Who asks does so on main's thread. */
static int thread_of(int who)
{
    return is_asker(who) ? MAIN : who;
}

/* Which idle objects the order of the pool lets an actor have. */
static const char *check_choice(const rig *r, const twin *t, int who, uint32_t index, bool from_line)
{
    if (r->any_order) return NULL;
    if (t->shape.order != CEN_ORDER_WARM) {
        uint32_t right = idle_by(t, t->shape.order == CEN_ORDER_LIFO ? NEWEST : OLDEST);
        return index == right ? NULL : wrong("slot %u was lent; by the order it is the turn of %u", index, right);
    }
    if (from_line) return NULL; /* what has just come back, or the lowest */
    who = thread_of(who);
    uint32_t own = t->last[who], lowest = idle_by(t, LOWEST);
    bool own_idle = own < TWIN_PLACES && t->places[own].state == IDLE;
    if (own_idle && index == own) return NULL;
    if (own_idle && t->last_sure[who])
        return wrong("slot %u was lent; this thread had %u last, which is idle", index, own);
    return index == lowest ? NULL : wrong("slot %u was lent, the lowest idle one is %u", index, lowest);
}

static void make_vacant(twin *t, place *p)
{
    p->state = VACANT;
    p->thing->in_slot = false;
    p->thing = NULL;
    t->live--;
    t->tally.closed++;
}

/* The object of the slot has been closed by now, if the driver closes. */
static const char *close_place(twin *t, uint32_t index)
{
    place *p = &t->places[index];
    bool closed = p->thing->state == THING_CLOSED;
    make_vacant(t, p);
    if (t->shape.closes && !closed) return wrong("the object of slot %u has not been closed", index);
    return NULL;
}

/* ---- Lending --------------------------------------------------------------------- */

static const outcome *outcome_of(const rig *r, int who)
{
    if (is_asker(who)) return asker_outcome(who, r->now);
    return who == MAIN ? &r->of_main : crew_outcome(who);
}

static const char *check_outcome(const rig *r, int who, const outcome *o, cen_status expected)
{
    if (!o) return wrong("actor %d should have been told %s and still waits", who, cen_status_name(expected));
    if (o->status != expected)
        return wrong("actor %d was told %s, the model says %s", who, cen_status_name(o->status),
                     cen_status_name(expected));
    if (o->moment == r->now) return NULL;
    return wrong("actor %d was told %s at %lld, the model says at %lld", who, cen_status_name(expected),
                 (long long)o->moment, (long long)r->now);
}

static void remember_last(rig *r, twin *t, int who, uint32_t index)
{
    for (int i = 0; i < TWINS; i++) r->twins[i].last_sure[who] = false;
    t->last[who] = index;
    t->last_sure[who] = true;
}

/* An actor that has been lent something holds it, or leaves it to main. */
static void hold(rig *r, twin *t, int who, const outcome *o)
{
    actor *a = &r->actors[who];
    hand held = {o->lease, o->index, t};
    a->phase = FREE;
    if (who != MAIN && a->hold_ns != KEEP) {
        a->phase = HOLDING;
        a->held = held;
        a->until = moment_of(r->now + a->hold_ns, WHEN_GIVES + who);
    } else if (who != MAIN && r->in_hand < HAND) {
        r->hands[r->in_hand++] = held;
    }
}

static const char *lend(rig *r, twin *t, int who, const outcome *o, bool opened, bool from_line)
{
    uint32_t index = o->index;
    if (o->lease.pool != t->pool || index >= TWIN_PLACES) return wrong("what was lent is not shown in this pool");
    place *p = &t->places[index];
    thing *object = o->lease.object;
    if (opened) {
        if (p->state != VACANT) return wrong("an object was opened in slot %u, which is not vacant", index);
        if (object->twin != t || object->in_slot) return wrong("the object in slot %u is not a new one", index);
        p->thing = object;
        object->in_slot = true;
    } else {
        if (p->state != IDLE) return wrong("slot %u was lent and is not idle", index);
        TRY(check_choice(r, t, who, index, from_line));
    }
    if (object != p->thing) return wrong("slot %u was lent with another slot's object", index);
    if (!o->open) return wrong("slot %u was lent with an object that is closed", index);
    uint64_t generation = o->lease.generation - t->first; /* further than the next, if the slot was given back before */
    if (generation <= p->generation) return wrong("slot %u: the generation is not above the last", index);
    p->generation = generation;
    p->state = HELD;
    p->holder = who;
    p->where = r->actors[who].where;
    p->since = r->now;
    p->met = 0;
    t->tally.taken++;
    if (!is_asker(who) || !from_line) remember_last(r, t, thread_of(who), index);
    hold(r, t, who, o);
    return NULL;
}

/* An opening came to an end. Several may go on at once, and which of them fails
 * is not for the line to say; how many do is compared after every step. */
static void count_opening(twin *t, bool well)
{
    if (!well) t->model_failing--, t->tally.open_failed++;
    else if (t->model_sound > 0) t->model_sound--;
    if (well) t->live++, t->tally.opened++;
}

/* What the actor gets: an idle object, or one that is opened for it, if that goes well. */
static const char *supply(rig *r, twin *t, int who, bool from_line)
{
    const outcome *o = outcome_of(r, who);
    bool opens = !any_idle(t), fails = opens && t->model_failing > 0 && o && o->status == OPEN_FAILED;
    r->actors[who].phase = FREE;
    if (from_line) fails ? t->tally.failed++ : t->tally.served++;
    if (opens) count_opening(t, !fails);
    TRY(check_outcome(r, who, o, fails ? OPEN_FAILED : CEN_OK));
    return fails ? NULL : lend(r, t, who, o, opens, from_line);
}

/* ---- The line -------------------------------------------------------------------------- */

static void leave_line(const rig *r, twin *t, int who)
{
    unsigned at = 0;
    while (t->line[at] != who) at++;
    for (t->waiting--; at < t->waiting; at++) t->line[at] = t->line[at + 1];
    int64_t waited = r->now - r->actors[who].since;
    t->tally.wait_total_ns += waited;
    if (waited > t->tally.wait_longest_ns) t->tally.wait_longest_ns = waited;
}

/* Nobody waits while an object is idle or may be opened. */
const char *model_serve(rig *r, twin *t)
{
    while (t->waiting && !t->closed && t->live <= t->max && (any_idle(t) || may_open(t))) {
        int who = t->line[0];
        leave_line(r, t, who);
        TRY(supply(r, t, who, true));
    }
    return NULL;
}

const char *model_take(rig *r, twin *t, int who, taking how)
{
    actor *a = &r->actors[who];
    bool queues = t->shape.max_barging_ns == CEN_NONE && t->waiting;
    if (t->closed) return check_outcome(r, who, outcome_of(r, who), CEN_CLOSED);
    if (!queues && (any_idle(t) || (may_open(t) && !how.inside))) return supply(r, t, who, false);
    if (how.inside && (how.waits || (may_open(t) && !queues)))
        return check_outcome(r, who, outcome_of(r, who), CEN_MISUSE);
    if (!how.waits) return check_outcome(r, who, outcome_of(r, who), how.none);
    t->line[t->waiting++] = who;
    t->tally.waited++;
    a->phase = WAITING;
    a->twin = t;
    a->since = r->now;
    return NULL;
}

/* ---- Ending a lease ------------------------------------------------------------------------ */

cen_status model_status_of(const hand *h)
{
    if (!h->twin) return CEN_STALE;
    const place *p = &h->twin->places[h->index];
    if (h->twin->first + p->generation != h->lease.generation) return CEN_STALE;
    return p->state == HELD ? CEN_OK : p->state == REVOKED ? CEN_REVOKED : CEN_STALE;
}

static void keep_old(rig *r, const hand *h)
{
    if (!h->twin->freed) r->old[r->old_count++ % OLD] = *h; /* else its memory may be gone at any time */
}

const char *model_bury(rig *r, twin *t)
{
    if (!t->freed || t->live > 0) return NULL;
    for (unsigned i = 0; i < r->scope_count;)
        if (r->scopes[i].hand.twin == t) r->scopes[i] = r->scopes[--r->scope_count];
        else i++;
    t->pool = NULL;
    const cen_pool_stats *m = &t->tally;
    if (m->closed != m->opened + m->adopted || t->opens_seen != m->opened)
        return "a freed pool has not ended all of its objects";
    if (t->shape.closes && t->closes_seen != m->closed) return "the driver has not closed all objects of a freed pool";
    return t->misdeed;
}

const char *model_end(rig *r, const hand *h, bool discards)
{
    twin *t = h->twin;
    place *p = &t->places[h->index];
    bool held = p->state == HELD;
    t->tally.ended++;
    if (held && discards) t->tally.discarded++;
    if (held && t->closed) t->given_after_close++;
    keep_old(r, h);
    if (!held || discards || t->closed || t->live > t->max) {
        TRY(close_place(t, h->index));
    } else {
        p->state = IDLE;
        p->turn = ++t->turns;
    }
    if (!r->any_order) TRY(model_serve(r, t));
    return model_bury(r, t);
}

const char *model_put(rig *r, twin *t, thing *object, uint32_t index)
{
    place *p = &t->places[index];
    if (p->state != VACANT) return wrong("an object was put into slot %u, which is not vacant", index);
    p->state = IDLE;
    p->thing = object;
    p->turn = ++t->turns;
    object->in_slot = true;
    t->live++;
    return model_serve(r, t);
}

/* ---- Resize and close ------------------------------------------------------------------------- */

const char *model_resize(rig *r, twin *t, uint32_t max)
{
    t->max = max;
    while (t->live > max && any_idle(t)) TRY(close_place(t, idle_by(t, HIGHEST)));
    return model_serve(r, t);
}

/* The text of a take that got nothing names the holders, and a close needs their ages: from now on each is known. */
void model_meet_holders(const rig *r, twin *t)
{
    for (int i = 0; i < TWIN_PLACES; i++)
        if (t->places[i].state == HELD && !t->places[i].met) t->places[i].met = r->now;
}

const char *model_close_begin(rig *r, twin *t, cen_close_report *report)
{
    t->closed = true;
    model_meet_holders(r, t);
    for (; t->waiting; report->waiting++) {
        int who = t->line[0];
        leave_line(r, t, who);
        t->tally.sent_away++;
        r->actors[who].phase = FREE;
        TRY(check_outcome(r, who, outcome_of(r, who), CEN_CLOSED));
    }
    for (; any_idle(t); report->idle++) TRY(close_place(t, idle_by(t, LOWEST)));
    return NULL;
}

const char *model_close_end(twin *t, cen_close_report *report)
{
    report->given = t->given_after_close;
    for (int i = 0; i < TWIN_PLACES; i++) {
        place *p = &t->places[i];
        if (p->state != HELD) continue;
        p->state = REVOKED;
        report->revoked++;
        if (p->thing->interrupts != t->shape.interrupts)
            return wrong("slot %d: %u interrupts", i, p->thing->interrupts);
    }
    return NULL;
}

/* ---- Time ---------------------------------------------------------------------------------------- */

static const char *time_out(rig *r, int who)
{
    actor *a = &r->actors[who];
    leave_line(r, a->twin, who);
    a->twin->tally.timed_out++;
    a->phase = FREE;
    return check_outcome(r, who, outcome_of(r, who), CEN_TIMEOUT);
}

static const char *give_back(rig *r, int who)
{
    actor *a = &r->actors[who];
    a->phase = FREE;
    TRY(check_outcome(r, who, outcome_of(r, who), model_status_of(&a->held)));
    return model_end(r, &a->held, a->discards);
}

const char *model_cancel(rig *r, int who)
{
    actor *a = &r->actors[who];
    twin *t = a->twin;
    leave_line(r, t, who);
    t->tally.cancelled++;
    a->phase = FREE;
    return model_serve(r, t);
}

const char *model_event(rig *r, int64_t limit, bool *happened)
{
    int next = ACTORS;
    for (int who = 0; who < ACTORS; who++) {
        const actor *a = &r->actors[who];
        if (a->phase != FREE && a->until <= limit && (next == ACTORS || a->until < r->actors[next].until)) next = who;
    }
    *happened = next != ACTORS;
    if (!*happened) return NULL;
    r->now = r->actors[next].until;
    return r->actors[next].phase == WAITING ? time_out(r, next) : give_back(r, next);
}
