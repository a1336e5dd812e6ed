/* SPDX-License-Identifier: MIT */
/*
 * Cells: the memory of members' stripes.
 *
 * A pick touches one stripe of 32 bytes of a member. If each member had its stripes beside the rest of its data, ten
 * thousand members would be on thousands of pages, and half or more of each fetched cache line would belong to other
 * threads. So members live in blocks of 64:
 *
 *     first stripes     of member 0, 1, 2 ... 63       2048 bytes: handles; counts of those with a limit; and a gap
 *     thread A's        of member 0, 1, 2 ... 63       2048 bytes: written by A; and a gap
 *     thread B's        of member 0, 1, 2 ... 63       2048 bytes: written by B; and a gap
 *
 * A processor that sees a thread go from line to line prefetches some lines ahead. Without the gap, the lines behind
 * the last one are another thread's, and that thread must fetch them back: a round robin over ten thousand members took
 * half as long again without it.
 *
 * Two stripes share a line only if they belong to the same thread. A stripe is found by adding the thread's offset to
 * its member's handle. The offset is the same for all members of all routers.
 *
 * A place is taken when a member is added. `release` in ends.c gives it back together with the rest of the member's
 * memory: its last use has ended, and a grace period has passed since (I4, I5). So no thread that knew the old member
 * touches the place when the next member has it, and a handle that was kept too long is as wrong as one to freed
 * memory. A free place is zero and has no door, so a late access faults at once. A block is freed when all its places
 * are free.
 *
 * The price: a router with few members has a whole block, 13 KB with two processors, 43 KB with eight and more.
 */
#include "base/alloc.h"
#include "router/cells.h"

enum { PLACES = 64, GAP = 512 }; /* `taken` has a bit for each place */
_Static_assert(PLACES * sizeof(cen_stripe_) + GAP == CEN_STRIPES_APART_, "a gap lies between two threads' stripes");

struct ceni_block {
    ceni_list link; /* in router->blocks while a place is free */
    uint64_t taken;
    size_t bytes;
    _Alignas(CENI_CACHE_LINE) cen_stripe_ stripes[];
};

bool ceni_cells_are_taken_locked(const cen_router *router)
{
    return ceni_list_empty(&router->blocks);
}

ceni_block *ceni_cells_alloc(const cen_router *router)
{
    size_t bytes = sizeof(ceni_block) + (router->stripes + 1) * (size_t)CEN_STRIPES_APART_;
    ceni_block *block = ceni_alloc(router->allocator, bytes, CENI_CACHE_LINE);
    if (!block) return NULL;
    block->bytes = bytes;
    ceni_list_init(&block->link);
    return block;
}

cen_member *ceni_cells_take_locked(cen_router *router, ceni_block **fresh, ceni_block **block)
{
    if (ceni_list_empty(&router->blocks)) {
        if (!*fresh) return NULL;
        ceni_list_push_back(&router->blocks, &(*fresh)->link);
        *fresh = NULL;
    }
    ceni_block *own = CENI_LIST_ENTRY(ceni_list_first(&router->blocks), ceni_block, link);
    unsigned place = (unsigned)__builtin_ctzll(~own->taken);
    own->taken |= UINT64_C(1) << place;
    if (own->taken == UINT64_MAX) ceni_list_remove(&own->link);
    *block = own;
    return (cen_member *)(void *)&own->stripes[place];
}

ceni_block *ceni_cells_give_locked(cen_router *router, ceni_block *block, cen_member *cell)
{
    unsigned place = (unsigned)((cen_stripe_ *)(void *)cell - block->stripes);
    for (uint32_t i = 0; i <= router->stripes; i++) {
        cen_stripe_ *stripe = cen_stripe_of_(cell, i * CEN_STRIPES_APART_);
        ceni_store_relaxed(&stripe->word, UINT64_C(0)); /* ordered for the next member by the lock; carries nothing */
        ceni_store_relaxed(&stripe->others, 0u);        /* the same; carries nothing */
        ceni_setting_put(&stripe->life, 0u);
        stripe->value = NULL;
        stripe->door = NULL;
    }
    if (block->taken == UINT64_MAX) ceni_list_push_back(&router->blocks, &block->link);
    block->taken &= ~(UINT64_C(1) << place);
    if (block->taken != 0) return NULL;
    ceni_list_remove(&block->link);
    return block;
}

void ceni_cells_free(const cen_router *router, ceni_block *block)
{
    if (block) ceni_free(router->allocator, block, block->bytes, CENI_CACHE_LINE);
}
