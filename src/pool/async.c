/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous takes: they do not block; their futures are completed.
 *
 *     take: my last slot, another idle one, or a new one ▶ completed at once, and its job posted
 *           otherwise ▶ admitted ▶ in the queue, as a pending waiter, with its deadline
 *     in the queue ──granted by a pump──▶ completed with OK
 *             ──deadline, by the keeper (pending_deadline.c)──▶ completed with TIMEOUT
 *             ──close, the breaker──▶ completed with that failure
 *             ──cancel──▶ never completed
 *
 * Invariants
 *  Y1 A take leaves the queue once, under the lock. The thread that removes it
 *     completes it, after the lock is dropped; or it is the canceller, and the take is not completed.
 *  Y2 Between leaving the queue and its completion, the take still belongs to the
 *     pool: its memory stays, because its future is not done. It may outlive the
 *     pool for that short time. Therefore cancel uses the queue, whose memory is
 *     never freed, and the completion touches the pool only with a hand.
 *  Y3 A granted object is noted as the take's before the lock is dropped: an
 *     object always has an owner.
 *
 * A lease of a take that was started in a step of a task belongs to the task (L13). Another thread may write its
 * note, so the task counts the lease when it starts the take: an upper bound, since the take may fail. While the take
 * is pending, the count is not reset (sync/holder.c). When the task ends, the pending take is detached (holders.c). A
 * lease of a take that was started outside a task belongs to no holder: the starting thread is noted, as detached.
 *
 * Order table
 * [Y1] ask_within | load of ctl | relaxed | - | nothing: whether the pool is closed, or takes must queue; read again under the lock; carries nothing | -
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

/* The mark in the lease's note: 0 in a step of a task, which is the holder; otherwise CENI_HOLDER_DETACHED. */
static inline uint64_t mark_of_asked(void)
{
    bool attached = ceni_own_is_task(ceni_holder_current()) && !ceni_planted(asked_lease_detached);
    return attached || ceni_planted(asked_lease_attached) ? 0 : CENI_HOLDER_DETACHED;
}

/* The holder of the take. A task's count goes up here, on the task's own thread, because any thread may grant. */
static uint64_t holder_of_asked(void)
{
    uint64_t mark = mark_of_asked();
    if (!mark) ceni_held_counts(ceni_pool_own_get());
    return ceni_holder_number() | mark;
}

/* The private part of a cen_take_op. */
typedef struct asking {
    ceni_pool_waiter waiter;
    ceni_waiters *waiters;
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
    take->done_ = done; /* the rest is written if it has to wait */
    if (done) take->future.executor_ = executor;
    else cen_future_init(&take->future);
}

/* ---- Completing ------------------------------------------------------------------------ */

static bool is_refused(ceni_pool_waiter *waiter)
{
    return ceni_load_relaxed(&waiter->state) == CENI_WAIT_REFUSED; /* written in this call; carries nothing */
}

/* Write the error: for how long the take waited, and why it failed. Has a hand on the pool. */
static void explain(cen_take_op *take, cen_pool *pool, cen_status status)
{
    asking *mine = inside(take);
    cen_error *error = take->future.error;
    bool refused = is_refused(&mine->waiter);
    ceni_verdict verdict = {
        .status = refused ? CEN_DRIVER : status, .cause = take->cause, .retry_after_ns = take->retry_after_ns};
    if (status == CEN_CLOSED && !refused)
        ceni_pool_refuse_closed(pool->name, error); /* otherwise CLOSED came from the driver */
    else ceni_tell_refusal(pool, verdict, ceni_pool_now(pool) - mine->began, 0, error);
    if (refused) error->code = take->future.code; /* another opening may have failed meanwhile */
    else take->future.code = error->code;
    error->status = status;
    take->cause = error->cause;
    if (ceni_planted(told_ask_keeps_no_hand)) return;
    ceni_waiters_lock(pool->waiters);
    ceni_hand_drop_locked(pool);
}

static void deliver(ceni_pool_waiter *waiter, cen_status status)
{
    cen_take_op *take = take_of(waiter);
    /* the driver's timeout, not the take's */
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
    if (!ceni_fork_is(mine->epoch)) return true; /* no thread of this process touches it */
    return ceni_waiters_withdraw(mine->waiters, &mine->waiter);
}

/* ---- Starting a take --------------------------------------------------------------------- */

/* Complete a take that was never in the queue: no other thread knows of it. */
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

/* The driver's code is reported also to a take that wants no text. */
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

static cen_status refuse_untimed(cen_take_op *take, const cen_pool *pool, cen_status status)
{
    ceni_error_set(take->future.error, status, 0, "pool \"%s\": cannot start a timer for the deadline: %s", pool->name,
                   cen_status_text(status));
    return refuse(take, status);
}

/* Make the grant a lease; the slot becomes the thread's hint for the quick path of any take. */
static void lend(cen_pool *pool, const ceni_grant *grant, cen_take_op *take, const char *where)
{
    ceni_pool_own *own = ceni_pool_own_get();
    if (!own->armed) ceni_holder_arm();
    ceni_note_slot(pool, grant);
    ceni_slot_note(pool, grant->slot, grant->generation, holder_of_asked(), where);
    ceni_tell_taken(pool, grant->index, where);
    ceni_lease_fill(pool, grant->slot, grant->generation, &take->lease);
}

