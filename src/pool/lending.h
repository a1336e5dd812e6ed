/* SPDX-License-Identifier: MIT */
/* Takes and gives beyond the quick path: who may wait, for how long, what they get, and to whom it belongs. */
#ifndef CENI_POOL_LENDING_H
#define CENI_POOL_LENDING_H

#include <cenote/stop.h>

#include "pool/pool.h"

/* ---- holders.c ------------------------------------------------------------------------------- */

/* What the pools say at the seam of holders. */
extern const ceni_holder_calls ceni_holder_of_pools;

/* "thread" or "task", and its number, for a text. */
static inline const char *ceni_holder_word(uint64_t holder)
{
    return holder & CENI_HOLDER_TASK ? "task" : "thread";
}

static inline unsigned long long ceni_holder_figure(uint64_t holder)
{
    return holder & ~CENI_HOLDER_TASK;
}

/* The calling thread has taken something for the first time: when it ends, what it holds is taken back. */
void ceni_holder_arm(void);

/* last_round.c: what the calling thread takes is taken back when it is gone, although no exit hook may come. False: no memory. */
bool ceni_holder_watch_thread(void);

/* The lease outlives its holder. */
cen_status ceni_holder_detach(cen_pool *pool, uint32_t index, uint64_t generation);

/* Whether the holder has the slot, attached. */
bool ceni_holder_has(ceni_slot *slot, uint64_t holder);

/* ---- noted.c: where the leases of a thread are ------------------------------------------------ */

/* The calling thread has got that slot and is about to count it: it is the hint for its next take. What the hint was of before
 * is noted, if the thread may hold it. */
void ceni_note_new_slot(cen_pool *pool);

static inline void ceni_note_slot(cen_pool *pool, const ceni_grant *grant)
{
    ceni_pool_own *own = ceni_pool_own_get();
    if (ceni_hint_get(own, pool->mark) != grant->index) ceni_note_new_slot(pool);
    ceni_hint_put(own, pool->mark, grant->index, ceni_word(grant->generation, CENI_SLOT_HELD | CENI_LISTED));
}

/* The thread ends, and these were its hints and its number: calls that for each slot that was noted or is a hint, and is the
 * holder's, with a hand on its pool. What is noted is forgotten before. False: there may be others; then it calls nothing. */
typedef void (*ceni_noted_meet)(cen_pool *pool, uint32_t index, uint64_t holder);
bool ceni_noted_end(const ceni_pool_own *own, ceni_noted_meet meet, uint64_t holder);

/* ---- holders.c, and what ends ------------------------------------------------------------------ */

/* Whether the holder of the lease has ended: its object is to be tested, or is an orphan that has kept its place. */
bool ceni_holder_has_ended(ceni_slot *slot, uint64_t generation);

/* The slot has just become REVOKED: if its holder has ended meanwhile, the lease becomes an orphan now. */
void ceni_holder_settle(cen_pool *pool, uint32_t index, uint64_t generation);

/* Whether all objects that the pool may have are held by that holder. */
bool ceni_holder_has_all(cen_pool *pool, uint64_t holder);

/* ---- orphans.c: objects that were cut off while somebody may still be using them ----------- */

typedef struct ceni_orphan ceni_orphan;

/* Why a lease ended without its holder. */
typedef enum ceni_loss {
    CENI_LOST_BY_HOLDER, /* its holder has ended */
    CENI_LOST_BY_LIMIT,  /* leak_after_ns or max_hold_ns, and the setting says that its place is reclaimed */
} ceni_loss;

/* What became of its place. */
typedef enum ceni_parted {
    CENI_PARTED_FREED,
    CENI_PARTED_KEPT,   /* until the give: no abandon, or no memory */
    CENI_PARTED_CLOSED, /* its holder has come back, or the pool was freed: the object is closed */
} ceni_parted;

/* The slot is REVOKING and the caller's, and interrupt was called: the object is cut off and its place is freed, if the driver
 * can do that or a limit says so. */
ceni_parted ceni_orphan_part(cen_pool *pool, uint32_t index, uint64_t generation, ceni_loss loss);

/* The same slot, of a lease that nobody but its holder can use: closes the object. */
void ceni_orphan_close_scope(cen_pool *pool, uint32_t index, uint64_t generation, const char *why);

/* A lease that is not its slot's any more is given: true if its object was an orphan, which is closed now; *note is the lease's. */
bool ceni_orphan_given(cen_pool *pool, const ceni_slot *slot, uint64_t generation, uint64_t *note);

