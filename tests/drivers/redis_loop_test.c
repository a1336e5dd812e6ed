/* SPDX-License-Identifier: MIT */
/* The asynchronous form in a program of one thread: a manual runtime, a manual poller, and hiredis' own functions beside ours. */
#include "drivers/redis_place.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct loop {
    cen_runtime *runtime;
    cen_poller *poller;
    cen_pool *pool;
} loop;

static void turn(void)
{
    int64_t ns = cen_runtime_poll(loop.runtime);
    struct pollfd fds[] = {{cen_poller_fd(loop.poller), POLLIN, 0}, {cen_runtime_fd(loop.runtime), POLLIN, 0}};
    poll(fds, 2, ns < 0 || ns > 10000000 ? 10 : (int)(ns / 1000000));
    cen_status status = cen_poller_poll(loop.poller, CEN_NOW, NULL, NULL);
    expect(status == CEN_OK || status == CEN_TIMEOUT);
    cen_runtime_poll(loop.runtime);
}

#define turn_until(condition) \
    do { \
        for (int64_t begin_ = cen_clock(); !(condition) && cen_clock() - begin_ < 60000000000;) turn(); \
        expect(condition); \
    } while (0)

static void begin_at(const char *url, cen_pool_options options)
{
    cen_runtime_options of_runtime = CEN_RUNTIME_OPTIONS(.manual = true);
    cen_poller_options of_poller = CEN_POLLER_OPTIONS(.manual = true);
    expect_equal(cen_runtime_new(&of_runtime, &loop.runtime, NULL), CEN_OK);
    expect_equal(cen_poller_new(&of_poller, &loop.poller, NULL), CEN_OK);
    cen_redis_options of_driver = CEN_REDIS_OPTIONS(.url = url, .name = PLACE_NAME, .poller = loop.poller);
    options.size = sizeof options;
    options.driver = cen_redis_with(&of_driver);
    options.runtime = loop.runtime;
    if (!options.max) options.max = 1;
    loop.pool = place_pool(options);
}

static void begin(uint32_t max)
{
    begin_at(place_good(), (cen_pool_options){.max = max});
}

static cen_pool_stats stats(void)
{
    return place_stats(loop.pool);
}

static void end(void)
{
    cen_close_op closing;
    cen_close_op_init(&closing, NULL, NULL);
    expect_equal(cen_pool_close_async(loop.pool, cen_in_s(5), &closing), CEN_OK);
    turn_until(cen_future_is_done(&closing.future));
    expect_equal(closing.future.status, CEN_OK);
    turn_until(stats().closing == 0);
    expect_equal(cen_pool_free(loop.pool), CEN_OK);
    turn();
    expect_equal(cen_poller_free(loop.poller), CEN_OK); /* nothing is watched any more */
    expect_equal(cen_runtime_free(loop.runtime), CEN_OK);
    place_soon(place_connections() == 0);
}

/* One object, by asking. */
static cen_lease take(void)
{
    cen_take_op ask;
    cen_take_op_init(&ask, NULL, NULL);
    expect_equal(cen_pool_take_async(loop.pool, cen_in_s(5), &ask), CEN_OK);
    turn_until(cen_future_is_done(&ask.future));
    expect_equal(ask.future.status, CEN_OK);
    return ask.lease;
}

struct told {
    int calls, lost;
    char text[64];
    long long sum;
    cen_lease *gives;
};

static void on_reply(redisAsyncContext *context, void *answer, void *argument)
{
    struct told *told = argument;
    redisReply *reply = answer;
    (void)context;
    told->calls++;
    if (!reply) told->lost++;
    else if (reply->type == REDIS_REPLY_INTEGER) told->sum += reply->integer;
    else snprintf(told->text, sizeof told->text, "%s", reply->str ? reply->str : "");
    if (told->gives) expect_equal(cen_pool_give(told->gives), CEN_OK);
}

TEST(one_thread_opens_uses_and_gives)
{
    struct told told = {0};
    begin(2);
    cen_lease lease = take();
    redisAsyncContext *context = lease.object;
    context->data = &told; /* the program's own */
    expect_equal(cen_redis_command_async(context, on_reply, &told, "ECHO %s", "hello"), REDIS_OK);
    turn_until(told.calls == 1);
    expect_text(told.text, "hello");
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(stats().idle, 1);
    expect_equal(stats().reset, 0);
    end();
}

TEST(a_thousand_commands_are_answered_in_their_order)
{
    struct told told = {0};
    begin(1);
    cen_lease lease = take();
    for (int i = 0; i < 1000; i++)
        expect_equal(i % 2 ? cen_redis_command_async(lease.object, on_reply, &told, "STRLEN %d", i)
                           : redisAsyncCommand(lease.object, on_reply, &told, "STRLEN %d", i),
                     REDIS_OK);
    expect_equal(cen_redis_command_async(lease.object, on_reply, &told, "ECHO last"), REDIS_OK);
    turn_until(told.calls == 1001);
    expect_text(told.text, "last");
    expect_equal(told.sum, 0);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end();
}

