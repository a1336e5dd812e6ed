/* SPDX-License-Identifier: MIT */
/*
 * Short reads beside heavy work: three lanes, each with its own crew and a limit on its tasks.
 *
 *     low     200 heavy tasks of 2 ms of computing, at most 64 admitted: a refused one waits for its retry time
 *     high    a short read every few milliseconds, which heavy tasks cannot delay in their queue
 *     normal  a limit of 4 tasks, which all wait: the fifth is refused with the count and a time for a retry
 *
 * At the end the numbers add up: admitted tasks are done, and refused ones were counted.
 */
#undef NDEBUG /* asserts in every build */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cenote/cenote.h>

enum { HEAVY = 200, HEAVY_AT_A_TIME = 64, READS = 50, NORMAL_AT_A_TIME = 4 };
#define MS INT64_C(1000000)

static cen_lanes *lanes;

static void sleep_for(int64_t ns)
{
    nanosleep(&(struct timespec){.tv_sec = ns / CEN_SECONDS(1), .tv_nsec = ns % CEN_SECONDS(1)}, NULL);
}

static void await(cen_task *task)
{
    assert(cen_future_wait(&task->future, cen_in_s(30)) == CEN_OK && task->future.status == CEN_OK);
}

/* ---- Heavy tasks, in the low lane -------------------------------------------------------------- */

static cen_next compute(cen_task *task)
{
    int64_t begin = cen_clock();
    while (cen_clock() - begin < CEN_MS(2)) {
    }
    return cen_task_done(task, NULL);
}

static cen_task heavy[HEAVY];
static int refused;

/* Retry until the task is admitted. Each refusal contains the time after which a retry makes sense. */
static void submit_heavy(cen_task *task)
{
    cen_error error;
    cen_task_init(task, compute);
    task->name = "heavy";
    while (cen_lanes_submit(lanes, CEN_PRIORITY_LOW, task, (cen_deadline){0}, &error) != CEN_OK) {
        assert(error.status == CEN_FULL && error.cause == CEN_CAUSE_LANE_FULL);
        assert(error.current == HEAVY_AT_A_TIME && error.max == HEAVY_AT_A_TIME && error.retry_after_ns > 0);
        if (refused++ == 0) printf("the first refusal: %s\n", error.text);
        sleep_for(error.retry_after_ns);
    }
}

/* ---- Short reads, in the high lane --------------------------------------------------------------- */

static cen_next read_value(cen_task *task)
{
    static int value = 42;
    return cen_task_done(task, &value);
}

/* Return the longest time of a read while the low lane is full of heavy tasks. */
static int64_t read_beside_them(void)
{
    int64_t longest = 0;
    for (int i = 0; i < READS; i++) {
        cen_task task;
        cen_error error;
        cen_task_init(&task, read_value);
        int64_t begin = cen_clock();
        assert(cen_lanes_submit(lanes, CEN_PRIORITY_HIGH, &task, cen_in_s(10), &error) == CEN_OK);
        await(&task);
        int64_t ns = cen_clock() - begin;
        if (ns > longest) longest = ns;
        submit_heavy(&heavy[HEAVY_AT_A_TIME + i]);
    }
    return longest;
}

/* ---- A full lane --------------------------------------------------------------------------------- */

typedef struct waiter {
    cen_task task; /* first member */
    cen_future snapshot;
    cen_promise promise; /* main completes it */
} waiter;

static cen_next has_snapshot(cen_task *task)
{
    return cen_task_done(task, NULL);
}

static cen_next wait_for_snapshot(cen_task *task)
{
    return cen_task_wait(task, &((waiter *)task)->snapshot, has_snapshot);
}

static cen_status submit_waiter(waiter *self, cen_error *error)
{
    cen_future_init(&self->snapshot);
    assert(cen_promise_init(&self->promise, &self->snapshot) == CEN_OK);
    cen_task_init(&self->task, wait_for_snapshot);
    return cen_lanes_submit(lanes, CEN_PRIORITY_NORMAL, &self->task, (cen_deadline){0}, error);
}

