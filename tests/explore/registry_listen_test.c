/* SPDX-License-Identifier: MIT */
/* Listeners, under every schedule: told in the order of the changes, one at a time, of all and of nothing twice. */
#include "support/world.h"
#include "unit/registry/registries.h"

static cen_owner *owner;
static _Atomic uint32_t inside, present, came, went, was_there, after_the_end, is_over, promised;

static void begin_story(void)
{
    _Atomic uint32_t *const words[] = {&inside,    &present,       &came,    &went,
                                       &was_there, &after_the_end, &is_over, &promised};
    /* no thread yet; carries nothing */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) ceni_store_relaxed(words[i], 0);
}

/* Of a unique key one is there at most: told in any other order, one comes before the other went. */
static void follow(void *argument, const cen_registered *change)
{
    (void)argument;
    expect_equal(ceni_add_seq_cst(&inside, 1), 0);
    if (change->change == CEN_REGISTERED) {
        expect_equal(ceni_add_seq_cst(&present, 1), 0);
        ceni_add_seq_cst(&came, 1);
        if (change->is_old) ceni_add_seq_cst(&was_there, 1);
    } else if (change->change == CEN_UNREGISTERED) {
        expect_equal(ceni_sub_seq_cst(&present, 1), 1);
        ceni_add_seq_cst(&went, 1);
    }
    if (ceni_load_seq_cst(&is_over)) ceni_add_seq_cst(&after_the_end, 1);
    ceni_store_seq_cst(&promised, change->more);
    ceni_sub_seq_cst(&inside, 1);
}

static void come_and_go(void *unused)
{
    (void)unused;
    uint64_t number;
    if (cen_registry_register(registry, cen_key_number(1), NULL, owner, &number, NULL) != CEN_OK) return;
    expect_equal(cen_registry_remove(registry, number, NULL), CEN_OK);
}

/* guarantees: registry.listeners */
EXPLORE(changes_of_two_threads_are_told_in_the_order_in_which_they_were_made, 3)
{
    begin_story();
    make_registry(.kind = CEN_UNIQUE, .listener = follow);
    owner = make_owner("both");
    ceni_thread other = start("other", come_and_go, NULL);
    come_and_go(NULL);
    join(other);
    cen_registry_stats stats = look();
    expect_equal(stats.untold, 0);
    expect_equal(ceni_load_seq_cst(&came), stats.registered);
    expect_equal(ceni_load_seq_cst(&went), stats.registered);
    expect_equal(ceni_load_seq_cst(&promised), 0);
    cen_owner_end(owner);
    end_registry();
}

static void only_come(void *unused)
{
    (void)unused;
    expect_equal(cen_registry_register(registry, cen_key_number(1), NULL, owner, NULL, NULL), CEN_OK);
}

/* guarantees: registry.listen-start */
EXPLORE(who_begins_to_listen_is_told_of_each_entry_once_as_there_or_as_new, 4)
{
    cen_listening *listening;
    begin_story();
    make_registry(.kind = CEN_UNIQUE);
    owner = make_owner("one");
    ceni_thread other = start("other", only_come, NULL);
    expect_equal(cen_registry_listen(registry, NULL, follow, NULL, &listening, NULL), CEN_OK);
    join(other);
    expect_equal(ceni_load_seq_cst(&came), 1);
    expect_equal(ceni_load_seq_cst(&promised), 0);
    cen_owner_end(owner);
    expect_equal(ceni_load_seq_cst(&went), 1);
    end_registry();
}

static void it_goes_and_another_comes(void *unused)
{
    (void)unused;
    cen_registry_unregister(registry, cen_key_number(1), owner, NULL); /* if it has come */
    expect_equal(cen_registry_register(registry, cen_key_number(2), NULL, owner, NULL, NULL), CEN_OK);
}

/* Whoever tells that it comes may find both changes of the other thread then, the last of which is for somebody else. */
/* guarantees: registry.more */
EXPLORE(whoever_is_told_that_more_follows_hears_of_more, 3)
{
    cen_listening *listening;
    cen_key key = cen_key_number(1);
    begin_story();
    make_registry(.kind = CEN_UNIQUE);
    owner = make_owner("one");
    expect_equal(cen_registry_listen(registry, &key, follow, NULL, &listening, NULL), CEN_OK);
    ceni_thread other = start("other", it_goes_and_another_comes, NULL);
    only_come(NULL);
    join(other);
    expect_equal(ceni_load_seq_cst(&came), 1);
    expect_equal(ceni_load_seq_cst(&promised), 0);
    cen_owner_end(owner);
    end_registry();
}

static void only_go(void *unused)
{
    (void)unused;
    expect_equal(cen_registry_unregister(registry, cen_key_number(1), owner, NULL), CEN_OK);
}

/* guarantees: registry.listen-start */
EXPLORE(who_begins_to_listen_is_told_of_an_entry_that_went_either_never_or_that_it_was_there_and_went, 4)
{
    cen_listening *listening;
    begin_story();
    make_registry(.kind = CEN_UNIQUE);
    owner = make_owner("one");
    only_come(NULL);
    ceni_thread other = start("other", only_go, NULL);
    expect_equal(cen_registry_listen(registry, NULL, follow, NULL, &listening, NULL), CEN_OK);
    join(other);
    expect_equal(ceni_load_seq_cst(&came), ceni_load_seq_cst(&went));
    expect_equal(ceni_load_seq_cst(&came), ceni_load_seq_cst(&was_there));
    cen_owner_end(owner);
    end_registry();
}

/* guarantees: registry.listen-start */
EXPLORE(a_listener_is_not_told_anything_after_its_listening_was_ended, 4)
{
    cen_listening *listening;
    begin_story();
    make_registry(.kind = CEN_UNIQUE);
    owner = make_owner("one");
    expect_equal(cen_registry_listen(registry, NULL, follow, NULL, &listening, NULL), CEN_OK);
    ceni_thread other = start("other", come_and_go, NULL);
    expect_equal(cen_registry_unlisten(listening), CEN_OK);
    expect_equal(ceni_load_seq_cst(&inside), 0);
    ceni_store_seq_cst(&is_over, 1);
    join(other);
    expect_equal(ceni_load_seq_cst(&after_the_end), 0);
    expect_equal(look().untold, 0);
    cen_owner_end(owner);
    end_registry();
}

static void end_owner(void *unused)
{
    (void)unused;
    expect_equal(cen_owner_end(owner), CEN_OK);
}

EXPLORE(a_registry_that_is_freed_while_an_owner_ends_tells_of_the_entry_once_and_of_its_end_last, 3)
{
    begin_story();
    make_registry(.kind = CEN_UNIQUE, .listener = follow);
    owner = make_owner("one");
    only_come(NULL);
    ceni_thread ender = start("ender", end_owner, NULL);
    end_registry();
    ceni_store_seq_cst(&is_over, 1);
    join(ender);
    expect_equal(ceni_load_seq_cst(&went), 1);
    expect_equal(ceni_load_seq_cst(&after_the_end), 0);
}
