/* SPDX-License-Identifier: MIT */
/*
 * One thread, one epoll loop, eight connections, and a thousand requests that each need one. Only the loop waits, in
 * epoll_wait.
 *
 *     1,000 takes ▶ [ wait queue of the pool ] ▶ 8 connections ▶ an echo process
 *         ▲                 │ a connection, the deadline, or a full queue
 *         └── pollable ◀────┘
 *
 * Besides the connections the loop watches one descriptor, that of a pollable. It is readable when a take has completed
 * or a deadline has passed. cen_pollable_run_ready then runs what is due. The pool uses the pollable's runtime, so
 * there is no other thread, not even for timers.
 *
 * The memory of a take is the cen_take_op inside the request: nothing is allocated.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>

#include <cenote/cenote.h>

#include "echo.h"

enum { CONNECTIONS = 8, REQUESTS = 1000, TOO_MANY = 200, LATE = 100, LAST = 10 };
#define MS INT64_C(1000000)
#define PATIENCE CEN_SECONDS(20) /* limit for each part, far more than it needs */

typedef struct request {
    cen_take_op take; /* first member: a completed take is its request */
    uint32_t number;
    int64_t due; /* its deadline, where the test checks it */
} request;

typedef struct connection {
    int fd;        /* -1: not open */
    request *user; /* the request whose reply is expected; NULL: none */
    bool connecting;
    cen_ticket ticket; /* of its open */
} connection;

static struct loop {
    int epoll;
    cen_pollable *pollable;
    cen_pool *pool;
    echo_server echo;
    connection connections[CONNECTIONS];
    unsigned sleeps, wakeups; /* calls of epoll_wait, and how many of them the pollable ended */
    const unsigned *counter;  /* the loop ends when this counter ... */
    unsigned wanted;          /* ... has reached this number */
} loop;

static request requests[REQUESTS + TOO_MANY], keepers[CONNECTIONS];
static unsigned told, answered, kept, late, full, sent_away, closed; /* takes by their result; `closed`: the pool */
static uint32_t next_number;                                         /* the request expected next */
static int surprises;

static bool expect_that(bool holds, const char *what)
{
    if (!holds) surprises++;
    if (!holds) printf("  FAILED: %s\n", what);
    return holds;
}

/* ---- The driver: non-blocking connects in the same loop ------------------------------------------- */

static cen_error no_connection = {.status = CEN_DRIVER, .text = "cannot connect"};

/* Start to connect. The loop watches for the end, and on_connected reports it to the pool. */
static void open_async(void *argument, cen_ticket ticket)
{
    (void)argument;
    connection *c = loop.connections;
    while (c < loop.connections + CONNECTIONS && c->fd >= 0) c++;
    if (c < loop.connections + CONNECTIONS) c->fd = echo_connect(&loop.echo, SOCK_NONBLOCK);
    struct epoll_event writable = {.events = EPOLLOUT, .data.ptr = c};
    if (c == loop.connections + CONNECTIONS || c->fd < 0 ||
        epoll_ctl(loop.epoll, EPOLL_CTL_ADD, c->fd, &writable) != 0) {
        cen_driver_done(ticket, CEN_DRIVER, NULL, &no_connection);
        return;
    }
    c->ticket = ticket;
    c->connecting = true;
}

static void close_connection(void *argument, void *object)
{
    (void)argument;
    connection *c = object;
    close(c->fd); /* this also removes it from epoll */
    c->fd = -1;
}

static void on_connected(connection *c)
{
    struct epoll_event readable = {.events = EPOLLIN, .data.ptr = c};
    int code = 0;
    socklen_t size = sizeof code;
    c->connecting = false;
    bool connected = getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &code, &size) == 0 && code == 0 &&
                     epoll_ctl(loop.epoll, EPOLL_CTL_MOD, c->fd, &readable) == 0;
    if (!connected) close_connection(NULL, c);
    cen_driver_done(c->ticket, connected ? CEN_OK : CEN_DRIVER, c, connected ? NULL : &no_connection);
}

