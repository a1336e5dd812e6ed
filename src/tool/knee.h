/* SPDX-License-Identifier: MIT */
/*
 * The knee: of several sizes that were measured, the smallest that does nearly as much as the best.
 *
 * Pure functions over numbers. A size is measured in visits; a visit is cut into windows of equal length, and each window has
 * its throughput. Visits of one round were made one right after the other, so that whatever else the machine did then did
 * it to all of them.
 *
 * Intervals are of 95 %. The windows of a visit hang together, and so do those of visits a while apart if the machine has
 * become slower meanwhile: the interval counts how many independent windows they are worth, and not how many there are.
 */
#ifndef CENOTE_TOOL_KNEE_H
#define CENOTE_TOOL_KNEE_H

#include <stdbool.h>
#include <stdint.h>

enum { KNEE_WINDOWS = 20, KNEE_PAIRED_LEAST = 4 };

typedef struct knee_visit {
    uint32_t round;   /* 0: of none */
    double when;      /* its middle, in seconds since the beginning */
    uint32_t windows; /* 1 to KNEE_WINDOWS */
    double seconds;
    double per_second[KNEE_WINDOWS];
} knee_visit;

typedef struct knee_interval {
    double mean, low, high;
} knee_interval;

typedef struct knee_point {
    uint32_t size;
    bool failed; /* operations failed there: it is shown and never chosen */
    knee_visit *visits;
    uint32_t count;
    double latency; /* the percentile that the goal speaks of, in seconds; without a goal it is not looked at */
} knee_point;

typedef struct knee_rule {
    double margin; /* 0.05: at least 95 % of the best */
    double goal;   /* the latency at most, in seconds; 0: there is no goal */
} knee_rule;

/* Places in the list of points, which is sorted by size; -1: none. */
typedef struct knee_answer {
    int chosen;
    /* Of those that keep the goal, or of all if none does, the one with the largest throughput among those with at least
     * KNEE_PAIRED_LEAST visits: of many that were visited once the largest is but the luckiest. One with fewer visits is it only if
     * the low end of its interval is above that. */
    int best;
    int fastest; /* the same, of all */
    /* the chosen one; false: none does, and it is the one that comes nearest. True without a goal */
    bool keeps_goal;
    knee_interval share; /* of the chosen in the best's throughput */
    bool is_sure;        /* even the low end of the share is within the margin */
    int doubt;           /* of the smaller ones that may be within the margin, too, the one that is known least */
    int hope;            /* the smallest of all that may be within the margin */
    /* of the larger ones that may be better by more than the margin, the one that is known least */
    int rival;
    bool is_settled; /* sure, without a doubt and without a rival */
} knee_answer;

/* What the machine did meanwhile, whatever the size. */
typedef struct knee_weather {
    /* of the speed, as a share a second: -0.01 is one percent slower each second. 0 unless it is plain to see */
    double drift;
    double middle; /* the moment that throughput is told for */
    double spread; /* how much visits to one size differ beyond that, as a share of their mean */
} knee_weather;

/* By the sizes that were visited more than once; zeros if none was. */
knee_weather knee_weather_of(const knee_point *points, uint32_t count);

/* Mean throughput of the windows of all visits, as at the middle; zeros without a visit. With fewer than KNEE_PAIRED_LEAST visits
 * it cannot be seen how much they differ, and the weather says how much those of others do. */
knee_interval knee_throughput(const knee_point *point, knee_weather weather);

/* The throughput of one as a share of another's. With at least KNEE_PAIRED_LEAST rounds that both were visited in, its width is
 * by those pairs; else by both intervals. */
knee_interval knee_share(const knee_point *of, const knee_point *in, knee_weather weather);

knee_answer knee_find(const knee_point *points, uint32_t count, knee_rule rule);

/* Student's t for 95 % on two sides. */
double knee_student(double degrees);

#endif
