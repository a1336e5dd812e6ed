/* SPDX-License-Identifier: MIT */
/*
 * The fork epoch: how code notices that it runs in a forked child.
 *
 * The naive version compares getpid() with a stored number. That is a system call each time, and process numbers are
 * reused: a grandchild may have its grandparent's number.
 *
 * Here the epoch is in a page of its own that the kernel fills with zeros in the child (MADV_WIPEONFORK). This also
 * works for children that were made without the libc's fork. Zero therefore means "fresh child, or first use", and a
 * thread that reads it assigns a new epoch:
 *
 *     parent            child                     grandchild
 *     page  5           page  0 -> 6              page  0 -> 7
 *     last  5           last  5 -> 6 (a copy)     last  6 -> 7
 *
 * `last` is in ordinary memory and is raised before the page is written. So at every instant it is at least the epoch
 * in the page, and a child that is copied at that instant starts above every epoch of its ancestors. Two children of
 * one parent may have the same epoch; they share no memory that could confuse them.
 *
 * The page is static: reading the epoch is one load from a fixed address. Where the kernel cannot wipe the page, an
 * atfork handler writes the zeros; everything else is the same. If several threads start at once, each may mark the
 * page or register the handler. A second handler writes zeros over zeros, which changes nothing.
 *
 * The other words of the page can be reserved, for code that wants to check with one load both a value of its own and
 * that the process is still the same. The set of reserved words is in ordinary memory. A child never hands out the
 * words that its parent had reserved, so an old pointer to one always reads 0 in the child.
 *
 * Order table
 * [F1] assign, cas    | cas     | release | the copy made by fork | `last` | the child's copy of `last` is older than an epoch in use, and the child assigns that epoch again
 * [F2] take, or       | or      | seq_cst | F3      | the zero in the word | a thread that takes the word finds another's value in it
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

/* The largest page size of the machine. It depends on the architecture, because old loaders align a library only to
 * the machine's usual page size. */
#if defined(__x86_64__) || defined(__i386__)
enum { PAGE_LIMIT = 4096 };
#else
enum { PAGE_LIMIT = 65536 };
#endif

enum { WORDS = PAGE_LIMIT / sizeof(uint64_t) };

/* The epoch and the words that can be reserved, in a page of their own: the whole page is wiped. */
_Alignas(PAGE_LIMIT) _Atomic uint64_t ceni_fork_page[WORDS];
extern _Atomic uint64_t ceni_fork_page_of[WORDS] __attribute__((alias("ceni_fork_page")));

static _Atomic uint64_t last;              /* at least the highest epoch of this lineage */
static _Atomic uint64_t taken[WORDS / 64]; /* one bit for each word */
static _Atomic bool watched;               /* the page is marked, or the handler registered; true in children too */

#ifdef MADV_WIPEONFORK
/* Some emulators accept every madvise and do nothing. A system that accepts an advice that does not exist is not
 * trusted. */
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

/* Called before the first epoch is written, so that a child forked at any instant finds no epoch or a wiped one. If
 * there is no memory for the handler either, the epoch works but does not notice forks. */
static void watch_forks(void)
{
    if (ceni_load_relaxed(&watched)) return; /* orders the kernel's state, not our memory; carries nothing */
    if (!mark_page()) pthread_atfork(NULL, NULL, wipe_in_child);
    ceni_store_relaxed(&watched, true);
}

/* Several threads may run this at once; all return the same epoch. */
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
