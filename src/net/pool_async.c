/* SPDX-License-Identifier: MIT */
/*
 * Requests of a routing pool: a route, a request on its connection, and the end of both.
 *
 * An asking goes through stages, by calls whose answers come on any thread, perhaps before the call has returned:
 *
 *     MOVING ─▶ ARMING ──the call returned──▶ ROUTING ──a route──▶ MOVING        waiting for a connection
 *                  └──a route──▶ ROUTED ──the call returned──▶ MOVING
 *     MOVING ─▶ SENDING ──the call returned──▶ SENT ──a reply──▶ the end
 *                  └──a reply──▶ TOLD ──the call returned──▶ the end
 *
 * The naive way, to let the answer go on at once, has the caller come back from cen_mux_request_async to an asking that is
 * done and may be gone. So the second of the two, call and answer, goes on, and the first leaves.
 *
 * Cancel. ROUTING and SENT are taken back from the router or the connection, whose cancel is exact; if that is too late the
 * answer is on its way. In every other stage some thread is at work on it: it finds the mark UNWANTED, takes back what it has
 * done, and the asking ends as INTERRUPTED. Cancel waits for nobody, so it may be called from within any `done`.
 *
 * Invariants
 *  A1 In MOVING, ROUTED and TOLD one thread has the asking; in ARMING and SENDING the thread that is in the call. In ROUTING and
 *     SENT nobody: whoever changes the stage, or has taken the inner future back, has it from then on.
 *  A2 It ends once: by who has it. Nothing of it is touched after ceni_future_complete, nor of the pool.
 *  A3 From SENDING on it has a route, which is done before the end is told, and after all that is counted.
 *
 * Order table
 * tag  site    | operation      | order   | pairs with       | carries                  | breaks if weakened
 * [A1] begin   | load of losses | acquire | L2 in pool_connection.c | the set without those that were lost | `stale` would not be exact
 * [A2] stage   | cas            | acq_rel | [A2] [A3]        | all that was done with the asking so far | the one who goes on sees half of it
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

#define ASKING_OF(pointer, field) CENI_LIST_ENTRY(pointer, cen_mux_pool_request_op, field)

/* ---- Deadlines and outcomes ------------------------------------------------------------------------- */

/* The request's deadline is for all of it: where it may have to wait for a connection first, it is pinned. */
static void pin_deadline(const cen_mux_pool *pool, cen_request *request)
{
    if (ceni_deadline_is_now(pool->deadline)) return;
    cen_deadline whole = ceni_deadline_or(request->deadline, pool->request_deadline);
    request->deadline = cen_at(ceni_deadline_moment(whole, ceni_runtime_now(pool->runtime)));
}

/* Until when it may wait for a connection. */
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
    case CEN_FULL: return CEN_OUTCOME_OK; /* a reply came, though it was too large */
    case CEN_LOST:
    case CEN_TIMEOUT: return CEN_OUTCOME_FAILED;
    default: return CEN_OUTCOME_CANCELLED;
    }
}

/* Of a request that had a connection. */
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

/* Of one that had none. */
static void count_refusal(cen_mux_pool *pool, cen_status status)
{
    if (status == CEN_EMPTY || status == CEN_FULL) ceni_mux_pool_count(pool, CENI_COUNT_REFUSED);
    else count_end(pool, status);
}

static uint64_t losses_so_far(cen_mux_pool *pool)
{
    return ceni_load_acquire(&pool->losses); /* [A1] */
}

/* The connection of a route, which is to be used now. OK, or DOWN: it has just left. */
static cen_status look_at_route(cen_mux_pool *pool, const cen_route *route, uint64_t seen)
{
    ceni_mux_link *link = route->value;
    uint64_t lost = ceni_load_acquire(&link->lost); /* [A4] */
    if (lost && lost <= seen) ceni_mux_pool_count(pool, CENI_COUNT_STALE);
    return cen_route_check(route);
}

/* Whether a connection would not have it because it is none any more. Then nothing was sent. */
static bool is_refusal(cen_status status)
{
    return status == CEN_DOWN || status == CEN_LOST || status == CEN_CLOSED;
}

/* It would not have a request, and is never open again. The loop will hear of it and take it out of the set, in a moment that may
 * be long where the loop has much to do; until then all would be routed there, because it has nothing in flight. So it leaves
 * here. */
static void leave_set(const cen_mux_pool *pool, const cen_route *route)
{
    if (!pool->keep_lost && !ceni_planted(mux_pool_forgets_to_leave)) cen_member_down(route->member, NULL);
}

/* ---- Waiting for the reply ------------------------------------------------------------------------------ */

/* One attempt. True: the request was not sent, and another connection may have it. */
static bool attempt(cen_mux_pool *pool, cen_pick *wish, bool wishes, cen_request *request, cen_status *status,
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
    if (!pool || !request) return ceni_error_set(error, CEN_INVALID, 0, "a request needs a pool, and the request");
    if (!ceni_fork_is(pool->epoch))
        return ceni_error_set(error, CEN_FORKED, 0, "this pool belongs to the process that this one was forked from");
    return CEN_OK;
}

