/* SPDX-License-Identifier: MIT */
/* The sentences of an explanation. No lock is held while text is written. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/plant.h"
#include "pool/explain.h"

enum {
    MOST_PLACE = 100, /* bytes of a call site, the last ones, which have the file's name */
    MOST_WORDS = 300, /* bytes of the driver's text in an error */
};

/* ---- Writing ---------------------------------------------------------------------------- */

void ceni_say(ceni_writer *w, const char *format, ...)
{
    bool fits = w->used < w->room;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(fits ? w->text + w->used : NULL, fits ? w->room - w->used : 0, format, arguments);
    va_end(arguments);
    if (length > 0) w->used += (size_t)length;
}

void ceni_say_time(ceni_writer *w, int64_t ns)
{
    const int64_t us = 1000, ms = 1000 * us, s = 1000 * ms, min = 60 * s;
    if (ns < 10 * us) ceni_say(w, "%lld ns", (long long)ns);
    else if (ns < 10 * ms) ceni_say(w, "%lld us", (long long)(ns / us));
    else if (ns < 10 * s) ceni_say(w, "%lld ms", (long long)(ns / ms));
    else if (ns < 10 * min) ceni_say(w, "%lld s", (long long)(ns / s));
    else ceni_say(w, "%lld min", (long long)(ns / min));
}

/* ---- Parts of a text ------------------------------------------------------------------------ */

void ceni_say_counts(ceni_writer *w, const ceni_picture *p)
{
    cen_pool_stats s = p->s;
    if (ceni_planted(held_counted_later)) {
        cen_pool_stats later = CEN_SIZED(cen_pool_stats);
        ceni_pool_stats_read(p->pool, &later);
        s.held = later.held;
    }
    ceni_say(w, "max is %u: ", s.max);
    if (p->partial) ceni_say(w, "%u held or idle", s.held);
    else ceni_say(w, "%u held, %u idle", s.held, s.idle);
    ceni_say(w, ", %u opening", s.opening);
    if (s.moving) ceni_say(w, ", %u changing hands", s.moving);
    if (s.resetting) ceni_say(w, ", %u resetting", s.resetting);
    if (s.testing) ceni_say(w, ", %u testing", s.testing);
    if (s.closing) ceni_say(w, ", %u closing", s.closing);
    if (s.revoked) ceni_say(w, ", %u revoked and not given back", s.revoked);
    ceni_say(w, "; %u waiting.", s.waiting);
}

/* "object 3, held by thread 7 (worker, tid 4711) for at least 61 s, taken at orders.c:12" */
void ceni_say_holder(ceni_writer *w, const cen_object_view *h)
{
    ceni_say(w, "object %u, %sheld", h->index, h->state == CEN_OBJECT_REVOKED ? "revoked, " : "");
    char holder[CENI_HOLDER_ROOM], held[CENI_HOLDER_ROOM];
    if (h->holder) ceni_say(w, " by %s", ceni_holder_say(h->holder, holder));
    if (h->holder && h->is_detached) ceni_say(w, " (detached)");
    ceni_say(w, " %s", ceni_held_say(h->held_ns, held));
    if (!h->where) return;
    size_t length = strlen(h->where);
    bool cut = length > MOST_PLACE;
    ceni_say(w, ", taken at %s%s", cut ? "..." : "", h->where + (cut ? length - MOST_PLACE : 0));
}

const char *ceni_picture_words(const cen_pool *pool, const cen_error *error)
{
    char name[CENI_POOL_NAME + sizeof "pool \"\": "];
    int length = snprintf(name, sizeof name, "pool \"%s\": ", pool->name);
    return strncmp(error->text, name, (size_t)length) == 0 ? error->text + length : error->text;
}

/* In an error's text it is truncated, to leave room for the rest. */
void ceni_say_last(ceni_writer *w, const ceni_picture *p)
{
    ceni_say(w, "%.*s (%s", p->is_for_error ? MOST_WORDS : CEN_ERROR_TEXT_SIZE, ceni_picture_words(p->pool, &p->last),
             cen_status_name(p->last.status));
    if (p->last.code && !p->pool->calls.says_codes) ceni_say(w, ", code %d", p->last.code);
    ceni_say(w, ")");
}

