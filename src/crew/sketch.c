/* SPDX-License-Identifier: MIT */
/*
 * A crew as a thing that is watched: its workers one by one, and the verb "resize".
 *
 * What a worker does is read where it stands anyway: whether it sleeps or blocks under the
 * mutex, which step it runs in the words of its watchdog. All of one crew's workers are copied
 * in one critical section, so that they were like that at one moment, but for the steps, which begin and
 * end without a lock.
 *
 * No step reads a clock. How long one has been running is known as far as somebody has
 * looked: who looks notes which step it has seen, and who looks again finds the same. So
 * step_ns says "at least".
 *
 * Tested by tests/unit/crew/sketch_test.c.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "crew/inside.h"

/* A copy of what is shown, so that no lock is held while it is. */
typedef struct row {
    ceni_worker *worker; /* stays until the crew is freed */
    const char *state;
    const char *task; /* NULL: it runs none */
    int64_t step_ns;  /* at least */
} row;

/* "awake": it looks for work, has just got some, or runs a job that was posted. */
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

static void write_row(const cen_sketch *sketch, const row *self)
{
    void *to = sketch->argument;
    sketch->item(to);
    sketch->number(to, "number", self->worker->number);
    sketch->text(to, "thread", self->worker->name);
    sketch->text(to, "state", self->state);
    sketch->number(to, "queued", ceni_deque_count(&self->worker->deque));
    if (self->task) {
        sketch->text(to, "task", self->task);
        sketch->number(to, "step_ns", self->step_ns);
    }
    sketch->end(to);
}

static void write_workers(ceni_core *core, const cen_sketch *sketch, uint32_t threads, size_t most)
{
    const cen_allocator *allocator = core->crew->options.allocator;
    uint32_t room = threads < most ? threads : (uint32_t)most, count = 0;
    size_t bytes = room * sizeof(row);
    row *rows = room > 0 ? ceni_alloc(allocator, bytes, _Alignof(row)) : NULL;
    if (rows) count = copy_all(core, rows, room);
    sketch->list(sketch->argument, "workers");
    for (uint32_t i = 0; i < count; i++) write_row(sketch, &rows[i]);
    sketch->end(sketch->argument);
    if (threads > room || (room > 0 && !rows)) sketch->number(sketch->argument, "workers_more", threads - count);
    if (rows) ceni_free(allocator, rows, bytes, _Alignof(row));
}

static void sketch_crew(const void *object, const cen_sketch *sketch, size_t most)
{
    cen_crew *crew = (cen_crew *)(uintptr_t)object;
    void *to = sketch->argument;
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    cen_status status;
    ceni_core *core = ceni_crew_core(crew, &status);
    if (!core || cen_crew_stats_get(crew, &stats) != CEN_OK) return;
    ceni_core_lock(core);
    uint32_t min = core->min < core->target ? core->min : core->target;
    ceni_core_unlock(core);
    sketch->number(to, "min", min);
    sketch->number(to, "max", core->max);
    if (crew->options.linger_ns > 0) sketch->number(to, "linger_ns", crew->options.linger_ns);
    if (crew->options.slow_ns > 0) sketch->number(to, "slow_ns", crew->options.slow_ns);
    sketch->truth(to, "stopped", stats.is_stopped);
    write_workers(core, sketch, stats.threads, most);
}

/* ---- What it obeys --------------------------------------------------------------------------- */

static cen_status tell(void *object, const char *verb, int64_t value, cen_error *error)
{
    cen_crew *crew = object;
    (void)verb; /* there is one */
    if (value < 1 || value > crew->options.max)
        return ceni_error_set(error, CEN_INVALID, 0, "crew \"%s\" can have 1 to %u workers, not %lld", crew->name,
                              crew->options.max, (long long)value);
    cen_status status = cen_crew_resize(crew, (uint32_t)value);
    if (status == CEN_OK) return CEN_OK;
    return ceni_error_set(error, status, 0, "crew \"%s\" could not be resized: %s", crew->name,
                          cen_status_text(status));
}

static const char *const verbs[] = {"resize", NULL};

const ceni_thing_calls ceni_crew_calls = {.sketch = sketch_crew, .verbs = verbs, .tell = tell};
const ceni_thing_calls ceni_crew_calls_without_verbs = {.sketch = sketch_crew};
