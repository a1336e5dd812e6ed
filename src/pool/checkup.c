/* SPDX-License-Identifier: MIT */
/*
 * Checkups: a helper makes the health check of an object that a take has found, so that the take returns by its
 * deadline.
 *
 * A take that finds an object which was idle for too long to be trusted has it tested. If the driver blocks, the test
 * may hang, and a thread that calls it cannot leave. So a helper tests the slot, as in the keeper's tests, and the
 * take sleeps meanwhile:
 *
 *     take     HELD,g ▶ TESTING,g, queued, the record joins ▶ sleeps until told, or its deadline
 *     helper   passes: TESTING,g ▶ HELD,g, told PASSED ........ the take has the object
 *              fails:  told FAILED, then TESTING,g ▶ CLOSING ... the take tries another object
 *     take     at its deadline: the record leaves ............. TIMEOUT; the text names the object
 *     helper   passes, and the take has left: TESTING,g ▶ IDLE,g, the pump
 *     keeper   the test takes too long: told FAILED, the slot is marked and ends when the call returns
 *     close    told CLOSED
 *     program  interrupts it: told INTERRUPTED; sets its stop token: WAITS ▶ STOPPED, it leaves; cancels it: it leaves
 *
 * Each take has its own object and each object its own helper: a test that hangs delays no other take. These tests
 * are added to the capacity of max_concurrent_tests until they end, also after their takes have left.
 *
 * Ownership of the object. The naive version: the take times out, and the helper makes the slot HELD for a take that
 * is gone. Here the slot has a pointer to the record as long as the take waits. The thread that clears it, under the
 * pool's lock, decides: the take, that it leaves; the helper, the keeper or the close, the take's result. Only a
 * helper that finds the pointer makes the slot HELD, in the same critical section.
 *
 * A set of the stop token takes no lock. It only wakes the take, which then leaves as at its deadline, unless it got
 * a result first. A thread that is cancelled in its sleep leaves in the same way, and gives back an object that
 * passed.
 *
 * The record is on the stack of the take's thread. The thread that notifies it writes the state last and wakes it by
 * address. After CLOSED the take does not touch the pool, which may be gone.
 *
 * A take with neither a deadline nor a stop token, or with CEN_NOW, tests on its own thread. So do all takes of a
 * pool with a manual runtime, which has no helpers, and of a driver that does not block.
 *
 * Order table
 * [B1] tell  | store of the state, under the lock | release | B2 | what the driver said; that the slot is HELD | the take reads a half-written outcome
 * [B2] await, leave | load of the state | acquire | B1, S5 in sync/stop.c | the same; STOPPED carries nothing | the same
 * [B3] begin | add to shifts | seq_cst | V5 in stats.c | that a slot left the state and came back with the same word | two readings consider a slot held all the time that was tested
 *
 * Tested by tests/unit/pool/checkup_test.c, tests/explore/pool_checkup_test.c.
 */
#include <stdio.h>

#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"
#include "port/process_exit.h"
#include "sync/stop.h"

typedef enum checkup_state {
    WAITS,
    STOPPED, /* still waiting, but its stop token was set */
    PASSED,  /* the slot is HELD by the take */
    FAILED,
    RENEWED, /* the object works, but is due for replacement */
    INTERRUPTED,
    CLOSED,
} checkup_state;

typedef struct ceni_checkup {
    /* the futex word of the take's thread; written under the lock */
    _Atomic uint32_t state;
    /* under the lock */
    ceni_list link; /* in the pool's list while it waits */
    ceni_slot *slot;
    /* fixed before it joins */
    uint64_t holder;
    /* written before FAILED, read after */
    char said[CENI_CHECK_SAID];
} ceni_checkup;

/* ---- Notifying the take ----------------------------------------------------------------- */

/* The last access to the record. */
static _Atomic uint32_t *tell_locked(ceni_checkup *checkup, checkup_state state)
{
    ceni_list_remove(&checkup->link);
    checkup->slot->checkup = NULL;
    ceni_store_release(&checkup->state, (uint32_t)state); /* [B1] */
    return &checkup->state;
}

static ceni_checkup *of_locked(const ceni_slot *slot)
{
    return slot->notes.is_awaited ? slot->checkup : NULL;
}

static void wake(_Atomic uint32_t *word)
{
    if (word && !ceni_planted(checkup_without_wake)) ceni_futex_wake(word, 1);
}

