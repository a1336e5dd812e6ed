/* SPDX-License-Identifier: MIT */
/*
 * What each of two copies of the library does, in the threads of one process:
 * the program has the shared library, the plugin has the static one inside.
 */
#ifndef TESTS_COPIES_USES_H
#define TESTS_COPIES_USES_H

#include <cenote/pool.h>

#include <stdint.h>
#include <stdio.h>

typedef struct copy {
    cen_pool *pool;
    int opened, closed; /* by one thread at a time: the pool has one object */
} copy;

/* The functions of one copy, as the program calls them. */
typedef struct copy_calls {
    int (*begin)(copy *self);         /* 0: well */
    int (*take_and_give)(copy *self); /* by hand and in a block */
    int (*take_and_keep)(copy *self);
    int (*end)(copy *self, int taken_back);
    const void *(*code)(void); /* of which library */
} copy_calls;

static cen_status copy_open(void *argument, void **out, cen_error *error)
{
    (void)error;
    copy *self = argument;
    *out = (void *)(intptr_t)++self->opened;
    return CEN_OK;
}

static void copy_close(void *argument, void *object)
{
    (void)object;
    ((copy *)argument)->closed++;
}

static const cen_driver_calls copy_driver = {.size = sizeof copy_driver, .open = copy_open, .close = copy_close};

static int copy_begin(copy *self)
{
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "copy", .max = 1, .driver = {&copy_driver, self},
                                                .on_holder_end = CEN_HOLDER_END_CLOSE);
    return cen_pool_new(&options, &self->pool, NULL) != CEN_OK;
}

static int copy_take_and_give(copy *self)
{
    cen_lease lease;
    int wrong = 1;
    if (cen_pool_take(self->pool, cen_in_s(20), &lease, NULL) != CEN_OK || cen_pool_give(&lease) != CEN_OK) return 1;
    CEN_WITH (self->pool, cen_in_s(20), intptr_t, object, NULL) wrong = object != self->opened;
    return wrong;
}

static int copy_take_and_keep(copy *self)
{
    cen_lease lease;
    return cen_pool_take(self->pool, cen_in_s(20), &lease, NULL) != CEN_OK;
}

/* What threads kept was closed when they ended, each by its own copy. */
static int copy_end(copy *self, int taken_back)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    int wrong = cen_pool_stats_get(self->pool, &stats) != CEN_OK || stats.held != 0 || self->closed != taken_back;
    if (wrong) printf("%d taken back of %d, %u still held\n", self->closed, taken_back, stats.held);
    return cen_pool_free(self->pool) != CEN_OK || self->opened != self->closed || wrong;
}

static const void *copy_code(void)
{
    return (const void *)(uintptr_t)&cen_pool_take_at;
}

static const copy_calls copy_of_these = {copy_begin, copy_take_and_give, copy_take_and_keep, copy_end, copy_code};

#endif
