/* SPDX-License-Identifier: MIT */
/* Picks, counts and visits of the entries of a key, while some come and go, under every schedule. */
#include "support/world.h"
#include "unit/registry/registries.h"

static _Atomic uint32_t found[8];

static void note(int i, uint32_t what)
{
    ceni_store_seq_cst(&found[i], what);
}

static uint32_t noted(int i)
{
    return ceni_load_seq_cst(&found[i]);
}

enum { NOTHING = 0, ENOUGH = 99 };

static void put_number(uint64_t key, intptr_t value)
{
    expect_equal(cen_registry_register(registry, cen_key_number(key), value_of(value), NULL, NULL, NULL), CEN_OK);
}

static uint64_t put_numbered(intptr_t value)
{
    uint64_t number;
    expect_equal(cen_registry_register(registry, cen_key_number(1), value_of(value), NULL, &number, NULL), CEN_OK);
    return number;
}

static void remove_numbered(uint64_t number)
{
    expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
}

/* In a section. */
static uint32_t value_at(size_t index)
{
    const cen_entry *entry;
    if (cen_registry_nth(registry, cen_key_number(1), index, &entry) != CEN_OK) return NOTHING;
    return cen_entry_value(entry) ? (uint32_t)(uintptr_t)cen_entry_value(entry) : ENOUGH; /* seen before its value */
}

/* What a pick takes if chance has it take the last. */
static uint32_t value_of_last(void)
{
    cen_key key = cen_key_number(1);
    ceni_shelf *shelf = ceni_keys_find(registry, key, ceni_key_hash(registry->seed, key));
    cen_entry *entry = shelf ? ceni_shelf_any(shelf, UINT64_MAX) : NULL;
    if (!entry) return NOTHING;
    return cen_entry_value(entry) ? (uint32_t)(uintptr_t)cen_entry_value(entry) : ENOUGH;
}

static size_t count_now(void)
{
    size_t count;
    expect_equal(cen_registry_count(registry, cen_key_number(1), &count), CEN_OK);
    return count;
}

/* ---- Picking ------------------------------------------------------------------------------------------------------ */

static void pick_both(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < 2; i++) {
        const cen_entry *entry;
        cen_read_begin();
        cen_status status = cen_registry_nth(registry, cen_key_number(1), i, &entry);
        note((int)i, status == CEN_OK ? (uint32_t)(uintptr_t)cen_entry_value(entry) : NOTHING);
        cen_read_end();
    }
}

EXPLORE(an_index_below_the_count_has_an_entry_that_is_there, 4)
{
    uint64_t first;
    make_registry(.kind = CEN_DUPLICATE);
    expect_equal(cen_registry_register(registry, cen_key_number(1), value_of(11), NULL, &first, NULL), CEN_OK);
    put_number(1, 12);
    ceni_thread reader = start("reader", pick_both, NULL);
    expect_equal(cen_registry_remove(registry, first, NULL), CEN_OK);
    empty_bin();
    join(reader);
    expect(noted(0) == 11 || noted(0) == 12);
    expect(noted(1) == 12 || noted(1) == NOTHING);
    pick_both(NULL);
    expect_equal(noted(0), 12);
    expect_equal(noted(1), NOTHING);
    end_registry();
}

static void pick_fifth(void *unused)
{
    (void)unused;
    const cen_entry *entry;
    cen_read_begin();
    cen_status status = cen_registry_nth(registry, cen_key_number(1), 4, &entry);
    note(0, status == CEN_OK ? (uint32_t)(uintptr_t)cen_entry_value(entry) : NOTHING);
    cen_read_end();
}

EXPLORE(the_first_entry_of_a_chunk_is_picked_with_its_value_or_not_at_all, 2)
{
    make_registry(.kind = CEN_DUPLICATE);
    for (int i = 1; i <= 4; i++) put_number(1, i);
    ceni_thread reader = start("reader", pick_fifth, NULL);
    put_number(1, 5);
    join(reader);
    expect(noted(0) == 5 || noted(0) == NOTHING);
    end_registry();
}

/* ---- For each ----------------------------------------------------------------------------------------------------- */

static bool count_visit(void *argument, const cen_entry *entry)
{
    (void)argument;
    int value = (int)(intptr_t)cen_entry_value(entry);
    note(value, noted(value) + 1);
    return true;
}

static void visit_all(void *unused)
{
    (void)unused;
    expect_equal(cen_registry_each(registry, cen_key_number(1), count_visit, NULL), CEN_OK);
}

/* guarantees: registry.growth */
EXPLORE(for_each_visits_what_stays_once_and_all_else_at_most_once, 3)
{
    uint64_t second;
    make_registry(.kind = CEN_DUPLICATE);
    for (int i = 0; i < 5; i++) note(i, 0);
    put_number(1, 1);
    expect_equal(cen_registry_register(registry, cen_key_number(1), value_of(2), NULL, &second, NULL), CEN_OK);
    put_number(1, 3);
    ceni_thread visitor = start("visitor", visit_all, NULL);
    expect_equal(cen_registry_remove(registry, second, NULL), CEN_OK);
    put_number(1, 4);
    join(visitor);
    expect_equal(noted(1), 1);
    expect_equal(noted(3), 1);
    expect(noted(2) <= 1 && noted(4) <= 1);
    expect_equal(noted(0), 0); /* none is seen before its value */
    end_registry();
}

