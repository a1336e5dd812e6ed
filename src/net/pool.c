/* SPDX-License-Identifier: MIT */
/*
 * A routing pool: options, supervision tree, creation and end. pool.h lists the other files.
 *
 *     new:   router ▶ tree: registry, connections, each begins to connect ▶ wait for one that is up, if one is needed
 *     close: the router refuses, and waits for requests in flight ▶ the tree is stopped: connections, registry
 *     free:  close ▶ supervisors ▶ router, with its last members ▶ the jobs that free connections ▶ memory
 *
 * Order table
 * tag  site  | operation          | order   | pairs with | carries | breaks if weakened
 * [P1] close | cas of is_closed   | acq_rel | [P1]       | nothing | two threads close it, and one frees what the other stops
 *
 * Tested by tests/unit/net/pool_test.c, pool_fault_test.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "net/pool.h"
#include "port/deadline.h"
#include "port/port.h"
#include "record/events.h"

enum { DEFAULT_CONNECTIONS = 8, DEFAULT_REROUTES = 2, NUMBERED = 24 };
static const int64_t default_drain_ns = INT64_C(5000000000), default_close_ns = INT64_C(5000000000);
static const int64_t default_request_ns = INT64_C(30000000000);

/* ---- Changes and events ------------------------------------------------------------------------------ */

void ceni_mux_pool_turn_locked(cen_mux_pool *pool)
{
    ceni_add_relaxed(&pool->turns, 1); /* for the futex; the data is under the lock; carries nothing */
    ceni_futex_wake(&pool->turns, UINT32_MAX);
}

void ceni_mux_pool_await_locked(cen_mux_pool *pool)
{
    uint32_t turns = ceni_load_relaxed(&pool->turns); /* changed under the lock, which is held; carries nothing */
    ceni_mux_pool_unlock(pool);
    ceni_futex_wait(&pool->turns, turns, ceni_runtime_tend(pool->runtime));
    ceni_mux_pool_lock(pool);
}

void ceni_mux_pool_tell(cen_mux_pool *pool, cen_event_kind kind, const ceni_mux_connection *connection,
                        const cen_error *error)
{
    const char *is = kind == CEN_EVENT_CONNECTION_UP       ? "is up"
                     : kind == CEN_EVENT_CONNECTION_DOWN   ? "is down"
                     : kind == CEN_EVENT_CONNECTION_FAILED ? "failed to open"
                                                           : "gave up";
    char text[CEN_ERROR_TEXT_SIZE];
    ceni_occurrence what = {.kind = kind, .of = &pool->entry};
    what.level = kind == CEN_EVENT_GAVE_UP ? CEN_LEVEL_ERROR : error ? CEN_LEVEL_WARNING : CEN_LEVEL_DETAIL;
    if (connection) {
        what.part = connection->name;
        what.where = connection->address;
    }
    if (error) {
        what.status = error->status;
        what.code = error->code;
        what.cause = error->cause;
    }
    if (connection)
        snprintf(text, sizeof text, "routing pool \"%s\": connection \"%.60s\" to %.100s %s%s%.200s", pool->name,
                 connection->name, connection->address, is, error ? ": " : "", error ? error->text : "");
    else
        snprintf(text, sizeof text, "routing pool \"%s\": %s%s%.200s", pool->name, is, error ? ": " : "",
                 error ? error->text : "");
    cen_event event;
    ceni_event_fill(&event, &what, text);
    what.time_ns = event.time_ns;
    event.number = ceni_event_write(&what, text);
    if (!pool->listener) return;
    ceni_rank_expect_none("the listener of a routing pool");
    int held = ceni_cancel_hold();
    pool->listener(pool->argument, &event, 0);
    ceni_cancel_release(held);
}

/* ---- Options ------------------------------------------------------------------------------------------- */

static cen_status refuse(cen_error *error, const char *what)
{
    return ceni_error_set(error, CEN_INVALID, 0, "cen_mux_pool_new: %s", what);
}

static cen_status check_addresses(const cen_mux_pool_options *o, cen_error *error)
{
    if (o->address && o->addresses) return refuse(error, "options.address and options.addresses must not both be set");
    if (!o->address && (!o->addresses || o->address_count == 0))
        return refuse(error, "options.address or options.addresses must be set");
    for (size_t i = 0; o->addresses && i < o->address_count; i++)
        if (!o->addresses[i])
            return ceni_error_set(error, CEN_INVALID, 0, "cen_mux_pool_new: options.addresses[%zu] is NULL", i);
    return CEN_OK;
}

