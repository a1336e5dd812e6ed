/* SPDX-License-Identifier: MIT */
/*
 * The runtime's own threads: how they begin, how all of them end, and the memory that the last one frees.
 *
 *     start ▶ (underway) ▶ arrive ▶ works under the mutex ▶ depart
 *
 * A thread keeps its record on its own stack, so that starting it needs no memory of the runtime. It joins and detaches
 * by ceni_thread_self, so that its starter need not hand it the handle that it got.
 *
 * Two ways to end:
 *     idle timeout   it detaches itself, and no thread knows of it
 *     stopped        it leaves its handle in `ended` and joins the one that it found there. So the threads join one
 *                    another in the order of their departure, and the thread that stopped them joins the last.
 *
 * Invariants
 * I1  `threads` counts every thread that may still touch the runtime. It rises before the start. It falls in the last
 *     critical section of the thread, or of a starter whose start failed.
 * I2  Of the threads that departed after `stopping` was set, all but one are being joined by the next. That one is
 *     `ended`.
 * I3  The memory is freed by a thread that saw `threads` at 0 under the mutex: the thread that stopped the others, or,
 *     if that is one of the runtime's own, that thread when it departs (`abandoned`).
 *
 * The naive stop joins a list of handles. Then the list must know a thread before that can end, its starter must bring
 * the handle under the lock, and a thread that ends by idle timeout while it is being joined is joined twice.
 *
 * Why a stop cannot hang: it happens when the runtime has no user, and an errand or alarm counts as a user until the
 * last thing that it does. So a thread that is still in a call is about to return.
 *
 * `departures` and `called` are futex words that are written under the mutex and are relaxed. A woken thread takes the
 * mutex before it acts. The mutex orders everything else.
 *
 * Tested by tests/explore/runtime_life_test.c, tests/unit/runtime.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/plant.h"
#include "port/process_exit.h"
#include "runtime/internal.h"

void ceni_runtime_release(cen_runtime *runtime)
{
    if (runtime->bell.read_fd >= 0 || runtime->bell.write_fd >= 0) ceni_bell_fini(&runtime->bell);
    ceni_free(runtime->allocator, runtime, sizeof *runtime, _Alignof(cen_runtime));
}

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
    ceni_store_relaxed(&self->called, 0); /* no other thread knows the record yet; carries nothing */
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
    bool may_end = ceni_exit_leaving_begin(); /* before the call ends, so that the thread is counted without a gap */
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
    /* The runtime may be gone by now: only the address is used. */
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
