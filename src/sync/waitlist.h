/* SPDX-License-Identifier: MIT */
/*
 * The wait list: those who wait for one thing, in the order they came. A
 * waiter is a parked thread or a pending future; both stand in one list.
 *
 * A thread may stand in several lists at once (select); a pending waiter in
 * one only, because it is served before it is settled, under that list's lock.
 * A waiter has one verdict,
 * which goes from OPEN to its final value exactly once, by whoever settles it
 * first: a caller from one of the lists, its own deadline, or its own second
 * look. What stands in a list is a place, one per list and case.
 *
 * Thread at the head: it is called, becomes the heir, and looks for itself;
 * while there is an heir nobody else is called, because the heir will look
 * after everything that was published before it resigned. Pending future at
 * the head: the list's `serve` does its work for it, under the lock, and its
 * `deliver` runs after the lock is dropped.
 *
 * The rule for whoever makes something available: publish it with a seq_cst
 * operation, then ceni_waitlist_nudge(). The rule for whoever wants to wait:
 * join, then look once more; only then park.
 */
#ifndef CENI_SYNC_WAITLIST_H
#define CENI_SYNC_WAITLIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/list.h"
#include "port/mutex.h"

typedef enum ceni_waiter_kind {
    CENI_WAITER_THREAD,
    CENI_WAITER_PENDING,
} ceni_waiter_kind;

enum {
    CENI_VERDICT_OPEN = 0,      /* still waiting */
    CENI_VERDICT_WITHDRAWN = 1, /* nothing was granted: deadline, second look, cancel, or all were sent away */
    CENI_VERDICT_CASE = 2,      /* plus the number of the place it was called from */
};

typedef struct ceni_waiter {
    /* any thread, atomically */
    _Atomic uint32_t verdict;
    /* fixed before it joins */
    ceni_waiter_kind kind;
    void (*deliver)(struct ceni_waiter *waiter); /* pending: called once, no lock held; may free the waiter */
} ceni_waiter;

typedef struct ceni_place {
    /* fixed before it joins */
    ceni_waiter *waiter;
    void *element; /* what is passed, where the list's user passes something */
    uint32_t number;
    /* under the list's lock */
    bool heir; /* its waiter was called and is to look */
    ceni_list link;
} ceni_place;

typedef struct ceni_waitlist {
    /* any thread reads; written under the lock, except that the heir clears HEIR
     * without it: places counted by CENI_CROWD_ONE, and HEIR */
    _Atomic uint32_t crowd;
    /* fixed before use */
    ceni_mutex *mutex;                                            /* its own, or one shared by several lists */
    bool (*serve)(struct ceni_waitlist *list, ceni_place *place); /* for pending waiters, under the lock */
    /* under the lock */
    ceni_list places;
    ceni_mutex own_mutex;
} ceni_waitlist;

enum { CENI_CROWD_HEIR = 1, CENI_CROWD_ONE = 2 };

/* `mutex` NULL: the list's own. `serve` NULL: no pending waiters. */
void ceni_waitlist_init(ceni_waitlist *list, ceni_mutex *mutex, bool (*serve)(ceni_waitlist *list, ceni_place *place));

void ceni_waitlist_lock(ceni_waitlist *list);
void ceni_waitlist_unlock(ceni_waitlist *list);

void ceni_waiter_init_thread(ceni_waiter *waiter);
void ceni_waiter_init_pending(ceni_waiter *waiter, void (*deliver)(ceni_waiter *waiter));

/* Settles the waiter; false if somebody has before. */
bool ceni_waiter_settle(ceni_waiter *waiter, uint32_t verdict);

/* Parks the calling thread until it is settled or `moment` has passed; returns the verdict. */
uint32_t ceni_waiter_park(ceni_waiter *waiter, int64_t moment);

/* Takes a place at the end. Afterwards the caller looks once more. */
void ceni_waitlist_join(ceni_waitlist *list, ceni_place *place, ceni_waiter *waiter, uint32_t number, void *element);
void ceni_waitlist_join_locked(ceni_waitlist *list, ceni_place *place, ceni_waiter *waiter, uint32_t number,
                               void *element);

/* Gives the place up, whether or not it is still in the list. True if the
 * place had been called as the heir: then ceni_waitlist_resign is due. After
 * this nobody touches place or waiter any more. */
bool ceni_waitlist_leave(ceni_waitlist *list, ceni_place *place);
void ceni_waitlist_remove_locked(ceni_waitlist *list, ceni_place *place);

/* A pending waiter gives up: true if it was still waiting, and now never gets anything. */
bool ceni_waitlist_cancel(ceni_waitlist *list, ceni_place *place);

/* The heir has looked. The caller then looks once more and nudges if there is
 * still something: what was published while there was an heir is its duty. */
void ceni_waitlist_resign(ceni_waitlist *list);

/* Something became available: calls the first waiter, unless an heir is
 * awake already, or serves pending ones as long as there is something. */
void ceni_waitlist_nudge_slowly(ceni_waitlist *list);

static inline void ceni_waitlist_nudge(ceni_waitlist *list)
{
    /* [W2] row in waitlist.c */
    uint32_t crowd = ceni_load_seq_cst(&list->crowd);
    if (__builtin_expect(crowd >= CENI_CROWD_ONE && !(crowd & CENI_CROWD_HEIR), 0)) ceni_waitlist_nudge_slowly(list);
}

/* Sends everybody away with the verdict WITHDRAWN. Whoever joins later must
 * find by its second look that there is nothing to wait for. */
void ceni_waitlist_send_away(ceni_waitlist *list);

/* How many places there are: true at some moment during the call. */
unsigned ceni_waitlist_count(const ceni_waitlist *list);

#endif
