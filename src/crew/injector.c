/* SPDX-License-Identifier: MIT */
/*
 * The shards of the injector: a lock, a ring and a chain.
 *
 *     put:  lock ▶ the ring has room and nothing is chained: cell, then tail ▶ unlock
 *                  else: to the end of the chain
 *     take: cas of head over a few numbers ▶ exchange of each of these cells
 *           the ring is empty and something is chained: lock ▶ fill the ring up ▶ unlock
 *
 * Invariants
 *  J1 A job is in one cell or in one chain. The thread that exchanges it out of the cell, or unlinks it under the lock,
 *     owns it.
 *  J2 Cells with numbers in [head, tail) were filled. The thread that moves head over a number empties its cell. If it
 *     finds the cell empty, a cancel has taken the job before.
 *  J3 A cell is filled again only when it is empty and head has passed its number of the round before. A thread that
 *     was preempted between moving head and emptying the cell keeps that cell, and the next job goes to the chain.
 *  J4 While the chain is not empty, later jobs are chained behind it. So each shard is FIFO, except for jobs among
 *     tasks.
 *  J5 As D4 of the deque. A pusher makes its job visible and then looks for sleepers. A worker that parks is counted as
 *     asleep and then looks at tail and at the length of the chain. So at least one of them sees the other.
 *  J6 `shut` is read under the lock under which the job becomes visible. So once shut was set in all shards, nothing
 *     more is pushed.
 *  J7 A task is in a shard's chain if and only if its place says so. Place is set to that, and from that to another
 *     value, only under that shard's lock, since a departing worker may push the task into another shard.
 *
 * While another shard is free, the lock is tried and not waited for, so a thread that is preempted within the lock
 * delays no other thread. The lock is held for a few stores; a refill moves at most a ring's length. A crew of one
 * worker promises an order: there a new task waits for the lock of its thread's own shard. In another shard it would
 * overtake the thread's earlier tasks.
 *
 * Order table
 * [J1] lock    | exchange of lock   | acquire | J2 | the shard's plain fields, from the thread that had the lock last | a half-linked chain
 * [J2] unlock  | store of lock      | release | J1 | likewise | likewise
 * [J3] put     | store of the cell  | release | D3 in deque.h, which takes | the job's bytes | a worker runs a half-written job
 * [J4] put, fill | exchange of tail, of the count | seq_cst | J8, and the idle word, I1 in internal.h | that there is a job | the job waits while a worker sleeps
 * [J5] take    | cas of head        | acq_rel | itself, J7 | that these numbers are the taker's | two takers share a range, and each finds the cells that the other emptied; harmless, but slow
 * [J7] put, look, take, withdraw | load of head | acquire | J5 | that head has passed the cell's last number | nothing alone: the cell itself is checked
 * [J8] look, withdraw | loads of tail, of the count | seq_cst | J4 | as J4; for a take, that cells before tail are filled | a take moves head over a cell that is not filled yet, and no thread finds its job
 * [J9] posting | add, sub           | acq_rel, seq_cst | the load in stop.c | that the poster is done with the crew | the crew is freed under it
 *
 * Tested by tests/unit/crew/cancel_test.c, tests/explore/crew_injector_test.c.
 */
#include "crew/injector.h"

#include "base/plant.h"
#include "crew/deque.h"
#include "crew/internal.h"
#include "port/port.h"
#include "sync/backoff.h"

#include <stddef.h>

/* ---- The lock ------------------------------------------------------------------------ */

static bool try_lock(ceni_shard *shard)
{
    /* so that a failed try does not take the cache line; carries nothing */
    if (ceni_load_relaxed(&shard->lock)) return false;
    return ceni_exchange_acquire(&shard->lock, 1u) == 0; /* [J1] */
}

static void lock(ceni_shard *shard)
{
    ceni_backoff backoff = {0};
    while (!try_lock(shard)) ceni_backoff_wait(&backoff);
}

static void unlock(ceni_shard *shard)
{
    ceni_store_release(&shard->lock, 0u); /* [J2] */
}

/* The number of the caller's own shard. */
static uint32_t home_of(const ceni_injector *injector)
{
    return (uint32_t)ceni_thread_id() & (injector->count - 1);
}

/* Only a new task has a place by which a cancel finds it, and an order. A task that has begun has neither. */
static bool is_new(ceni_put what)
{
    return what == CENI_PUT_TASK || what == CENI_PUT_INSIDE;
}

