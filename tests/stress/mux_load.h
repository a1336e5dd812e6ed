/* SPDX-License-Identifier: MIT */
/*
 * What the loads on multiplexed connections share: a server that answers out of order and from several threads, and kills a
 * connection every 50 ms; and what a reply must be.
 */
#ifndef TESTS_STRESS_MUX_LOAD_H
#define TESTS_STRESS_MUX_LOAD_H

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <cenote/mux_server.h>

#include "port/port.h"
#include "support/test.h"

enum { BAG = 96, MOST = 400, KILL_MS = 50 };

/* ---- The server: answers from a bag, in any order ----------------------------------------------------------- */

static cen_mux_server *server;
static pthread_mutex_t bag_lock = PTHREAD_MUTEX_INITIALIZER;
static cen_mux_call *bag[BAG];
static unsigned in_bag;
static uint64_t bag_dice;
static _Atomic uint32_t over; /* all requests have ended */
static _Atomic uint64_t kills;

/* What the server makes of a request: each byte, with its complement's bits turned round by the first. */
static void transform(const unsigned char *from, size_t size, unsigned char *to)
{
    for (size_t i = 0; i < size; i++) to[i] = (unsigned char)(~from[i] ^ from[0]);
}

static void answer(cen_mux_call *call)
{
    unsigned char reply[MOST];
    expect(call->payload_size <= MOST);
    transform(call->payload, call->payload_size, reply);
    cen_status status = cen_mux_call_reply(call, reply, call->payload_size);
    expect(status == CEN_OK || status == CEN_LOST);
}

/* Puts it in, and takes another out if there are many; NULL: none is to be answered now. */
static cen_mux_call *exchange_in_bag(cen_mux_call *call, unsigned at_most)
{
    pthread_mutex_lock(&bag_lock);
    if (call) bag[in_bag++] = call;
    cen_mux_call *chosen = NULL;
    if (in_bag > at_most) {
        unsigned which = (unsigned)(test_random(&bag_dice) % in_bag);
        chosen = bag[which];
        bag[which] = bag[--in_bag];
    }
    pthread_mutex_unlock(&bag_lock);
    return chosen;
}

static void handle(void *argument, cen_mux_call *call)
{
    (void)argument;
    cen_mux_call *chosen = exchange_in_bag(call, BAG - 1);
    if (chosen) answer(chosen);
}

/* What nobody pushes out of the bag is answered by this thread. */
static void empty_bag(void *argument)
{
    (void)argument;
    while (!ceni_load_seq_cst(&over)) {
        for (cen_mux_call *call; (call = exchange_in_bag(NULL, 0));) answer(call);
        ceni_sleep_until(ceni_clock_now() + 200000);
    }
    for (cen_mux_call *call; (call = exchange_in_bag(NULL, 0));) answer(call);
}

static void kill_now_and_then(void *argument)
{
    (void)argument;
    for (uint64_t next = 1; !ceni_load_seq_cst(&over);) {
        ceni_sleep_until(ceni_clock_now() + KILL_MS * INT64_C(1000000));
        cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
        expect_equal(cen_mux_server_stats_get(server, &stats), CEN_OK);
        /* The oldest first: those that are gone are ABSENT. */
        while (next <= stats.accepted && cen_mux_server_kill(server, next) != CEN_OK) next++;
        if (next <= stats.accepted) ceni_add_seq_cst(&kills, 1u);
    }
}

/* Bytes for a request, at most MOST; how many. */
static size_t make_payload(uint64_t *dice, unsigned char *payload)
{
    uint64_t choice = test_random(dice);
    size_t size = 1 + (size_t)(choice % (choice % 16 == 0 ? MOST : 24));
    for (size_t i = 0; i < size; i += 8) {
        uint64_t bytes = test_random(dice);
        memcpy(payload + i, &bytes, size - i < 8 ? size - i : 8);
    }
    return size;
}

static void expect_answer(const unsigned char *payload, size_t size, const void *reply, size_t reply_size)
{
    unsigned char expected[MOST];
    transform(payload, size, expected);
    expect_equal(reply_size, size);
    expect(memcmp(reply, expected, size) == 0);
}

/* Serves at that address, on a loop of its own: another thread than the connections'. */
static void serve_on(const char *address, cen_loop **loop)
{
    cen_mux_server_options options = CEN_MUX_SERVER_OPTIONS(.address = address, .handle = handle);
    cen_error error = {.text = ""};
    expect_equal(cen_loop_new(NULL, loop, NULL), CEN_OK);
    options.loop = *loop;
    if (cen_mux_server_start(&options, &server, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
}

static void start(ceni_thread *thread, void (*run)(void *), void *argument)
{
    int code;
    expect_equal(ceni_thread_start(thread, NULL, run, argument, &code), CEN_OK);
}

#endif
