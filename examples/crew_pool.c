/* SPDX-License-Identifier: MIT */
/*
 * A thousand tasks, four connections, two workers: no task occupies a worker while it waits for a connection or for the
 * server's reply.
 *
 *     a query: take from the pool ▶ wait ▶ send ▶ wait for the reply ▶ give the connection back
 *
 * The server is a timer: it replies after 1 ms. Workers that block would have two queries in flight at a time. Here
 * there are four, as many as connections.
 *
 * Then three tasks that are not wanted any longer: one cancelled before it has begun, one cancelled in the pool's wait
 * queue, and one whose deadline passes there.
 */
#undef NDEBUG /* asserts in every build */
#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cenote/cenote.h>

enum { WORKERS = 2, CONNECTIONS = 4, QUERIES = 1000 };

/* ---- The driver ----------------------------------------------------------------------------- */

typedef struct connection {
    cen_timer server; /* the reply to the query in flight */
    bool is_busy;
    int queries;
} connection;

static cen_status open_connection(void *argument, void **out, cen_error *error)
{
    (void)argument, (void)error;
    *out = calloc(1, sizeof(connection));
    return *out ? CEN_OK : CEN_NO_MEMORY;
}

static void close_connection(void *argument, void *object)
{
    connection *c = object;
    (void)argument;
    printf("  a connection is closed after %d queries\n", c->queries);
    free(c);
}

static const cen_driver_calls calls = {.size = sizeof calls, .open = open_connection, .close = close_connection};

/* ---- A query, in three steps ----------------------------------------------------------------- */

static cen_pool *pool;
static atomic_int on_their_way, most_on_their_way;

typedef struct query {
    cen_task task; /* first */
    cen_take_op take;
    bool got_connection;
} query;

static cen_next has_answer(cen_task *task)
{
    query *self = (query *)task;
    connection *c = self->take.lease.object;
    c->is_busy = false;
    c->queries++;
    on_their_way--;
    cen_pool_give(&self->take.lease); /* never waits: the connection goes to the next waiter */
    return cen_task_done(task, NULL);
}

static cen_next has_connection(cen_task *task)
{
    query *self = (query *)task;
    cen_error error = {.status = cen_task_check_stop(task)};
    /* If the task was cancelled, the cancel may have come too late to withdraw the take. Only the future tells whether
     * there is a connection. */
    if (!cen_future_is_done(&self->take.future)) return cen_task_fail(task, &error);
    self->got_connection = self->take.future.status == CEN_OK;
    if (error.status == CEN_OK) error.status = self->take.future.status;
    if (error.status != CEN_OK) {
        if (self->got_connection) cen_pool_give(&self->take.lease);
        return cen_task_fail(task, &error);
    }
    connection *c = self->take.lease.object;
    assert(!c->is_busy);
    c->is_busy = true;
    int now = ++on_their_way, most = most_on_their_way;
    while (now > most && !atomic_compare_exchange_weak(&most_on_their_way, &most, now)) {
    }
    cen_timer_init(&c->server);
    assert(cen_timer_start(&c->server, NULL, cen_in_ms(1), NULL) == CEN_OK);
    return cen_task_wait(task, &c->server.future, has_answer);
}

static cen_next begin(cen_task *task)
{
    query *self = (query *)task;
    cen_take_op_init(&self->take, NULL, NULL);
    assert(cen_pool_take_async(pool, cen_in_s(20), &self->take) == CEN_OK);
    return cen_task_wait(task, &self->take.future, has_connection);
}

static void make_ready(query *self, const char *name)
{
    self->got_connection = false;
    cen_task_init(&self->task, begin);
    self->task.name = name;
}

static cen_status result(query *self)
{
    assert(cen_future_wait(&self->task.future, cen_in_s(20)) == CEN_OK);
    return self->task.future.status;
}

/* ---- A thousand queries ------------------------------------------------------------------------ */

static void await_waiting(cen_crew *crew, uint64_t count)
{
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    do cen_crew_stats_get(crew, &stats);
    while (stats.waiting < count);
}

static void take_all(cen_lease all[CONNECTIONS])
{
    for (int i = 0; i < CONNECTIONS; i++) assert(cen_pool_take(pool, cen_in_s(20), &all[i], NULL) == CEN_OK);
}

static void give_all(cen_lease all[CONNECTIONS])
{
    for (int i = 0; i < CONNECTIONS; i++) cen_pool_give(&all[i]);
}

