/* SPDX-License-Identifier: MIT */
/*
 * The transport of an exchange: it moves bytes over a socket and uses libuv for readiness and timers.
 *
 * The thread that has the role moves the bytes (src/wire/exchange.h). The socket is non-blocking, so that thread and
 * the loop do not disturb each other. The loop only decides what to watch: after each event the exchange reports what
 * comes next, and the libuv handle is changed only if that has changed.
 *
 * libuv reports an error on a socket as UV_EBADF and stops the handle. The actual error is found by reading from the
 * socket.
 *
 * The end of a connection is always reported on the loop's thread, whichever thread noticed it. So a `done` callback
 * that frees the connection never runs inside one of the connection's calls.
 *
 * Tested by tests/unit/net/mux_test.c, tests/stress/mux_stress.c.
 */
#include <errno.h>

#include "base/error.h"
#include "net/mux.h"
#include "record/events.h"

static bool would_block(int code)
{
    return code == EAGAIN || code == EWOULDBLOCK;
}

/* The exchange adds the name of the connection. */
static ceni_moved lost(int code, cen_error *cause)
{
    char text[CENI_CAUSE_SIZE];
    ceni_error_set(cause, CEN_LOST, code, "%s", ceni_errno_text(code, text));
    cause->cause = CEN_CAUSE_CONNECTION_FAILED;
    return CENI_MOVED_NEVER;
}

/* ---- Bytes, on any thread --------------------------------------------------------------------------- */

static ceni_moved write_some(void *argument, const void *bytes, size_t size, size_t *moved, cen_error *cause)
{
    cen_mux *mux = argument;
    ssize_t sent = ceni_socket_send(mux->fd, bytes, size);
    if (sent < 0) return would_block(errno) ? CENI_MOVED_NONE : lost(errno, cause);
    *moved = (size_t)sent;
    return CENI_MOVED;
}

static ceni_moved read_some(void *argument, void *into, size_t size, int64_t moment, size_t *moved, cen_error *cause)
{
    cen_mux *mux = argument;
    if (moment != 0 && !ceni_socket_wait(mux->fd, moment)) return CENI_MOVED_NONE;
    ssize_t got = ceni_socket_receive(mux->fd, into, size);
    if (got < 0) return would_block(errno) ? CENI_MOVED_NONE : lost(errno, cause);
    if (got == 0) {
        ceni_error_set(cause, CEN_LOST, 0, "closed by the other side");
        cause->cause = CEN_CAUSE_PEER_CLOSED;
        return CENI_MOVED_NEVER;
    }
    *moved = (size_t)got;
    return CENI_MOVED;
}

static void wake_loop(void *argument)
{
    cen_mux *mux = argument;
    ceni_loop_post(mux->loop, &mux->wake);
}

static void broken(void *argument, const cen_error *cause)
{
    cen_mux *mux = argument;
    ceni_socket_shut(mux->fd);
    ceni_mux_lock(mux);
    mux->has_ended = true;
    mux->cause = *cause;
    ceni_mux_unlock(mux);
    ceni_mux_tell_end(mux, CEN_EVENT_LOST, cause);
    ceni_loop_post(mux->loop, &mux->end);
}

const ceni_transport ceni_mux_transport = {.write = write_some, .read = read_some, .wake = wake_loop, .broken = broken};

/* ---- The handles, on the loop's thread ----------------------------------------------------------------- */

static bool is_opening(const cen_mux *mux)
{
    /* only this thread writes it; carries nothing */
    return ceni_load_relaxed(&((cen_mux *)(uintptr_t)mux)->state) == CENI_MUX_PHASE_OPENING;
}

static bool is_open(const cen_mux *mux)
{
    /* only this thread writes it; carries nothing */
    return ceni_load_relaxed(&((cen_mux *)(uintptr_t)mux)->state) == CENI_MUX_PHASE_OPEN;
}

static void ready(uv_poll_t *poll, int status, int events)
{
    cen_mux *mux = poll->data;
    unsigned happened = (events & UV_READABLE ? CENI_LOOP_READ : 0u) | (events & UV_WRITABLE ? CENI_LOOP_WRITE : 0u);
    if (status < 0) {
        happened = mux->watched & (CENI_LOOP_READ | CENI_LOOP_WRITE);
        mux->watched = 0;
    }
    if (is_opening(mux)) ceni_mux_open_ready(mux);
    else if (is_open(mux)) ceni_mux_attend(mux, happened);
}

