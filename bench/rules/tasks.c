/* SPDX-License-Identifier: MIT */
/* See tasks.h. */
#include "tasks.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_MAX 1000000
#define ROUNDS_LEAST 3

static const char *const cell_names[CELLS] = {"submit1", "submit2", "chain",  "pairs",  "spawn",
                                              "yield",   "result",  "idle10", "inside", "idle"};

static const struct tasks_contestant *peer;
static double patience_s = 5; /* for one that does not run; BENCH_PATIENCE */
static enum tasks_cell cell;
static int64_t began, ended; /* by the tasks of a round; read after `over` */
static sem_t over;
static int64_t samples[SAMPLES_MAX];
static size_t sample_count;
static uint32_t due[TASKS_COUNT]; /* how often each must have run by now */

void tasks_began(void)
{
    began = bench_now();
}

void tasks_ended(void)
{
    ended = bench_now();
    sem_post(&over);
}

/* ---- Checks -------------------------------------------------------------- */

void tasks_await(uint32_t number, uint32_t runs)
{
    int64_t until = bench_now() + (int64_t)(patience_s * 1e9);
    while (peer->runs(number) < runs) {
        if (bench_now() > until) bench_fail("task %u never ran", number);
        bench_sleep(TASKS_LOOK_NS);
    }
}

/* Waits for the runs that are due, and refuses one too many. */
static void await_runs(void)
{
    for (uint32_t i = 0; i < TASKS_COUNT; i++) {
        if (peer->runs(i) < due[i]) tasks_await(i, due[i]);
        if (peer->runs(i) > due[i]) bench_fail("task %u ran twice", i);
    }
}

static void add_due(uint32_t first, uint32_t end, uint32_t runs)
{
    for (uint32_t i = first; i < end; i++) due[i] += runs;
}

/* What a round of the cell lets run, and how many operations that is. */
static uint32_t expect_round(void)
{
    switch (cell) {
    case CELL_CHAIN: add_due(0, TASKS_CHAINED, 1); return TASKS_CHAINED - 1;
    case CELL_PAIRS:
        add_due(0, 1, 1);
        add_due(1, 1 + TASKS_PAIRS, 2);
        add_due(1 + TASKS_PAIRS, 1 + 2 * TASKS_PAIRS, 1);
        return TASKS_PAIRS;
    case CELL_SPAWN: add_due(0, 1 + TASKS_SPAWNED, 1); return TASKS_SPAWNED;
    case CELL_YIELD:
        add_due(0, 1, 1);
        add_due(1, 1 + TASKS_YIELDING, 1 + TASKS_YIELDS);
        return TASKS_YIELDING * TASKS_YIELDS;
    case CELL_INSIDE: add_due(0, 1 + TASKS_INSIDE, 1); return TASKS_INSIDE;
    default: add_due(0, TASKS_SLOTS, TASKS_TIMES); return TASKS_SUBMITTED;
    }
}

/* ---- Rounds: the answer is picoseconds an operation ----------------------- */

struct producer {
    uint32_t first, end;
    int64_t start_ns;
};

static void produce(void *argument)
{
    struct producer *producer = argument;
    bench_line_up();
    producer->start_ns = bench_now();
    peer->produce(producer->first, producer->end);
}

static int64_t submit_round(unsigned producers)
{
    struct producer all[2] = {{0, TASKS_SLOTS / producers, 0}, {TASKS_SLOTS / 2, TASKS_SLOTS, INT64_MAX}};
    expect_round();
    if (producers == 1) {
        all[0].start_ns = bench_now();
        peer->produce(0, TASKS_SLOTS);
    } else {
        bench_together(producers, all, sizeof all[0], produce, NULL);
    }
    peer->finish();
    await_runs();
    int64_t start = all[0].start_ns < all[1].start_ns ? all[0].start_ns : all[1].start_ns;
    return (bench_now() - start) * 1000 / TASKS_SUBMITTED;
}

static void await_end(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 1 + (time_t)patience_s;
    while (sem_clockwait(&over, CLOCK_MONOTONIC, &until) != 0)
        if (errno == ETIMEDOUT) bench_fail("a round never ended: a task never ran");
}

static int64_t inner_round(void)
{
    uint32_t operations = expect_round();
    peer->start(cell);
    await_end();
    await_runs();
    return (ended - began) * 1000 / operations;
}

/* ---- Single results: nanoseconds ------------------------------------------- */

static int64_t result_round(void)
{
    if (cell == CELL_IDLE10) bench_sleep(10000000);
    due[0]++;
    int64_t start = bench_now();
    peer->result();
    int64_t took = bench_now() - start;
    if (peer->runs(0) != due[0]) bench_fail("task 0 %s", peer->runs(0) < due[0] ? "never ran" : "ran twice");
    return took;
}

static int64_t process_cpu(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static int idle(double seconds)
{
    submit_round(1);
    int64_t start = bench_now(), cpu = process_cpu();
    bench_sleep((int64_t)(seconds * 1e9));
    printf("cpu_ms=%.4f elapsed_ms=%.1f\n", (double)(process_cpu() - cpu) / 1e6, (double)(bench_now() - start) / 1e6);
    return 0;
}

/* ---- The run --------------------------------------------------------------- */

static int64_t round_once(void)
{
    switch (cell) {
    case CELL_SUBMIT1: return submit_round(1);
    case CELL_SUBMIT2: return submit_round(2);
    case CELL_RESULT:
    case CELL_IDLE10: return 1000 * result_round();
    default: return inner_round();
    }
}

static void rounds(double seconds)
{
    int64_t until = bench_now() + (int64_t)(seconds * 1e9);
    sample_count = 0;
    while (sample_count < SAMPLES_MAX && (sample_count < ROUNDS_LEAST || bench_now() < until))
        samples[sample_count++] = round_once();
}

static int run(double warm, double seconds)
{
    if (warm > 0) rounds(warm);
    int64_t start = bench_now();
    rounds(seconds);
    double elapsed = (double)(bench_now() - start) / 1e6;
    bench_sleep(2000000); /* one that ran once more, and late */
    await_runs();
    double middle = (double)bench_median(samples, sample_count) / 1000;
    printf("ns=%.2f ns_min=%.2f ns_max=%.2f p99_ns=%.2f rounds=%zu elapsed_ms=%.1f\n", middle,
           (double)samples[0] / 1000, (double)samples[sample_count - 1] / 1000,
           (double)samples[sample_count * 99 / 100] / 1000, sample_count, elapsed);
    return 0;
}

int tasks_main(int argc, char **argv, const struct tasks_contestant *contestant)
{
    double warm = 0.02;
    if (argc < 3 || argc > 4 || (argc == 4 && sscanf(argv[3], "warm=%lf", &warm) != 1))
        bench_fail("usage: %s CELL SECONDS [warm=SECONDS]", argv[0]);
    peer = contestant;
    for (cell = CELL_SUBMIT1; cell < CELLS && strcmp(argv[1], cell_names[cell]) != 0; cell++)
        ;
    if (cell == CELLS || (peer->can & 1u << cell) == 0) bench_fail("%s is no cell for %s", argv[1], argv[0]);
    double seconds = atof(argv[2]);
    if (getenv("BENCH_PATIENCE") != NULL) patience_s = atof(getenv("BENCH_PATIENCE"));
    alarm((unsigned)(seconds + warm + 60)); /* a result that never comes ends it by SIGALRM */
    sem_init(&over, 0, 0);
    peer->make(cell);
    int status = cell == CELL_IDLE ? idle(seconds) : run(warm, seconds);
    fflush(stdout);
    _Exit(status); /* no contestant's end is measured */
}
