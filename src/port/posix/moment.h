/* SPDX-License-Identifier: MIT */
/* Converts a moment to a timespec. */
#ifndef CENI_PORT_POSIX_MOMENT_H
#define CENI_PORT_POSIX_MOMENT_H

#include <stdint.h>
#include <time.h>

#define CENI_NS_PER_S 1000000000

/* A moment needs 34 bits of seconds. */
_Static_assert(sizeof(time_t) >= 8, "cenote needs a 64-bit time_t");

/* A negative moment becomes 0: the system refuses negative times, and both are past. */
static inline struct timespec ceni_moment_timespec(int64_t moment)
{
    int64_t positive = moment > 0 ? moment : 0;
    return (struct timespec){.tv_sec = positive / CENI_NS_PER_S, .tv_nsec = positive % CENI_NS_PER_S};
}

#endif
