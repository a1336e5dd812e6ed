/* SPDX-License-Identifier: MIT */
/*
 * Take and give: the quick path, and the slow paths behind it.
 *
 *     take: my last slot of this pool, IDLE,g ▶ HELD,g+1 by one CAS (quick.h)
 *     give: HELD,g ▶ IDLE,g by one CAS, then one load of the queue's word
 *
 * A take that finds its slot in any other state takes the slow path: search, open, wait. A give whose CAS fails finds
 * out why: the slot was struck from the map, the lease has ended, or a close has revoked it.
 *
 * After the CAS of a give another thread may own the slot, and the pool may be gone. From then on only the wait queue
 * is read, which always exists.
 *
 * Linearisation points: a take at the CAS that makes its slot HELD; a take that is refused because the pool is closed
 * at its load of ctl; a give at its CAS.
 *
 * Order table
 * [T1] take  | load of ctl           | relaxed | - | nothing: whether the pool is closed, or takes must queue; carries nothing | -
 * [T3] give  | cas of the word       | seq_cst | Q2 in quick.h, L1 in waiters.c | the object's bytes, to the next holder; that the slot is idle, before ctl is read | the next holder reads old bytes; a waiter sleeps beside an idle object
 * [T4] give  | load of ctl after T3  | seq_cst | L1 in waiters.c | whether there is a waiter | the same
 * [T7] give  | cas of the word, before a check | seq_cst | Q2 in quick.h | that this thread owns the object | two threads check it, or one checks a closed object
 * [T5] note  | stores of where, since, note | release | the loads in look.c | that they belong to the generation | a list of holders shows the previous holder
 * [T6] adopt | store of the object   | release | V2 in look.c | the object's bytes, to visitors | a visitor sees a half-made object
 */
#include "base/error.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "pool/quick.h"
#include "port/deadline.h"
#include "port/port.h"
#include "sync/future.h"
#include "sync/stop.h"

/* How a take waits: with a priority, or not at all, with EMPTY if there is no object. */
typedef enum take_wish {
    WISH_HIGH = CEN_PRIORITY_HIGH,
    WISH_NORMAL = CEN_PRIORITY_NORMAL,
    WISH_LOW = CEN_PRIORITY_LOW,
    WISH_TRY,
    WISH_INVALID, /* the program named no priority */
} take_wish;

static inline take_wish wish_of(cen_priority priority)
{
    return (unsigned)priority <= CEN_PRIORITY_LOW ? (take_wish)priority : WISH_INVALID;
}

enum { FEW = 64 }; /* slots that every wait may read */

void ceni_slot_note(const cen_pool *pool, ceni_slot *slot, uint64_t generation, uint64_t holder, const char *where)
{
    bool timed = ceni_use_is_timed(pool, generation);
    if (timed) ceni_store_release(&slot->since, ceni_pool_now(pool)); /* [T5] */
    ceni_note_lease(slot, ceni_slot_note_of(holder, generation) ^ (timed ? CENI_NOTE_TIMED : 0), where);
}

/* ---- Take ------------------------------------------------------------------------------ */

cen_status ceni_pool_check(const cen_pool *pool, const char *call, cen_error *error)
{
    if (!pool) {
        ceni_error_set(error, CEN_INVALID, 0, "%s: pool is NULL", call);
        return CEN_INVALID; /* explicit, for analysers that do not see into ceni_error_set */
    }
    return ceni_pool_is_ours(pool) ? CEN_OK : ceni_renew((cen_pool *)(uintptr_t)pool, error);
}

cen_status ceni_pool_refuse_closed(const char *name, cen_error *error)
{
    return ceni_error_because(error, CEN_CAUSE_CLOSED,
                              ceni_error_set(error, CEN_CLOSED, 0, "pool \"%s\": it has been closed", name));
}

cen_status ceni_pool_misuse(const cen_pool *pool, const char *what, cen_error *error)
{
    ceni_error_set(error, CEN_MISUSE, 0,
                   "pool \"%s\": %s is not allowed inside the pool's driver, visitor or listener; do it after the "
                   "callback has returned",
                   pool->name, what);
    return ceni_error_because(error, CEN_CAUSE_INSIDE_CALL, CEN_MISUSE);
}

