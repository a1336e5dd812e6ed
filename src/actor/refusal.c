/* SPDX-License-Identifier: MIT */
/* Error texts of the actor, formatted only when a call has failed. */
#include "actor/internal.h"
#include "base/error.h"

static const char *why_closed(const cen_actor *actor)
{
    uint64_t gate = ceni_load_relaxed((_Atomic uint64_t *)(uintptr_t)&actor->gate); /* for a text; carries nothing */
    return gate & CENI_GATE_DROP ? "it has been stopped, and drops its messages" : "it has been stopped";
}

static const char *why(const cen_actor *actor, const cen_message *message, cen_status status)
{
    switch (status) {
    case CEN_MISUSE:
        return ceni_message_state(message) == CENI_MESSAGE_FREE
                   ? "the future has been used before; cen_future_init makes it ready again"
                   : "the message is queued or waits for its reply; send another one, or wait";
    case CEN_CLOSED: return why_closed(actor);
    case CEN_FORKED: return "it belongs to the parent process";
    case CEN_SYSTEM: return "the system has no thread to keep the delay";
    default: return cen_status_text(status);
    }
}

cen_status ceni_actor_refuse(const cen_actor *actor, cen_status status, const char *text, cen_error *error)
{
    ceni_error_set(error, status, 0, "actor \"%s\": %s", actor->name, text);
    return ceni_error_because(error, status == CEN_CLOSED ? CEN_CAUSE_CLOSED : CEN_CAUSE_NONE, status);
}

cen_status ceni_actor_refuse_message(const cen_actor *actor, const cen_message *message, cen_status status,
                                     cen_error *error)
{
    if (!error) return status;
    if (!actor) return ceni_error_set(error, CEN_INVALID, 0, "the actor is NULL");
    if (!message) return ceni_actor_refuse(actor, CEN_INVALID, "the message is NULL", error);
    if (status != CEN_FULL) return ceni_actor_refuse(actor, status, why(actor, message, status), error);
    ceni_error_set(error, status, 0, "actor \"%s\": mailbox full (capacity = %llu); send later, or raise the capacity",
                   actor->name, (unsigned long long)actor->capacity);
    error->cause = CEN_CAUSE_QUEUE_FULL;
    error->current = error->max = (int64_t)actor->capacity;
    return status;
}