static const cen_driver_calls calls = {.size = sizeof calls, .open_async = open_async, .close = close_connection};

/* ---- Events of the loop --------------------------------------------------------------------------- */

/* A request has its connection: send, and continue when the reply has arrived. */
static void on_ready(cen_take_op *take)
{
    request *r = (request *)take;
    told++;
    expect_that(r->number == next_number++, "takes complete in order");
    if (!expect_that(take->future.status == CEN_OK, "every request gets a connection")) return;
    connection *c = take->lease.object;
    expect_that(c->user == NULL, "a connection has one user at a time");
    c->user = r;
    if (!expect_that(echo_send(c->fd, r->number), "the request is sent")) cen_pool_discard(&take->lease);
}

static void on_answer(connection *c)
{
    request *r = c->user;
    if (!expect_that(r && echo_receive(c->fd, r->number, MSG_DONTWAIT), "the reply belongs to the request")) {
        if (r) cen_pool_discard(&r->take.lease); /* further input of this connection must be ignored */
        return;
    }
    answered++;
    c->user = NULL;
    cen_pool_give(&r->take.lease); /* to the next waiter, whose callback run_ready calls; never waits */
}

static void handle(const struct epoll_event *events, int count)
{
    for (int i = 0; i < count; i++) {
        connection *c = events[i].data.ptr;
        if (c < loop.connections || c >= loop.connections + CONNECTIONS) continue; /* the pollable's event */
        if (c->connecting) on_connected(c);
        else on_answer(c);
    }
}

static void run_ready(void)
{
    expect_that(cen_pollable_run_ready(loop.pollable, NULL, NULL) == CEN_OK, "the loop runs what is due");
}

/* Wait for events. Deadlines make the pollable readable, so the timeout is only for a faulty program. */
static int sleep_in_epoll(struct epoll_event *events)
{
    bool over = *loop.counter >= loop.wanted; /* what ran before the sleep was the last that was wanted */
    int count = epoll_wait(loop.epoll, events, CONNECTIONS + 1, over ? 0 : (int)(PATIENCE / MS));
    loop.sleeps++;
    for (int i = 0; i < count; i++) loop.wakeups += events[i].data.ptr == loop.pollable;
    return count;
}

/* The simple form: when the descriptor is readable, run what is due. */
static void turn_simply(void)
{
    struct epoll_event events[CONNECTIONS + 1];
    int count = sleep_in_epoll(events);
    for (int i = 0; i < count; i++)
        if (events[i].data.ptr == loop.pollable) run_ready();
    handle(events, count);
}

/* Also before the sleep: completions caused by the loop's own gives run without another wake-up. */
static void turn(void)
{
    struct epoll_event events[CONNECTIONS + 1];
    run_ready();
    int count = sleep_in_epoll(events);
    handle(events, count);
}

/* Turn until the counter has reached a number. */
static bool turn_until(void (*one_turn)(void), const unsigned *counter, unsigned wanted)
{
    loop.counter = counter;
    loop.wanted = wanted;
    for (int64_t end = cen_clock() + PATIENCE; *counter < wanted && cen_clock() < end;) one_turn();
    return *counter == wanted;
}

/* ---- A thousand in flight ----------------------------------------------------------------------------- */

static void ask(request *r, uint32_t number, cen_deadline deadline, void (*done)(cen_take_op *take))
{
    r->number = number;
    cen_take_op_init(&r->take, done, cen_pollable_executor(loop.pollable));
    expect_that(cen_pool_take_async(loop.pool, deadline, &r->take) == CEN_OK, "the pool accepts the take");
}

