/* SPDX-License-Identifier: MIT */
/*
 * A worker without a job: it searches for a while, and sleeps until it is called. idle.c has the states and the argument
 * why no job is forgotten (P1 to P3).
 *
 * Order table
 * [I2] stop searching | add to idle, before the look at the queues | seq_cst | I1 in internal.h, D2, J4 | as I1 | as I1
 * [I4] heed       | and of the word   | seq_cst | I4 in idle.c | that the events were heeded | a nudge is lost
 * [I5] sleep      | load of the word  | acquire | I4 in idle.c | that it is called, and what was done before | it sleeps on; or reads old memory
 * [I6] told       | load of told_     | acquire | I6 in idle.c | the future's result | a half-written result is read
 *
 * Tested by tests/explore/crew_idle_test.c, tests/unit/crew/original_test.c, tests/stress/crew_stress.c.
 */
#include "base/plant.h"
#include "crew/internal.h"

/* About 20 us of searching: longer than a submitter that waits for each result needs until its next submit, and shorter
 * than a sleep and a wake cost. */
#ifdef CENI_WATCHED
enum { SEARCH_ROUNDS = 1, SEARCH_PAUSES = 1 };
#else
enum { SEARCH_ROUNDS = 100, SEARCH_PAUSES = 6 };
#endif

/* ---- Searching ------------------------------------------------------------------------------ */

static bool begin_search(ceni_worker *worker)
{
    ceni_core *core = worker->core;
    uint32_t searchers = ceni_load_relaxed(&core->idle) / CENI_IDLE_SEARCHER; /* a guess; carries nothing */
    /* a guess too, which only limits the searchers; carries nothing */
    uint32_t target = ceni_load_relaxed(&core->workers_guess);
    if (searchers > 0 && searchers * 2 >= target) return false;
    ceni_add_seq_cst(&core->idle, (uint32_t)CENI_IDLE_SEARCHER); /* [I2] */
    worker->is_searching = true;
    return true;
}

void ceni_leave_search(ceni_worker *worker)
{
    ceni_core *core = worker->core;
    worker->is_searching = false;
    uint32_t before = ceni_sub_seq_cst(&core->idle, (uint32_t)CENI_IDLE_SEARCHER); /* [I2] */
    bool last = before == (CENI_IDLE_SEARCHER | CENI_IDLE_CALLABLE);
    if (last && !ceni_planted(crew_last_searcher_forgets)) ceni_call_for_work(core);
}

cen_job *ceni_worker_search(ceni_worker *worker)
{
    if (!worker->is_searching && !begin_search(worker)) return NULL;
    unsigned rounds = ceni_cpu_count() > 1 ? SEARCH_ROUNDS : 1;
    for (unsigned round = 0; round < rounds; round++) {
        cen_job *job = ceni_worker_find(worker);
        if (job) {
            ceni_leave_search(worker);
            return job;
        }
        for (unsigned i = 0; i < SEARCH_PAUSES; i++) ceni_pause();
    }
    return NULL;
}

/* ---- Sleeping --------------------------------------------------------------------------------- */

/* True if the worker is surplus since a resize, or has been idle for the idle timeout (`lingered`). A worker that is
 * surplus because a blocking section has ended stays for the idle timeout: the next section may begin soon. */
static bool should_end_locked(const ceni_core *core, bool lingered)
{
    uint32_t least = core->min < core->target ? core->min : core->target;
    uint32_t stay = core->threads - core->leaving - core->blocked;
    if (core->over) return true;
    return lingered ? stay > least : core->too_many > 0 && stay > core->target;
}

/* Count it as leaving, so that the next worker that decides does not count it. */
static void leave_locked(ceni_core *core, ceni_worker *worker)
{
    worker->is_leaving = true;
    core->leaving++;
    if (core->too_many > 0) core->too_many--;
}

typedef enum lain {
    LIES,
    STAYS_UP, /* it should end, but a job is left; it counts as a searcher */
    ENDS,     /* it counts neither as active nor as searching */
} lain;

/* True: a job is left that was pushed before the crew was sealed (S2 in end.c). */
static bool is_needed_locked(ceni_worker *worker)
{
    ceni_core *core = worker->core;
    if (!core->over || !ceni_work_is_visible(core) || ceni_planted(crew_ends_beside_a_job)) return false;
    if (!worker->is_searching) ceni_update_locked(core, 1);
    worker->is_searching = true;
    return true;
}

