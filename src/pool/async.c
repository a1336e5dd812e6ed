/* SPDX-License-Identifier: MIT */
/*
 * Asking: a take that does not wait, but is told.
 *
 *     ask: my last slot, another idle one, or a new one ▶ done at once, and posted
 *          otherwise ▶ admitted ▶ in line, as a pending waiter, with its deadline
 *     in line ──granted by whoever pumps──▶ told OK
 *             ──deadline, by the keeper (patience.c)──▶ told TIMEOUT
 *             ──close, the breaker──▶ told so
 *             ──cancel──▶ never told
 *
 * Invariants
 *  Y1 A take leaves the line once, under the lock, and whoever takes it out
 *     tells it, after the lock is dropped; or it is the canceller, and nobody does.
 *  Y2 Between leaving the line and being told, the take is still the pool's: its
 *     memory stays, because its future is not done. It may outlive the pool by
 *     that moment. Therefore cancel asks the line, whose memory stays for ever,
 *     and telling touches the pool only with a hand.
 *  Y3 One that was granted an object has it noted as its own before the lock is
 *     dropped: an object is never nobody's.
 *
 * A lease that was asked for in a step of a task belongs to the task (L13). Its note may be written by another thread, so the
 * task counts it when it asks: an upper bound, since the ask may fail. While the ask waits, the count is not reset
 * (sync/holder.c), and the end of the task makes the ask nobody's (holders.c). A lease that was asked for outside of a task
 * belongs to nobody: the thread that asked is noted, as detached.
 *
 * Order table
 * [Y1] ask | load of ctl | relaxed | - | nothing: whether the pool is closed, or takes must queue; asked again under the lock; carries nothing | -
 */
#include <cenote/pool_async.h>

#include "base/error.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "pool/quick.h"
#include "port/deadline.h"
#include "port/port.h"
#include "sync/future.h"
#include "sync/inbox.h"

/* The mark of a lease that is asked for: 0 in a step of a task, whose it is; else it is nobody's. */
static inline uint64_t mark_of_asked(void)
{
    bool attached = ceni_own_is_task(ceni_holder_current()) && !ceni_planted(asked_lease_detached);
    return attached || ceni_planted(asked_lease_attached) ? 0 : CENI_HOLDER_DETACHED;
}

/* Who asks. The count of a task goes up here, on its own thread: the grant may come from any other. */
static uint64_t holder_of_asked(void)
{
    uint64_t mark = mark_of_asked();
    if (!mark) ceni_held_counts(ceni_pool_own_get());
    return ceni_holder_number() | mark;
}

/* What is inside a cen_take_op. */
typedef struct asking {
    ceni_pool_waiter waiter;
    ceni_waiters *line;
    uint64_t epoch;
    int64_t began; /* on the pool's clock */
} asking;

_Static_assert(sizeof(asking) <= sizeof((cen_take_op *)NULL)->waiter_, "the room in a take");
_Static_assert(offsetof(cen_take_op, future) == 0, "a take is its future");

static asking *inside(cen_take_op *take)
{
    return (asking *)(void *)take->waiter_;
}

static cen_take_op *take_of(ceni_pool_waiter *waiter)
{
    return (cen_take_op *)(void *)((char *)waiter - offsetof(cen_take_op, waiter_));
}

static void run_done(cen_job *job)
{
    cen_take_op *take = (cen_take_op *)(void *)((char *)job - offsetof(cen_take_op, future.job_));
    take->done_(take);
}

void cen_take_op_init(cen_take_op *take, void (*done)(cen_take_op *take), cen_executor *executor)
{
    if (!take) return;
    ceni_future_ready(&take->future, run_done);
    take->lease = (cen_lease){.pool = NULL};
    take->priority = CEN_PRIORITY_NORMAL;
    take->cause = CEN_CAUSE_NONE;
    take->retry_after_ns = 0;
    take->done_ = done; /* the rest is written when it has to wait */
    if (done) take->future.executor_ = executor;
    else cen_future_init(&take->future);
}

