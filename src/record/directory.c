/* SPDX-License-Identifier: MIT */
/*
 * The directory of live components.
 *
 * A walk has a `visit` on its stack, linked into the directory: the entry it is at, its thread, and the next entry.
 * All of it is under one lock, which is dropped while the visitor runs. Leave repairs the visits:
 *     - a walk whose next entry leaves is pointed at the entry after it;
 *     - if another thread's walk is at the leaving entry, leave waits for it;
 *     - if the caller's own walk is at the leaving entry, that walk forgets the entry, whose memory may have been
 *       freed when the visitor returns.
 * A visitor is called with cancellation held. A thread that ended in a visitor would leave its visit behind, on a
 * stack that is gone, and leave would wait for it forever. In a child that a visitor has forked, the walk ends when
 * the visitor returns: the rest of it belongs to the parent.
 *
 * The naive version holds the lock while it visits. A snapshot function that takes its object's lock then fixes the
 * order "directory before object". An owner that leaves the directory while it holds that lock completes a cycle.
 *
 * Invariants
 * I1  An entry in the list is linked, has the epoch of its process and a number.
 * I2  visit.next is in the list, or NULL.
 * I3  visit.entry is an entry whose leave has not returned, or NULL.
 *
 * The lock orders everything; owned.h orders the creation of a process's directory. `turns` is a futex word, written
 * under the lock with relaxed order. That is enough, because the futex compares it and goes to sleep in one step, and
 * the woken thread takes the lock before it reads anything.
 */
#include "record/directory.h"

#include <stdbool.h>

#include "base/atomic.h"
#include "base/statics.h"
#include "port/port.h"
#include "record/owned.h"

typedef struct visit {
    /* under the directory's lock */
    ceni_list link;
    ceni_directory_entry *entry; /* being visited */
    ceni_directory_entry *next;  /* to be visited after it */
    /* fixed */
    uint64_t thread;
    uint64_t epoch; /* of the process that walks */
} visit;

void ceni_directory_init(ceni_directory *directory)
{
    *directory = (ceni_directory){.count = 0};
    ceni_list_init(&directory->entries);
    ceni_list_init(&directory->visits);
}

/* ---- The directories of the process --------------------------------------
 * Each is created by the first call that needs it, and created again by the first such call in a forked child. */

typedef struct owned_directory {
    ceni_directory directory;
    ceni_owned owned;
} owned_directory;

static CENI_STATIC owned_directory live, freed;

static ceni_directory *ready(owned_directory *d)
{
    if (ceni_owned_begin(&d->owned)) {
        ceni_directory_init(&d->directory);
        ceni_owned_ready(&d->owned);
    }
    return &d->directory;
}

ceni_directory *ceni_directory_process(void)
{
    return ready(&live);
}

ceni_directory *ceni_directory_freed(void)
{
    return ready(&freed);
}

/* ---- Join and leave ------------------------------------------------------ */

void ceni_directory_join(ceni_directory *directory, ceni_directory_entry *entry)
{
    ceni_mutex_lock(&directory->lock, CENI_RANK_DIRECTORY);
    ceni_setting_put(&entry->number, ++directory->joined); /* the component may already write events */
    entry->epoch = ceni_fork_epoch();
    ceni_list_push_back(&directory->entries, &entry->link);
    directory->count++;
    ceni_mutex_unlock(&directory->lock, CENI_RANK_DIRECTORY);
}

static ceni_directory_entry *entry_after(const ceni_directory *directory, const ceni_list *link)
{
    return link->next == &directory->entries ? NULL : CENI_LIST_ENTRY(link->next, ceni_directory_entry, link);
}

/* Remove the entry from the list, from the next steps of all walks, and from the current step of the caller's own
 * walks. */
static void take_out_locked(ceni_directory *directory, ceni_directory_entry *entry)
{
    uint64_t self = ceni_thread_id();
    for (ceni_list *link = directory->visits.next; link != &directory->visits; link = link->next) {
        visit *v = CENI_LIST_ENTRY(link, visit, link);
        if (v->next == entry) v->next = entry_after(directory, &entry->link);
        if (v->entry == entry && v->thread == self) v->entry = NULL;
    }
    ceni_list_remove(&entry->link);
    entry->epoch = 0;
    directory->count--;
}

static bool visited_locked(const ceni_directory *directory, const ceni_directory_entry *entry)
{
    for (const ceni_list *link = directory->visits.next; link != &directory->visits; link = link->next)
        if (CENI_LIST_ENTRY(link, const visit, link)->entry == entry) return true;
    return false;
}

/* Wait until a visit has ended; drops the lock meanwhile. */
static void await_turn_locked(ceni_directory *directory)
{
    uint32_t turn = ceni_load_relaxed(&directory->turns); /* carries nothing */
    directory->leavers++;
    ceni_mutex_unlock(&directory->lock, CENI_RANK_DIRECTORY);
    ceni_futex_wait(&directory->turns, turn, CENI_FOREVER);
    ceni_mutex_lock(&directory->lock, CENI_RANK_DIRECTORY);
    directory->leavers--;
}

void ceni_directory_leave(ceni_directory *directory, ceni_directory_entry *entry)
{
    if (entry->epoch != ceni_fork_epoch()) return; /* in no directory, or in that of a parent process */
    ceni_mutex_lock(&directory->lock, CENI_RANK_DIRECTORY);
    take_out_locked(directory, entry);
    while (visited_locked(directory, entry)) await_turn_locked(directory);
    ceni_mutex_unlock(&directory->lock, CENI_RANK_DIRECTORY);
}

/* ---- Walking ------------------------------------------------------------- */

/* Visit v->next with the lock dropped, then wake the threads that wait in leave. Returns false in a child that was
 * forked meanwhile: there the lock is not held, and the directory is not the child's. */
static bool visit_one_locked(ceni_directory *directory, visit *v, void (*call)(void *, ceni_directory_entry *),
                             void *argument)
{
    ceni_directory_entry *entry = v->entry = v->next;
    v->next = entry_after(directory, &entry->link);
    ceni_mutex_unlock(&directory->lock, CENI_RANK_DIRECTORY);
    ceni_rank_expect_none("a visitor of the directory");
    int held = ceni_cancel_hold();
    call(argument, entry);
    ceni_cancel_release(held);
    if (v->epoch != ceni_fork_epoch()) return false;
    ceni_mutex_lock(&directory->lock, CENI_RANK_DIRECTORY);
    v->entry = NULL;
    if (directory->leavers == 0) return true;
    ceni_add_relaxed(&directory->turns, 1); /* carries nothing */
    ceni_futex_wake(&directory->turns, UINT32_MAX);
    return true;
}

void ceni_directory_each(ceni_directory *directory, void (*visitor)(void *argument, ceni_directory_entry *entry),
                         void *argument)
{
    ceni_mutex_lock(&directory->lock, CENI_RANK_DIRECTORY);
    visit v = {
        .next = entry_after(directory, &directory->entries), .thread = ceni_thread_id(), .epoch = ceni_fork_epoch()};
    ceni_list_push_back(&directory->visits, &v.link);
    while (v.next)
        if (!visit_one_locked(directory, &v, visitor, argument)) return;
    ceni_list_remove(&v.link);
    ceni_mutex_unlock(&directory->lock, CENI_RANK_DIRECTORY);
}

size_t ceni_directory_count(ceni_directory *directory)
{
    ceni_mutex_lock(&directory->lock, CENI_RANK_DIRECTORY);
    size_t count = directory->count;
    ceni_mutex_unlock(&directory->lock, CENI_RANK_DIRECTORY);
    return count;
}
