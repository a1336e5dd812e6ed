/* SPDX-License-Identifier: MIT */
/*
 * Creating a crew, and a crew as an executor. core.c has its state in one process.
 *
 * Tested by tests/unit/crew/new_test.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "crew/internal.h"

#define DEFAULT_LINGER_NS INT64_C(10000000000)
#define DEFAULT_TICK_NS INT64_C(1000000000)
enum { MORE_AT_MOST = 64 };

/* ---- Options -------------------------------------------------------------------------------- */

static cen_status refuse(cen_error *error, const char *what)
{
    return ceni_error_set(error, CEN_INVALID, 0, "cen_crew_new: %s", what);
}

static cen_status check_numbers(const cen_crew_options *o, cen_error *error)
{
    if (o->workers > CEN_CREW_MAX) return refuse(error, "options.workers is more than CEN_CREW_MAX");
    if (o->max > CEN_CREW_MAX) return refuse(error, "options.max is more than CEN_CREW_MAX");
    uint32_t workers = o->workers ? o->workers : ceni_cpu_count();
    if (o->max && o->max < workers) return refuse(error, "options.max is less than options.workers");
    if (o->min > workers) return refuse(error, "options.min is more than options.workers");
    const int64_t times[] = {o->idle_timeout_ns, o->tick_ns, o->slow_ns};
    static const char *const names[] = {"idle_timeout_ns", "tick_ns", "slow_ns"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (cen_time_is_tiny(times[i]))
            return ceni_error_set(error, CEN_INVALID, 0, "cen_crew_new: options.%s " CEN_TIME_IS_TINY, names[i],
                                  (long long)times[i]);
    if (o->idle_timeout_ns < CEN_NONE)
        return refuse(error, "options.idle_timeout_ns must be positive, 0 for the default, CEN_OFF or CEN_NONE");
    if (o->tick_ns < 0) return refuse(error, "options.tick_ns must not be negative");
    if (o->tick_ns > 0 && !o->context.on_tick) return refuse(error, "options.tick_ns needs options.context.on_tick");
    if (o->slow_ns < 0) return refuse(error, "options.slow_ns must not be negative");
    if (o->slow && o->slow_ns == 0) return refuse(error, "options.slow needs options.slow_ns");
    return CEN_OK;
}

static cen_status check_options(const cen_crew_options *given, cen_crew_options *o, cen_error *error)
{
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_crew_new: options", error);
    if (status != CEN_OK) return status;
    if (o->cpu_count > 0 && !o->cpus) return refuse(error, "options.cpu_count needs options.cpus");
    if (o->cpus && o->cpu_count == 0) return refuse(error, "options.cpus needs options.cpu_count");
    if (o->on_fork != CEN_FORK_REFUSE && o->on_fork != CEN_FORK_RENEW)
        return refuse(error, "options.on_fork must be a cen_fork_policy");
    if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
        return refuse(error, "options.allocator lacks alloc or free");
    return check_numbers(o, error);
}

static void fill_defaults(cen_crew_options *o)
{
    if (!o->workers) o->workers = ceni_cpu_count();
    if (!o->min) o->min = o->workers;
    if (!o->max) o->max = o->workers * 4 > o->workers + MORE_AT_MOST ? o->workers * 4 : o->workers + MORE_AT_MOST;
    if (o->max > CEN_CREW_MAX) o->max = CEN_CREW_MAX;
    if (!o->idle_timeout_ns) o->idle_timeout_ns = DEFAULT_LINGER_NS;
    if (o->context.on_tick && !o->tick_ns) o->tick_ns = DEFAULT_TICK_NS;
}

/* ---- The executor ------------------------------------------------------------------------------ */

static void post(cen_executor *executor, cen_job *job)
{
    cen_status status;
    ceni_core *core = ceni_crew_core((cen_crew *)(void *)executor, &status);
    if (!core) {
        ceni_post_elsewhere(job);
        return;
    }
    ceni_worker *worker = ceni_worker_here();
    if (worker && worker->core == core && !worker->is_ending && ceni_deque_push(&worker->deque, job)) {
        ceni_call_one(core);
        return;
    }
    ceni_load load = {.what = CENI_PUT_JOB, .count = 1, .job = job};
    ceni_shard *home = ceni_injector_put(&core->injector, &load, true);
    if (!home) {
        ceni_post_elsewhere(job);
        return;
    }
    ceni_call_one(core);
    ceni_injector_leave(home); /* the last touch of the crew */
}

cen_executor *cen_crew_executor(cen_crew *crew)
{
    return crew ? &crew->executor : NULL;
}

/* ---- Creating a crew ------------------------------------------------------------------------------ */

static cen_status make_crew(const cen_crew_options *o, cen_crew **out)
{
    cen_crew *crew = ceni_alloc(o->allocator, sizeof *crew, _Alignof(cen_crew));
    if (!crew) return CEN_NO_MEMORY;
    crew->executor.post = post;
    crew->options = *o;
    fill_defaults(&crew->options);
    crew->cpu_count = o->cpu_count;
    if (o->cpu_count > 0) {
        crew->cpus = ceni_alloc(o->allocator, o->cpu_count * sizeof *crew->cpus, _Alignof(uint32_t));
        if (!crew->cpus) {
            ceni_free(o->allocator, crew, sizeof *crew, _Alignof(cen_crew));
            return CEN_NO_MEMORY;
        }
        memcpy(crew->cpus, o->cpus, o->cpu_count * sizeof *crew->cpus);
    }
    snprintf(crew->name, sizeof crew->name, "%s", o->name ? o->name : "crew");
    crew->entry =
        (ceni_directory_entry){.kind = "crew",
                               .name = crew->name,
                               .snapshot = ceni_crew_snapshot,
                               .object = crew,
                               .calls = o->without_actions ? &ceni_crew_calls_without_actions : &ceni_crew_calls};
    *out = crew;
    return CEN_OK;
}

/* Start the first workers. If one cannot be started, stop and free the crew. */
static cen_status begin(cen_crew *crew, ceni_core *core, cen_error *error)
{
    ceni_core_begin(core);
    if (core->start_error.status == CEN_OK) return CEN_OK;
    cen_error why = core->start_error;
    cen_crew_stop(crew, CEN_STOP_DROP, CEN_NEVER, NULL, NULL);
    cen_crew_free(crew);
    return ceni_error_set(error, why.status, why.code, "cen_crew_new: %s", why.text);
}

cen_status cen_crew_new(const cen_crew_options *options, cen_crew **out, cen_error *error)
{
    cen_crew_options known;
    const cen_crew_options *o = &known;
    if (!out) return refuse(error, "out is NULL");
    cen_status status = check_options(options, &known, error);
    if (status != CEN_OK) return status;
    cen_runtime *runtime;
    cen_crew *crew = NULL;
    status = ceni_runtime_join(o->runtime, &runtime);
    if (status != CEN_OK)
        return ceni_error_set(error, status, 0, "cen_crew_new: cannot use the runtime: %s", cen_status_text(status));
    if (ceni_runtime_is_manual(runtime)) {
        status = refuse(error, "options.runtime must not be manual; a crew needs a timer thread");
        goto undo_join;
    }
    status = make_crew(o, &crew);
    if (status != CEN_OK) goto no_memory;
    ceni_core *core = ceni_core_make(crew, runtime);
    if (!core) {
        ceni_crew_release(crew);
        status = CEN_NO_MEMORY;
        goto no_memory;
    }
    ceni_setting_put(&crew->core, core);
    status = begin(crew, core, error);
    if (status == CEN_OK) *out = crew;
    return status;

no_memory:
    ceni_error_set(error, status, 0, "cen_crew_new: out of memory");
undo_join:
    ceni_runtime_leave(runtime);
    return status;
}
