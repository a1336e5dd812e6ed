/* SPDX-License-Identifier: MIT */
/*
 * Every element is a number, written out in as many bytes as the queue's
 * elements have. The model of a queue is the array of the numbers in it; of a
 * source, the moment it is due. The model also keeps the clock: in a world
 * time moves only when a step of ours says so, or when a wait must end.
 */
#include "model/queue_ops.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cenote/queue.h>

#ifdef CENI_WATCHED
#include "port/fake/world.h"
enum { TIME_IS_VIRTUAL = 1 };
#define advance_clock(ns) ceni_world_advance(ns)
#else
enum { TIME_IS_VIRTUAL = 0 }; /* nothing may wait for the clock: sources are never due */
#define advance_clock(ns) ((void)(ns))
#endif

enum form { BOUNDED, UNBOUNDED, MEETING, AFTER, TICK, NEVER };

typedef struct shape {
    const char *name;
    enum form form;
    size_t capacity, element_size;
} shape;

/* Sizes that are no multiple of the slots' alignment are among them. */
static const shape shapes[] = {
    {"bounded_1", BOUNDED, 1, 1},   {"bounded_2", BOUNDED, 2, 24},
    {"bounded_5", BOUNDED, 5, 8},   {"unbounded", UNBOUNDED, 0, 20},
    {"rendezvous", MEETING, 0, 12}, {"after", AFTER, 1, 8},
    {"tick", TICK, 1, 8},           {"never", NEVER, 1, 8},
};
enum { QUEUES = sizeof shapes / sizeof shapes[0], NOBODY = QUEUES, CHOICES = QUEUES + 1 };
enum { ROOM = 2048, BUFFER = 40, UNTOUCHED = 0xEE };

#define NOT_DUE INT64_MAX

typedef struct twin {
    const shape *shape;
    cen_queue *queue;
    unsigned ids[ROOM], count;
    bool closed;
    int64_t due, period;
    unsigned dropped; /* elements that free has shown to drop, */
    bool drop_wrong;  /* and whether one of them was not the next */
} twin;

typedef struct rig {
    twin twins[QUEUES];
    int64_t now;
    unsigned next_id;
    char text[MODEL_TEXT];
} rig;

__attribute__((format(printf, 2, 3))) static const char *wrong(rig *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->text, sizeof r->text, format, arguments);
    va_end(arguments);
    return r->text;
}

static bool is_source(const twin *t)
{
    return t->shape->form >= AFTER;
}

/* ---- Elements ---------------------------------------------------------------------- */

static void write_out(const twin *t, int64_t number, unsigned char *bytes)
{
    memset(bytes, UNTOUCHED, BUFFER);
    if (is_source(t)) memcpy(bytes, &number, sizeof number);
    else
        for (size_t i = 0; i < t->shape->element_size; i++)
            bytes[i] = (unsigned char)((uint64_t)number >> (8 * (i % 2)) ^ i * 29);
}

/* What a pop must have left in the caller's buffer. */
static const char *compare(rig *r, const twin *t, cen_status status, int64_t expected, const unsigned char *bytes)
{
    unsigned char right[BUFFER];
    if (status == CEN_OK) write_out(t, expected, right);
    else memset(right, UNTOUCHED, sizeof right);
    if (memcmp(right, bytes, sizeof right) == 0) return NULL;
    if (status != CEN_OK)
        return wrong(r, "%s: %s, and the buffer was written to", t->shape->name, cen_status_name(status));
    return wrong(r, "%s: the wrong element, or not all of it; expected number %lld", t->shape->name,
                 (long long)expected);
}

/* ---- The model ----------------------------------------------------------------------- */

/* Whether the operation would be done, or answered CLOSED, without waiting. */
static bool ready(const rig *r, const twin *t, cen_direction direction)
{
    if (!t) return false;
    if (t->closed || (direction == CEN_POP && t->count)) return true;
    if (is_source(t)) return t->due <= r->now;
    if (direction == CEN_POP) return false;
    return t->shape->form == UNBOUNDED || (t->shape->form == BOUNDED && t->count < t->shape->capacity);
}

