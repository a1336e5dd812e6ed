/* SPDX-License-Identifier: MIT */
/*
 * The files in which processes with inspection enabled announce their address: PID.address, with the address on its
 * first line, in $XDG_RUNTIME_DIR/cenote or /tmp/cenote-UID. root also sees those of other users, in
 * /run/user/UID/cenote and /tmp/cenote-UID.
 *
 * A directory or file is not trusted if it belongs to neither this user nor root, or if others may write to it: its
 * author could send this user's token elsewhere. For another user's file root requires that directory, file and process
 * all belong to that user, and that the address is a socket of that user or on this machine.
 */
#ifndef CENOTE_TOOL_PLACE_H
#define CENOTE_TOOL_PLACE_H

#include <stdbool.h>
#include <stdio.h>

#include "tool/address.h"

/* The last process found, and the number of all. */
typedef struct place_found {
    unsigned count;
    long pid;
    bool is_foreign; /* it belongs to another user */
    char line[ADDRESS_TEXT];
    FILE *out; /* if not NULL, each is printed there, one per line */
} place_found;

/* Find the processes of all places or, with `first_only`, of the first place that has any. `why`, if not NULL, gets
 * which place of this user is not trusted. */
void place_look(place_found *all, bool first_only, cen_error *why);

/* Find the process with that ID. */
bool place_find(long pid, place_found *out, cen_error *why);

bool place_is_alive(long pid);

#endif
