/* SPDX-License-Identifier: MIT */
/*
 * src/curl with a server that is not ours: nginx, by HTTP/1.1 and HTTP/2. It ends a connection in an orderly way after a
 * number of requests, and when it reads its settings again: nothing may be lost by that.
 */
#include <pthread.h>
#include <stdlib.h>

#include <cenote/cenote.h>
#include <cenote/curl.h>
#include <cenote/http.h>

#include "support/servers.h"
#include "support/test.h"

static server *nginx, *narrow; /* the second has room for two streams on a connection */

void test_program_begin(void)
{
    const char *settings[] = {"keepalive_requests=200", NULL};
    const char *few[] = {"http2_max_concurrent_streams=2", NULL};
    nginx = server_start(SERVER_NGINX, settings);
    narrow = server_start(SERVER_NGINX, few);
}

void test_program_end(void)
{
    server_stop(narrow);
    server_stop(nginx);
}

static void expect_bytes(const char *body, size_t size, size_t wanted)
{
    expect_equal(size, wanted);
    for (size_t i = 0; i < size; i++)
        if (body[i] != (char)('a' + i % 26)) test_fail(__FILE__, __LINE__, "byte %zu is %d", i, body[i]);
}

static void get_files(cen_driver driver)
{
    cen_pool *pool = NULL;
    cen_error error = {.text = ""};
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "files", .driver = driver, .max = 2);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    for (int i = 0; i < 500; i++) {
        cen_curl_response response = {0};
        cen_status status = CEN_TIMEOUT;
        CEN_WITH (pool, cen_in_s(10), CURL *, curl, &error) {
            status = cen_curl_get(curl, i % 50 ? "/1k" : "/64k", &response, &error);
        }
        if (status != CEN_OK) test_fail(__FILE__, __LINE__, "%d: %s: %s", i, cen_status_name(status), error.text);
        expect_equal(response.status, 200);
        expect_bytes(response.body, response.size, i % 50 ? 1024 : 65536);
        cen_curl_response_free(&response);
    }
    cen_pool_close(pool, cen_in_s(5), NULL, NULL);
    cen_pool_free(pool);
}

TEST(a_pool_gets_files_by_http1_over_connections_that_end_now_and_then)
{
    get_files(cen_curl(server_http1_url(nginx)));
}

TEST(a_pool_gets_files_by_http2_over_connections_that_end_now_and_then)
{
    cen_curl_options options = CEN_CURL_OPTIONS(.url = server_url(nginx), .version = CEN_CURL_VERSION_2);
    get_files(cen_curl_with(&options));
}

struct getter {
    cen_http *http;
    int count;
    int lost; /* the connection ended though the request had been sent */
};

static void *get_many(void *argument)
{
    struct getter *getter = argument;
    for (int i = 0; i < getter->count; i++) {
        cen_http_request request = CEN_HTTP_REQUEST(.path = i % 100 ? "/1k" : "/1m", .max_reply = 2 << 20);
        cen_http_reply *reply = NULL;
        cen_error error = {.text = ""};
        cen_status status = cen_http_fetch(getter->http, &request, &reply, &error);
        if (status == CEN_LOST) {
            printf("     %s\n", error.text);
            getter->lost++;
            continue;
        }
        if (status != CEN_OK) test_fail(__FILE__, __LINE__, "%d: %s: %s", i, cen_status_name(status), error.text);
        expect_equal(reply->status, 200);
        expect_bytes(reply->body, reply->size, i % 100 ? 1024 : 1 << 20);
        cen_http_reply_free(reply);
    }
    return NULL;
}

