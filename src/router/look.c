/* SPDX-License-Identifier: MIT */
/* A router's statistics, those of its members, and its description. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "router/internal.h"
#include "router/use.h"

enum { CAUSE = 200 }; /* bytes of a cause that are shown */

static uint64_t failed(const ceni_member *member)
{
    return ceni_load_relaxed(&((ceni_member *)(uintptr_t)member)->failed); /* a number by itself; carries nothing */
}

static void count_member(cen_router_stats *stats, const ceni_member *member)
{
    uint32_t *const by_state[] = {&stats->connecting, &stats->up,   &stats->full,
                                  &stats->draining,   &stats->down, &stats->ejected};
    ++*by_state[cen_member_state_of(member->cell)];
    stats->in_flight += ceni_member_in_flight(member);
    stats->uses += ceni_member_uses(member);
    stats->failed += failed(member);
}

static cen_router_stats read_locked(const cen_router *router)
{
    cen_router_stats stats = {
        .members = router->member_count,
        .zombies = router->zombie_count,
        .uses = router->uses_gone,
        .failed = router->failed_gone,
        .waiting = ceni_setting(&((cen_router *)(uintptr_t)router)->waiting),
        .waited = router->waited,
        .timeouts = router->timeouts,
        .refused = router->refused,
        .empty = router->empty,
        .changes = router->changes,
    };
    for (ceni_list *link = router->members.next; link != &router->members; link = link->next)
        count_member(&stats, CENI_LIST_ENTRY(link, ceni_member, link));
    for (ceni_list *link = router->zombies.next; link != &router->zombies; link = link->next) {
        const ceni_member *member = CENI_LIST_ENTRY(link, ceni_member, link);
        stats.in_flight += ceni_member_in_flight(member);
        stats.uses += ceni_member_uses(member);
        stats.failed += failed(member);
    }
    return stats;
}

cen_status cen_router_stats_get(cen_router *router, cen_router_stats *out)
{
    if (!router) return CEN_INVALID;
    if (!ceni_fork_is(router->epoch)) return CEN_FORKED;
    cen_status status = cen_sized_check(out, sizeof *out, "cen_router_stats_get: out", NULL);
    if (status != CEN_OK) return status;
    ceni_router_lock(router);
    cen_router_stats now = read_locked(router);
    ceni_router_unlock(router);
    cen_sized_write(out, &now, sizeof now);
    return CEN_OK;
}

size_t ceni_router_snapshot(const void *object, cen_metric *metrics, size_t room)
{
    cen_router_stats s = CEN_SIZED(cen_router_stats);
    if (cen_router_stats_get((cen_router *)(uintptr_t)object, &s) != CEN_OK) return 0;
    const cen_metric all[] = {
        {"members", s.members, CEN_GAUGE},
        {"up", s.up, CEN_GAUGE},
        {"full", s.full, CEN_GAUGE},
        {"connecting", s.connecting, CEN_GAUGE},
        {"draining", s.draining, CEN_GAUGE},
        {"down", s.down, CEN_GAUGE},
        {"ejected", s.ejected, CEN_GAUGE},
        {"zombies", s.zombies, CEN_GAUGE},
        {"in_flight", (int64_t)s.in_flight, CEN_GAUGE},
        {"uses", (int64_t)s.uses, CEN_COUNTER},
        {"failed", (int64_t)s.failed, CEN_COUNTER},
        {"waiting", s.waiting, CEN_GAUGE},
        {"waited", (int64_t)s.waited, CEN_COUNTER},
        {"timeouts", (int64_t)s.timeouts, CEN_COUNTER},
        {"refused", (int64_t)s.refused, CEN_COUNTER},
        {"empty", (int64_t)s.empty, CEN_COUNTER},
        {"changes", (int64_t)s.changes, CEN_COUNTER},
    };
    size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count && i < room; i++) metrics[i] = all[i];
    return count;
}

/* ---- Members one by one ------------------------------------------------------------------ */

/* A copy of a member's statistics, so that no lock is held while they are written. */
typedef struct row {
    cen_member_stats stats;
    char name[CENI_MEMBER_NAME];
    char cause[CAUSE]; /* of the last down; empty: none is known */
} row;

static void copy_locked(const ceni_member *member, row *out, int64_t now)
{
    ceni_member *m = (ceni_member *)(uintptr_t)member;
    memcpy(out->name, member->name, sizeof out->name);
    snprintf(out->cause, sizeof out->cause, "%.199s", member->cause.status != CEN_OK ? member->cause.text : "");
    out->stats = (cen_member_stats){
        .size = sizeof out->stats,
        .value = member->cell->first.value,
        .state = cen_member_state_of(member->cell),
        .weight = member->weight,
        .in_flight = ceni_member_in_flight(member),
        .uses = ceni_member_uses(member),
        .failed = failed(member),
        .target_in_flight = member->target == UINT64_MAX ? 0 : (int64_t)member->target,
        .max_in_flight = member->max == UINT64_MAX ? 0 : (int64_t)member->max,
        .latency_ns = ceni_load_relaxed(&m->latency), /* a number by itself; carries nothing */
        .since_ns = now - member->since,
    };
}

