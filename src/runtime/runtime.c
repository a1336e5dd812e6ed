/* SPDX-License-Identifier: MIT */
/*
 * Creating a runtime, its users, and its end.
 *
 * The process's default runtime (`process.own`) is made by the first user that joins it. Its last user takes it out of
 * `process`, under the lock, and then ends it. A user that joins meanwhile makes a new one, so for a moment there may
 * be two. Only its last user ends it: exit waits until its threads are out of their calls (port/process_exit.h) and
 * leaves the rest as it is.
 *
 * `process` is initialised by the first thread that needs it. In the child of a fork the first thread that needs it
 * initialises it again, because the parent's lock may be held by a thread that does not exist there. The claim names
 * the process too: a child that is forked in the middle of the initialisation does not wait for a thread that it does
 * not have.
 *
 * In the child of a fork, a runtime of the parent is memory and nothing else. Users that leave are counted down, under
 * the child's own lock. The last one frees the memory of what was the parent's default runtime.
 *
 * Invariants
 * I1  `users` of every runtime, and `process.own`, are touched under the lock of `process` only.
 * I2  process.own has users. It is NULL as soon as it has none.
 * I3  A thread that takes a runtime from process.own holds that lock until it has counted itself as a user or is done
 *     with the runtime.
 * I4  A job is kept only while there is no process.own, for lack of memory. A thread that makes one, or joins it, posts
 *     the kept jobs to it.
 * I5  An explicit runtime for which ceni_runtime_let_go has succeeded has only resting users. So nothing will be due in
 *     it, and no thread needs to poll it.
 *
 * Order table
 * tag  site    | operation     | order   | pairs with | carries             | breaks if weakened
 * The locks order everything; record/owned.h orders their initialisation.
 *
 * Tested by tests/unit/runtime/life_test.c, own_test.c, fork_test.c,
 * tests/explore/runtime_life_test.c, tests/faults/runtime_faults_test.c.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/statics.h"
#include "port/deadline.h"
#include "port/process_exit.h"
#include "record/owned.h"
#include "runtime/internal.h"

static const int64_t default_linger_ns = INT64_C(10000000000);
enum { DEFAULT_HELPERS = 256, LEAST_HELPERS = 2 }; /* one of them is kept for closings */

/* ---- The default runtime, and all users ------------------------------------------------- */

static CENI_STATIC struct {
    ceni_mutex mutex;          /* rank RUNTIMES */
    cen_runtime *own;          /* NULL: there is none */
    cen_job *kept, *kept_last; /* jobs for which it could not be made; none while it exists */
    int32_t max_helpers;       /* its limit, also when it is made again; 0: the default */
} process;
static CENI_STATIC ceni_owned owned; /* the child of a fork initialises it again */

static void process_lock(void)
{
    if (ceni_owned_begin(&owned)) {
        process.mutex = (ceni_mutex){0};
        process.own = NULL;
        process.kept = NULL; /* and the limit stays */
        ceni_owned_ready(&owned);
    }
    ceni_mutex_lock(&process.mutex, CENI_RANK_RUNTIMES);
}

static void process_unlock(void)
{
    ceni_mutex_unlock(&process.mutex, CENI_RANK_RUNTIMES);
}

/* ---- Memory --------------------------------------------------------------------------------- */

static uint32_t limit_of(int32_t max_helpers)
{
    return max_helpers == CEN_OFF ? UINT32_MAX : max_helpers ? (uint32_t)max_helpers : DEFAULT_HELPERS;
}

