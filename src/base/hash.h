/* SPDX-License-Identifier: MIT */
/*
 * Hashing, and a hash table of the caller's own nodes.
 *
 * The hashes are for tables inside one process: they depend on the seed and
 * on the machine's byte order and are never written down. With a seed that
 * nobody outside knows, chosen keys cannot be made to collide cheaply; they
 * are no cryptographic hashes.
 *
 *     struct entry { ceni_table_node node; int key; };
 *     ceni_table_init(&table, NULL);
 *     ceni_table_insert(&table, &entry->node, ceni_hash_word(seed, key));
 *     ceni_table_node *found = ceni_table_find(&table, hash, same_key, &key);
 *     struct entry *entry = CENI_TABLE_ENTRY(found, struct entry, node);
 *
 * Threads: the table belongs to whoever holds its lock.
 */
#ifndef CENI_BASE_HASH_H
#define CENI_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>

#include "base/spi.h"

CENI_SPI_BEGIN

/* For one seed, different words have different hashes. */
uint64_t ceni_hash_word(uint64_t seed, uint64_t word);

uint64_t ceni_hash_bytes(uint64_t seed, const void *bytes, size_t size);

typedef struct ceni_table_node {
    struct ceni_table_node *next;
    uint64_t hash;
} ceni_table_node;

/* Holds any number of nodes without allocating at all, in one chain; the
 * array of buckets is for speed. Must not be moved while it holds nodes. */
typedef struct ceni_table {
    ceni_table_node **buckets; /* &only until the first growth */
    size_t mask;               /* the number of buckets, a power of two, minus one */
    size_t count;
    ceni_table_node *only;
    const cen_allocator *allocator;
} ceni_table;

#define CENI_TABLE_ENTRY(node, type, field) ((type *)(void *)(((char *)(node)) - offsetof(type, field)))

void ceni_table_init(ceni_table *table, const cen_allocator *allocator);

/* Gives the buckets back and forgets the nodes without touching them. */
void ceni_table_fini(ceni_table *table);

/* Puts in a node that is in no table; equal keys are the caller's affair.
 * Cannot fail: when the buckets cannot grow, the chains do. */
void ceni_table_insert(ceni_table *table, ceni_table_node *node, uint64_t hash);

/* More buckets, if one node more needs them and there is memory. */
void ceni_table_grow(ceni_table *table);

/* Puts in a node and never allocates: the chains grow. For a table under a lock. */
void ceni_table_put(ceni_table *table, ceni_table_node *node, uint64_t hash);

/* More buckets, in steps, for a table that is under a lock: `for`, `use` and `take` under it, `alloc` and `free` without it.
 * `for` says how many buckets `count` nodes need; count is 0 if the table has enough. `use` moves the nodes if the array is
 * still larger than the table's, and leaves in *room the array to be freed. `take` empties the table, as fini does, and leaves
 * its buckets to be freed. */
typedef struct ceni_table_room {
    ceni_table_node **buckets;
    size_t count;
} ceni_table_room;
void ceni_table_room_for(const ceni_table *table, size_t count, ceni_table_room *out);
bool ceni_table_room_alloc(const ceni_table *table, ceni_table_room *room); /* false: none are needed, or no memory */
void ceni_table_room_use(ceni_table *table, ceni_table_room *room);
void ceni_table_room_take(ceni_table *table, ceni_table_room *out);
void ceni_table_room_free(const ceni_table *table, ceni_table_room *room);

/* The node with this hash of which `same` says that it has this key, or NULL. */
ceni_table_node *ceni_table_find(const ceni_table *table, uint64_t hash,
                                 bool (*same)(const ceni_table_node *node, const void *key), const void *key);

/* Takes out a node that is in the table; false, and nothing changed, if it is not. */
bool ceni_table_remove(ceni_table *table, ceni_table_node *node);

/* The node after `node` in no particular order, the first for NULL, NULL at
 * the end. Fetch it before removing `node`; do not insert in between. */
ceni_table_node *ceni_table_next(const ceni_table *table, const ceni_table_node *node);

CENI_SPI_END

#endif
