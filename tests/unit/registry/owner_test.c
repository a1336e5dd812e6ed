/* SPDX-License-Identifier: MIT */
/* Owners: handles, threads of the world, steps of tasks. */
#include <unistd.h>

#include "support/world.h"
#include "sync/holder.h"
#include "unit/registry/registries.h"

/* guarantees: registry.owner */
TEST(when_an_owner_ends_its_entries_go_in_every_registry)
{
    make_registry(.kind = CEN_DUPLICATE);
    cen_registry *second = new_registry(CEN_REGISTRY_OPTIONS(.runtime = runtime));
    cen_owner *owner = make_owner("one"), *other = make_owner("other");
    for (uint64_t i = 0; i < 200; i++) { /* by turns in each */
        put("topic", 1, owner);
        put("topic", 2, other);
        expect_equal(cen_registry_register(second, cen_key_number(i), NULL, owner, NULL, NULL), CEN_OK);
    }
    size_t count;
    expect_equal(cen_owner_count(owner, &count), CEN_OK);
    expect_equal(count, 400);
    expect_equal(cen_owner_end(owner), CEN_OK);
    expect_equal(count_of("topic"), 200);
    expect_equal(look().owner_ended, 200);
    cen_registry_stats stats = CEN_SIZED(cen_registry_stats);
    expect_equal(cen_registry_stats_get(second, &stats), CEN_OK);
    expect_equal(stats.entries, 0);
    expect_equal(cen_registry_free(second), CEN_OK);
    cen_owner_end(other);
    end_registry();
}

/* guarantees: registry.refused */
TEST(an_owner_that_has_ended_refuses_what_is_registered_for_it)
{
    make_registry(.name = "names", .kind = CEN_UNIQUE);
    cen_owner *owner = make_owner("gone");
    cen_error error = {.text = ""};
    put("key", 1, owner);
    cen_owner_hold(owner);
    expect_equal(cen_owner_end(owner), CEN_OK);
    size_t bytes = ceni_world_bytes();
    expect_equal(cen_registry_register(registry, cen_key_text("key"), NULL, owner, NULL, &error), CEN_CLOSED);
    expect_text(error.text, "registry \"names\": owner \"gone\" has ended");
    expect_equal(ceni_world_bytes(), bytes);
    expect_equal(look().keys, 0);
    expect_equal(find("key"), -1);
    expect_equal(cen_owner_end(owner), CEN_MISUSE);
    cen_owner_drop(owner);
    end_registry();
}

TEST(the_entries_of_an_owner_are_visited_in_their_order_through_all_registries)
{
    make_registry(.kind = CEN_DUPLICATE);
    cen_registry *second = new_registry(CEN_REGISTRY_OPTIONS(.runtime = runtime));
    cen_owner *owner = make_owner(NULL);
    visited all = {.count = 0}, some = {.stop_after = 1};
    put("a", 1, owner);
    expect_equal(cen_registry_register(second, cen_key_number(2), value_of(2), owner, NULL, NULL), CEN_OK);
    uint64_t third = put("b", 3, owner);
    put("a", 4, owner);
    put("a", 5, NULL);
    expect_equal(cen_registry_remove(registry, third, NULL), CEN_OK);
    expect_equal(cen_owner_each(owner, note_visit, &all), CEN_OK);
    const intptr_t values[] = {1, 2, 4};
    expect_equal(all.count, 3);
    expect(memcmp(all.values, values, sizeof values) == 0);
    expect_equal(cen_owner_each(owner, note_visit, &some), CEN_OK);
    expect_equal(some.count, 1);
    expect(strncmp(cen_owner_name(owner), "owner ", 6) == 0);
    expect(cen_owner_id(owner) != 0);
    cen_owner_end(owner);
    expect_equal(cen_registry_free(second), CEN_OK);
    end_registry();
}

TEST(an_owner_can_end_within_a_read_section)
{
    const cen_entry *entry;
    make_registry(.kind = CEN_UNIQUE);
    cen_owner *owner = make_owner("one");
    put("key", 6, owner);
    cen_read_begin();
    expect_equal(cen_registry_lookup(registry, cen_key_text("key"), &entry), CEN_OK);
    expect_equal(cen_owner_end(owner), CEN_OK);
    expect_equal((intptr_t)cen_entry_value(entry), 6);
    expect_text(cen_owner_name(cen_entry_owner(entry)), "one");
    expect_equal(cen_registry_lookup(registry, cen_key_text("key"), &entry), CEN_ABSENT);
    cen_read_end();
    end_registry();
}

/* ---- Threads ---------------------------------------------------------------------------------------------- */

static cen_owner *threads_own;

static void register_and_end(void *unused)
{
    (void)unused;
    put("topic", 1, NULL);
    put("topic", 2, NULL);
    expect_equal(cen_owner_thread(&threads_own, NULL), CEN_OK);
    cen_owner_hold(threads_own);
    expect_equal(cen_owner_end(threads_own), CEN_MISUSE);
    expect_equal(count_of("topic"), 2);
}

