/* SPDX-License-Identifier: MIT */
/*
 * A thread's wait for an object. waiters.c decides which waiter is served when; this file is the side of one waiting
 * thread.
 *
 *     join ──first──▶ search ──nothing──▶ linger ▶ READY ▶ search ──nothing──▶ stay awake ▶ park
 *       └──not first─────────────────────────────────────────────────────────────▶ park
 *     park ──granted──▶ done        ──called──▶ search, as the first
 *          ──sent away──▶ closed    ──deadline──▶ search once more, leave
 *          ──stopped──▶ leave
 *
 * Only the first waiter stays awake, and only in a pool with fewer objects than processors. There the holders are
 * running, and do not wait for a processor. In other pools the first waiter yields to the holders first. While it is
 * ready to run on the processor of a giver, that giver hands over without a wake-up, parks, and leaves it the
 * processor. A waiter that sleeps may be woken on another processor, which is busy, while the giver's processor
 * becomes idle.
 *
 * The waiter's record is on this thread's stack. After it was granted an object or sent away, no other thread touches
 * the record. After being sent away this thread does not touch the pool, which may be gone.
 *
 * Order table
 * [J1] told, settle  | load of the state | acquire | L3 in waiters.c | the grant | a half-written grant is read
 * [J2] park, wake up | cas of the state  | acq_rel; park: seq_cst | L3 in waiters.c; park: S5 in sync/stop.c | the grant; that a wake is needed | a granting thread sees AWAKE and does not wake it; a stopped thread sleeps on
 */
#include "base/plant.h"
#include "base/probe.h"
#include "pool/internal.h"
#include "pool/quick.h"
#include "port/port.h"
#include "sync/stop.h"

/* How long the first waiter stays awake, and when it searches. The watched build searches once, so that there are
 * fewer schedules. */
enum {
    AWAKE_NS = 20000,   /* about the cost of a wake-up */
    PATIENCE_NS = 4000, /* of that: the time before it asks gives to hand over */
#ifdef CENI_WATCHED
    FIRST_LOOK_NS = 2000,
    PAUSES_PER_CLOCK = 1,
    AT_ONCE = 1,
#else
    FIRST_LOOK_NS = 250,
    PAUSES_PER_CLOCK = 8,
    AT_ONCE = 0,
#endif
};

/* Whether objects go to waiters only: then a waiter does not search, but waits for its verdict. A pool that is
 * resumed changes the setting under the lock and pumps. A waiter that was READY before is served by that pump, and
 * one that becomes READY later sees the change. */
static bool must_queue(cen_pool *pool)
{
    return ceni_pool_has(&pool->by_line);
}

bool ceni_pool_find(cen_pool *pool, uint32_t hint, ceni_grant *out)
{
    if (must_queue(pool)) return false;
    if (ceni_idle_take(pool, hint, out)) return true;
    out->slot = NULL;
    return ceni_place_claim(pool, &out->index);
}

/* Give back what a waiter has found, because it has got a verdict meanwhile. */
void ceni_grant_return(cen_pool *pool, const ceni_grant *extra)
{
    if (extra->slot) {
        if (!ceni_place_return(pool, extra->index, extra->generation, CENI_SLOT_HELD))
            ceni_slot_take_back(pool, extra->index, extra->generation); /* a close has revoked it */
        return;
    }
    ceni_waiters_lock(pool->waiters);
    ceni_place_vacate_locked(pool, extra->index, CENI_SLOT_OPENING);
}

static void take_granted(const ceni_pool_waiter *waiter, ceni_grant *out)
{
    *out = (ceni_grant){
        .slot = waiter->slot, .generation = waiter->generation, .index = waiter->index, .stale = waiter->stale};
}

/* The verdict of a waiter that left the queue without an object. */
static ceni_verdict answer_to(const ceni_pool_waiter *waiter, uint32_t state)
{
    ceni_verdict verdict = {.cause = (cen_cause)waiter->cause, .retry_after_ns = waiter->retry_after_ns};
    if (state == CENI_WAIT_REFUSED) verdict.status = CEN_DRIVER;
    else if (state == CENI_WAIT_SHED) verdict.status = CEN_OVERLOAD;
    else if (state == CENI_WAIT_INTERRUPTED)
        verdict = (ceni_verdict){.status = CEN_INTERRUPTED, .cause = CEN_CAUSE_INTERRUPTED};
    else verdict = (ceni_verdict){.status = CEN_CLOSED, .cause = CEN_CAUSE_CLOSED};
    return verdict;
}