/* Open an object in the claimed place. If the pool was closed meanwhile, the object is closed again. */
cen_status ceni_take_open(cen_pool *pool, ceni_grant *grant, bool waited, cen_error *error)
{
    /* saves a useless call; carries nothing */
    bool refused = ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED;
    cen_status status =
        refused ? ceni_pool_refuse_closed(pool->name, error) : ceni_place_open(pool, grant->index, error);
    ceni_followup followup = {.more = false};
    ceni_waiters_lock(pool->waiters);
    bool closed =
        ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED; /* written under this lock; carries nothing */
    if (status == CEN_OK && !closed) {
        ceni_place_lend(pool, grant->index, grant);
        ceni_place_opened_locked(pool, &followup);
        ceni_waiters_unlock(pool->waiters);
        ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
        return CEN_OK;
    }
    pool->tally.served -= waited;
    pool->tally.failed += waited;
    if (status != CEN_OK) {
        ceni_place_vacate_locked(pool, grant->index, CENI_SLOT_OPENING);
        return status;
    }
    ceni_waiters_unlock(pool->waiters);
    status = ceni_pool_refuse_closed(pool->name, error);
    ceni_place_end_from(pool, grant->index, ceni_slot_generation(pool, grant->index), CENI_SLOT_OPENING, "pool closed");
    return status;
}

/* Test an object that was idle for long. If it fails, it is closed, and the take goes on. */
static bool is_sound(cen_pool *pool, const ceni_grant *grant, ceni_checks *checks)
{
    ceni_keeper_nudge(pool);
    if (ceni_chores_works(pool, grant->slot, checks)) return true;
    bool ours =
        ceni_place_end_from(pool, grant->index, grant->generation, CENI_SLOT_HELD, "health check failed during a take");
    if (!ours && !ceni_planted(failed_test_forgets)) /* it was revoked meanwhile, and no holder will give it */
        ceni_slot_take_back(pool, grant->index, grant->generation);
    return false;
}

/* A running take: its arguments, and its progress. */
typedef struct taking {
    cen_deadline deadline; /* absolute after pin() */
    take_wish wish;
    bool again;           /* the object that the last try found failed its test: try again */
    cen_stop_token *stop; /* NULL: none */
    const char *where;
    int64_t began; /* when the clock was read first; valid if has_begun */
    bool has_begun;
    ceni_checks checks;
} taking;

/* Make the deadline absolute, so that further tries have only the remaining time. Returns its moment. */
static int64_t pin(const cen_pool *pool, taking *take)
{
    int64_t now = ceni_pool_now(pool), moment = ceni_deadline_moment(take->deadline, now);
    bool relative = !ceni_deadline_is_now(take->deadline) && moment != CENI_FOREVER;
    if (relative && !ceni_planted(deadline_begins_anew)) take->deadline = cen_at(moment);
    if (!take->has_begun) take->began = now;
    take->has_begun = true;
    return moment;
}

static ceni_wait_terms terms_of(const taking *take, int64_t moment)
{
    return (ceni_wait_terms){
        .priority = (cen_priority)take->wish, .moment = moment, .stop = take->stop, .where = take->where};
}

/* The token is set, or belongs to the parent process. */
static cen_status tell_stopped(const cen_pool *pool, cen_status status, cen_error *error)
{
    const char *why = status == CEN_FORKED ? "the stop token belongs to the parent process" : "the stop token is set";
    ceni_error_set(error, status, 0, "pool \"%s\": the take was not started: %s", pool->name, why);
    return ceni_error_because(error, status == CEN_FORKED ? CEN_CAUSE_NONE : CEN_CAUSE_STOPPED, status);
}

/* The program has ended the take while its object was tested. */
static cen_status end_early(cen_pool *pool, cen_status status, const taking *take, cen_error *error)
{
    if (status == CEN_FORKED) return tell_stopped(pool, status, error);
    cen_cause cause = cen_stop_token_is_set(take->stop) ? CEN_CAUSE_STOPPED : CEN_CAUSE_INTERRUPTED;
    ceni_verdict verdict = {.status = status, .cause = cause, .checks = &take->checks};
    ceni_add_relaxed(&pool->missed, 1); /* a number; carries nothing */
    return ceni_tell_refusal(pool, verdict, ceni_pool_now(pool) - take->began, ceni_holder_known(), error);
}

/* Test the object: by a helper if the take may have to leave before the test ends, otherwise here. EMPTY, with
 * `again`: it did not pass in time. */
