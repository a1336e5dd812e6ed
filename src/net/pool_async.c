/* SPDX-License-Identifier: MIT */
/*
 * Requests of a routing pool. A request gets a route, is sent over the route's connection, and both end together.
 *
 * An operation goes through stages. It makes calls whose completion may run on any thread, even before the call has
 * returned:
 *
 *     MOVING ─▶ ARMING ──the call returned──▶ ROUTING ──a route──▶ MOVING        waiting for a connection
 *                  └──a route──▶ ROUTED ──the call returned──▶ MOVING
 *     MOVING ─▶ SENDING ──the call returned──▶ SENT ──a reply──▶ the end
 *                  └──a reply──▶ TOLD ──the call returned──▶ the end
 *
 * If the completion went on at once, the caller could return from cen_mux_request_async to an operation that is done
 * and perhaps freed. So the later of the two, the return of the call and its completion, goes on, and the earlier one
 * leaves.
 *
 * Cancel. In ROUTING and SENT cancel withdraws the operation from the router or the connection, whose cancel is exact.
 * If that is too late, the completion is on its way. In every other stage some thread is at work on the operation. That
 * thread finds the mark UNWANTED and undoes what it has done, and the operation ends as INTERRUPTED. Cancel never
 * waits, so it may be called from any `done`.
 *
 * Invariants
 *  A1 In MOVING, ROUTED and TOLD one thread has the operation. In ARMING and SENDING the thread inside the call has it.
 *     In ROUTING and SENT no thread has it: the thread that changes the stage, or that has cancelled the inner future,
 *     has it from then on.
 *  A2 It ends once, by the thread that has it. Neither the operation nor the pool is touched after
 *     ceni_future_complete.
 *  A3 From SENDING on it has a route. The route is done before the end is reported and after everything is counted.
 *
 * Order table
 * tag  site    | operation      | order   | pairs with       | carries                  | breaks if weakened
 * [A1] begin   | load of losses | acquire | L2 in pool_connection.c | the set without those that were lost | `stale` would not be exact
 * [A2] stage   | cas            | acq_rel | [A2] [A3]        | all that was done with the operation so far | the thread that goes on sees half of it
 * [A3] stage   | load           | acquire | [A2]             | the same                 | the same
 * [A4] send    | load of lost   | acquire | L1 in pool_connection.c | nothing                 | `stale` would not be exact
 *
 * Tested by tests/unit/net/pool_async_test.c, tests/stress/mux_pool_stress.c.
 */
#include "base/error.h"
#include "base/plant.h"
#include "net/pool.h"
#include "port/deadline.h"
#include "sync/future.h"

enum { MOVING, ARMING, ROUTED, ROUTING, SENDING, TOLD, SENT, STAGE = 0xff, UNWANTED = 0x100 };

#define OP_OF(pointer, field) CENI_LIST_ENTRY(pointer, cen_mux_pool_request_op, field)

/* ---- Deadlines and outcomes ------------------------------------------------------------------------- */

/* The request's deadline covers the whole request. Where the request may have to wait for a connection first, the
 * deadline is made absolute here. */
static void pin_deadline(const cen_mux_pool *pool, cen_request *request)
{
    if (ceni_deadline_is_now(pool->deadline)) return;
    cen_deadline whole = ceni_deadline_or(request->deadline, pool->request_deadline);
    request->deadline = cen_at(ceni_deadline_moment(whole, ceni_runtime_now(pool->runtime)));
}

/* Return the deadline for getting a connection. */
static cen_deadline route_deadline(const cen_mux_pool *pool, const cen_request *request)
{
    if (ceni_deadline_is_now(pool->deadline) || ceni_deadline_is_now(request->deadline)) return CEN_NOW;
    int64_t now = ceni_runtime_now(pool->runtime), own = ceni_deadline_moment(request->deadline, now);
    int64_t most = ceni_deadline_moment(pool->deadline, now);
    int64_t moment = own < most ? own : most;
    return moment == CENI_FOREVER ? CEN_NEVER : cen_at(moment);
}

static cen_outcome outcome_of(cen_status status)
{
    switch (status) {
    case CEN_OK:
    case CEN_FULL: return CEN_OUTCOME_OK; /* a reply came, although it was too large */
    case CEN_LOST:
    case CEN_TIMEOUT: return CEN_OUTCOME_FAILED;
    default: return CEN_OUTCOME_CANCELLED;
    }
}

