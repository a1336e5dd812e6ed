/* SPDX-License-Identifier: MIT */
/*
 * Strategies: which member of a router is picked. libcenote-route.
 *
 * A strategy is a value { type, argument }; those below are ready to use. Costs are for a pick beside other threads:
 *
 *     random               each alike, by the thread's own numbers         nothing shared
 *     round robin          in turn, each thread by itself                  nothing shared; skips when members change
 *     round robin, shared  in turn, by one counter for all threads         one shared word; skips when members change
 *     round robin, strict  who was picked longest ago, exactly             a lock
 *     least in flight      fewest uses, exactly; of equals the one idle for longest    a lock
 *     two choices          the less used of two at random                  nothing shared
 *     peak EWMA            of two at random, that with the lower cost: latency x uses    one word of the member
 *     weighted             at random in proportion to weight               nothing shared
 *     consistent hash      by the key of the pick; few keys move when members change    nothing shared
 *
 * To write another one, fill in a cen_strategy_type; src/router has the nine above as models, each in one file.
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

/* What the caller of a pick says; all zero: nothing. */
typedef struct cen_pick {
    uint64_t key;            /* consistent hash: members are picked by it; see cen_pick_key */
    const cen_member *avoid; /* not this one, if there is another; compared only, so it may be gone */
} cen_pick;

/* A number for a key of bytes, the same in every process and machine. */
CEN_API uint64_t cen_pick_key(const void *bytes, size_t size);

/* The members that may be picked: what strategies see. It never changes; a new one takes its place. */
typedef struct cen_member_set {
    uint32_t count;
    uint32_t quick_;   /* cenote's: which of the inline picks is the strategy's */
    const void *table; /* the strategy's, for this set */
    /* cenote's: so many as count says; cen_member_set_at */
    CEN_ATOMIC_(cen_member *) at_[1];
} cen_member_set;

CEN_API cen_member *cen_member_set_at(const cen_member_set *set, uint32_t index);

enum {
    CEN_STRATEGY_LOAD = 1 << 0,    /* calls cen_member_load */
    CEN_STRATEGY_LATENCY = 1 << 1, /* `ended` wants to know how long it took */
};

/* The functions of a strategy. None may wait, nor call anything of cenote but what is in this header. All but pick, and init,
 * may be NULL. */
typedef struct cen_strategy_type {
    size_t size;
    const char *name;
    unsigned needs;
    size_t member_size; /* bytes for the strategy in each member, zero when it is added: cen_member_data */
    /* For one router. init leaves its state in *state. */
    cen_status (*init)(const void *argument, const cen_allocator *allocator, void **state, cen_error *error);
    void (*fini)(void *state, const cen_allocator *allocator);
    /* A set is about to be published: fills its table of table_size(count) bytes, zero before. Under the router's lock.
     * The size for more members is not less. */
    size_t (*table_size)(void *state, uint32_t count);
    void (*arrange)(void *state, const cen_member_set *set, void *table);
    /* A member comes into the set, or leaves it. Under the router's lock. It may still be picked from the old set, and ended. */
    void (*joined)(void *state, cen_member *member);
    void (*left)(void *state, cen_member *member);
    /* Picks one of the set, which is not empty; any thread, in a read section. If `used`, a use of it begins, and one
     * call of `ended` for it will follow. */
    cen_member *(*pick)(void *state, const cen_member_set *set, const cen_pick *pick, bool used);
    /* A use begins that pick has not chosen: somebody waited, and this one has room. */
    void (*begun)(void *state, cen_member *member);
    /* A use has ended. latency_ns is 0 if it was not wanted, and negative if the use says nothing: it was cancelled, or did not
     * begin because the member was full. */
    void (*ended)(void *state, cen_member *member, int64_t latency_ns, bool failed);
} cen_strategy_type;

typedef struct cen_strategy {
    const cen_strategy_type *type;
    const void *argument; /* for init */
} cen_strategy;

CEN_API cen_strategy cen_strategy_random(void);

/* A thread knows its turn in the four routers it used last; in another it begins anywhere. */
CEN_API cen_strategy cen_strategy_round_robin(void);

/* The argument, NULL as it comes, may be a const uint64_t * that is read once: the number of the first turn. The member is the
 * turn modulo how many there are. After turn 2^64 - 1 comes 0, and some may be skipped then, once. */
CEN_API cen_strategy cen_strategy_shared_round_robin(void);

CEN_API cen_strategy cen_strategy_strict_round_robin(void);
CEN_API cen_strategy cen_strategy_least_in_flight(void);
CEN_API cen_strategy cen_strategy_two_choices(void);

/* The latency jumps up with a slower answer, halves every seven seconds, and is unknown when a member comes up; a failure
 * doubles it. */
CEN_API cen_strategy cen_strategy_peak_ewma(void);

CEN_API cen_strategy cen_strategy_weighted(void);

/* Members are told apart by their names, which have to differ. The largest share of keys is about a tenth more than the mean, the
 * smallest about a tenth less. */
CEN_API cen_strategy cen_strategy_consistent_hash(void);

/* ---- For those who write one ------------------------------------------------------- */

/* Uses in flight. With a limit it is exact; else the calling thread's own exactly, and those of others as they were
 * within its last 8 uses of the member, or 64 while it has none in flight itself; or about 64 questions ago. */
CEN_API uint64_t cen_member_load(const cen_member *member);
CEN_API uint32_t cen_member_weight(const cen_member *member);
/* A number made of its name, as cen_pick_key does it. */
CEN_API uint64_t cen_member_hash(const cen_member *member);
CEN_API void *cen_member_data(const cen_member *member);

/* A random number below n, which is not 0, from the thread's own source. */
CEN_API uint32_t cen_strategy_below(uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
