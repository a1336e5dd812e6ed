/* SPDX-License-Identifier: MIT */
/*
 * The compact histogram: recording, snapshots, and the stock of lines. compact.h describes its use.
 *
 * Invariants
 * I1  A record adds one to exactly one bucket, or to one row. The count is their sum.
 * I2  A line's number is in one place of `lines` only, and stays there. The line was zero when its number was stored.
 * I3  used <= room, and a line below `room` is in an allocated block.
 *
 * The naive version takes a line from the stock and then tries to store its number. The thread that comes second has
 * a line that is not needed, and a stock of few lines runs out. Here the place is claimed first (CENI_LINE_COMES). A
 * thread that finds a claim does not wait: its record goes to the row.
 *
 * Sums and limits work as in histogram.c, with the same argument (I2, I3 there).
 *
 * Progress: record is lock-free. It repeats a compare-and-swap only if another thread has taken a line, or moved the
 * same limit, meanwhile.
 *
 * Order table
 * tag  site | operation | order | pairs with | carries | breaks if weakened
 * [X2] get line | store of the number   | release | readers of it as a setting | the line's block | a bucket is counted in a block that is not allocated yet
 * [X3] take     | load of room          | acquire | X5 | the block | a number is given for a line without memory
 * [X4] tend     | cas of a block        | acq_rel | readers of it as a setting | the zeroed lines | a bucket is counted in memory that is not zero yet
 * [X5] tend     | add to room           | acq_rel | X3 | the block | a number is given for a line without memory
 */
#include "record/compact.h"

#include <string.h>

#include "base/alloc.h"
#include "base/plant.h"

#define TOP_BIT (UINT64_C(1) << 63)

enum { ROW = 32, FEW = 4 };

/* With `alone` no other thread writes, so a load and a store are enough. In a world settings are not scheduling
 * points, so no thread runs between the two. */
static inline void add(_Atomic uint64_t *counter, uint64_t value, bool alone)
{
    if (alone) ceni_setting_put(counter, ceni_setting(counter) + value);
    else ceni_add_relaxed(counter, value); /* carries nothing */
}

/* ---- The stock ------------------------------------------------------------------------------- */

static size_t block_bytes(const ceni_stock *stock)
{
    return sizeof(ceni_bucket_row) << stock->shift;
}

bool ceni_stock_init(ceni_stock *stock, uint32_t lines, const cen_allocator *allocator)
{
    *stock = (ceni_stock){.shift = (uint32_t)__builtin_ctz(lines)};
    ceni_setting_put(&stock->blocks[0], ceni_alloc(allocator, block_bytes(stock), CENI_CACHE_LINE));
    ceni_setting_put(&stock->room, lines);
    return ceni_setting(&stock->blocks[0]) != NULL;
}

void ceni_stock_renew(ceni_stock *stock)
{
    for (unsigned i = 0; i < CENI_STOCK_BLOCKS && ceni_setting(&stock->blocks[i]); i++)
        memset(ceni_setting(&stock->blocks[i]), 0, block_bytes(stock));
    ceni_setting_put(&stock->used, 0);
}

void ceni_stock_fini(ceni_stock *stock, const cen_allocator *allocator)
{
    for (unsigned i = 0; i < CENI_STOCK_BLOCKS; i++)
        ceni_free(allocator, ceni_setting(&stock->blocks[i]), block_bytes(stock), CENI_CACHE_LINE);
}

static ceni_bucket_row *line_at(const ceni_stock *stock, uint32_t line)
{
    return &ceni_setting(&stock->blocks[line >> stock->shift])[line & ((1u << stock->shift) - 1)];
}

void ceni_stock_tend(ceni_stock *stock, const cen_allocator *allocator)
{
    uint32_t room = ceni_setting(&stock->room), block = room >> stock->shift;
    if (ceni_setting(&stock->used) + FEW <= room || block >= CENI_STOCK_BLOCKS) return;
    ceni_bucket_row *made = ceni_alloc(allocator, block_bytes(stock), CENI_CACHE_LINE), *none = NULL;
    if (!made) return;
    if (ceni_cas_acq_rel(&stock->blocks[block], &none, made)) /* [X4] */
        ceni_add_acq_rel(&stock->room, 1u << stock->shift);   /* [X5] */
    else ceni_free(allocator, made, block_bytes(stock), CENI_CACHE_LINE);
}

/* Take a free line and return its number; 0 if there is none. `all`: from the whole stock, not only from its first
 * half. */
static uint16_t take_line(ceni_stock *stock, bool alone, bool all)
{
    uint32_t used = ceni_setting(&stock->used), room = ceni_load_acquire(&stock->room); /* [X3] */
    do {
        if (used >= (all ? room : room / 2)) return 0;
        if (alone) {
            ceni_setting_put(&stock->used, used + 1);
            return (uint16_t)(used + 1);
        }
    } while (!ceni_cas_relaxed(&stock->used, &used, used + 1)); /* carries nothing */
    return (uint16_t)(used + 1);
}

/* ---- Recording --------------------------------------------------------------------------------- */

