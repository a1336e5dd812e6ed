/* SPDX-License-Identifier: MIT */
/*
 * An epoll loop with eight connections, which are real socket pairs; the same
 * loop plays the other side of each. Those who ask send their number, read it
 * back and give the connection.
 */
#ifndef TESTS_UNIT_POOL_EPOLL_LOOP_H
#define TESTS_UNIT_POOL_EPOLL_LOOP_H

#include <cenote/cenote.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/test.h"

enum { CONNECTIONS = 8, ASKS = 1000, INBOX = 1000, RUNTIME = 1001 };

/* ---- Connections and those who ask ------------------------------------------------------------ */

typedef struct asker {
    cen_take_op take;
    uint32_t number;
} asker;

typedef struct connection {
    int near, far; /* the pool's end, and the other side's; -1: not open */
    asker *user;
    atomic_int users;
} connection;

static struct {
    const cen_allocator *allocator; /* for all that is made; NULL: the default */
    int epoll;
    cen_runtime *runtime;
    cen_inbox *inbox;
    cen_pool *pool;
    connection connections[CONNECTIONS];
    unsigned told, answered, kept, late, full, sleeps;
    uint32_t next; /* who is to be told next, ... */
    bool others;   /* ... unless others give, too: two that serve at once tell in whichever order they come to it */
} loop;

static asker askers[2 * ASKS], keepers[CONNECTIONS];

static inline void watch(int fd, uint32_t name)
{
    struct epoll_event readable = {.events = EPOLLIN, .data.u32 = name};
    expect_equal(epoll_ctl(loop.epoll, EPOLL_CTL_ADD, fd, &readable), 0);
}

static inline cen_status open_connection(void *argument, void **out, cen_error *error)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int ends[2];
    (void)argument, (void)error;
    pthread_mutex_lock(&mutex);
    uint32_t i = 0;
    while (i < CONNECTIONS && loop.connections[i].near >= 0) i++;
    expect(i < CONNECTIONS); /* never more than max */
    expect_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    loop.connections[i].near = ends[0];
    loop.connections[i].far = ends[1];
    pthread_mutex_unlock(&mutex);
    watch(ends[0], 2 * i);
    watch(ends[1], 2 * i + 1);
    *out = &loop.connections[i];
    return CEN_OK;
}

static inline void close_connection(void *argument, void *object)
{
    (void)argument;
    connection *c = object;
    close(c->near);
    close(c->far);
    c->near = c->far = -1;
}

static const cen_driver_calls quick = {.size = sizeof quick, .open = open_connection, .close = close_connection};

static inline void ask(asker *a, uint32_t number, cen_deadline deadline, void (*done)(cen_take_op *take))
{
    a->number = number;
    cen_take_op_init(&a->take, done, cen_inbox_executor(loop.inbox));
    expect_equal(cen_pool_take_async(loop.pool, deadline, &a->take), CEN_OK);
}

static inline void on_ready(cen_take_op *take)
{
    asker *a = (asker *)take;
    loop.told++;
    expect_equal(take->future.status, CEN_OK);
    expect_equal(loop.others ? loop.next : a->number, loop.next);
    loop.next++;
    connection *c = take->lease.object;
    expect_equal(c->users++, 0);
    c->user = a;
    expect_equal(send(c->near, &a->number, sizeof a->number, MSG_NOSIGNAL), sizeof a->number);
}

static inline void on_kept(cen_take_op *take)
{
    expect_equal(take->future.status, CEN_OK);
    loop.kept++;
}

static inline void on_never(cen_take_op *take)
{
    test_fail(__FILE__, __LINE__, "one that was cancelled is told %s", cen_status_name(take->future.status));
}

/* ---- The loop -------------------------------------------------------------------------------------- */

static inline void on_answer(connection *c)
{
    uint32_t number = UINT32_MAX;
    asker *a = c->user;
    expect(a != NULL);
    expect_equal(recv(c->near, &number, sizeof number, 0), sizeof number);
    expect_equal(number, a->number);
    loop.answered++;
    c->user = NULL;
    c->users--;
    expect_equal(cen_pool_give(&a->take.lease), CEN_OK);
}

static inline void send_back(const connection *c)
{
    uint32_t number;
    expect_equal(recv(c->far, &number, sizeof number, 0), sizeof number);
    expect_equal(send(c->far, &number, sizeof number, MSG_NOSIGNAL), sizeof number);
}

