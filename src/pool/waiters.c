/* SPDX-License-Identifier: MIT */
/*
 * The wait queue: which waiter is served when, and why none is forgotten.
 *
 *     give: slot HELD ▶ IDLE, then reads ctl
 *       0 ........................ done
 *       waiters, no HEIR ......... lock, pump: the first is called, or served
 *       HEIR ..................... done, or, when the bound has passed, hand over
 *       READY .................... lock, pump: hand over
 *       CLOSED, SURPLUS .......... lock, retire the slot
 *
 *     thread: join ▶ (first: HEIR) search ▶ READY ▶ search ▶ park ▶ granted
 *                  ▶ (not first)   park ▶ called: HEIR ▶ search ▶ ...
 *             deadline: search ▶ leave ▶ the next is called if there is an object
 *             of higher priority: join ▶ (first now) HEIR instead of the former first ▶ search ▶ ...
 *
 * The first waiter is the one with the smallest key at the heads of the three lists (turn.c). It changes only when a
 * waiter joins or leaves.
 *
 * Invariants
 *  I1 ctl, the lists and the states CALLED, GRANTED and beyond are written
 *     under the lock only. ctl has the number of waiters. HEIR and READY describe
 *     the first waiter. They are clear if there is no waiter, or if there is a new
 *     first, for any reason, that was not called and has not joined as the heir.
 *  I2 HEIR without READY: the first waiter is a thread that will search before it
 *     parks for good, or leave. In both cases it takes the lock, and sets READY or
 *     passes the role on. Or another waiter joins before it and gets the role.
 *  I3 If an object is idle, or may be opened, and there is a waiter, then
 *     one of these is running:
 *       a  a giver between its publication and the end of its check of ctl and
 *          the work that follows from it;
 *       b  an heir (I2) before its search that follows READY;
 *       c  a pump by a thread that removed the first, or freed a place, under the
 *          lock, or joined as a pending first;
 *       d  a thread that struck a slot from the map and owes a tend (idle.c).
 *     Each idle object has its own. A giver that grants the object which it has
 *     made idle itself to a waiter that was not the heir owes nothing for other
 *     objects, unless it has removed a first waiter before, which may have been
 *     the heir (shedding does that).
 *  I4 A waiter leaves its list once: granted, refused, sent away, shed, or on its
 *     own. All but the last write its state last and never touch it again: its
 *     memory may be gone before the lock is dropped. It is woken by address.
 *
 * Why I3 holds.
 *
 * The naive version: a giver reads ctl, sees no waiter, and then makes its object idle. The waiter searched before,
 * joins after, and sleeps although the object is idle. Hence publish, then read ctl [T4 in give.c]; and join, then
 * search [L1]. In the single order of seq_cst operations the giver sees the waiter, or the waiter the object.
 *
 * The second race: the giver sees HEIR and leaves its object to the heir, which has already searched. Hence the heir
 * sets READY [L1] and searches after that: a giver that read no READY published before that search.
 *
 * The third race: the heir's deadline passes, it leaves, and no thread takes what was left to it. Hence a thread that
 * removes the first waiter clears HEIR and READY [L1] and then pumps. A giver that saw the old HEIR published before
 * the pump searches; one that publishes later sees no HEIR.
 *
 * The fourth race: a waiter of higher priority joins before the heir, or before a waiter that is READY. Then no
 * thread takes what was left to the heir, or it is handed over before the newcomer has searched. Hence the newcomer
 * clears both marks in the same store [L1] that makes it the heir, and then searches. A giver that saw the old marks
 * published before that search, or, if it saw READY or no HEIR, pumps under the lock, where the newcomer is the
 * first. The displaced waiter yields: its current search may still find something, as any running thread's may. But
 * READY can be set only for the first waiter, so it parks, and is called again in its turn.
 *
 * A waiter may be granted an object at the same moment as it finds another one. It keeps the granted object and gives
 * the other.
 *
 * Barging. A running thread may take an idle object before a thread that is being woken, because a wake-up costs as
 * much as thousands of takes. If all processors are busy, the woken thread does not run until the system schedules
 * it. So the running giver must keep the bound. It reads the clock once in several gives [hand_over_is_due], and
 * hands over when the first waiter has waited for max_barging_ns, at most once in pace_ns. Handing over leaves the
 * giver without an object: its next take finds none, joins and parks, which lets the other thread run.
 *
 * Neighbours. A pending waiter that is notified on the giver's own thread needs no wake-up. Notifying it on another
 * thread may mean waking an event loop, and with two loops that take in turn nearly every give would. So if the first
 * waiter belongs to another loop, an object that a loop's thread gives goes to the first waiter of its own loop
 * instead. The waiters of one loop are then served, and take again, one after the other. Passing the first waiter
 * goes on for half of max_barging_ns, and begins again only if the first waiter joined after that beginning. So a
 * waiter may see the rest of one such period and one whole one, and is passed for no longer than max_barging_ns in
 * total. Neighbours do not pass if barging is disabled, nor while there are waiters of another priority.
 *
 * Order table
 * [L1] mark       | store of ctl, under the lock | seq_cst | T4 in give.c, I6 in idle.c; the look that follows | that there is a waiter, that it is READY, or that it has left | a giver and a waiter miss each other
 * [L4] heed       | load of ctl again | seq_cst | L1 | whether there is a waiter, now that the mark is cleared | a waiter that joined while the mark was set sleeps although the object is idle
 * [L3] tell       | exchange of a waiter's state | acq_rel | J1 J2 in wait.c | the grant | the waiter reads a half-written grant
 *
 * Tested by tests/explore/pool_waiters_test.c (both kinds of waiter, deadlines,
 * cancel, close), pool_priority_test.c (newcomers), tests/verify/handoff.pml, tests/unit/pool, tests/planted.
 */
