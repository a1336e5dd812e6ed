/* SPDX-License-Identifier: MIT */
/*
 * A leak: found, explained, and reclaimed.
 *
 * A pool of three connections. A thread takes one and, on an untested path, forgets to give it back. First the pool
 * only reports leaks (CEN_LEAK_REPORT): once per lease, with the thread and the line of the take. Then two more leak,
 * all connections are held, and the pool explains why a take fails. Then the policy is changed at run time to
 * CEN_LEAK_RECLAIM: the next lease that leaks loses its place to a new connection.
 *
 * Without a listener a leak is printed to stderr, like the first one here. With a listener it is an event, like the
 * others.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cenote/cenote.h>

enum { CONNECTIONS = 3 };

struct connection {
    int number;
};

static cen_pool *pool;
static int surprises;
static atomic_int opened, abandoned, leaks_told;

static void expect_that(bool holds, const char *what)
{
    printf("  %s %s\n", holds ? "yes:" : "NO: ", what);
    surprises += !holds;
}

static void sleep_ms(int ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = CEN_MS(ms % 1000)};
    nanosleep(&t, NULL);
}

/* ---- The driver ----------------------------------------------------------------------------- */

static cen_status open_connection(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    struct connection *connection = malloc(sizeof *connection);
    if (!connection) return CEN_NO_MEMORY;
    connection->number = ++opened;
    *out = connection;
    return CEN_OK;
}

static void close_connection(void *argument, void *object)
{
    (void)argument;
    free(object);
}

/* The holder may still be using the object, so nothing is freed here. A real driver shuts the socket down. The close
 * follows, when the holder gives the connection back late or when the pool is freed. */
static void abandon_connection(void *argument, void *object)
{
    (void)argument, (void)object;
    abandoned++;
}

static const cen_driver_calls calls = {
    .size = sizeof calls, .open = open_connection, .close = close_connection, .abandon = abandon_connection};

/* ---- The bug ----------------------------------------------------------------------------------- */

static cen_queue *customers, *served;
static cen_lease forgotten[CONNECTIONS + 1]; /* where the leases would be if they were not forgotten */

static bool place_order(int customer)
{
    cen_lease *lease = &forgotten[customer];
    if (cen_pool_take(pool, cen_in_s(1), lease, NULL) != CEN_OK) return false;
    return customer > 100; /* "nothing to do", and a return without a give: this is the bug */
}

/* The thread that takes runs until the end of the program. Objects that a thread still holds when it ends are another
 * matter, which needs no timeout: options.on_holder_end. */
static void *serve_customers(void *argument)
{
    (void)argument;
    for (int customer; cen_queue_pop(customers, &customer) == CEN_OK;) {
        place_order(customer);
        cen_queue_push(served, &customer);
    }
    return NULL;
}

static void serve(int customer)
{
    bool done = cen_queue_push(customers, &customer) == CEN_OK && cen_queue_pop(served, &customer) == CEN_OK;
    if (!done) surprises++;
}

/* ---- Detection ------------------------------------------------------------------------------------ */

static cen_pool_stats look(void)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    cen_pool_stats_get(pool, &s);
    return s;
}

static bool wait_for_leaks(uint64_t count)
{
    for (int i = 0; i < 500 && look().leaked < count; i++) sleep_ms(10);
    return look().leaked >= count;
}

static void listener(void *argument, const cen_event *event, uint64_t missed)
{
    (void)argument;
    (void)missed;
    if (event->kind != CEN_EVENT_LEAK) return;
    printf("  [%s] %s\n", cen_event_kind_name(event->kind), event->text);
    leaks_told++;
}

static void show_holders(void)
{
    cen_object_view holdings[CONNECTIONS];
    size_t held = 0;
    cen_pool_holders(pool, holdings, CONNECTIONS, &held);
    for (size_t i = 0; i < held && i < CONNECTIONS; i++)
        printf("  connection %d: thread %d has held it for at least %.2f s, taken at %s\n",
               ((struct connection *)holdings[i].object)->number, (int)holdings[i].holder,
               (double)holdings[i].held_ns / 1e9, holdings[i].where ? holdings[i].where : "?");
}

