/* SPDX-License-Identifier: MIT */
/*
 * The watchdog: one alarm per actor that checks the message or job that is being handled.
 *
 *     turn:  begins n ▶ [armed? else arms] ▶ ends n, and reports it if it was slow and is not reported yet
 *     alarm: n is slow ▶ reports it, lies down
 *            n is not slow yet ▶ is set again for when it would be
 *            nothing is handled, or it has been reported ▶ lies down
 *
 *     watch = number << 2 | NOTHING, HANDLING or REPORTED
 *
 * Invariants
 *  W1 A message is reported once: by the alarm if it moves HANDLING to REPORTED, or by the turn if it takes HANDLING
 *     away.
 *  W2 `began` and `doing` are written while nothing is being handled. So if the move of W1 succeeds, the values read
 *     before it belong to that message.
 *  W3 While a message is HANDLING, the alarm is armed, or the turn is about to arm it. An alarm that lies down writes
 *     `armed` and then reads `watch`. The turn writes `watch` and then reads `armed`. All four are in one order.
 *  W4 The alarm's call touches the actor until it writes 0 to in_watch. It set in_watch before `armed` could become 0.
 *     Free waits for both.
 *
 * The naive watchdog sets an alarm before each message and unsets it after: each takes the runtime's lock. Here a busy
 * actor's alarm moves once in slow_ns, and a message costs two readings of the clock.
 *
 * Order table
 * [W1] begin      | store of watch    | seq_cst | W3 W4 W6 | began and doing; that a message is handled, before the look at armed | the message is not watched
 * [W2] begin, lie down | load of armed, cas of armed | seq_cst | W5 | that the alarm is armed | it is not set, or set twice
 * [W3] alarm, look | load of watch    | seq_cst | W1 W5 | began and doing; a message that began before the alarm lay down | as W1
 * [W4] report     | cas of watch      | acq_rel | W1 W7 | that began and doing have been read | the text names the next message
 * [W5] lie down, free | store of armed | seq_cst | W2 W3 | that the alarm is not armed, before the look at watch | as W1
 * [W6] end        | exchange of watch | acq_rel | W4 | whether it was reported | it is reported twice
 * [W7] alarm      | store of in_watch | release | W8 | that the call has ended | the actor is freed under it
 * [W8] free       | load of armed, load of in_watch | acquire | W5 W7 | the same | the same
 *
 * Tested by tests/unit/actor/watch_test.c, tests/explore/actor_watch_test.c.
 */
#include "actor/internal.h"
#include "base/plant.h"
#include "record/events.h"
#include "sync/backoff.h"

#include <stddef.h>
#include <stdio.h>

enum { NOTHING = 0, HANDLING = 1, REPORTED = 2, KIND = 3 };

static int64_t now_of(const cen_actor *actor)
{
    return ceni_runtime_now(actor->runtime);
}

static void ring_when_slow(cen_actor *actor, int64_t began)
{
    int64_t moment = began > CENI_FOREVER - actor->slow_ns ? CENI_FOREVER : began + actor->slow_ns;
    ceni_alarm_set(actor->runtime, &actor->watchdog, moment, NULL);
}

static void report(cen_actor *actor, const char *message, int64_t ns, const char *is)
{
    char text[256];
    ceni_add_relaxed(&actor->slow_count, 1); /* a number; carries nothing */
    snprintf(text, sizeof text, "actor \"%s\": handling %s %s %lld.%03lld s (slow_ns = %lld.%03lld s)", actor->name,
             message, is, (long long)(ns / 1000000000), (long long)(ns / 1000000 % 1000),
             (long long)(actor->slow_ns / 1000000000), (long long)(actor->slow_ns / 1000000 % 1000));
    ceni_event_tell(CEN_LEVEL_WARNING, CEN_EVENT_MESSAGE_SLOW, &actor->entry, ns, text);
    ceni_rank_expect_none("`slow` of an actor");
    if (actor->slow) actor->slow(actor->argument, text, message, ns);
    else fprintf(stderr, "cenote: %s\n", text);
}

/* ---- The turn's side ----------------------------------------------------------------- */

static bool arm(cen_actor *actor)
{
    uint32_t armed = 0;
    return ceni_cas_seq_cst(&actor->armed, &armed, 1u); /* [W2] */
}

