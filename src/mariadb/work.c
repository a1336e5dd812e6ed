/* SPDX-License-Identifier: MIT */
/*
 * Work on one connection: a sequence of client library calls, each of which may have to wait for the socket.
 *
 * All calls use the library's non-blocking form: NAME_start begins a call on a stack of its own and returns what it
 * waits for, NAME_cont continues it with what has occurred, and 0 means that the call has ended. So the same code
 * serves blocking callers, by poll(2), and asynchronous ones, over a poller. It also gives each call a timeout in
 * milliseconds, where the library's own are in seconds.
 *
 * A call that has begun is always run to its end, because memory on its stack would leak otherwise. To abandon a call,
 * each of its waits ends with MYSQL_WAIT_TIMEOUT, as if the library's own timeout had expired. Each wait then fails at
 * once.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "mariadb/internal.h"

/* ---- Plans ----------------------------------------------------------------------------- */

void ceni_mariadb_work_init(ceni_mariadb_work *work, ceni_mariadb_connection *connection, int64_t timeout_ns,
                            const char *doing)
{
    *work = (ceni_mariadb_work){.connection = connection, .doing = doing, .timeout_ns = timeout_ns};
    int64_t now = cen_clock();
    work->due = timeout_ns == CEN_OFF || timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

void ceni_mariadb_work_add(ceni_mariadb_work *work, ceni_mariadb_step step)
{
    int count = 0;
    while (work->plan[count]) count++;
    work->plan[count] = step; /* one element remains as the end, even of the longest plan */
}

/* Add the steps that both a new session and a reset one need. */
static void furnish(ceni_mariadb_work *work)
{
    const cen_mariadb_options *o = &work->connection->server->options;
    if (o->reset == CEN_MARIADB_RESET_CHANGED || o->reset == CEN_MARIADB_RESET_NOTHING)
        ceni_mariadb_work_add(work, CENI_MARIADB_TRACK);
    if (o->setup) ceni_mariadb_work_add(work, CENI_MARIADB_SETUP);
}

void ceni_mariadb_plan_open(ceni_mariadb_work *work, ceni_mariadb_connection *connection)
{
    const cen_mariadb_options *o = &connection->server->options;
    ceni_mariadb_work_init(work, connection, o->connect_timeout_ns, "cannot connect");
    ceni_mariadb_work_add(work, CENI_MARIADB_CONNECT);
    furnish(work);
    if (o->role != CEN_MARIADB_ANY) ceni_mariadb_work_add(work, CENI_MARIADB_ROLE);
    if (o->on_capacity && !atomic_flag_test_and_set(&connection->server->told_capacity)) {
        ceni_mariadb_work_add(work, CENI_MARIADB_LIMIT);
        ceni_mariadb_work_add(work, CENI_MARIADB_USED);
    }
}

void ceni_mariadb_plan_test(ceni_mariadb_work *work, ceni_mariadb_connection *connection)
{
    const cen_mariadb_options *o = &connection->server->options;
    ceni_mariadb_work_init(work, connection, o->test_timeout_ns, "connection test failed");
    ceni_mariadb_work_add(work, o->role == CEN_MARIADB_ANY ? CENI_MARIADB_PING : CENI_MARIADB_ROLE);
}

void ceni_mariadb_plan_reset(ceni_mariadb_work *work, ceni_mariadb_connection *connection)
{
    const cen_mariadb_options *o = &connection->server->options;
    ceni_mariadb_work_init(work, connection, o->reset_timeout_ns, "connection reset failed");
    if (connection->dirt == CENI_MARIADB_TRANSACTION && o->reset != CEN_MARIADB_RESET_ALL) {
        ceni_mariadb_work_add(work, CENI_MARIADB_ROLLBACK);
        return;
    }
    ceni_mariadb_work_add(work, CENI_MARIADB_RESET);
    /* a reset by the server keeps this option, and its state cannot be read */
    ceni_mariadb_work_add(work, CENI_MARIADB_SINGLE);
    ceni_mariadb_work_add(work, CENI_MARIADB_DATABASE);
    furnish(work);
}

void ceni_mariadb_plan_close(ceni_mariadb_work *work, ceni_mariadb_connection *connection)
{
    ceni_mariadb_work_init(work, connection, connection->server->options.reset_timeout_ns, "connection close failed");
    ceni_mariadb_work_add(work, CENI_MARIADB_QUIT);
}

/* ---- Steps -------------------------------------------------------------------------------- */

static const char *sql_of(ceni_mariadb_work *work, ceni_mariadb_step step)
{
    switch (step) {
    case CENI_MARIADB_TRACK: return "set session session_track_state_change = 1, session_track_system_variables = '*'";
    case CENI_MARIADB_SETUP: return work->connection->server->options.setup;
    case CENI_MARIADB_ROLLBACK: return "rollback and no chain no release";
    case CENI_MARIADB_ROLE: return "select @@global.read_only";
    case CENI_MARIADB_LIMIT: return "select @@global.max_connections";
    case CENI_MARIADB_USED: return "show global status like 'Threads_connected'";
    case CENI_MARIADB_FIND:
        snprintf(work->sql, sizeof work->sql, "select host from information_schema.processlist where id = %lu",
                 work->victim->id);
        return work->sql;
    case CENI_MARIADB_KILL: snprintf(work->sql, sizeof work->sql, "kill query %lu", work->victim->id); return work->sql;
    default: return "";
    }
}

static int start(ceni_mariadb_work *work)
{
    ceni_mariadb_connection *connection = work->connection;
    const ceni_mariadb_server *server = connection->server;
    MYSQL *mysql = &connection->mysql;
    const char *sql;
    ceni_mariadb_step step = work->plan[work->at];
    work->code = 0;
    switch (step) {
    case CENI_MARIADB_CONNECT:
        return mysql_real_connect_start(&work->connected, mysql, server->host, server->user, connection->password,
                                        server->database, server->port, server->socket, 0);
    case CENI_MARIADB_QUIT: return mysql_close_start(mysql);
    case CENI_MARIADB_PING: return mysql_ping_start(&work->code, mysql);
    case CENI_MARIADB_RESET: return mysql_reset_connection_start(&work->code, mysql);
    case CENI_MARIADB_SINGLE:
        return mysql_set_server_option_start(&work->code, mysql, MYSQL_OPTION_MULTI_STATEMENTS_OFF);
    case CENI_MARIADB_DATABASE:
        if (!server->database || (mysql->db && strcmp(mysql->db, server->database) == 0)) return 0;
        return mysql_select_db_start(&work->code, mysql, server->database);
    default:
        if (work->reads) return mysql_store_result_start(&work->result, mysql);
        sql = sql_of(work, step);
        return mysql_real_query_start(&work->code, mysql, sql, (unsigned long)strlen(sql));
    }
}

static int go_on(ceni_mariadb_work *work, int events)
{
    MYSQL *mysql = &work->connection->mysql;
    switch (work->plan[work->at]) {
    case CENI_MARIADB_CONNECT: return mysql_real_connect_cont(&work->connected, mysql, events);
    case CENI_MARIADB_QUIT: return mysql_close_cont(mysql, events);
    case CENI_MARIADB_PING: return mysql_ping_cont(&work->code, mysql, events);
    case CENI_MARIADB_RESET: return mysql_reset_connection_cont(&work->code, mysql, events);
    case CENI_MARIADB_SINGLE: return mysql_set_server_option_cont(&work->code, mysql, events);
    case CENI_MARIADB_DATABASE: return mysql_select_db_cont(&work->code, mysql, events);
    default:
        return work->reads ? mysql_store_result_cont(&work->result, mysql, events)
                           : mysql_real_query_cont(&work->code, mysql, events);
    }
}

/* ---- Results of a step ----------------------------------------------------------------------- */

static void failed(ceni_mariadb_work *work)
{
    const ceni_mariadb_server *server = work->connection->server;
    bool is_setup = work->plan[work->at] == CENI_MARIADB_SETUP;
    char what[160];
    unsigned number = mysql_errno(&work->connection->mysql);
    bool is_answered = number && number < CR_MIN_ERROR; /* an error from the server, which says more */
    if (!work->is_hurried || is_answered) {
        work->status = ceni_mariadb_say_mysql(&work->error, server, &work->connection->mysql,
                                              is_setup ? "setup failed" : work->doing);
        if (work->plan[work->at] == CENI_MARIADB_CONNECT && ceni_mariadb_refuses_login(number))
            work->error.cause = CEN_CAUSE_LOGIN_REFUSED;
        return;
    }
    if (work->given_up != CEN_OK) {
        const char *why = work->given_up == CEN_INTERRUPTED ? "call cancelled"
                          : work->given_up == CEN_CLOSED    ? "process is exiting"
                                                            : "cannot watch the socket";
        work->status = ceni_mariadb_say(&work->error, server, work->given_up, 0, work->doing, why);
        return;
    }
    snprintf(what, sizeof what, "%s: no reply within %lld ms", work->doing, (long long)(work->timeout_ns / 1000000));
    work->status = ceni_mariadb_say(&work->error, server, CEN_TIMEOUT, 0, what, NULL);
}

static uint32_t number_in(const char *text)
{
    unsigned long number = text ? strtoul(text, NULL, 10) : 0;
    return number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

static void judge_role(ceni_mariadb_work *work, const char *read_only)
{
    const ceni_mariadb_server *server = work->connection->server;
    bool is_writable = !read_only || strcmp(read_only, "0") == 0 || strcmp(read_only, "OFF") == 0;
    if (is_writable == (server->options.role == CEN_MARIADB_PRIMARY)) return;
    work->status = ceni_mariadb_say(
        &work->error, server, CEN_DRIVER, 0,
        is_writable ? "server is not a replica (not read-only)" : "server is not a primary (read-only)", NULL);
}

/* Check that the session with the id is the intended one, by its port. A session of a restarted server, or behind a
 * proxy, is left alone. */
static void judge_victim(ceni_mariadb_work *work, const char *host)
{
    const char *colon = host ? strrchr(host, ':') : NULL;
    bool is_same =
        host && (work->victim->local_port ? colon && number_in(colon + 1) == work->victim->local_port : !colon);
    if (!is_same)
        work->status =
            ceni_mariadb_say(&work->error, work->connection->server, CEN_ABSENT, 0, "session not found", NULL);
}

static void judge_result(ceni_mariadb_work *work)
{
    MYSQL_ROW row = work->result ? mysql_fetch_row(work->result) : NULL;
    switch (work->plan[work->at]) {
    case CENI_MARIADB_ROLE: judge_role(work, row ? row[0] : NULL); break;
    case CENI_MARIADB_LIMIT: work->capacity.max_connections = number_in(row ? row[0] : NULL); break;
    case CENI_MARIADB_USED: work->capacity.in_use = number_in(row ? row[1] : NULL); break;
    case CENI_MARIADB_FIND: judge_victim(work, row ? row[0] : NULL); break;
    default: break;
    }
    if (work->result) mysql_free_result(work->result);
    work->result = NULL;
}

static bool is_statement(ceni_mariadb_step step)
{
    return step >= CENI_MARIADB_TRACK;
}

/* A call has ended. Returns false if the work has ended, too. */
static bool next(ceni_mariadb_work *work)
{
    MYSQL *mysql = &work->connection->mysql;
    ceni_mariadb_step step = work->plan[work->at];
    bool is_good =
        step == CENI_MARIADB_CONNECT ? work->connected != NULL : step == CENI_MARIADB_QUIT || work->code == 0;
    if (is_statement(step) && work->reads) {
        is_good = work->result || mysql_errno(mysql) == 0;
        if (is_good) judge_result(work);
        work->reads = false;
    } else if (is_statement(step) && is_good) {
        work->reads = true;
        return true;
    }
    /* A server without this variable reports no changes, and is usable all the same. */
    if (!is_good && step == CENI_MARIADB_TRACK && mysql_errno(mysql) == ER_UNKNOWN_SYSTEM_VARIABLE) is_good = true;
    if (!is_good && step == CENI_MARIADB_SINGLE && mysql_errno(mysql) == ER_UNKNOWN_COM_ERROR)
        /* such a server cannot have it switched on either */
        is_good = true;
    if (!is_good) failed(work);
    if (is_good && step == CENI_MARIADB_CONNECT)
        work->status = ceni_mariadb_connection_note(work->connection, &work->error);
    if (is_good && step == CENI_MARIADB_RESET)
        work->status = ceni_mariadb_connection_renew(work->connection, &work->error);
    return work->status == CEN_OK && work->plan[++work->at] != CENI_MARIADB_END;
}

/* Store the current state of the session as the one to compare with when it is given back. */
static void settle(ceni_mariadb_work *work)
{
    ceni_mariadb_connection *connection = work->connection;
    if (work->plan[0] == CENI_MARIADB_QUIT || work->status != CEN_OK) return;
    connection->autocommit = (connection->mysql.server_status & SERVER_STATUS_AUTOCOMMIT) != 0;
    connection->changed = false;
    if (connection->dirt & CENI_MARIADB_TRANSACTION)
        work->error = (cen_error){.status = CEN_OK, .text = "transaction left open"}; /* the pool adds the holder */
    connection->dirt = 0;
}

int ceni_mariadb_work_on(ceni_mariadb_work *work, int events)
{
    int wait = events ? go_on(work, events) : start(work);
    for (;;) {
        while (wait && work->is_hurried) wait = go_on(work, MYSQL_WAIT_TIMEOUT);
        if (wait) return wait;
        if (!next(work)) break;
        wait = start(work);
    }
    settle(work);
    return 0;
}

/* ---- On this thread --------------------------------------------------------------------------- */

enum { LOOK_MS = 20 }; /* how often a wait checks for a cancel */

/* Return what has occurred; 0: nothing yet. */
static int wait_for(ceni_mariadb_work *work, int wait, int64_t since, bool looks)
{
    MYSQL *mysql = &work->connection->mysql;
    struct pollfd fds[] = {{.fd = mysql_get_socket(mysql)}, {.fd = work->connection->server->exits, .events = POLLIN}};
    struct pollfd *socket = &fds[0];
    if (wait & MYSQL_WAIT_READ) socket->events |= POLLIN;
    if (wait & MYSQL_WAIT_WRITE) socket->events |= POLLOUT;
    if (wait & MYSQL_WAIT_EXCEPT) socket->events |= POLLPRI;
    int64_t due = work->due, now = cen_clock(), theirs = INT64_MAX;
    if (now >= due) return work->is_hurried = true, MYSQL_WAIT_TIMEOUT; /* even if bytes keep arriving slowly */
    if (wait & MYSQL_WAIT_TIMEOUT) theirs = since + (int64_t)mysql_get_timeout_value_ms(mysql) * 1000000;
    int64_t left = (due < theirs ? due : theirs) - now;
    int ms = left <= 0 ? 0 : left / 1000000 >= 3600000 ? 3600000 : (int)(left / 1000000) + 1;
    int count = poll(fds, 2, looks && ms > LOOK_MS ? LOOK_MS : ms);
    if (count > 0 && fds[1].revents) {
        work->given_up = CEN_CLOSED;
        work->is_hurried = true;
        return MYSQL_WAIT_TIMEOUT;
    }
    if (count > 0) {
        bool hung_up = (socket->revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
        int come = (socket->revents & POLLIN ? MYSQL_WAIT_READ : 0) |
                   (socket->revents & POLLOUT ? MYSQL_WAIT_WRITE : 0) |
                   (socket->revents & POLLPRI ? MYSQL_WAIT_EXCEPT : 0);
        return hung_up ? wait & (MYSQL_WAIT_READ | MYSQL_WAIT_WRITE | MYSQL_WAIT_EXCEPT) : come;
    }
    now = cen_clock();
    if (now >= work->due) work->is_hurried = true;
    return now >= work->due || now >= theirs ? MYSQL_WAIT_TIMEOUT : 0;
}

void ceni_mariadb_work_do(ceni_mariadb_work *work, const atomic_bool *cancelled)
{
    for (int wait = ceni_mariadb_work_on(work, 0); wait;) {
        int64_t since = cen_clock();
        int come = 0;
        while (!come) {
            come = wait_for(work, wait, since, cancelled != NULL);
            if (cancelled && atomic_load(cancelled)) work->is_hurried = true, work->given_up = CEN_INTERRUPTED;
            if (work->is_hurried) come = MYSQL_WAIT_TIMEOUT;
        }
        wait = ceni_mariadb_work_on(work, come);
    }
}

ceni_mariadb_connection *ceni_mariadb_opened(ceni_mariadb_work *work)
{
    ceni_mariadb_connection *connection = work->connection;
    ceni_mariadb_server *server = connection->server;
    explicit_bzero(connection->password, sizeof connection->password);
    if (work->capacity.max_connections && work->status == CEN_OK) {
        ceni_mariadb_capacity_tell(server, &work->capacity);
        server->options.on_capacity(server->options.argument, &work->capacity);
    } else if (work->status != CEN_OK && server->options.on_capacity) {
        for (int i = 0; work->plan[i]; i++) /* the next open makes the report */
            if (work->plan[i] == CENI_MARIADB_LIMIT) atomic_flag_clear(&server->told_capacity);
    }
    if (work->status == CEN_OK) return connection;
    ceni_mariadb_connection_free(connection, true);
    return NULL;
}
