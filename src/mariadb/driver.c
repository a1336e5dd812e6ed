/* SPDX-License-Identifier: MIT */
/*
 * The driver's calls, as driver.h defines them.
 *
 * After prepare their argument is the pool's ceni_mariadb_server. Their object is a MYSQL, the first member of a
 * ceni_mariadb_connection.
 */
#include "mariadb/internal.h"

static cen_status begin(const cen_mariadb_options *options, void **state, cen_error *error)
{
    ceni_mariadb_server *server = NULL;
    ceni_mariadb_thread();
    ceni_mariadb_tls_begin();
    cen_status status = ceni_mariadb_server_new(options, &server, error);
    *state = server;
    return status;
}

static cen_status prepare_by_url(void *argument, void **state, cen_error *error)
{
    cen_mariadb_options options = CEN_MARIADB_OPTIONS(.url = argument);
    return begin(&options, state, error);
}

static cen_status prepare(void *argument, void **state, cen_error *error)
{
    return begin(argument, state, error);
}

static void fini(void *server)
{
    ceni_mariadb_server_drop(server);
}

/* ---- Blocking calls ---------------------------------------------------------------------- */

static cen_status finish(ceni_mariadb_work *work, cen_error *error)
{
    ceni_mariadb_thread();
    ceni_mariadb_work_do(work, NULL);
    *error = work->error;
    return work->status;
}

static cen_status open_connection(void *server, void **out, cen_error *error)
{
    ceni_mariadb_work work;
    ceni_mariadb_connection *connection = ceni_mariadb_connection_new(server, error);
    if (!connection) return CEN_NO_MEMORY;
    cen_status status = ceni_mariadb_connection_password(connection, error);
    if (status != CEN_OK) {
        ceni_mariadb_connection_free(connection, true);
        return status;
    }
    ceni_mariadb_plan_open(&work, connection);
    status = finish(&work, error);
    *out = ceni_mariadb_opened(&work);
    return status;
}

static void close_connection(void *server, void *object)
{
    (void)server;
    ceni_mariadb_work work;
    cen_error unheard;
    ceni_mariadb_regain(object, NULL);
    ceni_mariadb_plan_close(&work, object);
    finish(&work, &unheard);
    ceni_mariadb_connection_free(object, false);
}

static cen_status test(void *server, void *object, cen_error *error)
{
    (void)server;
    ceni_mariadb_work work;
    ceni_mariadb_plan_test(&work, object);
    return finish(&work, error);
}

static cen_status reset(void *server, void *object, cen_error *error)
{
    (void)server;
    ceni_mariadb_work work;
    ceni_mariadb_plan_reset(&work, object);
    return finish(&work, error);
}

/* ---- check ----------------------------------------------------------------------------------- */

/* Return true if a command was sent whose response was not read: by mysql_send_query, or by a NAME_start that was not
 * finished. Packets are counted from the one sent. Two commands have no response. */
static bool awaits_answer(const MYSQL *mysql)
{
    enum { COMMAND = 4 }; /* after a packet's header */
    if (mysql->net.pkt_nr != 1 || !mysql->net.buff) return false;
    return mysql->net.buff[COMMAND] != COM_STMT_CLOSE && mysql->net.buff[COMMAND] != COM_STMT_SEND_LONG_DATA;
}

/* Return true if the last call failed with a fatal error, or a response was not read. How much of it is still to come
 * is unknown, so the next holder would read the rest of it. */
static bool is_broken(const ceni_mariadb_server *server, const MYSQL *mysql)
{
    unsigned number = mysql->net.last_errno;
    if (!mysql->net.pvio || mysql->status != MYSQL_STATUS_READY || (mysql->server_status & SERVER_MORE_RESULTS_EXIST))
        return true;
    if (awaits_answer(mysql)) return true;
    if (number == CR_SERVER_GONE_ERROR || number == CR_SERVER_LOST || number == CR_SERVER_LOST_EXTENDED ||
        number == CR_MALFORMED_PACKET || number == CR_COMMANDS_OUT_OF_SYNC || number == ER_SERVER_SHUTDOWN ||
        number == ER_CONNECTION_KILLED)
        return true;
    if (server->user && mysql->user && strcmp(mysql->user, server->user) != 0) return true; /* mysql_change_user */
    bool is_refused = number == ER_OPTION_PREVENTS_STATEMENT || number == ER_READ_ONLY_MODE;
    return is_refused && server->options.role == CEN_MARIADB_PRIMARY;
}

/* A session that had no database cannot be reset to having none. */
static bool is_beyond_reset(const ceni_mariadb_server *server, const MYSQL *mysql, unsigned dirt)
{
    return server->options.reset == CEN_MARIADB_RESET_NOTHING ||
           ((dirt & CENI_MARIADB_SESSION) && !server->database && mysql->db);
}

static cen_condition check(void *argument, void *object)
{
    const ceni_mariadb_server *server = argument;
    ceni_mariadb_connection *connection = object;
    const MYSQL *mysql = &connection->mysql;
    unsigned dirt = 0;
    connection->turn++; /* statements handed out before are free again */
    if (is_broken(server, mysql)) return CEN_BROKEN;
    if (mysql->server_status & SERVER_STATUS_IN_TRANS) dirt |= CENI_MARIADB_TRANSACTION;
    bool autocommit = (mysql->server_status & SERVER_STATUS_AUTOCOMMIT) != 0;
    bool is_anew = !connection->sentry->mysql; /* reset by the holder: no reports since then */
    if (connection->changed || is_anew || autocommit != connection->autocommit) dirt |= CENI_MARIADB_SESSION;
    connection->dirt = dirt;
    if (dirt && is_beyond_reset(server, mysql, dirt)) return CEN_BROKEN;
    return dirt || server->options.reset == CEN_MARIADB_RESET_ALL ? CEN_DIRTY : CEN_CLEAN;
}

/* ---- The driver --------------------------------------------------------------------------------- */

/* The id in SHOW PROCESSLIST and KILL. */
static uint64_t identify(void *unused, void *object)
{
    (void)unused;
    return mysql_thread_id(&((ceni_mariadb_connection *)object)->mysql);
}

#define COMMON(prepares) \
    .size = sizeof(cen_driver_calls), .check_only_reads = true, .prepare = (prepares), .fini = fini, .check = check, \
    .interrupt = ceni_mariadb_interrupt, .abandon = ceni_mariadb_abandon, .system = "mariadb", .identify = identify, \
    .identity_prefix = "id "
#define BLOCKING \
    .blocks = true, .open = open_connection, .close = close_connection, .test = test, .reset = reset, \
    .cancel_all = ceni_mariadb_cancel_all

static const cen_driver_calls calls_by_url = {COMMON(prepare_by_url), BLOCKING}, calls = {COMMON(prepare), BLOCKING};

static const cen_driver_calls calls_over_poller = {
    COMMON(prepare),
    .open_async = ceni_mariadb_open_async,
    .close_async = ceni_mariadb_close_async,
    .test_async = ceni_mariadb_test_async,
    .reset_async = ceni_mariadb_reset_async,
    .cancel = ceni_mariadb_cancel,
};

cen_driver cen_mariadb(const char *url)
{
    return (cen_driver){&calls_by_url, (void *)(uintptr_t)url};
}

cen_driver cen_mariadb_with(const cen_mariadb_options *options)
{
    bool has_poller =
        options && options->size >= offsetof(cen_mariadb_options, poller) + sizeof options->poller && options->poller;
    return (cen_driver){has_poller ? &calls_over_poller : &calls, (void *)(uintptr_t)options};
}
