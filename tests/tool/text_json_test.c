/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/test.h"
#include "tool/text_json.h"

static void expect_kept(const char *from, const char *kept)
{
    json_t *value = text_as_json(from);
    expect(value && json_is_string(value));
    if (strcmp(json_string_value(value), kept) != 0)
        test_fail(__FILE__, __LINE__, "\"%s\" is kept as \"%s\", expected \"%s\"", from, json_string_value(value),
                  kept);
    json_decref(value);
}

TEST(what_is_utf8_is_kept_as_it_is)
{
    expect_kept("", "");
    expect_kept("select 'ünïcödé – 水'", "select 'ünïcödé – 水'");
    expect_kept("\xf0\x9f\x8c\x8a", "\xf0\x9f\x8c\x8a");
}

TEST(each_byte_that_is_none_becomes_a_sign_and_costs_nothing_else)
{
    expect_kept("caf\xe9 ferm\xe9", "caf\xef\xbf\xbd ferm\xef\xbf\xbd");
    expect_kept("\xff", "\xef\xbf\xbd");
    expect_kept("水\xe6\xb0", "水\xef\xbf\xbd\xef\xbf\xbd"); /* cut in the middle of a letter */
    expect_kept("\xc0\xaf/", "\xef\xbf\xbd\xef\xbf\xbd/");   /* longer than need be */
    expect_kept("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(no_text_is_null)
{
    json_t *value = text_as_json(NULL);
    expect(json_is_null(value));
    json_decref(value);
}
