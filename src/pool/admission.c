/* SPDX-License-Identifier: MIT */
/*
 * Admission control and load shedding: whether a take may wait, the estimate of its wait, and which waiters are sent
 * away.
 *
 * Admission is one function, with one order of checks, under the lock, for threads and pending waiters alike. The
 * error names the first limit that refuses:
 *
 *     closed          the pool is closed
 *     max_waiters     the wait queue is full
 *     breaker         no object can be opened or will come back, and no try is possible in its time (opening.c)
 *     deadline        the estimated wait exceeds the deadline (options.refuse_late)
 *
 * A new limit is one more line in ceni_admit_locked, with a cause of its own in cen_cause and an estimate for
 * retry-after.
 *
 * pace.c estimates the wait. A take that finds no waiter is never refused because of the estimate.
 *
 * Shedding is decided whenever a waiter is about to be served; shed.h has the control law. The object stays for the
 * next waiter. All times are on the pool's clock.
 *
 * Tested by tests/unit/pool/admission_test.c, shed_test.c, tests/explore/pool_priority_test.c.
 */
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

enum { A_MOMENT_NS = 1000000 }; /* retry-after if no waiter was served yet */

static uint64_t waiting_locked(const cen_pool *pool)
{
    return ceni_load_relaxed(&pool->waiters->ctl) / CENI_CTL_ONE; /* written under this lock; carries nothing */
}

/* ---- Admission -------------------------------------------------------------------------------- */

int64_t ceni_retry_opening_locked(const cen_pool *pool)
{
    int64_t next = ceni_gate_next(&pool->gate);
    if (next != CENI_FOREVER) return ceni_at_least_1_ns(next - ceni_pool_now(pool));
    int64_t least = pool->options.backoff_initial_ns; /* a try is running: its result is known soon */
    return least == CEN_OFF ? 1 : least;
}

static bool is_full_locked(const cen_pool *pool)
{
    return waiting_locked(pool) >= ceni_settings_number(pool->options.max_waiters) && !ceni_planted(full_line_waits);
}

/* By how much the take would be too late; 0: it would be in time, or that is not known. A take whose deadline has
 * passed times out instead. */
static int64_t lateness_locked(const cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now, int64_t moment)
{
    if (!pool->options.refuse_late || moment == CENI_FOREVER || pool->paused) return 0;
    bool alone = waiting_locked(pool) == 0 && !ceni_planted(late_estimate_refuses_all);
    if (alone || pool->pace.between == 0) return 0;
    int64_t left = moment - ceni_pool_moment(pool, now);
    int64_t estimate = ceni_pace_estimate_locked(pool, waiter, now);
    return left > 0 && estimate > left ? estimate - left : 0;
}

static ceni_verdict refusal(cen_status status, cen_cause cause, int64_t retry_after_ns)
{
    return (ceni_verdict){.status = status, .cause = cause, .retry_after_ns = retry_after_ns};
}

static ceni_verdict full_locked(const cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now)
{
    int64_t estimate = ceni_pace_estimate_locked(pool, waiter, now);
    bool unknown = pool->pace.between == 0 && estimate < A_MOMENT_NS;
    ceni_verdict verdict =
        refusal(CEN_FULL, CEN_CAUSE_QUEUE_FULL, unknown ? A_MOMENT_NS : ceni_at_least_1_ns(estimate));
    verdict.current = (int64_t)waiting_locked(pool);
    verdict.max = (int64_t)ceni_settings_number(pool->options.max_waiters);
    return verdict;
}

ceni_verdict ceni_admit_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now, int64_t moment)
{
    uint64_t ctl = ceni_load_relaxed(&pool->waiters->ctl); /* written under this lock; carries nothing */
    if (ctl & CENI_CTL_CLOSED) return (ceni_verdict){.status = CEN_CLOSED};
    if (is_full_locked(pool)) {
        pool->tally.refused++;
        return full_locked(pool, waiter, now);
    }
    if (ceni_opening_is_vain_locked(pool, moment)) {
        pool->tally.refused_breaker++;
        return refusal(CEN_DRIVER, CEN_CAUSE_BREAKER_OPEN, ceni_retry_opening_locked(pool));
    }
    int64_t late = lateness_locked(pool, waiter, now, moment);
    if (late > 0) {
        pool->tally.refused_late++;
        return refusal(CEN_OVERLOAD, CEN_CAUSE_LATE, late);
    }
    return (ceni_verdict){.status = CEN_OK};
}

/* ---- Load shedding ------------------------------------------------------------------------------- */

/* Note the events to write after the lock was dropped; each has a hand on the pool. */
static void note_events_locked(cen_pool *pool, bool before, const ceni_shed *shed, ceni_followup *followup)
{
    bool ended = before && !shed->active, begins = !before && shed->active;
    if (begins && !followup->shed_begins) pool->hands++;
    if (ended && !followup->shed_ended) pool->hands++;
    if (begins) followup->shed_begins = true;
    if (ended) followup->shed_ended += shed->count;
}

bool ceni_shedding_is_due_locked(cen_pool *pool, ceni_followup *followup)
{
    const cen_pool_options *o = &pool->options;
    ceni_pool_waiter *first = ceni_waiters_first_locked(pool->waiters);
    ceni_class *class = ceni_turn_class(pool->waiters, first);
    int64_t now = ceni_pool_now(pool);
    bool before = class->shed.active;
    bool due = ceni_shed_judge(&class->shed, o->shed_target_ns, o->shed_interval_ns, now - first->came,
                               class->count == 1, now);
    note_events_locked(pool, before, &class->shed, followup);
    return due;
}

void ceni_shedding_served_locked(cen_pool *pool, const ceni_pool_waiter *waiter, int64_t now, ceni_followup *followup)
{
    int64_t target = pool->options.shed_target_ns, moment = ceni_pool_moment(pool, now);
    if (target == CEN_OFF) return;
    ceni_class *class = ceni_turn_class(pool->waiters, waiter);
    bool before = class->shed.active;
    ceni_shed_note(&class->shed, target, moment - waiter->came, class->count == 1, moment);
    note_events_locked(pool, before, &class->shed, followup);
}

void ceni_shedding_left_locked(cen_pool *pool, const ceni_pool_waiter *waiter, ceni_followup *followup)
{
    ceni_class *class = ceni_turn_class(pool->waiters, waiter);
    if (class->count > 0 || !class->shed.above) return;
    bool before = class->shed.active;
    ceni_shed_calm(&class->shed);
    note_events_locked(pool, before, &class->shed, followup);
}

void ceni_shedding_stop_locked(cen_pool *pool)
{
    for (unsigned class = 0; class < CENI_CLASSES; class ++)
        pool->waiters->classes[class].shed = (ceni_shed){.active = false};
}

void ceni_shedding_tell(cen_pool *pool, const ceni_followup *followup)
{
    ceni_occurrence event = {.kind = CEN_EVENT_SHED, .status = CEN_OVERLOAD};
    if (followup->shed_begins)
        ceni_pool_event_tell(
            pool, event,
            "load shedding began: waits stayed above shed_target_ns for shed_interval_ns; some takes are refused");
    if (followup->shed_ended)
        ceni_pool_event_tell(pool, event, "load shedding ended: %llu %s refused",
                             (unsigned long long)followup->shed_ended,
                             followup->shed_ended == 1 ? "take was" : "takes were");
    for (int hands = followup->shed_begins + (followup->shed_ended > 0); hands > 0; hands--) {
        ceni_waiters_lock(pool->waiters);
        ceni_hand_drop_locked(pool);
    }
}
