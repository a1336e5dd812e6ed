/* SPDX-License-Identifier: MIT */
/* Every route, over TCP and over a Unix socket, and everything that is none. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cenote/cenote.h>

#include "inspect/client.h"
#include "support/test.h"

static cen_queue *queue;
static cen_crew *crew;
static cen_inspect *inspect;
static const char *at;
static char local[64]; /* a Unix socket: control needs a token elsewhere */

static void begin(const char *where, bool control)
{
    cen_queue_options q = CEN_QUEUE_OPTIONS(.name = "a \"queue\"\n\xC3\xA9\xFF", .element_size = 8, .capacity = 8);
    cen_crew_options c = CEN_CREW_OPTIONS(.name = "a crew", .workers = 1);
    expect_equal(cen_queue_new(&q, &queue, NULL), CEN_OK);
    expect_equal(cen_crew_new(&c, &crew, NULL), CEN_OK);
    if (!where && control) {
        snprintf(local, sizeof local, "unix:/tmp/cenote-routes-%d.socket", (int)getpid());
        where = local;
    }
    inspect = inspect_started((cen_inspect_options){.at = where, .control = control, .title = "the <title>"});
    at = cen_inspect_address(inspect);
}

static void end(void)
{
    cen_inspect_stop(inspect);
    cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL);
    cen_crew_free(crew);
    cen_queue_free(queue);
}

static json_t *component_named(json_t *components, const char *kind)
{
    size_t i;
    json_t *component;
    json_array_foreach(json_object_get(components, "components"), i,
                       component) if (strcmp(json_string_value(json_object_get(component, "kind")), kind) ==
                                      0) return component;
    test_fail(__FILE__, __LINE__, "no %s", kind);
}

/* The first sample is taken before the first answer. */
static void look_at_history(void)
{
    json_t *history = ask_json(at, "/api/history"), *components = json_object_get(history, "components");
    expect_equal(json_integer_value(json_object_get(history, "pid")), getpid());
    expect_equal(json_array_size(components), 2);
    json_t *one = json_array_get(components, 0), *first = json_array_get(json_object_get(one, "samples"), 0);
    size_t marks = 4 * json_array_size(json_object_get(one, "timings"));
    expect_equal(json_array_size(first), 1 + json_array_size(json_object_get(one, "metrics")) + marks);
    json_decref(history);
}

static void look_at_all(void)
{
    look_at_history();
    json_t *process = ask_json(at, "/api/process");
    expect_text(json_string_value(json_object_get(process, "title")), "the <title>");
    expect_equal(json_integer_value(json_object_get(process, "pid")), getpid());
    expect_equal(json_integer_value(json_object_get(process, "components")), 2);
    expect(json_is_false(json_object_get(process, "control")));
    json_int_t began = json_integer_value(json_object_get(process, "started_ns")),
               age = json_integer_value(json_object_get(process, "now_ns")) - began;
    expect(age > -20000000 && age < INT64_C(120000000000)); /* the start is known to a hundredth of a second */
    json_decref(process);

    json_t *components = ask_json(at, "/api/components"), *its = component_named(components, "queue");
    expect_equal(json_integer_value(json_object_get(components, "pid")), getpid());
    expect_equal(json_integer_value(json_object_get(components, "started_ns")), began);
    expect_text(json_string_value(json_object_get(its, "name")), "a \"queue\"\n\xC3\xA9\xEF\xBF\xBD");
    expect(json_is_null(json_object_get(its, "system")));
    expect_equal(json_integer_value(json_object_get(json_object_get(its, "metrics"), "length")), 0);
    expect(json_object_get(its, "description") == NULL);
    expect(json_is_object(json_object_get(its, "histograms")) && json_is_array(json_object_get(its, "counters")));
    char path[64];
    snprintf(path, sizeof path, "/api/components/%lld",
             (long long)json_integer_value(json_object_get(component_named(components, "crew"), "number")));
    json_decref(components);

    json_t *with_parts = ask_json(at, "/api/components?parts=1");
    expect(json_is_object(json_object_get(component_named(with_parts, "queue"), "description")));
    json_decref(with_parts);

    json_t *one = ask_json(at, path), *component = json_object_get(one, "component");
    expect_text(json_string_value(json_object_get(component, "name")), "a crew");
    expect_equal(json_array_size(json_object_get(json_object_get(component, "description"), "workers")), 1);
    json_decref(one);
}

