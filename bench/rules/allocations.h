/* SPDX-License-Identifier: MIT */
/*
 * Every way to memory goes through the program that includes this, and is counted
 * where the calling thread has set `counting`, or anybody `counting_all`; so is the seam, an allocator for
 * cenote's options that also adds up its bytes.
 */
#ifndef BENCH_RULES_ALLOCATIONS_H
#define BENCH_RULES_ALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cenote/allocator.h>

static _Thread_local bool counting;
static bool counting_all; /* all threads are counted */
static uint64_t allocations, seam_bytes, seam_calls;

static void count_one(void)
{
    if (counting || __atomic_load_n(&counting_all, __ATOMIC_RELAXED))
        __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t align, size_t size);

void *malloc(size_t size)
{
    count_one();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    count_one();
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    count_one();
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    count_one();
    return __libc_memalign(align, size);
}

void *memalign(size_t align, size_t size)
{
    count_one();
    return __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    count_one();
    *out = __libc_memalign(align, size);
    return *out == NULL ? 12 : 0; /* ENOMEM */
}

void *mmap(void *hint, size_t length, int protection, int flags, int file, off_t offset)
{
    count_one();
    return (void *)syscall(SYS_mmap, hint, length, protection, flags, file, offset);
}

/* The pool's own allocator. */
static void *seam_alloc(void *argument, size_t size, size_t align)
{
    (void)argument;
    count_one();
    seam_calls++;
    seam_bytes += size;
    return __libc_memalign(align, size);
}

static void seam_free(void *argument, void *memory, size_t size, size_t align)
{
    (void)argument, (void)align;
    seam_bytes -= size;
    free(memory);
}

static const cen_allocator seam = {seam_alloc, seam_free, NULL};

#endif
