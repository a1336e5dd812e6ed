/* SPDX-License-Identifier: MIT */
/*
 * Explanations why there is no object: the text and cause of a take that failed, and cen_pool_explain.
 *
 * A take gets no object for one of a few causes. They need different remedies and look the same from outside: no
 * object comes back in time. So one picture of the pool is taken, and the first of these causes that applies is
 * named:
 *
 *     CLOSED, PAUSED              the program has closed or paused the pool
 *     SELF_WAIT                   the holder holds all of them itself
 *     OPENING_FAILED              there is room, and objects cannot be opened; BREAKER_OPEN: and the
 *                                 breaker is not closed
 *     OPENING_SLOW                an object is being opened
 *     NOT_OPENED                  there is room, and no helper has begun to open one
 *     NO_OBJECTS                  no driver, and no object was adopted
 *     LEAK                        a holder has had an object for far longer than another, as far
 *                                 as ages are known, or no object came back for a long time
 *     EXHAUSTED                   all are in use, and come back
 *     REVOKED, HEALTH_CHECK,      none is in use; they are revoked, being tested, being reset or closing
 *     RESETTING, CLOSING
 *
 * NO_HELPER replaces OPENING_SLOW, NOT_OPENED, HEALTH_CHECK, RESETTING and CLOSING while a driver call waits for a
 * helper thread. HEALTH_CHECK is also the cause of a take that spent its time on objects that failed their tests. The
 * cause is a cen_cause. It is decided once, and the sentence is made from it: programs decide by the cause and do not
 * read the sentence.
 *
 * The counts come from one cen_pool_stats_get and agree with one another (L19). Holders are read a moment later, and
 * are named only if the counts have any, each with the age of its current lease.
 *
 * The cost of a failed take is bounded. In a pool of more than MOST_LOOKED slots, or more than FEW if the take did
 * not wait, or while another thread reads the statistics, the text has only the counts that are at hand, and only the
 * first slots are read. A thousand takes that time out at once must not read a million slots each, nor a thousand
 * slots each: they share one reason (reason.c). cen_pool_explain reads all slots.
 *
 * No lock is held while text is written.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

enum {
    MOST_LISTED = 5,    /* holders */
    MOST_LOOKED = 1024, /* slots read by a take that failed after a wait ... */
    FEW = 64,           /* ... and by one that did not wait: it may be called in a loop */
    MOST_PLACE = 100,   /* bytes of a call site, the last ones, which have the file's name */
    MOST_WORDS = 300,   /* bytes of the driver's text in an error */
    FAR_OLDER = 10,     /* factor */
};
#define LONG_NS INT64_C(10000000000)      /* a lease of this age may be a leak ... */
#define VERY_LONG_NS INT64_C(60000000000) /* ... and if no object came back for this time, all leases may be */

/* ---- Writing ---------------------------------------------------------------------------- */

typedef struct writer {
    char *text;
    size_t room, used; /* used: including the bytes that did not fit */
} writer;

__attribute__((format(printf, 2, 3))) static void say(writer *w, const char *format, ...)
{
    bool fits = w->used < w->room;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(fits ? w->text + w->used : NULL, fits ? w->room - w->used : 0, format, arguments);
    va_end(arguments);
    if (length > 0) w->used += (size_t)length;
}

/* Write a duration, in the largest unit that keeps two digits. */
static void say_time(writer *w, int64_t ns)
{
    const int64_t us = 1000, ms = 1000 * us, s = 1000 * ms, min = 60 * s;
    if (ns < 10 * us) say(w, "%lld ns", (long long)ns);
    else if (ns < 10 * ms) say(w, "%lld us", (long long)(ns / us));
    else if (ns < 10 * s) say(w, "%lld ms", (long long)(ns / ms));
    else if (ns < 10 * min) say(w, "%lld s", (long long)(ns / s));
    else say(w, "%lld min", (long long)(ns / min));
}

/* ---- The picture -------------------------------------------------------------------------- */

typedef struct picture {
    cen_pool *pool;
    cen_pool_stats s;
    bool partial;   /* only the counts at hand: idle and held are not distinguished, and are both in `held` */
    bool full;      /* no further object may be opened */
    cen_error last; /* the last failed opening; status OK: there was none */
    int64_t last_ago;
    uint64_t asker; /* the holder that takes; 0: none */
    int64_t waited;
    bool patient;                   /* may wait until another thread has read the statistics */
    uint64_t sole;                  /* the holder of all leases met; 0: there are several */
    uint32_t crowded, limit;        /* driver calls that wait for a helper; the runtime's limit of helpers */
    bool is_for_error;              /* the text has CEN_ERROR_TEXT_SIZE bytes */
    uint32_t holders, mine, listed; /* leases met; of these the asker's; entries of `oldest` */
    int64_t youngest;
    cen_object_view oldest[MOST_LISTED]; /* the oldest first */
} picture;

