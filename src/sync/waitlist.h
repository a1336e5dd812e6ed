/* SPDX-License-Identifier: MIT */
/*
 * The wait list: the waiters for one resource, FIFO. A waiter is a parked thread or a pending operation; both kinds
 * are in one list.
 *
 * A thread may be in several lists at once (select). A pending waiter is in only one list, because it is served
 * before it is settled, under that list's lock. A waiter has one verdict. The verdict changes from OPEN to its final
 * value exactly once, by the first that settles it: a caller from one of the lists, the waiter's deadline, or its own
 * second check. The entry in a list is a place, one per list and case.
 *
 * If the first waiter is a thread, it is called: it becomes the heir, and tries the operation itself. While there is
 * an heir no other waiter is called, because the heir takes care of everything that is published before it resigns.
 * If the first waiter is pending, the list's `serve` carries out its operation under the lock, and its `deliver` runs
 * after the lock is dropped.
 *
 * Publishers make something available with a seq_cst operation, and then call ceni_waitlist_nudge(). Waiters join,
 * then check once more, and only then park.
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
    CENI_VERDICT_WITHDRAWN = 1, /* nothing was granted: deadline, second check, cancel, or send_away */
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
    bool heir; /* its waiter was called from here as the heir */
    ceni_list link;
} ceni_place;

typedef struct ceni_waitlist {
    /* The number of places, in units of CENI_CROWD_ONE, and HEIR. Any thread reads it. It is written under the lock,
     * except that the heir clears HEIR without the lock. */
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

/* Settle the waiter. Returns false if it was settled before. */
bool ceni_waiter_settle(ceni_waiter *waiter, uint32_t verdict);

/* Park the calling thread until it is settled or `moment` has passed. Returns the verdict. */
uint32_t ceni_waiter_park(ceni_waiter *waiter, int64_t moment);

/* Join at the end of the list. Afterwards the caller checks once more. */
void ceni_waitlist_join(ceni_waitlist *list, ceni_place *place, ceni_waiter *waiter, uint32_t number, void *element);
void ceni_waitlist_join_locked(ceni_waitlist *list, ceni_place *place, ceni_waiter *waiter, uint32_t number,
                               void *element);

/* Leave the list, whether or not the place is still in it. Returns true if the waiter was called from this place as
 * the heir: then it must call ceni_waitlist_resign. Afterwards no other thread touches place or waiter. */
bool ceni_waitlist_leave(ceni_waitlist *list, ceni_place *place);
void ceni_waitlist_remove_locked(ceni_waitlist *list, ceni_place *place);

/* Cancel a pending waiter. Returns true if it was still waiting; then nothing will be granted to it. */
bool ceni_waitlist_cancel(ceni_waitlist *list, ceni_place *place);

/* Resign as the heir, after trying. The caller then checks once more, and nudges if something is available, because
 * everything published while it was the heir was left to it. */
void ceni_waitlist_resign(ceni_waitlist *list);

/* Something became available: serve pending waiters at the head while something is left, and call the first thread,
 * unless an heir is awake already. */
void ceni_waitlist_nudge_slowly(ceni_waitlist *list);

static inline void ceni_waitlist_nudge(ceni_waitlist *list)
{
    /* [W2] row in waitlist.c */
    uint32_t crowd = ceni_load_seq_cst(&list->crowd);
    if (__builtin_expect(crowd >= CENI_CROWD_ONE && !(crowd & CENI_CROWD_HEIR), 0)) ceni_waitlist_nudge_slowly(list);
}

/* Settle all waiters as WITHDRAWN. A waiter that joins later must find by its second check that waiting is pointless.
 * */
void ceni_waitlist_send_away(ceni_waitlist *list);

/* Return the number of places, as it was at some moment during the call. */
unsigned ceni_waitlist_count(const ceni_waitlist *list);

#endif
