/* SPDX-License-Identifier: MIT */
#include "tool/client_words.h"

#include <time.h>

#include "tool/stop.h"

int watching_fail(const command *self, const cen_error *error)
{
    int status = EXIT_UNREACHABLE;
    if (error->status == CEN_INTERRUPTED) return stop_status(EXIT_DONE);
    if (error->status == CEN_NO_MEMORY) status = EXIT_SYSTEM;
    /* ambiguous, or not an address */
    if (error->status == CEN_EXISTS || error->status == CEN_MISUSE) status = EXIT_USAGE;
    command_fail(self, status, "%s", error->text);
    if (error->status == CEN_EXISTS) address_list(stderr);
    return status;
}

void watching_pause(int64_t ns)
{
    const int64_t step = 20 * 1000000; /* a signal may arrive just before the sleep */
    for (; ns > 0 && !stop_asked(); ns -= step) {
        int64_t now = ns < step ? ns : step;
        struct timespec wait = {.tv_sec = (time_t)(now / SECOND_NS), .tv_nsec = (long)(now % SECOND_NS)};
        nanosleep(&wait, NULL);
    }
}
