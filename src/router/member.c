/* SPDX-License-Identifier: MIT */
/*
 * Adding members and changing their states. internal.h draws the states.
 *
 * Everything here is under the router's lock; set.c publishes the result. Nothing waits for a use to end: ends.c
 * detects the end of the last one.
 *
 * Fields that picks read (life, base, state) are settings. Each is read by itself, and the counts of uses decide what
 * its value means for a route.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "router/backlog.h"
#include "router/cells.h"
#include "router/member.h"
#include "router/set.h"
#include "router/use.h"

/* ---- Adding -------------------------------------------------------------------- */

static uint64_t limit(int64_t own, int64_t routers)
{
    int64_t value = own ? own : routers;
    return value > 0 ? (uint64_t)value : UINT64_MAX;
}

static cen_status read_options(const cen_router *router, const cen_member_options *given, cen_member_options *o,
                               cen_error *error)
{
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_router_add: options", error);
    if (status != CEN_OK) return status;
    if (o->weight > UINT16_MAX)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "router \"%s\": options.weight of a member must be at most %d (got %u)", router->name,
                              UINT16_MAX, o->weight);
    const int64_t limits[] = {o->target_in_flight, o->max_in_flight, o->max_uses, o->max_lifetime_ns};
    static const char *const names[] = {"target_in_flight", "max_in_flight", "max_uses", "max_lifetime_ns"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i] < CEN_OFF)
            return ceni_error_set(error, CEN_INVALID, 0,
                                  "router \"%s\": options.%s of a member must not be below CEN_OFF (got %lld)",
                                  router->name, names[i], (long long)limits[i]);
    if (cen_time_is_tiny(o->max_lifetime_ns))
        return ceni_error_set(error, CEN_INVALID, 0,
                              "router \"%s\": options.max_lifetime_ns of a member " CEN_TIME_IS_TINY, router->name,
                              (long long)o->max_lifetime_ns);
    return CEN_OK;
}

static ceni_member *make(cen_router *router, const cen_member_options *o)
{
    size_t bytes = sizeof(ceni_member) + router->type->member_size;
    ceni_member *member = ceni_alloc(router->allocator, bytes, CENI_CACHE_LINE);
    if (!member) return NULL;
    member->router = router;
    member->gone = o->gone;
    member->weight = o->weight ? o->weight : 1;
    member->max = limit(o->max_in_flight, router->max);
    if (member->max != UINT64_MAX && member->max > CEN_IN_FLIGHT_MAX) member->max = CEN_IN_FLIGHT_MAX;
    member->max_uses = limit(o->max_uses, router->max_uses);
    member->limited = member->max != UINT64_MAX || member->max_uses != UINT64_MAX;
    member->stripes = member->limited ? 1 : router->stripes;
    member->first_offset = member->limited ? 0 : CEN_STRIPES_APART_;
    member->target = limit(o->target_in_flight, router->target);
    member->targeted = member->target != UINT64_MAX;
    int64_t age = o->max_lifetime_ns ? o->max_lifetime_ns : router->max_lifetime_ns;
    member->max_lifetime_ns = age > 0 ? age : 0;
    member->data = member + 1;
    member->bytes = bytes;
    ceni_store_relaxed(&member->open, 1u); /* no other thread knows it yet; carries nothing */
    ceni_list_init(&member->link);
    ceni_list_init(&member->events);
    ceni_wheel_timer_init(&member->age.timer);
    ceni_wheel_timer_init(&member->ejection.timer);
    member->age.kind = CENI_CLOCK_AGE;
    member->ejection.kind = CENI_CLOCK_EJECTION;
    return member;
}

