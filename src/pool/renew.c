/* SPDX-License-Identifier: MIT */
/*
 * A pool in the child of a fork (L14).
 *
 * The child has a copy of all memory, taken while the parent's other threads were running: locks may be held by
 * threads that do not exist in the child, and lists may be half changed. With CEN_FORK_REFUSE the child touches none
 * of it. With CEN_FORK_RENEW the first call renews the pool in the same struct:
 *
 *     one thread claims the renewal, with the epoch of its process
 *       ▶ allocates everything new: slots, a wait queue, the runtime, a number; or fails
 *       ▶ writes it to the pool's struct, behind the fixed fields ▶ joins the directory
 *       ▶ publishes the epoch: from here on the pool is the child's
 *       ▶ calls the driver's abandon for each object of the parent, with no lock held
 *     another thread that calls meanwhile sleeps until the epoch is published
 *
 * No thread reads the struct between the claim and the epoch: each call, including the quick path, checks the epoch
 * first, and everything it reads afterwards is new. A thread with hints of the old pool finds another mark.
 *
 * The old slots are kept until the pool is freed: a lease from before the fork is recognised by the address of its
 * slot. If their memory were freed, a new slot could be at the same address, and the old lease would be mistaken for
 * one of it.
 *
 * Objects that the parent was opening or closing at the fork are left alone: the child cannot know how far that had
 * come.
 *
 * Order table
 * [E2] publish | store of the epoch | release | every call, which reads it first, as a setting | the new pool | a call sees the epoch of the child and slots of the parent, and lends the parent's object
 * [E3] claim   | cas of renewer     | acq_rel | E3 E4 | that a thread that failed has changed nothing | two threads renew the pool at a time
 * [E4] give up | store of renewer   | release | E3 | the same | the same
 */
#include <string.h>

#include "base/error.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

/* The parts of the renewed pool, allocated before anything changes. */
typedef struct parts {
    ceni_chunk *chunk;
    cen_runtime *runtime;
    uint64_t id;
    ceni_waiters *waiters;
} parts;

bool ceni_pool_is_ours(const cen_pool *pool)
{
    return ceni_setting((_Atomic uint64_t *)(uintptr_t)&pool->epoch) == ceni_fork_epoch();
}

bool ceni_renew_is_former(const cen_pool *pool, const void *slot)
{
    for (const ceni_chunk *chunk = pool->former; chunk; chunk = chunk->former)
        if (((uintptr_t)slot - (uintptr_t)chunk->slots) / sizeof(ceni_slot) < chunk->count) return true;
    return false;
}

void ceni_renew_forget(cen_pool *pool)
{
    while (pool->former) {
        ceni_chunk *chunk = pool->former;
        pool->former = chunk->former;
        ceni_chunk_free(chunk, pool->allocator);
    }
}

/* ---- Making it -------------------------------------------------------------------------- */

static cen_status gather(cen_pool *pool, parts *out)
{
    const cen_pool_options *options = ceni_settings_kept(pool);
    out->chunk = ceni_chunk_make(pool->allocator, 0, options->max, pool->extras, ceni_setting(&pool->first_generation));
    if (!out->chunk) return CEN_NO_MEMORY;
    out->runtime = NULL;
    cen_status status = ceni_keeper_is_needed(pool, options) ? ceni_runtime_join(NULL, &out->runtime) : CEN_OK;
    if (status != CEN_OK) goto undo_chunk;
    out->id = ceni_pool_number();
    out->waiters = ceni_waiters_lend(pool, out->id);
    if (out->waiters) return CEN_OK;
    status = CEN_NO_MEMORY;
    if (out->runtime) ceni_runtime_leave(out->runtime);
undo_chunk:
    ceni_chunk_free(out->chunk, pool->allocator);
    return status;
}

static ceni_chunk *set_aside(cen_pool *pool)
{
    uint32_t chunks = ceni_chunk_count(pool);
    ceni_chunk *aside = pool->former;
    for (uint32_t i = 0; i < chunks && pool->chunks[i]; i++) {
        pool->chunks[i]->former = aside;
        aside = pool->chunks[i];
    }
    return aside;
}

