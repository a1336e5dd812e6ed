/* SPDX-License-Identifier: MIT */
/*
 * Requests that the `done`s of one batch of replies make on the loop's thread, without the lock.
 *
 *     begin   under the lock: reserves as many slots as there are replies to complete
 *     add     no lock: the frame goes to the end of the batch's own output, and the request into the next entry
 *     merge   under the lock, by any thread: complete entries become requests in flight
 *     end     under the lock: merges the rest and gives unused slots back; the output can be written
 *
 * In a program that reacts to replies with further requests, most requests are made here. The two locked instructions
 * of a lock would be a large part of the cost of each. Requests that the batch does not take go the normal way: when
 * slots or bytes are used up, or if a request has its own deadline.
 *
 * Invariants
 *  T1 `thread` changes under the lock. While it is not 0, only that thread writes entries[count] and those behind it,
 *     and the batch's output. While it is 0, everything belongs to the holder of the lock.
 *  T2 Entries below `merged` are in flight or OUT. Those from `merged` to `count` are in flight once they are merged.
 *     Code that looks for a request, counts requests or ends all of them merges first.
 *  T3 A reserved slot has no request and is in no list, so no other thread can use its id.
 *  T4 Requests added after the connection has ended are failed by `end`.
 *
 * The naive version lets the thread hold the writer's role, so that others wait until the batch is over. Then a `done`
 * that waits for one of those threads waits for ever.
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

/* Allocate the batch's output; the lock is dropped meanwhile. If that fails, requests go the normal way. */
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
    ceni_exchange_unlock(exchange); /* a writer has returned its memory here meanwhile */
    ceni_free(exchange->allocator, memory, OUTPUT_FIRST, 1);
    ceni_exchange_lock(exchange);
}

/* Return how many slots to reserve. At least half of all slots stay unreserved, so that other threads do not find the
 * connection full because of slots that stay unused. */
static uint32_t how_many(const ceni_exchange *exchange, uint32_t replies)
{
    const ceni_wire *wire = &exchange->wire;
    if (exchange->state != CENI_EXCHANGE_OPEN || wire->waiting || !ceni_wire_has_room(wire)) return 0;
    if (exchange->batch.output.size) return 0;          /* output of the previous batch */
    if (!ceni_exchange_alarm_dates(exchange)) return 0; /* the first request sets the alarm */
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

/* Append the frame to the output. Returns false if the memory has no room for it or the codec refuses it. */
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
    if (!put_frame(batch, &exchange->wire.codec, entry->id, request)) return false; /* the normal way reports why */
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
    if (ceni_setting(&batch->thread)) return; /* the end of the batch does the rest */
    exchange->wire.unsent -= batch->output.size;
    batch->output.size = 0;
}

/* Move the batch's output behind the output of the normal way, if it fits, so that one write sends both. */
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
    if (batch->added) exchange->wire.unsent += batch->output.size; /* else it was counted with an earlier batch */
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
