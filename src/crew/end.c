/* SPDX-License-Identifier: MIT */
/*
 * The end of all tasks: how it is noticed, and what it does.
 *
 * Invariants
 *  S1 Once outsiders are shut out, a task comes in only while another is inside, and is counted in before that one is
 *     counted out. A thread that reads all counts out, then all counts in, and finds the sums equal, has found a moment
 *     with no task inside. None comes in after that.
 *  S2 `over` is set when all shards are sealed (CENI_SHUT_ALL). From then on workers look until they find nothing, and
 *     end. A later job goes to the process's own runtime.
 *  S3 A thread that is not a worker and queued a task, because a future was done, is counted in its shard until its
 *     last touch of the crew.
 *
 * The naive end counts live tasks in one word, which every submit and every end changes. That cache line then moves
 * between processors all the time, which costs more than all the rest.
 *
 * Order table
 * [S1] count | load of the outs | acquire | K4 in task.c | that those tasks were counted in, and belong to the program | a task whose future is being completed counts as ended
 *
 * Tested by tests/unit/crew/stop_test.c, tests/explore/crew_stop_test.c.
 */
#include "base/plant.h"
#include "crew/internal.h"

/* ---- Counting ------------------------------------------------------------------------------ */

static uint64_t read_count(_Atomic uint64_t *counter)
{
    return ceni_load_relaxed(counter); /* a number, or ordered by S1; carries nothing */
}

uint64_t ceni_tasks_out_locked(ceni_core *core)
{
    uint64_t out = core->out_elsewhere;
    uint32_t seats = ceni_setting(&core->seats);
    for (uint32_t i = 0; i < seats; i++) out += ceni_load_acquire(&ceni_worker_at(core, i)->tasks_out); /* [S1] */
    return out;
}

static uint64_t tasks_in(ceni_core *core)
{
    uint64_t in = 0;
    uint32_t seats = ceni_setting(&core->seats);
    for (uint32_t i = 0; i < core->injector.count; i++) in += read_count(&core->injector.shards[i].tasks);
    for (uint32_t i = 0; i < seats; i++) in += read_count(&ceni_worker_at(core, i)->tasks_in);
    return in;
}

uint64_t ceni_live_locked(ceni_core *core)
{
    uint64_t early = ceni_planted(crew_counts_ins_first) ? tasks_in(core) : 0;
    uint64_t out = ceni_tasks_out_locked(core); /* first: S1 */
    return (early ? early : tasks_in(core)) - out;
}

/* Count this worker's tasks that are in cen_crew_stop, and those below them: no task's stop waits for them. Return the
 * number that was counted before. */
uint32_t ceni_count_stopping(ceni_worker *worker, uint32_t tasks)
{
    ceni_core *core = worker->core;
    ceni_core_lock(core);
    uint32_t before = worker->stopping;
    worker->stopping = tasks;
    core->stopping += tasks - before;
    ceni_turn_locked(core);
    ceni_core_unlock(core);
    return before;
}

void ceni_stop_abandon(ceni_worker *worker)
{
    if (worker->stopping) ceni_count_stopping(worker, 0);
}

/* ---- The end --------------------------------------------------------------------------------- */

void ceni_make_over(ceni_core *core)
{
    ceni_injector_shut(&core->injector, CENI_SHUT_ALL);
    ceni_core_lock(core);
    bool first = !core->over;
    core->over = true;
    ceni_update_locked(core, 0);
    ceni_sleepers_nudge_locked(core);
    ceni_core_unlock(core);
    if (first) ceni_clocks_stop(core);
}

bool ceni_look_for_the_end_locked(ceni_core *core)
{
    if (ceni_load_relaxed(&core->closing) == 0) return false; /* written under the mutex; carries nothing */
    ceni_turn_locked(core);
    return core->ends_itself && !core->over && ceni_live_locked(core) == 0;
}

/* The thread that counts the last task out may be no worker. `alarms` keeps the crew until it has set `over`. */
void ceni_count_out_elsewhere(ceni_core *core, ceni_out how)
{
    ceni_core_lock(core);
    core->out_elsewhere++;
    core->dropped += how != CENI_OUT_ENDED;
    core->dropped_suspended += how == CENI_OUT_DROPPED_SUSPENDED;
    ceni_turn_locked(core);
    bool ends = ceni_look_for_the_end_locked(core) && !ceni_planted(crew_cancel_leaves_it_open);
    core->alarms += ends;
    ceni_core_unlock(core);
    if (!ends) return;
    ceni_make_over(core);
    ceni_core_lock(core);
    core->alarms--;
    ceni_turn_locked(core);
    ceni_core_unlock(core);
}

void ceni_look_for_the_end(ceni_core *core)
{
    ceni_core_lock(core);
    bool ends = ceni_look_for_the_end_locked(core);
    ceni_core_unlock(core);
    if (ends) ceni_make_over(core);
}

void ceni_post_elsewhere(cen_job *job)
{
    cen_executor *own = cen_runtime_executor(NULL);
    own->post(own, job);
}
