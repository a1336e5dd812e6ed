/* SPDX-License-Identifier: MIT */
/*
 * How long components took: leases, waits, openings.
 *
 * Waits and openings are counted all, under the lock that their end takes anyway.
 * A take and a give that meet nobody have no lock, and reading two clocks would
 * cost them several times what they cost (L17), so of leases only some are timed:
 *
 *     the word of a lease, HELD with its generation ▶ sampled, or not: one in 64
 *     take: sampled ▶ the slow way ▶ `since` and the note, which says so
 *     give: sampled ▶ the slow way ▶ HELD ▶ RESETTING ▶ counted ▶ IDLE
 *
 * Whether a lease is one of them follows from its generation alone, which a take
 * and a give have in a register: one that is not costs three instructions each,
 * and no memory. The naive version counts down in the thread, or draws a number,
 * and has to tell the give, which may come from another thread, by a word of
 * shared memory that every take would write. One that takes every 64th generation meets
 * always the same part of a program that does 64 components in turn (slot.h).
 *
 * With exact_times all go the slow way, and all are timed.
 *
 * The times of use are several histograms, which a thread chooses by the number of
 * its holder, and whoever asks gets their sum. With one, two threads that count
 * the same histograms write to the same two lines: that was 1 ns of every pair
 * of each of them, though only one in 64 is timed.
 *
 * Buckets come in lines from two stocks (record/compact.h), one of them for what is
 * counted under the lock. The first lines come with the pool. More are had by whoever
 * may be held up by an allocator: a take that has waited, an opening, a round of the
 * housekeeper, a reader of the times (ceni_times_tend). A give never calls it. While
 * a stock is empty what is counted keeps its number and loses its exactness.
 *
 * Invariants
 *  M1 A lease is counted once at most: by whoever moves its slot out of HELD, or,
 *     if it was revoked, out of REVOKED or RETURNED; and while the slot is that
 *     one's: in a pool with a slot that is neither EMPTY nor IDLE nothing is given back to the
 *     system, so its record is there.
 *  M2 `since` is that of the lease if the note is the lease's and says TIMED: the
 *     note is written after it [T5 in take.c]. It is the moment at which the lease began; or,
 *     turned round (negative), at which it ended, for those who ask how long the object has been idle (look.c).
 *  M3 With exact_times all the while, the times of use are as many as the leases
 *     that have ended, less those that nobody had: an object that was found
 *     unfit or superfluous before it was lent.
 *
 * Order table
 * [M1] ends | load of the note | acquire | T5 in take.c | since, written by who took it | the time of the lease before is counted
 *
 * Tested by tests/unit/pool/times_test.c, times_real_test.c, tests/explore/pool_times_test.c, tools/check-instructions.
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

enum { USE_LINES = 16, LINES = 16 }; /* of the first blocks: with them a pool of ten has less than 16 KiB */

ceni_times *ceni_times_make(const cen_allocator *allocator)
{
    ceni_times *times = ceni_alloc(allocator, sizeof *times, CENI_CACHE_LINE);
    if (!times) return NULL;
    if (!ceni_stock_init(&times->use_stock, USE_LINES, allocator)) goto undo_times;
    if (!ceni_stock_init(&times->stock, LINES, allocator)) goto undo_use_stock;
    ceni_times_renew(times);
    return times;

undo_use_stock:
    ceni_stock_fini(&times->use_stock, allocator);
undo_times:
    ceni_free(allocator, times, sizeof *times, CENI_CACHE_LINE);
    return NULL;
}

/* Nobody else has it. */
void ceni_times_renew(ceni_times *times)
{
    ceni_stock_renew(&times->use_stock);
    ceni_stock_renew(&times->stock);
    ceni_compact_init(&times->use);
    for (unsigned i = 0; i < CENI_USE_STRIPES - 1; i++) ceni_stripe_init(&times->use_stripes[i]);
    ceni_compact_init(&times->wait);
    ceni_compact_init(&times->create);
    times->instant = 0;
}

void ceni_times_free(ceni_times *times, const cen_allocator *allocator)
{
    if (!times) return;
    ceni_stock_fini(&times->use_stock, allocator);
    ceni_stock_fini(&times->stock, allocator);
    ceni_free(allocator, times, sizeof *times, CENI_CACHE_LINE);
}

