/* SPDX-License-Identifier: MIT */
/* Take without blocking: the take completes in an epoll loop.
 * cc loop.c $(pkg-config --cflags --libs cenote) */
#include <cenote/cenote.h>
#include <stdio.h>
#include <sys/epoll.h>

static bool done;
static void on_taken(cen_take_op *take) /* on the loop's thread */
{
    if (take->future.status == CEN_OK) printf("got %s\n", (char *)take->lease.object);
    if (take->future.status == CEN_OK) cen_pool_give(&take->lease);
    done = true;
}

int main(void)
{
    static const cen_driver_calls adopts = {.size = sizeof adopts, .opens_nothing = true, .closes_nothing = true};
    cen_pollable *pollable;
    cen_pool *pool;
    cen_take_op take;
    if (cen_pollable_new(NULL, &pollable, NULL) != CEN_OK) return 1;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = {&adopts, NULL}, .runtime = cen_pollable_runtime(pollable));
    if (cen_pool_new(&options, &pool, NULL) != CEN_OK) return 1;
    int loop = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(loop, EPOLL_CTL_ADD, cen_pollable_fd(pollable), &event);
    cen_take_op_init(&take, on_taken, cen_pollable_executor(pollable));
    cen_pool_take_async(pool, cen_in_s(1), &take);
    cen_pool_adopt(pool, "a connection", NULL);
    while (!done && epoll_wait(loop, &event, 1, -1) >= 0) cen_pollable_run_ready(pollable, NULL, NULL);
    cen_pool_free(pool);
    return cen_pollable_free(pollable, NULL) == CEN_OK ? 0 : 1;
}
