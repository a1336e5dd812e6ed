/* SPDX-License-Identifier: MIT */
/*
 * A driver whose calls are done later, by loops of its own: some before their
 * function returns, some soon, some after their time limit, some by two at a
 * time, of whom one must be told that it is too late.
 */
#ifndef TESTS_STRESS_POOL_LATER_H
#define TESTS_STRESS_POOL_LATER_H

#include <pthread.h>

#include "port/port.h"
#include "stress/pool_load.h"
#include "support/test.h"

enum { LOOPS = 2, MOST_BEGUN = 256 };

typedef enum later_kind { LATER_OPEN, LATER_CLOSE, LATER_RESET, LATER_TEST } later_kind;

typedef struct later_call {
    later_kind kind;
    void *one;
    cen_ticket ticket;
    int64_t due;
    bool cancelled;
} later_call;

typedef struct later {
    stock *things;
    /* under the mutex */
    pthread_mutex_t mutex;
    later_call begun[MOST_BEGUN];
    unsigned count;
    uint64_t done, twice, cancels;
    bool enough;
    pthread_t loops[LOOPS];
} later;

/* ---- Doing it ----------------------------------------------------------------------------- */

/* Two say that it is done; the second is told so. What it brings, if anything, is still the driver's. */
static inline void later_say(later *l, const later_call *call, cen_status status, void *one)
{
    bool twice = ceni_random() % 8 == 0;
    expect_equal(cen_driver_done(call->ticket, status, one, NULL), CEN_OK);
    if (twice) expect_equal(cen_driver_done(call->ticket, CEN_OK, NULL, NULL), CEN_STALE);
    pthread_mutex_lock(&l->mutex);
    l->done++;
    l->twice += twice;
    pthread_mutex_unlock(&l->mutex);
}

static inline void later_do(later *l, const later_call *call)
{
    cen_driver inner = stock_driver(l->things);
    cen_error error = {.status = CEN_OK};
    void *one = NULL;
    cen_status status = CEN_OK;
    switch (call->kind) {
    case LATER_OPEN: status = inner.calls->open(inner.argument, &one, &error); break;
    case LATER_CLOSE: inner.calls->close(inner.argument, call->one); break;
    default:
        expect(ceni_load_relaxed(&((object *)call->one)->state) == 1); /* open; carries nothing */
        status = ceni_random() % 16 ? CEN_OK : CEN_DRIVER;
        break;
    }
    later_say(l, call, status, one);
}

/* Takes one that is due out of the list. */
static inline bool later_pick(later *l, later_call *out)
{
    int64_t now = cen_clock();
    bool found = false;
    pthread_mutex_lock(&l->mutex);
    for (unsigned i = 0; i < l->count && !found; i++) {
        if (l->begun[i].due > now) continue;
        *out = l->begun[i];
        l->begun[i] = l->begun[--l->count];
        found = true;
    }
    pthread_mutex_unlock(&l->mutex);
    return found;
}

static inline bool later_is_over(later *l)
{
    pthread_mutex_lock(&l->mutex);
    bool over = l->enough && l->count == 0;
    pthread_mutex_unlock(&l->mutex);
    return over;
}

static inline void *later_loop(void *argument)
{
    later_call call;
    while (!later_is_over(argument)) {
        if (later_pick(argument, &call)) later_do(argument, &call);
        else load_sleep(20e-6);
    }
    return NULL;
}

/* ---- Beginning it --------------------------------------------------------------------------- */

static inline int64_t later_delay(void)
{
    uint64_t kind = ceni_random() % 16;
    return kind < 8 ? (int64_t)(ceni_random() % 100000) : kind < 15 ? (int64_t)(ceni_random() % 1000000) : 5000000;
}

static inline void later_begin(later *l, later_kind kind, void *one, cen_ticket ticket)
{
    later_call call = {.kind = kind, .one = one, .ticket = ticket, .due = cen_clock() + later_delay()};
    if (ceni_random() % 4 == 0) {
        later_do(l, &call);
        return;
    }
    pthread_mutex_lock(&l->mutex);
    expect(l->count < MOST_BEGUN);
    l->begun[l->count++] = call;
    pthread_mutex_unlock(&l->mutex);
}

static inline void later_open(void *argument, cen_ticket ticket)
{
    later_begin(argument, LATER_OPEN, NULL, ticket);
}

static inline void later_close(void *argument, void *one, cen_ticket ticket)
{
    later_begin(argument, LATER_CLOSE, one, ticket);
}

static inline void later_reset(void *argument, void *one, cen_ticket ticket)
{
    later_begin(argument, LATER_RESET, one, ticket);
}

static inline void later_test(void *argument, void *one, cen_ticket ticket)
{
    later_begin(argument, LATER_TEST, one, ticket);
}

/* Some heed it, and some go on. One that is not in the list is being done. */
static inline void later_cancel(void *argument, cen_ticket ticket)
{
    later *l = argument;
    pthread_mutex_lock(&l->mutex);
    l->cancels++;
    for (unsigned i = 0; i < l->count; i++) {
        if (l->begun[i].ticket.number != ticket.number) continue;
        expect(!l->begun[i].cancelled);
        l->begun[i].cancelled = true;
        if (ceni_random() % 2) l->begun[i].due = 0;
    }
    pthread_mutex_unlock(&l->mutex);
}

static inline void later_interrupt(void *argument, void *one)
{
    cen_driver inner = stock_driver(((later *)argument)->things);
    inner.calls->interrupt(inner.argument, one);
}

static inline void later_start(later *l, stock *things)
{
    *l = (later){.things = things};
    pthread_mutex_init(&l->mutex, NULL);
    for (int i = 0; i < LOOPS; i++) expect_equal(pthread_create(&l->loops[i], NULL, later_loop, l), 0);
}

static inline void later_stop(later *l)
{
    pthread_mutex_lock(&l->mutex);
    l->enough = true;
    pthread_mutex_unlock(&l->mutex);
    for (int i = 0; i < LOOPS; i++) pthread_join(l->loops[i], NULL);
    printf("     %" PRIu64 " calls done later, %" PRIu64 " of them twice, %" PRIu64 " cancelled\n", l->done, l->twice,
           l->cancels);
    pthread_mutex_destroy(&l->mutex);
}

#endif
