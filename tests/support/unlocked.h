/* SPDX-License-Identifier: MIT */
/* An allocator of a program's that counts its calls. That no lock is held is checked here, and by base/alloc.c for all allocators. */
#ifndef TESTS_SUPPORT_UNLOCKED_H
#define TESTS_SUPPORT_UNLOCKED_H

#include <stdlib.h>

#include <cenote/allocator.h>

#include "base/atomic.h"
#include "port/rank.h"

static _Atomic unsigned unlocked_allocs, unlocked_frees;

static inline void *alloc_unlocked(void *unused, size_t size, size_t align)
{
    (void)unused;
    ceni_rank_expect_none("the allocator of a test"); /* aborts if a lock is held */
    ceni_add_seq_cst(&unlocked_allocs, 1u);
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static inline void free_unlocked(void *unused, void *memory, size_t size, size_t align)
{
    (void)unused, (void)size, (void)align;
    ceni_rank_expect_none("the free of a test");
    ceni_add_seq_cst(&unlocked_frees, 1u);
    free(memory);
}

static const cen_allocator unlocked = {alloc_unlocked, free_unlocked, NULL};

/* How often each was called since the last question. */
static inline unsigned allocs_since(void)
{
    static unsigned before;
    unsigned now = ceni_load_seq_cst(&unlocked_allocs), since = now - before;
    before = now;
    return since;
}

static inline unsigned frees_since(void)
{
    static unsigned before;
    unsigned now = ceni_load_seq_cst(&unlocked_frees), since = now - before;
    before = now;
    return since;
}

#endif
