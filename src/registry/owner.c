/* SPDX-License-Identifier: MIT */
/*
 * Owners, and the removal of their entries when they end.
 *
 * An entry is in its owner's chain from its registration to its removal. Both happen under the registry's lock, and the
 * chain changes under the owner's. An owner that ends goes the other way, from its chain to the registries. It must not
 * take a registry's lock with its own held, and the registry may be freed meanwhile:
 *
 *     lock owner: ended; first entry ─▶ its registry, held; unlock
 *     lock registry; while the first entry is one of this registry's: remove it; unlock; drop
 *     again, until there is none
 *
 * The naive way, to keep the found entry and remove it later, removes an entry that another thread has removed and
 * freed in between.
 *
 * Invariants
 *  O1 Once `ended` is set nothing is added to the chain. The ending thread goes on until the chain is empty.
 *  O2 A registry is held under the lock of an owner whose chain has an entry of it. Free first takes a registry's
 *     entries out of all chains, under these locks, and then waits until no thread holds the registry. So a hold is
 *     never too late.
 *  O3 An owner's memory stays until its handle, its entries in memory and its other holders have released it.
 *
 * Order table
 * [O1] let go | add to holds | acq_rel | O1 | the end of all use by other threads that let go | it is freed under one of them
 * [O2] drop | add to a registry's holds | acq_rel | N1 | all that was done with the registry
 *      | it is freed under a thread that ends an owner
 *
 * Tested by tests/unit/registry/owner_test.c, thread_test.c, tests/explore/registry_test.c (planted:
 * registry_attaches_to_the_ended, registry_end_forgets_the_rest, registry_freed_under_an_owner).
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "base/statics.h"
#include "registry/internal.h"
#include "sync/holder.h"

static CENI_STATIC _Atomic uint64_t numbers;

uint64_t ceni_registry_number(void)
{
    return ceni_add_relaxed(&numbers, 1) + 1; /* a number; carries nothing */
}

static void lock(cen_owner *owner)
{
    ceni_mutex_lock(&owner->mutex, CENI_RANK_OWNER);
}

static void unlock(cen_owner *owner)
{
    ceni_mutex_unlock(&owner->mutex, CENI_RANK_OWNER);
}

/* ---- Creating and releasing ------------------------------------------------------------------------------ */

static cen_owner *make(const cen_allocator *allocator)
{
    cen_owner *owner = ceni_alloc(allocator, sizeof *owner, _Alignof(cen_owner));
    if (!owner) return NULL;
    owner->epoch = ceni_fork_epoch();
    owner->number = ceni_registry_number();
    owner->allocator = allocator;
    ceni_store_relaxed(&owner->holds, 1); /* no other thread knows it yet; carries nothing */
    return owner;
}

void ceni_owner_let_go(cen_owner *owner)
{
    if (ceni_add_acq_rel(&owner->holds, (uint32_t)-1) == 1) /* [O1] */
        ceni_free(owner->allocator, owner, sizeof *owner, _Alignof(cen_owner));
}

cen_status cen_owner_new(const cen_owner_options *options, cen_owner **out, cen_error *error)
{
    cen_owner_options known = CEN_SIZED(cen_owner_options);
    const cen_owner_options *o = &known;
    if (!out) return ceni_error_set(error, CEN_INVALID, 0, "cen_owner_new: out is NULL");
    cen_status status =
        options ? cen_sized_read(&known, sizeof known, options, "cen_owner_new: options", error) : CEN_OK;
    if (status != CEN_OK) return status;
    if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_owner_new: options.allocator lacks alloc or free");
    cen_owner *owner = make(o->allocator);
    if (!owner) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_owner_new: out of memory");
    if (o->name) snprintf(owner->name, sizeof owner->name, "%s", o->name);
    else snprintf(owner->name, sizeof owner->name, "owner %llu", (unsigned long long)owner->number);
    *out = owner;
    return CEN_OK;
}

void cen_owner_hold(cen_owner *owner)
{
    /* the caller holds it; carries nothing */
    if (owner && ceni_fork_is(owner->epoch)) ceni_add_relaxed(&owner->holds, 1);
}

void cen_owner_drop(cen_owner *owner)
{
    if (owner && ceni_fork_is(owner->epoch)) ceni_owner_let_go(owner);
}

/* ---- Its entries -------------------------------------------------------------------------------------------- */

static void count(cen_owner *owner, size_t more)
{
    size_t now = ceni_load_relaxed(&owner->count); /* written under the lock, which is held; carries nothing */
    ceni_store_relaxed(&owner->count, now + more); /* a number; carries nothing */
}

bool ceni_owner_attach(cen_owner *owner, cen_entry *entry)
{
    lock(owner);
    bool may = !owner->ended || ceni_planted(registry_attaches_to_the_ended); /* O1 */
    if (may) {
        ceni_add_relaxed(&owner->holds, 1); /* the caller has the handle; carries nothing */
        ceni_chain_append_locked(&owner->entries, &entry->in_owner);
        count(owner, 1);
    }
    unlock(owner);
    return may;
}

void ceni_owner_forget_entry(cen_owner *owner, cen_entry *entry)
{
    lock(owner);
    ceni_chain_remove_locked(&owner->entries, &entry->in_owner);
    count(owner, (size_t)-1);
    unlock(owner);
}

static cen_entry *first_locked(cen_owner *owner)
{
    ceni_link *first = ceni_chain_first(&owner->entries);
    return first ? CENI_ENTRY_OF(first, in_owner) : NULL;
}

