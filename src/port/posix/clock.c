/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "port/port.h"
#include "port/posix/cancel.h"
#include "port/posix/moment.h"

int64_t ceni_clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t moment = (int64_t)now.tv_sec * CENI_NS_PER_S + now.tv_nsec;
    return moment > 0 ? moment : 1; /* 0 and below have other meanings in a deadline */
}

int64_t ceni_clock_wall(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * CENI_NS_PER_S + now.tv_nsec;
}

void ceni_sleep_until(int64_t moment)
{
    struct timespec until = ceni_moment_timespec(moment);
    int cancel = ceni_cancel_off();
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
    ceni_cancel_restore(cancel);
}
