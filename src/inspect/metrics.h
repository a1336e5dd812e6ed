/* SPDX-License-Identifier: MIT */
/*
 * Components as metrics. All of them are copied first. Then families of series are written, each contiguous, as the
 * formats require.
 */
#ifndef CENI_INSPECT_METRICS_H
#define CENI_INSPECT_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/component.h>

#include "inspect/text.h"

/* Upper bounds of the histograms' buckets, in nanoseconds: those that OpenTelemetry recommends for databases, and finer
 * ones. */
enum { CENI_BOUNDS = 16, CENI_METRIC_HISTOGRAMS_MAX = 8 };
extern const int64_t ceni_metric_bounds[CENI_BOUNDS];

typedef struct ceni_metric_histogram {
    cen_histogram_header timing;
    uint64_t within[CENI_BOUNDS]; /* cumulative counts up to each bound, including instant ones */
    uint64_t count;               /* including instant ones */
    int64_t sum_ns;
} ceni_metric_histogram;

/* A copy of a component. */
typedef struct ceni_metric_component {
    uint64_t number;
    char kind[24], system[24]; /* "": none */
    char *name;                /* as a label's value, escaped */
    char *alone;               /* a name unique among database pools; NULL: not one */
    size_t metric_count, timing_count;
    cen_metric *metrics;
    ceni_metric_histogram *timings;
} ceni_metric_component;

typedef struct ceni_metric_components {
    size_t count, room;
    ceni_metric_component *components;
    bool spoiled; /* out of memory, or too long */
} ceni_metric_components;

void ceni_metric_components_copy(ceni_metric_components *out);
void ceni_metric_components_fini(ceni_metric_components *components);
const cen_metric *ceni_metric_sample(const ceni_metric_component *component, const char *name); /* NULL: it has none */
const ceni_metric_histogram *ceni_metric_histogram_of(const ceni_metric_component *component, const char *name);

/* What is left out of a text that would be too long. The text contains the number of omitted histograms. */
typedef enum ceni_metric_without {
    CENI_WITHOUT_NOTHING = 0,
    /* cenote's own histograms of database pools, which also exist under OpenTelemetry's names */
    CENI_WITHOUT_TWICE,
    CENI_WITHOUT_HISTOGRAMS, /* all histograms */
} ceni_metric_without;

/* Write all other families. */
void ceni_metric_expose(ceni_text *text, const ceni_metric_components *components, bool openmetrics,
                        ceni_metric_without without);

#endif
