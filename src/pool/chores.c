/* SPDX-License-Identifier: MIT */
/*
 * Chores: the calls of a driver that may block, made by helper threads of the
 * runtime, a few at a time for each pool.
 *
 * A slot that is to be reset, tested or closed waits in a list of its kind. An
 * opening waits nowhere: a helper that comes looks whether one is still wanted,
 * and only then claims a place. So an opening that nobody needs any more never
 * begins, and one that has begun belongs to the pool, not to whoever waited for
 * it (L10).
 *
 *     event ▶ plan, under the lock: how many more helpers is there work for?
 *           ▶ lock dropped: so many errands are posted (hands.c)
 *     errand ▶ picks a chore, under the lock ▶ does it ▶ picks the next ▶ none: goes
 *
 * Each kind has a budget. A server that answers no closing holds up two helpers
 * of this pool and nothing else.
 *
 * Invariants
 *  K1 If there is a chore within its kind's budget, then an errand is posted
 *     that has not begun, or a helper has yet to look for its next chore. Every
 *     event that makes a chore, or a helper's end that leaves one, plans.
 *  K2 A slot is in at most one list, and only in the state of that list:
 *     RESETTING, CLOSING or TESTING.
 *  K3 Openings under way and slots that are live are counted before the driver
 *     is called and until after it has returned (L2).
 *
 * Drivers that do not block are called at once by whoever finds the chore.
 *
 * Order table
 * [K4] done | store of met | release | V4 in look.c | that nobody has met this object yet | a new object has the age of the one before it in its slot
 */
#include "base/error.h"
#include "base/plant.h"
#include "pool/inside.h"
#include "port/port.h"

enum { RESETTERS = 2, CLOSERS = 2 };

static void run(ceni_errand *errand);

void ceni_chores_init(cen_pool *pool)
{
    for (int kind = 0; kind < CENI_CHORES; kind++)
        ceni_list_init(&pool->chores[kind]);
    ceni_errand_init(&pool->errand, run);
}

/* ---- Planning ----------------------------------------------------------------------- */

static uint32_t waiters_locked(const cen_pool *pool)
{
    uint64_t ctl = ceni_load_relaxed(&pool->line->ctl); /* written under this lock; carries nothing */
    return (uint32_t)(ctl / CENI_CTL_ONE);
}

/* The first in line has been called and is about to look, and there is something for it: it needs no opening. If it
 * is overtaken it says that it is ready, and that plans again. */
static bool first_will_find_locked(cen_pool *pool)
{
    uint64_t ctl = ceni_load_relaxed(&pool->line->ctl); /* written under this lock; carries nothing */
    return (ctl & (CENI_CTL_HEIR | CENI_CTL_READY)) == CENI_CTL_HEIR && ceni_idle_any_locked(pool);
}

/* Openings that should begin for those who wait. What hangs is not counted on, nor what is opened for the minimum. */
static uint32_t wanted_by_waiters_locked(cen_pool *pool)
{
    uint32_t waiters = waiters_locked(pool), others = pool->overdue + pool->opening_for_minimum; /* one may be both */
    uint32_t coming = pool->opening > others ? pool->opening - others : 0;
    if (waiters <= coming) return 0;
    return waiters - coming - first_will_find_locked(pool);
}

/* Openings that should begin now. */
static uint32_t wanted_locked(cen_pool *pool)
{
    uint32_t room = ceni_place_room_locked(pool);
    if (room == 0) return 0;
    uint32_t wanted = wanted_by_waiters_locked(pool) + pool->top_up;
    return wanted < room ? wanted : room;
}

static uint32_t budget_locked(const cen_pool *pool, ceni_chore kind)
{
    uint32_t most = kind == CENI_CHORE_TEST ? pool->options.testers : kind == CENI_CHORE_RESET ? RESETTERS : CLOSERS;
    return pool->busy[kind] < most ? most - pool->busy[kind] : 0;
}

