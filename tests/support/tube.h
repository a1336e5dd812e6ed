/* SPDX-License-Identifier: MIT */
/*
 * A connection in memory, for tests of the exchange: a transport, the other side, and a loop.
 *
 *     tube_open(.max_in_flight = 2);          an exchange over it, and a runtime
 *     ... ceni_exchange_request_async(&tube.exchange, &request, NULL);
 *     tube_reply(tube_id(0), "pong");         the other side answers
 *     tube_poll(CENI_LOOP_READ);              the loop, by hand; or a thread: tube_loop
 *     tube_close();
 *
 * There is one at a time. In an explored program its other side is best one that echoes within the write: `tube.echoes`.
 */
#ifndef TESTS_SUPPORT_TUBE_H
#define TESTS_SUPPORT_TUBE_H

#include <cenote/request.h>

#include "base/error.h"
#include "runtime/runtime.h"
#include "support/world.h"
#include "wire/exchange.h"

enum { TUBE_SIZE = 1 << 16, TUBE_IDS = 64 };

typedef struct tube_state {
    ceni_exchange exchange;
    cen_runtime *runtime;
    cen_codec codec;
    /* set by the test before threads begin, or by itself between two steps */
    uint32_t piece; /* the most that one read or write moves */
    bool echoes;    /* replies are there as soon as requests were written */
    bool ends_after_echo;
    /* what was written; the writer's, and the other side's */
    _Atomic uint32_t out_size;
    uint32_t out_taken;
    uint64_t ids[TUBE_IDS];
    uint32_t ids_seen;
    _Atomic uint32_t room; /* so many bytes are taken in all, and no more */
    /* what can be read */
    _Atomic uint32_t in_size;
    uint32_t in_taken; /* the reader's */
    _Atomic uint32_t ended, woken, broken, stops;
    _Atomic uint32_t writers, readers; /* who are in there: one at a time */
    _Atomic uint32_t changes;          /* a futex */
    uint32_t writes, wakes;
    unsigned watch;
    cen_error cause;
    unsigned char out[TUBE_SIZE], in[TUBE_SIZE]; /* last: not cleared for every run */
} tube_state;

static tube_state tube;

static inline void tube_changed(void)
{
    ceni_add_seq_cst(&tube.changes, 1);
    ceni_futex_wake(&tube.changes, UINT32_MAX);
}

/* ---- The other side ------------------------------------------------------------------- */

static inline void tube_feed(const void *bytes, size_t size)
{
    uint32_t end = ceni_load_seq_cst(&tube.in_size);
    expect(end + size <= TUBE_SIZE);
    memcpy(tube.in + end, bytes, size);
    ceni_store_seq_cst(&tube.in_size, (uint32_t)(end + size));
    tube_changed();
}

static inline void tube_reply_bytes(uint64_t id, const void *payload, size_t size)
{
    unsigned char frame[TUBE_SIZE / 2];
    size_t written = 0;
    cen_error error;
    expect_equal(tube.codec.calls->encode(tube.codec.argument, id, payload, size, frame, &written, &error), CEN_OK);
    tube_feed(frame, written);
}

static inline void tube_reply(uint64_t id, const char *text)
{
    tube_reply_bytes(id, text, strlen(text));
}

static inline void tube_end(void)
{
    ceni_store_seq_cst(&tube.ended, 1);
    tube_changed();
}

/* Looks at the requests that were written since; answers them, if it echoes. */
static inline void tube_look(void)
{
    uint32_t size = ceni_load_seq_cst(&tube.out_size);
    cen_decoding frame = {.max_payload = TUBE_SIZE};
    cen_error error;
    while (tube.out_taken < size &&
           tube.codec.calls->decode(tube.codec.argument, tube.out + tube.out_taken, size - tube.out_taken, &frame,
                                    &error) == CEN_DECODED_FRAME) {
        tube.out_taken += (uint32_t)frame.consumed;
        tube.ids[tube.ids_seen++ % TUBE_IDS] = frame.id;
        if (tube.echoes) tube_reply_bytes(frame.id, frame.payload, frame.size);
    }
}

