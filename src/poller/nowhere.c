/* SPDX-License-Identifier: MIT */
/* The poller's part for a system without epoll or the like: open fails with SYSTEM, so no other function is reached. */
#include <errno.h>

#include "poller/ready.h"

cen_status ceni_ready_open(ceni_ready *ready, int *code)
{
    *ready = (ceni_ready){-1, -1, -1};
    *code = ENOSYS;
    return CEN_SYSTEM;
}

void ceni_ready_close(ceni_ready *ready)
{
    (void)ready;
}

cen_status ceni_ready_nest(ceni_ready *ready, int fd, int *code)
{
    (void)ready, (void)fd;
    *code = ENOSYS;
    return CEN_SYSTEM;
}

cen_status ceni_ready_arm(ceni_ready *ready, int fd, unsigned events, uint32_t number)
{
    (void)ready, (void)fd, (void)events, (void)number;
    return CEN_INVALID;
}

void ceni_ready_disarm(ceni_ready *ready, int fd)
{
    (void)ready, (void)fd;
}

void ceni_ready_at(ceni_ready *ready, int64_t moment)
{
    (void)ready, (void)moment;
}

void ceni_ready_ring(ceni_ready *ready)
{
    (void)ready;
}

int ceni_ready_wait(ceni_ready *ready, ceni_ready_event events[CENI_READY_AT_A_TIME], int milliseconds)
{
    (void)ready, (void)events, (void)milliseconds;
    return 0;
}
