/* SPDX-License-Identifier: MIT */
/*
 * Where a worker looks for a job, and in which order.
 *
 * It looks in its own deque, then in the injector, then in the other workers' deques, from a random one on. Every 61st
 * time it moves some of the injector's jobs behind those of its deque, so that tasks that keep submitting or yielding
 * inside do not starve tasks from outside. Of a batch it runs the first job. The others go to its own deque, from which
 * other workers steal. A job that is alone in another worker's deque is stolen at the second look. Otherwise a chain of
 * tasks, each of which submits the next, would move from worker to worker, and its cache lines with it.
 *
 * Order of one worker. A crew of one worker begins the tasks of one submitter in submission order. A submitter is a
 * thread, or a task.
 *  Q1 The deque is FIFO: its owner takes the oldest job. Everything in it was submitted before what the same submitter
 *     has in the injector.
 *  Q2 A job that leaves the injector goes behind all jobs of the deque, or runs when the deque is empty.
 *  Q3 A thread's tasks are in one shard, which is FIFO (injector.c).
 *  Q4 A worker whose deque was full has put new tasks into its shard. Until that shard is empty its next ones go there
 *     too (is_spilling).
 * The naive turn runs the first job of an injector batch at once, before up to 31 older tasks that the batch before has
 * left in the deque.
 *
 * Order table
 * [W1] look | load of seats | seq_cst | T1 in seats.c | which deques there are | see T1
 *
 * Tested by tests/unit/crew, tests/stress/crew_stress.c.
 */
#include "base/plant.h"
#include "crew/internal.h"

enum { INJECTOR_TURN = 61, STEAL_MOST = 16 };

/* Prefetch a job, which another processor has written most of the time. Of a task: the end of its future, the fields
 * that every step uses, and the program's data behind it. */
static void fetch(const cen_job *job)
{
    const char *line = (const char *)job;
    ceni_fetch_to_write(line - 64);
    ceni_fetch_to_write(line);
    ceni_fetch_to_write(line + sizeof(cen_task) - offsetof(cen_task, job_));
}

/* Return the first. The others go to the deque, and another worker is called for them. */
static cen_job *keep(ceni_worker *worker, cen_job **jobs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) fetch(jobs[i]);
    if (count > 1) {
        ceni_deque_push_all(&worker->deque, jobs + 1, count - 1);
        ceni_call_one(worker->core);
    }
    return jobs[0];
}

static uint32_t take_from_injector(ceni_worker *worker, cen_job **jobs, uint32_t room)
{
    ceni_core *core = worker->core;
    uint32_t most = room < CENI_BATCH ? room : CENI_BATCH;
    uint32_t workers = ceni_load_relaxed(&core->workers_guess); /* how many share it; carries nothing */
    return ceni_injector_take(&core->injector, worker->number + worker->takes++, workers, jobs, most);
}

static void look_whether_it_spills(ceni_worker *worker)
{
    if (worker->is_spilling) worker->is_spilling = ceni_injector_has_own(&worker->core->injector); /* Q4 */
}

/* These three are separate functions, so that a worker that finds a job in its own deque does not pay for their
 * registers. */
static __attribute__((noinline)) cen_job *from_injector(ceni_worker *worker)
{
    cen_job *jobs[CENI_BATCH];
    uint32_t got = take_from_injector(worker, jobs, ceni_deque_room(&worker->deque) + 1);
    cen_job *job = got > 0 ? keep(worker, jobs, got) : NULL;
    look_whether_it_spills(worker);
    return job;
}

/* The injector's turn: some of it goes behind what the deque has (Q2). The deque's oldest is taken first, so there is
 * room. */
static __attribute__((noinline)) cen_job *take_turn(ceni_worker *worker)
{
    cen_job *jobs[CENI_BATCH], *job = ceni_planted(crew_runs_the_newest_first) ? NULL : ceni_deque_pop(&worker->deque);
    if (!job) return from_injector(worker);
    uint32_t got = take_from_injector(worker, jobs, ceni_deque_room(&worker->deque));
    for (uint32_t i = 0; i < got; i++) fetch(jobs[i]);
    if (got > 0) {
        ceni_deque_push_all(&worker->deque, jobs, got);
        ceni_call_one(worker->core);
    }
    look_whether_it_spills(worker);
    return job;
}

/* True: the victim has one job, which was not alone at this worker's last look. Its owner soon takes it, most of the
 * time. So it is left, and noted. If it is still there at the next look, the owner is busy, and it is stolen, however
 * many other lone jobs there are. */
static bool is_new_and_lone(const ceni_worker *worker, ceni_worker *victim, ceni_lone *seen)
{
    uint32_t head;
    if (ceni_deque_span(&victim->deque, &head) != 1) return false;
    if (worker->lone.victim == victim && worker->lone.cell == head) return false;
    if (!ceni_planted(crew_leaves_the_lone)) *seen = (ceni_lone){victim, head};
    return true;
}

static __attribute__((noinline)) cen_job *steal(ceni_worker *worker)
{
    ceni_core *core = worker->core;
    uint32_t seats = ceni_load_seq_cst(&core->seats); /* [W1] */
    if (seats < 2) return NULL;
    uint32_t start = (uint32_t)(ceni_random() >> 32) % seats;
    ceni_lone seen = {0};
    for (uint32_t i = 0; i < seats; i++) {
        ceni_worker *victim = ceni_worker_at(core, (start + i) % seats);
        if (victim == worker) continue;
        cen_job *jobs[STEAL_MOST];
        if (is_new_and_lone(worker, victim, &seen)) continue;
        uint32_t got = ceni_deque_steal(&victim->deque, jobs, STEAL_MOST);
        if (got == 0) continue;
        /* Its own counter; carries nothing. */
        ceni_store_relaxed(&worker->stolen, ceni_load_relaxed(&worker->stolen) + got);
        return keep(worker, jobs, got);
    }
    worker->lone = seen;
    return NULL;
}

cen_job *ceni_worker_find(ceni_worker *worker)
{
    cen_job *job = NULL;
    if (__builtin_expect(worker->turn-- == 0, 0)) {
        worker->turn = INJECTOR_TURN - 1;
        job = take_turn(worker);
    }
    if (!job) job = ceni_deque_pop(&worker->deque);
    if (!job) job = from_injector(worker);
    if (!job) job = steal(worker);
    return job;
}

bool ceni_work_is_visible(ceni_core *core)
{
    if (ceni_injector_has_any(&core->injector)) return true;
    uint32_t seats = ceni_load_seq_cst(&core->seats); /* [W1] */
    for (uint32_t i = 0; i < seats; i++)
        if (ceni_deque_has_any(&ceni_worker_at(core, i)->deque)) return true;
    return false;
}

void ceni_call_for_work(ceni_core *core)
{
    if (ceni_work_is_visible(core)) ceni_call_one(core);
}
