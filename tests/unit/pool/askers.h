/* SPDX-License-Identifier: MIT */
/* One who asks, by the public interface, and what it was told. */
#ifndef TESTS_UNIT_POOL_ASKERS_H
#define TESTS_UNIT_POOL_ASKERS_H

#include <cenote/inbox.h>
#include <cenote/pool_async.h>

#include "port/rank.h"
#include "unit/pool/takers.h"

typedef struct asker {
    cen_take_op take;
    cen_error error;
    int told;
    int turn;    /* of all that were told, which */
    uint64_t by; /* the thread on which it was */
    int64_t at;
    void (*then)(struct asker *self); /* what it does when it is told; may be NULL */
    struct asker *other;              /* for it */
} asker;

static int told_so_far;

static inline void tell(cen_take_op *take)
{
    asker *self = (asker *)(void *)take;
    ceni_rank_expect_none("a done");
    expect_equal(self->told, 0);
    self->told++;
    self->turn = ++told_so_far;
    self->by = cen_thread_number();
    self->at = cen_clock();
    if (self->take.future.status == CEN_OK) expect(self->take.lease.pool != NULL);
    else expect(self->take.lease.pool == NULL);
    if (self->then) self->then(self);
}

/* Made ready, with `done` on that executor; NULL: it is waited for. */
static inline void ready(asker *self, cen_executor *executor)
{
    *self = (asker){.told = 0};
    cen_take_op_init(&self->take, executor ? tell : NULL, executor);
    self->take.future.error = &self->error;
}

/* Asks, and `done` is called inline. */
static inline void ask(asker *self, cen_pool *pool, cen_deadline deadline)
{
    ready(self, cen_inline());
    expect_equal(cen_pool_take_async_at(pool, deadline, &self->take, "asked here"), CEN_OK);
}

static inline void expect_told(const asker *self, cen_status status)
{
    expect_equal(self->told, 1);
    expect_equal(self->take.future.status, status);
    if (status != CEN_OK) expect_equal(self->error.status, status);
}

static inline void expect_pending(const asker *self)
{
    expect_equal(self->told, 0);
    expect(!cen_future_is_done(&self->take.future));
}

/* It got the object of that number. */
static inline void expect_lent(const asker *self, int number)
{
    expect_told(self, CEN_OK);
    expect_equal(number_of(&self->take.lease), number);
}

static inline void give_asked(asker *self)
{
    give_back(&self->take.lease);
}

#endif
