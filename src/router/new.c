/* SPDX-License-Identifier: MIT */
/*
 * Creating, closing and freeing a router.
 *
 * cen_router_free drops the program's hand. The rest of the router, kept for routes that are not done, alarms that run
 * and memory in the bin, is freed with the last hand (I7).
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "base/statics.h"
#include "port/deadline.h"
#include "record/events.h"
#include "router/backlog.h"
#include "router/member.h"
#include "router/set.h"
#include "sync/future.h"

enum { DEFAULT_BACKLOG = 1024, MOST_BACKLOG = INT32_MAX };

static CENI_STATIC _Atomic uint64_t numbers; /* of routers, ever */

/* Copy a strategy that another version compiled: functions that it does not have are NULL. */
static cen_status read_strategy(const cen_strategy_type *given, cen_strategy_type *type, cen_error *error)
{
    cen_status status = cen_sized_read(type, sizeof *type, given, "cen_router_new: options.strategy.type", error);
    if (status != CEN_OK) return status;
    if (!type->pick || !type->name)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_router_new: options.strategy.type needs name and pick");
    if (type->arrange && !type->table_size)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_router_new: strategy \"%s\": arrange needs table_size",
                              type->name);
    return CEN_OK;
}

static cen_status read_options(const cen_router_options *given, cen_router_options *o, cen_strategy_type *type,
                               cen_error *error)
{
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_router_new: options", error);
    if (status != CEN_OK) return status;
    const int64_t limits[] = {o->target_in_flight, o->max_in_flight, o->max_uses, o->max_lifetime_ns};
    static const char *const names[] = {"target_in_flight", "max_in_flight", "max_uses", "max_lifetime_ns"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i] < CEN_OFF)
            return ceni_error_set(error, CEN_INVALID, 0,
                                  "cen_router_new: options.%s must not be below CEN_OFF (got %lld)", names[i],
                                  (long long)limits[i]);
    if (cen_time_is_tiny(o->max_lifetime_ns))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_router_new: options.max_lifetime_ns " CEN_TIME_IS_TINY,
                              (long long)o->max_lifetime_ns);
    if (o->max_waiters < CEN_NONE)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "cen_router_new: options.max_waiters must not be below CEN_NONE (got %lld)",
                              (long long)o->max_waiters);
    if (o->max_waiters > MOST_BACKLOG)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "cen_router_new: options.max_waiters must be at most %d (got %lld)", MOST_BACKLOG,
                              (long long)o->max_waiters);
    return o->strategy.type ? read_strategy(o->strategy.type, type, error) : CEN_OK;
}

/* The inline pick of the strategy. A router that needs to know how uses end has none: they end by calls. */
static uint32_t quick_pick(const cen_router *router)
{
    if (router->judged) return CEN_QUICK_NONE_;
    if (router->type == cen_strategy_random().type) return CEN_QUICK_RANDOM_;
    if (router->type == cen_strategy_round_robin().type) return CEN_QUICK_ROUND_;
    if (router->type == cen_strategy_two_choices().type) return CEN_QUICK_TWO_;
    return CEN_QUICK_NONE_;
}

/* Take a door that can open, if one is free and the strategy has an inline pick. */
static void choose_door(cen_router *router)
{
    router->door = ceni_setting(&router->quick) != CEN_QUICK_NONE_ ? ceni_fork_take_word() : NULL;
    if (!router->door) router->door = &router->shut;
    router->hot.door = router->door;
}

static void fill(cen_router *router, const cen_router_options *o)
{
    router->epoch = ceni_fork_epoch();
    router->type = o->strategy.type ? o->strategy.type : cen_strategy_two_choices().type;
    if (router->type->size < sizeof *router->type) router->type = &router->older_type;
    router->number = ceni_add_relaxed(&numbers, 1) + 1; /* a number by itself; carries nothing */
    router->clocked = o->measure || (router->type->needs & CEN_STRATEGY_LATENCY);
    router->judged = router->clocked || router->type->ended;
    router->loaded = (router->type->needs & CEN_STRATEGY_LOAD) != 0;
    router->allocator = o->allocator;
    router->target = o->target_in_flight;
    router->max = o->max_in_flight;
    router->max_uses = o->max_uses;
    router->max_lifetime_ns = o->max_lifetime_ns;
    router->backlog_max = o->max_waiters == 0          ? DEFAULT_BACKLOG
                          : o->max_waiters == CEN_NONE ? 0
                          : o->max_waiters == CEN_OFF  ? MOST_BACKLOG
                                                       : (uint32_t)o->max_waiters;
    router->deadline = ceni_deadline_or(o->default_deadline, CEN_NOW);
    router->stripes = ceni_route_stripes();
    router->changed = o->changed;
    router->argument = o->argument;
    router->hands = 1;
    router->alarm_at = CENI_FOREVER;
    snprintf(router->name, sizeof router->name, "%s", o->name ? o->name : "router");
    ceni_setting_put(&router->quick, quick_pick(router));
    choose_door(router);
    ceni_list_init(&router->blocks);
    ceni_store_relaxed(&router->set, &router->none.seen); /* no other thread knows it yet; carries nothing */
    ceni_list_init(&router->members);
    ceni_list_init(&router->zombies);
    ceni_list_init(&router->backlog);
    ceni_list_init(&router->events);
    ceni_list_init(&router->followings);
    ceni_wheel_init(&router->wheel, ceni_runtime_now(router->runtime));
    ceni_alarm_init(&router->alarm, ceni_router_alarm);
    ceni_bin_init(&router->bin, router->runtime);
    router->entry = (ceni_directory_entry){.kind = "router",
                                           .name = router->name,
                                           .snapshot = ceni_router_snapshot,
                                           .object = router,
                                           .calls = &ceni_router_calls};
}

