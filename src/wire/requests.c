/* SPDX-License-Identifier: MIT */
/*
 * Requests: admission, waiting for room, waiting for the reply, completion.
 *
 *     async     begin the future, send or wait for room; leave. Completed by the thread that takes it OUT.
 *     blocked   send or wait for room; then, until it is DONE: read, or sleep
 *
 * Exactly once. A request leaves the wire once, under the lock, by one of: its reply, its deadline, a cancel, the
 * connection's end. The thread that takes it OUT completes it, and no other thread touches it from then on; a cancel
 * completes nothing. A blocked thread whose deadline passes takes its request OUT itself. If another thread has done so
 * before, it waits for that thread's completion, which comes before any of the program's code runs.
 *
 * A blocked thread watches its own deadline. The wire, and so the alarm, has the deadlines of asynchronous requests
 * only; with a virtual clock, of all. An asynchronous request without its own deadline gets its moment when it, or
 * output of others, is about to be written, so one read of the clock serves all requests added meanwhile. A deadline is
 * therefore never early. It is late by at most the time that the call takes or, on the loop's thread, the `done`s of
 * one batch of replies. If these never return, the alarm, which is set then, gives the request its moment.
 *
 * Memory is never allocated under the lock. When more is needed, the lock is dropped, and everything is checked again.
 *
 * Order table
 * tag  site        | operation       | order   | pairs with            | carries               | breaks if weakened
 * [B2] is_done     | load of the word | acquire | after.c [B1]         | the request's result  | a half-written result is read
 * [B3] fall_asleep | cas of the word | acq_rel | after.c [B1], roles.c [R1] | likewise, if it is too late | likewise
 *
 * Tested by tests/unit/wire/exchange_test.c, tests/explore/wire_exchange_test.c.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "port/deadline.h"
#include "sync/future.h"
#include "wire/internal.h"

/* ---- Admission ----------------------------------------------------------------------------------- */

static cen_status refused(const ceni_exchange *exchange, cen_error *error)
{
    if (exchange->state == CENI_EXCHANGE_REFUSING) {
        ceni_error_set(error, CEN_CLOSED, 0, "connection \"%s\": being closed", exchange->name);
        return ceni_error_because(error, CEN_CAUSE_CLOSED, CEN_CLOSED);
    }
    if (error) *error = exchange->cause;
    return exchange->cause.status;
}

static cen_status too_full(const ceni_exchange *exchange, cen_error *error)
{
    const ceni_wire *wire = &exchange->wire;
    ceni_error_set(error, CEN_FULL, 0, "connection \"%s\": full (%u requests in flight, %u waiting, %zu bytes unsent)",
                   exchange->name, wire->in_flight, wire->waiting, wire->unsent);
    return ceni_error_because(error, CEN_CAUSE_REQUESTS_FULL, CEN_FULL);
}

/* Give the output more memory; the lock is dropped meanwhile. Returns false if there is none. */
static bool enlarge_output(ceni_exchange *exchange, size_t capacity)
{
    ceni_exchange_unlock(exchange);
    ceni_bytes larger = {.at = ceni_alloc(exchange->allocator, capacity, 1), .capacity = capacity};
    ceni_exchange_lock(exchange);
    if (!larger.at) return false;
    ceni_bytes old = ceni_wire_enlarge(&exchange->wire, larger);
    ceni_exchange_unlock(exchange);
    ceni_free(exchange->allocator, old.at, old.capacity, 1);
    ceni_exchange_lock(exchange);
    return true;
}

/* Copy the payload of an asynchronous request that has to wait. The lock is dropped meanwhile. */
static bool copy_payload(ceni_exchange *exchange, cen_request *request)
{
    ceni_sent *asked = ceni_sent_of(request);
    ceni_exchange_unlock(exchange);
    asked->copy = ceni_alloc(exchange->allocator, request->size, 1);
    if (asked->copy) memcpy(asked->copy, request->payload, request->size);
    ceni_exchange_lock(exchange);
    return asked->copy != NULL;
}

/* Set the alarm earlier if this deadline is earlier than all others. Under the lock. */
static void set_alarm(ceni_exchange *exchange, int64_t moment)
{
    if (moment >= exchange->alarm_moment || ceni_planted(wire_sets_no_alarm)) return;
    exchange->alarm_moment = moment;
    /* If its callback has begun and waits for the lock, this is a further alarm, which counts separately. */
    if (!ceni_alarm_set(exchange->runtime, &exchange->alarm, moment, NULL)) exchange->inside++;
}

