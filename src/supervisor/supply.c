/* SPDX-License-Identifier: MIT */
/*
 * Memory: the allocator is the program's and is called with no lock held.
 *
 *     a start needs a record ▶ `wants_tenure` ▶ the steward drops the mutex, allocates, and repeats the step
 *     a record is released   ▶ it goes into `dead` ▶ the next thread that may (Y3) frees it after dropping the mutex
 *
 * Invariants
 *  Y1 Only the steward needs and fetches records, so there is at most one spare record. A step that found none has
 *     changed nothing but `wants_tenure`. The next step finds the record, or `no_tenure`.
 *  Y2 `no_tenure` is valid only for the step after the attempt. So each start that fails for lack of memory has tried.
 *  Y3 Memory is freed by a thread that has a hand on the supervisor, or by a call of the program with it. After the
 *     last of these the program may take its allocator away. Records that are still in `dead` are freed with the
 *     supervisor.
 *  Y4 The table of tenures grows when a record is fetched, that of names when a child is added. If it cannot grow, its
 *     chains grow.
 *
 * Everything is under the mutex.
 *
 * Tested by tests/unit/supervisor/, whose builds check each call of the allocator;
 * tests/faults/supervisor_faults_test.c.
 */
#include "base/alloc.h"
#include "supervisor/internal.h"

void ceni_dead_child_locked(ceni_child_record *child)
{
    ceni_list_push_back(&child->supervisor->dead.children, &child->link);
}

void ceni_dead_tenure_locked(ceni_tenure *tenure)
{
    ceni_dead *dead = &tenure->supervisor->dead;
    tenure->next_dead = dead->tenures;
    dead->tenures = tenure;
}

/* Move dead records to the caller's list. False: there are none. */
static bool collect_locked(cen_supervisor *supervisor, ceni_dead *out)
{
    ceni_list_init(&out->children);
    out->tenures = supervisor->dead.tenures;
    supervisor->dead.tenures = NULL;
    bool some = out->tenures != NULL;
    for (ceni_list *link; (link = ceni_list_first(&supervisor->dead.children)); some = true) {
        ceni_list_remove(link);
        ceni_list_push_back(&out->children, link);
    }
    return some;
}

void ceni_dead_free(const cen_allocator *allocator, ceni_dead *dead)
{
    for (ceni_tenure *tenure = dead->tenures, *next; tenure; tenure = next) {
        next = tenure->next_dead;
        ceni_free(allocator, tenure, sizeof *tenure, _Alignof(ceni_tenure));
    }
    for (ceni_list *link; (link = ceni_list_first(&dead->children));) {
        ceni_child_record *child = CENI_CHILD_OF(link, link);
        ceni_list_remove(link);
        ceni_free(allocator, child, child->size, _Alignof(ceni_child_record));
    }
    dead->tenures = NULL;
}

void ceni_supervisor_unlock_and_free(cen_supervisor *supervisor)
{
    ceni_dead dead;
    collect_locked(supervisor, &dead);
    ceni_supervisor_unlock(supervisor);
    ceni_dead_free(supervisor->allocator, &dead);
}

bool ceni_dead_free_locked(cen_supervisor *supervisor)
{
    ceni_dead dead;
    if (!collect_locked(supervisor, &dead)) return false;
    ceni_supervisor_unlock(supervisor);
    ceni_dead_free(supervisor->allocator, &dead);
    ceni_supervisor_lock(supervisor);
    return true;
}

/* Fetch a record, and buckets for its number. */
static void fetch_tenure_locked(cen_supervisor *supervisor)
{
    const cen_allocator *allocator = supervisor->allocator;
    ceni_table_room room;
    ceni_table_room_for(&supervisor->tenures, supervisor->tenures.count + 1, &room);
    ceni_supervisor_unlock(supervisor);
    ceni_tenure *made = ceni_alloc(allocator, sizeof *made, _Alignof(ceni_tenure));
    if (made) ceni_table_room_alloc(&supervisor->tenures, &room);
    ceni_supervisor_lock(supervisor);
    ceni_table_room_use(&supervisor->tenures, &room);
    supervisor->spare = made;
    supervisor->no_tenure = !made;
    if (!room.buckets) return;
    ceni_supervisor_unlock(supervisor);
    ceni_table_room_free(&supervisor->tenures, &room);
    ceni_supervisor_lock(supervisor);
}

bool ceni_supply_locked(cen_supervisor *supervisor)
{
    bool freed = ceni_dead_free_locked(supervisor), wanted = supervisor->wants_tenure;
    supervisor->wants_tenure = supervisor->no_tenure = false;
    if (wanted) fetch_tenure_locked(supervisor);
    return freed || wanted;
}

bool ceni_supply_has_tenure_locked(cen_supervisor *supervisor)
{
    supervisor->wants_tenure = !supervisor->spare && !supervisor->no_tenure;
    return !supervisor->wants_tenure;
}

ceni_tenure *ceni_supply_take_tenure_locked(cen_supervisor *supervisor)
{
    ceni_tenure *tenure = supervisor->spare;
    supervisor->spare = NULL;
    supervisor->no_tenure = false;
    return tenure;
}

/* ---- All memory ------------------------------------------------------------------------------ */

/* No other thread uses it. In the child of a fork a child may still have a tenure. */
static void free_memory(cen_supervisor *supervisor)
{
    const cen_allocator *allocator = supervisor->allocator;
    for (ceni_list *link = supervisor->children.next, *next; link != &supervisor->children; link = next) {
        ceni_child_record *child = CENI_CHILD_OF(link, link);
        next = link->next;
        ceni_free(allocator, child->tenure, sizeof *child->tenure, _Alignof(ceni_tenure));
        if (!child->is_initial) ceni_free(allocator, child, child->size, _Alignof(ceni_child_record));
    }
    for (size_t i = 0; i < supervisor->initial_count; i++)
        if (supervisor->initial[i])
            ceni_free(allocator, supervisor->initial[i], supervisor->initial[i]->size, _Alignof(ceni_child_record));
    ceni_dead_free(allocator, &supervisor->dead);
    ceni_free(allocator, supervisor->spare, sizeof *supervisor->spare, _Alignof(ceni_tenure));
    ceni_table_fini(&supervisor->names);
    ceni_table_fini(&supervisor->tenures);
    ceni_free(allocator, supervisor->initial, supervisor->initial_count * sizeof *supervisor->initial,
              _Alignof(ceni_child_record *));
    ceni_free(allocator, supervisor->intensity.moments, ceni_intensity_room(supervisor->intensity.max),
              _Alignof(int64_t));
    ceni_free(allocator, supervisor, sizeof *supervisor, _Alignof(cen_supervisor));
}

void ceni_supervisor_release(cen_supervisor *supervisor)
{
    cen_runtime *runtime = supervisor->runtime;
    free_memory(supervisor);
    ceni_runtime_leave(runtime);
}