#include "pool/waiters.h"

#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"
#include "sync/future.h"

/* ---- The word, and verdicts ------------------------------------------------------ */

static uint64_t ctl_locked(ceni_waiters *waiters)
{
    return ceni_load_relaxed(&waiters->ctl); /* written under this lock; carries nothing */
}

void ceni_waiters_mark_locked(ceni_waiters *waiters, uint64_t clear, uint64_t set)
{
    uint64_t ctl = ctl_locked(waiters), marked = (ctl & ~clear) | set;
    if (marked != ctl) ceni_store_seq_cst(&waiters->ctl, marked); /* [L1] */
}

bool ceni_waiters_first_is_pending_locked(const ceni_waiters *waiters)
{
    const ceni_pool_waiter *first = ceni_waiters_first_locked(waiters);
    return first && first->pending;
}

/* A pending waiter is notified after the lock was dropped. Until then its memory belongs to the pool. */
static void put_pending(ceni_pool_waiter *waiter, ceni_wait_state state, ceni_followup *followup)
{
    waiter->answer = state == CENI_WAIT_GRANTED ? CEN_OK : followup->status;
    waiter->next_told = NULL;
    if (followup->last_pending) followup->last_pending->next_told = waiter;
    else followup->pending = waiter;
    followup->last_pending = waiter;
    followup->pending_count++;
    ceni_store_relaxed(&waiter->state, (uint32_t)state); /* read in this call; carries nothing */
}

/* Give a waiter its verdict; the last access if it has left the list. */
static void tell(ceni_pool_waiter *waiter, ceni_wait_state state, ceni_followup *followup)
{
    if (waiter->pending) {
        put_pending(waiter, state, followup);
        return;
    }
    _Atomic uint32_t *word = &waiter->state;
    if (ceni_exchange_acq_rel(word, (uint32_t)state) == CENI_WAIT_PARKED) /* [L3] */
        followup->threads[followup->thread_count++] = word;
}

/* Publish what givers that watch the bound read about the first waiter. */
static void show_first_locked(ceni_waiters *waiters, const ceni_pool_waiter *first)
{
    ceni_store_relaxed(&waiters->first_since, first->since); /* a moment; carries nothing */
    ceni_store_relaxed(&waiters->first_cpu, first->cpu);     /* a hint; carries nothing */
}

