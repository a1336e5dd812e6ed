/* SPDX-License-Identifier: MIT */
/*
 * A pool in a libevent loop: the descriptor of a pollable is one more event, and its callback runs what is due.
 *
 *     200 requests ▶ [ wait queue of the pool ] ▶ 4 connections ▶ an echo process
 *
 * The loop wakes once for any number of completions. The pool uses the pollable's runtime, so there is no thread but
 * the loop's.
 *
 * Then all connections are held, and one more take has 20 ms. Its deadline makes the same descriptor readable.
 */
#include <event2/event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <cenote/cenote.h>

#include "echo.h"

enum { CONNECTIONS = 4, REQUESTS = 200, PATIENCE_S = 20 };

typedef struct request {
    cen_take_op take; /* first member: a completed take is its request */
    uint32_t number;
} request;

typedef struct connection {
    int fd;
    struct event *answer; /* added while a request waits for its reply */
    request *user;
} connection;

static struct {
    struct event_base *base;
    cen_pollable *pollable;
    cen_pool *pool;
    unsigned wakeups, answered, kept;
    uint32_t next_number;
    bool late;
    int64_t due;
} here;

static echo_server echo;
static request requests[REQUESTS], keepers[CONNECTIONS], last;
static pthread_t loops_thread;
static int surprises;

static bool expect_that(bool holds, const char *what)
{
    if (!holds) surprises++;
    if (!holds) printf("  FAILED: %s\n", what);
    return holds;
}

/* ---- Requests --------------------------------------------------------------------------------- */

static void on_answer(evutil_socket_t fd, short what, void *argument)
{
    connection *c = argument;
    request *r = c->user;
    (void)what;
    expect_that(r && echo_receive((int)fd, r->number, MSG_DONTWAIT), "the reply belongs to the request");
    c->user = NULL;
    if (++here.answered == REQUESTS) event_base_loopbreak(here.base);
    if (r) cen_pool_give(&r->take.lease); /* to the next waiter, whose callback run_ready calls; never waits */
}

static void on_ready(cen_take_op *take)
{
    request *r = (request *)take;
    expect_that(r->number == here.next_number++, "takes complete in order");
    if (!expect_that(take->future.status == CEN_OK, "every request gets a connection")) return;
    connection *c = take->lease.object;
    expect_that(c->user == NULL, "a connection has one user at a time");
    c->user = r;
    expect_that(echo_send(c->fd, r->number) && event_add(c->answer, NULL) == 0, "the request is sent");
}

static void on_kept(cen_take_op *take)
{
    here.kept += expect_that(take->future.status == CEN_OK, "the take gets a connection");
    if (here.kept == CONNECTIONS) event_base_loopbreak(here.base);
}

static void on_late(cen_take_op *take)
{
    here.late = expect_that(take->future.status == CEN_TIMEOUT, "the take ends with TIMEOUT");
    expect_that(cen_clock() >= here.due, "it does not time out early");
    expect_that(pthread_equal(pthread_self(), loops_thread), "it completes on the loop's thread");
    event_base_loopbreak(here.base);
}

/* ---- The driver: does not block, so the taking thread calls it, here the loop's ----------------- */

static cen_status open_connection(void *argument, void **out, cen_error *error)
{
    (void)argument;
    connection *c = calloc(1, sizeof *c);
    if (!c) return CEN_NO_MEMORY;
    c->fd = echo_connect(&echo, 0);
    if (c->fd >= 0) c->answer = event_new(here.base, c->fd, EV_READ, on_answer, c);
    if (c->answer) {
        *out = c;
        return CEN_OK;
    }
    if (c->fd >= 0) close(c->fd);
    free(c);
    snprintf(error->text, sizeof error->text, "cannot connect");
    return CEN_DRIVER;
}

static void close_connection(void *argument, void *object)
{
    (void)argument;
    connection *c = object;
    event_free(c->answer);
    close(c->fd);
    free(c);
}

static const cen_driver_calls calls = {.size = sizeof calls, .open = open_connection, .close = close_connection};

/* ---- The loop ------------------------------------------------------------------------------------- */

static void on_pollable(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what, (void)argument; /* the descriptor is watched, and never read */
    here.wakeups++;
    expect_that(cen_pollable_run_ready(here.pollable, NULL, NULL) == CEN_OK, "the loop runs what is due");
}

static void on_patience_lost(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what, (void)argument;
    expect_that(false, "the loop ends in reasonable time");
    event_base_loopbreak(here.base);
}

static void ask(request *r, uint32_t number, cen_deadline deadline, void (*done)(cen_take_op *take))
{
    r->number = number;
    cen_take_op_init(&r->take, done, cen_pollable_executor(here.pollable));
    expect_that(cen_pool_take_async(here.pool, deadline, &r->take) == CEN_OK, "the pool accepts the take");
}

static void run_loop(void)
{
    event_base_loop(here.base, EVLOOP_NO_EXIT_ON_EMPTY);
}

static void serve(void)
{
    for (uint32_t i = 0; i < REQUESTS; i++) ask(&requests[i], i, cen_in_s(PATIENCE_S), on_ready);
    run_loop();
    printf("%u requests served in order, over %d connections; the pollable woke the loop %u times.\n", here.answered,
           CONNECTIONS, here.wakeups);
    expect_that(here.answered == REQUESTS, "all requests get a reply");
}

static void be_late(void)
{
    for (uint32_t i = 0; i < CONNECTIONS; i++) ask(&keepers[i], i, cen_in_s(PATIENCE_S), on_kept);
    run_loop();
    here.due = cen_clock() + CEN_MS(20);
    ask(&last, 0, cen_at(here.due), on_late);
    run_loop();
    printf("With all connections held, a take timed out %.1f ms after its deadline.\n",
           (double)(cen_clock() - here.due) / 1e6);
    expect_that(here.kept == CONNECTIONS && here.late, "the deadline passes");
    for (int i = 0; i < CONNECTIONS; i++) cen_pool_give(&keepers[i].take.lease);
}

int main(void)
{
    cen_error error;
    setvbuf(stdout, NULL, _IOLBF, 0);
    loops_thread = pthread_self();
    if (!echo_start(&echo)) return perror("the echo process"), 1;
    here.base = event_base_new();
    if (!here.base || cen_pollable_new(NULL, &here.pollable, NULL) != CEN_OK) return puts("cannot create the loop"), 1;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "echo", .driver = {&calls, NULL}, .max = CONNECTIONS,
                                                .runtime = cen_pollable_runtime(here.pollable));
    if (cen_pool_new(&options, &here.pool, &error) != CEN_OK) return puts(error.text), 1;
    struct event *ready = event_new(here.base, cen_pollable_fd(here.pollable), EV_READ | EV_PERSIST, on_pollable, NULL);
    struct event *patience = event_new(here.base, -1, 0, on_patience_lost, NULL);
    struct timeval limit = {.tv_sec = PATIENCE_S};
    if (!ready || !patience || event_add(ready, NULL) != 0 || event_add(patience, &limit) != 0)
        return puts("libevent failed"), 1;

    serve();
    be_late();

    expect_that(cen_pool_close(here.pool, cen_in_s(5), NULL, &error) == CEN_OK, "nothing is left in the pool");
    cen_pool_free(here.pool);
    event_free(ready);
    event_free(patience);
    event_base_free(here.base);
    expect_that(cen_pollable_free(here.pollable, &error) == CEN_OK, "nothing is left in the pollable");
    echo_stop(&echo);
    puts(surprises ? "Some checks failed." : "The pool was one more event of the loop.");
    return surprises ? 1 : 0;
}
