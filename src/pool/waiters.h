/* SPDX-License-Identifier: MIT */
/*
 * The line: those who wait for a pool, in the order they came or, with
 * priorities, in that of turn.c, and the word that tells a giver whether it has
 * to do anything about them.
 *
 * A waiter is a thread that parks, or a pending one that is told by a call.
 * The first in line is served by one of three ways:
 *   called       it is woken without an object and looks for itself; until it
 *                has looked, threads that happen to run may take what is idle
 *   handed over  a give takes an object for it and then wakes it; so whenever
 *                it has looked in vain (READY), is pending, has been overtaken
 *                for as long as the bound allows, or when the bound is off
 *   itself       it finds something on its own look
 *
 * A line outlives its pool: its memory is never given back, only lent to the
 * next pool. A give publishes its object and then looks at the line; between
 * the two another thread may close and free the pool. What the giver then
 * touches is still a line, whose pool's number tells it that it came too late.
 */
#ifndef CENI_POOL_WAITERS_H
#define CENI_POOL_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/pool.h>

#include "base/atomic.h"
#include "base/list.h"
#include "pool/shed.h"
#include "port/mutex.h"
#include "sync/wheel.h"

struct ceni_slot;

enum {
    CENI_CTL_CLOSED = 1,  /* the pool is closed */
    CENI_CTL_SURPLUS = 2, /* more objects are there than max: who gives one closes it */
    CENI_CTL_HEIR = 4,    /* the first is awake, or being woken, and will look */
    CENI_CTL_READY = 8,   /* the first has looked in vain: hand over to it */
    CENI_CTL_FIRST = 16,  /* takes go to the line: nobody is overtaken, and somebody waits; or the pool is paused */
    CENI_CTL_ONE = 256,   /* a waiter */
};

typedef enum ceni_wait_state {
    CENI_WAIT_AWAKE, /* the thread runs, and nobody has told it anything */
    CENI_WAIT_PARKED,
    CENI_WAIT_CALLED,      /* it is first and is to look */
    CENI_WAIT_GRANTED,     /* it has an object, and is in no line */
    CENI_WAIT_SENT_AWAY,   /* the pool was closed, and it is in no line */
    CENI_WAIT_REFUSED,     /* nothing can be opened, and nothing else will come; likewise */
    CENI_WAIT_INTERRUPTED, /* another thread asked for it; likewise */
    CENI_WAIT_EXPIRED,     /* pending: its deadline has passed; likewise */
    CENI_WAIT_SHED,        /* those who wait have waited for too long; likewise */
} ceni_wait_state;

typedef struct ceni_pool_waiter {
    /* any thread, atomically; a futex of its own thread */
    _Atomic uint32_t state;
    /* fixed before it joins */
    bool pending;
    uint8_t priority; /* a cen_priority */
    uint64_t holder;  /* who is to hold what is granted */
    const char *where;
    int64_t moment; /* its deadline on the pool's clock, for whoever watches; CENI_FOREVER: none */
    void (*deliver)(struct ceni_pool_waiter *waiter, cen_status status); /* pending: called once, no lock held */
    cen_error *error; /* pending: where a failure is to be told in full; NULL: nowhere */
    uint64_t home;    /* pending: the thread that it is told on, if that is known (sync/inbox.h) */
    /* under the lock */
    ceni_wheel_timer timer; /* pending: its deadline, if it has one */
    int64_t since;
    int64_t came;           /* the same on the pool's clock, which may be virtual */
    int64_t key;            /* the smaller, the sooner its turn comes (turn.c) */
    uint32_t cpu;           /* it ran on when it joined */
    uint32_t failed_before; /* the gate's count of failed openings when it joined */
    ceni_list link;
    union {
        ceni_list near;                     /* in line: others who are told on the same thread */
        struct ceni_pool_waiter *next_told; /* told: the next by the same call */
    };
    /* written before it is told, read after */
    /* pending: it has a hand on this pool, because its failure is to be told in full */
    cen_pool *hand;
    cen_status answer;
    int code;               /* pending: the driver's own number, if it failed for that */
    struct ceni_slot *slot; /* NULL: a claimed place, to open an object in */
    uint64_t generation;
    uint32_t index;
    bool stale;
    /* written before REFUSED and SHED, read after */
    uint8_t cause; /* a cen_cause */
    int64_t retry_after_ns;
} ceni_pool_waiter;