/* Afterwards o->mux points to *mux: the caller's options, or defaults. */
static cen_status read_options(const cen_mux_pool_options *given, cen_mux_pool_options *o, cen_mux_options *mux,
                               cen_error *error)
{
    cen_status status = cen_sized_read(o, sizeof *o, given, "cen_mux_pool_new: options", error);
    if (status != CEN_OK) return status;
    *mux = CEN_SIZED(cen_mux_options);
    if (o->mux) status = cen_sized_read(mux, sizeof *mux, o->mux, "cen_mux_pool_new: options.mux", error);
    o->mux = mux;
    return status;
}

static cen_status check_options(const cen_mux_pool_options *o, cen_error *error)
{
    if (o->connections > CENI_MUX_POOL_MOST)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "cen_mux_pool_new: options.connections must be at most %d (got %u)", CENI_MUX_POOL_MOST,
                              o->connections);
    if ((unsigned)o->at_start > CEN_AT_START_EMPTY)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "cen_mux_pool_new: options.at_start is not a cen_at_start (got %d)", (int)o->at_start);
    if (o->reroutes == CEN_OFF)
        return refuse(error, "options.reroutes must not be CEN_OFF (unlimited); use CEN_NONE for none");
    if (o->reroutes < CEN_NONE)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "cen_mux_pool_new: options.reroutes must not be below CEN_NONE (got %lld)",
                              (long long)o->reroutes);
    const int64_t times[] = {o->backoff_reset_ns, o->window_ns, o->drain_ns};
    static const char *const names[] = {"backoff_reset_ns", "window_ns", "drain_ns"};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (cen_time_is_tiny(times[i]))
            return ceni_error_set(error, CEN_INVALID, 0, "cen_mux_pool_new: options.%s " CEN_TIME_IS_TINY, names[i],
                                  (long long)times[i]);
    if (o->drain_ns < CEN_NONE)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "cen_mux_pool_new: options.drain_ns must not be below CEN_NONE (got %lld)",
                              (long long)o->drain_ns);
    if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
        return refuse(error, "options.allocator lacks alloc or free");
    for (uint32_t i = 0, count = o->connections ? o->connections : DEFAULT_CONNECTIONS; o->names && i < count; i++)
        if (!o->names[i])
            return ceni_error_set(error, CEN_INVALID, 0, "cen_mux_pool_new: options.names[%u] is NULL", i);
    return check_addresses(o, error);
}

static const char *address_at(const cen_mux_pool_options *o, uint32_t i)
{
    return o->address ? o->address : o->addresses[i % o->address_count];
}

/* Copy the names and addresses of all connections into one allocation. */
static cen_status make_lines(cen_mux_pool *pool, const cen_mux_pool_options *o)
{
    size_t size = 0;
    for (uint32_t i = 0; i < pool->count; i++)
        size += strlen(address_at(o, i)) + 1 + (o->names ? strlen(o->names[i]) + 1 : NUMBERED);
    pool->connection_at =
        ceni_alloc(pool->allocator, pool->count * sizeof *pool->connection_at, _Alignof(ceni_mux_connection));
    pool->texts = ceni_alloc(pool->allocator, size, 1);
    pool->texts_size = size;
    if (!pool->connection_at || !pool->texts) return CEN_NO_MEMORY;
    char *at = pool->texts;
    for (uint32_t i = 0; i < pool->count; i++) {
        ceni_mux_connection *connection = &pool->connection_at[i];
        size_t room = o->names ? strlen(o->names[i]) + 1 : NUMBERED, length = strlen(address_at(o, i)) + 1;
        connection->pool = pool;
        connection->name = at;
        if (o->names) memcpy(at, o->names[i], room);
        else snprintf(at, room, "connection %u", i + 1);
        at += room;
        connection->address = memcpy(at, address_at(o, i), length);
        at += length;
    }
    return CEN_OK;
}

