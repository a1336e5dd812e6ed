/* SPDX-License-Identifier: MIT */
/*
 * The coordinator of a load: sets the times, starts the clients, monitors and ends them, and sums up.
 *
 *     start ---- warm-up ---- from ---- measured ---- until
 *
 * It wakes at `from` and `until` to read the processor time that this process has used. At the end all waiting clients
 * are woken, and running operations get 3 s to finish. Then the pools are closed, so that their driver interrupts
 * operations that hang.
 */
#include "tool/load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "tool/load_internal.h"

#define TICK (100 * INT64_C(1000000))
/* from the start of the first thread to the first operation, so that all clients begin together */
#define LEAD (5 * INT64_C(1000000))
#define GRACE (3 * SECOND_NS)

/* ---- Before ---------------------------------------------------------------------------------------------- */

static cen_status invalid(cen_error *error, const char *text)
{
    if (!error) return CEN_INVALID;
    *error = (cen_error){.status = CEN_INVALID};
    snprintf(error->text, sizeof error->text, "%s", text);
    return CEN_INVALID;
}

static cen_status prepare(load_course *self, const load_plan *plan, cen_error *error)
{
    uint32_t most = plan->futures ? LOAD_FUTURES_MOST : LOAD_THREADS_MOST;
    if (!plan->target || !plan->pool) return invalid(error, "A load needs a target and a pool.");
    if (plan->clients < 1 || plan->clients > most)
        return invalid(error, plan->futures ? "The number of clients must be 1 to 100,000 (futures)."
                                            : "The number of clients must be 1 to 1,024 (threads).");
    if (plan->duration_ns <= 0 || plan->warm_up_ns < 0 || plan->rate < 0 || plan->think_ns < 0 || plan->hold_ns < 0)
        return invalid(
            error, "The duration of a load must be positive, and its other times and its rate must not be negative.");
    memset(self, 0, sizeof *self);
    self->plan = *plan;
    if (!plan->seed) self->plan.seed = (uint64_t)cen_clock();
    self->timeout_ns = plan->timeout_ns ? plan->timeout_ns : 30 * SECOND_NS;
    self->window_ns = plan->window_ns ? plan->window_ns : TICK;
    int64_t least = plan->duration_ns / LOAD_WINDOWS_MOST + 1;
    if (self->window_ns < least) self->window_ns = least;
    self->windows = (uint32_t)((plan->duration_ns + self->window_ns - 1) / self->window_ns);
    self->interval = plan->rate > 0 ? 1e9 / plan->rate : 0;
    self->start = cen_clock() + LEAD + (int64_t)plan->clients * 20000;
    self->from = self->start + plan->warm_up_ns;
    self->planned = self->from + plan->duration_ns;
    atomic_store(&self->until, self->planned);
    return CEN_OK;
}

/* ---- Meanwhile ------------------------------------------------------------------------------------------- */

static double processor_seconds(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void nap_until(int64_t moment)
{
    struct timespec at = {(time_t)(moment / SECOND_NS), (long)(moment % SECOND_NS)};
    while (cen_clock() < moment && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0) continue;
}

typedef struct watch {
    int64_t time; /* the start of the last half second, and the count of operations then */
    uint64_t operations;
    double per_second;
} watch;

static void tick(load_course *self, const load_way *way, void *own, watch *last)
{
    load_progress progress = {0};
    int64_t now = cen_clock(), span = self->planned - self->start;
    if (!self->plan.tick) return;
    way->look(own, &progress.operations, &progress.failed);
    if (now - last->time >= SECOND_NS / 2) {
        last->per_second = (double)(progress.operations - last->operations) / ((double)(now - last->time) / 1e9);
        last->time = now;
        last->operations = progress.operations;
    }
    progress.per_second = last->per_second;
    progress.share = now <= self->start ? 0 : now >= self->planned ? 1 : (double)(now - self->start) / (double)span;
    progress.is_warming = now < self->from;
    progress.pool = CEN_SIZED(cen_pool_stats);
    if (cen_pool_stats_get(self->plan.pool, &progress.pool) == CEN_OK) self->plan.tick(self->plan.argument, &progress);
}

static bool is_stopped(const load_course *self)
{
    return self->plan.stop && atomic_load(self->plan.stop);
}

/* Wait for the end of the load. Returns true if it came early; *processor: the processor time used while measuring. */
static bool attend(load_course *self, const load_way *way, void *own, double *processor)
{
    double before = processor_seconds();
    bool measuring = false, stopped = false;
    watch last = {.time = self->start};
    for (;;) {
        int64_t now = cen_clock();
        if (!measuring && now >= self->from) {
            measuring = true;
            before = processor_seconds();
        }
        stopped = is_stopped(self);
        if (stopped || now >= self->planned) break;
        tick(self, way, own, &last);
        int64_t next = cen_clock() + TICK, edge = measuring ? self->planned : self->from;
        nap_until(next < edge ? next : edge);
    }
    int64_t now = cen_clock();
    if (stopped && now < self->planned) atomic_store(&self->until, now);
    *processor = processor_seconds() - before;
    return stopped;
}

/* End the clients. */
static void wind_up(load_course *self, const load_way *way, void *own)
{
    int64_t last = cen_clock() + GRACE;
    bool closed = false;
    for (int64_t pause = 200000; atomic_load(&self->running) > 0; pause = pause < 10000000 ? pause * 2 : pause) {
        way->hurry(own);
        nap_until(cen_clock() + pause);
        if (closed || cen_clock() < last) continue;
        cen_pool_close(self->plan.pool, CEN_NOW, NULL, NULL);
        if (self->plan.writer) cen_pool_close(self->plan.writer, CEN_NOW, NULL, NULL);
        closed = true;
    }
}

/* ---- After ----------------------------------------------------------------------------------------------- */

static void judge_fairness(const uint64_t *each, uint32_t count, load_result *out)
{
    double sum = 0, squares = 0;
    out->least = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        sum += (double)each[i];
        squares += (double)each[i] * (double)each[i];
        if (each[i] < out->least) out->least = each[i];
        if (each[i] > out->most) out->most = each[i];
    }
    out->fairness = squares > 0 ? sum * sum / (count * squares) : 1;
}