/* Take a place for its stripes. */
static bool settle_locked(cen_router *router, ceni_member *member, void *value, ceni_block **fresh)
{
    member->cell = ceni_cells_take_locked(router, fresh, &member->block);
    if (!member->cell) return false;
    for (uint32_t i = 0; i <= router->stripes; i++) {
        cen_stripe_ *stripe = cen_stripe_of_(member->cell, i * CEN_STRIPES_APART_);
        stripe->value = value;
        stripe->door = i == 0 ? &member->shut : router->door;
        /* no other thread knows it yet; carries nothing */
        if (member->limited) ceni_store_relaxed(&stripe->others, CEN_COUNTED_FIRST_);
    }
    return true;
}

static cen_status add_locked(cen_router *router, ceni_member *member, const cen_member_options *options,
                             ceni_block **fresh)
{
    if (ceni_setting(&router->closed)) return CEN_CLOSED;
    if (!settle_locked(router, member, options->value, fresh)) return CEN_NO_MEMORY;
    router->added++;
    router->hands++;
    if (options->name) snprintf(member->name, sizeof member->name, "%s", options->name);
    else snprintf(member->name, sizeof member->name, "member %llu", (unsigned long long)router->added);
    member->hash = cen_route_key(member->name, strlen(member->name));
    member->since = ceni_runtime_now(router->runtime);
    if (member->limited || member->targeted) ceni_set_limits_locked(router);
    ceni_list_push_back(&router->members, &member->link);
    router->member_count++;
    ceni_member_report_locked(member, CEN_LEVEL_DETAIL, CEN_EVENT_MEMBER_ADDED, "was added");
    return CEN_OK;
}

cen_status cen_router_add(cen_router *router, const cen_member_options *options, cen_member **out, cen_error *error)
{
    cen_member_options known;
    if (!router || !options || !out)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_router_add: router, options and out must not be NULL");
    if (!ceni_fork_is(router->epoch))
        return ceni_error_set(error, CEN_FORKED, 0, "router \"%s\": it belongs to the parent process", router->name);
    cen_status status = read_options(router, options, &known, error);
    if (status != CEN_OK) return status;
    ceni_member *member = make(router, &known);
    status = CEN_NO_MEMORY;
    if (member) {
        ceni_block *fresh = NULL;
        ceni_router_lock(router);
        if (ceni_cells_are_taken_locked(router)) {
            ceni_router_unlock(router);
            fresh = ceni_cells_alloc(router);
            ceni_router_lock(router);
        }
        status = add_locked(router, member, &known, &fresh);
        ceni_router_unlock(router);
        ceni_cells_free(router, fresh);
    }
    if (status == CEN_OK) {
        *out = member->cell;
        return CEN_OK;
    }
    if (member) ceni_free(router->allocator, member, member->bytes, CENI_CACHE_LINE);
    if (status == CEN_CLOSED) return ceni_router_is_closed(router, error);
    return ceni_error_set(error, status, 0, "router \"%s\": out of memory for a member", router->name);
}

/* ---- Changes of state ----------------------------------------------------------------- */

/* Begin or end a life. One word has the life's number and whether it goes on, so no route gets DOWN and then OK. */
static void put_life(ceni_member *member, bool up)
{
    uint32_t life = ceni_setting(&member->life);
    if (CENI_IS_ALIVE(life) == up || (!up && ceni_planted(life_goes_on))) return;
    ceni_setting_put(&member->life, life + 1);
    for (uint32_t i = 0; i < member->stripes; i++) ceni_setting_put(&ceni_member_stripe(member, i)->life, life + 1);
}

void ceni_member_enter_locked(ceni_member *member, cen_member_state state)
{
    ceni_setting_put(&member->state, (uint32_t)state);
    if (state == CEN_MEMBER_DOWN) {
        put_life(member, false);
        member->downs++;
    }
    member->since = ceni_runtime_now(member->router->runtime);
    ceni_member_event_locked(member);
}

static void stop_timers(ceni_member *member)
{
    ceni_wheel_cancel(&member->router->wheel, &member->age.timer);
    ceni_wheel_cancel(&member->router->wheel, &member->ejection.timer);
}

