/* SPDX-License-Identifier: MIT */
/* Random: each member with equal probability, by the thread's own random numbers. Nothing is shared. */
#include "router/set.h"

static cen_member *pick(void *state, const cen_member_set *set, const cen_route_hint *wish, bool used)
{
    (void)state, (void)wish, (void)used;
    return ceni_pick_random(set);
}

cen_strategy cen_strategy_random(void)
{
    static const cen_strategy_type type = {.size = sizeof type, .name = "random", .pick = pick};
    return (cen_strategy){.type = &type};
}

uint32_t cen_strategy_below(uint32_t n)
{
    return ceni_route_below(n);
}
