/* SPDX-License-Identifier: MIT */
/*
 * The line: who is served, when, and why nobody is forgotten.
 *
 *     give: slot HELD ▶ IDLE, then reads ctl
 *       0 ........................ done
 *       waiters, no HEIR ......... lock, pump: the first is called, or served
 *       HEIR ..................... done, or, when the bound has passed, hand over
 *       READY .................... lock, pump: hand over
 *       CLOSED, SURPLUS .......... lock, retire the slot
 *
 *     thread: join ▶ (first: HEIR) look ▶ READY ▶ look ▶ park ▶ granted
 *                  ▶ (not first)   park ▶ called: HEIR ▶ look ▶ ...
 *             deadline: look ▶ leave ▶ the next is called if there is anything
 *             of higher priority: join ▶ (first now) HEIR instead of whoever was ▶ look ▶ ...
 *
 * "First" is whose turn it is (turn.c): the first of three lists whose key is
 * the smallest. It changes only when somebody joins or leaves.
 *
 * Invariants
 *  I1 ctl, the lists and the states CALLED, GRANTED and beyond are written
 *     under the lock only. ctl counts the lists. HEIR and READY speak of the
 *     first and are clear when nobody waits or there is a new first, by
 *     whatever way, that nobody has called and that has not joined as the heir.
 *  I2 HEIR without READY: the first is a thread that will look before it parks
 *     for good, or go: in both cases through the lock, where READY is set or
 *     the role is passed on; or another joins before it and has the role.
 *  I3 If an object is idle, or may be opened, and somebody is in line, then
 *     one of these is under way:
 *       a  a giver between its publication and the end of its look at ctl and
 *          what that asks for;
 *       b  an heir (I2) before its look that follows READY;
 *       c  a pump by whoever removed the first, or freed a place, under the
 *          lock, or joined as a pending first;
 *       d  one who struck a slot from the map and owes a tend (idle.c).
 *     And each idle object has its own: whoever passes on the object that it has
 *     made idle itself, to one who was not an heir, owes nothing to the others;
 *     unless it has removed a first before, who may have been one (shedding does).
 *  I4 A waiter leaves its list once: granted, refused, sent away, shed, or by
 *     itself. All but the last write its state last, and touch it never again;
 *     it may be gone before the lock is dropped. It is woken by address.
 *
 * Why I3 holds. The naive version: a giver reads ctl, sees nobody, and then
 * makes its object idle; the waiter looked before, joins after, and sleeps
 * beside it. Hence publish, then read ctl [T4 in take.c], and join, then look [L1]: in
 * the one order of seq_cst operations the giver sees the waiter, or the waiter
 * the object. The second race: the giver sees HEIR and leaves it to the heir,
 * who has looked already. Hence the heir sets READY [L1] and looks after that:
 * a giver that read no READY published before that look. The third: the heir's
 * deadline passes, it goes, and what was left to it is left to nobody. Hence
 * whoever removes the first clears HEIR and READY [L1] and then pumps: a giver
 * that saw the old HEIR published before the pump looks; one that publishes
 * later sees no HEIR. The fourth: one of higher priority joins before the heir,
 * or before one that is READY, and what was left to that one is left to nobody,
 * or is handed over before the newcomer has had its look. Hence it clears both
 * marks in the same store [L1] that makes it the heir, and then looks: a giver
 * that saw the old marks published before that look, or, having seen READY, or
 * no HEIR, pumps under the lock, where the newcomer is the first. It is one who
 * was displaced that gives way: it may still find something on the look it is
 * at, as any running thread may, but that it is READY counts only for the first,
 * so it parks, and is called again when its turn comes.
 * A waiter that is granted an object in the moment in which it found one has
 * two, keeps what it was granted and gives the other.
 *
 * Overtaking. A thread that runs may take an idle object before one that is
 * being woken, because a wake-up costs as much as thousands of takes. With
 * both processors busy the one that is woken does not run until the system
 * lets it, so it is the running giver that must keep the bound: it reads the
 * clock at every so many gives [hand_over_is_due], and hands over when the
 * first in line has waited max_barging_ns, at most once in pace_ns. Handing over
 * leaves it without an object; it will find none, join and park, and that is
 * what lets the other run.
 *
 * Neighbours. One who asked and is told on the thread that serves it wakes
 * nobody; to tell it on another thread may mean to wake a loop, and with two
 * loops that ask in turn nearly every give would. So what a loop's thread gives
 * to a first who is told on another's goes to the first of its own instead:
 * those of one loop are then served, and ask again, one after the other. Such
 * passing goes on for half of max_barging_ns, and begins again only when the first in
 * line came after that beginning. So one who waits sees the rest of one such time and
 * one whole one, and is passed for no longer than max_barging_ns in all. It is not
 * done where nobody may be overtaken, nor while some have another priority.
 *
 * Order table
 * [L1] mark       | store of ctl, under the lock | seq_cst | T4 in take.c, I6 in idle.c; the look that follows | that somebody waits, is ready, or is gone | a giver and a waiter miss each other
 * [L4] heed       | load of ctl again | seq_cst | L1 | whether anybody waits, now that the mark is gone | one who joined under the mark sleeps beside the object
 * [L3] tell       | exchange of a waiter's state | acq_rel | J1 J2 in wait.c | the grant | the waiter reads a grant half written
 *
 * Tested by tests/explore/pool_waiters_test.c (both kinds of waiter, deadlines,
 * cancel, close), pool_priority_test.c (newcomers), tests/verify/handoff.pml, tests/unit/pool, tests/planted.
 */
