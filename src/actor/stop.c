/* SPDX-License-Identifier: MIT */
/*
 * Stopping and freeing an actor.
 *
 *     open ──stop──▶ closed ──the stop reaches the front──▶ stop_seen ──the count is 0──▶ over ──free──▶ gone
 *
 * Stop closes the gate, mails the delayed messages, and then goes through the mailbox itself, as a job. A sender that
 * was admitted before may push after it. So the turn that has seen the stop checks the count after each message, and
 * after the last one, or after the stop itself, finds it 0 (A3 in actor.c).
 *
 * Invariants
 *  S1 `over` is written once, in a turn, with the count at 0 and the gate closed: no message is in the mailbox, none is
 *     on its way, none will come.
 *  S2 That turn completes the future after it was given up: after it rested, or has posted the next turn, for jobs. So
 *     the future's consumer can free the actor without getting BUSY, if no jobs are posted to it.
 *  S3 stop_future is taken out under the mutex, by the turn or by a cancel: by one of them.
 *
 * Order table
 * [S1] free | load of head | acquire | A3 in actor.c | all that turns have written | the memory goes while a turn still writes
 * [S2] stop | or on gate   | seq_cst | A4 A5 in actor.c | that no message is admitted from here on | nothing alone: all changes are read-modify-writes; the push that follows carries it to the turn
 *
 * Tested by tests/unit/actor/stop_test.c, tests/explore/actor_test.c.
 */
#include "actor/internal.h"
#include "base/alloc.h"
#include "base/error.h"
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
    /* ordered by the stop's way through the mailbox; carries nothing */
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

static cen_status refuse_second(const cen_actor *actor, cen_status status, cen_error *error)
{
    if (status == CEN_OK) return status;
    const char *text = status == CEN_MISUSE ? "a second stop takes no future; use the future of the first stop"
                                            : "it has already been stopped";
    return ceni_actor_refuse(actor, status, text, error);
}

cen_status cen_actor_stop(cen_actor *actor, cen_stop how, cen_future *future, cen_error *error)
{
    if (!actor) return ceni_error_set(error, CEN_INVALID, 0, "the actor is NULL");
    if (how != CEN_STOP_DRAIN && how != CEN_STOP_DROP)
        return ceni_actor_refuse(actor, CEN_INVALID, "how must be CEN_STOP_DRAIN or CEN_STOP_DROP", error);
    if (!ceni_fork_is(actor->epoch))
        return ceni_actor_refuse(actor, CEN_FORKED, "it belongs to the parent process", error);
    if (future && !ceni_future_is_fresh(future))
        return ceni_actor_refuse(actor, CEN_MISUSE,
                                 "the future has been used before; cen_future_init makes it ready again", error);
    ceni_actor_lock(actor);
    bool first = !(ceni_load_relaxed(&actor->gate) & CENI_GATE_CLOSED); /* set under the mutex; carries nothing */
    cen_status status = close_gate_locked(actor, how, future);
    cen_job *later = first ? ceni_later_take_all_locked(actor) : NULL;
    ceni_actor_unlock(actor);
    if (!first) return refuse_second(actor, status, error);
    const char *drains = "stopping; messages sent before are handled",
               *drops = "stopping; messages not being handled are dropped";
    ceni_event_tell(CEN_LEVEL_DETAIL, CEN_EVENT_STOPPED, &actor->entry, 0, how == CEN_STOP_DROP ? drops : drains);
    /* Each is counted, so the actor is not over before the last of them and the stop were taken out. */
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
