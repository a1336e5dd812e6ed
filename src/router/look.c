/* SPDX-License-Identifier: MIT */
/* Looking at a router: its numbers, and those of its members. */
#include "base/alloc.h"
#include "router/inside.h"
#include "router/use.h"

static uint64_t failed(const ceni_member *member)
{
    return ceni_load_relaxed(&((ceni_member *)(uintptr_t)member)->failed); /* a number by itself; carries nothing */
}

static void count_member(cen_router_stats *stats, const ceni_member *member)
{
    uint32_t *const by_state[] = {&stats->connecting, &stats->up, &stats->full, &stats->draining, &stats->down, &stats->ejected};
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

cen_status cen_router_look(cen_router *router, cen_router_stats *out)
{
    if (!router || !out) return CEN_INVALID;
    if (!ceni_fork_is(router->epoch)) return CEN_FORKED;
    ceni_router_lock(router);
    *out = read_locked(router);
    ceni_router_unlock(router);
    return CEN_OK;
}

size_t ceni_router_snapshot(const void *object, ceni_reading *readings, size_t room)
{
    cen_router_stats s;
    if (cen_router_look((cen_router *)(uintptr_t)object, &s) != CEN_OK) return 0;
    const ceni_reading all[] = {
        {"members", s.members},   {"up", s.up},           {"full", s.full},       {"connecting", s.connecting},
        {"draining", s.draining}, {"down", s.down},       {"ejected", s.ejected}, {"zombies", s.zombies},
        {"in_flight", (int64_t)s.in_flight}, {"uses", (int64_t)s.uses}, {"failed", (int64_t)s.failed},
        {"waiting", s.waiting},   {"waited", (int64_t)s.waited}, {"timeouts", (int64_t)s.timeouts},
        {"refused", (int64_t)s.refused}, {"empty", (int64_t)s.empty}, {"changes", (int64_t)s.changes},
    };
    size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count && i < room; i++) readings[i] = all[i];
    return count;
}

/* ---- Members one by one ------------------------------------------------------------------ */

/* A copy of what is shown, so that no lock is held while it is. */
typedef struct row {
    cen_member_stats stats;
    char name[CENI_MEMBER_NAME];
} row;

static void copy_locked(const ceni_member *member, row *out, int64_t now)
{
    ceni_member *m = (ceni_member *)(uintptr_t)member;
    memcpy(out->name, member->name, sizeof out->name);
    out->stats = (cen_member_stats){
        .value = member->cell->first.value,
        .state = cen_member_state_of(member->cell),
        .weight = member->weight,
        .in_flight = ceni_member_in_flight(member),
        .uses = ceni_member_uses(member),
        .failed = failed(member),
        .target = member->target == UINT64_MAX ? 0 : (int64_t)member->target,
        .max = member->max == UINT64_MAX ? 0 : (int64_t)member->max,
        .latency_ns = ceni_load_relaxed(&m->latency), /* a number by itself; carries nothing */
        .since_ns = now - member->since,
    };
}

cen_status cen_router_each(cen_router *router, void (*visit)(void *argument, const cen_member_stats *member), void *argument)
{
    if (!router || !visit) return CEN_INVALID;
    if (!ceni_fork_is(router->epoch)) return CEN_FORKED;
    ceni_router_lock(router);
    size_t room = router->member_count;
    ceni_router_unlock(router);
    size_t bytes = (room + 1) * sizeof(row);
    row *rows = ceni_alloc(router->allocator, bytes, _Alignof(row));
    if (!rows) return CEN_NO_MEMORY;
    size_t count = 0;
    ceni_router_lock(router);
    int64_t now = ceni_runtime_now(router->runtime);
    for (ceni_list *link = router->members.next; link != &router->members && count < room; link = link->next)
        copy_locked(CENI_LIST_ENTRY(link, ceni_member, link), &rows[count++], now);
    ceni_router_unlock(router);
    ceni_rank_expect_none("a visitor of a router's members");
    for (size_t i = 0; i < count; i++) {
        rows[i].stats.name = rows[i].name;
        visit(argument, &rows[i].stats);
    }
    ceni_free(router->allocator, rows, bytes, _Alignof(row));
    return CEN_OK;
}
