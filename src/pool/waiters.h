/* SPDX-License-Identifier: MIT */
/*
 * The wait queue: the waiters of a pool, FIFO or, with priorities, in the order of turn.c, and the word `ctl`, by
 * which a give sees whether it has to serve a waiter.
 *
 * A waiter is a thread that parks, or a pending waiter, which has no thread and is notified by a call. The first
 * waiter is served in one of three ways:
 *   called       it is woken without an object and searches itself; until it has
 *                searched, running threads may take idle objects (barging)
 *   handed over  a give takes an object for it and then wakes it (hand-off): if it
 *                has searched without success (READY), if it is pending, if it has
 *                been overtaken for the bound of barging, or if barging is disabled
 *   itself       its own search finds something
 *
 * A wait queue outlives its pool: its memory is never freed, only lent to the next pool. A give publishes its object
 * and then reads the queue. Between the two another thread may close and free the pool. What the giver then touches
 * is still a wait queue, and its pool's number shows that the pool is another one.
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
    CENI_CTL_SURPLUS = 2, /* there are more objects than max: a give closes its object */
    CENI_CTL_HEIR = 4,    /* the first waiter is awake, or being woken, and will search */
    CENI_CTL_READY = 8,   /* the first waiter has searched and found nothing: hand over to it */
    CENI_CTL_FIRST = 16,  /* takes must queue: barging is disabled and there are waiters, or the pool is paused */
    CENI_CTL_ONE = 256,   /* the unit of the count of waiters */
};

typedef enum ceni_wait_state {
    CENI_WAIT_AWAKE, /* the thread runs, and has no verdict */
    CENI_WAIT_PARKED,
    CENI_WAIT_CALLED,      /* it is first and has to search */
    CENI_WAIT_GRANTED,     /* it has an object, and has left the queue */
    CENI_WAIT_SENT_AWAY,   /* the pool was closed; it has left the queue */
    CENI_WAIT_REFUSED,     /* no object can be opened, and none will come back; likewise */
    CENI_WAIT_INTERRUPTED, /* another thread interrupted it; likewise */
    CENI_WAIT_EXPIRED,     /* pending: its deadline has passed; likewise */
    CENI_WAIT_SHED,        /* load shedding; likewise */
} ceni_wait_state;

typedef struct ceni_pool_waiter {
    /* any thread, atomically; the futex word of its thread */
    _Atomic uint32_t state;
    /* fixed before it joins */
    bool pending;
    uint8_t priority; /* a cen_priority */
    uint64_t holder;  /* the holder of a granted lease */
    const char *where;
    int64_t moment; /* its deadline on the pool's clock; CENI_FOREVER: none */
    void (*deliver)(struct ceni_pool_waiter *waiter, cen_status status); /* pending: called once, no lock held */
    cen_error *error; /* pending: receives the text of a failure; NULL: no text is wanted */
    uint64_t home;    /* pending: the thread that runs its completion, if known (sync/inbox.h); otherwise 0 */
    /* under the lock */
    ceni_wheel_timer timer; /* pending: its deadline, if it has one */
    int64_t since;          /* when it joined */
    int64_t came;           /* the same on the pool's clock, which may be virtual */
    int64_t key;            /* the smallest key is served first (turn.c) */
    uint32_t cpu;           /* the processor it ran on when it joined */
    uint32_t failed_before; /* the gate's count of failed openings when it joined */
    ceni_list link;
    union {
        ceni_list near;                     /* in the queue: waiters of the same home */
        struct ceni_pool_waiter *next_told; /* out of the queue: the next one that the same call notifies */
    };
    /* written before it is notified, read after */
    /* pending: it has a hand on this pool, because the text of its failure is still to be written */
    cen_pool *hand;
    cen_status answer;
    int code;               /* pending: the driver's code, if a driver's error was the reason */
    struct ceni_slot *slot; /* NULL: a claimed place, in which to open an object */
    uint64_t generation;
    uint32_t index;
    bool stale;
    /* written before REFUSED and SHED, read after */
    uint8_t cause; /* a cen_cause */
    int64_t retry_after_ns;
} ceni_pool_waiter;

enum {
    CENI_CLASSES = 3, /* of priority: high, normal, low */
    CENI_HOMES = 8,   /* lists of neighbours: threads with equal numbers modulo this share one */
};

