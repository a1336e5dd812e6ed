/* SPDX-License-Identifier: MIT */
/*
 * An allocator: where cenote gets its memory from.
 *
 * The options of pools, queues, crews and other components have an `allocator` field. NULL means the process-wide
 * allocator, malloc and free. The struct and its argument must outlive everything that was created with it.
 *
 *     static const cen_allocator arena = { my_alloc, my_free, &my_arena };
 *     cen_queue_options o = CEN_QUEUE_OPTIONS(.element_size = 8, .allocator = &arena);
 *
 * Callbacks: both functions may be called from any thread. They must not call cenote. cenote holds no lock during such
 * a call, except in libcenote-redis (cenote/redis.h, Threads).
 */
#ifndef CENOTE_ALLOCATOR_H
#define CENOTE_ALLOCATOR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Two functions and an argument for both. */
typedef struct cen_allocator {
    /* Return `size` bytes aligned to `align`, which is a power of two. Return NULL if out of memory. */
    void *(*alloc)(void *argument, size_t size, size_t align);
    /* Free memory that alloc returned, with the same size and alignment. */
    void (*free)(void *argument, void *memory, size_t size, size_t align);
    void *argument;
} cen_allocator;

#ifdef __cplusplus
}
#endif
#endif
