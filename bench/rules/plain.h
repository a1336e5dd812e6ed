/* SPDX-License-Identifier: MIT */
/*
 * The state of a plain asynchronous pool: what is idle, who waits, how many there
 * are. Whoever uses it sees to it that one thread at a time does: a mutex, or an
 * actor. Who waits longest is served first; an opening is begun for each who
 * waits while there is room, and what it brings goes to whoever is first then.
 */
#ifndef BENCH_RULES_PLAIN_H
#define BENCH_RULES_PLAIN_H

#include <stdlib.h>

#include "serve.h"

/* Of a client: the first part of its request. */
struct plain_request {
    struct serve_client *next;
    struct serve_object *object; /* what it got */
};

struct plain_row {
    struct serve_client *first, **last;
};

struct plain_pool {
    struct serve_object *idle, **idle_last;
    struct plain_row waiting;
    unsigned size, count, opening, wanting; /* at most; there are; of these being opened; takes that wait */
    bool fifo;                              /* what has been idle longest is lent first; otherwise last */
};

static inline void plain_row_init(struct plain_row *row)
{
    row->first = NULL;
    row->last = &row->first;
}

static inline void plain_row_push(struct plain_row *row, struct serve_client *client)
{
    struct plain_request *request = client->request;
    request->next = NULL;
    *row->last = client;
    row->last = &request->next;
}

static inline struct serve_client *plain_row_pop(struct plain_row *row)
{
    struct serve_client *client = row->first;
    if (client != NULL && (row->first = ((struct plain_request *)client->request)->next) == NULL)
        row->last = &row->first;
    return client;
}

static inline struct serve_object *plain_idle_pop(struct plain_pool *pool)
{
    struct serve_object *object = pool->idle;
    if (object != NULL && (pool->idle = object->next) == NULL) pool->idle_last = &pool->idle;
    return object;
}

/* True: somebody gets it, and is in *out. */
static inline bool plain_put(struct plain_pool *pool, struct serve_object *object, struct serve_client **out)
{
    struct serve_client *client = plain_row_pop(&pool->waiting);
    if (client != NULL) {
        pool->wanting--;
        ((struct plain_request *)client->request)->object = object;
        *out = client;
        return true;
    }
    if (pool->fifo) {
        object->next = NULL;
        *pool->idle_last = object;
        pool->idle_last = &object->next;
    } else {
        object->next = pool->idle;
        pool->idle = object;
    }
    return false;
}

/* True: there was one, and it is in the request. False: it waits. */
static inline bool plain_take(struct plain_pool *pool, struct serve_client *client)
{
    struct serve_object *object = plain_idle_pop(pool);
    ((struct plain_request *)client->request)->object = object;
    if (object != NULL) return true;
    plain_row_push(&pool->waiting, client);
    pool->wanting++;
    return false;
}

/* Whether the caller is to begin an opening now. */
static inline bool plain_wants_more(struct plain_pool *pool)
{
    bool wanted = pool->count < pool->size && pool->opening < pool->wanting;
    pool->count += wanted;
    pool->opening += wanted;
    return wanted;
}

static inline void plain_init(struct plain_pool *pool, const struct serve_plan *plan, unsigned size, bool fifo)
{
    *pool = (struct plain_pool){.size = size, .fifo = fifo};
    pool->idle_last = &pool->idle;
    plain_row_init(&pool->waiting);
    for (; plan->open_ns == 0 && pool->count < size; pool->count++) plain_put(pool, serve_open(), NULL);
}

/* An opening (object is NULL), a test, or the time of a round of tests. */
struct plain_errand {
    struct serve_errand errand;
    struct serve_object *object;
    void *own;
};

static inline void plain_start(void (*run)(struct serve_errand *), void *own, struct serve_object *object, int64_t ns)
{
    struct plain_errand *errand = malloc(sizeof *errand);
    if (errand == NULL) bench_fail("no memory");
    *errand = (struct plain_errand){{run, NULL, 0}, object, own};
    serve_later(&errand->errand, ns);
}

#endif
