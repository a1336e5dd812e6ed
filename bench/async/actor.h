/* SPDX-License-Identifier: MIT */
/*
 * A pool whose whole state belongs to an actor: takes, gives and all that happens
 * to objects are messages, handled one at a time. After the published design: what
 * has been idle longest is lent first, who waits longest is served first, and a
 * round of tests takes everything that is idle out at once. Whoever is served is
 * told by its loop's inbox.
 *
 * Whoever includes this says how a message gets to the actor: actor_tell. There is
 * a client with those that a client sends, and none with the server's.
 */
#ifndef BENCH_ASYNC_ACTOR_H
#define BENCH_ASYNC_ACTOR_H

#include <cenote/inbox.h>

#include "../rules/plain.h"
#include "inbox.h"

enum kind { TAKE, GIVE, DISCARD, OPENED, TESTED, ROUND };

struct actor;

struct request { /* or the first part of a larger one */
    struct plain_request plain;
    struct serve_client *client;
    cen_job job;
};

struct actor_pool {
    struct plain_pool plain;
    const struct serve_plan *plan;
    struct actor *actor;
};

static void actor_tell(struct actor *actor, enum kind kind, struct serve_client *client, struct serve_object *object);

/* ---- On the actor -------------------------------------------------------- */

static void actor_served(cen_job *job)
{
    struct request *request = (struct request *)((char *)job - offsetof(struct request, job));
    serve_granted(request->client, request->plain.object);
}

static void actor_deliver(struct serve_client *client)
{
    struct request *request = client->request;
    cen_executor *executor = cen_inbox_executor(inbox_of(client->loop));
    request->client = client;
    request->job.run = actor_served;
    executor->post(executor, &request->job);
}

static void actor_opened(struct serve_errand *done)
{
    struct actor *actor = ((struct plain_errand *)done)->own;
    free(done);
    actor_tell(actor, OPENED, NULL, serve_open());
}

static void actor_tested(struct serve_errand *done)
{
    struct plain_errand *errand = (struct plain_errand *)done;
    actor_tell(errand->own, TESTED, NULL, errand->object);
    free(errand);
}

static void actor_round(struct serve_errand *done)
{
    actor_tell(((struct plain_errand *)done)->own, ROUND, NULL, NULL);
    free(done);
}

static void actor_handle(struct actor_pool *pool, enum kind kind, struct serve_client *client,
                         struct serve_object *object)
{
    struct serve_client *served = client;
    bool is_served = false;
    if (kind == TAKE) {
        is_served = plain_take(&pool->plain, client);
    } else if (kind == DISCARD) {
        serve_close(object);
        pool->plain.count--;
    } else if (kind == ROUND) {
        while ((object = plain_idle_pop(&pool->plain)) != NULL)
            plain_start(actor_tested, pool->actor, object, pool->plan->test_ns);
        plain_start(actor_round, pool->actor, NULL, pool->plan->every_ns);
    } else {
        pool->plain.opening -= kind == OPENED;
        is_served = plain_put(&pool->plain, object, &served);
    }
    if (is_served) actor_deliver(served);
    while (plain_wants_more(&pool->plain)) plain_start(actor_opened, pool->actor, NULL, pool->plan->open_ns);
}

/* Before the actor gets its first message. */
static void actor_pool_init(struct actor_pool *pool, const struct serve_plan *plan, unsigned size, struct actor *actor)
{
    plain_init(&pool->plain, plan, size, true);
    pool->plan = plan;
    pool->actor = actor;
    if (plan->test_ns > 0) plain_start(actor_round, actor, NULL, plan->every_ns);
}

#endif
