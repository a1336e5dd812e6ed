/* SPDX-License-Identifier: MIT */
/*
 * Where a process with inspect on is reached, from what a user writes:
 *
 *     http://HOST:PORT/, HOST:PORT   by TCP; https:// and a path before it are allowed, for one behind a proxy
 *     unix:PATH                      by a socket
 *     PID                            what PID.address says, in $XDG_RUNTIME_DIR/cenote or /tmp/cenote-UID
 *     nothing                        the only process that has such a file, in the first of the two that has any
 *
 * place.h says which files are believed.
 */
#ifndef CENOTE_TOOL_ADDRESS_H
#define CENOTE_TOOL_ADDRESS_H

#include <stdbool.h>
#include <stdio.h>

#include <cenote/status.h>

enum { ADDRESS_TEXT = 400, ADDRESS_TOKEN = 256 };

typedef struct address {
    char url[ADDRESS_TEXT];    /* "http://127.0.0.1:9911", with no slash at its end */
    char socket[108];          /* the path of the socket; "": there is none */
    char shown[ADDRESS_TEXT];  /* for texts: without a token */
    char token[ADDRESS_TOKEN]; /* that the URL had, as the page's own address has; "": none */
    long pid;                  /* by which it was found; 0: by its address */
    /* it was found so, and is of another user than root, who asks: CENOTE_TOKEN is not for it */
    bool is_foreign;
} address;

/* Reads what the user wrote; NULL or "": the only process that there is. Errors: MISUSE (it is no address), ABSENT (no such
 * process, or it has no inspect), EXISTS (there are several to choose from: address_list shows them), SYSTEM. */
cen_status address_find(const char *text, address *out, cen_error *error);

/* Whether it can only be meant as an address: a number, or something with a colon or a scheme. */
bool address_is_one(const char *text);

/* Prints the processes that could be named, one line for each, and answers how many. */
unsigned address_list(FILE *out);

/* Writes the text of an error and answers its status. */
__attribute__((format(printf, 3, 4))) cen_status address_fail(cen_error *error, cen_status status, const char *format,
                                                              ...);

#endif
