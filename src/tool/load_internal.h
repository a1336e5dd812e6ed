/* SPDX-License-Identifier: MIT */
/*
 * The shared declarations of a load: its times, its clients' tallies, and the two kinds of clients.
 *
 * Access
 *  course     constant once the clients run, except `until` (stored once more by the coordinator on an early end, read
 *             by all), `next` (clients, atomically) and `running` (a client counts itself out as its last action)
 *  tally      only its thread, until that has ended; the coordinator reads `shown` and `shown_failed` meanwhile
 * These atomics order nothing else: what a client wrote is read after pthread_join.
 */
#ifndef CENOTE_TOOL_LOAD_INTERNAL_H
#define CENOTE_TOOL_LOAD_INTERNAL_H

#include "tool/load.h"

/* One operation, from due to end. */
typedef struct load_turn {
    target_turn turn;
    int64_t due, began, got, end; /* got: 0 if the take failed */
    cen_status status;            /* of the take or of the operation */
} load_turn;

typedef struct tally {
    cen_histogram wait, use, whole;
    uint64_t operations, timed_out, refused, failed, unfinished, never_begun, writes;
    int64_t held_ns, writer_held_ns, waiting_ns; /* within the measured time */
    load_cause causes[LOAD_CAUSES];
    uint64_t other_causes;
    uint32_t *window;
    atomic_uint_fast64_t shown, shown_failed;
} tally;

typedef struct load_course {
    load_plan plan;
    int64_t start, from, planned; /* the start of the warm-up, of the measured time, and its planned end */
    int64_t window_ns, timeout_ns;
    uint32_t windows;
    double interval; /* nanoseconds from one due operation to the next; 0: closed loop */
    atomic_int_fast64_t until;
    atomic_uint_fast64_t next;    /* operations handed out; open loop */
    atomic_uint_fast32_t running; /* clients that have not ended */
} load_course;

static inline int64_t load_until(load_course *self)
{
    return atomic_load(&self->until);
}

/* Return when operation `number` is due. */
static inline int64_t load_due(const load_course *self, uint64_t number)
{
    return self->start + (int64_t)((double)number * self->interval);
}

/* Return how long a take that begins now may wait: its timeout, or the end if that comes first. */
static inline int64_t load_deadline(load_course *self, int64_t began)
{
    int64_t until = load_until(self);
    return began + self->timeout_ns < until ? began + self->timeout_ns : until;
}

/* The start of a client's random sequence; its next operation; the pool for that operation. */
uint64_t load_seed(const load_course *self, uint32_t client);
target_turn load_draw(const load_course *self, uint64_t *state);
cen_pool *load_pool_for(const load_course *self, const target_turn *turn);

/* ---- load_tally.c ---------------------------------------------------------------------------------------- */

tally *tally_new(const load_course *load); /* NULL: no memory */
void tally_free(tally *self);
/* Count an operation that has ended in any way. Returns true if it succeeded within the measured time. */
bool tally_add(tally *self, load_course *load, const load_turn *turn, const cen_error *error);
/* Count an operation that was due before the end and never begun. */
void tally_add_never_begun(tally *self, int64_t due, int64_t until);
/* Open loop: count as never begun all operations from `number` on that were due before the end. The cost does not
 * depend on their number, so that a rate far too high does not delay the report. */
void tally_add_rest(tally *self, load_course *load, uint64_t number);
void tally_merge(tally *self, const tally *other, uint32_t windows);

/* ---- The two kinds of clients ---------------------------------------------------------------------------- */

typedef struct load_way {
    /* Start all clients, or none. *own is passed to the other functions. */
    cen_status (*start)(load_course *load, void **own, cen_error *error);
    /* Read the counts so far. */
    void (*look)(void *own, uint64_t *operations, uint64_t *failed);
    /* The time is over: wake waiting clients. Called repeatedly until none is running. */
    void (*hurry)(void *own);
    /* Wait for the clients, merge their tallies, store each one's count, and free everything. */
    void (*end)(void *own, tally *all, uint64_t *each);
} load_way;

extern const load_way load_threads, load_futures;

#endif
