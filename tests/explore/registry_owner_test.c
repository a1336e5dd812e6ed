/* SPDX-License-Identifier: MIT */
/* Owners that end, against whoever registers for them, removes what is theirs, reads it, or frees the registry. */
#include "support/world.h"
#include "unit/registry/registries.h"

static cen_owner *owner;
static _Atomic uint32_t answer, value;

static void register_for_owner(void *unused)
{
    (void)unused;
    ceni_store_seq_cst(&answer, (uint32_t)try_put("key", owner));
    cen_owner_drop(owner);
}

/* guarantees: registry.owner */
EXPLORE(what_is_registered_for_an_owner_that_ends_is_removed_by_its_end_or_refused, 4)
{
    make_registry(.kind = CEN_UNIQUE);
    owner = make_owner("one");
    cen_owner_hold(owner);
    ceni_thread other = start("registers", register_for_owner, NULL);
    expect_equal(cen_owner_end(owner), CEN_OK);
    join(other);
    uint32_t status = ceni_load_seq_cst(&answer);
    expect(status == CEN_OK || status == CEN_CLOSED);
    expect_equal(look().keys, 0);
    expect_equal(look().entries, 0);
    expect_equal(look().owner_ended, status == CEN_OK);
    end_registry();
}

static void end_it(void *unused)
{
    (void)unused;
    expect_equal(cen_owner_end(owner), CEN_OK);
}

/* guarantees: registry.owner-free */
EXPLORE(a_registry_can_be_freed_while_an_owner_of_its_entries_ends, 4)
{
    make_registry(.kind = CEN_UNIQUE);
    owner = make_owner("one");
    put("key", 1, owner);
    ceni_thread ender = start("ender", end_it, NULL);
    end_registry();
    join(ender);
}

static cen_registry *second;

/* The first is freed; in the second the owner's entry must go all the same. */
/* guarantees: registry.owner-free */
EXPLORE(an_owner_that_ends_while_one_registry_is_freed_leaves_nothing_in_another, 3)
{
    make_registry(.kind = CEN_UNIQUE);
    second = new_registry(CEN_REGISTRY_OPTIONS(.runtime = runtime));
    owner = make_owner("one");
    put("key", 1, owner);
    expect_equal(cen_registry_register(second, cen_key_number(1), NULL, owner, NULL, NULL), CEN_OK);
    ceni_thread ender = start("ender", end_it, NULL);
    expect_equal(cen_registry_free(registry), CEN_OK);
    join(ender);
    size_t count;
    expect_equal(cen_registry_count(second, cen_key_number(1), &count), CEN_OK);
    expect_equal(count, 0);
    registry = second;
    end_registry();
}

static void read_it(void *unused)
{
    (void)unused;
    const cen_entry *entry;
    uint32_t seen = 0;
    cen_read_begin();
    if (cen_registry_lookup(registry, cen_key_text("key"), &entry) == CEN_OK) {
        seen = (uint32_t)(uintptr_t)cen_entry_value(entry);
        size_t count;
        expect_equal(cen_owner_count(cen_entry_owner(entry), &count), CEN_OK); /* its memory is there, too */
    }
    cen_read_end();
    ceni_store_seq_cst(&value, seen);
}

/* guarantees: registry.read */
EXPLORE(an_owner_is_not_freed_under_who_reads_its_entry, 4)
{
    make_registry(.kind = CEN_UNIQUE);
    owner = make_owner("one");
    put("key", 7, owner);
    ceni_thread reader = start("reader", read_it, NULL);
    expect_equal(cen_owner_end(owner), CEN_OK);
    empty_bin();
    join(reader);
    uint32_t seen = ceni_load_seq_cst(&value);
    expect(seen == 7 || seen == 0);
    expect_equal(find("key"), -1);
    end_registry();
}

static void unregister_it(void *unused)
{
    (void)unused;
    ceni_store_seq_cst(&answer, (uint32_t)cen_registry_unregister(registry, cen_key_text("key"), owner, NULL));
    cen_owner_drop(owner);
}

EXPLORE(an_entry_whose_owner_ends_while_it_is_removed_goes_once, 4)
{
    make_registry(.kind = CEN_DUPLICATE);
    owner = make_owner("one");
    put("key", 1, owner);
    cen_owner_hold(owner);
    ceni_thread other = start("other", unregister_it, NULL);
    expect_equal(cen_owner_end(owner), CEN_OK);
    join(other);
    uint32_t status = ceni_load_seq_cst(&answer);
    expect(status == CEN_OK || status == CEN_ABSENT);
    expect_equal(look().removed, status == CEN_OK);
    expect_equal(look().owner_ended, status != CEN_OK);
    end_registry();
}

static void register_as_thread(void *unused)
{
    (void)unused;
    put("key", 9, NULL);
}

/* guarantees: registry.owner */
EXPLORE(what_a_thread_had_registered_is_never_found_after_it_was_joined, 4)
{
    make_registry(.kind = CEN_UNIQUE);
    ceni_thread thread = start("thread", register_as_thread, NULL);
    read_it(NULL);
    join(thread);
    uint32_t seen = ceni_load_seq_cst(&value);
    expect(seen == 9 || seen == 0);
    expect_equal(find("key"), -1);
    expect_equal(look().owner_ended, 1);
    end_registry();
}

static bool count_visit(void *argument, const cen_entry *entry)
{
    (void)argument;
    ceni_add_seq_cst(&answer, 1);
    ceni_add_seq_cst(&value, (uint32_t)(uintptr_t)cen_entry_value(entry));
    return true;
}

static void visit_entries(void *unused)
{
    (void)unused;
    expect_equal(cen_owner_each(owner, count_visit, NULL), CEN_OK);
}

EXPLORE(the_first_entry_of_an_owner_is_visited_with_its_value_or_not_at_all, 4)
{
    make_registry(.kind = CEN_DUPLICATE);
    owner = make_owner("one");
    ceni_store_seq_cst(&value, 0);
    ceni_store_seq_cst(&answer, 0);
    ceni_thread visitor = start("visitor", visit_entries, NULL);
    put("key", 10, owner);
    join(visitor);
    expect_equal(ceni_load_seq_cst(&value), 10 * ceni_load_seq_cst(&answer));
    cen_owner_end(owner);
    end_registry();
}

EXPLORE(the_entries_of_an_owner_are_visited_while_they_change, 4)
{
    make_registry(.kind = CEN_DUPLICATE);
    owner = make_owner("one");
    ceni_store_seq_cst(&value, 0);
    put("key", 1, owner);
    uint64_t number = put("key", 10, owner);
    ceni_thread visitor = start("visitor", visit_entries, NULL);
    expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
    empty_bin();
    join(visitor);
    uint32_t sum = ceni_load_seq_cst(&value);
    expect(sum == 1 || sum == 11);
    cen_owner_end(owner);
    end_registry();
}