static lain lie_down(ceni_worker *worker, bool may_end)
{
    ceni_core *core = worker->core;
    ceni_core_lock(core);
    bool ends = may_end && should_end_locked(core, false);
    if (ends && is_needed_locked(worker)) {
        ceni_core_unlock(core);
        return STAYS_UP;
    }
    core->active--;
    if (ends) {
        leave_locked(core, worker);
    } else {
        ceni_store_relaxed(&worker->word, 0u); /* no thread has called it: it is in no list; carries nothing */
        worker->is_listed = true;
        ceni_list_push_front(&core->parked_list, &worker->link);
        core->parked++;
        core->starts_barred = false;
    }
    ceni_update_locked(core, worker->is_searching ? -1 : 0);
    worker->is_searching = false;
    bool tells = !ceni_planted(crew_lies_down_in_silence);
    bool over = tells && ceni_look_for_the_end_locked(core); /* for the tasks that this worker has counted out */
    ceni_core_unlock(core);
    if (over) ceni_make_over(core);
    return ends ? ENDS : LIES;
}

/* Unpark the worker unless it was called, and, `if_wanted`, only if fewer than `target` are active. True: it was
 * unparked, and counts as a searcher. */
static bool stand_up(ceni_worker *worker, bool if_wanted)
{
    ceni_core *core = worker->core;
    ceni_core_lock(core);
    bool up = worker->is_listed && (!if_wanted || core->active < core->target);
    if (up) {
        ceni_unlist_locked(core, worker);
        ceni_update_locked(core, 1);
    }
    ceni_core_unlock(core);
    return up;
}

/* It has slept for the idle timeout. True: it ends. */
static bool ends_of_idleness(ceni_worker *worker)
{
    ceni_core *core = worker->core;
    ceni_core_lock(core);
    bool ends = worker->is_listed && should_end_locked(core, true);
    if (ends) {
        ceni_unlist_locked(core, worker);
        core->active--;
        leave_locked(core, worker);
        ceni_update_locked(core, 0);
    }
    ceni_core_unlock(core);
    return ends;
}

/* It was woken by EVENTS. True: it should end, and was unparked to find that out. */
static bool rises_to_end(ceni_worker *worker)
{
    ceni_core *core = worker->core;
    ceni_core_lock(core);
    bool rises = worker->is_listed && should_end_locked(core, false);
    if (rises) {
        ceni_unlist_locked(core, worker);
        ceni_update_locked(core, 1);
    }
    ceni_core_unlock(core);
    return rises;
}

static bool is_told(const cen_task *awaiting)
{
    return awaiting && ceni_load_acquire(&((cen_task *)(uintptr_t)awaiting)->told_); /* [I6] */
}

/* Counted as a searcher afterwards, unless TO_END. */
static ceni_woke sleep_until_called(ceni_worker *worker, const cen_task *awaiting, int64_t moment)
{
    for (;;) {
        uint32_t word = ceni_load_acquire(&worker->word); /* [I5] */
        if (word & CENI_WORD_CALLED) return CENI_WOKE;
        if (is_told(awaiting) && stand_up(worker, false)) return CENI_WOKE;
        if (word & CENI_WORD_EVENTS) {
            ceni_and_seq_cst(&worker->word, ~(uint32_t)CENI_WORD_EVENTS); /* [I4] */
            ceni_worker_tick(worker);
            if (!awaiting && rises_to_end(worker)) return CENI_WOKE;
            continue;
        }
        if (ceni_futex_wait(&worker->word, word, moment) != CENI_TIMED_OUT) continue;
        if (awaiting && stand_up(worker, false)) return CENI_WOKE_LATE;
        if (!awaiting && ends_of_idleness(worker)) return CENI_WOKE_TO_END;
        moment = CENI_FOREVER; /* it was called at the last moment, or stays */
    }
}

static int64_t linger_moment(ceni_core *core)
{
    int64_t linger = core->crew->options.idle_timeout_ns;
    ceni_core_lock(core);
    bool may_be_too_many = core->threads > (core->min < core->target ? core->min : core->target);
    ceni_core_unlock(core);
    if (!may_be_too_many || linger == CEN_OFF) return CENI_FOREVER;
    int64_t now = ceni_clock_now();
    return linger == CEN_NONE ? now : linger < CENI_FOREVER - now ? now + linger : CENI_FOREVER;
}

ceni_woke ceni_worker_park(ceni_worker *worker, const cen_task *awaiting, int64_t moment)
{
    ceni_core *core = worker->core;
    const cen_context_type *type = &core->crew->options.context;
    if (type->before_pause) type->before_pause(type->argument, worker->context);
    ceni_woke woke = CENI_WOKE_TO_END;
    lain how = lie_down(worker, !awaiting);
    bool look = how != STAYS_UP && !ceni_planted(crew_parks_without_look) && ceni_work_is_visible(core); /* after I2 */
    if (how == ENDS && look && !ceni_planted(crew_ends_without_look)) ceni_call_one(core);
    if (how == STAYS_UP || (how == LIES && look && stand_up(worker, true))) woke = CENI_WOKE;
    else if (how == LIES) woke = sleep_until_called(worker, awaiting, awaiting ? moment : linger_moment(core));
    worker->is_searching = woke != CENI_WOKE_TO_END;
    if (type->after_resume) type->after_resume(type->argument, worker->context);
    return woke;
}
