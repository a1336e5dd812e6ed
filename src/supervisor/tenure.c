/* SPDX-License-Identifier: MIT */
/*
 * Tenures: one start of a child, its calls, and what is said of it.
 *
 *     begin ▶ start's call ──failed──▶ over
 *                 └─OK──▶ (said started) ▶ runs ▶ (stop's call) ▶ ended ▶ over ▶ closing ▶ let go
 *     at any point: abandoned ▶ over; what still comes drops its hand and is ignored
 *
 * Invariants
 *  T1 A tenure is over when it has failed or ended and none of its calls is under way, or when it was
 *     abandoned. So a child is never started again while a call of its start before is on the
 *     stack of a helper, unless that was abandoned.
 *  T2 The record is there while its child has it or a hand is left: each call that is under way, its
 *     thread, and the future of its death.
 *  T3 It is found by its number until it is over; what is said later finds nothing.
 *  T4 stop is called at most once, and only after start has returned OK. A start that returns OK after its
 *     tenure was abandoned is followed by stop at once: what it has made is nobody's otherwise.
 *  T5 When its end is told, the future of its death was given up, or has told: whoever makes it done beside the end is
 *     between the two for a moment, reads the future in `told`, and is waited for (`untold`).
 *
 * A thread writes its own name into the record when it ends, and leaves the joining to a
 * job: so the child is over when all of the thread is gone, its leases, its registered
 * entries and its thread-specific destructors included.
 *
 * All is ordered by the mutex; a thread's last writes by its end, which is joined.
 *
 * Tested by tests/unit/supervisor/life_test.c, limit_test.c, thread_test.c, tests/explore/supervisor_test.c.
 */
#include "base/error.h"
#include "base/plant.h"
#include "supervisor/internal.h"
#include "sync/future.h"

#define TENURE_OF(pointer, field) CENI_LIST_ENTRY(pointer, ceni_tenure, field)

/* ---- Hands --------------------------------------------------------------------------------- */

static void take_hand_locked(ceni_tenure *tenure)
{
    tenure->hands++;
    tenure->supervisor->hands++;
    if (tenure->abandoned) tenure->supervisor->lost++;
}

static void release_if_last_locked(ceni_tenure *tenure)
{
    ceni_child_record *child = tenure->child;
    if (tenure->hands > 0 || child->tenure == tenure) return;
    ceni_dead_tenure_locked(tenure);
    ceni_child_drop_locked(child);
}

void ceni_tenure_drop_locked(ceni_tenure *tenure)
{
    tenure->hands--;
    tenure->supervisor->hands--;
    if (tenure->abandoned) tenure->supervisor->lost--;
    release_if_last_locked(tenure);
}

/* The end of a call. The steward is told, and the supervisor may be gone afterwards. */
static void drop_and_unlock(ceni_tenure *tenure)
{
    cen_supervisor *supervisor = tenure->supervisor;
    bool is_lost = tenure->abandoned;
    if (tenure->child->tenure == tenure) ceni_child_note_locked(tenure->child);
    tenure->hands--;
    release_if_last_locked(tenure);
    ceni_dead_free_locked(supervisor); /* by the supervisor's hand, which is still there */
    ceni_supervisor_drop_hand_and_unlock(supervisor, is_lost);
}

void ceni_tenure_unlist_locked(ceni_tenure *tenure)
{
    if (tenure->is_listed) ceni_table_remove(&tenure->supervisor->tenures, &tenure->node);
    tenure->is_listed = false;
}

void ceni_tenure_let_go_locked(ceni_tenure *tenure)
{
    ceni_tenure_unlist_locked(tenure);
    tenure->child->tenure = NULL;
    release_if_last_locked(tenure);
}

bool ceni_tenure_is_over_locked(const ceni_tenure *tenure)
{
    if (tenure->arming) return false;
    bool calls = tenure->calls != 0 && !ceni_planted(supervisor_leaves_a_call_behind);
    return tenure->abandoned || (!calls && (tenure->failed || tenure->ended));
}

static void end_locked(ceni_tenure *tenure, const cen_error *why)
{
    tenure->ended = true;
    tenure->normal = !why;
    if (why) tenure->why = *why;
    if (why && tenure->why.status == CEN_OK) tenure->why.status = CEN_DRIVER;
    if (tenure->child->tenure == tenure) ceni_child_note_locked(tenure->child);
}

/* ---- A child that is a thread ------------------------------------------------------------------ */

static void join_thread(cen_job *job)
{
    ceni_tenure *tenure = TENURE_OF(job, join_call);
    ceni_thread_join(&tenure->thread);
    ceni_supervisor_lock(tenure->supervisor);
    end_locked(tenure, tenure->last_words.status != CEN_OK ? &tenure->last_words : NULL);
    drop_and_unlock(tenure);
}

/* The thread's last touch of the record is the post. */
static void leave_thread(ceni_tenure *tenure)
{
    if (!ceni_fork_is(tenure->supervisor->epoch)) return;
    cen_executor *executor = cen_runtime_executor(tenure->supervisor->runtime);
    ceni_cancel_hold();
    tenure->thread = ceni_thread_self();
    executor->post(executor, &tenure->join_call);
}

