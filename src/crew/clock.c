/* SPDX-License-Identifier: MIT */
/*
 * The crew's periodic work: ticks and the watchdog.
 *
 * Each is one alarm of the runtime for the whole crew. A tick raises a count. Sleeping workers are woken for it, and
 * the others read the count between two steps. No step reads a clock: the watchdog runs every slow_ns / 2, and records
 * for each worker which step it saw and since when.
 *
 * Invariants
 *  C1 `alarms` counts the alarms that are set or in their callback. The callback ends by setting the alarm again, or,
 *     once the crew is over, by lowering `alarms`: its last touch.
 *  C2 A step is reported only if the watchdog has seen the same step for slow_ns.
 *
 * Order table
 * [W2] begin, end of a step | store of watch | release | W3 | the name of its task | the report names the task of the step before
 * [W3] watchdog, look       | load of watch  | acquire | W2 | likewise | likewise
 *
 * Tested by tests/unit/crew/tick_test.c, tests/unit/crew/watch_test.c.
 */
#include <stdio.h>

#include "base/plant.h"
#include "crew/internal.h"
#include "record/events.h"

void ceni_step_begins(ceni_worker *worker, const cen_task *task)
{
    ceni_store_relaxed(&worker->watch_name, task->name); /* the next line passes it on; carries nothing */
    /* [W2]; its own, so reading carries nothing */
    ceni_store_release(&worker->watch, ceni_load_relaxed(&worker->watch) + 1);
}

void ceni_step_ends(ceni_worker *worker)
{
    ceni_store_release(&worker->watch, ceni_load_relaxed(&worker->watch) + 1); /* [W2]; likewise carries nothing */
}

uint64_t ceni_step_look(ceni_worker *worker, const char **name)
{
    uint64_t seen = ceni_load_acquire(&worker->watch); /* [W3] */
    if (!(seen & 1)) return 0;
    const char *named = ceni_load_relaxed(&worker->watch_name); /* W3 has brought it; carries nothing */
    /* [W3]: the step has ended meanwhile, and the name may be another task's */
    if (ceni_load_acquire(&worker->watch) != seen) return 0;
    *name = named ? named : "a task";
    return seen;
}

/* ---- The watchdog --------------------------------------------------------------------------- */

static void report(ceni_core *core, const ceni_worker *worker, const char *task, int64_t ns)
{
    const cen_crew_options *options = &core->crew->options;
    char text[256];
    snprintf(text, sizeof text, "crew \"%s\": a step of %s has been running on thread \"%s\" for at least %lld us",
             core->crew->name, task, worker->name, (long long)(ns / 1000));
    ceni_event_tell(CEN_LEVEL_WARNING, CEN_EVENT_STEP_SLOW, &core->crew->entry, ns, text);
    if (options->slow) options->slow(options->argument, text, task, worker->name, ns);
    else fprintf(stderr, "cenote: %s\n", text);
}

static void watch_one(ceni_core *core, ceni_worker *worker, int64_t now)
{
    uint64_t seen = ceni_load_acquire(&worker->watch); /* [W3] */
    if (seen != worker->watch_last) {
        worker->watch_last = seen;
        worker->watch_since = now;
        worker->watch_told = false;
        return;
    }
    bool runs = seen & 1;
    int64_t ns = now - worker->watch_since;
    if (!runs || worker->watch_told || ns < core->crew->options.slow_ns) return;
    const char *name = ceni_load_relaxed(&worker->watch_name); /* W3 has brought it; carries nothing */
    /* [W3]: the step has ended meanwhile, and the name may be another task's */
    if (ceni_load_acquire(&worker->watch) != seen) return;
    worker->watch_told = !ceni_planted(crew_watch_tells_again);
    ceni_add_relaxed(&core->slow_count, 1); /* a number; carries nothing */
    report(core, worker, name ? name : "a task", ns);
}

/* ---- Ticks ------------------------------------------------------------------------------------ */

void ceni_worker_tick(ceni_worker *worker)
{
    const cen_context_type *type = &worker->core->crew->options.context;
    uint32_t ticks = ceni_load_relaxed(&worker->core->ticks); /* a count; carries nothing */
    if (ticks == worker->ticks) return;
    worker->ticks = ticks; /* missed ticks count as one */
    type->on_tick(type->argument, worker->context);
}

/* ---- The alarms ------------------------------------------------------------------------------- */

/* Set the alarm again, or, once the crew is over, lower `alarms`: the alarm's last touch of the crew. Under the mutex:
 * the thread that sets `over` unsets the alarms that are set by then. It would wait a whole interval for one set after
 * that. */
static void again(ceni_core *core, ceni_alarm *alarm, int64_t interval)
{
    ceni_core_lock(core);
    if (!core->over) {
        ceni_alarm_set(core->runtime, alarm, ceni_runtime_now(core->runtime) + interval, NULL);
    } else {
        core->alarms--;
        ceni_turn_locked(core);
    }
    ceni_core_unlock(core);
}

static int64_t watch_interval(const ceni_core *core)
{
    int64_t half = core->crew->options.slow_ns / 2;
    return half > 0 ? half : 1;
}

static void watch_due(ceni_alarm *alarm)
{
    ceni_core *core = CENI_LIST_ENTRY(alarm, ceni_core, watch);
    int64_t now = ceni_runtime_now(core->runtime);
    uint32_t seats = ceni_setting(&core->seats);
    for (uint32_t i = 0; i < seats; i++) watch_one(core, ceni_worker_at(core, i), now);
    again(core, alarm, watch_interval(core));
}

static void tick_due(ceni_alarm *alarm)
{
    ceni_core *core = CENI_LIST_ENTRY(alarm, ceni_core, tick);
    ceni_core_lock(core);
    ceni_store_relaxed(&core->ticks, ceni_load_relaxed(&core->ticks) + 1); /* its own; a count; carries nothing */
    if (!ceni_planted(crew_ticks_the_busy_only)) ceni_sleepers_nudge_locked(core);
    ceni_core_unlock(core);
    again(core, alarm, core->crew->options.tick_ns);
}

static void start(ceni_core *core, ceni_alarm *alarm, int64_t interval)
{
    core->alarms++; /* before the alarm is set; no other thread knows the crew yet */
    ceni_alarm_set(core->runtime, alarm, ceni_runtime_now(core->runtime) + interval, NULL);
}

void ceni_clocks_start(ceni_core *core)
{
    const cen_crew_options *options = &core->crew->options;
    ceni_alarm_init(&core->tick, tick_due);
    ceni_alarm_init(&core->watch, watch_due);
    if (options->context.on_tick) start(core, &core->tick, options->tick_ns);
    if (options->slow_ns > 0) start(core, &core->watch, watch_interval(core));
}

void ceni_clocks_stop(ceni_core *core)
{
    uint32_t unset = (uint32_t)ceni_alarm_unset(core->runtime, &core->tick);
    unset += (uint32_t)ceni_alarm_unset(core->runtime, &core->watch);
    ceni_core_lock(core);
    core->alarms -= unset;
    ceni_core_unlock(core);
}