/* Remove a waiter. If it was the first, the next one is not the heir. */
static void remove_locked(cen_pool *pool, ceni_pool_waiter *waiter, ceni_followup *followup)
{
    ceni_waiters *waiters = pool->waiters;
    bool first = ceni_waiters_first_locked(waiters) == waiter;
    ceni_turn_remove_locked(waiters, waiter);
    if (waiter->pending) ceni_pending_deadline_drop_locked(pool, waiter);
    ceni_shedding_left_locked(pool, waiter, followup);
    ceni_pool_waiter *next = ceni_waiters_first_locked(waiters);
    uint64_t ctl = ctl_locked(waiters) - CENI_CTL_ONE;
    if (first) ctl &= ~(uint64_t)(CENI_CTL_HEIR | CENI_CTL_READY);
    if (!next && !pool->paused) ctl &= ~(uint64_t)CENI_CTL_FIRST;
    if (first && next) show_first_locked(waiters, next);
    ceni_store_seq_cst(&waiters->ctl, ctl); /* [L1] */
}

static void refuse(ceni_pool_waiter *waiter, cen_cause cause, int64_t retry_after_ns)
{
    waiter->cause = (uint8_t)cause;
    waiter->retry_after_ns = retry_after_ns;
}

void ceni_waiters_drop_first_locked(cen_pool *pool, ceni_wait_state state, ceni_followup *followup)
{
    ceni_waiters_drop_locked(pool, ceni_waiters_first_locked(pool->waiters), state, followup);
}

void ceni_waiters_drop_locked(cen_pool *pool, ceni_pool_waiter *waiter, ceni_wait_state state, ceni_followup *followup)
{
    int64_t now = ceni_clock_now();
    ceni_wait_ends_locked(pool, now - waiter->since);
    if (state == CENI_WAIT_EXPIRED) ceni_tell_expired_locked(pool, waiter, now);
    remove_locked(pool, waiter, followup);
    bool by_breaker = pool->gate.breaker != CEN_BREAKER_CLOSED;
    if (state == CENI_WAIT_REFUSED && by_breaker)
        refuse(waiter, CEN_CAUSE_BREAKER_OPEN, ceni_retry_opening_locked(pool));
    if (state == CENI_WAIT_REFUSED && !by_breaker) refuse(waiter, CEN_CAUSE_OPENING_FAILED, 0);
    if (state == CENI_WAIT_SHED) refuse(waiter, CEN_CAUSE_SHED, pool->options.shed_interval_ns);
    if (waiter->pending && waiter->error) {
        waiter->hand = pool;
        pool->hands += !ceni_planted(told_ask_keeps_no_hand);
    }
    tell(waiter, state, followup);
}

/* ---- Serving the first -------------------------------------------------------------- */

static void grant_locked(cen_pool *pool, ceni_pool_waiter *waiter, const ceni_grant *grant, int64_t now,
                         ceni_followup *followup)
{
    ceni_store_relaxed(&pool->waiters->handed_at, now); /* a moment; carries nothing */
    ceni_wait_ends_locked(pool, now - waiter->since);
    pool->tally.served++;
    ceni_tell_waited_locked(pool, waiter, now);
    ceni_pace_served_locked(pool, now);
    remove_locked(pool, waiter, followup);
    /* A stale object becomes a lease only after it has passed its test, and is noted then. */
    if (grant->slot && !grant->stale)
        ceni_slot_note(pool, grant->slot, grant->generation, waiter->holder, waiter->where);
    if (waiter->pending) ceni_tell_taken(pool, grant->index, waiter->where);
    waiter->slot = grant->slot;
    waiter->generation = grant->generation;
    waiter->index = grant->index;
    waiter->stale = grant->stale;
    tell(waiter, CENI_WAIT_GRANTED, followup);
}

static void call_first_locked(ceni_waiters *waiters, ceni_followup *followup)
{
    ceni_waiters_mark_locked(waiters, CENI_CTL_READY, CENI_CTL_HEIR);
    tell(ceni_waiters_first_locked(waiters), CENI_WAIT_CALLED, followup);
}

static bool may_open_locked(cen_pool *pool)
{
    return ceni_load_relaxed(&pool->openable) > 0; /* written under this lock; carries nothing */
}