enum {
    CENI_CLASSES = 3, /* of priority: high, normal, low */
    CENI_HOMES = 8,   /* lists of neighbours: threads whose numbers are the same modulo this share one */
};

/* Those of one priority. */
typedef struct ceni_class {
    ceni_list waiters;
    uint32_t count;
    ceni_shed shed;
} ceni_class;

typedef struct ceni_waiters {
    /* any thread reads; written under the lock */
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t ctl;
    _Atomic int64_t first_since;    /* when the first in line came */
    _Atomic int64_t handed_at;      /* when something was handed over last */
    _Atomic uint32_t first_cpu;     /* where the first in line ran before it parked */
    _Atomic int64_t max_barging_ns; /* of the pool */
    _Atomic int64_t pace_ns;        /* between two hand-overs that only the bound asks for */
    _Atomic uint32_t turns;         /* a futex: a closed pool has become empty */
    ceni_mutex mutex;
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t user; /* twice the epoch, plus 1 while lent to a pool */
    /* under the lock */
    uint64_t pool_id; /* 0: lent to none */
    cen_pool *pool;
    int64_t passing_from;        /* when neighbours began to pass the first, last (waiters.c) */
    ceni_list homes[CENI_HOMES]; /* who is told on threads that are known, by their numbers */
    ceni_class classes[CENI_CLASSES];
} ceni_waiters;

/* What is left to do when the lock has been dropped. */
typedef struct ceni_followup {
    _Atomic uint32_t *threads[2]; /* to be woken, by address only */
    unsigned thread_count;
    ceni_pool_waiter *pending, *last_pending; /* to be told, by next_told */
    unsigned pending_count;
    cen_status status;   /* for those who are told something else than a grant */
    bool never_opens;    /* set before: whoever pumps must not be kept by a driver */
    bool opens;          /* an object is to be opened for a pending waiter, in the claimed place ... */
    uint32_t index;      /* ... of this index */
    bool tests;          /* the object there is to be tested for one; never both */
    bool more;           /* there may be more to do: tend again */
    bool alarm;          /* the pool's alarm is to be set; has a hand */
    uint32_t hire;       /* errands to be posted; each has a hand ... */
    uint32_t hire_close; /* ... and so have these, which close */
    bool shed_begins;    /* to be told the event stream; has a hand ... */
    uint64_t shed_ended; /* ... as has this: so many were shed */
} ceni_followup;

/* Lends a line to a pool; NULL if there is no memory. Never waits, and works in a forked child. */
ceni_waiters *ceni_waiters_lend(cen_pool *pool, uint64_t pool_id);

/* Whether there is a line at that address, lent to whomever. */
bool ceni_waiters_is_one(const void *line);

/* Takes it back, under its lock, which is dropped. */
void ceni_waiters_return_locked(ceni_waiters *line);

void ceni_waiters_lock(ceni_waiters *line);
void ceni_waiters_unlock(ceni_waiters *line);

/* Changes the word, under the lock. */
void ceni_waiters_mark_locked(ceni_waiters *line, uint64_t clear, uint64_t set);

/* How the pool's size and bound set the pace. */
void ceni_waiters_pace(ceni_waiters *line, int64_t max_barging_ns, uint32_t max);

/* Joins behind those of its priority; true if the waiter is the heir and has to look. A pending one is
 * pumped for afterwards, before the lock is dropped or soon after: it may have become the first. */
bool ceni_waiters_join_locked(cen_pool *pool, ceni_pool_waiter *waiter, int64_t now);

/* What is due because a pending one has joined. */
void ceni_waiters_joined_locked(cen_pool *pool, const ceni_pool_waiter *waiter, ceni_followup *call);

/* The waiter goes by itself, if it is still in line: true, and it is counted
 * in `count`; NULL: as cancelled. Passes its role on. */
bool ceni_waiters_leave(cen_pool *pool, ceni_pool_waiter *waiter, uint64_t *count);

