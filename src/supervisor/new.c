/* SPDX-License-Identifier: MIT */
/* Creating and freeing a supervisor. */
#include "base/alloc.h"
#include "base/error.h"
#include "supervisor/internal.h"
#include "supervisor/look.h"
#include "sync/future.h"

#include <stdio.h>

enum { DEFAULT_RESTARTS = 3, MOST_RESTARTS = 1 << 20 };
static const int64_t DEFAULT_WINDOW_NS = 5000000000, DEFAULT_BACKOFF_NS = 100000000,
                     DEFAULT_BACKOFF_MAX_NS = 30000000000, DEFAULT_CALM_NS = 30000000000;

/* ---- Options --------------------------------------------------------------------------- */

static cen_status refuse(cen_error *error, const char *what)
{
    return ceni_error_set(error, CEN_INVALID, 0, "cen_supervisor_new: %s", what);
}

static cen_status check_numbers(const cen_supervisor_options *o, cen_error *error)
{
    if (o->max_restarts < CEN_NONE || o->max_restarts > MOST_RESTARTS)
        return refuse(error, "options.max_restarts must be 0 to 1048576, CEN_OFF or CEN_NONE");
    if (cen_time_is_tiny(o->window_ns) || cen_time_is_tiny(o->backoff_reset_ns))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_supervisor_new: options.%s " CEN_TIME_IS_TINY,
                              cen_time_is_tiny(o->window_ns) ? "window_ns" : "backoff_reset_ns",
                              (long long)(cen_time_is_tiny(o->window_ns) ? o->window_ns : o->backoff_reset_ns));
    if (o->window_ns < 0) return refuse(error, "options.window_ns must not be negative");
    if (o->backoff_initial_ns < 0 && o->backoff_initial_ns != CEN_OFF)
        return refuse(error, "options.backoff_initial_ns must not be below CEN_OFF");
    if (o->backoff_max_ns < 0) return refuse(error, "options.backoff_max_ns must not be negative");
    if (o->backoff_reset_ns < 0) return refuse(error, "options.backoff_reset_ns must not be negative");
    return CEN_OK;
}

/* The caller's struct may have a different size: the size of the first one is the stride. */
static cen_status read_child(const cen_supervisor_options *o, size_t index, cen_child_options *out, cen_error *error)
{
    size_t stride, size;
    memcpy(&stride, o->children, sizeof stride);
    const void *given = (const char *)o->children + index * stride;
    memcpy(&size, given, sizeof size);
    if (size != stride) return refuse(error, "options.children differ in size");
    return ceni_child_read(given, out, o->auto_stop, error);
}

static cen_status check_options(const cen_supervisor_options *given, cen_supervisor_options *o, cen_error *error)
{
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_supervisor_new: options", error);
    if (status != CEN_OK) return status;
    if ((unsigned)o->supervision > CEN_REST_FOR_ONE)
        return refuse(error, "options.supervision must be a cen_supervision");
    if ((unsigned)o->auto_stop > CEN_AUTO_STOP_ALL) return refuse(error, "options.auto_stop must be a cen_auto_stop");
    if (o->child_count > 0 && !o->children) return refuse(error, "options.children is NULL");
    if (o->nested && o->started) return refuse(error, "options.started is not allowed with options.nested");
    if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
        return refuse(error, "options.allocator lacks alloc or free");
    if (o->started && !ceni_future_is_fresh(o->started))
        return ceni_error_set(
            error, CEN_MISUSE, 0,
            "cen_supervisor_new: options.started has been used before; cen_future_init makes it ready again");
    status = check_numbers(o, error);
    for (size_t i = 0; status == CEN_OK && i < o->child_count; i++) {
        cen_child_options child;
        status = read_child(o, i, &child, error);
    }
    return status;
}

static int64_t or_default(int64_t ns, int64_t otherwise)
{
    return ns == CEN_OFF ? 0 : ns ? ns : otherwise;
}

static void fill(cen_supervisor *supervisor, const cen_supervisor_options *o)
{
    supervisor->epoch = ceni_fork_epoch();
    supervisor->allocator = o->allocator;
    supervisor->supervision = o->supervision;
    supervisor->auto_stop = o->auto_stop;
    supervisor->max_children = o->max_children ? o->max_children : UINT32_MAX;
    supervisor->retry_start = o->retry_start;
    supervisor->stop_together = o->stop_together;
    supervisor->nested = o->nested;
    supervisor->backoff = (ceni_backoff_rule){.first_ns = or_default(o->backoff_initial_ns, DEFAULT_BACKOFF_NS),
                                              .max_ns = or_default(o->backoff_max_ns, DEFAULT_BACKOFF_MAX_NS),
                                              .backoff_reset_ns = or_default(o->backoff_reset_ns, DEFAULT_CALM_NS)};
    supervisor->intensity.window_ns = o->window_ns ? o->window_ns : DEFAULT_WINDOW_NS;
    supervisor->intensity.max = o->max_restarts > 0          ? (uint32_t)o->max_restarts
                                : o->max_restarts == CEN_OFF ? UINT32_MAX
                                : o->max_restarts == 0       ? DEFAULT_RESTARTS
                                                             : 0;
    supervisor->listener = o->listener;
    supervisor->argument = o->argument;
    snprintf(supervisor->name, sizeof supervisor->name, "%s", o->name ? o->name : "supervisor");
    supervisor->entry = (ceni_directory_entry){.kind = "supervisor",
                                               .name = supervisor->name,
                                               .snapshot = ceni_supervisor_snapshot,
                                               .object = supervisor,
                                               .calls = &ceni_supervisor_calls};
    supervisor->job.run = ceni_steward_run;
    ceni_list_init(&supervisor->agenda);
    ceni_list_init(&supervisor->children);
    supervisor->front = supervisor->back = &supervisor->children;
    ceni_list_init(&supervisor->dead.children);
    ceni_table_init(&supervisor->names, o->allocator);
    ceni_table_init(&supervisor->tenures, o->allocator);
}