/* Lock the caller's own shard, or, if the order does not matter, the next one that is free. */
static ceni_shard *lock_any(ceni_injector *injector, ceni_put what)
{
    uint32_t home = home_of(injector);
    if (is_new(what) && ceni_setting(&injector->is_ordered) && !ceni_planted(injector_leaves_its_shard)) {
        lock(&injector->shards[home]);
        return &injector->shards[home];
    }
    for (uint32_t i = 0; i < injector->count; i++) {
        ceni_shard *shard = &injector->shards[(home + i) & (injector->count - 1)];
        if (try_lock(shard)) return shard;
    }
    lock(&injector->shards[home]);
    return &injector->shards[home];
}

/* ---- The chains ------------------------------------------------------------------------ */

/* Record where a canceller looks first. CENI_CELL_CHAIN is written under this shard's lock only (J7). */
static void place(const ceni_shard *shard, cen_job *job, uint32_t cell)
{
    uint32_t where = CENI_PLACE(shard->number, cell);
    ceni_store_relaxed(&CENI_TASK_OF_JOB(job)->place_, where); /* where to look, or under the lock; carries nothing */
}

/* A chained task has its neighbours in job_.next and outer_, which the task does not use until it runs. */
static void chain_task(ceni_shard *shard, cen_job *job)
{
    cen_task *task = CENI_TASK_OF_JOB(job);
    job->next = NULL;
    task->outer_ = shard->last_task ? CENI_TASK_OF_JOB(shard->last_task) : NULL;
    place(shard, job, CENI_CELL_CHAIN);
    if (shard->last_task) shard->last_task->next = job;
    else shard->first_task = job;
    shard->last_task = job;
}

static void unchain_task(ceni_shard *shard, cen_job *job)
{
    cen_task *task = CENI_TASK_OF_JOB(job);
    if (task->outer_) task->outer_->job_.next = job->next;
    else shard->first_task = job->next;
    if (job->next) CENI_TASK_OF_JOB(job->next)->outer_ = task->outer_;
    else shard->last_task = task->outer_ ? &task->outer_->job_ : NULL;
    task->outer_ = NULL;
    place(shard, job, CENI_CELL_NONE);
}

static void chain_job(ceni_shard *shard, cen_job *job)
{
    job->next = NULL;
    if (shard->last_job) shard->last_job->next = job;
    else shard->first_job = job;
    shard->last_job = job;
}

/* Tasks and jobs in turn, so that neither starves the other. */
static cen_job *unchain_any(ceni_shard *shard, uint32_t turn)
{
    cen_job *job = shard->first_task;
    if (job && !(shard->first_job && (turn & 1))) {
        unchain_task(shard, job);
        return job;
    }
    job = shard->first_job;
    shard->first_job = job->next;
    if (!shard->first_job) shard->last_job = NULL;
    return job;
}

static uint32_t chained(ceni_shard *shard)
{
    return ceni_load_relaxed(&shard->overflow); /* written under the lock that is held; carries nothing */
}

/* ---- Putting in ------------------------------------------------------------------------- */

/* head is in a cache line that workers write. It only grows, so it is read again only if its last value leaves no
 * room. */
static bool has_room(ceni_shard *shard, uint32_t tail)
{
    if (tail - shard->head_seen >= CENI_SHARD_CELLS) {
        shard->head_seen = ceni_load_acquire(&shard->head); /* [J7] */
        if (tail - shard->head_seen >= CENI_SHARD_CELLS) return false;
    }
    return ceni_load_relaxed(&shard->cells[tail % CENI_SHARD_CELLS]) == NULL || /* J3; carries nothing */
           ceni_planted(injector_overwrites);
}

static void count(ceni_shard *shard, ceni_put what, size_t more)
{
    if (what == CENI_PUT_MOVED || what == CENI_PUT_JOB) return;
    _Atomic uint64_t *counter = what == CENI_PUT_AGAIN ? &shard->resumed : &shard->tasks;
    ceni_store_relaxed(counter, ceni_load_relaxed(counter) + more); /* under the lock; carries nothing */
}

