/* SPDX-License-Identifier: MIT */
/*
 * The table of all supervisors of the process, by a number that is never reused.
 *
 * A cen_child is two numbers: of a supervisor and of a start. So it may outlive both, and a report about a start that
 * is over finds nothing. The naive handle, a pointer to a record, must keep the record as long as a report about it may
 * come, which for an abandoned child may be never-ending.
 *
 * The table's lock is held until the supervisor's own is taken, so that a supervisor that was found is not freed in
 * between. Free first takes it out of the table, and then takes the supervisor's lock once more.
 *
 * In the child of a fork the first supervisor initialises the table again, because the parent's table may be locked by
 * a thread that does not exist there. The numbers go on, so that a handle of the parent finds nothing of the child.
 *
 * Order table
 * The two locks order everything; record/owned.h orders the initialisation.
 *
 * Tested by tests/unit/supervisor/life_test.c, fork_test.c.
 */
#include "base/plant.h"
#include "base/statics.h"
#include "record/owned.h"
#include "supervisor/internal.h"

typedef struct house {
    ceni_mutex mutex; /* rank SUPERVISORS */
    /* under the mutex */
    ceni_table table;
    uint64_t last;
    ceni_owned owned; /* the child of a fork initialises it again */
} house;

static CENI_STATIC house all;

static void lock(void)
{
    ceni_mutex_lock(&all.mutex, CENI_RANK_SUPERVISORS);
}

static void unlock(void)
{
    ceni_mutex_unlock(&all.mutex, CENI_RANK_SUPERVISORS);
}

static void ready(void)
{
    if (!ceni_owned_begin(&all.owned)) return;
    all.mutex = (ceni_mutex){0};
    ceni_table_init(&all.table, NULL);
    ceni_owned_ready(&all.owned);
}

void ceni_house_enter(cen_supervisor *supervisor)
{
    ready();
    lock();
    ceni_table_room room;
    ceni_table_room_for(&all.table, all.table.count + 1, &room);
    if (room.count > 0) {
        unlock();
        ceni_table_room_alloc(&all.table, &room);
        lock();
        ceni_table_room_use(&all.table, &room);
    }
    supervisor->id = ++all.last;
    ceni_table_put(&all.table, &supervisor->node, ceni_hash_word(0, supervisor->id));
    unlock();
    ceni_table_room_free(&all.table, &room);
}

void ceni_house_leave(cen_supervisor *supervisor)
{
    ceni_table_room room = {.buckets = NULL};
    lock();
    ceni_table_remove(&all.table, &supervisor->node);
    if (all.table.count == 0) ceni_table_room_take(&all.table, &room);
    unlock();
    ceni_table_room_free(&all.table, &room);
}

static bool has_id(const ceni_table_node *node, const void *key)
{
    return CENI_TABLE_ENTRY(node, cen_supervisor, node)->id == *(const uint64_t *)key;
}

static bool has_number(const ceni_table_node *node, const void *key)
{
    return CENI_TABLE_ENTRY(node, ceni_tenure, node)->handle.number_ == *(const uint64_t *)key;
}

/* The planted bug that the numbers prevent: a report about an earlier start counts for the present one. */
static ceni_tenure *find_next_start(const cen_supervisor *supervisor, uint64_t number)
{
    for (ceni_list *link = supervisor->children.next; link != &supervisor->children; link = link->next)
        if (CENI_CHILD_OF(link, link)->previous == number) return CENI_CHILD_OF(link, link)->tenure;
    return NULL;
}

ceni_tenure *ceni_house_find_and_lock(cen_child handle)
{
    if (handle.supervisor_ == 0 || !ceni_owned_is_ready(&all.owned, ceni_fork_epoch())) return NULL;
    lock();
    ceni_table_node *node =
        ceni_table_find(&all.table, ceni_hash_word(0, handle.supervisor_), has_id, &handle.supervisor_);
    cen_supervisor *supervisor = node ? CENI_TABLE_ENTRY(node, cen_supervisor, node) : NULL;
    bool gap = ceni_planted(supervisor_found_and_let_go);
    if (gap) unlock();
    if (supervisor) ceni_supervisor_lock(supervisor);
    if (!gap) unlock();
    if (!supervisor) return NULL;
    node = ceni_table_find(&supervisor->tenures, ceni_hash_word(0, handle.number_), has_number, &handle.number_);
    ceni_tenure *tenure = node ? CENI_TABLE_ENTRY(node, ceni_tenure, node) : NULL;
    if (!node && ceni_planted(supervisor_counts_a_late_death)) tenure = find_next_start(supervisor, handle.number_);
    if (!tenure) ceni_supervisor_unlock(supervisor);
    return tenure;
}
