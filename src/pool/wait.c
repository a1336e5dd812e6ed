/* SPDX-License-Identifier: MIT */
/*
 * A thread's wait for an object. The line (waiters.c) says who is served when and
 * why nobody is forgotten; this is what one waiting thread does.
 *
 *     join ──first──▶ look ──nothing──▶ linger ▶ READY ▶ look ──nothing──▶ stay awake ▶ park
 *       └──not first─────────────────────────────────────────────────────────────▶ park
 *     park ──granted──▶ done        ──called──▶ look, as the first
 *          ──sent away──▶ closed    ──deadline──▶ look once more, leave
 *          ──stopped──▶ leave
 *
 * Only the first in line ever stays awake, and only in a pool with fewer objects than
 * there are processors, where the holder is running, not waiting for a processor.
 * In others it lets the holders run first: what lingers there is ready to run on the
 * processor of a giver, who hands over without a wake-up, and parks, and leaves it the
 * processor. One who sleeps may be woken on another, which is busy while this one idles.
 *
 * The record is on this thread's stack. Once it was granted something or sent
 * away nobody touches it any more, and after being sent away this thread does
 * not touch the pool, which may be gone.
 *
 * Order table
 * [J1] told, settle  | load of the state | acquire | L3 in waiters.c | the grant | a grant half written is read
 * [J2] park, wake up | cas of the state  | acq_rel; park: seq_cst | L3 in waiters.c; park: S5 in sync/stop.c | the grant; that a wake is needed | a teller sees AWAKE and wakes nobody; a stopped thread sleeps on
 */
#include "base/plant.h"
#include "base/probe.h"
#include "pool/internal.h"
#include "pool/quick.h"
#include "port/port.h"
#include "sync/stop.h"

/* How long the first in line stays awake, and when it looks. The watched build
 * looks once, so that there are fewer schedules. */
enum {
    AWAKE_NS = 20000,   /* about what a wake-up costs */
    PATIENCE_NS = 4000, /* of that: until gives are asked to hand over */
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

/* Whether nothing may be taken past the line: then one's turn comes by being told. A pool that goes on says so
 * under the lock, and pumps: one who was READY before is served, and one who is READY after sees it. */
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

/* What the first found counts for nothing if it was told something meanwhile. */
void ceni_grant_return(cen_pool *pool, const ceni_grant *extra)
{
    if (extra->slot) {
        if (!ceni_place_return(pool, extra->index, extra->generation, CENI_SLOT_HELD))
            ceni_slot_take_back(pool, extra->index, extra->generation); /* close was quicker */
        return;
    }
    ceni_waiters_lock(pool->line);
    ceni_place_vacate_locked(pool, extra->index, CENI_SLOT_OPENING);
}

static void take_granted(const ceni_pool_waiter *waiter, ceni_grant *out)
{
    *out = (ceni_grant){
        .slot = waiter->slot, .generation = waiter->generation, .index = waiter->index, .stale = waiter->stale};
}

/* Why one that is in no line any more has nothing. */
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

/* It was told that nothing would come, and has found something: it is served after all. */
static ceni_verdict keep_found(cen_pool *pool)
{
    ceni_waiters_lock(pool->line);
    pool->tally.failed--;
    pool->tally.served++;
    ceni_waiters_unlock(pool->line);
    return fine;
}

/* The first has found something by itself: it leaves the line, unless it has been told something. */
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

/* Stays awake until somebody tells it something or the moment has come: false
 * then. In a world time stands still while anybody can run, so there it comes at once. */
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

/* Looks again after a while, and after twice that, and so on: every look takes
 * the slots' lines away from those who use them. True if it found something. */
static bool look_patiently(cen_pool *pool, ceni_pool_waiter *waiter, int64_t begin, int64_t end, ceni_grant *out)
{
    for (int64_t passed = FIRST_LOOK_NS; passed < PATIENCE_NS && begin + passed < end; passed *= 2) {
        if (stay_awake(waiter, begin + passed)) return false;
        if (ceni_pool_find(pool, CENI_NO_INDEX, out)) return true;
    }
    stay_awake(waiter, earlier(begin + PATIENCE_NS, end));
    return false;
}

/* Once: then it says that it is ready, lest an object lie idle for as long as others have work.
 * The watched build skips this, as a system may that finds nobody else to run. */
static bool step_aside(cen_pool *pool, ceni_pool_waiter *waiter, ceni_grant *out)
{
    if (AT_ONCE) return false;
    ceni_store_relaxed(&pool->line->first_cpu, ceni_cpu_current()); /* a guess; carries nothing */
    ceni_thread_yield();
    return !told(waiter) && ceni_pool_find(pool, CENI_NO_INDEX, out);
}

/* The first in line looks, says that it is ready, and looks again. True if it found something itself. */
static bool look_as_first(cen_pool *pool, ceni_pool_waiter *waiter, int64_t moment, ceni_grant *out)
{
    if (ceni_pool_find(pool, CENI_NO_INDEX, out)) return true;
    bool awake = ceni_load_relaxed(&pool->max) < ceni_cpu_count(); /* a setting; carries nothing */
    cen_runtime *runtime = ceni_pool_runtime(pool);
    if (runtime && ceni_runtime_is_virtual(runtime)) moment = CENI_FOREVER; /* it cannot be compared with this clock */
    int64_t begin = awake ? ceni_clock_now() : 0;
    if (awake ? look_patiently(pool, waiter, begin, moment, out) : step_aside(pool, waiter, out)) return true;
    bool glances = false;
    if (!ceni_waiters_ready(pool, waiter, &glances)) return glances && ceni_pool_find(pool, CENI_NO_INDEX, out);
    if (!ceni_planted(ready_without_look) && ceni_pool_find(pool, CENI_NO_INDEX, out)) return true;
    if (awake) stay_awake(waiter, earlier(begin + AWAKE_NS, moment));
    return false;
}

/* Whether the moment, which may be one of a virtual clock, has come. */
static bool is_over(const cen_pool *pool, int64_t moment)
{
    return moment != CENI_FOREVER && ceni_pool_now(pool) >= moment;
}

/* ---- Cancellation -------------------------------------------------------------------------
 * A thread that is cancelled in its sleep leaves the line as one that is stopped, and gives back what it was
 * granted before. Then it ends, and never returns from its take. */

typedef struct sleeping {
    cen_pool *pool;
    ceni_pool_waiter *waiter;
    ceni_stop_wait *stop;
} sleeping;

/* Nobody will have what was granted. A lease counts for its holder until it is given. */
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
    /* After being sent away it does not touch the pool. */
    bool in_line = state < CENI_WAIT_GRANTED && ceni_waiters_leave(self->pool, self->waiter, NULL);
    if (!in_line) state = ceni_load_acquire(&self->waiter->state); /* [J1] */
    if (!in_line && state == CENI_WAIT_GRANTED && !ceni_planted(cancelled_take_loses_its_grant))
        return_grant(self->pool, self->waiter);
    ceni_stop_leave(self->stop);
}