#include "pool/waiters.h"

#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"
#include "sync/future.h"

/* ---- The word, and telling ------------------------------------------------------ */

void ceni_waiters_lock(ceni_waiters *line)
{
    ceni_mutex_lock(&line->mutex, CENI_RANK_POOL);
}

void ceni_waiters_unlock(ceni_waiters *line)
{
    ceni_mutex_unlock(&line->mutex, CENI_RANK_POOL);
}

static uint64_t ctl_locked(ceni_waiters *line)
{
    return ceni_load_relaxed(&line->ctl); /* written under this lock; carries nothing */
}

void ceni_waiters_mark_locked(ceni_waiters *line, uint64_t clear, uint64_t set)
{
    uint64_t ctl = ctl_locked(line), marked = (ctl & ~clear) | set;
    if (marked != ctl) ceni_store_seq_cst(&line->ctl, marked); /* [L1] */
}

bool ceni_waiters_first_is_pending_locked(const ceni_waiters *line)
{
    const ceni_pool_waiter *first = ceni_waiters_first_locked(line);
    return first && first->pending;
}

/* One that does not park is told when the lock has been dropped. Until then it is still the pool's. */
static void put_pending(ceni_pool_waiter *waiter, ceni_wait_state state, ceni_followup *call)
{
    waiter->answer = state == CENI_WAIT_GRANTED ? CEN_OK : call->status;
    waiter->next_told = NULL;
    if (call->last_pending) call->last_pending->next_told = waiter;
    else call->pending = waiter;
    call->last_pending = waiter;
    call->pending_count++;
    ceni_store_relaxed(&waiter->state, (uint32_t)state); /* for whoever tells it, by this call; carries nothing */
}

/* Tells a waiter; the last touch if it left the list before. */
static void tell(ceni_pool_waiter *waiter, ceni_wait_state state, ceni_followup *call)
{
    if (waiter->pending) {
        put_pending(waiter, state, call);
        return;
    }
    _Atomic uint32_t *word = &waiter->state;
    if (ceni_exchange_acq_rel(word, (uint32_t)state) == CENI_WAIT_PARKED) /* [L3] */
        call->threads[call->thread_count++] = word;
}