/* The counts that are available in a few steps. */
static void count_partly(picture *p)
{
    cen_pool *pool = p->pool;
    ceni_waiters_lock(pool->waiters);
    uint64_t ctl = ceni_load_relaxed(&pool->waiters->ctl); /* written under this lock, as all here; carries nothing */
    uint32_t max = ceni_load_relaxed(&pool->max), places = ceni_load_relaxed(&pool->places); /* carries nothing */
    p->s = (cen_pool_stats){
        .max = max,
        .places = places,
        .waiting = (uint32_t)(ctl / CENI_CTL_ONE),
        .is_closed = ctl & CENI_CTL_CLOSED,
        .opening = pool->opening,
        .closing = pool->leaving,
        .revoked = pool->revoked,
        .vacant = places - pool->live,
        .held = pool->live - pool->opening - pool->leaving - pool->revoked,
        .is_paused = pool->paused,
    };
    ceni_waiters_unlock(pool->waiters);
    p->partial = true;
}

/* Insert into the list of the oldest leases; of equal ages the lower index comes first. */
static void list(picture *p, const cen_object_view *h)
{
    uint32_t at = p->listed < MOST_LISTED ? p->listed++ : MOST_LISTED;
    for (; at > 0 && p->oldest[at - 1].held_ns < h->held_ns; at--)
        if (at < MOST_LISTED) p->oldest[at] = p->oldest[at - 1];
    if (at < MOST_LISTED) p->oldest[at] = *h;
}

static void meet_holder(picture *p, uint32_t index)
{
    cen_object_view h;
    if (!ceni_slot_holding(p->pool, index, &h)) return;
    ceni_slot *slot = ceni_slot_at(p->pool, index);
    bool names_revoked = p->s.is_closed || p->s.held == 0; /* a close waits for them; so do takes, if none is held */
    if (names_revoked && h.state == CEN_OBJECT_REVOKED && !ceni_holder_has_ended(slot, h.generation)) {
        p->holders++;
        list(p, &h);
    }
    if (h.state != CEN_OBJECT_HELD) return;
    if (ceni_planted(older_lease_blamed)) /* the mark of any lease; carries nothing */
        h.held_ns = ceni_pool_now(p->pool) - ceni_load_relaxed(&slot->met_at);
    ceni_slot_age(p->pool, slot, ceni_word(h.generation, CENI_SLOT_HELD)); /* mark it */
    p->sole = p->holders == 0 || p->sole == h.holder ? h.holder : 0;
    p->holders++;
    p->mine += p->asker && h.holder == p->asker;
    if (h.held_ns < p->youngest) p->youngest = h.held_ns;
    list(p, &h);
}

/* Read the state of openings, all at one moment. */
static void read_gate(picture *p)
{
    cen_pool *pool = p->pool;
    int64_t now = ceni_pool_now(pool);
    ceni_waiters_lock(pool->waiters);
    const ceni_gate *gate = &pool->gate;
    int64_t next = ceni_gate_next(gate);
    p->last = gate->last;
    p->last_ago = now > gate->failed_at ? now - gate->failed_at : 0;
    p->s.open_failures = gate->failures;
    p->s.breaker = gate->breaker;
    p->crowded = ceni_chores_crowded_locked(pool, &p->limit);
    ceni_waiters_unlock(pool->waiters);
    p->s.next_open_ns = next != CENI_FOREVER && next > now ? next - now : 0;
}

/* `most`: the largest number of slots to read. */
static void take_picture(picture *p, uint32_t most)
{
    uint32_t places = ceni_place_reach(p->pool);
    p->youngest = CENI_FOREVER;
    p->s = CEN_SIZED(cen_pool_stats);
    if (p->patient) cen_pool_stats_get(p->pool, &p->s);
    else if (places > most || !ceni_pool_look_if_free(p->pool, &p->s)) count_partly(p);
    p->full = p->s.places - p->s.vacant >= p->s.max || !ceni_pool_opens(p->pool);
    read_gate(p);
    if (p->s.held == 0 && p->s.revoked == 0) return;
    for (uint32_t index = 0; index < places && index < most; index++) meet_holder(p, index);
}

