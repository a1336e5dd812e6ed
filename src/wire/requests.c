/* SPDX-License-Identifier: MIT */
/*
 * Requests: in, waiting for room, waiting for the reply, out.
 *
 *     asked     begin the future, send or wait in line; leave. Told by whoever takes it OUT.
 *     blocked   send or wait in line; then, until it is DONE: read, or sleep
 *
 * Exactly once. A request leaves the wire once, under the lock, by one of: its reply, its deadline, a cancel, the connection's
 * end. Whoever takes it OUT tells it, and nobody else touches it from then on; a cancel tells nobody. A blocked thread whose
 * deadline comes takes its request OUT itself, and if somebody has before, waits for what that brings: it
 * is told before any code of the program's runs.
 *
 * A blocked thread keeps its own deadline; the wire, and so the alarm, has only what was asked, and under virtual time all.
 * What was asked and has no deadline of its own gets its moment when it is about to be written, or others write: with one look
 * at the clock for all that were asked meanwhile. So it is never too early, and later by no more than the call takes, or, on the
 * loop's thread, the `done`s of one batch of replies; should these never return, it is dated by the alarm, which is set then.
 *
 * Memory is never allocated under the lock: when it turns out that there must be more, the lock is dropped, and all is looked at
 * again.
 *
 * Order table
 * tag  site        | operation       | order   | pairs with            | carries               | breaks if weakened
 * [B2] is_done     | load of the word | acquire | after.c [B1]         | the request's answer  | a half-written answer is read
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

/* ---- In ------------------------------------------------------------------------------------------ */

static cen_status refused(const ceni_exchange *exchange, cen_error *error)
{
    if (exchange->state == CENI_EXCHANGE_REFUSING)
        return ceni_error_set(error, CEN_CLOSED, 0, "The connection %s is being closed.", exchange->name);
    if (error) *error = exchange->cause;
    return exchange->cause.status;
}

static cen_status too_full(const ceni_exchange *exchange, cen_error *error)
{
    const ceni_wire *wire = &exchange->wire;
    return ceni_error_set(
        error, CEN_FULL, 0,
        "The connection %s has no room: %u requests are in flight, %u wait, and %zu bytes are not written.",
        exchange->name, wire->in_flight, wire->waiting, wire->unsent);
}

/* Gives the output more memory, with the lock dropped meanwhile. False: there is none. */
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

/* What is asked and has to wait keeps its payload itself. The lock is dropped meanwhile. */
static bool copy_payload(ceni_exchange *exchange, cen_request *request)
{
    ceni_sent *asked = ceni_sent_of(request);
    ceni_exchange_unlock(exchange);
    asked->copy = ceni_alloc(exchange->allocator, request->size, 1);
    if (asked->copy) memcpy(asked->copy, request->payload, request->size);
    ceni_exchange_lock(exchange);
    return asked->copy != NULL;
}