/* The third comes while the visitor may stand on the first, and then the second, between them, goes. */
EXPLORE(for_each_sees_no_entry_before_its_value_though_it_comes_after_one_that_goes, 2)
{
    uint64_t second;
    make_registry(.kind = CEN_DUPLICATE);
    for (int i = 0; i < 5; i++) note(i, 0);
    put_number(1, 1);
    expect_equal(cen_registry_register(registry, cen_key_number(1), value_of(2), NULL, &second, NULL), CEN_OK);
    ceni_thread visitor = start("visitor", visit_all, NULL);
    put_number(1, 3);
    expect_equal(cen_registry_remove(registry, second, NULL), CEN_OK);
    join(visitor);
    expect_equal(noted(1), 1);
    expect(noted(2) <= 1 && noted(3) <= 1);
    expect_equal(noted(0), 0);
    end_registry();
}

/* ---- Counts and picks ------------------------------------------------------------------------------------------------ */

static void count_and_pick(void *unused)
{
    (void)unused;
    visited all = {.count = 0};
    cen_read_begin();
    note(0, (uint32_t)count_now());
    expect_equal(cen_registry_each(registry, cen_key_number(1), note_visit, &all), CEN_OK);
    note(1, (uint32_t)all.count);
    note(2, value_at(1));
    cen_read_end();
}

EXPLORE(what_was_counted_can_be_visited_and_picked, 3)
{
    make_registry(.kind = CEN_DUPLICATE);
    put_number(1, 11);
    ceni_thread reader = start("reader", count_and_pick, NULL);
    put_number(1, 12);
    join(reader);
    expect(noted(0) == 1 || (noted(1) == 2 && noted(2) == 12));
    expect(noted(2) == 12 || noted(2) == NOTHING);
    end_registry();
}

static void count_and_pick_first(void *unused)
{
    (void)unused;
    cen_read_begin();
    note(0, (uint32_t)count_now());
    note(1, value_at(0));
    cen_read_end();
}

EXPLORE(what_is_picked_after_it_was_counted_out_is_not_what_went, 4)
{
    make_registry(.kind = CEN_DUPLICATE);
    uint64_t first = put_numbered(11);
    put_number(1, 12);
    ceni_thread reader = start("reader", count_and_pick_first, NULL);
    remove_numbered(first);
    join(reader);
    expect(noted(0) == 2 || noted(1) == 12);
    expect(noted(1) == 11 || noted(1) == 12);
    end_registry();
}

static void pick_from_the_last(void *unused)
{
    (void)unused;
    cen_read_begin();
    note(1, value_at(1));
    note(0, value_at(0));
    cen_read_end();
}

EXPLORE(who_finds_that_an_index_is_gone_does_not_find_what_went, 4)
{
    make_registry(.kind = CEN_DUPLICATE);
    uint64_t first = put_numbered(11);
    put_number(1, 12);
    ceni_thread reader = start("reader", pick_from_the_last, NULL);
    remove_numbered(first);
    join(reader);
    expect(noted(1) == 12 || (noted(1) == NOTHING && noted(0) == 12));
    end_registry();
}

static void pick_first(void *unused)
{
    (void)unused;
    cen_read_begin();
    note(0, value_at(0));
    cen_read_end();
}

static void pick_last(void *unused)
{
    (void)unused;
    cen_read_begin();
    note(0, value_of_last());
    cen_read_end();
}

static void change_under(void (*reader)(void *unused))
{
    make_registry(.kind = CEN_DUPLICATE);
    uint64_t first = put_numbered(11);
    ceni_thread thread = start("reader", reader, NULL);
    put_number(1, 12);
    remove_numbered(first);
    join(thread);
    expect(noted(0) == 11 || noted(0) == 12);
    end_registry();
}

EXPLORE(of_a_key_that_always_has_an_entry_the_first_is_always_picked_with_its_value, 3)
{
    change_under(pick_first);
}

EXPLORE(of_a_key_that_always_has_an_entry_the_last_is_always_picked_with_its_value, 3)
{
    change_under(pick_last);
}

static void pick_second(void *unused)
{
    (void)unused;
    cen_read_begin();
    note(0, value_at(1));
    cen_read_end();
}

EXPLORE(an_entry_in_the_place_of_one_that_went_is_picked_with_its_value, 4)
{
    make_registry(.kind = CEN_DUPLICATE);
    put_number(1, 11);
    uint64_t second = put_numbered(12);
    ceni_thread reader = start("reader", pick_second, NULL);
    remove_numbered(second);
    put_number(1, 13);
    join(reader);
    expect(noted(0) == 12 || noted(0) == 13 || noted(0) == NOTHING);
    end_registry();
}

/* ---- The end of a key, by two who let go ------------------------------------------------------------------------------ */

/* A helper lets go of the first entry, with a grace period that may have begun before the reader did, and free of the second:
 * whoever comes last frees the key, and only the other may have waited for the reader. */
static void let_go_twice(void)
{
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.idle_timeout_ns = CEN_OFF);
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    registry = new_registry(CEN_REGISTRY_OPTIONS(.kind = CEN_DUPLICATE, .runtime = runtime));
    uint64_t first = put_numbered(11);
    put_number(1, 12);
    remove_numbered(first);
    ceni_thread reader = start("reader", pick_second, NULL);
    join(reader);
    end_registry();
}

/* guarantees: registry.read */
PLAIN_TEST(a_key_is_not_freed_under_a_reader_by_who_has_not_waited_for_it)
{
    const ceni_memory memories[] = {CENI_MEMORY_STRONG, CENI_MEMORY_WEAK};
    for (int i = 0; i < 2; i++) {
        ceni_exploration plan = {.body = let_go_twice, .preemptions = 2, .memory = memories[i]};
        expect(ceni_world_explore(&plan).run > 0);
    }
}