/* The waiters of one priority. */
typedef struct ceni_class {
    ceni_list waiters;
    uint32_t count;
    ceni_shed shed;
} ceni_class;

typedef struct ceni_waiters {
    /* any thread reads; written under the lock */
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t ctl;
    _Atomic int64_t first_since;    /* when the first waiter joined */
    _Atomic int64_t handed_at;      /* when an object was handed over last */
    _Atomic uint32_t first_cpu;     /* the processor on which the first waiter ran before it parked */
    _Atomic int64_t max_barging_ns; /* the pool's option */
    _Atomic int64_t pace_ns;        /* least time between two hand-overs whose only reason is the bound */
    _Atomic uint32_t turns;         /* a futex word: a closed pool has become empty */
    ceni_mutex mutex;
    _Alignas(CENI_CACHE_LINE) _Atomic uint64_t user; /* twice the epoch, plus 1 while lent to a pool */
    /* under the lock */
    uint64_t pool_id; /* 0: lent to no pool */
    cen_pool *pool;
    int64_t passing_from;        /* when neighbours last began to pass the first waiter (waiters.c) */
    ceni_list homes[CENI_HOMES]; /* waiters with a known home, by its number */
    ceni_class classes[CENI_CLASSES];
} ceni_waiters;

/* The work that is left to do after the lock was dropped. */
typedef struct ceni_followup {
    _Atomic uint32_t *threads[2]; /* futex words of threads to wake; used only as addresses */
    unsigned thread_count;
    ceni_pool_waiter *pending, *last_pending; /* pending waiters to notify, linked by next_told */
    unsigned pending_count;
    cen_status status;   /* for pending waiters that are not granted an object */
    bool never_opens;    /* set by the caller: it must not be held up by a driver */
    bool opens;          /* open an object for a pending waiter, in the claimed place ... */
    uint32_t index;      /* ... of this index */
    bool tests;          /* test the object of this index for a pending waiter; never together with `opens` */
    bool more;           /* there may be more to do: tend again */
    bool alarm;          /* set the pool's alarm; has a hand */
    uint32_t hire;       /* errands to post; each has a hand ... */
    uint32_t hire_close; /* ... and so have these, which only close */
    bool shed_begins;    /* event: load shedding began; has a hand ... */
    uint64_t shed_ended; /* ... as has this one: it ended; the number of takes shed */
} ceni_followup;

/* Lend a wait queue to a pool; NULL if there is no memory. Never waits, and works in a forked child. */
ceni_waiters *ceni_waiters_lend(cen_pool *pool, uint64_t pool_id);

/* Return true if there is a wait queue at that address, lent or not. */
bool ceni_waiters_is_one(const void *waiters);

/* Take the queue back from its pool. Called with its lock held; drops the lock. */
void ceni_waiters_return_locked(ceni_waiters *waiters);

static inline void ceni_waiters_lock(ceni_waiters *waiters)
{
    ceni_mutex_lock(&waiters->mutex, CENI_RANK_POOL);
}

static inline void ceni_waiters_unlock(ceni_waiters *waiters)
{
    ceni_mutex_unlock(&waiters->mutex, CENI_RANK_POOL);
}

/* Change `ctl`, under the lock. */
void ceni_waiters_mark_locked(ceni_waiters *waiters, uint64_t clear, uint64_t set);

/* Set the bound of barging and the pace, from the pool's options. */
void ceni_waiters_pace(ceni_waiters *waiters, int64_t max_barging_ns, uint32_t max);

/* Join behind the waiters of the same priority. Returns true if the waiter is the heir and has to search. For a
 * pending waiter the caller pumps afterwards, before the lock is dropped or soon after: it may have become the first.
 * */
bool ceni_waiters_join_locked(cen_pool *pool, ceni_pool_waiter *waiter, int64_t now);

/* Pump if that is due because a pending waiter has joined. */
void ceni_waiters_joined_locked(cen_pool *pool, const ceni_pool_waiter *waiter, ceni_followup *followup);

/* Leave the queue, if the waiter is still in it. Returns true then; it is counted in `count` (NULL: as cancelled),
 * and its role is passed on. */
bool ceni_waiters_leave(cen_pool *pool, ceni_pool_waiter *waiter, uint64_t *count);

