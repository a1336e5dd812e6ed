/* SPDX-License-Identifier: MIT */
/* Clients that are slow, that are many, and answers that are large: none of them stops the others, or the host. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cenote/cenote.h>

#include "inspect/client.h"
#include "record/directory.h"
#include "support/test.h"

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double now(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

/* Whether the server closes the connection within so many seconds, while the client sends a byte now and then. */
static bool is_closed_within(int client, double seconds, bool sends)
{
    double end = now() + seconds;
    while (now() < end) {
        char byte;
        ssize_t got = recv(client, &byte, 1, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK)) return true;
        if (sends && !client_send(client, "a", 1)) return true;
        usleep(20000);
    }
    return false;
}

/* guarantees: inspect.slow-clients */
TEST(who_sends_a_byte_now_and_then_is_cut_off_all_the_same)
{
    cen_inspect *inspect = inspect_impatient((cen_inspect_options){.clients = 4}, 250);
    static const char *const begun[] = {
        "", "GET /api", "GET /api/process HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        "POST /api/components/1/invoke HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n"};
    for (size_t i = 0; i < sizeof begun / sizeof begun[0]; i++) {
        int client = client_connect(cen_inspect_address(inspect));
        client_send(client, begun[i], strlen(begun[i]));
        double from = now();
        expect(is_closed_within(client, 9, i > 0));
        expect(now() - from > 0.15);
        close(client);
    }
    cen_inspect_stop(inspect);
}

/* What a client that has sent something, and sends nothing more, gets until the server closes. */
static const char *read_to_end(int client)
{
    static char answer[8192];
    client_read(client, answer, sizeof answer);
    close(client);
    return answer;
}

/* Clients that begin to ask, and one that asks in full and keeps its connection. False: that one got no processor for all
 * of `patience_ms` between its connect and its send. */
static bool slow_ones_are_told_so(const char *place, bool control, int patience_ms)
{
    static const char *const begun[] = {
        "GET /api", "GET /api/process HTTP/1.1\r\nHost: localhost\r\n",
        "POST /api/components/1/invoke HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40\r\n\r\n{",
        "GET /api/process HTTP/1.1\r\nHost: localhost\r\n\r\n"};
    enum { SLOW = 3, ALL = 4 };
    cen_inspect *inspect = inspect_impatient((cen_inspect_options){.at = place, .control = control}, patience_ms);
    int clients[ALL];
    for (int i = 0; i < ALL; i++) {
        clients[i] = client_connect(cen_inspect_address(inspect));
        expect(client_send(clients[i], begun[i], strlen(begun[i])));
    }
    for (int i = 0; i < SLOW; i++) {
        const char *answer = read_to_end(clients[i]), *body = strstr(answer, "\r\n\r\n");
        expect(strncmp(answer, "HTTP/1.1 408 ", 13) == 0);
        /* as long as its head says, and nothing behind it */
        json_t *json = json_loads(body ? body + 4 : "", 0, NULL);
        expect_text(json_string_value(json_object_get(json_object_get(json, "error"), "status")), "TIMEOUT");
        json_decref(json);
    }
    /* One that was answered, and keeps the connection: it has asked nothing that it waits for. Held up before it had asked, it
     * is closed without a word, and in the middle of it, told so. */
    const char *kept = read_to_end(clients[SLOW]);
    bool in_time = *kept && strncmp(kept, "HTTP/1.1 408 ", 13) != 0;
    expect(!in_time || (strncmp(kept, "HTTP/1.1 200 ", 13) == 0 && !strstr(kept, "HTTP/1.1 408")));
    cen_inspect_stop(inspect);
    return in_time;
}

/* guarantees: inspect.bad-request */
TEST(who_begins_to_ask_and_is_too_slow_is_told_so)
{
    char where[100];
    snprintf(where, sizeof where, "unix:/tmp/cenote-slow-%d.socket", (int)getpid());
    const char *const places[] = {"127.0.0.1:0", where};
    for (size_t p = 0; p < 2; p++) {
        int patience_ms = 1500;
        while (!slow_ones_are_told_so(places[p], p == 1, patience_ms)) {
            expect(patience_ms < 20000);
            patience_ms *= 2;
        }
    }
}

TEST(a_connection_that_a_browser_keeps_ready_is_closed_without_a_word)
{
    cen_inspect *inspect = inspect_impatient((cen_inspect_options){.at = "127.0.0.1:0"}, 250);
    expect_text(read_to_end(client_connect(cen_inspect_address(inspect))), "");
    cen_inspect_stop(inspect);
}

/* guarantees: inspect.slow-clients */
TEST(one_too_many_is_told_so_and_served_when_there_is_room)
{
    cen_inspect *inspect = inspect_started((cen_inspect_options){.clients = 2});
    const char *at = cen_inspect_address(inspect);
    int slow[2];
    for (int i = 0; i < 2; i++) {
        slow[i] = client_connect(at);
        /* has asked, but not to the end */
        expect(client_send(slow[i], "GET /api/process HTTP/1.1\r\nHost: local", 38));
    }
    reply r;
    double end = now() + 3;
    /* until both have been accepted */
    while ((r = ask(at, "GET", "/api/process", NULL)).code == 200 && now() < end) reply_fini(&r);
    expect_text(reply_header(&r, "Retry-After"), "1");
    expect_error(r, 503, "FULL", "too many clients (options.clients = 2)");
    close(slow[0]);
    end = now() + 3;
    while ((r = ask(at, "GET", "/api/process", NULL)).code != 200 && now() < end) reply_fini(&r);
    expect_equal(r.code, 200);
    reply_fini(&r);
    /* and who was there first was not forgotten */
    expect(client_send(slow[1], "host\r\nConnection: close\r\n\r\n", 27));
    char answer[4096];
    client_read(slow[1], answer, sizeof answer);
    expect(strncmp(answer, "HTTP/1.1 200", 12) == 0);
    close(slow[1]);
    cen_inspect_stop(inspect);
}

/* guarantees: inspect.slow-clients */
TEST(who_asks_nothing_makes_room_for_who_does)
{
    cen_inspect *inspect = inspect_started((cen_inspect_options){.clients = 2});
    const char *at = cen_inspect_address(inspect);
    int idle[2];
    for (int i = 0; i < 2; i++) idle[i] = client_connect(at);
    double end = now() + 4;
    reply r;
    while ((r = ask(at, "GET", "/api/process", NULL)).code != 200 && now() < end) {
        reply_fini(&r);
        usleep(50000);
    }
    expect_equal(r.code, 200);
    reply_fini(&r);
    expect(is_closed_within(idle[0], 1, false) || is_closed_within(idle[1], 1, false));
    close(idle[0]);
    close(idle[1]);
    cen_inspect_stop(inspect);
}

/* As a browser, which keeps the connections over which it has loaded a page. */
TEST(who_was_answered_and_asks_no_more_makes_room_sooner)
{
    cen_inspect *inspect = inspect_started((cen_inspect_options){.clients = 2});
    const char *at = cen_inspect_address(inspect);
    int kept[2];
    for (int i = 0; i < 2; i++) {
        char first[16];
        kept[i] = client_connect(at);
        expect(client_send(kept[i], "GET /api/process HTTP/1.1\r\nHost: localhost\r\n\r\n", 46));
        expect(recv(kept[i], first, sizeof first, MSG_WAITALL) == 16);
    }
    reply r;
    int attempts = 0;
    /* less than the second of others */
    while ((r = ask(at, "GET", "/api/process", NULL)).code != 200 && attempts++ < 60) {
        reply_fini(&r);
        usleep(10000);
    }
    expect_equal(r.code, 200);
    reply_fini(&r);
    close(kept[0]);
    close(kept[1]);
    cen_inspect_stop(inspect);
}

/* ---- Large answers ---------------------------------------------------------------------------- */

static size_t no_metrics(const void *object, cen_metric *metrics, size_t room)
{
    (void)object, (void)metrics, (void)room;
    return 0;
}

/* A component that writes as much of itself as its object says. */
static void draw_much(const void *object, const cen_description_writer *s, size_t most)
{
    char *words = malloc(1 << 20);
    (void)most;
    memset(words, 'm', (1 << 20) - 1);
    words[(1 << 20) - 1] = 0;
    s->list(s->argument, "list");
    for (int i = 0; i < *(const int *)object; i++) {
        s->item(s->argument);
        s->text(s->argument, "words", words);
        s->end(s->argument);
    }
    s->end(s->argument);
    free(words);
}

static const ceni_component_calls large = {.description = draw_much};

static void join_large(ceni_directory_entry *entry, const int *size)
{
    *entry = (ceni_directory_entry){
        .kind = "large", .name = "large", .snapshot = no_metrics, .object = size, .calls = &large};
    ceni_directory_join(ceni_directory_process(), entry);
}

/* guarantees: inspect.slow-clients */
TEST(an_answer_beyond_its_bound_is_an_error_and_not_half_of_it)
{
    static const int size = 17, fits = 12;
    ceni_directory_entry entry;
    char path[64];
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = NULL});
    const char *at = cen_inspect_address(inspect);
    join_large(&entry, &size);
    snprintf(path, sizeof path, "/api/components/%llu", (unsigned long long)entry.number);
    expect_error(ask(at, "GET", path, NULL), 503, "NO_MEMORY", "16 MiB");
    expect_error(ask(at, "GET", "/api/components?parts=1", NULL), 503, "NO_MEMORY", "16 MiB");
    json_decref(ask_json(at, "/api/components"));
    ceni_directory_leave(ceni_directory_process(), &entry);
    join_large(&entry, &fits);
    snprintf(path, sizeof path, "/api/components/%llu", (unsigned long long)entry.number);
    json_decref(ask_json(at, path));
    ceni_directory_leave(ceni_directory_process(), &entry);
    cen_inspect_stop(inspect);
}