void ceni_stripe_init(ceni_compact_stripe *stripe)
{
    memset(stripe, 0, sizeof *stripe);
    ceni_setting_put(&stripe->smallest, INT64_MAX);
    ceni_setting_put(&stripe->largest, -1);
}

void ceni_compact_init(ceni_compact *histogram)
{
    memset(histogram, 0, sizeof *histogram);
    ceni_stripe_init(&histogram->own);
}

/* The line that has the bucket; NULL if there is none yet. */
static ceni_bucket_row *line_of(const ceni_compact_stripe *stripe, const ceni_stock *stock, unsigned bucket)
{
    uint16_t number = ceni_setting(&stripe->lines[bucket / CENI_ROW_BUCKETS]);
    return number && number != CENI_LINE_COMES ? line_at(stock, number - 1u) : NULL;
}

/* The same, and take one from the stock if there is none. */
__attribute__((noinline)) static ceni_bucket_row *get_line(ceni_compact_stripe *stripe, ceni_stock *stock,
                                                           unsigned bucket, bool alone, bool all)
{
    ceni_bucket_row *line = line_of(stripe, stock, bucket);
    if (line) return line;
    _Atomic uint16_t *place = &stripe->lines[bucket / CENI_ROW_BUCKETS];
    uint16_t none = 0;
    if (alone) ceni_setting_put(place, CENI_LINE_COMES);
    else if (!ceni_cas_relaxed(place, &none, CENI_LINE_COMES) && !ceni_planted(line_put_twice))
        return NULL; /* carries nothing */
    uint16_t number = take_line(stock, alone, all);
    ceni_store_release(place, number); /* [X2] */
    return number ? line_at(stock, number - 1u) : NULL;
}

static inline void add_to_sum(ceni_compact_stripe *stripe, uint64_t value, bool alone)
{
    uint64_t after;
    if (alone) {
        after = ceni_setting(&stripe->sum) + value;
        ceni_setting_put(&stripe->sum, after);
    } else {
        after = ceni_add_relaxed(&stripe->sum, value) + value; /* carries nothing */
    }
    if (after & TOP_BIT) ceni_setting_put(&stripe->overflowed, true);
}

/* Move the limit to `value` if that is further out. */
static inline void widen(_Atomic int64_t *limit, int64_t value, bool upwards, bool alone)
{
    int64_t seen = ceni_setting(limit);
    while (upwards ? value > seen : value < seen) {
        if (alone) ceni_setting_put(limit, value);
        if (alone || ceni_cas_relaxed(limit, &seen, value)) break; /* carries nothing */
    }
}

/* Inlined twice, so that testing `alone` costs nothing: one give in 64 records a timed lease on its path. */
__attribute__((always_inline)) static inline void record(ceni_compact *histogram, ceni_compact_stripe *stripe,
                                                         ceni_stock *stock, bool alone, int64_t value)
{
    if (value < 0) value = 0;
    if (!stripe) stripe = &histogram->own;
    unsigned bucket = cen_histogram_bucket_of(value);
    ceni_bucket_row *line = line_of(stripe, stock, bucket);
    if (!line) line = get_line(stripe, stock, bucket, alone, stripe == &histogram->own);
    if (!line && stripe != &histogram->own) line = get_line(&histogram->own, stock, bucket, alone, true);
    if (line) add(&line->buckets[bucket % CENI_ROW_BUCKETS], 1, alone);
    else if (!ceni_planted(record_lost_without_a_line)) add(&histogram->rows[bucket / ROW], 1, alone);
    add_to_sum(stripe, (uint64_t)value, alone);
    widen(&stripe->smallest, value, false, alone);
    widen(&stripe->largest, value, true, alone);
}

void ceni_compact_record(ceni_compact *histogram, ceni_compact_stripe *stripe, ceni_stock *stock, bool alone,
                         int64_t value)
{
    if (alone) record(histogram, stripe, stock, true, value);
    else record(histogram, stripe, stock, false, value);
}

static void reset_stripe(ceni_compact_stripe *stripe, ceni_stock *stock)
{
    for (unsigned bucket = 0; bucket < CEN_HISTOGRAM_BUCKETS; bucket++) {
        ceni_bucket_row *line = line_of(stripe, stock, bucket);
        if (line) ceni_setting_put(&line->buckets[bucket % CENI_ROW_BUCKETS], 0);
    }
    ceni_setting_put(&stripe->sum, 0);
    ceni_setting_put(&stripe->overflowed, false);
    ceni_setting_put(&stripe->smallest, INT64_MAX);
    ceni_setting_put(&stripe->largest, -1);
}

void ceni_compact_reset(ceni_compact *histogram, ceni_compact_stripe *stripes, unsigned count, ceni_stock *stock)
{
    reset_stripe(&histogram->own, stock);
    for (unsigned i = 0; i < count; i++) reset_stripe(&stripes[i], stock);
    for (unsigned i = 0; i < CENI_COMPACT_ROWS; i++) ceni_setting_put(&histogram->rows[i], 0);
}

/* ---- Reading ------------------------------------------------------------------------------------- */

