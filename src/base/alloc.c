/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

#ifdef CENI_WATCHED
/* The controlled scheduler has an allocator of its own, which gives the same
 * addresses in every run and notices a touch of what was freed. */
void *ceni_watch_alloc(size_t size, size_t align);
void ceni_watch_free(void *memory, size_t size);
#define system_alloc(size, align) ceni_watch_alloc(size, align)
#define system_free(memory, size) ceni_watch_free(memory, size)
#else
static void *system_alloc(size_t size, size_t align)
{
    if (align <= _Alignof(max_align_t)) return malloc(size);
    void *memory = NULL;
    return posix_memalign(&memory, align, size) == 0 ? memory : NULL;
}
#define system_free(memory, size) free(memory)
#endif

void *ceni_alloc(const cen_allocator *from, size_t size, size_t align)
{
    if (ceni_fault(CENI_FAULT_ALLOC)) return NULL;
    void *memory = from ? from->alloc(from->argument, size, align) : system_alloc(size, align);
    if (memory) memset(memory, 0, size);
    return memory;
}

void ceni_free(const cen_allocator *from, void *memory, size_t size, size_t align)
{
    if (!memory) return;
    if (from) from->free(from->argument, memory, size, align);
    else system_free(memory, size);
}
