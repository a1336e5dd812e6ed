/* SPDX-License-Identifier: MIT */
/*
 * Changes: register, unregister, remove, update; and how a removed entry is released.
 *
 *     register ──▶ on its shelf, its owner's, by number, by owner ──remove──▶ in none of these
 *                                                                              │ reported, if there are listeners
 *                                                                             bin ──grace period──▶ freed
 *
 * A register first allocates all the memory that it needs, with no lock held. It checks under the lock what is missing,
 * drops the lock, allocates, and checks again. After that only the owner can refuse it, because it has ended, and then
 * nothing has been changed. A removal needs no memory at all: its notification is part of the entry.
 *
 * Invariants
 *  G1 Of the entries that an owner has under a key one leads. That one is in the index by owner, and the others are its
 *     fellows. So all of them are found, and any one is taken out, in constant time.
 *  G2 A value is released once. The last value of an entry is released when the entry is freed. A value that an update
 *     has replaced is released with the update's own record, a grace period after it was replaced and reported.
 *
 * Order table
 * [G1] update | store of value | release | R1 | what the value points to | a reader sees a value before its bytes
 *
 * Tested by tests/unit/registry/change_test.c, faults/registry_faults_test.c, tests/explore/registry_test.c (planted:
 * registry_frees_at_once, registry_refused_leaves_its_key).
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/plant.h"
#include "registry/internal.h"

/* ---- By number, and by owner ------------------------------------------------------------------------------ */

enum { NUMBERS_SEED = 1 };

static bool has_number(const ceni_index_node *node, const void *number)
{
    return CENI_LIST_ENTRY(node, cen_entry, by_number)->number == *(const uint64_t *)number;
}

static cen_entry *find_locked(cen_registry *registry, uint64_t number)
{
    ceni_index_node *node =
        ceni_index_find(&registry->by_number, ceni_hash_word(NUMBERS_SEED, number), has_number, &number);
    return node ? CENI_LIST_ENTRY(node, cen_entry, by_number) : NULL;
}

typedef struct holding {
    const ceni_shelf *shelf;
    const cen_owner *owner;
} holding;

static bool is_of(const ceni_index_node *node, const void *wanted)
{
    const cen_entry *entry = CENI_LIST_ENTRY(node, cen_entry, by_owner);
    const holding *of = wanted;
    return entry->shelf == of->shelf && entry->owner == of->owner;
}

static uint64_t holding_hash(const ceni_shelf *shelf, const cen_owner *owner)
{
    return ceni_hash_word(shelf->number, owner->number);
}

static cen_entry *leader_locked(cen_registry *registry, const ceni_shelf *shelf, const cen_owner *owner)
{
    holding of = {shelf, owner};
    ceni_index_node *node = ceni_index_find(&registry->by_owner, holding_hash(shelf, owner), is_of, &of);
    return node ? CENI_LIST_ENTRY(node, cen_entry, by_owner) : NULL;
}

/* G1 */
static void lead_locked(cen_registry *registry, cen_entry *entry)
{
    entry->leads = true;
    ceni_index_insert(&registry->by_owner, &entry->by_owner, holding_hash(entry->shelf, entry->owner));
}

static void join_fellows_locked(cen_registry *registry, cen_entry *entry)
{
    cen_entry *leader = leader_locked(registry, entry->shelf, entry->owner);
    ceni_list_init(&entry->fellows);
    if (leader) ceni_list_insert_before(&leader->fellows, &entry->fellows);
    else lead_locked(registry, entry);
}

static void leave_fellows_locked(cen_registry *registry, cen_entry *entry)
{
    cen_entry *next = CENI_LIST_ENTRY(entry->fellows.next, cen_entry, fellows);
    if (entry->leads) ceni_index_remove(&registry->by_owner, &entry->by_owner);
    if (entry->leads && next != entry) lead_locked(registry, next);
    ceni_list_remove(&entry->fellows);
}

/* ---- Releasing ----------------------------------------------------------------------------------------------- */

/* The record of an update, which has the value that was replaced. */
typedef struct renewal {
    ceni_tale tale;
    ceni_retired retired;
    cen_registry *registry;
} renewal;

static void release_value(cen_registry *registry, void *value)
{
    if (!registry->release) return;
    ceni_rank_expect_none("release of a registry");
    int held = ceni_cancel_hold();
    registry->release(registry->argument, value);
    ceni_cancel_release(held);
}

