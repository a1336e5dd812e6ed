/* SPDX-License-Identifier: MIT */
/*
 * Hands: references that keep a pool's memory after the program has freed it.
 *
 * The runtime calls back into the pool: an alarm that was set will ring, an errand that was posted will run, at some
 * time, on some thread. Each is a hand on the pool. It is counted under the lock before the runtime is called, and
 * dropped at the end of the callback, or when the runtime reports that there will be none. The memory is freed when
 * the pool was freed, no slot is live and no hand is left, whichever comes last.
 *
 * The runtime is called after the lock was dropped. So two threads may set the one alarm to two moments, the older
 * plan last. Hence a thread that has set the alarm checks whether its moment is still the planned one [H1], and
 * otherwise sets it again. It has a hand of its own meanwhile, and each ring has one.
 *
 * Free waits for helpers that are between two driver calls: such a helper ends soon, and then the freeing thread
 * drops the last hand, ends the runtime and joins its threads. A helper in a driver call may stay in it forever. Free
 * does not wait for that one; its end frees the memory. Both counts are read under the lock, under which errands
 * begin and end, so each errand counted in `in_driver` is counted in `working`. Free also waits for the keeper if it
 * is working on the pool.
 *
 * The naive free drops its hand at once. A helper that has just closed the last object then drops the last hand,
 * releases the runtime on its own thread, and is still ending while main returns.
 *
 * Order table
 * [H3] enter_driver | add of in_driver    | seq_cst | H6 | nothing | with H4: free sleeps although a helper has entered the driver
 * [H4] enter_driver | load of free_waits  | seq_cst | H5 | nothing | as H3
 * [H5] await_work   | store of free_waits | seq_cst | H4 | nothing | as H3
 * [H6] await_work   | load of in_driver   | seq_cst | H3 | nothing | as H3
 * [H9] leave_driver | sub of in_driver    | seq_cst | H6 | nothing | nothing: free may wait for it again, and no thread needs a wake-up
 * [H7] turn_work    | add of work_turns   | acq_rel | H8 | the change before it | free sees the turn and not the change, and sleeps on
 * [H8] await_work   | load of work_turns  | acquire | H7 | the same | the same
 * [H1] alarm | load of alarm_at, before and after it is set | acquire | H2 in keeper.c | the latest plan, before the lock is dropped | nothing alone: the runtime's lock lies between; kept so that the loop can be read
 */
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"
#include "port/process_exit.h"

enum { RETRY_NS = 1000000000 };

/* A closed pool without objects and hands sets no further alarm and posts no further errand: tell the runtime. */
static void rest_locked(cen_pool *pool)
{
    cen_runtime *runtime = ceni_pool_runtime(pool);
    bool empty = pool->live == 0 || ceni_planted(pool_rests_beside_a_holder);
    if (pool->rests || !runtime || !pool->closed || !empty || pool->hands > 0) return;
    pool->rests = true;
    ceni_runtime_rest(runtime);
}

void ceni_hand_drop_locked(cen_pool *pool)
{
    ceni_waiters *waiters = pool->waiters;
    pool->hands--;
    bool last = pool->freed && pool->live == 0 && pool->hands == 0;
    if (!last) rest_locked(pool);
    if (last) ceni_waiters_return_locked(waiters);
    else ceni_waiters_unlock(waiters);
    if (last) ceni_pool_release(pool);
}

static void turn_work(cen_pool *pool)
{
    ceni_add_acq_rel(&pool->work_turns, 1u); /* [H7] */
    ceni_futex_wake(&pool->work_turns, 1);
}

static void tell_free_locked(cen_pool *pool)
{
    if (ceni_load_relaxed(&pool->free_waits)) turn_work(pool); /* free checks under this lock; carries nothing */
}

static void count_ring(cen_pool *pool, bool more)
{
    ceni_waiters_lock(pool->waiters);
    if (more) pool->hands++, pool->rings++;
    else pool->hands--, pool->rings--;
    tell_free_locked(pool);
    ceni_waiters_unlock(pool->waiters);
}

/* If the runtime could not start a thread, it tries again when an alarm is set the next time; the next plan does
 * that. */
void ceni_hand_alarm(cen_pool *pool)
{
    int64_t moment;
    cen_status had = CEN_OK;
    do {
        moment = ceni_load_acquire(&pool->alarm_at); /* [H1] */
        bool dropped;                                /* a counted ring will not happen */
        if (moment == CENI_FOREVER) {
            dropped = ceni_alarm_unset(ceni_pool_runtime(pool), &pool->alarm);
        } else {
            count_ring(pool, true);
            dropped = ceni_alarm_set(ceni_pool_runtime(pool), &pool->alarm, moment, &had);
        }
        if (dropped) count_ring(pool, false);
    } while (ceni_load_acquire(&pool->alarm_at) != moment && !ceni_planted(alarm_set_once)); /* [H1] */
    if (had != CEN_OK)
        ceni_pool_event_tell(pool, (ceni_occurrence){.kind = CEN_EVENT_CALL_REFUSED, .status = had},
                             "cannot start the timer thread; trying again");
    ceni_waiters_lock(pool->waiters);
    pool->alarm_refused |= had != CEN_OK && !ceni_planted(alarm_not_tried_again);
    ceni_hand_drop_locked(pool);
}

