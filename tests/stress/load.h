/* SPDX-License-Identifier: MIT */
/*
 * What the stress tests share: parcels that show when they were torn, lost,
 * doubled or reordered, workers with a ledger each, and a watchdog.
 *
 * The oracle: pushed = taken + left, each parcel once, whole, and in the order
 * of its producer.
 */
#ifndef TESTS_STRESS_LOAD_H
#define TESTS_STRESS_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { LOAD_WORKERS = 16, LOAD_QUEUES = 3 };

/* 24 bytes that belong together. */
typedef struct parcel {
    uint16_t producer, queue;
    uint32_t number; /* of this producer's parcels to this queue */
    uint64_t salt, seal;
} parcel;

/* How many, and a sum over all of them that tells one set from another. */
typedef struct ledger {
    uint64_t count, sum;
} ledger;

typedef struct worker {
    /* its own, read by main when it has ended */
    int number;
    uint64_t dice;
    ledger pushed, taken;
    uint32_t sent[LOAD_QUEUES];               /* numbers given out */
    uint32_t seen[LOAD_WORKERS][LOAD_QUEUES]; /* the last number taken of each producer's */
    /* any thread, atomically: what it is doing, for the watchdog; carries nothing */
    _Alignas(128) _Atomic(const char *) doing;
} worker;

/* The next parcel of this worker to the queue; it counts once it is pushed. */
parcel parcel_next(worker *self, unsigned queue);
void parcel_was_pushed(worker *self, const parcel *one);
/* Fails the test if the parcel is torn or out of order. */
void parcel_was_taken(worker *self, const parcel *one);

/* Now and then lets others run, for a moment or longer. */
void make_noise(worker *self);

/* From 0 to below - 1. */
unsigned draw_below(worker *self, unsigned below);

/* How long this test may load the machine, of CENOTE_STRESS_SECONDS; prints
 * the oracle and the seed, and sets the test's alarm. */
double load_begin(void);

/* Starts `count` workers, numbered from 0, each in `run`. */
void load_start(unsigned count, void (*run)(worker *self));

/* Joins all workers; one that does not end is named, with what it was doing.
 * Main is a worker too, the last: what is left in the queues goes to it. */
void load_join(void);
worker *load_main(void);

/* The oracle. */
void load_check(void);

void load_sleep(double seconds);

#endif