static cen_status examine(cen_pool *pool, const ceni_grant *grant, taking *take, cen_error *error)
{
    cen_status status = CEN_BUSY;
    bool now = ceni_deadline_is_now(take->deadline);
    int64_t moment = now ? CENI_FOREVER : pin(pool, take);
    if (!now && ceni_checkup_is_due(pool, moment, take->stop)) {
        char name[CENI_POOL_NAME]; /* the pool may be gone if the status is CLOSED */
        memcpy(name, pool->name, sizeof name);
        ceni_keeper_nudge(pool);
        ceni_wait_terms terms = terms_of(take, moment);
        status = ceni_checkup_make(pool, grant, &terms, &take->checks);
        if (status == CEN_CLOSED) return ceni_pool_refuse_closed(name, error);
        if (status == CEN_INTERRUPTED || status == CEN_FORKED) return end_early(pool, status, take, error);
    }
    take->again = status == CEN_BUSY ? !is_sound(pool, grant, &take->checks) : status != CEN_OK;
    return take->again ? CEN_EMPTY : CEN_OK;
}

/* Make the grant a lease. In a claimed place an object is opened first. */
static cen_status finish(cen_pool *pool, ceni_grant *grant, bool waited, taking *take, cen_lease *out, cen_error *error)
{
    ceni_pool_own *own = ceni_pool_own_get();
    cen_status status = grant->slot ? CEN_OK : ceni_take_open(pool, grant, waited, error);
    if (status != CEN_OK) return status;
    if (grant->stale && !ceni_planted(trust_has_no_end)) status = examine(pool, grant, take, error);
    if (status != CEN_OK) return status;
    if (!own->armed) ceni_holder_arm();
    ceni_note_slot(pool, grant);
    ceni_held_counts(own);
    ceni_slot_note(pool, grant->slot, grant->generation, ceni_holder_number(), take->where);
    ceni_tell_taken(pool, grant->index, take->where);
    ceni_lease_fill(pool, grant->slot, grant->generation, out);
    return CEN_OK;
}

/* Wait in the queue: no object is idle, and this thread can open none. */
static cen_status wait_for(cen_pool *pool, taking *take, int64_t moment, cen_lease *out, cen_error *error)
{
    char name[CENI_POOL_NAME]; /* the pool may be gone if the status is CLOSED */
    memcpy(name, pool->name, sizeof name);
    ceni_grant grant;
    ceni_wait_terms terms = terms_of(take, moment);
    ceni_verdict verdict = ceni_pool_wait(pool, &terms, &grant);
    if (verdict.status == CEN_OK || verdict.status == CEN_TIMEOUT) ceni_times_tend(pool);
    if (verdict.status == CEN_OK) return finish(pool, &grant, true, take, out, error);
    if (verdict.status == CEN_CLOSED) return ceni_pool_refuse_closed(name, error);
    if (verdict.status == CEN_FORKED) return tell_stopped(pool, CEN_FORKED, error);
    if (verdict.status == CEN_FULL && verdict.max == 0) ceni_chores_wish(pool); /* no take may wait for one */
    verdict.checks = &take->checks;
    return ceni_tell_refusal(pool, verdict, ceni_pool_now(pool) - take->began, ceni_holder_known(), error);
}

/* A holder that holds all objects would wait for itself. */
static cen_status check_self_wait(cen_pool *pool, cen_error *error)
{
    uint64_t me = ceni_holder_known();
    uint32_t max = ceni_load_relaxed(&pool->max); /* a setting; carries nothing */
    bool fails = ceni_pool_has(&pool->fails_self_wait);
    /* The slots are read only if the holder may hold all of them, and, for the event alone, only in a small pool. */
    if (ceni_holder_current()->held < max || (!fails && max > FEW) || !ceni_holder_has_all(pool, me)) return CEN_OK;
    if (!fails) {
        char holder[CENI_HOLDER_ROOM];
        ceni_pool_event_tell(pool, (ceni_occurrence){.kind = CEN_EVENT_SELF_WAIT, .holder = me},
                             "%s waits for an object and holds all of them itself", ceni_holder_say(me, holder));
        return CEN_OK;
    }
    ceni_error_set(error, CEN_MISUSE, 0, "pool \"%s\": this %s holds all %u objects itself; give one back first",
                   pool->name, ceni_holder_word(me), max);
    return ceni_error_because(error, CEN_CAUSE_SELF_WAIT, CEN_MISUSE);
}

/* The status of a take that got nothing in its time. */
static cen_status none_for(take_wish wish)
{
    return wish == WISH_TRY ? CEN_EMPTY : CEN_TIMEOUT;
}