static uint32_t due_locked(const cen_pool *pool, ceni_chore kind)
{
    uint32_t budget = budget_locked(pool, kind);
    return pool->waiting[kind] < budget ? pool->waiting[kind] : budget;
}

void ceni_chores_plan_locked(cen_pool *pool, ceni_call *call)
{
    if (!pool->helped) return;
    uint32_t work = wanted_locked(pool);
    for (int kind = CENI_CHORE_RESET; kind < CENI_CHORES; kind++)
        work += due_locked(pool, (ceni_chore)kind);
    if (work <= pool->hired) return;
    uint32_t more = work - pool->hired;
    pool->hired += more;
    pool->hands += more;
    call->hire += more;
}

void ceni_chores_wish(cen_pool *pool)
{
    if (!pool->helped) return;
    ceni_call call = {.more = false};
    ceni_line_lock(pool->line);
    uint32_t max = ceni_load_relaxed(&pool->max); /* written under this lock; carries nothing */
    /* In a full pool the wish would be forgotten, and granted later to nobody. */
    if (pool->top_up + pool->opening_for_minimum == 0 && pool->live < max) pool->top_up = 1;
    ceni_chores_plan_locked(pool, &call);
    ceni_line_unlock(pool->line);
    ceni_line_make_call(pool->line, pool->id, pool, &call);
}

void ceni_chores_add_locked(cen_pool *pool, ceni_chore chore, ceni_slot *slot)
{
    if (ceni_list_linked(&slot->link)) ceni_list_remove(&slot->link); /* left over from another order */
    ceni_list_push_back(&pool->chores[chore], &slot->link);
    pool->waiting[chore]++;
}

/* ---- Opening ------------------------------------------------------------------------- */

void ceni_opening_done(cen_pool *pool, ceni_slot *slot)
{
    uint64_t generation = ceni_word_generation(ceni_load_relaxed(&slot->word)); /* the caller's own; carries nothing */
    ceni_store_relaxed(&slot->first_generation, generation);                     /* for its holders; carries nothing */
    ceni_store_release(&slot->met, 0); /* [K4] the object before may have been idle in the same generation */
    ceni_store_relaxed(&slot->expires_at, CENI_FOREVER);                           /* likewise; carries nothing */
    if (!ceni_pool_runtime(pool)) return; /* nobody asks for its age, so no clock is read */
    int64_t now = ceni_pool_now(pool);
    ceni_store_relaxed(&slot->opened_at, now);                              /* the caller's own; carries nothing */
    ceni_store_relaxed(&slot->tested_at, now);                              /* likewise; carries nothing */
    ceni_keeper_nudge(pool);
}

/* In `told` of a slot that is opening it is noted that the gate was told already. */
static bool was_overdue_locked(cen_pool *pool, uint32_t index)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    bool overdue = slot->told == CENI_TOLD_OVERDUE;
    slot->told = CENI_TOLD_NOTHING; /* a round may come before the slot is in its next state */
    pool->overdue -= overdue;
    return overdue;
}

static bool fail_locked(cen_pool *pool, const cen_error *why)
{
    return ceni_gate_fail(&pool->gate, &pool->options, ceni_pool_now(pool), ceni_random(), why);
}

ceni_opening_news ceni_opening_ended_locked(cen_pool *pool, uint32_t index, cen_status status, const cen_error *why)
{
    bool told = was_overdue_locked(pool, index);
    ceni_opening_news news = {.failures = 0};
    if (status == CEN_OK) {
        pool->tally.opened++;
        news.breaker_closed = ceni_gate_succeed(&pool->gate);
    } else {
        pool->tally.open_failed++;
        news.breaker_opened = (!told || ceni_planted(late_failure_counted_twice)) && fail_locked(pool, why);
    }
    news.failures = pool->gate.failures;
    ceni_places_counted_locked(pool);
    return news;
}

