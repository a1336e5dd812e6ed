/* SPDX-License-Identifier: MIT */
/* The live page of this process, for commands that run a load. Without libcenote-inspect it only reports that it is not
 * available. */
#ifndef CENOTE_TOOL_DASHBOARD_H
#define CENOTE_TOOL_DASHBOARD_H

#include "tool/command.h"

typedef struct dashboard {
    void *inspect; /* NULL: not running */
} dashboard;

/* Start the page at an address ("": 127.0.0.1:0) and print where it is to the standard error. Returns EXIT_DONE, or the
 * exit status after an error was printed. */
int dashboard_start(dashboard *self, const command *whose, const char *at, const char *title);
/* Keep the page up for `ns`, or until a signal. Returns at once if it is not running. */
void dashboard_keep(const dashboard *self, int64_t ns);
void dashboard_stop(dashboard *self);

#endif
