/* SPDX-License-Identifier: MIT */
/*
 * Delayed messages: each has an alarm of the runtime.
 *
 *     sent ──▶ in the list, the alarm set ──due──▶ out of the list, mailed
 *                                        ──cancel──▶ out of the list, the program's
 *                                        ──stop──▶ out of the list, mailed at once (stop.c)
 *
 * Invariants
 *  L1 A message is in the list from when it was sent until one of due, cancel and stop has taken it out, under the
 *     mutex.
 *  L2 The runtime decides the owner. Cancel or stop owns the message if unset returns that the alarm will not be due.
 *     Otherwise the alarm's call has begun, waits for the mutex at most, and mails the message. So it has one owner.
 *  L3 The message is counted in gate from the beginning. That keeps the actor until the message is mailed, and reserves
 *     its place in the mailbox. Counting, and counting back by cancel, are done under the mutex, and so is closing the
 *     gate. After the gate is closed only turns lower the count.
 *
 * The alarm is set with the mutex held, whose rank is below the runtime's. A later stop or cancel finds it set.
 *
 * The only operation on gate here is under the mutex. A turn that checks whether the actor is over has got the stop,
 * which was pushed after the mutex was dropped.
 *
 * Tested by tests/unit/actor/later_test.c, tests/explore/actor_later_test.c.
 */
#include "actor/internal.h"
#include "base/plant.h"

#include <stddef.h>

#define LATER_OF(message) ((ceni_later *)(void *)(message)->later_.room_)
/* From a ceni_later, or from its alarm, which is its first member. */
#define MESSAGE_OF(later) ((cen_message *)(void *)(((char *)(later)) - offsetof(cen_message, later_)))

static void leave_locked(cen_message *message)
{
    ceni_list_remove(&LATER_OF(message)->link);
}

static void due(ceni_alarm *alarm)
{
    cen_message *message = MESSAGE_OF(alarm);
    cen_actor *actor = message->actor_;
    ceni_actor_lock(actor);
    leave_locked(message);
    ceni_actor_unlock(actor);
    ceni_actor_mail(actor, message);
}

static int64_t moment_in(const cen_actor *actor, int64_t delay_ns)
{
    int64_t now = ceni_runtime_now(actor->runtime);
    return delay_ns > CENI_FOREVER - now ? CENI_FOREVER : now + delay_ns;
}

/* Take the message back, if its alarm could be unset: it belongs to the caller then. */
static bool withdraw_locked(cen_actor *actor, cen_message *message)
{
    if (!ceni_alarm_unset(actor->runtime, &LATER_OF(message)->alarm) && !ceni_planted(actor_cancels_too_late))
        return false;
    leave_locked(message);
    ceni_message_set(message, CENI_MESSAGE_FREE);
    ceni_sub_relaxed(&actor->gate, 1); /* before the stop, by the mutex (L3); carries nothing */
    return true;
}

cen_status cen_actor_tell_after(cen_actor *actor, cen_message *message, int64_t delay_ns, cen_error *error)
{
    cen_status had = CEN_OK, status = ceni_actor_check(actor, message);
    if (status != CEN_OK) return ceni_actor_refuse_message(actor, message, status, error);
    if (delay_ns < 0) return ceni_actor_refuse(actor, CEN_INVALID, "delay_ns must not be negative", error);
    ceni_actor_lock(actor);
    status = ceni_actor_admit(actor);
    if (status == CEN_OK) {
        ceni_later *later = LATER_OF(message);
        message->actor_ = actor;
        message->asked_ = false;
        ceni_message_set(message, CENI_MESSAGE_LATER);
        ceni_alarm_init(&later->alarm, due);
        ceni_list_push_back(&actor->later, &later->link);
        ceni_alarm_set(actor->runtime, &later->alarm, moment_in(actor, delay_ns), &had);
        if (had != CEN_OK && withdraw_locked(actor, message)) status = had;
    }
    ceni_actor_unlock(actor);
    return status == CEN_OK ? status : ceni_actor_refuse_message(actor, message, status, error);
}

/* The state tells whether the message is in the list. LATER is written before it is added, and overwritten, by its
 * owner, after it was taken out. */
bool cen_message_cancel(cen_message *message)
{
    cen_actor *actor = message ? message->actor_ : NULL;
    if (!actor || !ceni_fork_is(actor->epoch) || ceni_message_state(message) != CENI_MESSAGE_LATER) return false;
    ceni_actor_lock(actor);
    bool cancelled = ceni_message_state(message) == CENI_MESSAGE_LATER && ceni_list_linked(&LATER_OF(message)->link) &&
                     withdraw_locked(actor, message);
    ceni_actor_unlock(actor);
    return cancelled;
}

cen_job *ceni_later_take_all_locked(cen_actor *actor)
{
    cen_job *first = NULL, **end = &first;
    for (ceni_list *link = actor->later.next, *next; link != &actor->later; link = next) {
        ceni_later *later = CENI_LIST_ENTRY(link, ceni_later, link);
        next = link->next;
        if (!ceni_alarm_unset(actor->runtime, &later->alarm)) continue; /* it mails itself */
        cen_message *message = MESSAGE_OF(later);
        leave_locked(message);
        message->job_.next = NULL;
        *end = &message->job_;
        end = &message->job_.next;
    }
    return first;
}