/* ---- Being told ---------------------------------------------------------------------- */

static bool is_refused(ceni_pool_waiter *waiter)
{
    return ceni_load_relaxed(&waiter->state) == CENI_WAIT_REFUSED; /* told by this call; carries nothing */
}

/* With a hand on the pool: for how long it waited, and why in vain. */
static void explain(cen_take_op *take, cen_pool *pool, cen_status status)
{
    asking *mine = inside(take);
    cen_error *error = take->future.error;
    bool refused = is_refused(&mine->waiter);
    ceni_verdict verdict = {
        .status = refused ? CEN_DRIVER : status, .cause = take->cause, .retry_after_ns = take->retry_after_ns};
    if (status == CEN_CLOSED && !refused)
        ceni_pool_refuse_closed(pool->name, error); /* or it is the driver that said so */
    else ceni_tell_refusal(pool, verdict, ceni_pool_now(pool) - mine->began, 0, error);
    if (refused) error->code = take->future.code; /* another opening may have failed meanwhile */
    else take->future.code = error->code;
    error->status = status;
    take->cause = error->cause;
    if (ceni_planted(told_ask_keeps_no_hand)) return;
    ceni_waiters_lock(pool->line);
    ceni_hand_drop_locked(pool);
}

static void deliver(ceni_pool_waiter *waiter, cen_status status)
{
    cen_take_op *take = take_of(waiter);
    /* the opening's time has passed, not the ask's */
    if (status == CEN_TIMEOUT && is_refused(waiter)) status = CEN_DRIVER;
    take->future.status = status;
    take->cause = (cen_cause)waiter->cause;
    take->retry_after_ns = waiter->retry_after_ns;
    take->future.code = waiter->code;
    if (status == CEN_CLOSED && take->cause == CEN_CAUSE_NONE) take->cause = CEN_CAUSE_CLOSED;
    if (status == CEN_OK) ceni_lease_fill(take->future.source_, waiter->slot, waiter->generation, &take->lease);
    else if (waiter->hand) explain(take, waiter->hand, status);
    bool again = ceni_planted(ask_told_twice) && take->future.executor_;
    ceni_future_complete(&take->future);
    if (again) ceni_future_complete_fresh(&take->future);
}

static bool withdraw(cen_future *future)
{
    asking *mine = inside((cen_take_op *)(void *)future);
    if (!ceni_fork_is(mine->epoch)) return true; /* nobody here will ever touch it */
    return ceni_waiters_withdraw(mine->line, &mine->waiter);
}

/* ---- Asking ---------------------------------------------------------------------------- */

/* It has not been in line: nobody else knows of it. */
static cen_status refuse(cen_take_op *take, cen_status status)
{
    take->future.status = status;
    ceni_future_complete_fresh(&take->future);
    return CEN_OK;
}

static cen_status refuse_closed(cen_take_op *take, const cen_pool *pool)
{
    ceni_pool_refuse_closed(pool->name, take->future.error);
    take->cause = CEN_CAUSE_CLOSED;
    return refuse(take, CEN_CLOSED);
}

/* The driver's own number is told also to one who wants no text. */
static cen_status refuse_explained(cen_take_op *take, cen_pool *pool, ceni_verdict verdict)
{
    cen_error unseen = {.code = 0}, *error = take->future.error;
    if (!error && verdict.status == CEN_DRIVER) error = &unseen;
    take->cause = verdict.cause;
    take->retry_after_ns = verdict.retry_after_ns;
    cen_status status = ceni_tell_refusal(pool, verdict, 0, 0, error);
    if (error) take->future.code = error->code;
    if (error) take->cause = error->cause;
    return refuse(take, status);
}

static cen_status refuse_impatient(cen_take_op *take, const cen_pool *pool, cen_status status)
{
    ceni_error_set(take->future.error, status, 0, "pool \"%s\": a deadline cannot be kept: %s", pool->name,
                   cen_status_text(status));
    return refuse(take, status);
}