static void serve_a_thousand(const char *how, void (*one_turn)(void))
{
    told = answered = next_number = loop.sleeps = loop.wakeups = 0;
    for (uint32_t i = 0; i < REQUESTS; i++) ask(&requests[i], i, cen_in_s(60), on_ready);
    expect_that(told == 0, "no callback runs within the take");
    expect_that(turn_until(one_turn, &answered, REQUESTS), "all requests get a reply");
    printf("%s: %u requests served in order, over %d connections.\n"
           "  The loop slept %u times; the pollable woke it %u times for %u completions.\n",
           how, answered, CONNECTIONS, loop.sleeps, loop.wakeups, told);
}

/* ---- All connections held: deadlines, cancel, a burst ---------------------------------------------------- */

static void on_kept(cen_take_op *take)
{
    kept += expect_that(take->future.status == CEN_OK, "the take gets a connection");
}

static void keep_all(void)
{
    kept = 0;
    for (uint32_t i = 0; i < CONNECTIONS; i++) ask(&keepers[i], i, cen_in_s(60), on_kept);
    expect_that(turn_until(turn, &kept, CONNECTIONS), "all connections are held");
}

static void on_late(cen_take_op *take)
{
    late++;
    expect_that(take->future.status == CEN_TIMEOUT, "a late take ends with TIMEOUT");
    expect_that(cen_clock() >= ((request *)take)->due, "no take times out early");
}

static void let_deadlines_pass(void)
{
    cen_error error = {.status = CEN_OK};
    for (uint32_t i = 0; i < LATE; i++) {
        request *r = &requests[i];
        r->due = cen_clock() + (1 + i * 7 % 20) * MS;
        cen_take_op_init(&r->take, on_late, cen_pollable_executor(loop.pollable));
        if (i == 0) r->take.future.error = &error; /* only once, because the error text costs a walk over the pool */
        expect_that(cen_pool_take_async(loop.pool, cen_at(r->due), &r->take) == CEN_OK, "the pool accepts the take");
    }
    expect_that(turn_until(turn, &late, LATE), "all deadlines pass");
    printf("All connections are held: %u takes timed out, none early. One of them:\n  %s\n", late, error.text);
}

static void on_never(cen_take_op *take)
{
    (void)take;
    expect_that(false, "a cancelled take never completes");
}

static void cancel_two(void)
{
    request first, second;
    ask(&first, 0, cen_in_s(60), on_never);
    expect_that(cen_future_cancel(&first.take.future), "a waiting take can be cancelled");
    ask(&second, 0, cen_in_s(60), on_kept);
    cen_pool_give(&keepers[0].take.lease); /* the second take has the connection now, but its callback has not run */
    expect_that(!cen_future_cancel(&second.take.future), "a take with a connection can no longer be cancelled");
    expect_that(turn_until(turn, &kept, CONNECTIONS + 1), "it completes");
    puts("Two cancels: one in time, so the take never completes; one too late, so the take has a connection.");
    keepers[0].take.lease = second.take.lease;
}

static void on_burst(cen_take_op *take)
{
    if (((request *)take)->number < REQUESTS) on_ready(take);
    else
        full +=
            expect_that(take->future.status == CEN_FULL && take->cause == CEN_CAUSE_QUEUE_FULL, "the queue is full");
}

static void burst(void)
{
    told = answered = next_number = full = 0;
    for (uint32_t i = 0; i < REQUESTS + TOO_MANY; i++) ask(&requests[i], i, cen_in_s(60), on_burst);
    expect_that(turn_until(turn, &full, TOO_MANY) && told == 0, "takes beyond max_waiters fail at once");
    for (int i = 0; i < CONNECTIONS; i++) cen_pool_give(&keepers[i].take.lease);
    expect_that(turn_until(turn, &answered, REQUESTS), "all others get a reply");
    printf("A burst of %d: %u failed with FULL at once, and %u got a reply.\n", REQUESTS + TOO_MANY, full, answered);
}

/* ---- Start and end -------------------------------------------------------------------------------------------- */

