/* SPDX-License-Identifier: MIT */
/*
 * The mailbox of an actor, and its turns.
 *
 *     head: SLEEPS ──push──▶ job ▶ job ▶ ...     the sender that finds SLEEPS posts the turn
 *           EMPTY ───push──▶ job ▶ ...           a turn is under way: it will look
 *           jobs ────fetch─▶ EMPTY               the turn takes all, and reverses them
 *           EMPTY ───rest──▶ SLEEPS              the turn ends
 *
 *     message: FREE ──admit, push──▶ MAILED ──taken out──▶ FREE, and handled
 *                                                        ▶ ASKED ──answered──▶ FREE
 *                                                                ──kept──▶ KEPT ──answered──▶ FREE
 *              FREE ──later──▶ LATER ──due, or stop──▶ MAILED          (later.c)
 *
 * Invariants
 *  A1 The turn is posted or under way if and only if head is not SLEEPS. One push moves head away from SLEEPS, and its
 *     thread posts the turn. Otherwise only the turn itself posts a turn. So there is one turn at a time.
 *  A2 A job is in the stack from the cas of its push until the exchange of one fetch, then in `ready` until it is run.
 *     A turn rests only from EMPTY, by a cas, with nothing ready. A push before that cas is taken by this turn, and a
 *     push after it finds SLEEPS.
 *  A3 The count in gate is that of messages admitted and not taken out. It is never more than the capacity, and not
 *     raised once CLOSED is set, since both are in one word. So when the stop has reached the front and the count is 0,
 *     the last message is over.
 *  A4 From push on, a sender touches nothing but what A1 gives it: if it found SLEEPS, there is no turn, and the actor
 *     exists until this sender has posted one.
 *  A5 What a turn needs of a message after it has entered the handler is in the actor. A request that is `unanswered`
 *     must still exist.
 *
 * The naive mailbox has a flag "scheduled" beside the queue. The turn finds the queue empty, a sender adds a message
 * and sees the flag still set, the turn clears it, and the message stays there until the next one. Here both are one
 * word.
 *
 * The naive capacity adds first and subtracts what was too much. Meanwhile another sender gets FULL although there is
 * room.
 *
 * Progress: a push is lock-free. Its cas fails only because another push, or the turn, has succeeded.
 *
 * Order table
 * [A1] push  | cas of head      | acq_rel | A2 A3, each other | the job's bytes; from the turn that rested, what it has written | the turn reads a half-written message; the next turn does not see what the last one left
 * [A2] fetch | exchange of head | acquire | A1 | the jobs' bytes | likewise
 * [A3] rest  | cas of head      | acq_rel | A1, S1 in stop.c | what the turn has written, to the next, or to free | likewise; free frees under a turn
 * [A4] admit | cas of gate      | acq_rel | A5, S2 in stop.c | that the message before has left its place | nothing alone, all changes are read-modify-writes; kept so that an admitted sender sees what a handler did before the next message was taken out
 * [A5] take  | sub from gate    | seq_cst | A4 | the same | the same
 *
 * Tested by tests/unit/actor, tests/explore/actor_test.c, tests/stress/actor_stress.c, tests/planted.
 */
#include "base/error.h"
#include "base/plant.h"
#include "actor/internal.h"
#include "sync/future.h"

#include <stddef.h>

/* ---- The mailbox -------------------------------------------------------------------- */

static void post_turn(cen_actor *actor)
{
    ceni_rank_expect_none("the executor of an actor");
    actor->target->post(actor->target, &actor->turn);
}

void ceni_actor_push(cen_actor *actor, cen_job *job)
{
    uintptr_t before = ceni_load_relaxed(&actor->head); /* a guess for the cas; carries nothing */
    do job->next = before > CENI_HEAD_EMPTY ? (cen_job *)before : NULL;
    while (!ceni_cas_acq_rel(&actor->head, &before, (uintptr_t)job)); /* [A1] */
    if (before == CENI_HEAD_SLEEPS || (before == CENI_HEAD_EMPTY && ceni_planted(actor_takes_two_turns)))
        post_turn(actor);
}

/* Called in a turn with nothing ready. False: the mailbox is empty and the actor sleeps. Another turn may have begun by
 * then, and the actor may be gone. */
