/* SPDX-License-Identifier: MIT */
/*
 * Components as metrics: first all of them are looked at and copied, then families of
 * series are written, each in one piece as the formats demand.
 */
#ifndef CENI_INSPECT_METRICS_H
#define CENI_INSPECT_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/component.h>

#include "inspect/text.h"

/* Upper bounds of histograms' buckets, in nanoseconds: those that OpenTelemetry advises for databases, and finer. */
enum { CENI_BOUNDS = 16, CENI_METRIC_HISTOGRAMS_MAX = 8 };
extern const int64_t ceni_metric_bounds[CENI_BOUNDS];

typedef struct ceni_metric_histogram {
    cen_histogram_header timing;
    uint64_t within[CENI_BOUNDS]; /* so many up to each bound; cumulative, and with the instant ones */
    uint64_t count;               /* with the instant ones */
    int64_t sum_ns;
} ceni_metric_histogram;

/* A component, copied. */
typedef struct ceni_metric_component {
    uint64_t number;
    char kind[24], system[24]; /* "": none */
    char *name;                /* as a label's value: what needs it is escaped */
    char *alone;               /* a name that no other pool of a database has; NULL: it is none */
    size_t metric_count, timing_count;
    cen_metric *metrics;
    ceni_metric_histogram *timings;
} ceni_metric_component;

typedef struct ceni_metric_components {
    size_t count, room;
    ceni_metric_component *components;
    bool spoiled; /* no memory, or far too much of it */
} ceni_metric_components;

void ceni_metric_components_copy(ceni_metric_components *out);
void ceni_metric_components_fini(ceni_metric_components *components);
const cen_metric *ceni_metric_sample(const ceni_metric_component *component, const char *name); /* NULL: it has none */
const ceni_metric_histogram *ceni_metric_histogram_of(const ceni_metric_component *component, const char *name);

/* What is left out of a text that would be too long; how much is told in it. */
typedef enum ceni_metric_without {
    CENI_WITHOUT_NOTHING = 0,
    /* cenote's own histograms of a database's pool, which are there under OpenTelemetry's names */
    CENI_WITHOUT_TWICE,
    CENI_WITHOUT_HISTOGRAMS, /* all of them */
} ceni_metric_without;

/* Writes all families but those. */
void ceni_metric_expose(ceni_text *text, const ceni_metric_components *components, bool openmetrics,
                        ceni_metric_without without);

#endif