/* For the givers who watch the bound: about whom they have to ask. */
static void show_first_locked(ceni_waiters *line, const ceni_pool_waiter *first)
{
    ceni_store_relaxed(&line->first_since, first->since); /* for a clock; carries nothing */
    ceni_store_relaxed(&line->first_cpu, first->cpu);     /* a guess; carries nothing */
}

/* Takes a waiter out. If it was the first, the next one is nobody's heir. */
static void remove_locked(cen_pool *pool, ceni_pool_waiter *waiter, ceni_followup *call)
{
    ceni_waiters *line = pool->line;
    bool first = ceni_waiters_first_locked(line) == waiter;
    ceni_turn_remove_locked(line, waiter);
    if (waiter->pending) ceni_patience_drop_locked(pool, waiter);
    ceni_shedding_left_locked(pool, waiter, call);
    ceni_pool_waiter *next = ceni_waiters_first_locked(line);
    uint64_t ctl = ctl_locked(line) - CENI_CTL_ONE;
    if (first) ctl &= ~(uint64_t)(CENI_CTL_HEIR | CENI_CTL_READY);
    if (!next && !pool->paused) ctl &= ~(uint64_t)CENI_CTL_FIRST;
    if (first && next) show_first_locked(line, next);
    ceni_store_seq_cst(&line->ctl, ctl); /* [L1] */
}

static void refuse(ceni_pool_waiter *waiter, cen_cause cause, int64_t retry_after_ns)
{
    waiter->cause = (uint8_t)cause;
    waiter->retry_after_ns = retry_after_ns;
}

void ceni_waiters_drop_first_locked(cen_pool *pool, ceni_wait_state state, ceni_followup *call)
{
    ceni_waiters_drop_locked(pool, ceni_waiters_first_locked(pool->line), state, call);
}

void ceni_waiters_drop_locked(cen_pool *pool, ceni_pool_waiter *waiter, ceni_wait_state state, ceni_followup *call)
{
    int64_t now = ceni_clock_now();
    ceni_wait_ends_locked(pool, now - waiter->since);
    if (state == CENI_WAIT_EXPIRED) ceni_tell_expired_locked(pool, waiter, now);
    remove_locked(pool, waiter, call);
    bool by_breaker = pool->gate.breaker != CEN_BREAKER_CLOSED;
    if (state == CENI_WAIT_REFUSED && by_breaker)
        refuse(waiter, CEN_CAUSE_BREAKER_OPEN, ceni_retry_opening_locked(pool));
    if (state == CENI_WAIT_REFUSED && !by_breaker) refuse(waiter, CEN_CAUSE_OPENING_FAILED, 0);
    if (state == CENI_WAIT_SHED) refuse(waiter, CEN_CAUSE_SHED, pool->options.shed_interval_ns);
    if (waiter->pending && waiter->error) {
        waiter->hand = pool;
        pool->hands += !ceni_planted(told_ask_keeps_no_hand);
    }
    tell(waiter, state, call);
}

/* ---- Serving the first -------------------------------------------------------------- */

static void grant_locked(cen_pool *pool, ceni_pool_waiter *waiter, const ceni_grant *grant, int64_t now,
                         ceni_followup *call)
{
    ceni_store_relaxed(&pool->line->handed_at, now); /* for a clock; carries nothing */
    ceni_wait_ends_locked(pool, now - waiter->since);
    pool->tally.served++;
    ceni_tell_waited_locked(pool, waiter, now);
    ceni_pace_served_locked(pool, now);
    remove_locked(pool, waiter, call);
    /* What has to be tested first becomes a lease when it has passed: whoever tests it notes it. */
    if (grant->slot && !grant->stale)
        ceni_slot_note(pool, grant->slot, grant->generation, waiter->holder, waiter->where);
    if (waiter->pending) ceni_tell_taken(pool, grant->index, waiter->where);
    waiter->slot = grant->slot;
    waiter->generation = grant->generation;
    waiter->index = grant->index;
    waiter->stale = grant->stale;
    tell(waiter, CENI_WAIT_GRANTED, call);
}