static bool fetch(cen_actor *actor)
{
    uintptr_t word = CENI_HEAD_EMPTY;
    if (ceni_planted(actor_sleeps_beside_a_message) && ceni_load_acquire(&actor->head) == CENI_HEAD_EMPTY) { /* [A2] */
        ceni_exchange_acq_rel(&actor->head, (uintptr_t)CENI_HEAD_SLEEPS);                                    /* [A3] */
        return false;
    }
    if (ceni_cas_acq_rel(&actor->head, &word, (uintptr_t)CENI_HEAD_SLEEPS)) return false; /* [A3] */
    word = ceni_exchange_acquire(&actor->head, (uintptr_t)CENI_HEAD_EMPTY);               /* [A2] */
    cen_job *job = (cen_job *)word, *turned = NULL;
    do {
        cen_job *next = job->next;
        job->next = turned;
        turned = job;
        job = next;
    } while (job);
    actor->ready = turned;
    return true;
}

/* ---- Sending -------------------------------------------------------------------------- */

cen_status ceni_actor_check(const cen_actor *actor, const cen_message *message)
{
    if (!actor || !message) return CEN_INVALID;
    if (!ceni_fork_is(actor->epoch)) return CEN_FORKED;
    return ceni_message_state(message) == CENI_MESSAGE_FREE ? CEN_OK : CEN_MISUSE;
}

cen_status ceni_actor_admit(cen_actor *actor)
{
    uint64_t gate = ceni_load_relaxed(&actor->gate); /* a guess for the cas; carries nothing */
    do {
        if (gate & CENI_GATE_CLOSED) return CEN_CLOSED;
        if (gate >= actor->capacity) return CEN_FULL;
        if (ceni_planted(actor_admits_without_asking)) {
            ceni_add_acq_rel(&actor->gate, 1); /* [A4] */
            return CEN_OK;
        }
    } while (!ceni_cas_acq_rel(&actor->gate, &gate, gate + 1)); /* [A4] */
    return CEN_OK;
}

static void run_message(cen_job *job);

void ceni_actor_mail(cen_actor *actor, cen_message *message)
{
    message->job_.run = run_message;
    ceni_message_set(message, CENI_MESSAGE_MAILED);
    ceni_actor_push(actor, &message->job_);
}

void cen_message_init(cen_message *message, const char *name)
{
    if (message) *message = (cen_message){.name = name};
}

cen_status cen_actor_tell(cen_actor *actor, cen_message *message, cen_error *error)
{
    cen_status status = ceni_actor_check(actor, message);
    if (status == CEN_OK) status = ceni_actor_admit(actor);
    if (status != CEN_OK) return ceni_actor_refuse_message(actor, message, status, error);
    message->actor_ = actor;
    message->asked_ = false;
    ceni_actor_mail(actor, message);
    return CEN_OK;
}

cen_status cen_actor_ask(cen_actor *actor, cen_message *message, cen_future *future, cen_error *error)
{
    cen_status status = ceni_actor_check(actor, message);
    if (status == CEN_OK && !future) return ceni_actor_refuse(actor, CEN_INVALID, "the future is NULL", error);
    if (status == CEN_OK && !ceni_future_is_fresh(future)) status = CEN_MISUSE;
    if (status == CEN_OK) status = ceni_actor_admit(actor);
    if (status != CEN_OK) return ceni_actor_refuse_message(actor, message, status, error);
    message->actor_ = actor;
    message->asked_ = true;
    cen_promise_init(&message->promise_, future);
    ceni_actor_mail(actor, message);
    return CEN_OK;
}

static void post(cen_executor *executor, cen_job *job)
{
    cen_actor *actor = (cen_actor *)(void *)executor;
    if (ceni_fork_is(actor->epoch)) {
        ceni_actor_push(actor, job);
    } else {
        cen_executor *own = cen_runtime_executor(NULL);
        own->post(own, job);
    }
}

cen_executor *cen_actor_executor(cen_actor *actor)
{
    return actor ? &actor->executor : NULL;
}

/* ---- Replying --------------------------------------------------------------------------- */

static bool begin_answer(cen_message *message)
{
    uint32_t state = message ? ceni_message_state(message) : CENI_MESSAGE_FREE;
    if (state == CENI_MESSAGE_ASKED) message->actor_->unanswered = NULL;
    else if (state != CENI_MESSAGE_KEPT) return false;
    ceni_message_set(message, CENI_MESSAGE_FREE); /* before its future is done: then it may be the sender's */
    return true;
}

bool cen_message_reply(cen_message *message, void *value)
{
    return begin_answer(message) && cen_promise_complete(&message->promise_, value);
}

bool cen_message_fail(cen_message *message, const cen_error *error)
{
    return begin_answer(message) && cen_promise_fail(&message->promise_, error);
}