static void start_age(ceni_member *member)
{
    cen_router *router = member->router;
    if (member->max_lifetime_ns == 0) return;
    /* Up to a tenth less, so that members that came up together do not go together. */
    int64_t less = (int64_t)(ceni_random() % ((uint64_t)member->max_lifetime_ns / 10 + 1));
    int64_t now = ceni_runtime_now(router->runtime), age = member->max_lifetime_ns - less;
    ceni_wheel_insert(&router->wheel, &member->age.timer, age > INT64_MAX - now ? CENI_FOREVER : now + age);
    ceni_router_wind_locked(router);
}

static cen_status come_up_locked(ceni_member *member)
{
    cen_member_state state = ceni_member_state_now(member);
    if (member->removed) return CEN_INVALID;
    if (ceni_setting(&member->router->closed)) return CEN_CLOSED;
    if (state == CEN_MEMBER_UP || state == CEN_MEMBER_EJECTED) return CEN_OK;
    if (state == CEN_MEMBER_DRAINING || !ceni_member_unwatch_locked(member)) return CEN_BUSY;
    uint64_t base = ceni_setting(&member->base);
    if (!ceni_planted(uses_count_on)) ceni_setting_put(&member->base, ceni_member_uses(member));
    put_life(member, true); /* before it can be picked */
    if (ceni_set_join_locked(member->router, member) != CEN_OK) {
        put_life(member, false);
        ceni_setting_put(&member->base, base);
        return CEN_NO_MEMORY;
    }
    member->cause.status = CEN_OK;
    ceni_member_enter_locked(member, CEN_MEMBER_UP);
    ceni_member_report_locked(member, CEN_LEVEL_DETAIL, CEN_EVENT_MEMBER_UP, "is up");
    start_age(member);
    return CEN_OK;
}

/* `level` is that of the event. */
static void go_down_locked(ceni_member *member, cen_event_level level)
{
    if (ceni_member_state_now(member) == CEN_MEMBER_DOWN) return;
    ceni_set_leave_locked(member->router, member);
    stop_timers(member);
    ceni_member_enter_locked(member, CEN_MEMBER_DOWN);
    ceni_member_report_locked(member, level, CEN_EVENT_MEMBER_DOWN, "is down");
}

static void drain_locked(ceni_member *member)
{
    ceni_set_leave_locked(member->router, member);
    stop_timers(member);
    ceni_member_enter_locked(member, CEN_MEMBER_DRAINING);
    ceni_member_report_locked(member, CEN_LEVEL_DETAIL, CEN_EVENT_MEMBER_DRAINING, "is draining");
    ceni_member_watch_locked(member);
}

static bool is_up(const ceni_member *member)
{
    cen_member_state state = ceni_member_state_now(member);
    return state == CEN_MEMBER_UP || state == CEN_MEMBER_EJECTED;
}

void ceni_member_aged_locked(ceni_member *member)
{
    if (is_up(member)) drain_locked(member);
}

void ceni_member_used_up_locked(ceni_member *member)
{
    bool used_up = CENI_USES_SINCE(ceni_member_uses(member), ceni_setting(&member->base)) >= member->max_uses;
    if (used_up && is_up(member)) drain_locked(member);
}

void ceni_member_restore_locked(ceni_member *member)
{
    if (ceni_member_state_now(member) != CEN_MEMBER_EJECTED) return;
    if (ceni_setting(&member->router->closed) && !ceni_planted(restored_after_close)) return; /* no member returns */
    if (ceni_set_join_locked(member->router, member) != CEN_OK) {
        /* Out of memory: try again a little later. */
        int64_t soon = ceni_runtime_now(member->router->runtime) + 100 * 1000 * 1000;
        ceni_wheel_insert(&member->router->wheel, &member->ejection.timer, soon);
        ceni_router_wind_locked(member->router);
        return;
    }
    ceni_wheel_cancel(&member->router->wheel, &member->ejection.timer);
    ceni_member_enter_locked(member, CEN_MEMBER_UP);
    ceni_member_report_locked(member, CEN_LEVEL_DETAIL, CEN_EVENT_MEMBER_UP, "is up again");
}

