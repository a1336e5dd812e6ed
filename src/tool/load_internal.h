/* SPDX-License-Identifier: MIT */
/*
 * What the files of a load share: its times, the tallies that its clients keep, and its two ways of having clients.
 *
 * Who may touch what
 *   course     fixed before the clients start, but `until` (the coordinator, when it is ended early: stored once more, read by
 *              all), `next` (clients, atomically) and `running` (a client counts itself out, last of all)
 *   tally      one thread's, until that has ended; `shown` and `shown_failed` are for the coordinator to look at meanwhile
 * None of these atomics orders anything but itself: what a client wrote is read after pthread_join.
 */
#ifndef CENOTE_TOOL_LOAD_INTERNAL_H
#define CENOTE_TOOL_LOAD_INTERNAL_H

#include "tool/load.h"

/* One operation, from due to end. */
typedef struct load_turn {
    target_turn turn;
    int64_t due, began, got, end; /* got: 0 if the take failed */
    cen_status status;            /* of the take, or of the operation */
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
    int64_t start, from, planned; /* begin of the warm-up, of the measured time, and its end as planned */
    int64_t window_ns, patience_ns;
    uint32_t windows;
    double interval; /* nanoseconds from one due operation to the next; 0: closed loop */
    atomic_int_fast64_t until;
    atomic_uint_fast64_t next;    /* operations that were handed out; open loop */
    atomic_uint_fast32_t running; /* clients that have not ended */
} load_course;

static inline int64_t load_until(load_course *self)
{
    return atomic_load(&self->until);
}

/* When the operation of that number is due. */
static inline int64_t load_due(const load_course *self, uint64_t number)
{
    return self->start + (int64_t)((double)number * self->interval);
}

/* The moment until which a take that begins now may wait: its patience, or the end if that comes first. */
static inline int64_t load_deadline(load_course *self, int64_t began)
{
    int64_t until = load_until(self);
    return began + self->patience_ns < until ? began + self->patience_ns : until;
}

/* Where a client's draws begin; and what its next operation does. */
uint64_t load_seed(const load_course *self, uint32_t client);
target_turn load_draw(const load_course *self, uint64_t *state);
cen_pool *load_pool_for(const load_course *self, const target_turn *turn);

/* ---- load_tally.c ---------------------------------------------------------------------------------------- */

tally *tally_new(const load_course *load); /* NULL: no memory */
void tally_free(tally *self);
/* Counts an operation that has ended, however; true if it succeeded within the measured time. */
bool tally_add(tally *self, load_course *load, const load_turn *turn, const cen_error *error);
/* Counts one that was due by the end and never begun. */
void tally_add_never_begun(tally *self, int64_t due, int64_t until);
/* Of an open loop: counts all that were due by the end, from that number on, as never begun. As quick for a billion as for ten: a
 * rate that is far too high must not make the report wait. */
void tally_add_rest(tally *self, load_course *load, uint64_t number);
void tally_merge(tally *self, const tally *other, uint32_t windows);

/* ---- Two ways of having clients -------------------------------------------------------------------------- */

typedef struct load_way {
    /* Starts all clients, or none. *own is what the others are given. */
    cen_status (*start)(load_course *load, void **own, cen_error *error);
    /* Looks at the counts so far. */
    void (*look)(void *own, uint64_t *operations, uint64_t *failed);
    /* The time is over: lets those who wait go on. Called again and again until nobody is running. */
    void (*hurry)(void *own);
    /* Awaits them, adds up what they did, how many each, and frees all. */
    void (*end)(void *own, tally *all, uint64_t *each);
} load_way;

extern const load_way load_threads, load_futures;

#endif