/* The orphan whose close has that number is closed: taken out under the lock, and then released. */
bool ceni_orphan_redeem_locked(cen_pool *pool, uint64_t ticket, ceni_orphan **out);
void ceni_orphan_closed(ceni_orphan *orphan);

/* The pool is freed: closes all orphans, and what a holder that has ended left in its place. */
void ceni_orphans_end(cen_pool *pool);

/* All records of orphans, for a visit, without a lock: the next after that one, or the first; whether it has an object, and
 * which. */
ceni_orphan *ceni_orphan_next(cen_pool *pool, const ceni_orphan *after);
bool ceni_orphan_shows(ceni_orphan *orphan, cen_object_view *out);

/* Gives the memory of all records back; also in a forked child. */
void ceni_orphans_forget(cen_pool *pool);

/* One orphan, for a text. */
typedef struct ceni_orphan_seen {
    uint32_t index;
    uint64_t holder;
    const char *where;
    ceni_loss loss;
    int64_t ago_ns;
} ceni_orphan_seen;

/* Writes up to `room` of them after the first `skip`, the oldest first, and says how many. */
size_t ceni_orphans_list(cen_pool *pool, size_t skip, ceni_orphan_seen *seen, size_t room);

/* ---- admission.c: who may join the line -------------------------------------------------- */

/* Whether a take may go on, and if not: the cause, or NONE if that is to be found out; if it was refused, when to try again;
 * and, of a limit that was reached, how many there were and may be. */
typedef struct ceni_verdict {
    cen_status status;
    cen_cause cause;
    int64_t retry_after_ns;
    int64_t current, max;
    const ceni_checks *checks; /* NULL: the take has made none */
} ceni_verdict;

/* It was refused, and did not fail in its time or by its own opening. */
static inline bool ceni_verdict_refuses(const ceni_verdict *verdict)
{
    return verdict->retry_after_ns > 0;
}

/* The one place where it is decided whether a waiter, thread or pending, may
 * join. `now` is ceni_clock_now(); `moment` its deadline on the pool's clock,
 * CENI_FOREVER without one. What is refused is counted here. */
ceni_verdict ceni_admit_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now, int64_t moment);

/* What the pool's clock shows at that moment of the system's. */
int64_t ceni_pool_moment(const cen_pool *pool, int64_t now);

/* Somebody waits from now on, or begins to be served again; somebody was served. */
void ceni_pace_begin_locked(cen_pool *pool, int64_t now);
void ceni_pace_served_locked(cen_pool *pool, int64_t now);

/* How long one that comes now would wait until it is served; 0 if nothing is known. */
int64_t ceni_pace_estimate_locked(const cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now);

/* In which time it is worth while to try again what nothing can be opened for. */
int64_t ceni_retry_opening_locked(const cen_pool *pool);

/* Whether the first in line, for whom something is there, is to be sent away instead. */
bool ceni_shedding_is_due_locked(cen_pool *pool, ceni_followup *call);

/* One was served, or left; what that means for its class. */
void ceni_shedding_served_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now, ceni_followup *call);
void ceni_shedding_left_locked(cen_pool *pool, const ceni_pool_waiter *waiter, ceni_followup *call);

/* Nothing is shed any more: it was switched off. */
void ceni_shedding_stop_locked(cen_pool *pool);
bool ceni_shedding_is_active_locked(const cen_pool *pool);

/* Tells the event stream; drops the hands. */
void ceni_shedding_tell(cen_pool *pool, const ceni_followup *call);

/* ---- patience.c: the deadlines of those who ask -------------------------------------------- */

/* What keeps deadlines is there afterwards. Errors: NO_MEMORY, SYSTEM. */
cen_status ceni_patience_need(cen_pool *pool);

/* The waiter has joined, or has been taken out of the line. */
void ceni_patience_set_locked(cen_pool *pool, ceni_pool_waiter *waiter, int64_t moment);
void ceni_patience_drop_locked(cen_pool *pool, ceni_pool_waiter *waiter);

/* When the next deadline passes, and what is done then: those who asked are taken out and put into `call`. Pump afterwards. */
int64_t ceni_patience_next_locked(const cen_pool *pool);
void ceni_patience_pass_locked(cen_pool *pool, int64_t now, ceni_followup *call);

/* Gives the memory back. */
void ceni_patience_end(cen_pool *pool);