static void report_one(void)
{
    puts("A connection is taken and not given back. After 200 ms the pool reports it on stderr:");
    fflush(stdout);
    serve(0);
    expect_that(wait_for_leaks(1), "one leak is counted");
    sleep_ms(300);
    expect_that(look().leaked == 1, "it is counted once, however long it lasts");
}

static void explain_all(void)
{
    cen_error error;
    char text[2000];
    cen_lease lease;
    puts("Two more leak, with a listener:");
    expect_that(cen_pool_listen(pool, listener, NULL, &error) == CEN_OK, "a listener is set");
    serve(1);
    serve(2);
    expect_that(wait_for_leaks(3), "three leaks are counted");
    cen_status status = cen_pool_take(pool, cen_in_ms(50), &lease, &error);
    printf("Now a take times out, with this error:\n  %s\n", error.text);
    expect_that(status == CEN_TIMEOUT, "it timed out");
    cen_pool_explain(pool, text, sizeof text);
    printf("The pool explains itself:\n%s\n", text);
    puts("The list of holders:");
    show_holders();
}

static void reclaim(void)
{
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    cen_error error;
    cen_lease lease;
    cen_pool_options_get(pool, &options);
    options.on_leak = CEN_LEAK_RECLAIM;
    expect_that(cen_pool_options_set(pool, &options, &error) == CEN_OK, "from now on leaked connections are reclaimed");
    expect_that(cen_pool_give(&forgotten[0]) == CEN_OK, "the first connection is given back in time");
    serve(3); /* takes it again, and forgets it again */
    bool another = wait_for_leaks(4) && cen_pool_take(pool, cen_in_s(5), &lease, &error) == CEN_OK;
    expect_that(another, "a take gets a new connection in its place");
    if (!another) return;
    printf("  it is connection %d\n", ((struct connection *)lease.object)->number);
    cen_pool_stats s = look();
    expect_that(s.reclaimed == 1 && abandoned == 1, "one lease was reclaimed, and its connection abandoned");
    expect_that(s.held <= CONNECTIONS, "never more than three are held");
    expect_that(cen_pool_give(&forgotten[3]) == CEN_REVOKED,
                "a late give returns REVOKED, and the connection is closed");
    cen_pool_give(&lease);
}

int main(void)
{
    cen_error error;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "orders", .driver = {&calls, NULL}, .max = CONNECTIONS, .leak_after_ns = CEN_MS(200));
    cen_queue_options queue = CEN_QUEUE_OPTIONS(.element_size = sizeof(int));
    pthread_t server;
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) return puts(error.text), 1;
    if (cen_queue_new(&queue, &customers, &error) != CEN_OK) return puts(error.text), 1;
    if (cen_queue_new(&queue, &served, &error) != CEN_OK) return puts(error.text), 1;
    pthread_create(&server, NULL, serve_customers, NULL);
    report_one();
    explain_all();
    puts("The policy is changed:");
    reclaim();

    cen_close_report report = CEN_SIZED(cen_close_report);
    cen_pool_give(&forgotten[1]);
    cen_status status = cen_pool_close(pool, cen_in_ms(100), &report, NULL);
    printf("At the end close returns %s: %u had to be revoked.\n", cen_status_name(status), report.revoked);
    expect_that(status == CEN_TIMEOUT && report.revoked == 1, "one is still held");
    int leaks = (int)look().leaked;
    cen_pool_free(pool);
    expect_that(cen_pool_give(&forgotten[2]) == CEN_REVOKED, "it is given back after the pool was freed");
    expect_that(leaks_told == leaks - 1, "the listener got an event for each leak since it was set");
    cen_queue_close(customers);
    pthread_join(server, NULL);
    cen_queue_free(customers);
    cen_queue_free(served);
    return surprises ? 1 : 0;
}
