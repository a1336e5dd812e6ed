/* SPDX-License-Identifier: MIT */
/*
 * A hash table for changes of a registry, under its lock: by number, and by key and owner. It grows only when it is
 * given more buckets, which are allocated while no lock is held. Until then its chains are longer.
 */
#ifndef CENI_REGISTRY_INDEX_H
#define CENI_REGISTRY_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ceni_index_node {
    struct ceni_index_node *next;
    uint64_t hash;
} ceni_index_node;

typedef struct ceni_index {
    ceni_index_node **buckets; /* &only until the first growth */
    size_t mask;
    size_t count;
    ceni_index_node *only;
} ceni_index;

void ceni_index_init(ceni_index *index);
void ceni_index_insert(ceni_index *index, ceni_index_node *node, uint64_t hash);
void ceni_index_remove(ceni_index *index, ceni_index_node *node);

/* The first node of that hash that `same` accepts, or NULL. */
ceni_index_node *ceni_index_find(const ceni_index *index, uint64_t hash,
                                 bool (*same)(const ceni_index_node *node, const void *wanted), const void *wanted);

/* The number of buckets that it should have; 0: it has enough. */
size_t ceni_index_wants(const ceni_index *index);

/* Move to *count buckets, which are zero; a power of two. Return the old buckets, and their number in *count. NULL:
 * there are none to free. */
ceni_index_node **ceni_index_grow(ceni_index *index, ceni_index_node **buckets, size_t *count);

#endif
