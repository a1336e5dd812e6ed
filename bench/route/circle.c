/* SPDX-License-Identifier: MIT */
/*
 * The floor of consistent hash: a circle of points, eight for each member, sorted, under RCU.
 *
 *     hash               the key's slice of the circle says where to begin, and the first point that follows has the key
 *     hash-counted       and two read-modify-writes on a count of the thread's own, as close together as can be
 *
 * Three places in memory, each known by the one before. It is not as even as cenote's, where a key goes on from there until a
 * coin falls.
 */
#include <stdlib.h>

#include "contestants.h"
#include "floor.h"

#define POINTS 8 /* as many as cenote has */

struct point {
    uint32_t place, index;
};

struct circle {
    struct array *array;
    struct point *points; /* and one behind all others, which is the first again */
    uint32_t *slices, shift;
    atomic_uint *counts[PICKS_THREADS_MAX];
};

struct published {
    _Atomic(struct circle *) circle;
};

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    x ^= x >> 27;
    x *= UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static int by_place(const void *a, const void *b)
{
    uint32_t left = ((const struct point *)a)->place, right = ((const struct point *)b)->place;
    return (left > right) - (left < right);
}

static void *set_up(unsigned members)
{
    struct published *set = bench_zeroed(1, sizeof *set);
    struct circle *circle = bench_zeroed(1, sizeof *circle);
    uint32_t all = members * POINTS, bits = 31 - (uint32_t)__builtin_clz(all - 1), at = 0;
    circle->array = make_array(members);
    circle->shift = 32 - bits;
    circle->points = bench_zeroed(all + 1, sizeof *circle->points);
    circle->slices = bench_zeroed((size_t)1 << bits, sizeof *circle->slices);
    for (uint32_t i = 0; i < all; i++) circle->points[i] = (struct point){(uint32_t)(mix(i + 1) >> 32), i / POINTS};
    qsort(circle->points, all, sizeof *circle->points, by_place);
    circle->points[all] = (struct point){UINT32_MAX, circle->points[0].index};
    for (uint32_t slice = 0; slice < UINT32_C(1) << bits; slice++) {
        while (at < all && circle->points[at].place >> circle->shift < slice) at++;
        circle->slices[slice] = at;
    }
    for (unsigned i = 0; i < PICKS_THREADS_MAX; i++)
        circle->counts[i] = bench_zeroed(members, sizeof *circle->counts[i]);
    atomic_store(&set->circle, circle);
    return set;
}

static void verify(void *set)
{
    struct circle *circle = atomic_load(&((struct published *)set)->circle);
    for (unsigned i = 0; i < PICKS_THREADS_MAX; i++)
        for (uint32_t index = 0; index < circle->array->count; index++)
            if (atomic_load(&circle->counts[i][index]) != 0)
                bench_fail("member %u is in use, and nobody uses it", index);
}

static unsigned index_of(void *set, const struct member *member)
{
    (void)set;
    return member->index;
}

/* Of the next key's member. */
static inline uint32_t find(const struct circle *circle, struct pick_worker *worker)
{
    pick_random(worker, 1);
    uint32_t place = (uint32_t)(mix(worker->noise) >> 32);
    const struct point *point = &circle->points[circle->slices[place >> circle->shift]];
    while (point->place < place) point++;
    return point->index;
}

static inline struct member *use_hash(void *set, struct pick_worker *worker)
{
    urcu_bp_read_lock();
    struct circle *circle = atomic_load_explicit(&((struct published *)set)->circle, memory_order_acquire);
    struct member *member = circle->array->members[find(circle, worker)];
    urcu_bp_read_unlock();
    return member;
}

static inline struct member *use_hash_counted(void *set, struct pick_worker *worker)
{
    urcu_bp_read_lock();
    struct circle *circle = atomic_load_explicit(&((struct published *)set)->circle, memory_order_acquire);
    uint32_t index = find(circle, worker);
    struct member *member = circle->array->members[index];
    atomic_uint *count = &circle->counts[worker->number][index];
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    urcu_bp_read_unlock();
    atomic_fetch_sub_explicit(count, 1, memory_order_release);
    return member;
}

PICKS(hash, use_hash, index_of)
PICKS(hash_counted, use_hash_counted, index_of)

const struct pick_contestant circle_contestants[] = {
    {"hash", NULL, PICK_ANY, set_up, hash_loop, hash_check, verify},
    {"hash-counted", "hash", PICK_ANY, set_up, hash_counted_loop, hash_counted_check, verify},
    {NULL, NULL, PICK_ANY, NULL, NULL, NULL, NULL},
};
