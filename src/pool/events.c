/* SPDX-License-Identifier: MIT */
/*
 * Events: what happens to a pool, told to one who listens.
 *
 *     tell ──always──▶ the events of the process (tell.c)
 *       ├──nobody listens──▶ nothing more, or a LEAK-DETECTED line
 *       └──▶ queue, of 256 ──▶ errand, with a hand on the pool ──▶ listener
 *             └──full──▶ lost, and counted
 *
 * Who tells an event never waits for the listener: it copies the event into
 * the queue, under the pool's lock, and sees to it that an errand is posted.
 * Whoever takes an event out is the speaker until the listener has returned;
 * there is one at a time, and it takes the oldest, so events are delivered in
 * the order in which they were queued. Usually that is the errand. When the
 * pool is freed it is the freeing thread, so that the listener has heard all,
 * and is not called any more, when free returns.
 *
 * The record is made by the first listen and stays until the pool's memory
 * goes: one who tells may be about to look at it.
 *
 * Invariants
 *  N1 All but `heard` and `turns` is under the pool's lock. `heard` says whether
 *     there is a listener; it is written under the lock, too.
 *  N2 A listener is called only by the speaker, who took listener and event
 *     under the lock. So one who has replaced the listener under the lock, and
 *     then seen the call end that was going on, knows that the former one will
 *     not be called again.
 *  N3 If the queue has something, then an errand is posted, or somebody speaks
 *     who looks at the queue again afterwards, or no thread could be had: then
 *     the next event, the keeper's next round or free tries again.
 *  N4 `posted` is a hand on the pool. It is dropped by the errand, or by whoever
 *     could not post it.
 *  N5 queued = delivered + in the queue + dropped by listen; `lost` is what found
 *     the queue full, plus what listen dropped. Each call says how many
 *     since the one before it: `told_lost` is what was said.
 *
 * The naive remove clears the listener and returns: a speaker that has read it
 * calls it a moment later, when its argument is gone. The naive wait for that
 * waits until nobody speaks, which is never while there are events for the next
 * listener. Here one call is awaited: the one that went on [N2].
 *
 * The record is read as a setting; all else is under the lock.
 *
 * Tested by tests/unit/pool/events_test.c, events_inside_test.c, tests/explore/pool_events_test.c.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"
#include "sync/future.h"

enum {
    QUEUE = 256,
    TRY_AGAIN_NS = 1000000000,
    A_MOMENT_NS = 100000000, /* in which a helper comes, if threads can be had at all */
};

/* An event on its way: its text is here. */
typedef struct told {
    ceni_occurrence event;
    uint64_t number;
    uint64_t lost; /* of all, when it was queued */
    char text[CEN_ERROR_TEXT_SIZE];
} told;

struct ceni_pool_listener {
    /* fixed before it is published */
    cen_pool *pool;
    /* any thread, atomically; written under the pool's lock */
    _Atomic bool heard;     /* somebody listens */
    _Atomic uint32_t turns; /* a futex: calls of a listener and errands that have ended */
    /* under the pool's lock */
    void (*listener)(void *argument, const cen_event *event, uint64_t missed); /* NULL: nobody */
    void *argument;
    uint64_t lost, told_lost; /* in all; of these, what calls have told */
    uint64_t speaker;         /* the thread that is in a call of a listener; 0: none */
    uint64_t calls;           /* that have returned */
    uint32_t awaiting;        /* threads that wait for a turn */
    bool posted;
    ceni_errand errand;
    uint32_t first, count;
    told queue[QUEUE];
};

static ceni_pool_listener *listening_of(cen_pool *pool)
{
    return ceni_setting(&pool->listening);
}

/* ---- Speaking ------------------------------------------------------------------------- */

/* Something has ended that others may wait for. */
static void turn_locked(ceni_pool_listener *l)
{
    uint32_t turns = ceni_load_relaxed(&l->turns); /* written under this lock; carries nothing */
    ceni_store_relaxed(&l->turns, turns + 1);      /* who slept takes the lock before it believes it; carries nothing */
    if (l->awaiting) ceni_futex_wake(&l->turns, UINT32_MAX);
}

