/* SPDX-License-Identifier: MIT */
/*
 * Routes: picking a member, beginning a use, and ending it. Every request takes these paths. Where there is no room at
 * once, backlog.c goes on.
 *
 * Order table
 * [O1] peek and route, set   | load | acquire | S1 in set.c  | the set and its members | a pick reads an array that is not filled in
 * [O3] done, count           | sub  | seq_cst | M1 in ends.c; C1 in use.c | what was done with the member; `waiting` | the member is freed while it is used, or a request waits while there is room (I4, I6)
 * [O5] done, waiting         | load | seq_cst | B1 in backlog.c, add | the count | a request waits while there is room (I6)
 */
#include "base/error.h"
#include "router/backlog.h"
#include "router/member.h"
#include "router/set.h"
#include "router/use.h"
#include "sync/future.h"

static const cen_route_hint no_wish;

/* Undo a use that the strategy counted and that did not begin. */
static void unpick(cen_router *router, cen_member *member)
{
    if (router->type->ended) router->type->ended(router->state, member, -1, false);
}

/* The strategy's choice. If that is the member to avoid, another one is tried. */
__attribute__((noinline)) static cen_member *choose_by_wish(cen_router *router, const cen_member_set *set,
                                                            const cen_route_hint *pick, bool used)
{
    enum { TRIES = 4 };
    for (unsigned i = 0;; i++) {
        cen_member *member = router->type->pick(router->state, set, pick, used);
        if (member != pick->avoid || set->count == 1) return member;
        if (i + 1 == TRIES) {
            uint32_t from = ceni_route_below(set->count);
            for (uint32_t k = 0; k < set->count; k++) {
                cen_member *other = ceni_set_at(set, (from + k) % set->count);
                if (other == member) continue;
                if (used) unpick(router, member);
                if (used && router->type->begun) router->type->begun(router->state, other);
                return other;
            }
            return member;
        }
        if (used) unpick(router, member);
    }
}

static inline cen_member *choose(cen_router *router, const cen_member_set *set, const cen_route_hint *pick, bool used)
{
    /* The two strategies that share nothing are picked inline. */
    uint32_t quick = ceni_setting(&router->quick);
    if (__builtin_expect(pick != NULL, 0)) return choose_by_wish(router, set, pick, used);
    if (quick == CEN_QUICK_RANDOM_) return ceni_pick_random(set);
    if (quick == CEN_QUICK_ROUND_) return ceni_pick_round(router->state, set);
    return router->type->pick(router->state, set, &no_wish, used);
}

cen_status cen_router_peek(cen_router *router, const cen_route_hint *pick, cen_member **out)
{
    if (!router || !out) return CEN_INVALID;
    if (!ceni_fork_is(router->epoch)) return CEN_FORKED;
    const cen_member_set *set = ceni_load_acquire(&router->set); /* [O1] */
    if (__builtin_expect(set->count == 0, 0)) return ceni_setting(&router->closed) ? CEN_CLOSED : CEN_EMPTY;
    *out = choose(router, set, pick, false);
    return CEN_OK;
}

/* If the member has reached its target, pick a few others: the first below its target, or the one with the fewest
 * uses. */
__attribute__((noinline)) static cen_member *relieve(cen_router *router, const cen_member_set *set,
                                                     const cen_route_hint *pick, cen_member *member)
{
    enum { TRIES = 3 };
    for (unsigned i = 0; i < TRIES && cen_member_load(member) >= ceni_member_of(member)->target; i++) {
        cen_member *other = choose(router, set, pick, true);
        if (cen_member_load(other) < cen_member_load(member)) {
            unpick(router, member);
            member = other;
        } else {
            unpick(router, other);
        }
    }
    return member;
}

/* Pick a member and begin a use. Called in a section, or under the lock. The set is not empty. */
static inline ceni_begun pick_and_begin(cen_router *router, const cen_member_set *set, const cen_route_hint *pick,
                                        cen_route *out)
{
    cen_member *member = choose(router, set, pick, true);
    /* Read after the set: `limits` is set before a set with such a member is published. */
    bool limits = ceni_setting(&router->limits) != 0;
    if (__builtin_expect(limits && ceni_member_of(member)->targeted, 0)) member = relieve(router, set, pick, member);
    ceni_begun begun = ceni_use_begin(router, member, limits, out);
    if (begun == CENI_NOT_BEGUN) unpick(router, member);
    return begun;
}