/* The id of the n-th request that was written. */
static inline uint64_t tube_id(uint32_t n)
{
    tube_look();
    expect(n < tube.ids_seen);
    return tube.ids[n % TUBE_IDS];
}

/* ---- The transport ---------------------------------------------------------------------- */

static inline uint32_t tube_least(size_t a, uint32_t b, uint32_t c)
{
    uint32_t least = b < c ? b : c;
    return a < least ? (uint32_t)a : least;
}

static inline ceni_moved tube_lost(cen_error *cause)
{
    ceni_error_set(cause, CEN_LOST, 104, "The other side has hung up.");
    return CENI_MOVED_NEVER;
}

static inline ceni_moved tube_write(void *argument, const void *bytes, size_t size, size_t *moved, cen_error *cause)
{
    (void)argument;
    expect_equal(ceni_add_seq_cst(&tube.writers, 1), 0);
    bool ended = ceni_load_seq_cst(&tube.ended);
    uint32_t end = ceni_load_relaxed(&tube.out_size); /* its own writer's; carries nothing */
    uint32_t room = ceni_load_seq_cst(&tube.room);
    uint32_t count = ended ? 0 : tube_least(size, tube.piece, room > end ? room - end : 0);
    memcpy(tube.out + end, bytes, count);
    ceni_store_seq_cst(&tube.out_size, end + count);
    if (count) tube.writes++;
    if (count && tube.echoes) tube_look();
    if (count && tube.ends_after_echo) tube_end();
    *moved = count;
    ceni_sub_seq_cst(&tube.writers, 1);
    if (ended) return tube_lost(cause);
    return count ? CENI_MOVED : CENI_MOVED_NONE;
}

/* What is there now; NONE if nothing is. */
static inline ceni_moved tube_read_now(void *into, size_t size, size_t *moved, cen_error *cause)
{
    uint32_t end = ceni_load_seq_cst(&tube.in_size);
    uint32_t count = tube_least(size, tube.piece, end - tube.in_taken);
    memcpy(into, tube.in + tube.in_taken, count);
    tube.in_taken += count;
    *moved = count;
    if (count) return CENI_MOVED;
    return ceni_load_seq_cst(&tube.ended) ? tube_lost(cause) : CENI_MOVED_NONE;
}

static inline ceni_moved tube_read(void *argument, void *into, size_t size, int64_t moment, size_t *moved,
                                   cen_error *cause)
{
    (void)argument;
    expect_equal(ceni_add_seq_cst(&tube.readers, 1), 0);
    ceni_moved how;
    for (;;) {
        uint32_t before = moment ? ceni_load_seq_cst(&tube.changes) : 0;
        how = tube_read_now(into, size, moved, cause);
        if (how != CENI_MOVED_NONE || !moment) break;
        if (ceni_futex_wait(&tube.changes, before, moment) == CENI_TIMED_OUT) break;
    }
    ceni_sub_seq_cst(&tube.readers, 1);
    return how;
}

static inline void tube_wake(void *argument)
{
    (void)argument;
    tube.wakes++;
    ceni_store_seq_cst(&tube.woken, 1);
    tube_changed();
}

static inline void tube_broken(void *argument, const cen_error *cause)
{
    (void)argument;
    expect_equal(ceni_add_seq_cst(&tube.broken, 1), 0);
    tube.cause = *cause;
    tube_end();
}

/* ---- The loop ------------------------------------------------------------------------------ */

/* By hand. */
static inline unsigned tube_poll(unsigned happened)
{
    ceni_store_seq_cst(&tube.woken, 0);
    return tube.watch = ceni_exchange_loop(&tube.exchange, happened);
}

static inline unsigned tube_happened(unsigned watch)
{
    uint32_t out = ceni_load_seq_cst(&tube.out_size);
    bool readable = ceni_load_seq_cst(&tube.in_size) != tube.in_taken || ceni_load_seq_cst(&tube.ended);
    unsigned happened = readable ? CENI_LOOP_READ : 0;
    if (out < ceni_load_seq_cst(&tube.room)) happened |= CENI_LOOP_WRITE;
    return happened & watch;
}