/* Free a router that no other thread knows. */
static void let_go(cen_router *router)
{
    cen_runtime *runtime = router->runtime;
    if (router->door != &router->shut) ceni_fork_give_word(router->door);
    if (router->latency) ceni_free(router->allocator, router->latency, sizeof *router->latency, CENI_CACHE_LINE);
    ceni_free(router->allocator, router, sizeof *router, CENI_CACHE_LINE);
    ceni_runtime_leave(runtime);
}

/* Every thread writes to the histogram, so only one in CENI_LATENCY_ONE_IN uses is recorded. */
static cen_status make_latency(cen_router *router, cen_error *error)
{
    if (!router->clocked) return CEN_OK;
    router->latency = ceni_alloc(router->allocator, sizeof *router->latency, CENI_CACHE_LINE);
    if (!router->latency) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_router_new: out of memory");
    ceni_live_histogram_init(router->latency);
    return CEN_OK;
}

cen_status cen_router_new(const cen_router_options *given, cen_router **out, cen_error *error)
{
    cen_router_options known;
    const cen_router_options *options = &known;
    cen_strategy_type type;
    if (!given || !out)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_router_new: options and out must not be NULL");
    cen_status status = read_options(given, &known, &type, error);
    if (status != CEN_OK) return status;
    cen_router *router = ceni_alloc(options->allocator, sizeof *router, CENI_CACHE_LINE);
    if (!router) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_router_new: out of memory");
    status = ceni_runtime_join(options->runtime, &router->runtime);
    if (status != CEN_OK) {
        ceni_free(options->allocator, router, sizeof *router, CENI_CACHE_LINE);
        return ceni_error_set(error, status, 0, "cen_router_new: cannot use the runtime: %s", cen_status_text(status));
    }
    if (options->strategy.type) router->older_type = type;
    fill(router, options);
    status = make_latency(router, error);
    if (status != CEN_OK) {
        let_go(router);
        return status;
    }
    ceni_rcu_join();
    if (router->type->init) {
        cen_error said = {.status = CEN_OK};
        status = router->type->init(options->strategy.argument, router->allocator, &router->state, &said);
        if (status != CEN_OK) {
            if (said.status == CEN_OK)
                ceni_error_set(&said, status, 0, "cen_router_new: strategy \"%s\" failed to initialise: %s",
                               router->type->name, cen_status_text(status));
            if (error) *error = said;
            let_go(router);
            return status;
        }
    }
    ceni_directory_join(ceni_directory_process(), &router->entry);
    *out = router;
    return CEN_OK;
}

/* ---- The end -------------------------------------------------------------------------- */

/* The last hand was dropped, and the bin is empty. */
static void release(ceni_bin *bin)
{
    cen_router *router = CENI_LIST_ENTRY(bin, cen_router, bin);
    if (router->type->fini) router->type->fini(router->state, router->allocator);
    let_go(router);
}

void ceni_router_drop(cen_router *router)
{
    ceni_router_lock(router);
    bool last = --router->hands == 0;
    ceni_router_unlock(router);
    if (last) ceni_bin_abandon(&router->bin, release);
}

static uint64_t in_flight_locked(const cen_router *router)
{
    uint64_t sum = 0;
    const ceni_list *lists[] = {&router->members, &router->zombies};
    for (size_t i = 0; i < 2; i++)
        for (const ceni_list *link = lists[i]->next; link != lists[i]; link = link->next)
            sum += ceni_member_in_flight(CENI_LIST_ENTRY(link, ceni_member, link));
    return sum;
}

