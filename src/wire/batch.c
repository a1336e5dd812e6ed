/* SPDX-License-Identifier: MIT */
/*
 * What the `done`s of one batch of replies ask, on the loop's thread: without the lock.
 *
 *     begin   under the lock: as many slots are reserved as there are replies to be told
 *     add     no lock: the frame is put at the end of the batch's own output, and the request into the next entry
 *     merge   under the lock, by anybody: the entries that are complete become requests in flight
 *     end     under the lock: the rest is merged, slots that nobody needed are given back, the output can be written
 *
 * Most requests of a program that answers replies by further requests come this way, and the two locked instructions that a
 * lock takes would be a good part of what each costs. What the batch does not take, because slots or bytes are used up, or
 * it has a deadline of its own, goes the way of all others.
 *
 * Invariants
 *  T1 `thread` changes under the lock. While it is not 0, that thread alone writes entries[count], the batch's output, and what is
 *     behind `count`; while it is 0, all belongs to whoever has the lock.
 *  T2 Entries below `merged` are in flight, or OUT; those from there to `count` are in flight as soon as somebody merges them.
 *     Whoever looks for a request, counts them or ends all, merges first.
 *  T3 A reserved slot has no request and is in no list: nobody else can give out its id.
 *  T4 What is added when the connection has ended meanwhile, is ended by `end`.
 *
 * The naive version lets the thread write to the wire itself, and others wait until the batch is over: a `done` that waits for
 * one of them then waits forever.
 *
 * Order table
 * tag  site  | operation      | order   | pairs with | carries                           | breaks if weakened
 * [T1] add   | store of count | release | [T2]       | the entry, its request and its id | a canceller finds half an entry
 * [T2] merge | load of count  | acquire | [T1]       | the same                          | the same
 *
 * Tested by tests/unit/wire/batch_test.c, tests/explore/wire_batch_test.c.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/plant.h"
#include "sync/future.h"
#include "wire/binary.h"
#include "wire/internal.h"

enum { OUTPUT_FIRST = 4096 };

/* Memory for its output, with the lock dropped meanwhile. It may be none: then all go the other way. */
static void find_memory(ceni_exchange *exchange)
{
    ceni_exchange_unlock(exchange);
    unsigned char *memory = ceni_alloc(exchange->allocator, OUTPUT_FIRST, 1);
    ceni_exchange_lock(exchange);
    ceni_bytes *output = &exchange->batch.output;
    if (!output->capacity && memory) {
        *output = (ceni_bytes){.at = memory, .capacity = OUTPUT_FIRST};
        return;
    }
    ceni_exchange_unlock(exchange); /* a writer has left it another meanwhile */
    ceni_free(exchange->allocator, memory, OUTPUT_FIRST, 1);
    ceni_exchange_lock(exchange);
}

/* Others shall not find the connection full because of slots that nobody uses in the end: half of them are never reserved. */
static uint32_t how_many(const ceni_exchange *exchange, uint32_t replies)
{
    const ceni_wire *wire = &exchange->wire;
    if (exchange->state != CENI_EXCHANGE_OPEN || wire->waiting || !ceni_wire_has_room(wire)) return 0;
    if (exchange->batch.output.size) return 0;          /* of the batch before */
    if (!ceni_exchange_alarm_dates(exchange)) return 0; /* the first that is asked sets it */
    uint32_t half = wire->max_in_flight / 2, free = wire->in_flight < half ? half - wire->in_flight : 0;
    uint32_t most = replies < CENI_BATCH ? replies : CENI_BATCH;
    return most < free ? most : free;
}

void ceni_batch_begin(ceni_exchange *exchange, uint32_t replies)
{
    ceni_batch *batch = &exchange->batch;
    if (batch->is_wanted && !batch->output.capacity) find_memory(exchange);
    batch->room = how_many(exchange, replies);
    for (uint32_t i = 0; i < batch->room; i++) batch->entries[i].id = ceni_wire_reserve(&exchange->wire);
    batch->limit = exchange->wire.max_output - exchange->wire.unsent;
    batch->added = batch->merged = 0;
    ceni_setting_put(&batch->is_closed, exchange->state != CENI_EXCHANGE_OPEN);
    ceni_store_relaxed(&batch->count, 0); /* under the lock; carries nothing */
    ceni_setting_put(&batch->thread, ceni_thread_id());
}

