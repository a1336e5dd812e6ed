/* SPDX-License-Identifier: MIT */
/*
 * The curve of a tuning as text: a column per size with the throughput as its height, the size and a latency below it,
 * and a mark under the recommended one.
 */
#ifndef CENOTE_TOOL_CURVE_H
#define CENOTE_TOOL_CURVE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tool/terminal.h"

enum { CURVE_SIZES_MOST = 96 };

typedef struct curve_column {
    uint32_t size;
    double height, low, high; /* throughput and its confidence interval */
    double latency;           /* in seconds; negative: unknown */
    bool failed;
} curve_column;

typedef struct curve {
    const curve_column *columns; /* sorted by size */
    uint32_t count;
    int chosen, best;                             /* indices; -1: none */
    const char *latency_name;                     /* "p99" */
    unsigned width;                               /* of the screen, in characters; at least 20 */
    unsigned rows;                                /* of the picture; 0: 10 */
    bool plain;                                   /* ASCII only */
    const char *(*ink)(FILE *stream, ink wanted); /* NULL: no colours */
} curve;

void curve_print(const curve *self, FILE *out);

/* Return true if the locale of the environment allows Unicode output. */
bool curve_may_be_unicode(void);

#endif
