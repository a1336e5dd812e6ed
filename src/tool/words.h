/* SPDX-License-Identifier: MIT */
/*
 * Numbers as people read them, and tables of them. All text is ASCII, and numbers have a point, whatever the locale says.
 * Threads: nothing is shared.
 */
#ifndef CENOTE_TOOL_WORDS_H
#define CENOTE_TOOL_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { WORDS_ROOM = 32 };

/* Each writes to `out` and answers it: printf("%s", words_duration(text, ns)). */
/* "850 ns", "12.3 us", "1.25 ms", "2.00 s", "3 min 20 s" */
const char *words_duration(char out[WORDS_ROOM], int64_t ns);
const char *words_count(char out[WORDS_ROOM], uint64_t count);   /* "12,345" */
const char *words_rate(char out[WORDS_ROOM], double per_second); /* "12,345/s", "9.31/s" */
const char *words_share(char out[WORDS_ROOM], double share);     /* "40 %", "99.5 %", "0.02 %" */
const char *words_bytes(char out[WORDS_ROOM], uint64_t bytes);   /* "64 KiB" */

/* The text of a library's error without the name of the function, which is for programmers: "cen_events_read_file: ...". */
const char *words_of_error(const char *text);

/* A table: rows of texts, the first column to the left, the others to the right, as wide as they need to be. */
enum { TABLE_COLUMNS = 12, TABLE_ROWS = 64, TABLE_ROOM = 48 };
typedef struct table {
    unsigned columns, rows;
    char cell[TABLE_ROWS][TABLE_COLUMNS][TABLE_ROOM];
} table;

/* Begins one; it is large: not for a small stack. */
void table_begin(table *self, unsigned columns);
/* One more row, which begins empty, and its cells, one after the other. What is too much is left out. */
void table_row(table *self);
__attribute__((format(printf, 3, 4))) void table_set(table *self, unsigned column, const char *format, ...);
/* Prints it, each line after `indent` spaces; the first row is the head, in bold where that can be. */
void table_print(const table *self, FILE *out, unsigned indent);

#endif