/* ---- take.c ----------------------------------------------------------------------- */

/* Writes down who holds a slot, for those who list holders. */
void ceni_slot_note(const cen_pool *pool, ceni_slot *slot, uint64_t generation, uint64_t holder, const char *where);

/* A give. If something follows it that may take its time, `giving` is told when that is over, and *kept is true;
 * NULL: nobody is. */
cen_status ceni_give_noting(cen_lease *lease, cen_future *giving, bool *kept);

/* Opens an object in the claimed place of the grant, on this thread, and lends it. If the pool was closed meanwhile it
 * is closed again. `waited`: the one it is for was counted as served. */
cen_status ceni_take_open(cen_pool *pool, ceni_grant *grant, bool waited, cen_error *error);

/* An object that close had taken away comes back; false if it had not. The pool may be gone then. */
bool ceni_slot_take_back(cen_pool *pool, uint32_t index, uint64_t generation);

/* Takes the object away from its holder, if it is held: true then. (close.c) */
bool ceni_slot_revoke(cen_pool *pool, uint32_t index, uint64_t generation);

/* The same, and its place is freed, whatever its driver can do; also what was revoked before. (close.c) */
bool ceni_slot_reclaim(cen_pool *pool, uint32_t index, uint64_t generation);

/* Calls the driver's interrupt, while the slot is REVOKING and the caller's. (close.c) */
void ceni_slot_interrupt(cen_pool *pool, ceni_slot *slot);

/* ---- wait.c ------------------------------------------------------------------------- */

/* One look: an idle slot, or a claimed place for a new object (out->slot is NULL then). */
bool ceni_pool_find(cen_pool *pool, uint32_t hint, ceni_grant *out);

/* What a take has found or was granted, and does not want: the next has it. */
void ceni_grant_return(cen_pool *pool, const ceni_grant *extra);

/* How a take waits. */
typedef struct ceni_wait_terms {
    cen_priority priority;
    int64_t moment;       /* its deadline on the pool's clock; CENI_FOREVER: none */
    cen_stop_token *stop; /* NULL: none */
    const char *where;
} ceni_wait_terms;

/* Waits in line until the deadline, or until the token is set. OK: something was found or granted. After
 * CLOSED the pool may be gone; DRIVER: what the last opening said; FORKED: the token is the parent's. */
ceni_verdict ceni_pool_wait(cen_pool *pool, const ceni_wait_terms *terms, ceni_grant *out);

/* ---- pending.c -------------------------------------------------------------------- */

/* Opens an object, in the claimed place, for whoever is first in line. */
void ceni_pending_open(cen_pool *pool, uint32_t index);

/* ---- outcome.c: gives and closes that are told when they are over ----------------------------- */

/* Who is to be told about what follows a give, if anybody: the caller owns the slot, and tells after it has let go of it.
 * The last only writes why it failed, while the pool's name is there: completing it is left to the caller. `how`: what the
 * driver's call answered; NULL: none failed. */
cen_future *ceni_giving_claim(ceni_slot *slot, uint64_t generation);
void ceni_giving_succeed(cen_future *giving);
void ceni_giving_fail(cen_future *giving, const char *name, const char *why, const ceni_call_outcome *how);

/* The close that is under way, if nobody has taken it before; it has a hand, which tell drops. */
cen_close_op *ceni_closing_claim_locked(cen_pool *pool);
void ceni_closing_tell(cen_pool *pool, cen_close_op *closing);

/* If its deadline has come, what is out is revoked, and it is told. */
void ceni_closing_pass(cen_pool *pool, int64_t now);

/* ---- several ------------------------------------------------------------------------ */

/* Retires a slot that was just made idle in a pool that is closed or has too
 * many; false if it is not to be retired, or not idle any more. */
bool ceni_pool_retire(ceni_waiters *line, uint64_t pool_id, uint32_t index, uint64_t generation);

/* The same without a pump: the caller pumps afterwards. Only for a driver that does not block. */
bool ceni_pool_retire_quietly(ceni_waiters *line, uint64_t pool_id, uint32_t index, uint64_t generation);

/* Errors that several calls have. Check: INVALID, FORKED, or OK. */
cen_status ceni_pool_check(const cen_pool *pool, const char *call, cen_error *error);
cen_status ceni_pool_refuse_closed(const char *name, cen_error *error);
cen_status ceni_pool_misuse(const cen_pool *pool, const char *what, cen_error *error);

#endif
