/* SPDX-License-Identifier: MIT */
/*
 * Creating a pool: checks the options, allocates the memory and, with options.eager, opens all objects in order on
 * this thread. If one fails, the others are closed again.
 *
 * Order table
 * [N1] need | cas of the runtime | acq_rel | itself; its readers, as a setting | the runtime's fields | an alarm is set in a half-made runtime
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "base/statics.h"
#include "pool/internal.h"
#include "port/deadline.h"
#include "port/port.h"

uint64_t ceni_pool_number(void)
{
    static CENI_STATIC _Atomic uint64_t last_id;
    uint64_t id;
    do {
        id = ceni_add_relaxed(&last_id, 1) + 1; /* a number; carries nothing */
    } while ((uint32_t)id == 0);
    return id;
}

static void configure(cen_pool *pool, const cen_pool_options *o, const cen_driver_calls *calls)
{
    pool->epoch = ceni_fork_epoch();
    pool->renews = o->on_fork == CEN_FORK_RENEW;
    pool->driver = o->driver;
    pool->described = o->driver.argument;
    pool->calls = *calls;
    pool->helped = ceni_calls_are_helped(calls);
    pool->allocator = o->allocator;
    pool->extras = (ceni_chunk_extras){.traces = o->backtraces, .identities = calls->identify};
    pool->asked = o->runtime;
    pool->on_fork = o->on_fork;
    snprintf(pool->name, sizeof pool->name, "%s", o->name);
    pool->options = *o;
    pool->options.name = pool->name;
    pool->kept[0] = pool->options; /* no other thread has the pool yet */
    ceni_pool_describe(pool);      /* for events before it joins the directory */
}

void ceni_pool_furnish(cen_pool *pool, uint64_t id, ceni_chunk *chunk)
{
    pool->id = id;
    pool->mark = (uint32_t)id;
    pool->hint_at = ceni_hint_at(pool->mark);
    pool->first_note = ceni_note(pool->mark, 0);
    pool->chunks[0] = chunk;
    pool->base = chunk->slots;
    pool->base_count = chunk->count;
    ceni_store_relaxed(&pool->chunk_count, 1);       /* no other thread reads them yet; carries nothing */
    ceni_store_relaxed(&pool->places, chunk->count); /* likewise; carries nothing */
    ceni_store_relaxed(&pool->max, chunk->count);    /* likewise; carries nothing */
    ceni_list_init(&pool->idle);
    ceni_list_init(&pool->orphans);
    ceni_list_init(&pool->checkups);
    ceni_list_init(&pool->parting);
    ceni_gate_init(&pool->gate, pool->helped);
    ceni_chores_init(pool);
}

cen_status ceni_pool_need_runtime(cen_pool *pool)
{
    if (ceni_pool_runtime(pool)) return CEN_OK;
    cen_runtime *joined, *none = NULL;
    cen_status status = ceni_runtime_join(pool->asked, &joined);
    if (status != CEN_OK) return status;
    if (!ceni_cas_acq_rel(&pool->runtime, &none, joined)) ceni_runtime_leave(joined); /* [N1] another was first */
    return CEN_OK;
}

cen_status ceni_pool_need_timekeeper(cen_pool *pool)
{
    cen_status status = ceni_pool_need_runtime(pool);
    return status == CEN_OK ? ceni_alarm_need_keeper(ceni_pool_runtime(pool)) : status;
}

/* Close the objects with indexes below `end`, the last one first. */
static void close_opened(cen_pool *pool, uint32_t end)
{
    for (uint32_t index = end; index > 0; index--) {
        ceni_waiters_lock(pool->waiters);
        bool ours = ceni_idle_withdraw_locked(pool, index - 1, ceni_slot_generation(pool, index - 1));
        ceni_waiters_unlock(pool->waiters);
        if (ours && pool->calls.close_async) ceni_place_end(pool, index - 1, "another object failed to open");
        else if (ours) ceni_place_end_here(pool, index - 1);
    }
}

static bool claim(cen_pool *pool, uint32_t *index)
{
    ceni_waiters_lock(pool->waiters);
    bool claimed = ceni_place_claim_for_adopted_locked(pool, index);
    ceni_waiters_unlock(pool->waiters);
    return claimed;
}

/* Open all objects on this thread, even if the driver blocks: `eager` means that. */
static cen_status open_all(cen_pool *pool, cen_error *error)
{
    uint32_t index, max = pool->options.max;
    for (uint32_t made = 0; made < max && claim(pool, &index); made++) {
        cen_status status = ceni_place_open(pool, index, error);
        if (status != CEN_OK) {
            ceni_waiters_lock(pool->waiters);
            ceni_place_vacate_locked(pool, index, CENI_SLOT_OPENING);
            if (!ceni_planted(eager_without_rollback)) close_opened(pool, made);
            return status;
        }
        ceni_place_publish_opened(pool, index, ceni_slot_generation(pool, index));
    }
    return CEN_OK;
}

