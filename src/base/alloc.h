/* SPDX-License-Identifier: MIT */
/* Allocation: all memory of the library comes from these functions. */
#ifndef CENI_BASE_ALLOC_H
#define CENI_BASE_ALLOC_H

#include <stddef.h>

#include <cenote/allocator.h>

#include "base/spi.h"

CENI_SPI_BEGIN

/* Allocate `size` zeroed bytes at `align`, a power of two, from `from` (NULL: the process-wide allocator). Returns
 * NULL if there is no memory. */
void *ceni_alloc(const cen_allocator *from, size_t size, size_t align);

/* Free memory; NULL is allowed. Size and alignment are those of the allocation. */
void ceni_free(const cen_allocator *from, void *memory, size_t size, size_t align);

/* The same from the process-wide allocator, which is malloc and free. These two may be called with a lock held. The
 * two above may not, and test builds check that. A call of these two therefore shows that the program's allocator is
 * never called at that place. */
void *ceni_own_alloc(size_t size, size_t align);
void ceni_own_free(void *memory, size_t size, size_t align);

/* The same for memory that may be used only in part: with the process-wide allocator, untouched pages need not become
 * resident. Free it with ceni_free_sparse, with the size and alignment of the allocation. */
void *ceni_alloc_sparse(const cen_allocator *from, size_t size, size_t align);
void ceni_free_sparse(const cen_allocator *from, void *memory, size_t size, size_t align);

CENI_SPI_END

#endif
