/* SPDX-License-Identifier: MIT */
/* Creating an actor, its statistics and its description. */
#include "actor/internal.h"
#include "base/alloc.h"
#include "base/error.h"

#include <stdio.h>

enum { DEFAULT_BATCH = 64 };

static cen_status refuse(cen_error *error, const char *what)
{
    return ceni_error_set(error, CEN_INVALID, 0, "cen_actor_new: %s", what);
}

static cen_status check_options(const cen_actor_options *given, cen_actor_options *o, cen_error *error)
{
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_actor_new: options", error);
    if (status != CEN_OK) return status;
    if (!o->handle) return refuse(error, "options.handle is NULL");
    if (o->executor && !o->executor->post) return refuse(error, "options.executor has no post");
    if (cen_time_is_tiny(o->slow_ns))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_actor_new: options.slow_ns " CEN_TIME_IS_TINY,
                              (long long)o->slow_ns);
    if (o->slow_ns < 0) return refuse(error, "options.slow_ns must not be negative");
    if (o->slow && o->slow_ns == 0) return refuse(error, "options.slow needs options.slow_ns");
    if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
        return refuse(error, "options.allocator lacks alloc or free");
    return CEN_OK;
}

static uint64_t count_in(uint64_t gate)
{
    return gate & CENI_GATE_COUNT;
}

static uint64_t read_count(const _Atomic uint64_t *counter)
{
    return ceni_load_relaxed((_Atomic uint64_t *)(uintptr_t)counter); /* a number; carries nothing */
}

static size_t snapshot(const void *object, cen_metric *metrics, size_t room)
{
    const cen_actor *actor = object;
    const cen_metric all[] = {
        {"queued", (int64_t)count_in(read_count(&actor->gate)), CEN_GAUGE},
        {"handled", (int64_t)read_count(&actor->handled), CEN_COUNTER},
        {"dropped", (int64_t)read_count(&actor->dropped_count), CEN_COUNTER},
        {"slow", (int64_t)read_count(&actor->slow_count), CEN_COUNTER},
        /* likewise; carries nothing */
        {"running", ceni_load_relaxed(&((cen_actor *)(uintptr_t)actor)->running), CEN_GAUGE},
    };
    size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count && i < room; i++) metrics[i] = all[i];
    return count;
}

static void describe_actor(const void *object, const cen_description_writer *description, size_t most)
{
    cen_actor *actor = (cen_actor *)(uintptr_t)object;
    void *to = description->argument;
    cen_actor_stats stats = CEN_SIZED(cen_actor_stats);
    const char *doing = NULL;
    int64_t ns = 0;
    (void)most; /* it has no lists */
    if (cen_actor_stats_get(actor, &stats) != CEN_OK) return;
    if (actor->capacity < CENI_GATE_COUNT) description->number(to, "capacity", (int64_t)actor->capacity);
    description->number(to, "batch", actor->batch);
    if (actor->slow_ns > 0) description->number(to, "slow_ns", actor->slow_ns);
    description->text(to, "state", stats.is_running ? "running" : stats.is_stopped ? "stopped" : "idle");
    description->truth(to, "stopped", stats.is_stopped);
    if (!ceni_watch_look(actor, &doing, &ns)) return;
    description->text(to, "message", doing);
    description->number(to, "handled_for_ns", ns);
}

static const ceni_component_calls calls = {.description = describe_actor};

static void fill(cen_actor *actor, const cen_actor_options *o)
{
    ceni_actor_init(actor);
    actor->epoch = ceni_fork_epoch();
    actor->target = o->executor ? o->executor : cen_runtime_executor(actor->runtime);
    actor->handle = o->handle;
    actor->dropped = o->dropped;
    actor->slow = o->slow;
    actor->argument = o->argument;
    actor->capacity = o->capacity && o->capacity < CENI_GATE_COUNT ? o->capacity : CENI_GATE_COUNT;
    actor->batch = o->batch ? o->batch : DEFAULT_BATCH;
    actor->slow_ns = o->slow_ns;
    actor->allocator = o->allocator;
    snprintf(actor->name, sizeof actor->name, "%s", o->name ? o->name : "actor");
    actor->entry = (ceni_directory_entry){
        .kind = "actor", .name = actor->name, .snapshot = snapshot, .object = actor, .calls = &calls};
    actor->stop.run = ceni_actor_note_stop;
    ceni_list_init(&actor->later);
    ceni_alarm_init(&actor->watchdog, ceni_watch_due);
}

cen_status cen_actor_new(const cen_actor_options *options, cen_actor **out, cen_error *error)
{
    cen_actor_options known;
    const cen_actor_options *o = &known;
    if (!out) return refuse(error, "out is NULL");
    cen_status status = check_options(options, &known, error);
    if (status != CEN_OK) return status;
    cen_runtime *runtime;
    status = ceni_runtime_join(o->runtime, &runtime);
    if (status != CEN_OK)
        return ceni_error_set(error, status, 0, "cen_actor_new: cannot use the runtime: %s", cen_status_text(status));
    cen_actor *actor = ceni_alloc(o->allocator, sizeof *actor, _Alignof(cen_actor));
    if (!actor) goto undo_join;
    actor->runtime = runtime;
    fill(actor, o);
    ceni_directory_join(ceni_directory_process(), &actor->entry);
    *out = actor;
    return CEN_OK;

undo_join:
    ceni_runtime_leave(runtime);
    return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_actor_new: out of memory");
}

cen_status cen_actor_stats_get(const cen_actor *actor, cen_actor_stats *out)
{
    if (!actor) return CEN_INVALID;
    if (!ceni_fork_is(actor->epoch)) return CEN_FORKED;
    cen_status status = cen_sized_check(out, sizeof *out, "cen_actor_stats_get: out", NULL);
    if (status != CEN_OK) return status;
    uint64_t gate = read_count(&actor->gate);
    const cen_actor_stats now = {
        .queued = count_in(gate),
        .handled = read_count(&actor->handled),
        .dropped = read_count(&actor->dropped_count),
        .slow = read_count(&actor->slow_count),
        /* for statistics; carries nothing */
        .is_running = ceni_load_relaxed(&((cen_actor *)(uintptr_t)actor)->running),
        .is_stopped = (gate & CENI_GATE_CLOSED) != 0,
    };
    cen_sized_write(out, &now, sizeof now);
    return CEN_OK;
}