static cen_status miss(cen_pool *pool, const taking *take, int64_t waited, cen_error *error)
{
    ceni_verdict verdict = {.status = none_for(take->wish), .checks = &take->checks};
    ceni_add_relaxed(&pool->missed, 1); /* a number; carries nothing */
    /* no event: a program may call it in a loop */
    if (waited == 0) return ceni_explain_refusal(pool, verdict, 0, ceni_holder_known(), error);
    return ceni_tell_refusal(pool, verdict, waited, ceni_holder_known(), error);
}

/* One try: an idle object, a new object, or a wait. */
static cen_status take_once(cen_pool *pool, taking *take, cen_lease *out, cen_error *error)
{
    uint64_t ctl = ceni_load_relaxed(&pool->waiters->ctl); /* [T1] carries nothing */
    if (ctl & CENI_CTL_CLOSED) return ceni_pool_refuse_closed(pool->name, error);
    ceni_grant grant = {.slot = NULL};
    bool inside = ceni_callout_inside(pool);
    if (!(ctl & CENI_CTL_FIRST)) {
        if (ceni_idle_take_as_newcomer(pool, ceni_hint_get(ceni_pool_own_get(), pool->mark), &grant)) {
            if (grant.stale) pin(pool, take); /* before the test, which takes time */
            return finish(pool, &grant, false, take, out, error);
        }
        if (!inside && ceni_place_claim(pool, &grant.index)) return finish(pool, &grant, false, take, out, error);
    }
    bool now = ceni_deadline_is_now(take->deadline);
    if (inside && (!now || ceni_load_relaxed(&pool->openable) > 0)) /* a hint; carries nothing */
        return ceni_pool_misuse(pool, "a take that waits or opens", error);
    if (now) ceni_chores_wish(pool);
    if (now) return miss(pool, take, take->has_begun ? ceni_pool_now(pool) - take->began : 0, error);
    cen_status status = check_self_wait(pool, error);
    if (status != CEN_OK) return status;
    return wait_for(pool, take, pin(pool, take), out, error);
}

/* Try until an object works, or until the deadline: a found object may fail its test. */
static cen_status take_until(cen_pool *pool, taking *take, cen_lease *out, cen_error *error)
{
    cen_status status, none = none_for(take->wish);
    take->deadline = ceni_deadline_or(take->deadline, (cen_deadline){ceni_setting(&pool->default_deadline)});
    while ((status = take_once(pool, take, out, error)) != CEN_OK && take->again) {
        take->again = false;
        bool over = ceni_deadline_is_now(take->deadline) ? none != CEN_EMPTY : ceni_pool_now(pool) >= pin(pool, take);
        if (over) return miss(pool, take, ceni_pool_now(pool) - take->began, error);
        if (cen_stop_token_is_set(take->stop)) return end_early(pool, CEN_INTERRUPTED, take, error);
    }
    return status;
}

/* `from`: the return address of the public function, for backtraces. */
static cen_status take_as_told(cen_pool *pool, taking *take, cen_lease *out, cen_error *error, const void *from)
{
    cen_status status = ceni_pool_check(pool, "cen_pool_take", error);
    if (status != CEN_OK) return status;
    if (!out) return ceni_error_set(error, CEN_INVALID, 0, "cen_pool_take: out is NULL");
    if (take->wish == WISH_INVALID)
        return ceni_error_set(error, CEN_INVALID, 0, "pool \"%s\": options.priority must be a cen_priority",
                              pool->name);
    if (cen_stop_token_is_set(take->stop)) return tell_stopped(pool, CEN_INTERRUPTED, error);
    /* The quick path may have failed only because the holder has no number yet (a task's first take), or because the
     * lease is timed. */
    if (!ceni_holder_known() && ceni_holder_assign() && ceni_take_quickly(pool, 0, out, take->where)) return CEN_OK;
    if (ceni_take_sampled(pool, 0, out, take->where)) return CEN_OK;
    status = take_until(pool, take, out, error);
    if (status == CEN_OK) ceni_trace_note(pool, out, from);
    return status;
}

__attribute__((noinline)) static cen_status take_slowly(cen_pool *pool, cen_deadline deadline, cen_lease *out,
                                                        cen_error *error, const char *where, take_wish wish)
{
    /* First, because one lease in CENI_SAMPLED_ONE_IN takes this path only because it is timed. */
    if (pool && out && wish != WISH_INVALID && ceni_take_sampled(pool, 0, out, where)) return CEN_OK;
    taking take = {.deadline = deadline, .wish = wish, .where = where};
    return take_as_told(pool, &take, out, error, __builtin_return_address(0));
}

