/* SPDX-License-Identifier: MIT */
/*
 * A pool of HTTP clients: five lines of code, and then its features.
 *
 *     CENOTE_SERVER_URL=http://127.0.0.1:8080/ curl_pool             by HTTP/1.1
 *     CENOTE_SERVER_URL=http://127.0.0.1:8080/ curl_pool --http2     a server that speaks HTTP/2
 *
 *     four threads get the same page over two connections
 *     a holder sets options that the next holder must not see
 *     a server that does not exist
 *     with --http2: the same page a thousand times, over two connections that all requests share
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/cenote.h>
#include <cenote/curl.h>
#include <cenote/http.h>

enum { CONNECTIONS = 2, THREADS = 4, ROUNDS = 50, ASKS = 1000 };

static const char *url;
static bool http2;
static int surprises;

static void expect_that(bool holds, const char *what)
{
    if (holds) return;
    printf("  FAILED: %s\n", what);
    __atomic_add_fetch(&surprises, 1, __ATOMIC_RELAXED); /* carries nothing */
}

/* ---- Five lines: cen_curl(url) is enough for HTTP/1.1 ------------------------------------------------- */

static cen_pool *open_pool(const char *at)
{
    cen_pool *pool;
    cen_error error;
    cen_curl_options site = CEN_CURL_OPTIONS(.url = at, .version = http2 ? CEN_CURL_VERSION_2 : CEN_CURL_VERSION_ANY);
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "pages", .driver = cen_curl_with(&site), .max = CONNECTIONS);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), NULL;
    return pool;
}

static void *get_pages(void *pool)
{
    cen_error error;
    for (int i = 0; i < ROUNDS; i++) {
        CEN_WITH (pool, cen_in_s(10), CURL *, curl, &error) {
            cen_curl_response response = {0};
            cen_status status = cen_curl_get(curl, "/", &response, &error);
            expect_that(status == CEN_OK && response.status == 200,
                        status == CEN_OK ? "the page can be fetched" : error.text);
            cen_curl_response_free(&response);
        } else {
            expect_that(false, error.text);
        }
    }
    return NULL;
}

static void share_two(cen_pool *pool)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, get_pages, pool);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    cen_pool_stats_get(pool, &stats);
    printf("%d threads got %d pages with %u connections\n", THREADS, THREADS * ROUNDS, (unsigned)stats.opened);
    expect_that(stats.opened <= CONNECTIONS, "no more connections than allowed");
}

/* ---- Options left behind -------------------------------------------------------------------------------- */

static size_t drop(char *bytes, size_t size, size_t count, void *nothing)
{
    (void)bytes, (void)nothing;
    return size * count;
}

static void leave_something(cen_pool *pool)
{
    cen_error error;
    CEN_WITH (pool, cen_in_s(10), CURL *, curl, &error) {
        curl_easy_setopt(curl, CURLOPT_URL, "http://127.0.0.1:1/"); /* and another method, and cookies, and ... */
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "DELETE");
    }
    CEN_WITH (pool, cen_in_s(10), CURL *, curl, &error) {
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop);
        long status = 0, connects = -1;
        CURLcode code = curl_easy_perform(curl); /* the site itself, by GET */
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &connects);
        const char *which = connects == 0 ? "the same" : "another";
        printf("the next holder's request got status %ld, over %s connection\n", status, which);
        expect_that(code == CURLE_OK && status == 200, "a give restores the handle's options");
    }
}

static void ask_nobody(void)
{
    cen_pool *pool = open_pool("http://127.0.0.1:1");
    cen_error error = {.text = ""};
    cen_lease lease;
    expect_that(cen_pool_take(pool, cen_in_ms(200), &lease, &error) != CEN_OK, "there is no server at port 1");
    printf("%s\n", error.text);
    cen_pool_free(pool);
}

/* ---- Many at once ------------------------------------------------------------------------------------------- */

static void ask_at_once(void)
{
    static cen_future futures[ASKS];
    cen_http *http;
    cen_error error;
    cen_http_options options = CEN_HTTP_OPTIONS(.name = "pages", .url = url, .loops = CONNECTIONS);
    if (cen_http_new(&options, &http, &error) != CEN_OK) return expect_that(false, error.text);
    cen_http_request request = CEN_HTTP_REQUEST(.path = "/", .deadline = cen_in_s(30));
    for (int i = 0; i < ASKS; i++) {
        cen_future_init(&futures[i]);
        expect_that(cen_http_fetch_async(http, &request, &futures[i], &error) == CEN_OK, error.text);
    }
    int answered = 0;
    for (int i = 0; i < ASKS; i++) {
        expect_that(cen_future_wait(&futures[i], cen_in_s(30)) == CEN_OK, "the request ends by its deadline");
        answered += futures[i].status == CEN_OK;
        if (futures[i].status == CEN_OK) cen_http_reply_free(futures[i].value);
    }
    cen_http_stats stats = CEN_SIZED(cen_http_stats);
    cen_http_stats_get(http, &stats);
    printf("%d of %d requests got a reply, over %u connections\n", answered, ASKS, (unsigned)stats.loops);
    expect_that(answered == ASKS, "all requests get a reply");
    cen_http_free(http);
}

int main(int count, char **words)
{
    url = getenv("CENOTE_SERVER_URL");
    http2 = count > 1 && strcmp(words[1], "--http2") == 0;
    if (!url) {
        puts("This example needs an HTTP server: CENOTE_SERVER_URL=http://127.0.0.1:8080/ curl_pool [--http2]");
        return 0;
    }
    cen_pool *pool = open_pool(url);
    if (!pool) return 1;
    share_two(pool);
    leave_something(pool);
    cen_pool_close(pool, cen_in_s(5), NULL, NULL);
    cen_pool_free(pool);
    ask_nobody();
    if (http2) ask_at_once();
    return surprises ? 1 : 0;
}
