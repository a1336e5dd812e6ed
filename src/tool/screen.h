/* SPDX-License-Identifier: MIT */
/*
 * The terminal, by ncurses: begun, drawn, listened to, and always given back as it was.
 * Threads: the main thread's; one screen.
 */
#ifndef CENOTE_TOOL_SCREEN_H
#define CENOTE_TOOL_SCREEN_H

#include <stdbool.h>

#include "tool/top_live.h"

/* Takes the terminal; false: it cannot be used in this way, and `why` has a sentence. */
bool screen_begin(bool colour, char *why, size_t room);
void screen_end(void);

void screen_draw(live *shown);

/* A key, or 0 if there was none within so many milliseconds, or before `fd` became readable, or a signal came. */
int screen_key(int fd, int milliseconds);

#endif