/* Under the lock, when the load is not refused. */
static void put_all(ceni_shard *shard, const ceni_load *load)
{
    uint32_t tail = ceni_load_relaxed(&shard->tail); /* its own, under the lock; carries nothing */
    uint32_t more = chained(shard);
    size_t i = 0;
    for (; i < load->count && more == 0 && has_room(shard, tail); i++, tail++) {
        cen_job *job = ceni_load_at(load, i);
        if (is_new(load->what)) place(shard, job, tail % CENI_SHARD_CELLS);
        ceni_store_release(&shard->cells[tail % CENI_SHARD_CELLS], job); /* [J3] */
    }
    if (i > 0) ceni_exchange_seq_cst(&shard->tail, tail); /* [J4] */
    if (i == load->count) return;
    for (; i < load->count; i++, more++) {
        cen_job *job = ceni_load_at(load, i);
        if (job->run == ceni_task_run) chain_task(shard, job);
        else chain_job(shard, job);
    }
    ceni_exchange_seq_cst(&shard->overflow, more); /* [J4] */
}

static bool is_refused(ceni_shut shut, ceni_put what)
{
    if (what == CENI_PUT_TASK) return shut >= CENI_SHUT_OUTSIDE;
    if (what == CENI_PUT_INSIDE) return shut >= CENI_SHUT_TASKS;
    return what == CENI_PUT_JOB && shut >= CENI_SHUT_ALL;
}

/* Push unless it is refused, and unlock the shard. */
static ceni_shard *put_locked(ceni_shard *shard, const ceni_load *load, bool counted)
{
    bool refused = is_refused(shard->shut, load->what);
    if (!refused) {
        if (counted) ceni_add_acq_rel(&shard->posting, 1u); /* [J9] */
        count(shard, load->what, load->count);
        put_all(shard, load);
    }
    unlock(shard);
    return refused ? NULL : shard;
}

ceni_shard *ceni_injector_put(ceni_injector *injector, const ceni_load *load, bool counted)
{
    return put_locked(lock_any(injector, load->what), load, counted);
}

/* The slow path: the shard is shut, has a chain, or is full. */
static __attribute__((noinline)) bool put_task_locked(ceni_shard *shard, cen_task *task)
{
    ceni_load load = {.what = CENI_PUT_TASK, .count = 1, .tasks = &task};
    return put_locked(shard, &load, false) != NULL;
}

bool ceni_injector_put_task(ceni_injector *injector, cen_task *task)
{
    ceni_shard *shard = &injector->shards[home_of(injector)];
    if (__builtin_expect(!try_lock(shard), 0)) shard = lock_any(injector, CENI_PUT_TASK);
    uint32_t tail = ceni_load_relaxed(&shard->tail); /* its own, under the lock; carries nothing */
    bool usual = shard->shut == CENI_SHUT_NOTHING && chained(shard) == 0 && has_room(shard, tail);
    if (__builtin_expect(!usual, 0)) return put_task_locked(shard, task);
    count(shard, CENI_PUT_TASK, 1);
    place(shard, &task->job_, tail % CENI_SHARD_CELLS);
    ceni_store_release(&shard->cells[tail % CENI_SHARD_CELLS], &task->job_); /* [J3] */
    ceni_exchange_seq_cst(&shard->tail, tail + 1);                           /* [J4] */
    unlock(shard);
    return true;
}

void ceni_injector_leave(ceni_shard *shard)
{
    ceni_sub_seq_cst(&shard->posting, 1u); /* [J9] */
}

void ceni_injector_shut(ceni_injector *injector, ceni_shut what)
{
    for (uint32_t i = 0; i < injector->count; i++) {
        lock(&injector->shards[i]);
        if (injector->shards[i].shut < what) injector->shards[i].shut = what;
        unlock(&injector->shards[i]);
    }
}

/* ---- Taking out -------------------------------------------------------------------------- */

/* Move jobs from the chain to the ring, as far as it has room. */
static void fill_up(ceni_shard *shard)
{
    if (!try_lock(shard)) return; /* the thread that has it refills the ring, or pushes */
    uint32_t tail = ceni_load_relaxed(&shard->tail), more = chained(shard); /* under the lock; carries nothing */
    uint32_t start = tail;
    for (; more > 0 && has_room(shard, tail); tail++, more--) {
        cen_job *job = unchain_any(shard, tail);
        if (job->run == ceni_task_run) place(shard, job, tail % CENI_SHARD_CELLS);
        ceni_store_release(&shard->cells[tail % CENI_SHARD_CELLS], job); /* [J3] */
    }
    if (tail != start) {
        ceni_exchange_seq_cst(&shard->tail, tail);     /* [J4] */
        ceni_exchange_seq_cst(&shard->overflow, more); /* [J4] */
    }
    unlock(shard);
}