/* An object that was idle for long may have to be tested before the first waiter gets it. */
static bool find_for_first_locked(cen_pool *pool, uint32_t hint, ceni_grant *out, ceni_followup *followup)
{
    bool pending = ceni_waiters_first_locked(pool->waiters)->pending;
    if (ceni_trust_needs_test(pool, pending)) return ceni_trust_take_locked(pool, hint, 0, out, followup);
    return ceni_idle_take_locked(pool, hint, out);
}

/* Whether neighbours may pass the first waiter now: for half of the bound, and again after all waiters of the time
 * when that began have been served. */
static bool may_pass_locked(cen_pool *pool, const ceni_pool_waiter *first, int64_t now)
{
    ceni_waiters *waiters = pool->waiters;
    if (now - waiters->passing_from < ceni_setting(&pool->max_barging_ns) / 2) return true;
    if (first->since <= waiters->passing_from && !ceni_planted(neighbours_pass_for_ever)) return false;
    waiters->passing_from = now;
    return true;
}

/* The waiter that gets the object of the first waiter, which is pending: the first itself, or a neighbour of this
 * thread. */
static ceni_pool_waiter *nearest_locked(cen_pool *pool, ceni_pool_waiter *first, int64_t now)
{
    uint64_t here = ceni_thread_id();
    /* notifying it may need no wake-up */
    if (!first->home || first->home == here || ceni_pool_has(&pool->strict)) return first;
    ceni_pool_waiter *neighbour = ceni_turn_neighbour_locked(pool->waiters, here);
    return neighbour && may_pass_locked(pool, first, now) ? neighbour : first;
}

/* Grant the giver's own object to a pending first waiter, for which no other object is left: each other idle object
 * has its own giver. So nothing else has become due. */
static bool pass_on_locked(cen_pool *pool, uint32_t hint, ceni_pool_waiter *first, ceni_followup *followup)
{
    ceni_grant grant;
    if (ceni_trust_needs_test(pool, true) || !ceni_idle_take_hinted_locked(pool, hint, &grant)) return false;
    int64_t now = ceni_clock_now();
    grant_locked(pool, nearest_locked(pool, first, now), &grant, now, followup);
    return true;
}

/* Hand an object to the first waiter. Returns true if it got one, and the next waiter may be due. */
static bool serve_first_locked(cen_pool *pool, uint32_t hint, ceni_followup *followup)
{
    ceni_waiters *waiters = pool->waiters;
    ceni_pool_waiter *first = ceni_waiters_first_locked(waiters);
    bool pending = first->pending;
    if (pending && pass_on_locked(pool, hint, first, followup)) return false;
    ceni_waiters_mark_locked(waiters, 0, CENI_CTL_READY); /* before the search */
    ceni_grant grant = {.slot = NULL};
    bool found = find_for_first_locked(pool, hint, &grant, followup);
    /* A thread can also be handed a place, in which it opens the object itself. */
    if (!found && !pending) found = ceni_place_claim_locked(pool, &grant.index);
    if (found) {
        int64_t now = ceni_clock_now();
        grant_locked(pool, pending ? nearest_locked(pool, first, now) : first, &grant, now, followup);
        return !ceni_planted(one_grant_is_enough);
    }
    if (pending && !followup->never_opens && !followup->tests &&
        pool->opening_for_pending < ctl_locked(waiters) / CENI_CTL_ONE) {
        followup->opens = followup->more = ceni_place_claim_locked(pool, &followup->index);
        pool->opening_for_pending += followup->opens;
    }
    return false;
}

/* If the first waiter could be served, but load shedding is due, send it away. The object stays for the next. */
static bool shed_first_locked(cen_pool *pool, ceni_followup *followup)
{
    if (!(may_open_locked(pool) || ceni_idle_any_locked(pool)) || !ceni_shedding_is_due_locked(pool, followup))
        return false;
    pool->tally.shed++;
    followup->status = CEN_OVERLOAD;
    ceni_waiters_drop_first_locked(pool, CENI_WAIT_SHED, followup);
    return true;
}

