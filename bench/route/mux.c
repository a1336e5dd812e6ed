/* SPDX-License-Identifier: MIT */
/*
 * cenote's multiplexed connections, with default settings. Many: all on the
 * process' own loop, each completion asks the next request of its slot, inline. One: the
 * blocking request.
 */
#include <semaphore.h>
#include <stdio.h>

#include <cenote/mux.h>

#include "../rules/echo.h"

struct slot {
    cen_request request;
    cen_mux *mux;
    unsigned number;
    unsigned char reply[ECHO_PAYLOAD];
};

static struct slot *slots;
static sem_t over;

static cen_mux *open_to(uint16_t port)
{
    char address[32];
    cen_error error = {0};
    cen_mux *mux;
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)port);
    cen_mux_options options = CEN_MUX_OPTIONS(.address = address, .codec = cen_codec_binary());
    if (cen_mux_open(&options, &mux, &error) != CEN_OK) bench_fail("cen_mux_open: %s", error.text);
    return mux;
}

static void prepare(struct slot *slot, void (*done)(cen_request *request))
{
    cen_request_init(&slot->request, done, done != NULL ? cen_inline() : NULL);
    slot->request.payload = echo_begin(slot->number);
    slot->request.size = ECHO_PAYLOAD;
    slot->request.reply = slot->reply;
    slot->request.capacity = sizeof slot->reply;
}

static void ask(struct slot *slot);

static void answered(cen_request *request)
{
    struct slot *slot = (struct slot *)request; /* its first field */
    if (request->future.status != CEN_OK) bench_fail("a request failed: %s", cen_status_name(request->future.status));
    if (echo_end(slot->number, slot->reply, request->reply_size)) ask(slot);
    else if (echo_left() == 0) sem_post(&over);
}

static void ask(struct slot *slot)
{
    /* written only if it fails; to clear it for each request would be some ten nanoseconds of the program's */
    cen_error error;
    prepare(slot, answered);
    if (cen_mux_request_async(slot->mux, &slot->request, &error) != CEN_OK)
        bench_fail("cen_mux_request_async: %s", error.text);
}

void echo_many(uint16_t port, unsigned connections, unsigned in_flight)
{
    cen_mux *all[ECHO_CONNECTIONS_MAX];
    slots = bench_zeroed(in_flight, sizeof *slots);
    sem_init(&over, 0, 0);
    for (unsigned i = 0; i < connections; i++) all[i] = open_to(port);
    for (unsigned i = 0; i < in_flight; i++) {
        slots[i].number = i;
        slots[i].mux = all[i % connections];
        ask(&slots[i]);
    }
    while (sem_wait(&over) != 0)
        ;
    for (unsigned i = 0; i < connections; i++) {
        cen_mux_close(all[i], cen_in_s(5), NULL);
        cen_mux_free(all[i]);
    }
}

void echo_one(uint16_t port)
{
    cen_error error = {0};
    cen_mux *mux = open_to(port);
    struct slot *slot = bench_zeroed(1, sizeof *slot);
    do {
        prepare(slot, NULL);
        if (cen_mux_request(mux, &slot->request, &error) != CEN_OK) bench_fail("cen_mux_request: %s", error.text);
    } while (echo_end(0, slot->reply, slot->request.reply_size));
    cen_mux_close(mux, cen_in_s(5), NULL);
    cen_mux_free(mux);
}
