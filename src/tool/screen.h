/* SPDX-License-Identifier: MIT */
/*
 * The terminal, by ncurses: start, drawing, keys, and restoring it in every case.
 * Threads: the main thread only; one screen.
 */
#ifndef CENOTE_TOOL_SCREEN_H
#define CENOTE_TOOL_SCREEN_H

#include <stdbool.h>

#include "tool/top_live.h"

/* Take over the terminal. Returns false with a sentence in `why` if it cannot be used. */
bool screen_begin(bool colour, char *why, size_t room);
void screen_end(void);

void screen_draw(live *shown);

/* Return a key, or 0 if none came within `milliseconds`, before `fd` became readable or a signal came. */
int screen_key(int fd, int milliseconds);

#endif
