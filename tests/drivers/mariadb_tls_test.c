/* SPDX-License-Identifier: MIT */
/* Encrypted connections, to a server whose certificate is made for the occasion. */
#include <sys/stat.h>

#include "drivers/mariadb_server.h"

/* libcrypto is not built for ThreadSanitizer, which sees its locks but not all that they order: the end of a helper thread and
 * the library's own end, in exit, look like a race. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:libcrypto.so\n";
}

static char place[64];

void test_program_begin(void)
{
    char command[1200], certificate[100], key[100], authority[100];
    snprintf(place, sizeof place, "/tmp/cenote-mariadb-tls-XXXXXX");
    expect(mkdtemp(place) != NULL && chmod(place, 0755) == 0);
    snprintf(command, sizeof command,
             "cd %s && { for who in good other; do"
             "   openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=$who-authority -keyout $who-ca.key -out "
             "$who-ca.pem; done"
             " && openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key -out server.csr"
             " && echo subjectAltName=DNS:localhost > names"
             " && openssl x509 -req -in server.csr -CA good-ca.pem -CAkey good-ca.key -CAcreateserial -days 2 -extfile "
             "names -out server.pem"
             " && chmod 644 server.key; } > log 2>&1 || { cat log; exit 1; }",
             place);
    if (system(command) != 0) test_fail(__FILE__, __LINE__, "openssl has made no certificate");
    snprintf(certificate, sizeof certificate, "ssl_cert=%s/server.pem", place);
    snprintf(key, sizeof key, "ssl_key=%s/server.key", place);
    snprintf(authority, sizeof authority, "ssl_ca=%s/good-ca.pem", place);
    mariadb = server_start(SERVER_MARIADB, (const char *const[]){certificate, key, authority, NULL});
}

void test_program_end(void)
{
    char command[100];
    server_stop(mariadb);
    snprintf(command, sizeof command, "rm -r %s", place);
    expect(system(command) == 0);
}

static const char *url_with(const char *host, const char *parameters)
{
    static char url[300];
    snprintf(url, sizeof url, "mariadb://tester:secret@%s:%u/test?%s", host, server_port(mariadb), parameters);
    return url;
}

/* The cipher in use, "" if there is none. */
static void cipher_of(MYSQL *mysql, char *out, size_t room)
{
    expect(mysql_query(mysql, "show session status like 'Ssl_cipher'") == 0);
    MYSQL_RES *result = mysql_store_result(mysql);
    snprintf(out, room, "%s", mysql_fetch_row(result)[1]);
    mysql_free_result(result);
}

static cen_poller *new_poller(void)
{
    cen_poller *poller = NULL;
    expect_equal(cen_poller_new(&CEN_POLLER_OPTIONS(.name = "tls"), &poller, NULL), CEN_OK);
    return poller;
}

static void expect_encrypted(const char *url, bool encrypted)
{
    for (int i = 0; i < 2; i++) {
        cen_poller *poller = i ? new_poller() : NULL;
        cen_pool *pool = pool_with(2, .url = url, .poller = poller);
        cen_lease lease = take(pool);
        char cipher[100];
        cipher_of(lease.object, cipher, sizeof cipher);
        expect_equal(cipher[0] != 0, encrypted);
        run(lease.object, "set @a = 1");
        cen_pool_give(&lease);
        lease = take(pool);
        cen_pool_give(&lease);
        end_pool(pool);
        expect_soon(connections() == 0);
        expect_equal(cen_poller_free(poller), CEN_OK);
    }
}

TEST(on_means_encrypted_and_off_means_plain)
{
    expect_encrypted(url_with("127.0.0.1", "tls=on"), true);
    expect_encrypted(url_with("127.0.0.1", "tls=off"), false);
}

TEST(a_certificate_of_the_right_authority_and_name_is_accepted)
{
    char parameters[200];
    snprintf(parameters, sizeof parameters, "tls=verify&tls_ca=%s/good-ca.pem", place);
    expect_encrypted(url_with("localhost", parameters), true);
}

TEST(one_of_another_authority_is_refused)
{
    char parameters[200];
    snprintf(parameters, sizeof parameters, "tls=verify&tls_ca=%s/other-ca.pem", place);
    for (int i = 0; i < 2; i++) {
        cen_poller *poller = i ? new_poller() : NULL;
        cen_pool *pool = pool_with(1, .url = url_with("localhost", parameters), .poller = poller);
        cen_lease lease;
        cen_error error = {.text = ""};
        expect_equal(cen_pool_take(pool, cen_in_s(5), &lease, &error), CEN_DRIVER);
        printf("     %s\n", error.text);
        expect_equal(error.code, CR_SSL_CONNECTION_ERROR);
        expect_words(error, "TLS connection failed");
        end_pool(pool);
        expect_equal(cen_poller_free(poller), CEN_OK);
    }
}

TEST(an_encrypted_holder_is_interrupted_too)
{
    cen_pool *pool = pool_of(cen_mariadb(url_with("127.0.0.1", "tls=on")), 1);
    cen_lease lease = take(pool);
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    cen_pool_options_get(pool, &options);
    options.max_hold_ns = 100000000;
    expect_equal(cen_pool_options_set(pool, &options, NULL), CEN_OK);
    expect(hang(lease.object));
    expect_equal(mysql_errno(lease.object), ER_QUERY_INTERRUPTED);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    end_pool(pool);
}
