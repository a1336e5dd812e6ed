/* SPDX-License-Identifier: MIT */
/* src/curl's HTTP/2 client: requests over few connections, and what becomes of them when these are lost. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cenote/http.h>
#include <cenote/inbox.h>

#include "drivers/waits.h"
#include "support/test.h"

enum { MS = 1000000 };

static waits server; /* of all tests that do it no harm */

void test_program_begin(void)
{
    const char *words[] = {"--threads", "4", NULL};
    server = waits_start(0, words);
}

void test_program_end(void)
{
    waits_stop(&server);
}

static void pause_ms(int ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * (long)MS};
    nanosleep(&time, NULL);
}

#define expect_soon(condition) \
    do { \
        for (int tries_ = 0; !(condition) && tries_ < 6000; tries_++) pause_ms(10); \
        expect(condition); \
    } while (0)

static const char *url_at(uint16_t port)
{
    static _Thread_local char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
    return url;
}

static cen_http *client_with(cen_http_options options)
{
    cen_http *http = NULL;
    cen_error error = {.text = ""};
    cen_status status = cen_http_new(&options, &http, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "%s: %s", cen_status_name(status), error.text);
    return http;
}
#define client(port, ...) client_with(CEN_HTTP_OPTIONS(.url = url_at(port), __VA_ARGS__))

static cen_http_stats look(cen_http *http)
{
    cen_http_stats s = CEN_SIZED(cen_http_stats);
    expect_equal(cen_http_stats_get(http, &s), CEN_OK);
    expect_equal(s.asked,
                 s.answered + s.lost + s.timed_out + s.refused + s.cancelled + s.closed + s.failed + s.under_way);
    return s;
}

static void end(cen_http *http)
{
    expect_equal(cen_http_close(http, cen_in_s(5), NULL, NULL), CEN_OK);
    expect_equal(look(http).under_way, 0);
    expect_equal(cen_http_free(http), CEN_OK);
}

static cen_status fetch(cen_http *http, const char *path, cen_deadline deadline, cen_error *error)
{
    cen_http_request request = CEN_HTTP_REQUEST(.path = path, .deadline = deadline);
    cen_http_reply *reply = NULL;
    cen_status status = cen_http_fetch(http, &request, &reply, error);
    if (status == CEN_OK && !strstr(reply->body, path))
        test_fail(__FILE__, __LINE__, "\"%s\" is not the reply to %s", reply->body, path);
    cen_http_reply_free(reply);
    return status;
}

/* ---- One request ------------------------------------------------------------------------------------ */

TEST(a_reply_has_status_body_type_and_the_connections_name)
{
    cen_http *http = client(server.port, .name = "search", .loops = 1);
    cen_http_request request = CEN_HTTP_REQUEST(.path = "/?a=1");
    cen_http_reply *reply = NULL;
    cen_error error;
    expect_equal(cen_http_fetch(http, &request, &reply, &error), CEN_OK);
    expect_equal(reply->status, 200);
    expect(strstr(reply->body, "\"uri\":\"/?a=1\""));
    expect_equal(reply->size, strlen(reply->body));
    expect_text(reply->type, "application/json");
    expect_text(reply->member, "search 1");
    expect(reply->took_ns > 0);
    cen_http_reply_free(reply);
    end(http);
}

TEST(requests_of_all_methods_are_answered)
{
    cen_http *http = client(server.port, .loops = 1);
    const char *headers[] = {"X-Own: 1", NULL};
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        bool has_body = i == 2 || i == 3;
        cen_http_request request = CEN_HTTP_REQUEST(.path = "/?m", .method = methods[i], .headers = headers,
                                                    .body = has_body ? "abc" : NULL, .body_size = has_body ? 3 : 0);
        cen_http_reply *reply = NULL;
        cen_error error;
        expect_equal(cen_http_fetch(http, &request, &reply, &error), CEN_OK);
        expect_equal(reply->status, 200);
        expect_equal(reply->size == 0, i == 1);
        cen_http_reply_free(reply);
    }
    expect_equal(look(http).connects, 1);
    end(http);
}