static void fill(cen_mux_pool *pool, const cen_mux_pool_options *o)
{
    pool->epoch = ceni_fork_epoch();
    pool->given_runtime = o->runtime;
    pool->executor = cen_runtime_executor(o->runtime);
    pool->mux = *o->mux;
    pool->mux.loop = o->loop;
    pool->mux.runtime = o->runtime;
    pool->mux.allocator = o->allocator;
    pool->deadline = ceni_deadline_or(o->wait_deadline, CEN_NOW);
    pool->request_deadline = ceni_deadline_or(o->mux->default_deadline, cen_in_ns(default_request_ns));
    pool->reroutes = o->reroutes == 0 ? DEFAULT_REROUTES : o->reroutes == CEN_NONE ? 0 : o->reroutes;
    pool->drain_ns = o->drain_ns == 0          ? default_drain_ns
                     : o->drain_ns == CEN_NONE ? 0
                     : o->drain_ns == CEN_OFF  ? INT64_MAX
                                               : o->drain_ns;
    pool->keep_lost = o->keep_lost;
    pool->is_manual = ceni_runtime_is_manual(pool->runtime);
    pool->listener = o->listener;
    pool->argument = o->argument;
    snprintf(pool->name, sizeof pool->name, "%s", o->name ? o->name : "mux pool");
    pool->entry = (ceni_directory_entry){.kind = "mux_pool",
                                         .name = pool->name,
                                         .snapshot = ceni_mux_pool_snapshot,
                                         .object = pool,
                                         .calls = &ceni_mux_pool_calls};
    ceni_list_init(&pool->all);
}

/* ---- The tree --------------------------------------------------------------------------------------------- */

/* The supervisor of the connections has given up, so the whole pool has failed. */
static void hear_connections(void *argument, const cen_supervisor_event *event)
{
    cen_mux_pool *pool = argument;
    if (event->kind != CEN_EVENT_GAVE_UP) return;
    ceni_mux_pool_lock(pool);
    pool->gave_up = true;
    if (event->error) pool->why = *event->error;
    cen_supervisor *root = pool->root;
    ceni_mux_pool_turn_locked(pool);
    ceni_mux_pool_unlock(pool);
    if (root) cen_supervisor_request_stop(root);
}

static void hear_root(void *argument, const cen_supervisor_event *event)
{
    cen_mux_pool *pool = argument;
    if (event->kind != CEN_EVENT_OVER) return;
    ceni_mux_pool_lock(pool);
    bool gave_up = pool->gave_up;
    cen_error why = pool->why;
    ceni_mux_pool_unlock(pool);
    if (!gave_up) return;
    cen_router_close(pool->router, CEN_NOW, NULL, NULL);
    ceni_mux_pool_tell(pool, CEN_EVENT_GAVE_UP, NULL, &why);
}

static cen_status make_connections(cen_mux_pool *pool, const cen_mux_pool_options *o, cen_error *error)
{
    size_t bytes = pool->count * sizeof(cen_child_options);
    cen_child_options *children = ceni_alloc(pool->allocator, bytes, _Alignof(cen_child_options));
    if (!children) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_mux_pool_new: out of memory");
    for (uint32_t i = 0; i < pool->count; i++)
        children[i] = CEN_CHILD_OPTIONS(.name = pool->connection_at[i].name, .argument = &pool->connection_at[i],
                                        .start = ceni_mux_connection_start, .stop = ceni_mux_connection_stop,
                                        .shutdown_ns = CEN_OFF);
    cen_supervisor_options options =
        CEN_SUPERVISOR_OPTIONS(.name = "connections", .supervision = CEN_ONE_FOR_ONE, .children = children,
                               .child_count = pool->count, .max_restarts = o->max_restarts ? o->max_restarts : CEN_OFF,
                               .window_ns = o->window_ns, .backoff_initial_ns = o->backoff_initial_ns,
                               .backoff_max_ns = o->backoff_max_ns, .backoff_reset_ns = o->backoff_reset_ns,
                               .stop_together = true, .nested = true, .listener = hear_connections, .argument = pool,
                               .runtime = o->runtime, .allocator = o->allocator);
    cen_status status = cen_supervisor_new(&options, &pool->connections, error);
    ceni_free(pool->allocator, children, bytes, _Alignof(cen_child_options));
    return status;
}

