/* SPDX-License-Identifier: MIT */
/*
 * Readers against changes, under every schedule: what is found is never freed under the reader,
 * what stays is always found, once. The runtime is manual, so that a thread of the test lets go of what was removed, and
 * not one more.
 */
#include "support/world.h"
#include "unit/registry/registries.h"

#include "base/alloc.h"

static _Atomic uint32_t found[8];

static void note(int i, uint32_t what)
{
    ceni_store_seq_cst(&found[i], what);
}

static uint32_t noted(int i)
{
    return ceni_load_seq_cst(&found[i]);
}

enum { NOTHING = 0 };

/* The value under the key, read twice: it must still be there; 0: none. */
static uint32_t read_key(cen_key key)
{
    const cen_entry *entry;
    uint32_t value = NOTHING;
    cen_read_begin();
    if (cen_registry_lookup(registry, key, &entry) == CEN_OK) {
        value = (uint32_t)(uintptr_t)cen_entry_value(entry);
        expect(cen_key_same(cen_entry_key(entry), key));
        expect_equal((uint32_t)(uintptr_t)cen_entry_value(entry), value);
    }
    cen_read_end();
    return value;
}

static void put_number(uint64_t key, intptr_t value)
{
    expect_equal(cen_registry_register(registry, cen_key_number(key), value_of(value), NULL, NULL, NULL), CEN_OK);
}

static void remove_number(uint64_t key)
{
    expect_equal(cen_registry_unregister(registry, cen_key_number(key), NULL, NULL), CEN_OK);
}

/* What a thread registers must outlive it here. */
static cen_owner *owner;

static void put_for_owner(uint64_t key, intptr_t value)
{
    expect_equal(cen_registry_register(registry, cen_key_number(key), value_of(value), owner, NULL, NULL), CEN_OK);
}

/* ---- Removal ------------------------------------------------------------------------------------------------------ */

static void read_one(void *unused)
{
    (void)unused;
    note(0, read_key(cen_key_number(1)));
}

/* guarantees: registry.read */
EXPLORE(an_entry_that_is_removed_is_not_freed_under_its_reader, 4)
{
    make_registry(.kind = CEN_UNIQUE);
    put_number(1, 11);
    ceni_thread reader = start("reader", read_one, NULL);
    remove_number(1);
    empty_bin();
    join(reader);
    expect(noted(0) == 11 || noted(0) == NOTHING);
    expect_equal(read_key(cen_key_number(1)), NOTHING);
    end_registry();
}

EXPLORE(a_key_that_goes_and_comes_is_found_as_one_or_the_other_or_not_at_all, 4)
{
    make_registry(.kind = CEN_UNIQUE);
    put_number(1, 11);
    ceni_thread reader = start("reader", read_one, NULL);
    remove_number(1);
    put_number(1, 12);
    empty_bin();
    join(reader);
    expect(noted(0) == 11 || noted(0) == 12 || noted(0) == NOTHING);
    expect_equal(read_key(cen_key_number(1)), 12);
    end_registry();
}

static void read_two(void *unused)
{
    (void)unused;
    note(0, read_key(cen_key_number(1)));
    note(1, read_key(cen_key_number(1)));
}

EXPLORE(what_was_found_gone_once_stays_gone, 4)
{
    make_registry(.kind = CEN_UNIQUE);
    put_number(1, 11);
    ceni_thread reader = start("reader", read_two, NULL);
    remove_number(1);
    join(reader);
    expect(noted(0) == 11 || noted(1) == NOTHING);
    end_registry();
}

EXPLORE(a_key_that_always_has_an_entry_is_always_found_with_the_value_of_one, 4)
{
    uint64_t first;
    make_registry(.kind = CEN_DUPLICATE);
    expect_equal(cen_registry_register(registry, cen_key_number(1), value_of(11), NULL, &first, NULL), CEN_OK);
    ceni_thread reader = start("reader", read_one, NULL);
    put_number(1, 12);
    expect_equal(cen_registry_remove(registry, first, NULL), CEN_OK);
    join(reader);
    expect(noted(0) == 11 || noted(0) == 12);
    end_registry();
}

/* ---- Update ------------------------------------------------------------------------------------------------------- */

typedef struct box {
    _Atomic uint32_t content;
} box;

static box *make_box(uint32_t content)
{
    box *made = ceni_alloc(NULL, sizeof *made, _Alignof(box));
    ceni_store_relaxed(&made->content, content); /* nobody knows it yet; carries nothing */
    return made;
}

static void free_box(void *argument, void *value)
{
    (void)argument;
    ceni_free(NULL, value, sizeof(box), _Alignof(box));
}

static void read_box(void *unused)
{
    (void)unused;
    const cen_entry *entry;
    cen_read_begin();
    expect_equal(cen_registry_lookup(registry, cen_key_number(1), &entry), CEN_OK);
    box *content = cen_entry_value(entry);
    note(0, ceni_load_relaxed(&content->content)); /* what the value carries; the word itself carries nothing */
    cen_read_end();
}