static inline void handle(const struct epoll_event *event)
{
    uint32_t name = event->data.u32;
    if (name >= INBOX) return;
    if (name & 1) send_back(&loop.connections[name / 2]);
    else on_answer(&loop.connections[name / 2]);
}

/* Sleeps without limit, however late it is: a wake-up that is lost is a test that hangs, and so fails. */
static inline int sleep_in_epoll(struct epoll_event *events, int64_t ns)
{
    loop.sleeps++;
    int count = epoll_wait(loop.epoll, events, 2 * CONNECTIONS + 2, ns == 0 ? 0 : -1);
    expect(count >= 0 || errno == EINTR);
    return count;
}

static inline void turn(const unsigned *counter, unsigned wanted)
{
    struct epoll_event events[2 * CONNECTIONS + 2];
    int64_t ns = loop.runtime ? cen_runtime_poll(loop.runtime) : -1;
    while (cen_inbox_poll(loop.inbox, 0) > 0 || !cen_inbox_arm(loop.inbox)) continue;
    if (*counter >= wanted) return;
    int count = sleep_in_epoll(events, ns);
    cen_inbox_poll(loop.inbox, 0);
    for (int i = 0; i < count; i++) handle(&events[i]);
}

static inline void run_until(const unsigned *counter, unsigned wanted)
{
    while (*counter < wanted) turn(counter, wanted);
    expect_equal(*counter, wanted);
}

/* With a manual runtime and virtual time, or, if that is not wanted, the process' own. */
static inline void begin(const cen_driver_calls *calls, bool manual, int32_t max_waiters)
{
    for (int i = 0; i < CONNECTIONS; i++) loop.connections[i] = (connection){.near = -1, .far = -1};
    loop.others = !manual;
    loop.epoll = epoll_create1(EPOLL_CLOEXEC);
    cen_runtime_options own = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true, .allocator = loop.allocator);
    if (manual) expect_equal(cen_runtime_new(&own, &loop.runtime, NULL), CEN_OK);
    cen_inbox_options for_inbox = CEN_INBOX_OPTIONS(.allocator = loop.allocator);
    expect_equal(cen_inbox_new(&for_inbox, &loop.inbox, NULL), CEN_OK);
    cen_pool_options options =
        CEN_POOL_OPTIONS(.driver = {calls, NULL}, .max = CONNECTIONS, .runtime = loop.runtime,
                         .allocator = loop.allocator, .max_waiters = max_waiters, .max_barging_ns = CEN_NONE);
    expect_equal(cen_pool_new(&options, &loop.pool, NULL), CEN_OK);
    watch(cen_inbox_fd(loop.inbox), INBOX);
    if (manual) watch(cen_runtime_fd(loop.runtime), RUNTIME);
}

static inline void end(void)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(loop.pool, &s), CEN_OK);
    expect_equal(s.taken, s.ended);
    expect_equal(s.waiting, 0);
    expect_equal(s.waited, s.served + s.timed_out + s.sent_away + s.failed + s.cancelled);
    if (loop.runtime) {
        cen_runtime_stats threads = CEN_SIZED(cen_runtime_stats);
        expect_equal(cen_runtime_stats_get(loop.runtime, &threads), CEN_OK);
        expect(threads.helpers == 0 && !threads.has_keeper);
    }
    expect_equal(cen_pool_close(loop.pool, cen_in_s(20), NULL, NULL), CEN_OK);
    expect_equal(cen_pool_free(loop.pool), CEN_OK);
    expect_equal(cen_inbox_free(loop.inbox), CEN_OK);
    expect_equal(cen_runtime_free(loop.runtime), CEN_OK);
    close(loop.epoll);
}

static inline void ask_a_thousand(void)
{
    loop.told = loop.answered = loop.next = 0;
    for (uint32_t i = 0; i < ASKS; i++) ask(&askers[i], i, cen_in_s(30), on_ready);
    expect_equal(loop.told, 0); /* nobody is told from within ask */
}

static inline void keep_all(void)
{
    loop.kept = 0;
    for (uint32_t i = 0; i < CONNECTIONS; i++) ask(&keepers[i], i, CEN_NEVER, on_kept);
    run_until(&loop.kept, CONNECTIONS);
}

static inline void give_all(void)
{
    for (int i = 0; i < CONNECTIONS; i++) expect_equal(cen_pool_give(&keepers[i].take.lease), CEN_OK);
}

#endif
