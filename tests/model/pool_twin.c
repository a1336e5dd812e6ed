/* SPDX-License-Identifier: MIT */
/*
 * The pool's side of a twin: how it is made, its driver, and its numbers
 * compared with the model's.
 */
#include "model/pool_twin.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/pool_askers.h"
#include "model/pool_crew.h"
#include "pool/internal.h"
#include "support/model.h"

const char *wrong(const char *format, ...)
{
    static char text[MODEL_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return text;
}

const char *expect_status(const char *what, cen_status status, cen_status expected)
{
    if (status == expected) return NULL;
    return wrong("%s says %s, the model says %s", what, cen_status_name(status), cen_status_name(expected));
}

/* ---- Shapes --------------------------------------------------------------------- */

/* 0 is the plainest: a driver, made on demand, one object, all defaults. */
shape shape_of(int number)
{
    static const int64_t overtake[] = {0, CEN_NONE, 500};
    shape s = {.patience_ns = 640};
    int driver = number % 4;
    s.opens = driver != 1;
    s.closes = driver != 2;
    s.interrupts = driver == 0;
    s.max = (uint32_t)(number / 4 % 4 + 1);
    s.order = (cen_order)(number / 16 % 3);
    s.max_barging_ns = overtake[number / 48 % 3];
    s.exact_times = number / 144 % 2;
    s.eager = number / 288 % 2;
    return s;
}

void shape_show(int number, char *text, size_t room)
{
    static const char *const orders[] = {"warm", "lifo", "fifo"};
    shape s = shape_of(number);
    snprintf(text, room, "%s, max %u%s%s%s%s%s%s", orders[s.order], s.max,
             s.max_barging_ns == CEN_NONE ? ", strict" : "", s.exact_times ? ", exact times" : "",
             s.eager ? ", eager" : "", s.opens ? "" : ", no open", s.closes ? "" : ", no close",
             s.interrupts ? "" : ", no interrupt");
}

/* ---- The driver -------------------------------------------------------------------- */

enum { THINGS = 1 << 14 };
static thing things[THINGS];
static uint64_t things_made;

thing *thing_made(twin *t)
{
    thing *object = &things[things_made % THINGS];
    *object = (thing){.twin = t, .number = ++things_made};
    return object;
}

typedef struct search {
    const void *object;
    uint32_t index;
} search;

static bool is_it(void *argument, const cen_object_view *h)
{
    search *s = argument;
    if (h->object != s->object) return true;
    s->index = h->index;
    return false;
}

uint32_t index_shown(cen_pool *pool, const thing *object)
{
    search s = {object, NOWHERE};
    return cen_pool_each(pool, is_it, &s) == CEN_OK && s.index < TWIN_PLACES ? s.index : NOWHERE;
}

outcome outcome_of_take(cen_status status, const cen_lease *lease)
{
    outcome o = {.status = status, .lease = *lease, .moment = cen_clock(), .index = NOWHERE};
    if (status != CEN_OK) return o;
    const thing *object = lease->object;
    o.index = index_shown(lease->pool, object);
    o.open = object->state == THING_IN;
    return o;
}

static void note(twin *t, const char *misdeed)
{
    if (!t->misdeed) t->misdeed = misdeed;
}

/* Whatever is not allowed inside a call of the pool's own is refused and changes nothing. */
static void ask_for_too_much(twin *t)
{
    if (t->quiet) return;
    thing outside = {.twin = t};
    if (cen_pool_adopt(t->pool, &outside, NULL) != CEN_MISUSE) note(t, "adopt inside the driver is not MISUSE");
    if (cen_pool_resize(t->pool, 7, NULL) != CEN_MISUSE) note(t, "resize inside the driver is not MISUSE");
    if (cen_pool_close(t->pool, CEN_NOW, NULL, NULL) != CEN_MISUSE) note(t, "close inside the driver is not MISUSE");
    if (cen_pool_free(t->pool) != CEN_MISUSE) note(t, "free inside the driver is not MISUSE");
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    if (cen_pool_stats_get(t->pool, &stats) != CEN_OK) note(t, "look inside the driver is not OK");
}

static cen_status open_thing(void *argument, void **out, cen_error *error)
{
    twin *t = argument;
    ask_for_too_much(t);
    if (t->sound > 0) t->sound--;
    else if (t->failing > 0) {
        t->failing--;
        error->code = OPEN_FAILED_CODE;
        snprintf(error->text, sizeof error->text, OPEN_FAILED_TEXT);
        return OPEN_FAILED;
    }
    t->opens_seen++;
    *out = thing_made(t);
    return CEN_OK;
}

static void close_thing(void *argument, void *object)
{
    twin *t = argument;
    thing *closed = object;
    ask_for_too_much(t);
    if (closed->twin != t) note(t, "the driver was to close another pool's object");
    if (closed->state == THING_CLOSED) note(t, "an object was closed twice");
    if (!t->pool && t->closed_last && t->closed_last < closed->number)
        note(t, "a new that failed has not closed the last one first");
    closed->state = THING_CLOSED;
    t->closed_last = closed->number;
    t->closes_seen++;
}

static void interrupt_thing(void *argument, void *object)
{
    twin *t = argument;
    thing *interrupted = object;
    if (interrupted->twin != t || interrupted->state != THING_IN)
        note(t, "the driver was to interrupt what is not there");
    interrupted->interrupts++;
}

cen_status twin_new(twin *t, shape s, cen_error *error)
{
    /* One for each mix, because a pool keeps the pointer. */
    static cen_driver_calls calls[8];
    unsigned mix = (unsigned)s.opens | (unsigned)s.closes << 1 | (unsigned)s.interrupts << 2;
    calls[mix] = (cen_driver_calls){.size = sizeof calls[mix],
                                    .open = s.opens ? open_thing : NULL,
                                    .close = s.closes ? close_thing : NULL,
                                    .interrupt = s.interrupts ? interrupt_thing : NULL,
                                    .opens_nothing = !s.opens,
                                    .closes_nothing = !s.closes};
    unsigned sound = t->sound, failing = t->failing;
    *t = (twin){.shape = s, .max = s.max, .sound = sound, .failing = failing, .quiet = true};
    for (int i = 0; i < ACTORS; i++) t->last[i] = NOWHERE;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "twin", .driver = {&calls[mix], t}, .max = s.max, .eager = s.eager, .order = s.order,
                         .default_deadline = cen_in_ns(s.patience_ns), .max_barging_ns = s.max_barging_ns,
                         .exact_times = s.exact_times);
    cen_status status = cen_pool_new(&options, &t->pool, error);
    t->quiet = status != CEN_OK;
    if (status == CEN_OK) t->first = ceni_setting(&t->pool->first_generation);
    return status;
}