/* Copy up to `most` members, to be freed with free_rows. NULL: out of memory. */
static row *copy_rows(cen_router *router, size_t most, size_t *count, size_t *bytes)
{
    ceni_router_lock(router);
    size_t room = router->member_count < most ? router->member_count : most;
    ceni_router_unlock(router);
    *bytes = (room + 1) * sizeof(row);
    *count = 0;
    row *rows = ceni_alloc(router->allocator, *bytes, _Alignof(row));
    if (!rows) return NULL;
    ceni_router_lock(router);
    int64_t now = ceni_runtime_now(router->runtime);
    for (ceni_list *link = router->members.next; link != &router->members && *count < room; link = link->next)
        copy_locked(CENI_LIST_ENTRY(link, ceni_member, link), &rows[(*count)++], now);
    ceni_router_unlock(router);
    for (size_t i = 0; i < *count; i++) rows[i].stats.name = rows[i].name;
    return rows;
}

static void free_rows(cen_router *router, row *rows, size_t bytes)
{
    ceni_free(router->allocator, rows, bytes, _Alignof(row));
}

cen_status cen_router_each(cen_router *router, void (*visit)(void *argument, const cen_member_stats *member),
                           void *argument)
{
    size_t count, bytes;
    if (!router || !visit) return CEN_INVALID;
    if (!ceni_fork_is(router->epoch)) return CEN_FORKED;
    row *rows = copy_rows(router, SIZE_MAX, &count, &bytes);
    if (!rows) return CEN_NO_MEMORY;
    ceni_rank_expect_none("a visitor of a router's members");
    int held = ceni_cancel_hold(); /* a thread that ended in there would leak the rows */
    for (size_t i = 0; i < count; i++) visit(argument, &rows[i].stats);
    ceni_cancel_release(held);
    free_rows(router, rows, bytes);
    return CEN_OK;
}

/* ---- The description ---------------------------------------------------------------------- */

static void write_row(const cen_description_writer *description, const row *self)
{
    const cen_member_stats *s = &self->stats;
    void *to = description->argument;
    description->item(to);
    description->text(to, "name", self->name);
    description->text(to, "state", cen_member_state_name(s->state));
    description->number(to, "since_ns", s->since_ns);
    description->number(to, "in_flight", (int64_t)s->in_flight);
    description->number(to, "uses", (int64_t)s->uses);
    description->number(to, "failed", (int64_t)s->failed);
    if (s->latency_ns > 0) description->number(to, "latency_ns", s->latency_ns);
    description->number(to, "weight", s->weight);
    if (s->target_in_flight > 0) description->number(to, "target_in_flight", s->target_in_flight);
    if (s->max_in_flight > 0) description->number(to, "max_in_flight", s->max_in_flight);
    if (self->cause[0]) description->text(to, "last_error", self->cause);
    description->end(to);
}

static void describe_router(const void *object, const cen_description_writer *description, size_t most)
{
    cen_router *router = (cen_router *)(uintptr_t)object;
    void *to = description->argument;
    cen_router_stats stats = CEN_SIZED(cen_router_stats);
    size_t count, bytes;
    if (cen_router_stats_get(router, &stats) != CEN_OK) return;
    row *rows = copy_rows(router, most, &count, &bytes);
    description->text(to, "strategy", router->type->name);
    description->truth(to, "measured", router->clocked);
    description->truth(to, "closed", ceni_setting(&router->closed) != 0);
    description->number(to, "max_waiters", router->backlog_max);
    if (router->target > 0) description->number(to, "target_in_flight", router->target);
    if (router->max > 0) description->number(to, "max_in_flight", router->max);
    if (router->max_uses > 0) description->number(to, "max_uses", router->max_uses);
    if (router->max_lifetime_ns > 0) description->number(to, "max_lifetime_ns", router->max_lifetime_ns);
    description->list(to, "members");
    for (size_t i = 0; i < count; i++) write_row(description, &rows[i]);
    description->end(to);
    if (stats.members > count) description->number(to, "members_more", (int64_t)(stats.members - count));
    if (rows) free_rows(router, rows, bytes);
}

static bool copy_histogram(const void *object, size_t index, cen_histogram_header *timing, cen_histogram *out)
{
    const cen_router *router = object;
    if (index > 0 || !router->latency || !ceni_fork_is(router->epoch)) return false;
    *timing = (cen_histogram_header){.name = "latency", .one_in = CENI_LATENCY_ONE_IN};
    ceni_live_histogram_snapshot(router->latency, out);
    return true;
}

const ceni_component_calls ceni_router_calls = {.histogram = copy_histogram, .description = describe_router};