/* One step of the pump. Returns true if the next waiter may be due. */
static bool pump_first_locked(cen_pool *pool, uint32_t hint, ceni_followup *followup)
{
    ceni_waiters *waiters = pool->waiters;
    uint64_t ctl = ctl_locked(waiters);
    ceni_pool_waiter *first = ceni_waiters_first_locked(waiters);
    if (!first || (ctl & (CENI_CTL_CLOSED | CENI_CTL_SURPLUS)) || pool->paused) return false;
    ceni_pool_waiter *vain = ceni_opening_vain_waiter_locked(pool);
    if (vain) {
        pool->tally.failed++;
        followup->status = pool->gate.last.status;
        vain->code = pool->gate.last.code;
        ceni_waiters_drop_locked(pool, vain, CENI_WAIT_REFUSED, followup);
        return true;
    }
    if (pool->options.shed_target_ns != CEN_OFF && shed_first_locked(pool, followup)) return true;
    if ((ctl & CENI_CTL_READY) || first->pending || ceni_pool_has(&pool->strict))
        return serve_first_locked(pool, hint, followup);
    if (!(ctl & CENI_CTL_HEIR) && (may_open_locked(pool) || ceni_idle_any_locked(pool)))
        call_first_locked(waiters, followup);
    return false;
}

enum { MOST_TOLD = 16 }; /* without dropping the lock */

/* The hint is for the first step only: after a first waiter was removed, which may have been the heir, all objects
 * left to it must be considered. */
void ceni_waiters_pump_locked(cen_pool *pool, uint32_t hint, ceni_followup *followup)
{
    for (bool next = true; next; hint = ceni_planted(shed_heir_is_forgotten) ? hint : CENI_NO_INDEX) {
        followup->more = followup->pending_count >= MOST_TOLD || followup->thread_count == 2; /* drop the lock first */
        next = !followup->more && pump_first_locked(pool, hint, followup);
    }
    ceni_chores_plan_locked(pool, followup);
    ceni_keeper_plan_locked(pool, followup);
}

/* For a waiter behind others nothing has become due, unless each waiter may get an opening or a test. */
void ceni_waiters_joined_locked(cen_pool *pool, const ceni_pool_waiter *waiter, ceni_followup *followup)
{
    bool due = ceni_waiters_first_locked(pool->waiters) == waiter || may_open_locked(pool) ||
               ceni_trust_needs_test(pool, true);
    if (due) {
        ceni_waiters_pump_locked(pool, CENI_NO_INDEX, followup);
        return;
    }
    ceni_chores_plan_locked(pool, followup);
    ceni_keeper_plan_locked(pool, followup);
}

static void deliver_all(ceni_pool_waiter *waiter)
{
    ceni_rank_expect_none("the delivery to an asynchronous take");
    for (ceni_pool_waiter *next; waiter; waiter = next) {
        next = waiter->next_told;
        waiter->deliver(waiter, waiter->answer);
    }
}

/* Jobs of the inline executor run at the end, after everything else. */
void ceni_waiters_follow_up(ceni_waiters *waiters, uint64_t pool_id, cen_pool *pool, const ceni_followup *followup)
{
    ceni_inline_run here;
    ceni_inline_begin(&here);
    for (unsigned i = 0; i < followup->thread_count && !ceni_planted(grant_without_wake); i++)
        ceni_futex_wake(followup->threads[i], 1);
    deliver_all(followup->pending);
    if (followup->opens) ceni_pending_open(pool, followup->index);
    if (followup->tests) ceni_trust_test_for_pending(pool, followup->index);
    if (followup->alarm) ceni_hand_alarm(pool);
    if (followup->hire) ceni_hand_hire(pool, followup->hire);
    if (followup->hire_close) ceni_hand_hire_closers(pool, followup->hire_close);
    if (followup->shed_begins || followup->shed_ended) ceni_shedding_tell(pool, followup);
    if (followup->more) ceni_waiters_tend(waiters, pool_id, CENI_NO_INDEX);
    ceni_inline_end(&here);
}

