/* SPDX-License-Identifier: MIT */
/*
 * A list that is read without a lock: the entries of a key or of an owner, in the order of registration.
 *
 *     first ──▶ A ──▶ B ──▶ C ──▶ NULL            last = C
 *                B is removed:
 *     first ──▶ A ─────────▶ C                    B's next is still C
 *
 * Writers hold the lock of the key's registry or of the owner. Readers are in a read section and follow only `next`.
 *
 * Invariants
 *  C1 The next of a removed link is not changed. A reader at a removed link goes on to what came after it, however much
 *     of that is removed meanwhile. Links never change places, so a reader neither misses nor repeats a link that
 *     stays.
 *  C2 A link is used again only after a grace period.
 *
 * Order table
 * [C1] append, remove | store of next, first | release | C2 | the entry that has the link, filled in
 *      | a reader sees an entry before its value
 * [C2] read | load of next, first | acquire | C1 | the same | the same
 *
 * Tested by tests/explore/registry_test.c.
 */
#ifndef CENI_REGISTRY_CHAIN_H
#define CENI_REGISTRY_CHAIN_H

#include <stddef.h>

#include "base/atomic.h"

typedef struct ceni_link {
    _Atomic(struct ceni_link *) next; /* readers, atomically */
    struct ceni_link *previous;       /* under the lock */
} ceni_link;

typedef struct ceni_chain {
    _Atomic(ceni_link *) first; /* readers, atomically */
    ceni_link *last;            /* under the lock */
} ceni_chain;

static inline ceni_link *ceni_chain_first(const ceni_chain *chain)
{
    return ceni_load_acquire(&((ceni_chain *)(uintptr_t)chain)->first); /* [C2] */
}

static inline ceni_link *ceni_chain_next(const ceni_link *link)
{
    return ceni_load_acquire(&((ceni_link *)(uintptr_t)link)->next); /* [C2] */
}

static inline void ceni_chain_append_locked(ceni_chain *chain, ceni_link *link)
{
    link->previous = chain->last;
    ceni_store_relaxed(&link->next, NULL);                         /* no reader sees it yet; carries nothing */
    if (chain->last) ceni_store_release(&chain->last->next, link); /* [C1] */
    else ceni_store_release(&chain->first, link);                  /* [C1] */
    chain->last = link;
}

static inline void ceni_chain_remove_locked(ceni_chain *chain, ceni_link *link)
{
    ceni_link *next = ceni_load_relaxed(&link->next);                    /* written under the lock; carries nothing */
    if (link->previous) ceni_store_release(&link->previous->next, next); /* [C1] */
    else ceni_store_release(&chain->first, next);                        /* [C1] */
    if (next) next->previous = link->previous;
    else chain->last = link->previous;
}

#endif