static cen_status call_init(cen_pool *pool, cen_error *error)
{
    if (!pool->calls.init && !pool->calls.prepare) return CEN_OK;
    cen_error said = {.status = CEN_OK};
    void *state = NULL;
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    cen_status status = pool->calls.prepare ? pool->calls.prepare(pool->driver.argument, &state, &said)
                                            : pool->calls.init(pool->driver.argument, &said);
    ceni_callout_end(&callout);
    if (status == CEN_OK && pool->calls.prepare) pool->driver.argument = state;
    if (status == CEN_OK) return CEN_OK;
    const char *words = said.text[0] ? said.text : cen_status_text(status);
    return ceni_error_set(error, status, said.code, "pool \"%s\": the driver failed to initialise: %.400s", pool->name,
                          words);
}

void ceni_pool_start_keeping(cen_pool *pool)
{
    ceni_followup followup = {.more = false};
    ceni_waiters_lock(pool->waiters);
    ceni_keeper_plan_locked(pool, &followup);
    ceni_waiters_unlock(pool->waiters);
    ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
}

void ceni_pool_set_up(cen_pool *pool)
{
    ceni_keeper_init(pool);
    ceni_waiters_lock(pool->waiters);
    ceni_settings_apply_locked(pool);
    ceni_places_counted_locked(pool);
    ceni_waiters_unlock(pool->waiters);
}

void ceni_pool_enlist(cen_pool *pool)
{
    ceni_directory_join(ceni_directory_process(), &pool->entry);
    ceni_holder_publish(&ceni_holder_of_pools);
}

static cen_status start(cen_pool *pool, cen_error *error)
{
    ceni_pool_set_up(pool);
    cen_status status = call_init(pool, error);
    if (status != CEN_OK) {
        pool->calls.fini = NULL;
        return status;
    }
    ceni_exit_prepared(pool);
    if (pool->options.eager) status = open_all(pool, error);
    if (status == CEN_OK) ceni_pool_start_keeping(pool);
    return status;
}

/* Undo a start that failed. The program does not have the pool yet, but a failed opening may have set its alarm. */
static void undo(cen_pool *pool)
{
    ceni_waiters_lock(pool->waiters);
    ceni_waiters_mark_locked(pool->waiters, 0, CENI_CTL_CLOSED);
    ceni_waiters_unlock(pool->waiters);
    ceni_keeper_retire(pool);
    ceni_waiters_lock(pool->waiters);
    pool->freed = true;
    pool->hands++;
    ceni_hand_drop_locked(pool);
}

cen_status cen_pool_new(const cen_pool_options *options, cen_pool **out, cen_error *error)
{
    if (!out) return ceni_error_set(error, CEN_INVALID, 0, "cen_pool_new: out is NULL");
    cen_pool_options o;
    cen_driver_calls calls;
    cen_status status = ceni_settings_check(options, &o, &calls, "cen_pool_new", error);
    if (status != CEN_OK) return status;
    status = CEN_NO_MEMORY;
    cen_pool *pool = ceni_head_lend();
    if (!pool) goto failed;
    configure(pool, &o, &calls);
    if (o.runtime || ceni_keeper_is_needed(pool, &o)) status = ceni_pool_need_runtime(pool);
    else status = CEN_OK;
    if (status != CEN_OK) goto undo_pool;
    status = CEN_NO_MEMORY;
    ceni_chunk *chunk = ceni_chunk_make(o.allocator, 0, o.max, pool->extras, ceni_setting(&pool->first_generation));
    if (!chunk) goto undo_runtime;
    ceni_pool_furnish(pool, ceni_pool_number(), chunk);
    pool->times = ceni_times_make(o.allocator);
    if (!pool->times) goto undo_slots;
    pool->waiters = ceni_waiters_lend(pool, pool->id);
    if (!pool->waiters) goto undo_times;
    status = start(pool, error);
    if (status != CEN_OK) {
        undo(pool);
        return status;
    }
    ceni_pool_enlist(pool);
    *out = pool;
    return CEN_OK;

undo_times:
    ceni_times_free(pool->times, o.allocator);
undo_slots:
    ceni_chunk_free(chunk, o.allocator);
undo_runtime:
    if (ceni_pool_runtime(pool)) ceni_runtime_leave(ceni_pool_runtime(pool));
undo_pool:
    ceni_head_return(pool);
failed:
    return ceni_error_set(error, status, 0, "cen_pool_new: %s (max = %u)",
                          status == CEN_NO_MEMORY ? "out of memory" : "cannot use the runtime", o.max);
}