static cen_status model_push(const rig *r, twin *t, unsigned id, cen_status blocked)
{
    if (is_source(t)) return CEN_INVALID;
    if (t->closed) return CEN_CLOSED;
    if (!ready(r, t, CEN_PUSH)) return blocked;
    t->ids[t->count++] = id;
    return CEN_OK;
}

static void model_take(twin *t, int64_t now)
{
    if (!is_source(t)) memmove(t->ids, t->ids + 1, --t->count * sizeof t->ids[0]);
    else if (t->period == 0) t->due = NOT_DUE;
    else
        while (t->due <= now) t->due += t->period;
}

static cen_status model_pop(const rig *r, twin *t, int64_t *number, cen_status blocked)
{
    bool there = is_source(t) ? !t->closed && t->due <= r->now : t->count > 0;
    if (!there) return t->closed ? CEN_CLOSED : blocked;
    *number = is_source(t) ? t->due : (int64_t)t->ids[0];
    model_take(t, r->now);
    return CEN_OK;
}

/* Lets the model's time pass as a wait of `ns` for these operations would. */
static void model_wait(rig *r, twin *const *twins, const cen_direction *directions, size_t count, int64_t ns)
{
    int64_t until = ns == NOT_DUE ? NOT_DUE : r->now + ns;
    for (size_t i = 0; i < count; i++)
        if (ready(r, twins[i], directions[i])) return;
    for (size_t i = 0; i < count; i++)
        if (twins[i] && is_source(twins[i]) && !twins[i]->closed && twins[i]->due < until) until = twins[i]->due;
    r->now = until;
}

/* How long a step waits. Without virtual time it never does. */
static int64_t patience(int choice)
{
    static const int64_t choices[] = {0, 3, 25};
    return TIME_IS_VIRTUAL ? choices[choice % 3] : 0;
}

/* ---- Making and ending one --------------------------------------------------------------- */

static void see_dropped(void *argument, void *element)
{
    twin *t = argument;
    unsigned char right[BUFFER];
    bool more = t->dropped < t->count;
    write_out(t, more ? (int64_t)t->ids[t->dropped] : 0, right);
    if (!more || memcmp(right, element, t->shape->element_size) != 0) t->drop_wrong = true;
    t->dropped++;
}

static const char *end_one(rig *r, twin *t)
{
    t->dropped = 0;
    t->drop_wrong = false;
    cen_queue_free(t->queue);
    t->queue = NULL;
    unsigned expected = is_source(t) ? 0 : t->count;
    if (t->drop_wrong || t->dropped != expected)
        return wrong(r, "%s: free dropped %u elements, %u were in it%s", t->shape->name, t->dropped, expected,
                     t->drop_wrong ? ", and not these" : "");
    return NULL;
}

static cen_status make_source(rig *r, twin *t, int64_t ns)
{
    t->period = 0;
    t->due = NOT_DUE;
    if (t->shape->form == NEVER) return cen_queue_never(&t->queue, NULL);
    if (t->shape->form == TICK) {
        t->period = TIME_IS_VIRTUAL ? ns + 1 : INT64_MAX;
        if (TIME_IS_VIRTUAL) t->due = r->now + t->period;
        return cen_queue_tick(t->period, &t->queue, NULL);
    }
    if (TIME_IS_VIRTUAL) t->due = r->now + ns;
    return cen_queue_after(TIME_IS_VIRTUAL ? cen_at(t->due) : CEN_NEVER, &t->queue, NULL);
}

static const char *make_one(rig *r, int which, int64_t ns)
{
    static const cen_queue_kind kinds[] = {CEN_QUEUE_BOUNDED, CEN_QUEUE_UNBOUNDED, CEN_QUEUE_RENDEZVOUS};
    twin *t = &r->twins[which];
    t->shape = &shapes[which];
    t->count = 0;
    t->closed = false;
    cen_status status;
    if (is_source(t)) {
        status = make_source(r, t, ns);
    } else {
        cen_queue_options options = CEN_QUEUE_OPTIONS(.name = t->shape->name, .element_size = t->shape->element_size,
                                                      .kind = kinds[t->shape->form], .capacity = t->shape->capacity,
                                                      .drop = see_dropped, .drop_argument = t);
        status = cen_queue_new(&options, &t->queue, NULL);
    }
    return status == CEN_OK ? NULL : wrong(r, "%s: new says %s", t->shape->name, cen_status_name(status));
}

