/* SPDX-License-Identifier: MIT */
/*
 * A pool in the child of a fork (L14).
 *
 * The child has a copy of everything, taken while the parent's other threads were
 * in the middle of something: locks may be held by threads that are not here, and
 * lists half changed. With CEN_FORK_REFUSE nothing of it is touched. With
 * CEN_FORK_RENEW the first call makes the pool anew in the same place:
 *
 *     one thread claims the renewal, by the epoch of its process
 *       ▶ has everything new: slots, a line, the runtime, a number; or answers that it could not
 *       ▶ puts it into the pool's struct, behind what is fixed ▶ joins the directory
 *       ▶ publishes the epoch: from here on the pool is the child's
 *       ▶ calls the driver's abandon for each object of the parent's, with no lock held
 *     another that comes meanwhile sleeps until the epoch is there
 *
 * Nobody reads the struct between the claim and the epoch: each call asks for the
 * epoch first, the quick path included, and what it reads afterwards is new.
 * A thread whose notes are of the old pool finds another mark.
 *
 * The old slots are kept until the pool is freed: a lease of before the fork is
 * told by where its slot lies. Were their memory given back, a new slot could
 * come to lie there and the old lease be taken for one of it.
 *
 * Objects that the parent was just opening or closing are left alone: nobody
 * here can tell how far that had come.
 *
 * Order table
 * [E2] publish | store of the epoch | release | whoever reads it as a setting, first of all | the new pool | a call meets the epoch of the child and slots of the parent, and lends the parent's object
 * [E3] claim   | cas of renewer     | acq_rel | E3 E4 | that who failed has left all as it was | two make the pool anew at a time
 * [E4] give up | store of renewer   | release | E3 | the same | the same
 */
#include <string.h>

#include "base/error.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

/* What the new pool is made of, had before anything changes. */
typedef struct parts {
    ceni_chunk *chunk;
    cen_runtime *runtime;
    uint64_t id;
    ceni_waiters *line;
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
    out->line = ceni_waiters_lend(pool, out->id);
    if (out->line) return CEN_OK;
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

/* Everything but what is fixed. The kept options lie in the fixed part. */
static void rebuild(cen_pool *pool, const parts *with)
{
    size_t fixed = offsetof(cen_pool, chunk_count);
    memset((char *)pool + fixed, 0, sizeof *pool - fixed);
    pool->options = *ceni_settings_kept(pool);         /* pool->options may have been half written at the fork */
    pool->options.runtime = NULL;                      /* the process' own, whatever the parent had */
    ceni_store_relaxed(&pool->runtime, with->runtime); /* likewise; carries nothing */
    pool->line = with->line;
    ceni_times_renew(pool->times);
    ceni_pool_describe(pool);
    ceni_pool_furnish(pool, with->id, with->chunk);
    ceni_pool_set_up(pool);
    ceni_pool_enlist(pool);
}

/* ---- Letting go of the parent's objects ----------------------------------------------------- */

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
    void *object = ceni_load_relaxed(&slot->object); /* of before the fork; carries nothing */
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

/* True: this thread is to make the pool anew. False: it is there. */
static bool claim(cen_pool *pool, uint64_t epoch)
{
    for (;;) {
        uint32_t seen = ceni_eventcount_read(&pool->renewals);
        if (ceni_pool_is_ours(pool)) return false;
        uint64_t renewer = ceni_load_relaxed(&pool->renewer); /* a guess for the cas; carries nothing */
        if (renewer == epoch) ceni_eventcount_wait(&pool->renewals, seen);
        else if (ceni_cas_acq_rel(&pool->renewer, &renewer, epoch)) return true; /* [E3] */
    }
}

static cen_status give_up(cen_pool *pool, cen_status status, cen_error *error)
{
    ceni_store_release(&pool->renewer, 0); /* [E4] */
    if (!ceni_planted(renew_gives_up_in_silence)) ceni_eventcount_advance(&pool->renewals);
    if (status == CEN_FORKED) return ceni_renew_refuse(pool, error);
    return ceni_error_set(error, status, 0, "pool \"%s\" could not be made anew after a fork: %s", pool->name,
                          cen_status_text(status));
}

cen_status ceni_renew_refuse(const cen_pool *pool, cen_error *error)
{
    return ceni_error_set(error, CEN_FORKED, 0, "pool \"%s\" belongs to the process that this one was forked from",
                          pool->name);
}

cen_status ceni_renew(cen_pool *pool, cen_error *error)
{
    uint64_t epoch = ceni_fork_epoch();
    if (!pool->renews) return ceni_renew_refuse(pool, error);
    if (!claim(pool, epoch)) return CEN_OK;
    if (pool->closed) return give_up(pool, CEN_FORKED, error); /* there is nothing to be made anew */
    parts with;
    cen_status status = gather(pool, &with);
    if (status != CEN_OK) return give_up(pool, status, error);
    ceni_pool_events_end(pool); /* only memory: nobody listens here */
    ceni_patience_end(pool);
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
