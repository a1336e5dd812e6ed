/* SPDX-License-Identifier: MIT */
/*
 * The table of keys grows while it is read and changed, under every schedule: a key that stays is always found. In files of its
 * own, since a growth writes many words, and store buffers make many schedules of them.
 */
#include "support/world.h"
#include "unit/registry/registries.h"

static _Atomic uint32_t found[2];

static void note(int i, uint32_t what)
{
    ceni_store_seq_cst(&found[i], what);
}

static uint32_t noted(int i)
{
    return ceni_load_seq_cst(&found[i]);
}

enum { NOTHING = 0 };

static uint32_t read_key(cen_key key)
{
    const cen_entry *entry;
    cen_read_begin();
    bool there = cen_registry_lookup(registry, key, &entry) == CEN_OK;
    uint32_t value = there ? (uint32_t)(uintptr_t)cen_entry_value(entry) : NOTHING;
    cen_read_end();
    return value;
}

static cen_owner *owner;

static void put_for_owner(uint64_t key, intptr_t value)
{
    expect_equal(cen_registry_register(registry, cen_key_number(key), value_of(value), owner, NULL, NULL), CEN_OK);
}

/* Numbers whose hashes all end in the same two bits, and differ in the next two: one chain of four buckets, four of sixteen. */
static void collide(uint64_t keys[4])
{
    uint64_t next = 1;
    for (uint64_t i = 0; i < 4; next++)
        if ((ceni_key_hash(registry->seed, cen_key_number(next)) & 15) == i << 2) keys[i++] = next;
}

static uint64_t chained[4];

static void read_chain(void *unused)
{
    (void)unused;
    /* The one that was put in first is the last of the chain. */
    note(0, read_key(cen_key_number(chained[0])));
}

static void put_chain(void)
{
    collide(chained);
    for (int i = 0; i < 4; i++) put_for_owner(chained[i], 10 + i);
}

/* guarantees: registry.growth */
EXPLORE(a_key_that_stays_is_found_while_the_table_grows, 2)
{
    make_registry(.kind = CEN_UNIQUE);
    owner = make_owner("all");
    put_chain();
    ceni_thread reader = start("reader", read_chain, NULL);
    put_for_owner(UINT64_MAX, 15);
    join(reader);
    expect_equal(noted(0), 10);
    expect_equal(look().buckets, 8);
    cen_owner_end(owner);
    end_registry();
}

/* The fifth key makes the table grow, the ninth would again, while the reader is still in the first. */
/* guarantees: registry.growth */
EXPLORE(a_key_that_stays_is_found_while_the_table_grows_twice, 2)
{
    make_registry(.kind = CEN_UNIQUE);
    owner = make_owner("all");
    put_chain();
    ceni_thread reader = start("reader", read_chain, NULL);
    for (uint64_t i = 0; i < 5; i++) put_for_owner(UINT64_MAX - i, 15);
    join(reader);
    expect_equal(noted(0), 10);
    cen_owner_end(owner);
    end_registry();
}

static void grow_and_empty(void *unused)
{
    (void)unused;
    put_for_owner(UINT64_MAX, 15);
    empty_bin();
}

static void remove_chained(void *unused)
{
    (void)unused;
    expect_equal(cen_registry_unregister(registry, cen_key_number(chained[2]), owner, NULL), CEN_OK);
}

EXPLORE(a_table_that_grows_beside_a_removal_and_a_reader_loses_nothing_that_stays, 2)
{
    make_registry(.kind = CEN_UNIQUE);
    owner = make_owner("all");
    put_chain();
    ceni_thread grower = start("grower", grow_and_empty, NULL);
    ceni_thread remover = start("remover", remove_chained, NULL);
    note(0, read_key(cen_key_number(chained[0])));
    note(1, read_key(cen_key_number(chained[2])));
    join(grower);
    join(remover);
    expect_equal(noted(0), 10);
    expect(noted(1) == 12 || noted(1) == NOTHING);
    expect_equal(read_key(cen_key_number(chained[2])), NOTHING);
    expect_equal(read_key(cen_key_number(UINT64_MAX)), 15);
    cen_owner_end(owner);
    end_registry();
}

static _Atomic uint32_t visits[16];

static bool count_visit(void *argument, const cen_entry *entry)
{
    (void)argument;
    ceni_add_seq_cst(&visits[(uintptr_t)cen_entry_value(entry)], 1);
    return true;
}

static void visit_all(void *unused)
{
    (void)unused;
    expect_equal(cen_registry_each_all(registry, count_visit, NULL), CEN_OK);
}

static void visit_while_it_grows(void)
{
    make_registry(.kind = CEN_UNIQUE);
    owner = make_owner("all");
    for (int i = 0; i < 16; i++) ceni_store_relaxed(&visits[i], 0); /* no thread yet; carries nothing */
    collide(chained);
    for (int i = 0; i < 3; i++) put_for_owner(chained[i], 10 + i);
    put_for_owner(UINT64_MAX, 14);
    ceni_thread visitor = start("visitor", visit_all, NULL);
    put_for_owner(chained[3], 13); /* the first of their chain */
    join(visitor);
    for (int i = 10; i < 15; i++) {
        uint32_t seen = ceni_load_seq_cst(&visits[i]);
        expect(seen == 1 || (i == 13 && seen == 0));
    }
    cen_owner_end(owner);
    end_registry();
}

/* ---- Deeper, without store buffers -------------------------------------------------------------------------------------- */

static void explore_deeper(void (*body)(void), unsigned preemptions)
{
    const ceni_memory memories[] = {CENI_MEMORY_STRONG, CENI_MEMORY_WEAK};
    for (int i = 0; i < 2; i++) {
        ceni_exploration plan = {.body = body, .preemptions = preemptions, .memory = memories[i]};
        expect(ceni_world_explore(&plan).run > 0);
    }
}

PLAIN_TEST(a_key_that_stays_is_found_while_the_table_grows_with_up_to_4_preemptions)
{
    explore_deeper(a_key_that_stays_is_found_while_the_table_grows_body, 4);
}

/* guarantees: registry.growth */
PLAIN_TEST(a_visit_of_all_sees_what_stays_once_while_the_table_grows)
{
    explore_deeper(visit_while_it_grows, 4);
}

PLAIN_TEST(a_key_that_stays_is_found_while_the_table_grows_twice_with_up_to_4_preemptions)
{
    explore_deeper(a_key_that_stays_is_found_while_the_table_grows_twice_body, 4);
}
