/* SPDX-License-Identifier: MIT */
/*
 * Two choices: of two members at random, the one with fewer uses in flight.
 *
 * The longest queue is far shorter so than with one choice, and nobody has to look at
 * all of them. Counts are not shared between threads: a thread knows its own
 * uses exactly, and those of the others as they were a few uses ago. One that loses because of
 * others' uses is not used, so now and then a pick looks at the loser's again: or
 * a thread would leave it alone long after those uses have ended. One that is thought to have none
 * of others' is looked at only when it is used.
 */
#include "router/set.h"
#include "router/use.h"

static cen_member *pick(void *state, const cen_member_set *set, const cen_pick *wish, bool used)
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
