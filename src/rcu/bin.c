/* SPDX-License-Identifier: MIT */
/*
 * The bin: retired memory that waits for a grace period, until no read section can see it.
 *
 * A grace period costs the same for one object as for a thousand. So retired objects are collected and released in
 * batches, on a helper of the runtime. If many are retired in a short time, the retiring thread waits for a grace
 * period itself. So the memory in the bin has a bound that does not depend on how soon a helper runs: MUCH bytes,
 * plus what is retired within read sections and under locks.
 *
 *     I1  An object is in `first`, or in one batch. A batch is counted in `emptying`
 *         until all of it has been released.
 *     I2  posted is false only if `first` is empty. The job is posted to the runtime's
 *         executor, which does not refuse it: if no thread can be started, the runtime tries
 *         again. So a draining member does not depend on other events.
 *
 * The mutex protects all words except `turns`, a futex word that is changed under it.
 */
#include "base/plant.h"
#include "rcu/rcu.h"

enum { MUCH = 4 << 20 };

static void lock(ceni_bin *bin)
{
    ceni_mutex_lock(&bin->mutex, CENI_RANK_BIN);
}

static void unlock(ceni_bin *bin)
{
    ceni_mutex_unlock(&bin->mutex, CENI_RANK_BIN);
}

/* Release one batch, if there is one: wait for a grace period, then release each object. The lock is held at the
 * beginning and at the end. */
static bool empty_once_locked(ceni_bin *bin)
{
    ceni_retired *next = bin->first;
    if (!next) return false;
    bin->first = bin->final = NULL;
    bin->bytes = 0;
    bin->emptying++;
    unlock(bin);
    if (!ceni_planted(bin_without_grace)) ceni_rcu_wait();
    ceni_route_room()[CENI_ROUTE_RELEASES]++;
    while (next) {
        ceni_retired *retired = next;
        next = retired->next;
        retired->release(retired);
    }
    ceni_route_room()[CENI_ROUTE_RELEASES]--;
    lock(bin);
    bin->emptying--;
    return true;
}

/* Wake the threads that wait in ceni_bin_empty, and drop the lock. For an abandoned, empty bin this is the last
 * access. */
static void turn_and_unlock(ceni_bin *bin)
{
    bool idle = !bin->posted && bin->emptying == 0 && !bin->first;
    void (*last)(ceni_bin * bin) = idle ? bin->last : NULL;
    if (last) bin->last = NULL;
    ceni_add_relaxed(&bin->turns, 1); /* a futex word, changed and read under the mutex; carries nothing */
    /* Under the lock: a thread that waits in ceni_bin_empty may free the bin as soon as it gets the lock. */
    if (!ceni_planted(bin_forgets_to_wake)) ceni_futex_wake(&bin->turns, UINT32_MAX);
    unlock(bin);
    if (last) last(bin);
}

static void empty_on_helper(cen_job *job)
{
    ceni_bin *bin = CENI_LIST_ENTRY(job, ceni_bin, job);
    lock(bin);
    while (empty_once_locked(bin)) continue;
    bin->posted = false;
    turn_and_unlock(bin);
}

void ceni_bin_init(ceni_bin *bin, cen_runtime *runtime)
{
    *bin = (ceni_bin){.runtime = runtime, .job = {.run = empty_on_helper}};
}

/* Post the job to a helper. The lock is held at the beginning and at the end, and dropped in between, because the
 * runtime takes its own lock. */
static void post_locked(ceni_bin *bin)
{
    if (bin->posted) return;
    bin->posted = true;
    unlock(bin);
    cen_executor *executor = cen_runtime_executor(bin->runtime);
    executor->post(executor, &bin->job);
    lock(bin);
}

void ceni_bin_put(ceni_bin *bin, ceni_retired *retired, void (*release)(ceni_retired *retired), size_t bytes,
                  bool may_wait)
{
    *retired = (ceni_retired){.release = release, .bytes = bytes};
    lock(bin);
    if (bin->final) bin->final->next = retired;
    else bin->first = retired;
    bin->final = retired;
    bin->bytes += bytes;
    bin->emptying++; /* so that the bin is not idle while the lock is dropped */
    post_locked(bin);
    bin->emptying--;
    turn_and_unlock(bin);
    if (may_wait) ceni_bin_relieve(bin);
}

void ceni_bin_relieve(ceni_bin *bin)
{
    lock(bin);
    if (bin->bytes > MUCH && !ceni_read_is_open()) empty_once_locked(bin);
    turn_and_unlock(bin);
}

void ceni_bin_empty(ceni_bin *bin)
{
    lock(bin);
    for (;;) {
        while (empty_once_locked(bin)) continue;
        if (!bin->posted && bin->emptying == 0) break;
        uint32_t turns = ceni_load_relaxed(&bin->turns); /* changed under the mutex, which is held; carries nothing */
        unlock(bin);
        int64_t until = ceni_runtime_tend(bin->runtime);
        ceni_futex_wait(&bin->turns, turns, until);
        lock(bin);
    }
    turn_and_unlock(bin);
}

void ceni_bin_abandon(ceni_bin *bin, void (*last)(ceni_bin *bin))
{
    lock(bin);
    bin->last = last;
    if (bin->first) {
        bin->emptying++;
        post_locked(bin);
        bin->emptying--;
    }
    turn_and_unlock(bin);
}
