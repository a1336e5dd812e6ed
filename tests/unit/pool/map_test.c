/* SPDX-License-Identifier: MIT */
/*
 * The map against a plain array of flags. In a world a word has two bits, so a
 * few things make all levels and a last one of several words; the program is
 * built a second time with words of 64.
 */
#include "pool/map.h"

#include <stdlib.h>

#include "support/test.h"

static const uint32_t counts[] = {1,  2,  3,  4,  5,  7,   8,   9,   15,  16,  17,  31,
                                  32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 4097};
enum { COUNTS = sizeof counts / sizeof counts[0], GUARDS = 4, MOST = 4097 };

#ifdef CENI_WATCHED
enum { WIDTH = 2 };
#else
enum { WIDTH = 64 };
#endif

#define GUARD UINT64_C(0xFEEDFACECAFEBEEF)

/* A map, the words it was given with guards around them, and what should be in it. */
typedef struct sample {
    ceni_map map;
    uint32_t count;
    size_t words;
    _Atomic uint64_t *memory;
    bool flags[MOST];
} sample;

static sample *make(uint32_t count)
{
    sample *one = calloc(1, sizeof *one);
    one->count = count;
    one->words = ceni_map_words(count);
    one->memory = calloc(one->words + 2 * GUARDS, sizeof(uint64_t));
    for (size_t i = 0; i < GUARDS; i++) one->memory[i] = one->memory[GUARDS + one->words + i] = GUARD;
    ceni_map_init(&one->map, count, one->memory + GUARDS);
    return one;
}

static void end(sample *one)
{
    for (size_t i = 0; i < GUARDS; i++)
        expect(one->memory[i] == GUARD && one->memory[GUARDS + one->words + i] == GUARD);
    free((void *)one->memory);
    free(one);
}

static void set(sample *one, uint32_t thing)
{
    ceni_map_set(&one->map, thing);
    one->flags[thing] = true;
}

static void clear(sample *one, uint32_t thing)
{
    expect(!ceni_map_clear(&one->map, thing)); /* nobody else was there to miss anything */
    one->flags[thing] = false;
}

static uint32_t next_of(const sample *one, uint32_t from)
{
    while (from < one->count && !one->flags[from]) from++;
    return from < one->count ? from : UINT32_MAX;
}

static void expect_same_from(const sample *one, uint32_t from)
{
    uint32_t found = ceni_map_next(&one->map, from, UINT32_MAX), right = next_of(one, from);
    if (found != right)
        test_fail(__FILE__, __LINE__, "of %u things, from %u: %u, not %u", one->count, from, found, right);
}

/* What holds where nobody else changes the map: where the things below `end` end, and a copy of them. */
static void expect_same_below(const sample *one, uint32_t end)
{
    uint32_t reach = end < one->count ? end : one->count;
    uint64_t words[MOST / 2 + 1];
    while (reach > 0 && !one->flags[reach - 1]) reach--;
    expect_equal(ceni_map_reach(&one->map, end), reach);
    if (end > one->count) return;
    ceni_map_copy(&one->map, end, words);
    for (uint32_t i = 0; i<end; i += one->count> 200 ? 31 : 1) expect_equal(ceni_map_copied(words, i), one->flags[i]);
}

static void expect_same(const sample *one)
{
    uint32_t step = one->count > 200 ? 97 : 1;
    for (uint32_t end = 0; end <= one->count + 1; end += one->count > 200 ? 997 : 7) expect_same_below(one, end);
    expect_same_below(one, one->count);
    for (uint32_t from = 0; from <= one->count; from += step) expect_same_from(one, from);
    expect_same_from(one, one->count - 1);
    expect_same_from(one, one->count);
    expect_same_from(one, one->count + 1);
}

TEST(a_new_map_has_nothing_in_it)
{
    for (int i = 0; i < COUNTS; i++) {
        sample *one = make(counts[i]);
        expect(one->words > 0);
        expect_same(one);
        end(one);
    }
}

TEST(each_single_thing_is_found_from_everywhere_below_it_and_from_nowhere_above)
{
    for (int i = 0; i < COUNTS - 1; i++) {
        sample *one = make(counts[i]);
        for (uint32_t thing = 0; thing < counts[i]; thing++) {
            set(one, thing);
            expect_same(one);
            clear(one, thing);
            expect_equal(ceni_map_next(&one->map, 0, UINT32_MAX), UINT32_MAX);
        }
        end(one);
    }
}

