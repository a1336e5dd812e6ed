/* SPDX-License-Identifier: MIT */
/*
 * What a pick needs of its thread: random numbers, the thread's stripe, and its places in the round robins that it used
 * last.
 *
 * The words belong to the thread (rcu/rcu.h). None of them is a pointer: a round is known by its number, which is
 * never reused.
 */
#ifndef CENI_ROUTER_THREAD_H
#define CENI_ROUTER_THREAD_H

#include "base/hash.h"
#include "port/port.h"
#include "rcu/rcu.h"

/* A random number of 64 bits; the upper bits are the better ones. A word that advances by a fixed step, mixed. */
static inline uint64_t ceni_route_random(void)
{
    uint64_t *word = &ceni_route_room()[CENI_ROUTE_RANDOM];
    if (__builtin_expect(*word == 0, 0)) *word = ceni_random() | 1;
    uint64_t x = *word += UINT64_C(0x9E3779B97F4A7C16); /* even, so an odd word stays odd and never 0 */
    x ^= x >> 32;
    x *= UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 32;
}

/* A random number below n, without a division. n is far below 2^32, so no number is noticeably more likely. */
static inline uint32_t ceni_route_below(uint32_t n)
{
    return (uint32_t)((ceni_route_random() >> 32) * n >> 32);
}

/* The number of stripes that each member has for threads: the same for all routers of the process. */
uint32_t ceni_route_stripes(void);

/* Assign a stripe to the calling thread, in turn, so that threads share one only if there are more threads than
 * stripes. */
uint64_t ceni_route_arrive(void);

/* The offset of the thread's stripe in every member, never 0. */
static inline uint32_t ceni_route_stripe(void)
{
    uint64_t *word = &ceni_route_room()[CENI_ROUTE_STRIPE];
    if (__builtin_expect(*word == 0, 0)) *word = ceni_route_arrive();
    return (uint32_t)*word;
}

/* Move the pair of `router` to the front; the others stay in the order of their last use. */
static inline void ceni_route_turn_to(uint64_t *places, uint64_t router)
{
    enum { PLACES = (CENI_ROUTE_ROOM - CENI_ROUTE_TURNS) / 2 };
    unsigned at = 1;
    while (at < PLACES && places[2 * at] != router) at++;
    uint64_t turn = at < PLACES ? places[2 * at + 1] : ceni_route_random() >> 33;
    for (unsigned i = at < PLACES ? at : PLACES - 1; i > 0; i--) {
        places[2 * i] = places[2 * i - 2];
        places[2 * i + 1] = places[2 * i - 1];
    }
    places[0] = router;
    places[1] = turn;
}

/* This thread's place in the round of that number: the next index, which the caller sets. The four rounds used last are
 * known. Any other begins at a random place. */
static inline uint64_t *ceni_route_turn(uint64_t router)
{
    uint64_t *places = &ceni_route_room()[CENI_ROUTE_TURNS];
    if (__builtin_expect(places[0] != router, 0)) ceni_route_turn_to(places, router);
    return &places[1];
}

#endif
