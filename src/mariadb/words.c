/* SPDX-License-Identifier: MIT */
/*
 * What went wrong, as a sentence, a status and a number.
 */
#include <stdarg.h>

#include "mariadb/internal.h"

void ceni_mariadb_write(cen_error *error, cen_status status, const char *format, ...)
{
    if (!error) return;
    *error = (cen_error){.status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
}

/* What a number means for whoever takes; *what says it in words. */
static cen_status meaning(unsigned number, cen_status status, const char **what)
{
    switch (number) {
    case ER_ACCESS_DENIED_ERROR:
    case ER_ACCESS_DENIED_NO_PASSWORD_ERROR:
    case ER_MUST_CHANGE_PASSWORD_LOGIN: *what = "it refused the credentials"; return CEN_DRIVER;
    case ER_DBACCESS_DENIED_ERROR: *what = "the user may not use that database"; return CEN_DRIVER;
    case ER_BAD_DB_ERROR: *what = "it has no such database"; return CEN_DRIVER;
    case ER_HOST_NOT_PRIVILEGED:
    case ER_HOST_IS_BLOCKED: *what = "it does not let this host in"; return CEN_DRIVER;
    case ER_CON_COUNT_ERROR: *what = "it has no connection left"; return CEN_FULL;
    case ER_TOO_MANY_USER_CONNECTIONS:
    case ER_USER_LIMIT_REACHED: *what = "it has no connection left for this user"; return CEN_FULL;
    case ER_SERVER_SHUTDOWN: *what = "it is shutting down"; return CEN_DOWN;
    case ER_CONNECTION_KILLED: *what = "the connection was killed"; return CEN_LOST;
    case ER_QUERY_INTERRUPTED: *what = "the query was interrupted"; return CEN_INTERRUPTED;
    case ER_OPTION_PREVENTS_STATEMENT:
        *what = "a setting of the server, read_only perhaps, forbids it";
        return CEN_DRIVER;
    case CR_CONNECTION_ERROR:
    case CR_CONN_HOST_ERROR: *what = "nobody answers there"; return CEN_DOWN;
    case CR_UNKNOWN_HOST: *what = "its name has no address"; return CEN_DOWN;
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case CR_SERVER_LOST_EXTENDED: *what = "the connection broke"; return CEN_LOST;
    case CR_SSL_CONNECTION_ERROR: *what = "they could not agree on how to encrypt"; return CEN_DRIVER;
    case CR_OUT_OF_MEMORY: *what = "there is no memory"; return CEN_NO_MEMORY;
    default: return status;
    }
}

cen_status ceni_mariadb_say(cen_error *error, const ceni_mariadb_server *server, cen_status status, unsigned number,
                            const char *what, const char *cause)
{
    status = meaning(number, status, &what);
    bool wants = number == ER_ACCESS_DENIED_ERROR && cause && strstr(cause, "(using password: NO)");
    if (wants) what = "it wants a password, and has none";
    if (!error) return status;
    size_t length = cause ? strlen(cause) : 0;
    /* the system's number, if the library had missed it */
    if (length > 4 && strcmp(cause + length - 4, " (0)") == 0) length -= 4;
    while (length && strchr(" .\n", cause[length - 1])) length--;
    *error = (cen_error){.status = status, .code = (int)number};
    snprintf(error->text, sizeof error->text, "MariaDB at %s, database %.40s, user %.40s: %s%s%.*s", server->address,
             server->database ? server->database : "none", server->user ? server->user : "of the process", what,
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
    return ceni_mariadb_say_mysql(error, connection->server, mysql, "it says no");
}
