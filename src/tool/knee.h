/* SPDX-License-Identifier: MIT */
/*
 * The knee: among several measured sizes, the smallest whose throughput is nearly that of the best.
 *
 * Pure functions over numbers. A size is measured in visits. A visit is cut into windows of equal length, each with its
 * throughput. Visits of one round are made directly after each other, so other activity of the machine affects all of
 * them alike.
 *
 * Confidence intervals are of 95 %. The windows of a visit are correlated, and so are visits at different times if the
 * machine has become slower meanwhile. The interval therefore uses the equivalent number of independent windows instead
 * of their count.
 */
#ifndef CENOTE_TOOL_KNEE_H
#define CENOTE_TOOL_KNEE_H

#include <stdbool.h>
#include <stdint.h>

enum { KNEE_WINDOWS = 20, KNEE_PAIRED_LEAST = 4 };

typedef struct knee_visit {
    uint32_t round;   /* 0: not in a round */
    double when;      /* its middle, in seconds since the start */
    uint32_t windows; /* 1 to KNEE_WINDOWS */
    double seconds;
    double per_second[KNEE_WINDOWS];
} knee_visit;

typedef struct knee_interval {
    double mean, low, high;
} knee_interval;

typedef struct knee_point {
    uint32_t size;
    bool failed; /* operations failed: it is shown and never chosen */
    knee_visit *visits;
    uint32_t count;
    double latency; /* the goal's percentile, in seconds; not used without a goal */
} knee_point;

typedef struct knee_rule {
    double margin; /* 0.05: at least 95 % of the best throughput */
    double goal;   /* the largest allowed latency, in seconds; 0: no goal */
} knee_rule;

/* Indices into the list of points, which is sorted by size; -1: none. */
typedef struct knee_answer {
    int chosen;
    /* The size with the largest throughput among those that meet the goal, or among all if none does. Sizes with at
     * least KNEE_PAIRED_LEAST visits are compared by their mean: among many sizes that were visited once, the largest
     * is only the luckiest. A size with fewer visits wins only if the low end of its interval is above that. */
    int best;
    int fastest; /* the same, regardless of the goal */
    /* the chosen one meets the goal; false: none does, and it is the closest. True without a goal */
    bool keeps_goal;
    knee_interval share; /* the chosen throughput as a share of the best */
    bool is_sure;        /* even the low end of the share is within the margin */
    /* among smaller sizes that may be within the margin, too: the one with the fewest visits */
    int doubt;
    int hope; /* the smallest size that may be within the margin */
    /* among larger sizes that may be better by more than the margin: the one with the fewest visits */
    int rival;
    bool is_settled; /* sure, no doubt and no rival */
} knee_answer;

/* What the machine did during the measurement, whatever the size. */
typedef struct knee_weather {
    /* of the speed, as a share per second: -0.01 is 1 % slower each second. 0 unless it is significant */
    double drift;
    double middle; /* the moment that throughputs refer to */
    double spread; /* the remaining deviation of visits to one size, as a share of their mean */
} knee_weather;

/* Compute the weather from the sizes that were visited more than once; zeros if there are none. */
knee_weather knee_weather_of(const knee_point *points, uint32_t count);

/* Mean throughput of the windows of all visits, corrected to the middle of the measurement; zeros without a visit. With
 * fewer than KNEE_PAIRED_LEAST visits the weather supplies their deviation, from the other sizes. */
knee_interval knee_throughput(const knee_point *point, knee_weather weather);

/* The throughput of one size as a share of another's. The interval comes from the pairs of visits if both were visited
 * in at least KNEE_PAIRED_LEAST rounds, else from both intervals. */
knee_interval knee_share(const knee_point *of, const knee_point *in, knee_weather weather);

knee_answer knee_find(const knee_point *points, uint32_t count, knee_rule rule);

/* Student's t for 95 %, two-sided. */
double knee_student(double degrees);

#endif
