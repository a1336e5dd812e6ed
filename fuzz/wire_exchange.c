/* SPDX-License-Identifier: MIT */
/*
 * Bytes as steps on an exchange, over a transport in memory and under virtual time: ask, cancel, reply, garbage, time, a
 * transport that takes little and gives little, the end. Two bytes are one step.
 *
 * Whatever comes, each request is over exactly once: told, or cancelled; its reply is its own; and when all is over
 * nothing is in flight, waits or is unsent.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/plant.h"
#include "wire/exchange.h"

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { REQUESTS = 16, ROOM = 1 << 16 };

enum { FREE, PENDING, TOLD, CANCELLED };

static struct {
    ceni_exchange exchange;
    cen_runtime *runtime;
    cen_codec codec;
    cen_request requests[REQUESTS];
    int state[REQUESTS];
    char payload[REQUESTS][8];
    unsigned char out[ROOM], in[ROOM];
    size_t out_size, out_room, out_seen, in_size, in_taken, piece;
    uint64_t ids[ROOM / 8]; /* all that were written, with whose they were */
    char bodies[ROOM / 8][8];
    size_t frames;
    unsigned watch, broken;
    bool ended;
} it;

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    const char *plant = getenv("CENOTE_PLANT");
    (void)count;
    (void)arguments;
    if (!plant || ceni_plant_choose(plant)) return 0;
    fprintf(stderr, "there is no planted bug named %s\n", plant);
    exit(2);
}

static void complain(const char *text)
{
    fprintf(stderr, "%s\n", text);
    abort();
}

/* ---- The transport ------------------------------------------------------------------------ */

static ceni_moved lost(cen_error *cause)
{
    ceni_error_set(cause, CEN_LOST, 0, "It has ended.");
    return CENI_MOVED_NEVER;
}

static ceni_moved write_some(void *argument, const void *bytes, size_t size, size_t *moved, cen_error *cause)
{
    (void)argument;
    if (it.ended) return lost(cause);
    size_t count = size < it.piece ? size : it.piece;
    if (count > it.out_room) count = it.out_room;
    if (count > ROOM - it.out_size) return lost(cause);
    memcpy(it.out + it.out_size, bytes, count);
    it.out_size += count;
    it.out_room -= count;
    *moved = count;
    return count ? CENI_MOVED : CENI_MOVED_NONE;
}

static ceni_moved read_some(void *argument, void *into, size_t size, int64_t moment, size_t *moved, cen_error *cause)
{
    (void)argument, (void)moment;
    size_t count = it.in_size - it.in_taken;
    if (count > size) count = size;
    if (count > it.piece) count = it.piece;
    if (count == 0) return it.ended ? lost(cause) : CENI_MOVED_NONE;
    memcpy(into, it.in + it.in_taken, count);
    it.in_taken += count;
    *moved = count;
    return CENI_MOVED;
}

static void wake(void *argument)
{
    (void)argument;
}

static void broken(void *argument, const cen_error *cause)
{
    (void)argument, (void)cause;
    it.ended = true;
    if (it.broken++) complain("the end was told twice");
}

static const ceni_transport transport = {write_some, read_some, wake, broken};

/* ---- The other side ----------------------------------------------------------------------- */

static void look_at_output(void)
{
    cen_decoding frame = {.max_payload = ROOM};
    cen_error error;
    while (it.out_seen < it.out_size &&
           it.codec.calls->decode(it.codec.argument, it.out + it.out_seen, it.out_size - it.out_seen, &frame, &error) ==
               CEN_DECODED_FRAME) {
        for (size_t i = 0; i < it.frames; i++)
            if (it.ids[i] == frame.id) complain("an id was used twice");
        it.ids[it.frames] = frame.id;
        memcpy(it.bodies[it.frames++], frame.payload, frame.size < 8 ? frame.size : 8);
        it.out_seen += frame.consumed;
    }
}

static void put(const void *bytes, size_t size)
{
    if (size > ROOM - it.in_size) return;
    memcpy(it.in + it.in_size, bytes, size);
    it.in_size += size;
}

/* Echoes one of all requests that ever were written: in time, late or twice. */
static void reply(uint8_t which)
{
    unsigned char frame[64];
    size_t written = 0;
    cen_error error;
    look_at_output();
    if (!it.frames) return;
    size_t i = it.frames - 1 - which % it.frames;
    it.codec.calls->encode(it.codec.argument, it.ids[i], it.bodies[i], 8, frame, &written, &error);
    put(frame, written);
}

