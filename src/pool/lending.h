/* SPDX-License-Identifier: MIT */
/* Takes and gives beyond the quick path: holders, orphans, admission, deadlines, waiting, gives and closes. */
#ifndef CENI_POOL_LENDING_H
#define CENI_POOL_LENDING_H

#include <cenote/stop.h>

#include "pool/pool.h"

/* ---- holders.c ------------------------------------------------------------------------------- */

/* The pools' functions for sync/holder.h. */
extern const ceni_holder_calls ceni_holder_of_pools;

/* "thread" or "task", and the holder's number, for a text. */
static inline const char *ceni_holder_word(uint64_t holder)
{
    return holder & CENI_HOLDER_TASK ? "task" : "thread";
}

static inline unsigned long long ceni_holder_figure(uint64_t holder)
{
    return holder & ~CENI_HOLDER_TASK;
}

/* Arm the exit hook of the calling thread, on its first take: when the thread ends, its leases are handled. */
void ceni_holder_arm(void);

/* last_round.c: have the leases of the calling thread handled after it has ended, even if no exit hook is called.
 * False: no memory. */
bool ceni_holder_watch_thread(void);

/* Detach the lease from its holder. */
cen_status ceni_holder_detach(cen_pool *pool, uint32_t index, uint64_t generation);

/* Return true if the holder has an attached lease of the slot. */
bool ceni_holder_has(ceni_slot *slot, uint64_t holder);

/* ---- noted.c: where the leases of a thread are ------------------------------------------------ */

/* The calling thread has got that slot and is about to count the lease: make the slot its hint for the next take. If
 * the thread may hold the slot of the replaced hint, that slot is noted. */
void ceni_note_new_slot(cen_pool *pool);

static inline void ceni_note_slot(cen_pool *pool, const ceni_grant *grant)
{
    ceni_pool_own *own = ceni_pool_own_get();
    if (ceni_hint_get(own, pool->mark) != grant->index) ceni_note_new_slot(pool);
    ceni_hint_put(own, pool->mark, grant->index, ceni_word(grant->generation, CENI_SLOT_HELD | CENI_LISTED));
}

/* The thread ends; `own` has its hints, `holder` is its number. Forget the notes, and call `meet` for each slot of a
 * note or hint that belongs to the holder, with a hand on its pool. Returns false, and calls nothing, if the thread
 * may hold other slots as well. */
typedef void (*ceni_noted_meet)(cen_pool *pool, uint32_t index, uint64_t holder);
bool ceni_noted_end(const ceni_pool_own *own, ceni_noted_meet meet, uint64_t holder);

/* ---- holders.c: the end of a holder --------------------------------------------------------------- */

/* Return true if the holder of the lease has ended: then its object must be tested, or is an orphan that keeps its
 * place. */
bool ceni_holder_has_ended(ceni_slot *slot, uint64_t generation);

/* Called after the slot became REVOKED: if its holder has ended meanwhile, the lease becomes an orphan. */
void ceni_holder_settle(cen_pool *pool, uint32_t index, uint64_t generation);

/* Return true if that holder holds all objects that the pool may have. */
bool ceni_holder_has_all(cen_pool *pool, uint64_t holder);

/* ---- orphans.c: objects that were cut off while a thread may still be using them ----------- */

typedef struct ceni_orphan ceni_orphan;

/* Why a lease ended without its holder. */
typedef enum ceni_loss {
    CENI_LOST_BY_HOLDER, /* its holder has ended */
    CENI_LOST_BY_LIMIT,  /* leak_after_ns or max_hold_ns, with a setting that reclaims its place */
} ceni_loss;

/* What happened to its place. */
typedef enum ceni_parted {
    CENI_PARTED_FREED,
    CENI_PARTED_KEPT,   /* until the give: no abandon, or no memory */
    CENI_PARTED_CLOSED, /* its holder gave it at the same moment, or the pool was freed: the object is closed */
} ceni_parted;

/* Cut the object off and free its place, if the driver can do that or a limit demands it. The slot is REVOKING and
 * owned by the caller, and interrupt was called. */
ceni_parted ceni_orphan_part(cen_pool *pool, uint32_t index, uint64_t generation, ceni_loss loss);

/* The same for a lease that only its holder can use: close the object. */
void ceni_orphan_close_scope(cen_pool *pool, uint32_t index, uint64_t generation, const char *why);

/* An ended lease is given: return true if its object was an orphan, which is closed then. *note is the lease's note. */
bool ceni_orphan_given(cen_pool *pool, const ceni_slot *slot, uint64_t generation, uint64_t *note);

