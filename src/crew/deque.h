/* SPDX-License-Identifier: MIT */
/*
 * A worker's deque. The worker pushes at the tail and pops at the head. Idle workers steal from the head. A thread that
 * cancels a task removes exactly that task.
 *
 *     cells:  . . . 5 6 - 8 9 . . .      "-": stolen, or cancelled
 *                   ▲head     ▲tail      both written by the owner only
 *
 * Invariants
 *  D1 A job is in at most one cell. The thread that exchanges it out of the cell owns it. head and tail only say where
 *     to look; they decide nothing.
 *  D2 Every cell whose number is not in [head, tail) is empty. The owner moves head only over cells that it has seen
 *     empty. It fills only the cell at tail, and only if tail is less than a round ahead of head.
 *  D3 Both only grow, and a number is filled once. So a thief with an old head finds empty cells, or, a round later, a
 *     newer job, which it may take as well.
 *  D4 A pusher moves tail and then looks for sleepers. A worker that parks is counted as asleep and then looks at tail.
 *     So at least one of them sees the other.
 *
 * The naive deque decides by head and tail, and the owner and a thief compete for the last job. That needs a fence in
 * every pop. Nothing can be removed from the middle, so a cancelled task stays until its turn comes.
 *
 * Order table
 * [D1] push   | store of the cell     | release | D3 | the job's bytes | a thief runs a half-written job
 * [D2] push   | exchange of tail      | seq_cst | D4 and the idle word, I1 in internal.h | that there is a job | pusher and sleeper miss each other: the job waits while a worker sleeps
 * [D3] take   | exchange, cas of the cell | acquire | D1 | the job's bytes | as D1
 * [D4] look   | load of tail          | seq_cst | D2 | that there is a job, in cells before it | as D2
 *
 * Tested by tests/explore/crew_deque_test.c.
 */
#ifndef CENI_CREW_DEQUE_H
#define CENI_CREW_DEQUE_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/executor.h>

#include "base/atomic.h"
#include "base/plant.h"

#ifdef CENI_WATCHED
enum { CENI_DEQUE_CELLS = 4 }; /* so that a test wraps around */
#else
enum { CENI_DEQUE_CELLS = 256 };
#endif

typedef struct ceni_deque {
    _Alignas(CENI_CACHE_LINE) _Atomic uint32_t head;                      /* the owner writes, any thread reads */
    _Atomic uint32_t tail;                                                /* likewise */
    _Alignas(CENI_CACHE_LINE) _Atomic(cen_job *) cells[CENI_DEQUE_CELLS]; /* any thread, atomically */
} ceni_deque;

static inline _Atomic(cen_job *) *ceni_deque_cell(ceni_deque *deque, uint32_t number)
{
    return &deque->cells[number % CENI_DEQUE_CELLS];
}

/* Take the cell's job. NULL: the cell is empty. */
static inline cen_job *ceni_cell_take(_Atomic(cen_job *) *cell)
{
    cen_job *job = ceni_load_relaxed(cell); /* a hint, the exchange decides; carries nothing */
    if (ceni_planted(deque_takes_twice)) {
        if (job) ceni_exchange_acquire(cell, (cen_job *)NULL); /* [D3] */
        return job;
    }
    return job ? ceni_exchange_acquire(cell, (cen_job *)NULL) : NULL; /* [D3] */
}

/* Take `job` if it is in this cell. */
static inline bool ceni_cell_take_if(_Atomic(cen_job *) *cell, cen_job *job)
{
    return ceni_load_relaxed(cell) == job &&
           ceni_cas_acquire(cell, &job, (cen_job *)NULL); /* [D3] or carries nothing */
}

/* Only the owner. */
static inline uint32_t ceni_deque_room(ceni_deque *deque)
{
    /* Its own words; carries nothing. */
    return CENI_DEQUE_CELLS - (ceni_load_relaxed(&deque->tail) - ceni_load_relaxed(&deque->head));
}

/* Only the owner: the number of the cell that is filled next. */
static inline uint32_t ceni_deque_next_cell(ceni_deque *deque)
{
    return ceni_load_relaxed(&deque->tail) % CENI_DEQUE_CELLS; /* its own word; carries nothing */
}