void ceni_waiters_tend(ceni_waiters *waiters, uint64_t pool_id, uint32_t hint)
{
    ceni_inline_run here;
    ceni_inline_begin(&here);
    for (bool more = true; more; hint = CENI_NO_INDEX) {
        ceni_followup followup = {.more = false};
        ceni_waiters_lock(waiters);
        cen_pool *pool =
            waiters->pool_id == pool_id ? waiters->pool : NULL; /* or it is gone, and the queue another pool's */
        if (pool) ceni_waiters_pump_locked(pool, hint, &followup);
        ceni_waiters_unlock(waiters);
        more = followup.more;
        followup.more = false;
        ceni_waiters_follow_up(waiters, pool_id, pool, &followup);
    }
    ceni_inline_end(&here);
}

/* ---- Handing over because the bound has passed ----------------------------------------- */

/* Reading the clock costs as much as several takes, so it is read once in as many gives as fit in about 16 to 32
 * microseconds. A slower giver reads it at every give. */
enum {
    QUICK_NS = 16000,
    SLOW_NS = 32000,
    MOST_BATCH = 128,
    /* A waiter that wakes on the processor on which the giver then parks runs at once. On another processor it waits
     * for the thread that runs there. So for a short time only a giver on the same processor hands over. */
    GRACE_NS = 100000,
    HOLDS_LONG_NS = 50000,    /* givers with such a cycle cause a thread switch anyway: half the pace ... */
    HOLDS_LONGER_NS = 200000, /* ... and no pace */
};

/* With more objects than processors a hand-over costs less, because another thread is always ready to run. The
 * measurements are in docs/internals/handoff.md. */
enum { PACE_WIDE_NS = 300000, PACE_NARROW_NS = 1000000 };

void ceni_waiters_pace(ceni_waiters *waiters, int64_t max_barging_ns, uint32_t max)
{
    ceni_store_relaxed(&waiters->max_barging_ns, max_barging_ns); /* a setting; carries nothing */
    /* likewise; carries nothing */
    ceni_store_relaxed(&waiters->pace_ns, max > ceni_cpu_count() ? PACE_WIDE_NS : PACE_NARROW_NS);
}

static int64_t pace_for(const ceni_waiters *waiters, int64_t cycle_ns)
{
    int64_t pace = ceni_load_relaxed(&((ceni_waiters *)(uintptr_t)waiters)->pace_ns); /* a setting; carries nothing */
    if (cycle_ns >= HOLDS_LONGER_NS) return 0;
    return cycle_ns >= HOLDS_LONG_NS ? pace / 2 : pace;
}

/* Whether the first waiter has waited for the bound, as far as this giver knows, which reads the clock only from time
 * to time. */
static bool hand_over_is_due(ceni_waiters *waiters, uint32_t mark)
{
    ceni_pool_own *own = ceni_pool_own_get();
    if (ceni_give_counted(own, mark)) return false;
    int64_t now = ceni_clock_now(), spent = now - own->clock;
    int64_t cycle = spent / (own->batch ? own->batch : 1);
    if (spent < QUICK_NS)
        own->batch = (uint8_t)(own->batch < MOST_BATCH / 2 ? own->batch * 2 + !own->batch : MOST_BATCH);
    else if (spent > SLOW_NS) own->batch = (uint8_t)(cycle >= QUICK_NS ? 1 : QUICK_NS / (cycle + 1));
    own->countdown = own->batch;
    own->counted = mark;
    own->clock = now;
    /* Another giver may be changing these times: the error is one hand-over more or less. Carries nothing.
     * Differences are compared, because a bound may be too large to be added to a moment. */
    int64_t waited = now - ceni_load_relaxed(&waiters->first_since);
    int64_t beyond_bound = (waited > 0 ? waited : 0) - ceni_load_relaxed(&waiters->max_barging_ns);
    int64_t beyond_pace = now - ceni_load_relaxed(&waiters->handed_at) - pace_for(waiters, cycle);
    int64_t late = beyond_bound < beyond_pace ? beyond_bound : beyond_pace;
    if (late < 0) return false;
    return late >= GRACE_NS || ceni_load_relaxed(&waiters->first_cpu) == ceni_cpu_current(); /* carries nothing */
}