/* The heir has found nothing: from now on gives hand over to it. Returns false if it has got a verdict meanwhile, or
 * is not the first now. Afterwards it searches once more. If *glances is true, it does so also after false: a pending
 * waiter is first now, and other threads open objects for that one. */
bool ceni_waiters_ready(cen_pool *pool, ceni_pool_waiter *waiter, bool *glances);

/* The first waiter; NULL if there is none. (turn.c) */
ceni_pool_waiter *ceni_waiters_first_locked(const ceni_waiters *waiters);
bool ceni_waiters_first_is_pending_locked(const ceni_waiters *waiters);

/* Remove the first waiter, or a given one, with that state. followup->status is for a pending one. REFUSED and SHED
 * get a cause and a retry-after time. The caller pumps afterwards if it was the first. */
void ceni_waiters_drop_first_locked(cen_pool *pool, ceni_wait_state state, ceni_followup *followup);
void ceni_waiters_drop_locked(cen_pool *pool, ceni_pool_waiter *waiter, ceni_wait_state state, ceni_followup *followup);

/* If the first waiter has been overtaken for the bound of barging, let the next object be handed over to it. */
void ceni_waiters_hurry_locked(cen_pool *pool);

/* The pump: serve all waiters that can be served now. Every event that makes an object idle, frees a place or removes
 * the first waiter ends in it. */
void ceni_waiters_pump_locked(cen_pool *pool, uint32_t hint, ceni_followup *followup);
void ceni_waiters_follow_up(ceni_waiters *waiters, uint64_t pool_id, cen_pool *pool, const ceni_followup *followup);

/* Lock and pump, if the queue still belongs to that pool. */
void ceni_waiters_tend(ceni_waiters *waiters, uint64_t pool_id, uint32_t hint);

/* The same for a caller that has made slot `index` idle and then read `ctl`. Always returns OK. */
cen_status ceni_waiters_heed(ceni_waiters *waiters, uint64_t pool_id, uint64_t ctl, uint32_t index,
                             uint64_t generation);

/* Remove and interrupt a waiting thread with that number; false if there is none. */
bool ceni_waiters_interrupt(cen_pool *pool, uint64_t holder);

/* Send all waiters away, after the queue was closed for new ones. Returns their number. */
uint32_t ceni_waiters_send_away(cen_pool *pool);

/* Cancel a pending waiter. Returns true if it was still waiting; then nothing will be granted to it. Its pool may
 * have been freed by then, but the queue exists. */
bool ceni_waiters_withdraw(ceni_waiters *waiters, ceni_pool_waiter *waiter);

/* ---- turn.c: the classes of priority, and the order of waiters ------------------------ */

void ceni_turn_init(ceni_waiters *waiters);
ceni_class *ceni_turn_class(ceni_waiters *waiters, const ceni_pool_waiter *waiter);
void ceni_turn_push_locked(cen_pool *pool, ceni_pool_waiter *waiter);
void ceni_turn_remove_locked(ceni_waiters *waiters, ceni_pool_waiter *waiter);

/* The first waiter with that home; NULL if it is not found quickly, or if the waiters are of several classes. */
ceni_pool_waiter *ceni_turn_neighbour_locked(const ceni_waiters *waiters, uint64_t thread);

/* When the waiter that has waited longest joined; CENI_FOREVER if there is no waiter. */
int64_t ceni_turn_oldest_locked(const ceni_waiters *waiters);

/* The waiter of a class that has waited longest; NULL if there is none. */
ceni_pool_waiter *ceni_turn_oldest_of_locked(const ceni_waiters *waiters, unsigned class);

/* The waiting thread with that number; NULL if there is none. Visits all waiters. */
ceni_pool_waiter *ceni_turn_of_thread_locked(ceni_waiters *waiters, uint64_t holder);

/* Call `visit` for up to `most` waiters, in the order in which they would be served if none joined or left. */
void ceni_turn_walk_locked(const ceni_waiters *waiters, size_t most,
                           void (*visit)(void *argument, const ceni_pool_waiter *waiter), void *argument);

/* Estimate how many waiters would be served before one that joins at that moment of the pool's clock. */
uint32_t ceni_turn_ahead_locked(const cen_pool *pool, const ceni_pool_waiter *waiter, int64_t came);

#endif