void ceni_member_remove_locked(ceni_member *member)
{
    cen_router *router = member->router;
    go_down_locked(member, CEN_LEVEL_DETAIL);
    ceni_member_report_locked(member, CEN_LEVEL_DETAIL, CEN_EVENT_MEMBER_REMOVED, "was removed");
    member->removed = true;
    ceni_list_remove(&member->link);
    ceni_list_push_back(&router->zombies, &member->link);
    router->member_count--;
    router->zombie_count++;
    ceni_member_watch_locked(member);
}

/* ---- The calls ---------------------------------------------------------------------------- */

/* Set the text why a member was not changed. With the lock held, or in the child of a fork: the handle may end with the
 * call. */
static cen_status refuse(const ceni_member *member, cen_status status, cen_error *error)
{
    const char *why = status == CEN_CLOSED      ? "the router is closed"
                      : status == CEN_NO_MEMORY ? "out of memory"
                      : status == CEN_SYSTEM    ? "cannot start the timer thread"
                      : status == CEN_FORKED    ? "it belongs to the parent process"
                      : member->removed         ? "it has been removed"
                      : status == CEN_BUSY      ? "it is draining; wait for its last use or take it down first"
                                                : NULL;
    if (why)
        ceni_error_set(error, status, 0, "router \"%s\": member \"%s\": %s", member->router->name, member->name, why);
    else
        ceni_error_set(error, status, 0, "router \"%s\": member \"%s\" is %s, not up", member->router->name,
                       member->name, cen_member_state_name(ceni_member_state_now(member)));
    return ceni_error_because(error, status == CEN_CLOSED ? CEN_CAUSE_CLOSED : CEN_CAUSE_NONE, status);
}

/* Check the handle and lock its router. */
static cen_status enter(const cen_member *cell, ceni_member **out, cen_error *error)
{
    if (!cell) {
        ceni_error_set(error, CEN_INVALID, 0, "the member is NULL");
        return CEN_INVALID;
    }
    ceni_member *member = *out = ceni_member_of(cell);
    if (!ceni_fork_is(member->router->epoch)) {
        refuse(member, CEN_FORKED, error);
        return CEN_FORKED;
    }
    ceni_router_lock(member->router);
    member->router->hands++; /* the member may be gone when the listener has returned */
    return CEN_OK;
}

/* Drop the lock. `serve`: first serve waiters, since there may be room. Then call the listener for what has changed. */
static void leave(cen_router *router, bool serve)
{
    ceni_list ready;
    ceni_list_init(&ready);
    if (serve) ceni_backlog_serve_locked(router, NULL, &ready);
    ceni_router_unlock_reserved(router);
    ceni_bin_relieve(&router->bin);
    ceni_router_settle(router, &ready);
}

/* Let another thread take the lock. */
static void wait_and_lock(cen_router *router, ceni_backoff *backoff)
{
    ceni_router_unlock_reserved(router);
    ceni_backoff_wait(backoff);
    ceni_router_lock(router);
}

/* The member is about to leave the set, if it is in it. */
static void reserve_to_leave_locked(const ceni_member *member)
{
    if (member->in_set) ceni_set_reserve_locked(member->router, -1);
}

cen_status cen_member_up(cen_member *cell, cen_error *error)
{
    ceni_member *member;
    cen_status status = enter(cell, &member, error);
    if (status != CEN_OK) return status;
    cen_router *router = member->router;
    ceni_backoff backoff = {0};
    ceni_set_reserve_locked(router, 1);
    while ((status = come_up_locked(member)) == CEN_BUSY && ceni_member_state_now(member) != CEN_MEMBER_DRAINING) {
        /* Its last use has ended, and the thread that ended it is about to lock. */
        wait_and_lock(router, &backoff);
        ceni_set_reserve_locked(router, 1);
    }
    if (status != CEN_OK) refuse(member, status, error);
    leave(router, !ceni_planted(up_tells_nobody));
    return status;
}

