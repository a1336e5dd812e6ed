/* SPDX-License-Identifier: MIT */
/* Options that are refused, each with a sentence that names the field; and addresses. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

#include "inspect/client.h"
#include "inspect/internal.h"
#include "support/test.h"

static void expect_refused(cen_inspect_options options, const char *words)
{
    cen_inspect *inspect = (cen_inspect *)&options; /* must stay as it is */
    cen_error error = {.text = ""};
    if (options.size == 0) options.size = sizeof options;
    expect_equal(cen_inspect_start(&options, &inspect, &error), CEN_INVALID);
    expect_equal(error.status, CEN_INVALID);
    expect(inspect == (cen_inspect *)&options);
    if (!strstr(error.text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, words);
    expect_equal(cen_inspect_start(&options, &inspect, NULL), CEN_INVALID);
}

TEST(options_that_are_wrong_are_named)
{
    char title[200], token[400];
    memset(title, 't', sizeof title - 1);
    memset(token, 't', sizeof token - 1);
    title[sizeof title - 1] = token[sizeof token - 1] = 0;
    expect_refused((cen_inspect_options){.size = 3}, "options.size");
    expect_refused((cen_inspect_options){.clients = 257}, "options.clients");
    expect_refused((cen_inspect_options){.title = title}, "options.title");
    expect_refused((cen_inspect_options){.token = ""}, "options.token");
    expect_refused((cen_inspect_options){.token = token}, "options.token");
    expect_refused((cen_inspect_options){.token = "with a blank"}, "options.token");
    expect_refused((cen_inspect_options){.token = "a&b"}, "options.token");
    expect_refused((cen_inspect_options){.at = "0.0.0.0:0", .anywhere = true}, "options.token");
    expect_refused((cen_inspect_options){.at = "0.0.0.0:0", .anywhere = true, .token = "fifteen-bytes-1"},
                   "at least 16");
    expect_refused((cen_inspect_options){.at = "127.0.0.1:0", .anywhere = true}, "options.token");
    cen_inspect_options fine = CEN_INSPECT_OPTIONS(.at = "127.0.0.1:0");
    expect_equal(cen_inspect_start(&fine, NULL, NULL), CEN_INVALID);
}

/* guarantees: inspect.control-token */
TEST(control_over_tcp_without_a_token_is_refused)
{
    static const char *const tcp[] = {"127.0.0.1:0", "localhost:0", "[::1]:0"};
    for (size_t i = 0; i < sizeof tcp / sizeof tcp[0]; i++) {
        expect_refused((cen_inspect_options){.at = tcp[i], .control = true}, "options.control");
        expect_refused((cen_inspect_options){.at = tcp[i], .control = true}, "set a token or use a Unix socket");
    }
    cen_inspect_stop(
        inspect_started((cen_inspect_options){.at = "127.0.0.1:0", .control = true, .token = "a-token-of-16-bytes"}));
    cen_inspect_stop(inspect_started((cen_inspect_options){.at = "127.0.0.1:0"}));
}

/* guarantees: inspect.control-token */
TEST(control_over_a_unix_socket_needs_no_token)
{
    char where[64];
    snprintf(where, sizeof where, "unix:/tmp/cenote-options-%d.socket", (int)getpid());
    cen_inspect_stop(inspect_started((cen_inspect_options){.at = where, .control = true}));
    cen_inspect_options options = CEN_INSPECT_OPTIONS(.control = true); /* the default address */
    cen_inspect *inspect;
    cen_error error;
    expect_equal(cen_inspect_start(&options, &inspect, &error), CEN_OK);
    expect(strncmp(cen_inspect_address(inspect), "unix:", 5) == 0);
    cen_inspect_stop(inspect);
}

TEST(addresses_that_are_wrong_are_shown)
{
    static const char *const wrong[] = {"",
                                        ":",
                                        "9911",
                                        "127.0.0.1",
                                        "127.0.0.1:",
                                        "127.0.0.1:x",
                                        "127.0.0.1:-1",
                                        "127.0.0.1:65536",
                                        "127.0.0.1: 80",
                                        "127.0.0.1:80 ",
                                        "::1:80",
                                        "[::1]",
                                        "[::1]80",
                                        "[::1",
                                        "[]:80",
                                        "[127.0.0.1:80",
                                        "example.org:80",
                                        "localhost.example.org:80",
                                        "300.0.0.1:80",
                                        "unix:",
                                        "unix:relative",
                                        "unix:/a/",
                                        "http://127.0.0.1:80/"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char words[200];
        snprintf(words, sizeof words, "options.at is \"%s\"", wrong[i]);
        expect_refused((cen_inspect_options){.at = wrong[i]}, words);
    }
    char path[256] = "unix:/";
    memset(path + 6, 'p', 120);
    expect_refused((cen_inspect_options){.at = path}, "at most 107 bytes");
}

