/* SPDX-License-Identifier: MIT */
/* The hash tables for changes of a registry; index.h says when they grow. */
#include "registry/index.h"

#include "registry/internal.h"

enum { FIRST_BUCKETS = 16 };

void ceni_index_init(ceni_index *index)
{
    *index = (ceni_index){.buckets = &index->only};
}

void ceni_index_insert(ceni_index *index, ceni_index_node *node, uint64_t hash)
{
    ceni_index_node **bucket = &index->buckets[hash & index->mask];
    node->hash = hash;
    node->next = *bucket;
    *bucket = node;
    index->count++;
}

void ceni_index_remove(ceni_index *index, ceni_index_node *node)
{
    ceni_index_node **at = &index->buckets[node->hash & index->mask];
    for (; *at != node; at = &(*at)->next) ceni_registry_step();
    *at = node->next;
    index->count--;
}

ceni_index_node *ceni_index_find(const ceni_index *index, uint64_t hash,
                                 bool (*same)(const ceni_index_node *node, const void *wanted), const void *wanted)
{
    ceni_index_node *node = index->buckets[hash & index->mask];
    for (; node; node = node->next) {
        ceni_registry_step();
        if (node->hash == hash && same(node, wanted)) break;
    }
    return node;
}

size_t ceni_index_wants(const ceni_index *index)
{
    size_t has = index->mask + 1;
    if (index->count <= has) return 0;
    size_t wants = has < FIRST_BUCKETS ? FIRST_BUCKETS : has;
    while (wants < index->count + 1) wants *= 2;
    return wants;
}

ceni_index_node **ceni_index_grow(ceni_index *index, ceni_index_node **buckets, size_t *count)
{
    ceni_index_node **before = index->buckets == &index->only ? NULL : index->buckets;
    size_t had = index->mask + 1, mask = *count - 1;
    for (size_t i = 0; i < had; i++)
        for (ceni_index_node *node = index->buckets[i], *next; node; node = next) {
            next = node->next;
            node->next = buckets[node->hash & mask];
            buckets[node->hash & mask] = node;
        }
    index->buckets = buckets;
    index->mask = mask;
    *count = had;
    return before;
}
