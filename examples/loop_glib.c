/* SPDX-License-Identifier: MIT */
/*
 * A pool in a GLib main loop, with no thread but the loop's.
 *
 *     200 requests ▶ [ wait queue of the pool ] ▶ 4 connections ▶ an echo process
 *
 * The only connection to GLib is one g_unix_fd_add on the descriptor of a pollable, whose callback runs what is due. It
 * is a source like any other: completions come in their turn, by its priority.
 * Then all connections are held: one take is cancelled, another one times out.
 */
#include <glib-unix.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

#include <cenote/cenote.h>

#include "echo.h"

enum { CONNECTIONS = 4, REQUESTS = 200, PATIENCE_MS = 20000 };

/* ---- Requests ---------------------------------------------------------------------------------------- */

typedef struct request {
    cen_take_op take; /* first member: a completed take is its request */
    uint32_t number;
} request;

typedef struct connection {
    int fd;
    request *user;
} connection;

static struct {
    GMainLoop *loop;
    cen_pollable *pollable;
    cen_pool *pool;
    unsigned answered, kept, late, wakeups;
    uint32_t next_number;
    int64_t due;
} here;

static echo_server echo;
static request requests[REQUESTS], keepers[CONNECTIONS], given_up, last;
static int surprises;

static bool expect_that(bool holds, const char *what)
{
    if (!holds) surprises++;
    if (!holds) printf("  FAILED: %s\n", what);
    return holds;
}

static gboolean on_answer(gint fd, GIOCondition condition, gpointer argument)
{
    connection *c = argument;
    request *r = c->user;
    (void)condition;
    expect_that(echo_receive(fd, r->number, MSG_DONTWAIT), "the reply belongs to the request");
    c->user = NULL;
    cen_pool_give(&r->take.lease); /* to the next waiter, whose callback run_ready calls; never waits */
    if (++here.answered == REQUESTS) g_main_loop_quit(here.loop);
    return G_SOURCE_REMOVE;
}

static void on_ready(cen_take_op *take)
{
    request *r = (request *)take;
    expect_that(r->number == here.next_number++, "takes complete in order");
    if (!expect_that(take->future.status == CEN_OK, "every request gets a connection")) return;
    connection *c = take->lease.object;
    expect_that(c->user == NULL, "a connection has one user at a time");
    c->user = r;
    expect_that(echo_send(c->fd, r->number), "the request is sent");
    g_unix_fd_add(c->fd, G_IO_IN | G_IO_HUP | G_IO_ERR, on_answer, c);
}

static void on_kept(cen_take_op *take)
{
    here.kept += expect_that(take->future.status == CEN_OK, "the take gets a connection");
    if (here.kept == CONNECTIONS) g_main_loop_quit(here.loop);
}

static void on_never(cen_take_op *take)
{
    (void)take;
    expect_that(false, "a cancelled take never completes");
}

static void on_late(cen_take_op *take)
{
    here.late += expect_that(take->future.status == CEN_TIMEOUT, "the take ends with TIMEOUT");
    expect_that(cen_clock() >= here.due, "it does not time out early");
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
    snprintf(error->text, sizeof error->text, "cannot connect");
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
    cen_take_op_init(&r->take, done, cen_pollable_executor(here.pollable));
    expect_that(cen_pool_take_async(here.pool, deadline, &r->take) == CEN_OK, "the pool accepts the take");
}

static gboolean on_patience_lost(gpointer argument)
{
    (void)argument;
    expect_that(false, "the loop ends in reasonable time");
    g_main_loop_quit(here.loop);
    return G_SOURCE_CONTINUE;
}

static gboolean on_pollable(gint fd, GIOCondition condition, gpointer argument)
{
    (void)fd, (void)condition, (void)argument; /* the descriptor is watched, and never read */
    here.wakeups++;
    expect_that(cen_pollable_run_ready(here.pollable, NULL, NULL) == CEN_OK, "the loop runs what is due");
    return G_SOURCE_CONTINUE;
}

static void serve(void)
{
    for (uint32_t i = 0; i < REQUESTS; i++) ask(&requests[i], i, cen_in_s(60), on_ready);
    g_main_loop_run(here.loop);
    printf("%u requests served in order, over %d connections; the pollable woke the loop %u times.\n", here.answered,
           CONNECTIONS, here.wakeups);
    expect_that(here.answered == REQUESTS, "all requests get a reply");
}

static void cancel_and_be_late(void)
{
    for (uint32_t i = 0; i < CONNECTIONS; i++) ask(&keepers[i], i, cen_in_s(60), on_kept);
    g_main_loop_run(here.loop);
    here.due = cen_clock() + CEN_MS(20);
    ask(&given_up, 0, cen_at(here.due), on_never);
    ask(&last, 0, cen_at(here.due), on_late);
    expect_that(cen_future_cancel(&given_up.take.future), "a waiting take can be cancelled");
    g_main_loop_run(here.loop);
    puts("With all connections held, one take was cancelled and another timed out.");
    expect_that(here.kept == CONNECTIONS && here.late == 1, "the deadline passes");
    for (int i = 0; i < CONNECTIONS; i++) cen_pool_give(&keepers[i].take.lease);
}

int main(void)
{
    cen_error error;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!echo_start(&echo)) return perror("the echo process"), 1;
    if (cen_pollable_new(NULL, &here.pollable, &error) != CEN_OK) return puts(error.text), 1;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "echo", .driver = {&calls, NULL}, .max = CONNECTIONS,
                                                .runtime = cen_pollable_runtime(here.pollable));
    if (cen_pool_new(&options, &here.pool, &error) != CEN_OK) return puts(error.text), 1;
    here.loop = g_main_loop_new(NULL, FALSE);
    guint ready = g_unix_fd_add(cen_pollable_fd(here.pollable), G_IO_IN, on_pollable, NULL);
    guint patience = g_timeout_add(PATIENCE_MS, on_patience_lost, NULL);

    serve();
    cancel_and_be_late();

    cen_runtime_stats threads = CEN_SIZED(cen_runtime_stats);
    cen_runtime_stats_get(cen_pollable_runtime(here.pollable), &threads);
    expect_that(threads.helpers == 0 && !threads.has_keeper, "there is no other thread");
    expect_that(cen_pool_close(here.pool, CEN_NOW, NULL, NULL) == CEN_OK, "nothing is left in the pool");
    cen_pool_free(here.pool);
    g_source_remove(patience);
    g_source_remove(ready);
    g_main_loop_unref(here.loop);
    expect_that(cen_pollable_free(here.pollable, &error) == CEN_OK, "nothing is left in the pollable");
    echo_stop(&echo);
    puts(surprises ? "Some checks failed." : "The pool was one more source of the loop.");
    return surprises ? 1 : 0;
}
