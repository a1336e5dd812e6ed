/* SPDX-License-Identifier: MIT */
/*
 * The backlog: the wait queue of requests for which no member is up or all are full.
 *
 * There is one kind of waiter, a cen_route_op with its future. A blocked thread has one on its stack. Waiters are
 * served FIFO, under the lock, and newcomers join behind them. A deadline is a timer in the router's wheel, so a grant
 * and a deadline are decided under one lock and never conflict.
 *
 * Two events make room: the end of a use of a member with a limit (its place goes to the first waiter, whatever the
 * strategy would have picked), and a member that comes up. Each looks at `waiting` afterwards, and a waiter that joins
 * looks for room afterwards (I6).
 *
 * Order table
 * [B1] join, add | add | seq_cst | O5, C1 | the counts of uses, read afterwards | a request waits while there is room (I6)
 */
#include <stdio.h>

#include "base/error.h"
#include "base/plant.h"
#include "port/deadline.h"
#include "router/backlog.h"
#include "router/member.h"
#include "router/set.h"
#include "sync/future.h"

static ceni_route_place *place_of(cen_route_op *routing)
{
    return (ceni_route_place *)(void *)routing->place_.room_;
}

static cen_route_op *routing_at(ceni_list *link, size_t offset)
{
    return (cen_route_op *)(void *)((char *)link - offsetof(cen_route_op, place_) - offset);
}
#define ROUTING_OF(link, field) routing_at(link, offsetof(ceni_route_place, field))

/* ---- Ending a wait -------------------------------------------------------------------- */

/* Take it out of the backlog, and put it into `ready`. */
static void finish_locked(cen_router *router, cen_route_op *routing, cen_status status, ceni_list *ready)
{
    ceni_route_place *place = place_of(routing);
    ceni_list_remove(&place->link);
    ceni_wheel_cancel(&router->wheel, &place->clocked.timer);
    ceni_store_relaxed(&routing->router_, NULL); /* for withdraw, by way of a grace period; carries nothing */
    ceni_sub_relaxed(&router->waiting, 1);       /* no thread waits for fewer; carries nothing */
    routing->future.status = status;
    routing->future.value = status == CEN_OK ? &routing->route : NULL;
    ceni_list_push_back(ready, &place->ready);
}

void ceni_backlog_serve_locked(cen_router *router, ceni_member *with, ceni_list *ready)
{
    while (!ceni_list_empty(&router->backlog)) {
        cen_route_op *first = ROUTING_OF(ceni_list_first(&router->backlog), link);
        ceni_begun begun;
        if (with) {
            if (!with->in_set) return;
            begun = ceni_use_begin(router, with->cell, true, &first->route);
            if (begun != CENI_NOT_BEGUN && router->type->begun) router->type->begun(router->state, with->cell);
        } else {
            begun = ceni_route_find_locked(router, &first->hint_, &first->route);
        }
        if (begun == CENI_NOT_BEGUN) return;
        if (begun == CENI_BEGUN_LAST) ceni_member_used_up_locked(ceni_member_of(first->route.member));
        finish_locked(router, first, CEN_OK, ready);
    }
}

cen_status ceni_router_is_closed(const cen_router *router, cen_error *error)
{
    ceni_error_set(error, CEN_CLOSED, 0, "router \"%s\": it has been closed", router->name);
    return ceni_error_because(error, CEN_CAUSE_CLOSED, CEN_CLOSED);
}

uint32_t ceni_backlog_send_away_locked(cen_router *router, ceni_list *ready)
{
    uint32_t count = 0;
    for (ceni_list *link; (link = ceni_list_first(&router->backlog)); count++) {
        cen_route_op *routing = ROUTING_OF(link, link);
        ceni_router_is_closed(router, routing->future.error);
        finish_locked(router, routing, CEN_CLOSED, ready);
    }
    return count;
}

/* ---- Error texts------------------------------------------------------------------------ */

typedef struct counts {
    uint32_t up, draining, down, others;
    uint64_t in_flight;
} counts;

/* The members by state, for the text of a refusal. */
static counts count_locked(const cen_router *router)
{
    counts c = {0};
    for (ceni_list *link = router->members.next; link != &router->members; link = link->next) {
        const ceni_member *member = CENI_LIST_ENTRY(link, ceni_member, link);
        switch (ceni_member_state_now(member)) {
        case CEN_MEMBER_UP: c.up++; break;
        case CEN_MEMBER_DRAINING: c.draining++; break;
        case CEN_MEMBER_DOWN: c.down++; break;
        default: c.others++; break;
        }
        c.in_flight += ceni_member_in_flight(member);
    }
    return c;
}