/* A thread's: until tube_stop. It never comes SOON: whatever is owed to somebody must come without, and what is left to
 * a later look shows as a deadlock. */
static inline void tube_loop(void *unused)
{
    (void)unused;
    unsigned watch = ceni_exchange_loop(&tube.exchange, 0);
    while (!ceni_load_seq_cst(&tube.stops)) {
        uint32_t before = ceni_load_seq_cst(&tube.changes);
        unsigned happened = tube_happened(watch);
        bool woken = ceni_exchange_seq_cst(&tube.woken, 0);
        if (!happened && !woken) {
            if (ceni_load_seq_cst(&tube.stops)) break;
            ceni_futex_wait(&tube.changes, before, CENI_FOREVER);
            continue;
        }
        watch = ceni_exchange_loop(&tube.exchange, happened);
    }
}

/* There is none, and nobody counts on one: as if it had said that it would come SOON. Threads must do with one another. */
static inline void tube_without_loop(void)
{
    tube.exchange.watched = CENI_LOOP_SOON;
}

static inline void tube_stop(void)
{
    ceni_store_seq_cst(&tube.stops, 1);
    tube_changed();
}

/* ---- Life ------------------------------------------------------------------------------------- */

static const ceni_transport tube_transport = {tube_write, tube_read, tube_wake, tube_broken};

#define tube_open(...) tube_open_with(&CEN_RUNTIME_OPTIONS(.manual = true), __VA_ARGS__)
#define tube_open_virtual(...) tube_open_with(&CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true), __VA_ARGS__)
#define tube_open_with(runtime_options, ...) tube_open_of(runtime_options, (ceni_exchange_settings){__VA_ARGS__})

static inline void tube_open_of(const cen_runtime_options *runtime_options, ceni_exchange_settings settings)
{
    memset(&tube, 0, offsetof(tube_state, out));
    tube.piece = TUBE_SIZE;
    ceni_store_seq_cst(&tube.room, UINT32_MAX);
    expect_equal(cen_runtime_new(runtime_options, &tube.runtime, NULL), CEN_OK);
    settings.transport = &tube_transport;
    settings.runtime = tube.runtime;
    tube.codec = settings.codec.calls ? settings.codec : cen_codec_binary();
    cen_error error;
    cen_status status = ceni_exchange_init(&tube.exchange, &settings, &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    /* Who waits does not tend the runtime, which would look every few milliseconds and so heal a wake-up that was lost. */
    if (!tube.exchange.is_virtual) {
        tube.exchange.is_manual = false;
        tube.exchange.loop_reads = settings.loop_reads;
    }
}

/* Ends the connection, if it has not ended, and all of it. */
static inline void tube_close(void)
{
    cen_error cause;
    ceni_error_set(&cause, CEN_CLOSED, 0, "It is over.");
    ceni_exchange_refuse(&tube.exchange, NULL);
    ceni_exchange_fail(&tube.exchange, &cause);
    ceni_exchange_fini(&tube.exchange);
    expect_equal(cen_runtime_free(tube.runtime), CEN_OK);
    expect_equal(ceni_load_seq_cst(&tube.broken), 1);
    expect_equal(ceni_world_bytes(), 0);
}

static inline ceni_exchange_stats tube_stats(void)
{
    ceni_exchange_stats stats;
    ceni_exchange_look(&tube.exchange, &stats);
    return stats;
}

/* ---- Requests ------------------------------------------------------------------------------------ */

static inline void ready(cen_request *request, const char *payload)
{
    cen_request_init(request, NULL, NULL);
    request->payload = payload;
    request->size = strlen(payload);
}

static inline void ask(cen_request *request, const char *payload)
{
    ready(request, payload);
    cen_error error;
    if (ceni_exchange_request_async(&tube.exchange, request, &error) != CEN_OK)
        test_fail(__FILE__, __LINE__, "%s", error.text);
}

static inline void expect_reply(cen_request *request, const char *text)
{
    expect(cen_future_is_done(&request->future));
    expect_equal(request->future.status, CEN_OK);
    expect_equal(request->reply_size, strlen(text));
    expect(memcmp(request->reply, text, request->reply_size) == 0);
    cen_request_free_reply(request);
}

#endif