ceni_begun ceni_route_find_locked(cen_router *router, const cen_route_hint *pick, cen_route *out)
{
    ceni_set *set = ceni_set_locked(router);
    if (set->seen.count == 0) return CENI_NOT_BEGUN;
    ceni_begun begun = pick_and_begin(router, &set->seen, pick, out);
    if (begun != CENI_NOT_BEGUN) return begun;
    uint32_t from = ceni_route_below(set->seen.count);
    for (uint32_t i = 0; i < set->seen.count; i++) {
        cen_member *member = ceni_set_at(&set->seen, (from + i) % set->seen.count);
        begun = ceni_use_begin(router, member, true, out);
        if (begun == CENI_NOT_BEGUN) continue;
        if (router->type->begun) router->type->begun(router->state, member);
        return begun;
    }
    return CENI_NOT_BEGUN;
}

/* The slow path: the use has not begun, or was the member's last. */
__attribute__((noinline)) static cen_status route_slowly(cen_router *router, const cen_route_hint *pick,
                                                         cen_deadline deadline, cen_route *out, cen_error *error,
                                                         ceni_begun begun)
{
    if (begun == CENI_NOT_BEGUN) return ceni_route_wait(router, pick, deadline, out, error);
    ceni_member_used_up(ceni_member_of(out->member));
    return CEN_OK;
}

cen_status cen_router_route(cen_router *router, const cen_route_hint *pick, cen_deadline deadline, cen_route *out,
                            cen_error *error)
{
    if (!router || !out)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_router_route: router and out must not be NULL");
    if (__builtin_expect(!ceni_fork_is(router->epoch), 0))
        return ceni_error_set(error, CEN_FORKED, 0, "router \"%s\": it belongs to the parent process", router->name);
    ceni_begun begun = CENI_NOT_BEGUN;
    ceni_read_begin();
    const cen_member_set *set = ceni_load_acquire(&router->set); /* [O1] */
    /* Waiters come first. This is only for fairness: the lock decides which request waits. */
    if (__builtin_expect(set->count > 0 && ceni_setting(&router->waiting) == 0, 1))
        begun = pick_and_begin(router, set, pick, out);
    ceni_read_end();
    if (__builtin_expect(begun == CENI_BEGUN, 1)) return CEN_OK;
    return route_slowly(router, pick, deadline, out, error, begun);
}

static cen_status standing(const cen_route *route, cen_stripe_ *stripe)
{
    return ceni_setting(&stripe->life) != CEN_TAG_LIFE_(route->tag_) ? CEN_DOWN : CEN_OK;
}

cen_status cen_route_check(const cen_route *route)
{
    if (!route) return CEN_INVALID;
    if (!route->member) return CEN_STALE;
    if (!ceni_fork_is(ceni_member_of(route->member)->router->epoch)) return CEN_FORKED;
    return standing(route, cen_stripe_of_(route->member, CEN_TAG_OFFSET_(route->tag_)));
}

/* Record latency and failure, and report the end to the strategy. */
static void judge(cen_router *router, const cen_route *route, cen_outcome outcome, int64_t latency_ns)
{
    ceni_member *member = ceni_member_of(route->member);
    if (outcome == CEN_OUTCOME_FAILED) ceni_add_relaxed(&member->failed, 1); /* a number by itself; carries nothing */
    if (router->clocked && latency_ns <= 0) {
        latency_ns = ceni_runtime_now(router->runtime) - route->begun_;
        if (latency_ns <= 0) latency_ns = 1;
    }
    if (outcome == CEN_OUTCOME_CANCELLED) latency_ns = -1;
    else if (latency_ns > 0 && !(router->type->needs & CEN_STRATEGY_LATENCY))
        ceni_store_relaxed(&member->latency, latency_ns); /* a number by itself; carries nothing */
    if (router->latency && latency_ns > 0 && ceni_route_below(CENI_LATENCY_ONE_IN) == 0)
        ceni_live_histogram_record(router->latency, latency_ns);
    if (router->type->ended)
        router->type->ended(router->state, route->member, latency_ns, outcome == CEN_OUTCOME_FAILED);
}

