/* SPDX-License-Identifier: MIT */
/* Members' states, for the other files; member.c has them, and ends.c how they end. */
#ifndef CENI_ROUTER_MEMBER_H
#define CENI_ROUTER_MEMBER_H

#include <cenote/events.h>

#include "router/internal.h"

/* ---- member.c ------------------------------------------------------------------ */

/* The state is another from now on; the program is to be told. */
void ceni_member_enter_locked(ceni_member *member, cen_member_state state);

/* A timer of a member's has come: its age, or the end of its ejection. */
void ceni_member_aged_locked(ceni_member *member);
void ceni_member_restore_locked(ceni_member *member);

/* It has had the last of its uses: it drains. Locks; the caller has a use of it. */
void ceni_member_used_up(ceni_member *member);
void ceni_member_used_up_locked(ceni_member *member);

/* As cen_member_down of each, of one router and without a cause, in one change. */
void ceni_members_down(cen_member *const *members, size_t count);

/* Takes it out, for good. */
void ceni_member_remove_locked(ceni_member *member);

/* ---- ends.c --------------------------------------------------------------------- */

/* It has left the set, and when its last use has ended somebody wants to know. */
void ceni_member_watch_locked(ceni_member *member);

/* The same at once: a grace period has passed since it left. */
void ceni_member_watch_now_locked(ceni_member *member);

/* A stripe of a watched member has reached zero. True: that was the last one, and the caller is to call what follows. */
bool ceni_member_stripe_ended(ceni_member *member);
void ceni_member_uses_ended_locked(ceni_member *member);

/* It may have ended: its uses have, and nobody tells about it. */
void ceni_member_look_for_end_locked(ceni_member *member);

/* Its uses have ended, if it was watched: it may be used anew. */
bool ceni_member_unwatch_locked(ceni_member *member);

/* ---- tell.c ----------------------------------------------------------------------- */

/* Writes into the events of the process what became of the member; with its cause, if it is a warning and has one. */
void ceni_member_report_locked(const ceni_member *member, cen_event_level level, cen_event_kind kind, const char *is);

/* The same of the router, at most once a second: *told is when it last was. */
void ceni_router_complain_locked(cen_router *router, int64_t *told, cen_event_kind kind, int64_t value, const char *is);

/* The member's state is to be told. */
void ceni_member_event_locked(ceni_member *member);

/* Tells the program what has changed, unless somebody does so already. No lock is held; the caller has a hand on the router. */
void ceni_router_tell(cen_router *router);

#endif
