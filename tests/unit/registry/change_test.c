/* SPDX-License-Identifier: MIT */
/* Register, unregister, remove, update; and when values are released. */
#include "support/world.h"
#include "unit/registry/registries.h"

/* guarantees: registry.unique */
TEST(a_taken_key_is_refused_with_the_name_of_its_holder_and_leaves_nothing_behind)
{
    make_registry(.name = "names", .kind = CEN_UNIQUE);
    cen_owner *one = make_owner("first connection"), *other = make_owner("second");
    uint64_t number = 77;
    cen_error error = {.text = ""};
    put("db", 1, one);
    size_t bytes = ceni_world_bytes();
    for (int i = 0; i < 1000; i++) {
        expect_equal(cen_registry_register(registry, cen_key_text("db"), NULL, other, &number, &error), CEN_EXISTS);
        expect_equal(cen_registry_register(registry, cen_key_text("db"), NULL, one, &number, &error), CEN_EXISTS);
    }
    expect_text(error.text, "registry \"names\": key \"db\" is held by owner \"first connection\"");
    expect_equal(error.status, CEN_EXISTS);
    expect_equal(number, 77);
    expect_equal(ceni_world_bytes(), bytes);
    expect_equal(look().keys, 1);
    expect_equal(look().buckets, 4);
    expect_equal(look().refused, 2000);
    expect_equal(find("db"), 1);
    expect_equal(cen_registry_unregister(registry, cen_key_text("db"), other, NULL), CEN_ABSENT);
    expect_equal(cen_registry_unregister(registry, cen_key_text("db"), one, NULL), CEN_OK);
    put("db", 2, other);
    expect_equal(find("db"), 2);
    cen_owner_end(one);
    cen_owner_end(other);
    end_registry();
}

TEST(unregister_removes_all_of_one_owner_under_one_key_and_no_other)
{
    make_registry(.kind = CEN_DUPLICATE);
    cen_owner *one = make_owner("one"), *other = make_owner("other");
    visited all = {.count = 0};
    for (int i = 0; i < 10; i++) {
        put("topic", i, one);
        put("topic", 100 + i, other);
        put("else", i, one);
    }
    expect_equal(cen_registry_unregister(registry, cen_key_text("topic"), one, NULL), CEN_OK);
    expect_equal(cen_registry_unregister(registry, cen_key_text("topic"), one, NULL), CEN_ABSENT);
    expect_equal(cen_registry_unregister(registry, cen_key_text("nothing"), one, NULL), CEN_ABSENT);
    /* the thread has none at all */
    expect_equal(cen_registry_unregister(registry, cen_key_text("topic"), NULL, NULL), CEN_ABSENT);
    expect_equal(count_of("else"), 10);
    expect_equal(cen_registry_each(registry, cen_key_text("topic"), note_visit, &all), CEN_OK);
    expect_equal(all.count, 10);
    for (int i = 0; i < 10; i++) expect_equal(all.values[i], 100 + i);
    cen_owner_end(one);
    expect_equal(look().entries, 10);
    cen_owner_end(other);
    expect_equal(look().keys, 0);
    end_registry();
}

TEST(one_of_many_is_removed_by_its_number_whichever_it_is)
{
    uint64_t numbers[9];
    make_registry(.kind = CEN_DUPLICATE);
    for (int i = 0; i < 9; i++) numbers[i] = put("topic", i, NULL);
    const int order[] = {4, 0, 8, 1}; /* the middle, the one that leads the others, the last, the next that leads */
    for (int i = 0; i < 4; i++) expect_equal(cen_registry_remove(registry, numbers[order[i]], NULL), CEN_OK);
    visited all = {.count = 0};
    expect_equal(cen_registry_each(registry, cen_key_text("topic"), note_visit, &all), CEN_OK);
    const intptr_t left[] = {2, 3, 5, 6, 7};
    expect_equal(all.count, 5);
    expect(memcmp(all.values, left, sizeof left) == 0);
    expect_equal(cen_registry_unregister(registry, cen_key_text("topic"), NULL, NULL), CEN_OK);
    expect_equal(look().entries, 0);
    end_registry();
}

/* guarantees: registry.stale */
TEST(the_number_of_an_entry_that_is_gone_is_stale_and_touches_nothing)
{
    make_registry(.kind = CEN_UNIQUE);
    cen_registry *another = new_registry(CEN_REGISTRY_OPTIONS(.runtime = runtime));
    uint64_t first = put("key", 1, NULL);
    expect_equal(cen_registry_remove(registry, first, NULL), CEN_OK);
    empty_bin();
    uint64_t second = put("key", 2, NULL);
    void *before = value_of(55);
    expect(first != second);
    expect_equal(cen_registry_remove(registry, first, NULL), CEN_STALE);
    expect_equal(cen_registry_update(registry, first, value_of(9), &before, NULL), CEN_STALE);
    expect_equal(cen_registry_remove(registry, 0, NULL), CEN_STALE);
    expect_equal(cen_registry_remove(another, second, NULL), CEN_STALE);
    expect_equal((intptr_t)before, 55);
    expect_equal(find("key"), 2);
    expect_equal(cen_registry_free(another), CEN_OK);
    end_registry();
}

TEST(update_gives_an_entry_another_value_and_answers_with_the_one_before)
{
    void *before;
    make_registry(.kind = CEN_UNIQUE);
    uint64_t number = put("key", 1, NULL);
    expect_equal(cen_registry_update(registry, number, value_of(2), &before, NULL), CEN_OK);
    expect_equal((intptr_t)before, 1);
    expect_equal(cen_registry_update(registry, number, value_of(3), NULL, NULL), CEN_OK);
    expect_equal(find("key"), 3);
    expect_equal(look().updated, 2);
    end_registry();
}

