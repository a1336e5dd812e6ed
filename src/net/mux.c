/* SPDX-License-Identifier: MIT */
/*
 * The public calls of a connection: open, requests, stats. Its end is in close.c.
 *
 * Invariants
 *  M1 `state` leaves OPENING once, on the loop's thread. From OPEN on the exchange exists until free.
 *  M2 A future in `opened` or `ended` is taken out under the mutex: by the thread that completes it, or by its cancel.
 *  M3 free posts `leave`. When the handles are closed and no thread is inside the exchange any longer, the loop's
 *     thread removes all other posted calls. Then only the thread that frees the connection has a reference to it.
 *  M4 The descriptor is closed last: no thread can be using its number.
 *
 * Order table
 * tag  site    | operation     | order   | pairs with | carries             | breaks if weakened
 * [M1] ceni_mux_phase | load of state | acquire | O1 in connect.c | the exchange | a request finds an exchange that is still being created
 *
 * Tested by tests/unit/net/open_test.c, mux_test.c, end_test.c, fork_test.c.
 */
#include "net/mux.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "port/deadline.h"
#include "sync/future.h"

static const int64_t second_ns = INT64_C(1000000000);
static const int64_t default_connect_ns = INT64_C(10000000000);

void ceni_mux_tell(cen_future *future, void *value, const cen_error *cause)
{
    if (!future) return;
    future->status = cause ? cause->status : CEN_OK;
    future->code = cause ? cause->code : 0;
    future->value = value;
    if (cause && future->error) *future->error = *cause;
    ceni_future_complete(future);
}

void ceni_mux_tell_end(const cen_mux *mux, cen_event_kind kind, const cen_error *why)
{
    bool closed = why->status == CEN_CLOSED;
    ceni_event_write(&(ceni_occurrence){.level = closed ? CEN_LEVEL_DETAIL : CEN_LEVEL_WARNING,
                                        .kind = closed ? CEN_EVENT_CLOSED : kind,
                                        .of = &mux->entry,
                                        .where = mux->address.text,
                                        .status = closed ? CEN_OK : why->status,
                                        .code = why->code},
                     why->text);
}

uint32_t ceni_mux_phase(cen_mux *mux)
{
    return ceni_load_acquire(&mux->state); /* [M1] */
}

/* ---- Options ------------------------------------------------------------------------------------- */

static cen_status refuse(cen_error *error, const char *what)
{
    return ceni_error_set(error, CEN_INVALID, 0, "cen_mux_open: %s", what);
}

static cen_status check_options(const cen_mux_options *given, cen_mux_options *o, cen_error *error)
{
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_mux_open: options", error);
    if (status != CEN_OK) return status;
    if (o->max_in_flight > CENI_WIRE_MAX_IN_FLIGHT)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_mux_open: options.max_in_flight must be at most %d (got %u)",
                              CENI_WIRE_MAX_IN_FLIGHT, o->max_in_flight);
    if (o->max_waiters < CEN_NONE || o->max_waiters > UINT32_MAX)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "cen_mux_open: options.max_waiters must be 0 to %u, CEN_OFF or CEN_NONE (got %lld)",
                              UINT32_MAX, (long long)o->max_waiters);
    if (cen_time_is_tiny(o->keepalive_ns))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_mux_open: options.keepalive_ns " CEN_TIME_IS_TINY,
                              (long long)o->keepalive_ns);
    if (o->keepalive_ns < CEN_OFF)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "cen_mux_open: options.keepalive_ns must not be below CEN_OFF (got %lld)",
                              (long long)o->keepalive_ns);
    if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
        return refuse(error, "options.allocator lacks alloc or free");
    return CEN_OK;
}

static void fill_settings(cen_mux *mux, const cen_mux_options *o)
{
    mux->settings = (ceni_exchange_settings){
        .name = mux->label,
        .codec = o->codec,
        .transport = &ceni_mux_transport,
        .argument = mux,
        .runtime = mux->runtime,
        .allocator = o->allocator,
        .max_in_flight = o->max_in_flight,
        .max_waiters = o->max_waiters,
        .max_payload = o->max_payload,
        .max_reply = o->max_reply,
        .max_output = o->max_output,
        .deadline = o->default_deadline,
        .loop_reads = o->loop_reads,
    };
}

/* ---- Stats ------------------------------------------------------------------------------------------ */