/* guarantees: registry.read */
EXPLORE(a_value_that_is_replaced_is_not_released_under_its_reader_and_the_new_one_is_complete, 4)
{
    uint64_t number;
    make_registry(.kind = CEN_UNIQUE, .release = free_box);
    expect_equal(cen_registry_register(registry, cen_key_number(1), make_box(7), NULL, &number, NULL), CEN_OK);
    ceni_thread reader = start("reader", read_box, NULL);
    expect_equal(cen_registry_update(registry, number, make_box(8), NULL, NULL), CEN_OK);
    empty_bin();
    join(reader);
    expect(noted(0) == 7 || noted(0) == 8);
    end_registry();
}

/* ---- Two who change ----------------------------------------------------------------------------------------------- */

static void try_register(void *unused)
{
    (void)unused;
    note(1, (uint32_t)cen_registry_register(registry, cen_key_number(1), value_of(2), owner, NULL, NULL));
}

/* guarantees: registry.unique */
EXPLORE(of_two_who_want_a_unique_key_one_has_it, 4)
{
    make_registry(.kind = CEN_UNIQUE);
    owner = make_owner("both");
    ceni_thread other = start("other", try_register, NULL);
    note(0, (uint32_t)cen_registry_register(registry, cen_key_number(1), value_of(1), owner, NULL, NULL));
    join(other);
    expect_equal(noted(0) + noted(1), CEN_OK + CEN_EXISTS);
    expect_equal(read_key(cen_key_number(1)), noted(0) == CEN_OK ? 1 : 2);
    expect_equal(look().entries, 1);
    cen_owner_end(owner);
    end_registry();
}

static uint64_t shared_number;

static void try_remove(void *unused)
{
    (void)unused;
    note(1, (uint32_t)cen_registry_remove(registry, shared_number, NULL));
}

/* guarantees: registry.stale */
EXPLORE(of_two_who_remove_an_entry_one_does_and_one_is_stale, 4)
{
    make_registry(.kind = CEN_UNIQUE);
    expect_equal(cen_registry_register(registry, cen_key_number(1), NULL, NULL, &shared_number, NULL), CEN_OK);
    ceni_thread other = start("other", try_remove, NULL);
    note(0, (uint32_t)cen_registry_remove(registry, shared_number, NULL));
    join(other);
    expect_equal(noted(0) + noted(1), CEN_OK + CEN_STALE);
    expect_equal(look().removed, 1);
    end_registry();
}

/* ---- Three at once ------------------------------------------------------------------------------------------------ */

/* Three numbers of one bucket; in its chain the last comes first. */
static uint64_t chained[3];

static void find_chained(void)
{
    uint64_t next = 1;
    for (int i = 0; i < 3; next++)
        if ((ceni_key_hash(registry->seed, cen_key_number(next)) & 3) == 0) chained[i++] = next;
}

static void remove_second(void *unused)
{
    (void)unused;
    expect_equal(cen_registry_unregister(registry, cen_key_number(chained[1]), owner, NULL), CEN_OK);
}

static void read_first(void *unused)
{
    (void)unused;
    note(0, read_key(cen_key_number(chained[0])));
}

/* guarantees: registry.growth */
EXPLORE(a_key_that_stays_is_found_while_two_change_its_bucket, 2)
{
    make_registry(.kind = CEN_UNIQUE);
    owner = make_owner("all");
    find_chained();
    put_for_owner(chained[0], 11);
    put_for_owner(chained[1], 12);
    ceni_thread remover = start("remover", remove_second, NULL), reader = start("reader", read_first, NULL);
    put_for_owner(chained[2], 13);
    join(remover);
    join(reader);
    expect_equal(noted(0), 11);
    expect_equal(read_key(cen_key_number(chained[1])), NOTHING);
    expect_equal(read_key(cen_key_number(chained[2])), 13);
    cen_owner_end(owner);
    end_registry();
}

static void explore_deeper(void (*body)(void))
{
    const ceni_memory memories[] = {CENI_MEMORY_STRONG, CENI_MEMORY_WEAK};
    for (int i = 0; i < 2; i++) {
        ceni_exploration plan = {.body = body, .preemptions = 3, .memory = memories[i]};
        expect(ceni_world_explore(&plan).run > 0);
    }
}

PLAIN_TEST(a_key_that_stays_is_found_while_two_change_its_bucket_with_up_to_3_preemptions)
{
    explore_deeper(a_key_that_stays_is_found_while_two_change_its_bucket_body);
}

/* The last of the bucket's keys is put in by one and taken out by another: the first of the chain is then one that
 * this other one had not put in itself. */
static void put_two(void *unused)
{
    (void)unused;
    put_for_owner(chained[1], 12);
    put_for_owner(chained[2], 13);
}

static void remove_third(void *unused)
{
    (void)unused;
    (void)cen_registry_unregister(registry, cen_key_number(chained[2]), owner, NULL);
}

static void change_ends_of_the_bucket(void)
{
    make_registry(.kind = CEN_UNIQUE);
    owner = make_owner("all");
    find_chained();
    put_for_owner(chained[0], 11);
    ceni_thread putter = start("putter", put_two, NULL), remover = start("remover", remove_third, NULL);
    read_first(NULL);
    join(putter);
    join(remover);
    expect_equal(noted(0), 11);
    cen_owner_end(owner);
    end_registry();
}

PLAIN_TEST(a_key_that_stays_is_found_behind_one_that_another_thread_has_made_the_first)
{
    explore_deeper(change_ends_of_the_bucket);
}
