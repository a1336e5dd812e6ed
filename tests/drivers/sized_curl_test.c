/* SPDX-License-Identifier: MIT */
/* The ABI rule of cenote/sized.h for every struct of libcenote-curl. */
#include <cenote/cenote.h>
#include <cenote/curl.h>
#include <cenote/http.h>

#include "drivers/waits.h"
#include "support/sized.h"
#include "support/test.h"

static waits server;
static cen_http *http;

static const char *url(void)
{
    static char text[64];
    snprintf(text, sizeof text, "http://127.0.0.1:%u", server.port);
    return text;
}

static cen_http *client(void)
{
    cen_http *one = NULL;
    cen_http_options options = CEN_HTTP_OPTIONS(.url = url(), .loops = 1);
    expect_equal(cen_http_new(&options, &one, NULL), CEN_OK);
    return one;
}

static void fill_curl(void *full)
{
    ((cen_curl_options *)full)->url = "http://127.0.0.1";
}

static cen_status call_curl(void *given)
{
    cen_pool *pool = NULL;
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_curl_with(given));
    cen_status status = cen_pool_new(&options, &pool, NULL);
    expect_equal(cen_pool_free(pool), CEN_OK);
    return status;
}

static void fill_http(void *full)
{
    ((cen_http_options *)full)->url = url();
    ((cen_http_options *)full)->loops = 1;
}

static cen_status call_http(void *given)
{
    cen_http *one = NULL;
    cen_status status = cen_http_new(given, &one, NULL);
    expect_equal(cen_http_free(one), CEN_OK);
    return status;
}

static cen_status call_site(void *given)
{
    cen_http_options options = CEN_HTTP_OPTIONS(.url = url(), .loops = 1, .site = given, .starts_empty = true);
    return call_http(&options);
}

static void fill_request(void *full)
{
    ((cen_http_request *)full)->path = "/";
}

static cen_status call_fetch(void *given)
{
    cen_http_reply *reply = NULL;
    cen_status status = cen_http_fetch(http, given, &reply, NULL);
    cen_http_reply_free(reply);
    return status;
}

static cen_status call_look(void *given)
{
    return cen_http_stats_get(http, given);
}

static cen_status call_close(void *given)
{
    cen_http_options options = CEN_HTTP_OPTIONS(.url = url(), .loops = 1, .starts_empty = true);
    cen_http *one = NULL;
    expect_equal(cen_http_new(&options, &one, NULL), CEN_OK);
    cen_status status = cen_http_close(one, cen_in_s(30), given, NULL);
    expect_equal(cen_http_free(one), CEN_OK);
    return status;
}

/* guarantees: sized.every-size */
TEST(structs_of_every_size_are_accepted)
{
    static const sized_case cases[] = {
        SIZED_INPUT(cen_curl_options, url, fill_curl, call_curl),
        SIZED_INPUT(cen_curl_options, size, NULL, call_site),
        SIZED_INPUT(cen_http_options, url, fill_http, call_http),
        SIZED_INPUT(cen_http_request, path, fill_request, call_fetch),
        SIZED_OUTPUT(cen_http_stats, call_look),
        SIZED_OUTPUT(cen_http_report, call_close),
    };
    server = waits_start(0, NULL);
    http = client();
    SIZED_TRY(cases);
    expect_equal(cen_http_free(http), CEN_OK);
    waits_stop(&server);
}
