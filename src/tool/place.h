/* SPDX-License-Identifier: MIT */
/*
 * The files by which processes with inspect on say where they are: PID.address, with an address on its first line, in
 * $XDG_RUNTIME_DIR/cenote or /tmp/cenote-UID. root also sees those of other users, in /run/user/UID/cenote and /tmp/cenote-UID.
 *
 * A directory or a file that belongs to neither this user nor root, or that others may write, is not believed: whoever
 * wrote it could send this user's token elsewhere. Of another user root believes what belongs to that user throughout: the
 * directory, the file, the process, and the socket; or an address of this machine's own.
 */
#ifndef CENOTE_TOOL_PLACE_H
#define CENOTE_TOOL_PLACE_H

#include <stdbool.h>
#include <stdio.h>

#include "tool/address.h"

/* The last one that was met, and how many there were. */
typedef struct place_found {
    unsigned count;
    long pid;
    bool is_foreign; /* it is another user's */
    char line[ADDRESS_TEXT];
    FILE *out; /* if not NULL each is printed there, one a line */
} place_found;

/* Meets the processes of all places, or, with `first_only`, of the first that has any. `why`, if not NULL, says which place of this
 * user's is not believed. */
void place_look(place_found *all, bool first_only, cen_error *why);

/* The process of that number. */
bool place_find(long pid, place_found *out, cen_error *why);

bool place_is_alive(long pid);

#endif
