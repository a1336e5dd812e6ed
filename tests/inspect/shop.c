/* SPDX-License-Identifier: MIT */
/*
 * A shop that can be looked into, for the tests of the page and its pictures: pools, a crew, lanes, a router, supervisors, a queue
 * and an actor, all of them real and at work.
 *
 *     shop [TITLE [ADDRESS [TOKEN [NAME]]]]     NAME is that of a small pool, markup unless it is said; control needs a TOKEN
 *
 * It prints "see http://127.0.0.1:PORT/", and does what the lines of its standard input say:
 *
 *     clients N   so many customers order now, of at most CLIENTS; 4 can be served at a time
 *     leak        somebody takes an object of "orders" and forgets it
 *     mend        and remembers it
 *     cut         the link "west" of the supervision tree is lost
 *     end         ends; so does the end of the input
 *
 * Each line is answered by "done".
 */
#undef NDEBUG /* in every build */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cenote/cenote.h>
#include <cenote/inspect.h>
#include <cenote/router.h>
#include <cenote/supervisor.h>

enum { CLIENTS = 16, MEMBERS = 3, WORKERS = 3, TASKS = 24 };
#define MS INT64_C(1000000)

static cen_pool *orders, *carts, *small, *reports;
static cen_router *search;
static cen_lanes *lanes;
static cen_crew *crew;
static cen_queue *jobs;
static cen_actor *ledger;
static atomic_bool ending;
static atomic_int clients = 2;

static void sleep_for(int64_t ns)
{
    nanosleep(&(struct timespec){.tv_sec = ns / (1000 * MS), .tv_nsec = ns % (1000 * MS)}, NULL);
}

static void fine(cen_status status, const cen_error *error)
{
    if (status != CEN_OK) fprintf(stderr, "shop: %s\n", error->text), exit(1);
}

/* ---- Pools ---------------------------------------------------------------------------------- */

static cen_status open_connection(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    sleep_for(3 * MS);
    *out = malloc(16);
    return *out ? CEN_OK : CEN_NO_MEMORY;
}

static void close_connection(void *argument, void *object)
{
    (void)argument;
    free(object);
}

static cen_status find_nobody(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)out;
    error->code = 111;
    snprintf(error->text, sizeof error->text, "nobody answers at 127.0.0.1:3306");
    return CEN_DRIVER;
}

static const cen_driver_calls calls = {
    .size = sizeof(cen_driver_calls), .open = open_connection, .close = close_connection, .blocks = true};
static const cen_driver_calls absent = {
    .size = sizeof(cen_driver_calls), .open = find_nobody, .close = close_connection, .blocks = true};

static void make_pools(const char *name)
{
    cen_error error;
    cen_pool_options o = CEN_POOL_OPTIONS(.name = "orders", .driver = {&calls, NULL}, .max = 4,
                                          .leak_after_ns = 1500 * MS, .backtraces = true);
    fine(cen_pool_new(&o, &orders, &error), &error);
    cen_pool_options s =
        CEN_POOL_OPTIONS(.name = "carts", .driver = {&calls, NULL}, .max = 12, .min_idle = 3, .exact_times = true);
    fine(cen_pool_new(&s, &carts, &error), &error);
    cen_pool_options h = CEN_POOL_OPTIONS(.name = name, .driver = {&calls, NULL}, .max = 2);
    fine(cen_pool_new(&h, &small, &error), &error);
    cen_pool_options r =
        CEN_POOL_OPTIONS(.name = "reports", .driver = {&absent, NULL}, .max = 4, .breaker_failures = 3,
                         .backoff_initial_ns = 20 * MS, .backoff_max_ns = 2000 * MS, .breaker_wait_ns = 250 * MS);
    fine(cen_pool_new(&r, &reports, &error), &error);
}

/* Every fourth order takes five times as long. */
static void place_order(unsigned number)
{
    cen_lease lease;
    if (cen_pool_take(orders, cen_in_ms(400), &lease, NULL) != CEN_OK) return;
    sleep_for(number % 4 == 3 ? 25 * MS : 5 * MS);
    cen_pool_give(&lease);
}

static void look_up_cart(cen_pool *pool)
{
    cen_lease lease;
    if (cen_pool_take(pool, cen_in_ms(400), &lease, NULL) != CEN_OK) return;
    sleep_for(2 * MS);
    cen_pool_give(&lease);
}

/* ---- A leak --------------------------------------------------------------------------------- */

static cen_lease forgotten;
static atomic_bool is_forgotten;

/* With a name that a backtrace can find. */
void charge_card(void);
__attribute__((noinline)) void charge_card(void)
{
    cen_error error;
    fine(cen_pool_take(orders, cen_in_s(5), &forgotten, &error), &error);
    is_forgotten = true; /* and out, without a give */
}

static void mend(void)
{
    if (!is_forgotten) return;
    is_forgotten = false;
    cen_pool_detach(&forgotten);
    assert(cen_pool_give(&forgotten) == CEN_OK);
}

