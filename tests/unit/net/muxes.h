/* SPDX-License-Identifier: MIT */
/* Connections, for the tests of the room. */
#ifndef TESTS_UNIT_NET_MUXES_H
#define TESTS_UNIT_NET_MUXES_H

#include <cenote/mux.h>

#include "unit/net/servers.h"

__attribute__((unused)) static cen_mux *open_with(const cen_mux_options *options)
{
    cen_mux *mux = NULL;
    cen_error error = {.text = ""};
    if (cen_mux_open(options, &mux, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    return mux;
}

#define OPEN(...) open_with(&CEN_MUX_OPTIONS(__VA_ARGS__))

/* One request and its reply, on the stack of the caller, with a number as its payload. */
typedef struct question {
    cen_request request;
    cen_error error;
    uint64_t number, answer;
} question;

__attribute__((unused)) static void ready_question(question *q, uint64_t number)
{
    cen_request_init(&q->request, NULL, NULL);
    q->error = (cen_error){.status = CEN_OK};
    q->number = number;
    q->answer = ~number;
    q->request.payload = &q->number;
    q->request.size = sizeof q->number;
    q->request.reply = &q->answer;
    q->request.capacity = sizeof q->answer;
    q->request.future.error = &q->error;
}

/* Asks, waits, and checks that the answer is the question. */
__attribute__((unused)) static void ask_number(cen_mux *mux, uint64_t number)
{
    question q;
    cen_error error = {.text = ""};
    ready_question(&q, number);
    if (cen_mux_request(mux, &q.request, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    expect_equal(q.request.reply_size, sizeof q.answer);
    expect(q.answer == number);
}

__attribute__((unused)) static cen_mux_stats stats_of(cen_mux *mux)
{
    cen_mux_stats stats = CEN_SIZED(cen_mux_stats);
    expect_equal(cen_mux_stats_get(mux, &stats), CEN_OK);
    return stats;
}

/* Closes in peace, and frees. */
__attribute__((unused)) static void end_mux(cen_mux *mux)
{
    cen_error error = {.text = ""};
    cen_status status = cen_mux_close(mux, cen_in_s(20), &error);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    cen_mux_free(mux);
}

#endif
