/* SPDX-License-Identifier: MIT */
/*
 * Where cenote gets its memory.
 *
 * Every options struct has a field `allocator`; NULL means the process-wide
 * one, which is malloc and free. The struct and its argument must outlive
 * whatever was made with it.
 *
 *     static const cen_allocator arena = { my_alloc, my_free, &my_arena };
 *     cen_queue_options o = CEN_QUEUE_OPTIONS(.element_size = 8, .allocator = &arena);
 *
 * Callbacks: both may be called from any thread and must not call cenote. cenote holds
 * no lock of its own during the call, except in libcenote-redis (cenote/redis.h, Threads).
 */
#ifndef CENOTE_ALLOCATOR_H
#define CENOTE_ALLOCATOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_allocator {
    /* `size` bytes aligned to `align`, a power of two; NULL when there are none. */
    void *(*alloc)(void *argument, size_t size, size_t align);
    /* Takes back what alloc returned, with the same size and alignment. */
    void (*free)(void *argument, void *memory, size_t size, size_t align);
    void *argument;
} cen_allocator;

#ifdef __cplusplus
}
#endif
#endif