static void call_first_locked(ceni_waiters *line, ceni_followup *call)
{
    ceni_waiters_mark_locked(line, CENI_CTL_READY, CENI_CTL_HEIR);
    tell(ceni_waiters_first_locked(line), CENI_WAIT_CALLED, call);
}

static bool may_open_locked(cen_pool *pool)
{
    return ceni_load_relaxed(&pool->openable) > 0; /* written under this lock; carries nothing */
}

/* What was idle for long may have to be tested before the first can have it. */
static bool find_for_first_locked(cen_pool *pool, uint32_t hint, ceni_grant *out, ceni_followup *call)
{
    bool pending = ceni_waiters_first_locked(pool->line)->pending;
    if (ceni_trust_needs_test(pool, pending)) return ceni_trust_take_locked(pool, hint, 0, out, call);
    return ceni_idle_take_locked(pool, hint, out);
}

/* Whether neighbours may pass the first now: for half of the bound, and then again when all have been served who were there
 * when that began. */
static bool may_pass_locked(cen_pool *pool, const ceni_pool_waiter *first, int64_t now)
{
    ceni_waiters *line = pool->line;
    if (now - line->passing_from < ceni_setting(&pool->max_barging_ns) / 2) return true;
    if (first->since <= line->passing_from && !ceni_planted(neighbours_pass_for_ever)) return false;
    line->passing_from = now;
    return true;
}

/* Who is granted what there is for the first, which is pending: itself, or a neighbour of this thread's. */
static ceni_pool_waiter *nearest_locked(cen_pool *pool, ceni_pool_waiter *first, int64_t now)
{
    uint64_t here = ceni_thread_id();
    /* to tell it may wake nobody */
    if (!first->home || first->home == here || ceni_pool_has(&pool->strict)) return first;
    ceni_pool_waiter *neighbour = ceni_turn_neighbour_locked(pool->line, here);
    return neighbour && may_pass_locked(pool, first, now) ? neighbour : first;
}

/* A giver's own object, for one who was left no other: whoever made another idle is on its way with that one. So nothing
 * else has become due. */
static bool pass_on_locked(cen_pool *pool, uint32_t hint, ceni_pool_waiter *first, ceni_followup *call)
{
    ceni_grant grant;
    if (ceni_trust_needs_test(pool, true) || !ceni_idle_take_hinted_locked(pool, hint, &grant)) return false;
    int64_t now = ceni_clock_now();
    grant_locked(pool, nearest_locked(pool, first, now), &grant, now, call);
    return true;
}

/* The first is to be handed something. True if it was, and the next may be due. */
static bool serve_first_locked(cen_pool *pool, uint32_t hint, ceni_followup *call)
{
    ceni_waiters *line = pool->line;
    ceni_pool_waiter *first = ceni_waiters_first_locked(line);
    bool pending = first->pending;
    if (pending && pass_on_locked(pool, hint, first, call)) return false;
    ceni_waiters_mark_locked(line, 0, CENI_CTL_READY); /* before the look */
    ceni_grant grant = {.slot = NULL};
    bool found = find_for_first_locked(pool, hint, &grant, call);
    /* A thread can also be handed a place, and opens the object itself. */
    if (!found && !pending) found = ceni_place_claim_locked(pool, &grant.index);
    if (found) {
        int64_t now = ceni_clock_now();
        grant_locked(pool, pending ? nearest_locked(pool, first, now) : first, &grant, now, call);
        return !ceni_planted(one_grant_is_enough);
    }
    if (pending && !call->never_opens && !call->tests && pool->opening_for_pending < ctl_locked(line) / CENI_CTL_ONE) {
        call->opens = call->more = ceni_place_claim_locked(pool, &call->index);
        pool->opening_for_pending += call->opens;
    }
    return false;
}

/* Something is there for the first, but it has waited for so long, as others before it, that it is sent away. What is
 * there stays for the next. */
