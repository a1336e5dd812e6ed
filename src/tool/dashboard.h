/* SPDX-License-Identifier: MIT */
/* The live page of this very process, for commands that drive a load. Without libcenote-inspect, it says that there is none. */
#ifndef CENOTE_TOOL_DASHBOARD_H
#define CENOTE_TOOL_DASHBOARD_H

#include "tool/command.h"

typedef struct dashboard {
    void *inspect; /* NULL: it is not there */
} dashboard;

/* Starts it at an address, "" is 127.0.0.1:0, and prints where it is to the standard error. EXIT_DONE, or the status to
 * exit with, after an error was printed. */
int dashboard_start(dashboard *self, const command *whose, const char *at, const char *title);
/* Lets it be looked at for so long, or until a signal; nothing if it is not there. */
void dashboard_linger(const dashboard *self, int64_t ns);
void dashboard_stop(dashboard *self);

#endif