/* Never waits for the lock: the thread that holds it serves the queue. */
static void hand_over(ceni_waiters *waiters, uint64_t pool_id, uint32_t hint)
{
    if (!ceni_mutex_try_lock(&waiters->mutex, CENI_RANK_POOL)) return;
    ceni_followup followup = {.more = false};
    ceni_grant grant;
    cen_pool *pool = waiters->pool_id == pool_id ? waiters->pool : NULL;
    bool open = pool && !pool->paused && ceni_waiters_first_locked(waiters) &&
                !(ctl_locked(waiters) & (CENI_CTL_CLOSED | CENI_CTL_SURPLUS));
    if (open && pool->options.shed_target_ns != CEN_OFF) { /* the pump decides whether it is shed */
        ceni_waiters_mark_locked(waiters, 0, CENI_CTL_READY);
        ceni_waiters_pump_locked(pool, hint, &followup);
    } else if (open && find_for_first_locked(pool, hint, &grant, &followup)) {
        grant_locked(pool, ceni_waiters_first_locked(waiters), &grant, ceni_clock_now(), &followup);
        ceni_waiters_pump_locked(pool, CENI_NO_INDEX, &followup);
    }
    ceni_waiters_unlock(waiters);
    ceni_waiters_follow_up(waiters, pool_id, pool, &followup);
}

cen_status ceni_waiters_heed(ceni_waiters *waiters, uint64_t pool_id, uint64_t ctl, uint32_t index, uint64_t generation)
{
    if (ctl & (CENI_CTL_CLOSED | CENI_CTL_SURPLUS)) {
        if (ceni_pool_retire(waiters, pool_id, index, generation)) return CEN_OK;
        ctl = ceni_load_seq_cst(&waiters->ctl); /* [L4] the mark is cleared, and a waiter may have joined meanwhile */
    }
    if (ctl < CENI_CTL_ONE) return CEN_OK;
    if ((ctl & CENI_CTL_READY) || !(ctl & CENI_CTL_HEIR)) ceni_waiters_tend(waiters, pool_id, index);
    else if (hand_over_is_due(waiters, (uint32_t)pool_id)) hand_over(waiters, pool_id, index);
    return CEN_OK;
}

/* A place became free. No give checks the bound for a place, so the thread that frees it does. */
void ceni_waiters_hurry_locked(cen_pool *pool)
{
    ceni_pool_waiter *first = ceni_waiters_first_locked(pool->waiters);
    bool called = ctl_locked(pool->waiters) & CENI_CTL_HEIR;
    if (first && called && ceni_clock_now() - first->since >= ceni_setting(&pool->max_barging_ns))
        ceni_waiters_mark_locked(pool->waiters, 0, CENI_CTL_READY);
}

/* ---- Joining and leaving ------------------------------------------------------------------ */

bool ceni_waiters_join_locked(cen_pool *pool, ceni_pool_waiter *waiter, int64_t now)
{
    ceni_waiters *waiters = pool->waiters;
    if (!ceni_waiters_first_locked(waiters)) ceni_pace_begin_locked(pool, now);
    waiter->since = now;
    waiter->came = ceni_pool_moment(pool, now);
    waiter->cpu = ceni_cpu_current();
    waiter->failed_before = pool->gate.failed;
    ceni_turn_push_locked(pool, waiter);
    bool first = ceni_waiters_first_locked(waiters) == waiter;
    pool->tally.waited++;
    uint64_t ctl = ctl_locked(waiters) + CENI_CTL_ONE;
    if (first) show_first_locked(waiters, waiter);
    /* What was left to the former first waiter is left to the new one, or to its pump. */
    if (first && !ceni_planted(newcomer_leaves_ready)) ctl &= ~(uint64_t)(CENI_CTL_HEIR | CENI_CTL_READY);
    bool strict = ceni_pool_has(&pool->strict);
    if (strict) ctl |= CENI_CTL_FIRST;
    bool heir = first && !waiter->pending && !strict && !pool->paused;
    if (heir) ctl |= CENI_CTL_HEIR;
    ceni_store_seq_cst(&waiters->ctl, ctl); /* [L1] */
    return heir;
}