TEST(many_requests_share_one_connection)
{
    enum { COUNT = 50 };
    cen_http *http = client(server.port, .loops = 1);
    cen_future futures[COUNT];
    cen_http_request request = CEN_HTTP_REQUEST(.path = "/?wait=0.02");
    for (int i = 0; i < COUNT; i++) {
        cen_future_init(&futures[i]);
        expect_equal(cen_http_fetch_async(http, &request, &futures[i], NULL), CEN_OK);
    }
    long port = 0;
    for (int i = 0; i < COUNT; i++) {
        expect_equal(cen_future_wait(&futures[i], cen_in_s(10)), CEN_OK);
        expect_equal(futures[i].status, CEN_OK);
        cen_http_reply *reply = futures[i].value;
        if (i == 0) port = waits_number(reply->body, "port");
        expect_equal(waits_number(reply->body, "port"), port);
        cen_http_reply_free(reply);
    }
    expect_equal(look(http).answered, COUNT);
    end(http);
}

static void on_reply(cen_future *future)
{
    cen_http_reply *reply = future->value;
    *(long *)future->user = reply->status;
    cen_http_reply_free(reply);
}

TEST(a_reply_is_told_on_the_executor_that_is_named)
{
    cen_http *http = client(server.port, .loops = 1);
    cen_inbox *inbox;
    expect_equal(cen_inbox_new(NULL, &inbox, NULL), CEN_OK);
    long status = 0;
    cen_future future;
    cen_future_init(&future);
    future.user = &status;
    cen_future_then(&future, on_reply, cen_inbox_executor(inbox));
    cen_http_request request = CEN_HTTP_REQUEST(.path = "/");
    expect_equal(cen_http_fetch_async(http, &request, &future, NULL), CEN_OK);
    expect_equal(cen_inbox_wait(inbox, cen_in_s(5)), 1);
    expect_equal(status, 200);
    end(http);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

TEST(a_body_that_is_larger_than_allowed_is_refused)
{
    cen_http *http = client(server.port, .loops = 1);
    cen_http_request request = CEN_HTTP_REQUEST(.path = "/", .max_reply = 10);
    cen_http_reply *reply = NULL;
    cen_error error;
    expect_equal(cen_http_fetch(http, &request, &reply, &error), CEN_FULL);
    expect(!reply && strstr(error.text, "10 bytes"));
    expect_equal(fetch(http, "/", cen_in_s(5), &error), CEN_OK);
    expect_equal(look(http).connects, 1); /* the stream was reset, and no more */
    end(http);
}

/* ---- Deadlines, cancels, room ------------------------------------------------------------------------- */

TEST(a_request_that_is_late_fails_at_its_deadline_and_the_connection_stays)
{
    cen_http *http = client(server.port, .loops = 1);
    cen_error error;
    int64_t begin = cen_clock();
    expect_equal(fetch(http, "/?wait=30", cen_in_ms(200), &error), CEN_TIMEOUT);
    int64_t took = cen_clock() - begin;
    expect(took >= 199 * MS);
    expect_equal(fetch(http, "/", cen_in_s(5), &error), CEN_OK);
    expect_equal(look(http).connects, 1);
    expect_equal(look(http).timed_out, 1);
    end(http);
}

static void must_not_be_told(cen_future *future)
{
    (void)future;
    test_fail(__FILE__, __LINE__, "a request that was given up is told");
}

TEST(a_request_that_is_given_up_is_never_told_and_its_stream_is_reset)
{
    const char *words[] = {"--threads", "1", NULL};
    waits one = waits_start(0, words);
    cen_http *http = client(one.port, .loops = 1);
    cen_http_request request = CEN_HTTP_REQUEST(.path = "/?wait=60", .deadline = CEN_NEVER);
    cen_future future;
    cen_future_init(&future);
    cen_future_then(&future, must_not_be_told, cen_inline());
    expect_equal(cen_http_fetch_async(http, &request, &future, NULL), CEN_OK);
    pause_ms(50);
    expect(cen_future_cancel(&future));
    memset(&future, 0xa5, sizeof future); /* it is the program's again */
    cen_error error;
    expect_equal(fetch(http, "/", cen_in_s(30), &error), CEN_OK); /* the one worker is free, half a minute early */
    expect_equal(look(http).cancelled, 1);
    end(http);
    waits_stop(&one);
}

TEST(a_request_beyond_the_streams_waits_or_is_refused)
{
    cen_http *http = client(server.port, .loops = 1, .streams = 1, .max_waiters = 1);
    cen_future futures[3];
    cen_error errors[3];
    cen_http_request request = CEN_HTTP_REQUEST(.path = "/?wait=0.2");
    for (int i = 0; i < 3; i++) {
        cen_future_init(&futures[i]);
        futures[i].error = &errors[i];
        expect_equal(cen_http_fetch_async(http, &request, &futures[i], NULL), CEN_OK);
    }
    expect(cen_future_is_done(&futures[2]));
    expect_equal(futures[2].status, CEN_FULL);
    expect_equal(errors[2].cause, CEN_CAUSE_QUEUE_FULL);
    for (int i = 0; i < 2; i++) {
        expect_equal(cen_future_wait(&futures[i], cen_in_s(5)), CEN_OK);
        expect_equal(futures[i].status, CEN_OK);
        cen_http_reply_free(futures[i].value);
    }
    cen_error error;
    expect_equal(fetch(http, "/", CEN_NOW, &error), CEN_TIMEOUT); /* there is room, and no time */
    end(http);
}

TEST(a_request_that_is_given_up_while_it_waits_leaves_the_line)
{
    cen_http *http = client(server.port, .loops = 1, .streams = 1, .max_waiters = 1);
    cen_http_request request = CEN_HTTP_REQUEST(.path = "/?wait=3");
    cen_future busy, waiting;
    cen_future_init(&busy);
    cen_future_init(&waiting);
    expect_equal(cen_http_fetch_async(http, &request, &busy, NULL), CEN_OK);
    expect_equal(cen_http_fetch_async(http, &request, &waiting, NULL), CEN_OK);
    expect(cen_future_cancel(&waiting));
    cen_router_stats line = CEN_SIZED(cen_router_stats);
    expect_soon(cen_router_stats_get(cen_http_router(http), &line) == CEN_OK && line.waiting == 0);
    expect(!cen_future_is_done(&busy));
    expect_equal(look(http).cancelled, 1);
    expect(cen_future_cancel(&busy));
    expect_soon(look(http).under_way == 0);
    end(http);
}

/* The number of the connection that a request was answered by. */
static int number_of(cen_http *http, uint64_t key)
{
    cen_http_request request = CEN_HTTP_REQUEST(.path = "/", .hint.key = key);
    cen_http_reply *reply = NULL;
    cen_error error = {.text = ""};
    cen_status status = cen_http_fetch(http, &request, &reply, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "%s: %s", cen_status_name(status), error.text);
    int number = reply->member[strlen(reply->member) - 1] - '1';
    cen_http_reply_free(reply);
    return number;
}

TEST(the_strategy_decides_which_connection_a_request_takes)
{
    cen_http *http = client(server.port, .loops = 4, .strategy = cen_strategy_strict_round_robin());
    expect_soon(look(http).up == 4);
    int counts[4] = {0};
    for (int i = 0; i < 40; i++) counts[number_of(http, 0)]++;
    for (int i = 0; i < 4; i++) expect_equal(counts[i], 10);
    end(http);
    http = client(server.port, .loops = 4, .strategy = cen_strategy_consistent_hash());
    expect_soon(look(http).up == 4);
    int used = 0;
    for (int i = 0; i < 64; i++) {
        uint64_t key = cen_route_key(&i, sizeof i);
        int first = number_of(http, key);
        expect_equal(number_of(http, key), first);
        used |= 1 << first;
    }
    expect_equal(used, 15); /* all four have some keys */
    end(http);
}

/* ---- Connections that are lost, and servers that are none ------------------------------------------------ */

struct fetcher {
    cen_http *http;
    cen_status status;
    cen_error error;
};

static void *fetch_long(void *argument)
{
    struct fetcher *fetcher = argument;
    fetcher->status = fetch(fetcher->http, "/?wait=30", CEN_NEVER, &fetcher->error);
    return NULL;
}

TEST(a_request_whose_connection_is_lost_fails_at_once_and_the_next_is_answered_when_the_server_is_back)
{
    waits own = waits_start(0, NULL);
    cen_http *http = client(own.port, .loops = 2, .backoff_initial_ns = 10 * MS, .backoff_max_ns = 50 * MS);
    struct fetcher fetcher = {.http = http};
    pthread_t thread;
    expect(pthread_create(&thread, NULL, fetch_long, &fetcher) == 0);
    expect_soon(look(http).up == 2);
    pause_ms(100);
    waits_kill(&own);
    pthread_join(thread, NULL);
    expect_equal(fetcher.status, CEN_LOST);
    printf("     %s\n", fetcher.error.text);
    expect_soon(look(http).up == 0);
    cen_error error;
    cen_status status = fetch(http, "/", cen_in_ms(100), &error);
    expect_equal(status, CEN_TIMEOUT); /* none was up in time */
    own = waits_start(own.port, NULL);
    expect_equal(fetch(http, "/", cen_in_s(10), &error), CEN_OK);
    expect_soon(look(http).up == 2);
    expect(look(http).failures > 0);
    expect_equal(look(http).losses, 2);
    end(http);
    waits_stop(&own);
}

TEST(a_connection_that_ends_while_idle_goes_down_and_is_made_anew)
{
    cen_http *http = client(server.port, .loops = 1);
    cen_http_request request = CEN_HTTP_REQUEST(.path = "/");
    cen_http_reply *reply = NULL;
    cen_error error;
    expect_equal(cen_http_fetch(http, &request, &reply, &error), CEN_OK);
    long first = waits_number(reply->body, "port");
    cen_http_reply_free(reply);
    char path[32];
    snprintf(path, sizeof path, "/?drop=%ld", first);
    expect_equal(waits_ask(server.port, NULL, path, NULL, 0), 200);
    expect_soon(look(http).losses == 1 && look(http).up == 1); /* nobody asked for anything */
    expect_equal(cen_http_fetch(http, &request, &reply, &error), CEN_OK);
    expect(waits_number(reply->body, "port") != first);
    cen_http_reply_free(reply);
    end(http);
}

TEST(a_server_that_falls_silent_is_found_out)
{
    waits own = waits_start(0, NULL);
    cen_curl_options site = CEN_CURL_OPTIONS(.test_timeout_ns = 300LL * MS, .connect_timeout_ns = 300LL * MS);
    cen_http_options options =
        CEN_HTTP_OPTIONS(.url = url_at(own.port), .site = &site, .loops = 1, .keepalive_ns = 200LL * MS);
    cen_http *http = client_with(options);
    kill(own.pid, SIGSTOP);
    expect_soon(look(http).up == 0);
    cen_error error;
    expect_equal(fetch(http, "/", cen_in_ms(200), &error), CEN_TIMEOUT);
    kill(own.pid, SIGCONT);
    expect_equal(fetch(http, "/", cen_in_s(10), &error), CEN_OK);
    end(http);
    waits_stop(&own);
}

TEST(a_client_says_why_it_cannot_begin)
{
    cen_http *http = NULL;
    cen_error error;
    waits gone = waits_start(0, NULL);
    waits_stop(&gone);
    cen_http_options options = CEN_HTTP_OPTIONS(.url = url_at(gone.port));
    expect_equal(cen_http_new(&options, &http, &error), CEN_DOWN);
    expect_equal(error.code, CURLE_COULDNT_CONNECT);
    expect(strstr(error.text, "127.0.0.1"));
    const char *words[] = {"--authorization", "Bearer sesame", NULL};
    waits strict = waits_start(0, words);
    options = CEN_HTTP_OPTIONS(.url = url_at(strict.port));
    expect_equal(cen_http_new(&options, &http, &error), CEN_DRIVER);
    expect_equal(error.code, 401);
    options = CEN_HTTP_OPTIONS(.url = url_at(gone.port), .starts_empty = true, .max_waiters = CEN_NONE);
    expect_equal(cen_http_new(&options, &http, &error), CEN_OK);
    cen_status status = fetch(http, "/", cen_in_ms(100), &error);
    expect(status == CEN_EMPTY || status == CEN_FULL);
    end(http);
    options = CEN_HTTP_OPTIONS(.url = "gopher://127.0.0.1");
    expect_equal(cen_http_new(&options, &http, &error), CEN_INVALID);
    options = CEN_HTTP_OPTIONS(.url = "http://127.0.0.1", .loops = 100000);
    expect_equal(cen_http_new(&options, &http, &error), CEN_INVALID);
    expect(strstr(error.text, "loops"));
    waits_stop(&strict);
}

static cen_status sesame(void *argument, cen_curl_credentials *out, cen_error *error)
{
    (void)argument, (void)error;
    snprintf(out->bearer, sizeof out->bearer, "sesame");
    return CEN_OK;
}

TEST(a_token_opens_the_door)
{
    const char *words[] = {"--authorization", "Bearer sesame", NULL};
    waits strict = waits_start(0, words);
    cen_curl_options site = CEN_CURL_OPTIONS(.credentials = sesame);
    cen_http *http = client(strict.port, .site = &site);
    cen_error error;
    expect_equal(fetch(http, "/", cen_in_s(5), &error), CEN_OK);
    end(http);
    waits_stop(&strict);
}

struct caught {
    cen_http *http;
    cen_status fetched, closed, freed;
};

static void call_from_a_loop(cen_future *future)
{
    struct caught *caught = future->user;
    cen_error error;
    caught->fetched = fetch(caught->http, "/", cen_in_s(1), &error);
    caught->closed = cen_http_close(caught->http, CEN_NOW, NULL, NULL);
    caught->freed = cen_http_free(caught->http);
    cen_http_reply_free(future->value);
}

TEST(what_waits_is_refused_on_a_loops_own_thread)
{
    cen_http *http = client(server.port, .loops = 1);
    struct caught caught = {.http = http};
    cen_http_request request = CEN_HTTP_REQUEST(.path = "/?wait=0.05");
    cen_future future;
    cen_future_init(&future);
    future.user = &caught;
    cen_future_then(&future, call_from_a_loop, cen_inline());
    expect_equal(cen_http_fetch_async(http, &request, &future, NULL), CEN_OK);
    expect_soon(look(http).under_way == 0);
    end(http); /* it waits for the `done` to return */
    expect_equal(caught.fetched, CEN_MISUSE);
    expect_equal(caught.closed, CEN_MISUSE);
    expect_equal(caught.freed, CEN_MISUSE);
}

/* ---- The end, and fork --------------------------------------------------------------------------------------- */

TEST(close_waits_for_replies_and_tells_the_rest_that_it_is_closed)
{
    cen_http *http = client(server.port, .loops = 1);
    cen_future soon, late;
    cen_future_init(&soon);
    cen_future_init(&late);
    cen_http_request quick = CEN_HTTP_REQUEST(.path = "/?wait=0.1"), slow = CEN_HTTP_REQUEST(.path = "/?wait=30");
    expect_equal(cen_http_fetch_async(http, &quick, &soon, NULL), CEN_OK);
    expect_equal(cen_http_fetch_async(http, &slow, &late, NULL), CEN_OK);
    cen_http_report report = CEN_SIZED(cen_http_report);
    expect_equal(cen_http_close(http, cen_in_ms(500), &report, NULL), CEN_TIMEOUT);
    expect_equal(report.left, 1);
    expect(cen_future_is_done(&soon) && cen_future_is_done(&late));
    expect_equal(soon.status, CEN_OK);
    expect_equal(late.status, CEN_CLOSED);
    cen_http_reply_free(soon.value);
    cen_error error;
    expect_equal(fetch(http, "/", cen_in_s(1), &error), CEN_CLOSED);
    expect_equal(cen_http_close(http, CEN_NOW, NULL, NULL), CEN_CLOSED);
    expect_equal(cen_http_free(http), CEN_OK);
    expect_equal(cen_http_free(NULL), CEN_OK);
}

TEST(a_child_of_a_fork_is_refused_and_the_parent_notices_nothing)
{
    cen_http *http = client(server.port, .loops = 1);
    cen_error error;
    expect_equal(fetch(http, "/", cen_in_s(5), &error), CEN_OK);
    pid_t process = fork();
    if (process == 0) {
        cen_future future;
        cen_future_init(&future);
        cen_http_request request = CEN_HTTP_REQUEST(.path = "/");
        cen_http_stats stats = CEN_SIZED(cen_http_stats);
        int wrong = cen_http_fetch_async(http, &request, &future, NULL) != CEN_FORKED ||
                    cen_http_stats_get(http, &stats) != CEN_FORKED ||
                    cen_http_close(http, CEN_NOW, NULL, NULL) != CEN_FORKED || cen_http_free(http) != CEN_OK;
        _exit(wrong);
    }
    int status = -1;
    expect(process > 0 && waitpid(process, &status, 0) == process);
    expect_equal(status, 0);
    expect_equal(fetch(http, "/", cen_in_s(5), &error), CEN_OK);
    expect_equal(look(http).connects, 1);
    end(http);
}

/* ---- All of it at once --------------------------------------------------------------------------------------- */

#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
enum { ASKERS = 4, EACH = 2500 };
#else
enum { ASKERS = 4, EACH = 25000 };
#endif
enum { WINDOW = 200 }; /* asked and not over, by each asker */

struct ask {
    cen_future future;
    struct asker *asker;
    atomic_int told;
    bool given_up; /* cancel said true */
};

struct asker {
    cen_http *http;
    uint64_t random;
    struct ask *asks;
    atomic_int over;
    atomic_long answered, timed_out, lost, refused, other;
    long given_up;
};

static void on_end(cen_future *future)
{
    struct ask *ask = (struct ask *)future;
    struct asker *asker = ask->asker;
    ask->told++;
    switch (future->status) {
    case CEN_OK: asker->answered++; break;
    case CEN_TIMEOUT: asker->timed_out++; break;
    case CEN_LOST: asker->lost++; break;
    case CEN_EMPTY:
    case CEN_FULL: asker->refused++; break;
    default: asker->other++; break;
    }
    if (future->status == CEN_OK) {
        cen_http_reply *reply = future->value;
        char uri[64];
        snprintf(uri, sizeof uri, "n=%d\"", (int)(ask - asker->asks)); /* its own, and no other's */
        bool is_right = reply->status == 200 && strstr(reply->body, uri);
        if (!is_right) test_fail(__FILE__, __LINE__, "\"%s\" is not for %s", reply->body, uri);
        cen_http_reply_free(reply);
    }
    asker->over++;
}

/* One in eight waits at the server, one in sixteen has a deadline that is too short for that, one in sixteen is given up. */
static void ask_one(struct asker *asker, int n)
{
    struct ask *ask = &asker->asks[n];
    uint64_t draw = test_random(&asker->random) % 16;
    char path[64];
    snprintf(path, sizeof path, "/?wait=%s&n=%d", draw < 2 ? "0.005" : "0", n);
    cen_http_request request = CEN_HTTP_REQUEST(.path = path, .deadline = draw == 0 ? cen_in_ms(2) : cen_in_s(60));
    ask->asker = asker;
    cen_future_init(&ask->future);
    cen_future_then(&ask->future, on_end, cen_inline());
    cen_status status = cen_http_fetch_async(asker->http, &request, &ask->future, NULL);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "%s", cen_status_name(status));
    int other = n - (int)(test_random(&asker->random) % 64);
    if (draw != 2 || other < 0 || asker->asks[other].given_up) return;
    if (!cen_future_cancel(&asker->asks[other].future)) return;
    asker->asks[other].given_up = true;
    asker->given_up++;
    asker->over++;
}

