/* SPDX-License-Identifier: MIT */
/*
 * The program's allocator may wait for a thread that closes the pool: a driver that has a poller watch its connections holds no lock
 * that a cancel needs meanwhile.
 *
 * The server is a listening socket that nobody accepts from. The first watch of the opening makes the poller call its allocator,
 * which waits until the pool was closed, and with that the opening cancelled. A cancel that comes between the look for it and the
 * watch is not lost: the opening ends, although its own limit is an hour.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cenote/pool_async.h>
#include <cenote/cenote.h>
#include <cenote/poller.h>
#ifdef TEST_PQ
#include <cenote/pq.h>
#endif
#ifdef TEST_MARIADB
#include <cenote/mariadb.h>
#endif
#ifdef TEST_REDIS
#include <cenote/redis.h>
#endif

#include "support/test.h"

static const int64_t an_hour_ns = INT64_C(3600000000000);
static int listener;
static char url[128];
static cen_poller *poller;

static atomic_bool waits; /* the next call of the allocator */
static sem_t is_called, may_return;

static void await(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) continue;
}

static void *allocate(void *unused, size_t size, size_t align)
{
    (void)unused;
    if (atomic_exchange(&waits, false)) {
        sem_post(&is_called);
        await(&may_return);
    }
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void release(void *unused, void *memory, size_t size, size_t align)
{
    (void)unused, (void)size, (void)align;
    free(memory);
}

static const cen_allocator waiting = {allocate, release, NULL};

static void prepare(const char *format)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(listener >= 0 && bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 8) == 0);
    expect(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    snprintf(url, sizeof url, format, (unsigned)ntohs(address.sin_port));
    expect(sem_init(&is_called, 0, 0) == 0 && sem_init(&may_return, 0, 0) == 0);
    cen_poller_options options = CEN_POLLER_OPTIONS(.allocator = &waiting);
    expect_equal(cen_poller_new(&options, &poller, NULL), CEN_OK);
}

static void expect_cancel_beside_the_allocator(cen_driver driver)
{
    cen_pool *pool;
    cen_take_op ask;
    cen_close_op closing;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "silent", .driver = driver, .max = 1);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    atomic_store(&waits, true);
    cen_take_op_init(&ask, NULL, NULL);
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &ask), CEN_OK);
    await(&is_called);
    cen_close_op_init(&closing, NULL, NULL);
    expect_equal(cen_pool_close_async(pool, CEN_NEVER, &closing), CEN_OK); /* and has cancelled the opening */
    sem_post(&may_return);
    expect_equal(cen_future_wait(&ask.future, CEN_NEVER), CEN_OK);
    expect_equal(ask.future.status, CEN_CLOSED);
    expect_equal(cen_future_wait(&closing.future, CEN_NEVER), CEN_OK);
    expect_equal(closing.future.status, CEN_OK);
    cen_pool_free(pool);
    expect_equal(cen_poller_free(poller), CEN_OK);
    close(listener);
}

#ifdef TEST_PQ
/* guarantees: pool.allocator-driver */
TEST(a_pool_of_postgresql_connections_is_closed_while_the_allocator_of_its_poller_is_called)
{
    prepare("postgresql://127.0.0.1:%u/none?sslmode=disable&gssencmode=disable");
    cen_pq_options options = CEN_PQ_OPTIONS(.uri = url, .connect_timeout_ns = an_hour_ns, .poller = poller);
    expect_cancel_beside_the_allocator(cen_pq_with(&options));
}
#endif

#ifdef TEST_MARIADB
/* guarantees: pool.allocator-driver */
TEST(a_pool_of_mariadb_connections_is_closed_while_the_allocator_of_its_poller_is_called)
{
    prepare("mariadb://user@127.0.0.1:%u/none");
    cen_mariadb_options options = CEN_MARIADB_OPTIONS(.url = url, .connect_timeout_ns = an_hour_ns, .poller = poller);
    expect_cancel_beside_the_allocator(cen_mariadb_with(&options));
}
#endif

#ifdef TEST_REDIS
/* guarantees: pool.allocator-driver */
TEST(a_pool_of_redis_connections_is_closed_while_the_allocator_of_its_poller_is_called)
{
    prepare("redis://127.0.0.1:%u/0");
    cen_redis_options options = CEN_REDIS_OPTIONS(.url = url, .connect_timeout_ns = an_hour_ns, .poller = poller);
    expect_cancel_beside_the_allocator(cen_redis_with(&options));
}
#endif