static void run_thread(void *argument)
{
    ceni_tenure *tenure = argument;
    const cen_child_options *o = &tenure->child->options;
    cen_error error = {.status = CEN_OK};
    cen_status status = o->run(o->argument, tenure->handle, &error);
    if (status != CEN_OK && error.status == CEN_OK)
        ceni_error_set(&error, status, 0, "the thread of child \"%.200s\" has ended: %s", tenure->child->name,
                       cen_status_text(status));
    tenure->last_words = error;
    tenure->last_words.status = status;
}

static void lose_thread(void *argument)
{
    ceni_tenure *tenure = argument;
    ceni_error_set(&tenure->last_words, CEN_INTERRUPTED, 0,
                   "the thread of child \"%.200s\" was cancelled or has called pthread_exit", tenure->child->name);
    leave_thread(tenure);
}

static void thread_main(void *argument)
{
    ceni_thread_run_guarded(run_thread, lose_thread, argument);
    leave_thread(argument);
}

static cen_status start_thread(ceni_tenure *tenure, cen_error *error)
{
    int code = 0;
    ceni_thread thread;
    cen_status status = ceni_thread_start(&thread, tenure->child->name, thread_main, tenure, &code);
    if (status == CEN_OK) return CEN_OK;
    return ceni_error_set(error, status, code, "child \"%.200s\" could not have a thread", tenure->child->name);
}

/* ---- Calls -------------------------------------------------------------------------------------- */

static void begin_call_locked(ceni_tenure *tenure, uint32_t call, cen_job *job, ceni_out *out)
{
    tenure->calls |= call;
    take_hand_locked(tenure);
    ceni_out_post(out, job);
}

static void call_stop(ceni_tenure *tenure)
{
    const cen_child_options *o = &tenure->child->options;
    ceni_rank_expect_none("stop of a child");
    if (o->stop) o->stop(o->argument, tenure->handle);
}

static void run_stop(cen_job *job)
{
    ceni_tenure *tenure = TENURE_OF(job, call);
    call_stop(tenure);
    if (!ceni_fork_is(tenure->supervisor->epoch)) return;
    ceni_supervisor_lock(tenure->supervisor);
    tenure->calls &= ~(uint32_t)CENI_CALL_STOP;
    if (tenure->child->options.stops_at_once && !tenure->ended) end_locked(tenure, NULL);
    drop_and_unlock(tenure);
}

static void run_kill(cen_job *job)
{
    ceni_tenure *tenure = TENURE_OF(job, kill_call);
    const cen_child_options *o = &tenure->child->options;
    ceni_rank_expect_none("kill of a child");
    o->kill(o->argument, tenure->handle);
    if (!ceni_fork_is(tenure->supervisor->epoch)) return;
    ceni_supervisor_lock(tenure->supervisor);
    tenure->calls &= ~(uint32_t)CENI_CALL_KILL;
    drop_and_unlock(tenure);
}

/* It may have been abandoned meanwhile, and what it has started is then stopped by who started it. True: stop is due. */
static bool note_start_locked(ceni_tenure *tenure, cen_status status, const cen_error *error)
{
    tenure->calls &= ~(uint32_t)CENI_CALL_START;
    if (status == CEN_OK) {
        tenure->has_started = true;
        bool is_late = tenure->abandoned && !tenure->asked && !ceni_planted(supervisor_forgets_a_late_start);
        if (is_late) tenure->asked = true;
        return is_late;
    }
    tenure->failed = true;
    /* there is no thread; the call has a hand */
    if (tenure->child->options.run) tenure->hands--, tenure->supervisor->hands--;
    if (tenure->child->options.run && tenure->abandoned) tenure->supervisor->lost--;
    tenure->why = *error;
    tenure->why.status = status;
    return false;
}

static void run_start(cen_job *job)
{
    ceni_tenure *tenure = TENURE_OF(job, call);
    const cen_child_options *o = &tenure->child->options;
    cen_error error = {.status = CEN_OK};
    ceni_rank_expect_none("start of a child");
    cen_status status = o->run ? start_thread(tenure, &error) : o->start(o->argument, tenure->handle, &error);
    if (!ceni_fork_is(tenure->supervisor->epoch)) return;
    if (status != CEN_OK && error.text[0] == '\0')
        ceni_error_set(&error, status, error.code, "child \"%.200s\" could not be started: %s", tenure->child->name,
                       cen_status_text(status));
    ceni_supervisor_lock(tenure->supervisor);
    if (note_start_locked(tenure, status, &error)) {
        ceni_supervisor_unlock(tenure->supervisor); /* the call's hand is still there */
        call_stop(tenure);
        if (!ceni_fork_is(tenure->supervisor->epoch)) return;
        ceni_supervisor_lock(tenure->supervisor);
    }
    drop_and_unlock(tenure);
}