static cen_mux_state shown_state(cen_mux *mux)
{
    bool opening = ceni_mux_phase(mux) == CENI_MUX_PHASE_OPENING;
    ceni_mux_lock(mux);
    cen_mux_state shown = mux->has_ended    ? CEN_MUX_ENDED
                          : opening         ? CEN_MUX_OPENING
                          : mux->is_closing ? CEN_MUX_CLOSING
                                            : CEN_MUX_OPEN;
    ceni_mux_unlock(mux);
    return shown;
}

cen_status cen_mux_stats_get(cen_mux *mux, cen_mux_stats *out)
{
    if (!mux) return CEN_INVALID;
    if (!ceni_fork_is(mux->epoch)) return CEN_FORKED;
    cen_status status = cen_sized_check(out, sizeof *out, "cen_mux_stats_get: out", NULL);
    if (status != CEN_OK) return status;
    ceni_exchange_stats now = {.in_flight = 0};
    if (ceni_mux_phase(mux) == CENI_MUX_PHASE_OPEN) ceni_exchange_look(&mux->exchange, &now);
    const cen_mux_stats stats = {
        .state = shown_state(mux),
        .in_flight = now.in_flight,
        .waiting = now.waiting,
        .sent = now.sent,
        .replied = now.replied,
        .timed_out = now.timed_out,
        .cancelled = now.cancelled,
        .failed = now.failed,
        .late = now.late,
        .bytes_out = now.bytes_out,
        .bytes_in = now.bytes_in,
        .writes = now.writes,
        .reads = now.reads,
        .own_reads = now.thread_reads,
        .wakes = now.wakes,
        .output = now.output,
    };
    cen_sized_write(out, &stats, sizeof stats);
    return CEN_OK;
}

static size_t snapshot(const void *object, cen_metric *metrics, size_t room)
{
    cen_mux_stats now = CEN_SIZED(cen_mux_stats);
    if (cen_mux_stats_get((cen_mux *)(uintptr_t)object, &now) != CEN_OK) return 0;
    const cen_metric all[] = {
        {"state", now.state, CEN_GAUGE},
        {"in_flight", now.in_flight, CEN_GAUGE},
        {"waiting", now.waiting, CEN_GAUGE},
        {"sent", (int64_t)now.sent, CEN_COUNTER},
        {"replied", (int64_t)now.replied, CEN_COUNTER},
        {"timed_out", (int64_t)now.timed_out, CEN_COUNTER},
        {"cancelled", (int64_t)now.cancelled, CEN_COUNTER},
        {"failed", (int64_t)now.failed, CEN_COUNTER},
        {"late", (int64_t)now.late, CEN_COUNTER},
        {"bytes_out", (int64_t)now.bytes_out, CEN_COUNTER},
        {"bytes_in", (int64_t)now.bytes_in, CEN_COUNTER},
    };
    size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count && i < room; i++) metrics[i] = all[i];
    return count;
}

static const char *state_name(cen_mux_state state)
{
    return state == CEN_MUX_OPENING   ? "opening"
           : state == CEN_MUX_OPEN    ? "open"
           : state == CEN_MUX_CLOSING ? "closing"
                                      : "ended";
}

static void describe_mux(const void *object, const cen_description_writer *description, size_t most)
{
    cen_mux *mux = (cen_mux *)(uintptr_t)object;
    void *to = description->argument;
    cen_mux_stats now = CEN_SIZED(cen_mux_stats);
    cen_error cause = {.text = ""};
    (void)most; /* no lists: there may be a million requests */
    if (cen_mux_stats_get(mux, &now) != CEN_OK) return;
    bool ended = cen_mux_error_get(mux, &cause);
    description->text(to, "address", mux->address.text);
    description->text(to, "state", state_name(now.state));
    description->text(to, "codec",
                      mux->settings.codec.calls ? mux->settings.codec.calls->name : cen_codec_binary().calls->name);
    description->number(to, "in_flight", now.in_flight);
    description->number(to, "waiting", now.waiting);
    description->number(to, "output", (int64_t)now.output);
    description->number(to, "writes", (int64_t)now.writes);
    description->number(to, "reads", (int64_t)now.reads);
    description->number(to, "own_reads", (int64_t)now.own_reads);
    description->number(to, "wakes", (int64_t)now.wakes);
    if (ended && cause.status != CEN_CLOSED) description->text(to, "last_error", cause.text);
}

static const ceni_component_calls calls = {.description = describe_mux};

bool cen_mux_error_get(cen_mux *mux, cen_error *out)
{
    if (!mux || !ceni_fork_is(mux->epoch)) return false;
    ceni_mux_lock(mux);
    bool ended = mux->has_ended;
    if (ended && out) *out = mux->cause;
    ceni_mux_unlock(mux);
    return ended;
}