/* ---- Free -------------------------------------------------------------------------------- */

cen_status cen_supervisor_free(cen_supervisor *supervisor)
{
    if (!supervisor) return CEN_OK;
    if (!ceni_fork_is(supervisor->epoch)) {
        ceni_supervisor_release(supervisor);
        return CEN_OK;
    }
    ceni_supervisor_lock(supervisor);
    bool is_over = supervisor->phase == CENI_PHASE_NEW || supervisor->phase == CENI_PHASE_OVER;
    ceni_supervisor_unlock(supervisor);
    if (!is_over) return CEN_BUSY;
    ceni_house_leave(supervisor);
    ceni_directory_leave(ceni_directory_process(), &supervisor->entry);
    ceni_supervisor_lock(supervisor); /* a thread that found it in the table has dropped this lock by then */
    supervisor->is_freed = true;
    bool last = supervisor->hands == 0;
    ceni_supervisor_unlock(supervisor);
    if (last) ceni_supervisor_release(supervisor);
    return CEN_OK;
}

/* ---- New ------------------------------------------------------------------------------------ */

static cen_status make_children(cen_supervisor *supervisor, const cen_supervisor_options *o, cen_error *error)
{
    if (ceni_intensity_room(supervisor->intensity.max) > 0) {
        supervisor->intensity.moments =
            ceni_alloc(o->allocator, ceni_intensity_room(supervisor->intensity.max), _Alignof(int64_t));
        if (!supervisor->intensity.moments) return CEN_NO_MEMORY;
    }
    if (o->child_count == 0) return CEN_OK;
    supervisor->initial =
        ceni_alloc(o->allocator, o->child_count * sizeof *supervisor->initial, _Alignof(ceni_child_record *));
    if (!supervisor->initial) return CEN_NO_MEMORY;
    supervisor->initial_count = o->child_count;
    for (size_t i = 0; i < o->child_count; i++) {
        cen_child_options options;
        cen_status status = read_child(o, i, &options, error);
        if (status != CEN_OK) return status;
        ceni_child_record *child = supervisor->initial[i] = ceni_child_make(supervisor, &options, true);
        if (!child) return CEN_NO_MEMORY;
        ceni_table_grow(&supervisor->names); /* no other thread knows it yet: no lock is needed */
        status = ceni_child_list_locked(child, &supervisor->children, error);
        if (status != CEN_OK) return status;
    }
    return CEN_OK;
}

static bool withdraw(cen_future *future)
{
    cen_supervisor *supervisor = future->source_;
    ceni_supervisor_lock(supervisor);
    bool withdrawn = supervisor->started == future;
    if (withdrawn) supervisor->started = NULL;
    ceni_supervisor_unlock(supervisor);
    return withdrawn;
}

/* Wait until all children have started, or the supervisor is over. */
static cen_status await_start(cen_supervisor *supervisor, cen_error *error)
{
    ceni_supervisor_lock(supervisor);
    bool was_up = false;
    while (!was_up && supervisor->phase != CENI_PHASE_OVER) {
        was_up = supervisor->phase == CENI_PHASE_UP;
        if (!was_up) ceni_wait_locked(supervisor, CENI_FOREVER);
    }
    cen_status status = was_up ? CEN_OK : supervisor->error.status;
    if (!was_up && error) *error = supervisor->error;
    ceni_supervisor_unlock(supervisor);
    return status;
}

static cen_status start(cen_supervisor *supervisor, const cen_supervisor_options *o, cen_error *error)
{
    if (o->nested) return CEN_OK;
    if (o->started) ceni_future_begin(o->started, withdraw, supervisor);
    ceni_supervisor_lock(supervisor);
    supervisor->started = o->started;
    ceni_machine_run_locked(supervisor);
    ceni_steward_unlock(supervisor);
    return o->started ? CEN_OK : await_start(supervisor, error);
}

cen_status cen_supervisor_new(const cen_supervisor_options *options, cen_supervisor **out, cen_error *error)
{
    cen_supervisor_options known;
    const cen_supervisor_options *o = &known;
    if (!out) return refuse(error, "out is NULL");
    cen_status status = check_options(options, &known, error);
    if (status != CEN_OK) return status;
    cen_runtime *runtime;
    status = ceni_runtime_join(o->runtime, &runtime);
    if (status == CEN_OK && (status = ceni_alarm_need_keeper(runtime)) != CEN_OK) ceni_runtime_leave(runtime);
    if (status != CEN_OK)
        return ceni_error_set(error, status, 0, "cen_supervisor_new: cannot use the runtime: %s",
                              cen_status_text(status));
    cen_supervisor *supervisor = ceni_alloc(o->allocator, sizeof *supervisor, _Alignof(cen_supervisor));
    if (!supervisor) {
        ceni_runtime_leave(runtime);
        return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_supervisor_new: out of memory");
    }
    supervisor->runtime = runtime;
    fill(supervisor, o);
    status = make_children(supervisor, o, error);
    if (status != CEN_OK) {
        ceni_supervisor_release(supervisor);
        if (status != CEN_NO_MEMORY) return status;
        return ceni_error_set(error, status, 0, "cen_supervisor_new: out of memory for the children");
    }
    ceni_house_enter(supervisor);
    ceni_directory_join(ceni_directory_process(), &supervisor->entry);
    if (o->started) *out = supervisor; /* the future's consumer may use it at once */
    status = start(supervisor, o, error);
    if (status == CEN_OK && !o->started) *out = supervisor;
    else if (status != CEN_OK) cen_supervisor_free(supervisor);
    return status;
}