cen_status cen_pool_take_at(cen_pool *pool, cen_deadline deadline, cen_lease *out, cen_error *error, const char *where)
{
    if (__builtin_expect(pool && out && ceni_take_quickly(pool, 0, out, where), 1)) return CEN_OK;
    return take_slowly(pool, deadline, out, error, where, WISH_NORMAL);
}

/* The priority matters only if the take has to wait. */
cen_status cen_pool_take_priority_at(cen_pool *pool, cen_priority priority, cen_deadline deadline, cen_lease *out,
                                     cen_error *error, const char *where)
{
    bool known = wish_of(priority) != WISH_INVALID;
    if (__builtin_expect(pool && out && known && ceni_take_quickly(pool, 0, out, where), 1)) return CEN_OK;
    return take_slowly(pool, deadline, out, error, where, wish_of(priority));
}

cen_status cen_pool_take_stoppable_at(cen_pool *pool, cen_deadline deadline, cen_stop_token *stop, cen_lease *out,
                                      cen_error *error, const char *where)
{
    taking take = {.deadline = deadline, .wish = WISH_NORMAL, .stop = stop, .where = where};
    return take_as_told(pool, &take, out, error, __builtin_return_address(0));
}

cen_status cen_pool_take_with(cen_pool *pool, const cen_take_options *options, cen_lease *out, cen_error *error)
{
    cen_take_options known;
    cen_status status = cen_sized_read(&known, sizeof known, options, "cen_pool_take_with: options", error);
    if (status != CEN_OK) return status;
    taking take = {
        .deadline = known.deadline, .wish = wish_of(known.priority), .stop = known.stop, .where = known.where};
    return take_as_told(pool, &take, out, error, __builtin_return_address(0));
}

cen_status cen_pool_try_take_at(cen_pool *pool, cen_lease *out, cen_error *error, const char *where)
{
    if (__builtin_expect(pool && out && ceni_take_quickly(pool, 0, out, where), 1)) return CEN_OK;
    return take_slowly(pool, CEN_NOW, out, error, where, WISH_TRY);
}

/* ---- Give ---------------------------------------------------------------------------------- */

static bool retire(ceni_waiters *waiters, uint64_t pool_id, uint32_t index, uint64_t generation,
                   void (*end)(cen_pool *, uint32_t, const char *))
{
    ceni_waiters_lock(waiters);
    cen_pool *pool = waiters->pool_id == pool_id ? waiters->pool : NULL; /* or it is gone, with its slots */
    uint64_t ctl = ceni_load_relaxed(&waiters->ctl);                     /* written under this lock; carries nothing */
    bool surplus = ctl & (CENI_CTL_CLOSED | CENI_CTL_SURPLUS);
    bool ours = pool && surplus && ceni_idle_withdraw_locked(pool, index, generation);
    ceni_waiters_unlock(waiters);
    if (ours) end(pool, index, "above max, or pool closed");
    return ours;
}

bool ceni_pool_retire(ceni_waiters *waiters, uint64_t pool_id, uint32_t index, uint64_t generation)
{
    return retire(waiters, pool_id, index, generation, ceni_place_end);
}

bool ceni_pool_retire_quietly(ceni_waiters *waiters, uint64_t pool_id, uint32_t index, uint64_t generation)
{
    return retire(waiters, pool_id, index, generation,
                  ceni_planted(retired_open_pumps) ? ceni_place_end : ceni_place_end_quietly);
}

/* Check that the lease's pool exists and that the slot is one of its slots. */
static cen_status check_lease(const cen_lease *lease, uint32_t *index)
{
    if (!lease) return CEN_INVALID;
    cen_pool *pool = lease->pool;
    if (!pool) return CEN_STALE;
    if (!ceni_pool_is_ours(pool)) return CEN_FORKED;
    if (ceni_pool_is_newer(pool, lease->generation)) return CEN_STALE; /* the pool of the lease is gone */
    *index = ceni_slot_index(pool, lease->slot);
    if (*index != CENI_NO_INDEX) return CEN_OK;
    return ceni_renew_is_former(pool, lease->slot) ? CEN_FORKED : CEN_FOREIGN;
}