/* The next quick path, of a take too, begins with it. */
static void lend(cen_pool *pool, const ceni_grant *grant, cen_take_op *take, const char *where)
{
    ceni_pool_own *own = ceni_pool_own_get();
    if (!own->armed) ceni_holder_arm();
    ceni_note_slot(pool, grant);
    ceni_slot_note(pool, grant->slot, grant->generation, holder_of_asked(), where);
    ceni_tell_taken(pool, grant->index, where);
    ceni_lease_fill(pool, grant->slot, grant->generation, &take->lease);
}

/* An idle object, here and now; or a new one, if the driver is quick and room is left. False: neither is to be had. */
static bool find(cen_pool *pool, ceni_grant *grant, cen_status *status, cen_error *error)
{
    *status = CEN_OK;
    if (ceni_idle_take_as_asker(pool, ceni_hint_get(ceni_pool_own_get(), pool->mark), grant)) return true;
    if (!ceni_place_claim(pool, &grant->index)) return false;
    *status = ceni_take_open(pool, grant, false, error);
    return true;
}

/* What is to be had without waiting. True: the take is done. */
static bool lend_now(cen_pool *pool, cen_take_op *take, const char *where, const void *from)
{
    ceni_grant grant = {.slot = NULL};
    cen_status status;
    cen_error error = {.code = 0};
    if (!find(pool, &grant, &status, &error)) return false;
    if (status != CEN_OK) {
        take->future.code = error.code;
        take->cause = error.cause;
        if (take->future.error) *take->future.error = error;
        refuse(take, status);
        return true;
    }
    lend(pool, &grant, take, where);
    ceni_trace_note(pool, &take->lease, from);
    ceni_future_complete_fresh(&take->future);
    return true;
}

/* Locks the line, and sees to it that a deadline can be kept; if it cannot, the line is not locked. */
static cen_status lock_with_patience(cen_pool *pool, int64_t moment)
{
    ceni_waiters_lock(pool->line);
    if (moment == CENI_FOREVER || pool->patient) return CEN_OK;
    ceni_waiters_unlock(pool->line);
    cen_status status = ceni_patience_need(pool);
    if (status == CEN_OK) ceni_waiters_lock(pool->line);
    return status;
}

static cen_status join(cen_pool *pool, cen_take_op *take, cen_deadline deadline, const char *where)
{
    int64_t now = ceni_clock_now(), pool_now = ceni_pool_moment(pool, now),
            moment = ceni_deadline_moment(deadline, pool_now);
    asking *mine = inside(take);
    *mine = (asking){.waiter = {.pending = true,
                                .holder = holder_of_asked(),
                                .where = where,
                                .priority = (uint8_t)take->priority,
                                .deliver = deliver,
                                .error = take->future.error,
                                .moment = moment,
                                .home = ceni_executor_thread(take->future.executor_)},
                     .line = pool->line,
                     .epoch = ceni_fork_epoch(),
                     .began = pool_now};
    ceni_wheel_timer_init(&mine->waiter.timer);
    ceni_waiters *line = pool->line;
    uint64_t id = pool->id;
    ceni_followup call = {.more = false};
    cen_status status = lock_with_patience(pool, moment);
    if (status != CEN_OK) return refuse_impatient(take, pool, status);
    ceni_verdict verdict = ceni_admit_locked(pool, &mine->waiter, now, moment);
    if (verdict.status == CEN_OK) {
        ceni_future_begin(&take->future, withdraw, pool);
        ceni_waiters_join_locked(pool, &mine->waiter, now);
        ceni_patience_set_locked(pool, &mine->waiter, moment);
        ceni_waiters_joined_locked(pool, &mine->waiter, &call);
    }
    ceni_waiters_unlock(line);
    if (verdict.status == CEN_CLOSED) return refuse_closed(take, pool);
    if (verdict.status == CEN_FULL && verdict.max == 0) ceni_chores_wish(pool); /* since nobody may wait for one */
    if (verdict.status != CEN_OK) return refuse_explained(take, pool, verdict);
    ceni_waiters_follow_up(line, id, pool, &call);
    return CEN_OK;
}

