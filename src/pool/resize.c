/* SPDX-License-Identifier: MIT */
/*
 * Changing max while the pool is in use. Slots never move. A larger max may need a new chunk. With a smaller max
 * fewer slots are used, and the memory of those beyond is given back as they become EMPTY (shrink.c).
 */
#include "base/error.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "sync/future.h"

#ifdef CENI_WATCHED
enum { LEAST_CHUNK = 2 };
#else
enum { LEAST_CHUNK = 64 };
#endif

/* Chunks grow with the pool, so that CENI_CHUNKS are enough for the largest pool. */
static uint32_t chunk_size(uint32_t places, uint32_t max)
{
    uint32_t count = max - places;
    if (count < places / 2) count = places / 2;
    if (count < LEAST_CHUNK) count = LEAST_CHUNK;
    return count < CEN_POOL_MAX - places ? count : CEN_POOL_MAX - places;
}

static void set_max_locked(cen_pool *pool, ceni_chunk *chunk, uint32_t max, const cen_pool_options *o,
                           ceni_followup *followup)
{
    if (chunk) ceni_chunk_publish_locked(pool, chunk);
    ceni_store_relaxed(&pool->max, max); /* read under the lock, or as a setting; carries nothing */
    ceni_places_counted_locked(pool);
    ceni_waiters_pace(pool->waiters, ceni_setting(&pool->max_barging_ns), max);
    pool->options.max = max;
    if (o) ceni_settings_take_locked(pool, o);
    ceni_settings_keep_locked(pool);
    if (!ceni_planted(resize_tells_nobody)) ceni_waiters_pump_locked(pool, CENI_NO_INDEX, followup);
}

/* Returns FULL if another resize was faster. The chunk for the missing slots is allocated with no lock held, because
 * the allocator may be the program's. */
static cen_status set_max(cen_pool *pool, uint32_t max, const cen_pool_options *o)
{
    uint32_t places = ceni_place_count(pool);
    uint64_t first = ceni_setting(&pool->first_generation);
    ceni_chunk *chunk =
        places < max ? ceni_chunk_make(pool->allocator, places, chunk_size(places, max), pool->extras, first) : NULL;
    if (places < max && !chunk) return CEN_NO_MEMORY;
    ceni_followup followup = {.more = false};
    cen_status status = CEN_OK;
    ceni_waiters_lock(pool->waiters);
    /* under this lock; carries nothing */
    if (ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_CLOSED) status = CEN_CLOSED;
    else if (ceni_load_relaxed(&pool->places) != places) status = CEN_FULL; /* likewise; carries nothing */
    else set_max_locked(pool, chunk, max, o, &followup);
    ceni_waiters_unlock(pool->waiters);
    if (status != CEN_OK && chunk) ceni_chunk_free(chunk, pool->allocator);
    ceni_waiters_follow_up(pool->waiters, pool->id, pool, &followup);
    return status;
}

static bool has_surplus_locked(const cen_pool *pool)
{
    return ceni_load_relaxed(&pool->waiters->ctl) & CENI_CTL_SURPLUS; /* written under this lock; carries nothing */
}

/* Close idle objects, the highest index first, while there are too many objects. */
static void close_surplus(cen_pool *pool)
{
    for (uint32_t index = ceni_place_reach(pool); index-- > 0;) {
        ceni_waiters_lock(pool->waiters);
        bool surplus = has_surplus_locked(pool);
        bool ours = surplus && ceni_idle_withdraw_locked(pool, index, ceni_word_generation(ceni_word_at(pool, index)));
        ceni_waiters_unlock(pool->waiters);
        if (!surplus) return;
        if (ours) ceni_place_end(pool, index, "max was reduced");
    }
}

cen_status ceni_pool_resize(cen_pool *pool, uint32_t max, const cen_pool_options *o, cen_error *error)
{
    cen_status status;
    do {
        status = cen_pool_is_closed(pool) ? CEN_CLOSED : set_max(pool, max, o);
    } while (status == CEN_FULL);
    if (status == CEN_CLOSED) return ceni_pool_refuse_closed(pool->name, error);
    if (status == CEN_NO_MEMORY)
        return ceni_error_set(error, CEN_NO_MEMORY, 0, "pool \"%s\": out of memory (max = %u)", pool->name, max);
    close_surplus(pool);
    ceni_shrink(pool);
    return CEN_OK;
}

cen_status cen_pool_resize(cen_pool *pool, uint32_t max, cen_error *error)
{
    CENI_INLINE_AT_END;
    cen_status status = ceni_pool_check(pool, "cen_pool_resize", error);
    if (status != CEN_OK) return status;
    if (max < 1 || max > CEN_POOL_MAX)
        return ceni_error_set(error, CEN_INVALID, 0, "pool \"%s\": cen_pool_resize: max must be 1 to %d (got %u)",
                              pool->name, CEN_POOL_MAX, max);
    if (ceni_callout_inside(pool)) return ceni_pool_misuse(pool, "a resize", error);
    return ceni_pool_resize(pool, max, NULL, error);
}