void ceni_exchange_date(ceni_exchange *exchange)
{
    cen_deadline deadline = exchange->deadline;
    int64_t now = deadline.ns_ < 0 && !ceni_deadline_is_now(deadline) ? ceni_runtime_now(exchange->runtime) : 0;
    int64_t moment = ceni_deadline_moment(deadline, now);
    ceni_wire_date(&exchange->wire, moment);
    exchange->dated = moment;
    set_alarm(exchange, moment);
}

/* Date a request that was made in a batch. The batch's end does so. If the batch takes long, the alarm does, if one is
 * set in time; else it is done here. */
static void date_by_alarm(ceni_exchange *exchange)
{
    if (!ceni_exchange_alarm_dates(exchange) && ceni_wire_is_undated(&exchange->wire)) ceni_exchange_date(exchange);
}

static cen_status no_memory(const ceni_exchange *exchange, cen_error *error)
{
    return ceni_error_set(error, CEN_NO_MEMORY, 0, "connection \"%s\": out of memory for a request", exchange->name);
}

static cen_status send_now(ceni_exchange *exchange, cen_request *request, cen_error *error)
{
    cen_status status = ceni_wire_send(&exchange->wire, request, request->payload, request->size, error);
    if (status != CEN_OK) return status;
    exchange->stats.sent++;
    int64_t moment = ceni_sent_of(request)->moment;
    if (moment != CENI_WIRE_UNDATED) set_alarm(exchange, moment);
    return CEN_OK;
}

static bool goes_at_once(const ceni_exchange *exchange)
{
    return exchange->state == CENI_EXCHANGE_OPEN && ceni_wire_has_room(&exchange->wire) && exchange->wire.waiting == 0;
}

/* Send or queue a request when there is no room, others wait, or memory is lacking. */
static cen_status add_slowly(ceni_exchange *exchange, cen_request *request, cen_error *error)
{
    ceni_sent *asked = ceni_sent_of(request);
    ceni_wire *wire = &exchange->wire;
    for (;;) {
        if (exchange->state != CENI_EXCHANGE_OPEN) return refused(exchange, error);
        if (goes_at_once(exchange)) {
            size_t lacking = ceni_wire_lacks(wire, request->size);
            if (!lacking) return send_now(exchange, request, error);
            if (!enlarge_output(exchange, lacking)) return no_memory(exchange, error);
            continue;
        }
        if (request->only_if_room || wire->waiting >= wire->max_waiters) return too_full(exchange, error);
        if (!asked->blocked && request->size && !asked->copy) {
            if (!copy_payload(exchange, request)) return no_memory(exchange, error);
            continue;
        }
        ceni_wire_wait(wire, request);
        if (asked->moment != CENI_WIRE_UNDATED) set_alarm(exchange, asked->moment);
        return CEN_OK;
    }
}

/* Send or queue a request. Under the lock, which may be dropped meanwhile. */
static inline cen_status add(ceni_exchange *exchange, cen_request *request, cen_error *error)
{
    if (goes_at_once(exchange) && !ceni_wire_lacks(&exchange->wire, request->size))
        return send_now(exchange, request, error);
    return add_slowly(exchange, request, error);
}

/* Send the first waiting request. Returns false if none can be sent now. */
static bool admit_one(ceni_exchange *exchange, ceni_after *after)
{
    cen_request *request = exchange->state == CENI_EXCHANGE_BROKEN ? NULL : ceni_wire_next(&exchange->wire);
    if (!request) return false;
    ceni_sent *asked = ceni_sent_of(request);
    size_t lacking = ceni_wire_lacks(&exchange->wire, request->size);
    if (lacking && enlarge_output(exchange, lacking)) return true; /* everything may have changed */
    cen_status status = CEN_NO_MEMORY;
    cen_error error = {.status = CEN_OK};
    if (lacking) {
        /* The lock was dropped, so another request may be first now. */
        if (ceni_wire_next(&exchange->wire) != request) return true;
        ceni_wire_drop(&exchange->wire, request);
        no_memory(exchange, &error);
    } else {
        status = ceni_wire_send(&exchange->wire, request, asked->copy ? asked->copy : request->payload, request->size,
                                &error);
    }
    if (status == CEN_OK) {
        exchange->stats.sent++;
        return true;
    }
    exchange->stats.failed++;
    ceni_exchange_count_out(exchange, request);
    ceni_after_end(after, request, status, &error);
    return true;
}

void ceni_exchange_admit(ceni_exchange *exchange, ceni_after *after)
{
    if (exchange->wire.waiting == 0 || ceni_planted(wire_lets_nobody_in)) return;
    while (admit_one(exchange, after)) continue;
}

/* ---- Checks of a request ---------------------------------------------------------------------------- */

