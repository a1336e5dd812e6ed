/* SPDX-License-Identifier: MIT */
/*
 * A connection: our record around the client library's MYSQL. Also the library's initialisation, once per process and
 * once per thread.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mariadb/internal.h"

static const char MARK[] = "cenote"; /* the key under which the library stores our pointer */
enum { STACK = 192 * 1024 };         /* of a non-blocking call; names are looked up on it, too */

/* ---- Lost connections --------------------------------------------------------------------- */

/* Held during a fork, so that the child finds it unlocked. */
static pthread_mutex_t lost_lock = PTHREAD_MUTEX_INITIALIZER;
static ceni_mariadb_connection *lost;

static void before_fork(void)
{
    pthread_mutex_lock(&lost_lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lost_lock);
}

void ceni_mariadb_connection_lose(ceni_mariadb_connection *connection)
{
    pthread_mutex_lock(&lost_lock);
    connection->next = lost;
    lost = connection;
    pthread_mutex_unlock(&lost_lock);
}

/* ---- Threads --------------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void end_thread(void *unused)
{
    (void)unused;
    mysql_thread_end();
}

static void begin_library(void)
{
    mysql_library_init(0, NULL, NULL);
    pthread_atfork(before_fork, after_fork, after_fork);
    has_key = pthread_key_create(&key, end_thread) == 0;
}

/* Initialise the library for the calling thread. Current versions of Connector/C keep nothing per thread, but the
 * manual requires these calls, and older versions complained without them. The key's destructor runs at the end of each
 * thread, and once more if the driver is called after that. */
void ceni_mariadb_thread(void)
{
    pthread_once(&once, begin_library);
    if (!has_key || pthread_getspecific(key)) return;
    mysql_thread_init();
    pthread_setspecific(key, &key);
}

/* ---- Connections ---------------------------------------------------------------------------- */

/* The server reports changes of the session: the holder's, and those of open and reset, which are cleared when these
 * end. */
static void status_changed(void *argument, enum enum_mariadb_status_info kind, ...)
{
    ceni_mariadb_connection *connection = argument;
    if (kind == SESSION_TRACK_TYPE) connection->changed = true;
}

static unsigned seconds(int64_t ns)
{
    return ns <= 0                                ? 0
           : ns / 1000000000 >= UINT32_MAX / 1000 ? UINT32_MAX / 1000
                                                  : (unsigned)((ns + 999999999) / 1000000000);
}

static void set_encryption(MYSQL *mysql, const cen_mariadb_options *o)
{
    my_bool on = 1, off = 0;
    if (o->tls == CEN_MARIADB_TLS_DEFAULT) return;
    mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, o->tls == CEN_MARIADB_TLS_OFF ? &off : &on);
    mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, o->tls == CEN_MARIADB_TLS_VERIFY ? &on : &off);
    if (o->tls == CEN_MARIADB_TLS_OFF) return;
    mysql_options(mysql, MYSQL_OPT_SSL_CA, o->tls_ca);
    mysql_options(mysql, MYSQL_OPT_SSL_CERT, o->tls_cert);
    mysql_options(mysql, MYSQL_OPT_SSL_KEY, o->tls_key);
    mysql_options(mysql, MYSQL_OPT_SSL_CIPHER, o->tls_cipher);
}

static void set_options(ceni_mariadb_connection *connection)
{
    const cen_mariadb_options *o = &connection->server->options;
    MYSQL *mysql = &connection->mysql;
    size_t stack = STACK;
    my_bool off = 0;
    unsigned infile = o->local_infile, protocol = MYSQL_PROTOCOL_TCP, time;
    /* Every call of the driver may have to be abandoned halfway, whether it blocks or not. */
    mysql_options(mysql, MYSQL_OPT_NONBLOCK, &stack);
    mysql_options(mysql, MYSQL_OPT_RECONNECT, &off);
    mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &infile);
    mysql_options(mysql, MYSQL_SET_CHARSET_NAME, o->charset);
    if (o->compress) mysql_options(mysql, MYSQL_OPT_COMPRESS, NULL);
    if (connection->server->has_port && !connection->server->socket)
        mysql_options(mysql, MYSQL_OPT_PROTOCOL, &protocol);
    if ((time = seconds(o->connect_timeout_ns))) mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &time);
    if ((time = seconds(o->read_timeout_ns))) mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &time);
    if ((time = seconds(o->write_timeout_ns))) mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, &time);
    set_encryption(mysql, o);
    mysql_optionsv(mysql, MARIADB_OPT_USERDATA, (void *)(uintptr_t)MARK, (void *)connection);
    mysql_optionsv(mysql, MARIADB_OPT_STATUS_CALLBACK, status_changed, (void *)connection);
}