/* ---- The steps ------------------------------------------------------------------------------ */

static void done(cen_request *request)
{
    size_t i = (size_t)(request - it.requests);
    if (it.state[i] != PENDING) complain("a request was told that was over");
    it.state[i] = TOLD;
    if (request->future.status == CEN_OK && (request->reply_size != 8 || memcmp(request->reply, it.payload[i], 8)))
        complain("a request got another's reply");
    cen_request_free_reply(request);
}

static void ask(uint8_t how)
{
    static unsigned serial;
    size_t i = how % REQUESTS;
    if (it.state[i] == PENDING) return;
    cen_request *request = &it.requests[i];
    cen_request_init(request, done, cen_inline());
    for (int k = 0; k < 8; k++) it.payload[i][k] = (char)('a' + (serial >> (k * 4) & 15));
    serial++;
    request->payload = it.payload[i];
    request->size = 8;
    request->deadline = cen_in_ms(how + 1);
    request->only_if_room = how & 64;
    it.state[i] = PENDING;
    cen_status status = ceni_exchange_request_async(&it.exchange, request, NULL);
    if (status != CEN_OK) it.state[i] = FREE; /* nothing is told, and it is the program's */
    else if (it.state[i] == FREE) complain("a request was lost");
}

static void cancel(uint8_t which)
{
    size_t i = which % REQUESTS;
    if (it.state[i] == FREE) return;
    bool pending = it.state[i] == PENDING, cancelled = cen_future_cancel(&it.requests[i].future);
    if (pending && !cancelled) complain("a cancel says too late of one that nobody has told");
    if (!pending && it.state[i] == TOLD && cancelled) complain("a cancel says cancelled of one that was told");
    if (pending) it.state[i] = CANCELLED;
}

static void poll_loop(uint8_t what)
{
    unsigned happened = what & (CENI_LOOP_READ | CENI_LOOP_WRITE | CENI_LOOP_SOON);
    it.watch = ceni_exchange_loop(&it.exchange, happened);
}

static void step(uint8_t what, uint8_t how)
{
    switch (what % 10) {
    case 0:
    case 1: ask(how); break;
    case 2: cancel(how); break;
    case 3:
    case 4: reply(how); break;
    case 5: poll_loop(how); break;
    case 6: cen_runtime_advance(it.runtime, (int64_t)how * 1000000); break;
    case 7: it.out_room = how; break;
    case 8: it.piece = (size_t)how + 1; break;
    case 9:
        if (how > 250) it.ended = true;
        else if (how > 240) put(&how, 1); /* garbage */
        else poll_loop(CENI_LOOP_READ | CENI_LOOP_WRITE);
        break;
    }
}

static void begin(uint8_t how)
{
    memset(&it, 0, sizeof it);
    it.codec = how & 1 ? cen_codec_lines() : cen_codec_binary();
    it.piece = it.out_room = ROOM;
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    ceni_exchange_settings settings = {.transport = &transport,
                                       .codec = it.codec,
                                       .max_in_flight = (how >> 1 & 7) + 1u,
                                       .max_waiters = how & 16 ? 3 : CEN_NONE,
                                       .max_output = 40};
    if (cen_runtime_new(&options, &it.runtime, NULL) != CEN_OK) exit(0);
    settings.runtime = it.runtime;
    if (ceni_exchange_init(&it.exchange, &settings, NULL) != CEN_OK) exit(0);
}

static void end(void)
{
    cen_error cause;
    ceni_exchange_stats stats;
    ceni_error_set(&cause, CEN_CLOSED, 0, "It is over.");
    ceni_exchange_fail(&it.exchange, &cause);
    for (int i = 0; i < REQUESTS; i++)
        if (it.state[i] == PENDING) complain("a request was never told");
    ceni_exchange_look(&it.exchange, &stats);
    if (stats.in_flight || stats.waiting || it.exchange.asked) complain("something is left");
    ceni_exchange_fini(&it.exchange);
    if (cen_runtime_free(it.runtime) != CEN_OK) complain("the runtime is still in use");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1 || size > 2000) return 0;
    begin(bytes[0]);
    for (bytes++, size--; size >= 2; bytes += 2, size -= 2) step(bytes[0], bytes[1]);
    end();
    return 0;
}