/* Return why a request is not sound. */
static cen_status blame(const ceni_exchange *exchange, const cen_request *request, cen_error *error)
{
    if (!request) return ceni_error_set(error, CEN_INVALID, 0, "request is NULL");
    if (!request->payload && request->size)
        return ceni_error_set(error, CEN_INVALID, 0, "request.payload is NULL but request.size is not 0");
    if (request->size > exchange->wire.max_payload)
        return ceni_error_set(error, CEN_INVALID, 0, "connection \"%s\": payload too large (%zu bytes, limit %zu)",
                              exchange->name, request->size, exchange->wire.max_payload);
    if (request->done_ && !request->future.executor_)
        return ceni_error_set(error, CEN_INVALID, 0, "request has a done function but no executor");
    return ceni_error_set(error, CEN_MISUSE, 0,
                          "the request has been used before; cen_request_init makes it ready again");
}

/* Return the request's deadline on the runtime's clock. The clock is read only for relative deadlines, and once for
 * several requests: *now is 0 before the first read. */
static int64_t moment_of(const ceni_exchange *exchange, const cen_request *request, int64_t *now)
{
    cen_deadline deadline = ceni_deadline_or(request->deadline, exchange->deadline);
    if (*now == 0 && deadline.ns_ < 0 && !ceni_deadline_is_now(deadline)) *now = ceni_runtime_now(exchange->runtime);
    return ceni_deadline_moment(deadline, *now);
}

/* ---- Asynchronous requests --------------------------------------------------------------------------- */

bool ceni_exchange_withdraw(cen_future *future)
{
    cen_request *request = (cen_request *)(void *)future;
    ceni_exchange *exchange = future->source_;
    if (!ceni_fork_is(exchange->epoch)) return true; /* in a forked child it never completes */
    ceni_after after;
    ceni_after_init(&after);
    ceni_exchange_enter(exchange);
    if (!ceni_planted(wire_cancel_overlooks_the_batch)) ceni_batch_merge(exchange);
    bool dropped = ceni_wire_drop(&exchange->wire, request);
    void *copy = NULL;
    size_t size = 0;
    if (dropped) {
        exchange->stats.cancelled++;
        ceni_exchange_count_out(exchange, request);
        copy = ceni_sent_of(request)->copy;
        size = request->size;
    }
    const cen_allocator *allocator = exchange->allocator;
    ceni_exchange_leave(exchange, &after);
    ceni_free(allocator, copy, size, 1);
    return dropped;
}

/* Undo a request that no other thread has seen. The lock is dropped meanwhile. */
static void take_back(ceni_exchange *exchange, cen_request *request)
{
    ceni_sent *asked = ceni_sent_of(request);
    exchange->asked--;
    ceni_future_undo(&request->future);
    if (!asked->copy) return;
    ceni_exchange_unlock(exchange);
    ceni_free(exchange->allocator, asked->copy, request->size, 1);
    ceni_exchange_lock(exchange);
}

/* Make one asynchronous request. Under the lock. Once added, other threads may complete it, so it is not touched here
 * any more. *now is 0 or the time. */
static inline cen_status ask_one(ceni_exchange *exchange, cen_request *request, int64_t *now, cen_error *error)
{
    if (!ceni_request_is_sound(exchange, request)) return blame(exchange, request, error);
    ceni_request_make_ready(request, NULL,
                            request->deadline.ns_ ? moment_of(exchange, request, now) : CENI_WIRE_UNDATED);
    ceni_future_begin(&request->future, ceni_exchange_withdraw, exchange);
    exchange->asked++;
    cen_status status = add(exchange, request, error);
    if (status != CEN_OK) take_back(exchange, request);
    return status;
}

/* Stop at the first request that fails; *asked: how many succeeded. Under the lock. */
static cen_status ask_each(ceni_exchange *exchange, cen_request *const requests[], size_t count, size_t *asked,
                           cen_error *error)
{
    cen_status status = CEN_OK;
    int64_t now = 0;
    size_t i = 0;
    while (i < count && (status = ask_one(exchange, requests[i], &now, error)) == CEN_OK) i++;
    *asked = i;
    return status;
}

/* The lock is held on entry and dropped. */
static cen_status ask_and_leave(ceni_exchange *exchange, cen_request *const requests[], size_t count, size_t *asked,
                                cen_error *error)
{
    CENI_INLINE_AT_END;
    ceni_after after;
    ceni_after_init(&after);
    exchange->inside++;
    cen_status status = ask_each(exchange, requests, count, asked, error);
    ceni_exchange_leave(exchange, &after);
    return status;
}

