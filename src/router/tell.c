/* SPDX-License-Identifier: MIT */
/*
 * News: telling the program that members changed their states.
 *
 * Told by one thread at a time, in the order in which members first had something to
 * tell, with no lock held. What a member was between two tellings is left out: the
 * program hears of the last state it was told and the present one. Only that it is down
 * again is told although it was down before: who brings members up waits for that.
 */
#include "base/plant.h"
#include "router/member.h"

void ceni_member_news_locked(ceni_member *member)
{
    cen_router *router = member->router;
    if (!router->changed || ceni_list_linked(&member->news)) return;
    ceni_list_push_back(&router->news, &member->news);
}

/* Tells of the first, if there is anything to tell; holds the lock at both ends. */
static void tell_one_locked(cen_router *router)
{
    ceni_member *member = CENI_LIST_ENTRY(ceni_list_first(&router->news), ceni_member, news);
    ceni_list_remove(&member->news);
    cen_member_state from = (cen_member_state)member->told, to = ceni_member_state(member);
    /* Whoever was told DOWN, and brought it up, waits to hear of the next one. */
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
    router->changed(router->argument, member->cell, from, to, to == CEN_MEMBER_DOWN && cause.status != CEN_OK ? &cause : NULL);
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
        while (!ceni_list_empty(&router->news)) tell_one_locked(router);
        router->telling = false;
    }
    ceni_router_unlock(router);
}
