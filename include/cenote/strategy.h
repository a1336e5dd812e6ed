/* SPDX-License-Identifier: MIT */
/*
 * Load balancing strategies: which member (backend) a router picks. libcenote-route.
 *
 * A strategy is a value { type, argument }. The following strategies are ready to use. The last column shows what
 * concurrent picks share:
 *
 *     random               each member equally likely, from the thread's own numbers  nothing
 *     round robin          in turn, each thread by itself                             nothing; skips if members change
 *     round robin, shared  in turn, by one counter for all threads                    one word; skips if members change
 *     round robin, strict  exactly the member that was picked longest ago             a lock
 *     least in flight      exactly the fewest uses; on a tie, the one idle longest    a lock
 *     two choices          the less used of two members at random                     nothing
 *     peak EWMA            the lower cost (latency x uses) of two members at random   one word of the member
 *     weighted             at random, in proportion to weight                         nothing
 *     consistent hash      by the key of the pick; few keys move when members change  nothing
 *
 * To write another strategy, fill in a cen_strategy_type. The nine strategies above, in src/router, can serve as
 * models.
 */
#ifndef CENOTE_STRATEGY_H
#define CENOTE_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/allocator.h>
#include <cenote/executor.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_member cen_member;

/* The parameters of a pick. All zero means none. */
typedef struct cen_route_hint {
    uint64_t key;            /* consistent hash: members are picked by it; see cen_route_key */
    const cen_member *avoid; /* not this member, if there is another; only compared, so it may have been removed */
} cen_route_hint;

/* Return a number for a key of bytes. It is the same in every process and on every machine. */
CEN_API uint64_t cen_route_key(const void *bytes, size_t size);

/* The members that may be picked, as strategies see them. A set never changes: when the members change, a new set is
 * published. */
typedef struct cen_member_set {
    uint32_t count;
    uint32_t quick_;   /* private: the kind of inline pick that the strategy has */
    const void *table; /* the strategy's, for this set */
    /* private: `count` members; cen_member_set_at reads them */
    CEN_ATOMIC_(cen_member *) at_[1];
} cen_member_set;

/* Return the member at an index below set->count. */
CEN_API cen_member *cen_member_set_at(const cen_member_set *set, uint32_t index);

/* Values for cen_strategy_type.needs: the information that a strategy needs. */
enum {
    CEN_STRATEGY_LOAD = 1 << 0,    /* the strategy calls cen_member_load */
    CEN_STRATEGY_LATENCY = 1 << 1, /* `ended` needs the latency */
};

/* The functions of a strategy. They must not wait, and must not call functions of the library other than those of this
 * header. `name` and `pick` are required, and `arrange` requires `table_size`. All other functions may be NULL. */
typedef struct cen_strategy_type {
    size_t size;        /* sizeof(cen_strategy_type) */
    const char *name;   /* for error texts */
    unsigned needs;     /* CEN_STRATEGY_LOAD, CEN_STRATEGY_LATENCY, both or 0 */
    size_t member_size; /* bytes of strategy data in each member, initially zero; see cen_member_data */
    /* init is called when a router is created, and fini when it ends. init writes the strategy's state for this router
     * to *state. */
    cen_status (*init)(const void *argument, const cen_allocator *allocator, void **state, cen_error *error);
    void (*fini)(void *state, const cen_allocator *allocator);
    /* Called under the router's lock before a set is published. arrange fills in the set's table: table_size(count)
     * bytes, all zero. The size must not decrease as the number of members grows. */
    size_t (*table_size)(void *state, uint32_t count);
    void (*arrange)(void *state, const cen_member_set *set, void *table);
    /* Called under the router's lock when a member joins the set or leaves it. A member that left may still be picked
     * from the old set, and uses of it may still end. */
    void (*joined)(void *state, cen_member *member);
    void (*left)(void *state, cen_member *member);
    /* Returns one member of the set, which is not empty. Called by any thread, in a read section. If `used` is true, a
     * use of the member begins, and exactly one call of `ended` follows for that use. */
    cen_member *(*pick)(void *state, const cen_member_set *set, const cen_route_hint *hint, bool used);
    /* Called when a use begins on a member that `pick` did not choose: a caller was waiting for room, and this member
     * has room. */
    void (*begun)(void *state, cen_member *member);
    /* Called when a use has ended. latency_ns is 0 if the latency is not known. It is negative if the use says nothing
     * about the member, either because the use was cancelled or because it did not begin (the member was full). */
    void (*ended)(void *state, cen_member *member, int64_t latency_ns, bool failed);
} cen_strategy_type;

/* A strategy, passed by value. All zero means the router's default. */
typedef struct cen_strategy {
    const cen_strategy_type *type;
    const void *argument; /* for init */
} cen_strategy;

/* Pick at random, each member equally likely. */
CEN_API cen_strategy cen_strategy_random(void);

/* Pick in turn, each thread by itself. A thread remembers its turn in each of the four routers that it used last. In
 * any other router, it begins at an arbitrary member. */
CEN_API cen_strategy cen_strategy_round_robin(void);

/* Pick in turn, using one counter for all threads. The strategy's argument is NULL by default. It may also point to a
 * const uint64_t that contains the number of the first turn; this number is read only once. The index of the member is
 * the turn modulo the number of members. After turn 2^64 - 1, the counter continues with 0; some members may be skipped
 * once at that point. */
CEN_API cen_strategy cen_strategy_shared_round_robin(void);

/* Pick by strict round robin, by least in flight, or by two choices: see the table at the top. */
CEN_API cen_strategy cen_strategy_strict_round_robin(void);
CEN_API cen_strategy cen_strategy_least_in_flight(void);
CEN_API cen_strategy cen_strategy_two_choices(void);

/* Pick two members at random, and take the one with the lower cost. A member's latency is a moving average: it rises
 * immediately after a slower reply, and halves every seven seconds. A failure doubles it. The latency is not yet known
 * when a member comes up. */
CEN_API cen_strategy cen_strategy_peak_ewma(void);

/* Pick at random, in proportion to the members' weights. */
CEN_API cen_strategy cen_strategy_weighted(void);

/* Pick by the key of the pick. Members are distinguished by their names, which must differ. The largest share of keys
 * is about a tenth above the mean, and the smallest is about a tenth below it. */
CEN_API cen_strategy cen_strategy_consistent_hash(void);

/* ---- For a program's own strategies ------------------------------------------------- */

/* Return the member's uses in flight. The number is exact if the member has a limit. Otherwise, it is exact for the
 * calling thread's own uses, and includes the uses of other threads as they were when this thread last looked at them.
 * The thread looks again after every 8 of its own uses of the member (every 64 while it has none in flight), and in
 * about one in 64 calls of this function. */
CEN_API uint64_t cen_member_load(const cen_member *member);
/* Return the member's weight. */
CEN_API uint32_t cen_member_weight(const cen_member *member);
/* Return what cen_route_key returns for the member's name. */
CEN_API uint64_t cen_member_hash(const cen_member *member);
/* Return the strategy's data in the member: member_size bytes. */
CEN_API void *cen_member_data(const cen_member *member);

/* Return a random number below n, which must not be 0, from the thread's own generator. */
CEN_API uint32_t cen_strategy_below(uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
