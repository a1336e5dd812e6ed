/* SPDX-License-Identifier: MIT */
/*
 * Reading a registry without a lock. keys.c, shelf.c and chain.h make it safe. The read section (rcu) keeps what was
 * found.
 *
 * A shelf may have been emptied since it was found, and the table may have another shelf of the same key. Then the call
 * returns that nothing is there. That was true at the moment when the shelf was emptied, which was after the call had
 * begun: otherwise the shelf would not have been found.
 *
 * Order table
 * [R1] cen_entry_value | load of value | acquire | G1 | what the value points to | a reader sees a value before its bytes
 *
 * Tested by tests/unit/registry/read_test.c, tests/explore/registry_test.c.
 */
#include "base/hash.h"
#include "registry/internal.h"

static cen_status find(cen_registry *registry, cen_key key, const void *out, ceni_shelf **shelf)
{
    if (!registry || !out || !ceni_key_is_valid(key)) return CEN_INVALID;
    if (!ceni_fork_is(registry->epoch)) return CEN_FORKED;
    if (!ceni_read_is_open()) return CEN_MISUSE;
    *shelf = ceni_keys_find(registry, key, ceni_key_hash(registry->seed, key));
    return *shelf ? CEN_OK : CEN_ABSENT;
}

static cen_status answer(const cen_entry *entry, const cen_entry **out)
{
    if (!entry) return CEN_ABSENT;
    *out = entry;
    return CEN_OK;
}

cen_status cen_registry_lookup(cen_registry *registry, cen_key key, const cen_entry **out)
{
    ceni_shelf *shelf;
    cen_status status = find(registry, key, out, &shelf);
    if (status != CEN_OK) return status;
    ceni_link *first = ceni_chain_first(&shelf->entries);
    return answer(first ? CENI_ENTRY_OF(first, in_shelf) : NULL, out);
}

/* The thread's random numbers. Its word is odd and advances by an even step, so it is never 0; the result is mixed. The
 * router uses the same word in the same way. */
static uint64_t draw(void)
{
    uint64_t *word = &ceni_route_room()[CENI_ROUTE_RANDOM];
    if (*word == 0) *word = ceni_random() | 1;
    *word += UINT64_C(0x9E3779B97F4A7C16);
    return ceni_hash_word(0, *word);
}

cen_status cen_registry_pick(cen_registry *registry, cen_key key, const cen_entry **out)
{
    ceni_shelf *shelf;
    cen_status status = find(registry, key, out, &shelf);
    return status == CEN_OK ? answer(ceni_shelf_any(shelf, draw()), out) : status;
}

cen_status cen_registry_nth(cen_registry *registry, cen_key key, size_t index, const cen_entry **out)
{
    ceni_shelf *shelf;
    cen_status status = find(registry, key, out, &shelf);
    return status == CEN_OK ? answer(ceni_shelf_at(shelf, index), out) : status;
}

/* ---- Anywhere ---------------------------------------------------------------------------------------------- */

cen_status cen_registry_count(cen_registry *registry, cen_key key, size_t *out)
{
    ceni_shelf *shelf;
    ceni_read_begin();
    cen_status status = find(registry, key, out, &shelf);
    if (status == CEN_OK) *out = ceni_shelf_count(shelf);
    else if (status == CEN_ABSENT) *out = 0;
    ceni_read_end();
    return status == CEN_ABSENT ? CEN_OK : status;
}

typedef struct walk {
    bool (*visit)(void *argument, const cen_entry *entry);
    void *argument;
} walk;

static bool visit_shelf(void *argument, ceni_shelf *shelf)
{
    const walk *self = argument;
    for (ceni_link *link = ceni_chain_first(&shelf->entries); link; link = ceni_chain_next(link))
        if (!self->visit(self->argument, CENI_ENTRY_OF(link, in_shelf))) return false;
    return true;
}

cen_status cen_registry_each(cen_registry *registry, cen_key key, bool (*visit)(void *argument, const cen_entry *entry),
                             void *argument)
{
    ceni_shelf *shelf;
    walk self = {visit, argument};
    ceni_read_begin();
    cen_status status = visit ? find(registry, key, &self, &shelf) : CEN_INVALID;
    if (status == CEN_OK) visit_shelf(&self, shelf);
    ceni_read_end();
    return status == CEN_ABSENT ? CEN_OK : status;
}

cen_status cen_registry_each_all(cen_registry *registry, bool (*visit)(void *argument, const cen_entry *entry),
                                 void *argument)
{
    if (!registry || !visit) return CEN_INVALID;
    if (!ceni_fork_is(registry->epoch)) return CEN_FORKED;
    walk self = {visit, argument};
    ceni_read_begin();
    ceni_keys_each(registry, visit_shelf, &self);
    ceni_read_end();
    return CEN_OK;
}

/* ---- An entry -------------------------------------------------------------------------------------------------- */

void *cen_entry_value(const cen_entry *entry)
{
    return ceni_load_acquire(&((cen_entry *)(uintptr_t)entry)->value); /* [R1] */
}

cen_key cen_entry_key(const cen_entry *entry)
{
    return entry->shelf->key;
}

cen_owner *cen_entry_owner(const cen_entry *entry)
{
    return entry->owner;
}

uint64_t cen_entry_number(const cen_entry *entry)
{
    return entry->number;
}

cen_registry *cen_entry_registry(const cen_entry *entry)
{
    return entry->registry;
}