/* The last that was tried would not have it, and no other is tried. */
static cen_status unsent(cen_mux_pool *pool, cen_error *error)
{
    ceni_mux_pool_count(pool, CENI_COUNT_LOST);
    return ceni_error_set(error, CEN_LOST, 0,
                          "the connection of %s that a request was routed to was lost before it was sent", pool->name);
}

cen_status cen_mux_pool_request(cen_mux_pool *pool, const cen_pick *pick, cen_request *request, cen_error *error)
{
    cen_status status = refuse(pool, request, error);
    if (status != CEN_OK) return status;
    if (!ceni_future_is_fresh(&request->future))
        return ceni_error_set(error, CEN_MISUSE, 0, "the request has been made before, or is being made");
    cen_pick wish = pick ? *pick : (cen_pick){.key = 0};
    pin_deadline(pool, request);
    for (int64_t left = pool->reroutes; attempt(pool, &wish, pick || left < pool->reroutes, request, &status, error);
         left--) {
        if (left <= 0) return unsent(pool, error);
        ceni_mux_pool_count(pool, CENI_COUNT_REROUTED);
    }
    return status;
}

/* ---- Asking: stages ----------------------------------------------------------------------------------------- */

static uint32_t stage_of(cen_mux_pool_request_op *asking)
{
    return ceni_load_acquire(&asking->stage_); /* [A3] */
}

static bool change(cen_mux_pool_request_op *asking, uint32_t *from, uint32_t to)
{
    return ceni_cas_acq_rel(&asking->stage_, from, to); /* [A2] */
}

/* By the one who has it: only UNWANTED may come in between. */
static void enter(cen_mux_pool_request_op *asking, uint32_t stage)
{
    uint32_t now = stage_of(asking);
    while (!change(asking, &now, stage | (now & UNWANTED))) continue;
}

static bool is_unwanted(cen_mux_pool_request_op *asking)
{
    return stage_of(asking) & UNWANTED;
}

/* The call has returned, or its answer is there: true, the other one was first, and this one goes on with it. */
static bool meet(cen_mux_pool_request_op *asking, uint32_t calling, uint32_t mine, uint32_t go_on)
{
    for (uint32_t now = stage_of(asking);;) {
        bool first = (now & STAGE) == calling;
        if (change(asking, &now, (first ? mine : go_on) | (now & UNWANTED))) return !first;
    }
}

/* ---- Asking: the end ------------------------------------------------------------------------------------------ */

/* A2 */
static void complete(cen_mux_pool_request_op *asking, cen_status status, int code, void *value)
{
    asking->future.status = status;
    asking->future.code = code;
    asking->future.value = value;
    ceni_future_complete(&asking->future);
}

static void end_unsent(cen_mux_pool_request_op *asking, cen_status status)
{
    count_refusal(asking->pool_, status);
    complete(asking, status, 0, NULL);
}

static void end_interrupted(cen_mux_pool_request_op *asking)
{
    ceni_mux_pool_count(asking->pool_, CENI_COUNT_CANCELLED);
    cen_route_done(&asking->routing_.route, CEN_OUTCOME_CANCELLED, 0);
    ceni_error_set(asking->future.error, CEN_INTERRUPTED, 0, "the request was given up while it was being sent");
    complete(asking, CEN_INTERRUPTED, 0, NULL);
}

static void end_told(cen_mux_pool_request_op *asking)
{
    const cen_future *inner = &asking->request.future;
    count_end(asking->pool_, inner->status);
    cen_route_done(&asking->routing_.route, outcome_of(inner->status), 0);
    complete(asking, inner->status, inner->code, inner->value);
}

/* ---- Asking: steps ---------------------------------------------------------------------------------------------- */

static void told(cen_request *request)
{
    cen_mux_pool_request_op *asking = ASKING_OF(request, request);
    if (meet(asking, SENDING, TOLD, MOVING)) end_told(asking);
}

/* It was sent, and is given up. */
static void take_back(cen_mux_pool_request_op *asking)
{
    if (cen_future_cancel(&asking->request.future)) end_interrupted(asking);
    else if (meet(asking, SENDING, SENT, MOVING)) end_told(asking);
}

/* Sends it. False: nobody has it any more, or it is over. True: it was not sent, and may be routed again. */
static bool send_it(cen_mux_pool_request_op *asking)
{
    cen_mux_pool *pool = asking->pool_;
    cen_route *route = &asking->routing_.route;
    ceni_mux_link *link = route->value;
    cen_status status = look_at_route(pool, route, asking->seen_);
    enter(asking, SENDING);
    if (status == CEN_OK) status = cen_mux_request_async(link->mux, &asking->request, asking->future.error);
    if (status == CEN_OK) {
        if (is_unwanted(asking)) take_back(asking);
        else if (meet(asking, SENDING, SENT, MOVING)) end_told(asking);
        return false;
    }
    enter(asking, MOVING);
    asking->pick.avoid = route->member;
    bool again = is_refusal(status);
    if (!again) count_end(pool, status);
    else leave_set(pool, route);
    cen_route_done(route, again ? CEN_OUTCOME_FAILED : outcome_of(status), 0);
    if (!again) {
        complete(asking, status, 0, NULL);
        return false;
    }
    if (asking->tries_-- > 0) {
        ceni_mux_pool_count(pool, CENI_COUNT_REROUTED);
        return true;
    }
    unsent(pool, asking->future.error);
    complete(asking, CEN_LOST, 0, NULL);
    return false;
}

