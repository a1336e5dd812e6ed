/* SPDX-License-Identifier: MIT */
/*
 * Queues of slots that wait for a helper to reset, test or close them, FIFO.
 *
 * The queues of resets and closes use the slot's link: a slot that is RESETTING or CLOSING is in no other list. A
 * slot that is TESTING keeps its place in the list of an exact order (idle.c), which uses the link. So in the queue
 * of tests the notes of each slot have the index of the next one.
 *
 * Tested by tests/unit/pool/tested_order_test.c.
 */
#include "pool/internal.h"

void ceni_queues_init(cen_pool *pool)
{
    for (int kind = 0; kind < CENI_CHORES; kind++) ceni_list_init(&pool->chores[kind]);
    pool->first_test = pool->last_test = CENI_NO_INDEX;
}

/* Keep only the flags for waiting takes; everything else in the notes is of an earlier lease or call. */
static void keep_those_who_wait_locked(ceni_slot *slot)
{
    slot->notes = (ceni_slot_notes){.is_wanted = slot->notes.is_wanted, .is_awaited = slot->notes.is_awaited};
}

static void add_test_locked(cen_pool *pool, ceni_slot *slot)
{
    uint32_t index = ceni_slot_index(pool, slot);
    keep_those_who_wait_locked(slot); /* it is the last */
    if (pool->last_test == CENI_NO_INDEX) pool->first_test = index;
    else ceni_slot_at(pool, pool->last_test)->notes.next_test = index + 1;
    pool->last_test = index;
}

static uint32_t pop_test_locked(cen_pool *pool)
{
    uint32_t index = pool->first_test;
    ceni_slot *slot = ceni_slot_at(pool, index);
    uint32_t next = (uint32_t)slot->notes.next_test;
    keep_those_who_wait_locked(slot);
    pool->first_test = next ? next - 1 : CENI_NO_INDEX;
    if (!next) pool->last_test = CENI_NO_INDEX;
    return index;
}

void ceni_queues_add_locked(cen_pool *pool, ceni_chore chore, ceni_slot *slot)
{
    pool->waiting[chore]++;
    if (chore == CENI_CHORE_TEST) {
        add_test_locked(pool, slot);
        return;
    }
    ceni_idle_unlist_locked(slot); /* it may still be in the list after a change of the order */
    ceni_list_push_back(&pool->chores[chore], &slot->link);
}

uint32_t ceni_queues_pop_locked(cen_pool *pool, ceni_chore chore)
{
    pool->waiting[chore]--;
    if (chore == CENI_CHORE_TEST) return pop_test_locked(pool);
    ceni_list *link = ceni_list_first(&pool->chores[chore]);
    ceni_list_remove(link);
    return ceni_slot_index(pool, CENI_LIST_ENTRY(link, ceni_slot, link));
}
