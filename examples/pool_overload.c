/* SPDX-License-Identifier: MIT */
/*
 * A pool under twice the load that it can serve, three times.
 *
 *     Four objects, each in use for 5 ms at a time: the capacity is 800 requests
 *     per second. 128 clients send one every 80 ms each: 1600 per second. A
 *     reply that takes longer than 50 ms is useless: the client has gone.
 *
 *     1 nothing set      all requests are served FIFO, and all too late
 *     2 priorities       so are these, but a monitor's requests come first: it
 *                        sees that the service is slow, not that it is dead
 *     3 and shedding     half are refused, soon, and the other half are served in time
 *
 * A monitor sends a request every 20 ms with a deadline of 30 ms. In the first run it waits in the queue like all
 * others. docs/overload.md explains how to choose the numbers.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cenote/cenote.h>

enum { OBJECTS = 4, CLIENTS = 128, USE_MS = 5, EVERY_MS = 80, SECONDS = 2 };
#define MS INT64_C(1000000)
#define USEFUL_NS CEN_MS(50)

/* The results of one run. */
typedef struct run {
    cen_pool *pool;
    int64_t end;
    cen_priority monitor_priority;
    atomic_uint in_time, too_late, refused, seen, unseen;
    atomic_llong waited; /* total wait of the requests that were served */
} run;

static void sleep_until(int64_t moment)
{
    int64_t left = moment - cen_clock();
    if (left > 0) poll(NULL, 0, (int)((left + MS - 1) / MS));
}

static void serve(run *r, cen_lease *lease, int64_t asked)
{
    int64_t waited = cen_clock() - asked;
    poll(NULL, 0, USE_MS);
    cen_pool_give(lease);
    atomic_fetch_add(&r->waited, waited);
    atomic_fetch_add(waited <= USEFUL_NS ? &r->in_time : &r->too_late, 1);
}

/* A client that is still busy when its next request is due skips that one. */
static void *client(void *argument)
{
    run *r = argument;
    for (int64_t next = cen_clock() + rand() % CEN_MS(EVERY_MS); next < r->end;) {
        sleep_until(next);
        int64_t asked = cen_clock();
        cen_lease lease;
        cen_error error = {.retry_after_ns = 0};
        if (cen_pool_take(r->pool, cen_in_s(5), &lease, &error) == CEN_OK) {
            serve(r, &lease, asked);
        } else {
            atomic_fetch_add(&r->refused, 1);
            if (error.retry_after_ns == 0) fprintf(stderr, "%s\n", error.text); /* not expected */
        }
        int64_t earliest = cen_clock() + error.retry_after_ns; /* it stays away for as long as it was told to */
        while (next <= earliest) next += CEN_MS(EVERY_MS);
    }
    return NULL;
}

static void *monitor(void *argument)
{
    run *r = argument;
    for (int64_t next = cen_clock(); next < r->end; next += CEN_MS(20)) {
        sleep_until(next);
        cen_lease lease;
        bool seen = cen_pool_take_priority(r->pool, r->monitor_priority, cen_in_ms(30), &lease, NULL) == CEN_OK;
        if (seen) cen_pool_give(&lease);
        atomic_fetch_add(seen ? &r->seen : &r->unseen, 1);
    }
    return NULL;
}

static void on_event(void *argument, const cen_event *event, uint64_t missed)
{
    (void)missed;
    int *told = argument;
    if (event->kind == CEN_EVENT_SHED && (*told)++ < 2) printf("     %s\n", event->text);
}

static void load(run *r)
{
    pthread_t threads[CLIENTS + 1];
    r->end = cen_clock() + CEN_SECONDS(SECONDS);
    for (int i = 0; i <= CLIENTS; i++)
        if (pthread_create(&threads[i], NULL, i < CLIENTS ? client : monitor, r) != 0) exit(EXIT_FAILURE);
    for (int i = 0; i <= CLIENTS; i++) pthread_join(threads[i], NULL);
}

static unsigned show(const char *name, run *r)
{
    unsigned in_time = r->in_time, too_late = r->too_late, served = in_time + too_late;
    printf("  %-14s %5u in time %5u too late %5u refused   average wait %3" PRId64 " ms   monitor %u of %u\n", name,
           in_time, too_late, (unsigned)r->refused, served ? (int64_t)r->waited / served / MS : 0, (unsigned)r->seen,
           (unsigned)(r->seen + r->unseen));
    return in_time;
}

static unsigned play(const char *name, cen_pool_options options, cen_priority monitor_priority, run *r)
{
    static int objects[OBJECTS];
    int told = 0;
    cen_error error;
    *r = (run){.monitor_priority = monitor_priority};
    options.name = "orders";
    options.max = OBJECTS;
    if (cen_pool_new(&options, &r->pool, &error) != CEN_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(EXIT_FAILURE);
    }
    for (int i = 0; i < OBJECTS; i++) cen_pool_adopt(r->pool, &objects[i], NULL);
    cen_pool_listen(r->pool, on_event, &told, NULL);
    load(r);
    cen_pool_close(r->pool, CEN_NEVER, NULL, NULL);
    cen_pool_free(r->pool); /* all events have been delivered to the listener */
    return show(name, r);
}

int main(void)
{
    static run plain, ranked, shedding;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("%d objects, in use for %d ms each; %d clients, one request in %d ms each; %d s\n", OBJECTS, USE_MS, CLIENTS,
           EVERY_MS, SECONDS);
    /* The monitor may overtake waiters that have waited for up to 1 s. With less than their wait it would overtake
     * none. */
    cen_pool_options ranks = CEN_POOL_OPTIONS(.aging_ns = CEN_SECONDS(1));
    cen_pool_options sheds =
        CEN_POOL_OPTIONS(.aging_ns = CEN_SECONDS(1), .shed_target_ns = CEN_MS(10), .shed_interval_ns = CEN_MS(20));
    unsigned before = play("nothing set", ranks, CEN_PRIORITY_NORMAL, &plain);
    play("priorities", ranks, CEN_PRIORITY_HIGH, &ranked);
    unsigned after = play("and shedding", sheds, CEN_PRIORITY_HIGH, &shedding);
    bool better = after > before && shedding.refused > 0 && ranked.seen > plain.seen;
    if (!better) fprintf(stderr, "shedding did not help in this run\n");
    return better ? EXIT_SUCCESS : EXIT_FAILURE;
}
