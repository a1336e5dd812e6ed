/* SPDX-License-Identifier: MIT */
/*
 * The queue for what comes from outside: shards, each a ring of cells and,
 * behind it, a chain of what did not fit. Nothing is allocated by a push.
 *
 * A thread puts into its own shard, and into the next if that one is locked.
 * Workers take from all shards. A shard keeps its order. An injector that is
 * ordered has new tasks wait for their thread's own shard, so the tasks of one
 * thread come out in the order in which they went in.
 *
 * Threads: everything from any thread.
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

/* What is refused; each refuses what those before it do. */
typedef enum ceni_shut {
    CENI_SHUT_NOTHING = 0,
    CENI_SHUT_OUTSIDE, /* tasks from outside */
    CENI_SHUT_TASKS,   /* all that are new */
    CENI_SHUT_ALL,     /* jobs too */
} ceni_shut;

typedef struct ceni_shard {
    /* whoever puts in */
    _Alignas(CENI_CACHE_LINE) _Atomic uint32_t lock; /* 1: somebody puts in, or fills up */
    _Atomic uint32_t tail;                           /* written under the lock, read by any thread */
    _Atomic uint32_t overflow;                       /* how many are chained; likewise */
    _Atomic uint32_t posting;                        /* threads that have put in and still touch the crew; atomically */
    ceni_shut shut;                                  /* under the lock */
    uint32_t number;                                 /* fixed */
    uint32_t head_seen;                              /* head, or what it was; under the lock */
    _Atomic uint64_t tasks;                          /* that were put in anew; written under the lock */
    _Atomic uint64_t resumed;                        /* tasks that were put in again; likewise */
    cen_job *first_job, *last_job;                   /* the chain of jobs, under the lock */
    cen_job *first_task, *last_task;                 /* the chain of tasks, both ways, under the lock */
    /* whoever takes out */
    _Alignas(CENI_CACHE_LINE) _Atomic uint32_t head;
    _Alignas(CENI_CACHE_LINE) _Atomic(cen_job *) cells[CENI_SHARD_CELLS];
} ceni_shard;

typedef struct ceni_injector {
    uint32_t count;              /* a power of two; fixed */
    _Atomic uint32_t is_ordered; /* 1: the crew has one worker; written under the core's mutex, or before it is known */
    ceni_shard *shards;
} ceni_injector;

/* What is put in. */
typedef enum ceni_put {
    CENI_PUT_TASK,   /* from outside */
    CENI_PUT_INSIDE, /* a new task of a worker's, whose own queue is full */
    CENI_PUT_AGAIN,  /* a task that goes on: never refused */
    CENI_PUT_JOB,
    CENI_PUT_MOVED, /* a task or a job that has been counted: never refused */
} ceni_put;

/* In cen_task.place_: where the task was put when it was submitted, as the queue's number and the cell's; or in whose
 * chain it is, which is written under that shard's lock. Where else it has been moved nobody writes down. */
#define CENI_PLACE(queue, cell) ((uint32_t)(queue) << 16 | (uint32_t)(cell))
#define CENI_PLACE_QUEUE(place) ((place) >> 16)
#define CENI_PLACE_CELL(place) ((place)&0xFFFFu)
enum { CENI_CELL_CHAIN = 0xFFFF, CENI_CELL_NONE = 0xFFFE }; /* in the chain; nowhere yet, or no longer in the chain */

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

/* Puts them in, all or, NULL, none. Else the shard; if it is to be `counted`, its
 * `posting` was raised before anybody could see them, and whoever put them in lowers it. */
ceni_shard *ceni_injector_put(ceni_injector *injector, const ceni_load *load, bool counted);

/* The same for one task from outside, quicker where nothing is unusual. False: it is refused. */
bool ceni_injector_put_task(ceni_injector *injector, cen_task *task);

/* What was counted has no more to do with the crew. */
void ceni_injector_leave(ceni_shard *shard);

/* Takes up to `most` of the first shard that has any, from `start` on; a fair part
 * for one of `workers`. Returns how many. */
uint32_t ceni_injector_take(ceni_injector *injector, uint32_t start, uint32_t workers, cen_job **out, uint32_t most);

/* The last look of one who lies down. */
bool ceni_injector_has_any(ceni_injector *injector);

/* Whether the calling thread's own shard has anything. What this thread put there is seen. */
bool ceni_injector_has_own(ceni_injector *injector);

/* Takes just that task out, if it is in this shard. */
bool ceni_injector_withdraw(ceni_injector *injector, uint32_t shard, cen_task *task);

/* From now on that is refused, and what was put in before is there to be seen. */
void ceni_injector_shut(ceni_injector *injector, ceni_shut what);

#endif