/* Count the end of a request that had a connection. */
static void count_end(cen_mux_pool *pool, cen_status status)
{
    switch (status) {
    case CEN_OK: ceni_mux_pool_count(pool, CENI_COUNT_ANSWERED); break;
    case CEN_LOST: ceni_mux_pool_count(pool, CENI_COUNT_LOST); break;
    case CEN_TIMEOUT: ceni_mux_pool_count(pool, CENI_COUNT_TIMED_OUT); break;
    case CEN_CLOSED: ceni_mux_pool_count(pool, CENI_COUNT_CLOSED); break;
    case CEN_INTERRUPTED: ceni_mux_pool_count(pool, CENI_COUNT_CANCELLED); break;
    default: ceni_mux_pool_count(pool, CENI_COUNT_FAILED); break;
    }
}

/* Count the end of a request that got no connection. */
static void count_refusal(cen_mux_pool *pool, cen_status status)
{
    if (status == CEN_EMPTY || status == CEN_FULL) ceni_mux_pool_count(pool, CENI_COUNT_REFUSED);
    else count_end(pool, status);
}

static uint64_t losses_so_far(cen_mux_pool *pool)
{
    return ceni_load_acquire(&pool->losses); /* [A1] */
}

/* Check the connection of a route before its use. Returns OK, or DOWN if it has just left the set. */
static cen_status look_at_route(cen_mux_pool *pool, const cen_route *route, uint64_t seen)
{
    ceni_mux_link *link = route->value;
    uint64_t lost = ceni_load_acquire(&link->lost); /* [A4] */
    if (lost && lost <= seen) ceni_mux_pool_count(pool, CENI_COUNT_STALE);
    return cen_route_check(route);
}

/* Return true if the connection refused the request because it has ended. Then nothing was sent. */
static bool is_refusal(cen_status status)
{
    return status == CEN_DOWN || status == CEN_LOST || status == CEN_CLOSED;
}

/* The connection refused a request and will never be open again. The loop takes it out of the set, but a busy loop may
 * take long to do so. Until then the router would prefer it, because it has nothing in flight. So it is taken out
 * here. */
static void leave_set(const cen_mux_pool *pool, const cen_route *route)
{
    if (!pool->keep_lost && !ceni_planted(mux_pool_forgets_to_leave)) cen_member_down(route->member, NULL);
}

/* ---- Waiting for the reply ------------------------------------------------------------------------------ */

/* Make one attempt. Returns true if the request was not sent and may go to another connection. */
static bool attempt(cen_mux_pool *pool, cen_route_hint *wish, bool wishes, cen_request *request, cen_status *status,
                    cen_error *error)
{
    cen_route route;
    uint64_t seen = losses_so_far(pool);
    *status = cen_router_route(pool->router, wishes ? wish : NULL, route_deadline(pool, request), &route, error);
    if (*status != CEN_OK) {
        count_refusal(pool, *status);
        return false;
    }
    wish->avoid = route.member;
    ceni_mux_link *link = route.value;
    *status = look_at_route(pool, &route, seen);
    if (*status == CEN_OK) *status = cen_mux_request(link->mux, request, error);
    bool unsent = is_refusal(*status) && ceni_future_is_fresh(&request->future);
    if (!unsent) count_end(pool, *status); /* A3 */
    else leave_set(pool, &route);
    cen_route_done(&route, unsent ? CEN_OUTCOME_FAILED : outcome_of(*status), 0);
    return unsent;
}

static cen_status refuse(cen_mux_pool *pool, const void *request, cen_error *error)
{
    if (!pool || !request) return ceni_error_set(error, CEN_INVALID, 0, "pool and request must not be NULL");
    if (!ceni_fork_is(pool->epoch))
        return ceni_error_set(error, CEN_FORKED, 0, "routing pool \"%s\": it belongs to the parent process",
                              pool->name);
    return CEN_OK;
}

/* The last connection that was tried refused the request, and no other is tried. */
static cen_status unsent(cen_mux_pool *pool, cen_error *error)
{
    ceni_mux_pool_count(pool, CENI_COUNT_LOST);
    return ceni_error_set(error, CEN_LOST, 0, "routing pool \"%s\": request not sent: connection lost", pool->name);
}

cen_status cen_mux_pool_request(cen_mux_pool *pool, const cen_route_hint *hint, cen_request *request, cen_error *error)
{
    cen_status status = refuse(pool, request, error);
    if (status != CEN_OK) return status;
    if (!ceni_future_is_fresh(&request->future))
        return ceni_error_set(error, CEN_MISUSE, 0,
                              "the request has been used before; cen_request_init makes it ready again");
    cen_route_hint wish = hint ? *hint : (cen_route_hint){.key = 0};
    pin_deadline(pool, request);
    for (int64_t left = pool->reroutes; attempt(pool, &wish, hint || left < pool->reroutes, request, &status, error);
         left--) {
        if (left <= 0) return unsent(pool, error);
        ceni_mux_pool_count(pool, CENI_COUNT_REROUTED);
    }
    return status;
}

