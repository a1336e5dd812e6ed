/* SPDX-License-Identifier: MIT */
/* Which requests of a browser go to a process, and what of them. */
#include "tool/relay_head.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static relay_request got;
static const relay_tokens open_ = {.ours = "abc123", .theirs = ""}, closed = {.ours = "abc123", .theirs = "their-own"};

#define HOST "Host: 127.0.0.1:4000\r\n"
#define TOKEN "Authorization: Bearer abc123\r\n"

static relay_verdict read_text(const char *text, const relay_tokens *tokens)
{
    memset(&got, 0, sizeof got);
    return relay_read(text, strlen(text), tokens, &got);
}

static bool goes_as(const char *text, const relay_tokens *tokens, const char *forwarded)
{
    bool same = read_text(text, tokens) == RELAY_GOES && got.length == strlen(forwarded) &&
                memcmp(got.bytes, forwarded, got.length) == 0;
    if (!same) printf("%.*s(%u %s)\n", (int)got.length, got.bytes, got.code, got.text ? got.text : "");
    return same;
}

static unsigned refusal(const char *text)
{
    return read_text(text, &open_) == RELAY_REFUSED ? got.code : 0;
}

TEST(a_request_with_the_token_goes_on_without_it)
{
    expect(goes_as(
        "GET /api/components?parts=1 HTTP/1.1\r\n" HOST "accept:  */*  \r\n" TOKEN
        "Connection: keep-alive\r\nCookie: a=b\r\n\r\n",
        &open_,
        "GET /api/components?parts=1 HTTP/1.1\r\nHost: 127.0.0.1:4000\r\naccept: */*\r\nConnection: close\r\n\r\n"));
    expect(goes_as("GET /metrics HTTP/1.1\r\n" HOST TOKEN "\r\n", &closed,
                   "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:4000\r\nAuthorization: Bearer their-own\r\nConnection: "
                   "close\r\n\r\n"));
}

TEST(only_the_files_of_the_page_are_free_and_take_no_query_along)
{
    expect(goes_as("GET /?token=abc123 HTTP/1.1\r\n" HOST "\r\n", &open_,
                   "GET / HTTP/1.1\r\nHost: 127.0.0.1:4000\r\nConnection: close\r\n\r\n"));
    expect_equal(read_text("GET /main.js HTTP/1.1\r\n" HOST "\r\n", &open_), RELAY_GOES);
    static const char *const paths[] = {
        "/metrics",  "/api/process", "/api",           "/%61pi/process", "//api/process", "/x.js/../api/process",
        "/api/x.js", "/%6detrics",   "/metrics.js%00", "/other"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char text[200];
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" HOST "\r\n", paths[i]);
        expect_equal(refusal(text), 401);
    }
}

TEST(a_token_that_is_nearly_right_is_wrong)
{
    static const char *const headers[] = {"Authorization: Bearer abc12", "Authorization: Bearer abc1234",
                                          "Authorization: Bearer ",      "Authorization: Basic abc123",
                                          "Authorization: abc123",       "X: Bearer abc123"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        char text[200];
        snprintf(text, sizeof text, "GET /metrics HTTP/1.1\r\n" HOST "%s\r\n\r\n", headers[i]);
        expect_equal(refusal(text), 401);
    }
    /* addresses are kept and shown, headers are not */
    expect_equal(refusal("GET /metrics?token=abc123 HTTP/1.1\r\n" HOST "\r\n"), 401);
}

TEST(a_name_of_another_site_is_refused)
{
    expect_equal(refusal("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 403);
    expect_equal(refusal("GET / HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n"), 403);
    expect_equal(refusal("GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n"), 403);
    expect_equal(refusal("GET / HTTP/1.1\r\n\r\n"), 400);
    expect_equal(refusal("GET / HTTP/1.1\r\n" HOST HOST "\r\n"), 400);
    expect_equal(read_text("GET / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n", &open_), RELAY_GOES);
}

TEST(a_body_comes_whole_and_plainly)
{
    const char *post = "POST /api/components/1/invoke HTTP/1.1\r\n" HOST TOKEN "Content-Length: 4\r\n\r\n";
    char text[300];
    expect_equal(read_text(post, &open_), RELAY_MORE);
    snprintf(text, sizeof text, "%sabcdGET / HTTP/1.1", post); /* what follows goes nowhere */
    expect_equal(read_text(text, &open_), RELAY_GOES);
    expect(got.length > 4 && memcmp(got.bytes + got.length - 8, "\r\n\r\nabcd", 8) == 0);
    expect_equal(refusal("POST /api HTTP/1.1\r\n" HOST TOKEN "Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd"),
                 400);
    expect_equal(refusal("POST /api HTTP/1.1\r\n" HOST TOKEN "Content-Length: +4\r\n\r\nabcd"), 400);
    expect_equal(refusal("POST /api HTTP/1.1\r\n" HOST TOKEN "Content-Length: 4097\r\n\r\n"), 413);
    expect_equal(refusal("POST /api HTTP/1.1\r\n" HOST TOKEN "Transfer-Encoding: chunked\r\n\r\n"), 411);
}

TEST(what_is_no_request_is_refused)
{
    expect_equal(read_text("GET / HTTP/1.1\r\nHost: 127", &open_), RELAY_MORE);
    expect_equal(refusal("PUT / HTTP/1.1\r\n" HOST "\r\n"), 405);
    expect_equal(refusal("GET http://127.0.0.1/ HTTP/1.1\r\n" HOST "\r\n"), 400);
    expect_equal(refusal("GET / HTTP/2\r\n" HOST "\r\n"), 400);
    expect_equal(refusal("GET /x\r\n" HOST "\r\n"), 400);
    expect_equal(refusal("GET /\nX HTTP/1.1\r\n" HOST "\r\n"), 400);
    expect_equal(refusal("GET / HTTP/1.1\r\n" HOST "X: a\nb\r\n\r\n"), 400);
    expect_equal(refusal("GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n"), 400);
    expect_equal(refusal("GET / HTTP/1.1\r\n" HOST "no colon\r\n\r\n"), 400);
    static const char zero[] = "GET / HTTP/1.1\r\n" HOST "X: a\0b\r\n\r\n";
    expect_equal(relay_read(zero, sizeof zero - 1, &open_, &got), RELAY_REFUSED);
    expect_equal(got.code, 400);
}

TEST(a_head_that_is_too_long_is_refused_and_none_overruns_its_room)
{
    size_t size = RELAY_HEAD_MOST + RELAY_BODY_MOST;
    char *text = malloc(size + 1);
    expect(text != NULL);
    memset(text, 'a', size);
    text[size] = 0;
    expect_equal(relay_read(text, RELAY_HEAD_MOST, &open_, &got), RELAY_MORE);
    expect_equal(relay_read(text, RELAY_HEAD_MOST + 1, &open_, &got), RELAY_REFUSED);
    expect_equal(got.code, 431);
    static const char begin[] = "POST /api HTTP/1.1\r\n" HOST TOKEN "Content-Length: 4096\r\n";
    size_t at = sizeof begin - 1;
    memcpy(text, begin, at);
    for (; at + 5 <= RELAY_HEAD_MOST - 4; at += 5) memcpy(text + at, "a:b\r\n", 5); /* each grows by a space */
    memcpy(text + at, "\r\n", 2);
    expect_equal(relay_read(text, at + 2 + 4096, &open_, &got), RELAY_GOES);
    expect(got.length <= sizeof got.bytes);
    free(text);
}
