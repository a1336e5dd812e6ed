/* SPDX-License-Identifier: MIT */
/*
 * What the stress tests of the pool share: objects that show when two use them
 * at once or when they are closed twice, a driver that counts them, workers
 * with a ledger each, and a watchdog.
 *
 * The oracle
 *   taken = given + discarded + held, in the workers' ledgers and in the pool's numbers
 *   an object has at most one user (L1)
 *   the driver has never more objects open than max (L2)
 *   whatever was opened or adopted is closed exactly once
 *   nobody who waits is forgotten: the watchdog names whoever hangs
 */
#ifndef TESTS_STRESS_POOL_LOAD_H
#define TESTS_STRESS_POOL_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cenote/pool.h>

enum { LOAD_WORKERS = 24 };

/* ---- Workers --------------------------------------------------------------------- */

typedef struct worker {
    /* its own, read by main when it has ended */
    int number;
    uint64_t dice;
    uint64_t taken, given, discarded, timed_out, refused;
    /* any thread, atomically: what it is doing, for the watchdog; carries nothing */
    _Alignas(128) _Atomic(const char *) doing;
} worker;

/* From 0 to below - 1. */
unsigned draw_below(worker *self, unsigned below);

/* Now and then lets others run, for a moment or longer. */
void make_noise(worker *self);

void is_doing(worker *self, const char *what);
void load_sleep(double seconds);

/* How long this test may load the machine, of CENOTE_STRESS_SECONDS shared by
 * `tests`; prints the oracle and the seed, and sets the test's alarm. */
double load_begin(unsigned tests);

/* Starts `count` workers, numbered from 0, each in `run`. */
void load_start(unsigned count, void (*run)(worker *self));

/* Joins all workers; one that does not end is named, with what it was doing. */
void load_join(void);

/* The sum of all ledgers since load_begin, and main's own worker. */
worker load_sum(void);
worker *load_main(void);

/* ---- Objects ------------------------------------------------------------------------ */

typedef struct object {
    _Atomic uint32_t state; /* of the stock's places: free, open or closed */
    _Atomic uint32_t user;  /* 0, or who uses it */
    uint64_t left, right;   /* the user's: equal whenever somebody else may look */
} object;

enum { STOCK = 4096 };

/* A driver's side of one pool. */
typedef struct stock {
    object objects[STOCK];
    _Atomic uint32_t next;
    _Atomic uint32_t live;    /* opened by the driver and not yet closed */
    _Atomic uint32_t allowed; /* so many at most */
    _Atomic uint64_t opened, closed, adopted, failed;
    _Atomic uint32_t fail_one_in; /* 0: opening never fails */
    _Atomic uint64_t interrupts;
} stock;

void stock_begin(stock *s, uint32_t max);
cen_driver stock_driver(stock *s);

/* An object that is not the driver's, to be adopted. */
object *stock_make(stock *s);
void stock_unmake(stock *s, object *o); /* the pool did not want it */

/* Whoever has a lease uses the object between these. Fails the test if somebody else does, too. */
void use_begin(worker *self, object *o);
void use_end(worker *self, object *o);

/* Nothing is open any more, and everything was closed once. */
void stock_check(const stock *s);

/* ---- Numbers --------------------------------------------------------------------------- */

/* The equations of the header; they hold at every instant. */
void check_equations(const cen_pool_stats *s);

#endif
