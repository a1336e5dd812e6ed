/* SPDX-License-Identifier: MIT */
/*
 * The map: how bits are set and cleared concurrently. map.h describes its use.
 *
 * Invariants
 *  I1 A bit of level 0 has the value of the last set or clear of that item.
 *  I2 If a word has a bit and the bit above it is clear, then one of these is
 *     running: a set between its step in that word and its step above; a
 *     clear between its step above and the end of its second check.
 *
 * The naive version clears the bit above because the word was found without bits, and returns:
 *     clearer: word is 0                 setter: sets a bit in the word
 *                                        setter: bit above is set: done
 *     clearer: clears the bit above
 * and the item is never found again. Hence set changes the word, then the bit above [N1 N2]; clear changes the bit
 * above, then checks the word [N3 N4]. Both pairs are in one total order, so one of the two sees the other. If the
 * clearer sees the setter, it restores the bit above. But a search in between has found nothing, although the
 * setter's call may have returned long before. So clear returns whether it has restored a bit.
 *
 * Order table
 * [N1] set          | or on the word         | seq_cst | N4 | that the word has a bit | a clearer and a setter miss each other
 * [N2] set          | load, or on the next   | seq_cst | N3 | whether the bit above is set | the same
 * [N3] clear        | and on the bit above   | seq_cst | N2 | that it is clear | the same
 * [N4] clear        | load of the word below | seq_cst | N1 | whether it has bits after all | the same
 * [N5] next         | load of a word         | seq_cst | N1, and the word of a slot | that earlier sets are found | a waiter's second search misses an object published before it joined
 *
 * Tested by tests/unit/pool/map_test.c, tests/explore/pool_map_test.c.
 */
#include "pool/map.h"

#include "base/atomic.h"
#include "base/plant.h"

/* The watched build has small words, so that a test needs few items for two levels. */
#ifdef CENI_WATCHED
enum { WIDTH = 2 };
#else
enum { WIDTH = 64 };
#endif

static uint32_t word_count(uint32_t bits)
{
    return (bits + WIDTH - 1) / WIDTH;
}

size_t ceni_map_words(uint32_t count)
{
    size_t words = 0;
    uint32_t bits = count;
    for (unsigned level = 0; level < CENI_MAP_LEVELS; level++) {
        bits = word_count(bits);
        words += bits;
        if (bits <= 1) break;
    }
    return words;
}

void ceni_map_init(ceni_map *map, uint32_t count, _Atomic uint64_t *words)
{
    *map = (ceni_map){.levels = 0};
    uint32_t bits = count;
    while (map->levels < CENI_MAP_LEVELS) {
        map->bits[map->levels] = bits;
        map->words[map->levels++] = words;
        if (bits <= WIDTH) break;
        bits = word_count(bits);
        words += bits;
    }
}

static uint64_t bit_of(uint32_t thing)
{
    return UINT64_C(1) << (thing % WIDTH);
}

static void set_from(ceni_map *map, unsigned level, uint32_t thing)
{
    for (; level < map->levels; level++, thing /= WIDTH) {
        _Atomic uint64_t *word = &map->words[level][thing / WIDTH];
        if (!(ceni_load_seq_cst(word) & bit_of(thing))) /* [N2] */
            ceni_or_seq_cst(word, bit_of(thing));       /* [N1] */
    }
}

void ceni_map_set(ceni_map *map, uint32_t thing)
{
    set_from(map, 0, thing);
}

static bool clear_from(ceni_map *map, unsigned level, uint32_t thing)
{
    _Atomic uint64_t *word = &map->words[level][thing / WIDTH];
    uint64_t left = ceni_and_seq_cst(word, ~bit_of(thing)) & ~bit_of(thing); /* [N3] */
    if (left || level + 1 >= map->levels) return false;
    bool restored = clear_from(map, level + 1, thing / WIDTH);
    if (ceni_load_seq_cst(word) == 0) return restored; /* [N4] */
    if (!ceni_planted(map_not_restored)) set_from(map, level + 1, thing / WIDTH);
    return true;
}

bool ceni_map_clear(ceni_map *map, uint32_t thing)
{
    return clear_from(map, 0, thing);
}

uint32_t ceni_map_next(const ceni_map *map, uint32_t from, uint32_t none)
{
    unsigned level = 0;
    uint32_t at = from;
    while (at < map->bits[level]) {
        uint64_t word = ceni_load_seq_cst(&map->words[level][at / WIDTH]); /* [N5] */
        word &= ~UINT64_C(0) << (at % WIDTH);
        if (word) {
            at = at / WIDTH * WIDTH + (uint32_t)__builtin_ctzll(word);
            if (level == 0) return at;
            level--;
            at *= WIDTH;
        } else {
            bool top = level + 1 == map->levels;
            at = at / WIDTH + 1;
            if (top) at *= WIDTH; /* the next word of the same level */
            else level++;
        }
    }
    return none;
}

/* ---- While no other thread changes it ---------------------------------------------------- */

void ceni_map_fill(ceni_map *map)
{
    for (unsigned level = 0; level < map->levels; level++) {
        for (uint32_t at = 0; at < map->bits[level]; at += WIDTH) {
            uint32_t left = map->bits[level] - at;
            uint64_t word = left < WIDTH ? bit_of(left) - 1 : ~UINT64_C(0) >> (64 - WIDTH);
            ceni_store_relaxed(&map->words[level][at / WIDTH], word); /* no other thread has it yet; carries nothing */
        }
    }
}

/* The bits of a word that are below item `end` of its level. */
static uint64_t below(const ceni_map *map, unsigned level, uint32_t end)
{
    /* ordered by the caller; carries nothing */
    uint64_t word = ceni_load_relaxed(&map->words[level][(end - 1) / WIDTH]);
    return word & (~UINT64_C(0) >> (63 - (end - 1) % WIDTH));
}

/* Go up to the first level with a bit below `end`, and down again along the highest bits. A bit above may be set over
 * a word without bits: then the search goes on below it. */
uint32_t ceni_map_reach(const ceni_map *map, uint32_t end)
{
    unsigned level = 0;
    if (end > map->bits[0]) end = map->bits[0];
    while (end > 0) {
        uint64_t word = below(map, level, end);
        uint32_t start = (end - 1) / WIDTH * WIDTH;
        if (word) {
            uint32_t thing = start + 63 - (uint32_t)__builtin_clzll(word);
            if (level == 0) return thing + 1;
            level--;
            end = (thing + 1) * WIDTH < map->bits[level] ? (thing + 1) * WIDTH : map->bits[level];
        } else if (level + 1 < map->levels) {
            level++;
            end = start / WIDTH;
        } else {
            end = start;
        }
    }
    return 0;
}

void ceni_map_copy(const ceni_map *map, uint32_t end, uint64_t *words)
{
    for (uint32_t at = 0; at < end; at += WIDTH) /* ordered by the caller; carries nothing */
        words[at / WIDTH] = ceni_load_relaxed(&map->words[0][at / WIDTH]);
}

bool ceni_map_copied(const uint64_t *words, uint32_t thing)
{
    return words[thing / WIDTH] & bit_of(thing);
}