/* Counting walks through all members: only if the caller wants the text, and not with thousands of members. */
static void describe_locked(cen_router *router, cen_error *error, cen_status status, int64_t waited_ns)
{
    if (!error) return;
    enum { MANY = 256 };
    counts c = {0};
    if (router->member_count <= MANY) c = count_locked(router);
    else c.up = router->in_set, c.others = router->member_count - router->in_set;
    char waited[48] = "";
    if (waited_ns >= 0) snprintf(waited, sizeof waited, "timed out after %lld ms: ", (long long)(waited_ns / 1000000));
    cen_cause cause = c.up == 0 ? CEN_CAUSE_NO_MEMBER : CEN_CAUSE_MEMBERS_FULL;
    const char *why = cause == CEN_CAUSE_NO_MEMBER ? "no member is up" : "every member is full";
    ceni_error_set(error, status, 0,
                   "router \"%s\": %s%s (%u up, %u draining, %u down, %u others, %llu uses in flight, %u waiting)",
                   router->name, waited, why, c.up, c.draining, c.down, c.others, (unsigned long long)c.in_flight,
                   (unsigned)ceni_setting(&router->waiting));
    error->cause = cause;
}

/* ---- Waiting ----------------------------------------------------------------------------- */

static bool withdraw(cen_future *future)
{
    cen_route_op *routing = CENI_LIST_ENTRY(future, cen_route_op, future);
    ceni_read_begin();
    /* The router may be freed at this moment. If router_ is still set, it stays until the section ends; carries
     * nothing. */
    cen_router *router = ceni_load_relaxed(&routing->router_);
    if (!router || !ceni_fork_is(router->epoch)) {
        ceni_read_end();
        return router != NULL; /* the parent's: it never completes here */
    }
    ceni_router_lock(router);
    ceni_route_place *place = place_of(routing);
    bool waits = ceni_list_linked(&place->link);
    if (waits && !ceni_planted(withdrawn_by_nobody)) {
        ceni_list_remove(&place->link);
        ceni_wheel_cancel(&router->wheel, &place->clocked.timer);
        ceni_sub_relaxed(&router->waiting, 1); /* as above; carries nothing */
    }
    ceni_router_unlock(router);
    ceni_read_end();
    return waits;
}

static cen_status refuse_locked(cen_router *router, cen_deadline deadline, cen_error *error)
{
    if (ceni_setting(&router->closed)) return ceni_router_is_closed(router, error);
    if (ceni_deadline_is_now(deadline)) {
        cen_status status = router->in_set == 0 ? CEN_EMPTY : CEN_FULL;
        router->empty++;
        describe_locked(router, error, status, -1);
        return status;
    }
    uint32_t waiting = ceni_setting(&router->waiting);
    if (waiting < router->backlog_max) return CEN_OK;
    router->refused++;
    ceni_router_complain_locked(router, &router->refusal_told, CEN_EVENT_REFUSED, waiting,
                                "wait queue full, routes are refused");
    describe_locked(router, error, CEN_FULL, -1);
    if (error) {
        error->cause = CEN_CAUSE_QUEUE_FULL;
        error->current = waiting;
        error->max = router->backlog_max;
    }
    return CEN_FULL;
}

static void join_locked(cen_router *router, cen_route_op *routing, cen_deadline deadline)
{
    ceni_route_place *place = place_of(routing);
    int64_t now = ceni_runtime_now(router->runtime);
    place->begun = now;
    ceni_list_push_back(&router->backlog, &place->link);
    ceni_add_seq_cst(&router->waiting, 1); /* [B1] */
    router->waited++;
    int64_t moment = ceni_deadline_moment(deadline, now);
    if (moment == CENI_FOREVER) return;
    ceni_wheel_insert(&router->wheel, &place->clocked.timer, moment);
    if (moment < router->alarm_at) ceni_router_wind_locked(router); /* no other timer is before alarm_at */
}

/* Serve the request at once, or refuse it, and return the status. Or let it join the backlog; it may be in `ready`
 * already. */
