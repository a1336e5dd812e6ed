/* SPDX-License-Identifier: MIT */
/* The owner of what a start of a child registers; see owner.c. */
#ifndef CENI_SUPERVISOR_OWNER_H
#define CENI_SUPERVISOR_OWNER_H

#include <cenote/owner.h>

/* The start is over: its entries go. With no lock held. NULL is allowed. */
void ceni_child_owner_end(cen_owner *owner);

#endif
