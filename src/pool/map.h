/* SPDX-License-Identifier: MIT */
/*
 * A map: a bit set for many items, in which the lowest set bit is found in a few steps.
 *
 *     level 1      [ 1 0 1 . . . . ]            a bit for each word below
 *                    |   |
 *     level 0      [..1.1..][.......][....1..]  a bit for each item
 *
 * A bit of a higher level means "search below". It may be set over a word without bits; the search then goes on
 * behind it. It may be clear over a word with bits only while a set or clear of that word is running, and then a
 * second search is owed: see ceni_map_clear.
 *
 * Threads: any thread may call any function except init, at any time. No thread waits for another.
 */
#ifndef CENI_POOL_MAP_H
#define CENI_POOL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CENI_MAP_LEVELS = 4 }; /* for up to 64^4 items */

typedef struct ceni_map {
    /* fixed by init */
    uint32_t levels;
    uint32_t bits[CENI_MAP_LEVELS]; /* of each level */
    /* any thread, atomically */
    _Atomic uint64_t *words[CENI_MAP_LEVELS];
} ceni_map;

/* The number of words that a map of `count` items needs. */
size_t ceni_map_words(uint32_t count);

/* Initialise the map. `words` are zeroed, and belong to the caller. */
void ceni_map_init(ceni_map *map, uint32_t count, _Atomic uint64_t *words);

void ceni_map_set(ceni_map *map, uint32_t thing);

/* Clear a bit. Returns true if a bit above was clear for a moment over a word with bits: a search that ran meanwhile
 * may have missed an item, and must be repeated. */
bool ceni_map_clear(ceni_map *map, uint32_t thing);

/* Return the lowest set item that is not below `from`; `none` if there is none. */
uint32_t ceni_map_next(const ceni_map *map, uint32_t from, uint32_t none);

/* Set all items of a map that no other thread has yet. */
void ceni_map_fill(ceni_map *map);

/* For a map that no thread changes meanwhile. ceni_map_reach returns the highest set item below `end`, plus one; 0 if
 * there is none. ceni_map_copy copies the bits below `end` into words of the caller. ceni_map_copied returns whether
 * an item is set in such a copy. */
uint32_t ceni_map_reach(const ceni_map *map, uint32_t end);
void ceni_map_copy(const ceni_map *map, uint32_t end, uint64_t *words);
bool ceni_map_copied(const uint64_t *words, uint32_t thing);

#endif
