/* SPDX-License-Identifier: MIT */
/*
 * Consistent hash: a key has a member, and keeps it while other members come and go.
 *
 * Each member has POINTS points on a circle, at places that are computed from its name. A key has a place, too. The
 * pick walks the circle from there. At each point it tosses a coin, made of the key and the point, which accepts one
 * point in ODDS. The first accepted point's member has the key. The coin gives the same result each time. After a whole
 * round the key's part of the coin changes, and with it all coins.
 *
 * When a member leaves, only its own keys move. When one joins, only the keys that become its own move. At any other
 * point a key's coin gives the result that it gave before, and a point that does not accept the key might as well not
 * exist.
 *
 * The naive circle gives a key to the first point that follows. A member's share is then what lies before its points,
 * and of a hundred members one has twice its share, unless each has hundreds of points. Here a point has a little of
 * each of the ODDS stretches before it, on average, and these even out. The largest of hundreds of members has a tenth
 * more than its share and the smallest a tenth less. Probing the circle at many places for each key evens out as well,
 * but each place is elsewhere in memory. This looks at one place and goes on from there.
 *
 * The places depend on names alone, so processes that know the same members agree. Two members of one name have the
 * same places, and the first of them in the set has the keys of both.
 *
 *     table:  places, sorted      members' indexes      marks      where each slice of the circle begins
 *
 * A point's mark, computed from its place, is its part of the coin. Sixteen bits suffice, and sixteen coins are tossed
 * at a time. 64 points, which a key passes on average, are two cache lines. A slice has one point or two, so the search
 * for the place that follows begins with its slice and ends at once.
 */
#include <string.h>

#include "base/plant.h"
#include "router/set.h"

enum {
    POINTS = 8,
    ODDS = 64,
    COINS = 16, /* tossed at a time */
    LANES = 8,
    LINES = 3,
    LINE = 64, /* lines of marks, and the bytes of each: most keys find their member there */
    AHEAD = 8, /* places that are compared before the check whether they were enough */
    BYTE_VALUES = 256,
};
_Static_assert(2 * POINTS >= COINS, "of two members no point is tossed for twice at a time");

static const uint64_t STEP = UINT64_C(0x9E3779B97F4A7C15);

typedef struct point {
    uint32_t place;
    uint32_t index; /* of the member, in the set */
} point;

typedef uint16_t lanes __attribute__((vector_size(LANES * sizeof(uint16_t))));
typedef uint64_t halves __attribute__((vector_size(LANES * sizeof(uint16_t))));

/* ---- The table -------------------------------------------------------------------------- */

/* The parts of the table. Points are sorted in the memory of the first two arrays and in that of the last two. */
typedef struct circle {
    uint32_t all;   /* points */
    uint32_t shift; /* a place shifted right by this is its slice */
    uint32_t slice_count;
    uint32_t *places;  /* and AHEAD more, behind all others */
    uint32_t *indexes; /* of members, in the set */
    uint16_t *marks;   /* and COINS more: the first ones again */
    uint32_t *slices;
} circle;

/* A slice has one point or two on average; there are at least eight points. */
static inline uint32_t slice_bits(uint32_t all)
{
    return 31 - (uint32_t)__builtin_clz(all - 1);
}

/* There are fewer slices than points, so the second half has room for the slices, the marks and the repeated marks. */
static size_t table_size(void *state, uint32_t count)
{
    (void)state;
    return 2 * (size_t)count * POINTS * sizeof(point) + AHEAD * sizeof(uint32_t) + COINS * sizeof(uint16_t);
}

static inline circle circle_of(const cen_member_set *set, const void *table)
{
    circle c = {.all = set->count * POINTS};
    uint32_t bits = slice_bits(c.all);
    c.shift = 32 - bits;
    c.slice_count = UINT32_C(1) << bits;
    c.places = (uint32_t *)(uintptr_t)table;
    c.indexes = c.places + c.all + AHEAD;
    c.marks = (uint16_t *)(void *)(c.indexes + c.all);
    c.slices = (uint32_t *)(void *)(c.marks + c.all + COINS);
    return c;
}

/* Sort by place, a byte at a time. After four rounds the result is in `points`. Equal places stay in the order of
 * indexes. */
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

/* Spread the bits of a key: the program's keys may be small numbers. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    x ^= x >> 27;
    x *= UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* Order points at one place by their members' whole hashes: the order in the set differs between processes. The first
 * of them has the keys. */
static void order_ties(const cen_member_set *set, point *points, uint32_t all)
{
    for (uint32_t i = 1; i < all; i++) {
        for (uint32_t k = i; k > 0 && points[k - 1].place == points[k].place; k--) {
            if (cen_member_hash(ceni_set_at(set, points[k - 1].index)) <=
                cen_member_hash(ceni_set_at(set, points[k].index)))
                break;
            point swap = points[k];
            points[k] = points[k - 1];
            points[k - 1] = swap;
        }
    }
}

/* Return the points in the order of the circle, in the second half of the table. */
static point *sort_points(const cen_member_set *set, const circle *c, void *table)
{
    point *points = (point *)(void *)c->marks, *scratch = table;
    for (uint32_t i = 0; i < c->all; i++) {
        uint64_t hash = cen_member_hash(ceni_set_at(set, i / POINTS)) + i % POINTS * STEP;
        points[i] = (point){.place = (uint32_t)(mix(hash) >> 32), .index = i / POINTS};
    }
    sort(points, scratch, c->all);
    order_ties(set, points, c->all);
    return points;
}