/* Sleeps until somebody tells it something; false if the moment passed or the stop token was set before. A
 * set makes PARKED AWAKE. A thread that waits for a pool of a manual runtime runs what is due there. */
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
    /* [J2] nobody need wake it now */
    return !ceni_cas_acq_rel(&waiter->state, &state, CENI_WAIT_AWAKE) && state != CENI_WAIT_AWAKE;
}

/* It is in no line any more: it was told something before it could leave. */
static ceni_verdict told_before(const ceni_pool_waiter *waiter, ceni_grant *out)
{
    uint32_t state = ceni_load_acquire(&((ceni_pool_waiter *)(uintptr_t)waiter)->state); /* [J1] */
    if (state != CENI_WAIT_GRANTED) return answer_to(waiter, state);
    take_granted(waiter, out);
    return fine;
}

/* The deadline has passed. What came first wins. */
static ceni_verdict expire(cen_pool *pool, ceni_pool_waiter *waiter, ceni_grant *out)
{
    if (!must_queue(pool) && ceni_idle_take(pool, CENI_NO_INDEX, out)) return settle_found(pool, waiter, out);
    if (ceni_waiters_leave(pool, waiter, &pool->tally.timed_out)) return (ceni_verdict){.status = CEN_TIMEOUT};
    return told_before(waiter, out);
}

/* The stop token was set. What came first wins here, too. */
static ceni_verdict stop_waiting(cen_pool *pool, ceni_pool_waiter *waiter, ceni_grant *out)
{
    ceni_verdict stopped = {.status = CEN_INTERRUPTED, .cause = CEN_CAUSE_STOPPED};
    if (ceni_waiters_leave(pool, waiter, NULL) || ceni_planted(stopped_take_loses_its_grant)) return stopped;
    return told_before(waiter, out);
}

/* Nobody has told it anything, and it waits no longer. */
static ceni_verdict give_up(cen_pool *pool, ceni_pool_waiter *waiter, ceni_stop_wait *stop, ceni_grant *out)
{
    return ceni_stop_is_hit(stop) ? stop_waiting(pool, waiter, out) : expire(pool, waiter, out);
}

/* `look`: it is not the heir, but gives pass the one before it by, who is pending. */
static ceni_verdict join(cen_pool *pool, ceni_pool_waiter *waiter, int64_t moment, bool *heir, bool *look)
{
    int64_t now = ceni_clock_now();
    ceni_followup call = {.never_opens = true}; /* for another, while it stands in line itself and is to answer */
    ceni_waiters *line = pool->line;
    uint64_t id = pool->id;
    ceni_waiters_lock(line);
    ceni_verdict verdict = ceni_admit_locked(pool, waiter, now, moment);
    if (verdict.status == CEN_OK) {
        bool strict = ceni_pool_has(&pool->strict);
        *heir = ceni_waiters_join_locked(pool, waiter, now);
        *look = !*heir && !strict && ceni_waiters_first_is_pending_locked(line);
        if (strict) ceni_waiters_pump_locked(pool, CENI_NO_INDEX, &call); /* its second look */
        else ceni_chores_plan_locked(pool, &call);
        if (pool->gate.breaker != CEN_BREAKER_CLOSED) ceni_keeper_plan_locked(pool, &call); /* when its hope ends */
    }
    ceni_waiters_unlock(line);
    ceni_waiters_follow_up(line, id, pool, &call);
    return verdict;
}

/* Stands in line until it is told something, finds something, or gives up. */
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
        /* One who is called again and again in vain never sleeps until its deadline, or until it is stopped. */
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
    ceni_pool_own_get()->countdown = 0; /* whoever waits holds for longer than it did */
    ceni_pool_waiter waiter = {.holder = ceni_holder_number(),
                               .where = terms->where,
                               .priority = (uint8_t)terms->priority,
                               .moment = terms->moment};
    ceni_stop_wait stop; /* joined first: a token that is set keeps the thread out of the line */
    cen_status joined = ceni_stop_join(&stop, terms->stop, &waiter.state, CENI_WAIT_PARKED, CENI_WAIT_AWAKE);
    if (joined != CEN_OK) return (ceni_verdict){.status = joined};
    ceni_verdict verdict = stand_in_line(pool, &waiter, &stop, out);
    ceni_stop_leave(&stop);
    return verdict;
}