TEST(a_filled_map_has_everything)
{
    for (int i = 0; i < COUNTS; i++) {
        sample *one = make(counts[i]);
        ceni_map_fill(&one->map);
        for (uint32_t thing = 0; thing < counts[i]; thing++) one->flags[thing] = true;
        expect_same(one);
        for (uint32_t thing = counts[i]; thing-- > 0;) clear(one, thing);
        expect_same(one);
        end(one);
    }
}

TEST(the_answer_for_nothing_is_the_callers_choice)
{
    sample *one = make(33);
    expect_equal(ceni_map_next(&one->map, 0, 33), 33);
    expect_equal(ceni_map_next(&one->map, 40, 12345), 12345);
    set(one, 32);
    expect_equal(ceni_map_next(&one->map, 0, 33), 32);
    expect_equal(ceni_map_next(&one->map, 33, 77), 77);
    end(one);
}

TEST(setting_and_clearing_twice_is_the_same_as_once)
{
    for (int i = 0; i < COUNTS; i++) {
        sample *one = make(counts[i]);
        uint32_t last = counts[i] - 1;
        set(one, last);
        set(one, last);
        expect_same(one);
        clear(one, last);
        expect_same(one);
        clear(one, last);
        expect_same(one);
        set(one, last);
        expect_same(one);
        end(one);
    }
}

TEST(a_walk_along_a_full_map_meets_everything_in_order)
{
    for (int i = 0; i < COUNTS; i++) {
        sample *one = make(counts[i]);
        for (uint32_t thing = counts[i]; thing-- > 0;) set(one, thing);
        uint32_t met = 0;
        for (uint32_t at = 0; (at = ceni_map_next(&one->map, at, counts[i])) < counts[i]; at++) expect_equal(at, met++);
        expect_equal(met, counts[i]);
        for (uint32_t thing = 0; thing < counts[i]; thing++) {
            expect_equal(ceni_map_next(&one->map, 0, counts[i]), thing);
            clear(one, thing);
        }
        expect_same(one);
        end(one);
    }
}

TEST(random_sets_and_clears_leave_what_they_leave_in_a_plain_array)
{
    uint64_t seed = test_seed();
    for (int i = 0; i < COUNTS; i++) {
        sample *one = make(counts[i]);
        for (int step = 0; step < 300; step++) {
            uint32_t thing = (uint32_t)(test_random(&seed) % counts[i]);
            if (test_random(&seed) % 2) set(one, thing);
            else clear(one, thing);
            expect_same_from(one, 0);
            expect_same_from(one, (uint32_t)(test_random(&seed) % (counts[i] + 1)));
        }
        expect_same(one);
        end(one);
    }
}

/* Whoever cleared a word's last bit has cleared the bit above, so that a search
 * for one among very many does not pass by all words. */
TEST(a_map_whose_things_are_all_cleared_has_no_bits_left_on_any_level)
{
    for (int i = 0; i < COUNTS; i++) {
        sample *one = make(counts[i]);
        for (uint32_t thing = 0; thing < counts[i]; thing++) set(one, thing);
        for (uint32_t thing = counts[i]; thing-- > 0;) clear(one, thing);
        for (size_t w = 0; w < one->words; w++) expect_equal(one->memory[GUARDS + w], 0);
        end(one);
    }
}

/* Somebody who set a bit may still be on the way up, and somebody who cleared
 * one may have left the bit above: the search then goes on behind it. */
TEST(a_bit_above_a_word_without_bits_hides_nothing)
{
    enum { THINGS = 12 * WIDTH + 1 };
    sample *one = make(THINGS);
    for (uint32_t thing = 0; thing < THINGS; thing++) ceni_map_set(&one->map, thing);
    for (uint32_t thing = 0; thing < THINGS; thing++) {
        bool kept = thing == THINGS - 1 || thing == 5 * WIDTH;
        if (!kept) one->map.words[0][thing / WIDTH] &= ~(UINT64_C(1) << (thing % WIDTH));
        one->flags[thing] = kept;
    }
    expect_same(one);
    end(one);
}