/* ---- Parts of a text ------------------------------------------------------------------------ */

static void say_counts(writer *w, const picture *p)
{
    cen_pool_stats s = p->s;
    if (ceni_planted(held_counted_later)) {
        cen_pool_stats later = CEN_SIZED(cen_pool_stats);
        if (cen_pool_stats_get(p->pool, &later) == CEN_OK) s.held = later.held;
    }
    say(w, "max is %u: ", s.max);
    if (p->partial) say(w, "%u held or idle", s.held);
    else say(w, "%u held, %u idle", s.held, s.idle);
    say(w, ", %u opening", s.opening);
    if (s.moving) say(w, ", %u changing hands", s.moving);
    if (s.resetting) say(w, ", %u resetting", s.resetting);
    if (s.testing) say(w, ", %u testing", s.testing);
    if (s.closing) say(w, ", %u closing", s.closing);
    if (s.revoked) say(w, ", %u revoked and not given back", s.revoked);
    say(w, "; %u waiting.", s.waiting);
}

/* "object 3, held by thread 7 (worker, tid 4711) for at least 61 s, taken at orders.c:12" */
static void say_holder(writer *w, const cen_object_view *h)
{
    say(w, "object %u, %sheld", h->index, h->state == CEN_OBJECT_REVOKED ? "revoked, " : "");
    char holder[CENI_HOLDER_ROOM], held[CENI_HOLDER_ROOM];
    if (h->holder) say(w, " by %s", ceni_holder_say(h->holder, holder));
    if (h->holder && h->is_detached) say(w, " (detached)");
    say(w, " %s", ceni_held_say(h->held_ns, held));
    if (!h->where) return;
    size_t length = strlen(h->where);
    bool cut = length > MOST_PLACE;
    say(w, ", taken at %s%s", cut ? "..." : "", h->where + (cut ? length - MOST_PLACE : 0));
}

/* The driver's text, without the pool's name before it. */
static const char *words_of(const cen_pool *pool, const cen_error *error)
{
    char name[CENI_POOL_NAME + sizeof "pool \"\": "];
    int length = snprintf(name, sizeof name, "pool \"%s\": ", pool->name);
    return strncmp(error->text, name, (size_t)length) == 0 ? error->text + length : error->text;
}

/* In an error's text it is truncated, to leave room for the rest. */
static void say_last(writer *w, const picture *p)
{
    say(w, "%.*s (%s", p->is_for_error ? MOST_WORDS : CEN_ERROR_TEXT_SIZE, words_of(p->pool, &p->last),
        cen_status_name(p->last.status));
    if (p->last.code && !p->pool->calls.says_codes) say(w, ", code %d", p->last.code);
    say(w, ")");
}

static void say_failures(writer *w, const picture *p)
{
    say(w, "opening failed %u time%s in a row, last: ", p->s.open_failures, p->s.open_failures == 1 ? "" : "s");
    say_last(w, p);
    if (p->s.breaker != CEN_BREAKER_CLOSED)
        say(w, "; the circuit breaker is %s", p->s.breaker == CEN_BREAKER_OPEN ? "open" : "half-open");
    if (p->s.next_open_ns > 0) {
        say(w, "; next attempt in ");
        say_time(w, p->s.next_open_ns);
    } else {
        say(w, p->s.opening > 0 ? "; an attempt is in progress" : "; the next attempt can start at once");
    }
    say(w, ".");
}

/* ---- Causes ------------------------------------------------------------------------------------ */

/* Whether all objects that could come back are held by the asker. */
static bool waits_for_itself(const picture *p)
{
    const cen_pool_stats *s = &p->s;
    uint32_t others = s->idle + s->moving + s->opening + s->resetting + s->testing + s->closing + s->revoked;
    return p->full && p->mine > 0 && p->mine == s->held && others == 0;
}

static bool leak_is_suspected(const picture *p)
{
    if (p->listed == 0 || p->s.held == 0) return false;
    int64_t oldest = p->oldest[0].held_ns;
    if (oldest >= LONG_NS && oldest / FAR_OLDER > p->youngest) return true;
    return p->youngest >= VERY_LONG_NS && p->youngest / FAR_OLDER > p->waited;
}

/* The cause if an object is idle, or could be opened by the next take. */
static cen_cause cause_beside_idle(const picture *p)
{
    /* An idle object may wait for the first waiter, or for a thread that barges. */
    bool behind = p->s.waiting > 0 && (ceni_pool_has(&p->pool->strict) || !p->is_for_error);
    if (behind) return CEN_CAUSE_BEHIND_WAITERS;
    return p->is_for_error ? CEN_CAUSE_FREE_AGAIN : CEN_CAUSE_NONE;
}

