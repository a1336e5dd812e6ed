/* SPDX-License-Identifier: MIT */
/*
 * The floors, and what is usually built on them. All read an array of members
 * under RCU:
 *
 *     random, turn              the thread's own random number or its own next turn; nothing else is touched
 *     random-counted, turn-counted   and two read-modify-writes on a word of the member that no other thread uses
 *     two, two-counted          the less used of two random members, by counts of the thread's own, as close together as can be
 *     ...-called                the same behind as many calls into a shared library as cenote's: three, and two if counted
 *     shared-turn               the next turn of all threads, by one counter
 *     shared-two                the less used of two random members, by one counter each of uses in flight
 *     shared-least              the least used of all, by the same counters
 */
#include "floor.h"

#include "contestants.h"

static void *set_up(unsigned members)
{
    struct set *set = bench_zeroed(1, sizeof *set);
    atomic_store(&set->published, make_array(members));
    for (unsigned i = 0; i < PICKS_THREADS_MAX; i++) set->counts[i] = bench_zeroed(members, sizeof *set->counts[i]);
    return set;
}

static void verify(void *set)
{
    const struct array *array = atomic_load(&((struct set *)set)->published);
    expect_idle(array);
    for (unsigned i = 0; i < PICKS_THREADS_MAX; i++)
        for (uint32_t place = 0; place < array->count; place++)
            if (atomic_load(&((struct set *)set)->counts[i][place]) != 0)
                bench_fail("member %u is in use, and nobody uses it", place);
}

static unsigned index_of(void *set, const struct member *member)
{
    (void)set;
    return member->index;
}

/* ---- Floors ---------------------------------------------------------------------- */

