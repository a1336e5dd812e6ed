/* SPDX-License-Identifier: MIT */
/*
 * Reports changes of members: as events of the process, and to the program's listener.
 *
 * The events are written under the lock when a change happens, so they are in order and complete. The listener is
 * called by one thread at a time, in the order in which members first had something to report, with no lock held.
 * States between two calls are left out: the listener gets the state of its last call and the present one. One
 * exception: a member that is DOWN again is reported although it was DOWN at the last call, because the program waits
 * for that to bring it up.
 */
#include <stdio.h>

#include "base/plant.h"
#include "record/events.h"
#include "router/member.h"

static const int64_t COMPLAINTS_APART_NS = 1000000000;

/* ---- The events of the process ------------------------------------------------------------ */

void ceni_member_report_locked(const ceni_member *member, cen_event_level level, cen_event_kind kind, const char *is)
{
    char text[CEN_ERROR_TEXT_SIZE];
    bool blamed = level >= CEN_LEVEL_WARNING && member->cause.status != CEN_OK && member->cause.text[0];
    snprintf(text, sizeof text, "router \"%s\": member \"%s\" %s%s%.200s", member->router->name, member->name, is,
             blamed ? ": " : "", blamed ? member->cause.text : "");
    ceni_occurrence what = {.level = level, .kind = kind, .of = &member->router->entry, .part = member->name};
    if (blamed) {
        what.status = member->cause.status;
        what.code = member->cause.code;
        what.cause = member->cause.cause;
    }
    ceni_event_write(&what, text);
}

void ceni_router_complain_locked(cen_router *router, int64_t *told, cen_event_kind kind, int64_t value, const char *is)
{
    int64_t now = ceni_runtime_now(router->runtime);
    if (*told && now - *told < COMPLAINTS_APART_NS && !ceni_planted(router_tells_every_refusal)) return;
    *told = now;
    char text[CEN_ERROR_TEXT_SIZE];
    snprintf(text, sizeof text, "router \"%s\": %s", router->name, is);
    ceni_event_write(&(ceni_occurrence){.level = CEN_LEVEL_WARNING,
                                        .kind = kind,
                                        .of = &router->entry,
                                        .value = value,
                                        .cause = kind == CEN_EVENT_REFUSED ? CEN_CAUSE_QUEUE_FULL : CEN_CAUSE_NONE},
                     text);
}

/* ---- The listener ------------------------------------------------------------------------- */

void ceni_member_event_locked(ceni_member *member)
{
    cen_router *router = member->router;
    if (!router->changed || ceni_list_linked(&member->events)) return;
    ceni_list_push_back(&router->events, &member->events);
}

/* Call the listener for the first member of the list, if its state has changed. The lock is held before and
 * afterwards. */
static void tell_one_locked(cen_router *router)
{
    ceni_member *member = CENI_LIST_ENTRY(ceni_list_first(&router->events), ceni_member, events);
    ceni_list_remove(&member->events);
    cen_member_state from = (cen_member_state)member->told, to = ceni_member_state_now(member);
    /* A program that got DOWN and brought the member up waits for the next DOWN. */
    bool again = member->downs != member->told_downs && !ceni_planted(told_down_once);
    if (from == CEN_MEMBER_DOWN && to == from && again) from = CEN_MEMBER_UP;
    if (from == to || member->removed) return;
    member->told = (uint32_t)to;
    member->told_downs = member->downs;
    cen_error cause = member->cause;
    member->tellers++;
    ceni_router_unlock(router);
    ceni_rank_expect_none("a router's listener");
    int held = ceni_cancel_hold();
    router->changed(router->argument, member->cell, from, to,
                    to == CEN_MEMBER_DOWN && cause.status != CEN_OK ? &cause : NULL);
    ceni_cancel_release(held);
    ceni_router_lock(router);
    member->tellers--;
    ceni_member_look_for_end_locked(member);
}

void ceni_router_tell(cen_router *router)
{
    if (!router->changed) return;
    ceni_router_lock(router);
    if (!router->telling) {
        router->telling = true;
        while (!ceni_list_empty(&router->events)) tell_one_locked(router);
        router->telling = false;
    }
    ceni_router_unlock(router);
}
