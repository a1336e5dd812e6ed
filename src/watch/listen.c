/* SPDX-License-Identifier: MIT */
/*
 * The listener: a thread that reads the events and calls the program.
 *
 *     HELD --the previous one has ended--> TELLING --it is replaced, or ended--> ENDING, and it is joined
 *
 * The thread and its state are a teller. There are two tellers, used in turn. The next teller's thread is started,
 * and held, before the previous one is ended, so a failure to start a thread changes nothing. At most one teller is
 * TELLING, so at most one sleeps, as events.c requires.
 *
 * A teller that is ENDING first tells the events that were written before it was asked to end, because the last lines
 * of a log matter most. For a writer in the middle of an event it retries only a limited number of times.
 *
 * The thread that replaces a teller holds the lock from the first step to the last; a teller never takes it. So a
 * listener may do anything except replace itself, which is detected by the thread's number.
 *
 * Fork: a child has no teller: the parent's teller thread, and a thread that held the lock, do not exist there. If a
 * listener forks and also returns in the child, its thread ends there at once, because the teller's memory may be in
 * use again by then.
 *
 * Order table
 * tag  site   | operation         | order   | pairs with | carries                     | breaks if weakened
 * [L1] turn   | store of state    | seq_cst | [L2]       | `until`; that it is to end  | the teller ends too early, or sleeps and is not woken
 * [L2] ending | load of state     | seq_cst | [L1]; [N1] in events.c | `until`; that it is to end | as [L1]
 * After ceni_events_lie_down the sleeper loads `state`; that load is one of the checks before a sleep in events.c.
 * The start of a teller's thread carries the teller's initial fields. A thread compares `telling` only with its own
 * number.
 *
 * Tested by tests/unit/watch/listen_test.c, tests/explore/events_test.c.
 */
#include <errno.h>

#include <cenote/events.h>

#include "base/atomic.h"
#include "base/error.h"
#include "base/plant.h"
#include "base/statics.h"
#include "port/mutex.h"
#include "port/port.h"
#include "record/owned.h"
#include "watch/stream.h"

enum { HELD, TELLING, ENDING };

#ifdef CENI_WATCHED
enum { PATIENCE = 1 };
#else
enum { PATIENCE = 100 }; /* retries of an event that is being written, at the end */
#endif

typedef struct teller {
    /* fixed before its thread starts */
    void (*listener)(void *argument, const cen_event *event, uint64_t missed);
    void *argument;
    cen_event_level least;
    /* the thread's own */
    ceni_cursor at[CENI_STREAMS];
    uint64_t told_missed; /* missed events that the listener knows of */
    /* written before ENDING */
    uint64_t until[CENI_STREAMS];
    /* any thread, atomically; a futex */
    _Atomic uint32_t state;
    /* under the lock */
    ceni_thread thread;
} teller;

static CENI_STATIC struct {
    ceni_owned owned;
    ceni_mutex lock; /* rank EVENTS */
    /* under the lock */
    teller tellers[2];
    teller *now;
    /* any thread, atomically */
    _Atomic uint64_t telling; /* number of the thread that calls the listener */
} listening;

/* ---- The teller's thread -------------------------------------------------------- */

static bool ending(teller *t)
{
    return ceni_load_seq_cst(&t->state) == ENDING; /* [L2] */
}

/* Call the listener. Returns false in a child that the listener has forked: there is no teller there. */
static bool tell(teller *t, const cen_event *event)
{
    if (event->level < t->least) return true;
    uint64_t missed = t->at[CENI_LIFE].missed + t->at[CENI_TRACE].missed, epoch = ceni_fork_epoch();
    ceni_rank_expect_none("the listener of events");
    t->listener(t->argument, event, missed - t->told_missed);
    if (ceni_fork_epoch() != epoch) return false;
    t->told_missed = missed;
    return true;
}

static bool traces(const teller *t)
{
    return t->least <= CEN_LEVEL_TRACE;
}

/* Tell events until the state is ENDING. Returns false as tell does. */
static bool tell_all(teller *t)
{
    cen_event event;
    while (!ending(t)) {
        bool found = ceni_events_next(t->at, traces(t), &event);
        if (!found) {
            ceni_events_lie_down(traces(t));
            /* A writer from here on sees the sleeper; events written before are found now. */
            found = !ceni_planted(events_sleeps_without_look) && ceni_events_next(t->at, traces(t), &event);
            if (found || ending(t)) ceni_events_get_up();
            else ceni_events_sleep();
        }
        if (found && !tell(t, &event)) return false;
    }
    return true;
}

