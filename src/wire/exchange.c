/* SPDX-License-Identifier: MIT */
/*
 * The life of an exchange.
 *
 *     OPEN ──refuse──▶ REFUSING ──the transport's end, the codec's, fail──▶ BROKEN
 *     OPEN ──the transport's end, the codec's, fail─────────────────────▶ BROKEN
 *
 * The thread that makes it BROKEN takes all requests out while it holds the lock, and then completes them and notifies
 * the transport. That happens once. After it nothing is added.
 *
 * `inside` counts who will touch the exchange again: threads between enter and leave, and an alarm that is set. Fini
 * waits for them. A thread's last access is the unlock in leave; the requests it has taken out are completed without
 * the exchange.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "sync/future.h"
#include "wire/internal.h"

/* ---- Settings ------------------------------------------------------------------------------------ */

/* All fields are required, so a table that passes the check can be used as it is. */
cen_status ceni_codec_check(cen_codec codec, const char *call, cen_error *error)
{
    char what[64];
    cen_codec_calls calls;
    snprintf(what, sizeof what, "%s: options.codec.calls", call);
    cen_status status = cen_sized_read(&calls, sizeof calls, codec.calls, what, error);
    if (status != CEN_OK) return status;
    if (calls.name && calls.bound && calls.encode && calls.decode) return CEN_OK;
    return ceni_error_set(error, CEN_INVALID, 0, "%s: options.codec lacks its name or one of its functions", call);
}

static cen_status check_settings(const ceni_exchange_settings *settings, cen_error *error)
{
    if (!settings->transport || !settings->runtime)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_mux_open: transport and runtime must not be NULL");
    if (settings->max_in_flight > CENI_WIRE_MAX_IN_FLIGHT)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_mux_open: options.max_in_flight must be at most %d (got %u)",
                              CENI_WIRE_MAX_IN_FLIGHT, settings->max_in_flight);
    if (settings->max_waiters < CEN_NONE || settings->max_waiters > UINT32_MAX)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "cen_mux_open: options.max_waiters must be 0 to %u, CEN_OFF or CEN_NONE (got %lld)",
                              UINT32_MAX, (long long)settings->max_waiters);
    return CEN_OK;
}

static size_t size_or(size_t size, size_t otherwise)
{
    return size ? size : otherwise;
}

static ceni_wire_limits limits_of(const ceni_exchange_settings *settings, cen_codec codec)
{
    int64_t waiting = settings->max_waiters == 0 ? CENI_EXCHANGE_WAITING : settings->max_waiters;
    return (ceni_wire_limits){.codec = codec,
                              .max_in_flight =
                                  settings->max_in_flight ? settings->max_in_flight : CENI_EXCHANGE_IN_FLIGHT,
                              .max_waiters = waiting == CEN_NONE  ? 0
                                             : waiting == CEN_OFF ? UINT32_MAX
                                                                  : (uint32_t)waiting,
                              .max_payload = size_or(settings->max_payload, CENI_EXCHANGE_PAYLOAD),
                              .max_output = size_or(settings->max_output, CENI_EXCHANGE_OUTPUT)};
}

static void fill_in(ceni_exchange *exchange, const ceni_exchange_settings *settings)
{
    *exchange =
        (ceni_exchange){.name = settings->name ? settings->name : "connection",
                        .transport = *settings->transport,
                        .argument = settings->argument,
                        .runtime = settings->runtime,
                        .allocator = settings->allocator,
                        .epoch = ceni_fork_epoch(),
                        .deadline = settings->deadline.ns_ ? settings->deadline : cen_in_s(CENI_EXCHANGE_PATIENCE_S),
                        .is_virtual = ceni_runtime_is_virtual(settings->runtime),
                        .is_manual = ceni_runtime_is_manual(settings->runtime),
                        .state = CENI_EXCHANGE_OPEN,
                        .alarm_moment = CENI_FOREVER,
                        .dated = -1};
    /* With a manual runtime a waiting thread runs due jobs, which are the program's code. It must not do so as the
     * reader. */
    exchange->loop_reads = settings->loop_reads || exchange->is_manual;
    ceni_list_init(&exchange->blocked);
    ceni_alarm_init(&exchange->alarm, ceni_exchange_due);
}