static cen_runtime *make(const cen_runtime_options *o)
{
    static const int64_t first_virtual_moment = 1000000000;
    cen_runtime *runtime = ceni_alloc(o->allocator, sizeof *runtime, _Alignof(cen_runtime));
    if (!runtime) return NULL;
    runtime->epoch = ceni_fork_epoch();
    runtime->allocator = o->allocator;
    runtime->idle_timeout_ns = o->idle_timeout_ns == CEN_OFF    ? CENI_FOREVER
                               : o->idle_timeout_ns == CEN_NONE ? 0
                               : o->idle_timeout_ns             ? o->idle_timeout_ns
                                                                : default_linger_ns;
    runtime->manual = o->manual;
    runtime->virtual_time = o->virtual_time;
    runtime->bell = (ceni_bell){-1, -1};
    snprintf(runtime->name, sizeof runtime->name, "%s", o->name ? o->name : "cenote");
    runtime->keeper_until = INT64_MIN;
    runtime->said = CENI_FOREVER;
    ceni_store_relaxed(&runtime->clock, first_virtual_moment); /* no other thread knows it yet; carries nothing */
    ceni_list_init(&runtime->due);
    ceni_list_init(&runtime->crowd_due);
    for (int kind = 0; kind < CENI_ERRAND_KINDS; kind++) ceni_list_init(&runtime->errands[kind]);
    runtime->most = limit_of(o->max_helpers);
    ceni_store_relaxed(&runtime->most_told, runtime->most); /* no other thread knows it yet; carries nothing */
    ceni_list_init(&runtime->idle);
    ceni_list_init(&runtime->members);
    ceni_wheel_init(&runtime->wheel, ceni_runtime_now(runtime));
    ceni_wheel_init(&runtime->crowd, ceni_runtime_now(runtime));
    ceni_jobs_init(runtime);
    return runtime;
}

/* ---- Users ---------------------------------------------------------------------------------- */

/* Count a user of the default runtime. If there is none, `made` becomes it. Jobs that were kept for it are counted and
 * posted. */
static cen_runtime *join_own(cen_runtime *made)
{
    process_lock();
    if (!process.own && made) {
        made->most = limit_of(process.max_helpers);
        ceni_store_relaxed(&made->most_told, made->most); /* no other thread knows it yet; carries nothing */
        process.own = made;
    }
    cen_runtime *own = process.own;
    cen_job *kept = own ? process.kept : NULL;
    if (own) {
        own->users++;
        process.kept = NULL;
        for (cen_job *job = kept; job; job = job->next) own->users++;
    }
    process_unlock();
    for (cen_job *next; kept; kept = next) {
        next = kept->next;
        ceni_jobs_post_counted(own, kept);
    }
    return own;
}

static cen_status join_or_make_own(cen_runtime **out)
{
    static const cen_runtime_options usual = CEN_RUNTIME_OPTIONS(.name = NULL);
    cen_runtime *found = join_own(NULL);
    if (!found) {
        cen_runtime *made = make(&usual);
        if (!made) return CEN_NO_MEMORY;
        made->own = true;
        found = join_own(made);
        if (found != made) ceni_runtime_release(made); /* another thread was first */
    }
    *out = found;
    return CEN_OK;
}

cen_runtime *ceni_runtime_join_or_keep(cen_job *job)
{
    cen_runtime *own;
    ceni_exit_register(NULL, NULL);
    if (join_or_make_own(&own) == CEN_OK) return own;
    process_lock();
    own = process.own; /* another thread may have made it meanwhile */
    if (own) {
        own->users++;
    } else {
        job->next = NULL;
        if (process.kept) process.kept_last->next = job;
        else process.kept = job;
        process.kept_last = job;
    }
    process_unlock();
    return own;
}

cen_status ceni_runtime_join(cen_runtime *runtime, cen_runtime **out)
{
    ceni_exit_register(NULL, NULL);
    if (!runtime) return join_or_make_own(out);
    if (!ceni_fork_is(runtime->epoch)) return CEN_FORKED;
    process_lock();
    runtime->users++;
    process_unlock();
    *out = runtime;
    return CEN_OK;
}

void ceni_runtime_leave(cen_runtime *runtime)
{
    process_lock();
    bool ends = --runtime->users == 0 && (runtime->own || runtime->gone);
    if (ends && process.own == runtime) process.own = NULL;
    process_unlock();
    if (!ends) return; /* an explicit one may have been freed by now */
    void (*gone)(void *argument) = runtime->gone;
    void *argument = runtime->gone_argument;
    if (!ceni_fork_is(runtime->epoch) || ceni_runtime_stop(runtime)) ceni_runtime_release(runtime);
    if (gone) gone(argument);
}

/* ---- Users that rest -------------------------------------------------------------------------- */

