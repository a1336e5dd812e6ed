/* SPDX-License-Identifier: MIT */
/* Comparing the pool's max with the server's limit. */
#include <stdio.h>
#include <stdlib.h>

#include "pq/internal.h"

/* reserved_connections exists since version 16. Unprivileged users cannot see the backend type of other users'
 * sessions, but their database. Sessions of the server itself have no database, or a visible type. */
const char ceni_pq_capacity_question[] = "select current_setting('max_connections'), "
                                         "current_setting('superuser_reserved_connections')::int + "
                                         "coalesce(current_setting('reserved_connections', true), '0')::int, "
                                         "(select count(*) from pg_stat_activity where datid is not null and "
                                         "coalesce(backend_type, 'client backend') = 'client backend')";

static uint32_t number(const PGresult *answer, int field)
{
    return (uint32_t)strtoul(PQgetvalue(answer, 0, field), NULL, 10);
}

static void say(cen_pq_capacity_report *report, const PGconn *conn)
{
    char judgement[100] = "";
    if (report->pool_max && report->fits)
        snprintf(judgement, sizeof judgement, "; a pool of %u fits", report->pool_max);
    else if (report->pool_max)
        snprintf(judgement, sizeof judgement, "; a pool of %u does not fit: opening more than %u may fail",
                 report->pool_max, report->free + 1);
    snprintf(report->text, sizeof report->text,
             "PostgreSQL at %.60s:%.10s: limit of %u connections (%u reserved, %u in use, %u free)%s", PQhost(conn),
             PQport(conn), report->max_connections, report->reserved, report->in_use, report->free, judgement);
}

cen_status ceni_pq_capacity_read(const PGconn *conn, const PGresult *answer, uint32_t max, cen_pq_capacity_report *out,
                                 cen_error *error)
{
    if (!answer || PQntuples(answer) != 1 || PQnfields(answer) != 3)
        return ceni_pq_say(error, conn, CEN_DRIVER, "", "connection limit not reported", NULL);
    *out = (cen_pq_capacity_report){.size = sizeof *out,
                                    .pool_max = max,
                                    .max_connections = number(answer, 0),
                                    .reserved = number(answer, 1),
                                    .in_use = number(answer, 2)};
    uint64_t taken = (uint64_t)out->reserved + out->in_use;
    out->free = taken < out->max_connections ? (uint32_t)(out->max_connections - taken) : 0;
    out->fits = max <= out->free + 1;
    say(out, conn);
    return CEN_OK;
}

cen_status cen_pq_capacity(PGconn *conn, uint32_t max, cen_pq_capacity_report *out, cen_error *error)
{
    PGresult *answer = NULL;
    cen_pq_capacity_report report = CEN_SIZED(cen_pq_capacity_report);
    cen_status status = cen_sized_check(out, sizeof report, "cen_pq_capacity: out", error);
    if (status != CEN_OK) return status;
    status = cen_pq_run(conn, ceni_pq_capacity_question, 0, NULL, &answer, error);
    if (status == CEN_OK) status = ceni_pq_capacity_read(conn, answer, max, &report, error);
    if (status == CEN_OK) cen_sized_write(out, &report, sizeof report);
    PQclear(answer);
    return status;
}