static void release_entry(ceni_retired *retired)
{
    cen_entry *entry = CENI_LIST_ENTRY(retired, cen_entry, retired);
    cen_registry *registry = entry->registry;
    release_value(registry, ceni_load_relaxed(&entry->value)); /* no other thread has it; carries nothing */
    ceni_owner_let_go(entry->owner);
    ceni_shelf_let_go(registry, entry->shelf);
    ceni_free(registry->allocator, entry, sizeof *entry, _Alignof(cen_entry));
}

static void free_renewal(renewal *self)
{
    ceni_free(self->registry->allocator, self, sizeof *self, _Alignof(renewal));
}

static void release_renewal(ceni_retired *retired)
{
    renewal *self = CENI_LIST_ENTRY(retired, renewal, retired);
    release_value(self->registry, self->tale.before);
    free_renewal(self);
}

void ceni_tale_let_go(cen_registry *registry, ceni_tale *tale)
{
    if (tale->change == CEN_UPDATED) {
        renewal *self = CENI_LIST_ENTRY(tale, renewal, tale);
        if (registry->release) ceni_bin_put(&registry->bin, &self->retired, release_renewal, sizeof *self, true);
        else free_renewal(self);
    } else if (tale->change == CEN_UNREGISTERED) {
        ceni_retired *retired = &tale->entry->retired;
        if (ceni_planted(registry_frees_at_once)) release_entry(retired);
        else ceni_bin_put(&registry->bin, retired, release_entry, sizeof(cen_entry) + sizeof(ceni_shelf), true);
    }
}

/* ---- Register -------------------------------------------------------------------------------------------------- */

typedef struct request {
    cen_registry *registry;
    cen_key key;
    uint64_t hash;
    cen_owner *owner;
    ceni_shelf *shelf; /* of the key, if there is one */
    ceni_supply supply;
} request;

static cen_status refuse_taken_locked(const request *self, cen_error *error)
{
    char text[CENI_KEY_TEXT];
    ceni_link *link = ceni_chain_first(&self->shelf->entries);
    self->registry->stats.refused++;
    return ceni_error_set(error, CEN_EXISTS, 0, "registry \"%s\": key %s is held by owner \"%s\"", self->registry->name,
                          ceni_key_print(self->key, text), CENI_ENTRY_OF(link, in_shelf)->owner->name);
}

static cen_status check_locked(request *self, cen_error *error)
{
    cen_registry *registry = self->registry;
    if (registry->closed)
        return ceni_error_set(error, CEN_CLOSED, 0, "registry \"%s\": it is being freed", registry->name);
    self->shelf = ceni_keys_find(registry, self->key, self->hash);
    if (self->shelf && registry->kind == CEN_UNIQUE) return refuse_taken_locked(self, error);
    return CEN_OK;
}

/* Returns with the lock held. OK: all the memory that is needed is allocated. */
static cen_status prepare_and_lock(request *self, cen_error *error)
{
    self->supply.needs_shelf = self->registry->kind == CEN_UNIQUE; /* most likely */
    for (;;) {
        bool filled = ceni_supply_fill(self->registry, &self->supply, self->key);
        ceni_registry_lock(self->registry);
        cen_status status = check_locked(self, error);
        if (status == CEN_OK && !filled)
            status = ceni_error_set(error, CEN_NO_MEMORY, 0, "registry \"%s\": out of memory for an entry",
                                    self->registry->name);
        if (status != CEN_OK || ceni_supply_covers(&self->supply, self->shelf)) return status;
        ceni_registry_unlock(self->registry);
    }
}

static ceni_shelf *take_new_shelf_locked(request *self)
{
    ceni_shelf *shelf = self->supply.shelf;
    self->supply.shelf = NULL;
    shelf->number = ++self->registry->shelves;
    return shelf;
}

/* Nothing can fail from here on. */
static void put_locked(request *self, cen_entry *entry)
{
    cen_registry *registry = self->registry;
    ceni_shelf *shelf = self->shelf ? self->shelf : take_new_shelf_locked(self);
    self->supply.entry = NULL;
    ceni_shelf_put_locked(shelf, entry, &self->supply);
    if (!self->shelf) ceni_keys_put_locked(registry, shelf);
    ceni_index_insert(&registry->by_number, &entry->by_number, ceni_hash_word(NUMBERS_SEED, entry->number));
    join_fellows_locked(registry, entry);
    registry->stats.entries++;
    registry->stats.registered++;
    ceni_tell_locked(registry, &entry->came);
}

