/* SPDX-License-Identifier: MIT */
/*
 * Hash functions, and an intrusive chained hash table: its nodes are part of the caller's structs.
 *
 * The hashes are for tables inside one process. They depend on the seed and on the machine's byte order, and are
 * never stored or sent. With a secret seed, an attacker cannot cheaply choose keys that collide. They are not
 * cryptographic hashes.
 *
 *     struct entry { ceni_table_node node; int key; };
 *     ceni_table_init(&table, NULL);
 *     ceni_table_insert(&table, &entry->node, ceni_hash_word(seed, key));
 *     ceni_table_node *found = ceni_table_find(&table, hash, same_key, &key);
 *     struct entry *entry = CENI_TABLE_ENTRY(found, struct entry, node);
 *
 * Threads: the table has no lock. The caller's lock protects it.
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

/* Works without any allocation, with all nodes in one chain; the array of buckets is for speed. Must not be moved
 * while it contains nodes. */
typedef struct ceni_table {
    ceni_table_node **buckets; /* &only until the first growth */
    size_t mask;               /* the number of buckets, a power of two, minus one */
    size_t count;
    ceni_table_node *only;
    const cen_allocator *allocator;
} ceni_table;

#define CENI_TABLE_ENTRY(node, type, field) ((type *)(void *)(((char *)(node)) - offsetof(type, field)))

void ceni_table_init(ceni_table *table, const cen_allocator *allocator);

/* Free the buckets and forget the nodes without touching them. */
void ceni_table_fini(ceni_table *table);

/* Insert a node that is in no table. Does not check for equal keys. Cannot fail: if there is no memory for more
 * buckets, the chains become longer. */
void ceni_table_insert(ceni_table *table, ceni_table_node *node, uint64_t hash);

/* Grow the array of buckets if one more node needs that and there is memory. */
void ceni_table_grow(ceni_table *table);

/* Insert a node without allocating; the chains may become longer. For a table under a lock. */
void ceni_table_put(ceni_table *table, ceni_table_node *node, uint64_t hash);

/* Grow the array of buckets in steps, for a table under a lock: call `for`, `use` and `take` with the lock held,
 * `alloc` and `free` without it. `for` computes how many buckets `count` nodes need; count is 0 if the table has
 * enough. `use` moves the nodes if the new array is still larger than the table's, and leaves in *room the array to
 * free. `take` empties the table, as fini does, and leaves in *out its buckets to free. */
typedef struct ceni_table_room {
    ceni_table_node **buckets;
    size_t count;
} ceni_table_room;
void ceni_table_room_for(const ceni_table *table, size_t count, ceni_table_room *out);
bool ceni_table_room_alloc(const ceni_table *table, ceni_table_room *room); /* false: none needed, or no memory */
void ceni_table_room_use(ceni_table *table, ceni_table_room *room);
void ceni_table_room_take(ceni_table *table, ceni_table_room *out);
void ceni_table_room_free(const ceni_table *table, ceni_table_room *room);

/* Return the node with this hash for which `same` returns true with this key, or NULL. */
ceni_table_node *ceni_table_find(const ceni_table *table, uint64_t hash,
                                 bool (*same)(const ceni_table_node *node, const void *key), const void *key);

/* Remove a node. Returns false and changes nothing if the node is not in the table. */
bool ceni_table_remove(ceni_table *table, ceni_table_node *node);

/* Iterate in no particular order: return the node after `node`, the first for NULL, NULL at the end. To remove
 * `node`, fetch the next one before. Do not insert during an iteration. */
ceni_table_node *ceni_table_next(const ceni_table *table, const ceni_table_node *node);

CENI_SPI_END

#endif
