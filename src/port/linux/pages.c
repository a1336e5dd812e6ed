/* SPDX-License-Identifier: MIT */
/* Gives unused pages back to the system. Locked memory and shared pages stay. */
#include <sys/mman.h>
#include <unistd.h>

#include "port/port.h"

void ceni_pages_forget(void *start, size_t size)
{
    long page = sysconf(_SC_PAGESIZE);
    if (page <= 0) return;
    uintptr_t mask = (uintptr_t)page - 1, from = ((uintptr_t)start + mask) & ~mask,
              to = ((uintptr_t)start + size) & ~mask;
    if (from < to) (void)madvise((void *)from, to - from, MADV_DONTNEED); /* if it fails, the pages stay */
}
