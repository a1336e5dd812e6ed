/* SPDX-License-Identifier: MIT */
/*
 * Comparing a pool's max with its server's limit.
 */
#include "mariadb/internal.h"

/* Derive the remaining fields from the two numbers. */
void ceni_mariadb_capacity_tell(const ceni_mariadb_server *server, cen_mariadb_capacity_report *report)
{
    uint32_t max = report->pool_max ? report->pool_max : server->options.capacity_max;
    report->size = sizeof *report;
    report->pool_max = max;
    report->free = report->max_connections > report->in_use ? report->max_connections - report->in_use : 0;
    report->fits = max <= 1 + report->free;
    int length =
        snprintf(report->text, sizeof report->text, "MariaDB at %.80s: limit of %u connections (%u in use, %u free)",
                 server->address, report->max_connections, report->in_use, report->free);
    if (length < 0 || (size_t)length >= sizeof report->text) return;
    char *rest = report->text + length;
    size_t room = sizeof report->text - (size_t)length;
    if (max) snprintf(rest, room, "; a pool of %u %s", max, report->fits ? "fits" : "does not fit");
}

cen_status cen_mariadb_capacity(MYSQL *mysql, uint32_t max, cen_mariadb_capacity_report *out, cen_error *error)
{
    ceni_mariadb_connection *connection;
    cen_status status = cen_sized_check(out, sizeof *out, "cen_mariadb_capacity: out", error);
    if (status == CEN_OK) status = ceni_mariadb_connection_of(mysql, &connection, error);
    if (status != CEN_OK) return status;
    ceni_mariadb_thread();
    ceni_mariadb_work work;
    bool changed = connection->changed, autocommit = connection->autocommit;
    ceni_mariadb_work_init(&work, connection, connection->server->options.test_timeout_ns,
                           "cannot read the connection limit");
    ceni_mariadb_work_add(&work, CENI_MARIADB_LIMIT);
    ceni_mariadb_work_add(&work, CENI_MARIADB_USED);
    ceni_mariadb_work_do(&work, NULL);
    connection->changed = changed; /* the holder's mark, kept as it was */
    connection->autocommit = autocommit;
    if (work.status != CEN_OK) {
        if (error) *error = work.error;
        return work.status;
    }
    work.capacity.pool_max = max;
    ceni_mariadb_capacity_tell(connection->server, &work.capacity);
    cen_sized_write(out, &work.capacity, sizeof work.capacity);
    return CEN_OK;
}