static cen_entry *fill_entry(request *self, void *value)
{
    cen_entry *entry = self->supply.entry;
    entry->registry = self->registry;
    entry->owner = self->owner;
    entry->number = ceni_registry_number();
    entry->came = (ceni_tale){.entry = entry, .change = CEN_REGISTERED, .value = value};
    ceni_store_relaxed(&entry->value, value); /* published by a chain or a slot; carries nothing */
    return entry;
}

static cen_status put_or_refuse_locked(request *self, void *value, uint64_t *number, cen_error *error)
{
    cen_entry *entry = fill_entry(self, value);
    if (!ceni_owner_attach(self->owner, entry)) {
        if (ceni_planted(registry_refused_leaves_its_key) && !self->shelf)
            ceni_keys_put_locked(self->registry, take_new_shelf_locked(self));
        return ceni_error_set(error, CEN_CLOSED, 0, "registry \"%s\": owner \"%s\" has ended", self->registry->name,
                              self->owner->name);
    }
    put_locked(self, entry);
    if (number) *number = entry->number;
    return CEN_OK;
}

static cen_status check(const cen_registry *registry, const char *what, cen_error *error)
{
    if (!registry) return ceni_error_set(error, CEN_INVALID, 0, "%s: registry is NULL", what);
    if (ceni_fork_is(registry->epoch)) return CEN_OK;
    return ceni_error_set(error, CEN_FORKED, 0, "%s: the registry belongs to the parent process", what);
}

static cen_status refuse_key(const char *what, cen_error *error)
{
    return ceni_error_set(error, CEN_INVALID, 0, "%s: key is NULL or longer than %d bytes", what, CEN_KEY_MAX);
}

cen_status cen_registry_register(cen_registry *registry, cen_key key, void *value, cen_owner *owner, uint64_t *number,
                                 cen_error *error)
{
    cen_status status = check(registry, "cen_registry_register", error);
    if (status != CEN_OK) return status;
    if (!ceni_key_is_valid(key)) return refuse_key("cen_registry_register", error);
    status = ceni_owner_resolve(&owner, true, "cen_registry_register", error);
    if (status != CEN_OK) return status;
    request self = {.registry = registry, .key = key, .hash = ceni_key_hash(registry->seed, key), .owner = owner};
    ceni_tales untold = {.first = NULL};
    status = prepare_and_lock(&self, error);
    if (status == CEN_OK) status = put_or_refuse_locked(&self, value, number, error);
    bool grows = ceni_keys_want_growth_locked(registry);
    ceni_tell_and_unlock(registry, &untold);
    ceni_supply_free(registry, &self.supply);
    if (grows) ceni_keys_grow(registry);
    return status;
}

/* ---- Removing
 * ------------------------------------------------------------------------------------------------------ */

static void count_removal_locked(cen_registry *registry, cen_registry_reason reason)
{
    registry->stats.entries--;
    if (reason == CEN_REASON_OWNER_ENDED) registry->stats.owner_ended++;
    else registry->stats.removed++;
}

void ceni_entry_remove_locked(cen_registry *registry, cen_entry *entry, cen_registry_reason reason, ceni_tales *untold)
{
    ceni_shelf *shelf = entry->shelf;
    void *value = ceni_load_relaxed(&entry->value); /* written under the lock, which is held; carries nothing */
    if (ceni_shelf_take_locked(shelf, entry)) ceni_keys_take_locked(registry, shelf);
    ceni_index_remove(&registry->by_number, &entry->by_number);
    leave_fellows_locked(registry, entry);
    ceni_owner_forget_entry(entry->owner, entry);
    count_removal_locked(registry, reason);
    entry->went = (ceni_tale){.entry = entry, .change = CEN_UNREGISTERED, .reason = reason, .value = value};
    if (!ceni_tell_locked(registry, &entry->went)) ceni_tales_add(untold, &entry->went);
}

static cen_status refuse_absent(const cen_registry *registry, cen_key key, cen_error *error)
{
    char text[CENI_KEY_TEXT];
    return ceni_error_set(error, CEN_ABSENT, 0, "registry \"%s\": the owner has no entry with key %s", registry->name,
                          ceni_key_print(key, text));
}

