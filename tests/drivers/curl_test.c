/* SPDX-License-Identifier: MIT */
/*
 * src/curl as a driver: the suite that every driver passes, by HTTP/1.1 and by HTTP/2, where only openings connect; and what is
 * curl's own.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cenote/curl.h>

#include "drivers/conformance.h"
#include "drivers/waits.h"

enum { MOST = 16 };
#define USER "tester:secret"
#define BASIC "Basic dGVzdGVyOnNlY3JldA=="

static waits server;

void test_program_begin(void)
{
    const char *words[] = {"--threads", "8", "--connections", "16", "--authorization", BASIC, NULL};
    server = waits_start(0, words);
}

void test_program_end(void)
{
    waits_stop(&server);
}

static const char *url_with(const char *user, uint16_t port)
{
    static _Thread_local char url[128];
    snprintf(url, sizeof url, "http://%s@127.0.0.1:%u", user, port);
    return url;
}

static const char *good_url(void)
{
    return url_with(USER, server.port);
}

static const char *wrong_url(void)
{
    return url_with("tester:hidden", server.port);
}

static const char *url_at(uint16_t port)
{
    return url_with(USER, port);
}

/* ---- The suite's questions ------------------------------------------------------------------------- */

static bool get(void *curl, const char *path, cen_curl_response *response)
{
    cen_error error;
    return cen_curl_get(curl, path, response, &error) == CEN_OK && response->status == 200;
}

/* It takes a while, as a real one does, so that cuts meet it. */
static bool use(void *curl)
{
    cen_curl_response response = {0};
    bool fine = get(curl, "/?wait=0.002", &response) && strstr(response.body, "\"uri\":\"/?wait=0.002\"") &&
                waits_number(response.body, "thread") >= 0;
    cen_curl_response_free(&response);
    return fine;
}

static uint64_t identity(void *curl)
{
    cen_curl_response response = {0};
    uint64_t port = get(curl, "/", &response) ? (uint64_t)waits_number(response.body, "port") : 0;
    cen_curl_response_free(&response);
    return port;
}

static int connections(void)
{
    char body[512];
    return waits_ask(server.port, USER, "/", body, sizeof body) == 200 ? (int)waits_number(body, "connections") - 1
                                                                       : -1;
}

static bool cut(uint64_t port)
{
    char path[32];
    snprintf(path, sizeof path, "/?drop=%u", (unsigned)port);
    if (waits_ask(server.port, USER, path, NULL, 0) != 200) return false;
    struct timespec time = {0, 20000000};
    return nanosleep(&time, NULL) == 0;
}

static bool hang(void *curl)
{
    cen_curl_response response = {0};
    bool fine = get(curl, "/?wait=30", &response);
    cen_curl_response_free(&response);
    return !fine;
}

static bool fill(bool full)
{
    static int fds[MOST];
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(server.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int i = 0; i < MOST; i++) {
        if (!full) close(fds[i]);
        else if ((fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0 ||
                 connect(fds[i], (struct sockaddr *)&address, sizeof address) != 0)
            return false;
    }
    return !full || waits_ask(server.port, USER, "/", NULL, 0) == 503;
}

static cen_driver strict_driver(const char *url, int64_t timeout_ns)
{
    static cen_curl_options options;
    options = CEN_CURL_OPTIONS(.url = url, .connect_timeout_ns = timeout_ns, .only_open_connects = true);
    return cen_curl_with(&options);
}

static cen_driver http2_driver(const char *url, int64_t timeout_ns)
{
    static cen_curl_options options;
    options = CEN_CURL_OPTIONS(.url = url, .connect_timeout_ns = timeout_ns, .only_open_connects = true,
                               .version = CEN_CURL_VERSION_2, .test = CEN_CURL_TEST_REQUEST);
    return cen_curl_with(&options);
}

/* make_dirty is NULL: what is left behind is forgotten when it is given back, with no reset; see the tests below. */
#define CASE(case_name, its_driver) \
    { \
        .name = case_name, .driver = its_driver, .good = good_url, .wrong = wrong_url, .at = url_at, \
        .address = "127.0.0.1", .secret = "hidden", .wrong_status = CEN_DRIVER, .wrong_code = 401, \
        .absent_status = CEN_DOWN, .absent_code = CURLE_COULDNT_CONNECT, .full_status = CEN_FULL, .full_code = 503, \
        .use = use, .identity = identity, .cut = cut, .hang = hang, .connections = connections, .fill = fill \
    }
static const conformance http1 = CASE("curl", strict_driver);
static const conformance http2 = CASE("curl, HTTP/2", http2_driver);
CONFORMANCE(http1)
CONFORMANCE(http2)

/* ---- What is curl's own ------------------------------------------------------------------------------ */

static cen_pool *pool_of(cen_driver driver, uint32_t max)
{
    cen_pool *pool = NULL;
    cen_error error = {.text = ""};
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "own", .driver = driver, .max = max);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    return pool;
}

