/* SPDX-License-Identifier: MIT */
/* The random choice of a load's operations. Each client has its own sequence, so that a seed gives the same load
 * again. */
#include "tool/load_internal.h"

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Mix the state, because the sequences of neighbouring states would be similar. */
uint64_t load_seed(const load_course *self, uint32_t client)
{
    uint64_t state = self->plan.seed ^ (client + 1) * UINT64_C(0xd1b54a32d192ed03);
    return next_random(&state);
}

target_turn load_draw(const load_course *self, uint64_t *state)
{
    double share = self->plan.target->settings.write_share;
    target_turn turn = {.draw = next_random(state)};
    if (share > 0) turn.writes = (double)(next_random(state) >> 11) * 0x1p-53 < share;
    return turn;
}

cen_pool *load_pool_for(const load_course *self, const target_turn *turn)
{
    return turn->writes && self->plan.writer ? self->plan.writer : self->plan.pool;
}
