/* SPDX-License-Identifier: MIT */
/*
 * Consistent hash: a key has its member, and keeps it while others come and go.
 *
 * Each member has POINTS points on a circle, at places made of its name. A key has PROBES
 * places; the member whose point follows one of them most closely has the key. When a member
 * leaves only its own keys move, and when one joins only the keys that become its own.
 *
 * One point and many probes would do for thousands of members: none has more than a
 * twentieth beyond its share. But whoever stands closely behind another has next to
 * nothing, one in twenty does, and of three members one may have two shares. With eight
 * points that evens out: the largest has about a tenth more than its share and the
 * smallest about a third less. A ring without probes needs a hundred points and more for that.
 *
 * The places depend on names alone, so processes that know the same members agree. Two members of
 * one name have the same places, and the first of them in the set has the keys of both.
 *
 *     table:  points, sorted by place      where each slice of the circle begins among them
 *
 * A slice is as long as the circle divided by about the number of points: whoever looks for
 * the point that follows begins with its slice and has it after a step or two.
 */
#include "base/plant.h"
#include "router/set.h"

enum { POINTS = 8, PROBES = 21, BYTE_VALUES = 256 };

static const uint64_t STEP = UINT64_C(0x9E3779B97F4A7C15);

typedef struct point {
    uint32_t place;
    uint32_t index; /* of the member, in the set */
} point;

typedef struct circle {
    uint32_t shift; /* a place shifted right by so much is its slice */
    uint32_t slices;
} circle;

static uint32_t slice_bits(uint32_t count)
{
    uint32_t bits = 0;
    while (bits < 24 && UINT32_C(1) << bits < count) bits++;
    return bits;
}

static size_t table_size(void *state, uint32_t count)
{
    (void)state;
    size_t all = (size_t)count * POINTS;
    return sizeof(circle) + 2 * all * sizeof(point) + ((size_t)1 << slice_bits(count * POINTS)) * sizeof(uint32_t);
}

static point *points_of(const void *table)
{
    return (point *)(void *)((char *)(uintptr_t)table + sizeof(circle));
}

/* Behind the points, and as many again that are needed while they are sorted. */
static uint32_t *slices_of(const void *table, uint32_t all)
{
    return (uint32_t *)(void *)(points_of(table) + 2 * (size_t)all);
}

/* By place, a byte at a time; four rounds, so the result is where it began. Equal places stay in the order of indexes. */
static void sort(point *points, point *scratch, uint32_t count)
{
    for (unsigned shift = 0; shift < 32; shift += 8) {
        uint32_t starts[BYTE_VALUES + 1] = {0};
        for (uint32_t i = 0; i < count; i++) starts[(points[i].place >> shift & 0xff) + 1]++;
        for (unsigned i = 0; i < BYTE_VALUES; i++) starts[i + 1] += starts[i];
        for (uint32_t i = 0; i < count; i++) scratch[starts[points[i].place >> shift & 0xff]++] = points[i];
        point *swap = points;
        points = scratch;
        scratch = swap;
    }
}

/* Spreads the bits of a key once more: program's keys may be small numbers. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    x ^= x >> 27;
    x *= UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* Members at one place stand in the order of their whole hashes: not in that of the set, which is another in another process. The
 * first of them has the keys. */
static void order_ties(const cen_set *set, point *points, uint32_t all)
{
    for (uint32_t i = 1; i < all; i++) {
        for (uint32_t k = i; k > 0 && points[k - 1].place == points[k].place; k--) {
            if (cen_member_hash(ceni_set_at(set, points[k - 1].index)) <= cen_member_hash(ceni_set_at(set, points[k].index))) break;
            point swap = points[k];
            points[k] = points[k - 1];
            points[k - 1] = swap;
        }
    }
}

static void arrange(void *state, const cen_set *set, void *table)
{
    (void)state;
    circle *head = table;
    uint32_t all = set->count * POINTS, bits = slice_bits(all);
    point *points = points_of(table);
    uint32_t *slices = slices_of(table, all);
    *head = (circle){.shift = 32 - bits, .slices = UINT32_C(1) << bits};
    for (uint32_t i = 0; i < all; i++) {
        uint64_t hash = cen_member_hash(ceni_set_at(set, i / POINTS)) + i % POINTS * STEP;
        points[i] = (point){.place = (uint32_t)(mix(hash) >> 32), .index = i / POINTS};
    }
    sort(points, points + all, all);
    order_ties(set, points, all);
    uint32_t at = 0;
    for (uint32_t slice = 0; slice < head->slices; slice++) {
        while (at < all && (uint64_t)points[at].place >> head->shift < slice) at++;
        slices[slice] = at;
    }
}

/* The next point that is not of the one to be avoided, as if that were not on the circle; `at` itself if all are. */
static uint32_t pass_over(const cen_set *set, const point *points, uint32_t at, const cen_member *avoid)
{
    uint32_t all = set->count * POINTS, from = at;
    if (ceni_planted(hash_ignores_what_to_avoid)) return at;
    while (ceni_set_at(set, points[at].index) == avoid) {
        at = at + 1 < all ? at + 1 : 0;
        if (at == from) break;
    }
    return at;
}

static cen_member *pick(void *state, const cen_set *set, const cen_pick *wish, bool used)
{
    (void)state, (void)used;
    const circle *head = set->table;
    const point *points = points_of(set->table);
    uint32_t all = set->count * POINTS, nearest = UINT32_MAX, index = points[0].index;
    const uint32_t *slices = slices_of(set->table, all);
    uint64_t probe = wish->key;
    for (unsigned i = 0; i < PROBES; i++) {
        probe += STEP;
        uint32_t place = (uint32_t)(mix(probe) >> 32);
        uint32_t at = slices[(uint64_t)place >> head->shift];
        while (at < all && points[at].place < place) at++;
        if (at == all) at = 0;
        if (wish->avoid) at = pass_over(set, points, at, wish->avoid);
        uint32_t distance = points[at].place - place; /* round the circle, if need be */
        if (distance < nearest) {
            nearest = distance;
            index = points[at].index;
        }
    }
    return ceni_set_at(set, index);
}

cen_strategy cen_strategy_consistent_hash(void)
{
    static const cen_strategy_type type = {
        .size = sizeof type, .name = "consistent hash", .table_size = table_size, .arrange = arrange, .pick = pick};
    return (cen_strategy){.type = &type};
}

/* A hash that is the same everywhere, byte by byte: eight of them at a time, the least significant first, and the length. */
uint64_t cen_pick_key(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t hash = mix(size + STEP);
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        for (size_t k = 0; k < 8 && i + k < size; k++) word |= (uint64_t)at[i + k] << 8 * k;
        hash = mix(hash ^ word) + STEP;
    }
    return mix(hash);
}