/* ---- Push ------------------------------------------------------------------------------------ */

static const char *expect_status(rig *r, const char *what, cen_status status, cen_status expected)
{
    if (status == expected) return NULL;
    return wrong(r, "%s says %s, the model says %s", what, cen_status_name(status), cen_status_name(expected));
}

static const char *push_one(rig *r, int which, bool waits, int64_t ns)
{
    twin *t = &r->twins[which];
    unsigned char bytes[BUFFER];
    cen_direction push = CEN_PUSH;
    unsigned id = r->next_id++;
    if (t->count == ROOM) return NULL;
    write_out(t, id, bytes);
    if (waits && !is_source(t)) model_wait(r, &t, &push, 1, ns);
    cen_status expected = model_push(r, t, id, waits ? CEN_TIMEOUT : CEN_FULL);
    cen_status status =
        waits ? cen_queue_push_until(t->queue, bytes, cen_in_ns(ns)) : cen_queue_try_push(t->queue, bytes);
    return expect_status(r, t->shape->name, status, expected);
}

static const char *try_push(void *state, int a, int b)
{
    return push_one(state, a, false, b);
}

static const char *push_until(void *state, int a, int b)
{
    return push_one(state, a, true, patience(b));
}

static const char *force_push(void *state, int a, int b)
{
    rig *r = state;
    twin *t = &r->twins[a];
    unsigned char bytes[BUFFER], evicted[BUFFER];
    unsigned id = r->next_id++;
    (void)b;
    if (t->count == ROOM) return NULL;
    write_out(t, id, bytes);
    memset(evicted, UNTOUCHED, sizeof evicted);
    bool out = false, evicts = t->shape->form == BOUNDED && !t->closed && t->count == t->shape->capacity;
    int64_t oldest = 0;
    if (evicts) model_pop(r, t, &oldest, CEN_EMPTY);
    cen_status expected = t->shape->form == MEETING ? CEN_INVALID : model_push(r, t, id, CEN_FULL);
    const char *text = expect_status(r, t->shape->name, cen_queue_force_push(t->queue, bytes, evicted, &out), expected);
    if (text) return text;
    if (out != evicts) return wrong(r, "%s: force_push evicts %d, the model %d", t->shape->name, out, evicts);
    return compare(r, t, evicts ? CEN_OK : CEN_EMPTY, oldest, evicted);
}

/* ---- Pop ---------------------------------------------------------------------------------------- */

static const char *pop_one(rig *r, int which, bool waits, int64_t ns)
{
    twin *t = &r->twins[which];
    unsigned char bytes[BUFFER];
    cen_direction pop = CEN_POP;
    int64_t number = 0;
    memset(bytes, UNTOUCHED, sizeof bytes);
    if (waits) model_wait(r, &t, &pop, 1, ns);
    cen_status expected = model_pop(r, t, &number, waits ? CEN_TIMEOUT : CEN_EMPTY);
    cen_status status =
        waits ? cen_queue_pop_until(t->queue, cen_in_ns(ns), bytes) : cen_queue_try_pop(t->queue, bytes);
    const char *text = expect_status(r, t->shape->name, status, expected);
    return text ? text : compare(r, t, status, number, bytes);
}

static const char *try_pop(void *state, int a, int b)
{
    return pop_one(state, a, false, b);
}

static const char *pop_until(void *state, int a, int b)
{
    return pop_one(state, a, true, patience(b));
}

/* ---- Close, look, time, anew -------------------------------------------------------------------- */

static const char *close_one(void *state, int a, int b)
{
    rig *r = state;
    twin *t = &r->twins[a];
    (void)b;
    cen_status expected = t->closed ? CEN_CLOSED : CEN_OK;
    t->closed = true;
    return expect_status(r, t->shape->name, cen_queue_close(t->queue), expected);
}

