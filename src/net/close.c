/* SPDX-License-Identifier: MIT */
/*
 * The end of a connection: close and free. The invariants are in mux.c.
 *
 *     close: refuse new requests ▶ wait until none is in flight, or the deadline ▶ fail the rest
 *     free:  [leave] ─loop▶ fail ▶ handles closed ▶ gone ▶ no thread in the exchange ▶ posted calls removed ▶ memory
 *
 * Order table
 * tag  site    | operation     | order   | pairs with | carries             | breaks if weakened
 * [E1] ceni_mux_gone | store of let_go | release | [E2] | all that the loop has done with it | it is freed under the loop's last write
 * [E2] cen_mux_free | load of let_go | acquire | [E1] | the same | the same
 *
 * Tested by tests/unit/net/end_test.c, fork_test.c.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "net/mux.h"
#include "port/deadline.h"
#include "sync/future.h"

static const int64_t default_close_ns = INT64_C(5000000000);

static void closed_by_us(const cen_mux *mux, cen_error *cause)
{
    ceni_error_set(cause, CEN_CLOSED, 0, "connection \"%s\": closed by this side", mux->label);
    cause->cause = CEN_CAUSE_CLOSED;
}

/* ---- Close --------------------------------------------------------------------------------------- */

/* Fail a connection that is still opening. On the loop's thread. */
static void give_up(void *argument)
{
    cen_mux *mux = argument;
    cen_error cause;
    closed_by_us(mux, &cause);
    if (ceni_mux_phase(mux) == CENI_MUX_PHASE_OPENING) ceni_mux_open_fail(mux, &cause);
}

/* Wait for requests in flight until the deadline, then fail the rest. Returns the number of failed requests. *cause:
 * the cause of the end, this side's or the peer's, whichever came first. It is read from the exchange, because the
 * thread that noticed the peer's end may not have told the connection yet. */
static uint32_t drain(cen_mux *mux, cen_deadline deadline, cen_error *cause)
{
    cen_future drained;
    ceni_exchange_stats left = {.in_flight = 0};
    deadline = ceni_deadline_or(deadline, cen_in_ns(default_close_ns));
    bool waits =
        !ceni_planted(net_close_awaits_nobody) && !ceni_deadline_is_now(deadline) && !ceni_loop_is_inside(mux->loop);
    int64_t moment = waits ? ceni_deadline_moment(deadline, ceni_clock_now()) : 0;
    cen_future_init(&drained);
    ceni_exchange_refuse(&mux->exchange, &drained);
    bool all = waits ? ceni_mux_wait(mux, &drained, moment) : cen_future_is_done(&drained);
    if (!all) ceni_exchange_look(&mux->exchange, &left);
    closed_by_us(mux, cause);
    ceni_exchange_fail(&mux->exchange, cause);
    *cause = mux->exchange.cause;                   /* set by ceni_exchange_fail at the latest, and then constant */
    if (!all) cen_future_wait(&drained, CEN_NEVER); /* no request is in flight: it is done or about to be completed */
    return left.in_flight + left.waiting;
}

static cen_status outcome(const cen_mux *mux, uint32_t failed, const cen_error *cause, cen_error *error)
{
    if (cause->status != CEN_CLOSED) {
        if (error) *error = *cause;
        return CEN_LOST;
    }
    if (failed == 0) return CEN_OK;
    return ceni_error_set(error, CEN_TIMEOUT, 0, "connection \"%s\": close timed out, %u requests without a reply",
                          mux->label, failed);
}

cen_status cen_mux_close(cen_mux *mux, cen_deadline deadline, cen_error *error)
{
    if (!mux) return ceni_error_set(error, CEN_INVALID, 0, "cen_mux_close: mux is NULL");
    if (!ceni_fork_is(mux->epoch))
        return ceni_error_set(error, CEN_FORKED, 0, "connection \"%s\": it belongs to the parent process", mux->label);
    ceni_mux_lock(mux);
    bool again = mux->is_closing;
    mux->is_closing = true;
    ceni_mux_unlock(mux);
    if (again) {
        ceni_error_set(error, CEN_CLOSED, 0, "connection \"%s\": it has already been closed", mux->label);
        return ceni_error_because(error, CEN_CAUSE_CLOSED, CEN_CLOSED);
    }
    if (ceni_mux_phase(mux) == CENI_MUX_PHASE_OPENING) ceni_loop_do(mux->loop, give_up, mux);
    uint32_t failed = 0;
    cen_error cause = {.status = CEN_CLOSED};
    if (ceni_mux_phase(mux) == CENI_MUX_PHASE_OPEN) failed = drain(mux, deadline, &cause);
    else cen_mux_error_get(mux, &cause);
    return outcome(mux, failed, &cause, error);
}