static cen_status ask_locked(cen_router *router, cen_deadline deadline, cen_route_op *routing, ceni_list *ready,
                             bool *joined)
{
    *joined = false;
    if (ceni_list_empty(&router->backlog) && !ceni_setting(&router->closed)) {
        ceni_begun begun = ceni_route_find_locked(router, &routing->hint_, &routing->route);
        if (begun == CENI_BEGUN_LAST) ceni_member_used_up_locked(ceni_member_of(routing->route.member));
        if (begun != CENI_NOT_BEGUN) return CEN_OK;
        /* Without limits, more uses are in flight than can be counted, and the end of a use does not look for
         * waiters. */
        if (router->in_set > 0 && !ceni_setting(&router->limits)) deadline = CEN_NOW;
    }
    cen_status status = refuse_locked(router, deadline, routing->future.error);
    if (status != CEN_OK) return status;
    join_locked(router, routing, deadline);
    *joined = true;
    /* The second look: for room that came before `waiting` was raised. */
    if (!ceni_planted(join_without_look)) ceni_backlog_serve_locked(router, NULL, ready);
    return CEN_OK;
}

static void run_done(cen_job *job)
{
    cen_route_op *routing = (cen_route_op *)(void *)((char *)job - offsetof(cen_route_op, future.job_));
    routing->done_(routing);
}

void cen_route_op_init(cen_route_op *routing, void (*done)(cen_route_op *routing), cen_executor *executor)
{
    if (!routing) return;
    *routing = (cen_route_op){.done_ = done};
    cen_future_init(&routing->future);
    if (!done) return;
    ceni_future_ready(&routing->future, run_done);
    routing->future.executor_ = executor;
}

static cen_status ask(cen_router *router, const cen_route_hint *pick, cen_deadline deadline, cen_route_op *routing)
{
    ceni_list ready;
    ceni_list_init(&ready);
    ceni_store_relaxed(&routing->router_, router); /* no other thread knows it yet; carries nothing */
    routing->hint_ = pick ? *pick : (cen_route_hint){0};
    routing->route = (cen_route){0};
    deadline = ceni_deadline_or(deadline, router->deadline);
    if (!ceni_deadline_is_now(deadline) && ceni_alarm_need_keeper(router->runtime) != CEN_OK) {
        ceni_error_set(routing->future.error, CEN_SYSTEM, 0, "router \"%s\": cannot start the timer thread",
                       router->name);
        return CEN_SYSTEM;
    }
    ceni_route_place *place = place_of(routing);
    ceni_wheel_timer_init(&place->clocked.timer);
    place->clocked.kind = CENI_CLOCK_WAITER;
    ceni_list_init(&place->ready);
    ceni_list_init(&place->link);
    ceni_router_lock(router);
    /* Under the lock: a cancel from now on finds it in the backlog, or decided. */
    ceni_future_begin(&routing->future, withdraw, router);
    router->hands++;
    bool joined;
    cen_status status = ask_locked(router, deadline, routing, &ready, &joined);
    ceni_router_unlock(router);
    if (!joined) {
        routing->future.status = status;
        routing->future.value = status == CEN_OK ? &routing->route : NULL;
        ceni_future_complete(&routing->future);
    }
    ceni_router_settle(router, &ready);
    return CEN_OK;
}

cen_status cen_router_route_async(cen_router *router, const cen_route_hint *pick, cen_deadline deadline,
                                  cen_route_op *routing)
{
    if (!router || !routing || (routing->done_ && !routing->future.executor_)) return CEN_INVALID;
    if (!ceni_future_is_fresh(&routing->future)) return CEN_MISUSE;
    CENI_INLINE_AT_END;
    cen_status status = CEN_FORKED;
    if (ceni_fork_is(router->epoch)) status = ask(router, pick, deadline, routing);
    else
        ceni_error_set(routing->future.error, status, 0, "router \"%s\": it belongs to the parent process",
                       router->name);
    if (status == CEN_OK) return CEN_OK;
    routing->future.status = status;
    ceni_future_complete_fresh(&routing->future);
    return CEN_OK;
}

