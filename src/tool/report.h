/* SPDX-License-Identifier: MIT */
/*
 * The result of a tuning as an HTML page and as JSON.
 *
 * The page is one HTML file with its styles and charts (SVG) inside. It needs no network and no script, follows the
 * reader's light or dark setting, and prints well. Every external text is escaped.
 */
#ifndef CENOTE_TOOL_REPORT_H
#define CENOTE_TOOL_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tool/tune.h"

/* Return true if the report may be written to that file: the directory is writable, and an existing file is such a
 * report, or `force` is set. If false, `why` has a complete sentence. Leaves nothing behind. */
bool report_may_write(const char *path, bool force, char *why, size_t room);

/* Write the report to a second file and rename it, so that the file is always complete. */
bool report_write(const tuning *self, const char *path, bool force, char *why, size_t room);

void report_html(const tuning *self, FILE *out);
/* Write one JSON object on one line. Returns false if out of memory. */
bool report_json(const tuning *self, FILE *out);

extern const char report_style[]; /* report_style.c */

/* ---- report_chart.c ---------------------------------------------------------------------------------------- */

enum { CHART_POINTS_MOST = SWEEP_SIZES_MOST, CHART_LINES_MOST = 3 };

typedef struct chart_line {
    const char *name;
    double value[CHART_POINTS_MOST], low[CHART_POINTS_MOST], high[CHART_POINTS_MOST];
    bool has_band;
} chart_line;

typedef enum chart_unit { CHART_RATE, CHART_TIME, CHART_SHARE } chart_unit; /* per second; in nanoseconds; 0 to 1 */

typedef struct chart {
    const char *title, *note; /* note: may be NULL */
    chart_unit unit;
    bool is_log;
    uint32_t size[CHART_POINTS_MOST];
    uint32_t count;
    chart_line lines[CHART_LINES_MOST];
    uint32_t line_count;
    int chosen;       /* index; -1: none */
    double threshold; /* the value of a dashed line; 0: none */
    const char *threshold_name;
    bool is_small; /* half the width */
} chart;

/* Write a figure with its legend. */
void chart_write(const chart *self, FILE *out);

/* Write a text escaped for HTML elements and attributes. Unprintable characters become question marks. */
void html_text(FILE *out, const char *text);

#endif
