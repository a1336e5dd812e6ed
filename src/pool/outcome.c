/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous gives and closes: how their futures are completed.
 *
 * A give ends the lease at once. The check that follows, and perhaps a reset and a test on a helper, take time. The
 * future to complete then is noted in the slot, which one thread at a time owns until the slot is idle or the object
 * is closed. Every way there leads through ceni_place_return or ceni_place_end_from, which complete it.
 *
 * A close has ended when no slot is live, or at its deadline. Both ways remove `closing` from the pool under the
 * lock, so one of them completes it. It has the closer's hand: the pool's memory stays until the close is completed.
 */
#include <cenote/pool_async.h>

#include "base/error.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/deadline.h"
#include "port/port.h"
#include "sync/future.h"

/* ---- Give ----------------------------------------------------------------------------- */

cen_future *ceni_giving_claim(ceni_slot *slot, uint64_t generation)
{
    if (slot->scope_generation != ~generation) return NULL;
    slot->scope_generation = 0;
    return slot->giving;
}

void ceni_giving_succeed(cen_future *giving)
{
    giving->status = CEN_OK;
    ceni_future_complete(giving);
}

void ceni_giving_fail(cen_future *giving, const char *name, const char *why, const ceni_call_outcome *how)
{
    const cen_error *said = how ? how->said : NULL;
    const char *words = how ? ceni_outcome_words(how) : "";
    giving->status = how ? how->status : CEN_DRIVER;
    giving->code = said ? said->code : 0;
    ceni_error_set(giving->error, giving->status, giving->code,
                   "pool \"%s\": the object given back was closed: %s%s%.400s", name, why, how ? ": " : "", words);
}

cen_status(cen_pool_give_async)(cen_lease *lease, cen_future *future)
{
    return cen_pool_give_async_at(lease, future, NULL);
}

cen_status cen_pool_give_async_at(cen_lease *lease, cen_future *future, const char *where)
{
    if (!lease || !future) return CEN_INVALID;
    if (!ceni_future_is_fresh(future)) return CEN_MISUSE;
    ceni_future_begin(future, NULL, NULL);
    bool kept = false; /* the slot has the future, and it will be completed later */
    cen_status status = ceni_give_noting(lease, future, &kept);
    if (status != CEN_OK) {
        ceni_future_undo(future);
        return cen_pool_give_failed_(lease, status, where);
    }
    if (!kept) ceni_giving_succeed(future);
    return CEN_OK;
}

/* ---- Close ------------------------------------------------------------------------------ */

static void run_done(cen_future *future)
{
    cen_close_op *closing = (cen_close_op *)(void *)future;
    closing->done_(closing);
}

void cen_close_op_init(cen_close_op *closing, void (*done)(cen_close_op *closing), cen_executor *executor)
{
    if (!closing) return;
    *closing = (cen_close_op){.done_ = done};
    cen_future_init(&closing->future);
    if (done && executor) cen_future_then(&closing->future, run_done, executor);
}

cen_close_op *ceni_closing_claim_locked(cen_pool *pool)
{
    cen_close_op *closing = pool->closing;
    pool->closing = NULL;
    pool->closing_at = CENI_FOREVER;
    return closing;
}

void ceni_closing_tell(cen_pool *pool, cen_close_op *closing)
{
    cen_close_report report = {.size = sizeof(cen_close_report), .waiting = closing->waiting_, .idle = closing->idle_};
    ceni_waiters_lock(pool->waiters);
    ceni_close_count_locked(pool, &report);
    ceni_waiters_unlock(pool->waiters);
    closing->future.status = ceni_close_answer(pool, &report, closing->future.error);
    if (closing->report) cen_sized_write(closing->report, &report, sizeof report);
    if (!ceni_planted(close_keeps_its_alarm)) ceni_keeper_retire(pool); /* its deadline is not needed now */
    ceni_waiters_lock(pool->waiters);
    ceni_hand_drop_locked(pool);
    ceni_future_complete(&closing->future);
}

void ceni_closing_pass(cen_pool *pool, int64_t now)
{
    ceni_waiters_lock(pool->waiters);
    cen_close_op *closing = now >= pool->closing_at || now == CENI_FOREVER ? ceni_closing_claim_locked(pool) : NULL;
    ceni_waiters_unlock(pool->waiters);
    if (!closing) return;
    ceni_close_revoke_all(pool);
    ceni_closing_tell(pool, closing);
}

/* Leave the completion to the last object or to the keeper. */
static void leave_it_to_others(cen_pool *pool, cen_close_op *closing, int64_t moment)
{
    ceni_followup followup = {.more = false};
    ceni_waiters_lock(pool->waiters);
    bool over = pool->live == 0, freed = pool->freed; /* by a callback that learned of the close */
    if (!over && !freed) {
        pool->closing = closing;
        pool->closing_at = moment;
        ceni_keeper_plan_locked(pool, &followup);
    }
    ceni_waiters_unlock(pool->waiters);
    if (freed) ceni_close_revoke_all(pool);
    if (over || freed) ceni_closing_tell(pool, closing);
    else ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
}

cen_status cen_pool_close_async(cen_pool *pool, cen_deadline deadline, cen_close_op *closing)
{
    if (!closing || (closing->done_ && !closing->future.executor_)) return CEN_INVALID;
    cen_status status = ceni_pool_check(pool, "cen_pool_close_async", closing->future.error);
    if (status != CEN_OK) return status;
    if (!ceni_future_is_fresh(&closing->future)) return CEN_MISUSE;
    cen_close_report *out = closing->report;
    if (out) status = cen_sized_check(out, sizeof *out, "cen_pool_close_async: closing->report", closing->future.error);
    if (status != CEN_OK) return status;
    if (ceni_callout_inside(pool)) return ceni_pool_misuse(pool, "a close", closing->future.error);
    deadline = ceni_deadline_or(deadline, (cen_deadline){ceni_setting(&pool->default_deadline)});
    int64_t moment = ceni_deadline_moment(deadline, ceni_pool_now(pool));
    bool waits = moment != CENI_FOREVER && !ceni_deadline_is_now(deadline);
    if (waits) status = ceni_pool_need_timekeeper(pool);
    if (status != CEN_OK) return status;
    if (!ceni_close_mark(pool)) return ceni_pool_refuse_closed(pool->name, closing->future.error);
    ceni_future_begin(&closing->future, NULL, pool);
    cen_close_report report = CEN_SIZED(cen_close_report);
    ceni_close_begin(pool, &report);
    closing->waiting_ = report.waiting;
    closing->idle_ = report.idle;
    if (!waits && moment != CENI_FOREVER) ceni_close_revoke_all(pool);
    ceni_inline_run here;
    ceni_inline_begin(&here);
    if (waits || moment == CENI_FOREVER) {
        leave_it_to_others(pool, closing, moment);
    } else {
        ceni_closing_tell(pool, closing);
    }
    ceni_inline_end(&here);
    return CEN_OK;
}
