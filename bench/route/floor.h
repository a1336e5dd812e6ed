/* SPDX-License-Identifier: MIT */
/* The parts of the floors: an array of members under RCU, liburcu's bp flavour with its short functions inline. */
#ifndef BENCH_ROUTE_FLOOR_H
#define BENCH_ROUTE_FLOOR_H

#define _LGPL_SOURCE
#include <urcu/urcu-bp.h>

#include "plain.h"

struct set {
    _Atomic(struct array *) published;
    _Alignas(128) atomic_uint turn;
    /* each thread's own, by place; no use can outlive the array so */
    _Alignas(128) atomic_uint *counts[PICKS_THREADS_MAX];
};

static inline struct array *read_array(void *set)
{
    return atomic_load_explicit(&((struct set *)set)->published, memory_order_acquire);
}

static inline struct member *find_random(void *set, struct pick_worker *worker)
{
    struct array *array = read_array(set);
    return array->members[pick_random(worker, array->count)];
}

static inline struct member *find_turn(void *set, struct pick_worker *worker)
{
    struct array *array = read_array(set);
    return array->members[pick_turn(worker, array->count)];
}

/* The one of the read-modify-writes, and the other. */
static inline void begin_use(struct member *member, struct pick_worker *worker)
{
    atomic_fetch_add_explicit(&member->stripes[worker->number].in_flight, 1, memory_order_relaxed);
}

static inline void end_use(struct member *member, struct pick_worker *worker)
{
    atomic_fetch_sub_explicit(&member->stripes[worker->number].in_flight, 1, memory_order_release);
}

/* The same behind calls into a shared library: called.c. */
void called_begin(void);
void called_end(void);
struct member *called_random(void *set, struct pick_worker *worker);
struct member *called_turn(void *set, struct pick_worker *worker);
struct member *called_route_random(void *set, struct pick_worker *worker);
struct member *called_route_turn(void *set, struct pick_worker *worker);
void called_done(struct member *member, struct pick_worker *worker);

#endif
