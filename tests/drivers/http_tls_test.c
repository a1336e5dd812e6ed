/* SPDX-License-Identifier: MIT */
/* src/curl over TLS: nginx with a certificate that was made for this run. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/cenote.h>
#include <cenote/curl.h>
#include <cenote/http.h>

#include "drivers/conformance.h"
#include "support/servers.h"
#include "support/test.h"

static server *nginx;
static char directory[] = "/tmp/cenote-tls-XXXXXX";
static char url[64], certificate[64];

static void run(const char *command)
{
    if (system(command) != 0) test_fail(__FILE__, __LINE__, "this failed: %s", command);
}

static uint16_t free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(fd >= 0 && bind(fd, (struct sockaddr *)&address, size) == 0 &&
           getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    close(fd);
    return ntohs(address.sin_port);
}

void test_program_begin(void)
{
    char text[1024], include[96];
    expect(mkdtemp(directory) && chmod(directory, 0755) == 0);
    snprintf(certificate, sizeof certificate, "%s/certificate.pem", directory);
    snprintf(text, sizeof text,
             "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=cenote "
             "-addext subjectAltName=IP:127.0.0.1 -keyout %s/key.pem -out %s 2>%s/said && chmod 644 %s/key.pem",
             directory, certificate, directory, directory);
    run(text);
    uint16_t port = free_port();
    snprintf(url, sizeof url, "https://127.0.0.1:%u", port);
    snprintf(include, sizeof include, "include=%s/tls.conf", directory);
    FILE *file = fopen(include + 8, "w");
    expect(file);
    fprintf(file,
            "server { listen 127.0.0.1:%u ssl http2; ssl_certificate %s; ssl_certificate_key %s/key.pem; "
            "keepalive_requests 100;"
            " location / { return 200 \"$server_protocol $connection\\n\"; } }\n",
            port, certificate, directory);
    fclose(file);
    const char *settings[] = {include, NULL};
    nginx = server_start(SERVER_NGINX, settings);
}

void test_program_end(void)
{
    char command[96];
    server_stop(nginx);
    snprintf(command, sizeof command, "rm -rf %s", directory);
    run(command);
}

static cen_pool *pool_of(const cen_curl_options *options, cen_fork_policy on_fork)
{
    cen_pool *pool = NULL;
    cen_error error = {.text = ""};
    cen_pool_options pooled = CEN_POOL_OPTIONS(.name = "tls", .driver = cen_curl_with(options), .max = 1,
                                               .breaker_failures = 1, .breaker_wait_ns = CEN_OFF, .on_fork = on_fork);
    if (cen_pool_new(&pooled, &pool, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    return pool;
}

/* libcrypto keeps random generators for each thread that connects, and frees them in that thread's end, if the process' own has not
 * come before. So the end of the pool's helpers is awaited: else they are memory that nobody has any more. */
static void end(cen_pool *pool)
{
    cen_pool_close(pool, cen_in_s(5), NULL, NULL);
    cen_pool_free(pool);
    conformance_settle();
}

/* Gets the page; the protocol, and the number of the connection, as the server says. */
static long get(cen_pool *pool, char *protocol)
{
    cen_curl_response response = {0};
    cen_error error = {.text = ""};
    cen_status status = CEN_TIMEOUT;
    long connection = 0;
    CEN_WITH (pool, cen_in_s(10), CURL *, curl, &error) {
        status = cen_curl_get(curl, "/", &response, &error);
    }
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "%s: %s", cen_status_name(status), error.text);
    expect_equal(sscanf(response.body, "%15s %ld", protocol, &connection), 2);
    cen_curl_response_free(&response);
    return connection;
}

TEST(a_pool_speaks_what_was_agreed_upon_over_one_connection)
{
    static const struct {
        cen_curl_version version;
        const char *protocol;
    } cases[] = {
        {CEN_CURL_VERSION_ANY, "HTTP/2.0"}, {CEN_CURL_VERSION_1_1, "HTTP/1.1"}, {CEN_CURL_VERSION_2, "HTTP/2.0"}};
    for (int i = 0; i < 3; i++) {
        cen_curl_options options = CEN_CURL_OPTIONS(.url = url, .ca_file = certificate, .version = cases[i].version);
        cen_pool *pool = pool_of(&options, CEN_FORK_REFUSE);
        char protocol[16];
        long first = get(pool, protocol);
        expect_text(protocol, cases[i].protocol);
        for (int k = 0; k < 20; k++) expect_equal(get(pool, protocol), first);
        for (int k = 0; k < 200; k++) get(pool, protocol); /* the server ends it now and then */
        end(pool);
    }
}

