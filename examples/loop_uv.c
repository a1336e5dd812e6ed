/* SPDX-License-Identifier: MIT */
/*
 * A pool in a libuv loop, and threads that take from the same pool.
 *
 *     the loop, 500 takes, 20 in flight ────┐
 *     2 threads, 250 blocking takes each ───┴▶ [ one wait queue ] ▶ 4 connections ▶ an echo process
 *
 * max_barging_ns is off, so the wait queue is strictly FIFO, for threads and for the loop's takes alike. A take is
 * completed by the thread that served it: when two threads give at the same moment, the two completions may come in
 * either order.
 *
 * The only connection to libuv is one uv_poll on the descriptor of a pollable: its callback runs what is due. The takes
 * complete there, whichever thread gave.
 *
 * The driver connects as any blocking program would. It declares that (blocks), and helper threads call it, so the loop
 * waits for no call. So the pool has a runtime with threads, the process's own, and uses only the executor of the
 * pollable.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include <cenote/cenote.h>

#include "echo.h"

enum { CONNECTIONS = 4, REQUESTS = 500, IN_FLIGHT = 20, THREADS = 2, TAKES = 250, DIRTY = 50, PATIENCE_MS = 20000 };

typedef struct connection {
    int fd;
    atomic_int users;
    bool dirty; /* set by its holder */
} connection;

typedef struct request {
    cen_take_op take; /* first member: a completed take is its request */
    cen_future given;
    uv_poll_t answer;
    uint32_t number;
} request;

static struct {
    uv_loop_t loop;
    uv_poll_t ready;
    uv_timer_t patience;
    cen_pollable *pollable;
    cen_pool *pool;
    unsigned wakeups, answered, told, told_given;
    uint32_t asked;
} here;

static echo_server echo;
static request requests[IN_FLIGHT];
static atomic_int surprises, taken_by_threads, called_by_the_loop, resets;
static pthread_t loops_thread;

static bool expect_that(bool holds, const char *what)
{
    if (!holds) surprises++;
    if (!holds) printf("  FAILED: %s\n", what);
    return holds;
}

/* ---- The driver ------------------------------------------------------------------------------- */

static cen_status open_connection(void *argument, void **out, cen_error *error)
{
    (void)argument;
    called_by_the_loop += pthread_equal(pthread_self(), loops_thread) ? 1 : 0;
    connection *c = malloc(sizeof *c);
    if (!c) return CEN_NO_MEMORY;
    *c = (connection){.fd = echo_connect(&echo, 0)};
    if (c->fd >= 0) {
        *out = c;
        return CEN_OK;
    }
    free(c);
    snprintf(error->text, sizeof error->text, "cannot connect");
    return CEN_DRIVER;
}

static void close_connection(void *argument, void *object)
{
    (void)argument;
    close(((connection *)object)->fd);
    free(object);
}

static cen_condition check_connection(void *argument, void *object)
{
    (void)argument;
    return ((connection *)object)->dirty ? CEN_DIRTY : CEN_CLEAN;
}

/* Stands for a rollback: another round trip to the server, so it runs on a helper, too. */
static cen_status reset_connection(void *argument, void *object, cen_error *error)
{
    connection *c = object;
    struct pollfd readable = {.fd = c->fd, .events = POLLIN};
    (void)argument, (void)error;
    called_by_the_loop += pthread_equal(pthread_self(), loops_thread) ? 1 : 0;
    if (!echo_send(c->fd, 0) || poll(&readable, 1, -1) != 1 || !echo_receive(c->fd, 0, 0)) return CEN_DRIVER;
    c->dirty = false;
    resets++;
    return CEN_OK;
}

static const cen_driver_calls calls = {.size = sizeof calls,
                                       .blocks = true,
                                       .open = open_connection,
                                       .close = close_connection,
                                       .check = check_connection,
                                       .reset = reset_connection};

/* ---- Requests in the loop ------------------------------------------------------------------------ */

static void end_loop(void)
{
    uv_close((uv_handle_t *)&here.ready, NULL);
    uv_close((uv_handle_t *)&here.patience, NULL);
}

static void on_ready(cen_take_op *take);

static void ask(request *r)
{
    r->number = here.asked++;
    /* done was called, so the operation may be used again */
    cen_take_op_init(&r->take, on_ready, cen_pollable_executor(here.pollable));
    expect_that(cen_pool_take_async(here.pool, cen_in_s(20), &r->take) == CEN_OK, "the pool accepts the take");
}

static void request_is_over(request *r)
{
    if (++here.answered == REQUESTS) end_loop();
    if (here.asked < REQUESTS) ask(r);
}

static void on_given(cen_future *given)
{
    here.told_given++;
    expect_that(given->status == CEN_OK, "a dirty connection is reset");
    request_is_over(given->user);
}

/* libuv has released the descriptor, so the connection may get another holder. A give never waits, whatever the driver
 * does. Its completion is reported. */
static void on_watch_closed(uv_handle_t *handle)
{
    request *r = handle->data;
    connection *c = r->take.lease.object;
    c->users--;
    c->dirty = r->number % DIRTY == 0;
    if (!c->dirty) {
        cen_pool_give(&r->take.lease);
        request_is_over(r);
        return;
    }
    cen_future_init(&r->given);
    r->given.user = r;
    cen_future_then(&r->given, on_given, cen_pollable_executor(here.pollable));
    expect_that(cen_pool_give_async(&r->take.lease, &r->given) == CEN_OK, "a dirty connection is given back");
}