static bool begin(cen_error *error)
{
    for (int i = 0; i < CONNECTIONS; i++) loop.connections[i].fd = -1;
    loop.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (cen_pollable_new(NULL, &loop.pollable, error) != CEN_OK) return false;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "echo", .driver = {&calls, NULL}, .max = CONNECTIONS,
                         .runtime = cen_pollable_runtime(loop.pollable), .max_waiters = REQUESTS);
    if (cen_pool_new(&options, &loop.pool, error) != CEN_OK) return false;
    snprintf(error->text, sizeof error->text, "epoll cannot watch the descriptor");
    struct epoll_event readable = {.events = EPOLLIN, .data.ptr = loop.pollable};
    return epoll_ctl(loop.epoll, EPOLL_CTL_ADD, cen_pollable_fd(loop.pollable), &readable) == 0;
}

static void on_sent_away(cen_take_op *take)
{
    sent_away += expect_that(take->future.status == CEN_CLOSED, "a close ends waiting takes with CLOSED");
}

static void on_closed(cen_close_op *closing)
{
    closed++;
    expect_that(closing->future.status == CEN_OK, "all objects are given back before the deadline");
}

/* A close waits for the holders, and the loop must go on so that they can give back. */
static void close_without_waiting(void)
{
    cen_close_op closing;
    cen_close_report report = CEN_SIZED(cen_close_report);
    keep_all();
    for (uint32_t i = 0; i < LAST; i++) ask(&requests[i], i, cen_in_s(60), on_sent_away);
    cen_close_op_init(&closing, on_closed, cen_pollable_executor(loop.pollable));
    closing.report = &report;
    expect_that(cen_pool_close_async(loop.pool, cen_in_s(10), &closing) == CEN_OK, "the close begins");
    expect_that(turn_until(turn, &sent_away, LAST) && closed == 0, "waiting takes end at once, and holders have time");
    for (int i = 0; i < CONNECTIONS; i++) cen_pool_give(&keepers[i].take.lease);
    expect_that(turn_until(turn, &closed, 1), "the pool is closed when all objects are back");
    printf("Closed asynchronously: %u takes ended with CLOSED, %u connections were given back meanwhile.\n",
           report.waiting, report.given);
    expect_that(report.waiting == LAST && report.given == CONNECTIONS, "the report has these numbers");
}

static void end(void)
{
    cen_runtime_stats threads = CEN_SIZED(cen_runtime_stats);
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    cen_runtime_stats_get(cen_pollable_runtime(loop.pollable), &threads);
    cen_pool_stats_get(loop.pool, &s);
    printf("The pool: %" PRIu64 " leases, %" PRIu64 " ended; %" PRIu64 " connections opened; %u helper threads.\n"
           "A take operation has %zu bytes, provided by the program.\n",
           s.taken, s.ended, s.opened, threads.helpers, sizeof(cen_take_op));
    expect_that(s.taken == s.ended && s.waiting == 0 && s.opened == CONNECTIONS, "everything was given back");
    expect_that(s.timed_out == LATE && s.refused == TOO_MANY, "the pool's counts are the same");
    expect_that(threads.helpers == 0 && !threads.has_keeper, "there is no other thread");
    cen_pool_free(loop.pool);
    close(loop.epoll);
    expect_that(cen_pollable_free(loop.pollable, NULL) == CEN_OK, "nothing is left");
    echo_stop(&loop.echo);
}

int main(void)
{
    cen_error error;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!echo_start(&loop.echo)) return perror("the echo process"), 1;
    if (!begin(&error)) return puts(error.text), 1;
    serve_a_thousand("A simple loop", turn_simply);
    serve_a_thousand("A loop that runs before it sleeps", turn);
    keep_all();
    let_deadlines_pass();
    cancel_two();
    burst();
    close_without_waiting();
    end();
    puts(surprises ? "Some checks failed." : "Everything ran on one thread, which only waited in epoll_wait.");
    return surprises ? 1 : 0;
}
