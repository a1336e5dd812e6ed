/* SPDX-License-Identifier: MIT */
/*
 * Blocking sections: a worker that is about to block is not counted as active, so another may run meanwhile.
 *
 * Tested by tests/unit/crew/threads_test.c.
 */
#include "base/plant.h"
#include "crew/internal.h"

static void open_section(ceni_worker *worker)
{
    ceni_core *core = worker->core;
    ceni_core_lock(core);
    core->blocked++;
    worker->is_blocked = true;
    core->active--;
    core->starts_barred = false;
    ceni_update_locked(core, 0);
    ceni_core_unlock(core);
    if (!ceni_planted(crew_blocks_in_silence)) ceni_call_for_work(core);
}

static void close_section(ceni_worker *worker)
{
    ceni_core *core = worker->core;
    ceni_core_lock(core);
    core->blocked--;
    worker->is_blocked = false;
    core->active++;
    ceni_update_locked(core, 0);
    ceni_core_unlock(core);
}

/* NULL also in a child that a step has forked: the crew's threads are not there. */
static ceni_worker *worker_here(void)
{
    ceni_worker *worker = ceni_worker_here();
    return worker && ceni_fork_is(worker->core->epoch) ? worker : NULL;
}

void cen_blocking_begin(void)
{
    ceni_worker *worker = worker_here();
    if (worker && worker->blocking++ == 0) open_section(worker);
}

void cen_blocking_end(void)
{
    ceni_worker *worker = worker_here();
    if (worker && worker->blocking > 0 && --worker->blocking == 0) close_section(worker);
}

void ceni_close_sections(ceni_worker *worker)
{
    if (worker->blocking == 0) return;
    worker->blocking = 0;
    close_section(worker);
}