/* guarantees: inspect.slow-clients */
TEST(who_reads_slowly_holds_up_nobody_and_is_cut_off)
{
    static const int size = 12;
    ceni_directory_entry entry;
    char where[100], request[200];
    int slow[3];
    snprintf(where, sizeof where, "unix:/tmp/cenote-crowd-%d.socket", (int)getpid());
    cen_inspect *inspect = inspect_impatient((cen_inspect_options){.at = where, .clients = 4}, 3000);
    join_large(&entry, &size);
    int length = snprintf(request, sizeof request, "GET /api/components/%llu HTTP/1.1\r\nHost: localhost\r\n\r\n",
                          (unsigned long long)entry.number);
    for (int i = 0; i < 3; i++) {
        slow[i] = client_connect(where);
        expect(client_send(slow[i], request, (size_t)length));
        char first[16];
        expect(recv(slow[i], first, sizeof first - 1, MSG_WAITALL) == 15); /* the answer begins, and is then not read */
        first[15] = 0;
        /* Two answers of 12 MiB may be under way; a third is refused, and in a few bytes. */
        expect(strncmp(first, i < 2 ? "HTTP/1.1 200 OK" : "HTTP/1.1 503 Se", 15) == 0);
    }
    /* The component may end: nobody is at it, as all answers are complete. */
    double from = now();
    ceni_directory_leave(ceni_directory_process(), &entry);
    expect(now() - from < 0.5);
    for (int i = 0; i < 20; i++) json_decref(ask_json(where, "/api/process"));
    /* Those who never read find, after what was sent, the end. */
    for (int i = 0; i < 2; i++) {
        struct pollfd gone = {.fd = slow[i], .events = POLLRDHUP};
        expect_equal(poll(&gone, 1, 20000), 1);
        char *rest = malloc(4 << 20);
        size_t got = client_read(slow[i], rest, 4 << 20);
        expect(got < (4 << 20) - 1);
        free(rest);
    }
    for (int i = 0; i < 3; i++) close(slow[i]);
    cen_inspect_stop(inspect);
}

