/* SPDX-License-Identifier: MIT */
/*
 * What `cenote tune` found: one record, which the terminal, the JSON and the report all show.
 *
 * Files: tune.c the command, tune_measure.c one size measured through a pool, tune_words.c the recommendation in words, knee.c and
 * sweep.c the method, curve.c the picture in the terminal, report.c and report_chart.c the page, report_json.c the JSON.
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

/* Which time the goal is about. */
typedef enum tune_time { TUNE_WAIT, TUNE_USE, TUNE_WHOLE } tune_time;

typedef struct tune_goal {
    int64_t ns; /* 0: there is none */
    uint32_t per_million;
    tune_time time;
    char text[48]; /* "p99 of use at most 20 ms" */
} tune_goal;

typedef struct tune_size {
    uint32_t size, visits;
    bool failed;
    char cause[CEN_ERROR_TEXT_SIZE]; /* why, if it failed, or the first of the failures that were too few for that */
    knee_interval throughput;
    uint64_t operations, failures;
    double seconds, held_seconds, cpu_seconds;
    cen_histogram wait, use, whole;
} tune_size;

typedef struct tune_capacity {
    uint32_t replicas;
    uint64_t wanted;  /* replicas x the size */
    uint32_t usable;  /* connections that the server has for all; 0: it does not tell */
    uint32_t fitting; /* the size that fits, if more are wanted than there are; may be 0 */
    bool is_over;
} tune_capacity;

typedef struct tuning {
    const char *shown, *system, *query; /* the target's */
    char command[512], when[40], machine[200], version[24];
    const char *report; /* the page's file; NULL: none is written */
    uint32_t processors, clients, max;
    double rate, time_limit, elapsed;
    int64_t hold_ns;
    knee_rule rule;
    tune_goal goal;
    uint32_t replicas;
    target_limit limit;  /* zeros: none */
    char max_words[160]; /* why no larger sizes were tried, "" if there is nothing to say */

    tune_size *sizes[SWEEP_SIZES_MOST]; /* sorted */
    uint32_t count, visits, rounds;
    knee_answer answer; /* places in sizes */
    double spread;      /* of visits to one size, as in knee_weather */
    sweep_end end;
    bool stopped;                           /* by the user */
    char trouble[CEN_ERROR_TEXT_SIZE + 80]; /* what went wrong on the way, "" if nothing did */
} tuning;

/* ---- tune_words.c --------------------------------------------------------------------------------------- */

/* Reads "p99=20ms", "wait.p95=5ms", "whole.p99.9=1s"; false: `why` says in a whole sentence what is wrong. */
bool tune_goal_read(const char *text, tune_time usual, tune_goal *out, char *why, size_t room);
/* The goal's percentile of that size, in nanoseconds. */
int64_t tune_goal_value(const tune_goal *goal, const tune_size *size);
const char *tune_time_name(tune_time time);

double tune_utilisation(const tune_size *size);
/* The size whose mean is the largest of all that the table shows and that keep the goal: the best, or one with fewer visits. NULL:
 * nothing was measured. */
const tune_size *tune_first(const tuning *self);
tune_capacity tune_capacity_of(const tuning *self, uint32_t size);
const char *tune_end_words(const tuning *self);

/* Whole sentences, the first one the answer; each writes at most `room` bytes and answers its length. */
size_t tune_advice(const tuning *self, char *out, size_t room);
size_t tune_doubts(const tuning *self, char *out, size_t room);         /* how sure it is, and what would tell more */
size_t tune_capacity_words(const tuning *self, char *out, size_t room); /* replicas against the server's limit */

/* ---- tune_show.c ---------------------------------------------------------------------------------------- */

/* Fills in what is known without measuring: machine, date, version, and the command as it was given, with `shown` for `url`. */
void tune_describe(tuning *self, const char *url);
/* The curve, the table and the sentences. */
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

/* Makes the pool, of one object, which is not open yet. */
cen_status tune_bench_open(tune_bench *self, cen_error *error);
void tune_bench_close(tune_bench *self);

/* Resizes the pool, opens all its objects, drives it and adds what came of it to `size`. False: it was stopped before there was
 * anything to say. `left` seconds are what it may take in all. */
bool tune_measure(tune_bench *self, const sweep_step *step, const tune_goal *goal, double left, tune_size *size,
                  sweep_outcome *out);

#endif
