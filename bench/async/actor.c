/* SPDX-License-Identifier: MIT */
/* One actor with the whole pool, on one thread of its own; its mailbox is an unbounded cen_queue. */
#include <pthread.h>

#include <cenote/queue.h>

#include "actor.h"

struct message {
    enum kind kind;
    struct serve_client *client;
    struct serve_object *object;
};

struct actor {
    struct actor_pool pool;
    cen_queue *mailbox;
};

static struct actor actor;

static void actor_tell(struct actor *told, enum kind kind, struct serve_client *client, struct serve_object *object)
{
    struct message message = {kind, client, object};
    if (cen_queue_push(told->mailbox, &message) != CEN_OK) bench_fail("the mailbox takes no message");
}

static void *actor_main(void *argument)
{
    struct message message;
    while (cen_queue_pop(actor.mailbox, &message) == CEN_OK)
        actor_handle(&actor.pool, message.kind, message.client, message.object);
    return argument;
}

static void pool_make(const struct serve_plan *plan)
{
    cen_queue_options options = CEN_QUEUE_OPTIONS(.element_size = sizeof(struct message), .kind = CEN_QUEUE_UNBOUNDED);
    pthread_t thread;
    if (cen_queue_new(&options, &actor.mailbox, NULL) != CEN_OK) bench_fail("no memory");
    actor_pool_init(&actor.pool, plan, plan->size, &actor);
    if (pthread_create(&thread, NULL, actor_main, NULL) != 0) bench_fail("cannot start a thread");
}

static void pool_ask(struct serve_client *client)
{
    actor_tell(&actor, TAKE, client, NULL);
}

static void pool_give(struct serve_client *client, struct serve_object *object, bool discard)
{
    actor_tell(&actor, discard ? DISCARD : GIVE, client, object);
}

int main(int argc, char **argv)
{
    const struct serve_contestant single = {
        sizeof(struct request), " ", pool_make, inbox_enter, pool_ask, pool_give, inbox_poll, inbox_arm, NULL};
    return serve_main(argc, argv, &single);
}