/* More than any socket takes at once: the rest waits for a second descriptor to be writable. */
TEST(what_does_not_fit_into_the_socket_is_sent_later)
{
    struct told told = {0};
    size_t size = 40u << 20;
    char *large = malloc(size);
    memset(large, 'x', size);
    begin(1);
    cen_lease lease = take();
    server_pause(place_server()); /* it reads nothing meanwhile */
    expect_equal(cen_redis_command_async(lease.object, on_reply, &told, "SET large %b", large, size), REDIS_OK);
    expect(sdslen(((redisAsyncContext *)lease.object)->c.obuf) > 0);
    expect_equal(cen_redis_command_async(lease.object, on_reply, &told, "STRLEN large"), REDIS_OK);
    expect_equal(cen_redis_command_async(lease.object, on_reply, &told, "UNLINK large"), REDIS_OK);
    server_resume(place_server());
    turn_until(told.calls == 3);
    expect_equal(told.sum, (long long)size + 1);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(stats().reset, 0);
    free(large);
    end();
}

TEST(a_callback_may_give_its_own_connection_back)
{
    struct told told = {0};
    begin(1);
    cen_lease lease = take();
    told.gives = &lease;
    expect_equal(cen_redis_command_async(lease.object, on_reply, &told, "ECHO done"), REDIS_OK);
    turn_until(told.calls == 1);
    expect_equal(stats().idle, 1);
    lease = take();
    expect_equal(cen_redis_command_async(lease.object, on_reply, &told, "MULTI"), REDIS_OK);
    turn_until(stats().reset == 1); /* given, dirty, within its own callback */
    turn_until(stats().idle == 1);
    lease = take();
    expect_equal(cen_redis_command_async(lease.object, on_reply, &told, "QUIT"), REDIS_OK);
    turn_until(stats().closed == 1);
    end();
}

TEST(replies_that_are_still_to_come_reach_their_callbacks_and_nobody_else)
{
    struct told first = {0}, second = {0};
    begin(1);
    cen_lease lease = take();
    expect_equal(cen_redis_command_async(lease.object, on_reply, &first, "BLPOP nothing-there 0.2"), REDIS_OK);
    expect_equal(redisAsyncCommand(lease.object, on_reply, &first, "ECHO mine"), REDIS_OK);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = take();
    expect_equal(first.calls, 2);
    expect_text(first.text, "mine");
    expect_equal(stats().reset, 1);
    expect_equal(cen_redis_command_async(lease.object, on_reply, &second, "ECHO yours"), REDIS_OK);
    turn_until(second.calls == 1);
    expect_text(second.text, "yours");
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end();
}

TEST(a_connection_that_is_lost_stays_until_it_is_given_back)
{
    struct told told = {0};
    begin(1);
    cen_lease lease = take();
    redisAsyncContext *context = lease.object;
    uint64_t identity = place_later_identity(context);
    expect_equal(cen_redis_command_async(context, on_reply, &told, "BLPOP nothing-there 30"), REDIS_OK);
    expect_equal(cen_redis_command_async(context, on_reply, &told, "ECHO never"), REDIS_OK);
    turn();
    expect(place_cut(identity));
    turn_until(told.calls == 2);
    expect_equal(told.lost, 2);
    for (int i = 0; i < 5; i++) turn();
    expect(context->err != 0); /* it is there to be read */
    expect_equal(cen_redis_command_async(context, on_reply, &told, "ECHO never"), REDIS_ERR);
    expect_equal(redisAsyncCommand(context, on_reply, &told, "ECHO never"), REDIS_ERR);
    expect_equal(told.calls, 2);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    turn_until(stats().closed == 1);
    lease = take();
    expect(place_later_identity(lease.object) != identity);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end();
}

static int disconnects;
static void on_disconnect(const redisAsyncContext *context, int status)
{
    (void)context;
    disconnects += status == REDIS_ERR ? 1 : 100;
}

TEST(a_disconnect_callback_of_the_program_is_told_once)
{
    begin(1);
    cen_lease lease = take();
    expect_equal(redisAsyncSetDisconnectCallback(lease.object, on_disconnect), REDIS_OK);
    expect(place_cut(place_later_identity(lease.object)));
    turn_until(disconnects == 1);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    turn_until(stats().closed == 1);
    expect_equal(disconnects, 1);
    end();
}

TEST(commands_whose_replies_cannot_be_counted_are_refused)
{
    static const char *const refused[] = {"SUBSCRIBE a", "psubscribe a", "UNSUBSCRIBE", "MONITOR", "CLIENT REPLY OFF"};
    struct told told = {0};
    begin(1);
    cen_lease lease = take();
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        expect_equal(cen_redis_command_async(lease.object, on_reply, &told, refused[i]), REDIS_ERR);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(stats().idle, 1);
    expect_equal(told.calls, 0);
    end();
}