/* guarantees: inspect.components */
TEST(every_component_is_shown_over_tcp)
{
    begin(NULL, false);
    expect(strncmp(at, "http://127.0.0.1:", 17) == 0);
    look_at_all();
    end();
}

/* guarantees: inspect.components */
TEST(every_component_is_shown_over_a_unix_socket)
{
    char where[128];
    snprintf(where, sizeof where, "unix:/tmp/cenote-routes-%d.socket", (int)getpid());
    begin(where, false);
    expect_text(at, where);
    look_at_all();
    end();
}

/* guarantees: inspect.components */
TEST(every_component_is_shown_over_ipv6)
{
    begin("[::1]:0", false);
    expect(strncmp(at, "http://[::1]:", 13) == 0);
    look_at_all();
    end();
}

TEST(events_are_read_on_from_where_they_ended)
{
    begin(NULL, false);
    json_t *before = ask_json(at, "/api/events");
    char path[128];
    long long next = json_integer_value(json_object_get(before, "next"));
    json_decref(before);
    cen_event_emit(CEN_LEVEL_NOTICE, "first", "it began");
    cen_event_emit(CEN_LEVEL_ERROR, "second", "it broke");
    cen_event_emit(CEN_LEVEL_NOTICE, "third", "it ended");
    snprintf(path, sizeof path, "/api/events?after=%lld&limit=2", next);
    json_t *two = ask_json(at, path), *events = json_object_get(two, "events");
    expect_equal(json_array_size(events), 2);
    expect_text(json_string_value(json_object_get(json_array_get(events, 0), "what")), "first");
    expect_text(json_string_value(json_object_get(json_array_get(events, 1), "level")), "error");
    expect_text(json_string_value(json_object_get(json_array_get(events, 1), "text")), "it broke");
    snprintf(path, sizeof path, "/api/events?after=%lld", (long long)json_integer_value(json_object_get(two, "next")));
    json_decref(two);
    json_t *last = ask_json(at, path);
    expect_equal(json_array_size(json_object_get(last, "events")), 1);
    json_decref(last);
    snprintf(path, sizeof path, "/api/events?after=%lld&level=warning", next);
    json_t *worst = ask_json(at, path);
    expect_equal(json_array_size(json_object_get(worst, "events")), 1);
    json_decref(worst);
    end();
}

/* guarantees: inspect.bad-request */
TEST(what_is_not_there_is_a_json_error)
{
    begin(NULL, false);
    expect_error(ask(at, "GET", "/nothing", NULL), 404, "ABSENT", "nothing at /nothing");
    expect_error(ask(at, "GET", "/api", NULL), 404, "ABSENT", "/api");
    expect_error(ask(at, "GET", "/api/", NULL), 404, "ABSENT", "/api/");
    expect_error(ask(at, "GET", "/api/components/", NULL), 404, "ABSENT", "");
    expect_error(ask(at, "GET", "/api/components/4711", NULL), 404, "ABSENT", "4711");
    expect_error(ask(at, "GET", "/api/components/-1", NULL), 404, "ABSENT", "");
    expect_error(ask(at, "GET", "/api/components/1x", NULL), 404, "ABSENT", "");
    expect_error(ask(at, "GET", "/api/components/99999999999999999999999", NULL), 404, "ABSENT", "");
    expect_error(ask(at, "GET", "/api/components/18446744073709551615", NULL), 404, "ABSENT", "18446744073709551615");
    expect_error(ask(at, "GET", "/api/components/1/invoke/me", NULL), 404, "ABSENT", "");
    expect_error(ask(at, "GET", "/../etc/passwd", NULL), 404, "ABSENT", "");
    expect_error(ask(at, "GET", "/%2e%2e/etc/passwd", NULL), 404, "ABSENT", "");
    expect_error(ask(at, "GET", "/a\xC3\xA9%ff", NULL), 404, "ABSENT", "");
    end();
}

