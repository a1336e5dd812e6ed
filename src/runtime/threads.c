/* SPDX-License-Identifier: MIT */
/*
 * The runtime's own threads: how they begin, and how all of them end.
 *
 *     start ▶ (underway) ▶ arrive ▶ works under the mutex ▶ depart
 *
 * A thread keeps its record on its own stack, so that starting one needs no
 * memory of the runtime's, and joins or detaches by ceni_thread_self, so that
 * nobody has to bring it the handle that its starter got.
 *
 * Two ways out:
 *     lingered out   it detaches itself; nobody knows of it any more
 *     stopped        it leaves its handle in `ended` and joins the one it found
 *                    there. So the threads join one another in the order of
 *                    their departure, and whoever stopped them joins the last.
 *
 * Invariants
 * I1  `threads` counts every thread that may still touch the runtime: it goes
 *     up before the start, and down in the last critical section of the thread
 *     or of a starter whose start failed.
 * I2  Of those that departed after `stopping` was set, all but one are being
 *     joined by the next; that one is `ended`.
 * I3  The memory is given back by one who saw `threads` at 0 under the mutex:
 *     the one who stopped them, or, if that was one of them, that one when it
 *     departs (`abandoned`).
 *
 * The naive stop joins a list of handles. Then the list must know a thread
 * before it can end, its starter must bring the handle under the lock, and a
 * thread that lingers out while it is being joined is joined twice.
 *
 * Why stopping cannot hang: it happens when nobody uses the runtime, and an
 * errand or alarm counts as a user until the last thing it does. So those that
 * are still in a call are about to return.
 *
 * The words `departures` and `called` are futex words that are written under
 * the mutex and are relaxed; a sleeper takes the mutex before it believes
 * anything. All else is ordered by the mutex.
 *
 * Tested by tests/explore/runtime_life_test.c, tests/unit/runtime.
 */
#include <stdio.h>

#include "base/plant.h"
#include "port/process_exit.h"
#include "runtime/internal.h"

/* Called with `threads` raised; the caller lowers it again if this fails. */
cen_status ceni_runtime_start(cen_runtime *runtime, const char *role, void (*run)(void *))
{
    char name[CENI_RUNTIME_NAME + 8]; /* the system shows 15 letters: half for the program's name, half for the role */
    snprintf(name, sizeof name, "%.8s:%s", runtime->name, role);
    ceni_thread unused; /* see ceni_thread_self */
    int code;
    return ceni_thread_start(&unused, name, run, runtime, &code);
}

void ceni_runtime_arrive_and_lock(cen_runtime *runtime, ceni_runtime_thread *self)
{
    self->id = ceni_thread_id();
    self->call = 0;
    ceni_list_init(&self->link);
    ceni_list_init(&self->idle);
    ceni_store_relaxed(&self->called, 0); /* nobody knows the record yet; carries nothing */
    ceni_runtime_lock(runtime);
    ceni_list_push_back(&runtime->members, &self->link);
}

void ceni_runtime_end_call(ceni_runtime_thread *self)
{
    if (self->call) ceni_exit_call_end(self->call);
    self->call = 0;
}

void ceni_runtime_depart_locked(cen_runtime *runtime, ceni_runtime_thread *self)
{
    ceni_thread me = ceni_thread_self(), before = runtime->ended;
    bool stopping = runtime->stopping, must_join = runtime->somebody_ended;
    bool may_end = ceni_exit_leaving_begin(); /* before the call ends: it is counted all the while */
    ceni_runtime_end_call(self);
    ceni_list_remove(&self->link);
    runtime->threads--;
    bool last = runtime->abandoned && runtime->threads == 0;
    if (stopping && !last) {
        runtime->ended = me;
        runtime->somebody_ended = true;
        ceni_word_turn_locked(&runtime->departures);
    }
    ceni_runtime_unlock(runtime);
    if (last) ceni_runtime_release(runtime);
    if (last || !stopping) {
        ceni_thread_detach(&me);
        if (!may_end) ceni_exit_sleep();
        return;
    }
    /* The runtime may be gone by now: the address is only a name. */
    ceni_futex_wake(&runtime->departures, 1);
    if (must_join) ceni_thread_join(&before);
}

bool ceni_runtime_is_member_locked(const cen_runtime *runtime)
{
    uint64_t id = ceni_thread_id();
    for (const ceni_list *link = runtime->members.next; link != &runtime->members; link = link->next)
        if (CENI_LIST_ENTRY(link, const ceni_runtime_thread, link)->id == id) return true;
    return false;
}

static void tell_all_locked(cen_runtime *runtime)
{
    runtime->stopping = true;
    ceni_word_turn_locked(&runtime->keeper_turns);
    ceni_futex_wake(&runtime->keeper_turns, 1);
    for (ceni_list *link; (link = ceni_list_first(&runtime->idle));) {
        ceni_runtime_thread *helper = CENI_LIST_ENTRY(link, ceni_runtime_thread, idle);
        ceni_list_remove(link);
        runtime->idle_count--;
        ceni_store_relaxed(&helper->called, 1); /* it will take the mutex; carries nothing */
        ceni_futex_wake(&helper->called, 1);
    }
}

bool ceni_runtime_stop(cen_runtime *runtime)
{
    ceni_runtime_lock(runtime);
    bool inside = ceni_runtime_is_member_locked(runtime);
    runtime->abandoned = inside;
    tell_all_locked(runtime);
    while (runtime->threads > (inside ? 1u : 0u) && !ceni_planted(stop_forgets_a_thread)) {
        uint32_t seen = ceni_word_locked(&runtime->departures);
        ceni_runtime_unlock(runtime);
        ceni_futex_wait(&runtime->departures, seen, CENI_FOREVER);
        ceni_runtime_lock(runtime);
    }
    ceni_thread ended = runtime->ended;
    bool must_join = runtime->somebody_ended;
    runtime->somebody_ended = false;
    ceni_runtime_unlock(runtime);
    if (must_join) ceni_thread_join(&ended);
    return !inside;
}
