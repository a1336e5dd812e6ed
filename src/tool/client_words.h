/* SPDX-License-Identifier: MIT */
/* What the commands that ask a process have in common: options, words, and how they fail. */
#ifndef CENOTE_TOOL_CLIENT_WORDS_H
#define CENOTE_TOOL_CLIENT_WORDS_H

#include <stdint.h>

#include "tool/client.h"
#include "tool/command.h"

/* Rows for the client_options that are the field `at` of the settings. */
#define WATCHING_ROWS(settings, at) \
    {"token", \
     0, \
     OPTION_TEXT, \
     "TOKEN", \
     offsetof(settings, at.token), \
     0, \
     0, \
     NULL, \
     "that the process wants; others may see it here, so rather:"}, \
        {"token-file", \
         0, \
         OPTION_TEXT, \
         "PATH", \
         offsetof(settings, at.token_file), \
         0, \
         0, \
         NULL, \
         "whose first line is the token; without: CENOTE_TOKEN"}, \
    { \
        "timeout", 0, OPTION_DURATION, "TIME", offsetof(settings, at.timeout_ns), 1e6, 3600e9, NULL, \
            "for one answer (10s)" \
    }

#define WATCHING_TEACHING \
    "ADDRESS is http://HOST:PORT/, HOST:PORT or unix:PATH. PID is the number of a process of this\n" \
    "user. With neither it is the only process of this user that has inspect on, and if there are\n" \
    "more they are listed.\n"

/* Prints why, and what there is to choose from if that was not said; answers the exit status. */
int watching_fail(const command *self, const cen_error *error);

/* Waits for so long, or until a signal asks for the end. */
void watching_pause(int64_t ns);

#endif
