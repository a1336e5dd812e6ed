/* SPDX-License-Identifier: MIT */
/*
 * Numbers for readers, and tables of them. All text is ASCII, and numbers have a decimal point in every locale.
 * Threads: nothing is shared.
 */
#ifndef CENOTE_TOOL_WORDS_H
#define CENOTE_TOOL_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { WORDS_ROOM = 32 };

/* Each writes to `out` and returns it: printf("%s", words_duration(text, ns)). */
/* "850 ns", "12.3 us", "1.25 ms", "2.00 s", "3 min 20 s" */
const char *words_duration(char out[WORDS_ROOM], int64_t ns);
const char *words_count(char out[WORDS_ROOM], uint64_t count);   /* "12,345" */
const char *words_rate(char out[WORDS_ROOM], double per_second); /* "12,345/s", "9.31/s" */
const char *words_share(char out[WORDS_ROOM], double share);     /* "40 %", "99.5 %", "0.02 %" */
const char *words_bytes(char out[WORDS_ROOM], uint64_t bytes);   /* "64 KiB" */

/* Return the text of a library error without the name of the C function in front, such as "cen_events_read_file:
 * ...". */
const char *words_of_error(const char *text);

/* A table of texts: the first column is left-aligned, the others right-aligned, each as wide as needed. */
enum { TABLE_COLUMNS = 12, TABLE_ROWS = 64, TABLE_ROOM = 48 };
typedef struct table {
    unsigned columns, rows;
    char cell[TABLE_ROWS][TABLE_COLUMNS][TABLE_ROOM];
} table;

/* Start a table. It is too large for a small stack. */
void table_begin(table *self, unsigned columns);
/* Add an empty row; set its cells in order. Rows and cells beyond the limits are left out. */
void table_row(table *self);
__attribute__((format(printf, 3, 4))) void table_set(table *self, unsigned column, const char *format, ...);
/* Print the table, each line indented by `indent` spaces. The first row is the head, in bold if possible. */
void table_print(const table *self, FILE *out, unsigned indent);

#endif
