/* SPDX-License-Identifier: MIT */
/*
 * Least in flight: the member with exactly the fewest uses. Among equals it picks the one that has been so for longest.
 *
 * A search through all members would cost more the more there are. So members are grouped into levels, one for each
 * count that some member has, in rising order:
 *
 *     0: C F A      1: B      7: D E
 *
 * A use moves its member one level up, its end one level down, and a pick takes the first of the lowest level: constant
 * time, under one lock, which is the price of exactness.
 *
 * There are never more levels than members, so each member brings a record for one level. Unused records are in
 * `spare`. A leaving member takes one record along. If its own is in use, its content moves to a spare one.
 *
 *     I1  each member in the list is on exactly one level, whose count is its own
 *     I2  levels are in rising order, and none is empty
 *     I3  levels + spares = members in the list
 *
 * A member that has left goes on counting, so that its count is right when it returns.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "router/set.h"

typedef struct level {
    ceni_list link; /* in levels, or spare */
    uint64_t count;
    ceni_list members;
} level;

#define SPARE UINT64_MAX /* the count of a record that is no level */

typedef struct place {
    ceni_list link; /* on its level */
    level *level;   /* NULL: it is not in the list */
    uint64_t count;
    cen_member *member;
    level own;
} place;

typedef struct ladder {
    ceni_mutex mutex; /* rank STRATEGY */
    ceni_list levels, spare;
} ladder;

static void lock(ladder *all)
{
    ceni_mutex_lock(&all->mutex, CENI_RANK_STRATEGY);
}

static void unlock(ladder *all)
{
    ceni_mutex_unlock(&all->mutex, CENI_RANK_STRATEGY);
}

static cen_status begin(const void *argument, const cen_allocator *allocator, void **state, cen_error *error)
{
    (void)argument;
    ladder *all = ceni_alloc(allocator, sizeof *all, CENI_CACHE_LINE);
    if (!all) return ceni_error_set(error, CEN_NO_MEMORY, 0, "strategy \"least in flight\": out of memory");
    ceni_list_init(&all->levels);
    ceni_list_init(&all->spare);
    *state = all;
    return CEN_OK;
}

static void end(void *state, const cen_allocator *allocator)
{
    ceni_free(allocator, state, sizeof(ladder), CENI_CACHE_LINE);
}

/* A spare record as a level of that count, before `next`. */
static level *open_level(ladder *all, uint64_t count, ceni_list *next)
{
    ceni_list *link = all->spare.next; /* there is one, I3 */
    level *fresh = CENI_LIST_ENTRY(link, level, link);
    ceni_list_remove(link);
    fresh->count = count;
    ceni_list_init(&fresh->members);
    ceni_list_insert_before(next, link);
    return fresh;
}

/* Put it at the end of the level of its count, which is before `next` or is opened there. */
static void stand(ladder *all, place *own, ceni_list *next)
{
    bool is_lowest = next->previous == &all->levels;
    level *here = CENI_LIST_ENTRY(next->previous, level, link); /* if there is one */
    if (is_lowest || here->count != own->count) here = open_level(all, own->count, next);
    own->level = here;
    ceni_list_push_back(&here->members, &own->link);
}

/* Take it off its level, and close the level if it was the last one there. Return the level that follows. */
static ceni_list *step_off(ladder *all, place *own)
{
    level *here = own->level;
    ceni_list *next = here->link.next;
    ceni_list_remove(&own->link);
    own->level = NULL;
    if (ceni_list_empty(&here->members)) {
        here->count = SPARE;
        ceni_list_remove(&here->link);
        ceni_list_push_back(&all->spare, &here->link);
    }
    return next;
}

static void move(ladder *all, place *own, bool up)
{
    if (!own->level && ceni_planted(least_counts_the_present)) return;
    own->count += up ? 1 : (uint64_t)-1;
    if (!own->level) return;
    uint64_t count = own->count;
    ceni_list *next = step_off(all, own);
    if (up) {
        if (next != &all->levels && CENI_LIST_ENTRY(next, level, link)->count == count) next = next->next;
    } else {
        while (next->previous != &all->levels && CENI_LIST_ENTRY(next->previous, level, link)->count > count)
            next = next->previous;
    }
    stand(all, own, next);
}

static void joined(void *state, cen_member *member)
{
    ladder *all = state;
    place *own = ceni_member_of(member)->data;
    lock(all);
    own->member = member; /* a thread that picks from an older set may be reading it */
    own->own.count = SPARE;
    ceni_list_push_back(&all->spare, &own->own.link);
    ceni_list *next = all->levels.next;
    while (next != &all->levels && CENI_LIST_ENTRY(next, level, link)->count <= own->count) next = next->next;
    stand(all, own, next);
    unlock(all);
}

static void left(void *state, cen_member *member)
{
    ladder *all = state;
    place *own = ceni_member_of(member)->data;
    lock(all);
    step_off(all, own);
    if (own->own.count != SPARE) {
        /* Its record is a level of others: a spare one takes over. */
        level *old = &own->own;
        level *other = open_level(all, old->count, old->link.next);
        ceni_list_remove(&old->link);
        for (ceni_list *link; (link = ceni_list_first(&old->members));) {
            ceni_list_remove(link);
            ceni_list_push_back(&other->members, link);
            CENI_LIST_ENTRY(link, place, link)->level = other;
        }
    } else {
        ceni_list_remove(&own->own.link);
    }
    unlock(all);
}

static place *first_of(const ceni_list *link)
{
    return CENI_LIST_ENTRY(ceni_list_first(&CENI_LIST_ENTRY(link, level, link)->members), place, link);
}

/* The first member of the lowest level; if that is `avoid`, the one after it, if any. NULL: all have left. */
static place *choose(const ladder *all, const cen_member *avoid)
{
    const ceni_list *lowest = ceni_list_first(&all->levels);
    if (!lowest) return NULL;
    place *own = first_of(lowest);
    if (own->member != avoid) return own;
    if (own->link.next != &own->level->members) return CENI_LIST_ENTRY(own->link.next, place, link);
    return lowest->next != &all->levels ? first_of(lowest->next) : own;
}

static cen_member *pick(void *state, const cen_member_set *set, const cen_route_hint *wish, bool used)
{
    ladder *all = state;
    lock(all);
    place *own = choose(all, wish->avoid);
    if (!own) own = ceni_member_of(ceni_set_at(set, 0))->data; /* all have left since this set was read */
    if (used) {
        move(all, own, true);
    } else if (own->level) {
        ceni_list_remove(&own->link);
        ceni_list_push_back(&own->level->members, &own->link);
    }
    cen_member *picked = own->member;
    unlock(all);
    return picked;
}

static void begun(void *state, cen_member *member)
{
    lock(state);
    move(state, ceni_member_of(member)->data, true);
    unlock(state);
}

static void ended(void *state, cen_member *member, int64_t latency_ns, bool failed)
{
    (void)latency_ns, (void)failed;
    lock(state);
    move(state, ceni_member_of(member)->data, false);
    unlock(state);
}

cen_strategy cen_strategy_least_in_flight(void)
{
    static const cen_strategy_type type = {.size = sizeof type,
                                           .name = "least in flight",
                                           .member_size = sizeof(place),
                                           .init = begin,
                                           .fini = end,
                                           .joined = joined,
                                           .left = left,
                                           .pick = pick,
                                           .begun = begun,
                                           .ended = ended};
    return (cen_strategy){.type = &type};
}