/* Refuse picks from now on, and end all waits with CLOSED. Return how many waited. */
static uint32_t refuse_from_now_on(cen_router *router)
{
    ceni_list ready;
    ceni_list_init(&ready);
    ceni_router_lock(router);
    router->hands++;
    if (!ceni_setting(&router->closed)) ceni_event_tell(CEN_LEVEL_NOTICE, CEN_EVENT_CLOSED, &router->entry, 0, NULL);
    ceni_setting_put(&router->closed, 1u);
    for (ceni_list *link = router->members.next; link != &router->members; link = link->next) {
        ceni_member *member = CENI_LIST_ENTRY(link, ceni_member, link);
        if (member->in_set && router->type->left) router->type->left(router->state, member->cell);
        member->in_set = false;
    }
    router->in_set = 0;
    if (ceni_set_locked(router) != &router->none) ceni_set_publish_locked(router, &router->none);
    uint32_t waited = ceni_backlog_send_away_locked(router, &ready);
    ceni_router_unlock(router);
    ceni_router_settle(router, &ready);
    return waited;
}

/* Wait until no use is in flight, and return how many are left. Called after a grace period: no use begins. `moment` is
 * on the runtime's clock: a virtual moment is compared, never slept until. */
static uint64_t await_uses(cen_router *router, int64_t moment)
{
    /* In a section no grace period has passed, and the deadline is CEN_NOW: uses may still begin, so members are not
     * watched. */
    bool watches = !ceni_read_is_open() && !ceni_planted(close_watches_nobody);
    ceni_router_lock(router);
    for (ceni_list *link = router->members.next; watches && link != &router->members; link = link->next)
        ceni_member_watch_now_locked(CENI_LIST_ENTRY(link, ceni_member, link));
    for (;;) {
        uint64_t left = in_flight_locked(router);
        uint32_t ends = ceni_load_relaxed(&router->ends); /* changed under the lock, which is held; carries nothing */
        ceni_router_unlock(router);
        if (left == 0 || moment <= ceni_runtime_now(router->runtime)) return left;
        int64_t until = ceni_runtime_tend(router->runtime);
        if (moment < until && !ceni_runtime_is_virtual(router->runtime)) until = moment;
        ceni_futex_wait(&router->ends, ends, until);
        ceni_router_lock(router);
    }
}

static cen_status refuse_close(const cen_router *router, cen_status status, const char *why, cen_error *error)
{
    if (!router) return ceni_error_set(error, CEN_INVALID, 0, "cen_router_close: router is NULL");
    return ceni_error_set(error, status, 0, "router \"%s\": %s", router->name, why);
}

cen_status cen_router_close(cen_router *router, cen_deadline deadline, cen_router_report *report, cen_error *error)
{
    if (!router) return refuse_close(NULL, CEN_INVALID, NULL, error);
    if (!ceni_fork_is(router->epoch))
        return refuse_close(router, CEN_FORKED, "it belongs to the parent process", error);
    if (report && cen_sized_check(report, sizeof *report, "cen_router_close: report", error) != CEN_OK)
        return CEN_INVALID;
    deadline = ceni_deadline_or(deadline, CEN_NOW);
    if (!ceni_deadline_is_now(deadline) && ceni_read_is_open())
        return refuse_close(router, CEN_MISUSE, "a close must not wait in a read section", error);
    CENI_INLINE_AT_END;
    uint32_t waited = refuse_from_now_on(router);
    if (!ceni_read_is_open()) ceni_rcu_wait();
    uint64_t left = await_uses(router, ceni_deadline_moment(deadline, ceni_runtime_now(router->runtime)));
    const cen_router_report whole = {.left = left, .waited = waited};
    if (report) cen_sized_write(report, &whole, sizeof whole);
    if (left == 0) return CEN_OK;
    return ceni_error_set(error, CEN_TIMEOUT, 0, "router \"%s\": %llu uses not done by the deadline", router->name,
                          (unsigned long long)left);
}

cen_status cen_router_free(cen_router *router)
{
    if (!router) return CEN_OK;
    if (!ceni_fork_is(router->epoch)) return CEN_FORKED;
    if (ceni_read_is_open()) return CEN_MISUSE;
    CENI_INLINE_AT_END;
    refuse_from_now_on(router);
    ceni_follow_end_all(router);
    ceni_directory_leave(ceni_directory_process(), &router->entry);
    ceni_router_lock(router);
    for (ceni_list *link; (link = ceni_list_first(&router->members));)
        ceni_member_remove_locked(CENI_LIST_ENTRY(link, ceni_member, link));
    if (ceni_alarm_unset(router->runtime, &router->alarm)) {
        router->alarm_at = CENI_FOREVER;
        router->hands--;
    }
    ceni_router_unlock(router);
    /* A listener or `gone` may be the caller, on the thread that is emptying the bin: then that thread empties the
     * rest. */
    if (!ceni_bin_is_releasing()) ceni_bin_empty(&router->bin);
    /* A thread that cancels a wait that has just ended may be about to lock. */
    if (!ceni_planted(free_leaves_cancellers)) ceni_rcu_wait();
    ceni_router_drop(router);
    return CEN_OK;
}
