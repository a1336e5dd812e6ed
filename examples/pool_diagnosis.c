/* SPDX-License-Identifier: MIT */
/*
 * How a pool describes problems: an object that is not given back, a server that refuses connections, a paused pool.
 * Time is virtual, so the whole story takes only a moment. docs/diagnosis.md shows the output.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cenote/cenote.h>

static cen_runtime *runtime;
static cen_pool *pool;
static int server_is_down, connections;
static atomic_int returned;

static cen_status open_connection(void *argument, void **out, cen_error *error)
{
    (void)argument;
    if (server_is_down) {
        error->code = 111;
        snprintf(error->text, sizeof error->text, "connection refused");
        return CEN_SYSTEM;
    }
    *out = (void *)(intptr_t)++connections;
    return CEN_OK;
}

static const cen_driver_calls calls = {.size = sizeof calls, .open = open_connection, .closes_nothing = true};

static void print_event(void *argument, const cen_event *event, uint64_t missed)
{
    (void)argument;
    (void)missed;
    printf("event %-14s  %s\n", cen_event_kind_name(event->kind), event->text);
}

static void explain(const char *title)
{
    char text[2000];
    cen_pool_explain(pool, text, sizeof text);
    printf("\n-- %s\n%s\n", title, text);
}

/* A take on another thread, while virtual time passes. */
static void *take(void *error)
{
    cen_lease lease;
    if (cen_pool_take(pool, cen_in_ms(500), &lease, error) == CEN_OK) cen_pool_give(&lease);
    returned = 1;
    return NULL;
}

static void take_in_vain(const char *title)
{
    pthread_t thread;
    cen_error error = {.text = "it was served"};
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    returned = 0;
    if (pthread_create(&thread, NULL, take, &error) != 0) abort();
    while (stats.waiting == 0 && !returned) cen_pool_stats_get(pool, &stats);
    if (!returned) cen_runtime_advance(runtime, 500 * 1000000LL);
    pthread_join(thread, NULL);
    printf("\n-- %s\n%s: %s\n\n", title, cen_status_name(error.status), error.text);
}

/* Takes three objects and forgets one of them. */
static cen_lease forget_one(void)
{
    cen_lease leases[3];
    for (int i = 0; i < 3; i++) cen_pool_take(pool, CEN_NOW, &leases[i], NULL);
    for (int second = 0; second < 90; second++) {
        cen_runtime_advance(runtime, 1000000000);
        for (int i = 0; i < 2; i++) cen_pool_give(&leases[i]);
        for (int i = 0; i < 2; i++) cen_pool_take(pool, CEN_NOW, &leases[i], NULL);
    }
    take_in_vain("a take times out");
    explain("the pool explains itself");
    for (int i = 0; i < 2; i++) cen_pool_give(&leases[i]);
    return leases[2];
}

static void let_server_fail(void)
{
    cen_lease lease;
    server_is_down = 1;
    cen_pool_reload(pool, 0, NULL);
    for (int i = 0; i < 3; i++) {
        cen_runtime_advance(runtime, CEN_SECONDS(60));
        cen_pool_try_take(pool, &lease, NULL);
    }
    take_in_vain("nothing can be opened");
    server_is_down = 0;
    cen_runtime_advance(runtime, CEN_SECONDS(120));
    if (cen_pool_take(pool, CEN_NOW, &lease, NULL) == CEN_OK) cen_pool_give(&lease);
}

int main(void)
{
    cen_runtime_options of_runtime = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    if (cen_runtime_new(&of_runtime, &runtime, NULL) != CEN_OK) return 1;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "orders", .driver = {&calls, NULL}, .max = 3,
                                                .runtime = runtime, .leak_after_ns = CEN_SECONDS(60),
                                                .backoff_initial_ns = CEN_SECONDS(10), .breaker_failures = 3);
    cen_error error;
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), 1;
    cen_pool_listen(pool, print_event, NULL, NULL);
    cen_lease forgotten = forget_one();
    cen_pool_give(&forgotten);
    let_server_fail();
    cen_pool_pause(pool, NULL);
    take_in_vain("the pool is paused");
    cen_pool_resume(pool, NULL);
    cen_pool_close(pool, CEN_NOW, NULL, NULL);
    cen_pool_free(pool);
    return cen_runtime_free(runtime) == CEN_OK ? 0 : 1;
}