/* Remove the waiter, if it is still in the queue, and pass its role on; drops the lock. `count` NULL: it counts as
 * cancelled. */
static bool leave_locked(ceni_waiters *waiters, ceni_pool_waiter *waiter, uint64_t *count)
{
    ceni_followup followup = {.more = false};
    bool in_line = ceni_list_linked(&waiter->link);
    cen_pool *pool = waiters->pool; /* the waiter's pool, if it is in the queue */
    uint64_t id = waiters->pool_id;
    if (in_line) {
        int64_t now = ceni_clock_now();
        bool first = ceni_waiters_first_locked(waiters) == waiter, served = count == &pool->tally.served;
        ceni_wait_ends_locked(pool, now - waiter->since);
        ++*(count ? count : &pool->tally.cancelled);
        if (served) ceni_tell_waited_locked(pool, waiter, now);
        if (served) ceni_pace_served_locked(pool, now);
        if (served) ceni_shedding_served_locked(pool, waiter, now, &followup);
        remove_locked(pool, waiter, &followup);
        if (first && !ceni_planted(expired_first_keeps_role)) ceni_waiters_pump_locked(pool, CENI_NO_INDEX, &followup);
    }
    ceni_waiters_unlock(waiters);
    ceni_waiters_follow_up(waiters, id, pool, &followup);
    return in_line;
}

bool ceni_waiters_leave(cen_pool *pool, ceni_pool_waiter *waiter, uint64_t *count)
{
    ceni_waiters_lock(pool->waiters);
    return leave_locked(pool->waiters, waiter, count);
}

bool ceni_waiters_withdraw(ceni_waiters *waiters, ceni_pool_waiter *waiter)
{
    ceni_waiters_lock(waiters);
    return leave_locked(waiters, waiter, NULL) || ceni_planted(cancel_loses_the_object);
}

bool ceni_waiters_interrupt(cen_pool *pool, uint64_t holder)
{
    ceni_waiters *waiters = pool->waiters;
    ceni_followup followup = {.more = false};
    ceni_waiters_lock(waiters);
    ceni_pool_waiter *found = ceni_turn_of_thread_locked(waiters, holder);
    if (found) {
        bool first = ceni_waiters_first_locked(waiters) == found;
        ceni_wait_ends_locked(pool, ceni_clock_now() - found->since);
        pool->tally.cancelled++;
        remove_locked(pool, found, &followup);
        tell(found, CENI_WAIT_INTERRUPTED, &followup);
        if (first && !ceni_planted(interrupted_first_keeps_role))
            ceni_waiters_pump_locked(pool, CENI_NO_INDEX, &followup);
    }
    uint64_t id = pool->id;
    ceni_waiters_unlock(waiters);
    ceni_waiters_follow_up(waiters, id, pool, &followup);
    return found != NULL;
}

bool ceni_waiters_ready(cen_pool *pool, ceni_pool_waiter *waiter, bool *glances)
{
    ceni_followup followup = {.more = false};
    ceni_waiters_lock(pool->waiters);
    bool first = ceni_waiters_first_locked(pool->waiters) == waiter;
    if (first) ceni_waiters_mark_locked(pool->waiters, 0, CENI_CTL_READY);
    if (first) ceni_chores_plan_locked(pool, &followup);
    *glances = !first && ceni_list_linked(&waiter->link) && ceni_waiters_first_is_pending_locked(pool->waiters);
    ceni_waiters_unlock(pool->waiters);
    ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
    return first;
}

/* One at a time, so that the lock is never held for long. */
uint32_t ceni_waiters_send_away(cen_pool *pool)
{
    uint32_t count = 0;
    for (bool more = true; more;) {
        ceni_followup followup = {.status = CEN_CLOSED};
        ceni_waiters_lock(pool->waiters);
        more = ceni_waiters_first_locked(pool->waiters) != NULL;
        if (more) {
            pool->tally.sent_away++;
            ceni_waiters_drop_first_locked(pool, CENI_WAIT_SENT_AWAY, &followup);
            count++;
        }
        ceni_waiters_unlock(pool->waiters);
        ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
    }
    return count;
}
