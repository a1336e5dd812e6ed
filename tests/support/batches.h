/* SPDX-License-Identifier: MIT */
/* Batches of replies whose `done`s ask, over a tube. */
#ifndef TESTS_SUPPORT_BATCHES_H
#define TESTS_SUPPORT_BATCHES_H

#include "support/tube.h"

static cen_request requests[8];
static void (*act[8])(int i); /* what the `done` of each request does */
static _Atomic uint32_t told[8];

static inline void run_act(cen_request *request)
{
    int i = (int)(request - requests);
    cen_request_free_reply(request);
    ceni_add_seq_cst(&told[i], 1);
    if (act[i]) act[i](i);
}

static inline cen_status ask_acting(int i, void (*what)(int i))
{
    act[i] = what;
    ceni_store_seq_cst(&told[i], 0);
    cen_request_init(&requests[i], run_act, cen_inline());
    requests[i].payload = "abc";
    requests[i].size = 3;
    return ceni_exchange_request_async(&tube.exchange, &requests[i], NULL);
}

static inline void ask_seventh(int i)
{
    (void)i;
    expect_equal(ask_acting(7, NULL), CEN_OK);
}

/* A batch has memory from the second one on in which something is asked: these two are over when it returns. */
static inline void warm_up(void)
{
    tube_poll(0);
    tube.echoes = true;
    for (int i = 0; i < 2; i++) {
        expect_equal(ask_acting(0, ask_seventh), CEN_OK);
        tube_poll(CENI_LOOP_READ);
        tube_poll(CENI_LOOP_READ);
        expect_equal(ceni_load_seq_cst(&told[7]), 1);
    }
    tube.echoes = false;
    expect(tube.exchange.batch.output.capacity > 0 || tube.exchange.sending.capacity > 0);
}

#endif