static cen_lease take(cen_pool *pool)
{
    cen_lease lease = {0};
    cen_error error = {.text = ""};
    if (cen_pool_take(pool, cen_in_s(10), &lease, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    return lease;
}

static void end(cen_pool *pool)
{
    expect_equal(cen_pool_close(pool, cen_in_s(10), NULL, NULL), CEN_OK);
    expect_equal(cen_pool_free(pool), CEN_OK);
}

static size_t drop_bytes(char *bytes, size_t size, size_t count, void *nothing)
{
    (void)bytes, (void)nothing;
    return size * count;
}

static int end_at_once(void *calls, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    ++*(int *)calls;
    return 1;
}

TEST(what_a_user_set_is_forgotten_and_the_connection_is_kept)
{
    cen_pool *pool = pool_of(cen_curl(good_url()), 1);
    cen_lease lease = take(pool);
    uint64_t first = identity(lease.object);
    int calls = 0;
    for (int i = 0; i < 3; i++) {
        curl_easy_setopt(lease.object, CURLOPT_URL, "http://127.0.0.1:1/");
        curl_easy_setopt(lease.object, CURLOPT_CUSTOMREQUEST, "OPTIONS");
        curl_easy_setopt(lease.object, CURLOPT_USERPWD, "nobody:nothing");
        curl_easy_setopt(lease.object, CURLOPT_COOKIELIST, "Set-Cookie: who=me; domain=127.0.0.1; path=/");
        cen_curl_progress(lease.object, end_at_once, &calls);
        expect_equal(cen_pool_give(&lease), CEN_OK);
        lease = take(pool);
        struct curl_slist *cookies = NULL;
        curl_easy_getinfo(lease.object, CURLINFO_COOKIELIST, &cookies);
        expect(!cookies);
        curl_easy_setopt(lease.object, CURLOPT_WRITEFUNCTION, drop_bytes);
        expect_equal(curl_easy_perform(lease.object), CURLE_OK); /* at the site's own address, as the site's user */
        long answer = 0, connects = -1;
        curl_easy_getinfo(lease.object, CURLINFO_RESPONSE_CODE, &answer);
        curl_easy_getinfo(lease.object, CURLINFO_NUM_CONNECTS, &connects);
        expect_equal(answer, 200);
        expect_equal(connects, 0);
        expect_equal(identity(lease.object), first);
    }
    expect_equal(calls, 0);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end(pool);
}

static void *hang_up(void *curl)
{
    cen_curl_response response = {0};
    cen_error error = {.text = ""};
    cen_status status = cen_curl_get(curl, "/?wait=30", &response, &error);
    return (void *)(uintptr_t)status;
}

TEST(a_handle_that_is_reclaimed_ends_its_transfer_and_its_place_is_free)
{
    cen_pool *pool = NULL;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "own", .driver = cen_curl(good_url()), .max = 1,
                                                .leak_after_ns = 100000000, .on_leak = CEN_LEAK_RECLAIM);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_lease lost = take(pool);
    pthread_t thread;
    void *status;
    expect(pthread_create(&thread, NULL, hang_up, lost.object) == 0);
    cen_lease lease = take(pool);
    expect(lease.object != lost.object && use(lease.object));
    pthread_join(thread, &status);
    expect_equal((uintptr_t)status, CEN_INTERRUPTED);
    expect_equal(cen_pool_give(&lost), CEN_REVOKED);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end(pool);
}

TEST(a_handle_that_lost_its_connection_is_warm_again_before_it_is_lent)
{
    cen_pool *pool = pool_of(cen_curl(good_url()), 1);
    cen_lease lease = take(pool);
    CURL *handle = lease.object;
    uint64_t first = identity(handle);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, drop_bytes);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, 50L);
    expect_equal(cen_curl_path(handle, "/?wait=5"), CEN_OK);
    cen_error error;
    expect_equal(cen_curl_result(handle, curl_easy_perform(handle), &error), CEN_TIMEOUT);
    expect_equal(error.code, CURLE_OPERATION_TIMEDOUT);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    lease = take(pool);
    expect(lease.object == handle);
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    cen_pool_stats_get(pool, &stats);
    expect_equal(stats.opened, 1);
    expect_equal(stats.reset, 1);
    cen_curl_response response = {0};
    expect_equal(cen_curl_get(handle, "/", &response, &error), CEN_OK);
    expect(waits_number(response.body, "port") != (long)first);
    cen_curl_response_free(&response);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end(pool);
}

