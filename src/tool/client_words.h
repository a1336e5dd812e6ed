/* SPDX-License-Identifier: MIT */
/* Shared by the commands that query a process: options, help text, and errors. */
#ifndef CENOTE_TOOL_CLIENT_WORDS_H
#define CENOTE_TOOL_CLIENT_WORDS_H

#include <stdint.h>

#include "tool/client.h"
#include "tool/command.h"

/* Option rows for a client_options in the field `at` of the settings. */
#define WATCHING_ROWS(settings, at) \
    {"token", \
     0, \
     OPTION_TEXT, \
     "TOKEN", \
     offsetof(settings, at.token), \
     0, \
     0, \
     NULL, \
     "token of the process; other users can see it here, so prefer:"}, \
        {"token-file", \
         0, \
         OPTION_TEXT, \
         "PATH", \
         offsetof(settings, at.token_file), \
         0, \
         0, \
         NULL, \
         "file whose first line is the token (CENOTE_TOKEN)"}, \
    { \
        "timeout", 0, OPTION_DURATION, "TIME", offsetof(settings, at.timeout_ns), 1e6, 3600e9, NULL, \
            "time limit of one request (10s)" \
    }

#define WATCHING_TEACHING \
    "ADDRESS is http://HOST:PORT/, HOST:PORT or unix:PATH. PID is a process of this user. Without\n" \
    "either, the command uses the only process of this user that has inspection enabled; if there are\n" \
    "several, it lists them.\n"

/* Print the error, and the processes to choose from if there are several. Returns the exit status. */
int watching_fail(const command *self, const cen_error *error);

/* Sleep for `ns` nanoseconds, or until a signal asks for the end. */
void watching_pause(int64_t ns);

#endif
