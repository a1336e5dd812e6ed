/* SPDX-License-Identifier: MIT */
/*
 * Making a pool: its options checked, its memory had, and, if eager, its
 * objects opened in order on this thread, or all closed again if one fails.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/plant.h"
#include "base/statics.h"
#include "pool/inside.h"
#include "port/deadline.h"
#include "port/port.h"

enum {
    DEFAULT_MAX = 10,
    DEFAULT_PATIENCE_S = 30,
    DEFAULT_OVERTAKE_NS = 1000000,
};

/* ---- New --------------------------------------------------------------------------------- */

static cen_status refuse(cen_error *error, const char *what)
{
    return ceni_error_set(error, CEN_INVALID, 0, "cen_pool_new: %s", what);
}

static cen_status check_options(const cen_pool_options *o, cen_error *error)
{
    if (!o) return refuse(error, "options is NULL");
    if (o->size != sizeof *o)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "cen_pool_new: options.size is %zu, not %zu; fill options with CEN_POOL_OPTIONS", o->size, sizeof *o);
    if (o->max > CEN_POOL_MOST)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_pool_new: options.max is %u, not 1 to %d", o->max, CEN_POOL_MOST);
    if ((unsigned)o->order > CEN_ORDER_FIFO)
        return ceni_error_set(error, CEN_INVALID, 0, "cen_pool_new: options.order is %d, which is no order", (int)o->order);
    if (o->overtake_ns < CEN_OFF)
        return ceni_error_set(error, CEN_INVALID, 0,
                              "cen_pool_new: options.overtake_ns is %lld, which is neither a time nor CEN_OFF",
                              (long long)o->overtake_ns);
    if (o->driver.calls && o->driver.calls->size != sizeof(cen_driver_calls))
        return ceni_error_set(error, CEN_INVALID, 0, "cen_pool_new: options.driver.calls->size is %zu, not %zu",
                              o->driver.calls->size, sizeof(cen_driver_calls));
    if (o->eager && !(o->driver.calls && o->driver.calls->open))
        return refuse(error, "options.eager needs options.driver with an open");
    if (o->allocator && (!o->allocator->alloc || !o->allocator->free))
        return refuse(error, "options.allocator lacks alloc or free");
    return CEN_OK;
}

static size_t snapshot(const void *object, ceni_reading *readings, size_t room)
{
    cen_pool_stats s;
    if (cen_pool_look((cen_pool *)(uintptr_t)object, &s) != CEN_OK) return 0;
    const ceni_reading all[] = {
        {"max", s.max},         {"idle", s.idle},       {"held", (int64_t)s.held + s.moving}, {"opening", s.opening},
        {"closing", s.closing}, {"revoked", s.revoked}, {"waiting", s.waiting},               {"closed", s.is_closed},
    };
    size_t count = sizeof all / sizeof all[0];
    memcpy(readings, all, (room < count ? room : count) * sizeof all[0]);
    return count;
}

static void configure(cen_pool *pool, const cen_pool_options *o)
{
    static CENI_STATIC _Atomic uint64_t last_id;
    do {
        pool->id = ceni_add_relaxed(&last_id, 1) + 1; /* a number; carries nothing */
        pool->mark = (uint32_t)pool->id;
    } while (pool->mark == 0);
    pool->epoch = ceni_fork_epoch();
    pool->order = o->order;
    pool->exact_order = o->order != CEN_ORDER_WARM;
    pool->exact_times = o->exact_times;
    pool->strict = o->overtake_ns == CEN_OFF;
    pool->overtake_ns = o->overtake_ns ? o->overtake_ns : DEFAULT_OVERTAKE_NS;
    pool->patience = ceni_deadline_or(o->patience, cen_in_s(DEFAULT_PATIENCE_S));
    pool->driver = o->driver;
    pool->allocator = o->allocator;
    snprintf(pool->name, sizeof pool->name, "%s", o->name ? o->name : "pool");
    ceni_list_init(&pool->idle);
}

static cen_status init_slots(cen_pool *pool, uint32_t max)
{
    pool->chunks[0] = ceni_chunk_make(pool->allocator, 0, max);
    if (!pool->chunks[0]) return CEN_NO_MEMORY;
    pool->base = pool->chunks[0]->slots;
    pool->base_count = max;
    pool->quick_give = pool->exact_order ? 0 : max;
    pool->quick_take = pool->exact_times ? 0 : pool->quick_give;
    pool->chunk_count = 1;
    pool->places = max;
    pool->max = max;
    return CEN_OK;
}

/* Closes the objects with indexes below `end`, last one first. */
static void close_opened(cen_pool *pool, uint32_t end)
{
    for (uint32_t index = end; index > 0; index--) {
        ceni_line_lock(pool->line);
        bool ours = ceni_idle_withdraw_locked(pool, index - 1, ceni_slot_generation(pool, index - 1));
        ceni_line_unlock(pool->line);
        if (ours) ceni_place_end(pool, index - 1);
    }
}

static cen_status open_all(cen_pool *pool, uint32_t max, cen_error *error)
{
    for (uint32_t made = 0; made < max; made++) {
        uint32_t index = made;
        ceni_place_claim(pool, &index);
        cen_status status = ceni_place_open(pool, index, error);
        if (status != CEN_OK) {
            ceni_line_lock(pool->line);
            ceni_place_vacate_locked(pool, index, CENI_OPENING);
            if (!ceni_planted(eager_without_rollback)) close_opened(pool, made);
            return status;
        }
        ceni_idle_offer(pool, index, 0, CENI_OPENING);
    }
    return CEN_OK;
}

cen_status cen_pool_new(const cen_pool_options *o, cen_pool **out, cen_error *error)
{
    if (!out) return refuse(error, "out is NULL");
    cen_status status = check_options(o, error);
    if (status != CEN_OK) return status;
    uint32_t max = o->max ? o->max : DEFAULT_MAX;
    cen_pool *pool = ceni_alloc(o->allocator, sizeof *pool, CENI_LINE);
    if (!pool) goto no_memory;
    configure(pool, o);
    if (init_slots(pool, max) != CEN_OK) goto undo_pool;
    pool->line = ceni_line_lend(pool, pool->id);
    if (!pool->line) goto undo_slots;
    ceni_line_pace(pool->line, pool->overtake_ns, max);
    ceni_line_lock(pool->line);
    ceni_places_counted_locked(pool);
    ceni_line_unlock(pool->line);
    if (o->eager) status = open_all(pool, max, error);
    if (status != CEN_OK) goto undo_line;
    pool->entry = (ceni_entry){.kind = "pool", .name = pool->name, .snapshot = snapshot, .object = pool};
    ceni_directory_join(ceni_directory_process(), &pool->entry);
    *out = pool;
    return CEN_OK;

undo_line:
    ceni_line_lock(pool->line);
    ceni_line_return_locked(pool->line);
    ceni_pool_release(pool);
    return status;
undo_slots:
    ceni_chunk_free(pool->chunks[0], o->allocator);
undo_pool:
    ceni_free(o->allocator, pool, sizeof *pool, CENI_LINE);
no_memory:
    return ceni_error_set(error, CEN_NO_MEMORY, 0, "cen_pool_new: no memory for a pool of %u", max);
}
