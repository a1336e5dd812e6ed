/* SPDX-License-Identifier: MIT */
/*
 * Stats, descriptions and parts of a routing pool.
 *
 * The counts of requests are striped and each thread uses one stripe, so threads that make requests rarely write to the
 * same cache line.
 *
 * Order table
 * tag  site     | operation        | order   | pairs with       | carries      | breaks if weakened
 * [K1] registry | load of registry | acquire | L3 in pool_connection.c | the registry | the program sees a registry that is half created
 *
 * Tested by tests/unit/net/pool_test.c.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "net/pool.h"
#include "port/port.h"

void ceni_mux_pool_count(cen_mux_pool *pool, ceni_request_count what)
{
    ceni_mux_counts *stripe = &pool->counts[ceni_thread_id() % CENI_MUX_POOL_STRIPES];
    ceni_add_relaxed(&stripe->of[what], 1); /* a number by itself; carries nothing */
}

static uint64_t sum(cen_mux_pool *pool, ceni_request_count what)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < CENI_MUX_POOL_STRIPES; i++)
        total += ceni_load_relaxed(&pool->counts[i].of[what]); /* a number by itself; carries nothing */
    return total;
}

static void look_at_lines(cen_mux_pool *pool, cen_mux_pool_stats *out)
{
    ceni_mux_pool_lock(pool);
    out->connections = pool->count;
    out->up = pool->up;
    out->connecting = pool->connecting;
    out->down = pool->count - pool->up - pool->connecting;
    out->opened = pool->opened;
    out->lost = pool->lost;
    out->failed_opens = pool->failed_opens;
    ceni_mux_pool_unlock(pool);
}

cen_status cen_mux_pool_stats_get(cen_mux_pool *pool, cen_mux_pool_stats *out)
{
    if (!pool) return CEN_INVALID;
    if (!ceni_fork_is(pool->epoch)) return CEN_FORKED;
    cen_status status = cen_sized_check(out, sizeof *out, "cen_mux_pool_stats_get: out", NULL);
    if (status != CEN_OK) return status;
    cen_router_stats router = CEN_SIZED(cen_router_stats);
    cen_supervisor_stats connections = CEN_SIZED(cen_supervisor_stats);
    cen_mux_pool_stats now = {
        .answered = sum(pool, CENI_COUNT_ANSWERED),
        .lost_requests = sum(pool, CENI_COUNT_LOST),
        .timed_out = sum(pool, CENI_COUNT_TIMED_OUT),
        .refused = sum(pool, CENI_COUNT_REFUSED),
        .cancelled = sum(pool, CENI_COUNT_CANCELLED),
        .closed = sum(pool, CENI_COUNT_CLOSED),
        .failed = sum(pool, CENI_COUNT_FAILED),
        .rerouted = sum(pool, CENI_COUNT_REROUTED),
        .stale = sum(pool, CENI_COUNT_STALE),
        .registry_starts = ceni_load_relaxed(&pool->registry_starts), /* a number by itself; carries nothing */
    };
    look_at_lines(pool, &now);
    if (cen_router_stats_get(pool->router, &router) == CEN_OK) {
        now.waiting = router.waiting;
        now.in_flight = router.in_flight;
    }
    if (cen_supervisor_stats_get(pool->connections, &connections) == CEN_OK) now.restarts = connections.restarts;
    cen_sized_write(out, &now, sizeof now);
    return CEN_OK;
}

size_t ceni_mux_pool_snapshot(const void *object, cen_metric *metrics, size_t room)
{
    cen_mux_pool_stats s = CEN_SIZED(cen_mux_pool_stats);
    if (cen_mux_pool_stats_get((cen_mux_pool *)(uintptr_t)object, &s) != CEN_OK) return 0;
    const cen_metric all[] = {
        {"connections", s.connections, CEN_GAUGE},
        {"up", s.up, CEN_GAUGE},
        {"connecting", s.connecting, CEN_GAUGE},
        {"down", s.down, CEN_GAUGE},
        {"opened", (int64_t)s.opened, CEN_COUNTER},
        {"lost", (int64_t)s.lost, CEN_COUNTER},
        {"failed_opens", (int64_t)s.failed_opens, CEN_COUNTER},
        {"restarts", (int64_t)s.restarts, CEN_COUNTER},
        {"registry_starts", (int64_t)s.registry_starts, CEN_COUNTER},
        {"waiting", s.waiting, CEN_GAUGE},
        {"in_flight", (int64_t)s.in_flight, CEN_GAUGE},
        {"answered", (int64_t)s.answered, CEN_COUNTER},
        {"lost_requests", (int64_t)s.lost_requests, CEN_COUNTER},
        {"timed_out", (int64_t)s.timed_out, CEN_COUNTER},
        {"refused", (int64_t)s.refused, CEN_COUNTER},
        {"cancelled", (int64_t)s.cancelled, CEN_COUNTER},
        {"closed", (int64_t)s.closed, CEN_COUNTER},
        {"failed", (int64_t)s.failed, CEN_COUNTER},
        {"rerouted", (int64_t)s.rerouted, CEN_COUNTER},
        {"stale", (int64_t)s.stale, CEN_COUNTER},
    };
    size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count && i < room; i++) metrics[i] = all[i];
    return count;
}

/* ---- Dump ----------------------------------------------------------------------------------------------- */

typedef struct page {
    char *at;
    size_t room;   /* bytes left, including the terminating zero */
    size_t length; /* of the whole text */
} page;