static cen_status forked(const ceni_exchange *exchange, cen_error *error)
{
    return ceni_error_set(error, CEN_FORKED, 0, "connection \"%s\": it belongs to the parent process", exchange->name);
}

/* In a `done` on the loop's thread only the sending is done here. That thread is inside the exchange already, and does
 * the rest when it has completed its batch. */
cen_status ceni_exchange_request_all_async(ceni_exchange *exchange, cen_request *const requests[], size_t count,
                                           size_t *asked, cen_error *error)
{
    size_t done = 0;
    if (asked) *asked = 0;
    if (!ceni_fork_is(exchange->epoch)) return forked(exchange, error);
    ceni_exchange_lock(exchange);
    cen_status status;
    if (ceni_exchange_batches(exchange)) {
        status = ask_each(exchange, requests, count, &done, error);
        exchange->batch.is_wanted = true;
        date_by_alarm(exchange);
        ceni_exchange_unlock(exchange);
    } else {
        status = ask_and_leave(exchange, requests, count, &done, error);
    }
    if (asked) *asked = done;
    return status;
}

cen_status ceni_exchange_request_async(ceni_exchange *exchange, cen_request *request, cen_error *error)
{
    if (!ceni_fork_is(exchange->epoch)) return forked(exchange, error);
    if (ceni_exchange_batches(exchange) && ceni_request_is_sound(exchange, request) && !request->deadline.ns_ &&
        ceni_batch_add(exchange, request))
        return CEN_OK;
    return ceni_exchange_request_all_async(exchange, &request, 1, NULL, error);
}

/* ---- Blocking ------------------------------------------------------------------------------------------ */

static bool is_done(ceni_blocked *blocked)
{
    return ceni_load_acquire(&blocked->word) == CENI_BLOCKED_DONE; /* [B2] */
}

/* Return until when the thread may wait before it has to check again. Runs what is due in a manual runtime. No lock is
 * held. */
static int64_t patience(ceni_exchange *exchange, const ceni_blocked *blocked)
{
    int64_t again = exchange->is_manual ? ceni_runtime_tend(exchange->runtime) : CENI_FOREVER;
    return again < blocked->moment ? again : blocked->moment;
}

static void let_go_of_role(ceni_exchange *exchange, ceni_blocked *blocked)
{
    if (!blocked->reads || (ceni_planted(wire_takes_the_role_along) && !ceni_sent_of(blocked->request)->is_answered))
        return;
    blocked->reads = false;
    exchange->is_reading = false;
}

/* Read once. The lock is held on entry and on return. Returns true if its own reply has come; other completed requests
 * are in `after`. */
static bool read_once(ceni_exchange *exchange, ceni_blocked *blocked, ceni_after *after)
{
    ceni_sent *asked = ceni_sent_of(blocked->request);
    /* The read may sleep long, so all pending work is done before it. */
    if (!ceni_planted(wire_sleeps_on_output)) ceni_exchange_prepare(exchange, after);
    ceni_exchange_unlock(exchange);
    ceni_exchange_call_out(exchange, after);
    ceni_came came = ceni_exchange_read(exchange, patience(exchange, blocked), after);
    ceni_exchange_lock(exchange);
    if (came != CENI_CAME_NOTHING) exchange->stats.thread_reads++;
    /* Only the reader writes replies, so this thread took it OUT. If another thread took it OUT, that thread completes
     * it. */
    if (asked->is_answered) {
        let_go_of_role(exchange, blocked);
        return true;
    }
    if (asked->place == CENI_PLACE_OUT || after->futures.first) let_go_of_role(exchange, blocked);
    ceni_exchange_settle(exchange, after);
    return false;
}

/* Sleep until completed, made the reader, or out of patience. The lock is held on entry and on return. */
static void sleep_once(ceni_exchange *exchange, ceni_blocked *blocked, ceni_after *after)
{
    uint32_t awake = CENI_BLOCKED_AWAKE;
    if (!ceni_cas_acq_rel(&blocked->word, &awake, (uint32_t)CENI_BLOCKED_ASLEEP)) return; /* [B3] it is DONE */
    ceni_list_push_back(&exchange->blocked, &blocked->link);
    ceni_exchange_prepare(exchange, after); /* this may make the thread itself the reader */
    ceni_exchange_unlock(exchange);
    ceni_exchange_call_out(exchange, after);
    ceni_futex_wait(&blocked->word, CENI_BLOCKED_ASLEEP, patience(exchange, blocked));
    ceni_exchange_lock(exchange);
    ceni_list_remove(&blocked->link);
    uint32_t asleep = CENI_BLOCKED_ASLEEP;
    ceni_cas_acq_rel(&blocked->word, &asleep, (uint32_t)CENI_BLOCKED_AWAKE); /* [B3] */
}

