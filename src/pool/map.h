/* SPDX-License-Identifier: MIT */
/*
 * A map: one bit for each of many things, and the lowest set bit found in a
 * few steps however many there are.
 *
 *     level 1      [ 1 0 1 . . . . ]            a bit for each word below
 *                    |   |
 *     level 0      [..1.1..][.......][....1..]  a bit for each thing
 *
 * A bit above says "look below": it may be set over a word without bits, and
 * the search then goes on behind it. The other way round it may be clear over
 * a word with bits only while somebody who set or cleared one is still at it,
 * and then that one owes a second look: see ceni_map_clear.
 *
 * Threads: any, atomically, except init. Nobody waits for anybody.
 */
#ifndef CENI_POOL_MAP_H
#define CENI_POOL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CENI_MAP_LEVELS = 4 }; /* for up to 64^4 things */

typedef struct ceni_map {
    /* fixed by init */
    uint32_t levels;
    uint32_t bits[CENI_MAP_LEVELS]; /* of each level */
    /* any thread, atomically */
    _Atomic uint64_t *words[CENI_MAP_LEVELS];
} ceni_map;

/* How many words a map of `count` things needs. */
size_t ceni_map_words(uint32_t count);

/* `words` are zero, and stay the caller's. */
void ceni_map_init(ceni_map *map, uint32_t count, _Atomic uint64_t *words);

void ceni_map_set(ceni_map *map, uint32_t thing);

/* True if a bit above was cleared for a moment over a word with bits: whoever
 * searched meanwhile may have missed a thing, and has to be told to look again. */
bool ceni_map_clear(ceni_map *map, uint32_t thing);

/* The lowest set thing that is not below `from`; `none` if there is no more. */
uint32_t ceni_map_next(const ceni_map *map, uint32_t from, uint32_t none);

/* Sets all things of a map that nobody else has yet. */
void ceni_map_fill(ceni_map *map);

/* For a map that nobody changes meanwhile: how many things there are up to the highest set one that is below `end`; 0 if
 * there is none. Then what is set below `end`, copied into words of the caller's, and whether a thing is set in such a copy. */
uint32_t ceni_map_reach(const ceni_map *map, uint32_t end);
void ceni_map_copy(const ceni_map *map, uint32_t end, uint64_t *words);
bool ceni_map_copied(const uint64_t *words, uint32_t thing);

#endif
