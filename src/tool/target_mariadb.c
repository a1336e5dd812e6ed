/* SPDX-License-Identifier: MIT */
/* MariaDB and MySQL: a statement, prepared once per connection if it has parameters (?), else sent as text. */
#include <stdlib.h>
#include <string.h>

#include <cenote/mariadb.h>

#include "tool/target_kinds.h"

enum { PARAMETERS = 32 };

static const char usual[] = "select 1";

typedef struct maria {
    cen_mariadb_options options;
    bool checks;
} maria;

static cen_status open_maria(target *self, cen_error *error)
{
    maria *own = calloc(1, sizeof *own);
    if (!own) return target_say(error, CEN_NO_MEMORY, 0, "Out of memory.");
    own->checks = !self->settings.query;
    own->options = CEN_MARIADB_OPTIONS(.url = self->settings.url);
    self->driver = cen_mariadb_with(&own->options);
    self->own = own;
    return CEN_OK;
}

static void close_maria(target *self)
{
    free(self->own);
}

/* Store the error of the connection's last call, even if it has no text. */
static cen_status told(MYSQL *mysql, cen_error *error)
{
    cen_status status = cen_mariadb_error_get(mysql, error);
    return status != CEN_OK ? status
                            : target_say(error, CEN_DRIVER, 0, "The statement failed; the server gives no reason.");
}

/* ---- Without parameters ---------------------------------------------------------------------------------- */

static bool is_one(MYSQL_RES *result)
{
    MYSQL_ROW row = result && mysql_num_rows(result) == 1 ? mysql_fetch_row(result) : NULL;
    return row && row[0] && strcmp(row[0], "1") == 0;
}

static cen_status ask(MYSQL *mysql, const char *sql, bool checks, cen_error *error)
{
    if (mysql_real_query(mysql, sql, strlen(sql)) != 0) return told(mysql, error);
    for (;;) {
        MYSQL_RES *result = mysql_store_result(mysql);
        if (!result && mysql_field_count(mysql) > 0) return told(mysql, error);
        bool good = !checks || is_one(result);
        if (result) mysql_free_result(result);
        if (!good) return target_say(error, CEN_DRIVER, 0, "The result of \"%s\" is not 1.", usual);
        int next = mysql_next_result(mysql);
        if (next < 0) return CEN_OK;
        if (next > 0) return told(mysql, error);
    }
}

/* ---- With parameters ------------------------------------------------------------------------------------- */

static cen_status read_all(MYSQL *mysql, MYSQL_STMT *statement, cen_error *error)
{
    for (;;) {
        if (mysql_stmt_field_count(statement) > 0 && mysql_stmt_store_result(statement) != 0) return told(mysql, error);
        mysql_stmt_free_result(statement);
        int next = mysql_stmt_next_result(statement);
        if (next < 0) return CEN_OK;
        if (next > 0) return told(mysql, error);
    }
}

static cen_status ask_with(target *self, MYSQL *mysql, const char *sql, const target_turn *turn, cen_error *error)
{
    MYSQL_STMT *statement;
    MYSQL_BIND binds[PARAMETERS];
    long long values[PARAMETERS];
    cen_status status = cen_mariadb_prepare(mysql, sql, &statement, error);
    if (status != CEN_OK) return status;
    unsigned long count = mysql_stmt_param_count(statement);
    if (count > PARAMETERS)
        return target_say(error, CEN_INVALID, 0, "A query can have at most %d parameters.", PARAMETERS);
    memset(binds, 0, sizeof binds);
    for (unsigned i = 0; i < count; i++) {
        values[i] = (long long)target_draw(self, turn, i);
        binds[i].buffer_type = MYSQL_TYPE_LONGLONG;
        binds[i].buffer = &values[i];
    }
    if (count > 0 && mysql_stmt_bind_param(statement, binds) != 0) return told(mysql, error);
    if (mysql_stmt_execute(statement) != 0) return told(mysql, error);
    return read_all(mysql, statement, error);
}

static cen_status operate_maria(target *self, void *object, const target_turn *turn, cen_error *error)
{
    const maria *own = self->own;
    const char *sql = turn->writes ? self->settings.write : self->settings.query;
    if (strchr(sql, '?')) return ask_with(self, object, sql, turn, error);
    return ask(object, sql, own->checks && !turn->writes, error);
}

static cen_status limit_maria(target *self, void *object, target_limit *out, cen_error *error)
{
    cen_mariadb_capacity_report report = CEN_SIZED(cen_mariadb_capacity_report);
    cen_status status = cen_mariadb_capacity(object, 0, &report, error);
    (void)self;
    if (status != CEN_OK) return status;
    out->most = report.max_connections;
    out->in_use = report.in_use;
    return CEN_OK;
}

const target_kind target_mariadb = {
    .system = "mariadb",
    .schemes = "mariadb mysql",
    .usual = usual,
    .open = open_maria,
    .close = close_maria,
    .operate = operate_maria,
    .limit = limit_maria,
};