/* ---- Many ------------------------------------------------------------------------------------------ */

static atomic_int served, refused, cut;

static void *ask_often(void *argument)
{
    for (int i = 0; i < 5; i++) {
        reply r = ask(argument, "GET", i % 2 ? "/metrics" : "/api/components?parts=1", NULL);
        if (r.curl) cut++;
        else if (r.code == 200) served++; /* or in the end, after waiting in the line of those not accepted */
        else if (r.code == 503) refused++;
        else test_fail(__FILE__, __LINE__, "HTTP %ld", r.code);
        reply_fini(&r);
    }
    return NULL;
}

TEST(a_crowd_is_served_refused_or_cut_off_and_afterwards_all_is_well)
{
    cen_inspect *inspect = inspect_started((cen_inspect_options){.clients = 2});
    pthread_t crowd[40];
    for (size_t i = 0; i < 40; i++)
        pthread_create(&crowd[i], NULL, ask_often, (void *)(uintptr_t)cen_inspect_address(inspect));
    for (size_t i = 0; i < 40; i++) pthread_join(crowd[i], NULL);
    printf("     %d served, %d refused, %d cut off\n", served, refused, cut);
    expect(served > 0 && served + refused + cut == 200);
    json_decref(ask_json(cen_inspect_address(inspect), "/api/process"));
    cen_inspect_stop(inspect);
}