/* The cause if no object is in use and every place is taken. Objects that a holder must give back come before those
 * that become available by themselves. */
static cen_cause cause_of_unlendable(const cen_pool_stats *s)
{
    if (s->revoked > 0) return CEN_CAUSE_REVOKED;
    if (s->testing > 0) return CEN_CAUSE_HEALTH_CHECK;
    if (s->resetting > 0) return CEN_CAUSE_RESETTING;
    return s->closing > 0 ? CEN_CAUSE_CLOSING : CEN_CAUSE_EXHAUSTED;
}

/* The cause, without regard to helper threads. */
static cen_cause cause_among_places(const picture *p)
{
    const cen_pool_stats *s = &p->s;
    if (s->is_closed) return CEN_CAUSE_CLOSED;
    if (s->is_paused) return CEN_CAUSE_PAUSED;
    if (waits_for_itself(p)) return CEN_CAUSE_SELF_WAIT;
    if (!p->full && s->open_failures > 0)
        return s->breaker == CEN_BREAKER_CLOSED ? CEN_CAUSE_OPENING_FAILED : CEN_CAUSE_BREAKER_OPEN;
    if (s->idle > 0 || (!p->full && !p->pool->helped)) return cause_beside_idle(p);
    if (s->opening > 0) return CEN_CAUSE_OPENING_SLOW;
    if (!p->full) return CEN_CAUSE_NOT_OPENED;
    if (s->vacant == s->places) return CEN_CAUSE_NO_OBJECTS;
    if (leak_is_suspected(p)) return CEN_CAUSE_LEAK;
    return s->held + s->moving > 0 ? CEN_CAUSE_EXHAUSTED : cause_of_unlendable(s);
}

/* Whether the cause ends when the driver has completed a call. */
static bool waits_for_a_call(cen_cause cause)
{
    return cause == CEN_CAUSE_OPENING_SLOW || cause == CEN_CAUSE_NOT_OPENED || cause == CEN_CAUSE_HEALTH_CHECK ||
           cause == CEN_CAUSE_RESETTING || cause == CEN_CAUSE_CLOSING;
}

static cen_cause cause_of(const picture *p)
{
    cen_cause cause = cause_among_places(p);
    return p->crowded > 0 && waits_for_a_call(cause) ? CEN_CAUSE_NO_HELPER : cause;
}

/* Whether the cause's sentence already has the failures of opening. */
static bool is_of_opening(cen_cause cause)
{
    return cause == CEN_CAUSE_OPENING_FAILED || cause == CEN_CAUSE_BREAKER_OPEN;
}

/* The cause that a program gets: that of the last failed opening, if it says more. */
static cen_cause told_cause(const picture *p, cen_cause cause)
{
    return is_of_opening(cause) && p->last.cause == CEN_CAUSE_LOGIN_REFUSED ? p->last.cause : cause;
}

/* Write one part of a list; *before is the separator. */
static void say_part(writer *w, uint32_t count, const char *what, const char **before)
{
    if (count == 0) return;
    say(w, "%s%u %s %s", *before, count, count == 1 ? "is" : "are", what);
    *before = ", ";
}

/* Every object is lent, or being revoked, closed, reset or tested. */
static void say_backlog(writer *w, const picture *p)
{
    const cen_pool_stats *s = &p->s;
    uint32_t used = s->held + s->moving;
    if (s->revoked + s->closing + s->resetting + s->testing == 0) {
        say(w, "Exhausted: all objects are in use and come back too slowly.");
        return;
    }
    const char *before = used > 0 ? "Exhausted: " : "No object is available: ";
    say_part(w, used, p->partial ? "in use or idle" : "in use", &before);
    say_part(w, s->revoked, "revoked and not given back", &before);
    say_part(w, s->closing, "being closed", &before);
    say_part(w, s->resetting, "being reset", &before);
    say_part(w, s->testing, "being tested", &before);
    say(w, ".");
}

/* "2 driver calls wait for a helper thread (max_helpers = 256)." It follows the sentence of the cause. */
static void say_crowd(writer *w, const picture *p)
{
    if (p->crowded == 0) return;
    say(w, " %u driver call%s wait%s for a helper thread (max_helpers = %u).", p->crowded, p->crowded == 1 ? "" : "s",
        p->crowded == 1 ? "s" : "", p->limit);
}

