/* SPDX-License-Identifier: MIT */
/*
 * Waiting for the steward.
 *
 * A waiting thread counts itself and sleeps on `turns`, a futex word that is changed under the mutex and is relaxed: a
 * woken thread takes the mutex before it acts. In a manual runtime it runs what is due there meanwhile. Deadlines are
 * moments of the runtime's clock, so a virtual one is only compared, never slept until.
 *
 * Tested by tests/unit/supervisor/life_test.c, limit_test.c, tests/explore/supervisor_test.c.
 */
#include "port/deadline.h"
#include "supervisor/internal.h"

static uint32_t turn_of(cen_supervisor *supervisor)
{
    return ceni_load_relaxed(&supervisor->turns); /* written under the mutex, which is held; carries nothing */
}

void ceni_supervisor_turn_locked(cen_supervisor *supervisor)
{
    if (supervisor->waiters == 0) return;
    ceni_store_relaxed(&supervisor->turns, turn_of(supervisor) + 1); /* woken threads lock; carries nothing */
    ceni_futex_wake(&supervisor->turns, UINT32_MAX);
}

int64_t ceni_wait_moment(const cen_supervisor *supervisor, cen_deadline deadline)
{
    return ceni_deadline_moment(ceni_deadline_or(deadline, CEN_NEVER), ceni_runtime_now(supervisor->runtime));
}

bool ceni_wait_locked(cen_supervisor *supervisor, int64_t moment)
{
    cen_runtime *runtime = supervisor->runtime;
    if (moment != CENI_FOREVER && ceni_runtime_now(runtime) >= moment) return false;
    uint32_t seen = turn_of(supervisor);
    supervisor->waiters++;
    ceni_supervisor_unlock(supervisor);
    int64_t until = ceni_runtime_tend(runtime);
    if (!ceni_runtime_is_virtual(runtime) && moment < until) until = moment;
    ceni_futex_wait(&supervisor->turns, seen, until);
    ceni_supervisor_lock(supervisor);
    supervisor->waiters--;
    return true;
}

bool ceni_is_steward_locked(const cen_supervisor *supervisor)
{
    return supervisor->steward == ceni_thread_id();
}
