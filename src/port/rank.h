/* SPDX-License-Identifier: MIT */
/*
 * The ranks of the library's locks, in the order in which they are taken.
 *
 * A thread that holds a lock may only take a lock of a higher rank, so no cycle of threads that wait for one another
 * can form. Two locks of one rank are never held together. In builds with CENI_PLANTS each thread has a mask of the
 * ranks that it holds. Breaking the order, or calling the program's code with a lock held, prints the ranks and
 * aborts. In all other builds the checks are not in the binary.
 */
#ifndef CENI_PORT_RANK_H
#define CENI_PORT_RANK_H

#include <stdint.h>

/* name, what such a lock protects; the lowest rank, taken first, at the top */
#define CENI_RANK_LIST(X) \
    X(EVENTS, "who is told the process' events, and where they are") \
    X(DIRECTORY, "the list of every live component") \
    X(LOOK, "the readings of one who looks at a pool") \
    X(LANES, "changes of limits of lanes") \
    X(POOL, "who waits for a pool, and its places") \
    X(SUPERVISORS, "all supervisors of the process, by number") \
    X(SUPERVISOR, "children and what became of them") \
    X(CONNECTIONS, "the connections of a routing pool") \
    X(CONNECTION, "requests and bytes of a connection") \
    X(LOOPS, "the process' own loop, and who uses which") \
    X(POLLABLE, "who runs what is due in a pollable") \
    X(POLLER, "what is watched, and until when") \
    X(LOOP, "what the thread of a loop is asked to do") \
    X(REGISTRY, "keys and entries, and whose they are") \
    X(OWNER, "the entries of one owner") \
    X(ROUTER, "members, and who waits for one") \
    X(STRATEGY, "the order in which members are picked") \
    X(BIN, "what is let go of when nobody can be reading it") \
    X(ACTOR, "what an actor was told for later, and its end") \
    X(CREW, "the workers of a crew, which sleep, and its end") \
    X(SUSPENDED, "the suspended tasks of a crew") \
    X(RUNTIMES, "the process' own runtime, and who uses which") \
    X(RUNTIME, "alarms, errands and threads of a runtime") \
    X(WAITLIST, "those who wait for one thing, in their order") \
    X(STOP, "the waits that a stop token ends")

typedef enum ceni_rank {
#define CENI_RANK_ENUM_(name, words) CENI_RANK_##name,
    CENI_RANK_LIST(CENI_RANK_ENUM_)
#undef CENI_RANK_ENUM_
        CENI_RANK_COUNT
} ceni_rank;

#ifdef CENI_PLANTS

/* The calling thread's mask, one bit per rank held. In port/fake, where threads are fibers of one system thread, each
 * fiber has its own. */
uint32_t *ceni_rank_mask(void);

/* Note that `rank` is about to be taken. Aborts unless it is higher than all ranks held. */
void ceni_rank_enter(ceni_rank rank);

/* Note that `rank` is released. Aborts if it was not held. */
void ceni_rank_leave(ceni_rank rank);

/* Abort if the thread holds any lock. Called before every call of the program's code; `where` names that call.
 * base/alloc.c has its own declaration, for its calls of the program's allocator. */
void ceni_rank_expect_none(const char *where);

#else
#define ceni_rank_enter(rank) ((void)(rank))
#define ceni_rank_leave(rank) ((void)(rank))
#define ceni_rank_expect_none(where) ((void)(where))
#endif

#endif
