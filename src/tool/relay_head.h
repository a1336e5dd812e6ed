/* SPDX-License-Identifier: MIT */
/*
 * The head of a browser's request: whether it may go to the process, and what is forwarded.
 *
 * Rules
 *  H1 Only a request whose Host is localhost or a numeric address of this machine is forwarded. A page of another site
 *     whose name resolves to this machine is refused.
 *  H2 Everything except the page's own files needs the token, in the header Authorization. The exceptions are an
 *     explicit list: "/%61pi" is not on it.
 *  H3 One connection carries one request. The length of its body must be given once, as a plain number.
 *  H4 Our token and connection headers are not forwarded. The process's own token takes the place of ours.
 *
 * Pure: bytes in, bytes out.
 */
#ifndef CENOTE_TOOL_RELAY_HEAD_H
#define CENOTE_TOOL_RELAY_HEAD_H

#include <stdbool.h>
#include <stddef.h>

enum { RELAY_HEAD_MOST = 16384, RELAY_BODY_MOST = 4096, RELAY_ROOM = 2 * RELAY_HEAD_MOST + RELAY_BODY_MOST };

typedef struct relay_tokens {
    const char *ours;   /* required from the browser */
    const char *theirs; /* required by the process; "": none */
} relay_tokens;

typedef enum relay_verdict { RELAY_MORE = 0, RELAY_GOES, RELAY_REFUSED } relay_verdict;

typedef struct relay_request {
    char bytes[RELAY_ROOM]; /* for the process: head and body */
    size_t length;
    unsigned code; /* HTTP status of a refusal, such as 401 */
    const char *status, *text;
} relay_request;

/* Read the bytes of a request received so far. MORE: it is incomplete. */
relay_verdict relay_read(const char *bytes, size_t length, const relay_tokens *tokens, relay_request *out);

#endif