/* ---- What the machine does with it ---------------------------------------------------------------- */

static void told(cen_executor *executor, cen_job *job);

ceni_tenure *ceni_tenure_begin_locked(ceni_child_record *child, ceni_out *out)
{
    cen_supervisor *supervisor = child->supervisor;
    ceni_tenure *tenure = ceni_supply_take_tenure_locked(supervisor);
    if (!tenure) return NULL;
    tenure->supervisor = supervisor;
    tenure->child = child;
    tenure->handle = (cen_child){supervisor->id, ++supervisor->last_number};
    tenure->watcher.post = told;
    tenure->call.run = run_start;
    tenure->kill_call.run = run_kill;
    tenure->join_call.run = join_thread;
    ceni_table_put(&supervisor->tenures, &tenure->node, ceni_hash_word(0, tenure->handle.number_));
    tenure->is_listed = true;
    child->refs++;
    child->tenure = tenure;
    if (child->options.run) take_hand_locked(tenure); /* the thread's */
    begin_call_locked(tenure, CENI_CALL_START, &tenure->call, out);
    return tenure;
}

void ceni_tenure_ask_locked(ceni_tenure *tenure, ceni_out *out)
{
    if (tenure->asked || tenure->ended || !tenure->has_started || (tenure->calls & CENI_CALL_START)) return;
    tenure->asked = true;
    if (!tenure->child->options.stop) return;
    tenure->call.run = run_stop;
    begin_call_locked(tenure, CENI_CALL_STOP, &tenure->call, out);
}

void ceni_tenure_kill_locked(ceni_tenure *tenure, ceni_out *out)
{
    tenure->killed = true;
    begin_call_locked(tenure, CENI_CALL_KILL, &tenure->kill_call, out);
}

/* ---- What is said of it ----------------------------------------------------------------------------- */

bool cen_child_report_started(cen_child child)
{
    ceni_tenure *tenure = ceni_house_find_and_lock(child);
    if (!tenure) return false;
    bool counts = !tenure->said_started && !tenure->ended && !tenure->stopping;
    if (counts) {
        tenure->said_started = true;
        ceni_child_note_locked(tenure->child);
    }
    ceni_steward_unlock(tenure->supervisor);
    return counts;
}

bool cen_child_report_ended(cen_child child, const cen_error *why)
{
    ceni_tenure *tenure = ceni_house_find_and_lock(child);
    if (!tenure) return false;
    bool counts = !tenure->ended && !tenure->child->options.run;
    if (counts) end_locked(tenure, why);
    ceni_steward_unlock(tenure->supervisor);
    return counts;
}

bool cen_child_is_stopping(cen_child child)
{
    ceni_tenure *tenure = ceni_house_find_and_lock(child);
    if (!tenure) return true;
    bool is_stopping = tenure->stopping;
    ceni_supervisor_unlock(tenure->supervisor);
    return is_stopping;
}

/* The future of its death is done. Its consumer is the tenure: the job is not run. */
static void told(cen_executor *executor, cen_job *job)
{
    ceni_tenure *tenure = TENURE_OF(executor, watcher);
    cen_future *future = CENI_LIST_ENTRY(job, cen_future, job_);
    cen_error why = {.status = CEN_OK};
    if (future->status != CEN_OK) {
        if (future->error) why = *future->error;
        else
            ceni_error_set(&why, future->status, future->code, "child \"%.200s\" has ended: %s", tenure->child->name,
                           cen_status_text(future->status));
    }
    ceni_supervisor_lock(tenure->supervisor);
    tenure->death = NULL;
    tenure->untold = false;
    if (!tenure->ended && !tenure->closing) end_locked(tenure, why.status != CEN_OK ? &why : NULL);
    drop_and_unlock(tenure);
}

static void never_done(cen_future *future)
{
    (void)future;
}

/* Between the two critical sections the tenure is not over, so that nobody cancels the future meanwhile. */
cen_status cen_child_watch(cen_child child, cen_future *death)
{
    if (!death) return CEN_INVALID;
    ceni_tenure *tenure = ceni_house_find_and_lock(child);
    if (!tenure) return CEN_ABSENT;
    cen_supervisor *supervisor = tenure->supervisor;
    if (tenure->death || tenure->arming || tenure->closing || tenure->ended || tenure->child->options.run) {
        cen_status status = tenure->closing || tenure->ended ? CEN_ABSENT : CEN_MISUSE;
        ceni_supervisor_unlock(supervisor);
        return status;
    }
    tenure->death = death;
    tenure->arming = true;
    take_hand_locked(tenure); /* the future's */
    take_hand_locked(tenure); /* this call's */
    ceni_supervisor_unlock(supervisor);
    cen_status status = cen_future_then(death, never_done, &tenure->watcher);
    ceni_supervisor_lock(supervisor);
    tenure->arming = false;
    if (status != CEN_OK) {
        tenure->death = NULL;
        ceni_tenure_drop_locked(tenure);
    }
    drop_and_unlock(tenure);
    return status;
}