static bool shed_first_locked(cen_pool *pool, ceni_followup *call)
{
    if (!(may_open_locked(pool) || ceni_idle_any_locked(pool)) || !ceni_shedding_is_due_locked(pool, call))
        return false;
    pool->tally.shed++;
    call->status = CEN_OVERLOAD;
    ceni_waiters_drop_first_locked(pool, CENI_WAIT_SHED, call);
    return true;
}

/* One step; true if the next in line may be due another. */
static bool pump_first_locked(cen_pool *pool, uint32_t hint, ceni_followup *call)
{
    ceni_waiters *line = pool->line;
    uint64_t ctl = ctl_locked(line);
    ceni_pool_waiter *first = ceni_waiters_first_locked(line);
    if (!first || (ctl & (CENI_CTL_CLOSED | CENI_CTL_SURPLUS)) || pool->paused) return false;
    ceni_pool_waiter *vain = ceni_opening_vain_waiter_locked(pool);
    if (vain) {
        pool->tally.failed++;
        call->status = pool->gate.last.status;
        vain->code = pool->gate.last.code;
        ceni_waiters_drop_locked(pool, vain, CENI_WAIT_REFUSED, call);
        return true;
    }
    if (pool->options.shed_target_ns != CEN_OFF && shed_first_locked(pool, call)) return true;
    if ((ctl & CENI_CTL_READY) || first->pending || ceni_pool_has(&pool->strict))
        return serve_first_locked(pool, hint, call);
    if (!(ctl & CENI_CTL_HEIR) && (may_open_locked(pool) || ceni_idle_any_locked(pool))) call_first_locked(line, call);
    return false;
}

enum { MOST_TOLD = 16 }; /* without dropping the lock */

/* The hint is for the first step only: whoever has removed a first, who may have been the heir and left others, looks for
 * all. */
void ceni_waiters_pump_locked(cen_pool *pool, uint32_t hint, ceni_followup *call)
{
    for (bool next = true; next; hint = ceni_planted(shed_heir_is_forgotten) ? hint : CENI_NO_INDEX) {
        call->more = call->pending_count >= MOST_TOLD || call->thread_count == 2; /* the lock is to be dropped first */
        next = !call->more && pump_first_locked(pool, hint, call);
    }
    ceni_chores_plan_locked(pool, call);
    ceni_keeper_plan_locked(pool, call);
}

/* Behind others nothing has become due on its account, unless there may be an opening or a test for each. */
void ceni_waiters_joined_locked(cen_pool *pool, const ceni_pool_waiter *waiter, ceni_followup *call)
{
    bool due =
        ceni_waiters_first_locked(pool->line) == waiter || may_open_locked(pool) || ceni_trust_needs_test(pool, true);
    if (due) {
        ceni_waiters_pump_locked(pool, CENI_NO_INDEX, call);
        return;
    }
    ceni_chores_plan_locked(pool, call);
    ceni_keeper_plan_locked(pool, call);
}

static void deliver_all(ceni_pool_waiter *waiter)
{
    ceni_rank_expect_none("the delivery to a pending take");
    for (ceni_pool_waiter *next; waiter; waiter = next) {
        next = waiter->next_told;
        waiter->deliver(waiter, waiter->answer);
    }
}

/* Jobs that are to run on this thread run when all else has been done. */
void ceni_waiters_follow_up(ceni_waiters *line, uint64_t pool_id, cen_pool *pool, const ceni_followup *call)
{
    ceni_inline_run here;
    ceni_inline_begin(&here);
    for (unsigned i = 0; i < call->thread_count && !ceni_planted(grant_without_wake); i++)
        ceni_futex_wake(call->threads[i], 1);
    deliver_all(call->pending);
    if (call->opens) ceni_pending_open(pool, call->index);
    if (call->tests) ceni_trust_test_for_pending(pool, call->index);
    if (call->alarm) ceni_hand_alarm(pool);
    if (call->hire) ceni_hand_hire(pool, call->hire);
    if (call->hire_close) ceni_hand_hire_closers(pool, call->hire_close);
    if (call->shed_begins || call->shed_ended) ceni_shedding_tell(pool, call);
    if (call->more) ceni_waiters_tend(line, pool_id, CENI_NO_INDEX);
    ceni_inline_end(&here);
}

