/* SPDX-License-Identifier: MIT */
/*
 * The system's part of the poller on Linux: one epoll with a timer and a bell in it.
 *
 * After its event a descriptor stays registered, disarmed, so arming it again is one system call. When it is closed,
 * the kernel removes it. If its number is used again for another file, it is registered again. An epoll event carries
 * the number with which the descriptor was armed, beside the descriptor. So an event that was fetched before an unwatch
 * is recognised as stale.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cenote/poller.h>

#include "base/fault.h"
#include "poller/ready.h"

#define TIMER UINT64_MAX
#define BELL (UINT64_MAX - 1)
#define NESTED (UINT64_MAX - 2)

/* A test lets the system refuse a descriptor. */
static bool refused(void)
{
    if (!ceni_fault(CENI_FAULT_FD)) return false;
    errno = EMFILE;
    return true;
}

static bool add(int all, int fd, uint64_t what)
{
    struct epoll_event readable = {.events = EPOLLIN, .data.u64 = what};
    return fd >= 0 && epoll_ctl(all, EPOLL_CTL_ADD, fd, &readable) == 0;
}

cen_status ceni_ready_open(ceni_ready *ready, int *code)
{
    *ready = (ceni_ready){-1, -1, -1};
    if (!refused()) ready->all = epoll_create1(EPOLL_CLOEXEC);
    if (ready->all >= 0 && !refused()) ready->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (ready->timer >= 0 && !refused()) ready->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (add(ready->all, ready->timer, TIMER) && add(ready->all, ready->bell, BELL)) return CEN_OK;
    *code = errno;
    ceni_ready_close(ready);
    return CEN_SYSTEM;
}

void ceni_ready_close(ceni_ready *ready)
{
    int fds[] = {ready->bell, ready->timer, ready->all};
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0) close(fds[i]);
}

cen_status ceni_ready_nest(ceni_ready *ready, int fd, int *code)
{
    if (!refused() && add(ready->all, fd, NESTED)) return CEN_OK;
    *code = errno;
    return CEN_SYSTEM;
}

cen_status ceni_ready_arm(ceni_ready *ready, int fd, unsigned events, uint32_t number)
{
    struct epoll_event wanted = {.events = EPOLLONESHOT | EPOLLRDHUP,
                                 .data.u64 = (uint64_t)number << 32 | (uint32_t)fd};
    if (events & CEN_READABLE) wanted.events |= EPOLLIN;
    if (events & CEN_WRITABLE) wanted.events |= EPOLLOUT;
    if (epoll_ctl(ready->all, EPOLL_CTL_MOD, fd, &wanted) == 0) return CEN_OK;
    if (errno == ENOENT && epoll_ctl(ready->all, EPOLL_CTL_ADD, fd, &wanted) == 0) return CEN_OK;
    return errno == ENOMEM || errno == ENOSPC ? CEN_NO_MEMORY : CEN_INVALID;
}

void ceni_ready_disarm(ceni_ready *ready, int fd)
{
    struct epoll_event none = {.events = 0};
    epoll_ctl(ready->all, EPOLL_CTL_DEL, fd, &none); /* it may be closed already: the error does not matter */
}

void ceni_ready_at(ceni_ready *ready, int64_t moment)
{
    struct itimerspec when = {{0, 0}, {0, 0}};
    if (moment != INT64_MAX) {
        int64_t later = moment > 0 ? moment : 1; /* all zero would switch it off */
        when.it_value.tv_sec = (time_t)(later / INT64_C(1000000000));
        when.it_value.tv_nsec = (long)(later % INT64_C(1000000000));
    }
    timerfd_settime(ready->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

void ceni_ready_ring(ceni_ready *ready)
{
    uint64_t one = 1;
    ssize_t written = write(ready->bell, &one, sizeof one);
    (void)written; /* if it is full, it rings already */
}

static void take_back(int fd)
{
    uint64_t count;
    ssize_t read_ = read(fd, &count, sizeof count);
    (void)read_; /* another thread may have set the timer again */
}

static ceni_ready_event told(const struct epoll_event *event)
{
    ceni_ready_event out = {
        .kind = CENI_READY_FD, .fd = (int)(uint32_t)event->data.u64, .number = (uint32_t)(event->data.u64 >> 32)};
    if (event->events & EPOLLIN) out.events |= CEN_READABLE;
    if (event->events & EPOLLOUT) out.events |= CEN_WRITABLE;
    if (event->events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) out.events |= CEN_HUNG_UP;
    return out;
}

int ceni_ready_wait(ceni_ready *ready, ceni_ready_event events[CENI_READY_AT_A_TIME], int milliseconds)
{
    struct epoll_event raw[CENI_READY_AT_A_TIME];
    int count = epoll_wait(ready->all, raw, CENI_READY_AT_A_TIME, milliseconds);
    for (int i = 0; i < count; i++) {
        if (raw[i].data.u64 == TIMER || raw[i].data.u64 == BELL) {
            bool timer = raw[i].data.u64 == TIMER;
            take_back(timer ? ready->timer : ready->bell);
            events[i] = (ceni_ready_event){.kind = timer ? CENI_READY_TIMER : CENI_READY_BELL, .fd = -1};
        } else if (raw[i].data.u64 == NESTED) {
            events[i] = (ceni_ready_event){.kind = CENI_READY_NESTED, .fd = -1};
        } else {
            events[i] = told(&raw[i]);
        }
    }
    return count < 0 ? 0 : count;
}
