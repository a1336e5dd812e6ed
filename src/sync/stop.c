/* SPDX-License-Identifier: MIT */
/*
 * Stop tokens: a set wakes all waiting threads, without a lock, so a signal handler may do it.
 *
 *     token:  set_   walkers_   first_ ──▶ record ──▶ record ──▶ NULL
 *                                          (each on the stack of a waiting thread)
 *
 *     set:    set_ = 1 ▶ walkers_ + 1 ▶ each record: hit = 1, word PARKED ▶ AWAKE, wake ▶ walkers_ - 1, wake
 *     join:   link at the head, under the lock ▶ check set_
 *     park:   word = PARKED ▶ check hit ▶ sleep
 *     leave:  unlink, under the lock ▶ sleep until walkers_ is 0
 *
 * Set runs in signal handlers. It may interrupt a thread that holds the lock, so it never takes the lock.
 *
 * Invariants
 *  S1 Records are linked at the head and unlinked by one store. A record keeps its `next` when it is
 *     unlinked. So every walk goes from newer to older records and ends.
 *  S2 A record that a walker can reach stays valid: its owner leaves only after it has seen
 *     walkers_ at 0 since the unlink. A walker that starts later does not find the record.
 *  S3 A record that is linked when set_ becomes 1, and stays, is marked by that set.
 *  S4 After its owner has set the word to PARKED and before the owner sleeps, either the
 *     owner sees the mark, or the walker sees PARKED and changes the word.
 *
 * The naive version walks under the lock: a handler that interrupts the lock's holder waits for itself. In the second
 * version the waiter checks set_ before it links its record: a set in between finds an empty list, and the waiter
 * sleeps on. The third version has only the flag: a set and a reset before the sleeper runs leave no trace. Hence the
 * mark in each record.
 *
 * Order table
 * tag  site  | operation           | order   | pairs with | carries | breaks if weakened
 * [S1] set   | store of set_       | seq_cst | S2 | that the token is set, before the list is read | a walk misses the waiter, and the waiter does not see the flag
 * [S2] join  | load of set_, after S3 | seq_cst | S1 | the same from the other side | the same
 * [S3] join, leave | store of first_ or next | seq_cst | S4 | the record's fields; that it is linked, or not | a walker reads a half-written record, or one that was freed
 * [S4] set   | loads of first_, next | seq_cst | S3 | the same | the same
 * [S5] set   | store of hit, then cas of the word | seq_cst | S6, the PARKED of the waiter | that the wait is stopped | the waiter sleeps on
 * [S6] park  | load of hit, after the word became PARKED | seq_cst | S5 | the same from the other side | the same
 * [S7] set   | add to and sub from walkers_ | seq_cst | S8 | that a walk has begun; that it has ended | a record is freed while a walker reads it
 * [S8] leave | load of walkers_, after S3 | seq_cst | S7 | the same from the other side | the same
 * [S9] join  | cas of epoch_; set: load | seq_cst | each other, S1 S2 | that there may be a list | a set does not walk to the first waiter
 *
 * Tested by tests/explore/stop_test.c, tests/unit/sync/stop_test.c, tests/unit/sync/stop_signal_test.c, tests/planted.
 */
#include "sync/stop.h"

#include <errno.h>

#include "base/plant.h"
#include "port/mutex.h"
#include "port/port.h"

_Static_assert(sizeof(ceni_mutex) == sizeof(((cen_stop_token *)0)->lock_), "a token has room for its lock");

static ceni_mutex *lock_of(cen_stop_token *stop)
{
    return (ceni_mutex *)(void *)&stop->lock_;
}

void cen_stop_token_init(cen_stop_token *stop)
{
    if (!stop) return;
    /* No other thread knows of it; carries nothing. */
    ceni_store_relaxed(&stop->epoch_, 0);
    ceni_store_relaxed(&stop->first_, NULL);
    ceni_store_relaxed(&stop->set_, 0);
    ceni_store_relaxed(&stop->walkers_, 0);
    ceni_store_relaxed(&stop->lock_, 0);
    stop->reserved_ = 0;
}

bool cen_stop_token_is_set(const cen_stop_token *stop)
{
    return stop && ceni_load_seq_cst(&((cen_stop_token *)(uintptr_t)stop)->set_); /* [S2] */
}