bool cen_message_keep(cen_message *message)
{
    if (!message || ceni_message_state(message) != CENI_MESSAGE_ASKED) return false;
    message->actor_->unanswered = NULL;
    ceni_message_set(message, CENI_MESSAGE_KEPT);
    return true;
}

bool cen_message_is_wanted(const cen_message *message)
{
    return message && message->asked_ && cen_promise_is_wanted(&message->promise_);
}

static void fail_forgotten(cen_actor *actor, const char *name)
{
    cen_error error = {0};
    ceni_error_set(&error, CEN_MISUSE, 0, "actor \"%s\": the handler returned without a reply to %s", actor->name,
                   name ? name : "a message");
    if (!ceni_planted(actor_forgets_to_answer)) cen_message_fail(actor->unanswered, &error);
}

/* ---- A turn ------------------------------------------------------------------------------- */

static void count_one(_Atomic uint64_t *counter)
{
    ceni_store_relaxed(counter, ceni_load_relaxed(counter) + 1); /* only the turn writes it; carries nothing */
}

static void begin_call(cen_actor *actor, const char *name)
{
    ceni_store_relaxed(&actor->running, true); /* for statistics; carries nothing */
    ceni_watch_begin(actor, name);
}

static void end_call(cen_actor *actor)
{
    ceni_watch_end(actor);
    ceni_store_relaxed(&actor->running, false); /* for statistics; carries nothing */
}

/* The message belongs to the handler. Afterwards it is touched only if it is a request without a reply (A5). */
static void handle(cen_actor *actor, cen_message *message)
{
    const char *name = message->name;
    actor->unanswered = message->asked_ ? message : NULL;
    ceni_message_set(message, message->asked_ ? CENI_MESSAGE_ASKED : CENI_MESSAGE_FREE);
    begin_call(actor, name ? name : "a message");
    int held = ceni_cancel_hold();
    ceni_rank_expect_none("the handler of an actor");
    actor->handle(actor->argument, message);
    ceni_cancel_release(held);
    end_call(actor);
    if (actor->unanswered) fail_forgotten(actor, name);
    count_one(&actor->handled);
}

/* Fail its future, or else call `dropped`: one of them gets the message. */
static void drop(cen_actor *actor, cen_message *message)
{
    count_one(&actor->dropped_count);
    ceni_message_set(message, CENI_MESSAGE_FREE);
    if (message->asked_) {
        cen_error error = {0};
        ceni_error_set(&error, CEN_CLOSED, 0, "actor \"%s\": stopped before it handled the message", actor->name);
        if (cen_promise_fail(&message->promise_, &error) && !ceni_planted(actor_drops_twice)) return;
    }
    if (!actor->dropped) return;
    int held = ceni_cancel_hold();
    ceni_rank_expect_none("`dropped` of an actor");
    actor->dropped(actor->argument, message);
    ceni_cancel_release(held);
}

static void run_message(cen_job *job)
{
    cen_message *message = CENI_MESSAGE_OF_JOB(job);
    cen_actor *actor = message->actor_;
    uint64_t gate = ceni_sub_seq_cst(&actor->gate, 1); /* [A5] */
    if (gate & CENI_GATE_DROP) drop(actor, message);
    else handle(actor, message);
}

static void run(cen_actor *actor, cen_job *job)
{
    if (job->run == run_message || job->run == ceni_actor_note_stop) {
        job->run(job);
        return;
    }
    begin_call(actor, "a job");
    int held = ceni_cancel_hold();
    ceni_rank_expect_none("a job of an actor");
    job->run(job);
    ceni_cancel_release(held);
    end_call(actor);
}

static void take_turn(cen_job *turn)
{
    cen_actor *actor = (cen_actor *)(void *)((char *)turn - offsetof(cen_actor, turn));
    cen_future *ended = NULL;
    bool rests = !actor->ready && !fetch(actor);
    for (uint32_t left = actor->batch; !rests && left > 0; left--) {
        cen_job *job = actor->ready;
        actor->ready = job->next;
        run(actor, job);
        if (actor->stop_seen) ceni_actor_is_over(actor, &ended);
        rests = !actor->ready && !fetch(actor);
    }
    if (!rests) post_turn(actor); /* there are more jobs; others on the executor come first */
    /* The actor may be gone by now. The consumer of this future may free it. */
    if (ended) ceni_future_complete(ended); /* with OK and NULL, as init has left it */
}

void ceni_actor_init(cen_actor *actor)
{
    actor->executor.post = post;
    actor->turn.run = take_turn;
}
