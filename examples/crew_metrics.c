/* SPDX-License-Identifier: MIT */
/*
 * Metrics without atomics and without locks: every worker of a crew counts in its own context, and at intervals adds
 * its counts to a total.
 *
 *     main ▶ 5,000 requests ▶ 3 workers, each with counters of its own
 *     a request: parse ▶ wait for a disk, which is a timer here ▶ let other tasks run ▶ reply
 *     a worker:  counts in its context; on each tick, also when idle, and at its end: adds up and resets its counters
 *
 * A request may be parsed by one worker and finished by another, so each step gets the context again. While the workers
 * idle, their ticks alone make the total exact. At the end it is exact again, including the counts of the last
 * requests.
 */
#undef NDEBUG /* in every build: asserts, and the check that no context is kept from one step to the next */
#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cenote/cenote.h>

enum { WORKERS = 3, REQUESTS = 5000, LATE_REQUESTS = 500 };
#define MS INT64_C(1000000)

/* ---- Counters ------------------------------------------------------------------------------- */

typedef struct counts {
    uint64_t parsed, bytes, answered, cents;
} counts;

typedef struct metrics {
    counts counts; /* since the last flush; only its worker */
    uint32_t worker;
    uint64_t flushes, answered; /* for the table */
} metrics;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* taken by flushes, never by a step */
static counts total;
static metrics rows[WORKERS]; /* copied from each worker at its end */

static cen_status make_metrics(void *argument, uint32_t worker, void **out, cen_error *error)
{
    (void)argument, (void)error;
    metrics *mine = calloc(1, sizeof *mine);
    if (!mine) return CEN_NO_MEMORY;
    mine->worker = worker;
    *out = mine;
    return CEN_OK;
}

/* Called on the worker's own thread between two steps, every 20 ms even if it is idle, and when it ends. */
static void flush(void *argument, void *context)
{
    metrics *mine = context;
    (void)argument;
    pthread_mutex_lock(&mutex);
    total.parsed += mine->counts.parsed;
    total.bytes += mine->counts.bytes;
    total.answered += mine->counts.answered;
    total.cents += mine->counts.cents;
    pthread_mutex_unlock(&mutex);
    mine->flushes++;
    mine->counts = (counts){0};
}

static void end_metrics(void *argument, void *context)
{
    metrics *mine = context, *row = &rows[mine->worker];
    (void)argument;
    assert(mine->counts.parsed == 0 && mine->counts.answered == 0); /* after the last tick */
    row->flushes += mine->flushes;
    row->answered += mine->answered;
    free(mine);
}

/* ---- A request ------------------------------------------------------------------------------ */

typedef struct request {
    cen_task task; /* first */
    cen_timer disk;
    uint32_t length, price;
} request;

static cen_next answer(cen_task *task)
{
    request *self = (request *)task;
    metrics *mine = cen_context_data(cen_context_current()); /* of the worker that runs this step */
    mine->counts.answered++;
    mine->counts.cents += self->price;
    mine->answered++;
    return cen_task_done(task, NULL);
}

static cen_next has_read(cen_task *task)
{
    return cen_task_yield(task, answer);
}

static cen_next parse(cen_task *task)
{
    request *self = (request *)task;
    metrics *mine = cen_context_data(cen_context_current());
    mine->counts.parsed++;
    mine->counts.bytes += self->length;
    cen_timer_init(&self->disk);
    cen_error error = {.status = cen_timer_start(&self->disk, NULL, cen_in_ms(1 + self->length % 20), NULL)};
    if (error.status != CEN_OK) return cen_task_fail(task, &error);
    return cen_task_wait(task, &self->disk.future, has_read); /* meanwhile the worker runs other tasks */
}

/* ---- Main ----------------------------------------------------------------------------------- */

static request requests[REQUESTS + LATE_REQUESTS];

static void submit(cen_crew *crew, size_t from, size_t count, counts *expected)
{
    for (request *r = requests + from; r < requests + from + count; r++) {
        r->length = (uint32_t)(r - requests) % 1400 + 1;
        r->price = (uint32_t)(r - requests) % 99;
        cen_task_init(&r->task, parse);
        r->task.name = "request";
        assert(cen_crew_submit(crew, &r->task, NULL) == CEN_OK);
        *expected = (counts){expected->parsed + 1, expected->bytes + r->length, expected->answered + 1,
                             expected->cents + r->price};
    }
}

static bool is_total(const counts *expected)
{
    pthread_mutex_lock(&mutex);
    bool is = total.parsed == expected->parsed && total.bytes == expected->bytes &&
              total.answered == expected->answered && total.cents == expected->cents;
    pthread_mutex_unlock(&mutex);
    return is;
}

/* No task is submitted meanwhile: only ticks of idle workers update the total. */
static int64_t await_total(const counts *expected)
{
    int64_t begin = cen_clock();
    while (!is_total(expected) && cen_clock() - begin < CEN_SECONDS(10))
        nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
    return cen_clock() - begin;
}

int main(void)
{
    cen_crew *crew;
    cen_error error;
    cen_crew_options options =
        CEN_CREW_OPTIONS(.name = "metrics", .workers = WORKERS, .max = WORKERS, .tick_ns = CEN_MS(20),
                         .context = {.create = make_metrics, .on_tick = flush, .destroy = end_metrics});
    if (cen_crew_new(&options, &crew, &error) != CEN_OK) return puts(error.text), 1;

    counts expected = {0};
    submit(crew, 0, REQUESTS, &expected);
    for (size_t i = 0; i < REQUESTS; i++) {
        assert(cen_future_wait(&requests[i].task.future, cen_in_s(20)) == CEN_OK);
        assert(requests[i].task.future.status == CEN_OK);
    }
    int64_t ns = await_total(&expected);
    assert(is_total(&expected));
    printf("%d requests finished; %.0f ms later the idle workers had flushed all counts\n", REQUESTS,
           (double)ns / (double)MS);

    submit(crew, REQUESTS, LATE_REQUESTS, &expected); /* and shut down at once */
    cen_crew_report report = CEN_SIZED(cen_crew_report);
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    assert(cen_crew_stop(crew, CEN_STOP_DRAIN, cen_in_s(20), &report, NULL) == CEN_OK);
    assert(cen_crew_stats_get(crew, &stats) == CEN_OK);
    assert(cen_crew_free(crew) == CEN_OK);
    assert(is_total(&expected) && report.dropped == 0);
    assert(stats.finished == REQUESTS + LATE_REQUESTS && stats.steps == 3 * stats.finished);

    puts("\n  worker   flushes   answered");
    uint64_t answered = 0;
    for (uint32_t i = 0; i < WORKERS; i++) {
        printf("  %6u   %7" PRIu64 "   %8" PRIu64 "\n", i, rows[i].flushes, rows[i].answered);
        answered += rows[i].answered;
    }
    printf("  total              %8" PRIu64 ", %" PRIu64 " bytes, %" PRIu64 " cents\n", total.answered, total.bytes,
           total.cents);
    printf("\n%" PRIu64 " steps, %" PRIu64 " of them stolen from another worker's queue; all counts are exact\n",
           stats.steps, stats.stolen);
    return answered == total.answered ? 0 : 1;
}