void ceni_runtime_rest(cen_runtime *runtime)
{
    process_lock();
    runtime->resting++;
    process_unlock();
}

void ceni_runtime_rest_no_more(cen_runtime *runtime)
{
    process_lock();
    runtime->resting--;
    process_unlock();
}

uint32_t ceni_runtime_active_users(cen_runtime *runtime)
{
    process_lock();
    uint32_t active = runtime->users - runtime->resting;
    process_unlock();
    return active;
}

cen_status ceni_runtime_let_go(cen_runtime *runtime, void (*gone)(void *argument), void *argument)
{
    process_lock();
    ceni_runtime_lock(runtime);
    bool busy = runtime->users - runtime->resting > 1 || runtime->runner || ceni_errands_queued_locked(runtime) > 0;
    ceni_runtime_unlock(runtime);
    if (!busy) {
        runtime->gone = gone;
        runtime->gone_argument = argument;
    }
    process_unlock();
    if (busy) return CEN_BUSY;
    ceni_runtime_leave(runtime);
    return CEN_OK;
}

/* ---- Explicit runtimes ---------------------------------------------------------------------------- */

static cen_status refuse(cen_error *error, const char *what)
{
    return ceni_error_set(error, CEN_INVALID, 0, "cen_runtime_new: %s", what);
}

static bool is_limit(int32_t max_helpers)
{
    return max_helpers == 0 || max_helpers == CEN_OFF || max_helpers >= LEAST_HELPERS;
}

static cen_status check_options(const cen_runtime_options *given, cen_runtime_options *o, cen_error *error)
{
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_runtime_new: options", error);
    if (status != CEN_OK) return status;
    if (o->virtual_time && !o->manual) return refuse(error, "options.virtual_time needs options.manual");
    if (cen_time_is_tiny(o->idle_timeout_ns))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_runtime_new: options.idle_timeout_ns " CEN_TIME_IS_TINY,
                              (long long)o->idle_timeout_ns);
    if (o->idle_timeout_ns < CEN_NONE)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "cen_runtime_new: options.idle_timeout_ns must be positive, 0 for the default, CEN_OFF "
                              "or CEN_NONE (got %lld)",
                              (long long)o->idle_timeout_ns);
    if (!is_limit(o->max_helpers))
        return ceni_error_set(
            error, CEN_INVALID, 0,
            "cen_runtime_new: options.max_helpers must be at least %d, or CEN_OFF for no limit (got %d)", LEAST_HELPERS,
            (int)o->max_helpers);
    if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
        return refuse(error, "options.allocator lacks alloc or free");
    return CEN_OK;
}

cen_status cen_runtime_new(const cen_runtime_options *options, cen_runtime **out, cen_error *error)
{
    cen_runtime_options known;
    const cen_runtime_options *o = &known;
    if (!out) return refuse(error, "out is NULL");
    cen_status status = check_options(options, &known, error);
    if (status != CEN_OK) return status;
    cen_runtime *runtime = make(o);
    if (!runtime) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_runtime_new: out of memory");
    int code = 0;
    if (o->manual && ceni_bell_init(&runtime->bell, &code) != CEN_OK) goto undo_runtime;
    *out = runtime;
    return CEN_OK;

undo_runtime:
    ceni_runtime_release(runtime);
    return ceni_error_set(error, CEN_SYSTEM, code, "cen_runtime_new: cannot create a descriptor (errno %d)", code);
}

/* OK if the runtime can end, or why it cannot. */
static cen_status end_refused(cen_runtime *runtime)
{
    process_lock();
    ceni_runtime_lock(runtime);
    bool inside = ceni_runtime_is_member_locked(runtime) || runtime->runner == ceni_thread_id();
    bool busy = runtime->users > 0 || runtime->runner || ceni_jobs_wait_locked(runtime);
    ceni_runtime_unlock(runtime);
    process_unlock();
    return inside ? CEN_MISUSE : busy ? CEN_BUSY : CEN_OK;
}

