/* SPDX-License-Identifier: MIT */
/*
 * Groups: a future over other futures.
 *
 * A group is the executor of its members: a completed member posts its job to the group, which counts it instead of
 * running it. So a member needs no memory for the group. A member that was completed before joins in the same way.
 *
 * Invariants
 *  G1 Each member tells the group once, or is released before it does. Both change its
 *     state from ARMED, so one of them is first.
 *  G2 `missing_` counts the members for which neither has finished. The
 *     decrement is the last access to the group. leave waits until it is 0.
 *  G3 group->future is completed once: by the member that set `first_` (any), or that
 *     took the last of `undone_` (all).
 *
 * A consumer whose job runs inline must not run before the decrement: it may leave the group, and leave waits for the
 * decrement. So telling opens a record for inline jobs, which run after it.
 *
 * Order table
 * [G1] tell  | sub of undone_     | seq_cst | G1 of another member | its result and first_, to the last member | the last member passes on a half-written result
 * [G2] tell  | sub of missing_    | seq_cst | G3 | that the member has stopped touching the group | leave returns too early
 * [G3] leave | load of missing_   | acquire | G2 | likewise | likewise
 * [G4] attach | cas of a member's state | acq_rel | F1 in future.c | the group's fields, to the member; its result, if it is done | a member tells a half-initialised group (plain memory: found by ThreadSanitizer in the stress test)
 */
#include "base/atomic.h"
#include "base/plant.h"
#include "sync/backoff.h"
#include "sync/future.h"

#include <stddef.h>

static void complete(cen_group *group, cen_future *member, cen_status status)
{
    group->future.status = status;
    group->future.code = status != CEN_OK ? member->code : 0;
    group->future.value = member;
    ceni_future_complete(&group->future);
}

static void count_any(cen_group *group, cen_future *member)
{
    cen_future *none = NULL;
    /* the cas decides which is first; carries nothing */
    bool first = ceni_cas_relaxed(&group->first_, &none, member);
    if (first || ceni_planted(any_of_completes_twice)) complete(group, member, CEN_OK);
}

static void count_all(cen_group *group, cen_future *member)
{
    cen_future *none = NULL;
    /* ordered by [G1]; carries nothing */
    if (member->status != CEN_OK) ceni_cas_relaxed(&group->first_, &none, member);
    if (ceni_sub_seq_cst(&group->undone_, 1) != 1) return;  /* [G1] */
    cen_future *failed = ceni_load_relaxed(&group->first_); /* written before the last count; carries nothing */
    complete(group, failed, failed ? failed->status : CEN_OK);
}

/* A member is done. The group is its only consumer. */
static void told(cen_executor *executor, cen_job *job)
{
    cen_group *group = (cen_group *)(void *)((char *)executor - offsetof(cen_group, executor_));
    cen_future *member = (cen_future *)(void *)((char *)job - offsetof(cen_future, job_));
    ceni_inline_run here;
    ceni_inline_begin(&here);
    if (group->any_) count_any(group, member);
    else count_all(group, member);
    ceni_sub_seq_cst(&group->missing_, 1); /* [G2] */
    ceni_inline_end(&here);
}

static void attach(cen_group *group, cen_future *member)
{
    uint32_t pending = CENI_FUTURE_PENDING;
    if (ceni_cas_acq_rel(&member->state_, &pending, (uint32_t)CENI_FUTURE_ARMED)) return; /* [G4] */
    if (pending == CENI_FUTURE_DONE) told(&group->executor_, &member->job_);
}

static void let_go(cen_group *group)
{
    ceni_backoff backoff = {0};
    for (size_t i = 0; i < group->count_; i++) {
        uint32_t armed = CENI_FUTURE_ARMED, pending = CENI_FUTURE_PENDING;
        /* A released member has not touched the group, and the others are awaited below; carries nothing. */
        bool left = ceni_cas_relaxed(&group->members_[i]->state_, &armed, pending);
        if (left || armed == CENI_FUTURE_FRESH || armed == CENI_FUTURE_GIVEN_UP)
            ceni_sub_relaxed(&group->missing_, 1); /* our own; carries nothing */
    }
    while (ceni_load_acquire(&group->missing_) != 0 && !ceni_planted(group_left_early)) /* [G3] */
        ceni_backoff_wait(&backoff);
    for (size_t i = 0; i < group->count_ && !ceni_planted(group_keeps_members); i++)
        group->members_[i]->executor_ = NULL;
    group->count_ = 0;
}

void cen_group_leave(cen_group *group)
{
    if (!group) return;
    let_go(group);
    if (cen_future_is_done(&group->future)) return;
    /* No member touches it any longer; carries nothing. */
    ceni_store_relaxed(&group->future.state_, (uint32_t)CENI_FUTURE_GIVEN_UP);
}

static bool withdraw(cen_future *future)
{
    let_go(future->source_);
    return !cen_future_is_done(future);
}

bool ceni_future_is_group(const cen_future *future)
{
    return future->withdraw_ == withdraw;
}

static bool is_free(const cen_future *member)
{
    /* called by its consumer; carries nothing */
    uint32_t state = ceni_load_relaxed(&((cen_future *)(uintptr_t)member)->state_);
    return !member->executor_ && state != CENI_FUTURE_PARKED && state != CENI_FUTURE_GIVEN_UP;
}

/* Make the group the consumer of all members, or of none. No member tells the group before attach, so the group
 * itself need not be initialised yet. */
static cen_status enlist(cen_group *group, cen_future *const members[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cen_status status = CEN_OK;
        /* NULL, or the same member twice */
        if (!members[i] || members[i]->executor_ == &group->executor_) status = CEN_INVALID;
        else if (!is_free(members[i])) status = CEN_MISUSE;
        if (status == CEN_OK) {
            members[i]->executor_ = &group->executor_;
            continue;
        }
        while (i-- > 0) members[i]->executor_ = NULL;
        return status;
    }
    return CEN_OK;
}

static cen_status gather(cen_group *group, cen_future *const members[], size_t count, bool any)
{
    if (!group || !members || count == 0) return CEN_INVALID;
    cen_status status = enlist(group, members, count);
    if (status != CEN_OK) return status;
    *group = (cen_group){.members_ = members, .count_ = count, .missing_ = count, .undone_ = count, .any_ = any};
    group->executor_.post = told;
    cen_future_init(&group->future);
    ceni_future_begin(&group->future, withdraw, group);
    for (size_t i = 0; i < count; i++) attach(group, members[i]);
    return CEN_OK;
}

cen_status cen_any_of(cen_group *group, cen_future *const members[], size_t count)
{
    return gather(group, members, count, true);
}

cen_status cen_all_of(cen_group *group, cen_future *const members[], size_t count)
{
    return gather(group, members, count, false);
}