ceni_opening_news ceni_opening_overdue_locked(cen_pool *pool, uint32_t index, const cen_error *why)
{
    ceni_slot_at(pool, index)->told = CENI_TOLD_OVERDUE;
    pool->overdue++;
    ceni_opening_news news = {.overdue = true};
    news.breaker_opened = !ceni_planted(overdue_not_told) && fail_locked(pool, why);
    news.failures = pool->gate.failures;
    ceni_places_counted_locked(pool);
    return news;
}

void ceni_opening_tell(cen_pool *pool, uint32_t index, cen_status status, ceni_opening_news news, const cen_error *why)
{
    if (status == CEN_OK)
        ceni_event_tell(pool, (cen_event){.kind = CEN_EVENT_OPENED, .index = index}, "object %u was opened", index);
    else
        ceni_event_tell(pool,
                        (cen_event){.kind = news.overdue ? CEN_EVENT_OPEN_OVERDUE : CEN_EVENT_OPEN_FAILED,
                                    .index = index, .status = status, .code = why->code},
                        "%s", why->text);
    if (news.breaker_closed)
        ceni_event_tell(pool, (cen_event){.kind = CEN_EVENT_BREAKER_CLOSED, .index = CEN_NO_SLOT}, "objects can be opened again");
    if (news.breaker_opened)
        ceni_event_tell(pool,
                        (cen_event){.kind = CEN_EVENT_BREAKER_OPENED, .index = CEN_NO_SLOT, .status = status, .code = why->code},
                        "opening failed %u times in a row; the breaker is open", news.failures);
}

/* While one opening is tried, whoever comes is told what the last one said; the first who comes lets it be tried. */
bool ceni_opening_is_vain_locked(const cen_pool *pool)
{
    bool tries = pool->gate.breaker == CEN_BREAKER_PROBING && pool->opening == 0;
    return pool->gate.breaker != CEN_BREAKER_CLOSED && !tries && pool->live - pool->opening - pool->leaving == 0;
}

/* Something may have become possible, or unnecessary. */
static void replan(cen_pool *pool, ceni_chore done)
{
    ceni_call call = {.more = false};
    ceni_line_lock(pool->line);
    pool->busy[done]--;
    if (done == CENI_CHORE_TEST && pool->tests_due) pool->next_round = 0;
    ceni_chores_plan_locked(pool, &call);
    ceni_keeper_plan_locked(pool, &call);
    ceni_line_unlock(pool->line);
    ceni_line_make_call(pool->line, pool->id, pool, &call);
}

/* The count goes down before the object is idle: the next round counts what is there. */
static void end_for_minimum(cen_pool *pool)
{
    ceni_line_lock(pool->line);
    pool->opening_for_minimum--;
    ceni_line_unlock(pool->line);
}

static void open_here(cen_pool *pool, uint32_t index, bool for_minimum)
{
    cen_error error;
    uint64_t generation = ceni_slot_generation(pool, index);
    cen_status status = ceni_place_open(pool, index, &error);
    if (for_minimum) end_for_minimum(pool);
    if (status == CEN_OK) {
        ceni_place_publish_opened(pool, index, generation);
        return;
    }
    ceni_line_lock(pool->line);
    ceni_place_vacate_locked(pool, index, CENI_OPENING);
}

/* ---- Check and reset -------------------------------------------------------------------- */

/* Nothing is wrong with it, as far as its memory tells. */
static void pass(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    bool suspect = pool->calls.test && ceni_owner_has_ended(slot, generation);
    bool tested = suspect && ceni_slot_move_unmarked(slot, generation, CENI_RESETTING, CENI_TESTING);
    if (tested) ceni_chores_test(pool, index, generation);
    else ceni_place_return(pool, index, generation, CENI_RESETTING);
}

