/* SPDX-License-Identifier: MIT */
/*
 * Opening a connection: from endpoints to a connected socket. Everything here runs on the loop's thread.
 *
 *     begin ──▶ (looked up) ──▶ attempt ──connected──▶ OPEN
 *                                 │ ▲
 *                   refused, late ▼ │ the next endpoint; none: FAILED
 *                               socket is closed
 *
 * Each endpoint gets an equal share of the time that is left, so an endpoint that never responds does not use up the
 * time of those after it. A Unix server whose queue is full refuses with EAGAIN, where a TCP connect would wait. Such a
 * connect is retried every 5 ms.
 *
 * A libuv handle can be reused only after its close was reported. So an attempt ends in ceni_mux_close_poll, and
 * ceni_mux_open_next continues from there.
 *
 * Order table
 * tag  site    | operation     | order   | pairs with | carries             | breaks if weakened
 * [O1] connected, fail | store of state | release | M1 in mux.c | the exchange | a request finds one that is still being made
 *
 * Tested by tests/unit/net/open_test.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/plant.h"
#include "net/mux.h"
#include "record/events.h"

static const int64_t retry_ns = 5000000;

/* Record the error of the attempt at the current endpoint. The text names the endpoint where the address alone does not
 * identify it. */
static void note(cen_mux *mux, int code)
{
    char shown[CENI_ADDRESS_TEXT], cause[CENI_CAUSE_SIZE];
    ceni_endpoint_show(&mux->endpoints.each[mux->which], shown);
    cen_status status = code == ETIMEDOUT ? CEN_TIMEOUT : CEN_SYSTEM;
    if (strcmp(shown, mux->address.text) == 0)
        ceni_error_set(&mux->last, status, code, "cannot connect to %s: %s", shown, ceni_errno_text(code, cause));
    else
        ceni_error_set(&mux->last, status, code, "cannot connect to %s (%s): %s", mux->address.text, shown,
                       ceni_errno_text(code, cause));
    bool is_ours =
        code == EMFILE || code == ENFILE || code == ENOMEM || code == ENOBUFS; /* this process lacks a resource */
    mux->last.cause = status == CEN_TIMEOUT ? CEN_CAUSE_CONNECT_TIMEOUT
                      : is_ours             ? CEN_CAUSE_NONE
                                            : CEN_CAUSE_CONNECT_FAILED;
}

void ceni_mux_open_fail(cen_mux *mux, const cen_error *cause)
{
    cen_error why = *cause;
    if (mux->has_poll) ceni_mux_close_poll(mux);
    if (mux->has_timer) uv_timer_stop(&mux->timer);
    ceni_lookup_leave(mux);
    ceni_mux_lock(mux);
    mux->has_ended = true;
    mux->cause = why;
    cen_future *opened = mux->opened;
    mux->opened = NULL;
    ceni_mux_unlock(mux);
    ceni_store_release(&mux->state, (uint32_t)CENI_MUX_PHASE_FAILED); /* [O1] */
    ceni_mux_tell_end(mux, CEN_EVENT_CONNECT_FAILED, &why);
    ceni_loop_post(mux->loop, &mux->end);
    ceni_mux_tell(opened, NULL, &why); /* its `done` may free the connection: do not touch it after this */
}

static void connected(cen_mux *mux)
{
    cen_error error;
    uv_timer_stop(&mux->timer);
    ceni_socket_keep_alive(mux->fd, mux->keepalive_ns);
    if (!mux->has_poll && ceni_mux_make_poll(mux) != CEN_OK) return ceni_mux_open_fail(mux, &mux->last);
    ceni_mux_watch(mux, 0);
    if (ceni_exchange_init(&mux->exchange, &mux->settings, &error) != CEN_OK) return ceni_mux_open_fail(mux, &error);
    ceni_store_release(&mux->state, (uint32_t)CENI_MUX_PHASE_OPEN); /* [O1] */
    char text[sizeof mux->label + 32];
    snprintf(text, sizeof text, "connection \"%s\": open", mux->label);
    ceni_event_write(
        &(ceni_occurrence){
            .level = CEN_LEVEL_DETAIL, .kind = CEN_EVENT_CONNECTED, .of = &mux->entry, .where = mux->address.text},
        text);
    ceni_mux_lock(mux);
    cen_future *opened = mux->opened;
    mux->opened = NULL;
    ceni_mux_unlock(mux);
    ceni_mux_attend(mux, 0);
    ceni_mux_tell(opened, mux, NULL); /* as above */
}

/* Set the timer for the end of this attempt or of the whole open, whichever is earlier. */
static void set_timer(cen_mux *mux)
{
    ceni_mux_set_timer(mux, mux->attempt_moment < mux->connect_moment ? mux->attempt_moment : mux->connect_moment);
}