/* guarantees: inspect.bad-request */
TEST(arguments_that_are_wrong_are_named)
{
    begin(NULL, false);
    expect_error(ask(at, "GET", "/api/components?parts=2", NULL), 400, "INVALID",
                 "parts must be a number up to 1 (got \"2\")");
    expect_error(ask(at, "GET", "/api/components?part=1", NULL), 400, "INVALID", "unknown argument part");
    expect_error(ask(at, "GET", "/api/components?parts=1&parts=0", NULL), 400, "INVALID", "argument parts given twice");
    expect_error(ask(at, "GET", "/api/components?parts", NULL), 400, "INVALID",
                 "parts must be a number up to 1 (got \"\")");
    expect_error(ask(at, "GET", "/api/process?most=1", NULL), 400, "INVALID", "unknown argument most");
    expect_error(ask(at, "GET", "/api/events?after=-1", NULL), 400, "INVALID", "after");
    expect_error(ask(at, "GET", "/api/events?after=18446744073709551616", NULL), 400, "INVALID", "after");
    expect_error(ask(at, "GET", "/api/events?limit=10001", NULL), 400, "INVALID", "limit");
    expect_error(ask(at, "GET", "/api/events?limit=1e3", NULL), 400, "INVALID", "limit");
    expect_error(ask(at, "GET", "/api/events?level=loud", NULL), 400, "INVALID", "\"loud\"");
    end();
}

TEST(methods_that_are_not_for_it_are_told_which_are)
{
    begin(NULL, true);
    static const char *const looked[] = {"/api/process", "/api/components", "/api/components/1", "/api/events",
                                         "/metrics"};
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"};
    for (size_t i = 0; i < sizeof looked / sizeof looked[0]; i++)
        for (size_t m = 0; m < sizeof methods / sizeof methods[0]; m++) {
            reply r = ask(at, methods[m], looked[i], NULL);
            expect_text(reply_header(&r, "Allow"), "GET, HEAD");
            expect_error(r, 405, "INVALID", methods[m]);
        }
    reply r = ask(at, "GET", "/api/components/1/invoke", NULL);
    expect_text(reply_header(&r, "Allow"), "POST");
    expect_error(r, 405, "INVALID", "GET");
    end();
}

TEST(head_has_the_head_of_get_and_nothing_else)
{
    begin(NULL, false);
    static const char *const looked[] = {"/api/components", "/metrics", "/nothing", "/api/components/1"};
    for (size_t i = 0; i < sizeof looked / sizeof looked[0]; i++) {
        reply whole = ask(at, "GET", looked[i], NULL), head = ask(at, "HEAD", looked[i], NULL);
        char length[32];
        snprintf(length, sizeof length, "%zu", whole.length);
        expect_equal(head.code, whole.code);
        expect_equal(head.length, 0);
        expect(labs(strtol(reply_header(&head, "Content-Length"), NULL, 10) - (long)whole.length) <
               64); /* times differ in digits */
        reply_fini(&whole);
        reply_fini(&head);
    }
    end();
}

TEST(every_answer_keeps_browsers_from_doing_harm)
{
    begin(NULL, false);
    static const char *const paths[] = {"/", "/api/process", "/metrics", "/nothing"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        reply r = ask(at, "GET", paths[i], NULL);
        expect(strstr(reply_header(&r, "Content-Security-Policy"), "default-src 'self'") != NULL);
        expect(strstr(reply_header(&r, "Content-Security-Policy"), "frame-ancestors 'none'") != NULL);
        expect_text(reply_header(&r, "X-Content-Type-Options"), "nosniff");
        expect_text(reply_header(&r, "Referrer-Policy"), "no-referrer");
        expect(strcmp(reply_header(&r, "Cache-Control"), i == 0 ? "no-cache" : "no-store") == 0);
        expect_text(reply_header(&r, "Access-Control-Allow-Origin"), "");
        reply_fini(&r);
    }
    end();
}