void ceni_times_tend(cen_pool *pool)
{
    ceni_stock_tend(&pool->times->use_stock, pool->allocator);
    ceni_stock_tend(&pool->times->stock, pool->allocator);
}

/* ---- Waits and openings ------------------------------------------------------------------ */

void ceni_wait_ends_locked(cen_pool *pool, int64_t waited)
{
    ceni_compact_record(&pool->times->wait, NULL, &pool->times->stock, true, waited);
}

void ceni_opening_took_locked(cen_pool *pool, int64_t took)
{
    ceni_compact_record(&pool->times->create, NULL, &pool->times->stock, true, took);
}

/* ---- Use ------------------------------------------------------------------------------- */

void ceni_timed_use_ends(cen_pool *pool, ceni_slot *slot, uint64_t generation)
{
    uint64_t note = ceni_load_acquire(&slot->note); /* [M1] */
    if (!ceni_slot_is_timed(note, generation) && !ceni_planted(use_of_the_lease_before)) return;
    /* came with the note; carries nothing */
    int64_t now = ceni_pool_now(pool), held = now - ceni_load_relaxed(&slot->since);
    ceni_store_relaxed(&slot->since, ~now); /* the slot's next state brings it to others; carries nothing */
    ceni_times *times = pool->times;
    unsigned stripe = (unsigned)(ceni_holder_known() % CENI_USE_STRIPES);
    ceni_compact_stripe *own = stripe > 0 ? &times->use_stripes[stripe - 1] : NULL;
    ceni_compact_record(&times->use, own, &times->use_stock, false, held);
    ceni_tell_given(pool, held, ceni_setting(&slot->where));
}

/* As settings are put: a change of settings is no point where another thread may come. Records in progress may be
 * forgotten in part, as histogram.h says. */
void ceni_use_begins_anew(cen_pool *pool)
{
    ceni_times *times = pool->times;
    ceni_compact_reset(&times->use, times->use_stripes, CENI_USE_STRIPES - 1, &times->use_stock);
}

/* ---- For whoever asks ------------------------------------------------------------------- */

static void copy(cen_pool *pool, const ceni_compact *from, cen_histogram *out)
{
    ceni_waiters_lock(pool->line);
    ceni_compact_snapshot(from, NULL, 0, &pool->times->stock, out);
    ceni_waiters_unlock(pool->line);
}

/* Takes that got an object without waiting: all that got one, but those who were served in line. One who was served with a
 * place to open in has no object yet, so that the difference is too small until he has it. It is told as a part of a
 * histogram, and whoever reads one takes a number that falls for a component that began anew: so it never falls. */
static uint64_t instant_takes(cen_pool *pool)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    if (cen_pool_stats_get(pool, &s) != CEN_OK) return 0;
    ceni_waiters_lock(pool->line);
    if (s.taken > s.served + pool->times->instant) pool->times->instant = s.taken - s.served;
    uint64_t instant = pool->times->instant;
    ceni_waiters_unlock(pool->line);
    return instant;
}

bool ceni_times_histogram(const void *object, size_t index, cen_histogram_header *timing, cen_histogram *out)
{
    cen_pool *pool = (cen_pool *)(uintptr_t)object;
    if (index > 2 || ceni_pool_check(pool, "cen_component_histogram", NULL) != CEN_OK) return false;
    *timing = (cen_histogram_header){.one_in = 1};
    ceni_times_tend(pool);
    if (index == 0) {
        timing->name = "wait";
        copy(pool, &pool->times->wait, out);
        timing->instant = instant_takes(pool);
    } else if (index == 1) {
        timing->name = "use";
        timing->one_in = ceni_pool_has(&pool->exact_times) ? 1 : CENI_SAMPLED_ONE_IN;
        ceni_compact_snapshot(&pool->times->use, pool->times->use_stripes, CENI_USE_STRIPES - 1,
                              &pool->times->use_stock, out);
    } else {
        timing->name = "create";
        copy(pool, &pool->times->create, out);
    }
    return true;
}