static cen_http_stats get_by(uint32_t loops, bool reloads)
{
    enum { THREADS = 4, EACH = 500 };
    cen_http *http = NULL;
    cen_error error = {.text = ""};
    cen_http_options options = CEN_HTTP_OPTIONS(.name = "files", .url = server_url(nginx), .loops = loops);
    if (cen_http_new(&options, &http, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    pthread_t threads[THREADS];
    struct getter getters[THREADS];
    int lost = 0;
    for (int i = 0; i < THREADS; i++) {
        getters[i] = (struct getter){http, EACH, 0};
        expect(pthread_create(&threads[i], NULL, get_many, &getters[i]) == 0);
    }
    if (reloads) server_reload(nginx);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        lost += getters[i].lost;
    }
    cen_http_stats stats = CEN_SIZED(cen_http_stats);
    cen_http_stats_get(http, &stats);
    printf("     %d connects, %d rerouted, %d lost\n", (int)stats.connects, (int)stats.rerouted, lost);
    expect_equal(cen_http_close(http, cen_in_s(5), NULL, NULL), CEN_OK);
    expect_equal(cen_http_free(http), CEN_OK);
    expect_equal(stats.answered + (uint64_t)lost, THREADS * EACH);
    return stats;
}

TEST(a_router_loses_nothing_over_connections_that_end_now_and_then)
{
    cen_http_stats stats = get_by(1, false);
    expect_equal(stats.lost, 0);
    expect(stats.connects >= 8);
    stats = get_by(3, false);
    expect_equal(stats.lost, 0);
}

TEST(a_router_loses_nothing_when_the_server_reads_its_settings_again)
{
    expect_equal(get_by(2, true).lost, 0);
}

TEST(a_server_that_has_room_for_fewer_streams_is_not_taken_for_one_that_is_lost)
{
    enum { COUNT = 300 };
    static cen_future futures[COUNT];
    cen_http *http = NULL;
    cen_error error = {.text = ""};
    cen_http_options options = CEN_HTTP_OPTIONS(.name = "narrow", .url = server_url(narrow), .loops = 1);
    if (cen_http_new(&options, &http, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    cen_http_request request = CEN_HTTP_REQUEST(.path = "/64k");
    for (int i = 0; i < COUNT; i++) {
        cen_future_init(&futures[i]);
        futures[i].error = &error;
        expect_equal(cen_http_fetch_async(http, &request, &futures[i], NULL), CEN_OK);
    }
    for (int i = 0; i < COUNT; i++) {
        expect_equal(cen_future_wait(&futures[i], cen_in_s(30)), CEN_OK);
        if (futures[i].status != CEN_OK) test_fail(__FILE__, __LINE__, "%d: %s", i, error.text);
        cen_http_reply *reply = futures[i].value;
        expect_bytes(reply->body, reply->size, 65536);
        cen_http_reply_free(reply);
    }
    cen_http_stats stats = CEN_SIZED(cen_http_stats);
    cen_http_stats_get(http, &stats);
    expect_equal(stats.connects, 1);
    expect_equal(stats.rerouted, 0);
    expect_equal(cen_http_close(http, cen_in_s(5), NULL, NULL), CEN_OK);
    expect_equal(cen_http_free(http), CEN_OK);
}

TEST(a_server_that_speaks_no_http2_is_refused)
{
    cen_http *http = NULL;
    cen_error error = {.text = ""};
    cen_http_options options = CEN_HTTP_OPTIONS(.name = "old", .url = server_http1_url(nginx), .loops = 2);
    int64_t quickest = INT64_MAX; /* a busy machine only adds to it */
    for (int tries = 0; tries < 5 && quickest >= INT64_C(5000000000); tries++) {
        int64_t begin = cen_clock();
        expect_equal(cen_http_new(&options, &http, &error), CEN_DRIVER);
        if (cen_clock() - begin < quickest) quickest = cen_clock() - begin;
    }
    expect(quickest < INT64_C(5000000000));
    printf("     %s\n", error.text);
    expect(strstr(error.text, "127.0.0.1"));
    cen_pool *pool = NULL;
    cen_lease lease;
    cen_curl_options site = CEN_CURL_OPTIONS(.url = server_http1_url(nginx), .version = CEN_CURL_VERSION_2);
    cen_pool_options pooled = CEN_POOL_OPTIONS(.name = "old", .driver = cen_curl_with(&site), .max = 1,
                                               .breaker_failures = 1, .breaker_wait_ns = CEN_OFF);
    expect_equal(cen_pool_new(&pooled, &pool, &error), CEN_OK);
    expect_equal(cen_pool_take(pool, cen_in_s(5), &lease, &error), CEN_DRIVER);
    cen_pool_free(pool);
}
