/* SPDX-License-Identifier: MIT */
/*
 * The head of a browser's request: whether it may go to the process, and what of it goes there.
 *
 * Rules
 * H1 Only a request that names this machine by a number or as localhost (Host) goes on: a page of another site that has got here by
 *    a name of its own does not.
 * H2 Everything but the page's own files needs the token, in the header Authorization. What is free is a list, and not a
 *    rest: "/%61pi" is not on it.
 * H3 One connection carries one request. What says how long the body is stands there once, and is a plain number.
 * H4 Neither our token nor anything about the connection goes on. The process' own token takes the place of ours.
 *
 * Pure: bytes in, bytes out.
 */
#ifndef CENOTE_TOOL_RELAY_HEAD_H
#define CENOTE_TOOL_RELAY_HEAD_H

#include <stdbool.h>
#include <stddef.h>

enum { RELAY_HEAD_MOST = 16384, RELAY_BODY_MOST = 4096, RELAY_ROOM = 2 * RELAY_HEAD_MOST + RELAY_BODY_MOST };

typedef struct relay_tokens {
    const char *ours;   /* that the browser must bring */
    const char *theirs; /* that the process wants; "": none */
} relay_tokens;

typedef enum relay_verdict { RELAY_MORE = 0, RELAY_GOES, RELAY_REFUSED } relay_verdict;

typedef struct relay_request {
    char bytes[RELAY_ROOM]; /* for the process: the head, and the body */
    size_t length;
    unsigned code; /* of a refusal: 401 */
    const char *status, *text;
} relay_request;

/* Reads what has come of a request. MORE: it is not complete. */
relay_verdict relay_read(const char *bytes, size_t length, const relay_tokens *tokens, relay_request *out);

#endif