const char *cen_mux_name(const cen_mux *mux)
{
    return mux ? mux->name : "";
}

const char *cen_mux_address(const cen_mux *mux)
{
    return mux ? mux->address.text : "";
}

/* ---- Opening ------------------------------------------------------------------------------------------- */

static bool withdraw(cen_future *future)
{
    cen_mux *mux = future->source_;
    ceni_mux_lock(mux);
    cen_future **place = mux->opened == future ? &mux->opened : mux->ended == future ? &mux->ended : NULL;
    if (place) *place = NULL;
    ceni_mux_unlock(mux);
    return place != NULL;
}

static void fill(cen_mux *mux, const cen_mux_options *o)
{
    mux->epoch = ceni_fork_epoch();
    mux->allocator = o->allocator;
    mux->fd = -1;
    mux->keepalive_ns = o->keepalive_ns == CEN_OFF ? 0
                        : o->keepalive_ns          ? o->keepalive_ns
                                                   : CENI_KEEP_ALIVE_S * second_ns;
    mux->connect_moment =
        ceni_deadline_moment(ceni_deadline_or(o->connect_deadline, cen_in_ns(default_connect_ns)), ceni_clock_now());
    snprintf(mux->name, sizeof mux->name, "%.*s", CENI_MUX_NAME - 1, o->name ? o->name : mux->address.text);
    if (o->name) snprintf(mux->label, sizeof mux->label, "%s (%s)", mux->name, mux->address.text);
    else snprintf(mux->label, sizeof mux->label, "%s", mux->address.text);
    fill_settings(mux, o);
    mux->entry =
        (ceni_directory_entry){.kind = "mux", .name = mux->name, .snapshot = snapshot, .object = mux, .calls = &calls};
    ceni_loop_call_init(&mux->begin, ceni_mux_open_begin);
    ceni_loop_call_init(&mux->found, ceni_mux_open_found);
    ceni_loop_call_init(&mux->wake, ceni_mux_wake);
    ceni_loop_call_init(&mux->end, ceni_mux_watch_end);
    ceni_loop_call_init(&mux->leave, ceni_mux_leave);
}

/* Create a connection and leave it unstarted. */
static cen_status make(const cen_mux_options *options, cen_mux **out, cen_error *error)
{
    cen_mux_options known;
    const cen_mux_options *o = &known;
    cen_status status = check_options(options, &known, error);
    if (status != CEN_OK) return status;
    cen_mux *mux = ceni_alloc(o->allocator, sizeof *mux, _Alignof(cen_mux));
    if (!mux) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_mux_open: out of memory");
    status = ceni_address_parse(&mux->address, o->address, false, "cen_mux_open", error);
    if (status != CEN_OK) goto undo_memory;
    status = ceni_address_resolve(&mux->address, true, &mux->endpoints, error);
    if (status == CEN_ABSENT) mux->endpoints.count = 0; /* a name, which needs a lookup */
    else if (status != CEN_OK) goto undo_memory;
    status = ceni_runtime_join(o->runtime, &mux->runtime);
    if (status != CEN_OK) {
        ceni_error_set(error, status, 0, "cen_mux_open: cannot use the runtime: %s", cen_status_text(status));
        goto undo_memory;
    }
    if ((status = ceni_loop_join(o->loop, &mux->loop, error)) != CEN_OK) goto undo_runtime;
    fill(mux, o);
    *out = mux;
    return CEN_OK;

undo_runtime:
    ceni_runtime_leave(mux->runtime);
undo_memory:
    ceni_free(o->allocator, mux, sizeof *mux, _Alignof(cen_mux));
    return status;
}

static void begin(cen_mux *mux, cen_future *opened)
{
    ceni_future_begin(opened, withdraw, mux);
    mux->opened = opened;
    ceni_directory_join(ceni_directory_process(), &mux->entry);
    ceni_loop_post(mux->loop, &mux->begin);
}

cen_status cen_mux_open_async(const cen_mux_options *o, cen_mux **out, cen_future *opened, cen_error *error)
{
    if (!out) return refuse(error, "out is NULL");
    if (!opened) return refuse(error, "opened is NULL");
    if (!ceni_future_is_fresh(opened))
        return ceni_error_set(
            error, CEN_MISUSE, 0,
            "cen_mux_open_async: the future has been used before; cen_future_init makes it ready again");
    cen_status status = make(o, out, error);
    if (status == CEN_OK) begin(*out, opened);
    return status;
}

