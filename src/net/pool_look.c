/* SPDX-License-Identifier: MIT */
/*
 * A look at a routing pool: numbers, words, and its parts.
 *
 * What requests count is in stripes, each thread on one of them, so that those who make
 * requests write no memory that others write all the time.
 *
 * Order table
 * tag  site     | operation        | order   | pairs with       | carries      | breaks if weakened
 * [K1] registry | load of registry | acquire | L3 in pool_line.c | the registry | the program looks at one half made
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

cen_status cen_mux_pool_look(cen_mux_pool *pool, cen_mux_pool_stats *out)
{
    if (!pool || !out) return CEN_INVALID;
    if (!ceni_fork_is(pool->epoch)) return CEN_FORKED;
    cen_router_stats router;
    cen_supervisor_stats connections;
    *out = (cen_mux_pool_stats){
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
    look_at_lines(pool, out);
    if (cen_router_look(pool->router, &router) == CEN_OK) {
        out->waiting = router.waiting;
        out->in_flight = router.in_flight;
    }
    if (cen_supervisor_look(pool->connections, &connections) == CEN_OK) out->restarts = connections.restarts;
    return CEN_OK;
}

size_t ceni_mux_pool_snapshot(const void *object, ceni_reading *readings, size_t room)
{
    cen_mux_pool_stats s;
    if (cen_mux_pool_look((cen_mux_pool *)(uintptr_t)object, &s) != CEN_OK) return 0;
    const ceni_reading all[] = {
        {"connections", s.connections},
        {"up", s.up},
        {"connecting", s.connecting},
        {"down", s.down},
        {"opened", (int64_t)s.opened},
        {"lost", (int64_t)s.lost},
        {"failed_opens", (int64_t)s.failed_opens},
        {"restarts", (int64_t)s.restarts},
        {"registry_starts", (int64_t)s.registry_starts},
        {"waiting", s.waiting},
        {"in_flight", (int64_t)s.in_flight},
        {"answered", (int64_t)s.answered},
        {"lost_requests", (int64_t)s.lost_requests},
        {"timed_out", (int64_t)s.timed_out},
        {"refused", (int64_t)s.refused},
        {"cancelled", (int64_t)s.cancelled},
        {"closed", (int64_t)s.closed},
        {"failed", (int64_t)s.failed},
        {"rerouted", (int64_t)s.rerouted},
        {"stale", (int64_t)s.stale},
    };
    size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count && i < room; i++) readings[i] = all[i];
    return count;
}

/* ---- In words ------------------------------------------------------------------------------------------- */

typedef struct page {
    char *at;
    size_t room;   /* what is left, the zero included */
    size_t length; /* of the whole */
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

/* One line, by a copy: no lock is held while it is written. */
static void write_line(page *self, ceni_mux_line *line)
{
    cen_mux_pool *pool = line->pool;
    cen_mux_stats stats = {.in_flight = 0};
    ceni_mux_pool_lock(pool);
    ceni_mux_link *link = line->link;
    const char *state = !link ? "down" : link->state == CENI_LINK_OPEN ? "up" : "connecting";
    bool is_open = link && link->state == CENI_LINK_OPEN;
    if (is_open) cen_mux_look(link->mux, &stats); /* its lock comes after the pool's */
    cen_error error = line->error;
    ceni_mux_pool_unlock(pool);
    write_text(self, "  %s to %s: %s", line->name, line->address, state);
    if (is_open) write_text(self, ", %u in flight, %llu sent", stats.in_flight, (unsigned long long)stats.sent);
    if (error.status != CEN_OK) write_text(self, "; last: %s", error.text);
    write_text(self, "\n");
}

size_t cen_mux_pool_dump(cen_mux_pool *pool, char *buffer, size_t room)
{
    page self = {.at = buffer, .room = buffer ? room : 0};
    if (!pool || !ceni_fork_is(pool->epoch)) return 0;
    if (self.room > 0) *buffer = 0;
    cen_supervisor_dump_to(pool->root, write_bytes, &self);
    cen_router_stats routes = {.up = 0};
    cen_router_look(pool->router, &routes);
    write_text(&self, "router %s: %u up, %llu in flight, %u wait\n", pool->name, routes.up + routes.full,
               (unsigned long long)routes.in_flight, routes.waiting);
    for (uint32_t i = 0; i < pool->count; i++) write_line(&self, &pool->lines[i]);
    return self.length;
}

/* ---- Its parts -------------------------------------------------------------------------------------------- */

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
