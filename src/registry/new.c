/* SPDX-License-Identifier: MIT */
/*
 * Creating and freeing a registry, and its statistics.
 *
 * Free proceeds from what other threads may still find to what none can: the directory, the entries, the listeners,
 * owners that are ending at this moment (O2 in owner.c), the bin, and the registry itself.
 *
 * Order table
 * [N1] free | load of holds | acquire | O2 | all that threads that end owners did with the registry | it is freed under one of them
 *
 * Tested by tests/unit/registry/new_test.c, tests/explore/registry_owner_test.c (planted:
 * registry_freed_under_an_owner).
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "registry/internal.h"

#ifdef CENI_PLANTS
_Thread_local uint64_t ceni_registry_steps;
#endif

/* ---- Creating ---------------------------------------------------------------------------------------------- */

static cen_status refuse(cen_error *error, const char *what)
{
    return ceni_error_set(error, CEN_INVALID, 0, "cen_registry_new: %s", what);
}

static cen_status check_options(const cen_registry_options *given, cen_registry_options *o, cen_error *error)
{
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_registry_new: options", error);
    if (status != CEN_OK) return status;
    if ((unsigned)o->kind > CEN_DUPLICATE) return refuse(error, "options.kind must be a cen_registry_kind");
    if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
        return refuse(error, "options.allocator lacks alloc or free");
    return CEN_OK;
}

static void fill(cen_registry *registry, const cen_registry_options *o)
{
    registry->epoch = ceni_fork_epoch();
    registry->seed = ceni_random();
    registry->kind = o->kind;
    registry->allocator = o->allocator;
    registry->release = o->release;
    registry->argument = o->argument;
    snprintf(registry->name, sizeof registry->name, "%s", o->name ? o->name : "registry");
    ceni_list_init(&registry->listenings);
    registry->entry = (ceni_directory_entry){.kind = "registry",
                                             .name = registry->name,
                                             .snapshot = ceni_registry_snapshot,
                                             .object = registry,
                                             .calls = &ceni_registry_calls};
}

static void give_back(cen_registry *registry)
{
    ceni_free(registry->allocator, registry, sizeof *registry, _Alignof(cen_registry));
}

cen_status cen_registry_new(const cen_registry_options *options, cen_registry **out, cen_error *error)
{
    cen_registry_options known;
    const cen_registry_options *o = &known;
    if (!out) return refuse(error, "out is NULL");
    cen_status status = check_options(options, &known, error);
    if (status != CEN_OK) return status;
    ceni_rcu_join();
    cen_runtime *runtime;
    status = ceni_runtime_join(o->runtime, &runtime);
    if (status != CEN_OK)
        return ceni_error_set(error, status, 0, "cen_registry_new: cannot use the runtime: %s",
                              cen_status_text(status));
    cen_registry *registry = ceni_alloc(o->allocator, sizeof *registry, _Alignof(cen_registry));
    if (!registry) goto undo_join;
    fill(registry, o);
    registry->runtime = runtime;
    ceni_bin_init(&registry->bin, runtime);
    if (ceni_listen_first(registry, o->listener, o->argument) != CEN_OK) goto undo_registry;
    if (ceni_keys_start(registry) != CEN_OK) goto undo_listening;
    ceni_directory_join(ceni_directory_process(), &registry->entry);
    *out = registry;
    return CEN_OK;

undo_listening:
    ceni_listen_undo(registry);
undo_registry:
    give_back(registry);
undo_join:
    ceni_runtime_leave(runtime);
    return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_registry_new: out of memory");
}

/* ---- Freeing -------------------------------------------------------------------------------------------------- */

typedef struct sweep {
    cen_registry *registry;
    ceni_tales untold;
} sweep;

static bool sweep_shelf(void *argument, ceni_shelf *shelf)
{
    sweep *self = argument;
    /* A removed entry stays in memory, with its links, as long as the lock is held. */
    for (ceni_link *link = ceni_chain_first(&shelf->entries); link; link = ceni_chain_next(link))
        ceni_entry_remove_locked(self->registry, CENI_ENTRY_OF(link, in_shelf), CEN_REASON_FREED, &self->untold);
    return true;
}

/* False: the caller is in a listener. */
static bool remove_all(cen_registry *registry)
{
    sweep self = {.registry = registry};
    ceni_registry_lock(registry);
    bool may = !ceni_tell_is_inside_locked(registry);
    if (may) {
        registry->closed = true;
        ceni_keys_each(registry, sweep_shelf, &self);
    }
    ceni_tell_and_unlock(registry, &self.untold);
    return may;
}

static void await_owners(cen_registry *registry)
{
    uint32_t holds;
    while ((holds = ceni_load_acquire(&registry->holds)) > 0) /* [N1] */
        ceni_futex_wait(&registry->holds, holds, CENI_FOREVER);
}

cen_status cen_registry_free(cen_registry *registry)
{
    if (!registry) return CEN_OK;
    if (!ceni_fork_is(registry->epoch)) return CEN_FORKED;
    if (ceni_read_is_open() || !remove_all(registry)) return CEN_MISUSE;
    ceni_tell_end(registry);
    ceni_directory_leave(ceni_directory_process(), &registry->entry);
    if (!ceni_planted(registry_freed_under_an_owner)) await_owners(registry);
    ceni_bin_empty(&registry->bin);
    ceni_keys_fini(registry);
    cen_runtime *runtime = registry->runtime;
    give_back(registry);
    ceni_runtime_leave(runtime);
    return CEN_OK;
}

/* ---- Statistics ------------------------------------------------------------------------------------------------- */

cen_status cen_registry_stats_get(cen_registry *registry, cen_registry_stats *out)
{
    if (!registry) return CEN_INVALID;
    if (!ceni_fork_is(registry->epoch)) return CEN_FORKED;
    cen_status status = cen_sized_check(out, sizeof *out, "cen_registry_stats_get: out", NULL);
    if (status != CEN_OK) return status;
    ceni_registry_lock(registry);
    cen_registry_stats now = registry->stats;
    now.buckets = ceni_keys_buckets_locked(registry);
    ceni_registry_unlock(registry);
    cen_sized_write(out, &now, sizeof now);
    return CEN_OK;
}
