/* SPDX-License-Identifier: MIT */
/* What a URL says, and what is said of one that cannot be read: by the driver's prepare, without any server. */
#include "mariadb/internal.h"
#include "support/test.h"

static cen_status parse(const char *url, ceni_mariadb_server **out, cen_error *error)
{
    cen_mariadb_options options = CEN_MARIADB_OPTIONS(.url = url);
    *error = (cen_error){.text = ""};
    return ceni_mariadb_server_new(&options, out, error);
}

static ceni_mariadb_server *good(const char *url)
{
    ceni_mariadb_server *server = NULL;
    cen_error error;
    if (parse(url, &server, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s: %s", url, error.text);
    return server;
}

static void expect_refused(const char *url, const char *words)
{
    ceni_mariadb_server *server = NULL;
    cen_error error;
    expect_equal(parse(url, &server, &error), CEN_INVALID);
    if (!strstr(error.text, words)) test_fail(__FILE__, __LINE__, "%s: \"%s\" has no \"%s\"", url, error.text, words);
    if (strstr(error.text, "secret")) test_fail(__FILE__, __LINE__, "\"%s\" tells the password", error.text);
}

TEST(all_parts_are_read_and_decoded)
{
    ceni_mariadb_server *server =
        good("mariadb://an%6e:se%2Fcr%40et@db.example:3307/sh%20op?connect_timeout=0.25&charset=latin1&role=replica&"
             "statements=7&tls=verify&tls_ca=%2Fetc%2Fca.pem&reset=all&local_infile=on&read_timeout=10");
    expect_text(server->user, "ann");
    expect_text(server->password, "se/cr@et");
    expect_text(server->host, "db.example");
    expect_equal(server->port, 3307);
    expect_text(server->database, "sh op");
    expect_equal(server->options.connect_timeout_ns, 250000000);
    expect_equal(server->options.read_timeout_ns, 10000000000);
    expect_text(server->options.charset, "latin1");
    expect_equal(server->options.role, CEN_MARIADB_REPLICA);
    expect_equal(server->options.reset, CEN_MARIADB_RESET_ALL);
    expect_equal(server->options.statements, 7);
    expect_equal(server->options.tls, CEN_MARIADB_TLS_VERIFY);
    expect_text(server->options.tls_ca, "/etc/ca.pem");
    expect(server->options.local_infile);
    expect_text(server->address, "db.example:3307");
    ceni_mariadb_server_drop(server);
}

TEST(what_is_left_out_has_its_default)
{
    ceni_mariadb_server *server = good("mysql://");
    expect_text(server->host, "localhost");
    expect_equal(server->port, 3306);
    expect(!server->user && !server->password && !server->database && !server->socket);
    expect_equal(server->options.connect_timeout_ns, 5000000000);
    expect_equal(server->options.test_timeout_ns, 2000000000);
    expect_equal(server->options.reset_timeout_ns, 2000000000);
    expect_text(server->options.charset, "utf8mb4");
    expect(!server->options.local_infile);
    ceni_mariadb_server_drop(server);
    server = good("mariadb://ann@/shop");
    expect_text(server->user, "ann");
    expect_text(server->database, "shop");
    ceni_mariadb_server_drop(server);
    server = good("mariadb://db?charset=utf8");
    expect_text(server->host, "db");
    expect(!server->database);
    ceni_mariadb_server_drop(server);
}

TEST(a_socket_is_a_host_with_a_slash_or_a_parameter)
{
    ceni_mariadb_server *server = good("mariadb://ann@%2Frun%2Fmysqld.sock/shop");
    expect_text(server->socket, "/run/mysqld.sock");
    expect(!server->host);
    expect_text(server->address, "/run/mysqld.sock");
    ceni_mariadb_server_drop(server);
    server = good("mariadb://ann@localhost/shop?socket=/run/mysqld.sock");
    expect_text(server->socket, "/run/mysqld.sock");
    expect(!server->starts_with_a_job);
    ceni_mariadb_server_drop(server);
}

TEST(addresses_are_told_from_names)
{
    static const struct {
        const char *url, *host, *address;
        bool blocks;
    } cases[] = {{"mariadb://[::1]:3310/x", "::1", "[::1]:3310", false},
                 {"mariadb://[fe80::1]", "fe80::1", "[fe80::1]:3306", false},
                 {"mariadb://127.0.0.1/x", "127.0.0.1", "127.0.0.1:3306", false},
                 {"mariadb://db.example/x", "db.example", "db.example:3306", true},
                 {"mariadb://127.0.0.1/x?tls=on", "127.0.0.1", "127.0.0.1:3306", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ceni_mariadb_server *server = good(cases[i].url);
        expect_text(server->host, cases[i].host);
        expect_text(server->address, cases[i].address);
        expect_equal(server->starts_with_a_job, cases[i].blocks);
        ceni_mariadb_server_drop(server);
    }
}

TEST(a_password_may_have_signs_that_should_have_been_encoded)
{
    ceni_mariadb_server *server = good("mariadb://ann:p@ss:w0rd@db/shop");
    expect_text(server->user, "ann");
    expect_text(server->password, "p@ss:w0rd");
    expect_text(server->host, "db");
    ceni_mariadb_server_drop(server);
}

TEST(what_cannot_be_read_is_named_without_the_password)
{
    expect_refused("mariadb://ann:12/secret@db/shop", "%2F");
    expect_refused("postgresql://ann:secret@db", "mariadb://");
    expect_refused("mariadb://ann:secret%4@db", "password");
    expect_refused("mariadb://ann:x/secret@db/shop", "%2F");
    expect_refused("mariadb://ann:x?secret@db/shop", "%3F");
    expect_refused("mariadb://ann:12/secret@db", "%2F");
    expect_refused("mariadb://ann:secret%00@db", "password");
    expect_refused("mariadb://a%zz:secret@db", "user");
    expect_refused("mariadb://ann:secret@db:70000", "port");
    expect_refused("mariadb://ann:secret@db:33x", "port");
    expect_refused("mariadb://ann:secret@[::1/x", "]");
    expect_refused("mariadb://ann:secret@[::1]x/x", "host");
    expect_refused("mariadb://ann:secret@db/x?colour=red", "colour");
    expect_refused("mariadb://ann:secret@db/x?role", "role");
    expect_refused("mariadb://ann:secret@db/x?role=king", "king");
    expect_refused("mariadb://ann:secret@db/x?connect_timeout=soon", "connect_timeout");
    expect_refused("mariadb://ann:secret@db/x?connect_timeout=1.2.3", "connect_timeout");
    expect_refused("mariadb://ann:secret@db/x?connect_timeout=99999999999999999999", "connect_timeout");
    expect_refused("mariadb://ann:secret@db/x?statements=1.5", "statements");
    expect_refused("mariadb://ann:secret@db/x?=1", "");
}

TEST(the_programs_own_options_come_first)
{
    ceni_mariadb_server *server = NULL;
    cen_error error;
    char setup[] = "set @a = 1";
    cen_mariadb_options options =
        CEN_MARIADB_OPTIONS(.url = "mariadb://db/x?role=replica&connect_timeout=9&charset=latin1", .setup = setup,
                            .role = CEN_MARIADB_PRIMARY, .connect_timeout_ns = CEN_SECONDS(5), .charset = "utf8");
    expect_equal(ceni_mariadb_server_new(&options, &server, &error), CEN_OK);
    memset(setup, 'x', sizeof setup - 1);
    expect_equal(server->options.role, CEN_MARIADB_PRIMARY);
    expect_equal(server->options.connect_timeout_ns, CEN_SECONDS(5));
    expect_text(server->options.charset, "utf8");
    expect_text(server->options.setup, "set @a = 1");
    ceni_mariadb_server_drop(server);
}

TEST(options_that_are_wrong_are_named)
{
    ceni_mariadb_server *server = NULL;
    cen_error error;
    expect_equal(ceni_mariadb_server_new(NULL, &server, &error), CEN_INVALID);
    expect_equal(ceni_mariadb_server_new(&(cen_mariadb_options){.size = 1}, &server, &error), CEN_INVALID);
    expect(strstr(error.text, "size"));
    expect_equal(ceni_mariadb_server_new(&CEN_MARIADB_OPTIONS(.url = NULL), &server, &error), CEN_INVALID);
    expect(strstr(error.text, "url"));
    expect_equal(
        ceni_mariadb_server_new(&CEN_MARIADB_OPTIONS(.url = "mariadb://", .test_timeout_ns = 30), &server, &error),
        CEN_INVALID);
    expect(strstr(error.text, "test_timeout_ns must be at least 100,000 ns (got 30 ns)"));
    expect_equal(
        ceni_mariadb_server_new(&CEN_MARIADB_OPTIONS(.url = "mariadb://", .test_timeout_ns = -3), &server, &error),
        CEN_INVALID);
    expect(strstr(error.text, "test_timeout_ns"));
    expect_equal(ceni_mariadb_server_new(&CEN_MARIADB_OPTIONS(.url = "mariadb://", .tls = 9), &server, &error),
                 CEN_INVALID);
    expect(strstr(error.text, "tls"));
    expect(!server);
}

/* Every text that is cut short, and every one in which a byte is another, is read or refused, and nothing is lost or overrun. */
TEST(no_damaged_url_does_harm)
{
    const char *whole =
        "mariadb://an%6e:se%2Fcr@[::1]:3307/sh%20op?connect_timeout=0.25&charset=latin1&role=replica&tls_ca=%2Fx";
    uint64_t random = test_seed();
    char text[160];
    int refused = 0;
    for (int i = 0; i < 20000; i++) {
        ceni_mariadb_server *server = NULL;
        cen_error error;
        size_t length = strlen(whole);
        snprintf(text, sizeof text, "%s", whole);
        for (int k = 0; k < 3; k++) text[test_random(&random) % length] = "%:/@?&=[]0aZ\x80"[test_random(&random) % 13];
        text[test_random(&random) % (length + 1)] = i % 2 ? 0 : 'q';
        text[length] = 0;
        if (parse(text, &server, &error) == CEN_OK) ceni_mariadb_server_drop(server);
        else refused++;
    }
    expect(refused > 1000 && refused < 20000);
}

TEST(the_driver_says_what_its_objects_belong_to_in_every_form)
{
    cen_mariadb_options options = {.size = sizeof options};
    expect_text(cen_mariadb("mariadb://somewhere").calls->system, "mariadb");
    expect_text(cen_mariadb_with(&options).calls->system, "mariadb");
}
