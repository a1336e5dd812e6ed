/* SPDX-License-Identifier: MIT */
/*
 * A binary heap: the node with the smallest key is first.
 *
 * The nodes are the caller's, part of whatever is being ordered; the heap owns
 * only an array of pointers to them. A node knows its place in that array, so
 * any node can be removed or given another key in O(log n). Among equal keys
 * the order is not defined.
 *
 *     struct job { ceni_heap_node node; int n; };
 *     ceni_heap_init(&heap, NULL);
 *     job->node.key = moment;
 *     if (ceni_heap_push(&heap, &job->node) != CEN_OK) ...
 *     struct job *next = (struct job *)ceni_heap_pop(&heap);
 *
 * Threads: the heap belongs to whoever holds its lock.
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

/* Zeroed, it is in no heap. */
typedef struct ceni_heap_node {
    int64_t key;  /* set by the caller while it is in no heap */
    size_t place; /* the heap's: 0 in none, else its index plus one */
} ceni_heap_node;

typedef struct ceni_heap {
    ceni_heap_node **nodes;
    size_t count, room;
    const cen_allocator *allocator;
} ceni_heap;

/* An empty heap; allocates nothing. */
void ceni_heap_init(ceni_heap *heap, const cen_allocator *allocator);

/* Gives the array back. Nodes still inside are forgotten, not touched. */
void ceni_heap_fini(ceni_heap *heap);

/* Makes sure that `count` nodes fit, so that pushes up to there cannot fail.
 * Errors: NO_MEMORY, and nothing has changed. */
cen_status ceni_heap_reserve(ceni_heap *heap, size_t count);

/* The same in steps, for a heap that is under a lock: `for` and `use` under it, `alloc` and `free` without it.
 * `for` says how large an array is needed; count is 0 if none is. `use` takes the array if it is still larger than the heap's,
 * and leaves in *room the one to be freed. */
typedef struct ceni_heap_room {
    ceni_heap_node **nodes;
    size_t count;
} ceni_heap_room;
cen_status ceni_heap_room_for(const ceni_heap *heap, size_t count, ceni_heap_room *out);
cen_status ceni_heap_room_alloc(const ceni_heap *heap, ceni_heap_room *room);
void ceni_heap_room_use(ceni_heap *heap, ceni_heap_room *room);
void ceni_heap_room_free(const ceni_heap *heap, ceni_heap_room *room);

/* Puts in a node that is in no heap. Errors: NO_MEMORY, and nothing has changed. */
cen_status ceni_heap_push(ceni_heap *heap, ceni_heap_node *node);

/* The node with the smallest key, or NULL. */
ceni_heap_node *ceni_heap_first(const ceni_heap *heap);

/* The same, taken out. */
ceni_heap_node *ceni_heap_pop(ceni_heap *heap);

/* Takes the node out; one that is in no heap stays so. */
void ceni_heap_remove(ceni_heap *heap, ceni_heap_node *node);

/* Gives a node that is in this heap another key. Cannot fail. */
void ceni_heap_move(ceni_heap *heap, ceni_heap_node *node, int64_t key);

static inline bool ceni_heap_holds(const ceni_heap_node *node)
{
    return node->place != 0;
}

CENI_SPI_END

#endif