/* Write the sentence of the cause. Returns true if it has named the oldest holder. */
static bool say_cause(writer *w, const picture *p, cen_cause cause)
{
    if (cause == CEN_CAUSE_NO_HELPER) cause = cause_among_places(p); /* say_crowd adds the sentence about helpers */
    switch (cause) {
    case CEN_CAUSE_CLOSED: say(w, "Closed: the pool has been closed."); break;
    case CEN_CAUSE_PAUSED: say(w, "Paused: nothing is lent until the pool is resumed."); break;
    case CEN_CAUSE_SELF_WAIT: say(w, "Self-wait: this %s holds all of them itself.", ceni_holder_word(p->asker)); break;
    case CEN_CAUSE_OPENING_FAILED:
    case CEN_CAUSE_BREAKER_OPEN:
        say(w, "Driver error: ");
        say_failures(w, p);
        break;
    case CEN_CAUSE_OPENING_SLOW: say(w, "Opening is slow: %u in progress.", p->s.opening); break;
    case CEN_CAUSE_NOT_OPENED:
        say(w, "Not opened yet: there is room for more objects, and no opening has started.");
        break;
    case CEN_CAUSE_NO_OBJECTS: say(w, "Empty: the pool opens no objects and has none."); break;
    case CEN_CAUSE_LEAK:
        say(w, "Leak suspected: ");
        say_holder(w, &p->oldest[0]);
        say(w, p->youngest >= VERY_LONG_NS ? "; nothing was given back in the last 60 s."
                                           : "; the youngest known lease is less than a tenth as old.");
        return true;
    case CEN_CAUSE_BEHIND_WAITERS: say(w, "Other waiters come first."); break;
    case CEN_CAUSE_FREE_AGAIN: say(w, "An object became free just afterwards."); break;
    default: say_backlog(w, p); break;
    }
    return false;
}

/* ---- A take that failed --------------------------------------------------------------------------- */

/* Write why the take was refused. */
static void say_limit(writer *w, const picture *p, const ceni_verdict *verdict)
{
    if (verdict->cause == CEN_CAUSE_SHED) {
        say(w, "load shedding: refused after ");
        say_time(w, p->waited);
        say(w, "; waits stayed above shed_target_ns for shed_interval_ns");
    } else {
        say(w, "refused at once: the estimated wait exceeds the deadline (refuse_late)");
    }
}

/* "Health check: object 3 failed its test after 300 ms: connection lost." or "...: the test of object 3 has been
 * running for 300 ms." */
static void say_checks(writer *w, const ceni_checks *checks)
{
    say(w, "Health check: ");
    if (checks->goes_on) {
        say(w, "the test of object %u has been running for ", checks->index);
        say_time(w, checks->last_ns);
        say(w, ". ");
        return;
    }
    if (checks->failed > 1) {
        say(w, "%u objects failed their tests in ", checks->failed);
        say_time(w, checks->spent_ns);
        say(w, ", the last was ");
    }
    say(w, "object %u%s after ", checks->index, checks->failed > 1 ? "" : " failed its test");
    say_time(w, checks->last_ns);
    say(w, ": %.200s. ", checks->said);
}

static void say_outcome(writer *w, const picture *p, const ceni_verdict *verdict)
{
    const char *name = p->pool->name;
    cen_status status = verdict->status;
    switch (status) {
    case CEN_FULL: say(w, "pool \"%s\": wait queue full (max_waiters = %lld)", name, (long long)verdict->max); break;
    case CEN_OVERLOAD:
        say(w, "pool \"%s\": ", name);
        say_limit(w, p, verdict);
        break;
    case CEN_EMPTY: say(w, "pool \"%s\": no idle object", name); break;
    case CEN_INTERRUPTED: say(w, "pool \"%s\": interrupted", name); break;
    default: say(w, "pool \"%s\": no object", name); break;
    }
    if (status == CEN_TIMEOUT || status == CEN_INTERRUPTED) {
        say(w, " after ");
        say_time(w, p->waited);
    }
    if (ceni_verdict_refuses(verdict)) {
        say(w, "; try again in about ");
        say_time(w, verdict->retry_after_ns);
    }
    say(w, ". ");
}

/* Fill in the error's fields. `cause` is used if the verdict has none. */
static void fill_in(cen_error *error, const ceni_verdict *verdict, cen_status status, int code, cen_cause cause)
{
    error->status = status;
    error->code = code;
    error->cause = verdict->cause == CEN_CAUSE_NONE ? cause : verdict->cause;
    error->retry_after_ns = verdict->retry_after_ns;
    error->current = verdict->current;
    error->max = verdict->max;
}

