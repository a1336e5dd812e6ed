/* SPDX-License-Identifier: MIT */
/* cenote run: its settings and its result. */
#ifndef CENOTE_TOOL_RUN_H
#define CENOTE_TOOL_RUN_H

#include "tool/load.h"

typedef struct run_settings {
    target_settings target;
    int64_t clients, size, min_idle;
    int64_t duration_ns, warm_up_ns, think_ns, hold_ns, timeout_ns, seed;
    double rate;
    bool futures, exact_times, json, quiet;
    const char *dashboard; /* NULL: none; "": the default address */
    int64_t keep_dashboard_ns;
} run_settings;

typedef struct run_report {
    const run_settings *settings;
    const target *target;
    target_limit limit;
    load_result load;
    cen_pool_stats pool, writer; /* at the end; writer.max is 0 without a writer */
    char advice[640];
} run_report;

/* Write one sentence: what the numbers mean, and what to do. */
void run_advise(run_report *self);
void run_print(const run_report *self, FILE *out);
/* Print one JSON object, as in docs/tool.md. Returns false if out of memory. */
bool run_print_json(const run_report *self, FILE *out);

#endif
