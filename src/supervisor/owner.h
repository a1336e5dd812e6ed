/* SPDX-License-Identifier: MIT */
/* The owner of the entries that a start of a child registers; see owner.c. */
#ifndef CENI_SUPERVISOR_OWNER_H
#define CENI_SUPERVISOR_OWNER_H

#include <cenote/owner.h>

/* End the owner of a start that is over, which removes its entries. With no lock held. NULL is allowed. */
void ceni_child_owner_end(cen_owner *owner);

#endif
