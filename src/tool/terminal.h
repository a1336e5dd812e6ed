/* SPDX-License-Identifier: MIT */
/*
 * What a terminal can do, and the one line that says how far something is.
 *
 * Colours are used where the stream is a terminal, TERM is not "dumb" and NO_COLOR is not set, or empty. Without a terminal the
 * program prints plain lines.
 *
 * Threads: a stream's and a progress' own.
 */
#ifndef CENOTE_TOOL_TERMINAL_H
#define CENOTE_TOOL_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

bool terminal_is(FILE *stream);
unsigned terminal_width(FILE *stream); /* columns; 80 if nobody knows */
bool terminal_has_colour(FILE *stream);

/* The sequence that begins an ink on that stream, "" without colours. INK_PLAIN ends them all. */
typedef enum ink { INK_PLAIN = 0, INK_BOLD, INK_FAINT, INK_GOOD, INK_WARN, INK_BAD, INK_ACCENT } ink;
const char *terminal_ink(FILE *stream, ink wanted);

/* Writes a bar of `columns` characters, "[######....]", for a share from 0 to 1, into text of at least columns + 1 bytes. */
void terminal_bar(char *text, unsigned columns, double share);

/* How far something is, on the standard error: on a terminal one line that is drawn anew in place, at most ten times a second;
 * else one line every two seconds; nothing if it is quiet. */
typedef struct progress {
    FILE *stream;
    bool is_quiet, is_drawn;
    int64_t last; /* when it was shown, on the monotonic clock; 0: never */
    int64_t began;
} progress;

void progress_begin(progress *self, bool quiet);
/* One line without its newline; what does not fit on the terminal's line is cut. */
__attribute__((format(printf, 2, 3))) void progress_show(progress *self, const char *format, ...);
/* Takes the line off the terminal, so that something else can be printed. May be shown again after. */
void progress_clear(progress *self);

#endif