/* A count of the row as a whole is shown in the middle of the row. */
static uint64_t read_bucket(const ceni_compact *histogram, const ceni_compact_stripe *stripe, const ceni_stock *stock,
                            unsigned bucket)
{
    const ceni_bucket_row *line = line_of(stripe, stock, bucket);
    uint64_t count = line ? ceni_setting(&line->buckets[bucket % CENI_ROW_BUCKETS]) : 0;
    if (histogram && bucket % ROW == ROW / 2) count += ceni_setting(&histogram->rows[bucket / ROW]);
    return count;
}

static void add_stripe(const ceni_compact *histogram, const ceni_compact_stripe *stripe, const ceni_stock *stock,
                       cen_histogram *out)
{
    for (unsigned bucket = 0; bucket < CEN_HISTOGRAM_BUCKETS; bucket++) {
        uint64_t count = read_bucket(histogram, stripe, stock, bucket);
        out->buckets[bucket] += count;
        out->count += count;
    }
    uint64_t sum = ceni_setting(&stripe->sum);
    bool overflowed = ceni_setting(&stripe->overflowed) || (sum & TOP_BIT) || sum > (uint64_t)(INT64_MAX - out->sum);
    out->sum = overflowed ? INT64_MAX : out->sum + (int64_t)sum;
    int64_t smallest = ceni_setting(&stripe->smallest), largest = ceni_setting(&stripe->largest);
    if (smallest < out->smallest) out->smallest = smallest;
    if (largest > out->largest) out->largest = largest;
}

/* Correct the limits of a snapshot that was copied in the middle of a record, as far as its buckets show. The middle
 * bucket of a row may contain the count of the row as a whole. */
static void mend_limits(cen_histogram *out)
{
    unsigned first = 0, last = CEN_HISTOGRAM_BUCKETS - 1;
    while (!out->buckets[first]) first++;
    while (!out->buckets[last]) last--;
    if (out->smallest > cen_histogram_bucket_highest(first / ROW * ROW + ROW - 1))
        out->smallest = cen_histogram_bucket_highest(first);
    if (out->largest < cen_histogram_bucket_lowest(last / ROW * ROW)) out->largest = cen_histogram_bucket_lowest(last);
}

void ceni_compact_snapshot(const ceni_compact *histogram, const ceni_compact_stripe *stripes, unsigned count,
                           const ceni_stock *stock, cen_histogram *out)
{
    *out = (cen_histogram){.smallest = INT64_MAX, .largest = -1};
    add_stripe(histogram, &histogram->own, stock, out);
    for (unsigned i = 0; i < count; i++) add_stripe(NULL, &stripes[i], stock, out);
    if (out->count == 0) *out = (cen_histogram){0};
    else mend_limits(out);
}

int64_t ceni_compact_largest(const ceni_compact *histogram)
{
    int64_t largest = ceni_setting(&histogram->own.largest);
    return largest < 0 ? 0 : largest;
}

int64_t ceni_compact_sum(const ceni_compact *histogram)
{
    uint64_t sum = ceni_setting(&histogram->own.sum);
    return ceni_setting(&histogram->own.overflowed) || (sum & TOP_BIT) ? INT64_MAX : (int64_t)sum;
}

/* Line by line, so that a missing line costs one step for 16 buckets. */
static uint64_t count_line(const ceni_compact *histogram, const ceni_stock *stock, unsigned line)
{
    unsigned from = line * CENI_ROW_BUCKETS;
    bool middle = from % ROW == ROW / 2;
    if (!line_of(&histogram->own, stock, from)) return middle ? ceni_setting(&histogram->rows[from / ROW]) : 0;
    uint64_t count = 0;
    for (unsigned i = 0; i < CENI_ROW_BUCKETS; i++) count += read_bucket(histogram, &histogram->own, stock, from + i);
    return count;
}

int64_t ceni_compact_percentile(const ceni_compact *histogram, const ceni_stock *stock, uint32_t per_million)
{
    uint64_t count = 0, passed = 0, next;
    for (unsigned line = 0; line < CENI_COMPACT_LINES; line++) count += count_line(histogram, stock, line);
    if (count == 0) return 0;
    uint64_t rank = count / 1000000 * per_million + (count % 1000000 * per_million + 999999) / 1000000;
    unsigned line = 0;
    while (line + 1 < CENI_COMPACT_LINES && passed + (next = count_line(histogram, stock, line)) < rank) {
        passed += next;
        line++;
    }
    unsigned bucket = line * CENI_ROW_BUCKETS, end = bucket + CENI_ROW_BUCKETS - 1;
    while (bucket < end && (passed += read_bucket(histogram, &histogram->own, stock, bucket)) < rank) bucket++;
    int64_t low = cen_histogram_bucket_lowest(bucket), high = cen_histogram_bucket_highest(bucket),
            middle = low + (high - low) / 2;
    int64_t smallest = ceni_setting(&histogram->own.smallest), largest = ceni_setting(&histogram->own.largest);
    if (middle < smallest) return smallest;
    return middle > largest ? largest : middle;
}