/* Explain a take that was refused because no object can be opened. The text has the driver's error. A driver's
 * TIMEOUT becomes DRIVER, because the caller's deadline has not passed. */
static cen_status explain_vain(picture *p, const ceni_verdict *verdict, cen_error *error)
{
    count_partly(p);
    read_gate(p);
    bool driver = p->last.status == CEN_OK || p->last.status == CEN_TIMEOUT;
    cen_status status = driver ? CEN_DRIVER : p->last.status;
    if (!error) return status;
    writer w = {.text = error->text, .room = sizeof error->text};
    say(&w, "pool \"%s\": ", p->pool->name);
    if (p->s.open_failures > 0) say_failures(&w, p);
    else say(&w, "%.400s; opening works again.", words_of(p->pool, &p->last));
    fill_in(error, verdict, status, p->last.code, CEN_CAUSE_OPENING_FAILED);
    error->cause = told_cause(p, error->cause);
    return status;
}

/* Make the reason, the part after the outcome; fills in all fields except made_at. `checks`: the take's tests; NULL:
 * none. */
static void give_reason(picture *p, const ceni_checks *checks, ceni_kept_reason *out)
{
    out->text[0] = '\0';
    take_picture(p, p->waited > 0 ? MOST_LOOKED : FEW);
    cen_cause cause = cause_of(p);
    writer w = {.text = out->text, .room = sizeof out->text};
    bool named = false;
    if (checks) say_checks(&w, checks);
    int64_t spent = checks ? checks->spent_ns + (checks->goes_on ? checks->last_ns : 0) : 0;
    bool enough = checks && cause != CEN_CAUSE_SELF_WAIT && spent >= p->waited / 2; /* the tests are the cause */
    if (!enough) named = say_cause(&w, p, cause);
    if (!enough) say(&w, " ");
    if (enough) cause = CEN_CAUSE_HEALTH_CHECK;
    say_counts(&w, p);
    say_crowd(&w, p);
    if (p->listed > 0 && !named) {
        say(&w, " Held longest: ");
        say_holder(&w, &p->oldest[0]);
        say(&w, ".");
    }
    if (p->s.open_failures > 0 && !is_of_opening(cause)) {
        say(&w, " Also, ");
        say_failures(&w, p);
    }
    out->code = is_of_opening(cause) ? p->last.code : 0;
    out->cause = told_cause(p, cause);
    out->sole = p->sole;
    out->suspect_ns = p->youngest >= VERY_LONG_NS ? p->youngest / FAR_OLDER : 0;
    out->suspects = out->suspect_ns > p->waited;
}

cen_status ceni_explain_refusal(cen_pool *pool, ceni_verdict verdict, int64_t waited_ns, uint64_t holder,
                                cen_error *error)
{
    picture p = {.pool = pool, .asker = holder, .waited = waited_ns, .is_for_error = true};
    if (verdict.status == CEN_DRIVER) return explain_vain(&p, &verdict, error);
    if (!error) return verdict.status;
    writer w = {.text = error->text, .room = sizeof error->text};
    say_outcome(&w, &p, &verdict);
    const ceni_checks *checks =
        verdict.checks && (verdict.checks->failed > 0 || verdict.checks->goes_on) ? verdict.checks : NULL;
    /* with other takes of the same deadline */
    bool shared = verdict.status == CEN_TIMEOUT && waited_ns > 0 && !checks;
    ceni_kept_reason reason;
    if (!shared || !ceni_reason_recall(pool, holder, waited_ns, &reason)) {
        give_reason(&p, checks, &reason);
        if (shared) ceni_reason_keep(pool, holder, &reason);
    }
    say(&w, "%s", reason.text);
    fill_in(error, &verdict, verdict.status, reason.code, reason.cause);
    return verdict.status;
}

/* ---- A close that ended at its deadline ---------------------------------------------------------- */

cen_status ceni_explain_close(cen_pool *pool, const cen_close_report *report, cen_error *error)
{
    if (!error) return CEN_TIMEOUT;
    picture p = {.pool = pool};
    take_picture(&p, MOST_LOOKED);
    writer w = {.text = error->text, .room = sizeof error->text};
    say(&w, "pool \"%s\": close timed out (revoked: %u, being opened or closed: %u)", pool->name, report->revoked,
        report->busy);
    for (uint32_t i = 0; i < p.listed && w.used < sizeof error->text / 2; i++) {
        say(&w, i == 0 ? "; not given back: " : "; ");
        say_holder(&w, &p.oldest[i]);
        p.holders--;
    }
    if (p.listed > 0 && p.holders > 0) say(&w, "; and %u more", p.holders);
    say(&w, ".");
    cen_cause cause = report->revoked > 0 ? CEN_CAUSE_REVOKED : CEN_CAUSE_CLOSING;
    fill_in(error, &(ceni_verdict){.status = CEN_TIMEOUT}, CEN_TIMEOUT, 0, cause);
    return CEN_TIMEOUT;
}

