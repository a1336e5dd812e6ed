/* SPDX-License-Identifier: MIT */
/*
 * The ABI rule of cenote/sized.h, tried on one struct of the public headers.
 *
 * A file of such tests is a table. Each row names the struct and a call that
 * takes it; tools/check-sized fails if a public struct has no row:
 *
 *     static const sized_case cases[] = {
 *         SIZED_INPUT(cen_queue_options, element_size, fill_queue, call_queue),
 *         SIZED_OUTPUT(cen_pool_stats, call_pool_look),
 *     };
 *     TEST(...) { SIZED_TRY(cases); }
 */
#ifndef TESTS_SUPPORT_SIZED_H
#define TESTS_SUPPORT_SIZED_H

#include <cenote/sized.h>

#include <stdbool.h>

typedef struct sized_case {
    const char *name;
    size_t known;                    /* sizeof */
    size_t least;                    /* the smallest size that the call accepts */
    void (*fill)(void *full);        /* of an input: sets the fields that the call needs; NULL: none */
    cen_status (*call)(void *given); /* makes the call, undoes what it did and returns its status */
    bool is_output;
} sized_case;

/* An input whose fields up to `last` are required. `size`: none is. */
#define SIZED_INPUT(type, last, fill, call) \
    { \
#type, sizeof(type), offsetof(type, last) + sizeof((type *)0)->last, fill, call, false \
    }

/* A struct that the call writes. */
#define SIZED_OUTPUT(type, call) \
    { \
#type, sizeof(type), sizeof(size_t), NULL, call, true \
    }

/* Make the call with every size: all smaller ones, the same, larger ones with a tail of zeros and without, and those
 * that are no size. The struct lies before a page that cannot be touched, with guard bytes in between. */
void sized_try(const sized_case *one);

/* A struct that the library passes to a callback, and the size that the callback saw. */
typedef struct sized_shown {
    const char *name;
    size_t known;
    size_t (*seen)(void);
} sized_shown;

#define SIZED_SHOWN(type, seen) \
    { \
#type, sizeof(type), seen \
    }

void sized_expect(const sized_shown *one);

/* A struct that lies within a sized one: it has no size of its own and never changes. Bytes on a 64-bit machine. */
#define SIZED_PART(type, bytes) \
    _Static_assert(sizeof(type) == (bytes) || sizeof(void *) != 8, \
                   #type " is a part of another struct: its size never changes");

#define SIZED_EXPECT(shown) \
    for (size_t at_ = 0; at_ < sizeof(shown) / sizeof *(shown); at_++) sized_expect(&(shown)[at_])

#define SIZED_TRY(cases) \
    for (size_t at_ = 0; at_ < sizeof(cases) / sizeof *(cases); at_++) sized_try(&(cases)[at_])

#endif