void ceni_waiters_tend(ceni_waiters *line, uint64_t pool_id, uint32_t hint)
{
    ceni_inline_run here;
    ceni_inline_begin(&here);
    for (bool more = true; more; hint = CENI_NO_INDEX) {
        ceni_followup call = {.more = false};
        ceni_waiters_lock(line);
        cen_pool *pool = line->pool_id == pool_id ? line->pool : NULL; /* it may be gone, and this another's line */
        if (pool) ceni_waiters_pump_locked(pool, hint, &call);
        ceni_waiters_unlock(line);
        more = call.more;
        call.more = false;
        ceni_waiters_follow_up(line, pool_id, pool, &call);
    }
    ceni_inline_end(&here);
}

/* ---- Handing over because the bound has passed ----------------------------------------- */

/* The clock costs as much as several takes, so it is read at every so many
 * gives: as many as fit in some 16 to 32 microseconds. A giver that is slower
 * than that reads it every time. */
enum {
    QUICK_NS = 16000,
    SLOW_NS = 32000,
    MOST_BATCH = 128,
    /* One who wakes on the processor on which the giver then parks runs at
     * once; on another it waits for whoever runs there. So a giver on the right
     * processor is given a little time to come. */
    GRACE_NS = 100000,
    HOLDS_LONG_NS = 50000,    /* a giver with such a cycle switches threads anyway: ... */
    HOLDS_LONGER_NS = 200000, /* ... half the pace, and none */
};

/* With more objects than processors a hand-over costs less, because somebody
 * else is always ready to run. Measured: see docs/internals/handoff.md. */
enum { PACE_WIDE_NS = 300000, PACE_NARROW_NS = 1000000 };

void ceni_waiters_pace(ceni_waiters *line, int64_t max_barging_ns, uint32_t max)
{
    ceni_store_relaxed(&line->max_barging_ns, max_barging_ns); /* a setting; carries nothing */
    /* likewise; carries nothing */
    ceni_store_relaxed(&line->pace_ns, max > ceni_cpu_count() ? PACE_WIDE_NS : PACE_NARROW_NS);
}

static int64_t pace_for(const ceni_waiters *line, int64_t cycle_ns)
{
    int64_t pace = ceni_load_relaxed(&((ceni_waiters *)(uintptr_t)line)->pace_ns); /* a setting; carries nothing */
    if (cycle_ns >= HOLDS_LONGER_NS) return 0;
    return cycle_ns >= HOLDS_LONG_NS ? pace / 2 : pace;
}

/* Whether the first in line has waited for its bound, as far as this giver, who looks now and then, can tell. */
static bool hand_over_is_due(ceni_waiters *line, uint32_t mark)
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
    /* Times that another giver may be changing: a guess, whose error is one hand-over more or less. Carries nothing.
     * Differences, because a bound may be too large to be added to anything. */
    int64_t waited = now - ceni_load_relaxed(&line->first_since);
    int64_t beyond_bound = (waited > 0 ? waited : 0) - ceni_load_relaxed(&line->max_barging_ns);
    int64_t beyond_pace = now - ceni_load_relaxed(&line->handed_at) - pace_for(line, cycle);
    int64_t late = beyond_bound < beyond_pace ? beyond_bound : beyond_pace;
    if (late < 0) return false;
    return late >= GRACE_NS || ceni_load_relaxed(&line->first_cpu) == ceni_cpu_current(); /* carries nothing */
}