/* The note of the lease, which names its holder; read before the lease ends. */
static inline uint64_t note_of(const cen_lease *lease)
{
    ceni_slot *slot = lease->slot;
    return ceni_load_relaxed(&slot->note); /* written before the lease was returned to its taker; carries nothing */
}

/* The slot is not HELD. If the lease was revoked, the object comes back here. */
bool ceni_slot_take_back(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    if (ceni_slot_move(slot, generation, CENI_SLOT_REVOKING, CENI_SLOT_RETURNED)) return true;
    if (!ceni_slot_move(slot, generation, CENI_SLOT_REVOKED, CENI_SLOT_CLOSING)) return false;
    ceni_use_ends(pool, slot, generation);
    ceni_revoked_is_back(pool);
    ceni_place_end(pool, index, "revoked, then given back");
    return true;
}

/* The lease variable is cleared before the lease ends: it may be part of the object, which another thread may own
 * afterwards. */
static cen_status give_revoked(cen_pool *pool, uint32_t index, cen_lease *lease, uint64_t *note)
{
    uint64_t generation = lease->generation;
    const ceni_slot *slot = lease->slot;
    lease->pool = NULL;
    if (ceni_slot_take_back(pool, index, generation)) return CEN_REVOKED;
    if (ceni_orphan_given(pool, slot, generation, note)) return CEN_REVOKED;
    lease->pool = pool;
    return CEN_STALE;
}

static bool is_used_up(cen_pool *pool, ceni_slot *slot, uint64_t generation)
{
    int64_t most = ceni_setting(&pool->max_uses);
    /* came with the word; any value for a stale lease; carries nothing */
    uint64_t first = ceni_load_relaxed(&slot->first_generation);
    return most != CEN_OFF && generation - first >= (uint64_t)most + (ceni_planted(one_use_too_many) ? 1 : 0);
}

/* End a lease in a pool whose driver has check, or a timed lease. The slot becomes RESETTING first, so that one lease
 * is checked only once, and is timed while the pool cannot be gone. */
static bool give_checked(cen_pool *pool, uint32_t index, uint64_t generation, cen_future *giving, bool *kept)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    if (is_used_up(pool, slot, generation))
        return ceni_place_end_from(pool, index, generation, CENI_SLOT_HELD, "max uses reached (max_uses)");
    bool timed = ceni_use_is_timed(pool, generation);
    if (!pool->calls.check && !timed) return ceni_place_return(pool, index, generation, CENI_SLOT_HELD);
    if (!ceni_slot_move_unmarked(slot, generation, CENI_SLOT_HELD, CENI_SLOT_RESETTING))
        return ceni_place_return(pool, index, generation, CENI_SLOT_HELD); /* marked, or not held */
    if (timed) ceni_use_ends(pool, slot, generation);
    if (!pool->calls.check) return ceni_place_return(pool, index, generation, CENI_SLOT_RESETTING);
    if (giving) {
        slot->scope_generation = ~generation;
        slot->giving = giving;
        *kept = true;
    }
    ceni_chores_check(pool, index, generation);
    return true;
}

cen_status ceni_give_noting(cen_lease *lease, cen_future *giving, bool *kept)
{
    uint32_t index;
    cen_status status = check_lease(lease, &index);
    if (status != CEN_OK) return status;
    cen_pool *pool = lease->pool;
    if (pool->calls.check && ceni_callout_inside(pool)) return CEN_MISUSE;
    uint64_t note = note_of(lease);
    lease->pool = NULL;
    status =
        give_checked(pool, index, lease->generation, giving, kept) ? CEN_OK : give_revoked(pool, index, lease, &note);
    if (status != CEN_STALE) ceni_held_ends(ceni_pool_own_get(), note);
    return status;
}

__attribute__((noinline)) static cen_status give_slowly(cen_lease *lease)
{
    return ceni_give_noting(lease, NULL, NULL);
}

/* The slot is idle, so another thread may own it, and the pool may be gone. */
static inline cen_status given(ceni_waiters *waiters, uint64_t id, uint64_t index, uint64_t word, uint64_t note)
{
    ceni_held_ends(ceni_pool_own_get(), note);
    uint64_t ctl = ceni_load_seq_cst(&waiters->ctl); /* [T4] */
    if (__builtin_expect(ctl == 0, 1) || ceni_planted(give_tells_nobody)) return CEN_OK;
    /* The most frequent case while there are waiters: the first one will search, and the clock need not be read yet. */
    bool left_to_heir = (ctl & (CENI_CTL_ONE - 1)) == CENI_CTL_HEIR;
    if (left_to_heir && ceni_give_counted(ceni_pool_own_get(), (uint32_t)id)) return CEN_OK;
    return ceni_waiters_heed(waiters, id, ctl, (uint32_t)index, ceni_word_generation(word));
}