/* Only the owner, when it is full: move head over cells that others have emptied. False: still full. */
static inline bool ceni_deque_tidy(ceni_deque *deque)
{
    uint32_t head = ceni_load_relaxed(&deque->head),
             tail = ceni_load_relaxed(&deque->tail);                                 /* its own; carries nothing */
    while (head != tail && !ceni_load_relaxed(ceni_deque_cell(deque, head))) head++; /* D2; carries nothing */
    ceni_store_relaxed(&deque->head, head); /* where to look (D1); carries nothing */
    return ceni_deque_room(deque) > 0;
}

/* Only the owner, and it fits. */
static inline void ceni_deque_push_one(ceni_deque *deque, cen_job *job)
{
    uint32_t tail = ceni_load_relaxed(&deque->tail);       /* its own word; carries nothing */
    ceni_store_release(ceni_deque_cell(deque, tail), job); /* [D1] */
    ceni_exchange_seq_cst(&deque->tail, tail + 1);         /* [D2] */
}

/* Only the owner. False: it is full. */
static inline bool ceni_deque_push(ceni_deque *deque, cen_job *job)
{
    if (ceni_deque_room(deque) == 0 && !ceni_deque_tidy(deque)) return false;
    ceni_deque_push_one(deque, job);
    return true;
}

/* Only the owner, and they fit. */
static inline void ceni_deque_push_all(ceni_deque *deque, cen_job *const jobs[], uint32_t count)
{
    uint32_t tail = ceni_load_relaxed(&deque->tail); /* its own word; carries nothing */
    for (uint32_t i = 0; i < count; i++) ceni_store_release(ceni_deque_cell(deque, tail + i), jobs[i]); /* [D1] */
    ceni_exchange_seq_cst(&deque->tail, tail + count);                                                  /* [D2] */
}

/* Only the owner: the oldest; NULL: there is none. */
static inline cen_job *ceni_deque_pop(ceni_deque *deque)
{
    uint32_t head = ceni_load_relaxed(&deque->head),
             tail = ceni_load_relaxed(&deque->tail); /* its own; carries nothing */
    cen_job *job = NULL;
    while (head != tail && !job) job = ceni_cell_take(ceni_deque_cell(deque, head++));
    ceni_store_relaxed(&deque->head, head); /* where to look (D1); carries nothing */
    return job;
}

/* How many cells to look at, from *head on. Also a worker's last look before it sleeps. */
static inline uint32_t ceni_deque_span(ceni_deque *deque, uint32_t *head)
{
    uint32_t tail = ceni_load_seq_cst(&deque->tail); /* [D4] */
    *head = ceni_load_relaxed(&deque->head);         /* where to look (D1); carries nothing */
    uint32_t span = tail - *head;
    if (span <= CENI_DEQUE_CELLS) return span;
    /* Read at two moments: head has passed that tail, or is older than a round. */
    *head = tail - CENI_DEQUE_CELLS;
    return (int32_t)span < 0 ? 0 : CENI_DEQUE_CELLS;
}

static inline bool ceni_deque_has_any(ceni_deque *deque)
{
    uint32_t head, span = ceni_deque_span(deque, &head);
    for (uint32_t i = 0; i < span; i++)
        if (ceni_load_relaxed(ceni_deque_cell(deque, head + i))) return true; /* a look; carries nothing */
    return false;
}

/* The number of jobs, for statistics. */
static inline uint32_t ceni_deque_count(ceni_deque *deque)
{
    uint32_t head, span = ceni_deque_span(deque, &head), count = 0;
    for (uint32_t i = 0; i < span; i++)
        if (ceni_load_relaxed(ceni_deque_cell(deque, head + i))) count++; /* a look; carries nothing */
    return count;
}

/* Take up to half of the jobs, at most `most`, oldest first. Return how many. */
static inline uint32_t ceni_deque_steal(ceni_deque *deque, cen_job **out, uint32_t most)
{
    uint32_t head, span = ceni_deque_span(deque, &head), got = 0;
    uint32_t want = (span + 1) / 2;
    for (uint32_t i = 0; i < span && got < want && got < most; i++) {
        cen_job *job = ceni_cell_take(ceni_deque_cell(deque, head + i));
        if (job) out[got++] = job;
    }
    return got;
}

/* Take exactly this job, if it is here. */
static inline bool ceni_deque_withdraw(ceni_deque *deque, cen_job *job)
{
    uint32_t head, span = ceni_deque_span(deque, &head);
    for (uint32_t i = 0; i < span; i++)
        if (ceni_cell_take_if(ceni_deque_cell(deque, head + i), job)) return true;
    return false;
}

#endif
