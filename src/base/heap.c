/* SPDX-License-Identifier: MIT */
/*
 * The heap is an array in which the key of nodes[i] is not greater than those of nodes[2i + 1] and nodes[2i + 2]. A
 * node that may be out of place is carried up or down: each node on its path moves by one step, and the node itself
 * is written once, at its final place.
 */
#include "base/heap.h"

#include <string.h>

#include "base/alloc.h"

enum { FIRST_ROOM = 16 };

void ceni_heap_init(ceni_heap *heap, const cen_allocator *allocator)
{
    *heap = (ceni_heap){.allocator = allocator};
}

void ceni_heap_fini(ceni_heap *heap)
{
    ceni_free(heap->allocator, heap->nodes, heap->room * sizeof *heap->nodes, _Alignof(ceni_heap_node *));
    ceni_heap_init(heap, heap->allocator);
}

cen_status ceni_heap_room_for(const ceni_heap *heap, size_t count, ceni_heap_room *out)
{
    *out = (ceni_heap_room){.nodes = NULL};
    if (count <= heap->room) return CEN_OK;
    size_t room = heap->room ? heap->room : FIRST_ROOM;
    while (room < count) {
        if (room > SIZE_MAX / 2 / sizeof *heap->nodes) return CEN_NO_MEMORY;
        room *= 2;
    }
    out->count = room;
    return CEN_OK;
}

cen_status ceni_heap_room_alloc(const ceni_heap *heap, ceni_heap_room *room)
{
    if (room->count)
        room->nodes = ceni_alloc(heap->allocator, room->count * sizeof *room->nodes, _Alignof(ceni_heap_node *));
    return room->nodes || !room->count ? CEN_OK : CEN_NO_MEMORY;
}

void ceni_heap_room_use(ceni_heap *heap, ceni_heap_room *room)
{
    if (!room->nodes || room->count <= heap->room) return;
    ceni_heap_room old = {heap->nodes, heap->room};
    if (heap->count) memcpy(room->nodes, heap->nodes, heap->count * sizeof *room->nodes);
    heap->nodes = room->nodes;
    heap->room = room->count;
    *room = old;
}

void ceni_heap_room_free(const ceni_heap *heap, ceni_heap_room *room)
{
    ceni_free(heap->allocator, room->nodes, room->count * sizeof *room->nodes, _Alignof(ceni_heap_node *));
}

cen_status ceni_heap_reserve(ceni_heap *heap, size_t count)
{
    ceni_heap_room room;
    cen_status status = ceni_heap_room_for(heap, count, &room);
    if (status == CEN_OK) status = ceni_heap_room_alloc(heap, &room);
    if (status != CEN_OK) return status;
    ceni_heap_room_use(heap, &room);
    ceni_heap_room_free(heap, &room);
    return CEN_OK;
}

static void put(ceni_heap *heap, size_t index, ceni_heap_node *node)
{
    heap->nodes[index] = node;
    node->place = index + 1;
}

static void carry_up(ceni_heap *heap, size_t index, ceni_heap_node *node)
{
    while (index > 0) {
        size_t parent = (index - 1) / 2;
        if (heap->nodes[parent]->key <= node->key) break;
        put(heap, index, heap->nodes[parent]);
        index = parent;
    }
    put(heap, index, node);
}

static void carry_down(ceni_heap *heap, size_t index, ceni_heap_node *node)
{
    for (;;) {
        size_t child = 2 * index + 1;
        if (child >= heap->count) break;
        if (child + 1 < heap->count && heap->nodes[child + 1]->key < heap->nodes[child]->key) child++;
        if (node->key <= heap->nodes[child]->key) break;
        put(heap, index, heap->nodes[child]);
        index = child;
    }
    put(heap, index, node);
}

/* Put the node in its place, starting from `index`, which is free. */
static void settle(ceni_heap *heap, size_t index, ceni_heap_node *node)
{
    if (index > 0 && node->key < heap->nodes[(index - 1) / 2]->key) carry_up(heap, index, node);
    else carry_down(heap, index, node);
}

cen_status ceni_heap_push(ceni_heap *heap, ceni_heap_node *node)
{
    cen_status status = ceni_heap_reserve(heap, heap->count + 1);
    if (status != CEN_OK) return status;
    carry_up(heap, heap->count++, node);
    return CEN_OK;
}

ceni_heap_node *ceni_heap_first(const ceni_heap *heap)
{
    return heap->count ? heap->nodes[0] : NULL;
}

ceni_heap_node *ceni_heap_pop(ceni_heap *heap)
{
    ceni_heap_node *node = ceni_heap_first(heap);
    if (node) ceni_heap_remove(heap, node);
    return node;
}

void ceni_heap_remove(ceni_heap *heap, ceni_heap_node *node)
{
    if (!ceni_heap_holds(node)) return;
    size_t index = node->place - 1;
    ceni_heap_node *last = heap->nodes[--heap->count];
    node->place = 0;
    if (last != node) settle(heap, index, last);
}

void ceni_heap_move(ceni_heap *heap, ceni_heap_node *node, int64_t key)
{
    node->key = key;
    settle(heap, node->place - 1, node);
}