/* Never waits for the lock: whoever has it serves the line. */
static void hand_over(ceni_waiters *line, uint64_t pool_id, uint32_t hint)
{
    if (!ceni_mutex_try_lock(&line->mutex, CENI_RANK_POOL)) return;
    ceni_followup call = {.more = false};
    ceni_grant grant;
    cen_pool *pool = line->pool_id == pool_id ? line->pool : NULL;
    bool open = pool && !pool->paused && ceni_waiters_first_locked(line) &&
                !(ctl_locked(line) & (CENI_CTL_CLOSED | CENI_CTL_SURPLUS));
    if (open && pool->options.shed_target_ns != CEN_OFF) { /* the pump asks whether it is to be served at all */
        ceni_waiters_mark_locked(line, 0, CENI_CTL_READY);
        ceni_waiters_pump_locked(pool, hint, &call);
    } else if (open && find_for_first_locked(pool, hint, &grant, &call)) {
        grant_locked(pool, ceni_waiters_first_locked(line), &grant, ceni_clock_now(), &call);
        ceni_waiters_pump_locked(pool, CENI_NO_INDEX, &call);
    }
    ceni_waiters_unlock(line);
    ceni_waiters_follow_up(line, pool_id, pool, &call);
}

cen_status ceni_waiters_heed(ceni_waiters *line, uint64_t pool_id, uint64_t ctl, uint32_t index, uint64_t generation)
{
    if (ctl & (CENI_CTL_CLOSED | CENI_CTL_SURPLUS)) {
        if (ceni_pool_retire(line, pool_id, index, generation)) return CEN_OK;
        ctl = ceni_load_seq_cst(&line->ctl); /* [L4] what was marked is gone, and somebody may have joined meanwhile */
    }
    if (ctl < CENI_CTL_ONE) return CEN_OK;
    if ((ctl & CENI_CTL_READY) || !(ctl & CENI_CTL_HEIR)) ceni_waiters_tend(line, pool_id, index);
    else if (hand_over_is_due(line, (uint32_t)pool_id)) hand_over(line, pool_id, index);
    return CEN_OK;
}

/* A place became free. No give will ask for the bound on account of it, so whoever frees it does. */
void ceni_waiters_hurry_locked(cen_pool *pool)
{
    ceni_pool_waiter *first = ceni_waiters_first_locked(pool->line);
    bool called = ctl_locked(pool->line) & CENI_CTL_HEIR;
    if (first && called && ceni_clock_now() - first->since >= ceni_setting(&pool->max_barging_ns))
        ceni_waiters_mark_locked(pool->line, 0, CENI_CTL_READY);
}

/* ---- Joining and leaving ------------------------------------------------------------------ */

bool ceni_waiters_join_locked(cen_pool *pool, ceni_pool_waiter *waiter, int64_t now)
{
    ceni_waiters *line = pool->line;
    if (!ceni_waiters_first_locked(line)) ceni_pace_begin_locked(pool, now);
    waiter->since = now;
    waiter->came = ceni_pool_moment(pool, now);
    waiter->cpu = ceni_cpu_current();
    waiter->failed_before = pool->gate.failed;
    ceni_turn_push_locked(pool, waiter);
    bool first = ceni_waiters_first_locked(line) == waiter;
    pool->tally.waited++;
    uint64_t ctl = ctl_locked(line) + CENI_CTL_ONE;
    if (first) show_first_locked(line, waiter);
    /* Who was first until now is so no more, and what was left to it is left to the new one, or its pump. */
    if (first && !ceni_planted(newcomer_leaves_ready)) ctl &= ~(uint64_t)(CENI_CTL_HEIR | CENI_CTL_READY);
    bool strict = ceni_pool_has(&pool->strict);
    if (strict) ctl |= CENI_CTL_FIRST;
    bool heir = first && !waiter->pending && !strict && !pool->paused;
    if (heir) ctl |= CENI_CTL_HEIR;
    ceni_store_seq_cst(&line->ctl, ctl); /* [L1] */
    return heir;
}

