/* SPDX-License-Identifier: MIT */
/*
 * A crew's state in one process: its core. The child of a fork makes a core of its own.
 *
 * A call that finds the core of another process makes a new one, if the options allow it. The first thread that publishes
 * a core wins. Another thread frees its own, before it has a worker.
 *
 * Order table
 * [N1] renew | cas of core | acq_rel | itself, the settings | the new core's fields | a caller finds a half-made core
 *
 * Tested by tests/unit/crew/new_test.c, tests/unit/crew/fork_test.c.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "crew/internal.h"

enum { LEAST_SHARDS = 2 };

/* ---- Making ----------------------------------------------------------------------------------- */

static uint32_t shard_count(void)
{
#ifdef CENI_WATCHED
    return 1; /* one shard shows what two would, in half as many schedules */
#endif
    uint32_t count = LEAST_SHARDS;
    while (count < CENI_SHARDS_MOST && count < 2 * ceni_cpu_count()) count *= 2;
    return count;
}

ceni_core *ceni_core_make(cen_crew *crew, cen_runtime *runtime)
{
    const cen_allocator *allocator = crew->options.allocator;
    uint32_t max = crew->options.max;
    ceni_core *core = ceni_alloc(allocator, sizeof *core, _Alignof(ceni_core));
    if (!core) return NULL;
    core->injector.count = shard_count();
    core->injector.shards = ceni_alloc(allocator, core->injector.count * sizeof(ceni_shard), _Alignof(ceni_shard));
    core->workers = ceni_alloc(allocator, max * sizeof *core->workers, _Alignof(void *));
    for (uint32_t i = 0; core->injector.shards && i < core->injector.count; i++) core->injector.shards[i].number = i;
    core->max = max;
    core->stack_size = crew->options.stack_size ? crew->options.stack_size : ceni_thread_stack_size();
    core->crew = crew;
    core->epoch = ceni_fork_epoch();
    core->runtime = runtime;
    core->target = crew->options.workers;
    ceni_store_relaxed(&core->workers_guess, core->target); /* no other thread knows the core yet; carries nothing */
    ceni_setting_put(&core->injector.is_ordered, core->target == 1);
    core->min = crew->options.min;
    ceni_list_init(&core->parked_list);
    for (uint32_t i = 0; i < CENI_SUSPENDED_LISTS; i++) ceni_list_init(&core->suspended[i].tasks);
    if (core->injector.shards && core->workers) return core;
    ceni_free(allocator, core->workers, max * sizeof *core->workers, _Alignof(void *));
    ceni_free(allocator, core->injector.shards, core->injector.count * sizeof(ceni_shard), _Alignof(ceni_shard));
    ceni_free(allocator, core, sizeof *core, _Alignof(ceni_core));
    return NULL;
}

/* Start the first workers and wait until each has its context. start_error has the first failure. */
static void start_workers(ceni_core *core)
{
    uint32_t count = core->min;
    ceni_core_lock(core);
    core->arriving = count;
    ceni_core_unlock(core);
    for (uint32_t i = 0; i < count; i++) {
        ceni_core_lock(core);
        ceni_seat_record record = {.worker = NULL};
        ceni_worker *seat = ceni_seat_claim_locked(core, &record);
        if (ceni_seat_record_fetch_locked(core, &record)) {
            seat = ceni_seat_claim_locked(core, &record);
            ceni_seat_record_free_locked(core, &record);
        }
        if (seat) ceni_update_locked(core, 1);
        else if (core->arriving > 0) core->arriving--; /* in a child, a submit may have started one of them */
        if (!seat && core->start_error.status == CEN_OK)
            ceni_error_set(&core->start_error, CEN_NO_MEMORY, 0, "crew \"%s\": out of memory for a worker",
                           core->crew->name);
        ceni_core_unlock(core);
        if (seat) ceni_thread_begin(core, seat);
    }
    ceni_core_lock(core);
    while (core->arriving > 0) {
        uint32_t turns = ceni_load_relaxed(&core->turns); /* written under the mutex; carries nothing */
        ceni_core_unlock(core);
        ceni_futex_wait(&core->turns, turns, CENI_FOREVER);
        ceni_core_lock(core);
    }
    ceni_core_unlock(core);
}

void ceni_core_begin(ceni_core *core)
{
    ceni_clocks_start(core);
    ceni_directory_join(ceni_directory_process(), &core->crew->entry);
    start_workers(core);
}

/* ---- In the child of a fork ------------------------------------------------------------------ */

static ceni_core *renew(cen_crew *crew, ceni_core *old, cen_status *status)
{
    cen_runtime *runtime;
    *status = ceni_runtime_join(NULL, &runtime);
    if (*status != CEN_OK) return NULL;
    ceni_core *core = ceni_core_make(crew, runtime), *expected = old;
    if (core) {
        core->older = old;
        if (ceni_cas_acq_rel(&crew->core, &expected, core)) { /* [N1] */
            ceni_core_begin(core);                            /* a start that fails is tried again at the next submit */
            return core;
        }
        core->older = NULL;
        ceni_core_discard(core);
    }
    ceni_runtime_leave(runtime);
    *status = CEN_NO_MEMORY;
    return core ? expected : NULL;
}

ceni_core *ceni_crew_core_renewed(cen_crew *crew, cen_status *status)
{
    ceni_core *core = ceni_setting(&crew->core);
    *status = CEN_FORKED;
    /* A stopped crew is not renewed. */
    if (crew->options.on_fork == CEN_FORK_REFUSE || ceni_setting(&core->closing)) return NULL;
    return core->epoch == ceni_fork_epoch() ? core : renew(crew, core, status);
}

/* ---- Memory ----------------------------------------------------------------------------------- */

void ceni_core_discard(ceni_core *core)
{
    const cen_allocator *allocator = core->crew->options.allocator;
    for (uint32_t i = 0; i < core->max; i++)
        ceni_free(allocator, ceni_worker_at(core, i), sizeof(ceni_worker), _Alignof(ceni_worker));
    ceni_free(allocator, core->workers, core->max * sizeof *core->workers, _Alignof(void *));
    ceni_free(allocator, core->injector.shards, core->injector.count * sizeof(ceni_shard), _Alignof(ceni_shard));
    ceni_free(allocator, core, sizeof *core, _Alignof(ceni_core));
}

void ceni_crew_release(cen_crew *crew)
{
    const cen_allocator *allocator = crew->options.allocator;
    for (ceni_core *core = ceni_setting(&crew->core), *older; core; core = older) {
        older = core->older;
        ceni_core_discard(core);
    }
    ceni_free(allocator, crew->cpus, crew->cpu_count * sizeof *crew->cpus, _Alignof(uint32_t));
    ceni_free(allocator, crew, sizeof *crew, _Alignof(cen_crew));
}