TEST(curl_connects_anew_by_itself_unless_only_openings_may)
{
    cen_pool *pool = pool_of(cen_curl(good_url()), 1);
    cen_lease lease = take(pool);
    uint64_t first = identity(lease.object);
    expect(cut(first));
    uint64_t second = identity(lease.object);
    expect(second != 0 && second != first);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end(pool);

    pool = pool_of(strict_driver(good_url(), 0), 1);
    lease = take(pool);
    expect(cut(identity(lease.object)));
    cen_curl_response response = {0};
    cen_error error;
    expect_equal(cen_curl_get(lease.object, "/", &response, &error), CEN_LOST);
    expect(strstr(error.text, "127.0.0.1"));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end(pool);
}

TEST(a_body_that_is_larger_than_allowed_is_refused_with_bounded_memory)
{
    cen_pool *pool = pool_of(cen_curl(good_url()), 1);
    cen_lease lease = take(pool);
    cen_curl_response response = {.max_body = 10};
    cen_error error;
    expect_equal(cen_curl_get(lease.object, "/", &response, &error), CEN_FULL);
    expect(!response.body && strstr(error.text, "10 bytes"));
    response.max_body = 1000;
    expect_equal(cen_curl_get(lease.object, "/?once", &response, &error), CEN_OK);
    expect_equal(response.size, strlen(response.body));
    expect_text(response.type, "application/json");
    cen_curl_response_free(&response);
    expect(!response.body);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end(pool);
}

TEST(a_body_may_be_without_a_limit)
{
    cen_pool *pool = pool_of(cen_curl(good_url()), 1);
    cen_lease lease = take(pool);
    cen_curl_response response = {.max_body = SIZE_MAX};
    cen_error error;
    expect_equal(cen_curl_get(lease.object, "/", &response, &error), CEN_OK);
    expect(response.size > 0);
    expect_equal(response.size, strlen(response.body));
    cen_curl_response_free(&response);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end(pool);
}

TEST(what_a_user_shares_is_the_users_again_when_the_handle_was_given_back)
{
    cen_pool *pool = pool_of(cen_curl(good_url()), 1);
    cen_lease lease = take(pool);
    CURLSH *share = curl_share_init();
    expect_equal(curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_COOKIE), CURLSHE_OK);
    expect_equal(curl_easy_setopt(lease.object, CURLOPT_SHARE, share), CURLE_OK);
    curl_easy_setopt(lease.object, CURLOPT_COOKIELIST, "Set-Cookie: who=me; domain=127.0.0.1; path=/");
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(curl_share_cleanup(share), CURLSHE_OK); /* or else: it is in use */
    lease = take(pool);
    expect(use(lease.object));
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end(pool);
}