/* guarantees: inspect.anywhere */
TEST(an_address_that_others_reach_needs_a_word_for_it)
{
    static const char *const open[] = {
        "0.0.0.0:0",   "[::]:0",           "192.0.2.1:0", "[2001:db8::1]:0", "[::ffff:127.0.0.1]:0",
        "128.0.0.1:0", "126.255.255.255:0"};
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        ceni_inspect_endpoint address;
        expect_refused((cen_inspect_options){.at = open[i], .token = "a-token-of-16-bytes"}, "options.anywhere");
        expect_equal(ceni_inspect_address_read(open[i], true, &address, NULL), CEN_OK);
        expect(!address.is_loopback);
    }
    static const char *const close[] = {"127.0.0.1:0", "127.255.255.255:0", "localhost:0", "[::1]:0", "unix:/tmp/a"};
    for (size_t i = 0; i < sizeof close / sizeof close[0]; i++) {
        ceni_inspect_endpoint address;
        expect_equal(ceni_inspect_address_read(close[i], false, &address, NULL), CEN_OK);
        expect(address.is_loopback);
    }
}

/* guarantees: inspect.anywhere */
TEST(anywhere_with_a_token_listens_everywhere_and_asks_for_it)
{
    cen_inspect *inspect =
        inspect_started((cen_inspect_options){.at = "0.0.0.0:0", .anywhere = true, .token = "a-token-of-16-bytes"});
    int port;
    char at[64];
    expect(sscanf(cen_inspect_address(inspect), "http://0.0.0.0:%d/", &port) == 1);
    snprintf(at, sizeof at, "http://127.0.0.1:%d/", port);
    expect_error(ask(at, "GET", "/api/process", NULL), 401, "MISUSE", "token");
    /* Whoever has the token may call the machine by any name. */
    reply r = ask_with(at, "GET", "/api/process", NULL, "Authorization: Bearer a-token-of-16-bytes",
                       "Host: db7.example.org", NULL);
    expect_equal(r.code, 200);
    reply_fini(&r);
    cen_inspect_stop(inspect);
}

/* ---- What is read from requests ------------------------------------------------------------------ */

static bool tells(const char *body, const char *action, int64_t value)
{
    ceni_telling telling;
    return ceni_telling_read(body, strlen(body), &telling, NULL) && strcmp(telling.action, action) == 0 &&
           telling.value == value;
}

TEST(a_body_is_read_strictly)
{
    expect(tells("{\"action\":\"pause\"}", "pause", 0));
    expect(tells("\t{ \"value\" : -9223372036854775808 , \"action\" : \"a_1\" }\n", "a_1", INT64_MIN));
    expect(tells("{\"action\":\"resize\",\"value\":9223372036854775807}", "resize", INT64_MAX));
    expect(tells("{\"action\":\"resize\",\"value\":0}", "resize", 0));
    static const char *const wrong[] = {"",
                                        " ",
                                        "{",
                                        "{}",
                                        "{\"action\"}",
                                        "{\"action\":}",
                                        "{\"action\":\"\"}",
                                        "{\"action\":\"a\"",
                                        "{\"action\":\"a\",}",
                                        "{\"action\":\"A\"}",
                                        "{\"action\":\"\\u0061\"}",
                                        "{\"action\":\"a\",\"value\":+1}",
                                        "{\"action\":\"a\",\"value\":01}",
                                        "{\"action\":\"a\",\"value\":1e2}",
                                        "{\"action\":\"a\",\"value\":null}",
                                        "{\"action\":\"a\",\"value\":-}",
                                        "{\"action\":\"a\",\"value\":9223372036854775808}",
                                        "{\"action\":\"a\",\"value\":0x10}",
                                        "{\"action\":\"a\",\"more\":1}",
                                        "{\"action\":\"a\"}{}",
                                        "{'action':'a'}",
                                        "[\"action\",\"a\"]",
                                        "{\"action\":\"a234567890123456789012345678901234567890\"}",
                                        "{\"a2345678901234567\":1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ceni_telling telling;
        cen_error error = {.text = ""};
        if (ceni_telling_read(wrong[i], strlen(wrong[i]), &telling, &error))
            test_fail(__FILE__, __LINE__, "%s was read", wrong[i]);
        expect(strstr(error.text, "expected") != NULL);
    }
    ceni_telling telling;
    expect(!ceni_telling_read("{\"action\":\"a\"}\0{}", 15, &telling, NULL)); /* a zero does not end it */
}

TEST(numbers_are_read_to_their_last_digit)
{
    uint64_t out = 7;
    expect(ceni_query_number("0", 0, &out) && out == 0);
    expect(ceni_query_number("18446744073709551615", UINT64_MAX, &out) && out == UINT64_MAX);
    expect(!ceni_query_number("18446744073709551616", UINT64_MAX, &out) &&
           !ceni_query_number("99999999999999999999", UINT64_MAX, &out));
    expect(!ceni_query_number("", 9, &out) && !ceni_query_number(" 1", 9, &out) && !ceni_query_number("1 ", 9, &out) &&
           !ceni_query_number("+1", 9, &out));
    expect(!ceni_query_number("10", 9, &out) && out == UINT64_MAX);
}