static uint16_t mark_of(const circle *c, uint32_t at)
{
    return (uint16_t)mix(ceni_planted(hash_marks_by_turn) ? at : c->places[at]);
}

static void arrange(void *state, const cen_member_set *set, void *table)
{
    (void)state;
    circle c = circle_of(set, table);
    const point *points = sort_points(set, &c, table);
    for (uint32_t i = 0; i < c.all; i++) c.places[i] = points[i].place;
    for (uint32_t i = 0; i < AHEAD; i++) c.places[c.all + i] = UINT32_MAX;
    for (uint32_t i = 0; i < c.all; i++) c.indexes[i] = points[i].index;
    /* From here on the points themselves are not needed: the marks overwrite them. */
    for (uint32_t i = 0; i < c.all + COINS; i++) c.marks[i] = mark_of(&c, i % c.all);
    uint32_t at = 0;
    for (uint32_t slice = 0; slice < c.slice_count; slice++) {
        while (at < c.all && c.places[at] >> c.shift < slice) at++;
        c.slices[slice] = at;
    }
}

/* ---- A pick ------------------------------------------------------------------------------- */

/* In a large circle each array is far away in memory. Coins are first tossed a point or two from here, so the marks are
 * prefetched while the places are read. Lines behind the last mark do no harm. */
static inline void fetch_marks(const circle *c, uint32_t at)
{
    uintptr_t line = (uintptr_t)(c->marks + at);
#pragma GCC unroll 3
    for (unsigned i = 0; i < LINES; i++) __builtin_prefetch((const void *)(line + i * LINE));
}

/* The point that follows a place. Counting is faster than a branch at the right one, which no processor can predict. */
static inline uint32_t point_after(const circle *c, uint32_t place)
{
    uint32_t at = c->slices[place >> c->shift], passed;
    fetch_marks(c, at);
    do {
        passed = 0;
#pragma GCC unroll 8
        for (unsigned i = 0; i < AHEAD; i++) passed += c->places[at + i] < place;
        at += passed;
    } while (__builtin_expect(passed == AHEAD, 0));
    return at < c->all ? at : 0;
}

#define ALL_LANES(x) ((lanes){x, x, x, x, x, x, x, x})

/* Which coins accept their points. The key's word and the mark are mixed by invertible steps, so over all words each
 * point is accepted equally often. The constants are such that two points have keys in common no more often than by
 * chance. */
static inline lanes coins(const uint16_t *marks, uint16_t word)
{
    lanes x;
    memcpy(&x, marks, sizeof x);
    x ^= ALL_LANES(word);
    x *= ALL_LANES(0xA65D);
    x ^= x >> 6;
    x *= ALL_LANES(0x6A79);
    return (lanes)(x < ALL_LANES((UINT16_MAX + 1) / ODDS));
}

/* Toss sixteen coins, from this point on. Not 0: one or more of these points accept the key. */
static inline uint64_t toss(const uint16_t *marks, uint16_t word)
{
    static const lanes first = {1, 2, 4, 8, 16, 32, 64, 128};
    halves both = (halves)((coins(marks, word) & first) | (coins(marks + LANES, word) & first << 8));
    return both[0] | both[1];
}

/* The points that accept, one bit for each. */
static inline uint32_t winners(uint64_t tossed)
{
    tossed |= tossed >> 32;
    return (uint32_t)(tossed | tossed >> 16) & 0xffff;
}

/* False also in a set in which `avoid` replaces the members that left. */
static bool has_others(const cen_member_set *set, const cen_member *avoid)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (ceni_set_at(set, i) != avoid) return true;
    return false;
}

/* Walk the circle as if the member to avoid were not on it. The last coins of a round may be those of its first points
 * again, with the same results. */
static cen_member *pick(void *state, const cen_member_set *set, const cen_route_hint *wish, bool used)
{
    (void)state, (void)used;
    enum { NEXT_ROUND = 0x9E37 }; /* odd: all words occur, so each point has its turn */
    if (__builtin_expect(set->count == 1, 0)) return ceni_set_at(set, 0);
    circle c = circle_of(set, set->table);
    uint64_t hash = mix(wish->key + STEP);
    uint32_t from = point_after(&c, (uint32_t)(hash >> 32));
    for (uint16_t word = (uint16_t)hash;; word = (uint16_t)(word + NEXT_ROUND)) {
        uint32_t at = from;
        for (uint32_t passed = 0; passed < c.all; passed += COINS) {
            uint64_t tossed = toss(c.marks + at, word);
            for (uint32_t left = tossed ? winners(tossed) : 0; left; left &= left - 1) {
                uint32_t winner = at + (uint32_t)__builtin_ctz(left);
                cen_member *member = ceni_set_at(set, c.indexes[winner < c.all ? winner : winner - c.all]);
                if (member != wish->avoid || ceni_planted(hash_ignores_what_to_avoid)) return member;
            }
            at += COINS;
            if (at >= c.all) at -= c.all;
        }
        if (wish->avoid && !has_others(set, wish->avoid)) return ceni_set_at(set, 0);
    }
}

cen_strategy cen_strategy_consistent_hash(void)
{
    static const cen_strategy_type type = {
        .size = sizeof type, .name = "consistent hash", .table_size = table_size, .arrange = arrange, .pick = pick};
    return (cen_strategy){.type = &type};
}

/* A hash that is the same on every machine: eight bytes at a time, the least significant first, and the length. */
uint64_t cen_route_key(const void *bytes, size_t size)
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
