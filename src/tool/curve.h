/* SPDX-License-Identifier: MIT */
/*
 * The curve of a tuning as text: a column for each size, the throughput as its height, below it the size and a latency, and a mark
 * under the one that is recommended.
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
    double height, low, high; /* throughput and its interval */
    double latency;           /* in seconds; negative: unknown */
    bool failed;
} curve_column;

typedef struct curve {
    const curve_column *columns; /* sorted by size */
    uint32_t count;
    int chosen, best;                             /* places; -1: none */
    const char *latency_name;                     /* "p99" */
    unsigned width;                               /* of the screen, in characters; at least 20 are taken */
    unsigned rows;                                /* of the picture; 0: ten */
    bool plain;                                   /* ASCII only */
    const char *(*ink)(FILE *stream, ink wanted); /* NULL: without colours */
} curve;

void curve_print(const curve *self, FILE *out);

/* Whether what is printed may be Unicode, by the locale that the environment asks for. */
bool curve_may_be_unicode(void);

#endif
