/* SPDX-License-Identifier: MIT */
/*
 * A pool in a GLib main loop, with no thread but the loop's.
 *
 *     200 requests ▶ [ the pool's line ] ▶ 4 connections ▶ an echo process
 *
 * One GSource is the pool's place in the loop, for the inbox and for a manual
 * runtime, which keeps time:
 *
 *     prepare   about to sleep: runs what is due in the runtime, says for how long the loop may
 *               sleep, and arms the inbox; if something is in it already, the source is ready
 *     check     awake: ready if the inbox' descriptor is
 *     dispatch  runs what has arrived
 *
 * So what is told comes in the source's turn, by its priority, like anything else in the loop.
 * Then all connections are held: one ask is cancelled, another is told TIMEOUT.
 */
#include <glib-unix.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

#include <cenote/cenote.h>

#include "echo.h"

enum { CONNECTIONS = 4, REQUESTS = 200, PATIENCE_MS = 20000 };
#define MS INT64_C(1000000)

/* ---- The source, to be copied into any program ---------------------------------------------------- */

typedef struct pool_source {
    GSource source; /* first: GLib makes it as large as it is told */
    cen_inbox *inbox;
    cen_runtime *runtime;
    gpointer inbox_tag;
    unsigned wakeups;
} pool_source;

static gboolean source_prepare(GSource *source, gint *timeout)
{
    pool_source *mine = (pool_source *)source;
    int64_t ns = cen_runtime_poll(mine->runtime);
    *timeout = ns < 0 ? -1 : ns > CEN_MS(PATIENCE_MS) ? PATIENCE_MS : (gint)((ns + MS - 1) / MS);
    return !cen_inbox_arm(mine->inbox);
}

/* The runtime's descriptor only ends the sleep: what is due is run by the next prepare. */
static gboolean source_check(GSource *source)
{
    pool_source *mine = (pool_source *)source;
    bool ready = g_source_query_unix_fd(source, mine->inbox_tag) & G_IO_IN;
    mine->wakeups += ready;
    return ready;
}

static gboolean source_dispatch(GSource *source, GSourceFunc callback, gpointer argument)
{
    (void)callback, (void)argument;
    cen_inbox_poll(((pool_source *)source)->inbox, 0);
    return G_SOURCE_CONTINUE;
}

static pool_source *source_new(cen_inbox *inbox, cen_runtime *runtime)
{
    static GSourceFuncs functions = {.prepare = source_prepare, .check = source_check, .dispatch = source_dispatch};
    pool_source *mine = (pool_source *)g_source_new(&functions, sizeof *mine);
    mine->inbox = inbox;
    mine->runtime = runtime;
    mine->inbox_tag = g_source_add_unix_fd(&mine->source, cen_inbox_fd(inbox), G_IO_IN);
    g_source_add_unix_fd(&mine->source, cen_runtime_fd(runtime), G_IO_IN);
    return mine;
}

/* ---- Requests ---------------------------------------------------------------------------------------- */

typedef struct request {
    cen_take_op take; /* first: what the pool tells is the request itself */
    uint32_t number;
} request;

typedef struct connection {
    int fd;
    request *user;
} connection;

static struct {
    GMainLoop *loop;
    pool_source *source;
    cen_pool *pool;
    unsigned answered, kept, late;
    uint32_t next_number;
    int64_t due;
} here;

static echo_server echo;
static request requests[REQUESTS], keepers[CONNECTIONS], given_up, last;
static int surprises;

static bool expect_that(bool holds, const char *what)
{
    if (!holds) surprises++;
    if (!holds) printf("  NOT SO: %s\n", what);
    return holds;
}

static gboolean on_answer(gint fd, GIOCondition condition, gpointer argument)
{
    connection *c = argument;
    request *r = c->user;
    (void)condition;
    expect_that(echo_receive(fd, r->number, MSG_DONTWAIT), "the answer is that of the request");
    c->user = NULL;
    cen_pool_give(&r->take.lease); /* to the next in line, who is told by the inbox; never waits */
    if (++here.answered == REQUESTS) g_main_loop_quit(here.loop);
    return G_SOURCE_REMOVE;
}

static void on_ready(cen_take_op *take)
{
    request *r = (request *)take;
    expect_that(r->number == here.next_number++, "who asks first is told first");
    if (!expect_that(take->future.status == CEN_OK, "every request gets a connection")) return;
    connection *c = take->lease.object;
    expect_that(c->user == NULL, "a connection has one user at a time");
    c->user = r;
    expect_that(echo_send(c->fd, r->number), "the request is sent");
    g_unix_fd_add(c->fd, G_IO_IN | G_IO_HUP | G_IO_ERR, on_answer, c);
}

static void on_kept(cen_take_op *take)
{
    here.kept += expect_that(take->future.status == CEN_OK, "a connection is had");
    if (here.kept == CONNECTIONS) g_main_loop_quit(here.loop);
}