static void write_bytes(void *argument, const char *text, size_t length)
{
    page *self = argument;
    self->length += length;
    if (self->room == 0) return;
    size_t fits = length < self->room ? length : self->room - 1;
    memcpy(self->at, text, fits);
    self->at += fits;
    self->room -= fits;
    *self->at = 0;
}

__attribute__((format(printf, 2, 3))) static void write_text(page *self, const char *format, ...)
{
    char text[CEN_ERROR_TEXT_SIZE + 256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > 0) write_bytes(self, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

/* A copy of a connection's state, so that no lock is held while it is written. */
typedef struct row {
    const char *state;
    bool is_open;
    cen_mux_stats stats; /* of its mux, if it is open */
    cen_error error;
} row;

static void copy_connection(ceni_mux_connection *connection, row *out)
{
    cen_mux_pool *pool = connection->pool;
    *out = (row){.is_open = false, .stats = CEN_SIZED(cen_mux_stats)};
    ceni_mux_pool_lock(pool);
    ceni_mux_link *link = connection->link;
    out->state = !link ? "down" : link->state == CENI_LINK_OPEN ? "up" : "connecting";
    out->is_open = link && link->state == CENI_LINK_OPEN;
    if (out->is_open) cen_mux_stats_get(link->mux, &out->stats); /* the mux's lock ranks after the pool's */
    out->error = connection->error;
    ceni_mux_pool_unlock(pool);
}

static void write_connection(page *self, ceni_mux_connection *connection)
{
    row now;
    copy_connection(connection, &now);
    write_text(self, "  \"%s\" to %s: %s", connection->name, connection->address, now.state);
    if (now.is_open)
        write_text(self, ", %u in flight, %llu sent", now.stats.in_flight, (unsigned long long)now.stats.sent);
    if (now.error.status != CEN_OK) write_text(self, "; last: %s", now.error.text);
    write_text(self, "\n");
}

size_t cen_mux_pool_dump(cen_mux_pool *pool, char *buffer, size_t room)
{
    page self = {.at = buffer, .room = buffer ? room : 0};
    if (!pool || !ceni_fork_is(pool->epoch)) return 0;
    if (self.room > 0) *buffer = 0;
    cen_supervisor_dump_to(pool->root, write_bytes, &self);
    cen_router_stats routes = CEN_SIZED(cen_router_stats);
    cen_router_stats_get(pool->router, &routes);
    write_text(&self, "router \"%s\": %u up, %llu in flight, %u waiting\n", pool->name, routes.up + routes.full,
               (unsigned long long)routes.in_flight, routes.waiting);
    for (uint32_t i = 0; i < pool->count; i++) write_connection(&self, &pool->connection_at[i]);
    return self.length;
}

/* ---- Component description ---------------------------------------------------------------------------------- */

static void draw_connection(const cen_description_writer *description, ceni_mux_connection *connection)
{
    void *to = description->argument;
    row now;
    copy_connection(connection, &now);
    description->item(to);
    description->text(to, "name", connection->name);
    description->text(to, "address", connection->address);
    description->text(to, "state", now.state);
    if (now.is_open) {
        description->number(to, "in_flight", now.stats.in_flight);
        description->number(to, "waiting", now.stats.waiting);
        description->number(to, "sent", (int64_t)now.stats.sent);
        description->number(to, "replied", (int64_t)now.stats.replied);
    }
    if (now.error.status != CEN_OK) description->text(to, "last_error", now.error.text);
    description->end(to);
}

static void describe_pool(const void *object, const cen_description_writer *description, size_t most)
{
    cen_mux_pool *pool = (cen_mux_pool *)(uintptr_t)object;
    void *to = description->argument;
    size_t count = pool->count < most ? pool->count : most;
    ceni_mux_pool_lock(pool);
    bool gave_up = pool->gave_up;
    cen_error last = pool->last;
    ceni_mux_pool_unlock(pool);
    description->truth(to, "closed", ceni_setting(&pool->is_closed) != 0);
    description->truth(to, "gave_up", gave_up);
    description->number(to, "reroutes", pool->reroutes);
    if (pool->drain_ns != INT64_MAX) description->number(to, "drain_ns", pool->drain_ns);
    if (last.status != CEN_OK) description->text(to, "last_error", last.text);
    description->list(to, "connections");
    for (size_t i = 0; i < count; i++) draw_connection(description, &pool->connection_at[i]);
    description->end(to);
    if (pool->count > count) description->number(to, "connections_more", (int64_t)(pool->count - count));
}

const ceni_component_calls ceni_mux_pool_calls = {.description = describe_pool};

/* ---- Parts ------------------------------------------------------------------------------------------------ */

static bool is_ours(const cen_mux_pool *pool)
{
    return pool && ceni_fork_is(pool->epoch);
}

cen_router *cen_mux_pool_router(cen_mux_pool *pool)
{
    return is_ours(pool) ? pool->router : NULL;
}

cen_registry *cen_mux_pool_registry(cen_mux_pool *pool)
{
    return is_ours(pool) ? ceni_load_acquire(&pool->registry) : NULL; /* [K1] */
}

cen_supervisor *cen_mux_pool_supervisor(cen_mux_pool *pool)
{
    return is_ours(pool) ? pool->root : NULL;
}

cen_supervisor *cen_mux_pool_connections(cen_mux_pool *pool)
{
    return is_ours(pool) ? pool->connections : NULL;
}
