/* SPDX-License-Identifier: MIT */
/* Routing pools, for their tests. */
#ifndef TESTS_UNIT_NET_POOLS_H
#define TESTS_UNIT_NET_POOLS_H

#include <cenote/mux_pool.h>

#include "unit/net/muxes.h"

__attribute__((unused)) static cen_mux_pool *pool_with(const cen_mux_pool_options *options)
{
    cen_mux_pool *pool = NULL;
    cen_error error = {.text = ""};
    if (cen_mux_pool_new(options, &pool, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
    return pool;
}

#define POOL(...) pool_with(&CEN_MUX_POOL_OPTIONS(__VA_ARGS__))

__attribute__((unused)) static cen_mux_pool_stats pool_stats(cen_mux_pool *pool)
{
    cen_mux_pool_stats stats = CEN_SIZED(cen_mux_pool_stats);
    expect_equal(cen_mux_pool_stats_get(pool, &stats), CEN_OK);
    expect_equal(stats.connections, stats.up + stats.connecting + stats.down);
    return stats;
}

/* A request whose answer must be the question. */
__attribute__((unused)) static cen_status request_number(cen_mux_pool *pool, uint64_t number, cen_error *error)
{
    question q;
    ready_question(&q, number);
    cen_status status = cen_mux_pool_request(pool, NULL, &q.request, error);
    if (status == CEN_OK) expect(q.answer == number && q.request.reply_size == sizeof q.answer);
    return status;
}

/* An asking with a number as its payload. */
typedef struct inquiry {
    cen_mux_pool_request_op asking;
    cen_error error;
    uint64_t number, answer;
} inquiry;

__attribute__((unused)) static void ready_inquiry(inquiry *q, uint64_t number)
{
    cen_mux_pool_request_op_init(&q->asking, NULL, NULL);
    q->number = number;
    q->answer = ~number;
    q->asking.request.payload = &q->number;
    q->asking.request.size = sizeof q->number;
    q->asking.request.reply = &q->answer;
    q->asking.request.capacity = sizeof q->answer;
    q->asking.future.error = &q->error;
}

/* The start of a child that runs now; none: all zero. */
typedef struct child_search {
    const char *name;
    cen_child child;
} child_search;

__attribute__((unused)) static void note_child(void *argument, const cen_child_stats *child)
{
    child_search *self = argument;
    if (strcmp(child->name, self->name) == 0) self->child = child->child;
}

__attribute__((unused)) static cen_child child_named(cen_supervisor *supervisor, const char *name)
{
    child_search search = {.name = name};
    expect_equal(cen_supervisor_each(supervisor, note_child, &search), CEN_OK);
    return search.child;
}

#endif