/* Sleeps until the next turn, or until `moment`: false then. Drops the lock meanwhile. */
static bool await_turn_locked(cen_pool *pool, ceni_pool_listener *l, int64_t moment)
{
    uint32_t seen = ceni_load_relaxed(&l->turns); /* written under this lock; carries nothing */
    l->awaiting++;
    ceni_waiters_unlock(pool->line);
    ceni_woken woken = ceni_futex_wait(&l->turns, seen, moment);
    ceni_waiters_lock(pool->line);
    l->awaiting--;
    return woken == CENI_WOKEN;
}

/* Takes the oldest event out and tells it; drops the lock meanwhile. False if
 * there is none, or another thread speaks. */
static bool speak_locked(cen_pool *pool, ceni_pool_listener *l)
{
    if (l->speaker || l->count == 0) return false;
    told next = l->queue[l->first];
    void (*listener)(void *, const cen_event *, uint64_t) = l->listener;
    void *argument = l->argument;
    uint64_t missed = next.lost - l->told_lost;
    l->told_lost = next.lost;
    l->first = (l->first + 1) % QUEUE;
    l->count--;
    l->speaker = ceni_thread_id();
    ceni_waiters_unlock(pool->line);
    cen_event event;
    ceni_event_fill(&event, &next.event, next.text);
    event.number = next.number;
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    listener(argument, &event, missed);
    ceni_callout_end(&callout);
    ceni_waiters_lock(pool->line);
    l->speaker = 0;
    l->calls++;
    turn_locked(l);
    return true;
}

/* Until the call that goes on has returned, not the next one. Drops the lock meanwhile. */
static void await_call_locked(cen_pool *pool, ceni_pool_listener *l)
{
    uint64_t calls = l->calls;
    while (l->speaker && l->calls == calls) await_turn_locked(pool, l, CENI_FOREVER);
}

/* ---- The errand ----------------------------------------------------------------------- */

/* True if an errand is to be posted: it has a hand then. */
static bool plan_locked(cen_pool *pool, ceni_pool_listener *l)
{
    if (l->count == 0 || l->posted || l->speaker) return false;
    l->posted = true;
    pool->hands++;
    return true;
}

/* No thread could be had: the keeper comes soon, if the pool is not closed. */
static void post_later(cen_pool *pool, ceni_pool_listener *l)
{
    ceni_followup call = {.more = false};
    int64_t soon = ceni_pool_now(pool) + TRY_AGAIN_NS;
    ceni_waiters_lock(pool->line);
    l->posted = false;
    if (soon < pool->next_round) pool->next_round = soon;
    ceni_keeper_plan_locked(pool, &call);
    ceni_waiters_unlock(pool->line);
    if (call.alarm) ceni_hand_alarm(pool);
    ceni_waiters_lock(pool->line);
    ceni_hand_drop_locked(pool);
}

static void post(cen_pool *pool, ceni_pool_listener *l)
{
    if (ceni_errand_post(ceni_pool_runtime(pool), &l->errand) != CEN_OK) post_later(pool, l);
}

/* Has a hand, so the pool is there until it drops it. As many as the queue
 * holds, and then it stands in line again: others have errands too. */
static void run(ceni_errand *errand)
{
    CENI_INLINE_AT_END; /* a listener may give, and whoever is told of it may do what a listener may not */
    ceni_pool_listener *l = (ceni_pool_listener *)(void *)((char *)errand - offsetof(ceni_pool_listener, errand));
    cen_pool *pool = l->pool;
    ceni_waiters_lock(pool->line);
    for (int i = 0; i < QUEUE && speak_locked(pool, l); i++) continue;
    l->posted = false;
    bool again = plan_locked(pool, l);
    turn_locked(l);
    if (again) {
        ceni_waiters_unlock(pool->line);
        post(pool, l);
        ceni_waiters_lock(pool->line);
    }
    ceni_hand_drop_locked(pool);
}