/* The orphan whose close has that ticket number is closed: remove it under the lock, then release it. */
bool ceni_orphan_redeem_locked(cen_pool *pool, uint64_t ticket, ceni_orphan **out);
void ceni_orphan_closed(ceni_orphan *orphan);

/* The pool is freed: close all orphans, including those that kept their places. */
void ceni_orphans_end(cen_pool *pool);

/* Iterate over all records of orphans without a lock, for a visit: ceni_orphan_next returns the record after `after`,
 * or the first for NULL; ceni_orphan_shows returns true and fills in *out if the record has an object. */
ceni_orphan *ceni_orphan_next(cen_pool *pool, const ceni_orphan *after);
bool ceni_orphan_shows(ceni_orphan *orphan, cen_object_view *out);

/* Free the memory of all records; also in a forked child. */
void ceni_orphans_forget(cen_pool *pool);

/* One orphan, for a text. */
typedef struct ceni_orphan_seen {
    uint32_t index;
    uint64_t holder;
    const char *where;
    ceni_loss loss;
    int64_t ago_ns;
} ceni_orphan_seen;

/* Write up to `room` orphans after the first `skip`, oldest first. Returns their number. */
size_t ceni_orphans_list(cen_pool *pool, size_t skip, ceni_orphan_seen *seen, size_t room);

/* ---- admission.c: admission control, load shedding ----------------------------------------- */

/* Whether a take may go on. If not: the cause, or NONE if explain.c has to find it; for a refusal, the retry-after
 * time; for a limit that was reached, the current number and the limit. */
typedef struct ceni_verdict {
    cen_status status;
    cen_cause cause;
    int64_t retry_after_ns;
    int64_t current, max;
    const ceni_checks *checks; /* NULL: the take has made none */
} ceni_verdict;

/* Return true if it was refused with a retry-after time. */
static inline bool ceni_verdict_refuses(const ceni_verdict *verdict)
{
    return verdict->retry_after_ns > 0;
}

/* An estimate that is not known, or over, is one nanosecond: 0 would mean that there is none. */
static inline int64_t ceni_at_least_1_ns(int64_t ns)
{
    return ns > 1 ? ns : 1;
}

/* Decide whether a waiter, thread or pending, may join; the only function that does. `now` is ceni_clock_now();
 * `moment` is the waiter's deadline on the pool's clock, CENI_FOREVER without one. Refusals are counted here. */
ceni_verdict ceni_admit_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now, int64_t moment);

/* The time on the pool's clock at moment `now` of the system's clock. */
int64_t ceni_pool_moment(const cen_pool *pool, int64_t now);

/* The first waiter joins, or a pause ends; a waiter was served. */
void ceni_pace_begin_locked(cen_pool *pool, int64_t now);
void ceni_pace_served_locked(cen_pool *pool, int64_t now);

/* Estimate how long a waiter that joins now would wait; 0 if nothing is known. */
int64_t ceni_pace_estimate_locked(const cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now);

/* The retry-after time of a take for which no object can be opened. */
int64_t ceni_retry_opening_locked(const cen_pool *pool);

/* Return true if the first waiter, which could be served now, must be shed instead. */
bool ceni_shedding_is_due_locked(cen_pool *pool, ceni_followup *followup);

/* A waiter was served, or has left: update the shedding state of its class. */
void ceni_shedding_served_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now, ceni_followup *followup);
void ceni_shedding_left_locked(cen_pool *pool, const ceni_pool_waiter *waiter, ceni_followup *followup);

/* Load shedding was switched off. */
void ceni_shedding_stop_locked(cen_pool *pool);
bool ceni_shedding_is_active_locked(const cen_pool *pool);

/* Write the events; drops the hands. */
void ceni_shedding_tell(cen_pool *pool, const ceni_followup *followup);

/* ---- pending_deadline.c: the deadlines of pending takes ---------------------------------------------- */

/* Make sure that deadlines can be kept: memory and a timer thread. Errors: NO_MEMORY, SYSTEM. */
cen_status ceni_pending_deadline_need(cen_pool *pool);

/* The waiter has joined, or has been taken out of the queue. */
void ceni_pending_deadline_set_locked(cen_pool *pool, ceni_pool_waiter *waiter, int64_t moment);
void ceni_pending_deadline_drop_locked(cen_pool *pool, ceni_pool_waiter *waiter);

/* When the next deadline passes; and, after that, remove the expired takes and add them to `followup`. The caller
 * pumps afterwards. */
int64_t ceni_pending_deadline_next_locked(const cen_pool *pool);
void ceni_pending_deadline_pass_locked(cen_pool *pool, int64_t now, ceni_followup *followup);

/* Free the memory. */
void ceni_pending_deadline_end(cen_pool *pool);