static void due(uv_timer_t *timer)
{
    cen_mux *mux = timer->data;
    if (is_opening(mux)) ceni_mux_open_due(mux);
    else if (is_open(mux)) ceni_mux_attend(mux, CENI_LOOP_SOON);
}

cen_status ceni_mux_make_poll(cen_mux *mux)
{
    int result = uv_poll_init(ceni_loop_uv(mux->loop), &mux->poll, mux->fd);
    if (result != 0)
        return ceni_error_set(&mux->last, CEN_SYSTEM, -result, "cannot watch the socket to %s: %s", mux->address.text,
                              uv_err_name(result));
    mux->poll.data = mux;
    mux->has_poll = true;
    mux->watched = 0;
    mux->handles++;
    return CEN_OK;
}

void ceni_mux_watch(cen_mux *mux, unsigned what)
{
    if (!mux->has_poll || what == mux->watched) return;
    mux->watched = what;
    int events = (what & CENI_LOOP_READ ? UV_READABLE : 0) | (what & CENI_LOOP_WRITE ? UV_WRITABLE : 0);
    if (events) uv_poll_start(&mux->poll, events, ready);
    else uv_poll_stop(&mux->poll);
}

/* The timer never fires early: libuv counts whole milliseconds from its cached time. */
void ceni_mux_set_timer(cen_mux *mux, int64_t moment)
{
    if (!mux->has_timer || mux->leaving) return;
    if (moment == CENI_FOREVER) {
        if (mux->is_timed) uv_timer_stop(&mux->timer);
        mux->is_timed = false;
        return;
    }
    mux->is_timed = true;
    int64_t ns = moment - ceni_clock_now();
    uv_update_time(ceni_loop_uv(mux->loop));
    uv_timer_start(&mux->timer, due, ns <= 0 ? 0 : (uint64_t)((ns + 999999) / 1000000), 0);
}

static void poll_closed(uv_handle_t *handle)
{
    cen_mux *mux = handle->data;
    mux->handles--;
    if (!is_open(mux)) {
        ceni_socket_close(mux->fd);
        mux->fd = -1;
    }
    if (mux->leaving && mux->handles == 0) ceni_mux_gone(mux);
    else if (!mux->leaving && is_opening(mux)) ceni_mux_open_next(mux);
}

void ceni_mux_close_poll(cen_mux *mux)
{
    mux->has_poll = false;
    mux->watched = 0;
    uv_close((uv_handle_t *)&mux->poll, poll_closed);
}

/* ---- The exchange, on the loop's thread ------------------------------------------------------------------ */

void ceni_mux_attend(cen_mux *mux, unsigned happened)
{
    unsigned what = ceni_exchange_loop(&mux->exchange, happened);
    if (mux->leaving) return;
    ceni_mux_watch(mux, what & (CENI_LOOP_READ | CENI_LOOP_WRITE));
    ceni_mux_set_timer(mux, what & CENI_LOOP_SOON ? ceni_clock_now() + CENI_EXCHANGE_LINGER_NS : CENI_FOREVER);
}

void ceni_mux_wake(ceni_loop_call *wake)
{
    cen_mux *mux = CENI_LIST_ENTRY(wake, cen_mux, wake);
    if (!mux->leaving) ceni_mux_attend(mux, 0);
}

void ceni_mux_watch_end(ceni_loop_call *end)
{
    cen_mux *mux = CENI_LIST_ENTRY(end, cen_mux, end);
    cen_error cause;
    if (is_open(mux)) ceni_mux_watch(mux, 0);
    if (mux->has_timer && !mux->leaving) uv_timer_stop(&mux->timer);
    ceni_mux_lock(mux);
    cen_future *ended = mux->has_ended ? mux->ended : NULL;
    if (ended) mux->ended = NULL;
    cause = mux->cause;
    ceni_mux_unlock(mux);
    ceni_mux_tell(ended, NULL, cause.status == CEN_CLOSED ? NULL : &cause); /* its `done` may free the connection */
}
