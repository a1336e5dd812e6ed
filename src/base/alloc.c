/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

#ifdef CENI_WATCHED
/* The controlled scheduler has its own allocator. It returns the same addresses in every run and detects accesses to
 * freed memory. */
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

/* The program's allocator is called with no lock held (allocator.h). Test builds check that at each call, also for
 * the process-wide allocator: a pool that a test creates with the process-wide allocator may get the program's
 * allocator elsewhere. This room knows no locks; port/rank.c has the check. */
#ifdef CENI_PLANTS
void ceni_rank_expect_none(const char *where);
#define expect_no_lock(where) ceni_rank_expect_none(where)
#else
#define expect_no_lock(where) ((void)0)
#endif

void *ceni_own_alloc(size_t size, size_t align)
{
    if (ceni_fault(CENI_FAULT_ALLOC)) return NULL;
    void *memory = system_alloc(size, align);
    if (memory) memset(memory, 0, size);
    return memory;
}

void ceni_own_free(void *memory, size_t size, size_t align)
{
    (void)size, (void)align;
    if (memory) system_free(memory, size);
}

void *ceni_alloc(const cen_allocator *from, size_t size, size_t align)
{
    expect_no_lock("the allocator");
    if (!from) return ceni_own_alloc(size, align);
    if (ceni_fault(CENI_FAULT_ALLOC)) return NULL;
    void *memory = from->alloc(from->argument, size, align);
    if (memory) memset(memory, 0, size);
    return memory;
}

void ceni_free(const cen_allocator *from, void *memory, size_t size, size_t align)
{
    if (!memory) return;
    expect_no_lock("the allocator's free");
    if (from) from->free(from->argument, memory, size, align);
    else ceni_own_free(memory, size, align);
}

#ifdef CENI_WATCHED
void *ceni_alloc_sparse(const cen_allocator *from, size_t size, size_t align)
{
    return ceni_alloc(from, size, align);
}

void ceni_free_sparse(const cen_allocator *from, void *memory, size_t size, size_t align)
{
    ceni_free(from, memory, size, align);
}
#else
/* calloc does not touch fresh pages, which the system has zeroed already. The word before the aligned part has the
 * start of calloc's block. */
void *ceni_alloc_sparse(const cen_allocator *from, size_t size, size_t align)
{
    if (from) return ceni_alloc(from, size, align);
    expect_no_lock("the allocator");
    if (ceni_fault(CENI_FAULT_ALLOC) || size > SIZE_MAX - 2 * align) return NULL;
    size_t apart = align < sizeof(void *) ? sizeof(void *) : align;
    char *block = calloc(1, size + 2 * apart);
    if (!block) return NULL;
    char *memory = block + apart + (apart - (uintptr_t)block % apart) % apart;
    memcpy(memory - sizeof block, &block, sizeof block);
    return memory;
}

void ceni_free_sparse(const cen_allocator *from, void *memory, size_t size, size_t align)
{
    void *block;
    if (from) {
        ceni_free(from, memory, size, align);
    } else if (memory) {
        expect_no_lock("the allocator's free");
        memcpy(&block, (char *)memory - sizeof block, sizeof block);
        free(block);
    }
}
#endif
