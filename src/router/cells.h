/* SPDX-License-Identifier: MIT */
/* The memory of members' stripes; cells.c. */
#ifndef CENI_ROUTER_CELLS_H
#define CENI_ROUTER_CELLS_H

#include "router/internal.h"

/* Whether the next place needs a new block. ceni_cells_alloc allocates one, with no lock held. NULL: out of memory. */
bool ceni_cells_are_taken_locked(const cen_router *router);
ceni_block *ceni_cells_alloc(const cen_router *router);

/* Take a place for the stripes of a member, all zero. Return its handle, and in *block the block that has it. If
 * another block is needed, *fresh is used and set to NULL. NULL: a block is needed, and *fresh is NULL. */
cen_member *ceni_cells_take_locked(cen_router *router, ceni_block **fresh, ceni_block **block);

/* Give a place back, once no thread can touch it. Return a block that must be freed after the lock is dropped, or
 * NULL. */
ceni_block *ceni_cells_give_locked(cen_router *router, ceni_block *block, cen_member *cell);

/* NULL is allowed. */
void ceni_cells_free(const cen_router *router, ceni_block *block);

#endif
