/* SPDX-License-Identifier: MIT */
#include <netinet/in.h>

#include "net/socket.h"
#include "support/test.h"

static cen_error error;

static cen_status parse(const char *text, bool listens, ceni_address *out)
{
    error = (cen_error){.text = ""};
    return ceni_address_parse(out, text, listens, "who", &error);
}

TEST(a_host_and_a_port_are_told_apart)
{
    ceni_address a;
    expect_equal(parse("db.example:5432", false, &a), CEN_OK);
    expect_text(a.host, "db.example");
    expect_text(a.port, "5432");
    expect(!a.is_path);
    expect_text(a.text, "db.example:5432");
}

TEST(an_ipv6_address_is_in_brackets)
{
    ceni_address a;
    expect_equal(parse("[::1]:80", false, &a), CEN_OK);
    expect_text(a.host, "::1");
    expect_equal(parse("::1:80", false, &a), CEN_INVALID);
    expect(strstr(error.text, "brackets") != NULL);
}

TEST(a_path_is_a_unix_socket)
{
    ceni_address a;
    char text[200] = "unix:";
    expect_equal(parse("unix:/run/x.sock", false, &a), CEN_OK);
    expect(a.is_path);
    expect_text(a.host, "/run/x.sock");
    memset(text + 5, 'x', 108);
    expect_equal(parse(text, false, &a), CEN_INVALID);
    text[5 + 107] = 0;
    expect_equal(parse(text, false, &a), CEN_OK);
    expect_equal(parse("unix:", false, &a), CEN_INVALID);
}

TEST(what_is_no_address_is_refused_with_a_sentence_that_names_it)
{
    static const char *const wrong[] = {
        "",        "host",     ":80",       "host:", "host:0", "host:65536", "host:99999999",
        "host:-1", "host:80x", "host:http", "[]:80", "a:b:80"};
    ceni_address a;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char named[64];
        snprintf(named, sizeof named, "who: options.address is \"%s\": ", wrong[i]);
        expect_equal(parse(wrong[i], false, &a), CEN_INVALID);
        expect(strncmp(error.text, named, strlen(named)) == 0);
    }
    expect_equal(parse(NULL, false, &a), CEN_INVALID);
    expect_equal(parse("host:0", true, &a), CEN_OK);
    expect_equal(parse("host:65535", false, &a), CEN_OK);
}

TEST(a_text_that_is_too_long_is_refused_and_cut_in_the_sentence)
{
    ceni_address a;
    char text[2000];
    memset(text, 'h', sizeof text);
    memcpy(text + sizeof text - 4, ":80", 4);
    expect_equal(parse(text, false, &a), CEN_INVALID);
    expect_equal(parse(text + sizeof text - 4 - 253, false, &a), CEN_OK);
    expect_equal(parse(text + sizeof text - 4 - 254, false, &a), CEN_INVALID);
}

TEST(a_number_is_found_without_asking_anybody_and_shown_again)
{
    static const char *const texts[] = {"127.0.0.1:80", "[::1]:8080", "unix:/tmp/x"};
    for (size_t i = 0; i < 3; i++) {
        ceni_address a;
        ceni_endpoints found;
        char shown[CENI_ADDRESS_TEXT];
        expect_equal(parse(texts[i], false, &a), CEN_OK);
        expect_equal(ceni_address_resolve(&a, true, &found, &error), CEN_OK);
        expect_equal(found.count, 1);
        ceni_endpoint_show(&found.each[0], shown);
        expect_text(shown, texts[i]);
    }
}

TEST(a_name_needs_somebody_to_be_asked)
{
    ceni_address a;
    ceni_endpoints found;
    expect_equal(parse("localhost:80", false, &a), CEN_OK);
    expect_equal(ceni_address_resolve(&a, true, &found, &error), CEN_ABSENT);
    expect_equal(ceni_address_resolve(&a, false, &found, &error), CEN_OK);
    expect(found.count >= 1);
}
