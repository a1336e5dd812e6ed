/* SPDX-License-Identifier: MIT */
/*
 * Explanations why there is no object: the text and cause of a take that failed, and of a close that timed out.
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
 * The counts come from one reading of the statistics and agree with one another (L19). Holders are read a moment later, and
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
#include "pool/explain.h"
#include "port/port.h"

enum {
    MOST_LOOKED = 1024, /* slots read by a take that failed after a wait ... */
    FEW = 64,           /* ... and by one that did not wait: it may be called in a loop */
};

/* ---- A take that failed --------------------------------------------------------------------------- */

/* Write why the take was refused. */
static void say_limit(ceni_writer *w, const ceni_picture *p, const ceni_verdict *verdict)
{
    if (verdict->cause == CEN_CAUSE_SHED) {
        ceni_say(w, "load shedding: refused after ");
        ceni_say_time(w, p->waited);
        ceni_say(w, "; waits stayed above shed_target_ns for shed_interval_ns");
    } else {
        ceni_say(w, "refused at once: the estimated wait exceeds the deadline (refuse_late)");
    }
}

/* "Health check: object 3 failed its test after 300 ms: connection lost." or "...: the test of object 3 has been
 * running for 300 ms." */
static void say_checks(ceni_writer *w, const ceni_checks *checks)
{
    ceni_say(w, "Health check: ");
    if (checks->goes_on) {
        ceni_say(w, "the test of object %u has been running for ", checks->index);
        ceni_say_time(w, checks->last_ns);
        ceni_say(w, ". ");
        return;
    }
    if (checks->failed > 1) {
        ceni_say(w, "%u objects failed their tests in ", checks->failed);
        ceni_say_time(w, checks->spent_ns);
        ceni_say(w, ", the last was ");
    }
    ceni_say(w, "object %u%s after ", checks->index, checks->failed > 1 ? "" : " failed its test");
    ceni_say_time(w, checks->last_ns);
    ceni_say(w, ": %.200s. ", checks->said);
}

