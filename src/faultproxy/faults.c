/* SPDX-License-Identifier: MIT */
#include "faultproxy/faults.h"

#include <string.h>

static void apply_to_way(fp_way *way, const fp_command *command)
{
    const uint64_t *value = command->value;
    switch (command->verb) {
    case FP_DELAY:
        way->delay = value[0] * FP_MS;
        way->jitter = value[1] * FP_MS;
        break;
    case FP_THROTTLE: way->rate = value[0]; break;
    case FP_SLICE:
        way->slice = value[0];
        way->pause = value[1] * FP_MS;
        break;
    case FP_BLACKHOLE: way->hole = value[0] ? FP_HOLD : FP_SWALLOW; break;
    default: break;
    }
}

void fp_faults_apply(fp_faults *faults, const fp_command *command)
{
    if (command->way & FP_TO_SERVER) apply_to_way(&faults->way[FP_CLIENT], command);
    if (command->way & FP_TO_CLIENT) apply_to_way(&faults->way[FP_SERVER], command);
    if (command->verb == FP_CLEAR) memset(faults, 0, sizeof *faults);
    if (command->verb == FP_CLOSE_SLOWLY) faults->close_slowly = command->value[0] * FP_MS;
    if (command->verb == FP_RESET && command->given) {
        faults->reset_share = command->given & 1 ? command->value[0] : 100;
        faults->reset_after = command->value[1];
    }
}

uint64_t fp_random(uint64_t *state)
{
    /* splitmix64: small, and good enough for this purpose. */
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}