/* The last use of a watched member has ended: no other thread will touch the member. */
static void end_member(ceni_member *member)
{
    cen_router *router = member->router;
    CENI_INLINE_AT_END;
    ceni_router_lock(router);
    router->hands++;
    ceni_member_uses_ended_locked(member);
    ceni_router_unlock(router);
    ceni_router_settle(router, NULL);
}

__attribute__((noinline)) void cen_member_use_ended_(cen_member *cell)
{
    ceni_member *member = ceni_member_of(cell);
    if (ceni_member_stripe_ended(member)) end_member(member);
}

/* End a use. The last touch of the member, unless this was its last use (I5). */
static inline void end_use(cen_member *cell, cen_stripe_ *stripe)
{
    uint64_t before = ceni_sub_seq_cst(&stripe->word, 1); /* [O3] */
    if (__builtin_expect(CEN_WAS_LAST_(before), 0)) cen_member_use_ended_(cell);
}

/* End a use of a member with a limit: a request may wait for the room. */
static void end_limited(cen_router *router, ceni_member *member, cen_stripe_ *stripe)
{
    ceni_list ready;
    ceni_list_init(&ready);
    CENI_INLINE_AT_END;
    /* Once the use has ended, member and router may be gone, but not before the section ends (I5). */
    ceni_read_begin();
    uint64_t before = ceni_sub_seq_cst(&stripe->word, 1);       /* [O3] */
    bool waited_for = ceni_load_seq_cst(&router->waiting) != 0; /* [O5] */
    if (ceni_planted(done_tells_nobody)) waited_for = false;
    bool last = CEN_WAS_LAST_(before) && ceni_member_stripe_ended(member);
    if (waited_for) {
        ceni_router_lock(router);
        router->hands++;
        ceni_backlog_serve_locked(router, member, &ready);
        ceni_router_unlock(router);
    }
    ceni_read_end();
    if (waited_for) ceni_router_settle(router, &ready);
    if (last) end_member(member);
}

/* End a use when the door is shut, or when the outcome must be recorded. */
__attribute__((noinline)) static cen_status done_slowly(cen_route *route, cen_outcome outcome, int64_t latency_ns)
{
    cen_member *cell = route->member;
    ceni_member *member = ceni_member_of(cell);
    cen_router *router = member->router;
    cen_stripe_ *stripe = cen_stripe_of_(cell, CEN_TAG_OFFSET_(route->tag_));
    if (!ceni_fork_is(router->epoch)) return CEN_FORKED;
    if (router->judged || outcome != CEN_OUTCOME_OK) judge(router, route, outcome, latency_ns);
    cen_status status = standing(route, stripe);
    route->member = NULL;
    if (member->limited) end_limited(router, member, stripe);
    else end_use(cell, stripe);
    return status;
}

cen_status cen_route_done(cen_route *route, cen_outcome outcome, int64_t latency_ns)
{
    if (!route || outcome > CEN_OUTCOME_CANCELLED) return CEN_INVALID;
    cen_member *cell = route->member;
    if (!cell) return CEN_STALE;
    cen_stripe_ *stripe = cen_stripe_of_(cell, CEN_TAG_OFFSET_(route->tag_));
    /* The value of the door does not matter. If it is not 0, only the stripe need be touched (I8). A use with a limit
     * is on the first stripe, whose door is never open; carries nothing. */
    bool usual = outcome == CEN_OUTCOME_OK && ceni_load_relaxed((_Atomic uint64_t *)(uintptr_t)stripe->door) != 0;
    if (__builtin_expect(!usual, 0)) return done_slowly(route, outcome, latency_ns);
    cen_status status = standing(route, stripe);
    route->member = NULL;
    end_use(cell, stripe);
    return status;
}

/* ---- For the inline functions of quick_route.h -------------------------------------------- */

unsigned cen_router_layout_(void)
{
    return CEN_ROUTER_LAYOUT_;
}

uint64_t cen_router_random_(void)
{
    return ceni_route_random();
}

uint32_t cen_router_stripe_(void)
{
    return ceni_route_stripe();
}