static void *ask_all(void *argument)
{
    struct asker *asker = argument;
    for (int n = 0; n < EACH; n++) {
        while (n - asker->over >= WINDOW) pause_ms(1);
        ask_one(asker, n);
    }
    return NULL;
}

TEST(each_of_a_hundred_thousand_requests_is_told_once_while_the_server_is_killed_and_started_again)
{
    const char *words[] = {"--threads", "8", NULL};
    waits own = waits_start(0, words);
    cen_http *http =
        client(own.port, .loops = 4, .streams = 50, .backoff_initial_ns = 5 * MS, .backoff_max_ns = 50 * MS);
    struct asker askers[ASKERS] = {0};
    pthread_t threads[ASKERS];
    uint64_t seed = test_seed();
    for (int i = 0; i < ASKERS; i++) {
        askers[i].http = http, askers[i].random = test_random(&seed);
        askers[i].asks = calloc(EACH, sizeof *askers[i].asks);
        expect(askers[i].asks && pthread_create(&threads[i], NULL, ask_all, &askers[i]) == 0);
    }
    int kills = 0;
    for (bool goes_on = true; goes_on; kills++) {
        pause_ms(300);
        waits_kill(&own);
        pause_ms(20);
        own = waits_start(own.port, words);
        goes_on = kills < 100;
        for (int i = 0; i < ASKERS; i++) goes_on = goes_on && askers[i].over < EACH - 2 * WINDOW;
    }
    long sums[6] = {0};
    for (int i = 0; i < ASKERS; i++) {
        pthread_join(threads[i], NULL);
        for (int tries = 0; tries < 6000 && askers[i].over < EACH; tries++) pause_ms(10);
        expect_equal(askers[i].over, EACH);
        long parts[6] = {askers[i].answered, askers[i].timed_out, askers[i].lost,
                         askers[i].refused,  askers[i].other,     askers[i].given_up};
        for (int k = 0; k < 6; k++) sums[k] += parts[k];
    }
    pause_ms(100); /* whoever would be told twice, or though given up, has a while for it */
    for (int i = 0; i < ASKERS; i++)
        for (int n = 0; n < EACH; n++) expect_equal(askers[i].asks[n].told, askers[i].asks[n].given_up ? 0 : 1);
    expect_soon(look(http).under_way == 0);
    cen_http_stats stats = look(http);
    printf("     %d kills; %ld answered, %ld late, %ld lost, %ld refused, %ld given up; %d connects, %d rerouted\n",
           kills, sums[0], sums[1], sums[2], sums[3], sums[5], (int)stats.connects, (int)stats.rerouted);
    expect_equal(sums[4], 0);
    expect_equal(stats.asked, (long)ASKERS * EACH);
    expect_equal(stats.answered, sums[0]);
    expect_equal(stats.timed_out, sums[1]);
    expect_equal(stats.lost, sums[2]);
    expect_equal(stats.cancelled, sums[5]);
    expect(sums[0] > 0 && sums[1] > 0 && sums[2] > 0 && sums[5] > 0);
    end(http);
    waits_stop(&own);
    for (int i = 0; i < ASKERS; i++) free(askers[i].asks);
}