/* ---- cen_pool_explain ------------------------------------------------------------------------------------ */

static void say_holders(writer *w, const picture *p)
{
    if (p->listed == 0) return;
    say(w, "Held longest:\n");
    for (uint32_t i = 0; i < p->listed; i++) {
        say(w, "  ");
        say_holder(w, &p->oldest[i]);
        say(w, "\n");
    }
    if (p->holders > p->listed) say(w, "  and %u more\n", p->holders - p->listed);
}

/* "object 3, taken by thread 7 (ended) at orders.c:12" */
static void say_lost(writer *w, uint32_t index, uint64_t holder, const char *where)
{
    char whose[CENI_HOLDER_ROOM];
    say(w, "  object %u, taken by %s", index, ceni_holder_say(holder, whose));
    if (where) say(w, " at %s", where);
}

/* Write the orphans that keep their places, which are REVOKED; or only count them. Returns their number. */
static uint32_t say_kept_orphans(writer *w, cen_pool *pool, bool counts)
{
    uint32_t count = 0, places = ceni_place_reach(pool);
    for (uint32_t index = 0; index < places; index++) {
        cen_object_view h;
        ceni_slot *slot = ceni_slot_at(pool, index);
        if (ceni_word_state(ceni_word_at(pool, index)) != CENI_SLOT_REVOKED || !ceni_slot_holding(pool, index, &h))
            continue;
        if (h.state != CEN_OBJECT_REVOKED || !ceni_holder_has_ended(slot, h.generation)) continue;
        count++;
        if (counts) continue;
        say_lost(w, index, h.holder, h.where);
        say(w, "; place taken until the give\n");
    }
    return count;
}

static void say_orphans(writer *w, cen_pool *pool)
{
    enum { AT_A_TIME = 16 };
    ceni_orphan_seen seen[AT_A_TIME];
    uint32_t kept = say_kept_orphans(w, pool, true);
    size_t count = ceni_orphans_list(pool, 0, seen, AT_A_TIME);
    if (kept + count > 0) say(w, "Orphaned and reclaimed leases, not given back:\n");
    if (kept > 0) say_kept_orphans(w, pool, false);
    for (size_t told = 0; count > 0; count = ceni_orphans_list(pool, told, seen, AT_A_TIME)) {
        for (size_t i = 0; i < count; i++) {
            say_lost(w, seen[i].index, seen[i].holder, seen[i].where);
            say(w, "; %s ", seen[i].loss == CENI_LOST_BY_HOLDER ? "holder ended" : "reclaimed");
            say_time(w, seen[i].ago_ns);
            say(w, " ago\n");
        }
        told += count;
    }
}

static void say_waits(writer *w, const cen_pool_stats *s)
{
    if (s->waited == 0) return;
    say(w, "Takes that waited: %llu; %llu served, %llu timed out, %llu failed otherwise", (unsigned long long)s->waited,
        (unsigned long long)s->served, (unsigned long long)s->timed_out,
        (unsigned long long)(s->sent_away + s->failed + s->shed));
    if (s->cancelled > 0) say(w, ", %llu cancelled", (unsigned long long)s->cancelled);
    if (s->waiting > 0) {
        say(w, ", %u still waiting, the first for ", s->waiting);
        say_time(w, s->oldest_wait_ns);
    }
    if (s->waited > s->waiting) {
        say(w, "; wait p50 ");
        say_time(w, s->wait_p50_ns);
        say(w, ", p99 ");
        say_time(w, s->wait_p99_ns);
        say(w, ", max ");
        say_time(w, s->wait_longest_ns);
    }
    say(w, ".\n");
}