static uint32_t fair_part(uint32_t there, uint32_t workers, uint32_t most)
{
    uint32_t part = workers > 1 ? there / workers + 1 : there;
    if (part > there) part = there;
    return part < most ? part : most;
}

/* -1: there was a job, but another thread was first, or it was cancelled. */
static int32_t take_from(ceni_shard *shard, uint32_t workers, cen_job **out, uint32_t most)
{
    uint32_t head = ceni_load_acquire(&shard->head), there = ceni_load_seq_cst(&shard->tail) - head; /* [J7] [J8] */
    if ((int32_t)there <= 0) {
        if (ceni_load_seq_cst(&shard->overflow) == 0) return (int32_t)there < 0 ? -1 : 0; /* [J8] */
        fill_up(shard);
        return -1;
    }
    uint32_t want = fair_part(there, workers, most), got = 0;
    if (!ceni_cas_acq_rel(&shard->head, &head, head + want)) return -1; /* [J5] */
    for (uint32_t i = 0; i < want; i++) {
        cen_job *job = ceni_cell_take(&shard->cells[(head + i) % CENI_SHARD_CELLS]);
        if (job) out[got++] = job;
    }
    return got > 0 ? (int32_t)got : -1;
}

uint32_t ceni_injector_take(ceni_injector *injector, uint32_t start, uint32_t workers, cen_job **out, uint32_t most)
{
    enum { TRIES = 4 }; /* then the next shard; the caller may look again */
    for (uint32_t i = 0; i < injector->count; i++) {
        ceni_shard *shard = &injector->shards[(start + i) & (injector->count - 1)];
        int32_t got = -1;
        for (int tries = 0; got < 0 && tries < TRIES; tries++) got = take_from(shard, workers, out, most);
        if (got > 0) return (uint32_t)got;
    }
    return 0;
}

static bool has_any(ceni_shard *shard)
{
    /* The chain first: a job that leaves it is in the ring before the chain's length falls. */
    bool late = ceni_planted(injector_looks_at_the_ring_first);
    if (!late && ceni_load_seq_cst(&shard->overflow) != 0) return true; /* [J8] */
    uint32_t tail = ceni_load_seq_cst(&shard->tail);                    /* [J8] */
    if (tail != ceni_load_acquire(&shard->head)) return true;           /* [J7] */
    return late && ceni_load_seq_cst(&shard->overflow) != 0;            /* [J8] */
}

bool ceni_injector_has_any(ceni_injector *injector)
{
    for (uint32_t i = 0; i < injector->count; i++)
        if (has_any(&injector->shards[i])) return true;
    return false;
}

bool ceni_injector_has_own(ceni_injector *injector)
{
    return has_any(&injector->shards[home_of(injector)]);
}

static uint32_t place_of(cen_task *task)
{
    return ceni_load_relaxed(&task->place_); /* where to look, or under the lock; carries nothing */
}

static bool withdraw_chained(ceni_injector *injector, uint32_t number, cen_task *task)
{
    ceni_shard *shard = &injector->shards[number];
    lock(shard);
    bool here = place_of(task) == CENI_PLACE(number, CENI_CELL_CHAIN); /* J7 */
    if (here) {
        unchain_task(shard, &task->job_);
        ceni_exchange_seq_cst(&shard->overflow, chained(shard) - 1); /* [J4] */
    }
    unlock(shard);
    return here;
}

/* It is in the ring, but not in the cell of its place. A job that head has passed belongs to the thread that moved
 * head. */
static bool withdraw_filled(ceni_shard *shard, cen_job *job)
{
    uint32_t tail = ceni_load_seq_cst(&shard->tail);   /* [J8] */
    uint32_t number = ceni_load_acquire(&shard->head); /* [J7] */
    for (; (int32_t)(tail - number) > 0; number++)
        if (ceni_cell_take_if(&shard->cells[number % CENI_SHARD_CELLS], job)) return true;
    return false;
}

bool ceni_injector_withdraw(ceni_injector *injector, uint32_t number, cen_task *task)
{
    ceni_shard *shard = &injector->shards[number];
    uint32_t place = place_of(task), cell = CENI_PLACE_CELL(place);
    if (place == CENI_PLACE(number, CENI_CELL_CHAIN) && withdraw_chained(injector, number, task)) return true;
    if (CENI_PLACE_QUEUE(place) == number && cell < CENI_SHARD_CELLS &&
        ceni_cell_take_if(&shard->cells[cell], &task->job_))
        return true;
    return withdraw_filled(shard, &task->job_);
}