/* ---- Free ------------------------------------------------------------------------------------------ */

static void release(cen_mux *mux)
{
    cen_runtime *runtime = mux->runtime;
    cen_loop *loop = mux->loop;
    if (mux->fd >= 0) ceni_socket_close(mux->fd);
    ceni_free(mux->allocator, mux, sizeof *mux, _Alignof(cen_mux));
    ceni_runtime_leave(runtime);
    ceni_loop_leave(loop);
}

static void timer_closed(uv_handle_t *handle)
{
    cen_mux *mux = handle->data;
    if (--mux->handles == 0) ceni_mux_gone(mux);
}

void ceni_mux_leave(ceni_loop_call *leave)
{
    cen_mux *mux = CENI_LIST_ENTRY(leave, cen_mux, leave);
    cen_error cause;
    closed_by_us(mux, &cause);
    give_up(mux);
    if (ceni_mux_phase(mux) == CENI_MUX_PHASE_OPEN) ceni_exchange_fail(&mux->exchange, &cause);
    ceni_mux_watch_end(&mux->end);
    mux->leaving = true;
    if (mux->has_poll) ceni_mux_close_poll(mux);
    if (mux->has_timer) uv_close((uv_handle_t *)&mux->timer, timer_closed);
    if (mux->handles == 0) ceni_mux_gone(mux);
}

/* Wait for the threads inside the exchange. All have their results and are about to leave. */
static void empty_exchange(cen_mux *mux)
{
    if (ceni_mux_phase(mux) == CENI_MUX_PHASE_OPEN) ceni_exchange_fini(&mux->exchange);
}

/* Remove the calls that those threads may have posted. No thread is left that could post more. On the loop's thread.
 * One of those threads may have noticed the end of the connection just before the free and posted `end` after `leave`:
 * then the end is reported here. */
static void take_back(void *argument)
{
    cen_mux *mux = argument;
    ceni_loop_unpost(mux->loop, &mux->begin);
    ceni_loop_unpost(mux->loop, &mux->found);
    ceni_loop_unpost(mux->loop, &mux->wake);
    ceni_loop_unpost(mux->loop, &mux->end);
    ceni_mux_watch_end(&mux->end); /* the last chance to report the end */
}

/* One of the threads inside the exchange may be in a `done` callback that needs the loop. So the loop waits for them
 * only if no other thread can. */
void ceni_mux_gone(cen_mux *mux)
{
    if (mux->awaited) {
        ceni_store_release(&mux->let_go, 1u); /* [E1] */
        ceni_futex_wake(&mux->let_go, 1);
        return;
    }
    empty_exchange(mux);
    take_back(mux);
    release(mux);
}

static void release_in_child(cen_mux *mux)
{
    if (ceni_mux_phase(mux) == CENI_MUX_PHASE_OPEN) ceni_exchange_abandon(&mux->exchange);
    release(mux);
}

void cen_mux_free(cen_mux *mux)
{
    if (!mux) return;
    if (!ceni_fork_is(mux->epoch)) {
        release_in_child(mux);
        return;
    }
    ceni_directory_leave(ceni_directory_process(), &mux->entry);
    if (ceni_loop_is_inside(mux->loop)) {
        ceni_loop_post(mux->loop, &mux->leave);
        return;
    }
    mux->awaited = true; /* the loop's mutex makes it visible to the loop */
    ceni_loop_post(mux->loop, &mux->leave);
    while (!ceni_load_acquire(&mux->let_go)) ceni_futex_wait(&mux->let_go, 0, CENI_FOREVER); /* [E2] */
    empty_exchange(mux);
    ceni_loop_do(mux->loop, take_back, mux);
    release(mux);
}
