/* SPDX-License-Identifier: MIT */
/* A loop that learns from a cen_inbox what has come for its clients. */
#ifndef BENCH_ASYNC_INBOX_H
#define BENCH_ASYNC_INBOX_H

#include <cenote/inbox.h>

#include "../rules/serve.h"

static inline cen_inbox *inbox_of(struct serve_loop *loop)
{
    return loop->own;
}

static void inbox_enter(struct serve_loop *loop)
{
    cen_inbox *inbox;
    cen_error error;
    if (cen_inbox_new(NULL, &inbox, &error) != CEN_OK) bench_fail("%s", error.text);
    loop->own = inbox;
    loop->fd = cen_inbox_fd(inbox);
}

static size_t inbox_poll(struct serve_loop *loop)
{
    return cen_inbox_poll(inbox_of(loop), 0);
}

static bool inbox_arm(struct serve_loop *loop)
{
    return cen_inbox_arm(inbox_of(loop));
}

#endif