static void say_outcome(ceni_writer *w, const ceni_picture *p, const ceni_verdict *verdict)
{
    const char *name = p->pool->name;
    cen_status status = verdict->status;
    switch (status) {
    case CEN_FULL:
        ceni_say(w, "pool \"%s\": wait queue full (max_waiters = %lld)", name, (long long)verdict->max);
        break;
    case CEN_OVERLOAD:
        ceni_say(w, "pool \"%s\": ", name);
        say_limit(w, p, verdict);
        break;
    case CEN_EMPTY: ceni_say(w, "pool \"%s\": no idle object", name); break;
    case CEN_INTERRUPTED: ceni_say(w, "pool \"%s\": interrupted", name); break;
    default: ceni_say(w, "pool \"%s\": no object", name); break;
    }
    if (status == CEN_TIMEOUT || status == CEN_INTERRUPTED) {
        ceni_say(w, " after ");
        ceni_say_time(w, p->waited);
    }
    if (ceni_verdict_refuses(verdict)) {
        ceni_say(w, "; try again in about ");
        ceni_say_time(w, verdict->retry_after_ns);
    }
    ceni_say(w, ". ");
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
static cen_status explain_vain(ceni_picture *p, const ceni_verdict *verdict, cen_error *error)
{
    ceni_picture_count(p);
    ceni_picture_read_gate(p);
    bool driver = p->last.status == CEN_OK || p->last.status == CEN_TIMEOUT;
    cen_status status = driver ? CEN_DRIVER : p->last.status;
    if (!error) return status;
    ceni_writer w = {.text = error->text, .room = sizeof error->text};
    ceni_say(&w, "pool \"%s\": ", p->pool->name);
    if (p->s.open_failures > 0) ceni_say_failures(&w, p);
    else ceni_say(&w, "%.400s; opening works again.", ceni_picture_words(p->pool, &p->last));
    fill_in(error, verdict, status, p->last.code, CEN_CAUSE_OPENING_FAILED);
    error->cause = ceni_picture_told_cause(p, error->cause);
    return status;
}

/* Make the reason, the part after the outcome; fills in all fields except made_at. `checks`: the take's tests; NULL:
 * none. */
static void give_reason(ceni_picture *p, const ceni_checks *checks, ceni_kept_reason *out)
{
    out->text[0] = '\0';
    ceni_picture_take(p, p->waited > 0 ? MOST_LOOKED : FEW);
    cen_cause cause = ceni_picture_cause(p);
    ceni_writer w = {.text = out->text, .room = sizeof out->text};
    bool named = false;
    if (checks) say_checks(&w, checks);
    int64_t spent = checks ? checks->spent_ns + (checks->goes_on ? checks->last_ns : 0) : 0;
    bool enough = checks && cause != CEN_CAUSE_SELF_WAIT && spent >= p->waited / 2; /* the tests are the cause */
    if (!enough) named = ceni_say_cause(&w, p, cause);
    if (!enough) ceni_say(&w, " ");
    if (enough) cause = CEN_CAUSE_HEALTH_CHECK;
    ceni_say_counts(&w, p);
    ceni_say_crowd(&w, p);
    if (p->listed > 0 && !named) {
        ceni_say(&w, " Held longest: ");
        ceni_say_holder(&w, &p->oldest[0]);
        ceni_say(&w, ".");
    }
    if (p->s.open_failures > 0 && !ceni_cause_is_of_opening(cause)) {
        ceni_say(&w, " Also, ");
        ceni_say_failures(&w, p);
    }
    out->code = ceni_cause_is_of_opening(cause) ? p->last.code : 0;
    out->cause = ceni_picture_told_cause(p, cause);
    out->sole = p->sole;
    out->suspect_ns = p->youngest >= CENI_VERY_LONG_NS ? p->youngest / CENI_FAR_OLDER : 0;
    out->suspects = out->suspect_ns > p->waited;
}

cen_status ceni_explain_refusal(cen_pool *pool, ceni_verdict verdict, int64_t waited_ns, uint64_t holder,
                                cen_error *error)
{
    ceni_picture p = {.pool = pool, .asker = holder, .waited = waited_ns, .is_for_error = true};
    if (verdict.status == CEN_DRIVER) return explain_vain(&p, &verdict, error);
    if (!error) return verdict.status;
    ceni_writer w = {.text = error->text, .room = sizeof error->text};
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
    ceni_say(&w, "%s", reason.text);
    fill_in(error, &verdict, verdict.status, reason.code, reason.cause);
    return verdict.status;
}

/* ---- A close that ended at its deadline ---------------------------------------------------------- */

cen_status ceni_explain_close(cen_pool *pool, const cen_close_report *report, cen_error *error)
{
    if (!error) return CEN_TIMEOUT;
    ceni_picture p = {.pool = pool};
    ceni_picture_take(&p, MOST_LOOKED);
    ceni_writer w = {.text = error->text, .room = sizeof error->text};
    ceni_say(&w, "pool \"%s\": close timed out (revoked: %u, being opened or closed: %u)", pool->name, report->revoked,
             report->busy);
    for (uint32_t i = 0; i < p.listed && w.used < sizeof error->text / 2; i++) {
        ceni_say(&w, i == 0 ? "; not given back: " : "; ");
        ceni_say_holder(&w, &p.oldest[i]);
        p.holders--;
    }
    if (p.listed > 0 && p.holders > 0) ceni_say(&w, "; and %u more", p.holders);
    ceni_say(&w, ".");
    cen_cause cause = report->revoked > 0 ? CEN_CAUSE_REVOKED : CEN_CAUSE_CLOSING;
    fill_in(error, &(ceni_verdict){.status = CEN_TIMEOUT}, CEN_TIMEOUT, 0, cause);
    return CEN_TIMEOUT;
}