static void routed(cen_future *future);

/* Waits for a route in the router's line. True: there is an answer already. */
static bool arm(cen_mux_pool_request_op *asking)
{
    cen_mux_pool *pool = asking->pool_;
    cen_route_op_init(&asking->routing_);
    asking->routing_.future.error = asking->future.error;
    cen_future_then(&asking->routing_.future, routed, cen_inline());
    enter(asking, ARMING);
    cen_router_route_async(pool->router, &asking->pick, route_deadline(pool, &asking->request), &asking->routing_);
    return meet(asking, ARMING, ROUTING, MOVING);
}

/* The way of one that is MOVING, until somebody else has it. `status`: of its route. */
static void go_on(cen_mux_pool_request_op *asking, cen_status status)
{
    while (status == CEN_OK) {
        if (is_unwanted(asking)) {
            end_interrupted(asking);
            return;
        }
        if (!send_it(asking)) return;
        asking->seen_ = losses_so_far(asking->pool_);
        if (!arm(asking)) return;
        status = asking->routing_.future.status;
    }
    end_unsent(asking, status);
}

static void routed(cen_future *future)
{
    cen_mux_pool_request_op *asking = ASKING_OF(future, routing_.future);
    if (meet(asking, ARMING, ROUTED, MOVING)) go_on(asking, future->status);
}

/* ---- Asking: the calls ------------------------------------------------------------------------------------------- */

static bool withdraw(cen_future *future)
{
    cen_mux_pool_request_op *asking = ASKING_OF(future, future);
    if (!ceni_fork_is(asking->pool_->epoch)) return true; /* the parent's; it is never done here */
    for (uint32_t now = stage_of(asking);;) {
        if (now & UNWANTED) return false;
        if (now == ROUTING && cen_future_cancel(&asking->routing_.future)) {
            ceni_mux_pool_count(asking->pool_, CENI_COUNT_CANCELLED);
            return true;
        }
        if (now == SENT) {
            if (!cen_future_cancel(&asking->request.future)) return false;
            ceni_mux_pool_count(asking->pool_, CENI_COUNT_CANCELLED);
            if (!ceni_planted(mux_pool_cancel_keeps_the_route))
                cen_route_done(&asking->routing_.route, CEN_OUTCOME_CANCELLED, 0);
            return true;
        }
        if (change(asking, &now, now | UNWANTED)) return false;
    }
}

void cen_mux_pool_request_op_init(cen_mux_pool_request_op *asking)
{
    if (!asking) return;
    *asking = (cen_mux_pool_request_op){.tries_ = 0};
    cen_future_init(&asking->future);
    cen_request_init(&asking->request, told, cen_inline());
    cen_route_op_init(&asking->routing_);
}

/* The first route, without the router's lock if there is one at once. */
static void begin(cen_mux_pool *pool, cen_mux_pool_request_op *asking)
{
    pin_deadline(pool, &asking->request);
    bool waits = !ceni_deadline_is_now(route_deadline(pool, &asking->request));
    const cen_pick *pick = asking->pick.key || asking->pick.avoid ? &asking->pick : NULL;
    cen_status status =
        cen_router_route(pool->router, pick, CEN_NOW, &asking->routing_.route, waits ? NULL : asking->future.error);
    if (waits && (status == CEN_EMPTY || status == CEN_FULL)) {
        if (!arm(asking)) return;
        status = asking->routing_.future.status;
    }
    go_on(asking, status);
}

cen_status cen_mux_pool_request_async(cen_mux_pool *pool, cen_mux_pool_request_op *asking)
{
    if (!pool || !asking) return CEN_INVALID;
    if (!ceni_future_is_fresh(&asking->future)) return CEN_MISUSE;
    CENI_INLINE_AT_END;
    asking->pool_ = pool;
    cen_status status = refuse(pool, asking, asking->future.error);
    if (status != CEN_OK) {
        asking->future.status = status;
        ceni_future_complete_fresh(&asking->future);
        return CEN_OK;
    }
    asking->request.future.error = asking->future.error;
    asking->tries_ = pool->reroutes;
    asking->seen_ = losses_so_far(pool);
    ceni_store_relaxed(&asking->stage_, (uint32_t)MOVING); /* nobody else knows of it yet; carries nothing */
    ceni_future_begin(&asking->future, withdraw, pool);
    begin(pool, asking);
    return CEN_OK;
}