cen_status cen_registry_unregister(cen_registry *registry, cen_key key, cen_owner *owner, cen_error *error)
{
    cen_status status = check(registry, "cen_registry_unregister", error);
    if (status != CEN_OK) return status;
    if (!ceni_key_is_valid(key)) return refuse_key("cen_registry_unregister", error);
    status = ceni_owner_resolve(&owner, false, "cen_registry_unregister", error);
    if (status == CEN_ABSENT) return refuse_absent(registry, key, error); /* the thread has registered nothing */
    if (status != CEN_OK) return status;
    ceni_tales untold = {.first = NULL};
    status = CEN_ABSENT;
    ceni_registry_lock(registry);
    ceni_shelf *shelf = ceni_keys_find(registry, key, ceni_key_hash(registry->seed, key));
    /* The shelf stays in memory after its last entry was taken out, since that entry is released only below. */
    for (cen_entry *entry; shelf && (entry = leader_locked(registry, shelf, owner)) != NULL; status = CEN_OK)
        ceni_entry_remove_locked(registry, entry, CEN_REASON_REMOVED, &untold);
    ceni_tell_and_unlock(registry, &untold);
    return status == CEN_OK ? status : refuse_absent(registry, key, error);
}

/* Set the text why the entry with that number was not changed. */
static cen_status fail(const cen_registry *registry, uint64_t number, cen_status status, cen_error *error)
{
    const char *why = status == CEN_STALE ? "no longer registered" : "not updated: out of memory";
    return ceni_error_set(error, status, 0, "registry \"%s\": entry %llu is %s", registry->name,
                          (unsigned long long)number, why);
}

cen_status cen_registry_remove(cen_registry *registry, uint64_t number, cen_error *error)
{
    cen_status status = check(registry, "cen_registry_remove", error);
    if (status != CEN_OK) return status;
    ceni_tales untold = {.first = NULL};
    ceni_registry_lock(registry);
    cen_entry *entry = find_locked(registry, number);
    if (entry) ceni_entry_remove_locked(registry, entry, CEN_REASON_REMOVED, &untold);
    ceni_tell_and_unlock(registry, &untold);
    return entry ? CEN_OK : fail(registry, number, CEN_STALE, error);
}

/* A few at a time, so that other threads get the lock. */
void ceni_registry_owner_ends(cen_registry *registry, cen_owner *owner)
{
    enum { FEW = 64 };
    ceni_tales untold = {.first = NULL};
    ceni_registry_lock(registry);
    for (int i = 0; i < FEW; i++) {
        cen_entry *first = ceni_owner_first(owner, registry);
        if (!first) break;
        ceni_entry_remove_locked(registry, first, CEN_REASON_OWNER_ENDED, &untold);
    }
    ceni_tell_and_unlock(registry, &untold);
}

/* ---- Update
 * ---------------------------------------------------------------------------------------------------------- */

/* Return the entry with the lock held, and a record of the update if one is needed. NULL: *status says why. */
static cen_entry *prepare_update_and_lock(cen_registry *registry, uint64_t number, renewal **record, cen_status *status)
{
    for (;;) {
        ceni_registry_lock(registry);
        cen_entry *entry = find_locked(registry, number);
        *status = entry ? CEN_OK : CEN_STALE;
        bool needed = registry->release || ceni_tell_is_wanted_locked(registry);
        if (!entry || !needed || *record) return entry;
        ceni_registry_unlock(registry);
        *record = ceni_alloc(registry->allocator, sizeof **record, _Alignof(renewal));
        if (*record) continue;
        ceni_registry_lock(registry);
        *status = CEN_NO_MEMORY;
        return NULL;
    }
}

static void *exchange_value_locked(cen_entry *entry, void *value)
{
    void *before = ceni_load_relaxed(&entry->value); /* written under the lock, which is held; carries nothing */
    ceni_store_release(&entry->value, value);        /* [G1] */
    entry->registry->stats.updated++;
    return before;
}

cen_status cen_registry_update(cen_registry *registry, uint64_t number, void *value, void **before, cen_error *error)
{
    cen_status status = check(registry, "cen_registry_update", error);
    if (status != CEN_OK) return status;
    renewal *record = NULL;
    ceni_tales untold = {.first = NULL};
    cen_entry *entry = prepare_update_and_lock(registry, number, &record, &status);
    if (entry) {
        void *was = exchange_value_locked(entry, value);
        if (before) *before = was;
        if (record) {
            record->registry = registry;
            record->tale = (ceni_tale){.entry = entry, .change = CEN_UPDATED, .value = value, .before = was};
            if (!ceni_tell_locked(registry, &record->tale)) ceni_tales_add(&untold, &record->tale);
        }
    }
    ceni_tell_and_unlock(registry, &untold);
    if (!entry) ceni_free(registry->allocator, record, sizeof *record, _Alignof(renewal));
    return entry ? status : fail(registry, number, status, error);
}
