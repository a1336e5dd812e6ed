/* SPDX-License-Identifier: MIT */
/*
 * Properties of the terminal, and the progress line.
 *
 * Colours are used if the stream is a terminal, TERM is not "dumb", and NO_COLOR is unset or empty. Without a terminal
 * the program prints plain lines.
 *
 * Threads: one at a time per stream and per progress.
 */
#ifndef CENOTE_TOOL_TERMINAL_H
#define CENOTE_TOOL_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

bool terminal_is(FILE *stream);
unsigned terminal_width(FILE *stream); /* columns; 80 if unknown */
bool terminal_has_colour(FILE *stream);

/* Return the escape sequence that starts an ink on that stream; "" without colours. INK_PLAIN ends all of them. */
typedef enum ink { INK_PLAIN = 0, INK_BOLD, INK_FAINT, INK_GOOD, INK_WARN, INK_BAD, INK_ACCENT } ink;
const char *terminal_ink(FILE *stream, ink wanted);

/* Write a bar of `columns` characters, "[######....]", for a share from 0 to 1. `text` has at least columns + 1 bytes. */
void terminal_bar(char *text, unsigned columns, double share);

/* The progress of the work, on the standard error. On a terminal it is one line that is redrawn in place, at most 10
 * times per second. Otherwise it is a line every 2 s. With quiet it is nothing. */
typedef struct progress {
    FILE *stream;
    bool is_quiet, is_drawn;
    int64_t last; /* the time of the last output, on the monotonic clock; 0: none yet */
    int64_t began;
} progress;

void progress_begin(progress *self, bool quiet);
/* Show one line without its newline, cut to the terminal's width. */
__attribute__((format(printf, 2, 3))) void progress_show(progress *self, const char *format, ...);
/* Remove the line from the terminal, so that something else can be printed. It may be shown again afterwards. */
void progress_clear(progress *self);

#endif
