/* SPDX-License-Identifier: MIT */
/*
 * Strict round robin: exactly the member that was picked longest ago, while members come and go.
 *
 * The members are in a list under a lock. The first is picked and goes to the end. A member that joins goes to the end,
 * one that leaves is taken out, and the others stay as they are. So between two picks of one member, every other one
 * that was there all the time is picked exactly once.
 *
 * A thread may pick from a set that is a moment old. The list is always the present one. If the list is empty, the pick
 * takes a member of the old set.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "router/set.h"

typedef struct round {
    ceni_mutex mutex;  /* rank STRATEGY */
    ceni_list members; /* of turn, the next first */
} round;

typedef struct turn {
    ceni_list link;
    cen_member *member;
} turn;

static cen_status begin(const void *argument, const cen_allocator *allocator, void **state, cen_error *error)
{
    (void)argument;
    round *all = ceni_alloc(allocator, sizeof *all, CENI_CACHE_LINE);
    if (!all) return ceni_error_set(error, CEN_NO_MEMORY, 0, "strategy \"strict round robin\": out of memory");
    ceni_list_init(&all->members);
    *state = all;
    return CEN_OK;
}

static void end(void *state, const cen_allocator *allocator)
{
    ceni_free(allocator, state, sizeof(round), CENI_CACHE_LINE);
}

static void joined(void *state, cen_member *member)
{
    round *all = state;
    turn *own = ceni_member_of(member)->data;
    own->member = member;
    ceni_mutex_lock(&all->mutex, CENI_RANK_STRATEGY);
    if (ceni_planted(strict_rejoins_in_front)) ceni_list_push_front(&all->members, &own->link);
    else ceni_list_push_back(&all->members, &own->link);
    ceni_mutex_unlock(&all->mutex, CENI_RANK_STRATEGY);
}

static void left(void *state, cen_member *member)
{
    round *all = state;
    ceni_mutex_lock(&all->mutex, CENI_RANK_STRATEGY);
    ceni_list_remove(&((turn *)ceni_member_of(member)->data)->link);
    ceni_mutex_unlock(&all->mutex, CENI_RANK_STRATEGY);
}

static cen_member *pick(void *state, const cen_member_set *set, const cen_route_hint *wish, bool used)
{
    (void)used;
    round *all = state;
    cen_member *picked = NULL;
    ceni_mutex_lock(&all->mutex, CENI_RANK_STRATEGY);
    ceni_list *first = ceni_list_first(&all->members);
    /* The member to avoid keeps its turn. */
    if (first && CENI_LIST_ENTRY(first, turn, link)->member == wish->avoid && first->next != &all->members)
        first = first->next;
    if (first) {
        ceni_list_remove(first);
        ceni_list_push_back(&all->members, first);
        picked = CENI_LIST_ENTRY(first, turn, link)->member;
    }
    ceni_mutex_unlock(&all->mutex, CENI_RANK_STRATEGY);
    return picked ? picked : ceni_set_at(set, 0);
}

cen_strategy cen_strategy_strict_round_robin(void)
{
    static const cen_strategy_type type = {.size = sizeof type,
                                           .name = "strict round robin",
                                           .member_size = sizeof(turn),
                                           .init = begin,
                                           .fini = end,
                                           .joined = joined,
                                           .left = left,
                                           .pick = pick};
    return (cen_strategy){.type = &type};
}
