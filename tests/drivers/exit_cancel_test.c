/* SPDX-License-Identifier: MIT */
/*
 * exit cancels calls of drivers that wait for a server.
 *
 * The server here is a listening socket that nobody accepts from: a client connects, says what it has to, and hears nothing. Each run
 * is a child whose helper waits for that server, without a limit, when main returns. exit would wait for it for ever: so the child
 * ends with its own status only if its call was cancelled, and else by SIGALRM.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/cenote.h>
#ifdef TEST_PQ
#include <cenote/pq.h>
#endif
#ifdef TEST_MARIADB
#include <cenote/mariadb.h>
#endif
#ifdef TEST_REDIS
#include <cenote/redis.h>
#endif
#ifdef TEST_CURL
#include <cenote/curl.h>

#include "curl/http.h"
#endif

#include "support/test.h"

enum { ENDED_AS_IT_SHOULD = 7, SECONDS = 60 };

static const int64_t an_hour_ns = INT64_C(3600000000000);
static int listener;
static char url[128];

static void listen_as(const char *format)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(listener >= 0 && bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 8) == 0);
    expect(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    snprintf(url, sizeof url, format, (unsigned)ntohs(address.sin_port));
}

/* The helper has connected when there is something to accept. It may be about to wait; then it finds that the process exits. */
static void exit_while_it_opens(cen_driver driver)
{
    cen_pool *pool;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "silent", .driver = driver, .max = 1, .min_idle = 1);
    alarm(SECONDS);
    if (cen_runtime_exit_timeout_set(INT64_MAX) != CEN_OK || cen_pool_new(&options, &pool, NULL) != CEN_OK) _exit(1);
    struct pollfd connecting = {.fd = listener, .events = POLLIN};
    if (poll(&connecting, 1, -1) != 1) _exit(2);
    exit(ENDED_AS_IT_SHOULD);
}

static void expect_ended(pid_t child)
{
    int status = 0;
    alarm(2 * SECONDS); /* in place of the harness's */
    expect(child > 0 && waitpid(child, &status, 0) == child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != ENDED_AS_IT_SHOULD)
        test_fail(__FILE__, __LINE__, "the process ended with signal %d, status %d",
                  WIFSIGNALED(status) ? WTERMSIG(status) : 0, WIFEXITED(status) ? WEXITSTATUS(status) : 0);
    close(listener);
}

static void expect_to_end(cen_driver driver)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) exit_while_it_opens(driver);
    expect_ended(child);
}

#ifdef TEST_PQ
/* guarantees: runtime.exit-silent */
TEST(exit_does_not_wait_for_a_postgresql_server_that_is_silent)
{
    listen_as("postgresql://127.0.0.1:%u/none?sslmode=disable&gssencmode=disable");
    cen_pq_options options = CEN_PQ_OPTIONS(.uri = url, .connect_timeout_ns = an_hour_ns);
    expect_to_end(cen_pq_with(&options));
}
#endif

#ifdef TEST_MARIADB
/* guarantees: runtime.exit-silent */
TEST(exit_does_not_wait_for_a_mariadb_server_that_is_silent)
{
    listen_as("mariadb://user@127.0.0.1:%u/none");
    cen_mariadb_options options = CEN_MARIADB_OPTIONS(.url = url, .connect_timeout_ns = an_hour_ns);
    expect_to_end(cen_mariadb_with(&options));
}
#endif

#ifdef TEST_REDIS
/* guarantees: runtime.exit-silent */
TEST(exit_does_not_wait_for_a_redis_server_that_is_silent)
{
    listen_as("redis://127.0.0.1:%u/0");
    cen_redis_options options = CEN_REDIS_OPTIONS(.url = url, .connect_timeout_ns = an_hour_ns);
    expect_to_end(cen_redis_with(&options));
}
#endif

#ifdef TEST_CURL
/* guarantees: runtime.exit-silent */
TEST(exit_does_not_wait_for_an_http_server_that_is_silent)
{
    listen_as("http://127.0.0.1:%u/");
    cen_curl_options options = CEN_CURL_OPTIONS(.url = url, .connect_timeout_ns = an_hour_ns);
    expect_to_end(cen_curl_with(&options));
}

static cen_http *http;

/* Registered first, and so run last, as OpenSSL's: no loop is in curl any more. */
static void close_client(void)
{
    for (uint32_t i = 0; i < http->loop_count; i++)
        if (!ceni_http_exit_has_stopped(&http->loops[i])) _exit(3);
    if (cen_http_close(http, CEN_NOW, NULL, NULL) != CEN_OK) _exit(4);
}

/* guarantees: runtime.exit-silent */
TEST(exit_stops_the_loops_of_an_http_client_which_may_be_closed_afterwards)
{
    listen_as("http://127.0.0.1:%u/");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(SECONDS);
        cen_http_options options = CEN_HTTP_OPTIONS(.name = "silent", .url = url, .loops = 3, .starts_empty = true);
        if (atexit(close_client) != 0 || cen_http_new(&options, &http, NULL) != CEN_OK) _exit(1);
        struct pollfd connecting = {.fd = listener, .events = POLLIN};
        if (poll(&connecting, 1, -1) != 1) _exit(2);
        exit(ENDED_AS_IT_SHOULD);
    }
    expect_ended(child);
}
#endif
