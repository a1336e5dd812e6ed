/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <string.h>

#include "base/alloc.h"

/* ---- Mixing -------------------------------------------------------------- */

/* Odd numbers without a pattern: the fractional parts of the square roots of 7 and 11. */
#define FIRST_FACTOR UINT64_C(0xA54FF53A5F1D36F1)
#define SECOND_FACTOR UINT64_C(0x510E527FADE682D1)

/* Each step is invertible, so different words stay different. The shifts bring high bits down, the products carry low
 * bits up. After two rounds every bit of the input changes about half of the bits of the output. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= FIRST_FACTOR;
    x ^= x >> 29;
    x *= SECOND_FACTOR;
    x ^= x >> 32;
    return x;
}

uint64_t ceni_hash_word(uint64_t seed, uint64_t word)
{
    return mix(mix(seed) + word);
}

uint64_t ceni_hash_bytes(uint64_t seed, const void *bytes, size_t size)
{
    /* The size is mixed in first, so that a tail padded with zeros differs from a tail that contains zeros. */
    uint64_t hash = mix(seed ^ mix((uint64_t)size)), word;
    const unsigned char *at = bytes;
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = mix(hash ^ word);
    }
    if (size) {
        word = 0;
        memcpy(&word, at, size);
        hash = mix(hash ^ word);
    }
    return hash;
}

/* ---- The table ----------------------------------------------------------- */

enum { FIRST_BUCKETS = 16 };

void ceni_table_init(ceni_table *table, const cen_allocator *allocator)
{
    *table = (ceni_table){.buckets = &table->only, .allocator = allocator};
}

void ceni_table_fini(ceni_table *table)
{
    ceni_table_room room;
    ceni_table_room_take(table, &room);
    ceni_table_room_free(table, &room);
}

static void link_node(ceni_table_node **buckets, size_t mask, ceni_table_node *node)
{
    ceni_table_node **bucket = &buckets[node->hash & mask];
    node->next = *bucket;
    *bucket = node;
}

void ceni_table_room_for(const ceni_table *table, size_t count, ceni_table_room *out)
{
    *out = (ceni_table_room){.buckets = NULL};
    size_t now = table->mask + 1, room = now == 1 ? FIRST_BUCKETS : now * 2;
    if (count > now && room <= SIZE_MAX / 2 / sizeof *table->buckets) out->count = room;
}

bool ceni_table_room_alloc(const ceni_table *table, ceni_table_room *room)
{
    if (room->count)
        room->buckets = ceni_alloc(table->allocator, room->count * sizeof *room->buckets, _Alignof(ceni_table_node *));
    return room->buckets != NULL;
}

/* The table's array of buckets; none if it uses the single bucket inside the table, which is not freed. */
static ceni_table_room buckets_of(const ceni_table *table)
{
    if (table->buckets == &table->only) return (ceni_table_room){.buckets = NULL};
    return (ceni_table_room){table->buckets, table->mask + 1};
}

void ceni_table_room_use(ceni_table *table, ceni_table_room *room)
{
    if (!room->buckets || room->count <= table->mask + 1) return;
    ceni_table_room old = buckets_of(table);
    for (size_t i = 0; i <= table->mask; i++) {
        ceni_table_node *next;
        for (ceni_table_node *node = table->buckets[i]; node; node = next) {
            next = node->next;
            link_node(room->buckets, room->count - 1, node);
        }
    }
    table->buckets = room->buckets;
    table->mask = room->count - 1;
    *room = old;
}

void ceni_table_room_take(ceni_table *table, ceni_table_room *out)
{
    *out = buckets_of(table);
    table->buckets = &table->only; /* the allocator is not written: `alloc` and `free` read it without the lock */
    table->only = NULL;
    table->mask = table->count = 0;
}

void ceni_table_room_free(const ceni_table *table, ceni_table_room *room)
{
    ceni_free(table->allocator, room->buckets, room->count * sizeof *room->buckets, _Alignof(ceni_table_node *));
}

void ceni_table_put(ceni_table *table, ceni_table_node *node, uint64_t hash)
{
    node->hash = hash;
    link_node(table->buckets, table->mask, node);
    table->count++;
}

/* A failure is harmless; the next insertion tries again. */
void ceni_table_grow(ceni_table *table)
{
    ceni_table_room room;
    ceni_table_room_for(table, table->count + 1, &room);
    if (!ceni_table_room_alloc(table, &room)) return;
    ceni_table_room_use(table, &room);
    ceni_table_room_free(table, &room);
}

void ceni_table_insert(ceni_table *table, ceni_table_node *node, uint64_t hash)
{
    ceni_table_grow(table);
    ceni_table_put(table, node, hash);
}

ceni_table_node *ceni_table_find(const ceni_table *table, uint64_t hash,
                                 bool (*same)(const ceni_table_node *node, const void *key), const void *key)
{
    ceni_table_node *node = table->buckets[hash & table->mask];
    while (node && !(node->hash == hash && same(node, key))) node = node->next;
    return node;
}

bool ceni_table_remove(ceni_table *table, ceni_table_node *node)
{
    ceni_table_node **from = &table->buckets[node->hash & table->mask];
    while (*from && *from != node) from = &(*from)->next;
    if (!*from) return false;
    *from = node->next;
    table->count--;
    return true;
}

ceni_table_node *ceni_table_next(const ceni_table *table, const ceni_table_node *node)
{
    if (node && node->next) return node->next;
    size_t bucket = node ? (node->hash & table->mask) + 1 : 0;
    while (bucket <= table->mask && !table->buckets[bucket]) bucket++;
    return bucket <= table->mask ? table->buckets[bucket] : NULL;
}