void cen_stop_token_reset(cen_stop_token *stop)
{
    if (stop) ceni_store_seq_cst(&stop->set_, 0); /* [S1] */
}

/* ---- Set --------------------------------------------------------------------------- */

static void hit(ceni_stop_wait *wait)
{
    uint32_t parked = wait->parked;
    ceni_store_seq_cst(&wait->hit, 1);                                                          /* [S5] */
    if (ceni_cas_seq_cst(wait->word, &parked, wait->awake) && !ceni_planted(stop_wakes_nobody)) /* [S5] */
        ceni_futex_wake(wait->word, 1);
}

static void walk(cen_stop_token *stop)
{
    ceni_add_seq_cst(&stop->walkers_, 1);                    /* [S7] */
    ceni_stop_wait *wait = ceni_load_seq_cst(&stop->first_); /* [S4] */
    while (wait) {
        hit(wait);
        wait = ceni_load_seq_cst(&wait->next); /* [S4] */
    }
    /* The last access: afterwards the token may be freed, and the wake uses only its address. */
    if (ceni_sub_seq_cst(&stop->walkers_, 1) == 1) ceni_futex_wake(&stop->walkers_, UINT32_MAX); /* [S7] */
}

void cen_stop_token_set(cen_stop_token *stop)
{
    if (!stop) return;
    int code = errno;
    ceni_store_seq_cst(&stop->set_, 1);                /* [S1] */
    uint64_t epoch = ceni_load_seq_cst(&stop->epoch_); /* [S9] 0: no thread has joined */
    if (epoch && ceni_fork_is(epoch)) walk(stop);      /* otherwise the records belong to the parent's threads */
    errno = code;
}

/* ---- Join and leave ------------------------------------------------------------------ */

/* Returns true if the token's list belongs to this process. The first thread that joins claims it. */
static bool claim(cen_stop_token *stop)
{
    uint64_t mine = ceni_fork_epoch(), found = 0;
    return ceni_cas_seq_cst(&stop->epoch_, &found, mine) || found == mine; /* [S9] */
}

static void link_first(cen_stop_token *stop, ceni_stop_wait *wait)
{
    ceni_mutex_lock(lock_of(stop), CENI_RANK_STOP);
    ceni_stop_wait *next = ceni_load_relaxed(&stop->first_); /* written under this lock; carries nothing */
    ceni_store_relaxed(&wait->next, next);                   /* published by the store below; carries nothing */
    if (next) next->previous = wait;
    ceni_store_seq_cst(&stop->first_, wait); /* [S3] */
    ceni_mutex_unlock(lock_of(stop), CENI_RANK_STOP);
}

cen_status ceni_stop_join(ceni_stop_wait *wait, cen_stop_token *stop, _Atomic uint32_t *word, uint32_t parked,
                          uint32_t awake)
{
    *wait = (ceni_stop_wait){.stop = stop, .word = word, .parked = parked, .awake = awake};
    if (!stop) return CEN_OK;
    if (cen_stop_token_is_set(stop)) return CEN_INTERRUPTED;
    if (!claim(stop)) return CEN_FORKED;
    link_first(stop, wait);
    bool looks = !ceni_planted(stop_join_does_not_look);
    if (!looks || !cen_stop_token_is_set(stop)) return CEN_OK; /* a set from now on finds the record */
    ceni_stop_leave(wait);
    return CEN_INTERRUPTED;
}

void ceni_stop_leave(ceni_stop_wait *wait)
{
    cen_stop_token *stop = wait->stop;
    if (!stop) return;
    ceni_mutex_lock(lock_of(stop), CENI_RANK_STOP);
    ceni_stop_wait *next = ceni_load_relaxed(&wait->next);               /* written under this lock; carries nothing */
    if (wait->previous) ceni_store_seq_cst(&wait->previous->next, next); /* [S3] */
    else ceni_store_seq_cst(&stop->first_, next);                        /* [S3] */
    if (next) next->previous = wait->previous;
    ceni_mutex_unlock(lock_of(stop), CENI_RANK_STOP);
    uint32_t walkers;
    while ((walkers = ceni_load_seq_cst(&stop->walkers_)) && !ceni_planted(stop_leaves_under_a_walker)) /* [S8] */
        ceni_futex_wait(&stop->walkers_, walkers, CENI_FOREVER);
}
