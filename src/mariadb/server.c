/* SPDX-License-Identifier: MIT */
/*
 * The server of a pool: options, checked and copied.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "mariadb/internal.h"

enum { DEFAULT_PORT = 3306, DEFAULT_STATEMENTS = 64 };
#define SECONDS(n) ((n)*INT64_C(1000000000))

static cen_status check(const cen_mariadb_options *o, cen_error *error)
{
    const struct {
        const char *name;
        int64_t ns;
    } times[] = {{"connect_timeout_ns", o->connect_timeout_ns}, {"read_timeout_ns", o->read_timeout_ns},
                 {"write_timeout_ns", o->write_timeout_ns},     {"test_timeout_ns", o->test_timeout_ns},
                 {"reset_timeout_ns", o->reset_timeout_ns},     {"cancel_timeout_ns", o->cancel_timeout_ns}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        if (times[i].ns < CEN_OFF)
            return ceni_mariadb_text(error, CEN_INVALID,
                                     "cen_mariadb_options.%s must not be below CEN_OFF (got %" PRId64 ")",
                                     times[i].name, times[i].ns);
        if (cen_time_is_tiny(times[i].ns))
            return ceni_mariadb_text(error, CEN_INVALID, "cen_mariadb_options.%s " CEN_TIME_IS_TINY, times[i].name,
                                     (long long)times[i].ns);
    }
    if (o->statements == CEN_OFF)
        return ceni_mariadb_text(
            error, CEN_INVALID,
            "cen_mariadb_options.statements must not be CEN_OFF (unlimited); use CEN_NONE to keep none");
    if (o->statements < CEN_NONE)
        return ceni_mariadb_text(error, CEN_INVALID,
                                 "cen_mariadb_options.statements must not be below CEN_NONE (got %" PRId32 ")",
                                 o->statements);
    if ((unsigned)o->role > CEN_MARIADB_REPLICA)
        return ceni_mariadb_text(error, CEN_INVALID, "cen_mariadb_options.role is not a cen_mariadb_role (got %d)",
                                 (int)o->role);
    if ((unsigned)o->reset > CEN_MARIADB_RESET_NOTHING)
        return ceni_mariadb_text(error, CEN_INVALID,
                                 "cen_mariadb_options.reset is not a cen_mariadb_reset_policy (got %d)", (int)o->reset);
    if ((unsigned)o->tls > CEN_MARIADB_TLS_VERIFY)
        return ceni_mariadb_text(error, CEN_INVALID, "cen_mariadb_options.tls is not a cen_mariadb_tls (got %d)",
                                 (int)o->tls);
    return CEN_OK;
}

static void fill_in(cen_mariadb_options *o)
{
    if (!o->connect_timeout_ns) o->connect_timeout_ns = SECONDS(5);
    if (!o->test_timeout_ns) o->test_timeout_ns = SECONDS(2);
    if (!o->reset_timeout_ns) o->reset_timeout_ns = SECONDS(2);
    if (!o->cancel_timeout_ns) o->cancel_timeout_ns = SECONDS(2);
    if (!o->statements) o->statements = DEFAULT_STATEMENTS;
    if (!o->charset) o->charset = "utf8mb4";
    bool has_keys = o->tls_ca || o->tls_cert || o->tls_key || o->tls_cipher;
    if (o->tls == CEN_MARIADB_TLS_DEFAULT && has_keys) o->tls = CEN_MARIADB_TLS_ON;
}

static bool copy(ceni_mariadb_server *server, const char **text)
{
    if (!*text) return true;
    *text = ceni_mariadb_keep(server, *text, strlen(*text));
    return *text != NULL;
}

/* Return true if an open would block. The client library blocks its caller for name lookups and TLS handshakes. Newer
 * versions encrypt unless TLS is disabled. */
static bool would_block(const ceni_mariadb_server *server)
{
    unsigned char address[16];
    bool may_encrypt = server->options.tls > CEN_MARIADB_TLS_OFF ||
                       (server->options.tls == CEN_MARIADB_TLS_DEFAULT && mysql_get_client_version() >= 110400);
    if (may_encrypt) return true;
    return !server->socket && inet_pton(AF_INET, server->host, address) != 1 &&
           inet_pton(AF_INET6, server->host, address) != 1;
}

static void describe(ceni_mariadb_server *server)
{
    if (server->socket) snprintf(server->address, sizeof server->address, "%s", server->socket);
    else
        snprintf(server->address, sizeof server->address, strchr(server->host, ':') ? "[%.100s]:%u" : "%.100s:%u",
                 server->host, server->port);
}

cen_status ceni_mariadb_server_new(const cen_mariadb_options *options, ceni_mariadb_server **out, cen_error *error)
{
    cen_mariadb_options known;
    cen_status status = cen_sized_read(&known, sizeof known, options, "cen_mariadb_with: options", error);
    if (status != CEN_OK) return status;
    ceni_mariadb_server *server = calloc(1, sizeof *server);
    if (!server) return ceni_mariadb_text(error, CEN_NO_MEMORY, "cen_mariadb_options: out of memory");
    cen_mariadb_options *o = &server->options;
    *o = known;
    atomic_init(&server->users, 1);
    server->process = getpid();
    server->exits = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    atomic_flag_clear(&server->told_capacity);
    pthread_mutex_init(&server->lock, NULL);

    status = check(o, error);
    /* The program's own texts first: those from the URL are copies already. */
    if (status == CEN_OK && !(copy(server, &o->setup) && copy(server, &o->charset) && copy(server, &o->tls_ca) &&
                              copy(server, &o->tls_cert) && copy(server, &o->tls_key) && copy(server, &o->tls_cipher)))
        status = ceni_mariadb_text(error, CEN_NO_MEMORY, "cen_mariadb_options: out of memory");
    if (status == CEN_OK)
        status = o->url ? ceni_mariadb_url(server, o->url, error)
                        : ceni_mariadb_text(error, CEN_INVALID, "cen_mariadb_options.url is NULL");
    if (status != CEN_OK) {
        ceni_mariadb_server_drop(server);
        return status;
    }
    o->url = NULL; /* it belongs to the caller */
    fill_in(o);
    if (!server->host && !server->socket) server->host = "localhost";
    if (!server->port) server->port = DEFAULT_PORT;
    describe(server);
    server->starts_with_a_job = would_block(server);
    *out = server;
    return CEN_OK;
}

void ceni_mariadb_server_hold(ceni_mariadb_server *server)
{
    atomic_fetch_add(&server->users, 1);
}

void ceni_mariadb_server_drop(ceni_mariadb_server *server)
{
    if (atomic_fetch_sub(&server->users, 1) > 1) return;
    for (int i = 0; i < server->text_count; i++) {
        explicit_bzero(server->texts[i], strlen(server->texts[i])); /* one of them is the password */
        free(server->texts[i]);
    }
    pthread_mutex_destroy(&server->lock);
    if (server->exits >= 0) close(server->exits);
    free(server);
}

void ceni_mariadb_cancel_all(void *argument)
{
    const ceni_mariadb_server *server = argument;
    if (server->exits >= 0 && server->process == getpid())
        (void)!write(server->exits, &(uint64_t){1}, sizeof(uint64_t));
}
