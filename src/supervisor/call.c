/* SPDX-License-Identifier: MIT */
/*
 * Calling the steward (steward.c): a thread that has noted a change makes sure that a steward sees it (D1 there). And hands,
 * the last of which frees the memory.
 *
 * Tested by tests/unit/supervisor/, tests/explore/supervisor_test.c.
 */
#include "supervisor/internal.h"

bool ceni_steward_call_locked(cen_supervisor *supervisor)
{
    if (supervisor->at_work || supervisor->phase == CENI_PHASE_NEW || supervisor->phase == CENI_PHASE_OVER)
        return false;
    supervisor->at_work = true;
    supervisor->hands++;
    return true;
}

void ceni_steward_post(cen_supervisor *supervisor)
{
    cen_executor *executor = cen_runtime_executor(supervisor->runtime);
    executor->post(executor, &supervisor->job);
}

void ceni_steward_unlock(cen_supervisor *supervisor)
{
    bool post = ceni_steward_call_locked(supervisor);
    ceni_supervisor_unlock(supervisor);
    if (post) ceni_steward_post(supervisor);
}

void ceni_supervisor_drop_hand_and_unlock(cen_supervisor *supervisor, bool is_lost)
{
    bool post = ceni_steward_call_locked(supervisor);
    supervisor->hands--;
    if (is_lost) supervisor->lost--;
    bool last = supervisor->is_freed && supervisor->hands == 0;
    ceni_supervisor_unlock(supervisor);
    if (post) ceni_steward_post(supervisor);
    if (last) ceni_supervisor_release(supervisor);
}
