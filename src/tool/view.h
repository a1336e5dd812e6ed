/* SPDX-License-Identifier: MIT */
/*
 * What is shown of a model: tables whose rows can be sorted, filtered and cut to a width, and pages of lines about one row. The
 * screen draws them, and `top --once` prints them. Pure: no terminal here.
 *
 * Texts come from another process. What could make a terminal do something is replaced before it gets here as text,
 * and what does not fit the terminal's letters is replaced by a question mark.
 */
#ifndef CENOTE_TOOL_VIEW_H
#define CENOTE_TOOL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tool/model.h"

/* ---- Text (view_text.c) ------------------------------------------------------------------- */

enum { VIEW_ROOM = 1024 };

/* Whether letters beyond ASCII may be written; as the locale says, by view_begin. */
extern bool view_is_wide;
void view_begin(void);

/* "0", "850ns", "12us", "3.4ms", "56ms", "1.2s", "3m20s", "2h05m", "4d03h": at most six letters. */
const char *view_time(char out[16], int64_t ns);
const char *view_whole(char out[16], int64_t number); /* "12", "12345", "1.2M" */
const char *view_count(char out[16], double count);   /* "0", "0.25", "12", "9.8k", "1.2M" */

/* Writes `text` as exactly so many columns: cut with a mark at its end, or filled with spaces. The part beyond `room` bytes is
 * lost. Answers the bytes written. */
size_t view_fit(char *out, size_t room, const char *text, unsigned columns, bool right);
unsigned view_width(const char *text); /* columns that it takes */

/* The text with what is no letter replaced, for a terminal; of newlines only if `lines` is true is nothing changed. */
void view_clean(char *out, size_t room, const char *text, bool lines);

/* A bar: what is held, being opened and idle, of max. */
typedef struct view_bar {
    double held, opening, idle; /* shares of all, 0 to 1 in sum */
} view_bar;
size_t view_draw_bar(char *out, size_t room, const view_bar *bar, unsigned columns);

/* ---- Tables (view.c) ------------------------------------------------------------------------- */

typedef enum view_style {
    STYLE_PLAIN = 0,
    STYLE_DIM,
    STYLE_BOLD,
    STYLE_GOOD,
    STYLE_WARN,
    STYLE_BAD,
    STYLE_ACCENT,
    STYLES,
} view_style;

enum { VIEW_COLUMNS = 13 };

typedef struct view_column {
    const char *title;
    unsigned most; /* columns of the screen; 0: as many as are left */
    bool right;    /* aligned */
    bool falls;    /* sorted by it, the largest comes first */
    unsigned rank; /* those with the highest are left out first where there is no room; 0: never */
} view_column;

typedef struct view_cell {
    char *text;
    double value; /* it is sorted by this, or, if is_text, by its text */
    bool is_text, is_bar;
    view_style style;
    view_bar bar;
} view_cell;

typedef struct view_row {
    char key[80]; /* by which it is found again in a later table */
    view_cell cells[VIEW_COLUMNS];
    unsigned depth;
    uint64_t number;   /* of the component, for commands to it */
    const void *about; /* the row of the model */
    size_t natural;    /* where it is if nothing is sorted */
} view_row;

typedef struct view_table {
    const view_column *columns;
    unsigned column_count;
    bool is_tree; /* is not sorted, and a row that is shown has those above it */
    view_row *rows;
    size_t count;
    const char *empty; /* what is said if there are none */
} view_table;

void view_table_free(view_table *table);

/* A row to fill; NULL: no memory. */
view_row *view_add(view_table *table, const char *key, uint64_t number, const void *about);
/* Its next cells. Text is cleaned. */
void view_text_cell(view_row *row, unsigned column, view_style style, const char *text);
void view_number_cell(view_row *row, unsigned column, view_style style, double value, const char *text);

/* Leaves the first rows only. (Rows may not be added any more.) */
void view_cut(view_table *table, size_t most);
/* By that column; below 0: as they came. */
void view_sort(view_table *table, int column, bool reverse);
/* Leaves rows whose number in that column is not below `least`. */
void view_keep_from(view_table *table, unsigned column, double least);
/* Leaves rows that have the text in a cell, in small or capital letters. "": all. */
void view_filter(view_table *table, const char *text);

/* How wide each column is drawn if there are `columns`, one space between two; 0: it is left out. columns 0: as wide as
 * they would like to be. */
void view_layout(const view_table *table, unsigned columns, unsigned widths[VIEW_COLUMNS]);
/* A cell at that width. */
size_t view_cell_text(const view_table *table, const view_row *row, unsigned column, unsigned width, char *out,
                      size_t room);
/* Plain text: the head and all rows. */
void view_print(const view_table *table, FILE *out, unsigned columns);

/* ---- Panes (view_panes.c) ----------------------------------------------------------------------- */

typedef enum view_pane {
    PANE_POOLS = 0,
    PANE_HOLDERS,
    PANE_WAITERS,
    PANE_WORKERS,
    PANE_TREE,
    PANE_EVENTS,
    PANES
} view_pane;

extern const char *const view_pane_names[PANES];

/* The column of events that has their level, whose numbers are: */
enum { VIEW_LEVEL_COLUMN = 1, VIEW_TRACE = 0, VIEW_DETAIL, VIEW_NOTICE, VIEW_WARNING, VIEW_ERROR, VIEW_LEVELS };
extern const char *const view_level_names[VIEW_LEVELS];

/* Events, in the JSON of /api/events, oldest first. */
view_table view_of(view_pane pane, const model *m, json_t *events);

/* ---- Pages of lines (view_detail.c) ---------------------------------------------------------------- */

typedef struct view_page {
    char title[160];
    char **lines;
    view_style *styles;
    size_t count;
} view_page;

void view_page_free(view_page *page);
__attribute__((format(printf, 3, 4))) void view_say(view_page *page, view_style style, const char *format, ...);
/* Breaks long text into lines of at most so many columns. */
void view_say_text(view_page *page, view_style style, const char *text, unsigned columns);

/* What the process kept of a pool: lines of half a minute each; none if `entry`, of GET /api/history, is NULL or empty. */
void view_say_history(view_page *page, json_t *entry, int64_t now_ns);

/* All that is known of the row of a pane. */
view_page view_detail(view_pane pane, const view_row *row, unsigned columns);

#endif
