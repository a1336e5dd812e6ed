/* SPDX-License-Identifier: MIT */
/* Unused pages stay: POSIX has no call that is certain to give them back. */
#include "port/port.h"

void ceni_pages_forget(void *start, size_t size)
{
    (void)start, (void)size;
}
