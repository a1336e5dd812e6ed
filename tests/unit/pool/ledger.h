/* SPDX-License-Identifier: MIT */
/* An allocator that knows what it gave and can be told to give no more. */
#ifndef TESTS_UNIT_POOL_LEDGER_H
#define TESTS_UNIT_POOL_LEDGER_H

#include <cenote/allocator.h>

#include <stdlib.h>

#include "support/test.h"

typedef struct ledger {
    size_t bytes;          /* given and not yet back */
    unsigned given, taken; /* calls of alloc that gave something, and of free */
    bool exhausted;
} ledger;

typedef struct receipt {
    size_t size, align;
    void *start;
} receipt;

static inline void *ledger_alloc(void *argument, size_t size, size_t align)
{
    ledger *book = argument;
    expect(size > 0 && align > 0 && (align & (align - 1)) == 0);
    if (book->exhausted) return NULL;
    char *start = malloc(size + align + sizeof(receipt));
    uintptr_t place = ((uintptr_t)start + sizeof(receipt) + align - 1) & ~(uintptr_t)(align - 1);
    memcpy((void *)(place - sizeof(receipt)), &(receipt){size, align, start}, sizeof(receipt));
    memset((void *)place, 0xA5, size); /* what is not zero must not be taken for zero */
    book->bytes += size;
    book->given++;
    return (void *)place;
}

static inline void ledger_free(void *argument, void *memory, size_t size, size_t align)
{
    ledger *book = argument;
    receipt given;
    memcpy(&given, (char *)memory - sizeof given, sizeof given);
    expect(given.size == size && given.align == align);
    memset((char *)memory - sizeof given, 0, sizeof given); /* a second free does not match */
    memset(memory, 0xDD, size);
    book->bytes -= size;
    book->taken++;
    free(given.start);
}

static inline cen_allocator allocator_of(ledger *book)
{
    return (cen_allocator){ledger_alloc, ledger_free, book};
}

#endif
