/* SPDX-License-Identifier: MIT */
/*
 * What a process is like, from two answers of GET /api/components?parts=1: numbers of the later one, rates and percentiles
 * of the time between them. Pure: no clock, no file, no screen.
 *
 *     model *m = model_new(before, after);     before NULL: no rates, and percentiles of all that was ever counted
 *     for (size_t i = 0; i < m->pool_count; i++) puts(m->pools[i].name);
 *     model_free(m);
 *
 * Whatever the answers lack counts as 0, "" or not known: a process may be of another version than this program.
 * Texts and JSON values are parts of `after`, which the model holds, and end with it.
 */
#ifndef CENOTE_TOOL_MODEL_H
#define CENOTE_TOOL_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/status.h>

/* Of one kind of duration. */
typedef struct model_spread {
    bool known;   /* something of the kind took place */
    bool is_old;  /* not in the interval: these are of all that was ever counted */
    double count; /* how many there were, those that took no time included */
    int64_t p50_ns, p99_ns, largest_ns;
} model_spread;

typedef enum model_breaker { BREAKER_CLOSED = 0, BREAKER_OPEN, BREAKER_HALF_OPEN } model_breaker;

typedef struct model_pool {
    uint64_t number;
    const char *name, *system, *explanation, *last_error; /* "" if there is none */
    /* held: with those that are changing hands, without revoked ones */
    int64_t max, held, idle, opening, waiting, revoked;
    int64_t others; /* testing, resetting, closing: neither lent nor to be had */
    int64_t leaks;  /* of those that are named: held for longer than leak_after_ns */
    bool paused, closed;
    model_breaker breaker;
    cen_cause cause; /* why a take would wait or fail; NONE: it would not, or the process does not say */
    double takes;    /* a second; below 0: not known */
    double timeouts;
    model_spread wait, use, create;
    json_t *component, *description;
    json_t *history; /* what the process kept of it; NULL: nothing */
    int64_t now_ns;  /* when the history was told */
} model_pool;

typedef struct model_holder {
    const model_pool *pool;
    int64_t index, held_ns, tid; /* tid 0: not known */
    const char *holder, *thread_name, *where;
    bool exact, detached, revoked;
    json_t *item;
} model_holder;

typedef struct model_waiter {
    const model_pool *pool;
    int64_t place;              /* from 1: in the order of service */
    int64_t waited_ns, left_ns; /* left_ns below 0: it has no deadline */
    const char *kind, *holder, *thread_name, *priority, *where;
    json_t *item;
} model_waiter;

/* "thread 3 (worker, tid 4711)", "task 12", or `nobody`. */
const char *model_holder_words(const model_holder *h, const char *nobody, char *text, size_t room);

/* Anything that is no pool, and its parts below it: workers, members, children. */
typedef struct model_node {
    unsigned depth;
    uint64_t number; /* of the component that it is, or is a part of */
    bool is_component;
    const char *kind, *name, *state;
    char title[96];    /* its name, or what takes its place */
    char numbers[240]; /* "queued 12, running 4, finished 530/s" */
    json_t *item;
} model_node;

typedef struct model {
    int64_t now_ns, interval_ns; /* interval 0: there was no `before` */
    model_pool *pools;
    size_t pool_count;
    model_holder *holders; /* the oldest first */
    size_t holder_count;
    model_waiter *waiters; /* by pool, in the order of service */
    size_t waiter_count;
    model_node *workers; /* crews, lanes, queues, actors and all else */
    size_t worker_count;
    model_node *tree; /* supervisors with what they supervise, then routers with their members */
    size_t tree_count;
    json_t *after, *history;
} model;

/* NULL: there is no memory, or `after` is no such answer. */
model *model_new(json_t *before, json_t *after);
/* Lets pools have what an answer of GET /api/history, or NULL, says of them. */
void model_set_history(model *self, json_t *history);
void model_free(model *self);

/* ---- Parts, for those who look at one component ------------------------------------------- */

/* The component of that number, or NULL. */
json_t *model_component(json_t *components, uint64_t number);

/* How the histograms of that name differ: after less before, which may be NULL. Of what is sampled there may be nothing in an
 * interval: then they are those of `after`. */
model_spread model_spread_of(json_t *before, json_t *after, const char *name);

int64_t model_number(json_t *object, const char *name);   /* 0 if there is none */
const char *model_text(json_t *object, const char *name); /* "" if there is none */
bool model_truth(json_t *object, const char *name);

/* Fills m->workers and m->tree; false: no memory. (model_tree.c) */
bool model_grow_tree(model *m, json_t *before);

/* Room for one more of so many, each of `size`; false: no memory. */
bool model_room(void **array, size_t count, size_t size);

#endif
