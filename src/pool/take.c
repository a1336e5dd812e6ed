/* SPDX-License-Identifier: MIT */
/*
 * Take: the quick path, and the slow paths behind it. give.c has the give.
 *
 *     my last slot of this pool, IDLE,g ▶ HELD,g+1 by one CAS (quick.h)
 *
 * A take that finds its slot in any other state takes the slow path: search, open, wait.
 *
 * Linearisation points: the CAS that makes the slot HELD; of a take that is refused because the pool is closed, its load
 * of ctl.
 *
 * Order table
 * [T1] take  | load of ctl           | relaxed | - | nothing: whether the pool is closed, or takes must queue; carries nothing | -
 * [T5] note  | stores of where, since, note | release | the loads in holding.c | that they belong to the generation | a list of holders shows the previous holder
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

bool cen_pool_interrupt(cen_pool *pool, uint64_t holder)
{
    if (ceni_pool_check(pool, "cen_pool_interrupt", NULL) != CEN_OK) return false;
    return ceni_waiters_interrupt(pool, holder) || ceni_checkup_interrupt(pool, holder);
}