cen_status cen_runtime_free(cen_runtime *runtime)
{
    if (!runtime) return CEN_OK;
    if (ceni_fork_is(runtime->epoch)) {
        cen_status refused = end_refused(runtime);
        if (refused != CEN_OK) return refused;
        ceni_runtime_stop(runtime);
    }
    ceni_runtime_release(runtime);
    return CEN_OK;
}

/* ---- Statistics --------------------------------------------------------------- */

static uint32_t length_of(const ceni_list *list)
{
    uint32_t length = 0;
    for (const ceni_list *link = list->next; link != list; link = link->next) length++;
    return length;
}

cen_status cen_runtime_stats_get(cen_runtime *runtime, cen_runtime_stats *out)
{
    cen_runtime_stats now = CEN_SIZED(cen_runtime_stats);
    cen_status status = cen_sized_check(out, sizeof now, "cen_runtime_stats_get: out", NULL);
    if (status != CEN_OK) return status;
    if (runtime && !ceni_fork_is(runtime->epoch)) return CEN_FORKED;
    process_lock();
    if (!runtime) runtime = process.own;
    if (runtime) {
        ceni_runtime_lock(runtime);
        now.users = runtime->users;
        now.helpers = runtime->helpers;
        now.busy = runtime->helpers - runtime->spare;
        now.queued = ceni_errands_queued_locked(runtime);
        now.waiting = now.queued - ceni_errands_ready_locked(runtime);
        now.max_helpers = runtime->most;
        now.timers = (uint32_t)runtime->wheel.count + length_of(&runtime->due);
        now.timers += (uint32_t)runtime->crowd.count + length_of(&runtime->crowd_due);
        now.has_keeper = runtime->has_keeper;
        ceni_runtime_unlock(runtime);
    }
    process_unlock();
    cen_sized_write(out, &now, sizeof now);
    return CEN_OK;
}

static void limit(cen_runtime *runtime, int32_t max_helpers)
{
    ceni_runtime_lock(runtime);
    ceni_errands_limit_locked(runtime, limit_of(max_helpers));
    ceni_runtime_unlock(runtime);
}

cen_status cen_runtime_max_helpers_set(cen_runtime *runtime, int32_t max_helpers)
{
    if (!is_limit(max_helpers)) return CEN_INVALID;
    if (runtime) {
        if (!ceni_fork_is(runtime->epoch)) return CEN_FORKED;
        limit(runtime, max_helpers);
        return CEN_OK;
    }
    process_lock();
    process.max_helpers = max_helpers;
    cen_runtime *own = process.own;
    if (own) own->users++; /* so that it does not end meanwhile */
    process_unlock();
    if (!own) return CEN_OK;
    limit(own, max_helpers);
    ceni_runtime_leave(own);
    return CEN_OK;
}

/* ---- Waiting for its threads ------------------------------------------------------------------- */

/* No errand is queued, and no helper of an explicit runtime is in one. */
static bool is_idle(void *argument)
{
    cen_runtime *runtime = argument;
    process_lock();
    if (!runtime) runtime = process.own;
    bool idle = true;
    if (runtime) {
        ceni_runtime_lock(runtime);
        idle = ceni_errands_queued_locked(runtime) == 0 && (argument == NULL || runtime->helpers == runtime->spare);
        ceni_runtime_unlock(runtime);
    }
    process_unlock();
    return idle;
}

cen_status cen_runtime_wait_idle(cen_runtime *runtime, cen_deadline deadline)
{
    if (runtime && !ceni_fork_is(runtime->epoch)) return CEN_FORKED;
    if (runtime && runtime->manual) return CEN_INVALID;
    if (ceni_thread_in_call()) return CEN_MISUSE;
    int64_t moment = ceni_deadline_moment(ceni_deadline_or(deadline, CEN_NEVER), ceni_clock_now());
    bool quiet = runtime ? ceni_exit_await_only(moment, is_idle, runtime) : ceni_exit_await(moment, is_idle, NULL);
    return quiet ? CEN_OK : CEN_TIMEOUT;
}

cen_status cen_runtime_exit_timeout_set(int64_t ns)
{
    if (ns < CEN_NONE || cen_time_is_tiny(ns)) return CEN_INVALID;
    ceni_exit_set_timeout(ns);
    return CEN_OK;
}
