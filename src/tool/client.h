/* SPDX-License-Identifier: MIT */
/*
 * HTTP requests to a process with inspection enabled (include/cenote/inspect.h).
 *
 * Every request is bounded: 3 s to connect, `timeout_ns` in all, 32 MiB of response. It ends early when *stop becomes
 * true. An error's text is a complete sentence that names the address and never contains the token.
 *
 * Threads: one at a time per client.
 */
#ifndef CENOTE_TOOL_CLIENT_H
#define CENOTE_TOOL_CLIENT_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

#include <cenote/status.h>

#include "tool/address.h"

typedef struct client client;

/* From the options --token, --token-file and --timeout. Zeroed: the variable CENOTE_TOKEN, and 10 s. */
typedef struct client_options {
    const char *token, *token_file;
    int64_t timeout_ns;
    const atomic_bool *stop; /* may be NULL */
} client_options;

/* Find the address and create a client for it, without a request. Errors: as address_find, and SYSTEM (the token's file
 * cannot be read), NO_MEMORY. */
cen_status client_open(const char *text, const client_options *options, client **out, cen_error *error);
void client_close(client *self);

const address *client_address(const client *self);
const char *client_token(const client *self); /* the token that requests carry; "": none */
/* Set the flag that ends requests early. Not during a request. */
void client_set_stop(client *self, const atomic_bool *stop);

/* GET with the response as JSON, which the caller frees with json_decref. Errors: DOWN (no connection, or no response
 * in time), INVALID (the token is missing or wrong, or the server is not cenote), ABSENT (no such component),
 * INTERRUPTED (*stop). */
cen_status client_get(client *self, const char *path, json_t **out, cen_error *error);

/* GET with the raw response and its length. The caller frees it with free(). */
cen_status client_get_text(client *self, const char *path, char **out, size_t *length, cen_error *error);

/* Set the content type that further requests ask for; return that of the last response, "" if it had none. */
cen_status client_accept(client *self, const char *type, cen_error *error);
const char *client_content_type(const client *self);

/* GET /api/process, and check that the server is cenote and the process the named one. */
cen_status client_greet(client *self, json_t **out, cen_error *error);

/* Invoke an action: POST /api/components/NUMBER/invoke. Errors: as client_get, and those of the component. */
cen_status client_tell(client *self, uint64_t number, const char *action, int64_t value, cen_error *error);

#endif
