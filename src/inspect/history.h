/* SPDX-License-Identifier: MIT */
/*
 * The last five minutes of up to 64 components, so that whoever opens the page sees what led here.
 *
 *     ceni_history *history = ceni_history_new();
 *     ceni_history_sample(history, now_ms);      every CENI_HISTORY_PERIOD_MS
 *     ceni_history_show(history, now_ms, now_ns, json);
 *     ceni_history_free(history);
 *
 * A sample has up to eight metrics and, of up to two histograms, the percentiles 50, 90, 99 and 100 of the time since the sample
 * before. Which metrics: those of a list of names that any component may use, then whatever else it has; no kind is known here.
 *
 * Where there are more components than 64, those with trouble come first: one without makes room for one with. Each sample looks at
 * no more than 64 of those that are not kept, one after the other, however many there are.
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

ceni_history *ceni_history_new(void); /* NULL: no memory */
void ceni_history_free(ceni_history *history);

/* Takes a sample of each; one for which there is no memory is left out. `now_ms`: on a clock that only goes forward. */
void ceni_history_sample(ceni_history *history, int64_t now_ms);

/* Writes members of the object that is open. `now_ns`: the same moment, since 1970. */
void ceni_history_show(const ceni_history *history, int64_t now_ms, int64_t now_ns, ceni_json *json);

#endif