static cen_status ask_within(cen_pool *pool, cen_deadline deadline, cen_take_op *take, const char *where,
                             const void *from)
{
    cen_status status = ceni_pool_check(pool, "cen_pool_take_async", take->future.error);
    if (status != CEN_OK) return status;
    if (ceni_callout_inside(pool)) return ceni_pool_misuse(pool, "an ask", take->future.error);
    if (ceni_take_sampled(pool, mark_of_asked(), &take->lease, where)) {
        ceni_future_complete_fresh(&take->future);
        return CEN_OK;
    }
    uint64_t ctl = ceni_load_relaxed(&pool->line->ctl); /* [Y1] carries nothing */
    if (ctl & CENI_CTL_CLOSED) return refuse_closed(take, pool);
    deadline = ceni_deadline_or(deadline, (cen_deadline){ceni_setting(&pool->default_deadline)});
    bool hurries = ceni_deadline_is_now(deadline);
    /* Where all that comes is handed over to the first in line, a look would most likely be in vain; unless a place is left
     * over from those in line: then this one need not be refused because they are too many. */
    bool handed = ctl >= CENI_CTL_ONE && ((ctl & CENI_CTL_READY) || !(ctl & CENI_CTL_HEIR)) &&
                  ceni_load_relaxed(&pool->openable) == 0; /* a guess; carries nothing */
    bool looks = !(ctl & CENI_CTL_FIRST) && (hurries || !handed);
    if (looks && lend_now(pool, take, where, from)) return CEN_OK;
    if (hurries) {
        ceni_add_relaxed(&pool->missed, 1); /* a number; carries nothing */
        ceni_chores_wish(pool);
        return refuse_explained(take, pool, (ceni_verdict){.status = CEN_TIMEOUT});
    }
    return join(pool, take, deadline, where);
}

/* Whoever is told by this thread, inline, is told when nothing of the pool is touched any more: it may free it. */
__attribute__((noinline)) static cen_status ask_slowly(cen_pool *pool, cen_deadline deadline, cen_take_op *take,
                                                       const char *where)
{
    ceni_inline_run here;
    ceni_inline_begin(&here);
    cen_status status = ask_within(pool, deadline, take, where, __builtin_return_address(0));
    ceni_inline_end(&here);
    return status;
}

/* The quick path is written for either mark, so that neither is computed. A task without a number goes the slow way. */
static inline bool ask_quickly(cen_pool *pool, cen_lease *out, const char *where)
{
    bool attached = ceni_holder_current()->note & CENI_HOLDER_TASK << CENI_HOLDER_SHIFT;
    if (__builtin_expect(attached, 0)) return !mark_of_asked() && ceni_take_quickly(pool, 0, out, where);
    return !ceni_planted(asked_lease_attached) && ceni_take_quickly(pool, CENI_HOLDER_DETACHED, out, where);
}

cen_status cen_pool_take_async_at(cen_pool *pool, cen_deadline deadline, cen_take_op *take, const char *where)
{
    if (!pool || !take || (take->done_ && !take->future.executor_)) return CEN_INVALID;
    if ((unsigned)take->priority > CEN_PRIORITY_LOW) return CEN_INVALID;
    if (!ceni_future_is_fresh(&take->future)) return CEN_MISUSE;
    /* of some pool: it is found out which */
    bool inside_call = ceni_pool_own_get()->callout && !ceni_planted(ask_served_inside);
    if (__builtin_expect(inside_call || !ask_quickly(pool, &take->lease, where), 0))
        return ask_slowly(pool, deadline, take, where);
    ceni_future_complete_fresh(&take->future);
    return CEN_OK;
}