/* Takes it out, if it is still in line, and passes its role on; drops the lock. `count` NULL: it counts as cancelled. */
static bool leave_locked(ceni_waiters *line, ceni_pool_waiter *waiter, uint64_t *count)
{
    ceni_followup call = {.more = false};
    bool in_line = ceni_list_linked(&waiter->link);
    cen_pool *pool = line->pool; /* if it is in line, its own */
    uint64_t id = line->pool_id;
    if (in_line) {
        int64_t now = ceni_clock_now();
        bool first = ceni_waiters_first_locked(line) == waiter, served = count == &pool->tally.served;
        ceni_wait_ends_locked(pool, now - waiter->since);
        ++*(count ? count : &pool->tally.cancelled);
        if (served) ceni_tell_waited_locked(pool, waiter, now);
        if (served) ceni_pace_served_locked(pool, now);
        if (served) ceni_shedding_served_locked(pool, waiter, now, &call);
        remove_locked(pool, waiter, &call);
        if (first && !ceni_planted(expired_first_keeps_role)) ceni_waiters_pump_locked(pool, CENI_NO_INDEX, &call);
    }
    ceni_waiters_unlock(line);
    ceni_waiters_follow_up(line, id, pool, &call);
    return in_line;
}

bool ceni_waiters_leave(cen_pool *pool, ceni_pool_waiter *waiter, uint64_t *count)
{
    ceni_waiters_lock(pool->line);
    return leave_locked(pool->line, waiter, count);
}

bool ceni_waiters_withdraw(ceni_waiters *line, ceni_pool_waiter *waiter)
{
    ceni_waiters_lock(line);
    return leave_locked(line, waiter, NULL) || ceni_planted(cancel_loses_the_object);
}

bool ceni_waiters_interrupt(cen_pool *pool, uint64_t holder)
{
    ceni_waiters *line = pool->line;
    ceni_followup call = {.more = false};
    ceni_waiters_lock(line);
    ceni_pool_waiter *found = ceni_turn_of_thread_locked(line, holder);
    if (found) {
        bool first = ceni_waiters_first_locked(line) == found;
        ceni_wait_ends_locked(pool, ceni_clock_now() - found->since);
        pool->tally.cancelled++;
        remove_locked(pool, found, &call);
        tell(found, CENI_WAIT_INTERRUPTED, &call);
        if (first && !ceni_planted(interrupted_first_keeps_role)) ceni_waiters_pump_locked(pool, CENI_NO_INDEX, &call);
    }
    uint64_t id = pool->id;
    ceni_waiters_unlock(line);
    ceni_waiters_follow_up(line, id, pool, &call);
    return found != NULL;
}

bool ceni_waiters_ready(cen_pool *pool, ceni_pool_waiter *waiter, bool *glances)
{
    ceni_followup call = {.more = false};
    ceni_waiters_lock(pool->line);
    bool first = ceni_waiters_first_locked(pool->line) == waiter;
    if (first) ceni_waiters_mark_locked(pool->line, 0, CENI_CTL_READY);
    if (first) ceni_chores_plan_locked(pool, &call);
    *glances = !first && ceni_list_linked(&waiter->link) && ceni_waiters_first_is_pending_locked(pool->line);
    ceni_waiters_unlock(pool->line);
    ceni_waiters_follow_up(pool->line, pool->id, pool, &call);
    return first;
}

/* One at a time, so that the lock is never held for long. */
uint32_t ceni_waiters_send_away(cen_pool *pool)
{
    uint32_t count = 0;
    for (bool more = true; more;) {
        ceni_followup call = {.status = CEN_CLOSED};
        ceni_waiters_lock(pool->line);
        more = ceni_waiters_first_locked(pool->line) != NULL;
        if (more) {
            pool->tally.sent_away++;
            ceni_waiters_drop_first_locked(pool, CENI_WAIT_SENT_AWAY, &call);
            count++;
        }
        ceni_waiters_unlock(pool->line);
        ceni_waiters_follow_up(pool->line, pool->id, pool, &call);
    }
    return count;
}
