/* SPDX-License-Identifier: MIT */
/*
 * The last five minutes of up to 64 components, so the page can show what happened before it was opened.
 *
 *     ceni_history *history = ceni_history_new();
 *     ceni_history_sample(history, now_ms);      every CENI_HISTORY_PERIOD_MS
 *     ceni_history_show(history, now_ms, now_ns, json);
 *     ceni_history_free(history);
 *
 * A sample has up to 8 metrics and, for up to 2 histograms, the percentiles 50, 90, 99 and 100 of the time since the
 * previous sample. The metrics are chosen by a list of names that any component may use, then in the component's order.
 * No kind is known here.
 *
 * If there are more than 64 components, those with trouble come first: one without trouble makes room for one with.
 * Each sample examines at most 64 unrecorded components, in turn, so its cost is bounded.
 *
 * A component costs less than 8 KiB. Threads: one at a time.
 */
#ifndef CENI_INSPECT_HISTORY_H
#define CENI_INSPECT_HISTORY_H

#include <stdint.h>

#include "inspect/text.h"

enum {
    CENI_HISTORY_PERIOD_MS = 2500,
    CENI_HISTORY_SAMPLES = 120,
    CENI_HISTORY_THINGS = 64,
    CENI_HISTORY_METRICS = 8,
    CENI_HISTORY_HISTOGRAMS = 2,
};

typedef struct ceni_history ceni_history;

ceni_history *ceni_history_new(void); /* NULL: out of memory */
void ceni_history_free(ceni_history *history);

/* Take a sample of each component. A component is skipped if there is no memory for it. `now_ms`: monotonic. */
void ceni_history_sample(ceni_history *history, int64_t now_ms);

/* Write the history as members of the open object. `now_ns`: the same moment, since 1970. */
void ceni_history_show(const ceni_history *history, int64_t now_ms, int64_t now_ns, ceni_json *json);

#endif