static const char *look(void *state, int a, int b)
{
    static const size_t most[] = {[UNBOUNDED] = SIZE_MAX, [MEETING] = 0, [AFTER] = 1, [TICK] = 1, [NEVER] = 1};
    rig *r = state;
    const twin *t = &r->twins[a];
    (void)b;
    size_t length = is_source(t) ? !t->closed && t->due <= r->now : t->count;
    size_t capacity = t->shape->form == BOUNDED ? t->shape->capacity : most[t->shape->form];
    if (cen_queue_length(t->queue) != length)
        return wrong(r, "%s: length %zu, the model has %zu", t->shape->name, cen_queue_length(t->queue), length);
    if (cen_queue_is_closed(t->queue) != t->closed)
        return wrong(r, "%s: is_closed is not %d", t->shape->name, t->closed);
    if (cen_queue_capacity(t->queue) != capacity) return wrong(r, "%s: the wrong capacity", t->shape->name);
    if (cen_queue_element_size(t->queue) != t->shape->element_size)
        return wrong(r, "%s: the wrong size", t->shape->name);
    if (strcmp(cen_queue_name(t->queue), t->shape->name) != 0) return wrong(r, "%s: the wrong name", t->shape->name);
    if (TIME_IS_VIRTUAL && cen_clock() != r->now)
        return wrong(r, "the clock is %lld, the model's %lld", (long long)cen_clock(), (long long)r->now);
    return NULL;
}

static const char *advance(void *state, int a, int b)
{
    rig *r = state;
    (void)b;
    advance_clock(a);
    r->now += a;
    return NULL;
}

static const char *renew(void *state, int a, int b)
{
    rig *r = state;
    const char *text = end_one(r, &r->twins[a]);
    return text ? text : make_one(r, a, b);
}

/* ---- Select ----------------------------------------------------------------------------------------- */

/* Two cases over any two of the queues, the same one twice and none included.
 * a says which queues; b says the directions, how long to wait, and by which
 * of the three functions. */
enum { PAIRS = CHOICES * CHOICES, WAYS = 4 * 3 };

typedef struct pair {
    twin *twins[2];
    cen_direction directions[2];
    unsigned char bytes[2][BUFFER];
    unsigned ids[2];
} pair;

static twin *twin_or_none(rig *r, int choice)
{
    return choice == NOBODY ? NULL : &r->twins[choice];
}

static bool make_pair(rig *r, int a, int b, pair *p)
{
    bool valid = true;
    p->twins[0] = twin_or_none(r, a / CHOICES);
    p->twins[1] = twin_or_none(r, a % CHOICES);
    for (int i = 0; i < 2; i++) {
        p->directions[i] = b >> i & 1 ? CEN_POP : CEN_PUSH;
        p->ids[i] = r->next_id++;
        memset(p->bytes[i], UNTOUCHED, BUFFER);
        if (!p->twins[i] || p->directions[i] == CEN_POP) continue;
        if (is_source(p->twins[i])) valid = false;
        else write_out(p->twins[i], p->ids[i], p->bytes[i]);
    }
    return valid;
}

/* Does on the model what the select said it did, and compares. */
static const char *check_choice(rig *r, pair *p, cen_status status, size_t which, bool biased)
{
    if (which > 1) return wrong(r, "select chose case %zu of two", which);
    twin *t = p->twins[which];
    if (!ready(r, t, p->directions[which])) return wrong(r, "select chose case %zu, which is not ready", which);
    if (biased && which == 1 && ready(r, p->twins[0], p->directions[0])) return wrong(r, "the first case was ready");
    int64_t number = 0;
    bool pops = p->directions[which] == CEN_POP;
    cen_status expected = pops ? model_pop(r, t, &number, CEN_TIMEOUT) : model_push(r, t, p->ids[which], CEN_TIMEOUT);
    const char *text = expect_status(r, "select", status, expected);
    size_t other = 1 - which;
    if (!text && pops) text = compare(r, t, status, number, p->bytes[which]);
    if (!text && p->twins[other] && p->directions[other] == CEN_POP)
        text = compare(r, p->twins[other], CEN_EMPTY, 0, p->bytes[other]);
    return text;
}

