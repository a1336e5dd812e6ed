/* SPDX-License-Identifier: MIT */
/* Making, freeing and looking. */
#include "base/alloc.h"
#include "port/rank.h"
#include "unit/registry/registries.h"

static void expect_refused(cen_registry_options options, const char *words)
{
    cen_registry *made = NULL;
    cen_error error = {.text = ""};
    expect_equal(cen_registry_new(&options, &made, &error), CEN_INVALID);
    if (!strstr(error.text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, words);
    expect(!made);
}

TEST(wrong_options_are_refused_with_the_name_of_the_field)
{
    cen_allocator half = {.alloc = NULL};
    cen_error error = {.text = ""};
    cen_registry_options options = CEN_REGISTRY_OPTIONS(.name = "x");
    expect_refused((cen_registry_options){.size = 3}, "options.size");
    expect_refused(CEN_REGISTRY_OPTIONS(.kind = (cen_registry_kind)7), "options.kind");
    expect_refused(CEN_REGISTRY_OPTIONS(.allocator = &half), "options.allocator");
    expect_equal(cen_registry_new(NULL, &registry, &error), CEN_INVALID);
    expect(strstr(error.text, "options is NULL"));
    expect_equal(cen_registry_new(&options, NULL, &error), CEN_INVALID);
    expect(strstr(error.text, "out is NULL"));
}

TEST(null_is_answered_with_invalid_and_free_takes_it)
{
    cen_registry_stats stats = CEN_SIZED(cen_registry_stats);
    const cen_entry *entry;
    size_t count;
    cen_key key = cen_key_number(1);
    cen_listening *listening;
    make_registry(.kind = CEN_UNIQUE);
    expect_equal(cen_registry_free(NULL), CEN_OK);
    expect_equal(cen_registry_unlisten(NULL), CEN_OK);
    expect_equal(cen_owner_end(NULL), CEN_OK);
    cen_owner_hold(NULL);
    cen_owner_drop(NULL);
    expect_equal(cen_registry_register(NULL, key, NULL, NULL, NULL, NULL), CEN_INVALID);
    expect_equal(cen_registry_unregister(NULL, key, NULL, NULL), CEN_INVALID);
    expect_equal(cen_registry_remove(NULL, 1, NULL), CEN_INVALID);
    expect_equal(cen_registry_update(NULL, 1, NULL, NULL, NULL), CEN_INVALID);
    cen_read_begin();
    expect_equal(cen_registry_lookup(NULL, key, &entry), CEN_INVALID);
    expect_equal(cen_registry_lookup(registry, key, NULL), CEN_INVALID);
    expect_equal(cen_registry_pick(registry, key, NULL), CEN_INVALID);
    expect_equal(cen_registry_nth(registry, key, 0, NULL), CEN_INVALID);
    cen_read_end();
    expect_equal(cen_registry_count(registry, key, NULL), CEN_INVALID);
    expect_equal(cen_registry_count(NULL, key, &count), CEN_INVALID);
    expect_equal(cen_registry_each(registry, key, NULL, NULL), CEN_INVALID);
    expect_equal(cen_registry_each_all(registry, NULL, NULL), CEN_INVALID);
    expect_equal(cen_registry_each_all(NULL, note_visit, NULL), CEN_INVALID);
    expect_equal(cen_registry_stats_get(NULL, &stats), CEN_INVALID);
    expect_equal(cen_registry_stats_get(registry, NULL), CEN_INVALID);
    expect_equal(cen_registry_listen(registry, NULL, NULL, NULL, &listening, NULL), CEN_INVALID);
    expect_equal(cen_owner_new(NULL, NULL, NULL), CEN_INVALID);
    expect_equal(cen_owner_new(&(cen_owner_options){.size = 1}, &(cen_owner *){NULL}, NULL), CEN_INVALID);
    expect_equal(cen_owner_count(NULL, &count), CEN_INVALID);
    expect_equal(cen_owner_each(NULL, note_visit, NULL), CEN_INVALID);
    expect_equal(cen_owner_thread(NULL, NULL), CEN_INVALID);
    end_registry();
}

TEST(free_takes_the_entries_of_owners_that_live_on)
{
    make_registry(.kind = CEN_DUPLICATE);
    cen_owner *owner = make_owner("one");
    size_t count;
    for (int i = 0; i < 20; i++) put("many", i, owner);
    put("own", 1, NULL);
    end_registry();
    expect_equal(cen_owner_count(owner, &count), CEN_OK);
    expect_equal(count, 0);
    make_registry(.kind = CEN_UNIQUE);
    put("again", 3, owner);
    put("own", 2, NULL);
    expect_equal(cen_owner_end(owner), CEN_OK);
    expect_equal(find("again"), -1);
    expect_equal(find("own"), 2);
    end_registry();
}

TEST(free_in_a_read_section_is_misuse_and_changes_nothing)
{
    make_registry(.kind = CEN_UNIQUE);
    put("there", 4, NULL);
    cen_read_begin();
    expect_equal(cen_registry_free(registry), CEN_MISUSE);
    cen_read_end();
    expect_equal(find("there"), 4);
    end_registry();
}

static int metrics_seen;

static void see_metrics(void *argument, ceni_directory_entry *entry)
{
    cen_metric metrics[16];
    if (strcmp(entry->kind, "registry") != 0) return;
    expect_text(entry->name, argument);
    size_t count = entry->snapshot(entry->object, metrics, 16);
    expect_equal(count, 10);
    expect_text(metrics[1].name, "entries");
    expect_equal(metrics[1].value, 2);
    metrics_seen++;
}

TEST(a_registry_is_in_the_directory_with_its_numbers)
{
    metrics_seen = 0;
    make_registry(.name = "names", .kind = CEN_DUPLICATE);
    put("a", 1, NULL);
    put("a", 2, NULL);
    ceni_directory_each(ceni_directory_process(), see_metrics, (void *)(uintptr_t) "names");
    expect_equal(metrics_seen, 1);
    end_registry();
    ceni_directory_each(ceni_directory_process(), see_metrics, (void *)(uintptr_t) "names");
    expect_equal(metrics_seen, 1);
}

static void *alloc_outside_of_locks(void *argument, size_t size, size_t align)
{
    ++*(unsigned *)argument;
    ceni_rank_expect_none("the allocator");
    return ceni_alloc(NULL, size, align);
}

static void free_outside_of_locks(void *argument, void *memory, size_t size, size_t align)
{
    --*(unsigned *)argument;
    ceni_rank_expect_none("the allocator");
    ceni_free(NULL, memory, size, align);
}

static void hear_nothing(void *argument, const cen_registered *change)
{
    (void)argument, (void)change;
}

TEST(memory_is_asked_for_and_given_back_with_no_lock_held)
{
    unsigned out = 0;
    cen_allocator allocator = {alloc_outside_of_locks, free_outside_of_locks, &out};
    cen_listening *listening;
    make_registry(.kind = CEN_DUPLICATE, .allocator = &allocator);
    for (int i = 0; i < 40; i++) {
        char key[8];
        snprintf(key, sizeof key, "%d", i);
        put(key, i, NULL);
        put("many", i, NULL);
    }
    expect_equal(cen_registry_listen(registry, NULL, hear_nothing, NULL, &listening, NULL), CEN_OK);
    expect_equal(cen_registry_update(registry, put("x", 1, NULL), NULL, NULL, NULL), CEN_OK);
    expect_equal(cen_registry_unregister(registry, cen_key_text("many"), NULL, NULL), CEN_OK);
    empty_bin();
    expect(out > 0);
    end_registry();
    expect_equal(out, 0);
}
