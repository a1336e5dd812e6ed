/* SPDX-License-Identifier: MIT */
/*
 * Read-copy-update: read sections, in which every object that a reader finds stays valid, and the bin, which frees
 * objects that others may still be reading. Only this room calls liburcu.
 *
 *     ceni_read_begin();                          wait-free, except a thread's first call
 *     thing = ceni_load_acquire(&published);
 *     use(thing);
 *     ceni_read_end();
 *
 *     ceni_store_release(&published, newer);      the writer that replaces it
 *     ceni_bin_put(&bin, &older->retired, release, size);
 *
 * Sections nest. In a section a thread must not wait for a grace period, directly or through another thread:
 * ceni_rcu_wait would never return.
 *
 * The build chooses the implementation: urcu.c is liburcu (the "bulletproof" flavour, in which threads neither
 * register nor unregister), fake.c the same for the controlled scheduler.
 *
 * Publishing and reading use release and acquire of base/atomic.h, not liburcu's macros, so that the order tables,
 * the scheduler and ThreadSanitizer see them.
 *
 * Threads: any thread may call any function.
 * Fork: the first ceni_rcu_join installs liburcu's fork hooks, unless the program has declared that it installs them
 * itself. Sections work in the child.
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
#define _LGPL_SOURCE /* inline versions of the short functions; liburcu allows them to programs of any licence */
#endif
/* liburcu's bulletproof flavour declares the record of a reader as aligned to 128 bytes, and allocates it from an
 * arena that aligns to 32. Nothing depends on the larger alignment. But UndefinedBehaviorSanitizer sees the short
 * functions inlined into ours, and reports each access. So the alignment check, and no other, is switched off for
 * these functions. */
#if defined __clang__ && !defined _URCU_BP_H
#pragma clang attribute push(__attribute__((no_sanitize("alignment"))), apply_to = function)
#include <urcu/urcu-bp.h>
#pragma clang attribute pop
#else
#include <urcu/urcu-bp.h>
#endif
#endif

/* ---- Thread-local words of this library ----------------------------------------- */

enum {
    CENI_ROUTE_RANDOM = 0,    /* state of its random numbers; 0: not seeded yet (router/thread.h) */
    CENI_ROUTE_STRIPE = 1,    /* its stripe of counters, and a bit; 0: not assigned yet (router/thread.h) */
    CENI_ROUTE_OWNER = 2,     /* its owner of entries (registry/owner.c) */
    CENI_ROUTE_SECTION = 3,   /* fake.c */
    CENI_ROUTE_TURNS = 4,     /* 4 pairs: a router's number and its round-robin position (router/thread.h) */
    CENI_ROUTE_RELEASES = 12, /* nesting of the releases that the thread runs (bin.c) */
    CENI_ROUTE_ROOM = 13
};

/* The calling thread's words, zero when it starts. */
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
/* ThreadSanitizer cannot see that the end of a section comes before the end of a grace period that waited for it:
 * liburcu orders the two by a system call that puts barriers into the readers. So a release here and an acquire in
 * ceni_rcu_wait, on one tag, tell ThreadSanitizer. This does not order what a reader does outside a section, and a
 * free without a grace period is still reported. */
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

/* Wait for a grace period: return when every section that was open at the call has ended. Not allowed in a section. */
void ceni_rcu_wait(void);

/* Install the fork hooks, once. Called before the first use in a process. */
void ceni_rcu_join(void);

/* ---- The bin: objects that are released after a grace period --------------------------- */

typedef struct ceni_retired {
    struct ceni_retired *next;
    void (*release)(struct ceni_retired *retired); /* no lock is held, no section is open */
    size_t bytes;
} ceni_retired;

/* A bin is part of the struct that retires objects. It is emptied in batches, on a helper of the runtime. If it
 * contains many bytes, the put that exceeds the limit empties it, unless that put is in a section. */
typedef struct ceni_bin {
    cen_runtime *runtime;
    cen_job job;
    ceni_mutex mutex; /* rank BIN */
    /* under the mutex */
    ceni_retired *first, *final;
    size_t bytes;
    bool posted;                        /* the job is posted, or runs */
    uint32_t emptying;                  /* batches taken out and not yet released */
    void (*last)(struct ceni_bin *bin); /* abandoned: called when the bin is empty */
    _Atomic uint32_t turns;             /* a futex word: changes when batches were released */
} ceni_bin;

/* The runtime outlives the bin. */
void ceni_bin_init(ceni_bin *bin, cen_runtime *runtime);

/* Release the object after a grace period. It must be unpublished: no new reader can find it. The caller may hold
 * locks below rank BIN; then `may_wait` is false. */
void ceni_bin_put(ceni_bin *bin, ceni_retired *retired, void (*release)(ceni_retired *retired), size_t bytes,
                  bool may_wait);

/* Call this after dropping the lock under which objects were put: if the bin contains many bytes and the thread has
 * no open section, wait for a grace period and release them. */
void ceni_bin_relieve(ceni_bin *bin);

/* Wait until all objects put have been released. Not allowed in a section, in a release, or with a lock held. */
void ceni_bin_empty(ceni_bin *bin);

/* Return true if the calling thread runs a release. A thread in a release must not wait for a bin to be empty. */
static inline bool ceni_bin_is_releasing(void)
{
    return ceni_route_room()[CENI_ROUTE_RELEASES] > 0;
}

/* Abandon the bin: nothing is put from now on, except by a release that is running. When all objects have been
 * released, `last` is called once; after that no thread touches the bin. That may happen at once, later on a helper,
 * or at the end of the release in which this is called. */
void ceni_bin_abandon(ceni_bin *bin, void (*last)(ceni_bin *bin));

#endif