/* Initialise all fields except the fixed ones, which include the kept options. */
static void rebuild(cen_pool *pool, const parts *with)
{
    size_t fixed = offsetof(cen_pool, chunk_count);
    memset((char *)pool + fixed, 0, sizeof *pool - fixed);
    pool->options = *ceni_settings_kept(pool);         /* pool->options may have been half written at the fork */
    pool->options.runtime = NULL;                      /* the process's own, whatever the parent used */
    ceni_store_relaxed(&pool->runtime, with->runtime); /* likewise; carries nothing */
    pool->waiters = with->waiters;
    ceni_times_renew(pool->times);
    ceni_pool_describe(pool);
    ceni_pool_furnish(pool, with->id, with->chunk);
    ceni_pool_set_up(pool);
    ceni_pool_enlist(pool);
}

/* ---- Abandoning the parent's objects ---------------------------------------------------------- */

static bool has_object(ceni_slot *slot)
{
    switch (ceni_word_state(ceni_slot_word(slot))) {
    case CENI_SLOT_EMPTY:
    case CENI_SLOT_OPENING:
    case CENI_SLOT_CLOSING: return false;
    default: return true;
    }
}

static void abandon(cen_pool *pool, ceni_slot *slot)
{
    void (*call)(void *, void *) = ceni_planted(child_closes_the_parents) ? pool->calls.close : pool->calls.abandon;
    if (!call) return;
    void *object = ceni_load_relaxed(&slot->object); /* from before the fork; carries nothing */
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    call(pool->driver.argument, object);
    ceni_callout_end(&callout);
}

static void abandon_all(cen_pool *pool, const ceni_chunk *first, const ceni_chunk *end)
{
    for (const ceni_chunk *chunk = first; chunk != end; chunk = chunk->former)
        for (uint32_t i = 0; i < chunk->count; i++)
            if (has_object(&chunk->slots[i])) abandon(pool, &chunk->slots[i]);
}

/* ---- The first call --------------------------------------------------------------------------- */

/* Returns true if this thread has to renew the pool; false if it is renewed. */
static bool claim(cen_pool *pool, uint64_t epoch)
{
    for (;;) {
        uint32_t seen = ceni_eventcount_read(&pool->renewals);
        if (ceni_pool_is_ours(pool)) return false;
        uint64_t renewer = ceni_load_relaxed(&pool->renewer); /* a hint for the cas; carries nothing */
        if (renewer == epoch) ceni_eventcount_wait(&pool->renewals, seen);
        else if (ceni_cas_acq_rel(&pool->renewer, &renewer, epoch)) return true; /* [E3] */
    }
}

static cen_status give_up(cen_pool *pool, cen_status status, cen_error *error)
{
    ceni_store_release(&pool->renewer, 0); /* [E4] */
    if (!ceni_planted(renew_gives_up_in_silence)) ceni_eventcount_advance(&pool->renewals);
    if (status == CEN_FORKED) return ceni_renew_refuse(pool, error);
    return ceni_error_set(error, status, 0, "pool \"%s\": cannot be renewed after the fork: %s", pool->name,
                          cen_status_text(status));
}

cen_status ceni_renew_refuse(const cen_pool *pool, cen_error *error)
{
    return ceni_error_set(error, CEN_FORKED, 0, "pool \"%s\": it belongs to the parent process", pool->name);
}

cen_status ceni_renew(cen_pool *pool, cen_error *error)
{
    uint64_t epoch = ceni_fork_epoch();
    if (!pool->renews) return ceni_renew_refuse(pool, error);
    if (!claim(pool, epoch)) return CEN_OK;
    if (pool->closed) return give_up(pool, CEN_FORKED, error); /* a closed pool is not renewed */
    parts with;
    cen_status status = gather(pool, &with);
    if (status != CEN_OK) return give_up(pool, status, error);
    ceni_pool_events_end(pool); /* only memory: the child has no listener */
    ceni_pending_deadline_end(pool);
    if (!ceni_planted(renew_loses_orphans)) ceni_orphans_forget(pool); /* the parent has abandoned them */
    ceni_chunk *older = pool->former, *left = set_aside(pool);
    pool->former = left;
    rebuild(pool, &with);
    ceni_store_release(&pool->epoch, epoch); /* [E2] */
    ceni_eventcount_advance(&pool->renewals);
    abandon_all(pool, left, older);
    ceni_pool_start_keeping(pool);
    return CEN_OK;
}
