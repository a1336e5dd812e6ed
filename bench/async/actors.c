/* SPDX-License-Identifier: MIT */
/*
 * An actor for each loop, with its part of the objects, each a cen_actor that takes
 * its turns on helpers of the runtime. Messages lie in the client's request:
 * one for its take and one for its give, which is always handled before the take
 * that follows it. Only the server's are allocated.
 */
#include <cenote/actor.h>

#include "actor.h"

struct note {
    cen_message message;
    enum kind kind;
    struct serve_client *client; /* NULL: the server's, to be freed */
    struct serve_object *object;
};

struct notes { /* a client's request */
    struct request request;
    struct note take, give;
};

struct actor {
    struct actor_pool pool;
    cen_actor *actor;
} __attribute__((aligned(128)));

static struct actor actors[SERVE_LOOPS_MAX];

static void actor_tell(struct actor *told, enum kind kind, struct serve_client *client, struct serve_object *object)
{
    struct notes *notes = client != NULL ? client->request : NULL;
    struct note *note = notes == NULL ? malloc(sizeof *note) : kind == TAKE ? &notes->take : &notes->give;
    if (note == NULL) bench_fail("no memory");
    if (notes == NULL || note->client == NULL) /* its first use */
        cen_message_init(&note->message, "pool");
    note->kind = kind;
    note->client = client;
    note->object = object;
    cen_status status = cen_actor_tell(told->actor, &note->message, NULL);
    if (status != CEN_OK) bench_fail("tell: %s", cen_status_text(status));
}

/* A client's note may be used again as soon as the client is served: it is read before. */
static void handle(void *argument, cen_message *message)
{
    struct actor *actor = argument;
    struct note *note = (struct note *)message;
    enum kind kind = note->kind;
    struct serve_client *client = note->client;
    struct serve_object *object = note->object;
    if (client == NULL) free(note);
    actor_handle(&actor->pool, kind, client, object);
}

static void pool_make(const struct serve_plan *plan)
{
    cen_error error;
    for (unsigned i = 0; i < plan->loops; i++) {
        struct actor *actor = &actors[i];
        cen_actor_options options = CEN_ACTOR_OPTIONS(.name = "bench", .handle = handle, .argument = actor);
        if (cen_actor_new(&options, &actor->actor, &error) != CEN_OK) bench_fail("%s", error.text);
        actor_pool_init(&actor->pool, plan, plan->size / plan->loops, actor);
    }
}

static void pool_ask(struct serve_client *client)
{
    actor_tell(&actors[client->loop->number], TAKE, client, NULL);
}

static void pool_give(struct serve_client *client, struct serve_object *object, bool discard)
{
    actor_tell(&actors[client->loop->number], discard ? DISCARD : GIVE, client, object);
}

int main(int argc, char **argv)
{
    const struct serve_contestant many = {sizeof(struct notes), " ",       pool_make, inbox_enter, pool_ask, pool_give,
                                          inbox_poll,           inbox_arm, NULL};
    return serve_main(argc, argv, &many);
}
