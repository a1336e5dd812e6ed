/* SPDX-License-Identifier: MIT */
/*
 * The result of `cenote tune`: one record, which the terminal, the JSON and the report show.
 *
 * Files: tune.c the command, tune_measure.c measures one size through a pool, tune_words.c the recommendation as text,
 * knee.c and sweep.c the method, curve.c the picture in the terminal, report.c and report_chart.c the page,
 * report_json.c the JSON.
 */
#ifndef CENOTE_TOOL_TUNE_H
#define CENOTE_TOOL_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cenote/histogram.h>

#include "tool/knee.h"
#include "tool/load.h"
#include "tool/sweep.h"
#include "tool/target.h"

/* The time that the goal limits. */
typedef enum tune_time { TUNE_WAIT, TUNE_USE, TUNE_WHOLE } tune_time;

typedef struct tune_goal {
    int64_t ns; /* 0: no goal */
    uint32_t per_million;
    tune_time time;
    char text[48]; /* "p99 of use at most 20 ms" */
} tune_goal;

typedef struct tune_size {
    uint32_t size, visits;
    bool failed;
    char cause[CEN_ERROR_TEXT_SIZE]; /* why it failed, or the first of a few failures */
    knee_interval throughput;
    uint64_t operations, failures;
    double seconds, held_seconds, cpu_seconds;
    cen_histogram wait, use, whole;
} tune_size;

typedef struct tune_capacity {
    uint32_t replicas;
    uint64_t wanted;  /* replicas x size */
    uint32_t usable;  /* connections that the server allows in all; 0: unknown */
    uint32_t fitting; /* the size that fits if more are wanted than available; may be 0 */
    bool is_over;
} tune_capacity;

typedef struct tuning {
    const char *shown, *system, *query; /* of the target */
    char command[512], when[40], machine[200], version[24];
    const char *report; /* the report file; NULL: none */
    uint32_t processors, clients, max;
    double rate, time_limit, elapsed;
    int64_t hold_ns;
    knee_rule rule;
    tune_goal goal;
    uint32_t replicas;
    target_limit limit;  /* zeros: unknown */
    char max_words[160]; /* why no larger sizes were tried; "": no reason */

    tune_size *sizes[SWEEP_SIZES_MOST]; /* sorted */
    uint32_t count, visits, rounds;
    knee_answer answer; /* indices into sizes */
    double spread;      /* deviation of visits to one size, as in knee_weather */
    sweep_end end;
    bool stopped;                           /* by the user */
    char trouble[CEN_ERROR_TEXT_SIZE + 80]; /* an error during the sweep; "": none */
} tuning;

/* ---- tune_words.c --------------------------------------------------------------------------------------- */

/* Parse "p99=20ms", "wait.p95=5ms" or "whole.p99.9=1s". Returns false with a complete sentence in `why`. */
bool tune_goal_read(const char *text, tune_time usual, tune_goal *out, char *why, size_t room);
/* Return the goal's percentile for that size, in nanoseconds. */
int64_t tune_goal_value(const tune_goal *goal, const tune_size *size);
const char *tune_time_name(tune_time time);

double tune_utilisation(const tune_size *size);
/* Return the size with the largest mean in the table among those that meet the goal: the best, or one with fewer
 * visits. NULL: nothing was measured. */
const tune_size *tune_first(const tuning *self);
tune_capacity tune_capacity_of(const tuning *self, uint32_t size);
const char *tune_end_words(const tuning *self);

/* Write complete sentences, the answer first. Each writes at most `room` bytes and returns the length. */
size_t tune_advice(const tuning *self, char *out, size_t room);
size_t tune_doubts(const tuning *self, char *out, size_t room);         /* how sure it is, and what would help */
size_t tune_capacity_words(const tuning *self, char *out, size_t room); /* replicas compared with the server's limit */

/* ---- tune_show.c ---------------------------------------------------------------------------------------- */

/* Fill in what is known without measuring: machine, date, version, and the command line, with `shown` in place of
 * `url`. */
void tune_describe(tuning *self, const char *url);
/* Print the curve, the table and the sentences. */
void tune_print(const tuning *self, bool ascii, FILE *out);

/* ---- tune_measure.c ------------------------------------------------------------------------------------- */

typedef struct tune_bench {
    target *target;
    target_pools pools;
    uint32_t clients;
    double rate;
    int64_t hold_ns;
    load_result *result;
    void (*tick)(void *argument, const load_progress *progress);
    void *argument;
} tune_bench;

/* Create the pool, with one object that is not open yet. */
cen_status tune_bench_open(tune_bench *self, cen_error *error);
void tune_bench_close(tune_bench *self);

/* Resize the pool, open all its objects, load it, and add the result to `size`. Returns false if it was stopped before
 * there was a result. `left`: seconds that remain in all. */
bool tune_measure(tune_bench *self, const sweep_step *step, const tune_goal *goal, double left, tune_size *size,
                  sweep_outcome *out);

#endif
