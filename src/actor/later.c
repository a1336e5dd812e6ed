/* SPDX-License-Identifier: MIT */
/*
 * Messages for later: an alarm of the runtime in each.
 *
 *     told ──▶ in the list, the alarm set ──due──▶ out of the list, mailed
 *                                        ──cancel──▶ out of the list, the program's
 *                                        ──stop──▶ out of the list, mailed at once (stop.c)
 *
 * Invariants
 *  L1 A message is in the list from when it was told until one of due, cancel and
 *     stop has taken it out, under the mutex.
 *  L2 Who has it is decided by the runtime: cancel and stop have it if the alarm
 *     says that it will not be due; otherwise its call has begun, waits for the
 *     mutex at most, and mails it. So there is one who has it.
 *  L3 It is counted in gate from the beginning. That keeps the actor until it
 *     is mailed, and its place in the mailbox for it. Counting, and counting back by
 *     cancel, are done under the mutex, and so is the step that closes the gate: after
 *     that nothing is counted back but by turns.
 *
 * The alarm is set with the mutex held, whose rank is below that of the runtime's:
 * a stop or a cancel that comes after finds it set.
 *
 * The one operation on gate here is under the mutex, and a turn that looks for the end
 * of all has got the stop, which was pushed after the mutex was dropped.
 *
 * Tested by tests/unit/actor/later_test.c, tests/explore/actor_later_test.c.
 */
#include "actor/internal.h"
#include "base/plant.h"

#include <stddef.h>

#define LATER_OF(message) ((ceni_later *)(void *)(message)->later_.room_)
/* Of a ceni_later, or of the alarm that it begins with. */
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

/* Takes it back, if it will not be due: it is the caller's. */
static bool withdraw_locked(cen_actor *actor, cen_message *message)
{
    if (!ceni_alarm_unset(actor->runtime, &LATER_OF(message)->alarm) && !ceni_planted(actor_cancels_too_late))
        return false;
    leave_locked(message);
    ceni_message_set(message, CENI_MESSAGE_FREE);
    ceni_sub_relaxed(&actor->gate, 1); /* before the stop, by the mutex (L3); carries nothing */
    return true;
}

cen_status cen_actor_tell_after(cen_actor *actor, cen_message *message, int64_t delay_ns)
{
    cen_status had = CEN_OK, status = ceni_actor_check(actor, message);
    if (status != CEN_OK) return status;
    if (delay_ns < 0) return CEN_INVALID;
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
    return status;
}

/* Whether it is in the list, is known by its state: LATER is written before, and
 * overwritten after it was taken out of it, by whoever has it then. */
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