static void reset_here(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    void *object = ceni_load_relaxed(&slot->object); /* the caller's own; carries nothing */
    cen_error error = {.status = CEN_OK};
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    cen_status status = pool->calls.reset(pool->driver.argument, object, &error);
    ceni_callout_end(&callout);
    ceni_line_lock(pool->line);
    if (status == CEN_OK) pool->tally.reset++;
    else pool->tally.reset_failed++;
    ceni_line_unlock(pool->line);
    if (status == CEN_OK) {
        pass(pool, index, generation);
        return;
    }
    ceni_event_tell(pool, (cen_event){.kind = CEN_EVENT_RESET_FAILED, .status = status, .code = error.code, .index = index},
                    "object %u could not be reset: %.200s", index, error.text[0] ? error.text : cen_status_text(status));
    ceni_place_end_from(pool, index, generation, CENI_RESETTING, "it could not be reset");
}

static cen_condition check(cen_pool *pool, ceni_slot *slot)
{
    void *object = ceni_load_relaxed(&slot->object); /* the caller's own; carries nothing */
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    cen_condition condition = pool->calls.check(pool->driver.argument, object);
    ceni_callout_end(&callout);
    return condition;
}

static void queue(cen_pool *pool, ceni_chore chore, ceni_slot *slot)
{
    ceni_call call = {.more = false};
    ceni_line *line = pool->line;
    uint64_t id = pool->id;
    ceni_line_lock(line);
    ceni_chores_add_locked(pool, chore, slot);
    ceni_chores_plan_locked(pool, &call);
    ceni_line_unlock(line);
    ceni_line_make_call(line, id, pool, &call);
}

void ceni_chores_check(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_slot *slot = ceni_slot_at(pool, index);
    cen_condition condition = pool->calls.check ? check(pool, slot) : CEN_CLEAN;
    if (condition == CEN_CLEAN || ceni_planted(dirty_is_lent)) pass(pool, index, generation);
    else if (condition != CEN_DIRTY) ceni_place_end_from(pool, index, generation, CENI_RESETTING, "it is broken");
    else if (!pool->calls.reset) ceni_place_end_from(pool, index, generation, CENI_RESETTING, "it is dirty and cannot be reset");
    else if (pool->helped) queue(pool, CENI_CHORE_RESET, slot);
    else reset_here(pool, index, generation);
}

/* ---- Test ------------------------------------------------------------------------------------ */

bool ceni_chores_works(cen_pool *pool, ceni_slot *slot)
{
    if (!pool->calls.test) return true;
    void *object = ceni_load_relaxed(&slot->object); /* the caller's own; carries nothing */
    cen_error error = {.status = CEN_OK};
    ceni_store_relaxed(&slot->tested_at, ceni_pool_now(pool)); /* for who looks for what takes long; carries nothing */
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    cen_status status = pool->calls.test(pool->driver.argument, object, &error);
    ceni_callout_end(&callout);
    ceni_store_relaxed(&slot->tested_at, ceni_pool_now(pool)); /* likewise; carries nothing */
    ceni_line_lock(pool->line);
    pool->tally.tested++;
    pool->tally.test_failed += status != CEN_OK;
    ceni_line_unlock(pool->line);
    if (status == CEN_OK) return true;
    uint32_t index = ceni_slot_index(pool, slot);
    ceni_event_tell(pool, (cen_event){.kind = CEN_EVENT_TEST_FAILED, .status = status, .code = error.code, .index = index},
                    "object %u failed its test: %.200s", index, error.text[0] ? error.text : cen_status_text(status));
    return false;
}

/* One that took too long was marked, and ends although it works. */
static void test_here(cen_pool *pool, uint32_t index, uint64_t generation)
{
    if (ceni_chores_works(pool, ceni_slot_at(pool, index))) ceni_place_return(pool, index, generation, CENI_TESTING);
    else ceni_place_end_from(pool, index, generation, CENI_TESTING, "it failed its test");
}

void ceni_chores_test(cen_pool *pool, uint32_t index, uint64_t generation)
{
    ceni_store_relaxed(&ceni_slot_at(pool, index)->tested_at, 0); /* it has not begun, so it does not take long; carries nothing */
    if (pool->helped) queue(pool, CENI_CHORE_TEST, ceni_slot_at(pool, index));
    else test_here(pool, index, generation);
}