/* ---- Customers -------------------------------------------------------------------------------- */

static void search_something(unsigned number)
{
    cen_route route;
    if (cen_router_route(search, NULL, cen_in_ms(100), &route, NULL) != CEN_OK) return;
    sleep_for(MS);
    cen_route_done(&route, number % 20 == 0 ? CEN_OUTCOME_FAILED : CEN_OUTCOME_OK, 0);
}

static void *buy(void *argument)
{
    int number = *(int *)argument;
    for (unsigned i = 0; !ending; i++) {
        if (number >= clients) {
            sleep_for(20 * MS);
            continue;
        }
        search_something(i);
        look_up_cart(number == 0 ? small : carts);
        place_order(i);
        cen_queue_try_push(jobs, &number);
    }
    return NULL;
}

/* Nobody gets a report: its server is away. */
static void *ask_for_reports(void *argument)
{
    cen_lease lease;
    (void)argument;
    while (!ending) {
        if (cen_pool_take(reports, cen_in_ms(100), &lease, NULL) == CEN_OK) cen_pool_give(&lease);
        sleep_for(400 * MS);
    }
    return NULL;
}

static void *work_off_jobs(void *argument)
{
    int job;
    (void)argument;
    while (cen_queue_pop(jobs, &job) == CEN_OK) sleep_for(MS);
    return NULL;
}

/* ---- Tasks ------------------------------------------------------------------------------------ */

static cen_next compute(cen_task *task)
{
    sleep_for(2 * MS);
    return cen_task_done(task, NULL);
}

/* Gives the crew and the lanes something to do, a burst at a time. */
static void *give_tasks(void *argument)
{
    static cen_task tasks[TASKS];
    (void)argument;
    while (!ending) {
        for (int i = 0; i < TASKS; i++) {
            cen_task_init(&tasks[i], compute);
            cen_priority priority = i % 3 ? CEN_PRIORITY_LOW : CEN_PRIORITY_HIGH;
            assert((i % 2 ? cen_crew_submit(crew, &tasks[i], NULL)
                          : cen_lanes_submit(lanes, priority, &tasks[i], cen_in_s(5), NULL)) == CEN_OK);
        }
        for (int i = 0; i < TASKS; i++) cen_future_wait(&tasks[i].future, CEN_NEVER);
        sleep_for(20 * MS);
    }
    return NULL;
}

/* And again a little later, until the ledger is closed. */
static void write_down(void *argument, cen_message *message)
{
    (void)argument;
    cen_actor_tell_after(ledger, message, 20 * MS, NULL);
}

static void make_tasks(void)
{
    cen_error error;
    cen_crew_options c = CEN_CREW_OPTIONS(.name = "background", .workers = WORKERS);
    fine(cen_crew_new(&c, &crew, &error), &error);
    cen_crew_options one = CEN_CREW_OPTIONS(.workers = 1);
    cen_lanes_options l =
        CEN_LANES_OPTIONS(.name = "store", .high.crew = &one, .normal.crew = &one, .low.crew = &one, .max_total = 100);
    fine(cen_lanes_new(&l, &lanes, &error), &error);
    cen_queue_options q = CEN_QUEUE_OPTIONS(.name = "jobs", .element_size = sizeof(int), .capacity = 64);
    fine(cen_queue_new(&q, &jobs, &error), &error);
    cen_actor_options a = CEN_ACTOR_OPTIONS(.name = "ledger", .handle = write_down);
    fine(cen_actor_new(&a, &ledger, &error), &error);
    static cen_message sold;
    cen_message_init(&sold, "sold");
    assert(cen_actor_tell(ledger, &sold, NULL) == CEN_OK);
}

/* ---- Members and children ------------------------------------------------------------------------ */

static void make_router(void)
{
    static const char *const names[MEMBERS] = {"search-a:9200", "search-b:9200", "search-c:9200"};
    cen_router_options o = CEN_ROUTER_OPTIONS(.name = "search", .measure = true);
    cen_error error, cause = {.status = CEN_LOST, .text = "the line was cut"};
    fine(cen_router_new(&o, &search, &error), &error);
    for (int i = 0; i < MEMBERS; i++) {
        cen_member *member;
        cen_member_options m = CEN_MEMBER_OPTIONS(.name = names[i], .weight = (uint32_t)i + 1);
        fine(cen_router_add(search, &m, &member, &error), &error);
        cen_member_up(member, NULL);
        if (i == MEMBERS - 1) cen_member_down(member, &cause);
    }
}

static cen_supervisor *links, *service;
static pthread_mutex_t west_mutex = PTHREAD_MUTEX_INITIALIZER;
static cen_child west; /* under the mutex: the present start */

