/* SPDX-License-Identifier: MIT */
/*
 * A client for tests of libcenote-inspect: libcurl, or a bare socket for what no
 * honest client sends.
 *
 *     reply r = ask("http://127.0.0.1:9911/", "GET", "/api/process", NULL);
 *     expect_equal(r.code, 200);
 *     json_t *json = reply_json(&r);
 *     ...
 *     reply_fini(&r);
 */
#ifndef TESTS_INSPECT_CLIENT_H
#define TESTS_INSPECT_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include <cenote/inspect.h>
#include <jansson.h>

typedef struct reply {
    int curl;  /* CURLcode: 0 if there was a reply */
    long code; /* HTTP status */
    char *head, *body;
    size_t head_length, length;
} reply;

/* `body` may be NULL. Then headers, "Name: value", up to NULL. The address is what cen_inspect_address says. */
__attribute__((sentinel)) reply ask_with(const char *address, const char *method, const char *path, const char *body,
                                         ...);
#define ask(address, method, path, body) ask_with(address, method, path, body, NULL)
void reply_fini(reply *r);

/* The value of a header, or "". Valid until the next call. */
const char *reply_header(const reply *r, const char *name);

/* The body, which must be one JSON document without a name twice in one object; json_decref is the caller's. */
json_t *reply_json(const reply *r);

/* Asks, expects 200 and JSON. */
json_t *ask_json(const char *address, const char *path);

/* Asks, expects that code and an error with that status, whose text contains the words. */
void expect_error(reply r, long code, const char *status, const char *words);

/* A socket that is connected there, and waits for at most five seconds in each call. */
int client_connect(const char *address);
/* Sends all of it; false: the server has closed. */
bool client_send(int socket, const char *bytes, size_t length);
/* Reads until the server closes, or the room is full; ends with a zero. */
size_t client_read(int socket, char *out, size_t room);

/* Starts it, or fails the test. Default options: 127.0.0.1:0. */
cen_inspect *inspect_started(cen_inspect_options options);
/* The same, with less patience than ten seconds. */
cen_inspect *inspect_impatient(cen_inspect_options options, int64_t patience_ms);

#endif