static void copy_words(char *into, const char *words)
{
    snprintf(into, CENI_CHECK_SAID, "%.*s", CENI_CHECK_SAID - 1, words);
}

/* Decide the take's result. The caller still owns the slot, unless the result is PASSED. */
static checkup_state decide_locked(cen_pool *pool, ceni_slot *slot, uint64_t generation, bool awaited, bool works)
{
    bool closed =
        ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED; /* written under this lock; carries nothing */
    if (!works) return FAILED;
    if (closed) return CLOSED;
    if (!awaited && !ceni_planted(checkup_of_nobody_is_held)) return RENEWED; /* no take is notified */
    return ceni_slot_move_unmarked(slot, generation, CENI_SLOT_TESTING, CENI_SLOT_HELD) ? PASSED : RENEWED;
}

bool ceni_checkup_ends(cen_pool *pool, uint32_t index, uint64_t generation, const char *failure)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    char said[CENI_CHECK_SAID] = "";
    if (failure) copy_words(said, failure);
    ceni_waiters_lock(pool->waiters);
    if (!slot->notes.is_awaited) {
        ceni_waiters_unlock(pool->waiters);
        return false;
    }
    ceni_checkup *checkup = of_locked(slot);
    checkup_state state = decide_locked(pool, slot, generation, checkup, !failure);
    if (checkup) memcpy(checkup->said, said, sizeof said);
    _Atomic uint32_t *word = checkup ? tell_locked(checkup, state) : NULL;
    slot->notes.is_awaited = false;
    pool->awaited_tests--;
    ceni_waiters_unlock(pool->waiters);
    wake(word);
    return state == PASSED;
}

_Atomic uint32_t *ceni_checkup_overdue_locked(ceni_slot *slot)
{
    ceni_checkup *checkup = of_locked(slot);
    if (!checkup || ceni_planted(late_checkup_is_awaited)) return NULL;
    memcpy(checkup->said, "timed out (test_timeout_ns)", sizeof "timed out (test_timeout_ns)");
    return tell_locked(checkup, FAILED);
}

void ceni_checkup_wake(_Atomic uint32_t *word)
{
    wake(word);
}

/* One at a time, so that the lock is never held for long. */
void ceni_checkups_send_away(cen_pool *pool)
{
    for (bool more = true; more;) {
        ceni_waiters_lock(pool->waiters);
        ceni_list *link = ceni_list_first(&pool->checkups);
        more = link != NULL;
        _Atomic uint32_t *word = more ? tell_locked(CENI_LIST_ENTRY(link, ceni_checkup, link), CLOSED) : NULL;
        ceni_waiters_unlock(pool->waiters);
        wake(word);
    }
}

bool ceni_checkup_interrupt(cen_pool *pool, uint64_t holder)
{
    _Atomic uint32_t *word = NULL;
    ceni_waiters_lock(pool->waiters);
    for (ceni_list *link = pool->checkups.next; link != &pool->checkups && !word; link = link->next) {
        ceni_checkup *checkup = CENI_LIST_ENTRY(link, ceni_checkup, link);
        if (checkup->holder == holder) word = tell_locked(checkup, INTERRUPTED);
    }
    ceni_waiters_unlock(pool->waiters);
    wake(word);
    return word != NULL;
}

/* ---- The take ---------------------------------------------------------------------------- */

bool ceni_checkup_is_due(cen_pool *pool, int64_t moment, const cen_stop_token *stop)
{
    if (!pool->helped || !pool->calls.test || ceni_callout_inside(pool)) return false;
    if (moment == CENI_FOREVER && !stop) return false;
    cen_runtime *runtime = ceni_pool_runtime(pool);
    bool helpers = runtime && !ceni_runtime_is_manual(runtime) && !ceni_exiting();
    return helpers && moment > ceni_pool_now(pool) && !ceni_planted(take_tests_by_itself);
}

/* Pass the slot, which the caller holds, to a helper. Returns false, and changes nothing, if the slot was marked or
 * revoked or the pool is closed. */
