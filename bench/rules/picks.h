/* SPDX-License-Identifier: MIT */
/*
 * The rules for picking one of many: all contestants of a program in one
 * process, in turns, on threads that are pinned to a processor each.
 *
 *     PROGRAM MEMBERS THREADS ROUNDS SECONDS [NAME...]
 *
 * A contestant keeps its set in what set_up answers, and its loop is made by
 * PICKS in picks_loop.h from one inline function that makes one use of the set: a
 * section, a pick and its end, or a pick that is counted and its done. Before
 * anything is measured every contestant picks with all threads and must come to
 * the members as often as its kind promises.
 *
 * A figure is a thread's time by its picks: wall time, from the first worker's
 * start to the last one's end, times threads, by all picks. So what does not
 * depend on the number of threads stays the same.
 */
#ifndef BENCH_RULES_PICKS_H
#define BENCH_RULES_PICKS_H

#include <stdatomic.h>

#include "bench.h"

#define PICKS_THREADS_MAX 2

/* What a thread has of its own. */
struct pick_worker {
    _Alignas(128) void *set;
    uint64_t noise; /* never zero */
    uint32_t turn;
    unsigned number;
    int64_t start, end, length;
    uint64_t picks;
    uint32_t *counts; /* by member; in the check */
    const struct pick_contestant *contestant;
};

enum pick_kind {
    PICK_EVEN,     /* each thread comes to every member as often, exactly */
    PICK_TOGETHER, /* all threads together do */
    PICK_RANDOM,   /* within what chance allows */
    PICK_ANY       /* by load; to a member, no more is promised */
};

struct pick_contestant {
    const char *name, *floor; /* of which the figure is given as a multiple, or NULL */
    enum pick_kind kind;
    void *(*set_up)(unsigned members);
    void (*loop)(struct pick_worker *worker);                  /* sets start, end and picks */
    void (*check)(struct pick_worker *worker, uint64_t picks); /* counts each */
    void (*verify)(void *set); /* nobody uses any member now; ends the program if one seems to be in use; or NULL */
};

/* Each program has these tables, up to a NULL; the last of a table has no name. */
extern const struct pick_contestant *const pick_tables[];

/* The count of what was picked, or the end of the program if it is none of the members. */
void pick_note(struct pick_worker *worker, unsigned index);

/* The thread's own random number below `below`: xorshift, and the upper half of a product. */
static inline uint32_t pick_random(struct pick_worker *worker, uint32_t below)
{
    uint64_t noise = worker->noise;
    noise ^= noise << 13;
    noise ^= noise >> 7;
    noise ^= noise << 17;
    worker->noise = noise;
    return (uint32_t)((noise >> 32) * below >> 32);
}

/* The thread's own next turn. */
static inline uint32_t pick_turn(struct pick_worker *worker, uint32_t below)
{
    uint32_t turn = worker->turn;
    if (turn >= below) turn = 0;
    worker->turn = turn + 1;
    return turn;
}

#endif
