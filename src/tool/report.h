/* SPDX-License-Identifier: MIT */
/*
 * A tuning as a page of its own and as JSON.
 *
 * The page is one file of HTML with its style and its charts (SVG) inside: it needs no network and no script, follows the
 * reader's light or dark setting, and prints. Every text that comes from elsewhere is escaped.
 */
#ifndef CENOTE_TOOL_REPORT_H
#define CENOTE_TOOL_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tool/tune.h"

/* Whether the page may go to that file: the directory can be written, and what is there already, if anything, is such
 * a page, or `force` says that it may go. False: `why` has a whole sentence. Leaves nothing behind. */
bool report_may_write(const char *path, bool force, char *why, size_t room);

/* Writes it beside and renames it, so that there is always a whole one or none. */
bool report_write(const tuning *self, const char *path, bool force, char *why, size_t room);

void report_html(const tuning *self, FILE *out);
/* One object on one line. False: no memory. */
bool report_json(const tuning *self, FILE *out);

extern const char report_style[]; /* report_style.c */

/* ---- report_chart.c ---------------------------------------------------------------------------------------- */

enum { CHART_POINTS_MOST = SWEEP_SIZES_MOST, CHART_LINES_MOST = 3 };

typedef struct chart_line {
    const char *name;
    double value[CHART_POINTS_MOST], low[CHART_POINTS_MOST], high[CHART_POINTS_MOST];
    bool has_band;
} chart_line;

typedef enum chart_unit { CHART_RATE, CHART_TIME, CHART_SHARE } chart_unit; /* a second; in nanoseconds; 0 to 1 */

typedef struct chart {
    const char *title, *note; /* the note may be NULL */
    chart_unit unit;
    bool is_log;
    uint32_t size[CHART_POINTS_MOST];
    uint32_t count;
    chart_line lines[CHART_LINES_MOST];
    uint32_t line_count;
    int chosen;       /* place; -1: none */
    double threshold; /* a dashed line there; 0: none */
    const char *threshold_name;
    bool is_small; /* half as wide */
} chart;

/* A figure with its legend. */
void chart_write(const chart *self, FILE *out);

/* Text as HTML wants it, in elements and in quotes; what no reader could show is a question mark. */
void html_text(FILE *out, const char *text);

#endif
