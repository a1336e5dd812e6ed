/* SPDX-License-Identifier: MIT */
/* How servers fail: by nonsense, by silence, by death. Both forms. */
#include "drivers/redis_place.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Servers that are none --------------------------------------------------------------------------------------------- */

struct liar {
    int fd;
    const char *says;
    int pause_ms; /* after each byte */
};

static void *lie(void *argument)
{
    struct liar *liar = argument;
    for (int fd; (fd = accept(liar->fd, NULL, NULL)) >= 0; close(fd)) {
        char heard[512];
        if (recv(fd, heard, sizeof heard, 0) <= 0) continue;
        for (const char *at = liar->says; *at; at++) {
            if (send(fd, at, 1, MSG_NOSIGNAL) < 0) break;
            if (liar->pause_ms) place_pause_ms(liar->pause_ms);
        }
        shutdown(fd, SHUT_WR);
        while (recv(fd, heard, sizeof heard, 0) > 0) continue;
    }
    return NULL;
}

static void expect_lie(bool is_later, const char *says, int pause_ms, cen_status status, int code, const char *words)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct liar liar = {.fd = socket(AF_INET, SOCK_STREAM, 0), .says = says, .pause_ms = pause_ms};
    pthread_t thread;
    char url[80];
    expect(bind(liar.fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(liar.fd, 8) == 0);
    expect(getsockname(liar.fd, (struct sockaddr *)&address, &size) == 0);
    snprintf(url, sizeof url, "redis://:secret@127.0.0.1:%u", ntohs(address.sin_port));
    expect(pthread_create(&thread, NULL, lie, &liar) == 0);
    cen_redis_options options = {.url = url, .connect_timeout_ns = 300000000};
    int64_t begin = cen_clock();
    place_refused(options, is_later, status, code, words);
    expect(cen_clock() - begin < 60 * INT64_C(1000000000)); /* a hang; the limit is told by the status */
    shutdown(liar.fd, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(liar.fd);
}

BOTH_FORMS(what_a_server_says_is_told_by_status_and_number)
{
    expect_lie(is_later, "-LOADING Redis is loading the dataset in memory\r\n", 0, CEN_DRIVER, CEN_REDIS_LOADING,
               "still loading its data");
    expect_lie(is_later, "-MASTERDOWN Link with MASTER is down\r\n", 0, CEN_DRIVER, CEN_REDIS_PRIMARY_DOWN,
               "without a link to its primary");
    expect_lie(is_later, "-NOPERM no\r\n", 0, CEN_DRIVER, CEN_REDIS_NOT_PERMITTED, "permission denied");
    expect_lie(is_later, "-READONLY no\r\n", 0, CEN_DRIVER, CEN_REDIS_READ_ONLY, "replica");
    expect_lie(is_later, "-ERR max number of clients reached\r\n", 0, CEN_FULL, CEN_REDIS_MAX_CLIENTS,
               "too many clients");
    expect_lie(is_later, "-ERR syntax error near secret\r\n", 0, CEN_DRIVER, CEN_REDIS_ERROR, "not shown");
    expect_lie(is_later, "+OK\r\n+OK\r\n+PONG\r\n", 0, CEN_DRIVER, CEN_REDIS_NONSENSE, "do not match the commands");
    expect_lie(is_later, "HTTP/1.1 400 Bad Request\r\n\r\n", 0, CEN_DRIVER, CEN_REDIS_NONSENSE, "not RESP");
    expect_lie(is_later, "+OK\r\n", 0, CEN_LOST, CEN_REDIS_HUNG_UP, "connection closed by the server");
    expect_lie(is_later, "", 0, CEN_LOST, CEN_REDIS_HUNG_UP, "connection closed by the server");
}

BOTH_FORMS(a_server_that_dribbles_is_given_up_at_the_deadline)
{
    expect_lie(is_later, "+OK\r\n$1000\r\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 50, CEN_DRIVER, ETIMEDOUT,
               "timed out (limit 300 ms)");
}

/* ---- Silence ---------------------------------------------------------------------------------------------------------------- */

BOTH_FORMS(a_server_that_falls_silent_fails_the_test_in_time)
{
    server *own = server_start(SERVER_REDIS, NULL);
    char url[80];
    cen_redis_options options = place_at_server(own, url);
    options.test_timeout_ns = 200000000;
    cen_pool *pool = place_form_pool(options, is_later, (cen_pool_options){.test_after_idle_ns = 3600000000000});
    cen_lease lease = place_take(pool);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    server_pause(own);
    int64_t begin = cen_clock();
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    place_soon(place_stats(pool).closed == 1);
    expect(cen_clock() - begin >= 190000000);
    server_resume(own);
    lease = place_take(pool);
    expect(place_form_use(lease.object, is_later));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
    server_stop(own);
}

TEST(a_command_that_is_not_answered_fails_in_time)
{
    cen_pool *pool =
        place_form_pool((cen_redis_options){.command_timeout_ns = 100000000}, false, (cen_pool_options){0});
    cen_lease lease = place_take(pool);
    int64_t begin = cen_clock();
    expect_equal(place_form_ask(lease.object, false, NULL, 0, "BLPOP nothing-there 60"), 0);
    expect(cen_clock() - begin < 30 * INT64_C(1000000000)); /* half of what the command takes */
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = place_take(pool);
    expect(place_form_use(lease.object, false));
    expect_equal(place_stats(pool).opened, 2);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* The gap of SUSPECT_CHANGES: a connection that was idle for longer than test_after_idle_ns is tested, and closed, before it is lent. */
TEST(what_a_direct_pipeline_left_to_come_is_found_by_the_next_test)
{
    cen_pool *pool = place_form_pool((cen_redis_options){.reset = CEN_REDIS_RESET_CHANGES}, false,
                                     (cen_pool_options){.test_after_idle_ns = CEN_US(100)});
    cen_lease lease = place_take(pool);
    int done = 0;
    expect_equal(redisAppendCommand(lease.object, "BLPOP nothing-there 0.1"), REDIS_OK);
    expect_equal(redisBufferWrite(lease.object, &done), REDIS_OK);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_pause_ms(20);
    lease = place_take(pool);
    expect(place_form_use(lease.object, false));
    expect_equal(place_stats(pool).test_failed, 1);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* The holder may come back to what it has lost: it finds a connection that has ended. */
BOTH_FORMS(a_connection_whose_holder_is_lost_is_shut_down_and_stays_in_memory)
{
    static cen_lease lost; /* what it points to is the holder's for good */
    cen_pool *pool = place_form_pool(
        (cen_redis_options){0}, is_later,
        (cen_pool_options){.leak_after_ns = 50000000, .on_leak = CEN_LEAK_RECLAIM, .max_hold_ns = CEN_OFF});
    lost = place_take(pool);
    place_soon(place_stats(pool).reclaimed == 1);
    cen_pool_options patient = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &patient), CEN_OK);
    patient.leak_after_ns = CEN_OFF; /* the next holder may be slow, on a machine that is */
    patient.on_leak = CEN_LEAK_REPORT;
    expect_equal(cen_pool_options_set(pool, &patient, NULL), CEN_OK);
    cen_lease other = place_take(pool);
    expect(place_form_use(other.object, is_later));
    place_soon(place_connections() == 1);
    expect(!place_form_use(lost.object, is_later));
    expect_equal(cen_pool_give(&lost), CEN_REVOKED);
    expect_equal(cen_pool_give(&other), CEN_OK);
    place_close(pool);
}

/* ---- Death ------------------------------------------------------------------------------------------------------------------- */

enum { THREADS = 8 };

struct load {
    cen_pool *pool;
    bool is_later;
    atomic_bool goes_on;
    atomic_int used, failed, refused, mixed;
};

static void *bear(void *argument)
{
    struct load *load = argument;
    static atomic_int numbers;
    for (int mine = numbers++, i = 0; load->goes_on; i++) {
        cen_lease lease;
        char command[60], text[60] = "", expected[40];
        if (cen_pool_take(load->pool, cen_in_ms(100), &lease, NULL) != CEN_OK) {
            load->refused++;
            continue;
        }
        snprintf(expected, sizeof expected, "%d-%d", mine, i);
        snprintf(command, sizeof command, "ECHO %s", expected);
        int type = place_form_ask(lease.object, load->is_later, text, sizeof text, command);
        if (type <= 0) load->failed++;
        else if (strcmp(text, expected) == 0) load->used++;
        else if (type == REDIS_REPLY_ERROR) load->failed++; /* LOADING */
        else load->mixed++;
        if (i % 7 == 0 && type > 0) (void)place_form_ask(lease.object, load->is_later, NULL, 0, "MULTI");
        if (cen_pool_give(&lease) != CEN_OK) test_fail(__FILE__, __LINE__, "it cannot be given back");
    }
    return NULL;
}

BOTH_FORMS(eight_threads_survive_a_server_that_is_killed_and_comes_back)
{
    server *own = server_start(SERVER_REDIS, NULL);
    char url[80];
    pthread_t threads[THREADS];
    struct load load = {.is_later = is_later, .goes_on = true};
    load.pool = place_form_pool(
        place_at_server(own, url), is_later,
        (cen_pool_options){
            .max = 4, .test_after_idle_ns = 1000000, .backoff_initial_ns = 5000000, .backoff_max_ns = 50000000});
    for (int i = 0; i < THREADS; i++) expect(pthread_create(&threads[i], NULL, bear, &load) == 0);
    int64_t start = cen_clock();
    place_soon(load.used > 100);
    int64_t warm_up = cen_clock() - start; /* how fast this machine is now */
    for (int i = 0; i < 2; i++) {
        place_soon(load.used > 100 * (i + 1));
        server_kill(own);
        int failed = load.failed + load.refused;
        place_soon(load.failed + load.refused > failed);
        server_restart(own);
        int64_t begin = cen_clock();
        int used = load.used;
        place_soon(load.used > used + 100);
        expect(cen_clock() - begin < 3000000000 + 10 * warm_up);
    }
    load.goes_on = false;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("     %d used, %d failed, %d not lent\n", load.used, load.failed, load.refused);
    expect_equal(load.mixed, 0);
    place_soon(place_stats(load.pool).closing + place_stats(load.pool).opening + place_stats(load.pool).resetting == 0);
    cen_pool_stats stats = place_stats(load.pool);
    expect_equal(stats.held, 0);
    expect_equal(stats.taken, stats.ended);
    expect_equal(stats.opened - stats.closed, stats.places - stats.vacant);
    place_close(load.pool);
    server_stop(own);
}

/* The driver as it is, but for an opening that begins only after it was cancelled. */
static const cen_driver_calls *as_they_are;
static atomic_bool was_cancelled;

static void open_late(void *state, cen_ticket ticket)
{
    for (int i = 0; !was_cancelled && i < 1000; i++) place_pause_ms(10);
    as_they_are->open_async(state, ticket);
}

static void cancel_early(void *state, cen_ticket ticket)
{
    as_they_are->cancel(state, ticket);
    was_cancelled = true;
}

TEST(a_cancel_that_comes_before_its_opening_is_not_lost)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0); /* where nobody ever says a word */
    expect(bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, 8) == 0);
    expect(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    cen_driver driver = place_later_driver(place_at(ntohs(address.sin_port)), INT64_C(60000000000));
    cen_driver_calls calls = *(as_they_are = driver.calls);
    calls.open_async = open_late;
    calls.cancel = cancel_early;
    driver.calls = &calls;
    cen_pool *pool = place_pool(CEN_POOL_OPTIONS(.driver = driver, .max = 1));
    cen_lease lease;
    expect_equal(cen_pool_take(pool, cen_in_ms(50), &lease, NULL), CEN_TIMEOUT);
    expect_equal(cen_pool_close(pool, cen_in_s(30), NULL, NULL), CEN_OK); /* half of the time limit of the opening */
    expect(was_cancelled);
    expect_equal(cen_pool_free(pool), CEN_OK);
    close(fd);
}