static void on_answer(uv_poll_t *watch, int status, int events)
{
    request *r = watch->data;
    connection *c = r->take.lease.object;
    (void)events;
    expect_that(status == 0 && echo_receive(c->fd, r->number, MSG_DONTWAIT), "the reply belongs to the request");
    uv_close((uv_handle_t *)watch, on_watch_closed);
}

static void on_ready(cen_take_op *take)
{
    request *r = (request *)take;
    here.told++;
    expect_that(pthread_equal(pthread_self(), loops_thread), "completions run on the loop's thread");
    if (!expect_that(take->future.status == CEN_OK, "every request gets a connection")) return;
    connection *c = take->lease.object;
    expect_that(c->users++ == 0, "a connection has one user at a time");
    expect_that(echo_send(c->fd, r->number), "the request is sent");
    r->answer.data = r;
    expect_that(uv_poll_init(&here.loop, &r->answer, c->fd) == 0, "libuv watches the connection");
    uv_poll_start(&r->answer, UV_READABLE, on_answer);
}

/* ---- The pollable in the loop ----------------------------------------------------------------------- */

static void on_pollable(uv_poll_t *watch, int status, int events)
{
    (void)watch, (void)events;
    here.wakeups++;
    bool ran = status == 0 && cen_pollable_run_ready(here.pollable, NULL, NULL) == CEN_OK;
    expect_that(ran, "the loop runs what is due");
}

static void on_patience_lost(uv_timer_t *timer)
{
    (void)timer;
    expect_that(false, "all requests get a reply");
    uv_stop(&here.loop);
}

static bool attach_pollable(void)
{
    return uv_poll_init(&here.loop, &here.ready, cen_pollable_fd(here.pollable)) == 0 &&
           uv_poll_start(&here.ready, UV_READABLE, on_pollable) == 0;
}

/* ---- Threads beside the loop -------------------------------------------------------------------------- */

static void take_and_wait(void *argument)
{
    (void)argument;
    for (uint32_t i = 0; i < TAKES; i++) {
        cen_error error;
        CEN_WITH (here.pool, cen_in_s(20), connection *, c, &error) {
            struct pollfd readable = {.fd = c->fd, .events = POLLIN}; /* libuv has made it non-blocking */
            expect_that(c->users++ == 0, "a connection has one user at a time");
            bool right = echo_send(c->fd, i) && poll(&readable, 1, -1) == 1 && echo_receive(c->fd, i, 0);
            expect_that(right, "a thread's request gets a reply");
            c->users--;
            taken_by_threads++;
        } else {
            expect_that(false, error.text);
        }
    }
}

int main(void)
{
    cen_error error;
    uv_thread_t threads[THREADS];
    setvbuf(stdout, NULL, _IOLBF, 0);
    loops_thread = pthread_self();
    if (!echo_start(&echo)) return perror("the echo process"), 1;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "echo", .driver = {&calls, NULL}, .max = CONNECTIONS, .max_barging_ns = CEN_NONE);
    if (cen_pool_new(&options, &here.pool, &error) != CEN_OK ||
        cen_pollable_new(NULL, &here.pollable, &error) != CEN_OK)
        return puts(error.text), 1;
    if (uv_loop_init(&here.loop) != 0 || !attach_pollable()) return puts("libuv failed"), 1;
    uv_timer_init(&here.loop, &here.patience);
    uv_timer_start(&here.patience, on_patience_lost, PATIENCE_MS, 0);

    for (uint32_t i = 0; i < IN_FLIGHT; i++) ask(&requests[i]);
    for (int i = 0; i < THREADS; i++) uv_thread_create(&threads[i], take_and_wait, NULL);
    uv_run(&here.loop, UV_RUN_DEFAULT);
    for (int i = 0; i < THREADS; i++) uv_thread_join(&threads[i]);

    printf("%u requests of the loop served, and %d of %d blocking threads, over %d connections.\n", here.answered,
           (int)taken_by_threads, THREADS, CONNECTIONS);
    printf("The pollable woke the loop %u times for %u completions. Helpers opened the connections, and reset "
           "%d.\n",
           here.wakeups, here.told + here.told_given, (int)resets);
    expect_that(here.answered == REQUESTS && taken_by_threads == THREADS * TAKES, "all requests were served");
    expect_that(resets == REQUESTS / DIRTY && here.told_given == REQUESTS / DIRTY,
                "dirty connections were reset, and the gives completed");
    expect_that(called_by_the_loop == 0, "the loop opens and resets nothing itself");
    expect_that(uv_loop_close(&here.loop) == 0, "nothing is left in the loop");
    expect_that(cen_pool_close(here.pool, cen_in_s(5), NULL, &error) == CEN_OK, "nothing is left in the pool");
    cen_pool_free(here.pool);
    expect_that(cen_pollable_free(here.pollable, &error) == CEN_OK, "nothing is left in the pollable");
    echo_stop(&echo);
    puts(surprises ? "Some checks failed." : "The loop never waited for the pool, and all requests were served.");
    return surprises ? 1 : 0;
}