static cen_status start_part(void *argument, cen_child child, cen_error *error)
{
    (void)error;
    if (argument != &west) return CEN_OK;
    pthread_mutex_lock(&west_mutex);
    west = child;
    pthread_mutex_unlock(&west_mutex);
    return CEN_OK;
}

static void stop_part(void *argument, cen_child child)
{
    (void)argument, (void)child;
}

static void cut(void)
{
    cen_error why = {.status = CEN_LOST, .text = "the line was cut"};
    pthread_mutex_lock(&west_mutex);
    cen_child child = west;
    pthread_mutex_unlock(&west_mutex);
    cen_child_report_ended(child, &why);
}

static void make_supervisors(void)
{
    cen_error error;
    cen_child_options lines[] = {
        CEN_CHILD_OPTIONS(.name = "east", .start = start_part, .stop = stop_part, .stops_at_once = true),
        CEN_CHILD_OPTIONS(.name = "west", .argument = &west, .start = start_part, .stop = stop_part,
                          .stops_at_once = true),
    };
    cen_supervisor_options inner = CEN_SUPERVISOR_OPTIONS(.name = "links", .children = lines, .child_count = 2,
                                                          .nested = true, .max_restarts = 100);
    fine(cen_supervisor_new(&inner, &links, &error), &error);
    cen_child_options parts[] = {
        CEN_CHILD_OPTIONS(.name = "store", .start = start_part, .stop = stop_part, .stops_at_once = true),
        cen_supervisor_child(links),
    };
    cen_supervisor_options outer =
        CEN_SUPERVISOR_OPTIONS(.name = "service", .supervision = CEN_REST_FOR_ONE, .children = parts, .child_count = 2);
    fine(cen_supervisor_new(&outer, &service, &error), &error);
}

/* ---- Main -------------------------------------------------------------------------------------------- */

static void obey(void)
{
    char line[100];
    int number;
    while (fgets(line, sizeof line, stdin) && strcmp(line, "end\n") != 0) {
        if (sscanf(line, "clients %d", &number) == 1) clients = number < CLIENTS ? number : CLIENTS;
        else if (strcmp(line, "leak\n") == 0) charge_card();
        else if (strcmp(line, "mend\n") == 0) mend();
        else if (strcmp(line, "cut\n") == 0) cut();
        else fprintf(stderr, "shop: what is %s", line), exit(2);
        puts("done");
        fflush(stdout);
    }
}

static void end_all(void)
{
    cen_pool *pools[] = {orders, carts, small, reports};
    cen_supervisor_stop(service, cen_in_s(5), NULL, NULL);
    cen_supervisor_free(service);
    cen_supervisor_free(links);
    for (size_t i = 0; i < sizeof pools / sizeof pools[0]; i++) {
        cen_pool_close(pools[i], cen_in_s(5), NULL, NULL);
        cen_pool_free(pools[i]);
    }
    cen_router_free(search);
    cen_lanes_stop(lanes, CEN_STOP_DRAIN, cen_in_s(5), NULL, NULL);
    cen_lanes_free(lanes);
    cen_crew_stop(crew, CEN_STOP_DRAIN, cen_in_s(5), NULL, NULL);
    cen_crew_free(crew);
    cen_actor_stop(ledger, CEN_STOP_DROP, NULL, NULL);
    while (cen_actor_free(ledger) == CEN_BUSY) sleep_for(MS);
    cen_queue_free(jobs);
}

int main(int count, char **arguments)
{
    make_pools(count > 4 ? arguments[4] : "<img src=x onerror=alert(1)>");
    make_tasks();
    make_router();
    make_supervisors();
    pthread_t threads[CLIENTS + 3];
    int numbers[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        numbers[i] = i;
        assert(pthread_create(&threads[i], NULL, buy, &numbers[i]) == 0);
    }
    assert(pthread_create(&threads[CLIENTS], NULL, ask_for_reports, NULL) == 0);
    assert(pthread_create(&threads[CLIENTS + 1], NULL, give_tasks, NULL) == 0);
    assert(pthread_create(&threads[CLIENTS + 2], NULL, work_off_jobs, NULL) == 0);

    cen_inspect *inspect;
    cen_error error;
    const char *token = count > 3 && arguments[3][0] ? arguments[3] : NULL;
    cen_inspect_options o =
        CEN_INSPECT_OPTIONS(.at = count > 2 ? arguments[2] : "127.0.0.1:0", .control = token != NULL, .clients = 64,
                            .title = count > 1 ? arguments[1] : "shop", .token = token);
    fine(cen_inspect_start(&o, &inspect, &error), &error);
    printf("see %s\n", cen_inspect_address(inspect));
    fflush(stdout);
    obey();

    ending = true;
    mend();
    cen_pool_resume(orders, NULL); /* the page may have paused it */
    cen_queue_close(jobs);
    for (int i = 0; i < CLIENTS + 3; i++) pthread_join(threads[i], NULL);
    cen_inspect_stop(inspect);
    end_all();
    return 0;
}