void ceni_watch_begin(cen_actor *actor, const char *name)
{
    if (actor->slow_ns == 0) return;
    int64_t now = now_of(actor);
    ceni_store_relaxed(&actor->began, now);  /* W1 publishes it; carries nothing */
    ceni_store_relaxed(&actor->doing, name); /* likewise; carries nothing */
    actor->number++;
    ceni_store_seq_cst(&actor->watch, actor->number << 2 | HANDLING);                    /* [W1] */
    if (ceni_load_seq_cst(&actor->armed) == 0 && arm(actor)) ring_when_slow(actor, now); /* [W2] */
}

void ceni_watch_end(cen_actor *actor)
{
    if (actor->slow_ns == 0) return;
    uint64_t before = ceni_exchange_acq_rel(&actor->watch, actor->number << 2 | NOTHING); /* [W6] */
    if ((before & KIND) != HANDLING) return;
    int64_t ns = now_of(actor) - ceni_load_relaxed(&actor->began);                        /* its own; carries nothing */
    if (ns > actor->slow_ns) report(actor, ceni_load_relaxed(&actor->doing), ns, "took"); /* its own; carries nothing */
}

/* ---- The alarm's side--------------------------------------------------------------------- */

/* Check the message that is being handled. False: there is nothing to wait for. */
static bool look(cen_actor *actor)
{
    uint64_t watch = ceni_load_seq_cst(&actor->watch); /* [W3] */
    if ((watch & KIND) != HANDLING) return false;
    int64_t now = now_of(actor), began = ceni_load_relaxed(&actor->began); /* W2 there; carries nothing */
    const char *doing = ceni_load_relaxed(&actor->doing);                  /* likewise; carries nothing */
    if (now - began < actor->slow_ns) {
        ring_when_slow(actor, began);
        return true;
    }
    if (ceni_cas_acq_rel(&actor->watch, &watch, (watch & ~(uint64_t)KIND) | REPORTED)) /* [W4] */
        report(actor, doing, now - began, "has taken");
    return false;
}

bool ceni_watch_look(cen_actor *actor, const char **doing, int64_t *ns)
{
    uint64_t watch = ceni_load_seq_cst(&actor->watch); /* [W3] */
    if ((watch & KIND) == NOTHING) return false;
    /* They belong to that message if the next look finds the same number (W2). In a rare race they belong to the next
     * message, whose name is valid as well. */
    int64_t began = ceni_load_relaxed(&actor->began);                        /* carries nothing */
    const char *name = ceni_load_relaxed(&actor->doing);                     /* likewise; carries nothing */
    bool same = (ceni_load_seq_cst(&actor->watch) | KIND) == (watch | KIND); /* [W3] */
    *doing = name;
    *ns = now_of(actor) - began;
    return same;
}

/* Disarm the alarm. False: a message has begun meanwhile, and this call has armed the alarm again and must watch it. */
static bool lie_down(cen_actor *actor)
{
    ceni_store_seq_cst(&actor->armed, 0u); /* [W5] */
    if (ceni_planted(actor_watches_once)) return true;
    bool handling = (ceni_load_seq_cst(&actor->watch) & KIND) == HANDLING; /* [W3] */
    return !handling || !arm(actor);
}

void ceni_watch_due(ceni_alarm *alarm)
{
    cen_actor *actor = CENI_LIST_ENTRY(alarm, cen_actor, watchdog);
    ceni_store_relaxed(&actor->in_watch, ceni_thread_id()); /* before W5 or W7; carries nothing */
    while (!look(actor) && !lie_down(actor)) continue;
    ceni_store_release(&actor->in_watch, (uint64_t)0); /* [W7] */
}

/* No message is being handled at this point, so an alarm that cannot be unset lies down when it is called. */
bool ceni_watch_fini(cen_actor *actor)
{
    ceni_backoff backoff = {0};
    if (actor->slow_ns == 0) return true;
    if (ceni_load_acquire(&actor->in_watch) == ceni_thread_id()) return false;                         /* [W8] */
    while (ceni_load_acquire(&actor->armed)) {                                                         /* [W8] */
        if (ceni_alarm_unset(actor->runtime, &actor->watchdog)) ceni_store_seq_cst(&actor->armed, 0u); /* [W5] */
        else ceni_backoff_wait(&backoff);
    }
    while (ceni_load_acquire(&actor->in_watch)) ceni_backoff_wait(&backoff); /* [W8] */
    return true;
}