TEST(a_server_that_nobody_vouches_for_is_refused_unless_anybody_will_do)
{
    cen_curl_options options = CEN_CURL_OPTIONS(.url = url);
    cen_pool *pool = pool_of(&options, CEN_FORK_REFUSE);
    cen_lease lease;
    cen_error error;
    expect_equal(cen_pool_take(pool, cen_in_s(5), &lease, &error), CEN_DRIVER);
    expect_equal(error.code, CURLE_PEER_FAILED_VERIFICATION);
    end(pool);
    options.insecure = true;
    pool = pool_of(&options, CEN_FORK_REFUSE);
    char protocol[16];
    get(pool, protocol);
    end(pool);
}

TEST(an_idle_connection_is_tested_without_being_lost)
{
    for (int i = 0; i < 2; i++) {
        cen_curl_options options = CEN_CURL_OPTIONS(.url = url, .ca_file = certificate, .test = (cen_curl_test)i);
        cen_pool *pool = NULL;
        cen_pool_options pooled = CEN_POOL_OPTIONS(.name = "tls", .driver = cen_curl_with(&options), .max = 1,
                                                   .test_after_idle_ns = CEN_US(100));
        expect_equal(cen_pool_new(&pooled, &pool, NULL), CEN_OK);
        char protocol[16];
        long first = get(pool, protocol);
        cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
        for (int k = 0; k < 10 || (k < 50 && stats.tested == 0); k++) {
            /* the keeper, which says what is to be tested, may be late on a busy machine */
            usleep(k < 10 ? 2000 : 50000);
            expect_equal(get(pool, protocol), first);
            cen_pool_stats_get(pool, &stats);
        }
        expect(stats.tested > 0);
        expect_equal(stats.test_failed, 0);
        end(pool);
    }
}

/* A polite end of TLS or HTTP/2 by the child would end the parent's session. */
TEST(a_child_that_renews_leaves_the_parents_session_alone)
{
    cen_curl_options options = CEN_CURL_OPTIONS(.url = url, .ca_file = certificate);
    cen_pool *pool = pool_of(&options, CEN_FORK_RENEW);
    char protocol[16];
    long first = get(pool, protocol);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        bool own = get(pool, protocol) != first;
        cen_pool_close(pool, cen_in_s(5), NULL, NULL);
        cen_pool_free(pool);
        _exit(own ? 0 : 1);
    }
    int status = -1;
    expect(child > 0 && waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
    expect_equal(get(pool, protocol), first);
    end(pool);
}

TEST(a_router_sends_many_requests_over_tls_and_loses_none)
{
    enum { COUNT = 1000 };
    static cen_future futures[COUNT];
    static cen_error errors[COUNT];
    cen_http *http = NULL;
    cen_error error = {.text = ""};
    cen_curl_options site = CEN_CURL_OPTIONS(.ca_file = certificate);
    cen_http_options options = CEN_HTTP_OPTIONS(.name = "tls", .url = url, .site = &site, .loops = 2);
    if (cen_http_new(&options, &http, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    cen_http_request request = CEN_HTTP_REQUEST(.path = "/");
    for (int i = 0; i < COUNT; i++) {
        cen_future_init(&futures[i]);
        futures[i].error = &errors[i];
        expect_equal(cen_http_fetch_async(http, &request, &futures[i], NULL), CEN_OK);
    }
    for (int i = 0; i < COUNT; i++) {
        expect_equal(cen_future_wait(&futures[i], cen_in_s(30)), CEN_OK);
        if (futures[i].status != CEN_OK) test_fail(__FILE__, __LINE__, "%d: %s", i, errors[i].text);
        cen_http_reply *reply = futures[i].value;
        expect(strncmp(reply->body, "HTTP/2.0 ", 9) == 0);
        cen_http_reply_free(reply);
    }
    cen_http_stats stats = CEN_SIZED(cen_http_stats);
    cen_http_stats_get(http, &stats);
    printf("     %d connects, %d rerouted\n", (int)stats.connects, (int)stats.rerouted);
    expect(stats.connects >= 10); /* a hundred on each */
    expect_equal(cen_http_close(http, cen_in_s(5), NULL, NULL), CEN_OK);
    expect_equal(cen_http_free(http), CEN_OK);
}