static cen_status make_root(cen_mux_pool *pool, const cen_mux_pool_options *o, cen_error *error)
{
    cen_child_options children[] = {
        CEN_CHILD_OPTIONS(.name = "registry", .argument = pool, .start = ceni_registry_child_start,
                          .stop = ceni_registry_child_stop, .stops_at_once = true, .shutdown_ns = CEN_OFF),
        cen_supervisor_child(pool->connections),
    };
    cen_supervisor_options options =
        CEN_SUPERVISOR_OPTIONS(.name = pool->name, .supervision = CEN_REST_FOR_ONE, .children = children,
                               .child_count = 2, .max_restarts = CEN_OFF, .backoff_initial_ns = o->backoff_initial_ns,
                               .backoff_max_ns = o->backoff_max_ns, .backoff_reset_ns = o->backoff_reset_ns,
                               .listener = hear_root, .argument = pool, .runtime = o->runtime,
                               .allocator = o->allocator);
    cen_supervisor *root;
    cen_status status = cen_supervisor_new(&options, &root, error);
    if (status != CEN_OK) return status;
    ceni_mux_pool_lock(pool);
    pool->root = root;
    bool gave_up = pool->gave_up; /* may have happened before the listener was set */
    ceni_mux_pool_unlock(pool);
    if (gave_up) cen_supervisor_request_stop(root);
    return CEN_OK;
}

static cen_status make_router(cen_mux_pool *pool, const cen_mux_pool_options *o, cen_error *error)
{
    cen_router_options options =
        CEN_ROUTER_OPTIONS(.name = pool->name, .strategy = o->strategy, .target_in_flight = o->target_in_flight,
                           .max_in_flight = o->max_in_flight, .max_waiters = o->max_waiters,
                           .default_deadline = o->wait_deadline, .runtime = o->runtime, .allocator = o->allocator);
    return cen_router_new(&options, &pool->router, error);
}

/* ---- New ---------------------------------------------------------------------------------------------------- */

/* Free whatever was created. The tree is empty. */
static void release(cen_mux_pool *pool)
{
    ceni_directory_leave(ceni_directory_process(), &pool->entry);
    cen_supervisor_free(pool->root);
    cen_supervisor_free(pool->connections);
    cen_router_free(pool->router);
    ceni_mux_pool_lock(pool);
    while (pool->links > 0) ceni_mux_pool_await_locked(pool); /* P4 */
    ceni_mux_pool_unlock(pool);
    cen_runtime *runtime = pool->runtime;
    cen_loop *loop = pool->loop;
    const cen_allocator *allocator = pool->allocator;
    ceni_free(allocator, pool->texts, pool->texts_size, 1);
    ceni_free(allocator, pool->connection_at, pool->count * sizeof *pool->connection_at, _Alignof(ceni_mux_connection));
    ceni_free(allocator, pool, sizeof *pool, _Alignof(cen_mux_pool));
    if (loop) ceni_loop_leave(loop);
    if (runtime) ceni_runtime_leave(runtime);
}

/* Create everything except the connections. */
static cen_status prepare(cen_mux_pool *pool, const cen_mux_pool_options *o, cen_error *error)
{
    pool->allocator = o->allocator;
    pool->count = o->connections ? o->connections : DEFAULT_CONNECTIONS;
    cen_status status = ceni_runtime_join(o->runtime, &pool->runtime);
    if (status != CEN_OK) {
        pool->runtime = NULL;
        return ceni_error_set(error, status, 0, "cen_mux_pool_new: cannot use the runtime: %s",
                              cen_status_text(status));
    }
    if ((status = ceni_loop_join(o->loop, &pool->loop, error)) != CEN_OK) {
        pool->loop = NULL;
        return status;
    }
    if (ceni_loop_is_inside(pool->loop))
        return ceni_error_set(error, CEN_MISUSE, 0, "cen_mux_pool_new: must not wait on its loop's thread");
    fill(pool, o);
    status = make_lines(pool, o);
    if (status != CEN_OK) return ceni_error_set(error, status, 0, "cen_mux_pool_new: out of memory");
    if ((status = make_router(pool, o, error)) != CEN_OK) return status;
    return make_connections(pool, o, error);
}

