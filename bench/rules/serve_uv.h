/* SPDX-License-Identifier: MIT */
/*
 * The event loop of a contestant that uses libuv: one uv_loop_t per thread, on
 * which timers and phases of the benchmark are descriptors, and one uv_async_t
 * for clients that were served from another thread. Clients of the loop's own are
 * in a list that no other thread touches; it is emptied before the loop sleeps.
 */
#ifndef BENCH_RULES_SERVE_UV_H
#define BENCH_RULES_SERVE_UV_H

#include <uv.h>

#include "plain.h"

struct home { /* of one loop */
    uv_loop_t uv;
    uv_async_t async;
    uv_poll_t timer, bell;
    uv_prepare_t prepare;
    uv_idle_t busy;         /* active while there is more to do: the loop looks, and does not sleep */
    struct plain_row ready; /* its own thread's */
    struct plain_row sent;  /* from other threads; whoever includes this says how it is protected */
};

static struct home homes[SERVE_LOOPS_MAX];
static _Thread_local struct home *here;

static size_t home_serve(struct plain_row *row)
{
    struct plain_row some = *row;
    size_t count = 0;
    plain_row_init(row);
    for (struct serve_client *client; (client = plain_row_pop(&some)) != NULL; count++)
        serve_granted(client, ((struct plain_request *)client->request)->object);
    return count;
}

static void home_on_readable(uv_poll_t *handle, int status, int events)
{
    (void)status, (void)events;
    serve_turn(handle->loop->data);
}

static void home_on_busy(uv_idle_t *busy)
{
    (void)busy;
}

static void home_on_prepare(uv_prepare_t *prepare)
{
    int turns = 0;
    do serve_turn(prepare->loop->data);
    while (home_serve(&here->ready) > 0 && ++turns < SERVE_TURNS);
    if (turns == SERVE_TURNS) uv_idle_start(&here->busy, home_on_busy);
    else uv_idle_stop(&here->busy);
}

static void home_enter(struct serve_loop *loop, uv_async_cb on_async)
{
    here = &homes[loop->number];
    plain_row_init(&here->ready);
    plain_row_init(&here->sent);
    uv_loop_init(&here->uv);
    here->uv.data = loop;
    uv_async_init(&here->uv, &here->async, on_async);
    uv_poll_init(&here->uv, &here->timer, loop->timer);
    uv_poll_init(&here->uv, &here->bell, loop->bell);
    uv_poll_start(&here->timer, UV_READABLE, home_on_readable);
    uv_poll_start(&here->bell, UV_READABLE, home_on_readable);
    uv_idle_init(&here->uv, &here->busy);
    uv_prepare_init(&here->uv, &here->prepare);
    uv_prepare_start(&here->prepare, home_on_prepare);
}

static void home_run(struct serve_loop *loop)
{
    (void)loop;
    uv_run(&here->uv, UV_RUN_DEFAULT);
}

#endif
