/* SPDX-License-Identifier: MIT */
/*
 * The map under every schedule: what is set and stays set is found, unless a
 * clear has said that somebody may have missed it. Words have two bits here,
 * so that four things make two levels and eight make three.
 */
#include "pool/map.h"

#include "base/atomic.h"
#include "support/world.h"

static ceni_map map;
static _Atomic uint64_t words[16];

enum { NONE = 99 };

static void begin(uint32_t count)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) words[i] = 0;
    expect(ceni_map_words(count) <= sizeof words / sizeof words[0]);
    ceni_map_init(&map, count, words);
}

/* By a search from the beginning, as takes do: a search that began in the
 * thing's own word would never look at a bit above. */
static bool finds(uint32_t thing)
{
    uint32_t at = ceni_map_next(&map, 0, NONE);
    while (at < thing) at = ceni_map_next(&map, at + 1, NONE);
    return at == thing;
}

typedef struct clearer {
    uint32_t thing;
    bool restored;
} clearer;

static void clear_one(void *into)
{
    clearer *self = into;
    self->restored = ceni_map_clear(&map, self->thing);
}

static void set_one(void *thing)
{
    ceni_map_set(&map, (uint32_t)(uintptr_t)thing);
}

/* The set has returned, so a search finds the thing, or the one who clears its
 * neighbour owes another search; afterwards it is found in any case. */
static void set_beside_a_clear(uint32_t count, uint32_t cleared, uint32_t set)
{
    begin(count);
    ceni_map_set(&map, cleared);
    clearer other = {.thing = cleared};
    ceni_thread thread = start("clear", clear_one, &other);
    ceni_map_set(&map, set);
    bool found = finds(set);
    join(thread);
    expect(found || other.restored);
    expect(finds(set));
    expect(!finds(cleared));
}

EXPLORE(what_is_set_in_the_word_that_is_cleared_is_found_or_owed, 4)
{
    set_beside_a_clear(4, 2, 3);
}

EXPLORE(what_is_set_in_the_word_that_is_cleared_is_found_or_owed_on_three_levels, 4)
{
    set_beside_a_clear(8, 7, 6);
}

EXPLORE(what_is_set_under_the_same_bit_is_found_or_owed, 4)
{
    set_beside_a_clear(8, 6, 4);
}

EXPLORE(what_is_set_under_another_bit_is_found_or_owed, 4)
{
    set_beside_a_clear(8, 2, 7);
}

EXPLORE(two_who_clear_cannot_hide_what_is_set, 3)
{
    begin(8);
    ceni_map_set(&map, 6);
    ceni_map_set(&map, 4);
    clearer one = {.thing = 6}, two = {.thing = 4};
    ceni_thread first = start("clear 6", clear_one, &one), second = start("clear 4", clear_one, &two);
    ceni_map_set(&map, 7);
    bool found = finds(7);
    join(first);
    join(second);
    expect(found || one.restored || two.restored);
    expect_equal(ceni_map_next(&map, 0, NONE), 7);
}

EXPLORE(two_who_set_are_both_found_after_a_clear, 3)
{
    begin(8);
    ceni_map_set(&map, 6);
    clearer one = {.thing = 6};
    ceni_thread first = start("clear 6", clear_one, &one), second = start("set 4", set_one, (void *)4);
    ceni_map_set(&map, 7);
    bool found = finds(7);
    join(first);
    join(second);
    expect(found || one.restored);
    expect_equal(ceni_map_next(&map, 0, NONE), 4);
    expect_equal(ceni_map_next(&map, 5, NONE), 7);
}

/* The thing's own bit decides, whichever of the two came last, and nothing above it disagrees. */
EXPLORE(a_thing_that_is_set_and_cleared_at_once_is_one_of_the_two, 4)
{
    begin(8);
    ceni_map_set(&map, 7);
    clearer other = {.thing = 7};
    ceni_thread thread = start("clear", clear_one, &other);
    ceni_map_set(&map, 7);
    join(thread);
    bool is_set = map.words[0][3] != 0;
    expect_equal(finds(7), is_set);
}

static void set_and_clear_others(void *unused)
{
    (void)unused;
    ceni_map_set(&map, 2);
    ceni_map_clear(&map, 2);
    ceni_map_clear(&map, 0);
}

EXPLORE(a_thing_that_stays_set_is_found_whatever_happens_around_it, 4)
{
    begin(4);
    ceni_map_set(&map, 0);
    ceni_map_set(&map, 3);
    ceni_thread thread = start("others", set_and_clear_others, NULL);
    expect(finds(3));
    join(thread);
    expect_equal(ceni_map_next(&map, 0, NONE), 3);
}

static void set_four_then_seven(void *unused)
{
    (void)unused;
    ceni_map_set(&map, 4);
    ceni_map_set(&map, 7);
}

/* Things are set one after the other, and so a later search does not find the
 * second and miss the first. */
EXPLORE(a_search_that_saw_the_second_does_not_miss_the_first, 4)
{
    begin(8);
    ceni_thread thread = start("set", set_four_then_seven, NULL);
    bool second = finds(7);
    bool first = finds(4);
    join(thread);
    expect(first || !second);
}
