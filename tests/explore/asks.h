/* SPDX-License-Identifier: MIT */
/*
 * What the explored tests of asks share: requests that are told inline, by
 * whichever thread tells them, and a virtual runtime, whose deadlines pass in the
 * thread that moves it.
 */
#ifndef TESTS_EXPLORE_ASKS_H
#define TESTS_EXPLORE_ASKS_H

#include <cenote/pool_async.h>
#include <cenote/runtime.h>

#include "explore/pools.h"

#define ONE \
    { \
        .max = 1 \
    }
#define ONE_STRICT \
    { \
        .max = 1, .max_barging_ns = CEN_NONE \
    }
#define ONE_FIFO \
    { \
        .max = 1, .order = CEN_ORDER_FIFO \
    }

/* ---- One who asks ------------------------------------------------------------------------------ */

typedef struct request {
    cen_take_op take;
    cen_error error;
    _Atomic uint32_t told;
    bool gives; /* when it is told */
    bool cancelled;
} request;

static cen_runtime *runtime;

/* Called inline: by whichever thread tells it. */
static inline void hear(cen_take_op *take)
{
    request *self = (request *)(void *)take;
    if (take->future.status == CEN_OK) use(&take->lease);
    if (self->gives && take->future.status == CEN_OK) give_one(take->lease);
    expect_equal(ceni_add_seq_cst(&self->told, 1), 0); /* once */
}

static inline void make_ready(request *self, bool gives)
{
    *self = (request){.gives = gives};
    cen_take_op_init(&self->take, hear, cen_inline());
}

static inline void ask_for(request *self, cen_deadline deadline)
{
    expect_equal(cen_pool_take_async(pool, deadline, &self->take), CEN_OK);
}

static inline void ask_now_and_then_give(void *into)
{
    request *self = into;
    ask_for(self, CEN_NEVER);
}

static inline void cancel_it(void *into)
{
    request *self = into;
    self->cancelled = cen_future_cancel(&self->take.future);
}

static inline void let_time_pass(void *unused)
{
    (void)unused;
    expect_equal(cen_runtime_advance(runtime, 1000), CEN_OK);
}

/* All threads are done: it was cancelled, or told so; what it got is given. */
static inline void expect_one_of(request *self, cen_status one, cen_status two)
{
    expect_equal(self->told + self->cancelled, 1);
    if (self->cancelled) return;
    cen_status status = self->take.future.status;
    expect(status == one || status == two);
    if (status == CEN_OK && !self->gives) give_one(self->take.lease);
}

static inline void make(cen_pool_options options)
{
    ceni_world_set_cpus(1);
    make_filled(options);
}

static inline void make_timed(cen_pool_options options)
{
    cen_runtime_options timed = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    expect_equal(cen_runtime_new(&timed, &runtime, NULL), CEN_OK);
    options.runtime = runtime;
    make(options);
}

static inline void end_timed(void)
{
    end();
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

#endif