TEST(one_that_was_subscribed_directly_is_closed)
{
    struct told told = {0};
    begin(1);
    cen_lease lease = take();
    expect_equal(redisAsyncCommand(lease.object, on_reply, &told, "SUBSCRIBE events"), REDIS_OK);
    for (int i = 0; i < 5; i++) turn();
    expect_equal(cen_pool_give(&lease), CEN_OK);
    turn_until(stats().closed == 1);
    expect_equal(told.lost, 1);
    end();
}

static void free_it(redisAsyncContext *context, void *answer, void *argument)
{
    (void)answer;
    ++*(int *)argument;
    redisAsyncFree(context);
}

TEST(one_that_a_callback_frees_is_still_there_and_closed_when_it_is_given)
{
    int freed = 0;
    begin(1);
    cen_lease lease = take();
    expect_equal(cen_redis_command_async(lease.object, free_it, &freed, "ECHO x"), REDIS_OK);
    turn_until(freed == 1);
    for (int i = 0; i < 3; i++) turn();
    expect(((redisAsyncContext *)lease.object)->err != 0);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    turn_until(stats().closed == 1);
    end();
}

/* guarantees: drivers.redis-direct */
TEST(direct_use_is_noticed_here_too)
{
    struct told told = {0};
    begin(1);
    cen_lease lease = take();
    expect_equal(redisAsyncCommand(lease.object, on_reply, &told, "GET nothing-there"), REDIS_OK);
    turn_until(told.calls == 1);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = take();
    expect_equal(stats().reset, 1);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = take();
    expect_equal(stats().reset, 1); /* only once */
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end();
}

/* guarantees: drivers.redis-direct */
TEST(a_direct_change_before_a_command_of_ours_is_not_hidden_by_it)
{
    struct told told = {0};
    begin(1);
    cen_lease lease = take();
    expect_equal(redisAsyncCommand(lease.object, on_reply, &told, "SELECT 3"), REDIS_OK);
    expect_equal(cen_redis_command_async(lease.object, on_reply, &told, "ECHO x"), REDIS_OK);
    turn_until(told.calls == 2);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = take();
    expect_equal(stats().reset, 1);
    expect(place_later_is_clean(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end();
}

TEST(a_direct_change_is_noticed_here_too)
{
    struct told told = {0};
    begin(1);
    cen_lease lease = take();
    expect_equal(redisAsyncCommand(lease.object, on_reply, &told, "SELECT 3"), REDIS_OK);
    turn_until(told.calls == 1);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = take();
    expect_equal(stats().reset, 1);
    expect(place_later_is_clean(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end();
}

/* ---- Openings that do not end --------------------------------------------------------------------------------- */

static int silent(uint16_t *port, int backlog)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    expect(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, backlog) == 0);
    expect(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static int connected(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    (void)connect(fd, (struct sockaddr *)&address, sizeof address);
    return fd;
}

/* With `crowd` the server's backlog is full, and the connect itself does not end. */
static int64_t time_of_cancelled_opening(bool crowd, int64_t open_timeout_ns)
{
    uint16_t port;
    int fd = silent(&port, crowd ? 0 : 8), others[4];
    for (int i = 0; crowd && i < 4; i++) others[i] = connected(port);
    begin_at(place_at(port),
             (cen_pool_options){.open_timeout_ns = open_timeout_ns, .breaker_failures = 1, .breaker_wait_ns = CEN_OFF});
    cen_take_op ask;
    cen_take_op_init(&ask, NULL, NULL);
    expect_equal(cen_pool_take_async(loop.pool, cen_in_s(5), &ask), CEN_OK);
    turn_until(stats().opening == 1);
    int64_t start = cen_clock();
    if (!open_timeout_ns) expect(cen_future_cancel(&ask.future));
    else turn_until(cen_future_is_done(&ask.future));
    if (open_timeout_ns) turn_until(stats().opening == 0);
    end(); /* which cancels what is under way */
    int64_t took = cen_clock() - start;
    for (int i = 0; crowd && i < 4; i++) close(others[i]);
    close(fd);
    return took;
}

/* The driver's own limit is 5 s. A busy machine only adds to what it takes, so one quick run shows that it was cancelled. */
static void cancel_opening(bool crowd, int64_t open_timeout_ns)
{
    for (int tries = 0; tries < 5; tries++)
        if (time_of_cancelled_opening(crowd, open_timeout_ns) < 2000000000) return;
    test_fail(__FILE__, __LINE__, "the opening ended by its own limit");
}

TEST(an_opening_is_cancelled_when_the_pool_is_closed)
{
    cancel_opening(false, 0);
}

TEST(an_opening_is_cancelled_when_it_takes_too_long_for_the_pool)
{
    cancel_opening(false, 100000000);
}

TEST(a_connect_that_does_not_end_is_cancelled_too)
{
    cancel_opening(true, 100000000);
    cancel_opening(true, 0);
}