bool ceni_mux_wait(cen_mux *mux, cen_future *future, int64_t moment)
{
    for (;;) {
        int64_t until = ceni_runtime_tend(mux->runtime);
        if (until > moment) until = moment;
        if (cen_future_wait(future, until == CENI_FOREVER ? CEN_NEVER : cen_at(until)) == CEN_OK) return true;
        if (ceni_clock_now() >= moment) return false;
    }
}

cen_status cen_mux_open(const cen_mux_options *o, cen_mux **out, cen_error *error)
{
    cen_future opened;
    cen_error cause = {.status = CEN_OK};
    cen_mux *mux = NULL;
    if (!out) return refuse(error, "out is NULL");
    cen_status status = make(o, &mux, error);
    if (!mux) return status;
    cen_future_init(&opened);
    opened.error = &cause;
    bool inside = ceni_loop_is_inside(mux->loop);
    if (inside) {
        ceni_error_set(&cause, CEN_MISUSE, 0,
                       "cen_mux_open: must not wait on its loop's thread; use cen_mux_open_async");
    } else {
        begin(mux, &opened);
        ceni_mux_wait(mux, &opened, CENI_FOREVER);
    }
    if (cause.status == CEN_OK) {
        *out = mux;
        return CEN_OK;
    }
    cen_mux_free(mux);
    if (error) *error = cause;
    return cause.status;
}

cen_status cen_mux_watch(cen_mux *mux, cen_future *ended)
{
    if (!mux || !ended) return CEN_INVALID;
    if (!ceni_fork_is(mux->epoch)) return CEN_FORKED;
    if (!ceni_future_is_fresh(ended)) return CEN_MISUSE;
    ceni_mux_lock(mux);
    bool taken = mux->ended != NULL;
    if (!taken) {
        ceni_future_begin(ended, withdraw, mux);
        mux->ended = ended;
        if (mux->has_ended) ceni_loop_post(mux->loop, &mux->end);
    }
    ceni_mux_unlock(mux);
    return taken ? CEN_MISUSE : CEN_OK;
}

/* ---- Requests ------------------------------------------------------------------------------------------- */

/* Return why a connection that failed to open takes no requests. */
static cen_status say_why(cen_mux *mux, cen_error *error)
{
    cen_error cause = {.status = CEN_LOST};
    cen_mux_error_get(mux, &cause);
    cen_status status = cause.status == CEN_CLOSED ? CEN_CLOSED : CEN_LOST;
    return ceni_error_because(error, cause.cause, ceni_error_set(error, status, cause.code, "%s", cause.text));
}

/* Return true if the connection has an exchange. The exchange reports all further errors. */
static inline bool is_open(cen_mux *mux)
{
    return mux && ceni_fork_is(mux->epoch) && ceni_mux_phase(mux) == CENI_MUX_PHASE_OPEN;
}

/* Return OK if the connection is open, else why it is not. */
static cen_status refused(cen_mux *mux, cen_error *error)
{
    if (!mux) return ceni_error_set(error, CEN_INVALID, 0, "mux is NULL");
    if (!ceni_fork_is(mux->epoch))
        return ceni_error_set(error, CEN_FORKED, 0, "connection \"%s\": it belongs to the parent process", mux->label);
    uint32_t state = ceni_mux_phase(mux);
    if (state == CENI_MUX_PHASE_OPEN) return CEN_OK;
    if (state == CENI_MUX_PHASE_OPENING)
        return ceni_error_set(error, CEN_MISUSE, 0, "connection \"%s\": not open yet", mux->label);
    return say_why(mux, error);
}

/* Not on the loop's thread: it would wait for a reply that it has to read itself. */
cen_status cen_mux_request(cen_mux *mux, cen_request *request, cen_error *error)
{
    cen_status status = refused(mux, error);
    if (status != CEN_OK) return status;
    if (ceni_loop_is_inside(mux->loop))
        return ceni_error_set(
            error, CEN_MISUSE, 0,
            "connection \"%s\": a request must not wait on its loop's thread; use cen_mux_request_async", mux->label);
    return ceni_exchange_request(&mux->exchange, request, error);
}

cen_status cen_mux_request_async(cen_mux *mux, cen_request *request, cen_error *error)
{
    if (!is_open(mux)) return refused(mux, error);
    return ceni_exchange_request_async(&mux->exchange, request, error);
}

cen_status cen_mux_request_all_async(cen_mux *mux, cen_request *const requests[], size_t count, size_t *asked,
                                     cen_error *error)
{
    cen_status status = refused(mux, error);
    if (status == CEN_OK) return ceni_exchange_request_all_async(&mux->exchange, requests, count, asked, error);
    if (asked) *asked = 0;
    return status;
}
