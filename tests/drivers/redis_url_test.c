/* SPDX-License-Identifier: MIT */
/* Addresses and options, in tables. No server is asked. */
#include <string.h>

#include <cenote/cenote.h>

#include "redis/redis.h"
#include "support/test.h"

struct url {
    const char *text;
    const char *user, *password, *host, *path;
    int port, database;
};

static const struct url good[] = {
    {"redis://localhost", NULL, NULL, "localhost", NULL, 6379, 0},
    {"REDIS://localhost", NULL, NULL, "localhost", NULL, 6379, 0},
    {"redis://localhost/", NULL, NULL, "localhost", NULL, 6379, 0},
    {"redis://10.0.0.7:7000/12", NULL, NULL, "10.0.0.7", NULL, 7000, 12},
    {"redis://ann@host", "ann", NULL, "host", NULL, 6379, 0},
    {"redis://ann:word@host:1/3", "ann", "word", "host", NULL, 1, 3},
    {"redis://:word@host", NULL, "word", "host", NULL, 6379, 0},
    {"redis://ann:@host", "ann", NULL, "host", NULL, 6379, 0},
    {"redis://@host", NULL, NULL, "host", NULL, 6379, 0},
    {"redis://a%6En:w%2Fo%40r%3ad%25@h%6fst", "ann", "w/o@r:d%", "host", NULL, 6379, 0},
    {"redis://ann:w@rd:d@host", "ann", "w@rd:d", "host", NULL, 6379, 0},
    {"redis://[::1]", NULL, NULL, "::1", NULL, 6379, 0},
    {"redis://[::1]:65535/2147483647", NULL, NULL, "::1", NULL, 65535, 2147483647},
    {"redis://ann:word@[fe80::1%25eth0]:2", "ann", "word", "fe80::1%eth0", NULL, 2, 0},
    {"unix:///run/redis.sock", NULL, NULL, NULL, "/run/redis.sock", 6379, 0},
    {"unix:///run/a%20b.sock?db=4", NULL, NULL, NULL, "/run/a b.sock", 6379, 4},
    {"unix://ann:word@/run/redis.sock", "ann", "word", NULL, "/run/redis.sock", 6379, 0},
    {"unix://:word@/run/a@b", NULL, "word", NULL, "/run/a@b", 6379, 0},
};

static void expect_same(const char *what, const char *actual, const char *expected, const char *text)
{
    if (!actual != !expected || (actual && strcmp(actual, expected) != 0))
        test_fail(__FILE__, __LINE__, "%s: %s is %s, expected %s", text, what, actual ? actual : "none",
                  expected ? expected : "none");
}

TEST(addresses_are_taken_apart)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        ceni_redis_url url;
        cen_error error = {.text = ""};
        if (ceni_redis_url_parse(good[i].text, &url, &error) != CEN_OK)
            test_fail(__FILE__, __LINE__, "%s: %s", good[i].text, error.text);
        expect_same("user", url.user, good[i].user, good[i].text);
        expect_same("password", url.password, good[i].password, good[i].text);
        expect_same("host", url.host, good[i].host, good[i].text);
        expect_same("path", url.path, good[i].path, good[i].text);
        expect_equal(url.port, good[i].port);
        expect_equal(url.database, good[i].database);
        ceni_redis_url_fini(&url);
    }
}

static const struct {
    const char *text, *says;
} bad[] = {
    {"", "redis://"},
    {"localhost:6379", "redis://"},
    {"http://host", "redis://"},
    {"rediss://ann:sesame@host", "TLS"},
    {"redis://", "url: no host"},
    {"redis://ann:sesame@", "url: no host"},
    {"redis://ann:sesame@:6379", "url: no host"},
    {"redis://[]:1", "url: no host"},
    {"redis://host:", "port"},
    {"redis://host:0", "port"},
    {"redis://host:65536", "port"},
    {"redis://host:+1", "port"},
    {"redis://host:6379x", "port"},
    {"redis://host:99999999999999999999", "port"},
    {"redis://[::1", "bracket"},
    {"redis://[::1]x", "bracket"},
    {"redis://host/-1", "database"},
    {"redis://host/1x", "database"},
    {"redis://host/2147483648", "database"},
    {"redis://ann:sesame/x@host", "%2F"},
    {"redis://host?db=1", "%3F"},
    {"redis://host#1", "%23"},
    {"redis://ann:sesame%@host", "hexadecimal"},
    {"redis://ann:sesame%4@host", "hexadecimal"},
    {"redis://ann:sesame%zz@host", "hexadecimal"},
    {"redis://ann:sesame%00@host", "hexadecimal"},
    {"redis://%00", "hexadecimal"},
    {"unix://", "path"},
    {"unix://host", "path"},
    {"unix://host/path", "allows no host"},
    {"unix:///path?", "db="},
    {"unix:///path?db=", "db="},
    {"unix:///path?db=x", "db="},
    {"unix:///path?database=1", "db="},
};

TEST(what_is_no_address_is_refused_in_a_sentence_that_does_not_repeat_it)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cen_pool *pool = NULL;
        cen_error error = {.text = ""};
        cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_redis(bad[i].text));
        cen_status status = cen_pool_new(&options, &pool, &error);
        if (status != CEN_INVALID) test_fail(__FILE__, __LINE__, "%s: %s", bad[i].text, cen_status_name(status));
        if (!strstr(error.text, bad[i].says))
            test_fail(__FILE__, __LINE__, "%s: \"%s\" does not say \"%s\"", bad[i].text, error.text, bad[i].says);
        if (strstr(error.text, "sesame")) test_fail(__FILE__, __LINE__, "\"%s\" tells the password", error.text);
    }
}

