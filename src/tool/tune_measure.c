/* SPDX-License-Identifier: MIT */
/*
 * Measuring one size: the pool is resized, all its objects are opened, and clients load it for a while.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/deadline.h>

#include "tool/command.h"
#include "tool/stop.h"
#include "tool/tune.h"

static const double FAILURES_MOST = 0.01; /* as a share of all operations; with more, a size has failed */

enum {
    FEW_EACH = 60,    /* operations per object below which edges matter */
    SHORT_ENOUGH = 8, /* a visit must be this many times as long as an operation */
    OPEN_SLICE_MS = 200,
    OPEN_FAILURES_MOST = 3,
};
static const double OPEN_SECONDS_MOST = 10;

/* No object is closed or renewed during a measurement: that would be measured, too. */
static cen_status make_pools(tune_bench *self, cen_error *error)
{
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 1, .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = CEN_OFF);
    return target_pools_new(self->target, &options, &self->pools, error);
}

cen_status tune_bench_open(tune_bench *self, cen_error *error)
{
    self->result = malloc(sizeof *self->result);
    if (self->result) return make_pools(self, error);
    *error = (cen_error){.status = CEN_NO_MEMORY, .text = "Out of memory for the measurement."};
    return CEN_NO_MEMORY;
}

void tune_bench_close(tune_bench *self)
{
    if (self->pools.pool) target_pools_free(self->target, &self->pools);
    free(self->result);
    *self = (tune_bench){0};
}

static double now(void)
{
    return (double)cen_clock() / 1e9;
}

/* Take one object more than are open, so that the pool opens it. Short timeouts keep Ctrl-C responsive. Gives up when
 * the server keeps refusing. */
static cen_status open_one(cen_pool *pool, double until, cen_lease *out, cen_error *error)
{
    for (;;) {
        cen_status status = cen_pool_take(pool, cen_in_ms(OPEN_SLICE_MS), out, error);
        if (status != CEN_TIMEOUT || stop_asked() || now() >= until) return status;
        cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
        if (cen_pool_stats_get(pool, &stats) == CEN_OK && stats.open_failures >= OPEN_FAILURES_MOST) return status;
    }
}

/* Open all objects of the pool by taking them all at once. */
static cen_status open_all(cen_pool *pool, uint32_t size, double left, cen_error *error)
{
    cen_lease *leases = calloc(size, sizeof *leases);
    if (!leases) {
        *error = (cen_error){.status = CEN_NO_MEMORY, .text = "Out of memory for the leases."};
        return CEN_NO_MEMORY;
    }
    double until = now() + fmin(fmax(left, 1), OPEN_SECONDS_MOST);
    uint32_t taken = 0;
    cen_status status = CEN_OK;
    while (taken < size && status == CEN_OK) {
        status = open_one(pool, until, &leases[taken], error);
        if (status == CEN_OK) taken++;
    }
    for (uint32_t i = 0; i < taken; i++) cen_pool_give(&leases[i]);
    free(leases);
    return status;
}

static void note_cause(tune_size *size, const char *text)
{
    if (!size->cause[0]) snprintf(size->cause, sizeof size->cause, "%s", text);
}

static void add_result(const load_result *result, tune_size *size)
{
    size->visits++;
    size->operations += result->operations;
    size->seconds += result->seconds;
    size->held_seconds += result->utilisation * size->size * result->seconds;
    size->cpu_seconds += result->cpu_seconds;
    cen_histogram_merge(&size->wait, &result->wait);
    cen_histogram_merge(&size->use, &result->use);
    cen_histogram_merge(&size->whole, &result->whole);
}

/* Copy whole windows only: the last one may have been cut short. */
static void copy_windows(const load_result *result, sweep_outcome *out)
{
    double whole = result->window_seconds > 0 ? floor(result->seconds / result->window_seconds + 0.01) : 0;
    out->seconds = result->seconds;
    out->operations = result->operations;
    out->windows = (uint32_t)fmin(fmin(whole, result->windows), KNEE_WINDOWS);
    for (uint32_t i = 0; i < out->windows; i++) out->per_second[i] = result->window[i] / result->window_seconds;
}

/* With slow operations few end within a visit, and it matters whether one ends just before or just after it. Then the
 * throughput comes from Little's law, objects held / time held each, which has no such edges. It is not used if
 * operations are so long that those which end in the visit are the faster ones. The windows keep their differences. */
static void smooth_edges(const tune_bench *self, const load_result *result, uint32_t size, sweep_outcome *out)
{
    double mean = 0, held = result->utilisation * size;
    for (uint32_t i = 0; i < out->windows; i++) mean += out->per_second[i] / out->windows;
    bool is_few = result->operations < (uint64_t)size * FEW_EACH;
    if (!is_few || self->rate > 0 || self->pools.writer || mean <= 0 || held <= 0 || result->use.count == 0) return;
    double each = (double)result->use.sum / 1e9 / (double)result->use.count;
    if (each <= 0 || each * SHORT_ENOUGH > result->seconds) return;
    for (uint32_t i = 0; i < out->windows; i++) out->per_second[i] *= held / each / mean;
}

/* A load closes a pool whose operations hang. The next size gets a new one. */
static cen_status renew_pools(tune_bench *self, cen_error *error)
{
    if (self->pools.pool && !cen_pool_is_closed(self->pools.pool)) return CEN_OK;
    if (self->pools.pool) target_pools_free(self->target, &self->pools);
    self->pools = (target_pools){0};
    return make_pools(self, error);
}

static load_plan plan_of(const tune_bench *self, const sweep_step *step)
{
    int64_t duration_ns = (int64_t)(step->seconds * 1e9);
    return (load_plan){.target = self->target,
                       .pool = self->pools.pool,
                       .writer = self->pools.writer,
                       .clients = self->clients,
                       .rate = self->rate,
                       .hold_ns = self->hold_ns,
                       .duration_ns = duration_ns,
                       .window_ns = duration_ns / step->windows,
                       .warm_up_ns = duration_ns / 8,
                       .stop = stop_flag(),
                       .tick = self->tick,
                       .argument = self->argument};
}

bool tune_measure(tune_bench *self, const sweep_step *step, const tune_goal *goal, double left, tune_size *size,
                  sweep_outcome *out)
{
    cen_error error;
    *out = (sweep_outcome){.failed = true};
    cen_status status = renew_pools(self, &error);
    if (status == CEN_OK) status = cen_pool_resize(self->pools.pool, step->size, &error);
    if (status == CEN_OK) status = open_all(self->pools.pool, step->size, left, &error);
    if (status != CEN_OK) {
        if (!stop_asked()) note_cause(size, error.text);
        return !stop_asked();
    }
    load_plan plan = plan_of(self, step);
    load_result *result = self->result;
    status = load_run(&plan, result, &error);
    if (status != CEN_OK) {
        note_cause(size, error.text);
        return true;
    }
    uint64_t failures = result->timed_out + result->refused + result->failed;
    size->failures += failures;
    if (failures) note_cause(size, result->causes[0].text);
    out->failed = (double)failures > FAILURES_MOST * (double)(result->operations + failures);
    if (cen_pool_is_closed(self->pools.pool)) {
        note_cause(size, "Operations were still running seconds after the end of a visit.");
        out->failed = true;
    }
    copy_windows(result, out);
    smooth_edges(self, result, step->size, out);
    if (result->stopped && out->windows < 3) return false;
    if (out->failed || result->operations == 0) return true;
    add_result(result, size);
    out->latency = (double)tune_goal_value(goal, size) / 1e9;
    return true;
}
