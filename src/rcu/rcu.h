/* SPDX-License-Identifier: MIT */
/*
 * The one seam to read-copy-update: sections in which what was found stays
 * there, and a way to let go of what others may still be reading.
 *
 *     ceni_read_begin();                          wait-free, after the thread's first time
 *     thing = ceni_load_acquire(&published);
 *     use(thing);
 *     ceni_read_end();
 *
 *     ceni_store_release(&published, newer);      whoever replaces it
 *     ceni_bin_put(&bin, &older->retired, release, size);
 *
 * Sections nest. In a section a thread must not wait for a grace period, its
 * own or through anybody else: ceni_rcu_wait there would never return.
 *
 * Which files implement it is the build's choice: urcu.c is liburcu (the "bulletproof"
 * flavour: a thread need not register, nor be told to leave), fake.c the same for the
 * controlled scheduler.
 *
 * Publishing and reading are our own release and acquire, not liburcu's macros,
 * so that the order tables, the scheduler and ThreadSanitizer see them.
 *
 * Threads: everything from any thread.
 * Fork: hooks of liburcu are installed with the first ceni_rcu_join, unless the
 * program has said that it does so itself; sections work in the child.
 */
#ifndef CENI_RCU_RCU_H
#define CENI_RCU_RCU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/runtime.h>
#include <cenote/status.h>

#include "base/atomic.h"
#include "port/mutex.h"
#include "port/port.h"
#include "runtime/runtime.h"

#ifndef CENI_WATCHED
#if !defined _LGPL_SOURCE && !defined __clang_analyzer__ /* which would analyse liburcu with us */
#define _LGPL_SOURCE /* the short functions, which its authors offer to everybody, inline */
#endif
/* liburcu's bulletproof flavour declares the record of a reader as aligned to 128 bytes, and takes it from an arena that
 * aligns it to 32. Nothing there depends on the larger number, but UndefinedBehaviorSanitizer, which sees the short functions
 * inline in ours, reports each touch. Their alignment, and nothing else of them or of us, is not checked. */
#if defined __clang__ && !defined _URCU_BP_H
#pragma clang attribute push(__attribute__((no_sanitize("alignment"))), apply_to = function)
#include <urcu/urcu-bp.h>
#pragma clang attribute pop
#else
#include <urcu/urcu-bp.h>
#endif
#endif

/* ---- What this library remembers per thread ------------------------------------ */

enum {
    CENI_ROUTE_RANDOM = 0,    /* the thread's own random numbers, 0: not yet begun (router/thread.h) */
    CENI_ROUTE_STRIPE = 1,    /* its stripe of counters, and a bit; 0: not yet known (router/thread.h) */
    CENI_ROUTE_OWNER = 2,     /* its owner of entries (registry/owner.c) */
    CENI_ROUTE_SECTION = 3,   /* fake.c */
    CENI_ROUTE_TURNS = 4,     /* 4 pairs: a router's number and where it goes round (router/thread.h) */
    CENI_ROUTE_RELEASES = 12, /* releases that the thread is in, one inside the other (bin.c) */
    CENI_ROUTE_ROOM = 13
};

/* The calling thread's own words, zero when it begins. */
#ifdef CENI_WATCHED
static inline uint64_t *ceni_route_room(void)
{
    return ceni_thread_room() + (int)CENI_THREAD_ROOM;
}
_Static_assert((int)CENI_ROUTE_ROOM <= (int)CENI_THREAD_ROOM_BEYOND, "the world has room for them");
#else
extern __attribute__((visibility("hidden"),
                      tls_model("initial-exec"))) _Thread_local uint64_t ceni_route_words[CENI_ROUTE_ROOM];

static inline uint64_t *ceni_route_room(void)
{
    return ceni_route_words;
}
#endif

/* ---- Sections --------------------------------------------------------------------- */

#if defined __SANITIZE_THREAD__
#define CENI_RCU_TSAN 1
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define CENI_RCU_TSAN 1
#endif
#endif

#ifdef CENI_WATCHED
void ceni_read_begin(void);
void ceni_read_end(void);
bool ceni_read_is_open(void);
#else
/* ThreadSanitizer cannot see that the end of a section comes before the end of a
 * grace period that waited for it: liburcu orders the two by a system call that puts
 * barriers into the readers. It is told so here and in ceni_rcu_wait, by a release and an
 * acquire of one tag. What a reader does outside of a section is not ordered by
 * this, and a free without a grace period is still reported. */
#ifdef CENI_RCU_TSAN
extern char ceni_rcu_tag;
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#endif

static inline void ceni_read_begin(void)
{
    urcu_bp_read_lock();
}

static inline void ceni_read_end(void)
{
#ifdef CENI_RCU_TSAN
    __tsan_release(&ceni_rcu_tag);
#endif
    urcu_bp_read_unlock();
}

static inline bool ceni_read_is_open(void)
{
    return urcu_bp_read_ongoing() != 0;
}
#endif

/* Returns when every section that was open at the call has ended. Not in a section. */
void ceni_rcu_wait(void);

/* Before the first use in a process: installs the fork hooks, once. */
void ceni_rcu_join(void);

/* ---- The bin: what is to be let go of when nobody can be reading it -------------------- */

typedef struct ceni_retired {
    struct ceni_retired *next;
    void (*release)(struct ceni_retired *retired); /* no lock is held, no section is open */
    size_t bytes;
} ceni_retired;

/* Part of whatever retires things. Empties itself in batches: on a helper of the
 * runtime, and, once much lies in it, in the put that made it so many bytes, if that is not within a
 * section. */
typedef struct ceni_bin {
    cen_runtime *runtime;
    cen_job job;
    ceni_mutex mutex; /* rank BIN */
    /* under the mutex */
    ceni_retired *first, *final;
    size_t bytes;
    bool posted;                        /* the job is, or runs */
    uint32_t emptying;                  /* batches that are out and not yet released */
    void (*last)(struct ceni_bin *bin); /* abandoned: to be called when nothing is left */
    _Atomic uint32_t turns;             /* a futex word: batches that were released */
} ceni_bin;

/* The runtime outlives the bin. */
void ceni_bin_init(ceni_bin *bin, cen_runtime *runtime);

/* Lets go of it later. Nobody can find it any more. The caller may hold locks below rank BIN: then `may_wait` is false. */
void ceni_bin_put(ceni_bin *bin, ceni_retired *retired, void (*release)(ceni_retired *retired), size_t bytes,
                  bool may_wait);

/* Whoever put things under a lock calls this when it has dropped it: if much lies in the bin, and no section is open, it
 * waits for a grace period and releases. */
void ceni_bin_relieve(ceni_bin *bin);

/* Returns when all that was put has been released. Not in a section nor in a release, no lock held. */
void ceni_bin_empty(ceni_bin *bin);

/* Whether the calling thread is within a release: there nobody may wait for a bin to be empty. */
static inline bool ceni_bin_is_releasing(void)
{
    return ceni_route_room()[CENI_ROUTE_RELEASES] > 0;
}

/* Nothing will be put any more, except from within a release that is going on: when all has been released `last` is called,
 * once, and then nobody touches the bin. That may be at once, or later on a helper, or at the end of the very release
 * in which this is called. */
void ceni_bin_abandon(ceni_bin *bin, void (*last)(ceni_bin *bin));

#endif
