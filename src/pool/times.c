/* SPDX-License-Identifier: MIT */
/*
 * Histograms of the durations of leases, waits and openings.
 *
 * All waits and openings are recorded, under the lock that their end takes anyway. An uncontended take and give take
 * no lock, and reading the clock twice would cost several times as much as both (L17). So only some leases are timed:
 *
 *     the word of a lease, HELD with its generation ▶ sampled, or not: one in 64
 *     take: sampled ▶ the slow path ▶ `since`, and the note, marked as timed
 *     give: sampled ▶ the slow path ▶ HELD ▶ RESETTING ▶ recorded ▶ IDLE
 *
 * The generation alone decides whether a lease is timed, and a take and a give have it in a register. An untimed
 * lease costs three instructions in each of the two, and no memory access. The naive version counts down in the
 * thread, or draws a random number. It then has to tell the give, which may run on another thread, by a word of
 * shared memory that every take would write. A version that times every 64th generation always times the same part of
 * a program that does 64 things in turn (slot.h).
 *
 * With exact_times all leases take the slow path, and all are timed.
 *
 * The histogram of leases has several stripes. A thread chooses one by the number of its holder, and a reader gets
 * their sum. With a single stripe, two threads that time leases write to the same two cache lines: that cost 1 ns per
 * take and give of each, although only one lease in 64 is timed.
 *
 * Buckets come in lines from two stocks (record/compact.h); one of them is for the histograms under the lock. The
 * first lines are allocated with the pool. More are allocated by code that may wait for an allocator: a take that has
 * waited, an opening, a round of the housekeeper, a reader of the histograms (ceni_times_tend). A give never does.
 * While a stock is empty records are still counted, but less exactly.
 *
 * Invariants
 *  M1 A lease is recorded at most once: by the thread that moves its slot out of HELD or,
 *     if it was revoked, out of REVOKED or RETURNED, and while that thread owns the slot.
 *     A pool with a slot that is neither EMPTY nor IDLE is not freed, so its histograms
 *     exist.
 *  M2 `since` belongs to the lease if the note does and is marked as TIMED: the note is
 *     written after it [T5 in take.c]. It is the moment when the lease began, or its
 *     complement (negative) the moment when it ended, from which holding.c computes for how
 *     long the object has been idle.
 *  M3 If exact_times was always set, the number of recorded leases is the number of ended
 *     leases, less those that were never lent: their object was found unfit or superfluous
 *     before.
 *
 * Order table
 * [M1] ends | load of the note | acquire | T5 in take.c | since, written by the take | the time of the previous lease is recorded
 *
 * Tested by tests/unit/pool/times_test.c, times_real_test.c, tests/explore/pool_times_test.c, tools/check-instructions.
 */
#include "base/alloc.h"
#include "base/plant.h"
#include "pool/internal.h"
#include "port/port.h"

enum { USE_LINES = 16, LINES = 16 }; /* of the first blocks: with these a pool of ten objects needs less than 16 KiB */

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

/* No other thread uses it. */
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
    ceni_store_relaxed(&slot->since, ~now); /* published by the slot's next state; carries nothing */
    ceni_times *times = pool->times;
    unsigned stripe = (unsigned)(ceni_holder_known() % CENI_USE_STRIPES);
    ceni_compact_stripe *own = stripe > 0 ? &times->use_stripes[stripe - 1] : NULL;
    ceni_compact_record(&times->use, own, &times->use_stock, false, held);
    ceni_tell_given(pool, held, ceni_setting(&slot->where));
}

/* The reset is written as settings are: in a world it is no scheduling point. Records in progress may be lost in
 * part, as histogram.h states. */
void ceni_use_begins_anew(cen_pool *pool)
{
    ceni_times *times = pool->times;
    ceni_compact_reset(&times->use, times->use_stripes, CENI_USE_STRIPES - 1, &times->use_stock);
}

/* ---- Reading ---------------------------------------------------------------------------- */

static void copy(cen_pool *pool, const ceni_compact *from, cen_histogram *out)
{
    ceni_waiters_lock(pool->waiters);
    ceni_compact_snapshot(from, NULL, 0, &pool->times->stock, out);
    ceni_waiters_unlock(pool->waiters);
}

/* The number of takes that got an object without waiting: all takes that got one, less those served in the queue. A
 * waiter that was served with a place has no object yet, so the difference is too small until its opening has ended.
 * The number is reported as part of a histogram, whose readers take a falling number for a reset component. So it
 * never falls. */
static uint64_t instant_takes(cen_pool *pool)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    ceni_pool_stats_read(pool, &s);
    ceni_waiters_lock(pool->waiters);
    if (s.taken > s.served + pool->times->instant) pool->times->instant = s.taken - s.served;
    uint64_t instant = pool->times->instant;
    ceni_waiters_unlock(pool->waiters);
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
