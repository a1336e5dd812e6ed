/* SPDX-License-Identifier: MIT */
/*
 * The wish that the program end: SIGINT (Ctrl-C), SIGTERM, SIGHUP; and an output that nobody reads any more.
 *
 * The first one sets a flag, at which whoever works stops, reports what there is so far, and removes what it made. The
 * second one ends the program at once; files that were named here are removed even then.
 *
 * The list of files is the main thread's; the handler, which any thread may run, meets whole entries, since a path is there before
 * the number that counts it is stored, and that is all the handler believes.
 */
#ifndef CENOTE_TOOL_STOP_H
#define CENOTE_TOOL_STOP_H

#include <stdatomic.h>
#include <stdbool.h>

/* Lets the signals be caught. SIGPIPE is ignored: a write that fails says so. */
void stop_catch(void);

/* From now on the end of whoever reads the standard output, a pipe or a socket, counts as a first signal: SIGPIPE. Call it once,
 * in a command that works for long before it prints. It has no effect on a terminal or a file. */
void stop_watch_output(void);

/* For loops and load_plan.stop. */
const atomic_bool *stop_flag(void);
static inline bool stop_asked(void)
{
    return atomic_load(stop_flag());
}

/* EXIT_SIGNAL plus the signal's number, or `status` if there was none. */
int stop_status(int status);

/* Names a file, or an empty directory, that is not to be left behind: the last named is removed first, by
 * stop_remove_since, or by the second signal. The text is copied. False: there are too many, or it is too long. */
bool stop_remove_later(const char *path);

/* Ends the program at once, as the second signal does: awaits nothing that is under way, and leaves nothing behind. */
_Noreturn void stop_leave(int status);

/* A mark, and the removal of all that was named since. 0: of all. */
int stop_mark(void);
void stop_remove_since(int mark);

#endif
