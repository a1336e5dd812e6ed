/* SPDX-License-Identifier: MIT */
/* The states of members, for the other files of the router. */
#ifndef CENI_ROUTER_MEMBER_H
#define CENI_ROUTER_MEMBER_H

#include <cenote/events.h>

#include "router/internal.h"

/* ---- member.c ------------------------------------------------------------------ */

/* Set the state, and note that the listener must get it. */
void ceni_member_enter_locked(ceni_member *member, cen_member_state state);

/* A timer of a member is due: its maximum age, or the end of its ejection. */
void ceni_member_aged_locked(ceni_member *member);
void ceni_member_restore_locked(ceni_member *member);

/* It has begun the last of max_uses: it drains. The first form locks, and its caller has a use of the member. */
void ceni_member_used_up(ceni_member *member);
void ceni_member_used_up_locked(ceni_member *member);

/* As cen_member_down for each, without a cause, in one change. All belong to one router. */
void ceni_members_down(cen_member *const *members, size_t count);

/* Remove a member. */
void ceni_member_remove_locked(ceni_member *member);

/* ---- ends.c --------------------------------------------------------------------- */

/* Watch a member that has left the set: after a grace period, for the end of its last use. */
void ceni_member_watch_locked(ceni_member *member);

/* The same at once: a grace period has passed since it left. */
void ceni_member_watch_now_locked(ceni_member *member);

/* A stripe of a watched member has reached zero. True: it was the last one, and the caller must call the next
 * function. */
bool ceni_member_stripe_ended(ceni_member *member);
void ceni_member_uses_ended_locked(ceni_member *member);

/* Check whether the member has ended: its uses have, and no thread is calling the listener about it. */
void ceni_member_look_for_end_locked(ceni_member *member);

/* Stop watching it, so that it can come up again. False: the thread that ended its last use is about to lock. */
bool ceni_member_unwatch_locked(ceni_member *member);

/* ---- tell.c ----------------------------------------------------------------------- */

/* Write an event about the member, with its cause if it is a warning and has one. */
void ceni_member_report_locked(const ceni_member *member, cen_event_level level, cen_event_kind kind, const char *is);

/* Write an event about the router, at most once a second. *told: when the last one was written. */
void ceni_router_complain_locked(cen_router *router, int64_t *told, cen_event_kind kind, int64_t value, const char *is);

/* Note that the listener must get the member's state. */
void ceni_member_event_locked(ceni_member *member);

/* Call the listener for all changes, unless another thread does. No lock is held; the caller has a hand on the
 * router. */
void ceni_router_tell(cen_router *router);

#endif
