/* SPDX-License-Identifier: MIT */
/* All memory of the library comes through here. */
#ifndef CENI_BASE_ALLOC_H
#define CENI_BASE_ALLOC_H

#include <stddef.h>

#include <cenote/allocator.h>

#include "base/spi.h"

CENI_SPI_BEGIN

/* `size` zeroed bytes at `align`, a power of two, from `from` (NULL: the
 * process-wide allocator). NULL when there are none. */
void *ceni_alloc(const cen_allocator *from, size_t size, size_t align);

/* Takes back; NULL is allowed. Size and alignment as they were asked for. */
void ceni_free(const cen_allocator *from, void *memory, size_t size, size_t align);

/* The same from the process-wide allocator, which is malloc and free. These may be called with a lock held, and in the tests'
 * builds the other two may not: by calling these, a place says that no program's allocator is called there. */
void *ceni_own_alloc(size_t size, size_t align);
void ceni_own_free(void *memory, size_t size, size_t align);

/* The same for memory of which only a part may be used: in the process-wide allocator, pages that nobody touches need not
 * become resident. Given back by its own function, with the size and the alignment as they were asked for. */
void *ceni_alloc_sparse(const cen_allocator *from, size_t size, size_t align);
void ceni_free_sparse(const cen_allocator *from, void *memory, size_t size, size_t align);

CENI_SPI_END

#endif
