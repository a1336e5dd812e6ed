/* SPDX-License-Identifier: MIT */
/* PostgreSQL: a statement, prepared once per connection, with a number for each $1. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/pq.h>

#include "tool/target_kinds.h"

enum { PARAMETERS = 32 };

static const char usual[] = "select 1";

typedef struct post {
    cen_pq_options options;
    int reads, writes; /* the number of parameters of each statement */
    bool checks;
} post;

/* Return the highest number after a $ outside quotes. */
static int parameters_of(const char *sql)
{
    int most = 0;
    char quote = 0;
    for (const char *at = sql; at && *at; at++) {
        if (quote) {
            if (*at == quote) quote = 0;
        } else if (*at == '\'' || *at == '"') {
            quote = *at;
        } else if (*at == '$' && isdigit((unsigned char)at[1])) {
            int number = 0;
            for (const char *digit = at + 1; isdigit((unsigned char)*digit) && number < 10000; digit++)
                number = number * 10 + *digit - '0';
            if (number > most) most = number;
        }
    }
    return most;
}

static cen_status open_post(target *self, cen_error *error)
{
    post *own = calloc(1, sizeof *own);
    if (!own) return target_say(error, CEN_NO_MEMORY, 0, "Out of memory.");
    own->checks = !self->settings.query;
    own->reads = parameters_of(self->settings.query);
    own->writes = parameters_of(self->settings.write);
    if (own->reads > PARAMETERS || own->writes > PARAMETERS) {
        free(own);
        return target_say(error, CEN_INVALID, 0, "A query can have at most %d parameters.", PARAMETERS);
    }
    own->options = CEN_PQ_OPTIONS(.uri = self->settings.url);
    self->driver = cen_pq_with(&own->options);
    self->own = own;
    return CEN_OK;
}

static void close_post(target *self)
{
    free(self->own);
}

static cen_status operate_post(target *self, void *object, const target_turn *turn, cen_error *error)
{
    const post *own = self->own;
    int count = turn->writes ? own->writes : own->reads;
    char texts[PARAMETERS][24];
    const char *values[PARAMETERS];
    PGresult *result;
    for (int i = 0; i < count; i++) {
        snprintf(texts[i], sizeof texts[i], "%" PRIu64, target_draw(self, turn, (unsigned)i));
        values[i] = texts[i];
    }
    cen_status status =
        cen_pq_run(object, turn->writes ? self->settings.write : self->settings.query, count, values, &result, error);
    if (status != CEN_OK) return status;
    if (own->checks && !turn->writes && (PQntuples(result) != 1 || strcmp(PQgetvalue(result, 0, 0), "1") != 0))
        status = target_say(error, CEN_DRIVER, 0, "The result of \"%s\" is not 1.", usual);
    PQclear(result);
    return status;
}

static cen_status limit_post(target *self, void *object, target_limit *out, cen_error *error)
{
    cen_pq_capacity_report report = CEN_SIZED(cen_pq_capacity_report);
    cen_status status = cen_pq_capacity(object, 0, &report, error);
    (void)self;
    if (status != CEN_OK) return status;
    out->most = report.max_connections;
    out->reserved = report.reserved;
    out->in_use = report.in_use;
    return CEN_OK;
}

const target_kind target_pq = {
    .system = "postgresql",
    .schemes = "postgresql postgres",
    .usual = usual,
    .open = open_post,
    .close = close_post,
    .operate = operate_post,
    .limit = limit_post,
};