ceni_mariadb_connection *ceni_mariadb_connection_new(ceni_mariadb_server *server, cen_error *error)
{
    ceni_mariadb_thread();
    ceni_mariadb_connection *connection = calloc(1, sizeof *connection);
    if (connection) connection->server = server;
    if (connection) connection->stop = ceni_mariadb_stop_new(connection);
    if (!connection || !connection->stop || !mysql_init(&connection->mysql)) {
        if (connection) ceni_mariadb_stop_free(connection->stop);
        free(connection);
        ceni_mariadb_say(error, server, CEN_NO_MEMORY, 0, "out of memory", NULL);
        return NULL;
    }
    connection->own = connection->theirs = -1;
    connection->process = getpid();
    set_options(connection);
    return connection;
}

cen_status ceni_mariadb_connection_password(ceni_mariadb_connection *connection, cen_error *error)
{
    const ceni_mariadb_server *server = connection->server;
    const cen_mariadb_options *o = &server->options;
    if (!o->password) {
        size_t length = server->password ? strlen(server->password) : 0;
        if (length >= sizeof connection->password)
            return ceni_mariadb_say(error, server, CEN_INVALID, 0, "password too long", NULL);
        memcpy(connection->password, server->password ? server->password : "", length + 1);
        return CEN_OK;
    }
    cen_error why = {.text = ""};
    cen_status status = o->password(o->argument, connection->password, sizeof connection->password, &why);
    if (status == CEN_OK) return CEN_OK;
    return ceni_mariadb_say(error, server, status, 0, "cen_mariadb_options.password failed", why.text);
}

/* Create the sentry: a statement that is initialised and never prepared, which costs no round trip.
 * mysql_reset_connection and mysql_change_user detach all statements from the connection. */
static cen_status post_sentry(ceni_mariadb_connection *connection, cen_error *error)
{
    if (connection->sentry) mysql_stmt_close(connection->sentry);
    connection->sentry = mysql_stmt_init(&connection->mysql);
    if (connection->sentry) return CEN_OK;
    return ceni_mariadb_say(error, connection->server, CEN_NO_MEMORY, 0, "out of memory", NULL);
}

/* The server has reset its side of the character set, and the library does not know that. */
cen_status ceni_mariadb_connection_renew(ceni_mariadb_connection *connection, cen_error *error)
{
    ceni_mariadb_statements_end(connection);
    connection->mysql.charset = connection->charset;
    return post_sentry(connection, error);
}

cen_status ceni_mariadb_connection_note(ceni_mariadb_connection *connection, cen_error *error)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage room;
    } local;
    socklen_t size = sizeof local;
    memset(&local, 0, sizeof local);
    /* Connector/C continues in plain text with a server that cannot encrypt, unless it has to verify the server's
     * certificate. */
    if (connection->server->options.tls > CEN_MARIADB_TLS_OFF && !mysql_get_ssl_cipher(&connection->mysql))
        return ceni_mariadb_say(error, connection->server, CEN_DRIVER, CR_SSL_CONNECTION_ERROR, "",
                                "the server does not support TLS");
    connection->id = mysql_thread_id(&connection->mysql);
    connection->theirs = mysql_get_socket(&connection->mysql);
    connection->own = fcntl(connection->theirs, F_DUPFD_CLOEXEC, 0);
    if (connection->own < 0)
        return ceni_mariadb_say(error, connection->server, CEN_SYSTEM, 0, "out of file descriptors", NULL);
    if (getsockname(connection->own, &local.any, &size) == 0) {
        if (local.any.sa_family == AF_INET) connection->local_port = ntohs(local.v4.sin_port);
        if (local.any.sa_family == AF_INET6) connection->local_port = ntohs(local.v6.sin6_port);
    }
    connection->charset = connection->mysql.charset;
    return post_sentry(connection, error);
}

void ceni_mariadb_connection_free(ceni_mariadb_connection *connection, bool is_open)
{
    if (is_open) mysql_close(&connection->mysql);
    ceni_mariadb_statements_end(connection);
    if (connection->sentry) mysql_stmt_close(connection->sentry);
    if (connection->own >= 0) close(connection->own);
    explicit_bzero(connection->password, sizeof connection->password);
    ceni_mariadb_stop_free(connection->stop);
    free(connection);
}

cen_status ceni_mariadb_connection_of(MYSQL *mysql, ceni_mariadb_connection **out, cen_error *error)
{
    void *found = NULL;
    if (mysql) mysql_get_optionv(mysql, MARIADB_OPT_USERDATA, (void *)(uintptr_t)MARK, &found);
    *out = found;
    if (!found) return ceni_mariadb_text(error, CEN_INVALID, "mysql is not a connection of this driver's pools");
    if ((*out)->process != getpid())
        return ceni_mariadb_text(error, CEN_FORKED, "the connection belongs to the parent process");
    return CEN_OK;
}