/* First main takes all connections, so that all tasks have to wait. Two workers are enough for that. */
static void run_queries(cen_crew *crew)
{
    static query queries[QUERIES];
    static cen_task *tasks[QUERIES];
    cen_lease all[CONNECTIONS];
    for (int i = 0; i < QUERIES; i++) {
        make_ready(&queries[i], "query");
        tasks[i] = &queries[i].task;
    }
    take_all(all);
    assert(cen_crew_submit_all(crew, tasks, QUERIES, NULL) == CEN_OK);
    await_waiting(crew, QUERIES);
    int64_t start = cen_clock();
    give_all(all);
    for (int i = 0; i < QUERIES; i++) assert(result(&queries[i]) == CEN_OK);
    printf("%d waiting tasks; their queries of 1 ms over %d connections, by %d workers: %.0f ms\n", QUERIES,
           CONNECTIONS, WORKERS, (double)(cen_clock() - start) / 1e6);
    assert(most_on_their_way > WORKERS && most_on_their_way <= CONNECTIONS && on_their_way == 0);
}

/* ---- Cancel and deadline ------------------------------------------------------------------------ */

static atomic_bool may_go_on;

static cen_next keep_worker(cen_task *task)
{
    while (!may_go_on) nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    return cen_task_done(task, NULL);
}

/* While other tasks occupy both workers, a third task is cancelled before it has begun. */
static void cancel_before_it_begins(cen_crew *crew)
{
    cen_task keepers[WORKERS];
    query third;
    for (int i = 0; i < WORKERS; i++) {
        cen_task_init(&keepers[i], keep_worker);
        assert(cen_crew_submit(crew, &keepers[i], NULL) == CEN_OK);
    }
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    do cen_crew_stats_get(crew, &stats);
    while (stats.running < WORKERS);
    make_ready(&third, "third");
    assert(cen_crew_submit(crew, &third.task, NULL) == CEN_OK);
    bool taken_back = cen_task_cancel(&third.task);
    may_go_on = true;
    for (int i = 0; i < WORKERS; i++) assert(cen_future_wait(&keepers[i].future, cen_in_s(20)) == CEN_OK);
    printf("cancelled before it began: %s, status of its future: %s\n", taken_back ? "yes" : "no",
           cen_status_name(result(&third)));
    assert(taken_back && third.task.future.status == CEN_INTERRUPTED);
}

/* Main has all connections, so queries wait in the pool's wait queue. One is cancelled there, another times out. */
static void end_in_the_line(cen_crew *crew)
{
    cen_lease all[CONNECTIONS];
    query cancelled, late;
    take_all(all);
    make_ready(&cancelled, "cancelled");
    assert(cen_crew_submit(crew, &cancelled.task, NULL) == CEN_OK);
    await_waiting(crew, 1);
    int64_t start = cen_clock();
    assert(!cen_task_cancel(&cancelled.task)); /* it has begun: the cancel asks it to end, and ends its wait */
    cen_status status = result(&cancelled);
    printf("cancelled in the wait queue: %s after %.1f ms\n", cen_status_name(status),
           (double)(cen_clock() - start) / 1e6);
    assert(status == CEN_INTERRUPTED && !cancelled.got_connection);

    make_ready(&late, "late");
    late.task.deadline = cen_in_ms(30);
    start = cen_clock();
    assert(cen_crew_submit(crew, &late.task, NULL) == CEN_OK);
    status = result(&late);
    printf("timed out in the wait queue: %s after %.1f ms\n", cen_status_name(status),
           (double)(cen_clock() - start) / 1e6);
    assert(status == CEN_TIMEOUT && !late.got_connection);
    give_all(all);
}

int main(void)
{
    cen_crew *crew;
    cen_error error;
    cen_crew_report report = CEN_SIZED(cen_crew_report);
    cen_crew_options workers = CEN_CREW_OPTIONS(.name = "queries", .workers = WORKERS, .max = WORKERS);
    cen_pool_options connections = CEN_POOL_OPTIONS(.name = "server", .driver = {&calls, NULL}, .max = CONNECTIONS);
    if (cen_pool_new(&connections, &pool, &error) != CEN_OK) return puts(error.text), 1;
    if (cen_crew_new(&workers, &crew, &error) != CEN_OK) return puts(error.text), 1;

    run_queries(crew);
    cancel_before_it_begins(crew);
    end_in_the_line(crew);

    assert(cen_crew_stop(crew, CEN_STOP_DRAIN, cen_in_s(20), &report, NULL) == CEN_OK && report.dropped == 0);
    assert(cen_crew_free(crew) == CEN_OK); /* first the tasks, then what they use */
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    assert(cen_pool_stats_get(pool, &stats) == CEN_OK && stats.held == 0 && stats.waiting == 0);
    assert(cen_pool_close(pool, cen_in_s(20), NULL, &error) == CEN_OK);
    cen_pool_free(pool);
    return 0;
}
