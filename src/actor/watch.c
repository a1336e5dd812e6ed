/* SPDX-License-Identifier: MIT */
/*
 * The watchdog: one alarm per actor, that looks at what is being handled.
 *
 *     turn:  begins n ▶ [armed? else arms] ▶ ends n, and reports it if nobody has and it was slow
 *     alarm: n is slow ▶ reports it, lies down
 *            n is not slow yet ▶ is set again for when it would be
 *            nothing is handled, or it has been reported ▶ lies down
 *
 *     watch = number << 2 | NOTHING, HANDLING or REPORTED
 *
 * Invariants
 *  W1 A message is reported by whoever moves its HANDLING to REPORTED, or takes
 *     HANDLING away: once.
 *  W2 `began` and `doing` are written while nothing is being handled. So if the move
 *     of W1 succeeds, what was read before it was of that message.
 *  W3 While something is HANDLING, the alarm is armed, or its beginner is about to
 *     arm it: the one who lies down writes `armed` and then looks, the beginner
 *     writes `watch` and then looks, all in one order.
 *  W4 The alarm's call touches the actor until it writes 0 to in_watch, which it
 *     wrote before `armed` could become 0. Free waits for both.
 *
 * The naive watchdog sets an alarm before each message and unsets it after: two
 * times the runtime's lock for each. Here a busy actor has its alarm moved once in slow_ns,
 * and a message costs two metrics of the clock.
 *
 * Order table
 * [W1] begin      | store of watch    | seq_cst | W3 W4 W6 | began and doing; that it is there, before the look at armed | nobody watches it
 * [W2] begin, lie down | load of armed, cas of armed | seq_cst | W5 | that somebody watches | nobody does, or two set the alarm
 * [W3] alarm, look | load of watch    | seq_cst | W1 W5 | began and doing; what has begun before it lay down | as W1
 * [W4] report     | cas of watch      | acq_rel | W1 W7 | began and doing have been read | the text names the next message
 * [W5] lie down, free | store of armed | seq_cst | W2 W3 | that nobody watches, before the look at watch | as W1
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
    snprintf(text, sizeof text, "actor \"%s\" %s handling %s for %lld.%03lld s, longer than %lld.%03lld s", actor->name,
             is, message, (long long)(ns / 1000000000), (long long)(ns / 1000000 % 1000),
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
    int64_t ns = now_of(actor) - ceni_load_relaxed(&actor->began);                       /* its own; carries nothing */
    if (ns > actor->slow_ns) report(actor, ceni_load_relaxed(&actor->doing), ns, "was"); /* its own; carries nothing */
}

/* ---- The alarm's ------------------------------------------------------------------------ */

/* Looks at what is being handled; false: there is nothing to wait for. */
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
        report(actor, doing, now - began, "has been");
    return false;
}

bool ceni_watch_look(cen_actor *actor, const char **doing, int64_t *ns)
{
    uint64_t watch = ceni_load_seq_cst(&actor->watch); /* [W3] */
    if ((watch & KIND) == NOTHING) return false;
    /* Of the same, if the next look says so (W2), or just possibly of the one after it, whose name stays as well. */
    int64_t began = ceni_load_relaxed(&actor->began);                        /* carries nothing */
    const char *name = ceni_load_relaxed(&actor->doing);                     /* likewise; carries nothing */
    bool same = (ceni_load_seq_cst(&actor->watch) | KIND) == (watch | KIND); /* [W3] */
    *doing = name;
    *ns = now_of(actor) - began;
    return same;
}

/* True: nobody watches any more. False: something has begun, and it is this one's to watch. */
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

/* Nothing is being handled any more, so the alarm lies down when it is called, if it cannot be unset. */
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
