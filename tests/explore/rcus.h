/* SPDX-License-Identifier: MIT */
/* Things that are published, read in sections and let go of by a bin. Their words are watched: a touch of one that was freed is seen. */
#ifndef TESTS_EXPLORE_RCUS_H
#define TESTS_EXPLORE_RCUS_H

#include "base/alloc.h"
#include "base/list.h"
#include "rcu/rcu.h"
#include "support/test.h"

enum { ALIVE = 42 };

typedef struct thing {
    ceni_retired retired;
    _Atomic uint32_t word;
} thing;

static _Atomic uint32_t released;
static _Atomic(thing *) published;

static inline thing *make_thing(void)
{
    thing *self = ceni_alloc(NULL, sizeof *self, _Alignof(thing));
    expect(self != NULL);
    ceni_store_relaxed(&self->word, ALIVE); /* published by whoever does; carries nothing */
    return self;
}

static inline void release_thing(ceni_retired *retired)
{
    thing *self = CENI_LIST_ENTRY(retired, thing, retired);
    expect(!ceni_read_is_open());
    ceni_free(NULL, self, sizeof *self, _Alignof(thing));
    ceni_add_seq_cst(&released, 1);
}

static inline void put_thing(ceni_bin *bin, thing *self)
{
    ceni_bin_put(bin, &self->retired, release_thing, sizeof *self, true);
}

/* Looks at what is published, if anything is, in a section that is open. */
static inline void look_at_published(void)
{
    thing *found = ceni_load_acquire(&published);
    if (found) expect_equal(ceni_load_relaxed(&found->word), ALIVE);
}

static inline void read_once(void *unused)
{
    (void)unused;
    ceni_read_begin();
    look_at_published();
    ceni_read_end();
}

#endif