/* Take an idle object, or open a new one if the driver does not block and there is room. Returns false if neither is
 * possible. */
static bool find(cen_pool *pool, ceni_grant *grant, cen_status *status, cen_error *error)
{
    *status = CEN_OK;
    if (ceni_idle_take_as_asker(pool, ceni_hint_get(ceni_pool_own_get(), pool->mark), grant)) return true;
    if (!ceni_place_claim(pool, &grant->index)) return false;
    *status = ceni_take_open(pool, grant, false, error);
    return true;
}

/* Complete the take without waiting, if possible. Returns true then. */
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

/* Lock the queue, and make sure that a deadline can be kept. After a failure the queue is not locked. */
static cen_status lock_and_keep_time(cen_pool *pool, int64_t moment)
{
    ceni_waiters_lock(pool->waiters);
    if (moment == CENI_FOREVER || pool->pending_deadlines) return CEN_OK;
    ceni_waiters_unlock(pool->waiters);
    cen_status status = ceni_pending_deadline_need(pool);
    if (status == CEN_OK) ceni_waiters_lock(pool->waiters);
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
                     .waiters = pool->waiters,
                     .epoch = ceni_fork_epoch(),
                     .began = pool_now};
    ceni_wheel_timer_init(&mine->waiter.timer);
    ceni_waiters *waiters = pool->waiters;
    uint64_t id = pool->id;
    ceni_followup followup = {.more = false};
    cen_status status = lock_and_keep_time(pool, moment);
    if (status != CEN_OK) return refuse_untimed(take, pool, status);
    ceni_verdict verdict = ceni_admit_locked(pool, &mine->waiter, now, moment);
    if (verdict.status == CEN_OK) {
        ceni_future_begin(&take->future, withdraw, pool);
        ceni_waiters_join_locked(pool, &mine->waiter, now);
        ceni_pending_deadline_set_locked(pool, &mine->waiter, moment);
        ceni_waiters_joined_locked(pool, &mine->waiter, &followup);
    }
    ceni_waiters_unlock(waiters);
    if (verdict.status == CEN_CLOSED) return refuse_closed(take, pool);
    if (verdict.status == CEN_FULL && verdict.max == 0) ceni_chores_wish(pool); /* no take may wait for one */
    if (verdict.status != CEN_OK) return refuse_explained(take, pool, verdict);
    ceni_waiters_follow_up(waiters, id, pool, &followup);
    return CEN_OK;
}

static cen_status ask_within(cen_pool *pool, cen_deadline deadline, cen_take_op *take, const char *where,
                             const void *from)
{
    cen_status status = ceni_pool_check(pool, "cen_pool_take_async", take->future.error);
    if (status != CEN_OK) return status;
    if (ceni_callout_inside(pool)) return ceni_pool_misuse(pool, "an asynchronous take", take->future.error);
    if (ceni_take_sampled(pool, mark_of_asked(), &take->lease, where)) {
        ceni_future_complete_fresh(&take->future);
        return CEN_OK;
    }
    uint64_t ctl = ceni_load_relaxed(&pool->waiters->ctl); /* [Y1] carries nothing */
    if (ctl & CENI_CTL_CLOSED) return refuse_closed(take, pool);
    deadline = ceni_deadline_or(deadline, (cen_deadline){ceni_setting(&pool->default_deadline)});
    bool hurries = ceni_deadline_is_now(deadline);
    /* If all objects are handed over to the first waiter, a search would most likely find nothing. It searches all
     * the same if an object may be opened; otherwise it could be refused because of a full queue although there is
     * room. */
    bool handed = ctl >= CENI_CTL_ONE && ((ctl & CENI_CTL_READY) || !(ctl & CENI_CTL_HEIR)) &&
                  ceni_load_relaxed(&pool->openable) == 0; /* a hint; carries nothing */
    bool looks = !(ctl & CENI_CTL_FIRST) && (hurries || !handed);
    if (looks && lend_now(pool, take, where, from)) return CEN_OK;
    if (hurries) {
        ceni_add_relaxed(&pool->missed, 1); /* a number; carries nothing */
        ceni_chores_wish(pool);
        return refuse_explained(take, pool, (ceni_verdict){.status = CEN_TIMEOUT});
    }
    return join(pool, take, deadline, where);
}

/* Inline jobs of this thread run after the last access to the pool, because they may free it. */
__attribute__((noinline)) static cen_status ask_slowly(cen_pool *pool, cen_deadline deadline, cen_take_op *take,
                                                       const char *where)
{
    ceni_inline_run here;
    ceni_inline_begin(&here);
    cen_status status = ask_within(pool, deadline, take, where, __builtin_return_address(0));
    ceni_inline_end(&here);
    return status;
}

/* The quick path is written once for each mark, so that the mark is a constant. A task without a number takes the
 * slow path. */
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
    /* of any pool; the slow path finds out which */
    bool inside_call = ceni_pool_own_get()->callout && !ceni_planted(ask_served_inside);
    if (__builtin_expect(inside_call || !ask_quickly(pool, &take->lease, where), 0))
        return ask_slowly(pool, deadline, take, where);
    ceni_future_complete_fresh(&take->future);
    return CEN_OK;
}