/* Bring up as many members as come up without waiting, published once. Return how many. */
static size_t come_up_together_locked(cen_router *router, cen_member *const *members, size_t count, cen_status *status)
{
    size_t done = 0;
    *status = CEN_OK;
    if (count == 0) return 0;
    if (count > UINT32_MAX || !ceni_set_gather_locked(router, (uint32_t)count)) {
        *status = CEN_NO_MEMORY;
        return 0;
    }
    while (done < count && (*status = come_up_locked(ceni_member_of(members[done]))) == CEN_OK) done++;
    ceni_set_gathered_locked(router);
    return done;
}

static cen_status all_of_one_router(cen_member *const *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!members[i] || ceni_member_of(members[i])->router != ceni_member_of(members[0])->router) return CEN_INVALID;
    return CEN_OK;
}

cen_status cen_members_up(cen_member *const *members, size_t count, size_t *out, cen_error *error)
{
    size_t done = 0;
    if (out) *out = 0;
    if (count == 0) return CEN_OK;
    if (!members || all_of_one_router(members, count) != CEN_OK)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_members_up: %s",
                              members ? "a member is NULL or belongs to another router than the first"
                                      : "members is NULL");
    ceni_member *first;
    cen_status status = enter(members[0], &first, error);
    if (status != CEN_OK) return status;
    cen_router *router = first->router;
    ceni_backoff backoff = {0};
    for (;;) {
        ceni_set_reserve_locked(router, (int64_t)(count - done));
        done += come_up_together_locked(router, members + done, count - done, &status);
        if (status != CEN_BUSY || ceni_member_state_now(ceni_member_of(members[done])) == CEN_MEMBER_DRAINING) break;
        /* As in cen_member_up. The members before it can be picked already. */
        wait_and_lock(router, &backoff);
    }
    if (status != CEN_OK) refuse(ceni_member_of(members[done]), status, error);
    leave(router, !ceni_planted(up_tells_nobody));
    if (out) *out = done;
    return status;
}

cen_status cen_member_down(cen_member *cell, const cen_error *cause)
{
    ceni_member *member;
    cen_status status = enter(cell, &member, NULL);
    if (status != CEN_OK) return status;
    cen_router *router = member->router;
    reserve_to_leave_locked(member);
    if (cause) member->cause = *cause;
    else member->cause.status = CEN_OK;
    go_down_locked(member, is_up(member) || cause ? CEN_LEVEL_WARNING : CEN_LEVEL_DETAIL);
    leave(router, false);
    return CEN_OK;
}

void ceni_members_down(cen_member *const *members, size_t count)
{
    ceni_member *member;
    if (count == 0 || enter(members[0], &member, NULL) != CEN_OK) return;
    cen_router *router = member->router;
    ceni_set_reserve_locked(router, 0);
    ceni_set_leave_together_locked(router, members, count);
    for (size_t i = 0; i < count; i++) {
        member = ceni_member_of(members[i]);
        member->cause.status = CEN_OK;
        go_down_locked(member, is_up(member) ? CEN_LEVEL_WARNING : CEN_LEVEL_DETAIL);
    }
    leave(router, false);
}

cen_status cen_member_drain(cen_member *cell, cen_error *error)
{
    ceni_member *member;
    cen_status status = enter(cell, &member, error);
    if (status != CEN_OK) return status;
    cen_router *router = member->router;
    reserve_to_leave_locked(member);
    if (is_up(member)) drain_locked(member);
    else if (ceni_member_state_now(member) != CEN_MEMBER_DRAINING) status = refuse(member, CEN_INVALID, error);
    leave(router, false);
    return status;
}

