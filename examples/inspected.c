/* SPDX-License-Identifier: MIT */
/*
 * A program that can be inspected while it runs.
 *
 *     inspected                         only this user's programs reach it: cenote top PID
 *     inspected 127.0.0.1:9911          open http://127.0.0.1:9911/ in a browser
 *     inspected ADDRESS --control --token TOKEN --seconds N     control over TCP requires a token
 *
 * It contains an example of each kind:
 *
 *     orders     a pool with 4 connections for 9 threads: most of them wait
 *     reports    a pool with 8 for 2 threads, and a holder that forgot its connection
 *     invoices   a crew of 2 workers that gets work at intervals
 *     replicas   a router over 3 members, the second of which is down at times
 *     service    a supervisor of the links east and west; west is cut at times
 *
 * It runs until SIGINT or SIGTERM, or for N seconds, and then shuts everything down in order. Its exit status is 0 if
 * everything was visible.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cenote/cenote.h>
#include <cenote/inspect.h>
#include <cenote/router.h>
#include <cenote/supervisor.h>

#define MS INT64_C(1000000)
enum { BUSY = 9, CALM = 2, MEMBERS = 3 };

static atomic_bool ending;

static void sleep_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = CEN_MS(ms % 1000)}, NULL);
}

static void die(const char *text)
{
    fprintf(stderr, "inspected: %s\n", text);
    exit(1);
}

/* ---- Pools -------------------------------------------------------------------------------- */

static cen_status open_connection(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    sleep_ms(5); /* about what a nearby server takes */
    *out = malloc(16);
    return *out ? CEN_OK : CEN_NO_MEMORY;
}

static void close_connection(void *argument, void *object)
{
    (void)argument;
    free(object);
}

static const cen_driver_calls calls = {.size = sizeof calls, .open = open_connection, .close = close_connection};
static cen_pool *orders, *reports;
static cen_lease forgotten;

static cen_pool *make_pool(const char *name, uint32_t max)
{
    cen_error error;
    cen_pool *pool;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = name, .driver = {&calls, NULL}, .max = max,
                                                .leak_after_ns = CEN_SECONDS(1), .backtraces = true);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) die(error.text);
    return pool;
}

static void *place_orders(void *argument)
{
    unsigned turn = (unsigned)(uintptr_t)argument;
    while (!ending) {
        cen_lease lease;
        /* At times a take has a deadline of only 1 ms, and times out. */
        cen_deadline patience = ++turn % 200 == 0 ? cen_in_ms(1) : cen_in_s(1);
        if (cen_pool_take(orders, patience, &lease, NULL) != CEN_OK) continue;
        sleep_ms(1 + (int)(turn % 5));
        cen_pool_give(&lease);
    }
    return NULL;
}

static void *write_reports(void *argument)
{
    (void)argument;
    while (!ending) {
        cen_lease lease;
        if (cen_pool_take(reports, cen_in_s(1), &lease, NULL) == CEN_OK) {
            sleep_ms(10);
            cen_pool_give(&lease);
        }
        sleep_ms(20);
    }
    return NULL;
}

/* Takes a connection and never gives it back: after 1 s it is reported as a leak, with this line. */
static void forget_one(void)
{
    if (cen_pool_take(reports, cen_in_s(1), &forgotten, NULL) != CEN_OK) die("no connection for a report");
}

static void hear_of_leak(void *argument, const cen_event *event, uint64_t missed)
{
    (void)missed;
    (void)argument, (void)event; /* the page shows it; without a listener it would be printed to stderr */
}

/* ---- A crew, a router, a supervisor ----------------------------------------------------------- */

static void *write_invoice(void *argument)
{
    sleep_ms(2);
    return argument;
}

static cen_crew *make_crew(void)
{
    cen_error error;
    cen_crew *crew;
    cen_crew_options options = CEN_CREW_OPTIONS(.name = "invoices", .workers = 2);
    if (cen_crew_new(&options, &crew, &error) != CEN_OK) die(error.text);
    return crew;
}

static cen_router *make_router(cen_member *members[MEMBERS])
{
    static const char *const names[MEMBERS] = {"a.example:5432", "b.example:5432", "c.example:5432"};
    cen_error error;
    cen_router *router;
    cen_router_options options = CEN_ROUTER_OPTIONS(.name = "replicas", .max_in_flight = 16, .measure = true);
    if (cen_router_new(&options, &router, &error) != CEN_OK) die(error.text);
    for (int i = 0; i < MEMBERS; i++) {
        cen_member_options member =
            CEN_MEMBER_OPTIONS(.name = names[i], .value = &members[i], .weight = (uint32_t)(1 + i));
        if (cen_router_add(router, &member, &members[i], &error) != CEN_OK) die(error.text);
        cen_member_up(members[i], NULL);
    }
    return router;
}

static cen_child west; /* its current start, for the code that cuts it */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static cen_status link_up(void *argument, cen_child child, cen_error *error)
{
    (void)error;
    if (!argument) return CEN_OK;
    pthread_mutex_lock(&mutex);
    west = child;
    pthread_mutex_unlock(&mutex);
    return CEN_OK;
}

static void hang_up(void *argument, cen_child child)
{
    (void)argument, (void)child;
}

static void cut_west(void)
{
    cen_error why = {.status = CEN_LOST, .text = "the line was cut"};
    pthread_mutex_lock(&mutex);
    cen_child child = west;
    pthread_mutex_unlock(&mutex);
    cen_child_report_ended(child, &why);
}