/* Its place was taken back. The handle stays in memory until the late give. */
TEST(a_holder_that_has_lost_its_handle_finds_it_given_up)
{
    cen_pool *pool = NULL;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_curl(good_url()), .max = 1, .leak_after_ns = 50000000,
                                                .on_leak = CEN_LEAK_RECLAIM);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_lease lease = take(pool);
    CURL *handle = lease.object;
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    struct timespec time = {0, 10000000};
    for (int i = 0; stats.reclaimed == 0 && i < 6000; i++) {
        nanosleep(&time, NULL);
        cen_pool_stats_get(pool, &stats);
    }
    expect_equal(stats.reclaimed, 1);
    cen_curl_response response = {0};
    cen_error error;
    expect_equal(cen_curl_get(handle, "/", &response, &error), CEN_INTERRUPTED);
    expect(strstr(error.text, "127.0.0.1"));
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    end(pool);
}

TEST(a_progress_function_of_the_user_is_called_through)
{
    cen_pool *pool = pool_of(cen_curl(good_url()), 1);
    cen_lease lease = take(pool);
    int calls = 0;
    expect_equal(cen_curl_progress(lease.object, end_at_once, &calls), CEN_OK);
    curl_easy_setopt(lease.object, CURLOPT_WRITEFUNCTION, drop_bytes);
    expect_equal(cen_curl_path(lease.object, "/?wait=1"), CEN_OK);
    cen_error error;
    expect_equal(cen_curl_result(lease.object, curl_easy_perform(lease.object), &error), CEN_INTERRUPTED);
    expect(calls > 0);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end(pool);
}

/* The first time they cannot be had, the second time they are wrong. */
static cen_status fill_in(void *count, cen_curl_credentials *out, cen_error *error)
{
    int calls = ++*(atomic_int *)count;
    if (calls == 1) {
        snprintf(error->text, sizeof error->text, "the vault is locked");
        return CEN_DRIVER;
    }
    snprintf(out->user, sizeof out->user, "tester");
    snprintf(out->password, sizeof out->password, "%s", calls == 2 ? "hidden" : "secret");
    return CEN_OK;
}

struct heard {
    atomic_int locked, refused, told;
};

static void on_event(void *argument, const cen_event *event, uint64_t missed)
{
    (void)missed;
    struct heard *heard = argument;
    if (event->kind != CEN_EVENT_OPEN_FAILED) return;
    if (strstr(event->text, "the vault is locked")) heard->locked++;
    if (strstr(event->text, "tester") && event->code == 401) heard->refused++;
    if (strstr(event->text, "hidden")) heard->told++;
}

TEST(credentials_are_asked_for_at_each_opening)
{
    atomic_int calls = 0;
    struct heard heard = {0};
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", server.port);
    cen_curl_options options = CEN_CURL_OPTIONS(.url = url, .credentials = fill_in, .argument = &calls);
    cen_pool *pool = NULL;
    cen_pool_options pooled =
        CEN_POOL_OPTIONS(.name = "own", .driver = cen_curl_with(&options), .max = 1, .breaker_failures = CEN_OFF,
                         .backoff_initial_ns = 1000, .backoff_max_ns = 1000);
    expect_equal(cen_pool_new(&pooled, &pool, NULL), CEN_OK);
    expect_equal(cen_pool_listen(pool, on_event, &heard, NULL), CEN_OK);
    cen_lease lease = take(pool); /* the third opening succeeds */
    expect(use(lease.object));
    expect_equal(calls, 3);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end(pool); /* all events have been told */
    expect_equal(heard.locked, 1);
    expect_equal(heard.refused, 1);
    expect_equal(heard.told, 0);
}

