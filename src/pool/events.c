/* SPDX-License-Identifier: MIT */
/*
 * Events of a pool, delivered to its listener.
 *
 *     tell ──always──▶ the events of the process (tell.c)
 *       ├──no listener──▶ nothing more, or a line on stderr
 *       └──▶ queue, of 256 ──▶ errand, with a hand on the pool ──▶ listener
 *             └──full──▶ lost, and counted
 *
 * Telling an event never waits for the listener: it copies the event into the queue, under the pool's lock, and makes
 * sure that an errand is posted. A thread that takes an event out is the speaker until the listener has returned.
 * There is one speaker at a time, and it takes the oldest event, so events are delivered in the order in which they
 * were queued. Usually the errand is the speaker. When the pool is freed, the freeing thread is; so when free
 * returns, the listener has got all events and is not called again.
 *
 * The record is made by the first listen and stays until the pool's memory is freed, because a thread that tells an
 * event may be about to read it.
 *
 * Invariants
 *  N1 Everything except `heard` and `turns` is under the pool's lock. `heard` is true if
 *     there is a listener; it is also written under the lock.
 *  N2 A listener is called only by the speaker, which took listener and event under
 *     the lock. So after replacing the listener under the lock, and then seeing the
 *     end of the running call, the former listener will not be called again.
 *  N3 If the queue is not empty, then an errand is posted, or there is a speaker that
 *     will check the queue again, or no thread could be started: then the next event,
 *     the keeper's next round or free tries again.
 *  N4 `posted` is a hand on the pool. The errand drops it, or the thread that could
 *     not post the errand.
 *  N5 queued = delivered + in the queue + dropped by listen. `lost` counts events that
 *     found the queue full, and those dropped by listen. Each call reports how many were
 *     lost since the one before: `told_lost` is the number reported so far.
 *
 * The naive removal clears the listener and returns: a speaker that has read it calls it a moment later, when its
 * argument may be freed. The naive wait for that waits until there is no speaker, which never happens while there are
 * events for the next listener. Here only the one call is awaited that was running [N2].
 *
 * The record is read as a setting; everything else is under the lock.
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
    A_MOMENT_NS = 100000000, /* a helper comes in this time, if threads can be started at all */
};

/* A queued event, with its text. */
typedef struct told {
    ceni_occurrence event;
    uint64_t number;
    uint64_t lost; /* the listener's `lost` when it was queued */
    char text[CEN_ERROR_TEXT_SIZE];
} told;

struct ceni_pool_listener {
    /* fixed before it is published */
    cen_pool *pool;
    /* any thread, atomically; written under the pool's lock */
    _Atomic bool heard;     /* there is a listener */
    _Atomic uint32_t turns; /* a futex word: calls of a listener and errands that have ended */
    /* under the pool's lock */
    void (*listener)(void *argument, const cen_event *event, uint64_t missed); /* NULL: none */
    void *argument;
    uint64_t lost, told_lost; /* in total; of these, reported to the listener */
    uint64_t speaker;         /* the thread that is in a call of a listener; 0: none */
    uint64_t calls;           /* calls that have returned */
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

/* A call or an errand has ended: wake the threads that wait for that. */
static void turn_locked(ceni_pool_listener *l)
{
    uint32_t turns = ceni_load_relaxed(&l->turns); /* written under this lock; carries nothing */
    ceni_store_relaxed(&l->turns, turns + 1);      /* a woken thread takes the lock first; carries nothing */
    if (l->awaiting) ceni_futex_wake(&l->turns, UINT32_MAX);
}

/* Sleep until the next turn, or until `moment`: returns false then. Drops the lock meanwhile. */
static bool await_turn_locked(cen_pool *pool, ceni_pool_listener *l, int64_t moment)
{
    uint32_t seen = ceni_load_relaxed(&l->turns); /* written under this lock; carries nothing */
    l->awaiting++;
    ceni_waiters_unlock(pool->waiters);
    ceni_woken woken = ceni_futex_wait(&l->turns, seen, moment);
    ceni_waiters_lock(pool->waiters);
    l->awaiting--;
    return woken == CENI_WOKEN;
}

/* Take the oldest event out and deliver it; drops the lock meanwhile. Returns false if there is none, or another
 * thread is the speaker. */
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
    ceni_waiters_unlock(pool->waiters);
    cen_event event;
    ceni_event_fill(&event, &next.event, next.text);
    event.number = next.number;
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    listener(argument, &event, missed);
    ceni_callout_end(&callout);
    ceni_waiters_lock(pool->waiters);
    l->speaker = 0;
    l->calls++;
    turn_locked(l);
    return true;
}

/* Wait until the running call has returned, but not for the next one. Drops the lock meanwhile. */
static void await_call_locked(cen_pool *pool, ceni_pool_listener *l)
{
    uint64_t calls = l->calls;
    while (l->speaker && l->calls == calls) await_turn_locked(pool, l, CENI_FOREVER);
}