void ceni_pool_events_resume(cen_pool *pool)
{
    ceni_pool_listener *l = listening_of(pool);
    if (!l) return;
    ceni_waiters_lock(pool->line);
    bool posts = plan_locked(pool, l);
    ceni_waiters_unlock(pool->line);
    if (posts) post(pool, l);
}

/* ---- Telling --------------------------------------------------------------------------- */

/* A whole sentence that begins with the pool's name. One that was made for a cen_error has it already. */
static void compose(const cen_pool *pool, told *out, const char *format, va_list arguments)
{
    int length = snprintf(out->text, sizeof out->text, "pool \"%s\": ", pool->name);
    char name[CENI_POOL_NAME + sizeof "pool \"\": "];
    memcpy(name, out->text, (size_t)length);
    char *sentence = out->text + length;
    vsnprintf(sentence, sizeof out->text - (size_t)length, format, arguments);
    if (strncmp(sentence, name, (size_t)length) == 0) memmove(out->text, sentence, strlen(sentence) + 1);
}

/* What is printed if nobody listens. */
static const char *headline(cen_event_kind kind)
{
    if (kind == CEN_EVENT_LEAK) return "LEAK-DETECTED";
    return kind == CEN_EVENT_ORPHANED ? "ORPHANED-LEASE" : "STALE-GIVE";
}

/* Every leak is printed; of orphans and of double gives the first of a pool. */
static bool is_printed(cen_pool *pool, cen_event_kind kind)
{
    if (kind == CEN_EVENT_LEAK) return true;
    if (!ceni_pool_tells || (kind != CEN_EVENT_ORPHANED && kind != CEN_EVENT_STALE_GIVE)) return false;
    bool printed = false;
    _Atomic bool *first = kind == CEN_EVENT_ORPHANED ? &pool->orphan_printed : &pool->stale_printed;
    return ceni_cas_relaxed(first, &printed, true); /* one is the first; carries nothing */
}

static void print(const told *lost)
{
    char line[sizeof lost->text + 32];
    snprintf(line, sizeof line, "%s %s\n", headline(lost->event.kind), lost->text);
    int held = ceni_cancel_hold();
    fputs(line, stderr); /* unbuffered: one line in one piece */
    ceni_cancel_release(held);
}

/* False if nobody listens any more. */
static bool queue(cen_pool *pool, ceni_pool_listener *l, const told *new)
{
    ceni_waiters_lock(pool->line);
    bool heard = l->listener != NULL, room = l->count < QUEUE;
    if (heard && room) {
        told *last = &l->queue[(l->first + l->count++) % QUEUE];
        *last = *new;
        last->lost = l->lost;
    }
    if (heard && !room && !ceni_planted(lost_events_uncounted)) l->lost++;
    bool posts = plan_locked(pool, l);
    ceni_waiters_unlock(pool->line);
    if (posts) post(pool, l);
    return heard;
}

void ceni_pool_event_tell(cen_pool *pool, ceni_occurrence event, const char *format, ...)
{
    ceni_pool_listener *l = listening_of(pool);
    bool heard = l && ceni_load_relaxed(&l->heard); /* asked again under the lock; carries nothing */
    if (!heard && !ceni_pool_tells && event.kind != CEN_EVENT_LEAK) return;
    event.level = ceni_tell_level(event.kind);
    event.of = &pool->entry;
    event.time_ns = ceni_clock_wall();
    told new = {.event = event};
    va_list arguments;
    va_start(arguments, format);
    compose(pool, &new, format, arguments);
    va_end(arguments);
    if (ceni_pool_tells && (heard || !ceni_planted(events_only_if_heard)))
        new.number = ceni_event_write(&event, new.text);
    if (heard) heard = queue(pool, l, &new);
    if (!heard && is_printed(pool, event.kind)) print(&new);
}

/* ---- Listening --------------------------------------------------------------------------- */

static size_t bytes(void)
{
    return sizeof(ceni_pool_listener);
}