/* The heir has found nothing: from now on gives hand over to it. False if it
 * has been told something meanwhile, or is not the first any more. Afterwards it
 * looks once more; `glances`: also if it was passed by a pending one, for whom others open. */
bool ceni_waiters_ready(cen_pool *pool, ceni_pool_waiter *waiter, bool *glances);

/* Whose turn it is; NULL if nobody waits. (turn.c) */
ceni_pool_waiter *ceni_waiters_first_locked(const ceni_waiters *line);
bool ceni_waiters_first_is_pending_locked(const ceni_waiters *line);

/* Takes the first, or another, out and tells it; call->status is for who is pending, REFUSED and SHED come with the
 * cause and when to try again. Pump afterwards if it was the first. */
void ceni_waiters_drop_first_locked(cen_pool *pool, ceni_wait_state state, ceni_followup *call);
void ceni_waiters_drop_locked(cen_pool *pool, ceni_pool_waiter *waiter, ceni_wait_state state, ceni_followup *call);

/* If the first in line has been overtaken for as long as the bound allows, it is handed what comes next. */
void ceni_waiters_hurry_locked(cen_pool *pool);

/* Does for those in line what is due. The one function that every event ends
 * in that makes an object idle, frees a place or removes the first. */
void ceni_waiters_pump_locked(cen_pool *pool, uint32_t hint, ceni_followup *call);
void ceni_waiters_follow_up(ceni_waiters *line, uint64_t pool_id, cen_pool *pool, const ceni_followup *call);

/* Locks and pumps, if the line is still that pool's. */
void ceni_waiters_tend(ceni_waiters *line, uint64_t pool_id, uint32_t hint);

/* The same for one who has just made slot `index` idle and read `ctl` after it. Always OK. */
cen_status ceni_waiters_heed(ceni_waiters *line, uint64_t pool_id, uint64_t ctl, uint32_t index, uint64_t generation);

/* Takes out one that waits in a thread of that number, and tells it; false if there is none. */
bool ceni_waiters_interrupt(cen_pool *pool, uint64_t holder);

/* Sends everybody away; nobody can join any more. Returns how many there were. */
uint32_t ceni_waiters_send_away(cen_pool *pool);

/* A pending waiter gives up: true if it was still waiting, and now never
 * gets anything. Its pool may be gone by then, but never the line. */
bool ceni_waiters_withdraw(ceni_waiters *line, ceni_pool_waiter *waiter);

/* ---- turn.c: the classes, and whose turn it is --------------------------------------- */

void ceni_turn_init(ceni_waiters *line);
ceni_class *ceni_turn_class(ceni_waiters *line, const ceni_pool_waiter *waiter);
void ceni_turn_push_locked(cen_pool *pool, ceni_pool_waiter *waiter);
void ceni_turn_remove_locked(ceni_waiters *line, ceni_pool_waiter *waiter);

/* The first of those who are told on that thread; NULL if it is not found at once, or if not all are of one class. */
ceni_pool_waiter *ceni_turn_neighbour_locked(const ceni_waiters *line, uint64_t thread);

/* Since when the one has waited that has waited longest; CENI_FOREVER if nobody does. */
int64_t ceni_turn_oldest_locked(const ceni_waiters *line);

/* The one of a class that has waited longest; NULL if none waits. */
ceni_pool_waiter *ceni_turn_oldest_of_locked(const ceni_waiters *line, unsigned class);

/* One that waits in a thread of that number; NULL if there is none. Looks at all. */
ceni_pool_waiter *ceni_turn_of_thread_locked(ceni_waiters *line, uint64_t holder);

/* Calls `visit` for those who wait, in the order in which they would be served if nobody came or went, up to `most`. */
void ceni_turn_walk_locked(const ceni_waiters *line, size_t most,
                           void (*visit)(void *argument, const ceni_pool_waiter *waiter), void *argument);

/* About how many would be served before one that came at that moment of the pool's clock. */
uint32_t ceni_turn_ahead_locked(const cen_pool *pool, const ceni_pool_waiter *waiter, int64_t came);

#endif