/* guarantees: registry.refused */
TEST(a_key_without_entries_goes_with_its_memory)
{
    make_registry(.kind = CEN_UNIQUE);
    put("warm up", 1, NULL);
    expect_equal(cen_registry_unregister(registry, cen_key_text("warm up"), NULL, NULL), CEN_OK);
    empty_bin();
    size_t bytes = ceni_world_bytes();
    for (int i = 0; i < 500; i++) {
        char key[16];
        snprintf(key, sizeof key, "key %d", i);
        put(key, i, NULL);
        expect_equal(cen_registry_unregister(registry, cen_key_text(key), NULL, NULL), CEN_OK);
        empty_bin();
        expect_equal(look().keys, 0);
    }
    expect_equal(look().buckets, 4);
    expect_equal(ceni_world_bytes(), bytes);
    end_registry();
}

/* ---- Release --------------------------------------------------------------------------------------------- */

static int released[16];

static void note_release(void *argument, void *value)
{
    expect(argument == released);
    expect(!ceni_read_is_open());
    released[(intptr_t)value]++;
}

static int released_in_all(void)
{
    int sum = 0;
    for (int i = 0; i < 16; i++) sum += released[i];
    return sum;
}

/* guarantees: registry.release */
TEST(a_value_is_released_once_when_no_section_can_see_it_any_more)
{
    memset(released, 0, sizeof released);
    make_registry(.kind = CEN_DUPLICATE, .release = note_release, .argument = released);
    cen_owner *owner = make_owner("one");
    uint64_t number = put("key", 1, owner);
    put("key", 2, owner);
    put("key", 3, NULL);
    expect_equal(cen_registry_update(registry, number, value_of(4), NULL, NULL), CEN_OK);
    expect_equal(released_in_all(), 0);
    empty_bin();
    expect_equal(released[1], 1);
    expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
    empty_bin();
    expect_equal(released[4], 1);
    cen_owner_end(owner);
    empty_bin();
    expect_equal(released[2], 1);
    end_registry();
    expect_equal(released[3], 1);
    expect_equal(released_in_all(), 4);
}

static void hear_nothing(void *argument, const cen_registered *change)
{
    (void)argument, (void)change;
}

/* guarantees: registry.release */
TEST(a_value_that_was_replaced_is_released_once_though_somebody_listens)
{
    cen_listening *listening;
    memset(released, 0, sizeof released);
    make_registry(.kind = CEN_UNIQUE, .release = note_release, .argument = released);
    expect_equal(cen_registry_listen(registry, NULL, hear_nothing, NULL, &listening, NULL), CEN_OK);
    uint64_t number = put("key", 1, NULL);
    for (int i = 2; i < 6; i++) expect_equal(cen_registry_update(registry, number, value_of(i), NULL, NULL), CEN_OK);
    end_registry();
    for (int i = 1; i < 6; i++) expect_equal(released[i], 1);
    expect_equal(released_in_all(), 5);
}

static void release_late(void *unused)
{
    (void)unused;
    empty_bin();
}

/* guarantees: registry.read */
TEST(an_entry_that_is_removed_stays_while_a_section_is_open)
{
    const cen_entry *entry;
    memset(released, 0, sizeof released);
    make_registry(.kind = CEN_UNIQUE, .release = note_release, .argument = released);
    cen_owner *owner = make_owner("one");
    put("key", 7, owner);
    cen_read_begin();
    expect_equal(cen_registry_lookup(registry, cen_key_text("key"), &entry), CEN_OK);
    expect_equal(cen_registry_unregister(registry, cen_key_text("key"), owner, NULL), CEN_OK);
    cen_owner_end(owner);
    ceni_thread other = start("lets go", release_late, NULL);
    ceni_world_settle();
    expect_equal((intptr_t)cen_entry_value(entry), 7);
    expect_text(cen_owner_name(cen_entry_owner(entry)), "one");
    expect(cen_key_same(cen_entry_key(entry), cen_key_text("key")));
    expect(cen_entry_registry(entry) == registry);
    expect_equal(released[7], 0);
    cen_read_end();
    join(other);
    expect_equal(released[7], 1);
    end_registry();
}

TEST(a_change_of_an_entry_that_fails_says_why)
{
    cen_error error;
    make_registry(.name = "names", .kind = CEN_UNIQUE);
    cen_owner *one = make_owner("one");
    expect_equal(cen_registry_unregister(registry, cen_key_text("db"), one, &error), CEN_ABSENT);
    expect_text(error.text, "registry \"names\": the owner has no entry with key \"db\"");
    error.text[0] = 0;
    expect_equal(cen_registry_unregister(registry, cen_key_text("db"), NULL, &error),
                 CEN_ABSENT); /* the thread's own */
    expect_text(error.text, "registry \"names\": the owner has no entry with key \"db\"");
    expect_equal(cen_registry_unregister(registry, cen_key_text(NULL), one, &error), CEN_INVALID);
    expect(strstr(error.text, "key is NULL"));
    uint64_t number = put("db", 1, one);
    expect_equal(cen_registry_remove(registry, number, &error), CEN_OK);
    expect_equal(cen_registry_remove(registry, number, &error), CEN_STALE);
    expect(strstr(error.text, "is no longer registered"));
    expect_equal(cen_registry_update(registry, number, NULL, NULL, &error), CEN_STALE);
    expect_equal(error.status, CEN_STALE);
    cen_owner_end(one);
    end_registry();
}
