/* SPDX-License-Identifier: MIT */
/* Reading: lookup, pick, nth, count, each. */
#include "unit/registry/registries.h"

TEST(what_is_found_must_be_read_in_a_section)
{
    const cen_entry *entry;
    make_registry(.kind = CEN_UNIQUE);
    put("key", 1, NULL);
    expect_equal(cen_registry_lookup(registry, cen_key_text("key"), &entry), CEN_MISUSE);
    expect_equal(cen_registry_pick(registry, cen_key_text("key"), &entry), CEN_MISUSE);
    expect_equal(cen_registry_nth(registry, cen_key_text("key"), 0, &entry), CEN_MISUSE);
    end_registry();
}

TEST(under_a_key_the_oldest_is_found_and_all_are_visited_in_the_order_of_registration)
{
    visited all = {.count = 0}, some = {.stop_after = 3};
    make_registry(.kind = CEN_DUPLICATE);
    expect_equal(find("key"), -1);
    uint64_t first = put("key", 0, NULL);
    for (int i = 1; i < 30; i++) put("key", i, NULL);
    expect_equal(find("key"), 0);
    expect_equal(cen_registry_remove(registry, first, NULL), CEN_OK);
    expect_equal(find("key"), 1);
    expect_equal(cen_registry_each(registry, cen_key_text("key"), note_visit, &all), CEN_OK);
    expect_equal(all.count, 29);
    for (int i = 0; i < 29; i++) expect_equal(all.values[i], i + 1);
    expect_equal(cen_registry_each(registry, cen_key_text("key"), note_visit, &some), CEN_OK);
    expect_equal(some.count, 3);
    expect_equal(cen_registry_each(registry, cen_key_text("none"), note_visit, &all), CEN_OK);
    expect_equal(all.count, 29);
    expect_equal(count_of("key"), 29);
    expect_equal(count_of("none"), 0);
    end_registry();
}

static uint64_t doomed[8];

/* At the third, removes it, the one before, the next two, and adds one. */
static bool change_while_visiting(void *argument, const cen_entry *entry)
{
    if ((intptr_t)cen_entry_value(entry) == 3) {
        for (int i = 2; i <= 5; i++) expect_equal(cen_registry_remove(registry, doomed[i], NULL), CEN_OK);
        put("key", 8, NULL);
    }
    return note_visit(argument, entry);
}

TEST(what_stays_is_visited_once_whatever_goes_and_comes_meanwhile)
{
    visited all = {.count = 0};
    make_registry(.kind = CEN_DUPLICATE);
    for (int i = 1; i <= 7; i++) doomed[i] = put("key", i, NULL);
    expect_equal(cen_registry_each(registry, cen_key_text("key"), change_while_visiting, &all), CEN_OK);
    int seen[9] = {0};
    for (int i = 0; i < all.count; i++) seen[all.values[i]]++;
    for (int i = 1; i <= 8; i++) expect(seen[i] <= 1);
    expect(seen[1] == 1 && seen[2] == 1 && seen[3] == 1 && seen[6] == 1 && seen[7] == 1);
    end_registry();
}

/* Each visit adds keys until the table has grown more than once; those that were there are seen once. */
static bool grow_while_visiting(void *argument, const cen_entry *entry)
{
    static int added;
    for (int i = 0; i < 8; i++) {
        char key[16];
        snprintf(key, sizeof key, "new %d", added++);
        put(key, 60, NULL);
    }
    return note_visit(argument, entry);
}

/* guarantees: registry.growth */
TEST(over_all_what_stays_is_visited_once_though_the_table_grows_meanwhile)
{
    visited all = {.count = 0};
    make_registry(.kind = CEN_UNIQUE);
    for (int i = 0; i < 4; i++) {
        char key[16];
        snprintf(key, sizeof key, "old %d", i);
        put(key, i, NULL);
    }
    expect_equal(look().buckets, 4);
    expect_equal(cen_registry_each_all(registry, grow_while_visiting, &all), CEN_OK);
    expect(look().buckets >= 8);
    int seen[61] = {0};
    for (int i = 0; i < all.count; i++) seen[all.values[i]]++;
    for (int i = 0; i < 4; i++) expect_equal(seen[i], 1);
    end_registry();
}

TEST(each_over_all_stops_when_it_is_told_to)
{
    visited some = {.stop_after = 2};
    make_registry(.kind = CEN_DUPLICATE);
    for (int i = 0; i < 3; i++) put("a", i, NULL);
    for (int i = 0; i < 3; i++) put("b", i, NULL);
    expect_equal(cen_registry_each_all(registry, note_visit, &some), CEN_OK);
    expect_equal(some.count, 2);
    end_registry();
}