static bool begin(cen_pool *pool, const ceni_grant *grant, ceni_checkup *checkup)
{
    ceni_slot *slot = grant->slot;
    ceni_followup followup = {.more = false};
    ceni_waiters_lock(pool->waiters);
    bool closed =
        ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED; /* written under this lock; carries nothing */
    bool begins = !closed && ceni_slot_move_unmarked(slot, grant->generation, CENI_SLOT_HELD, CENI_SLOT_TESTING);
    if (begins) {
        ceni_add_seq_cst(&pool->shifts, 1);      /* [B3] */
        ceni_store_relaxed(&slot->tested_at, 0); /* not begun yet, so it is not overdue; carries nothing */
        slot->notes = (ceni_slot_notes){.is_awaited = true};
        slot->checkup = checkup;
        checkup->slot = slot;
        ceni_list_push_back(&pool->checkups, &checkup->link);
        pool->awaited_tests++;
        ceni_queues_add_locked(pool, CENI_CHORE_TEST, slot);
        ceni_chores_plan_locked(pool, &followup);
    }
    ceni_waiters_unlock(pool->waiters);
    ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
    return begins;
}

/* Leave, unless the take was notified. Returns the state. The wait queue outlives the pool. */
static checkup_state leave(ceni_waiters *waiters, ceni_checkup *checkup)
{
    ceni_waiters_lock(waiters);
    checkup_state state = (checkup_state)ceni_load_acquire(&checkup->state); /* [B2] */
    if (state == WAITS || state == STOPPED) {
        ceni_list_remove(&checkup->link);
        checkup->slot->checkup = NULL;
    }
    ceni_waiters_unlock(waiters);
    return state;
}

typedef struct sleeping {
    cen_pool *pool;
    ceni_waiters *waiters;
    const ceni_grant *grant;
    ceni_checkup *checkup;
    ceni_stop_wait *stop;
} sleeping;

/* The thread ends, and its take does not return. After CLOSED it does not touch the pool. */
static void leave_cancelled(void *argument)
{
    sleeping *self = argument;
    bool passed = leave(self->waiters, self->checkup) == PASSED;
    if (passed && !ceni_planted(cancelled_checkup_keeps_its_object)) ceni_grant_return(self->pool, self->grant);
    ceni_stop_leave(self->stop);
}

/* Sleep until the take is notified, its token is set, or the moment has passed; then leave. */
static checkup_state await(const sleeping *self, int64_t moment)
{
    uint32_t state;
    bool late = false;
    while ((state = ceni_load_acquire(&self->checkup->state)) == WAITS && !late) { /* [B2] */
        late = ceni_futex_wait_cancellable(&self->checkup->state, WAITS, moment, leave_cancelled,
                                           (void *)(uintptr_t)self) == CENI_TIMED_OUT;
    }
    return state == WAITS || state == STOPPED ? leave(self->waiters, self->checkup) : (checkup_state)state;
}

/* The same with a token. A token that is already set, or that belongs to the parent process, has the effect of one
 * that is set now. */
static checkup_state await_stop(sleeping *self, int64_t moment, cen_stop_token *stop, cen_status *stopped)
{
    if (ceni_planted(checkup_is_not_stopped)) stop = NULL;
    *stopped = ceni_stop_join(self->stop, stop, &self->checkup->state, WAITS, STOPPED);
    if (*stopped != CEN_OK) return leave(self->waiters, self->checkup);
    checkup_state state = await(self, moment);
    if (state == STOPPED) *stopped = CEN_INTERRUPTED;
    ceni_stop_leave(self->stop);
    return state;
}

cen_status ceni_checkup_make(cen_pool *pool, const ceni_grant *grant, const ceni_wait_terms *terms, ceni_checks *checks)
{
    ceni_checkup checkup = {.state = WAITS, .holder = ceni_holder_number()};
    ceni_stop_wait stop;
    sleeping self = {.pool = pool, .waiters = pool->waiters, .grant = grant, .checkup = &checkup, .stop = &stop};
    cen_status stopped;
    ceni_list_init(&checkup.link);
    int64_t began = ceni_pool_now(pool);
    checks->goes_on = false;
    if (!begin(pool, grant, &checkup)) return CEN_BUSY;
    checkup_state state = await_stop(&self, terms->moment, terms->stop, &stopped);
    if (state == CLOSED) return CEN_CLOSED; /* first: the pool may be gone */
    if (state == PASSED) return CEN_OK;
    int64_t took = ceni_pool_now(pool) - began;
    if (state == FAILED) ceni_checks_add(checks, grant->index, took, checkup.said);
    if (state == FAILED || state == RENEWED) return CEN_DRIVER;
    checks->goes_on = true;
    checks->index = grant->index;
    checks->last_ns = took;
    if (state == INTERRUPTED) return CEN_INTERRUPTED;
    return stopped == CEN_OK ? CEN_TIMEOUT : stopped;
}
