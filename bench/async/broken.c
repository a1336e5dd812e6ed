/* SPDX-License-Identifier: MIT */
/*
 * Planted bugs for the harness: a pool under one mutex that once, chosen by
 * BENCH_BROKEN, lends an object that it has lent already (double), forgets one
 * that is given (lose), forgets one who waits (forget), lends what is no object
 * (foreign) or opens one too many (excess). The driver runs it first and goes on only if each is refused and the
 * sound one passes.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../rules/serve.h"

#define VICTIM 100 /* which grant or give goes wrong */

struct request {
    struct serve_client *client, *next;
    struct serve_object *object;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct serve_object *idle;
static struct serve_client *waiting, **waiting_last = &waiting, *served[SERVE_LOOPS_MAX];
static unsigned grants, gives;
static const char *fault;

static bool strikes(const char *name, unsigned *count)
{
    return strcmp(fault, name) == 0 && ++*count == VICTIM;
}

static void pool_make(const struct serve_plan *plan)
{
    fault = getenv("BENCH_BROKEN");
    fault = fault != NULL ? fault : "";
    for (unsigned i = 0; i < plan->size + (strcmp(fault, "excess") == 0); i++) {
        struct serve_object *object = serve_open();
        object->next = idle;
        idle = object;
    }
}

static void pool_enter(struct serve_loop *loop)
{
    loop->fd = eventfd(0, EFD_NONBLOCK);
}

static void hand(struct serve_client *client, struct serve_object *object)
{
    struct request *request = client->request;
    uint64_t one = 1;
    request->object = object;
    request->next = served[client->loop->number];
    served[client->loop->number] = client;
    if (write(client->loop->fd, &one, sizeof one) < 0) bench_fail("cannot write");
}

/* With the mutex: as long as somebody waits and something is idle. */
static void match(void)
{
    while (waiting != NULL && idle != NULL) {
        struct serve_client *client = waiting;
        struct serve_object *object = idle;
        waiting = ((struct request *)client->request)->next;
        if (waiting == NULL) waiting_last = &waiting;
        if (strikes("forget", &grants)) continue;
        if (!strikes("double", &grants)) idle = object->next;
        hand(client, strikes("foreign", &grants) ? object + 1000000 : object);
    }
}

static void pool_ask(struct serve_client *client)
{
    struct request *request = client->request;
    request->next = NULL;
    pthread_mutex_lock(&mutex);
    *waiting_last = client;
    waiting_last = &request->next;
    match();
    pthread_mutex_unlock(&mutex);
}

static void pool_give(struct serve_client *client, struct serve_object *object, bool discard)
{
    (void)client, (void)discard;
    pthread_mutex_lock(&mutex);
    if (!strikes("lose", &gives)) {
        object->next = idle;
        idle = object;
    }
    match();
    pthread_mutex_unlock(&mutex);
}

static size_t pool_poll(struct serve_loop *loop)
{
    size_t count = 0;
    uint64_t told;
    if (read(loop->fd, &told, sizeof told) < 0) return 0;
    pthread_mutex_lock(&mutex);
    struct serve_client *first = served[loop->number];
    served[loop->number] = NULL;
    pthread_mutex_unlock(&mutex);
    for (struct serve_client *client = first, *next; client != NULL; client = next, count++) {
        struct request *request = client->request;
        next = request->next;
        serve_granted(client, request->object);
    }
    return count;
}

static bool pool_arm(struct serve_loop *loop)
{
    (void)loop;
    return true;
}

int main(int argc, char **argv)
{
    const struct serve_contestant broken = {
        sizeof(struct request), " ", pool_make, pool_enter, pool_ask, pool_give, pool_poll, pool_arm, NULL};
    return serve_main(argc, argv, &broken);
}