/* Under the lock. A deadline that comes earlier than all before brings the alarm earlier. */
static void set_alarm(ceni_exchange *exchange, int64_t moment)
{
    if (moment >= exchange->alarm_moment || ceni_planted(wire_sets_no_alarm)) return;
    exchange->alarm_moment = moment;
    /* Its call may have begun, and wait for the lock: then this is another, and counts by itself. */
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

/* As it was asked in a batch: the batch's end dates it, or, if that takes long, the alarm, if there is one by then. */
static void date_by_alarm(ceni_exchange *exchange)
{
    if (!ceni_exchange_alarm_dates(exchange) && ceni_wire_is_undated(&exchange->wire)) ceni_exchange_date(exchange);
}

static cen_status no_memory(const ceni_exchange *exchange, cen_error *error)
{
    return ceni_error_set(error, CEN_NO_MEMORY, 0, "There is no memory for a request on the connection %s.",
                          exchange->name);
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

/* There is no room, or others wait for it, or there is no memory yet. */
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

/* The request is sent, or waits. Under the lock, which may be dropped meanwhile. */
static inline cen_status add(ceni_exchange *exchange, cen_request *request, cen_error *error)
{
    if (goes_at_once(exchange) && !ceni_wire_lacks(&exchange->wire, request->size))
        return send_now(exchange, request, error);
    return add_slowly(exchange, request, error);
}

/* Sends the first that waits; false if none can be now. */
static bool admit_one(ceni_exchange *exchange, ceni_after *after)
{
    cen_request *request = exchange->state == CENI_EXCHANGE_BROKEN ? NULL : ceni_wire_next(&exchange->wire);
    if (!request) return false;
    ceni_sent *asked = ceni_sent_of(request);
    size_t lacking = ceni_wire_lacks(&exchange->wire, request->size);
    if (lacking && enlarge_output(exchange, lacking)) return true; /* all may be different now */
    cen_status status = CEN_NO_MEMORY;
    cen_error error = {.status = CEN_OK};
    if (lacking) {
        /* The lock was dropped, and whoever was first may be gone. */
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

/* ---- Checks, common to both ways -------------------------------------------------------------------- */

/* Why it is not sound. */
static cen_status blame(const ceni_exchange *exchange, const cen_request *request, cen_error *error)
{
    if (!request) return ceni_error_set(error, CEN_INVALID, 0, "There is no request.");
    if (!request->payload && request->size)
        return ceni_error_set(error, CEN_INVALID, 0, "The request has a size and no payload.");
    if (request->size > exchange->wire.max_payload)
        return ceni_error_set(error, CEN_INVALID, 0, "The payload has %zu bytes, and the connection %s allows %zu.",
                              request->size, exchange->name, exchange->wire.max_payload);
    if (request->done_ && !request->future.executor_)
        return ceni_error_set(error, CEN_INVALID, 0, "The request has a `done` and no executor to call it.");
    return ceni_error_set(error, CEN_MISUSE, 0, "The request was used before, and not made ready again.");
}

/* Its deadline on the runtime's clock, which is read only for a time from now, and once for several: *now is 0 before. */
static int64_t moment_of(const ceni_exchange *exchange, const cen_request *request, int64_t *now)
{
    cen_deadline deadline = ceni_deadline_or(request->deadline, exchange->deadline);
    if (*now == 0 && deadline.ns_ < 0 && !ceni_deadline_is_now(deadline)) *now = ceni_runtime_now(exchange->runtime);
    return ceni_deadline_moment(deadline, *now);
}

/* ---- Asking ------------------------------------------------------------------------------------------ */

bool ceni_exchange_withdraw(cen_future *future)
{
    cen_request *request = (cen_request *)(void *)future;
    ceni_exchange *exchange = future->source_;
    if (!ceni_fork_is(exchange->epoch)) return true; /* nobody here will ever come */
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

/* Takes it back: nobody else has come to know of it. The lock is dropped meanwhile. */
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

/* Under the lock. Once it is added others may complete it: it is not touched here any more. *now is 0, or what the clock said. */
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

/* Stops at the first that cannot be asked; *asked says how many could. Under the lock. */
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

/* The lock is held, and is dropped. */
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

static cen_status forked(cen_error *error)
{
    return ceni_error_set(error, CEN_FORKED, 0, "%s.", cen_status_text(CEN_FORKED));
}

/* In a `done` on the loop's thread nothing but the sending is done here: that thread is inside, and sees to all the rest when it
 * has told its batch. */
cen_status ceni_exchange_request_all_async(ceni_exchange *exchange, cen_request *const requests[], size_t count,
                                           size_t *asked, cen_error *error)
{
    size_t done = 0;
    if (asked) *asked = 0;
    if (!ceni_fork_is(exchange->epoch)) return forked(error);
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
    if (!ceni_fork_is(exchange->epoch)) return forked(error);
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

/* Until when it may wait without a look; runs what is due in a manual runtime. No lock is held. */
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

/* Reads once. Enters and returns with the lock held. True: its own reply has come, and what else came is in `after`. */
static bool read_once(ceni_exchange *exchange, ceni_blocked *blocked, ceni_after *after)
{
    ceni_sent *asked = ceni_sent_of(blocked->request);
    /* It may sleep long: nothing is left undone. */
    if (!ceni_planted(wire_sleeps_on_output)) ceni_exchange_prepare(exchange, after);
    ceni_exchange_unlock(exchange);
    ceni_exchange_call_out(exchange, after);
    ceni_came came = ceni_exchange_read(exchange, patience(exchange, blocked), after);
    ceni_exchange_lock(exchange);
    if (came != CENI_CAME_NOTHING) exchange->stats.thread_reads++;
    /* Only whoever reads answers, so this was it; another who took it OUT will tell it. */
    if (asked->is_answered) {
        let_go_of_role(exchange, blocked);
        return true;
    }
    if (asked->place == CENI_PLACE_OUT || after->futures.first) let_go_of_role(exchange, blocked);
    ceni_exchange_settle(exchange, after);
    return false;
}

/* Sleeps until it is told, is to read, or has waited for long enough. Enters and returns with the lock held. */
static void sleep_once(ceni_exchange *exchange, ceni_blocked *blocked, ceni_after *after)
{
    uint32_t awake = CENI_BLOCKED_AWAKE;
    if (!ceni_cas_acq_rel(&blocked->word, &awake, (uint32_t)CENI_BLOCKED_ASLEEP)) return; /* [B3] it is DONE */
    ceni_list_push_back(&exchange->blocked, &blocked->link);
    ceni_exchange_prepare(exchange, after); /* perhaps it is told to read itself */
    ceni_exchange_unlock(exchange);
    ceni_exchange_call_out(exchange, after);
    ceni_futex_wait(&blocked->word, CENI_BLOCKED_ASLEEP, patience(exchange, blocked));
    ceni_exchange_lock(exchange);
    ceni_list_remove(&blocked->link);
    uint32_t asleep = CENI_BLOCKED_ASLEEP;
    ceni_cas_acq_rel(&blocked->word, &asleep, (uint32_t)CENI_BLOCKED_AWAKE); /* [B3] */
}

/* Whether the deadline has come, and it was not too late for that. Under the lock. */
static bool gives_up(ceni_exchange *exchange, ceni_blocked *blocked)
{
    if (blocked->moment == CENI_FOREVER || ceni_clock_now() < blocked->moment) return false;
    if (!ceni_wire_drop(&exchange->wire, blocked->request)) {
        blocked->moment = CENI_FOREVER; /* somebody has it and tells it */
        return false;
    }
    exchange->stats.timed_out++;
    return true;
}

/* Under the lock. True: it is told, or in `after`; false: it has given up. */
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

/* Nobody else touches the request any more. */
static void end_by_timeout(ceni_exchange *exchange, cen_request *request)
{
    request->future.status = CEN_TIMEOUT;
    ceni_error_set(request->future.error, CEN_TIMEOUT, 0, "No reply came on the connection %s before the deadline.",
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
    if (!ceni_fork_is(exchange->epoch)) return forked(error);
    if (!ceni_request_is_sound(exchange, request)) return blame(exchange, request, error);
    if (request->future.executor_)
        return ceni_error_set(error, CEN_MISUSE, 0, "A request that is waited for has no `done`.");
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
    ceni_exchange_lock(exchange); /* it is counted as inside since it was set */
    exchange->alarm_moment = CENI_FOREVER;
    ceni_batch_merge(exchange);
    ceni_batch_close(exchange); /* there may be no alarm for what would be added to it */
    ceni_wire_expire(&exchange->wire, ceni_runtime_now(exchange->runtime), &over);
    exchange->stats.timed_out += ceni_exchange_end_all(exchange, &after, &over, CEN_TIMEOUT, NULL);
    set_alarm(exchange, ceni_wire_next_expiry(&exchange->wire));
    if (ceni_wire_is_undated(&exchange->wire)) ceni_exchange_date(exchange); /* its batch has not ended yet */
    ceni_exchange_leave(exchange, &after);
}
