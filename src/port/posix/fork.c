/* SPDX-License-Identifier: MIT */
/*
 * The fork epoch: how code notices that it now runs in a forked child.
 *
 * The naive version compares getpid() with a remembered one. That is a system
 * call per question, and process numbers come round again: a grandchild may
 * have the number that its grandparent had.
 *
 * Here the epoch lives in a page of its own that the kernel fills with zeros
 * in the child (MADV_WIPEONFORK). This also works for children made without
 * the libc's fork. Reading zero therefore means "fresh child, or first use",
 * and whoever reads it assigns a new epoch:
 *
 *     parent            child                     grandchild
 *     page  5           page  0 -> 6              page  0 -> 7
 *     last  5           last  5 -> 6 (a copy)     last  6 -> 7
 *
 * `last` is in ordinary memory and is raised before the page is written. At
 * every instant it is therefore at least what the page holds, and a child
 * copied at that instant starts above every epoch of its ancestors. Brothers
 * may have the same epoch; they share no memory that could confuse them.
 *
 * The page is static: a question is one load from a fixed address. Where the
 * kernel cannot wipe it, an atfork handler puts the zero there; everything
 * else is the same. Threads that all come first may each mark the page or
 * register the handler, which zeroes again what is zero and changes nothing.
 *
 * The rest of the page is words for others, who want to see by one load both
 * something of their own and that the process is still the same. Which of them
 * are taken is noted in ordinary memory: in a child those of the parent's stay
 * taken, and are never anybody else's, so a pointer to one, kept from before
 * the fork, finds the zero for ever.
 *
 * Order table
 * [F1] assign, cas    | cas     | release | the copy made by fork | `last` | the child's copy of `last` is older than an epoch in use, and the child assigns that epoch again
 * [F2] take, or       | or      | seq_cst | F3      | the zero in the word | who takes a word finds what another had there
 * [F3] give, and      | and     | seq_cst | F2      | the same | the same
 *
 * All other operations are relaxed: an epoch is a number, and its initial zero
 * is the loader's or the kernel's.
 *
 * Tested by tests/unit/port/fork_test.c.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "base/fault.h"
#include "port/port.h"

/* The largest page there is. Not the same everywhere, because old loaders
 * align a library to the machine's usual pages and no further. */
#if defined(__x86_64__) || defined(__i386__)
enum { PAGE_LIMIT = 4096 };
#else
enum { PAGE_LIMIT = 65536 };
#endif

enum { WORDS = PAGE_LIMIT / sizeof(uint64_t) };

/* The epoch, and words for others, in a page of their own: everything in it is wiped. */
_Alignas(PAGE_LIMIT) _Atomic uint64_t ceni_fork_page[WORDS];
extern _Atomic uint64_t ceni_fork_page_of[WORDS] __attribute__((alias("ceni_fork_page")));

static _Atomic uint64_t last;              /* at least the highest epoch of this lineage */
static _Atomic uint64_t taken[WORDS / 64]; /* of the words a bit each */
static _Atomic bool watched;               /* the page is marked, or the handler registered; true in children too */

#ifdef MADV_WIPEONFORK
/* Some emulators answer yes to every advice and do nothing. One that accepts
 * advice that does not exist is not believed. */
static bool mark_page(void)
{
    if (ceni_fault(CENI_FAULT_MAP)) return false;
    size_t size = sizeof ceni_fork_page;
    return madvise(ceni_fork_page, size, -1) != 0 && madvise(ceni_fork_page, size, MADV_WIPEONFORK) == 0;
}
#else
static bool mark_page(void)
{
    return false;
}
#endif

static void wipe_in_child(void)
{
    /* the child has one thread; carries nothing */
    for (size_t i = 0; i < WORDS; i++) ceni_store_relaxed(&ceni_fork_page[i], 0);
}

/* Before the first epoch is written, so that a child forked at any instant
 * finds either no epoch or a wiped one. If there is no memory for the handler
 * either, the epoch works but does not notice forks. */
static void watch_forks(void)
{
    if (ceni_load_relaxed(&watched)) return; /* the kernel's memory, not ours; carries nothing */
    if (!mark_page()) pthread_atfork(NULL, NULL, wipe_in_child);
    ceni_store_relaxed(&watched, true);
}

/* Several threads may come here at once; all leave with the same epoch. */
uint64_t ceni_fork_assign(void)
{
    watch_forks();
    uint64_t found = 0, mine = ceni_add_relaxed(&last, 1) + 1;
    return ceni_cas_release(&ceni_fork_page[0], &found, mine) ? mine : found; /* [F1] */
}

_Atomic uint64_t *ceni_fork_take_word(void)
{
    watch_forks();
    for (size_t i = CENI_FORK_FIRST_FREE_WORD; i < WORDS; i++) {
        uint64_t bit = UINT64_C(1) << i % 64;
        if (ceni_load_relaxed(&taken[i / 64]) & bit) continue; /* decided by the next line; carries nothing */
        if (!(ceni_or_seq_cst(&taken[i / 64], bit) & bit)) return &ceni_fork_page[i]; /* [F2] */
    }
    return NULL;
}

void ceni_fork_give_word(_Atomic uint64_t *word)
{
    size_t i = (size_t)(word - ceni_fork_page);
    ceni_store_relaxed(word, 0);                                /* by way of F3; carries nothing */
    ceni_and_seq_cst(&taken[i / 64], ~(UINT64_C(1) << i % 64)); /* [F3] */
}
