/* SPDX-License-Identifier: MIT */
/*
 * Visits: cen_pool_each calls a visitor for every object of the pool.
 *
 * A garbage collector marks objects by a visit: it frees what a visit misses. It may have stopped threads anywhere,
 * also with the pool's lock held, so a visit takes no lock. It reads the map of slots that are not EMPTY, so its cost
 * depends on the number of objects, not of slots.
 *
 * Invariants
 *  I1 While a slot has an object, its bit in `filled` is set: it is set when the slot is claimed, before the driver
 *     is called, and cleared when the slot is EMPTY, after the driver's close has returned.
 *  I2 `filled` changes only under the pool's lock. So the bits above a set bit stay set: no thread clears a bit above
 *     a word that has bits.
 *  I3 An object stays in its slot for as long as it exists, or until it is an orphan. An orphan's record is shown
 *     before the slot is emptied, and until the object is closed (F6 in orphans.c).
 *  I4 A slot's object is NULL from shortly before EMPTY until the driver's open, or adopt, has written the next one.
 *     In OPENING and CLOSING, NULL means that there is no object; in other states NULL may be a driver's object.
 *
 * Therefore an object that exists during the whole visit is visited: its bit is set throughout (I1, I2), its slot is
 * read after the visit began (I3), and only the state EMPTY hides it. If it became an orphan before its slot was
 * read, its record is read afterwards. If it becomes one later, it may be visited twice. An object that is visited in
 * OPENING is never the previous one (I4).
 *
 * The naive version shows a slot only in stable states. It then misses an object that is being reset.
 *
 * Loads of the map are ordered in map.c [N5], those of slots in stats.c [V1] and holding.c [V2].
 *
 * Tested by tests/unit/pool/visit_test.c, visit_real_test.c, tests/explore/pool_visit_test.c.
 */
#include "base/plant.h"
#include "pool/internal.h"
#include "sync/future.h"

typedef bool visitor(void *argument, const cen_object_view *holding);

static uint32_t next_filled(const ceni_chunk *chunk, uint32_t from)
{
    if (ceni_planted(visit_reads_every_slot)) return from;
    return ceni_map_next(&chunk->filled, from, chunk->count);
}

static bool shows(cen_pool *pool, uint32_t index, cen_object_view *out)
{
    return ceni_planted(visit_shows_the_calm) ? ceni_slot_holding(pool, index, out) : ceni_slot_shows(pool, index, out);
}

/* Returns false if the visitor has returned false. */
static bool visit_chunk(cen_pool *pool, const ceni_chunk *chunk, visitor *visit, void *argument)
{
    cen_object_view holding;
    for (uint32_t at = next_filled(chunk, 0); at < chunk->count; at = next_filled(chunk, at + 1))
        if (shows(pool, chunk->first + at, &holding) && !visit(argument, &holding)) return false;
    return true;
}

static bool visit_orphans(cen_pool *pool, visitor *visit, void *argument)
{
    cen_object_view holding;
    for (ceni_orphan *at = ceni_orphan_next(pool, NULL); at; at = ceni_orphan_next(pool, at))
        if (ceni_orphan_shows(at, &holding) && !visit(argument, &holding)) return false;
    return true;
}

cen_status cen_pool_each(cen_pool *pool, bool (*visit)(void *argument, const cen_object_view *holding), void *argument)
{
    CENI_INLINE_AT_END; /* a visitor may give, and the jobs that run then may do what a visitor may not */
    cen_status status = ceni_pool_check(pool, "cen_pool_each", NULL);
    if (status != CEN_OK || !visit) return visit ? status : CEN_INVALID;
    uint32_t chunks = ceni_chunk_count(pool);
    bool more = true;
    ceni_callout callout;
    ceni_callout_begin(&callout, pool);
    for (uint32_t i = 0; i < chunks && more; i++) more = visit_chunk(pool, pool->chunks[i], visit, argument);
    if (more) visit_orphans(pool, visit, argument); /* after the slots, because objects move from slots to records */
    ceni_callout_end(&callout);
    return CEN_OK;
}