/* ---- Async: stages ------------------------------------------------------------------------------------------ */

static uint32_t stage_of(cen_mux_pool_request_op *op)
{
    return ceni_load_acquire(&op->stage_); /* [A3] */
}

static bool change(cen_mux_pool_request_op *op, uint32_t *from, uint32_t to)
{
    return ceni_cas_acq_rel(&op->stage_, from, to); /* [A2] */
}

/* Change the stage. Only for the thread that has the operation; only UNWANTED may be set in between. */
static void enter(cen_mux_pool_request_op *op, uint32_t stage)
{
    uint32_t now = stage_of(op);
    while (!change(op, &now, stage | (now & UNWANTED))) continue;
}

static bool is_unwanted(cen_mux_pool_request_op *op)
{
    return stage_of(op) & UNWANTED;
}

/* The call has returned, or its completion has run. Returns true if the other one was first: then this thread goes on
 * with the operation. */
static bool meet(cen_mux_pool_request_op *op, uint32_t calling, uint32_t mine, uint32_t go_on)
{
    for (uint32_t now = stage_of(op);;) {
        bool first = (now & STAGE) == calling;
        if (change(op, &now, (first ? mine : go_on) | (now & UNWANTED))) return !first;
    }
}

/* ---- Async: the end ------------------------------------------------------------------------------------------- */

/* A2 */
static void complete(cen_mux_pool_request_op *op, cen_status status, int code, void *value)
{
    op->future.status = status;
    op->future.code = code;
    op->future.value = value;
    ceni_future_complete(&op->future);
}

static void end_unsent(cen_mux_pool_request_op *op, cen_status status)
{
    count_refusal(op->pool_, status);
    complete(op, status, 0, NULL);
}

static void end_interrupted(cen_mux_pool_request_op *op)
{
    ceni_mux_pool_count(op->pool_, CENI_COUNT_CANCELLED);
    cen_route_done(&op->routing_.route, CEN_OUTCOME_CANCELLED, 0);
    ceni_error_set(op->future.error, CEN_INTERRUPTED, 0, "request cancelled during the send");
    complete(op, CEN_INTERRUPTED, 0, NULL);
}

static void end_told(cen_mux_pool_request_op *op)
{
    const cen_future *inner = &op->request.future;
    count_end(op->pool_, inner->status);
    cen_route_done(&op->routing_.route, outcome_of(inner->status), 0);
    complete(op, inner->status, inner->code, inner->value);
}

/* ---- Async: steps ----------------------------------------------------------------------------------------------- */

static void told(cen_request *request)
{
    cen_mux_pool_request_op *op = OP_OF(request, request);
    if (meet(op, SENDING, TOLD, MOVING)) end_told(op);
}

/* Cancel a request that was sent. */
static void take_back(cen_mux_pool_request_op *op)
{
    if (cen_future_cancel(&op->request.future)) end_interrupted(op);
    else if (meet(op, SENDING, SENT, MOVING)) end_told(op);
}

/* Send the request. Returns true if it was not sent and may be routed again. Returns false if the operation is over or
 * no thread has it. */
static bool send_it(cen_mux_pool_request_op *op)
{
    cen_mux_pool *pool = op->pool_;
    cen_route *route = &op->routing_.route;
    ceni_mux_link *link = route->value;
    cen_status status = look_at_route(pool, route, op->seen_);
    enter(op, SENDING);
    if (status == CEN_OK) status = cen_mux_request_async(link->mux, &op->request, op->future.error);
    if (status == CEN_OK) {
        if (is_unwanted(op)) take_back(op);
        else if (meet(op, SENDING, SENT, MOVING)) end_told(op);
        return false;
    }
    enter(op, MOVING);
    op->hint.avoid = route->member;
    bool again = is_refusal(status);
    if (!again) count_end(pool, status);
    else leave_set(pool, route);
    cen_route_done(route, again ? CEN_OUTCOME_FAILED : outcome_of(status), 0);
    if (!again) {
        complete(op, status, 0, NULL);
        return false;
    }
    if (op->tries_-- > 0) {
        ceni_mux_pool_count(pool, CENI_COUNT_REROUTED);
        return true;
    }
    unsent(pool, op->future.error);
    complete(op, CEN_LOST, 0, NULL);
    return false;
}

static void routed(cen_future *future);