/* ---- take.c ----------------------------------------------------------------------- */

/* Write the holder and the call site into the slot, for listings of holders. */
void ceni_slot_note(const cen_pool *pool, ceni_slot *slot, uint64_t generation, uint64_t holder, const char *where);

/* A give. If work that may take time follows, `giving` (may be NULL) is completed after it, and *kept is true. */
cen_status ceni_give_noting(cen_lease *lease, cen_future *giving, bool *kept);

/* Open an object in the claimed place of the grant, on this thread, and lend it. If the pool was closed meanwhile,
 * the object is closed again. `waited`: the take was already counted as served. */
cen_status ceni_take_open(cen_pool *pool, ceni_grant *grant, bool waited, cen_error *error);

/* A revoked object is given back. Returns false if it was not revoked. The pool may be gone when it returns. */
bool ceni_slot_take_back(cen_pool *pool, uint32_t index, uint64_t generation);

/* Revoke the lease, if the slot is held: returns true then. (close.c) */
bool ceni_slot_revoke(cen_pool *pool, uint32_t index, uint64_t generation);

/* The same, and free its place, whatever the driver can do; also for a lease that was revoked before. (close.c) */
bool ceni_slot_reclaim(cen_pool *pool, uint32_t index, uint64_t generation);

/* Call the driver's interrupt, while the slot is REVOKING and owned by the caller. (close.c) */
void ceni_slot_interrupt(cen_pool *pool, ceni_slot *slot);

/* ---- wait.c ------------------------------------------------------------------------- */

/* Search once: for an idle slot, or a place for a new object, which is claimed then (out->slot is NULL). */
bool ceni_pool_find(cen_pool *pool, uint32_t hint, ceni_grant *out);

/* Give back what a take has found or was granted and does not need. */
void ceni_grant_return(cen_pool *pool, const ceni_grant *extra);

/* How a take waits. */
typedef struct ceni_wait_terms {
    cen_priority priority;
    int64_t moment;       /* its deadline on the pool's clock; CENI_FOREVER: none */
    cen_stop_token *stop; /* NULL: none */
    const char *where;
} ceni_wait_terms;

/* Wait in the queue until the deadline, or until the token is set. OK: an object or a place was found or granted.
 * CLOSED: the pool may be gone. DRIVER: the error of the last opening. FORKED: the token belongs to the parent
 * process. */
ceni_verdict ceni_pool_wait(cen_pool *pool, const ceni_wait_terms *terms, ceni_grant *out);

/* ---- pending.c -------------------------------------------------------------------- */

/* Open an object in the claimed place, for the first waiter. */
void ceni_pending_open(cen_pool *pool, uint32_t index);

/* ---- outcome.c: asynchronous gives and closes -------------------------------------------------- */

/* ceni_giving_claim returns the future of an asynchronous give, or NULL; the caller owns the slot, and completes the
 * future after it has released the slot. ceni_giving_succeed completes it with OK. ceni_giving_fail only writes the
 * error, while the pool's name exists; the caller completes it. `how`: the outcome of the failed driver call; NULL:
 * none failed. */
cen_future *ceni_giving_claim(ceni_slot *slot, uint64_t generation);
void ceni_giving_succeed(cen_future *giving);
void ceni_giving_fail(cen_future *giving, const char *name, const char *why, const ceni_call_outcome *how);

/* The running asynchronous close, unless another thread has claimed it. It has a hand, which ceni_closing_tell drops.
 * */
cen_close_op *ceni_closing_claim_locked(cen_pool *pool);
void ceni_closing_tell(cen_pool *pool, cen_close_op *closing);

/* If its deadline has passed, revoke the leases that are still out, and complete it. */
void ceni_closing_pass(cen_pool *pool, int64_t now);

/* ---- give.c, used by several files --------------------------------------------------- */

/* Retire a slot that was made idle in a pool that is closed or above max: close its object. Returns false if that is
 * not needed, or the slot is not idle now. */
bool ceni_pool_retire(ceni_waiters *waiters, uint64_t pool_id, uint32_t index, uint64_t generation);

/* The same without a pump: the caller pumps afterwards. Only for a driver that does not block. */
bool ceni_pool_retire_quietly(ceni_waiters *waiters, uint64_t pool_id, uint32_t index, uint64_t generation);

/* ---- errors.c ------------------------------------------------------------------------ */

cen_status ceni_pool_refuse_null(const char *call, cen_error *error);
cen_status ceni_pool_refuse_closed(const char *name, cen_error *error);
cen_status ceni_pool_misuse(const cen_pool *pool, const char *what, cen_error *error);

#endif
