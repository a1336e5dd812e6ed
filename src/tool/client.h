/* SPDX-License-Identifier: MIT */
/*
 * Questions to a process with inspect on, over HTTP (include/cenote/inspect.h).
 *
 * Every question is bounded: three seconds to connect, `timeout_ns` in all, 32 MiB of answer. It ends early when
 * *stop becomes true. A text of an error is a whole sentence that names the address, and never has the token.
 *
 * Threads: one at a time for each client.
 */
#ifndef CENOTE_TOOL_CLIENT_H
#define CENOTE_TOOL_CLIENT_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

#include <cenote/status.h>

#include "tool/address.h"

typedef struct client client;

/* As the options --token, --token-file and --timeout say; zeroed: the variable CENOTE_TOKEN, and ten seconds. */
typedef struct client_options {
    const char *token, *token_file;
    int64_t timeout_ns;
    const atomic_bool *stop; /* may be NULL */
} client_options;

/* Finds the address and makes a client for it; asks nothing yet. Errors: as address_find, and SYSTEM (the token's file cannot be
 * read), NO_MEMORY. */
cen_status client_open(const char *text, const client_options *options, client **out, cen_error *error);
void client_close(client *self);

const address *client_address(const client *self);
const char *client_token(const client *self); /* that the process is sent; "": none */
/* From now on this ends a question early; not while one is going on. */
void client_set_stop(client *self, const atomic_bool *stop);

/* GET, and the answer as JSON, which the caller drops by json_decref. Errors: DOWN (nobody is there, or nobody answered in time),
 * INVALID (the token is missing or wrong; who answers is not cenote), ABSENT (there is no such component), INTERRUPTED (*stop). */
cen_status client_get(client *self, const char *path, json_t **out, cen_error *error);

/* The same with the answer as it came, of that length, in memory for free(). */
cen_status client_get_text(client *self, const char *path, char **out, size_t *length, cen_error *error);

/* Which content type the next answers should have; and which the last one had, "" if it did not say. */
cen_status client_accept(client *self, const char *type, cen_error *error);
const char *client_content_type(const client *self);

/* Who is there: GET /api/process, and whether it is cenote at all, and the process that was named. */
cen_status client_greet(client *self, json_t **out, cen_error *error);

/* Tells a component: POST /api/components/NUMBER/invoke. Errors: as client_get, and what the component says. */
cen_status client_tell(client *self, uint64_t number, const char *action, int64_t value, cen_error *error);

#endif