TEST(a_server_whose_name_has_no_address_is_down)
{
    cen_curl_options options = CEN_CURL_OPTIONS(.url = "http://no-such-host.invalid", .warm = CEN_CURL_COLD);
    cen_pool *pool = pool_of(cen_curl_with(&options), 1);
    cen_lease lease = take(pool);
    cen_curl_response response = {0};
    cen_error error = {.text = ""};
    expect_equal(cen_curl_get(lease.object, "/", &response, &error), CEN_DOWN);
    expect_equal(error.code, CURLE_COULDNT_RESOLVE_HOST);
    expect(strstr(error.text, "no-such-host.invalid"));
    cen_curl_response_free(&response);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end(pool);
}

TEST(a_cold_handle_connects_at_its_first_use)
{
    cen_curl_options options = CEN_CURL_OPTIONS(.url = good_url(), .warm = CEN_CURL_COLD);
    cen_pool *pool = pool_of(cen_curl_with(&options), 1);
    cen_lease lease = take(pool);
    expect_equal(connections(), 0);
    expect(use(lease.object));
    expect_equal(connections(), 1);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    end(pool);
}

TEST(wrong_options_are_refused_by_name)
{
    static const struct {
        cen_curl_options options;
        const char *word;
    } wrong[] = {
        {CEN_CURL_OPTIONS(.url = NULL), "url"},
        {CEN_CURL_OPTIONS(.url = "ftp://127.0.0.1"), "url"},
        {CEN_CURL_OPTIONS(.url = "127.0.0.1:x"), "url"},
        {CEN_CURL_OPTIONS(.url = "http://ann:12/hidden@127.0.0.1/"), "%2F"},
        {CEN_CURL_OPTIONS(.url = "http://ann:1@2/hidden@127.0.0.1/"), "%2F"},
        {CEN_CURL_OPTIONS(.url = "http://127.0.0.1", .connect_timeout_ns = -1), "connect_timeout_ns"},
        {CEN_CURL_OPTIONS(.url = "http://127.0.0.1", .warm_path = "x"), "warm_path"},
        {CEN_CURL_OPTIONS(.url = "http://127.0.0.1", .version = (cen_curl_version)9), "version"},
        {CEN_CURL_OPTIONS(.url = "http://127.0.0.1", .warm = CEN_CURL_COLD, .only_open_connects = true),
         "only_open_connects"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cen_pool *pool = NULL;
        cen_error error = {.text = ""};
        cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_curl_with(&wrong[i].options));
        expect_equal(cen_pool_new(&options, &pool, &error), CEN_INVALID);
        if (!strstr(error.text, wrong[i].word))
            test_fail(__FILE__, __LINE__, "\"%s\" does not name %s", error.text, wrong[i].word);
        expect(!strstr(error.text, "hidden"));
    }
}

TEST(an_at_in_a_path_is_no_password_where_it_cannot_be_one)
{
    static const char *const fine[] = {"http://127.0.0.1/@ann", "http://127.0.0.1:1/%40ann",
                                       "http://ann:12%2Fx@127.0.0.1:1/"};
    for (size_t i = 0; i < sizeof fine / sizeof fine[0]; i++) {
        cen_pool *pool = NULL;
        cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_curl(fine[i]));
        expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
        end(pool);
    }
}

TEST(a_handle_that_is_no_pools_is_refused)
{
    CURL *curl = curl_easy_init();
    cen_curl_response response = {0};
    cen_error error;
    expect_equal(cen_curl_get(curl, "/", &response, &error), CEN_INVALID);
    expect_equal(cen_curl_path(curl, "/"), CEN_INVALID);
    expect_equal(cen_curl_progress(NULL, NULL, NULL), CEN_INVALID);
    expect_equal(cen_curl_result(curl, CURLE_OK, &error), CEN_INVALID);
    cen_curl_response_free(NULL);
    curl_easy_cleanup(curl);
}

TEST(the_driver_says_what_its_objects_belong_to_in_every_form)
{
    cen_curl_options options = {.size = sizeof options};
    expect_text(cen_curl("http://somewhere").calls->system, "http");
    expect_text(cen_curl_with(&options).calls->system, "http");
}
