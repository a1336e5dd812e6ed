/* SPDX-License-Identifier: MIT */
/*
 * The address of a process with inspection enabled, from what the user writes:
 *
 *     http://HOST:PORT/, HOST:PORT   by TCP; https:// and a path are allowed, for a process behind a proxy
 *     unix:PATH                      by a Unix socket
 *     PID                            the contents of PID.address in $XDG_RUNTIME_DIR/cenote or /tmp/cenote-UID
 *     nothing                        the only process with such a file, in the first of the two that has any
 *
 * place.h describes which files are trusted.
 */
#ifndef CENOTE_TOOL_ADDRESS_H
#define CENOTE_TOOL_ADDRESS_H

#include <stdbool.h>
#include <stdio.h>

#include <cenote/status.h>

enum { ADDRESS_TEXT = 400, ADDRESS_TOKEN = 256 };

typedef struct address {
    char url[ADDRESS_TEXT];    /* "http://127.0.0.1:9911", without a trailing slash */
    char socket[108];          /* the path of the Unix socket; "": none */
    char shown[ADDRESS_TEXT];  /* for messages: without a token */
    char token[ADDRESS_TOKEN]; /* from the URL, as in the page's own address; "": none */
    long pid;                  /* the process ID it was found by; 0: found by its address */
    /* found by process ID by root, and owned by another user: it must not get CENOTE_TOKEN */
    bool is_foreign;
} address;

/* Find an address. NULL or "": the only process that has one. Errors: MISUSE (not an address), ABSENT (no such process,
 * or inspection is off), EXISTS (several to choose from; address_list prints them), SYSTEM. */
cen_status address_find(const char *text, address *out, cen_error *error);

/* Return true if the text can only be an address: a number, or something with a colon or a scheme. */
bool address_is_one(const char *text);

/* Print the processes that can be chosen, one per line. Returns how many. */
unsigned address_list(FILE *out);

/* Write the text of an error and return its status. */
__attribute__((format(printf, 3, 4))) cen_status address_fail(cen_error *error, cen_status status, const char *format,
                                                              ...);

#endif