/* Wait until one connection is up or each has failed once. */
static cen_status await_one(cen_mux_pool *pool, cen_error *error)
{
    ceni_mux_pool_lock(pool);
    while (!pool->was_up && pool->tried < pool->count && !pool->gave_up) ceni_mux_pool_await_locked(pool);
    bool any = pool->was_up;
    cen_error why = pool->last;
    ceni_mux_pool_unlock(pool);
    if (any) return CEN_OK;
    if (error) *error = why;
    return why.status != CEN_OK ? why.status : CEN_LOST;
}

static void stop_tree(cen_mux_pool *pool)
{
    ceni_mux_pool_lock(pool);
    pool->hurry = true;
    ceni_mux_pool_unlock(pool);
    cen_supervisor_stop(pool->root, CEN_NEVER, NULL, NULL);
}

cen_status cen_mux_pool_new(const cen_mux_pool_options *options, cen_mux_pool **out, cen_error *error)
{
    cen_mux_pool_options known;
    cen_mux_options mux;
    const cen_mux_pool_options *o = &known;
    if (!out) return refuse(error, "out is NULL");
    cen_status status = read_options(options, &known, &mux, error);
    if (status == CEN_OK) status = check_options(o, error);
    if (status != CEN_OK) return status;
    if (cen_read_is_open())
        return ceni_error_set(error, CEN_MISUSE, 0, "cen_mux_pool_new: a thread in a read section must not wait");
    cen_mux_pool *pool = ceni_alloc(o->allocator, sizeof *pool, _Alignof(cen_mux_pool));
    if (!pool) return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_mux_pool_new: out of memory");
    status = prepare(pool, o, error);
    if (status == CEN_OK) {
        /* Before any connection starts: events about connections carry the pool's number. */
        ceni_directory_join(ceni_directory_process(), &pool->entry);
        status = make_root(pool, o, error);
    }
    if (status == CEN_OK && o->at_start == CEN_AT_START_NEED_ONE) {
        status = await_one(pool, error);
        if (status != CEN_OK) stop_tree(pool);
    }
    if (status != CEN_OK) {
        release(pool);
        return status;
    }
    *out = pool;
    return CEN_OK;
}

/* ---- Close and free --------------------------------------------------------------------------------------------- */

static bool close_first(cen_mux_pool *pool)
{
    uint32_t open = 0;
    return ceni_cas_acq_rel(&pool->is_closed, &open, 1u); /* [P1] */
}

static cen_status refuse_close(const cen_mux_pool *pool, cen_status status, const char *why, cen_error *error)
{
    return ceni_error_set(error, status, 0, "routing pool \"%s\": %s", pool->name, why);
}

cen_status cen_mux_pool_close(cen_mux_pool *pool, cen_deadline deadline, cen_mux_pool_report *report, cen_error *error)
{
    cen_router_report routes = CEN_SIZED(cen_router_report);
    if (!pool) return ceni_error_set(error, CEN_INVALID, 0, "cen_mux_pool_close: pool is NULL");
    if (!ceni_fork_is(pool->epoch)) return refuse_close(pool, CEN_FORKED, "it belongs to the parent process", error);
    if (report && cen_sized_check(report, sizeof *report, "cen_mux_pool_close: report", error) != CEN_OK)
        return CEN_INVALID;
    if (ceni_loop_is_inside(pool->loop) || cen_read_is_open())
        return refuse_close(pool, CEN_MISUSE, "a close must not wait on its loop's thread or in a read section", error);
    if (!close_first(pool)) return refuse_close(pool, CEN_CLOSED, "it has already been closed", error);
    cen_status status =
        cen_router_close(pool->router, ceni_deadline_or(deadline, cen_in_ns(default_close_ns)), &routes, error);
    stop_tree(pool);
    cen_mux_pool_report whole = {.size = sizeof whole, .left = routes.left, .waited = routes.waited};
    if (report) cen_sized_write(report, &whole, sizeof whole);
    return status;
}

cen_status cen_mux_pool_free(cen_mux_pool *pool)
{
    if (!pool) return CEN_OK;
    if (!ceni_fork_is(pool->epoch)) return CEN_FORKED;
    cen_status status = cen_mux_pool_close(pool, CEN_NOW, NULL, NULL);
    if (status == CEN_MISUSE) return status;
    release(pool);
    return CEN_OK;
}
