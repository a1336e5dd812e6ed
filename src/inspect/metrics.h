/* SPDX-License-Identifier: MIT */
/*
 * Things as metrics: first all of them are looked at and copied, then families of
 * series are written, each in one piece as the formats demand.
 */
#ifndef CENI_INSPECT_METRICS_H
#define CENI_INSPECT_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/watch.h>

#include "inspect/text.h"

/* Upper bounds of histograms' buckets, in nanoseconds: those that OpenTelemetry advises for databases, and finer. */
enum { CENI_BOUNDS = 16, CENI_METRIC_TIMINGS_MOST = 8 };
extern const int64_t ceni_metric_bounds[CENI_BOUNDS];

typedef struct ceni_metric_timing {
    cen_timing timing;
    uint64_t within[CENI_BOUNDS]; /* so many up to each bound; cumulative, and with the instant ones */
    uint64_t count;               /* with the instant ones */
    int64_t sum_ns;
} ceni_metric_timing;

/* A thing, copied. */
typedef struct ceni_metric_thing {
    uint64_t number;
    char kind[24], system[24]; /* "": none */
    char *name;                /* as a label's value: what needs it is escaped */
    char *alone;               /* a name that no other pool of a database has; NULL: it is none */
    size_t reading_count, timing_count;
    cen_reading *readings;
    ceni_metric_timing *timings;
} ceni_metric_thing;

typedef struct ceni_metric_things {
    size_t count, room;
    ceni_metric_thing *things;
    bool spoiled; /* no memory, or far too much of it */
} ceni_metric_things;

void ceni_metric_things_copy(ceni_metric_things *out);
void ceni_metric_things_fini(ceni_metric_things *things);
const cen_reading *ceni_metric_reading(const ceni_metric_thing *thing, const char *name); /* NULL: it has none */
const ceni_metric_timing *ceni_metric_timing_of(const ceni_metric_thing *thing, const char *name);

/* What is left out of a text that would be too long; how much is told in it. */
typedef enum ceni_metric_without {
    CENI_WITHOUT_NOTHING = 0,
    /* cenote's own histograms of a database's pool, which are there under OpenTelemetry's names */
    CENI_WITHOUT_TWICE,
    CENI_WITHOUT_HISTOGRAMS, /* all of them */
} ceni_metric_without;

/* Writes all families but those. */
void ceni_metric_expose(ceni_text *text, const ceni_metric_things *things, bool openmetrics,
                        ceni_metric_without without);

#endif
