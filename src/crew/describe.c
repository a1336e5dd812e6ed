/* SPDX-License-Identifier: MIT */
/*
 * Describes a crew as a component: its workers one by one, and the action "resize".
 *
 * A worker's state is read from where the crew keeps it anyway. Sleeping and blocking are read under the mutex, the
 * running step from the watchdog's words. All workers are copied in one critical section, so the copy shows one moment.
 * Steps are the exception: they begin and end without a lock.
 *
 * No step reads a clock. The duration of a step is known as far as descriptions have been written: one notes which step
 * it saw, and a later one that finds the same step knows how long it has run. So step_ns means "at least".
 *
 * Tested by tests/unit/crew/describe_test.c.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "crew/internal.h"

/* A copy of a worker's state, so that no lock is held while it is written. */
typedef struct row {
    ceni_worker *worker; /* stays until the crew is freed */
    const char *state;
    const char *task; /* NULL: it runs none */
    int64_t step_ns;  /* at least */
} row;

/* "awake": it looks for a job, has just found one, or runs a job that was posted. */
static const char *state_locked(const ceni_worker *worker, uint64_t step, uint32_t nested)
{
    if (worker->is_leaving) return "leaving";
    if (worker->is_blocked) return "blocked";
    if (worker->is_listed) return nested > 0 ? "awaiting" : "idle";
    if (step) return nested > 1 ? "helping" : "running";
    return nested > 0 ? "awaiting" : "awake";
}

static void copy_locked(ceni_worker *worker, row *out, int64_t now)
{
    const char *name = NULL;
    uint64_t step = ceni_step_look(worker, &name);
    uint32_t nested = ceni_load_relaxed(&worker->depth); /* a number; carries nothing */
    if (step != worker->seen) {
        worker->seen = step;
        if (!ceni_planted(crew_shows_the_age_of_the_step_before)) worker->seen_since = now;
    }
    *out = (row){.worker = worker,
                 .state = state_locked(worker, step, nested),
                 .task = name,
                 .step_ns = now - worker->seen_since};
}

static uint32_t copy_all(ceni_core *core, row *rows, uint32_t room)
{
    uint32_t count = 0;
    ceni_core_lock(core);
    int64_t now = ceni_runtime_now(core->runtime);
    uint32_t seats = ceni_setting(&core->seats);
    for (uint32_t i = 0; i < seats && count < room; i++) {
        ceni_worker *worker = ceni_worker_at(core, i);
        if (worker->is_used) copy_locked(worker, &rows[count++], now);
    }
    ceni_core_unlock(core);
    return count;
}

static void write_row(const cen_description_writer *description, const row *self)
{
    void *to = description->argument;
    description->item(to);
    description->number(to, "number", self->worker->number);
    description->text(to, "thread", self->worker->name);
    description->text(to, "state", self->state);
    description->number(to, "queued", ceni_deque_count(&self->worker->deque));
    if (self->task) {
        description->text(to, "task", self->task);
        description->number(to, "step_ns", self->step_ns);
    }
    description->end(to);
}

static void write_workers(ceni_core *core, const cen_description_writer *description, uint32_t threads, size_t most)
{
    const cen_allocator *allocator = core->crew->options.allocator;
    uint32_t room = threads < most ? threads : (uint32_t)most, count = 0;
    size_t bytes = room * sizeof(row);
    row *rows = room > 0 ? ceni_alloc(allocator, bytes, _Alignof(row)) : NULL;
    if (rows) count = copy_all(core, rows, room);
    description->list(description->argument, "workers");
    for (uint32_t i = 0; i < count; i++) write_row(description, &rows[i]);
    description->end(description->argument);
    if (threads > room || (room > 0 && !rows))
        description->number(description->argument, "workers_more", threads - count);
    if (rows) ceni_free(allocator, rows, bytes, _Alignof(row));
}

static void describe_crew(const void *object, const cen_description_writer *description, size_t most)
{
    cen_crew *crew = (cen_crew *)(uintptr_t)object;
    void *to = description->argument;
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    cen_status status;
    ceni_core *core = ceni_crew_core(crew, &status);
    if (!core || cen_crew_stats_get(crew, &stats) != CEN_OK) return;
    ceni_core_lock(core);
    uint32_t min = core->min < core->target ? core->min : core->target;
    ceni_core_unlock(core);
    description->number(to, "min", min);
    description->number(to, "max", core->max);
    if (crew->options.idle_timeout_ns > 0) description->number(to, "idle_timeout_ns", crew->options.idle_timeout_ns);
    if (crew->options.slow_ns > 0) description->number(to, "slow_ns", crew->options.slow_ns);
    description->truth(to, "stopped", stats.is_stopped);
    write_workers(core, description, stats.threads, most);
}

/* ---- Actions --------------------------------------------------------------------------------- */

static cen_status tell(void *object, const char *action, int64_t value, cen_error *error)
{
    cen_crew *crew = object;
    (void)action; /* there is one */
    if (value < 1 || value > crew->options.max)
        return ceni_error_set(error, CEN_INVALID, 0, "crew \"%s\": workers must be 1 to %u (got %lld)", crew->name,
                              crew->options.max, (long long)value);
    return cen_crew_resize(crew, (uint32_t)value, error);
}

static const char *const actions[] = {"resize", NULL};

const ceni_component_calls ceni_crew_calls = {.description = describe_crew, .actions = actions, .tell = tell};
const ceni_component_calls ceni_crew_calls_without_actions = {.description = describe_crew};
