/* SPDX-License-Identifier: MIT */
/* cenote run: what was asked for, and what came of it, for those who print it. */
#ifndef CENOTE_TOOL_RUN_H
#define CENOTE_TOOL_RUN_H

#include "tool/load.h"

typedef struct run_settings {
    target_settings target;
    int64_t clients, size, min_idle;
    int64_t duration_ns, warm_up_ns, think_ns, hold_ns, patience_ns, seed;
    double rate;
    bool futures, exact_times, json, quiet;
    const char *dashboard; /* NULL: none; "": where there is room */
    int64_t idle_timeout_ns;
} run_settings;

typedef struct run_report {
    const run_settings *settings;
    const target *target;
    target_limit limit;
    load_result load;
    cen_pool_stats pool, writer; /* at the end; writer.max is 0 if there is none */
    char advice[640];
} run_report;

/* One sentence: what the numbers mean, and what to do about it. */
void run_advise(run_report *self);
void run_print(const run_report *self, FILE *out);
/* One JSON object, as docs/tool.md describes it. False: there is no memory. */
bool run_print_json(const run_report *self, FILE *out);

#endif
