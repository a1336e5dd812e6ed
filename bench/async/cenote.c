/* SPDX-License-Identifier: MIT */
/*
 * cenote's own pool by cen_pool_take_async, with an inbox for each loop and a deadline
 * with every ask. Default settings, but as many openings at a time as there are
 * objects, as all others have it. Openings and tests complete later.
 *
 * "blocking": they block instead, on helpers of the runtime.
 * "partitioned": a pool of pools, one for each loop with its part of the objects.
 */
#include <stdlib.h>
#include <string.h>

#include <cenote/pool_async.h>

#include "../pool/features.h"
#include "inbox.h"

#define PATIENCE_S 30
#define OPENERS_MOST 64

struct errand { /* something that the server does for the driver */
    struct serve_errand errand;
    cen_ticket ticket;
    bool opens;
};

static const struct serve_plan *plan;
static cen_pool *pools[SERVE_LOOPS_MAX]; /* by loop; all the same one unless partitioned */

/* ---- The driver ---------------------------------------------------------- */

static void errand_done(struct serve_errand *done)
{
    struct errand *errand = (struct errand *)done;
    cen_driver_done(errand->ticket, CEN_OK, errand->opens ? serve_open() : NULL, NULL);
    free(errand);
}

static void start(cen_ticket ticket, bool opens, int64_t ns)
{
    struct errand *errand = bench_zeroed(1, sizeof *errand);
    *errand = (struct errand){{errand_done, NULL, 0}, ticket, opens};
    serve_later(&errand->errand, ns);
}

static void open_async(void *argument, cen_ticket ticket)
{
    (void)argument;
    start(ticket, true, plan->open_ns);
}

static void test_async(void *argument, void *object, cen_ticket ticket)
{
    (void)argument, (void)object;
    start(ticket, false, plan->test_ns);
}

static cen_status open_here(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    if (plan->open_ns > 0) bench_sleep(plan->open_ns);
    *out = serve_open();
    return CEN_OK;
}

static cen_status test_here(void *argument, void *object, cen_error *error)
{
    (void)argument, (void)object, (void)error;
    bench_sleep(plan->test_ns);
    return CEN_OK;
}

static void close_here(void *argument, void *object)
{
    (void)argument;
    serve_close(object);
}

/* ---- The pool ------------------------------------------------------------ */

static cen_pool *pool_new(uint32_t size)
{
    static cen_driver_calls calls;
    bool blocks = strcmp(plan->flavour, "blocking") == 0;
    calls = (cen_driver_calls){.size = sizeof calls, .open = open_here, .close = close_here, .blocks = blocks};
    if (plan->open_ns > 0 && !blocks) calls.open_async = open_async;
    if (plan->test_ns > 0 && blocks) calls.test = test_here;
    if (plan->test_ns > 0 && !blocks) calls.test_async = test_async;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "bench", .driver = {&calls, NULL}, .max = size,
                                                .eager = plan->open_ns == 0, .test_interval_ns = plan->every_ns,
                                                .max_concurrent_opens = size < OPENERS_MOST ? size : OPENERS_MOST);
    cen_pool *pool;
    cen_error error;
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) bench_fail("%s", error.text);
    return pool;
}

static void pool_make(const struct serve_plan *made)
{
    static const struct serve_plan simple = {.flavour = ""};
    bool partitioned = strcmp(made->flavour, "partitioned") == 0;
    plan = &simple;
    cen_pool *subject = pool_new(1);
    assert_features(subject);
    cen_pool_free(subject);
    plan = made;
    for (unsigned i = 0; i < plan->loops; i++)
        pools[i] = i > 0 && !partitioned ? pools[0] : pool_new(partitioned ? plan->size / plan->loops : plan->size);
}

static void on_ready(cen_take_op *take)
{
    if (take->future.status != CEN_OK) bench_fail("ask: %s", cen_status_text(take->future.status));
    serve_granted(take->future.user, take->lease.object);
}

static void pool_ask(struct serve_client *client)
{
    cen_take_op *take = client->request;
    cen_take_op_init(take, on_ready, cen_inbox_executor(inbox_of(client->loop)));
    take->future.user = client;
    cen_status status = cen_pool_take_async(pools[client->loop->number], cen_in_s(PATIENCE_S), take);
    if (status != CEN_OK) bench_fail("ask: %s", cen_status_text(status));
}

static void pool_give(struct serve_client *client, struct serve_object *object, bool discard)
{
    cen_lease *lease = &((cen_take_op *)client->request)->lease;
    cen_status status = discard ? cen_pool_discard(lease) : cen_pool_give(lease);
    (void)object;
    if (status != CEN_OK) bench_fail("give: %s", cen_status_text(status));
}

int main(int argc, char **argv)
{
    const struct serve_contestant cenote = {sizeof(cen_take_op),
                                            " blocking partitioned ",
                                            pool_make,
                                            inbox_enter,
                                            pool_ask,
                                            pool_give,
                                            inbox_poll,
                                            inbox_arm,
                                            NULL};
    return serve_main(argc, argv, &cenote);
}
