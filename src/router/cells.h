/* SPDX-License-Identifier: MIT */
/* Where members' stripes are; cells.c. */
#ifndef CENI_ROUTER_CELLS_H
#define CENI_ROUTER_CELLS_H

#include "router/internal.h"

/* Whether the next place needs another block, and one; the second is called with no lock held. NULL: there is no memory. */
bool ceni_cells_are_taken_locked(const cen_router *router);
ceni_block *ceni_cells_alloc(const cen_router *router);

/* A place for the stripes of a member, all zero: its handle, and in *block whose it is. Takes *fresh if it needs another block,
 * and makes it NULL. NULL: it needs one, and has none. */
cen_member *ceni_cells_take_locked(cen_router *router, ceni_block **fresh, ceni_block **block);

/* Gives it back, when nobody can touch it any more. Returns a block that is to be freed when the lock is dropped, or NULL. */
ceni_block *ceni_cells_give_locked(cen_router *router, ceni_block *block, cen_member *cell);

/* NULL is allowed. */
void ceni_cells_free(const cen_router *router, ceni_block *block);

#endif