/* The driver has checked the object, and it cannot simply become idle. */
__attribute__((noinline)) static cen_status give_checked_slowly(cen_pool *pool, ceni_slot *slot, uint64_t word,
                                                                cen_condition condition)
{
    uint64_t note = ceni_load_relaxed(&slot->note); /* as note_of; carries nothing */
    ceni_chores_checked(pool, ceni_slot_index(pool, slot), ceni_word_generation(word), condition);
    ceni_held_ends(ceni_pool_own_get(), note);
    return CEN_OK;
}

/* Give an object that the driver checks, or whose lease is timed, or both. The slot is RESETTING meanwhile, as with
 * any other driver: one lease is checked only once, no other thread closes the object during the check, and the pool
 * cannot be gone. `sampled` and `looks` are constants, except that `looks` may vary if `sampled` is true, where it
 * matters less. */
__attribute__((always_inline)) static inline cen_status give_by_reset(cen_lease *lease, uint64_t held, bool sampled,
                                                                      bool looks)
{
    cen_pool *pool = lease->pool;
    ceni_slot *slot = lease->slot;
    uint64_t resetting = held + (CENI_SLOT_RESETTING - CENI_SLOT_HELD);
    if (looks && ceni_planted(look_before_it_is_alone)) pool->calls.check(pool->driver.argument, lease->object);
    lease->pool = NULL;
    if (!ceni_cas_seq_cst(&slot->word, &held, resetting)) { /* [T7] */
        lease->pool = pool;
        return give_slowly(lease);
    }
    if (sampled) ceni_timed_use_ends(pool, slot, ceni_word_generation(resetting));
    void *object = ceni_load_relaxed(&slot->object); /* the caller owns it; carries nothing */
    cen_condition condition = looks ? pool->calls.check(pool->driver.argument, object) : CEN_CLEAN;
    if (__builtin_expect(condition != CEN_CLEAN, 0)) return give_checked_slowly(pool, slot, resetting, condition);
    /* Read only now, so that less is kept across the driver's call. */
    uint64_t id = pool->id, word = resetting, note = ceni_load_relaxed(&slot->note); /* as note_of; carries nothing */
    ceni_waiters *waiters = pool->waiters;
    uint64_t at = (uint64_t)((char *)slot - (char *)pool->base) >> CENI_SLOT_SHIFT;
    if (!ceni_cas_seq_cst(&slot->word, &word, resetting - (CENI_SLOT_RESETTING - CENI_SLOT_IDLE))) /* [T3] */
        return give_checked_slowly(pool, slot, resetting, CEN_CLEAN);
    if (sampled && ceni_planted(sampled_give_forgets_the_line)) return CEN_OK;
    return given(waiters, id, at, resetting, note);
}

/* The quick path of a pool whose driver's check only reads (check_only_reads). */
__attribute__((noinline)) static cen_status give_with_a_look(cen_lease *lease, uint64_t index, uint64_t held)
{
    if (__builtin_expect(index >= ceni_setting(&lease->pool->quick_check), 0)) return give_slowly(lease);
    return give_by_reset(lease, held, false, true);
}

/* One lease in CENI_SAMPLED_ONE_IN (times.c). */
__attribute__((noinline)) static cen_status give_sampled(cen_lease *lease, uint64_t index, uint64_t held)
{
    bool looks = index < ceni_setting(&lease->pool->quick_check);
    if (!looks && index >= ceni_setting(&lease->pool->quick_give)) return give_slowly(lease);
    return give_by_reset(lease, held, true, looks);
}