/* Puts the frame at the end of the output. False: there is no room in that memory, or the codec refuses it. */
static inline bool put_frame(ceni_batch *batch, const cen_codec *codec, uint64_t id, const cen_request *request)
{
    ceni_bytes *output = &batch->output;
    size_t room = output->capacity - output->size, size = request->size, written = 0;
    if (ceni_binary_is(codec)) {
        if (room < CENI_BINARY_HEAD || size > room - CENI_BINARY_HEAD || size > CENI_BINARY_MOST) return false;
        written = ceni_binary_put(output->at + output->size, id, request->payload, size);
    } else {
        if (codec->calls->bound(codec->argument, size) > room) return false;
        cen_status status = codec->calls->encode(codec->argument, id, request->payload, size, output->at + output->size,
                                                 &written, &batch->why);
        if (status != CEN_OK) return false;
    }
    output->size += written;
    return true;
}

bool ceni_batch_add(ceni_exchange *exchange, cen_request *request)
{
    ceni_batch *batch = &exchange->batch;
    if (batch->added == batch->room || batch->output.size >= batch->limit || ceni_setting(&batch->is_closed))
        return false;
    ceni_batch_entry *entry = &batch->entries[batch->added];
    if (!put_frame(batch, &exchange->wire.codec, entry->id, request)) return false; /* the other way says why */
    ceni_request_make_ready(request, NULL, CENI_WIRE_UNDATED);
    ceni_future_begin(&request->future, ceni_exchange_withdraw, exchange);
    entry->request = request;
    ceni_store_release(&batch->count, ++batch->added); /* [T1] */
    return true;
}

void ceni_batch_merge(ceni_exchange *exchange)
{
    ceni_batch *batch = &exchange->batch;
    if (!ceni_setting(&batch->thread)) return;
    uint32_t count = ceni_load_acquire(&batch->count), merged = batch->merged; /* [T2] */
    exchange->asked += count - merged;
    exchange->stats.sent += count - merged;
    for (; merged < count; merged++)
        ceni_wire_enter(&exchange->wire, batch->entries[merged].request, batch->entries[merged].id);
    batch->merged = count;
}

void ceni_batch_forget(ceni_exchange *exchange)
{
    ceni_batch *batch = &exchange->batch;
    ceni_batch_close(exchange);
    if (ceni_setting(&batch->thread)) return; /* then that is for its end */
    exchange->wire.unsent -= batch->output.size;
    batch->output.size = 0;
}

/* What was asked the other way meanwhile goes in the same write, if there is room for both in one memory. */
static void join_outputs(ceni_bytes *wire, ceni_bytes *batch)
{
    if (batch->size == 0 || wire->size == 0 || wire->capacity - wire->size < batch->size) return;
    memcpy(wire->at + wire->size, batch->at, batch->size);
    wire->size += batch->size;
    batch->size = 0;
}

void ceni_batch_end(ceni_exchange *exchange, ceni_after *after)
{
    ceni_batch *batch = &exchange->batch;
    ceni_batch_merge(exchange);
    for (uint32_t i = batch->added; i < batch->room; i++) ceni_wire_unreserve(&exchange->wire, batch->entries[i].id);
    if (batch->added) exchange->wire.unsent += batch->output.size; /* else it is of a batch before, and counted */
    ceni_setting_put(&batch->thread, 0);
    if (exchange->state != CENI_EXCHANGE_BROKEN) {
        join_outputs(&exchange->wire.output, &batch->output);
        return;
    }
    ceni_batch_forget(exchange);
    if (exchange->wire.in_flight && !ceni_planted(wire_end_overlooks_the_batch))
        ceni_exchange_fail_all(exchange, after);
}

bool ceni_batch_take_output(ceni_exchange *exchange, ceni_bytes *empty)
{
    ceni_bytes *output = &exchange->batch.output;
    if (ceni_setting(&exchange->batch.thread) || output->size == 0) return false;
    ceni_bytes full = *output;
    *output = *empty;
    *empty = full;
    return true;
}