static int by_count(const void *left, const void *right)
{
    const load_cause *a = left, *b = right;
    if (a->count != b->count) return a->count < b->count ? 1 : -1;
    return a->first > b->first ? 1 : a->first < b->first ? -1 : 0;
}

static double share_of(int64_t used, double places, double seconds)
{
    double share = seconds > 0 && places > 0 ? (double)used / 1e9 / (places * seconds) : 0;
    return share > 1 ? 1 : share;
}

static void sum_up(load_course *self, const tally *all, const uint64_t *each, load_result *out)
{
    int64_t until = load_until(self);
    out->seconds = until > self->from ? (double)(until - self->from) / 1e9 : 0;
    out->operations = all->operations;
    out->timed_out = all->timed_out;
    out->refused = all->refused;
    out->failed = all->failed;
    out->unfinished = all->unfinished;
    out->never_begun = all->never_begun;
    out->writes = all->writes;
    out->attempts = out->operations + out->timed_out + out->refused + out->failed + out->unfinished;
    out->wait = all->wait;
    out->use = all->use;
    out->whole = all->whole;
    memcpy(out->causes, all->causes, sizeof out->causes);
    qsort(out->causes, LOAD_CAUSES, sizeof *out->causes, by_count);
    out->other_causes = all->other_causes;
    out->utilisation = share_of(all->held_ns, cen_pool_max(self->plan.pool), out->seconds);
    if (self->plan.writer)
        out->writer_utilisation = share_of(all->writer_held_ns, cen_pool_max(self->plan.writer), out->seconds);
    out->waiting = share_of(all->waiting_ns, self->plan.clients, out->seconds);
    judge_fairness(each, self->plan.clients, out);
    out->windows = self->windows;
    out->window_seconds = (double)self->window_ns / 1e9;
    if (out->stopped) out->windows = (uint32_t)ceil(out->seconds / out->window_seconds);
    if (out->windows > self->windows) out->windows = self->windows;
    memcpy(out->window, all->window, out->windows * sizeof *out->window);
}

cen_status load_run(const load_plan *plan, load_result *out, cen_error *error)
{
    load_course self;
    void *own;
    const load_way *way = plan->futures ? &load_futures : &load_threads;
    cen_status status = prepare(&self, plan, error);
    if (status != CEN_OK) return status;
    tally *all = tally_new(&self);
    uint64_t *each = calloc(plan->clients, sizeof *each);
    if (!all || !each) {
        if (error) *error = (cen_error){.status = CEN_NO_MEMORY, .text = "Out of memory for the counts of the load."};
        status = CEN_NO_MEMORY;
    } else {
        status = way->start(&self, &own, error);
    }
    if (status == CEN_OK) {
        memset(out, 0, sizeof *out);
        out->stopped = attend(&self, way, own, &out->cpu_seconds);
        wind_up(&self, way, own);
        way->end(own, all, each);
        if (self.interval > 0) tally_add_rest(all, &self, atomic_load(&self.next));
        sum_up(&self, all, each, out);
    }
    free(each);
    tally_free(all);
    return status;
}
