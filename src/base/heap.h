/* SPDX-License-Identifier: MIT */
/*
 * A binary heap: the node with the smallest key is first.
 *
 * The nodes are part of the caller's structs; the heap owns only an array of pointers to them. A node stores its
 * index in that array, so any node can be removed or get another key in O(log n). Nodes of equal keys have no defined
 * order.
 *
 *     struct job { ceni_heap_node node; int n; };
 *     ceni_heap_init(&heap, NULL);
 *     job->node.key = moment;
 *     if (ceni_heap_push(&heap, &job->node) != CEN_OK) ...
 *     struct job *next = (struct job *)ceni_heap_pop(&heap);
 *
 * Threads: the heap has no lock. The caller's lock protects it.
 */
#ifndef CENI_BASE_HEAP_H
#define CENI_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/status.h>

#include "base/spi.h"

CENI_SPI_BEGIN

/* A zeroed node is in no heap. */
typedef struct ceni_heap_node {
    int64_t key;  /* set by the caller while it is in no heap */
    size_t place; /* written by the heap: its index plus one; 0 in no heap */
} ceni_heap_node;

typedef struct ceni_heap {
    ceni_heap_node **nodes;
    size_t count, room;
    const cen_allocator *allocator;
} ceni_heap;

/* Make an empty heap; allocates nothing. */
void ceni_heap_init(ceni_heap *heap, const cen_allocator *allocator);

/* Free the array. Nodes still in the heap are forgotten, not touched. */
void ceni_heap_fini(ceni_heap *heap);

/* Make room for `count` nodes, so that pushes up to that count cannot fail. NO_MEMORY: nothing has changed. */
cen_status ceni_heap_reserve(ceni_heap *heap, size_t count);

/* The same in steps, for a heap under a lock: call `for` and `use` with the lock held, `alloc` and `free` without it.
 * `for` computes how large an array is needed; count is 0 if the heap has enough room. `use` installs the array if it
 * is still larger than the heap's, and leaves in *room the array to free. */
typedef struct ceni_heap_room {
    ceni_heap_node **nodes;
    size_t count;
} ceni_heap_room;
cen_status ceni_heap_room_for(const ceni_heap *heap, size_t count, ceni_heap_room *out);
cen_status ceni_heap_room_alloc(const ceni_heap *heap, ceni_heap_room *room);
void ceni_heap_room_use(ceni_heap *heap, ceni_heap_room *room);
void ceni_heap_room_free(const ceni_heap *heap, ceni_heap_room *room);

/* Insert a node that is in no heap. NO_MEMORY: nothing has changed. */
cen_status ceni_heap_push(ceni_heap *heap, ceni_heap_node *node);

/* Return the node with the smallest key, or NULL. */
ceni_heap_node *ceni_heap_first(const ceni_heap *heap);

/* Remove and return the node with the smallest key, or return NULL. */
ceni_heap_node *ceni_heap_pop(ceni_heap *heap);

/* Remove the node; does nothing if the node is in no heap. */
void ceni_heap_remove(ceni_heap *heap, ceni_heap_node *node);

/* Change the key of a node that is in this heap. Cannot fail. */
void ceni_heap_move(ceni_heap *heap, ceni_heap_node *node, int64_t key);

static inline bool ceni_heap_holds(const ceni_heap_node *node)
{
    return node->place != 0;
}

CENI_SPI_END

#endif