#define FLOOR(kind) \
    static inline struct member *use_##kind(void *set, struct pick_worker *worker) \
    { \
        urcu_bp_read_lock(); \
        struct member *member = find_##kind(set, worker); \
        urcu_bp_read_unlock(); \
        return member; \
    } \
    static inline struct member *use_##kind##_counted(void *set, struct pick_worker *worker) \
    { \
        urcu_bp_read_lock(); \
        struct member *member = find_##kind(set, worker); \
        begin_use(member, worker); \
        urcu_bp_read_unlock(); \
        end_use(member, worker); \
        return member; \
    } \
    static inline struct member *use_##kind##_called(void *set, struct pick_worker *worker) \
    { \
        called_begin(); \
        struct member *member = called_##kind(set, worker); \
        called_end(); \
        return member; \
    } \
    static inline struct member *use_##kind##_counted_called(void *set, struct pick_worker *worker) \
    { \
        struct member *member = called_route_##kind(set, worker); \
        called_done(member, worker); \
        return member; \
    } \
    PICKS(floor_##kind, use_##kind, index_of) \
    PICKS(floor_##kind##_counted, use_##kind##_counted, index_of) \
    PICKS(floor_##kind##_called, use_##kind##_called, index_of) \
    PICKS(floor_##kind##_counted_called, use_##kind##_counted_called, index_of)

FLOOR(random)
FLOOR(turn)

/* ---- The floor of two choices --------------------------------------------------------- */

/* Where the less used of two is. */
static inline uint32_t place_of_two(void *set, struct pick_worker *worker, uint32_t count)
{
    atomic_uint *counts = ((struct set *)set)->counts[worker->number];
    uint32_t first = pick_random(worker, count), second = pick_random(worker, count - 1);
    second += second >= first;
    bool less = atomic_load_explicit(&counts[second], memory_order_relaxed) <
                atomic_load_explicit(&counts[first], memory_order_relaxed);
    return less ? second : first;
}

static inline struct member *use_two(void *set, struct pick_worker *worker)
{
    urcu_bp_read_lock();
    struct array *array = read_array(set);
    struct member *member = array->members[place_of_two(set, worker, array->count)];
    urcu_bp_read_unlock();
    return member;
}

static inline struct member *use_two_counted(void *set, struct pick_worker *worker)
{
    urcu_bp_read_lock();
    struct array *array = read_array(set);
    uint32_t place = place_of_two(set, worker, array->count);
    struct member *member = array->members[place];
    atomic_uint *count = &((struct set *)set)->counts[worker->number][place];
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    urcu_bp_read_unlock();
    atomic_fetch_sub_explicit(count, 1, memory_order_release);
    return member;
}

PICKS(floor_two, use_two, index_of)
PICKS(floor_two_counted, use_two_counted, index_of)

/* ---- Shared counters ---------------------------------------------------------------- */

static inline struct member *use_shared_turn(void *set, struct pick_worker *worker)
{
    (void)worker;
    urcu_bp_read_lock();
    struct array *array = read_array(set);
    uint32_t turn = atomic_fetch_add_explicit(&((struct set *)set)->turn, 1, memory_order_relaxed);
    struct member *member = array->members[turn % array->count];
    urcu_bp_read_unlock();
    return member;
}

static inline unsigned load_of(struct member *member)
{
    return atomic_load_explicit(&member->in_flight, memory_order_relaxed);
}

static inline struct member *use_shared_two(void *set, struct pick_worker *worker)
{
    urcu_bp_read_lock();
    struct array *array = read_array(set);
    uint32_t first = pick_random(worker, array->count), second = pick_random(worker, array->count - 1);
    struct member *member = array->members[first], *other = array->members[second + (second >= first)];
    if (load_of(other) < load_of(member)) member = other;
    atomic_fetch_add_explicit(&member->in_flight, 1, memory_order_relaxed);
    urcu_bp_read_unlock();
    atomic_fetch_sub_explicit(&member->in_flight, 1, memory_order_release);
    return member;
}

/* From a turn of the thread's own, so that not all end at the first of equals. */
static inline struct member *use_shared_least(void *set, struct pick_worker *worker)
{
    urcu_bp_read_lock();
    struct array *array = read_array(set);
    uint32_t at = pick_turn(worker, array->count);
    struct member *member = array->members[at];
    unsigned least = load_of(member);
    for (uint32_t i = 1; least > 0 && i < array->count; i++) {
        at = at + 1 == array->count ? 0 : at + 1;
        unsigned load = load_of(array->members[at]);
        if (load < least) {
            least = load;
            member = array->members[at];
        }
    }
    atomic_fetch_add_explicit(&member->in_flight, 1, memory_order_relaxed);
    urcu_bp_read_unlock();
    atomic_fetch_sub_explicit(&member->in_flight, 1, memory_order_release);
    return member;
}

PICKS(shared_turn, use_shared_turn, index_of)
PICKS(shared_two, use_shared_two, index_of)
PICKS(shared_least, use_shared_least, index_of)

const struct pick_contestant floor_contestants[] = {
    {"random", NULL, PICK_RANDOM, set_up, floor_random_loop, floor_random_check, verify},
    {"random-counted", "random", PICK_RANDOM, set_up, floor_random_counted_loop, floor_random_counted_check, verify},
    {"random-called", "random", PICK_RANDOM, set_up, floor_random_called_loop, floor_random_called_check, verify},
    {"random-counted-called", "random-counted", PICK_RANDOM, set_up, floor_random_counted_called_loop,
     floor_random_counted_called_check, verify},
    {"turn", NULL, PICK_EVEN, set_up, floor_turn_loop, floor_turn_check, verify},
    {"turn-counted", "turn", PICK_EVEN, set_up, floor_turn_counted_loop, floor_turn_counted_check, verify},
    {"turn-called", "turn", PICK_EVEN, set_up, floor_turn_called_loop, floor_turn_called_check, verify},
    {"turn-counted-called", "turn-counted", PICK_EVEN, set_up, floor_turn_counted_called_loop,
     floor_turn_counted_called_check, verify},
    {"two", NULL, PICK_ANY, set_up, floor_two_loop, floor_two_check, verify},
    {"two-counted", "two", PICK_ANY, set_up, floor_two_counted_loop, floor_two_counted_check, verify},
    {"shared-turn", "turn", PICK_TOGETHER, set_up, shared_turn_loop, shared_turn_check, verify},
    {"shared-two", "two-counted", PICK_ANY, set_up, shared_two_loop, shared_two_check, verify},
    {"shared-least", "turn-counted", PICK_ANY, set_up, shared_least_loop, shared_least_check, verify},
    {NULL, NULL, PICK_ANY, NULL, NULL, NULL, NULL},
};
