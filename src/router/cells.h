/* SPDX-License-Identifier: MIT */
/* Where members' stripes are; cells.c. */
#ifndef CENI_ROUTER_CELLS_H
#define CENI_ROUTER_CELLS_H

#include "router/inside.h"

/* A place for the stripes of a member, all zero: its handle, and in *block whose it is. NULL: there is no memory. */
cen_member *ceni_cells_take_locked(cen_router *router, ceni_block **block);

/* Gives it back, when nobody can touch it any more. Returns a block that is to be freed when the lock is dropped, or NULL. */
ceni_block *ceni_cells_give_locked(cen_router *router, ceni_block *block, cen_member *cell);

/* NULL is allowed. */
void ceni_cells_free(const cen_router *router, ceni_block *block);

#endif