/* Suspended tasks occupy no worker, but they count towards the limit. */
static void fill_normal(void)
{
    waiter waiters[NORMAL_AT_A_TIME], fifth;
    cen_error error;
    for (int i = 0; i < NORMAL_AT_A_TIME; i++) assert(submit_waiter(&waiters[i], &error) == CEN_OK);
    assert(submit_waiter(&fifth, &error) == CEN_FULL);
    printf("\nfour tasks wait for a snapshot, and the fifth is refused:\n  %s\n", error.text);
    for (int i = 0; i < NORMAL_AT_A_TIME; i++) cen_promise_complete(&waiters[i].promise, NULL);
    await(&waiters[0].task); /* once a task's end is visible, its place is free */
    assert(submit_waiter(&fifth, &error) == CEN_OK);
    cen_promise_complete(&fifth.promise, NULL);
    for (int i = 1; i < NORMAL_AT_A_TIME; i++) await(&waiters[i].task);
    await(&fifth.task);
}

/* ---- Numbers -------------------------------------------------------------------------------------- */

static void report(void)
{
    static const struct {
        cen_priority priority;
        const char *name;
    } kinds[CEN_LANES] = {{CEN_PRIORITY_HIGH, "high"}, {CEN_PRIORITY_NORMAL, "normal"}, {CEN_PRIORITY_LOW, "low"}};
    cen_lanes_stats stats = CEN_SIZED(cen_lanes_stats);
    assert(cen_lanes_stats_get(lanes, &stats) == CEN_OK);
    puts("\n  lane     submitted   done   refused   p50 wait   p50 total");
    for (int i = 0; i < CEN_LANES; i++) {
        const cen_lane_stats *s = &stats.lane[kinds[i].priority];
        cen_lane_latency times = CEN_SIZED(cen_lane_latency);
        assert(cen_lanes_latency_get(lanes, kinds[i].priority, &times) == CEN_OK);
        printf("  %-8s %9" PRIu64 " %6" PRIu64 " %9" PRIu64 " %7.2f ms %8.2f ms\n", kinds[i].name, s->submitted,
               s->done, s->refused_full, (double)times.wait.p50_ns / 1e6, (double)times.total.p50_ns / 1e6);
        assert(s->admitted == 0 && s->submitted == s->done);
    }
    assert(stats.lane[CEN_PRIORITY_HIGH].done == READS && stats.lane[CEN_PRIORITY_LOW].done == HEAVY);
    assert(stats.lane[CEN_PRIORITY_NORMAL].done == NORMAL_AT_A_TIME + 1 &&
           stats.lane[CEN_PRIORITY_NORMAL].refused_full == 1);
    assert(stats.lane[CEN_PRIORITY_LOW].refused_full == (uint64_t)refused && refused > 0);
}

int main(void)
{
    cen_error error;
    cen_crew_options one = CEN_CREW_OPTIONS(.workers = 1);
    cen_lanes_options options =
        CEN_LANES_OPTIONS(.name = "store", .high.crew = &one, .low = {.crew = &one, .max_tasks = HEAVY_AT_A_TIME},
                          .normal.max_tasks = NORMAL_AT_A_TIME);
    if (cen_lanes_new(&options, &lanes, &error) != CEN_OK) return puts(error.text), 1;

    for (int i = 0; i < HEAVY_AT_A_TIME; i++) submit_heavy(&heavy[i]);
    int64_t longest = read_beside_them(), wait;
    assert(cen_lanes_estimate(lanes, CEN_PRIORITY_LOW, &wait) == CEN_OK);
    printf("another heavy task would start in about %.0f ms\n", (double)wait / (double)MS);
    for (int i = HEAVY_AT_A_TIME + READS; i < HEAVY; i++) submit_heavy(&heavy[i]);
    printf("the longest of %d concurrent short reads took %.2f ms\n", READS, (double)longest / (double)MS);
    fill_normal();
    for (int i = 0; i < HEAVY; i++) await(&heavy[i]);
    report();

    cen_lanes_report end = CEN_SIZED(cen_lanes_report);
    assert(cen_lanes_stop(lanes, CEN_STOP_DRAIN, cen_in_s(20), &end, NULL) == CEN_OK && end.total.dropped == 0);
    assert(cen_lanes_free(lanes) == CEN_OK);
    return 0;
}