static const ceni_verdict fine = {.status = CEN_OK};

/* It was refused, and has found something: it is served after all. */
static ceni_verdict keep_found(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    pool->tally.failed--;
    pool->tally.served++;
    ceni_waiters_unlock(pool->waiters);
    return fine;
}

/* The waiter has found something itself: it leaves the queue, unless it has got a verdict. */
static ceni_verdict settle_found(cen_pool *pool, ceni_pool_waiter *waiter, ceni_grant *found)
{
    if (ceni_waiters_leave(pool, waiter, &pool->tally.served)) return fine;
    ceni_grant extra = *found;
    uint32_t state = ceni_load_acquire(&waiter->state); /* [J1] */
    bool granted = state == CENI_WAIT_GRANTED;
    if (state == CENI_WAIT_REFUSED) return keep_found(pool);
    if (state == CENI_WAIT_SHED && ceni_planted(shed_keeps_what_it_found)) return fine;
    if (granted) take_granted(waiter, found);
    if (!ceni_planted(extra_grant_kept)) ceni_grant_return(pool, &extra);
    return granted ? fine : answer_to(waiter, state);
}

static bool told(ceni_pool_waiter *waiter)
{
    return ceni_load_acquire(&waiter->state) >= CENI_WAIT_GRANTED; /* [J1] */
}

/* Stay awake until the waiter has a verdict (returns true) or the moment has passed. In a world time stands still
 * while a thread can run, so there it returns at once. */