static void say_overload(writer *w, const cen_pool_stats *s)
{
    if (s->is_shedding) say(w, "Load shedding is active: some waiters are refused (shed_target_ns).\n");
    if (s->shed > 0) say(w, "Takes refused by load shedding (shed_target_ns): %llu.\n", (unsigned long long)s->shed);
    if (s->refused > 0)
        say(w, "Takes refused because the wait queue was full (max_waiters): %llu.\n", (unsigned long long)s->refused);
    if (s->refused_late > 0)
        say(w, "Takes refused because of their deadlines (refuse_late): %llu.\n", (unsigned long long)s->refused_late);
    if (s->refused_breaker > 0)
        say(w, "Takes refused by the circuit breaker: %llu.\n", (unsigned long long)s->refused_breaker);
    if (s->missed > 0) say(w, "Takes that found no object and did not wait: %llu.\n", (unsigned long long)s->missed);
}

static void say_opening(writer *w, const picture *p)
{
    if (p->s.open_failures > 0) {
        say(w, "Driver error: ");
        say_failures(w, p);
        say(w, "\n");
    } else if (p->last.status != CEN_OK) {
        say(w, "Opening works again; it last failed ");
        say_time(w, p->last_ago);
        say(w, " ago: ");
        say_last(w, p);
        say(w, ".\n");
    }
}

/* Whether a lease is held for longer than leak_after_ns, *limit. */
static bool leaks(const picture *p, int64_t *limit)
{
    cen_pool_options o = CEN_SIZED(cen_pool_options);
    if (p->listed == 0 || cen_pool_options_get(p->pool, &o) != CEN_OK) return false;
    *limit = o.leak_after_ns;
    return o.leak_after_ns > 0 && p->oldest[0].held_ns >= o.leak_after_ns;
}

/* The leak comes first: a take may still be served, but the pool has a problem. */
static void say_leak(writer *w, const picture *p, int64_t limit)
{
    say(w, "Leak: ");
    say_holder(w, &p->oldest[0]);
    say(w, " (leak_after_ns is ");
    say_time(w, limit);
    say(w, "). ");
}

/* Whether a leak is named before this cause, because it may be the reason for it. */
static bool gives_way_to_leak(cen_cause cause)
{
    switch (cause) {
    case CEN_CAUSE_NONE:
    case CEN_CAUSE_BEHIND_WAITERS:
    case CEN_CAUSE_EXHAUSTED:
    case CEN_CAUSE_REVOKED:
    case CEN_CAUSE_HEALTH_CHECK:
    case CEN_CAUSE_RESETTING:
    case CEN_CAUSE_CLOSING: return true;
    default: return false;
    }
}

/* Write what would happen to a take now, in one sentence. */
static void say_prospect(writer *w, const picture *p, cen_cause cause, bool after_leak)
{
    if (cause == CEN_CAUSE_BEHIND_WAITERS)
        say(w, ceni_pool_has(&p->pool->strict) ? "other waiters come first."
                                               : "an object is free; a take gets it or joins the wait queue.");
    else if (cause != CEN_CAUSE_NONE) say_cause(w, p, cause);
    else say(w, "%s take gets an idle object or opens one.", after_leak ? "A" : "a");
}

/* Write the whole explanation. Returns the cause. */
static cen_cause say_all(writer *w, cen_pool *pool, bool with_holders)
{
    picture p = {.pool = pool, .patient = true};
    take_picture(&p, CEN_POOL_MAX);
    cen_cause cause = cause_of(&p);
    int64_t limit = 0;
    bool leak = gives_way_to_leak(cause) && leaks(&p, &limit);
    say(w, "pool \"%s\": ", pool->name);
    if (leak) say_leak(w, &p, limit);
    say_prospect(w, &p, cause, leak);
    say(w, "\n");
    say_counts(w, &p);
    say_crowd(w, &p);
    say(w, "\n");
    if (with_holders) say_holders(w, &p);
    say_orphans(w, pool);
    say_waits(w, &p.s);
    say_overload(w, &p.s);
    if (!is_of_opening(cause)) say_opening(w, &p);
    if (p.s.leaked > 0) say(w, "Leases reported as leaked: %llu.\n", (unsigned long long)p.s.leaked);
    return leak ? CEN_CAUSE_LEAK : cause;
}

cen_cause ceni_pool_explain_briefly(cen_pool *pool, char *text, size_t room)
{
    writer w = {.text = text, .room = text ? room : 0};
    return say_all(&w, pool, false);
}

size_t cen_pool_explain(cen_pool *pool, char *text, size_t room)
{
    writer w = {.text = text, .room = text ? room : 0};
    cen_error refused;
    if (ceni_pool_check(pool, "cen_pool_explain", &refused) == CEN_OK) say_all(&w, pool, true);
    else say(&w, "%s.\n", refused.text);
    return w.used + 1;
}
