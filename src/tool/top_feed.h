/* SPDX-License-Identifier: MIT */
/*
 * The thread that sends requests to the process, so that the screen never waits for them. It polls at every interval
 * and puts the result into a box with room for one, from which the screen takes it.
 *
 * A look consists of three requests (process, components, events), one after the other, and every five seconds a fourth
 * (history). The taker of a look owns it.
 *
 * Threads: the box and the requested action are under one lock. The client belongs to the thread. feed_fd is readable
 * when the box is full.
 */
#ifndef CENOTE_TOOL_TOP_FEED_H
#define CENOTE_TOOL_TOP_FEED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "tool/client.h"

typedef struct feed feed;

typedef struct feed_look {
    cen_error error;              /* status OK: the process responded */
    json_t *process, *components; /* NULL unless it did */
    json_t *history;              /* GET /api/history, every few looks; NULL: no new one */
    json_t *events;               /* an array of the events since the last look that was taken; never NULL */
    uint64_t missed;              /* events that were overwritten before they could be read */
    double cpu;                   /* processors that the process uses; below 0: unknown */
    bool told;                    /* an action was carried out; `answer` has its result */
    cen_error answer;
} feed_look;

/* Start the thread, which owns the client from now on. NULL: no memory or no thread; the client is closed. */
feed *feed_start(client *peer, int64_t interval_ns);
/* End the thread and wait for it. A running request ends early. */
void feed_stop(feed *self);

int feed_fd(const feed *self);
/* Take the look in the box. Returns false if there is none. */
bool feed_take(feed *self, feed_look *out);
void feed_look_free(feed_look *look);

void feed_set_interval(feed *self, int64_t interval_ns);
/* Request an action of a component. One at a time: returns false while another is pending. */
bool feed_tell(feed *self, uint64_t number, const char *action, int64_t value);

/* Return true if two responses of GET /api/process are of one process. */
bool feed_is_same(json_t *process, json_t *other);

/* Take one look without a thread: the events after *next, which is advanced. */
cen_status feed_look_once(client *peer, uint64_t *next, feed_look *out);

#endif