static void on_never(cen_take_op *take)
{
    (void)take;
    expect_that(false, "who was cancelled is never told");
}

static void on_late(cen_take_op *take)
{
    here.late += expect_that(take->future.status == CEN_TIMEOUT, "the ask is told TIMEOUT");
    expect_that(cen_clock() >= here.due, "it is not told before its deadline");
    g_main_loop_quit(here.loop);
}

/* ---- The driver ------------------------------------------------------------------------------------------ */

static cen_status open_connection(void *argument, void **out, cen_error *error)
{
    (void)argument;
    connection *c = calloc(1, sizeof *c);
    if (!c) return CEN_NO_MEMORY;
    c->fd = echo_connect(&echo, 0);
    if (c->fd >= 0) {
        *out = c;
        return CEN_OK;
    }
    free(c);
    snprintf(error->text, sizeof error->text, "no connection could be had");
    return CEN_DRIVER;
}

static void close_connection(void *argument, void *object)
{
    (void)argument;
    close(((connection *)object)->fd);
    free(object);
}

static const cen_driver_calls calls = {.size = sizeof calls, .open = open_connection, .close = close_connection};

/* ---- The program --------------------------------------------------------------------------------------------- */

static void ask(request *r, uint32_t number, cen_deadline deadline, void (*done)(cen_take_op *take))
{
    r->number = number;
    cen_take_op_init(&r->take, done, cen_inbox_executor(here.source->inbox));
    expect_that(cen_pool_take_async(here.pool, deadline, &r->take) == CEN_OK, "the pool hears everyone who asks");
}

static gboolean on_patience_lost(gpointer argument)
{
    (void)argument;
    expect_that(false, "it happens within reasonable time");
    g_main_loop_quit(here.loop);
    return G_SOURCE_CONTINUE;
}

static void serve(void)
{
    for (uint32_t i = 0; i < REQUESTS; i++) ask(&requests[i], i, cen_in_s(60), on_ready);
    g_main_loop_run(here.loop);
    printf("%u requests answered in the order they asked, over %d connections; the inbox' descriptor woke the loop %u "
           "times.\n",
           here.answered, CONNECTIONS, here.source->wakeups);
    expect_that(here.answered == REQUESTS && here.source->wakeups <= REQUESTS, "all are answered");
}

static void cancel_and_be_late(void)
{
    for (uint32_t i = 0; i < CONNECTIONS; i++) ask(&keepers[i], i, cen_in_s(60), on_kept);
    g_main_loop_run(here.loop);
    here.due = cen_clock() + CEN_MS(20);
    ask(&given_up, 0, cen_at(here.due), on_never);
    ask(&last, 0, cen_at(here.due), on_late);
    expect_that(cen_future_cancel(&given_up.take.future), "one that waits can be cancelled");
    g_main_loop_run(here.loop);
    puts("With all connections held, one ask was cancelled and another told TIMEOUT.");
    expect_that(here.kept == CONNECTIONS && here.late == 1, "the deadline is told");
    for (int i = 0; i < CONNECTIONS; i++) cen_pool_give(&keepers[i].take.lease);
}

int main(void)
{
    cen_error error;
    cen_inbox *inbox;
    cen_runtime *runtime;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!echo_start(&echo)) return perror("the echo process"), 1;
    cen_runtime_options manual = CEN_RUNTIME_OPTIONS(.name = "loop", .manual = true);
    if (cen_runtime_new(&manual, &runtime, &error) != CEN_OK || cen_inbox_new(NULL, &inbox, &error) != CEN_OK)
        return puts(error.text), 1;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "echo", .driver = {&calls, NULL}, .max = CONNECTIONS, .runtime = runtime);
    if (cen_pool_new(&options, &here.pool, &error) != CEN_OK) return puts(error.text), 1;
    here.loop = g_main_loop_new(NULL, FALSE);
    here.source = source_new(inbox, runtime);
    g_source_attach(&here.source->source, NULL);
    guint patience = g_timeout_add(PATIENCE_MS, on_patience_lost, NULL);

    serve();
    cancel_and_be_late();

    cen_runtime_stats threads = CEN_SIZED(cen_runtime_stats);
    cen_runtime_stats_get(runtime, &threads);
    expect_that(threads.helpers == 0 && !threads.has_keeper, "there is no other thread");
    expect_that(cen_pool_close(here.pool, CEN_NOW, NULL, NULL) == CEN_OK, "nothing is left in the pool");
    cen_pool_free(here.pool);
    g_source_remove(patience);
    g_source_destroy(&here.source->source);
    g_source_unref(&here.source->source);
    g_main_loop_unref(here.loop);
    expect_that(cen_inbox_free(inbox) == CEN_OK && cen_runtime_free(runtime) == CEN_OK, "nothing is left");
    echo_stop(&echo);
    puts(surprises ? "That is not what was promised." : "The pool was one more source of the loop.");
    return surprises ? 1 : 0;
}