/* Wait for a route in the router's queue. Returns true if the route's result is there already. */
static bool arm(cen_mux_pool_request_op *op)
{
    cen_mux_pool *pool = op->pool_;
    cen_route_op_init(&op->routing_, NULL, NULL);
    op->routing_.future.error = op->future.error;
    cen_future_then(&op->routing_.future, routed, cen_inline());
    enter(op, ARMING);
    cen_router_route_async(pool->router, &op->hint, route_deadline(pool, &op->request), &op->routing_);
    return meet(op, ARMING, ROUTING, MOVING);
}

/* Continue an operation in MOVING until this thread no longer has it. `status`: the result of its route. */
static void go_on(cen_mux_pool_request_op *op, cen_status status)
{
    while (status == CEN_OK) {
        if (is_unwanted(op)) {
            end_interrupted(op);
            return;
        }
        if (!send_it(op)) return;
        op->seen_ = losses_so_far(op->pool_);
        if (!arm(op)) return;
        status = op->routing_.future.status;
    }
    end_unsent(op, status);
}

static void routed(cen_future *future)
{
    cen_mux_pool_request_op *op = OP_OF(future, routing_.future);
    if (meet(op, ARMING, ROUTED, MOVING)) go_on(op, future->status);
}

/* ---- Async: the calls -------------------------------------------------------------------------------------------- */

static bool withdraw(cen_future *future)
{
    cen_mux_pool_request_op *op = OP_OF(future, future);
    if (!ceni_fork_is(op->pool_->epoch)) return true; /* the parent's operation: it never completes here */
    for (uint32_t now = stage_of(op);;) {
        if (now & UNWANTED) return false;
        if (now == ROUTING && cen_future_cancel(&op->routing_.future)) {
            ceni_mux_pool_count(op->pool_, CENI_COUNT_CANCELLED);
            return true;
        }
        if (now == SENT) {
            if (!cen_future_cancel(&op->request.future)) return false;
            ceni_mux_pool_count(op->pool_, CENI_COUNT_CANCELLED);
            if (!ceni_planted(mux_pool_cancel_keeps_the_route))
                cen_route_done(&op->routing_.route, CEN_OUTCOME_CANCELLED, 0);
            return true;
        }
        if (change(op, &now, now | UNWANTED)) return false;
    }
}

static void run_done(cen_job *job)
{
    cen_mux_pool_request_op *op = OP_OF(job, future.job_);
    op->done_(op);
}

void cen_mux_pool_request_op_init(cen_mux_pool_request_op *op, void (*done)(cen_mux_pool_request_op *op),
                                  cen_executor *executor)
{
    if (!op) return;
    *op = (cen_mux_pool_request_op){.done_ = done};
    cen_future_init(&op->future);
    if (done) {
        ceni_future_ready(&op->future, run_done);
        op->future.executor_ = executor;
    }
    cen_request_init(&op->request, told, cen_inline());
    cen_route_op_init(&op->routing_, NULL, NULL);
}

/* Take the first route, without the router's lock if one is free at once. */
static void begin(cen_mux_pool *pool, cen_mux_pool_request_op *op)
{
    pin_deadline(pool, &op->request);
    bool waits = !ceni_deadline_is_now(route_deadline(pool, &op->request));
    const cen_route_hint *hint = op->hint.key || op->hint.avoid ? &op->hint : NULL;
    cen_status status =
        cen_router_route(pool->router, hint, CEN_NOW, &op->routing_.route, waits ? NULL : op->future.error);
    if (waits && (status == CEN_EMPTY || status == CEN_FULL)) {
        if (!arm(op)) return;
        status = op->routing_.future.status;
    }
    go_on(op, status);
}

cen_status cen_mux_pool_request_async(cen_mux_pool *pool, cen_mux_pool_request_op *op)
{
    if (!pool || !op || (op->done_ && !op->future.executor_)) return CEN_INVALID;
    if (!ceni_future_is_fresh(&op->future)) return CEN_MISUSE;
    CENI_INLINE_AT_END;
    op->pool_ = pool;
    cen_status status = refuse(pool, op, op->future.error);
    if (status != CEN_OK) {
        op->future.status = status;
        ceni_future_complete_fresh(&op->future);
        return CEN_OK;
    }
    op->request.future.error = op->future.error;
    op->tries_ = pool->reroutes;
    op->seen_ = losses_so_far(pool);
    ceni_store_relaxed(&op->stage_, (uint32_t)MOVING); /* not yet shared; carries nothing */
    ceni_future_begin(&op->future, withdraw, pool);
    begin(pool, op);
    return CEN_OK;
}