TEST(the_page_is_asked_for_again_but_sent_once)
{
    begin(NULL, false);
    reply first = ask(at, "GET", "/", NULL);
    expect_equal(first.code, 200);
    expect_text(reply_header(&first, "Content-Type"), "text/html; charset=utf-8");
    expect(first.length > 0);
    char same[128];
    snprintf(same, sizeof same, "If-None-Match: %s", reply_header(&first, "ETag"));
    reply again = ask_with(at, "GET", "/index.html", NULL, same, NULL);
    expect_equal(again.code, 304);
    expect_equal(again.length, 0);
    reply other = ask_with(at, "GET", "/", NULL, "If-None-Match: \"another\"", NULL);
    expect_equal(other.code, 200);
    expect_equal(other.length, first.length);
    reply_fini(&first);
    reply_fini(&again);
    reply_fini(&other);
    end();
}

/* ---- Telling ------------------------------------------------------------------------------ */

static void crew_path(char *out, size_t room)
{
    json_t *components = ask_json(at, "/api/components");
    snprintf(out, room, "/api/components/%lld/invoke",
             (long long)json_integer_value(json_object_get(component_named(components, "crew"), "number")));
    json_decref(components);
}

static uint32_t workers(void)
{
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    cen_crew_stats_get(crew, &stats);
    return stats.workers;
}

/* guarantees: inspect.control */
TEST(a_component_obeys_if_control_is_on)
{
    char path[64];
    begin(NULL, true);
    crew_path(path, sizeof path);
    reply r = ask(at, "POST", path, " {\"action\" : \"resize\",\n\"value\": 3 }\r\n");
    expect_equal(r.code, 200);
    json_t *json = reply_json(&r);
    expect_text(json_string_value(json_object_get(json, "status")), "OK");
    json_decref(json);
    reply_fini(&r);
    expect_equal(workers(), 3);
    end();
}

/* guarantees: inspect.control */
TEST(nothing_is_told_if_control_is_off)
{
    char path[64];
    begin(NULL, false);
    crew_path(path, sizeof path);
    expect_error(ask(at, "POST", path, "{\"action\":\"resize\",\"value\":3}"), 403, "MISUSE", "options.control");
    expect_equal(workers(), 1);
    end();
}