cen_status ceni_route_wait(cen_router *router, const cen_route_hint *pick, cen_deadline deadline, cen_route *out,
                           cen_error *error)
{
    bool must_not = ceni_read_is_open() && !ceni_deadline_is_now(ceni_deadline_or(deadline, router->deadline));
    if (must_not) deadline = CEN_NOW; /* a member other than the strategy's choice may have room */
    CENI_INLINE_AT_END;
    cen_route_op routing;
    cen_route_op_init(&routing, NULL, NULL);
    routing.future.error = error;
    cen_status status = ask(router, pick, deadline, &routing);
    if (status != CEN_OK) return status;
    /* Its deadline ends the wait: the runtime's clock may be another than the system's. */
    while (cen_future_wait(&routing.future, cen_at(ceni_runtime_tend(router->runtime))) != CEN_OK) continue;
    *out = routing.route;
    status = routing.future.status;
    if (must_not && (status == CEN_EMPTY || status == CEN_FULL))
        return ceni_error_because(error, CEN_CAUSE_READ_SECTION,
                                  ceni_error_set(error, CEN_MISUSE, 0,
                                                 "router \"%s\": a route must not wait in a read section",
                                                 router->name));
    return status;
}

/* ---- Time ----------------------------------------------------------------------------------- */

void ceni_router_wind_locked(cen_router *router)
{
    int64_t next = ceni_wheel_next(&router->wheel);
    if (next >= router->alarm_at) return;
    cen_status status = CEN_OK;
    if (!ceni_alarm_set(router->runtime, &router->alarm, next, &status) && !ceni_planted(alarm_keeps_no_hand))
        router->hands++;
    router->alarm_at = status == CEN_OK ? next : CENI_FOREVER; /* there is no keeper: the next change tries again */
}

static void expire_locked(cen_router *router, ceni_clocked *clocked, int64_t now, ceni_list *ready)
{
    switch (clocked->kind) {
    case CENI_CLOCK_AGE: ceni_member_aged_locked(CENI_LIST_ENTRY(clocked, ceni_member, age)); return;
    case CENI_CLOCK_EJECTION:
        ceni_member_restore_locked(CENI_LIST_ENTRY(clocked, ceni_member, ejection));
        ceni_backlog_serve_locked(router, NULL, ready);
        return;
    case CENI_CLOCK_WAITER: break;
    }
    ceni_route_place *place = CENI_LIST_ENTRY(clocked, ceni_route_place, clocked);
    cen_route_op *routing = ROUTING_OF(&place->link, link);
    router->timeouts++;
    ceni_router_complain_locked(router, &router->timeout_told, CEN_EVENT_TIMED_OUT, now - place->begun,
                                "a route timed out");
    describe_locked(router, routing->future.error, CEN_TIMEOUT, now - place->begun);
    finish_locked(router, routing, CEN_TIMEOUT, ready);
}

static const ceni_clocked *clocked_of(const ceni_list *link)
{
    return CENI_LIST_ENTRY(CENI_LIST_ENTRY(link, const ceni_wheel_timer, link), const ceni_clocked, timer);
}

void ceni_router_alarm(ceni_alarm *alarm)
{
    cen_router *router = CENI_LIST_ENTRY(alarm, cen_router, alarm);
    ceni_list ready, expired;
    ceni_list_init(&ready);
    ceni_list_init(&expired);
    CENI_INLINE_AT_END;
    int64_t now = ceni_runtime_now(router->runtime);
    ceni_router_lock(router);
    router->alarm_at = CENI_FOREVER;
    ceni_wheel_advance(&router->wheel, now, &expired);
    /* While the lock is dropped to reserve, expired timers stay in the list, where a thread that ends one takes it
     * out. */
    for (ceni_wheel_timer *timer; !ceni_list_empty(&expired);) {
        if (clocked_of(ceni_list_first(&expired))->kind != CENI_CLOCK_WAITER) ceni_set_reserve_locked(router, 1);
        if ((timer = ceni_timer_take(&expired)))
            expire_locked(router, CENI_LIST_ENTRY(timer, ceni_clocked, timer), now, &ready);
    }
    ceni_router_wind_locked(router);
    ceni_router_unlock_reserved(router);
    ceni_router_settle(router, &ready); /* drops the alarm's hand */
}

void ceni_router_settle(cen_router *router, ceni_list *ready)
{
    for (ceni_list *link; ready && (link = ceni_list_first(ready));) {
        cen_route_op *routing = ROUTING_OF(link, ready);
        ceni_list_remove(link);
        ceni_future_complete(&routing->future);
    }
    ceni_set_tidy(router);
    ceni_router_tell(router);
    ceni_router_drop(router);
}
