/* SPDX-License-Identifier: MIT */
/*
 * A model of a process, from two responses of GET /api/components?parts=1: the numbers of the later one, and the rates
 * and percentiles of the time between them. Pure: no clock, no file, no screen.
 *
 *     model *m = model_new(before, after);     before NULL: no rates, and percentiles since the start of each component
 *     for (size_t i = 0; i < m->pool_count; i++) puts(m->pools[i].name);
 *     model_free(m);
 *
 * Missing values count as 0, "" or unknown, because the process may run another version. Texts and JSON values are
 * parts of `after`, which the model holds, and end with it.
 */
#ifndef CENOTE_TOOL_MODEL_H
#define CENOTE_TOOL_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/status.h>

/* The distribution of one kind of duration. */
typedef struct model_spread {
    bool known;   /* there are events */
    bool is_old;  /* none in the interval: these are of the whole life of the component */
    double count; /* the number of events, including those that took no time */
    int64_t p50_ns, p99_ns, largest_ns;
} model_spread;

typedef enum model_breaker { BREAKER_CLOSED = 0, BREAKER_OPEN, BREAKER_HALF_OPEN } model_breaker;

typedef struct model_pool {
    uint64_t number;
    const char *name, *system, *explanation, *last_error; /* "" if there is none */
    /* held: including objects that are changing hands, without revoked ones */
    int64_t max, held, idle, opening, waiting, revoked;
    int64_t others; /* testing, resetting, closing: neither held nor idle */
    int64_t leaks;  /* among the listed holders: held longer than leak_after_ns */
    bool paused, closed;
    model_breaker breaker;
    cen_cause cause; /* why a take would wait or fail; NONE: it would succeed, or the process does not report it */
    double takes;    /* per second; below 0: unknown */
    double timeouts;
    model_spread wait, use, create;
    json_t *component, *description;
    json_t *history; /* the recorded history of the pool; NULL: none */
    int64_t now_ns;  /* the time of the history's response */
} model_pool;

typedef struct model_holder {
    const model_pool *pool;
    int64_t index, held_ns, tid; /* tid 0: unknown */
    const char *holder, *thread_name, *where;
    bool exact, detached, revoked;
    json_t *item;
} model_holder;

typedef struct model_waiter {
    const model_pool *pool;
    int64_t place;              /* from 1, in the order of service */
    int64_t waited_ns, left_ns; /* left_ns below 0: no deadline */
    const char *kind, *holder, *thread_name, *priority, *where;
    json_t *item;
} model_waiter;

/* "thread 3 (worker, tid 4711)", "task 12", or `nobody`. */
const char *model_holder_words(const model_holder *h, const char *nobody, char *text, size_t room);

/* A component that is not a pool, or a part of one: workers, members, children. */
typedef struct model_node {
    unsigned depth;
    uint64_t number; /* of the component itself, or of the one it is a part of */
    bool is_component;
    const char *kind, *name, *state;
    char title[96];    /* its name, or a replacement */
    char numbers[240]; /* "queued 12, running 4, finished 530/s" */
    json_t *item;
} model_node;

typedef struct model {
    int64_t now_ns, interval_ns; /* interval 0: without `before` */
    model_pool *pools;
    size_t pool_count;
    model_holder *holders; /* the oldest first */
    size_t holder_count;
    model_waiter *waiters; /* by pool, in the order of service */
    size_t waiter_count;
    model_node *workers; /* crews, lanes, queues, actors and all others */
    size_t worker_count;
    model_node *tree; /* supervisors with their children, then routers with their members */
    size_t tree_count;
    json_t *after, *history;
} model;

/* Build a model. NULL: out of memory, or `after` is not such a response. */
model *model_new(json_t *before, json_t *after);
/* Attach the history of each pool from a response of GET /api/history, or NULL. */
void model_set_history(model *self, json_t *history);
void model_free(model *self);

/* ---- Parts, for views of one component ---------------------------------------------------- */

/* Return the component with that number, or NULL. */
json_t *model_component(json_t *components, uint64_t number);

/* Return the distribution in the interval: `after` less `before`, which may be NULL. A sampled histogram may have no
 * events in the interval; then the result is that of `after`. */
model_spread model_spread_of(json_t *before, json_t *after, const char *name);

int64_t model_number(json_t *object, const char *name);   /* 0 if there is none */
const char *model_text(json_t *object, const char *name); /* "" if there is none */
bool model_truth(json_t *object, const char *name);

/* Fill m->workers and m->tree. Returns false if out of memory. (model_tree.c) */
bool model_grow_tree(model *m, json_t *before);

/* Make room for one more item of `size` after `count`. Returns false if out of memory. */
bool model_room(void **array, size_t count, size_t size);

#endif
