/* SPDX-License-Identifier: MIT */
/* POSIX has no call that gives pages back for certain. */
#include "port/port.h"

void ceni_pages_forget(void *start, size_t size)
{
    (void)start, (void)size;
}