void ceni_member_used_up(ceni_member *member)
{
    if (enter(member->cell, &member, NULL) != CEN_OK) return;
    cen_router *router = member->router;
    reserve_to_leave_locked(member);
    ceni_member_used_up_locked(member);
    leave(router, false);
}

cen_status cen_member_eject(cen_member *cell, int64_t ns, cen_error *error)
{
    if (ns < 0)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_member_eject: ns must not be negative (got %lld)",
                              (long long)ns);
    ceni_member *member;
    cen_status status = enter(cell, &member, error);
    if (status != CEN_OK) return status;
    cen_router *router = member->router;
    reserve_to_leave_locked(member);
    if (is_up(member) && ns > 0 && ceni_alarm_need_keeper(router->runtime) != CEN_OK) {
        status = refuse(member, CEN_SYSTEM, error);
    } else if (is_up(member)) {
        int64_t now = ceni_runtime_now(router->runtime);
        ceni_set_leave_locked(router, member);
        if (ceni_member_state_now(member) == CEN_MEMBER_UP) {
            ceni_member_enter_locked(member, CEN_MEMBER_EJECTED);
            ceni_member_report_locked(member, CEN_LEVEL_WARNING, CEN_EVENT_MEMBER_EJECTED, "was ejected");
        }
        ceni_wheel_insert(&router->wheel, &member->ejection.timer,
                          ns == 0 || ns > INT64_MAX - now ? CENI_FOREVER : now + ns);
        ceni_router_wind_locked(router);
    } else {
        status = refuse(member, CEN_INVALID, error);
    }
    leave(router, false);
    return status;
}

cen_status cen_member_restore(cen_member *cell, cen_error *error)
{
    ceni_member *member;
    cen_status status = enter(cell, &member, error);
    if (status != CEN_OK) return status;
    cen_router *router = member->router;
    if (ceni_member_state_now(member) == CEN_MEMBER_EJECTED) ceni_set_reserve_locked(router, 1);
    if (ceni_member_state_now(member) == CEN_MEMBER_EJECTED) ceni_member_restore_locked(member);
    else if (ceni_member_state_now(member) != CEN_MEMBER_UP) status = CEN_INVALID;
    if (ceni_member_state_now(member) == CEN_MEMBER_EJECTED)
        status = ceni_setting(&router->closed) ? CEN_CLOSED : CEN_NO_MEMORY;
    if (status != CEN_OK) refuse(member, status, error);
    leave(router, true);
    return status;
}

cen_status cen_member_remove(cen_member *cell)
{
    ceni_member *member;
    cen_status status = enter(cell, &member, NULL);
    if (status != CEN_OK) return status;
    cen_router *router = member->router;
    reserve_to_leave_locked(member);
    if (member->removed) status = CEN_INVALID;
    else ceni_member_remove_locked(member);
    leave(router, false);
    return status;
}

void *cen_member_value(const cen_member *cell)
{
    return cell->first.value;
}

const char *cen_member_name(const cen_member *cell)
{
    return ceni_member_of(cell)->name;
}

uint32_t cen_member_weight(const cen_member *cell)
{
    return ceni_member_of(cell)->weight;
}

uint64_t cen_member_hash(const cen_member *cell)
{
    return ceni_member_of(cell)->hash;
}

void *cen_member_data(const cen_member *cell)
{
    return ceni_member_of(cell)->data;
}

cen_member_state cen_member_state_of(const cen_member *cell)
{
    const ceni_member *member = ceni_member_of(cell);
    cen_member_state state = ceni_member_state_now(member);
    bool full = state == CEN_MEMBER_UP && member->limited && ceni_member_in_flight(member) >= member->max;
    return full ? CEN_MEMBER_FULL : state;
}

const char *cen_member_state_name(cen_member_state state)
{
    static const char *const names[] = {"connecting", "up", "full", "draining", "down", "ejected"};
    return (size_t)state < sizeof names / sizeof *names ? names[state] : "?";
}