/* ---- The errand ----------------------------------------------------------------------- */

/* Returns true if an errand must be posted; it has a hand then. */
static bool plan_locked(cen_pool *pool, ceni_pool_listener *l)
{
    if (l->count == 0 || l->posted || l->speaker) return false;
    l->posted = true;
    pool->hands++;
    return true;
}

/* No thread could be started: have the keeper come soon, if the pool is not closed. */
static void post_later(cen_pool *pool, ceni_pool_listener *l)
{
    ceni_followup followup = {.more = false};
    int64_t soon = ceni_pool_now(pool) + TRY_AGAIN_NS;
    ceni_waiters_lock(pool->waiters);
    l->posted = false;
    if (soon < pool->next_round) pool->next_round = soon;
    ceni_keeper_plan_locked(pool, &followup);
    ceni_waiters_unlock(pool->waiters);
    if (followup.alarm) ceni_hand_alarm(pool);
    ceni_waiters_lock(pool->waiters);
    ceni_hand_drop_locked(pool);
}

static void post(cen_pool *pool, ceni_pool_listener *l)
{
    if (ceni_errand_post(ceni_pool_runtime(pool), &l->errand) != CEN_OK) post_later(pool, l);
}

/* The errand has a hand, so the pool exists until it is dropped. It delivers at most as many events as the queue can
 * contain, and is then posted again behind other errands. */
static void run(ceni_errand *errand)
{
    CENI_INLINE_AT_END; /* a listener may give, and the jobs that run then may do what a listener may not */
    ceni_pool_listener *l = (ceni_pool_listener *)(void *)((char *)errand - offsetof(ceni_pool_listener, errand));
    cen_pool *pool = l->pool;
    ceni_waiters_lock(pool->waiters);
    for (int i = 0; i < QUEUE && speak_locked(pool, l); i++) continue;
    l->posted = false;
    bool again = plan_locked(pool, l);
    turn_locked(l);
    if (again) {
        ceni_waiters_unlock(pool->waiters);
        post(pool, l);
        ceni_waiters_lock(pool->waiters);
    }
    ceni_hand_drop_locked(pool);
}

void ceni_pool_events_resume(cen_pool *pool)
{
    ceni_pool_listener *l = listening_of(pool);
    if (!l) return;
    ceni_waiters_lock(pool->waiters);
    bool posts = plan_locked(pool, l);
    ceni_waiters_unlock(pool->waiters);
    if (posts) post(pool, l);
}

/* ---- Telling --------------------------------------------------------------------------- */

/* Compose a sentence that begins with the pool's name. A text from a cen_error has the name already. */
static void compose(const cen_pool *pool, told *out, const char *format, va_list arguments)
{
    int length = snprintf(out->text, sizeof out->text, "pool \"%s\": ", pool->name);
    char name[CENI_POOL_NAME + sizeof "pool \"\": "];
    memcpy(name, out->text, (size_t)length);
    char *sentence = out->text + length;
    vsnprintf(sentence, sizeof out->text - (size_t)length, format, arguments);
    if (strncmp(sentence, name, (size_t)length) == 0) memmove(out->text, sentence, strlen(sentence) + 1);
}

/* The first word of a line that is printed if there is no listener; NULL: an event of this kind is not printed. */
static const char *headline(cen_event_kind kind)
{
    switch (kind) {
    case CEN_EVENT_LEAK: return "LEAK-DETECTED";
    case CEN_EVENT_ORPHANED: return "ORPHANED-LEASE";
    case CEN_EVENT_STALE_GIVE: return "STALE-GIVE";
    case CEN_EVENT_LEFT_OPEN: return "LEFT-OPEN";
    default: return NULL;
    }
}

/* Every leak is printed; of each other kind, the first of each pool. */
static bool is_printed(cen_pool *pool, cen_event_kind kind)
{
    if (kind == CEN_EVENT_LEAK) return true;
    if (!ceni_pool_tells || !headline(kind)) return false;
    _Atomic bool *first = kind == CEN_EVENT_ORPHANED     ? &pool->orphan_printed
                          : kind == CEN_EVENT_STALE_GIVE ? &pool->stale_printed
                                                         : &pool->left_printed;
    bool printed = false;
    return ceni_cas_relaxed(first, &printed, true); /* decides which is the first; carries nothing */
}

static void print(const told *lost)
{
    char line[sizeof lost->text + 32];
    snprintf(line, sizeof line, "%s %s\n", headline(lost->event.kind), lost->text);
    int held = ceni_cancel_hold();
    fputs(line, stderr); /* unbuffered: one line in one piece */
    ceni_cancel_release(held);
}