/* ---- Errands that run -------------------------------------------------------------------- */

void ceni_hand_enter_driver(cen_pool *pool)
{
    if (!pool->helped) return;
    ceni_add_seq_cst(&pool->in_driver, 1u);                    /* [H3] */
    if (ceni_load_seq_cst(&pool->free_waits)) turn_work(pool); /* [H4] */
}

void ceni_hand_leave_driver(cen_pool *pool)
{
    if (pool->helped) ceni_sub_seq_cst(&pool->in_driver, 1u); /* [H9] */
}

void ceni_hand_end_work_locked(cen_pool *pool)
{
    pool->working--;
    tell_free_locked(pool);
    ceni_hand_drop_locked(pool);
}

void ceni_hand_end_ring_locked(cen_pool *pool)
{
    pool->rings--;
    tell_free_locked(pool);
    ceni_hand_drop_locked(pool);
}

/* The caller has a hand. */
static void work_here_locked(cen_pool *pool)
{
    pool->working++;
    ceni_chores_work_locked(pool);
    pool->working--;
    tell_free_locked(pool);
}

void ceni_hand_work_here(cen_pool *pool)
{
    if (!pool->helped) return;
    ceni_waiters_lock(pool->waiters);
    work_here_locked(pool);
    ceni_waiters_unlock(pool->waiters);
}

/* Take back what has not begun: the alarm, and the errands of an empty pool, which have nothing to do. */
static void take_back(cen_pool *pool)
{
    if (ceni_alarm_unset(ceni_pool_runtime(pool), &pool->alarm)) count_ring(pool, false);
    ceni_waiters_lock(pool->waiters);
    bool empty = pool->live == 0;
    ceni_waiters_unlock(pool->waiters);
    uint32_t count = empty ? ceni_errand_unpost(ceni_pool_runtime(pool), &pool->errand) : 0;
    uint32_t closers = empty ? ceni_errand_unpost(ceni_pool_runtime(pool), &pool->closer) : 0;
    ceni_waiters_lock(pool->waiters);
    pool->hired -= count;
    pool->hired_closers -= closers;
    pool->hands -= count + closers;
    ceni_waiters_unlock(pool->waiters);
}

static bool all_are_in_driver(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    uint32_t awaited = pool->working + pool->rings + (pool->live == 0 ? pool->hired + pool->hired_closers : 0);
    bool all = awaited <= ceni_load_seq_cst(&pool->in_driver); /* [H6] */
    ceni_waiters_unlock(pool->waiters);
    return all;
}

void ceni_hand_await_work(cen_pool *pool)
{
    cen_runtime *runtime = ceni_pool_runtime(pool);
    if (!pool->helped || !runtime || ceni_runtime_is_manual(runtime)) return;
    if (ceni_thread_in_call()) return; /* a thread of the library: it might wait for itself */
    if (ceni_planted(free_forgets_its_helpers)) return;
    take_back(pool);
    ceni_store_seq_cst(&pool->free_waits, 1u); /* [H5] */
    for (;;) {
        uint32_t seen = ceni_load_acquire(&pool->work_turns); /* [H8] */
        if (all_are_in_driver(pool)) return;
        ceni_futex_wait(&pool->work_turns, seen, CENI_FOREVER);
    }
}

/* ---- Posting --------------------------------------------------------------------------------- */

/* Errands could not be posted: the keeper tries again. In a closed pool, which it does not handle, the work is done
 * here. */
static void hire_later(cen_pool *pool, uint32_t *hired, uint32_t count)
{
    ceni_followup followup = {.more = false};
    ceni_waiters_lock(pool->waiters);
    *hired -= count;
    pool->hands -= count - 1;
    int64_t soon = ceni_pool_now(pool) + RETRY_NS;
    if (pool->next_round > soon) pool->next_round = soon;
    ceni_keeper_plan_locked(pool, &followup);
    /* under this lock; carries nothing */
    if (ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED) work_here_locked(pool);
    ceni_waiters_unlock(pool->waiters);
    ceni_pool_event_tell(pool, (ceni_occurrence){.kind = CEN_EVENT_CALL_REFUSED, .status = CEN_SYSTEM},
                         "cannot start a helper thread; trying again");
    if (followup.alarm) ceni_hand_alarm(pool);
    ceni_waiters_lock(pool->waiters);
    ceni_hand_drop_locked(pool);
}

/* `hired`: the counter of these errands. */
static void hire(cen_pool *pool, ceni_errand *errand, uint32_t *hired, uint32_t count)
{
    for (; count > 0; count--) {
        if (ceni_errand_post(ceni_pool_runtime(pool), errand) == CEN_OK) continue; /* the errand has the hand now */
        hire_later(pool, hired, count);
        return;
    }
}

void ceni_hand_hire(cen_pool *pool, uint32_t count)
{
    hire(pool, &pool->errand, &pool->hired, count);
}

void ceni_hand_hire_closers(cen_pool *pool, uint32_t count)
{
    hire(pool, &pool->closer, &pool->hired_closers, count);
}
