/* SPDX-License-Identifier: MIT */
/*
 * Two choices: of two random members, the one with fewer uses in flight.
 *
 * The longest queue is far shorter than with one choice, and no pick looks at all members. Counts are not shared
 * between threads: a thread knows its own uses exactly, and those of other threads as they were a few uses ago. A
 * member that loses because of other threads' uses is not used, so its estimate would not be renewed, and the thread
 * would avoid it long after those uses have ended. So now and then a pick reads the loser's counts again. An estimate
 * without uses of other threads is renewed only when the member is used.
 */
#include "router/set.h"
#include "router/use.h"

static cen_member *pick(void *state, const cen_member_set *set, const cen_route_hint *wish, bool used)
{
    (void)state, (void)wish, (void)used;
    if (set->count == 1) return ceni_set_at(set, 0);
    uint64_t random = ceni_route_random();
    uint32_t first = (uint32_t)((random >> 32) * set->count >> 32);
    uint32_t other = first + 1 + (uint32_t)((random & UINT32_MAX) * (set->count - 1) >> 32);
    if (other >= set->count) other -= set->count;
    cen_member *one = ceni_set_at(set, first), *two = ceni_set_at(set, other);
    bool second = ceni_member_load(two) < ceni_member_load(one);
    cen_member *loser = second ? one : two;
    if (__builtin_expect(CEN_LOOK_AGAIN_(random), 0) && ceni_use_knows_of_others(loser))
        ceni_use_look_now_and_then(loser, random);
    return second ? two : one;
}

cen_strategy cen_strategy_two_choices(void)
{
    static const cen_strategy_type type = {
        .size = sizeof type, .name = "two choices", .needs = CEN_STRATEGY_LOAD, .pick = pick};
    return (cen_strategy){.type = &type};
}