/* Returns false if there is no listener now. */
static bool queue(cen_pool *pool, ceni_pool_listener *l, const told *new)
{
    ceni_waiters_lock(pool->waiters);
    bool heard = l->listener != NULL, room = l->count < QUEUE;
    if (heard && room) {
        told *last = &l->queue[(l->first + l->count++) % QUEUE];
        *last = *new;
        last->lost = l->lost;
    }
    if (heard && !room && !ceni_planted(lost_events_uncounted)) l->lost++;
    bool posts = plan_locked(pool, l);
    ceni_waiters_unlock(pool->waiters);
    if (posts) post(pool, l);
    return heard;
}

void ceni_pool_event_tell(cen_pool *pool, ceni_occurrence event, const char *format, ...)
{
    ceni_pool_listener *l = listening_of(pool);
    bool heard = l && ceni_load_relaxed(&l->heard); /* read again under the lock; carries nothing */
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

/* The pool's record, made if there is none; NULL if there is no memory. */
static ceni_pool_listener *have_record(cen_pool *pool)
{
    ceni_pool_listener *l = listening_of(pool);
    if (l) return l;
    if (ceni_pool_need_runtime(pool) != CEN_OK) return NULL;
    ceni_pool_listener *made = ceni_alloc(pool->allocator, bytes(), _Alignof(ceni_pool_listener));
    if (!made) return NULL;
    made->pool = pool;
    ceni_errand_init(&made->errand, run);
    ceni_waiters_lock(pool->waiters);
    l = listening_of(pool);
    if (!l) ceni_setting_put(&pool->listening, made);
    ceni_waiters_unlock(pool->waiters);
    if (!l) return made;
    ceni_free(pool->allocator, made, bytes(), _Alignof(ceni_pool_listener)); /* another was first */
    return l;
}

/* Replace the listener. Queued events are from before, and are not delivered to the new one. */
static void replace_locked(ceni_pool_listener *l, void (*listener)(void *, const cen_event *, uint64_t), void *argument)
{
    l->lost += l->count;
    l->count = 0;
    l->listener = listener;
    l->argument = argument;
    ceni_store_relaxed(&l->heard, listener != NULL); /* read again under the lock; carries nothing */
}

cen_status cen_pool_listen(cen_pool *pool, void (*listener)(void *argument, const cen_event *event, uint64_t missed),
                           void *argument, cen_error *error)
{
    cen_status status = ceni_pool_check(pool, "cen_pool_listen", error);
    if (status != CEN_OK) return status;
    ceni_pool_listener *l = listener ? have_record(pool) : listening_of(pool);
    if (!l && !listener) return CEN_OK;
    if (!l)
        return ceni_error_set(error, CEN_NO_MEMORY, 0, "pool \"%s\": out of memory for the listener's queue",
                              pool->name);
    bool inside = ceni_callout_inside(pool);
    ceni_waiters_lock(pool->waiters);
    bool closed =
        ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED; /* written under this lock; carries nothing */
    bool speaks = l->speaker == ceni_thread_id();
    if (inside && !speaks) status = CEN_MISUSE;
    else if (listener && closed) status = CEN_CLOSED;
    else replace_locked(l, listener, argument);
    if (status == CEN_OK && !speaks && !ceni_planted(listener_not_awaited)) await_call_locked(pool, l);
    ceni_waiters_unlock(pool->waiters);
    if (status == CEN_MISUSE) return ceni_pool_misuse(pool, "a change of the listener", error);
    return status == CEN_CLOSED ? ceni_pool_refuse_closed(pool->name, error) : status;
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Wait for a posted errand, even one that will have nothing to do: it is a hand on the pool, so the pool uses its
 * runtime, which the program may want to free next. A manual runtime may never be polled again. */
static void await_errand_locked(cen_pool *pool, ceni_pool_listener *l)
{
    bool manual = ceni_runtime_is_manual(ceni_pool_runtime(pool));
    int64_t until = l->posted && !manual ? ceni_clock_now() + A_MOMENT_NS : 0;
    while (l->posted && !manual && await_turn_locked(pool, l, until)) continue;
    bool posted = l->posted;
    ceni_waiters_unlock(pool->waiters);
    if (posted && manual) ceni_runtime_tend(ceni_pool_runtime(pool));
}

void ceni_pool_events_finish(cen_pool *pool)
{
    ceni_pool_listener *l = listening_of(pool);
    if (!l) return;
    ceni_waiters_lock(pool->waiters);
    while (l->count > 0 || l->speaker)
        if (!speak_locked(pool, l)) await_call_locked(pool, l);
    replace_locked(l, NULL, NULL);
    await_errand_locked(pool, l); /* drops the lock */
}

void ceni_pool_events_end(cen_pool *pool)
{
    ceni_free(pool->allocator, listening_of(pool), bytes(), _Alignof(ceni_pool_listener));
}