/* The pool's record, made if there is none; NULL without memory. */
static ceni_pool_listener *have_record(cen_pool *pool)
{
    ceni_pool_listener *l = listening_of(pool);
    if (l) return l;
    if (ceni_pool_need_runtime(pool) != CEN_OK) return NULL;
    ceni_pool_listener *made = ceni_alloc(pool->allocator, bytes(), _Alignof(ceni_pool_listener));
    if (!made) return NULL;
    made->pool = pool;
    ceni_errand_init(&made->errand, run);
    ceni_waiters_lock(pool->line);
    l = listening_of(pool);
    if (!l) ceni_setting_put(&pool->listening, made);
    ceni_waiters_unlock(pool->line);
    if (!l) return made;
    ceni_free(pool->allocator, made, bytes(), _Alignof(ceni_pool_listener)); /* another was first */
    return l;
}

/* What is in the queue was told before: it is not for the new one. */
static void replace_locked(ceni_pool_listener *l, void (*listener)(void *, const cen_event *, uint64_t), void *argument)
{
    l->lost += l->count;
    l->count = 0;
    l->listener = listener;
    l->argument = argument;
    ceni_store_relaxed(&l->heard, listener != NULL); /* asked again under the lock; carries nothing */
}

cen_status cen_pool_listen(cen_pool *pool, void (*listener)(void *argument, const cen_event *event, uint64_t missed),
                           void *argument, cen_error *error)
{
    cen_status status = ceni_pool_check(pool, "cen_pool_listen", error);
    if (status != CEN_OK) return status;
    ceni_pool_listener *l = listener ? have_record(pool) : listening_of(pool);
    if (!l && !listener) return CEN_OK;
    if (!l)
        return ceni_error_set(error, CEN_NO_MEMORY, 0, "pool \"%s\": no memory for the queue of a listener",
                              pool->name);
    bool inside = ceni_callout_inside(pool);
    ceni_waiters_lock(pool->line);
    bool closed = ceni_load_relaxed(&pool->line->ctl) & CENI_CTL_CLOSED; /* written under this lock; carries nothing */
    bool speaks = l->speaker == ceni_thread_id();
    if (inside && !speaks) status = CEN_MISUSE;
    else if (listener && closed) status = CEN_CLOSED;
    else replace_locked(l, listener, argument);
    if (status == CEN_OK && !speaks && !ceni_planted(listener_not_awaited)) await_call_locked(pool, l);
    ceni_waiters_unlock(pool->line);
    if (status == CEN_MISUSE) return ceni_pool_misuse(pool, "a change of its listener", error);
    return status == CEN_CLOSED ? ceni_pool_refuse_closed(pool->name, error) : status;
}

/* ---- The end --------------------------------------------------------------------------------- */

/* An errand that will find nothing to do is still a hand on the pool, and the
 * pool a user of its runtime, which the program may want to free next. A manual
 * one may never be polled again. */
static void await_errand_locked(cen_pool *pool, ceni_pool_listener *l)
{
    bool manual = ceni_runtime_is_manual(ceni_pool_runtime(pool));
    int64_t until = l->posted && !manual ? ceni_clock_now() + A_MOMENT_NS : 0;
    while (l->posted && !manual && await_turn_locked(pool, l, until)) continue;
    bool posted = l->posted;
    ceni_waiters_unlock(pool->line);
    if (posted && manual) ceni_runtime_tend(ceni_pool_runtime(pool));
}

void ceni_pool_events_finish(cen_pool *pool)
{
    ceni_pool_listener *l = listening_of(pool);
    if (!l) return;
    ceni_waiters_lock(pool->line);
    while (l->count > 0 || l->speaker)
        if (!speak_locked(pool, l)) await_call_locked(pool, l);
    replace_locked(l, NULL, NULL);
    await_errand_locked(pool, l); /* drops the lock */
}

void ceni_pool_events_end(cen_pool *pool)
{
    ceni_free(pool->allocator, listening_of(pool), bytes(), _Alignof(ceni_pool_listener));
}