static cen_supervisor *make_supervisors(cen_supervisor **links)
{
    cen_error error;
    cen_supervisor *service;
    cen_child_options lines[] = {
        CEN_CHILD_OPTIONS(.name = "east", .start = link_up, .stop = hang_up, .stops_at_once = true),
        CEN_CHILD_OPTIONS(.name = "west", .start = link_up, .stop = hang_up, .stops_at_once = true, .argument = &west),
    };
    cen_supervisor_options inner =
        CEN_SUPERVISOR_OPTIONS(.name = "links", .children = lines, .child_count = 2, .nested = true,
                               .max_restarts = 1000, .backoff_initial_ns = CEN_MS(10));
    if (cen_supervisor_new(&inner, links, &error) != CEN_OK) die(error.text);
    cen_child_options parts[] = {
        CEN_CHILD_OPTIONS(.name = "store", .start = link_up, .stop = hang_up, .stops_at_once = true),
        cen_supervisor_child(*links),
    };
    cen_supervisor_options outer = CEN_SUPERVISOR_OPTIONS(.name = "service", .children = parts, .child_count = 2);
    if (cen_supervisor_new(&outer, &service, &error) != CEN_OK) die(error.text);
    return service;
}

/* ---- The program --------------------------------------------------------------------------------- */

typedef struct settings {
    cen_inspect_options inspect;
    double seconds; /* 0: until a signal */
} settings;

static settings read_arguments(int count, char **arguments)
{
    settings s = {.inspect = CEN_INSPECT_OPTIONS(.title = "inspected")};
    for (int i = 1; i < count; i++) {
        const char *next = i + 1 < count ? arguments[i + 1] : NULL;
        if (strcmp(arguments[i], "--control") == 0) s.inspect.control = true;
        else if (strcmp(arguments[i], "--token") == 0 && next) s.inspect.token = arguments[++i];
        else if (strcmp(arguments[i], "--seconds") == 0 && next) s.seconds = strtod(arguments[++i], NULL);
        else if (arguments[i][0] != '-' && !s.inspect.at) s.inspect.at = arguments[i];
        else die("usage: inspected [ADDRESS] [--control] [--token TOKEN] [--seconds N]");
    }
    return s;
}

/* The work of the main thread, in steps of 20 ms, until a signal comes or the time is over. */
static void run(const settings *s, const sigset_t *signals, cen_crew *crew, cen_router *router, cen_member *members[])
{
    struct timespec begun, now, step = {.tv_nsec = CEN_MS(20)};
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (int turn = 1;; turn++) {
        cen_route route;
        for (int i = 0; i < turn % 10; i++) cen_crew_submit_function(crew, "invoice", write_invoice, NULL, NULL, NULL);
        for (int i = 0; i < 5; i++)
            if (cen_router_route(router, NULL, CEN_NOW, &route, NULL) == CEN_OK)
                cen_route_done(&route, turn % 50 == 0 ? CEN_OUTCOME_FAILED : CEN_OUTCOME_OK, (1 + turn % 7) * MS);
        if (turn % 200 == 100) cen_member_down(members[1], NULL);
        if (turn % 200 == 150) cen_member_up(members[1], NULL);
        if (turn % 150 == 40) cut_west();
        if (sigtimedwait(signals, NULL, &step) > 0) return;
        clock_gettime(CLOCK_MONOTONIC, &now);
        double seconds = (double)(now.tv_sec - begun.tv_sec) + (double)(now.tv_nsec - begun.tv_nsec) / 1e9;
        if (s->seconds > 0 && seconds >= s->seconds) return;
    }
}

/* Return true if every component has its place in the metrics. */
static bool all_is_seen(void)
{
    static const char *const names[] = {"cenote_pool_held{name=\"orders\"",
                                        "cenote_pool_held{name=\"reports\"",
                                        "{name=\"invoices\"",
                                        "{name=\"replicas\"",
                                        "{name=\"service\"",
                                        "{name=\"links\"",
                                        "# EOF\n"};
    char *metrics = cen_inspect_metrics(NULL);
    bool all = metrics != NULL;
    for (size_t i = 0; metrics && i < sizeof names / sizeof names[0]; i++) {
        bool there = strstr(metrics, names[i]);
        if (!there) printf("missing in the metrics: %s\n", names[i]);
        all &= there;
    }
    free(metrics);
    return all;
}

int main(int count, char **arguments)
{
    settings s = read_arguments(count, arguments);
    cen_error error;
    cen_inspect *inspect;
    cen_supervisor *links;
    cen_member *members[MEMBERS];
    pthread_t threads[BUSY + CALM];
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* in all threads: run() waits for them */
    if (cen_inspect_start(&s.inspect, &inspect, &error) != CEN_OK) die(error.text);
    printf("%s\n", cen_inspect_address(inspect));
    fflush(stdout);

    orders = make_pool("orders", 4);
    reports = make_pool("reports", 8);
    cen_pool_listen(reports, hear_of_leak, NULL, NULL);
    cen_crew *crew = make_crew();
    cen_router *router = make_router(members);
    cen_supervisor *service = make_supervisors(&links);
    forget_one();
    for (int i = 0; i < BUSY + CALM; i++)
        pthread_create(&threads[i], NULL, i < BUSY ? place_orders : write_reports, (void *)(uintptr_t)(i * 17));
    run(&s, &signals, crew, router, members);

    bool seen = all_is_seen();
    ending = true;
    for (int i = 0; i < BUSY + CALM; i++) pthread_join(threads[i], NULL);
    cen_supervisor_stop(service, cen_in_s(5), NULL, NULL);
    cen_supervisor_free(service);
    cen_supervisor_free(links);
    cen_crew_stop(crew, CEN_STOP_DRAIN, cen_in_s(5), NULL, NULL);
    cen_crew_free(crew);
    cen_router_free(router);
    cen_pool_give(&forgotten);
    cen_pool_free(reports);
    cen_pool_free(orders);
    cen_inspect_stop(inspect);
    return seen ? 0 : 1;
}