cen_status cen_pool_give_untold_(cen_lease *lease)
{
    if (__builtin_expect(!lease || !lease->pool, 0)) return give_slowly(lease);
    cen_pool *pool = lease->pool;
    if (__builtin_expect(!ceni_fork_is(ceni_setting(&pool->epoch)), 0)) return give_slowly(lease);
    ceni_slot *slot = lease->slot;
    uintptr_t offset = (uintptr_t)slot - (uintptr_t)pool->base;
    /* The bits below a slot's size are rotated to the top: one comparison detects a misaligned address and a slot
     * outside the first chunk. */
    uint64_t index = (uint64_t)offset / sizeof *slot | (uint64_t)offset << (64 - CENI_SLOT_SHIFT);
    uint64_t id = pool->id;
    uint32_t quick = ceni_setting(&pool->quick_give);
    uint64_t held = ceni_word(lease->generation, CENI_SLOT_HELD | CENI_LISTED);
    if (__builtin_expect(ceni_word_is_sampled(held), 0)) return give_sampled(lease, index, held);
    if (__builtin_expect(index >= quick, 0)) return give_with_a_look(lease, index, held);
    ceni_waiters *waiters = pool->waiters;
    uint64_t note = ceni_load_relaxed(&slot->note); /* as note_of; carries nothing */
    lease->pool = NULL;                             /* before: it may be part of the object */
    if (!ceni_cas_seq_cst(&slot->word, &held, held - (CENI_SLOT_HELD - CENI_SLOT_IDLE))) { /* [T3] */
        lease->pool = pool;
        return give_slowly(lease);
    }
    return given(waiters, id, index, held, note);
}

/* The functions behind the macros, for callers that need an address or use another language: the call site is not
 * known. */
cen_status(cen_pool_give)(cen_lease *lease)
{
    return cen_pool_give_at(lease, NULL);
}

cen_status(cen_pool_discard)(cen_lease *lease)
{
    return cen_pool_discard_at(lease, NULL);
}

cen_status cen_pool_discard_at(cen_lease *lease, const char *where)
{
    CENI_INLINE_AT_END;
    uint32_t index;
    cen_status status = check_lease(lease, &index);
    if (status != CEN_OK) return cen_pool_give_failed_(lease, status, where);
    cen_pool *pool = lease->pool;
    if (ceni_callout_inside(pool)) return CEN_MISUSE;
    uint64_t note = note_of(lease);
    lease->pool = NULL;
    bool ours = ceni_slot_move(lease->slot, lease->generation, CENI_SLOT_HELD, CENI_SLOT_CLOSING);
    if (!ours) status = give_revoked(pool, index, lease, &note);
    if (status == CEN_STALE) return cen_pool_give_failed_(lease, status, where);
    ceni_held_ends(ceni_pool_own_get(), note);
    if (!ours) return status;
    if (!ceni_planted(use_counted_by_nobody)) ceni_use_ends(pool, ceni_slot_at(pool, index), lease->generation);
    ceni_waiters_lock(pool->waiters);
    pool->tally.discarded++;
    ceni_place_leaves_locked(pool);
    ceni_waiters_unlock(pool->waiters);
    ceni_place_end(pool, index, "discarded by its holder");
    return CEN_OK;
}

cen_status cen_pool_adopt(cen_pool *pool, void *object, cen_error *error)
{
    CENI_INLINE_AT_END;
    cen_status status = ceni_pool_check(pool, "cen_pool_adopt", error);
    if (status != CEN_OK) return status;
    if (ceni_callout_inside(pool)) return ceni_pool_misuse(pool, "an adoption", error);
    uint32_t index;
    ceni_waiters_lock(pool->waiters);
    bool closed =
        ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED; /* written under this lock; carries nothing */
    bool claimed = ceni_place_claim_for_adopted_locked(pool, &index);
    pool->tally.adopted += claimed;
    ceni_waiters_unlock(pool->waiters);
    if (closed) return ceni_pool_refuse_closed(pool->name, error);
    if (!claimed)
        return ceni_error_set(error, CEN_FULL, 0, "pool \"%s\": all %u places are taken; raise max", pool->name,
                              cen_pool_max(pool));
    ceni_slot *slot = ceni_slot_at(pool, index);
    uint64_t generation = ceni_slot_generation(pool, index);
    ceni_opening_done(pool, slot, ceni_pool_now(pool));
    ceni_place_identify(pool, index, object);
    ceni_store_release(&slot->object, object); /* [T6] */
    ceni_place_publish_opened(pool, index, generation);
    return CEN_OK;
}

cen_status cen_pool_detach(const cen_lease *lease)
{
    uint32_t index;
    cen_status status = check_lease(lease, &index);
    return status == CEN_OK ? ceni_holder_detach(lease->pool, index, lease->generation) : status;
}

bool cen_pool_interrupt(cen_pool *pool, uint64_t holder)
{
    if (ceni_pool_check(pool, "cen_pool_interrupt", NULL) != CEN_OK) return false;
    return ceni_waiters_interrupt(pool, holder) || ceni_checkup_interrupt(pool, holder);
}