/* ---- Comparing ------------------------------------------------------------------------ */

#define SAME(field) \
    if (s->field != m->field) \
    return wrong("%s is %lld, the model says %lld", #field, (long long)s->field, (long long)m->field)

static const char *compare_states(const cen_pool_stats *s, const cen_pool_stats *m)
{
    SAME(max);
    SAME(idle);
    SAME(held);
    SAME(moving);
    SAME(revoked);
    SAME(opening);
    SAME(closing);
    SAME(waiting);
    SAME(is_closed);
    return NULL;
}

static const char *compare_counters(const cen_pool_stats *s, const cen_pool_stats *m)
{
    SAME(taken);
    SAME(ended);
    SAME(opened);
    SAME(open_failed);
    SAME(adopted);
    SAME(closed);
    SAME(discarded);
    SAME(waited);
    SAME(served);
    SAME(timed_out);
    SAME(sent_away);
    SAME(failed);
    SAME(wait_longest_ns);
    SAME(wait_total_ns);
    SAME(oldest_wait_ns);
    return NULL;
}

/* As the header has them. */
static const char *check_equations(const cen_pool_stats *s)
{
    uint64_t there = s->places - s->vacant, out = s->held + s->revoked;
    if (s->idle + s->held + s->moving + s->revoked + s->opening + s->closing + s->vacant != s->places)
        return "the places do not add up";
    if (s->places < s->max) return "there are fewer places than max";
    if (s->taken - s->ended < out || s->taken - s->ended > out + s->moving)
        return "taken, ended and held do not add up";
    if (s->opened + s->adopted - s->closed != there) return "opened, adopted and closed do not add up";
    if (s->waited != s->served + s->timed_out + s->sent_away + s->failed + s->shed + s->cancelled + s->waiting)
        return "the waits do not add up";
    if (s->wait_p50_ns > s->wait_p99_ns || s->wait_p99_ns > s->wait_longest_ns)
        return "the percentiles are not in order";
    return NULL;
}

const char *twin_compare(const rig *r, const twin *t)
{
    if (t->misdeed) return t->misdeed;
    cen_pool_stats s = CEN_SIZED(cen_pool_stats), m = t->tally;
    TRY(expect_status("look", cen_pool_stats_get(t->pool, &s), CEN_OK));
    m.max = t->max;
    m.waiting = t->waiting;
    m.is_closed = t->closed;
    m.oldest_wait_ns = t->waiting ? r->now - r->actors[t->line[0]].since : 0;
    for (int i = 0; i < TWIN_PLACES; i++) {
        m.idle += t->places[i].state == IDLE;
        m.held += t->places[i].state == HELD;
        m.revoked += t->places[i].state == REVOKED;
    }
    TRY(compare_states(&s, &m));
    TRY(compare_counters(&s, &m));
    TRY(check_equations(&s));
    if (t->sound != t->model_sound || t->failing != t->model_failing) return "not as many openings failed as were to";
    if (t->opens_seen != m.opened) return wrong("the driver opened %llu objects", (unsigned long long)t->opens_seen);
    if (t->shape.closes && t->closes_seen != m.closed)
        return wrong("the driver closed %llu objects", (unsigned long long)t->closes_seen);
    if (cen_pool_max(t->pool) != t->max || cen_pool_is_closed(t->pool) != t->closed) return "max or is_closed is wrong";
    return strcmp(cen_pool_name(t->pool), "twin") == 0 ? NULL : "the name is wrong";
}

const char *twin_compare_holding(const rig *r, const twin *t, const cen_object_view *h, uint32_t index)
{
    static const cen_object_state states[] = {
        [IDLE] = CEN_OBJECT_IDLE, [HELD] = CEN_OBJECT_HELD, [REVOKED] = CEN_OBJECT_REVOKED};
    const place *p = &t->places[index];
    if (h->index != index) return wrong("slot %u is shown, it is the turn of %u", h->index, index);
    if (h->state != states[p->state]) return wrong("slot %u is shown in state %d", index, (int)h->state);
    if (h->object != p->thing) return wrong("slot %u is shown with another object", index);
    uint64_t generation = t->first + p->generation; /* one that was not lent since its slot was given back is further */
    if (p->state == IDLE ? h->generation < generation : h->generation != generation)
        return wrong("slot %u is shown with another generation", index);
    bool out = p->state != IDLE;
    bool by_main = p->holder == MAIN || is_asker(p->holder);
    uint64_t holder = !out ? 0 : by_main ? cen_thread_number() : crew_number(p->holder);
    if (h->holder != holder) return wrong("slot %u is shown with holder %llu", index, (unsigned long long)h->holder);
    bool detached = out && is_asker(p->holder);
    if (h->is_detached != detached) return wrong("slot %u is shown as %sdetached", index, detached ? "not " : "");
    if (h->where != (out ? p->where : NULL)) return wrong("slot %u is shown with another call", index);
    if (out && t->shape.exact_times && !h->is_exact)
        return wrong("slot %u is shown with a time that is not exact", index);
    /* exact by the option, or one in 64 */
    int64_t age = !out ? 0 : h->is_exact ? r->now - p->since : p->met ? r->now - p->met : 0;
    if (h->held_ns == age) return NULL;
    return wrong("slot %u is shown as held for %lld ns, the model says %lld", index, (long long)h->held_ns,
                 (long long)age);
}