static int64_t share_of_time(const cen_mux *mux)
{
    int64_t now = ceni_clock_now();
    if (mux->connect_moment == CENI_FOREVER || ceni_planted(net_first_address_has_all_time)) return CENI_FOREVER;
    return now + (mux->connect_moment - now) / (int64_t)(mux->endpoints.count - mux->which);
}

/* Start an attempt. Returns true if its outcome will be reported; false with errno if it could not start. */
static bool attempt(cen_mux *mux)
{
    const ceni_endpoint *endpoint = &mux->endpoints.each[mux->which];
    mux->fd = ceni_socket_new(endpoint);
    if (mux->fd < 0) return false;
    int code = ceni_socket_connect(mux->fd, endpoint) == 0 ? 0 : errno;
    if (code == 0 && ceni_socket_is_itself(mux->fd)) code = ECONNREFUSED;
    if (code == 0) {
        connected(mux);
        return true;
    }
    if (code == EINPROGRESS) {
        if (ceni_mux_make_poll(mux) != CEN_OK) {
            ceni_mux_open_fail(mux, &mux->last);
            return true;
        }
        mux->attempt_moment = share_of_time(mux);
        set_timer(mux);
        ceni_mux_watch(mux, CENI_LOOP_WRITE);
        return true;
    }
    ceni_socket_close(mux->fd);
    mux->fd = -1;
    errno = code;
    return false;
}

static void pass_on(cen_mux *mux)
{
    mux->which += ceni_planted(net_tries_one_address) ? CENI_ENDPOINTS : 1;
}

void ceni_mux_open_next(cen_mux *mux)
{
    for (; mux->which < mux->endpoints.count; pass_on(mux)) {
        mux->retries = false;
        if (attempt(mux)) return;
        int code = errno;
        note(mux, code);
        if (code != EAGAIN) continue;
        mux->retries = true;
        mux->attempt_moment = ceni_clock_now() + retry_ns;
        return set_timer(mux);
    }
    ceni_mux_open_fail(mux, &mux->last);
}

void ceni_mux_open_ready(cen_mux *mux)
{
    int code = ceni_socket_error(mux->fd);
    if (code == 0 && ceni_socket_is_itself(mux->fd)) code = ECONNREFUSED;
    if (code == 0) return connected(mux);
    note(mux, code);
    pass_on(mux);
    ceni_mux_close_poll(mux);
}

static void fail_late(cen_mux *mux)
{
    cen_error late;
    bool looks_up = mux->lookup != NULL;
    ceni_lookup_leave(mux); /* until this call `last` is the helper's */
    bool tried = mux->last.status != CEN_OK && mux->last.code != ETIMEDOUT;
    ceni_error_set(&late, CEN_TIMEOUT, tried ? mux->last.code : 0, "cannot connect to %s: timed out%s%s",
                   mux->address.text, looks_up ? "; name lookup still running" : "", tried ? "; last error: " : "");
    late.cause = CEN_CAUSE_CONNECT_TIMEOUT;
    size_t length = strlen(late.text);
    if (tried) snprintf(late.text + length, sizeof late.text - length, "%.300s", mux->last.text);
    ceni_mux_open_fail(mux, &late);
}

void ceni_mux_open_due(cen_mux *mux)
{
    int64_t now = ceni_clock_now();
    if (now >= mux->connect_moment) return fail_late(mux);
    if (mux->retries) return ceni_mux_open_next(mux);
    if (!mux->has_poll || now < mux->attempt_moment) return set_timer(mux);
    note(mux, ETIMEDOUT);
    pass_on(mux);
    mux->attempt_moment = CENI_FOREVER;
    set_timer(mux);
    ceni_mux_close_poll(mux);
}

/* ---- Start ---------------------------------------------------------------------------------------- */

void ceni_mux_open_begin(ceni_loop_call *begin)
{
    cen_mux *mux = CENI_LIST_ENTRY(begin, cen_mux, begin);
    /* only this thread writes it; carries nothing */
    if (mux->leaving || ceni_load_relaxed(&mux->state) != CENI_MUX_PHASE_OPENING) return;
    uv_timer_init(ceni_loop_uv(mux->loop), &mux->timer);
    mux->timer.data = mux;
    mux->has_timer = true;
    mux->handles++;
    mux->attempt_moment = CENI_FOREVER;
    set_timer(mux);
    if (mux->endpoints.count) return ceni_mux_open_next(mux);
    cen_error error;
    if (ceni_lookup_begin(mux, &error) != CEN_OK) ceni_mux_open_fail(mux, &error);
}

void ceni_mux_open_found(ceni_loop_call *found)
{
    cen_mux *mux = CENI_LIST_ENTRY(found, cen_mux, found);
    ceni_lookup_leave(mux);
    /* only this thread writes it; carries nothing */
    if (ceni_load_relaxed(&mux->state) != CENI_MUX_PHASE_OPENING) return;
    if (mux->lookup_status == CEN_OK) ceni_mux_open_next(mux);
    else ceni_mux_open_fail(mux, &mux->last);
}