/* ---- A helper ---------------------------------------------------------------------------------- */

/* What to do next, if anything. A slot of a list is taken out; a place is claimed. */
static bool pick_locked(cen_pool *pool, ceni_chore *chore, uint32_t *index, bool *for_minimum)
{
    *chore = CENI_CHORE_OPEN;
    *for_minimum = wanted_by_waiters_locked(pool) == 0 && pool->top_up > 0;
    bool wanted = wanted_locked(pool) > 0 || ceni_planted(opens_for_nobody);
    bool picked = wanted && ceni_place_claim_for_helper_locked(pool, index);
    if (picked) ceni_slot_at(pool, *index)->told = 0;
    if (picked && *for_minimum) {
        pool->top_up--;
        pool->opening_for_minimum++;
    }
    for (int kind = CENI_CHORE_RESET; kind < CENI_CHORES && !picked; kind++) {
        if (due_locked(pool, (ceni_chore)kind) == 0) continue;
        ceni_list *link = ceni_list_first(&pool->chores[kind]);
        ceni_list_remove(link);
        pool->waiting[kind]--;
        *index = ceni_slot_index(pool, CENI_LIST_ENTRY(link, ceni_slot, link));
        *chore = (ceni_chore)kind;
        picked = true;
    }
    if (picked) pool->busy[*chore]++;
    return picked;
}

/* Until when the keeper is to see whether the call has returned. */
static void expect_locked(cen_pool *pool, ceni_chore chore, uint32_t index)
{
    int64_t limit = chore == CENI_CHORE_OPEN ? pool->options.open_timeout_ns : CEN_OFF;
    if (chore == CENI_CHORE_TEST) limit = pool->options.test_timeout_ns;
    if (limit == CEN_OFF) return;
    int64_t now = ceni_pool_now(pool), moment = limit < CENI_FOREVER - now ? now + limit : CENI_FOREVER;
    ceni_slot *slot = ceni_slot_at(pool, index);
    if (chore == CENI_CHORE_OPEN) ceni_store_relaxed(&slot->opened_at, now); /* the caller's own; carries nothing */
    else ceni_store_relaxed(&slot->tested_at, now);                          /* likewise; carries nothing */
    if (moment < pool->next_overdue) pool->next_overdue = moment;
}

static void do_chore(cen_pool *pool, ceni_chore chore, uint32_t index, bool for_minimum)
{
    uint64_t generation = ceni_slot_generation(pool, index);
    switch (chore) {
    case CENI_CHORE_OPEN: open_here(pool, index, for_minimum); break;
    case CENI_CHORE_RESET: reset_here(pool, index, generation); break;
    case CENI_CHORE_CLOSE: ceni_place_end_here(pool, index, false); break;
    default: test_here(pool, index, generation); break;
    }
}

void ceni_chores_work_locked(cen_pool *pool)
{
    ceni_line *line = pool->line;
    ceni_chore chore;
    uint32_t index;
    bool for_minimum;
    while (pick_locked(pool, &chore, &index, &for_minimum)) {
        ceni_call call = {.more = false};
        expect_locked(pool, chore, index);
        ceni_chores_plan_locked(pool, &call);
        ceni_keeper_plan_locked(pool, &call);
        ceni_line_unlock(line);
        ceni_line_make_call(line, pool->id, pool, &call);
        do_chore(pool, chore, index, for_minimum);
        replan(pool, chore);
        ceni_line_lock(line);
    }
}

/* Has a hand, so the pool is there until it drops it. */
static void run(ceni_errand *errand)
{
    cen_pool *pool = (cen_pool *)(void *)((char *)errand - offsetof(cen_pool, errand));
    ceni_line_lock(pool->line);
    pool->hired--;
    ceni_chores_work_locked(pool);
    ceni_hand_drop_locked(pool);
}
