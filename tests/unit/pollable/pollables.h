/* SPDX-License-Identifier: MIT */
/* Pollables in loops of the tests' own, on descriptors of the system. */
#ifndef TESTS_UNIT_POLLABLE_POLLABLES_H
#define TESTS_UNIT_POLLABLE_POLLABLES_H

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cenote/cenote.h>

#include "base/atomic.h"
#include "support/test.h"

enum { LIMIT_MS = 60000 }; /* of a wait that ends by an event: for hangs */

static inline cen_pollable *make_pollable(void)
{
    cen_pollable *pollable = NULL;
    cen_error error;
    if (cen_pollable_new(&CEN_POLLABLE_OPTIONS(.name = "loop"), &pollable, &error) != CEN_OK)
        test_fail(__FILE__, __LINE__, "%s", error.text);
    return pollable;
}

static inline bool is_readable(const cen_pollable *pollable)
{
    struct pollfd one = {cen_pollable_fd(pollable), POLLIN, 0};
    return poll(&one, 1, 0) == 1;
}

static inline void await_readable(const cen_pollable *pollable)
{
    struct pollfd one = {cen_pollable_fd(pollable), POLLIN, 0};
    expect_equal(poll(&one, 1, LIMIT_MS), 1);
}

/* Runs what is due, and expects that it says whether something is left. Returns how many. */
static inline size_t run_ready(cen_pollable *pollable, bool left)
{
    size_t ran = 0;
    bool more = !left;
    expect_equal(cen_pollable_run_ready(pollable, &ran, &more), CEN_OK);
    expect_equal(more, left);
    return ran;
}

/* An epoll that tells of each edge once. */
static inline int watch_edges(const cen_pollable *pollable)
{
    int edges = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    expect_equal(epoll_ctl(edges, EPOLL_CTL_ADD, cen_pollable_fd(pollable), &event), 0);
    return edges;
}

static inline bool has_edge(int edges, int milliseconds)
{
    struct epoll_event event;
    return epoll_wait(edges, &event, 1, milliseconds) == 1;
}

typedef struct letter {
    cen_job job; /* first */
    cen_pollable *pollable;
    unsigned runs;
    unsigned again; /* posts itself, so often */
    void (*act)(struct letter *self);
} letter;

static inline void post(letter *self)
{
    cen_executor *executor = cen_pollable_executor(self->pollable);
    executor->post(executor, &self->job);
}

static inline void run_letter(cen_job *job)
{
    letter *self = (letter *)(void *)job;
    self->runs++;
    if (self->act) self->act(self);
    if (self->again == 0) return;
    self->again--;
    post(self);
}

static inline letter letter_to(cen_pollable *pollable)
{
    return (letter){.job = {.run = run_letter}, .pollable = pollable};
}

#endif