/* The poller is the parent's, and so are its thread and the locks. */
TEST(a_childs_pool_over_the_parents_poller_answers_forked)
{
    cen_pool *pool = place_form_pool(
        (cen_redis_options){.url = place_good()}, true,
        (cen_pool_options){.max = 1, .on_fork = CEN_FORK_RENEW, .breaker_failures = 1, .breaker_wait_ns = CEN_OFF});
    cen_lease lease = place_take(pool);
    fflush(stdout);
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        cen_lease own;
        alarm(60);
        _exit((int)cen_pool_take(pool, cen_in_s(5), &own, NULL));
    }
    expect(waitpid(child, &status, 0) == child);
    expect(WIFEXITED(status));
    expect_equal(WEXITSTATUS(status), CEN_FORKED);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    place_close(pool);
}

/* A program that leaves SIGPIPE as it is would be ended by it, with the second command at the latest. */
TEST(a_holder_whose_lease_is_revoked_gets_an_error_and_no_signal)
{
    signal(SIGPIPE, SIG_DFL);
    for (int is_direct = 0; is_direct < 2; is_direct++) {
        cen_pool *pool = place_form_pool((cen_redis_options){.url = place_good()}, false,
                                         (cen_pool_options){.max = 1, .max_hold_ns = 20000000});
        cen_lease lease = place_take(pool);
        redisContext *context = lease.object;
        place_soon(place_stats(pool).revoked == 1);
        /* The count comes a moment before the call; and a reply that is quick is still read after it. */
        for (int64_t end = cen_clock() + INT64_C(10000000000); !context->err && cen_clock() < end;) {
            void *reply = NULL;
            if (is_direct) reply = redisCommand(context, "PING");
            else if (cen_redis_append(context, "PING") == REDIS_OK && redisGetReply(context, &reply) != REDIS_OK)
                reply = NULL;
            freeReplyObject(reply);
        }
        expect(context->err != 0);
        expect_equal(cen_pool_give(&lease), CEN_REVOKED);
        place_close(pool);
    }
}