static void expect_refused(const cen_redis_options *given, const char *says)
{
    cen_pool *pool = NULL;
    cen_error error = {.text = ""};
    cen_pool_options options = CEN_POOL_OPTIONS(.driver = cen_redis_with(given));
    expect_equal(cen_pool_new(&options, &pool, &error), CEN_INVALID);
    if (!strstr(error.text, says)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, says);
}

TEST(options_that_make_no_sense_are_refused_by_name)
{
    expect_refused(&(cen_redis_options){.size = 0}, "size");
    expect_refused(NULL, "size");
    expect_refused(&CEN_REDIS_OPTIONS(.role = (cen_redis_role)3), "role");
    expect_refused(&CEN_REDIS_OPTIONS(.reset = (cen_redis_reset_policy)9), "reset");
    expect_refused(&CEN_REDIS_OPTIONS(.connect_timeout_ns = -2), "timeout");
    expect_refused(&CEN_REDIS_OPTIONS(.reset_timeout_ns = -2), "timeout");
    expect_refused(&CEN_REDIS_OPTIONS(.name = "two words"), "name");
    expect_refused(&CEN_REDIS_OPTIONS(.name = "a\nb"), "name");
}

TEST(addresses_and_options_need_not_live_longer_than_new)
{
    char url[] = "redis://ann:sesame@127.0.0.1:1/2", name[] = "name";
    cen_redis_options given = CEN_REDIS_OPTIONS(.url = url, .name = name);
    cen_pool *pool = NULL;
    cen_lease lease;
    cen_error error = {.text = ""};
    cen_pool_options options =
        CEN_POOL_OPTIONS(.driver = cen_redis_with(&given), .breaker_failures = 1, .breaker_wait_ns = CEN_OFF);
    expect_equal(cen_pool_new(&options, &pool, &error), CEN_OK);
    memset(url, 'x', sizeof url);
    memset(name, 'x', sizeof name);
    memset(&given, 0xff, sizeof given);
    expect_equal(cen_pool_take(pool, cen_in_s(10), &lease, &error), CEN_DOWN);
    expect(strstr(error.text, "127.0.0.1:1, database 2, user \"ann\"") != NULL);
    expect_equal(cen_pool_free(pool), CEN_OK);
}

/* ---- Commands as bytes -------------------------------------------------------------------------------------- */

static ceni_redis_effect effect_of(const char *bytes)
{
    return ceni_redis_effect_of(bytes, strlen(bytes), 5);
}

TEST(a_command_in_resp_is_known_by_its_words)
{
    expect_equal(effect_of("*1\r\n$5\r\nMULTI\r\n"), CENI_REDIS_MULTI);
    expect_equal(effect_of("*1\r\n$5\r\nmUlTi\r\n"), CENI_REDIS_MULTI);
    expect_equal(effect_of("*1\r\n$6\r\nMULTIX\r\n"), CENI_REDIS_NONE);
    expect_equal(effect_of("*1\r\n$4\r\nMULT\r\n"), CENI_REDIS_NONE);
    expect_equal(effect_of("*2\r\n$3\r\nGET\r\n$5\r\nMULTI\r\n"), CENI_REDIS_NONE);
    expect_equal(effect_of("*2\r\n$6\r\nSELECT\r\n$1\r\n5\r\n"), CENI_REDIS_SELECT_OWN);
    expect_equal(effect_of("*2\r\n$6\r\nSELECT\r\n$1\r\n6\r\n"), CENI_REDIS_SELECT);
    expect_equal(effect_of("*2\r\n$6\r\nSELECT\r\n$2\r\n-5\r\n"), CENI_REDIS_SELECT);
    expect_equal(effect_of("*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$3\r\nOFF\r\n"), CENI_REDIS_SILENCE);
    expect_equal(effect_of("*3\r\n$6\r\nCLIENT\r\n$5\r\nreply\r\n$2\r\non\r\n"), CENI_REDIS_SETTING);
    expect_equal(effect_of("*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n"), CENI_REDIS_NONE);
    expect_equal(effect_of("*2\r\n$6\r\nCLIENT\r\n$6\r\nFUTURE\r\n"), CENI_REDIS_END);
    expect_equal(effect_of("*1\r\n$6\r\nCLIENT\r\n"), CENI_REDIS_END);
    expect_equal(ceni_redis_effect_of("*1\r\n$9\r\nMULTI\0\0\0\0\r\n", 19, 5), CENI_REDIS_NONE);
    expect_equal(effect_of("*1\r\n$18446744073709551615\r\nMULTI\r\n"), CENI_REDIS_NONE);
    expect_equal(effect_of(""), CENI_REDIS_NONE);
    expect_equal(effect_of("*1\r\n"), CENI_REDIS_NONE);
    expect_equal(effect_of("*1\r\n$5"), CENI_REDIS_NONE);
    expect_equal(effect_of("*1\r\n$5\r\nMUL"), CENI_REDIS_NONE);
}

TEST(the_driver_says_what_its_objects_belong_to_in_every_form)
{
    cen_redis_options options = {.size = sizeof options};
    expect_text(cen_redis("redis://somewhere").calls->system, "redis");
    expect_text(cen_redis_with(&options).calls->system, "redis");
}