void ceni_say_failures(ceni_writer *w, const ceni_picture *p)
{
    ceni_say(w, "opening failed %u time%s in a row, last: ", p->s.open_failures, p->s.open_failures == 1 ? "" : "s");
    ceni_say_last(w, p);
    if (p->s.breaker != CEN_BREAKER_CLOSED)
        ceni_say(w, "; the circuit breaker is %s", p->s.breaker == CEN_BREAKER_OPEN ? "open" : "half-open");
    if (p->s.next_open_ns > 0) {
        ceni_say(w, "; next attempt in ");
        ceni_say_time(w, p->s.next_open_ns);
    } else {
        ceni_say(w, p->s.opening > 0 ? "; an attempt is in progress" : "; the next attempt can start at once");
    }
    ceni_say(w, ".");
}

/* Write one part of a list; *before is the separator. */
static void say_part(ceni_writer *w, uint32_t count, const char *what, const char **before)
{
    if (count == 0) return;
    ceni_say(w, "%s%u %s %s", *before, count, count == 1 ? "is" : "are", what);
    *before = ", ";
}

/* Every object is lent, or being revoked, closed, reset or tested. */
static void say_backlog(ceni_writer *w, const ceni_picture *p)
{
    const cen_pool_stats *s = &p->s;
    uint32_t used = s->held + s->moving;
    if (s->revoked + s->closing + s->resetting + s->testing == 0) {
        ceni_say(w, "Exhausted: all objects are in use and come back too slowly.");
        return;
    }
    const char *before = used > 0 ? "Exhausted: " : "No object is available: ";
    say_part(w, used, p->partial ? "in use or idle" : "in use", &before);
    say_part(w, s->revoked, "revoked and not given back", &before);
    say_part(w, s->closing, "being closed", &before);
    say_part(w, s->resetting, "being reset", &before);
    say_part(w, s->testing, "being tested", &before);
    ceni_say(w, ".");
}

/* "2 driver calls wait for a helper thread (max_helpers = 256)." It follows the sentence of the cause. */
void ceni_say_crowd(ceni_writer *w, const ceni_picture *p)
{
    if (p->crowded == 0) return;
    ceni_say(w, " %u driver call%s wait%s for a helper thread (max_helpers = %u).", p->crowded,
             p->crowded == 1 ? "" : "s", p->crowded == 1 ? "s" : "", p->limit);
}

bool ceni_say_cause(ceni_writer *w, const ceni_picture *p, cen_cause cause)
{
    if (cause == CEN_CAUSE_NO_HELPER)
        cause = ceni_picture_place_cause(p); /* say_crowd adds the sentence about helpers */
    switch (cause) {
    case CEN_CAUSE_CLOSED: ceni_say(w, "Closed: the pool has been closed."); break;
    case CEN_CAUSE_PAUSED: ceni_say(w, "Paused: nothing is lent until the pool is resumed."); break;
    case CEN_CAUSE_SELF_WAIT:
        ceni_say(w, "Self-wait: this %s holds all of them itself.", ceni_holder_word(p->asker));
        break;
    case CEN_CAUSE_OPENING_FAILED:
    case CEN_CAUSE_BREAKER_OPEN:
        ceni_say(w, "Driver error: ");
        ceni_say_failures(w, p);
        break;
    case CEN_CAUSE_OPENING_SLOW: ceni_say(w, "Opening is slow: %u in progress.", p->s.opening); break;
    case CEN_CAUSE_NOT_OPENED:
        ceni_say(w, "Not opened yet: there is room for more objects, and no opening has started.");
        break;
    case CEN_CAUSE_NO_OBJECTS: ceni_say(w, "Empty: the pool opens no objects and has none."); break;
    case CEN_CAUSE_LEAK:
        ceni_say(w, "Leak suspected: ");
        ceni_say_holder(w, &p->oldest[0]);
        ceni_say(w, p->youngest >= CENI_VERY_LONG_NS ? "; nothing was given back in the last 60 s."
                                                     : "; the youngest known lease is less than a tenth as old.");
        return true;
    case CEN_CAUSE_BEHIND_WAITERS: ceni_say(w, "Other waiters come first."); break;
    case CEN_CAUSE_FREE_AGAIN: ceni_say(w, "An object became free just afterwards."); break;
    default: say_backlog(w, p); break;
    }
    return false;
}