/* guarantees: inspect.slow-clients */
TEST(without_a_descriptor_to_spare_it_waits_and_does_not_spin)
{
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = NULL});
    const char *at = cen_inspect_address(inspect);
    json_decref(ask_json(at, "/api/process"));
    struct rlimit before, none;
    expect_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int client = client_connect(at), highest = dup(client);
    json_decref(ask_json(at, "/api/process")); /* so that the one before has been accepted */
    /* The highest descriptor is given to a client that connects; none is left for the server's end. */
    none = (struct rlimit){.rlim_cur = (rlim_t)highest + 10, .rlim_max = before.rlim_max};
    expect_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int fill = -1;
    for (int next; (next = dup(client)) >= 0;) fill = next;
    expect(fill >= 0);
    close(fill);
    int second = client_connect(at);
    double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    usleep(400000);
    cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    expect_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (cpu > 0.2) test_fail(__FILE__, __LINE__, "%.3f s of work in 0.4 s", cpu);
    char answer[4096];
    expect(client_send(second, "GET /api/process HTTP/1.0\r\n\r\n", 29)); /* it has waited, and is served */
    client_read(second, answer, sizeof answer);
    expect(strstr(answer, " 200 ") != NULL);
    close(client);
    close(highest);
    close(second);
    cen_inspect_stop(inspect);
}

static cen_status make_nothing(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    static int object;
    *out = &object;
    return CEN_OK;
}

static void end_nothing(void *argument, void *object)
{
    (void)argument, (void)object;
}

static const cen_driver_calls nothing = {.size = sizeof nothing, .open = make_nothing, .close = end_nothing};

static cen_pool *make_pool(const char *name, uint32_t max)
{
    cen_pool *pool;
    cen_error error = {.text = ""};
    cen_pool_options options = CEN_POOL_OPTIONS(.name = name, .driver = {&nothing, NULL}, .max = max);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    return pool;
}

TEST(ten_thousand_holders_are_shown_up_to_a_thousand_and_the_rest_is_counted)
{
    enum { HELD = 10000 };
    cen_pool *pool = make_pool("large", HELD);
    cen_lease *leases = calloc(HELD, sizeof *leases);
    for (int i = 0; i < HELD; i++) expect_equal(cen_pool_take(pool, cen_in_s(10), &leases[i], NULL), CEN_OK);
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = NULL});
    const char *at = cen_inspect_address(inspect);
    json_t *components = ask_json(at, "/api/components");
    json_int_t number =
        json_integer_value(json_object_get(json_array_get(json_object_get(components, "components"), 0), "number"));
    json_decref(components);
    static const struct {
        const char *query;
        size_t shown;
    } asks[] = {{"", 1000}, {"?most=5", 5}, {"?most=0", 0}, {"?most=1000000", 0}};
    for (size_t i = 0; i < 4; i++) {
        char path[64];
        snprintf(path, sizeof path, "/api/components/%lld%s", (long long)number, asks[i].query);
        json_t *one = ask_json(at, path),
               *description = json_object_get(json_object_get(one, "component"), "description");
        size_t shown = json_array_size(json_object_get(description, "holders"));
        if (i < 3) expect_equal(shown, asks[i].shown);
        else expect(shown > 1000); /* a pool may have a bound of its own */
        expect_equal(json_integer_value(json_object_get(description, "holders_more")), HELD - (int)shown);
        json_decref(one);
    }
    for (int i = 0; i < HELD; i++) cen_pool_give(&leases[i]);
    free(leases);
    cen_inspect_stop(inspect);
    cen_pool_free(pool);
}

TEST(a_thousand_pools_are_all_shown)
{
    enum { POOLS = 1000 };
    cen_pool **pools = calloc(POOLS, sizeof(cen_pool *));
    for (int i = 0; i < POOLS; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        pools[i] = make_pool(name, 2);
    }
    cen_inspect *inspect = inspect_started((cen_inspect_options){.at = NULL});
    static const char *const paths[] = {"/api/components", "/api/components?parts=1"};
    for (size_t i = 0; i < 2; i++) {
        json_t *components = ask_json(cen_inspect_address(inspect), paths[i]);
        expect_equal(json_array_size(json_object_get(components, "components")), POOLS);
        json_decref(components);
    }
    reply r = ask(cen_inspect_address(inspect), "GET", "/metrics", NULL);
    expect_equal(r.code, 200);
    expect(strstr(r.body, "cenote_pool_held{name=\"p999\"") != NULL);
    reply_fini(&r);
    cen_inspect_stop(inspect);
    for (int i = 0; i < POOLS; i++) cen_pool_free(pools[i]);
    free(pools);
}
