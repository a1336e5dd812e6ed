/* SPDX-License-Identifier: MIT */
/*
 * Hands: what keeps a pool's memory although the program has freed it.
 *
 * The runtime calls back into the pool: an alarm that was set will ring, an
 * errand that was posted will run, each at some time, on some thread. Each is
 * a hand on the pool, counted under the lock before the runtime is told, and
 * dropped by the call when it ends, or when the runtime says that there will be
 * none. The memory goes when the pool has been freed, no slot is live and no
 * hand is left, whichever is last.
 *
 * The runtime is told after the lock is dropped. Two threads may so tell it two
 * moments for the one alarm, the older plan last. Hence whoever set the alarm
 * looks whether its moment is still the one planned [H1], and sets it again. It
 * has a hand of its own meanwhile, and each ring has one.
 *
 * Order table
 * [H1] alarm | load of alarm_at, before and after it is set | acquire | H2 in keeper.c | the latest plan, before the lock is dropped | nothing alone: the runtime's lock lies between; kept so that the loop can be read
 */
#include "base/plant.h"
#include "pool/inside.h"
#include "port/port.h"

enum { RETRY_NS = 1000000000 };

void ceni_hand_drop_locked(cen_pool *pool)
{
    ceni_line *line = pool->line;
    pool->hands--;
    bool last = pool->freed && pool->live == 0 && pool->hands == 0;
    if (last) ceni_line_return_locked(line);
    else ceni_line_unlock(line);
    if (last) ceni_pool_release(pool);
}

static void count_ring(cen_pool *pool, bool more)
{
    ceni_line_lock(pool->line);
    if (more) pool->hands++;
    else pool->hands--;
    ceni_line_unlock(pool->line);
}

/* The runtime tries again to have a thread when an alarm is set the next time: whoever plans next does so. */
void ceni_hand_alarm(cen_pool *pool)
{
    int64_t moment;
    cen_status had = CEN_OK;
    do {
        moment = ceni_load_acquire(&pool->alarm_at); /* [H1] */
        bool dropped; /* a ring that was counted will not be */
        if (moment == CENI_FOREVER) {
            dropped = ceni_alarm_unset(ceni_pool_runtime(pool), &pool->alarm);
        } else {
            count_ring(pool, true);
            dropped = ceni_alarm_set(ceni_pool_runtime(pool), &pool->alarm, moment, &had);
        }
        if (dropped) count_ring(pool, false);
    } while (ceni_load_acquire(&pool->alarm_at) != moment && !ceni_planted(alarm_set_once)); /* [H1] */
    if (had != CEN_OK)
        ceni_event_tell(pool, (cen_event){.kind = CEN_EVENT_CALL_REFUSED, .status = had, .index = CEN_NO_SLOT},
                        "no thread could be had that keeps time; it is tried again");
    ceni_line_lock(pool->line);
    pool->alarm_refused |= had != CEN_OK && !ceni_planted(alarm_not_tried_again);
    ceni_hand_drop_locked(pool);
}

/* What could not be posted is tried again by the keeper; in a closed pool, which it leaves alone, it is done here. */
static void hire_later(cen_pool *pool, uint32_t count)
{
    ceni_call call = {.more = false};
    ceni_line_lock(pool->line);
    pool->hired -= count;
    pool->hands -= count - 1;
    int64_t soon = ceni_pool_now(pool) + RETRY_NS;
    if (pool->next_round > soon) pool->next_round = soon;
    ceni_keeper_plan_locked(pool, &call);
    if (ceni_load_relaxed(&pool->line->ctl) & CENI_CTL_CLOSED) ceni_chores_work_locked(pool); /* under this lock; carries nothing */
    ceni_line_unlock(pool->line);
    ceni_event_tell(pool, (cen_event){.kind = CEN_EVENT_CALL_REFUSED, .status = CEN_SYSTEM, .index = CEN_NO_SLOT},
                    "no helper thread could be had; it is tried again");
    if (call.alarm) ceni_hand_alarm(pool);
    ceni_line_lock(pool->line);
    ceni_hand_drop_locked(pool);
}

void ceni_hand_hire(cen_pool *pool, uint32_t count)
{
    for (; count > 0; count--) {
        if (ceni_errand_post(ceni_pool_runtime(pool), &pool->errand) == CEN_OK) continue; /* it has the hand now */
        hire_later(pool, count);
        return;
    }
}
