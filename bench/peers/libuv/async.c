/* SPDX-License-Identifier: MIT */
/*
 * What one writes by hand with libuv: a pool under one mutex, which lends first
 * what was given last. Who is served goes to its loop: see rules/serve_uv.h; uv_async_send
 * is called once until that loop has looked, and without the mutex. Openings and
 * tests are the server's; two of those that are idle when a round begins are
 * tested at a time.
 */
#include "../../rules/serve_uv.h"

#define TESTERS 2

static const struct serve_plan *plan;
static uv_mutex_t mutex;
static struct plain_pool pool;
static unsigned to_test; /* in this round */

static void open_done(struct serve_errand *done);

/* With the mutex. What is returned is to be sent without it, if it is not NULL. */
static uv_async_t *deliver(struct serve_client *client)
{
    struct home *home = &homes[client->loop->number];
    bool first = home->sent.first == NULL;
    plain_row_push(home == here ? &home->ready : &home->sent, client);
    return home != here && first ? &home->async : NULL;
}

/* Ends what began with the mutex' being locked. */
static void unlock(uv_async_t *async)
{
    bool more = plain_wants_more(&pool);
    uv_mutex_unlock(&mutex);
    if (async != NULL) uv_async_send(async);
    if (more) plain_start(open_done, NULL, NULL, plan->open_ns);
}

static void put(struct serve_object *object)
{
    struct serve_client *client;
    unlock(plain_put(&pool, object, &client) ? deliver(client) : NULL);
}

static void open_done(struct serve_errand *done)
{
    free(done);
    struct serve_object *object = serve_open();
    uv_mutex_lock(&mutex);
    pool.opening--;
    put(object);
}

static void pool_ask(struct serve_client *client)
{
    uv_mutex_lock(&mutex);
    unlock(plain_take(&pool, client) ? deliver(client) : NULL);
}

static void pool_give(struct serve_client *client, struct serve_object *object, bool discard)
{
    (void)client;
    if (discard) serve_close(object);
    uv_mutex_lock(&mutex);
    pool.count -= discard;
    if (discard) unlock(NULL);
    else put(object);
}

/* ---- Tests --------------------------------------------------------------- */

static void test_done(struct serve_errand *done);

static void test_next(void)
{
    uv_mutex_lock(&mutex);
    struct serve_object *object = to_test > 0 ? plain_idle_pop(&pool) : NULL;
    to_test -= object != NULL;
    uv_mutex_unlock(&mutex);
    if (object != NULL) plain_start(test_done, NULL, object, plan->test_ns);
}

static void test_done(struct serve_errand *done)
{
    uv_mutex_lock(&mutex);
    put(((struct plain_errand *)done)->object);
    free(done);
    test_next();
}

static void begin_round(struct serve_errand *done)
{
    free(done);
    uv_mutex_lock(&mutex);
    to_test = 0;
    for (struct serve_object *object = pool.idle; object != NULL; object = object->next) to_test++;
    uv_mutex_unlock(&mutex);
    for (int i = 0; i < TESTERS; i++) test_next();
    plain_start(begin_round, NULL, NULL, plan->every_ns);
}

/* ---- Start --------------------------------------------------------------- */

static void pool_make(const struct serve_plan *made)
{
    plan = made;
    uv_mutex_init(&mutex);
    plain_init(&pool, plan, plan->size, false);
    if (plan->test_ns > 0) plain_start(begin_round, NULL, NULL, plan->every_ns);
}

static void on_async(uv_async_t *async)
{
    (void)async;
    uv_mutex_lock(&mutex);
    struct plain_row sent = here->sent;
    plain_row_init(&here->sent);
    uv_mutex_unlock(&mutex);
    home_serve(&sent);
}

static void pool_enter(struct serve_loop *loop)
{
    home_enter(loop, on_async);
}

int main(int argc, char **argv)
{
    const struct serve_contestant libuv = {
        sizeof(struct plain_request), " ", pool_make, pool_enter, pool_ask, pool_give, NULL, NULL, home_run};
    return serve_main(argc, argv, &libuv);
}