/* Return true if the deadline has passed and the request was still in the wire. Under the lock. */
static bool gives_up(ceni_exchange *exchange, ceni_blocked *blocked)
{
    if (blocked->moment == CENI_FOREVER || ceni_clock_now() < blocked->moment) return false;
    if (!ceni_wire_drop(&exchange->wire, blocked->request)) {
        blocked->moment = CENI_FOREVER; /* another thread took it OUT and completes it */
        return false;
    }
    exchange->stats.timed_out++;
    return true;
}

/* Wait for the reply. Under the lock. Returns true if the request is completed or in `after`, false if it timed out. */
static bool await_reply(ceni_exchange *exchange, ceni_blocked *blocked, ceni_after *after)
{
    for (;;) {
        if (is_done(blocked)) return true;
        bool is_out = ceni_sent_of(blocked->request)->place == CENI_PLACE_OUT;
        if (is_out) let_go_of_role(exchange, blocked);
        if (!is_out && !blocked->reads && ceni_exchange_may_read(exchange)) {
            blocked->reads = exchange->is_reading = true;
            exchange->turns++;
        }
        if (!blocked->reads) sleep_once(exchange, blocked, after);
        else if (read_once(exchange, blocked, after)) return true;
        if (!is_done(blocked) && gives_up(exchange, blocked)) return false;
    }
}

/* The request was taken OUT here, so no other thread touches it. */
static void end_by_timeout(ceni_exchange *exchange, cen_request *request)
{
    request->future.status = CEN_TIMEOUT;
    ceni_error_set(request->future.error, CEN_TIMEOUT, 0, "connection \"%s\": no reply before the deadline",
                   exchange->name);
}

static cen_status request_checked(ceni_exchange *exchange, cen_request *request, cen_error *error)
{
    ceni_blocked blocked = {.request = request, .moment = CENI_FOREVER};
    int64_t now = 0, moment = moment_of(exchange, request, &now);
    if (!exchange->is_virtual) blocked.moment = moment;
    ceni_request_make_ready(request, &blocked, exchange->is_virtual ? moment : CENI_FOREVER);
    ceni_list_init(&blocked.link);
    ceni_after after;
    ceni_after_init(&after);
    after.urgent = true;
    ceni_exchange_enter(exchange);
    cen_status status = add(exchange, request, error);
    if (status != CEN_OK) {
        ceni_exchange_leave(exchange, &after);
        return status;
    }
    ceni_exchange_write(exchange, &after);
    if (!await_reply(exchange, &blocked, &after)) end_by_timeout(exchange, request);
    let_go_of_role(exchange, &blocked);
    ceni_exchange_leave(exchange, &after);
    status = request->future.status;
    ceni_future_complete_fresh(&request->future);
    return status;
}

cen_status ceni_exchange_request(ceni_exchange *exchange, cen_request *request, cen_error *error)
{
    if (!ceni_fork_is(exchange->epoch)) return forked(exchange, error);
    if (!ceni_request_is_sound(exchange, request)) return blame(exchange, request, error);
    if (request->future.executor_)
        return ceni_error_set(error, CEN_MISUSE, 0, "a blocking request must not have a done function");
    cen_error *own = request->future.error;
    if (error) request->future.error = error;
    cen_status status = request_checked(exchange, request, error);
    request->future.error = own;
    return status;
}

/* ---- Deadlines --------------------------------------------------------------------------------------------- */

void ceni_exchange_due(ceni_alarm *alarm)
{
    ceni_exchange *exchange = (ceni_exchange *)(void *)((char *)alarm - offsetof(ceni_exchange, alarm));
    ceni_after after;
    ceni_list over;
    ceni_after_init(&after);
    ceni_list_init(&over);
    ceni_exchange_lock(exchange); /* counted as inside since the alarm was set */
    exchange->alarm_moment = CENI_FOREVER;
    ceni_batch_merge(exchange);
    ceni_batch_close(exchange); /* no alarm might be set for requests added to it */
    ceni_wire_expire(&exchange->wire, ceni_runtime_now(exchange->runtime), &over);
    exchange->stats.timed_out += ceni_exchange_end_all(exchange, &after, &over, CEN_TIMEOUT, NULL);
    set_alarm(exchange, ceni_wire_next_expiry(&exchange->wire));
    if (ceni_wire_is_undated(&exchange->wire)) ceni_exchange_date(exchange); /* its batch has not ended yet */
    ceni_exchange_leave(exchange, &after);
}
