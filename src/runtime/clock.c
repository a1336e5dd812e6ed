/* SPDX-License-Identifier: MIT */
/* The time of a runtime: the system's clock, or virtual time that the program moves. */
#include "runtime/internal.h"

bool ceni_runtime_is_manual(const cen_runtime *runtime)
{
    return runtime->manual;
}

bool ceni_runtime_is_virtual(const cen_runtime *runtime)
{
    return runtime->virtual_time;
}

int64_t ceni_runtime_now(const cen_runtime *runtime)
{
    /* a number; carries nothing */
    return runtime->virtual_time ? ceni_load_relaxed(&runtime->clock) : ceni_clock_now();
}

int64_t cen_runtime_now(const cen_runtime *runtime)
{
    return runtime ? ceni_runtime_now(runtime) : ceni_clock_now();
}
