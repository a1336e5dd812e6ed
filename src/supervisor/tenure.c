/* SPDX-License-Identifier: MIT */
/*
 * Tenures: a tenure is one start of a child, with its calls and the reports about it.
 *
 *     begin ▶ start's call ──failed──▶ over
 *                 └─OK──▶ (said started) ▶ runs ▶ (stop's call) ▶ ended ▶ over ▶ closing ▶ let go
 *     at any point: abandoned ▶ over; what comes later drops its hand and is ignored
 *
 * Invariants
 *  T1 A tenure is over when it has failed or ended and none of its calls is under way, or when it was abandoned. So a
 *     child is never started again while a call of its previous start is on a helper's stack, unless that start was
 *     abandoned.
 *  T2 The record stays while its child has it or a hand is left: each call that is under way, its thread, and the
 *     future of its end.
 *  T3 It is found by its number until it is over. A later report finds nothing.
 *  T4 stop is called at most once, and only after start has returned OK. If start returns OK after its tenure was
 *     abandoned, stop is called at once: otherwise nothing would release what start has made.
 *  T5 Before its end is reported, the future of its end was cancelled or delivered. If it completes at that moment, the
 *     completing thread is still in `told`, reading the future, and is waited for (`untold`).
 *
 * A thread writes its own handle into the record when it ends, and leaves the joining to a job. So the child is over
 * only when the whole thread is gone, with its leases, its registered entries and its thread-specific destructors.
 *
 * The mutex orders everything, except a thread's last writes: its end orders them, since it is joined.
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

/* End a call, and call the steward. The supervisor may be gone afterwards. */
static void drop_and_unlock(ceni_tenure *tenure)
{
    cen_supervisor *supervisor = tenure->supervisor;
    bool is_lost = tenure->abandoned;
    if (tenure->child->tenure == tenure) ceni_child_note_locked(tenure->child);
    tenure->hands--;
    release_if_last_locked(tenure);
    ceni_dead_free_locked(supervisor); /* the hand on the supervisor is still there */
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
        ceni_error_set(&error, status, 0, "child \"%.200s\": its thread ended: %s", tenure->child->name,
                       cen_status_text(status));
    tenure->last_words = error;
    tenure->last_words.status = status;
}

static void lose_thread(void *argument)
{
    ceni_tenure *tenure = argument;
    ceni_error_set(&tenure->last_words, CEN_INTERRUPTED, 0,
                   "child \"%.200s\": its thread was cancelled or called pthread_exit", tenure->child->name);
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
    return ceni_error_set(error, status, code, "child \"%.200s\": cannot start a thread", tenure->child->name);
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

/* Note the result of start. True: the tenure was abandoned meanwhile, and the caller must call stop. */
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
        ceni_error_set(&error, status, error.code, "child \"%.200s\": start failed: %s", tenure->child->name,
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

/* ---- For the state machine ------------------------------------------------------------------------ */

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

/* ---- Reports ----------------------------------------------------------------------------------------- */

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

/* The future of its end is done. Its consumer is the tenure; the job is not run. */
static void told(cen_executor *executor, cen_job *job)
{
    ceni_tenure *tenure = TENURE_OF(executor, watcher);
    cen_future *future = CENI_LIST_ENTRY(job, cen_future, job_);
    cen_error why = {.status = CEN_OK};
    if (future->status != CEN_OK) {
        if (future->error) why = *future->error;
        else
            ceni_error_set(&why, future->status, future->code, "child \"%.200s\": ended: %s", tenure->child->name,
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

/* Between the two critical sections the tenure is not over, so the steward does not cancel the future meanwhile. */
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
