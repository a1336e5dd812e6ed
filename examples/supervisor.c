/* SPDX-License-Identifier: MIT */
/*
 * A small service that survives its own faults: a store, a thread that writes to it, and two links to a server that is
 * down for a while.
 *
 *     service (rest for one)
 *       store          in memory; when it is lost, everything after it starts again
 *       writer         a thread
 *       links          a supervisor of its own (one for one)
 *         east, west   each reports when it is cut; the other does not notice
 *
 * The faults come one after the other, and after each of them everything runs again. The program checks which parts
 * were restarted.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cenote/supervisor.h>

#define MS INT64_C(1000000)

typedef struct part {
    pthread_mutex_t mutex;
    unsigned starts;  /* successful ones */
    unsigned refused; /* the number of next starts that fail */
    cen_child child;  /* the current start */
} part;

static part store = {.mutex = PTHREAD_MUTEX_INITIALIZER}, writer = {.mutex = PTHREAD_MUTEX_INITIALIZER},
            east = {.mutex = PTHREAD_MUTEX_INITIALIZER}, west = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- The children ------------------------------------------------------------------------ */

static cen_status begin(part *self, cen_child child, cen_error *error)
{
    pthread_mutex_lock(&self->mutex);
    bool refused = self->refused > 0;
    if (refused) {
        self->refused--;
    } else {
        self->starts++;
        self->child = child;
    }
    pthread_mutex_unlock(&self->mutex);
    if (refused) snprintf(error->text, sizeof error->text, "connection refused");
    return refused ? CEN_LOST : CEN_OK;
}

static cen_status start_part(void *argument, cen_child child, cen_error *error)
{
    return begin(argument, child, error);
}

static void stop_part(void *argument, cen_child child)
{
    (void)argument, (void)child; /* nothing to do: with options.stops_at_once it has ended now */
}

static cen_status write_on(void *argument, cen_child child, cen_error *error)
{
    begin(argument, child, error);
    while (!cen_child_is_stopping(child)) nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
    return CEN_OK;
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static unsigned starts_of(part *self)
{
    pthread_mutex_lock(&self->mutex);
    unsigned starts = self->starts;
    pthread_mutex_unlock(&self->mutex);
    return starts;
}

static void cut(part *self, unsigned then_refused)
{
    cen_error why = {.status = CEN_LOST, .text = "the line was cut"};
    pthread_mutex_lock(&self->mutex);
    self->refused = then_refused;
    cen_child child = self->child;
    pthread_mutex_unlock(&self->mutex);
    cen_child_report_ended(child, &why);
}

static void await_starts(part *self, unsigned starts)
{
    while (starts_of(self) < starts) nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
}

static int expect(const char *when, unsigned s, unsigned w, unsigned e, unsigned v)
{
    unsigned is[] = {starts_of(&store), starts_of(&writer), starts_of(&east), starts_of(&west)};
    printf("%s: store %u, writer %u, east %u, west %u starts\n", when, is[0], is[1], is[2], is[3]);
    return is[0] == s && is[1] == w && is[2] == e && is[3] == v ? 0 : 1;
}

int main(void)
{
    cen_error error;
    cen_supervisor *links, *service;
    cen_child_options lines[] = {
        CEN_CHILD_OPTIONS(.name = "east", .argument = &east, .start = start_part, .stop = stop_part,
                          .stops_at_once = true),
        CEN_CHILD_OPTIONS(.name = "west", .argument = &west, .start = start_part, .stop = stop_part,
                          .stops_at_once = true),
    };
    cen_supervisor_options inner =
        CEN_SUPERVISOR_OPTIONS(.name = "links", .children = lines, .child_count = 2, .nested = true, .max_restarts = 10,
                               .backoff_initial_ns = CEN_MS(10));
    if (cen_supervisor_new(&inner, &links, &error) != CEN_OK) return fprintf(stderr, "%s\n", error.text), 1;
    cen_child_options parts[] = {
        CEN_CHILD_OPTIONS(.name = "store", .argument = &store, .start = start_part, .stop = stop_part,
                          .stops_at_once = true),
        CEN_CHILD_OPTIONS(.name = "writer", .argument = &writer, .run = write_on),
        cen_supervisor_child(links),
    };
    cen_supervisor_options outer =
        CEN_SUPERVISOR_OPTIONS(.name = "service", .supervision = CEN_REST_FOR_ONE, .children = parts, .child_count = 3);
    if (cen_supervisor_new(&outer, &service, &error) != CEN_OK) return fprintf(stderr, "%s\n", error.text), 1;
    await_starts(&writer, 1); /* a thread counts as started when it exists; its work comes later */
    int wrong = expect("all has started", 1, 1, 1, 1);

    cut(&west, 3); /* its server is down: three attempts fail, with ever longer pauses */
    await_starts(&west, 2);
    wrong |= expect("west is back", 1, 1, 1, 2);

    cut(&store, 0); /* the writer and the links depend on it */
    await_starts(&west, 3);
    await_starts(&writer, 2);
    wrong |= expect("the store is back", 2, 2, 2, 3);

    char tree[1000];
    cen_supervisor_dump(service, tree, sizeof tree);
    printf("%s", tree);
    cen_supervisor_report report = CEN_SIZED(cen_supervisor_report);
    wrong |= cen_supervisor_stop(service, cen_in_s(10), &report, NULL) != CEN_OK || report.ended != 3;
    cen_supervisor_free(service);
    cen_supervisor_free(links);
    return wrong;
}
