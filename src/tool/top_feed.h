/* SPDX-License-Identifier: MIT */
/*
 * The thread that asks the process, so that the screen never waits for it: it looks every interval, and puts what it finds into
 * a box of one, from which the screen takes it.
 *
 * A look is three questions (process, components, events), one after the other, and every five seconds a fourth (history).
 * Whoever takes a look owns it.
 *
 * Threads: the box and the wishes are under one lock; the client is the thread's own. feed_fd is readable when there is
 * something in the box.
 */
#ifndef CENOTE_TOOL_TOP_FEED_H
#define CENOTE_TOOL_TOP_FEED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "tool/client.h"

typedef struct feed feed;

typedef struct feed_look {
    cen_error error;              /* status OK: the process answered */
    json_t *process, *components; /* NULL unless it did */
    json_t *history;              /* GET /api/history, every few looks; NULL: none new */
    json_t *events;               /* an array of those since the last look that was taken; never NULL */
    uint64_t missed;              /* events that were overwritten before they could be read */
    double cpu;                   /* processors in use by the process; below 0: not known */
    bool told;                    /* a wish was carried out, and `answer` says how: status and text */
    cen_error answer;
} feed_look;

/* Starts it with a client that is its own from now on. NULL: there is no memory or no thread; the client is closed. */
feed *feed_start(client *peer, int64_t interval_ns);
/* Ends it, and awaits its end: as long as a question that is going on takes to notice. */
void feed_stop(feed *self);

int feed_fd(const feed *self);
/* Takes what there is; false: nothing new. */
bool feed_take(feed *self, feed_look *out);
void feed_look_free(feed_look *look);

void feed_set_interval(feed *self, int64_t interval_ns);
/* Wishes that a component be told; one at a time: false, another is still under way. */
bool feed_tell(feed *self, uint64_t number, const char *action, int64_t value);

/* Whether two answers of GET /api/process are of one process. */
bool feed_is_same(json_t *process, json_t *other);

/* One look by itself, for whoever has no thread: the events after *next, which is moved on. */
cen_status feed_look_once(client *peer, uint64_t *next, feed_look *out);

#endif
