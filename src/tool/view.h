/* SPDX-License-Identifier: MIT */
/*
 * Views of a model: tables whose rows can be sorted, filtered and cut to a width, and pages of lines about one row. The
 * screen draws them, and `top --once` prints them. Pure: no terminal here.
 *
 * Texts come from another process. Characters that could control a terminal are replaced before a text is stored here.
 * Characters that the terminal cannot show become question marks.
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

/* True if characters beyond ASCII may be written; set from the locale by view_begin. */
extern bool view_is_wide;
void view_begin(void);

/* Format a time in at most 6 characters: "0", "850ns", "12us", "3.4ms", "56ms", "1.2s", "3m20s", "2h05m", "4d03h". */
const char *view_time(char out[16], int64_t ns);
const char *view_whole(char out[16], int64_t number); /* "12", "12345", "1.2M" */
const char *view_count(char out[16], double count);   /* "0", "0.25", "12", "9.8k", "1.2M" */

/* Write `text` as exactly `columns` columns: cut, with a mark at its end, or padded with spaces. The part beyond `room`
 * bytes is lost. Returns the number of bytes written. */
size_t view_fit(char *out, size_t room, const char *text, unsigned columns, bool right);
unsigned view_width(const char *text); /* the number of columns */

/* Replace non-printable characters of a text, for a terminal. Newlines are kept if `lines` is true. */
void view_clean(char *out, size_t room, const char *text, bool lines);

/* A bar of held, opening and idle objects relative to max. */
typedef struct view_bar {
    double held, opening, idle; /* shares of max, with a sum of 0 to 1 */
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
    unsigned most; /* width on the screen; 0: the remaining width */
    bool right;    /* right-aligned */
    bool falls;    /* sorted by it, the largest comes first */
    unsigned rank; /* when there is no room, columns of the highest rank are left out first; 0: never */
} view_column;

typedef struct view_cell {
    char *text;
    double value; /* the sort key; if is_text, the text is */
    bool is_text, is_bar;
    view_style style;
    view_bar bar;
} view_cell;

typedef struct view_row {
    char key[80]; /* identifies the row in later tables */
    view_cell cells[VIEW_COLUMNS];
    unsigned depth;
    uint64_t number;   /* of the component, for actions */
    const void *about; /* the row of the model */
    size_t natural;    /* its position in the natural order */
} view_row;

typedef struct view_table {
    const view_column *columns;
    unsigned column_count;
    bool is_tree; /* not sorted; a row that is shown keeps its ancestors */
    view_row *rows;
    size_t count;
    const char *empty; /* the message for an empty table */
} view_table;

void view_table_free(view_table *table);

/* Add a row to fill. NULL: out of memory. */
view_row *view_add(view_table *table, const char *key, uint64_t number, const void *about);
/* Set a cell. Text is cleaned. */
void view_text_cell(view_row *row, unsigned column, view_style style, const char *text);
void view_number_cell(view_row *row, unsigned column, view_style style, double value, const char *text);

/* Keep the first rows only. No rows may be added afterwards. */
void view_cut(view_table *table, size_t most);
/* Sort by a column; below 0: natural order. */
void view_sort(view_table *table, int column, bool reverse);
/* Keep rows whose number in that column is at least `least`. */
void view_keep_from(view_table *table, unsigned column, double least);
/* Keep rows with the text in a cell, ignoring case. "": all. */
void view_filter(view_table *table, const char *text);

/* Compute the width of each column for a screen of `columns`, with one space between them; 0: left out. columns 0: the
 * preferred widths. */
void view_layout(const view_table *table, unsigned columns, unsigned widths[VIEW_COLUMNS]);
/* Write a cell at that width. */
size_t view_cell_text(const view_table *table, const view_row *row, unsigned column, unsigned width, char *out,
                      size_t room);
/* Print the head and all rows as plain text. */
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

/* The column of the events' level, and the numbers of the levels: */
enum { VIEW_LEVEL_COLUMN = 1, VIEW_TRACE = 0, VIEW_DETAIL, VIEW_NOTICE, VIEW_WARNING, VIEW_ERROR, VIEW_LEVELS };
extern const char *const view_level_names[VIEW_LEVELS];

/* Build the table of a pane. `events`: the JSON of /api/events, oldest first. */
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
/* Add a long text, broken into lines of at most `columns`. */
void view_say_text(view_page *page, view_style style, const char *text, unsigned columns);

/* Add the recorded history of a pool, a line per 30 s; none if `entry`, from GET /api/history, is NULL or empty. */
void view_say_history(view_page *page, json_t *entry, int64_t now_ns);

/* Return everything known about a row of a pane. */
view_page view_detail(view_pane pane, const view_row *row, unsigned columns);

#endif