static bool stay_awake(ceni_pool_waiter *waiter, int64_t until)
{
    bool late = false;
    for (unsigned i = 1; !late; i++) {
        if (told(waiter)) return true;
        ceni_pause();
        if (i % PAUSES_PER_CLOCK == 0) late = AT_ONCE || ceni_clock_now() >= until;
    }
    return false;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Search again after some time, then after twice that time, and so on, because every search takes the slots' cache
 * lines from the threads that use them. Returns true if it found something. */
static bool look_patiently(cen_pool *pool, ceni_pool_waiter *waiter, int64_t begin, int64_t end, ceni_grant *out)
{
    for (int64_t passed = FIRST_LOOK_NS; passed < PATIENCE_NS && begin + passed < end; passed *= 2) {
        if (stay_awake(waiter, begin + passed)) return false;
        if (ceni_pool_find(pool, CENI_NO_INDEX, out)) return true;
    }
    stay_awake(waiter, earlier(begin + PATIENCE_NS, end));
    return false;
}

/* Yield once, and search. It yields only once and then sets READY; otherwise an object could stay idle for as long as
 * other threads have work. The watched build skips this, as a system may that has no other thread to run. */
static bool step_aside(cen_pool *pool, ceni_pool_waiter *waiter, ceni_grant *out)
{
    if (AT_ONCE) return false;
    ceni_store_relaxed(&pool->waiters->first_cpu, ceni_cpu_current()); /* a hint; carries nothing */
    ceni_thread_yield();
    return !told(waiter) && ceni_pool_find(pool, CENI_NO_INDEX, out);
}

/* The first waiter searches, sets READY, and searches again. Returns true if it found something itself. */
static bool look_as_first(cen_pool *pool, ceni_pool_waiter *waiter, int64_t moment, ceni_grant *out)
{
    if (ceni_pool_find(pool, CENI_NO_INDEX, out)) return true;
    bool awake = ceni_load_relaxed(&pool->max) < ceni_cpu_count(); /* a setting; carries nothing */
    cen_runtime *runtime = ceni_pool_runtime(pool);
    if (runtime && ceni_runtime_is_virtual(runtime)) moment = CENI_FOREVER; /* it is of another clock */
    int64_t begin = awake ? ceni_clock_now() : 0;
    if (awake ? look_patiently(pool, waiter, begin, moment, out) : step_aside(pool, waiter, out)) return true;
    bool glances = false;
    if (!ceni_waiters_ready(pool, waiter, &glances)) return glances && ceni_pool_find(pool, CENI_NO_INDEX, out);
    if (!ceni_planted(ready_without_look) && ceni_pool_find(pool, CENI_NO_INDEX, out)) return true;
    if (awake) stay_awake(waiter, earlier(begin + AWAKE_NS, moment));
    return false;
}

/* Whether the moment, perhaps of a virtual clock, has passed. */
static bool is_over(const cen_pool *pool, int64_t moment)
{
    return moment != CENI_FOREVER && ceni_pool_now(pool) >= moment;
}

/* ---- Cancellation -------------------------------------------------------------------------
 * A thread that is cancelled in its sleep leaves the queue as a stopped one does, and gives back what it was granted
 * before. Then it ends, and does not return from its take. */

typedef struct sleeping {
    cen_pool *pool;
    ceni_pool_waiter *waiter;
    ceni_stop_wait *stop;
} sleeping;

/* Give back the granted object. A lease is counted for its holder until it is given. */
static void return_grant(cen_pool *pool, const ceni_pool_waiter *waiter)
{
    ceni_grant grant;
    take_granted(waiter, &grant);
    if (!grant.slot || grant.stale) {
        ceni_grant_return(pool, &grant);
        return;
    }
    ceni_held_counts(ceni_pool_own_get());
    cen_lease lease;
    ceni_lease_fill(pool, grant.slot, grant.generation, &lease);
    cen_pool_give(&lease);
}

static void leave_cancelled(void *argument)
{
    sleeping *self = argument;
    uint32_t state = ceni_load_acquire(&self->waiter->state); /* [J1] */
    /* After being sent away the thread does not touch the pool. */
    bool in_line = state < CENI_WAIT_GRANTED && ceni_waiters_leave(self->pool, self->waiter, NULL);
    if (!in_line) state = ceni_load_acquire(&self->waiter->state); /* [J1] */
    if (!in_line && state == CENI_WAIT_GRANTED && !ceni_planted(cancelled_take_loses_its_grant))
        return_grant(self->pool, self->waiter);
    ceni_stop_leave(self->stop);
}

/* Sleep until the waiter has a verdict or is called. Returns false if the moment passed or the stop token was set
 * before. A set changes PARKED to AWAKE. A thread that waits for a pool of a manual runtime runs what is due there.
 * */
static bool park(cen_pool *pool, ceni_pool_waiter *waiter, int64_t moment, ceni_stop_wait *stop)
{
    bool looks = !ceni_planted(stopped_park_does_not_look);
    sleeping self = {.pool = pool, .waiter = waiter, .stop = stop};
    cen_runtime *runtime = ceni_pool_runtime(pool);
    bool manual = runtime && ceni_runtime_is_manual(runtime);
    uint32_t state = CENI_WAIT_AWAKE;
    ceni_cas_seq_cst(&waiter->state, &state, CENI_WAIT_PARKED);               /* [J2] */
    while ((state = ceni_load_acquire(&waiter->state)) == CENI_WAIT_PARKED) { /* [J1] */
        if (looks && ceni_stop_is_hit(stop)) break;
        int64_t until = manual ? ceni_runtime_tend(runtime) : moment;
        if (manual && !ceni_runtime_is_virtual(runtime)) until = earlier(until, moment);
        ceni_woken woken = ceni_futex_wait_cancellable(&waiter->state, CENI_WAIT_PARKED, until, leave_cancelled, &self);
        bool late = woken == CENI_TIMED_OUT;
        if (late && (!manual || is_over(pool, moment))) break;
    }
    state = CENI_WAIT_PARKED;
    /* [J2] it needs no wake-up now */
    return !ceni_cas_acq_rel(&waiter->state, &state, CENI_WAIT_AWAKE) && state != CENI_WAIT_AWAKE;
}

/* The waiter got a verdict before it could leave the queue. */
static ceni_verdict told_before(const ceni_pool_waiter *waiter, ceni_grant *out)
{
    uint32_t state = ceni_load_acquire(&((ceni_pool_waiter *)(uintptr_t)waiter)->state); /* [J1] */
    if (state != CENI_WAIT_GRANTED) return answer_to(waiter, state);
    take_granted(waiter, out);
    return fine;
}

/* The deadline has passed. An earlier verdict wins. */
static ceni_verdict expire(cen_pool *pool, ceni_pool_waiter *waiter, ceni_grant *out)
{
    if (!must_queue(pool) && ceni_idle_take(pool, CENI_NO_INDEX, out)) return settle_found(pool, waiter, out);
    if (ceni_waiters_leave(pool, waiter, &pool->tally.timed_out)) return (ceni_verdict){.status = CEN_TIMEOUT};
    return told_before(waiter, out);
}

/* The stop token was set. An earlier verdict wins here, too. */
static ceni_verdict stop_waiting(cen_pool *pool, ceni_pool_waiter *waiter, ceni_grant *out)
{
    ceni_verdict stopped = {.status = CEN_INTERRUPTED, .cause = CEN_CAUSE_STOPPED};
    if (ceni_waiters_leave(pool, waiter, NULL) || ceni_planted(stopped_take_loses_its_grant)) return stopped;
    return told_before(waiter, out);
}

/* The wait ends without a verdict. */
static ceni_verdict give_up(cen_pool *pool, ceni_pool_waiter *waiter, ceni_stop_wait *stop, ceni_grant *out)
{
    return ceni_stop_is_hit(stop) ? stop_waiting(pool, waiter, out) : expire(pool, waiter, out);
}

/* *look: it is not the heir, but searches once, because the first waiter is pending and gives may pass that one. */
static ceni_verdict join(cen_pool *pool, ceni_pool_waiter *waiter, int64_t moment, bool *heir, bool *look)
{
    int64_t now = ceni_clock_now();
    /* It may serve another waiter, while this thread is in the queue itself. */
    ceni_followup followup = {.never_opens = true};
    ceni_waiters *waiters = pool->waiters;
    uint64_t id = pool->id;
    ceni_waiters_lock(waiters);
    ceni_verdict verdict = ceni_admit_locked(pool, waiter, now, moment);
    if (verdict.status == CEN_OK) {
        bool strict = ceni_pool_has(&pool->strict);
        *heir = ceni_waiters_join_locked(pool, waiter, now);
        *look = !*heir && !strict && ceni_waiters_first_is_pending_locked(waiters);
        if (strict) ceni_waiters_pump_locked(pool, CENI_NO_INDEX, &followup); /* its second search */
        else ceni_chores_plan_locked(pool, &followup);
        if (pool->gate.breaker != CEN_BREAKER_CLOSED) ceni_keeper_plan_locked(pool, &followup); /* when to fail */
    }
    ceni_waiters_unlock(waiters);
    ceni_waiters_follow_up(waiters, id, pool, &followup);
    return verdict;
}

/* Wait in the queue until the waiter has a verdict, has found something, or gives up. */
static ceni_verdict stand_in_line(cen_pool *pool, ceni_pool_waiter *waiter, ceni_stop_wait *stop, ceni_grant *out)
{
    int64_t moment = waiter->moment;
    bool first = false, look = false;
    ceni_verdict verdict = join(pool, waiter, moment, &first, &look);
    if (verdict.status != CEN_OK) return verdict;
    CENI_PROBE2(wait, pool->name, waiter->where);
    if (look && ceni_pool_find(pool, CENI_NO_INDEX, out)) return settle_found(pool, waiter, out);
    for (;;) {
        if (first && look_as_first(pool, waiter, moment, out)) return settle_found(pool, waiter, out);
        if (!park(pool, waiter, moment, stop)) return give_up(pool, waiter, stop, out);
        uint32_t state = CENI_WAIT_CALLED;
        first = ceni_cas_acq_rel(&waiter->state, &state, CENI_WAIT_AWAKE); /* [J2] */
        /* A waiter that is called again and again without success never sleeps, so the deadline and the token are
         * checked here. */
        if (first && (is_over(pool, moment) || ceni_stop_is_hit(stop))) return give_up(pool, waiter, stop, out);
        if (first) continue;
        if (state > CENI_WAIT_GRANTED) return answer_to(waiter, state);
        if (state != CENI_WAIT_GRANTED) continue;
        take_granted(waiter, out);
        return fine;
    }
}

ceni_verdict ceni_pool_wait(cen_pool *pool, const ceni_wait_terms *terms, ceni_grant *out)
{
    ceni_pool_own_get()->countdown = 0; /* a thread that waits has longer cycles than before */
    ceni_pool_waiter waiter = {.holder = ceni_holder_number(),
                               .where = terms->where,
                               .priority = (uint8_t)terms->priority,
                               .moment = terms->moment};
    ceni_stop_wait stop; /* joined first: a thread with a set token does not join the queue */
    cen_status joined = ceni_stop_join(&stop, terms->stop, &waiter.state, CENI_WAIT_PARKED, CENI_WAIT_AWAKE);
    if (joined != CEN_OK) return (ceni_verdict){.status = joined};
    ceni_verdict verdict = stand_in_line(pool, &waiter, &stop, out);
    ceni_stop_leave(&stop);
    return verdict;
}
