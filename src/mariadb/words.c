/* SPDX-License-Identifier: MIT */
/*
 * Errors: texts, statuses and codes.
 */
#include <stdarg.h>

#include "mariadb/internal.h"

enum { NAME_ROOM = 44 };

void ceni_mariadb_write(cen_error *error, cen_status status, const char *format, ...)
{
    if (!error) return;
    *error = (cen_error){.status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
}

/* Return the status that an error number implies for the caller of take; *what: the description. */
static cen_status meaning(unsigned number, cen_status status, const char **what)
{
    switch (number) {
    case ER_ACCESS_DENIED_ERROR:
    case ER_ACCESS_DENIED_NO_PASSWORD_ERROR:
    case ER_MUST_CHANGE_PASSWORD_LOGIN: *what = "authentication failed"; return CEN_DRIVER;
    case ER_DBACCESS_DENIED_ERROR: *what = "access to the database denied"; return CEN_DRIVER;
    case ER_BAD_DB_ERROR: *what = "unknown database"; return CEN_DRIVER;
    case ER_HOST_NOT_PRIVILEGED:
    case ER_HOST_IS_BLOCKED: *what = "access from this host denied"; return CEN_DRIVER;
    case ER_CON_COUNT_ERROR: *what = "too many connections"; return CEN_FULL;
    case ER_TOO_MANY_USER_CONNECTIONS:
    case ER_USER_LIMIT_REACHED: *what = "too many connections of this user"; return CEN_FULL;
    case ER_SERVER_SHUTDOWN: *what = "server shutting down"; return CEN_DOWN;
    case ER_CONNECTION_KILLED: *what = "connection killed"; return CEN_LOST;
    case ER_QUERY_INTERRUPTED: *what = "query interrupted"; return CEN_INTERRUPTED;
    case ER_OPTION_PREVENTS_STATEMENT: *what = "forbidden by a server option such as read_only"; return CEN_DRIVER;
    case CR_CONNECTION_ERROR:
    case CR_CONN_HOST_ERROR: *what = "server unreachable"; return CEN_DOWN;
    case CR_UNKNOWN_HOST: *what = "unknown host"; return CEN_DOWN;
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case CR_SERVER_LOST_EXTENDED: *what = "connection lost"; return CEN_LOST;
    case CR_SSL_CONNECTION_ERROR: *what = "TLS connection failed"; return CEN_DRIVER;
    case CR_OUT_OF_MEMORY: *what = "out of memory"; return CEN_NO_MEMORY;
    default: return status;
    }
}

bool ceni_mariadb_refuses_login(unsigned number)
{
    switch (number) {
    case ER_ACCESS_DENIED_ERROR:
    case ER_ACCESS_DENIED_NO_PASSWORD_ERROR:
    case ER_MUST_CHANGE_PASSWORD_LOGIN:
    case ER_DBACCESS_DENIED_ERROR:
    case ER_BAD_DB_ERROR:
    case ER_HOST_NOT_PRIVILEGED: return true;
    default: return false;
    }
}

static const char *quoted(const char *name, const char *other, char out[NAME_ROOM])
{
    if (name) snprintf(out, NAME_ROOM, "\"%.40s\"", name);
    else snprintf(out, NAME_ROOM, "%s", other);
    return out;
}

cen_status ceni_mariadb_say(cen_error *error, const ceni_mariadb_server *server, cen_status status, unsigned number,
                            const char *what, const char *cause)
{
    status = meaning(number, status, &what);
    bool wants = number == ER_ACCESS_DENIED_ERROR && cause && strstr(cause, "(using password: NO)");
    if (wants) what = "password required, none given";
    if (!error) return status;
    char database[NAME_ROOM], user[NAME_ROOM];
    size_t length = cause ? strlen(cause) : 0;
    /* the system's error number, if the library has none */
    if (length > 4 && strcmp(cause + length - 4, " (0)") == 0) length -= 4;
    while (length && strchr(" .\n", cause[length - 1])) length--;
    *error = (cen_error){.status = status, .code = (int)number};
    snprintf(error->text, sizeof error->text, "MariaDB at %s, database %s, user %s: %s%s%.*s", server->address,
             quoted(server->database, "(none)", database), quoted(server->user, "(default)", user), what,
             length ? ": " : "", length < sizeof error->text ? (int)length : (int)sizeof error->text,
             cause ? cause : "");
    return status;
}

cen_status ceni_mariadb_say_mysql(cen_error *error, const ceni_mariadb_server *server, MYSQL *mysql, const char *what)
{
    return ceni_mariadb_say(error, server, CEN_DRIVER, mysql_errno(mysql), what, mysql_error(mysql));
}

cen_status cen_mariadb_error_get(MYSQL *mysql, cen_error *error)
{
    ceni_mariadb_connection *connection;
    cen_status status = ceni_mariadb_connection_of(mysql, &connection, error);
    if (status != CEN_OK || mysql_errno(mysql) == 0) return status;
    return ceni_mariadb_say_mysql(error, connection->server, mysql, "last call failed");
}