/* The entry's registry is read under the lock: an entry of another registry may be freed once the lock is dropped. */
cen_entry *ceni_owner_first(cen_owner *owner, const cen_registry *registry)
{
    lock(owner);
    cen_entry *first = first_locked(owner);
    if (first && first->registry != registry) first = NULL;
    unlock(owner);
    return first;
}

/* ---- The end ------------------------------------------------------------------------------------------------- */

/* O2 */
static cen_registry *hold_first(cen_owner *owner)
{
    lock(owner);
    cen_entry *first = first_locked(owner);
    cen_registry *registry = first ? first->registry : NULL;
    /* ordered before a free by the owner's lock; carries nothing */
    if (registry) ceni_add_relaxed(&registry->holds, 1);
    unlock(owner);
    return registry;
}

static void drop(cen_registry *registry)
{
    _Atomic uint32_t *holds = &registry->holds;
    /* From here on the registry may be freed: only the address is used. */
    if (ceni_add_acq_rel(holds, (uint32_t)-1) == 1) ceni_futex_wake(holds, UINT32_MAX); /* [O2] */
}

/* O1 */
static void remove_all(cen_owner *owner)
{
    for (cen_registry *registry; (registry = hold_first(owner)) != NULL;) {
        ceni_registry_owner_ends(registry, owner);
        drop(registry);
        if (ceni_planted(registry_end_forgets_the_rest)) break;
    }
}

cen_status cen_owner_end(cen_owner *owner)
{
    if (!owner) return CEN_OK;
    if (!ceni_fork_is(owner->epoch)) return CEN_FORKED;
    lock(owner);
    bool may = !owner->is_thread && !owner->ended;
    if (may) owner->ended = true;
    unlock(owner);
    if (!may) return CEN_MISUSE;
    remove_all(owner);
    ceni_owner_let_go(owner);
    return CEN_OK;
}

/* ---- A thread as an owner --------------------------------------------------------------------------------------- */

static cen_owner *own(void)
{
    cen_owner *owner = (cen_owner *)(uintptr_t)ceni_route_room()[CENI_ROUTE_OWNER];
    return owner && ceni_fork_is(owner->epoch) ? owner : NULL; /* an owner from before a fork is left as it is */
}

/* An entry that is registered after this, by a listener or by another hook, belongs to a new owner, and the hook is
 * called again. */
static void end_thread(void)
{
    cen_owner *owner = own();
    ceni_route_room()[CENI_ROUTE_OWNER] = 0;
    if (!owner) return;
    lock(owner);
    owner->ended = true;
    unlock(owner);
    remove_all(owner);
    ceni_owner_let_go(owner);
}

static cen_status make_own(const char *what, cen_owner **out, cen_error *error)
{
    cen_owner *owner = make(NULL);
    if (!owner) return ceni_error_set(error, CEN_NO_MEMORY, 0, "%s: out of memory for the thread's owner", what);
    owner->is_thread = true;
    snprintf(owner->name, sizeof owner->name, "thread %llu", (unsigned long long)ceni_thread_id());
    if (ceni_thread_at_exit(CENI_EXIT_ENTRIES, end_thread) != CEN_OK) {
        ceni_owner_let_go(owner);
        return ceni_error_set(error, CEN_SYSTEM, 0, "%s: no thread-specific key left to detect the end of the thread",
                              what);
    }
    ceni_route_room()[CENI_ROUTE_OWNER] = (uint64_t)(uintptr_t)owner;
    *out = owner;
    return CEN_OK;
}

cen_status ceni_owner_resolve(cen_owner **owner, bool make_one, const char *what, cen_error *error)
{
    if (*owner && ceni_fork_is((*owner)->epoch)) return CEN_OK;
    if (*owner) return ceni_error_set(error, CEN_FORKED, 0, "%s: the owner belongs to the parent process", what);
    if (ceni_own_is_task(ceni_holder_current()))
        return ceni_error_set(error, CEN_MISUSE, 0, "%s: a task step must name an owner (it may end on another thread)",
                              what);
    cen_owner *mine = own();
    if (!mine && make_one) return make_own(what, owner, error);
    if (!mine) return CEN_ABSENT;
    *owner = mine;
    return CEN_OK;
}

cen_status cen_owner_thread(cen_owner **out, cen_error *error)
{
    if (!out) return ceni_error_set(error, CEN_INVALID, 0, "cen_owner_thread: out is NULL");
    cen_owner *owner = NULL;
    cen_status status = ceni_owner_resolve(&owner, true, "cen_owner_thread", error);
    if (status == CEN_OK) *out = owner;
    return status;
}

/* ---- Queries
 * -------------------------------------------------------------------------------------------------------- */

const char *cen_owner_name(const cen_owner *owner)
{
    return owner ? owner->name : "nobody";
}

uint64_t cen_owner_id(const cen_owner *owner)
{
    return owner ? owner->number : 0;
}

cen_status cen_owner_count(const cen_owner *owner, size_t *out)
{
    if (!owner || !out) return CEN_INVALID;
    if (!ceni_fork_is(owner->epoch)) return CEN_FORKED;
    *out = ceni_load_relaxed(&((cen_owner *)(uintptr_t)owner)->count); /* a number; carries nothing */
    return CEN_OK;
}

cen_status cen_owner_each(cen_owner *owner, bool (*visit)(void *argument, const cen_entry *entry), void *argument)
{
    if (!owner || !visit) return CEN_INVALID;
    if (!ceni_fork_is(owner->epoch)) return CEN_FORKED;
    ceni_read_begin();
    ceni_link *link = ceni_chain_first(&owner->entries);
    while (link && visit(argument, CENI_ENTRY_OF(link, in_owner))) link = ceni_chain_next(link);
    ceni_read_end();
    return CEN_OK;
}
