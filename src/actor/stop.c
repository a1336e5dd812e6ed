/* SPDX-License-Identifier: MIT */
/*
 * The end of an actor.
 *
 *     open ──stop──▶ closed ──the stop comes to the front──▶ stop_seen ──the count is 0──▶ over ──free──▶ gone
 *
 * Stop closes the gate, mails what was told for later, and then goes through the
 * mailbox itself, as a job. A sender that was let in before may push after it; so
 * the turn that has seen the stop looks at the count after each message, and
 * whoever takes the last one out, or the stop itself, finds it 0 (A3 in actor.c).
 *
 * Invariants
 *  S1 `over` is written once, in a turn, with the count at 0 and the gate closed:
 *     no message is in the mailbox, none is on its way, none will come.
 *  S2 The future is told by that turn after it has given the turn up: after it
 *     rested, or has posted the next, for jobs. So whoever is told can free
 *     the actor, if it posts no jobs to it, without being refused.
 *  S3 stop_future is taken out under the mutex, by the turn or by a cancel: one of them.
 *
 * Order table
 * [S1] free | load of head | acquire | A3 in actor.c | all that turns have written | the memory goes while a turn still writes
 * [S2] stop | or on gate   | seq_cst | A4 A5 in actor.c | that nobody is let in any more | nothing alone: all changes are read-modify-writes; the push that follows carries it to the turn
 *
 * Tested by tests/unit/actor/stop_test.c, tests/explore/actor_test.c.
 */
#include "actor/internal.h"
#include "base/alloc.h"
#include "base/plant.h"
#include "record/events.h"
#include "sync/future.h"

#include <stddef.h>

void ceni_actor_note_stop(cen_job *job)
{
    cen_actor *actor = (cen_actor *)(void *)((char *)job - offsetof(cen_actor, stop));
    actor->stop_seen = true;
}

void ceni_actor_is_over(cen_actor *actor, cen_future **out)
{
    /* what was counted before the stop came with it; carries nothing */
    uint64_t gate = ceni_load_relaxed(&actor->gate);
    if (ceni_load_relaxed(&actor->over) || (gate & CENI_GATE_COUNT)) return; /* its own; carries nothing */
    ceni_store_relaxed(&actor->over, true);                                  /* passed on by head; carries nothing */
    ceni_actor_lock(actor);
    *out = actor->stop_future;
    actor->stop_future = NULL;
    ceni_actor_unlock(actor);
}

static bool withdraw(cen_future *future)
{
    cen_actor *actor = future->source_;
    ceni_actor_lock(actor);
    bool withdrawn = actor->stop_future == future;
    if (withdrawn) actor->stop_future = NULL;
    ceni_actor_unlock(actor);
    return withdrawn;
}

static cen_status close_gate_locked(cen_actor *actor, cen_stop how, cen_future *future)
{
    uint64_t drop = how == CEN_STOP_DROP ? CENI_GATE_DROP : 0;
    uint64_t gate = ceni_load_relaxed(&actor->gate); /* both marks are set under the mutex; carries nothing */
    if (gate & CENI_GATE_CLOSED) {
        if (!drop || (gate & CENI_GATE_DROP)) return CEN_CLOSED;
        if (future) return CEN_MISUSE;
        ceni_or_seq_cst(&actor->gate, drop); /* [S2] */
        return CEN_OK;
    }
    if (future) ceni_future_begin(future, withdraw, actor);
    actor->stop_future = future;
    ceni_or_seq_cst(&actor->gate, CENI_GATE_CLOSED | drop); /* [S2] */
    return CEN_OK;
}

cen_status cen_actor_stop(cen_actor *actor, cen_stop how, cen_future *future)
{
    if (!actor || (how != CEN_STOP_DRAIN && how != CEN_STOP_DROP)) return CEN_INVALID;
    if (!ceni_fork_is(actor->epoch)) return CEN_FORKED;
    if (future && !ceni_future_is_fresh(future)) return CEN_MISUSE;
    ceni_actor_lock(actor);
    bool first = !(ceni_load_relaxed(&actor->gate) & CENI_GATE_CLOSED); /* set under the mutex; carries nothing */
    cen_status status = close_gate_locked(actor, how, future);
    cen_job *later = first ? ceni_later_take_all_locked(actor) : NULL;
    ceni_actor_unlock(actor);
    if (!first) return status;
    const char *drains = "It handles what was sent, and then no more.",
               *drops = "It drops what was sent and is not being handled.";
    ceni_event_tell(CEN_LEVEL_DETAIL, CEN_EVENT_STOPPED, &actor->entry, 0, how == CEN_STOP_DROP ? drops : drains);
    /* Each is counted: it is not over before the last is there, and the stop. */
    for (cen_job *next; later; later = next) {
        next = later->next;
        ceni_actor_mail(actor, CENI_MESSAGE_OF_JOB(later));
    }
    ceni_actor_push(actor, &actor->stop);
    return CEN_OK;
}

static void release(cen_actor *actor)
{
    cen_runtime *runtime = actor->runtime;
    ceni_free(actor->allocator, actor, sizeof *actor, _Alignof(cen_actor));
    ceni_runtime_leave(runtime);
}

cen_status cen_actor_free(cen_actor *actor)
{
    if (!actor) return CEN_OK;
    if (ceni_fork_is(actor->epoch)) {
        bool sleeps = ceni_load_acquire(&actor->head) == CENI_HEAD_SLEEPS; /* [S1] */
        if (!sleeps || !ceni_load_relaxed(&actor->over)) return CEN_BUSY;  /* passed on by head; carries nothing */
        if (!ceni_watch_fini(actor)) return CEN_BUSY;
        ceni_directory_leave(ceni_directory_process(), &actor->entry);
    }
    release(actor);
    return CEN_OK;
}
