/* SPDX-License-Identifier: MIT */
/*
 * The end of the program on request: SIGINT (Ctrl-C), SIGTERM, SIGHUP, or an output that has lost its reader.
 *
 * The first signal sets a flag. The program then stops its work, reports the results so far, and removes its temporary
 * files. The second signal ends the program at once. Files registered here are removed even then.
 *
 * Only the main thread changes the list of files. The handler may run on any thread. It sees complete entries, because
 * a path is stored before the count that includes it, and the handler reads no more than that count.
 */
#ifndef CENOTE_TOOL_STOP_H
#define CENOTE_TOOL_STOP_H

#include <stdatomic.h>
#include <stdbool.h>

/* Install the handlers. SIGPIPE is ignored: a write fails instead. */
void stop_catch(void);

/* From now on the loss of the standard output's reader, for a pipe or a socket, counts as a first signal, SIGPIPE. Call
 * it once, in a command that works for long before it prints. It has no effect for a terminal or a file. */
void stop_watch_output(void);

/* Return the flag, for loops and load_plan.stop. */
const atomic_bool *stop_flag(void);
static inline bool stop_asked(void)
{
    return atomic_load(stop_flag());
}

/* Return EXIT_SIGNAL plus the signal's number, or `status` if there was none. */
int stop_status(int status);

/* Register a file or an empty directory for removal by stop_remove_since or by the second signal, in reverse order. The
 * text is copied. Returns false if there are too many, or it is too long. */
bool stop_remove_later(const char *path);

/* End the program at once, as the second signal does, without waiting for running operations and without leaving
 * files. */
_Noreturn void stop_leave(int status);

/* Return a mark; remove everything registered since a mark. 0: everything. */
int stop_mark(void);
void stop_remove_since(int mark);

#endif
