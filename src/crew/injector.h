/* SPDX-License-Identifier: MIT */
/*
 * The injector: the crew's queue for tasks and jobs from threads that are not workers. It has shards. Each is a ring of
 * cells, and behind it a chain of jobs that did not fit. A push allocates nothing.
 *
 * A thread pushes into its own shard, or into the next one if that is locked. Workers take from all shards. A shard is
 * FIFO. In an ordered injector a new task waits for the lock of its thread's own shard, so one thread's tasks leave in
 * submission order.
 *
 * Threads: every function from any thread.
 */
#ifndef CENI_CREW_INJECTOR_H
#define CENI_CREW_INJECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include <cenote/crew.h>

#include "base/atomic.h"
#include "base/list.h"

#ifdef CENI_WATCHED
enum { CENI_SHARD_CELLS = 2 };
#else
enum { CENI_SHARD_CELLS = 8192 };
#endif

/* What is refused. Each level refuses all that the levels before it refuse. */
typedef enum ceni_shut {
    CENI_SHUT_NOTHING = 0,
    CENI_SHUT_OUTSIDE, /* tasks from outside */
    CENI_SHUT_TASKS,   /* all new tasks */
    CENI_SHUT_ALL,     /* jobs too */
} ceni_shut;

typedef struct ceni_shard {
    /* written by pushes */
    _Alignas(CENI_CACHE_LINE) _Atomic uint32_t lock; /* 1: a thread pushes, or refills the ring from the chain */
    _Atomic uint32_t tail;                           /* written under the lock, read by any thread */
    _Atomic uint32_t overflow;                       /* the length of the chain; likewise */
    _Atomic uint32_t posting;                        /* threads that have pushed and still touch the crew; atomically */
    ceni_shut shut;                                  /* under the lock */
    uint32_t number;                                 /* fixed */
    uint32_t head_seen;                              /* head, or an older value of it; under the lock */
    _Atomic uint64_t tasks;                          /* new tasks that were pushed; written under the lock */
    _Atomic uint64_t resumed;                        /* tasks that were pushed for a further step; likewise */
    cen_job *first_job, *last_job;                   /* the chain of jobs, under the lock */
    cen_job *first_task, *last_task;                 /* the chain of tasks, both ways, under the lock */
    /* written by takes */
    _Alignas(CENI_CACHE_LINE) _Atomic uint32_t head;
    _Alignas(CENI_CACHE_LINE) _Atomic(cen_job *) cells[CENI_SHARD_CELLS];
} ceni_shard;

typedef struct ceni_injector {
    uint32_t count;              /* a power of two; fixed */
    _Atomic uint32_t is_ordered; /* 1: the crew has one worker; written under the core's mutex, or before publication */
    ceni_shard *shards;
} ceni_injector;

/* What a push adds. */
typedef enum ceni_put {
    CENI_PUT_TASK,   /* from outside */
    CENI_PUT_INSIDE, /* a new task of a worker whose deque is full */
    CENI_PUT_AGAIN,  /* a task for its next step: never refused */
    CENI_PUT_JOB,
    CENI_PUT_MOVED, /* a task or a job that was counted before: never refused */
} ceni_put;

/* cen_task.place_: the numbers of the queue and the cell into which the task was put when it was submitted, or the
 * shard in whose chain it is. The latter is written under that shard's lock. Later moves to other cells are not
 * recorded. */
#define CENI_PLACE(queue, cell) ((uint32_t)(queue) << 16 | (uint32_t)(cell))
#define CENI_PLACE_QUEUE(place) ((place) >> 16)
#define CENI_PLACE_CELL(place) ((place)&0xFFFFu)
enum { CENI_CELL_CHAIN = 0xFFFF, CENI_CELL_NONE = 0xFFFE }; /* in the chain; nowhere yet, or out of the chain again */

/* One job, or many tasks. */
typedef struct ceni_load {
    ceni_put what;
    size_t count;
    cen_job *job; /* NULL: these */
    cen_task *const *tasks;
} ceni_load;

static inline cen_job *ceni_load_at(const ceni_load *load, size_t i)
{
    return load->job ? load->job : &load->tasks[i]->job_;
}

/* Push all of the load. Return the shard, or NULL if it is refused: then nothing was pushed. If `counted`, the shard's
 * `posting` was raised before another thread could see the load; the caller lowers it with ceni_injector_leave. */
ceni_shard *ceni_injector_put(ceni_injector *injector, const ceni_load *load, bool counted);

/* The same for one task from outside, with a fast path. False: it is refused. */
bool ceni_injector_put_task(ceni_injector *injector, cen_task *task);

/* The thread of a counted push touches the crew no further. */
void ceni_injector_leave(ceni_shard *shard);

/* Take up to `most` jobs from the first shard that has any, beginning with `start`: a fair share for one of `workers`.
 * Return how many. */
uint32_t ceni_injector_take(ceni_injector *injector, uint32_t start, uint32_t workers, cen_job **out, uint32_t most);

/* Also a worker's last look before it sleeps. */
bool ceni_injector_has_any(ceni_injector *injector);

/* Whether the calling thread's own shard has a job. Sees everything that this thread has pushed there. */
bool ceni_injector_has_own(ceni_injector *injector);

/* Take exactly this task, if it is in this shard. */
bool ceni_injector_withdraw(ceni_injector *injector, uint32_t shard, cen_task *task);

/* After this call such pushes are refused, and all earlier ones are visible. */
void ceni_injector_shut(ceni_injector *injector, ceni_shut what);

#endif