/* guarantees: inspect.control */
TEST(what_cannot_be_told_is_refused_and_changes_nothing)
{
    char path[64];
    begin(NULL, true);
    crew_path(path, sizeof path);
    static const struct {
        const char *body, *words;
    } wrong[] = {{"", "byte 1: expected an object"},
                 {"[]", "byte 1"},
                 {"{\"action\":\"resize\",\"value\":3} x", "expected nothing after"},
                 {"{\"action\":\"resize\",\"value\":3.5}", "an integer"},
                 {"{\"action\":\"resize\",\"value\":\"3\"}", "an integer"},
                 {"{\"action\":\"resize\",\"value\":99999999999999999999}", "63 bits"},
                 {"{\"action\":\"resize\",\"action\":\"resize\"}", "only once"},
                 {"{\"value\":3}", "\"action\""},
                 {"{\"word\":\"resize\"}", "\"action\" or \"value\""},
                 {"action=resize&value=3", "byte 1"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_error(ask(at, "POST", path, wrong[i].body), 400, "INVALID", wrong[i].words);
    expect_error(ask(at, "POST", path, "{\"action\":\"fly\"}"), 404, "ABSENT", "fly");
    expect_error(ask(at, "POST", path, "{\"action\":\"resize\",\"value\":-5}"), 400, "INVALID", "");
    expect_error(ask(at, "POST", "/api/components/4711/invoke", "{\"action\":\"resize\",\"value\":3}"), 404, "ABSENT",
                 "4711");
    expect_equal(workers(), 1);
    end();
}

/* guarantees: inspect.bad-request */
TEST(what_is_too_long_is_refused_before_it_has_come)
{
    begin(NULL, true);
    char *body = malloc(5001), *path = malloc(5001), *header = malloc(20001);
    memset(body, ' ', 5000);
    memset(path, 'a', 5000);
    memset(header, 'a', 20000);
    body[5000] = path[5000] = header[20000] = 0;
    path[0] = '/';
    memcpy(header, "X-A: ", 5);
    expect_error(ask(at, "POST", "/api/components/1/invoke", body), 413, "INVALID", "4096");
    expect_error(ask_with(at, "POST", "/api/components/1/invoke", body, "Transfer-Encoding: chunked", NULL), 413,
                 "INVALID", "4096");
    expect_error(ask(at, "GET", path, NULL), 414, "INVALID", "2048");
    expect_error(ask_with(at, "GET", "/api/components", NULL, header, NULL), 431, "INVALID", "16384");
    free(body);
    free(path);
    free(header);
    end();
}

/* What is no HTTP at all is answered by libmicrohttpd itself, in its own words; but it is answered, or closed, and nothing breaks. */
TEST(what_is_no_http_is_refused_and_nothing_breaks)
{
    inspect = inspect_impatient((cen_inspect_options){.at = NULL}, 200);
    at = cen_inspect_address(inspect);
    static const char *const said[] = {
        "GARBAGE\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
        "\x16\x03\x01\x02",
        "POST /api/components/1/invoke HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        "POST /api/components/1/invoke HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "POST /api/components/1/invoke HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"};
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        char answer[4096];
        int client = client_connect(at);
        client_send(client, said[i], strlen(said[i]));
        shutdown(client, SHUT_WR);
        client_read(client, answer, sizeof answer);
        expect(answer[0] == 0 || strncmp(answer, "HTTP/1.", 7) == 0);
        expect(strncmp(answer, "HTTP/1.1 200", 12) != 0);
        close(client);
    }
    json_decref(ask_json(at, "/api/components"));
    cen_inspect_stop(inspect);
}

/* guarantees: inspect.bad-request */
TEST(a_zero_in_an_address_is_refused_and_not_taken_for_its_end)
{
    begin(NULL, true);
    static const char *const with[] = {"/api/process%00", "/api/components%00/nothing",  "/%00",
                                       "/metrics%00.txt", "/api/components?parts=1%00x", "/api/events?level%00x=error"};
    for (size_t i = 0; i < sizeof with / sizeof with[0]; i++)
        expect_error(ask(at, "GET", with[i], NULL), 400, "INVALID", "%00");
    expect_error(ask(at, "POST", "/api/components/1/invoke%00x", "{\"action\":\"pause\"}"), 400, "INVALID", "%00");
    json_decref(ask_json(at, "/api/process")); /* and what is asked next is nothing to do with it */
    end();
}

/* guarantees: inspect.strangers */
TEST(of_two_hosts_none_is_believed)
{
    begin(NULL, false);
    char answer[4096];
    int client = client_connect(at);
    static const char request[] =
        "GET /api/process HTTP/1.1\r\nHost: localhost\r\nhost: elsewhere\r\nConnection: close\r\n\r\n";
    expect(client_send(client, request, sizeof request - 1));
    client_read(client, answer, sizeof answer);
    expect(strncmp(answer, "HTTP/1.1 400", 12) == 0 && strstr(answer, "one Host") != NULL);
    close(client);
    end();
}

TEST(http_1_1_needs_a_host_and_1_0_does_not)
{
    begin(NULL, false);
    char answer[4096];
    int client = client_connect(at);
    expect(client_send(client, "GET /api/process HTTP/1.1\r\nConnection: close\r\n\r\n", 48));
    client_read(client, answer, sizeof answer);
    expect(strncmp(answer, "HTTP/1.1 400", 12) == 0 && strstr(answer, "Host") != NULL);
    close(client);
    client = client_connect(at);
    expect(client_send(client, "GET /api/process HTTP/1.0\r\n\r\n", 29));
    client_read(client, answer, sizeof answer);
    expect(strstr(answer, " 200 ") != NULL && strstr(answer, "\"pid\"") != NULL);
    close(client);
    end();
}