cen_status ceni_exchange_init(ceni_exchange *exchange, const ceni_exchange_settings *settings, cen_error *error)
{
    cen_codec codec = settings->codec.calls ? settings->codec : cen_codec_binary();
    cen_status status = ceni_codec_check(codec, "cen_mux_open", error);
    if (status == CEN_OK) status = check_settings(settings, error);
    if (status != CEN_OK) return status;
    if (ceni_alarm_need_keeper(settings->runtime) != CEN_OK)
        return ceni_error_set(error, CEN_SYSTEM, 0, "cen_mux_open: cannot start a thread for deadlines");
    fill_in(exchange, settings);
    ceni_wire_limits limits = limits_of(settings, codec);
    status = ceni_wire_init(&exchange->wire, &limits, ceni_runtime_now(exchange->runtime), exchange->allocator);
    if (status != CEN_OK) return ceni_error_set(error, status, 0, "cen_mux_open: out of memory");
    ceni_input_init(&exchange->input, codec, size_or(settings->max_reply, CENI_EXCHANGE_PAYLOAD), exchange->allocator);
    return CEN_OK;
}

/* ---- The end --------------------------------------------------------------------------------------- */

uint64_t ceni_exchange_end_all(ceni_exchange *exchange, ceni_after *after, ceni_list *over, cen_status status,
                               const cen_error *cause)
{
    uint64_t count = 0;
    for (ceni_list *link; (link = ceni_list_first(over)); count++) {
        cen_request *request = ceni_request_of(CENI_LIST_ENTRY(link, ceni_sent, link));
        ceni_list_remove(link);
        ceni_exchange_count_out(exchange, request);
        ceni_after_end(after, request, status, cause);
    }
    return count;
}

void ceni_exchange_fail_all(ceni_exchange *exchange, ceni_after *after)
{
    ceni_list over;
    ceni_list_init(&over);
    ceni_wire_fail(&exchange->wire, &over);
    exchange->stats.failed += ceni_exchange_end_all(exchange, after, &over, exchange->cause.status, &exchange->cause);
}

void ceni_exchange_break(ceni_exchange *exchange, ceni_after *after, const cen_error *cause)
{
    if (exchange->state == CENI_EXCHANGE_BROKEN) return;
    exchange->state = CENI_EXCHANGE_BROKEN;
    exchange->cause = *cause;
    exchange->is_stuck = false;
    ceni_batch_merge(exchange);
    ceni_batch_forget(exchange);
    ceni_exchange_fail_all(exchange, after);
    after->broken = true;
}

void ceni_exchange_fail(ceni_exchange *exchange, const cen_error *cause)
{
    CENI_INLINE_AT_END;
    ceni_after after;
    ceni_after_init(&after);
    ceni_exchange_enter(exchange);
    ceni_exchange_break(exchange, &after, cause);
    ceni_exchange_leave(exchange, &after);
}

bool ceni_exchange_refuse(ceni_exchange *exchange, cen_future *drained)
{
    CENI_INLINE_AT_END;
    ceni_after after;
    ceni_after_init(&after);
    ceni_exchange_enter(exchange);
    bool first = !exchange->is_refused;
    exchange->is_refused = true;
    if (exchange->state == CENI_EXCHANGE_OPEN) exchange->state = CENI_EXCHANGE_REFUSING;
    ceni_batch_close(exchange);
    if (first && drained) {
        ceni_future_begin(drained, NULL, NULL);
        exchange->drained = drained;
    }
    ceni_exchange_leave(exchange, &after);
    return first;
}

static void free_memory(ceni_exchange *exchange)
{
    ceni_wire_fini(&exchange->wire, exchange->allocator);
    ceni_free(exchange->allocator, exchange->sending.at, exchange->sending.capacity, 1);
    ceni_free(exchange->allocator, exchange->batch.output.at, exchange->batch.output.capacity, 1);
    ceni_input_fini(&exchange->input);
}

/* `emptied` is written under the lock, and read under it before the wait: the lock orders it. */
static void await_the_last(ceni_exchange *exchange)
{
    while (exchange->inside && !ceni_planted(wire_ends_under_others)) {
        uint32_t before = ceni_load_relaxed(&exchange->emptied); /* carries nothing */
        ceni_exchange_unlock(exchange);
        ceni_futex_wait(&exchange->emptied, before, CENI_FOREVER);
        ceni_exchange_lock(exchange);
    }
}

void ceni_exchange_fini(ceni_exchange *exchange)
{
    ceni_exchange_lock(exchange);
    exchange->is_ending = true;
    if (ceni_alarm_unset(exchange->runtime, &exchange->alarm)) exchange->inside--;
    await_the_last(exchange);
    ceni_exchange_unlock(exchange);
    free_memory(exchange);
}

void ceni_exchange_abandon(ceni_exchange *exchange)
{
    free_memory(exchange);
}

/* ---- Stats --------------------------------------------------------------------------------------------- */

void ceni_exchange_look(ceni_exchange *exchange, ceni_exchange_stats *out)
{
    ceni_exchange_lock(exchange);
    ceni_batch_merge(exchange);
    *out = exchange->stats;
    out->in_flight = exchange->wire.in_flight;
    out->waiting = exchange->wire.waiting;
    out->output = exchange->wire.unsent;
    ceni_exchange_unlock(exchange);
}