TEST(what_a_thread_has_registered_is_gone_when_it_was_joined)
{
    make_registry(.kind = CEN_DUPLICATE);
    join(start("thread", register_and_end, NULL));
    expect_equal(count_of("topic"), 0);
    expect_equal(look().owner_ended, 2);
    expect(strncmp(cen_owner_name(threads_own), "thread ", 7) == 0);
    expect_equal(try_put("topic", threads_own), CEN_CLOSED);
    cen_owner_drop(threads_own);
    end_registry();
}

static void register_without_hooks(void *unused)
{
    (void)unused;
    cen_error error = {.text = ""};
    ceni_world_without_hooks();
    size_t bytes = ceni_world_bytes();
    expect_equal(cen_registry_register(registry, cen_key_text("key"), NULL, NULL, NULL, &error), CEN_SYSTEM);
    expect_equal(ceni_world_bytes(), bytes);
    expect(strstr(error.text, "the end of the thread"));
    ceni_world_with_hooks();
}

TEST(a_thread_whose_end_would_not_be_noticed_is_told_so)
{
    make_registry(.kind = CEN_UNIQUE);
    join(start("thread", register_without_hooks, NULL));
    expect_equal(look().keys, 0);
    end_registry();
}

/* ---- Steps of a task ------------------------------------------------------------------------------------------- */

TEST(a_step_of_a_task_must_name_an_owner)
{
    ceni_holder task = {.note = 0};
    ceni_holder_before before;
    cen_error error = {.text = ""};
    make_registry(.kind = CEN_UNIQUE);
    cen_owner *owner = make_owner("task's"), *own = NULL;
    put("thread's", 1, NULL);
    ceni_holder_enter(&task, &before);
    expect_equal(cen_registry_register(registry, cen_key_text("key"), NULL, NULL, NULL, &error), CEN_MISUSE);
    expect(strstr(error.text, "must name an owner"));
    expect_equal(cen_registry_unregister(registry, cen_key_text("thread's"), NULL, NULL), CEN_MISUSE);
    expect_equal(cen_owner_thread(&own, NULL), CEN_MISUSE);
    put("key", 2, owner);
    expect_equal(cen_registry_unregister(registry, cen_key_text("key"), owner, NULL), CEN_OK);
    ceni_holder_leave(&task, &before);
    expect_equal(cen_registry_unregister(registry, cen_key_text("thread's"), NULL, NULL), CEN_OK);
    cen_owner_end(owner);
    end_registry();
}

/* ---- Fork ------------------------------------------------------------------------------------------------------ */

static void hear_nothing(void *argument, const cen_registered *change)
{
    (void)argument, (void)change;
}

static void use_after_fork(void *argument)
{
    cen_listening *listening = argument;
    cen_owner *owner = threads_own;
    const cen_entry *entry;
    cen_registry_stats stats = CEN_SIZED(cen_registry_stats);
    size_t count;
    cen_key key = cen_key_text("key");
    cen_error error;
    ceni_world_fork();
    cen_read_begin();
    expect_equal(cen_registry_lookup(registry, key, &entry), CEN_FORKED);
    expect_equal(cen_registry_pick(registry, key, &entry), CEN_FORKED);
    expect_equal(cen_registry_nth(registry, key, 0, &entry), CEN_FORKED);
    cen_read_end();
    expect_equal(cen_registry_count(registry, key, &count), CEN_FORKED);
    expect_equal(cen_registry_each(registry, key, note_visit, NULL), CEN_FORKED);
    expect_equal(cen_registry_each_all(registry, note_visit, NULL), CEN_FORKED);
    expect_equal(cen_registry_register(registry, key, NULL, NULL, NULL, &error), CEN_FORKED);
    expect_equal(cen_registry_unregister(registry, key, NULL, NULL), CEN_FORKED);
    expect_equal(cen_registry_remove(registry, 1, NULL), CEN_FORKED);
    expect_equal(cen_registry_update(registry, 1, NULL, NULL, NULL), CEN_FORKED);
    expect_equal(cen_registry_stats_get(registry, &stats), CEN_FORKED);
    expect_equal(cen_registry_listen(registry, NULL, hear_nothing, NULL, &listening, &error), CEN_FORKED);
    expect_equal(cen_registry_unlisten(argument), CEN_FORKED);
    expect_equal(cen_registry_free(registry), CEN_FORKED);
    expect_equal(cen_owner_end(owner), CEN_FORKED);
    expect_equal(cen_owner_count(owner, &count), CEN_FORKED);
    expect_equal(cen_owner_each(owner, note_visit, NULL), CEN_FORKED);
    cen_owner_hold(owner);
    cen_owner_drop(owner);
}

/* In the world a fork is another number, and nothing else; unit/registry/fork_test.c really forks. */
/* guarantees: registry.L14 */
TEST(a_child_is_answered_with_forked_and_touches_nothing)
{
    cen_listening *listening;
    make_registry(.kind = CEN_DUPLICATE);
    threads_own = make_owner("parent's");
    put("key", 1, threads_own);
    expect_equal(cen_registry_listen(registry, NULL, hear_nothing, NULL, &listening, NULL), CEN_OK);
    size_t bytes = ceni_world_bytes();
    use_after_fork(listening);
    expect_equal(ceni_world_bytes(), bytes);
    _exit(0); /* what is there is the parent's */
}