static const char *select_two(void *state, int a, int b)
{
    rig *r = state;
    pair p;
    bool valid = make_pair(r, a, b, &p);
    int way = b / 4;
    int64_t ns = way == 2 ? patience(b) : way == 1 ? patience(2) : 0;
    for (int i = 0; i < 2; i++)
        if (p.twins[i] && p.twins[i]->count == ROOM) return NULL;
    if (valid) model_wait(r, p.twins, p.directions, 2, ns);
    cen_case cases[2];
    for (int i = 0; i < 2; i++)
        cases[i] = (cen_case){p.twins[i] ? p.twins[i]->queue : NULL, p.bytes[i], p.directions[i], {0}};
    size_t which = 7;
    cen_status status = way == 0   ? cen_try_select(cases, 2, &which)
                        : way == 1 ? cen_select_biased(cases, 2, cen_in_ns(ns), &which)
                                   : cen_select(cases, 2, cen_in_ns(ns), &which);
    if (!valid) return expect_status(r, "select", status, CEN_INVALID);
    bool any = ready(r, p.twins[0], p.directions[0]) || ready(r, p.twins[1], p.directions[1]);
    if (any) return check_choice(r, &p, status, which, way == 1);
    if (which != 7) return wrong(r, "select wrote a number with nothing done");
    return expect_status(r, "select", status, CEN_TIMEOUT);
}

/* ---- In words ------------------------------------------------------------------------------------------ */

static const char *name_of(int choice)
{
    return choice == NOBODY ? "NULL" : shapes[choice].name;
}

#define SHOW(function, format, ...) \
    static void show_##function(char *text, size_t room, int a, int b) \
    { \
        (void)a; \
        (void)b; \
        snprintf(text, room, format, __VA_ARGS__); \
    }

SHOW(try_push, "try_push(%s)", name_of(a))
SHOW(push_until, "push_until(%s, in %d ns)", name_of(a), (int)patience(b))
SHOW(force_push, "force_push(%s)", name_of(a))
SHOW(try_pop, "try_pop(%s)", name_of(a))
SHOW(pop_until, "pop_until(%s, in %d ns)", name_of(a), (int)patience(b))
SHOW(close, "close(%s)", name_of(a))
SHOW(look, "look at %s", name_of(a))
SHOW(advance, "advance the clock by %d ns", a)
SHOW(renew, "free %s and make it anew, with a time of %d ns", name_of(a), b)
SHOW(select, "%s(%s %s, %s %s)",
     b / 4 == 0   ? "try_select"
     : b / 4 == 1 ? "select_biased"
                  : "select",
     b & 1 ? "pop" : "push", name_of(a / CHOICES), b & 2 ? "pop" : "push", name_of(a % CHOICES))

const model_op queue_ops[QUEUE_OPS] = {
    {"try_push", 12, QUEUES, 0, try_push, show_try_push},
    {"push_until", 6, QUEUES, 3, push_until, show_push_until},
    {"force_push", 5, QUEUES, 0, force_push, show_force_push},
    {"try_pop", 10, QUEUES, 0, try_pop, show_try_pop},
    {"pop_until", 6, QUEUES, 3, pop_until, show_pop_until},
    {"select", 12, PAIRS, WAYS, select_two, show_select},
    {"close", 1, QUEUES, 0, close_one, show_close},
    {"look", 6, QUEUES, 0, look, show_look},
    {"advance", 4, 40, 0, advance, show_advance},
    {"renew", 2, QUEUES, 30, renew, show_renew},
};

/* ---- A run ------------------------------------------------------------------------------------------------ */

void *queue_ops_setup(void)
{
    static rig one;
    one.now = cen_clock();
    one.next_id = 1;
    for (int i = 0; i < QUEUES; i++)
        if (make_one(&one, i, 10)) return NULL;
    return &one;
}

const char *queue_ops_teardown(void *state)
{
    rig *r = state;
    for (int i = 0; i < QUEUES; i++) {
        const char *text = end_one(r, &r->twins[i]);
        if (text) return text;
    }
    return NULL;
}