static bool behind(const teller *t, ceni_stream stream)
{
    return t->at[stream].next < t->until[stream];
}

/* Give up the event, one in each ring, that is still being written. */
static void pass_over(teller *t)
{
    for (ceni_stream stream = CENI_LIFE; stream < CENI_STREAMS; stream++)
        if (behind(t, stream)) t->at[stream].next++, t->at[stream].missed++;
}

/* Tell the events up to the moment when it was asked to end, and perhaps a few newer ones. */
static void tell_the_rest(teller *t)
{
    cen_event event;
    int looks = 0;
    if (!traces(t)) t->until[CENI_TRACE] = 0;
    while (behind(t, CENI_LIFE) || behind(t, CENI_TRACE)) {
        if (ceni_events_next(t->at, traces(t), &event)) {
            if (!tell(t, &event)) return;
            looks = 0;
        } else if (looks++ < PATIENCE) {
            ceni_thread_yield();
        } else {
            pass_over(t);
        }
    }
}

static void run_teller(void *argument)
{
    teller *t = argument;
    while (ceni_load_seq_cst(&t->state) == HELD) /* [L2] */
        ceni_futex_wait(&t->state, HELD, CENI_FOREVER);
    ceni_store_relaxed(&listening.telling, ceni_thread_id()); /* carries nothing: the thread recognises itself by it */
    int cancel = ceni_cancel_hold();
    if (tell_all(t) && !ceni_planted(events_end_forgets_the_rest)) tell_the_rest(t);
    ceni_cancel_release(cancel);
}

/* ---- Replacing the teller ------------------------------------------------------------ */

static void turn(teller *t, uint32_t state)
{
    ceni_store_seq_cst(&t->state, state); /* [L1] */
    ceni_futex_wake(&t->state, 1);
    ceni_events_wake(CENI_LIFE);
}

static void end_locked(teller *t)
{
    for (ceni_stream stream = CENI_LIFE; stream < CENI_STREAMS; stream++) t->until[stream] = ceni_events_begun(stream);
    turn(t, ENDING);
    ceni_thread_join(&t->thread);
}

/* End the current teller and let `next` tell; NULL: none. */
static cen_status replace_locked(teller *next, int *code)
{
    if (next && ceni_thread_start(&next->thread, "cen-events", run_teller, next, code) != CEN_OK) return CEN_SYSTEM;
    if (listening.now) end_locked(listening.now);
    ceni_store_relaxed(&listening.telling, 0); /* carries nothing: no listener is called until the next teller starts */
    listening.now = next;
    if (next) turn(next, TELLING);
    return CEN_OK;
}

static teller *other_locked(void)
{
    return &listening.tellers[listening.now == &listening.tellers[0]];
}

static void fresh(void)
{
    if (!ceni_owned_begin(&listening.owned)) return;
    listening.lock = (ceni_mutex){0};
    listening.now = NULL;
    ceni_store_relaxed(&listening.telling, 0); /* carries nothing */
    ceni_owned_ready(&listening.owned);
}

cen_status cen_events_listen(cen_event_level least,
                             void (*listener)(void *argument, const cen_event *event, uint64_t missed), void *argument,
                             cen_error *error)
{
    if (listener && (least < CEN_LEVEL_TRACE || least > CEN_LEVEL_ERROR))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_events_listen: least must be a cen_event_level (got %d)",
                              (int)least);
    fresh();
    if (ceni_load_relaxed(&listening.telling) == ceni_thread_id()) /* carries nothing */
        return ceni_error_set(
            error, CEN_MISUSE, 0,
            "cen_events_listen: the listener cannot remove or replace itself; do it on another thread");
    int code = 0;
    ceni_mutex_lock(&listening.lock, CENI_RANK_EVENTS);
    teller *next = NULL;
    if (listener) {
        next = other_locked();
        *next = (teller){.listener = listener, .argument = argument, .least = least};
        for (ceni_stream stream = CENI_LIFE; stream < CENI_STREAMS; stream++)
            next->at[stream].next = ceni_events_begun(stream);
    }
    cen_status status = replace_locked(next, &code);
    ceni_mutex_unlock(&listening.lock, CENI_RANK_EVENTS);
    if (status == CEN_OK) return CEN_OK;
    errno = code;
    return ceni_error_set(error, status, code, "cen_events_listen: cannot start the listener thread: %m");
}
