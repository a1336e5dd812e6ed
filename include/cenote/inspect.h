/* SPDX-License-Identifier: MIT */
/*
 * An in-process HTTP server that serves metrics, JSON and a live page of every pool, crew, router and supervisor. It
 * runs on its own thread. libcenote-inspect.
 *
 *     cen_inspect *inspect;
 *     cen_inspect_options o = CEN_INSPECT_OPTIONS(.at = "127.0.0.1:9911");
 *     if (cen_inspect_start(&o, &inspect, &error) != CEN_OK) die(error.text);
 *     printf("see %s\n", cen_inspect_address(inspect));
 *     // ...
 *     cen_inspect_stop(inspect);
 *
 * Nothing is served until the program starts the server. By default, only programs of the same user can connect,
 * through a Unix socket at the path where `cenote top PID` looks for it, and they can only read. Other machines can
 * connect only if the options allow it and set a token.
 *
 * Limits: at most `clients` connections, plus a few more that receive a 503; 16 KiB for a request and 16 MiB for a
 * response; ten seconds to receive a request and ten seconds to send the response. Anything beyond a limit is refused.
 * The server adds no instructions to a take or a give.
 *
 *     GET  /                        the page
 *     GET  /metrics                 OpenMetrics
 *     GET  /api/process             the process, its start time, and what is allowed
 *     GET  /api/components              every component: metrics, histograms, actions; ?parts=1: with descriptions
 *     GET  /api/components/NUMBER       one component, with its description
 *     GET  /api/events?after=N        events; &limit=, &level=
 *     POST /api/components/NUMBER/invoke  {"action": "resize", "value": 20}; only with options.control
 *
 * While the server is running, it keeps a five-minute history of up to 64 components, in at most 8 KiB each. Components
 * with problems take precedence. The server's thread reads the components every 2.5 s.
 *
 *     GET  /api/history             the last five minutes
 *
 * docs/inspect.md describes the responses. An error response is {"error": {"status": "ABSENT", "text": "..."}}.
 *
 * Fork: a child has no server. In the child, cen_inspect_stop only closes the inherited descriptors and frees memory.
 * Threads: the server may be started and stopped from any thread. Stop it only once.
 */
#ifndef CENOTE_INSPECT_H
#define CENOTE_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/sized.h>
#include <cenote/status.h>
#include <cenote/version.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cen_inspect cen_inspect;

/* Options of the server. In every field, zero means the default. */
typedef struct cen_inspect_options {
    size_t size; /* sizeof(cen_inspect_options), set by the macro */
    /* The address: "127.0.0.1:9911", "[::1]:0", "localhost:9911" (port 0: a free port), or "unix:/path/to/socket".
     * Default: a Unix socket in $XDG_RUNTIME_DIR/cenote, or in /tmp/cenote-UID, for this user only. */
    const char *at;
    /* The access token: 1 to 256 letters, digits and - . _ ~; default none. If it is set, requests to /api and /metrics
     * must contain it, as "Authorization: Bearer TOKEN" or ?token=TOKEN. */
    const char *token;
    /* Allow actions: pause, resume, resize, reload, evict and test. Default: read-only. Over TCP, this requires a
     * token, because every user of this machine can connect; over a Unix socket, it does not. */
    bool control;
    bool anywhere;     /* `at` may be an address that other machines can reach; requires a token of at least 16 bytes */
    uint32_t clients;  /* maximum concurrent connections, 1 to 256; default 32 */
    const char *title; /* title of the page, at most 120 bytes; default the program's name */
} cen_inspect_options;

/* Options with `size` set. */
#define CEN_INSPECT_OPTIONS(...) CEN_OPTIONS_(cen_inspect_options, __VA_ARGS__)

/* Start the server. options may be NULL.
 * Returns:
 *   OK         the server is running
 *   INVALID    out is NULL, or an option is invalid, for example control over TCP without a token; the text names the
 *              option
 *   EXISTS     another process is listening at the address, or the file at the path is not a socket
 *   SYSTEM     a system call failed
 *   NO_MEMORY  out of memory
 */
CEN_API cen_status cen_inspect_start(const cen_inspect_options *options, cen_inspect **out, cen_error *error);

/* Return the server's address: "http://127.0.0.1:9911/" or "unix:/path/to/socket". The text is valid until
 * cen_inspect_stop. */
CEN_API const char *cen_inspect_address(const cen_inspect *inspect);

/* Stop the server. When this returns, no request is being served and the socket is gone. NULL is allowed. */
CEN_API void cen_inspect_stop(cen_inspect *inspect);

/* The Content-Type of the text from cen_inspect_metrics. Prometheus refuses the text if it is sent with any other
 * type. */
#define CEN_INSPECT_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Return the metrics as the text that /metrics returns to a client that accepts OpenMetrics. Use this in a program that
 * already has an HTTP server. That server must send the text with CEN_INSPECT_METRICS_TYPE. If length is not NULL,
 * *length is set to the length of the text. Return NULL if out of memory or if the text is longer than 16 MiB.
 * Ownership: the caller frees the text with free. */
CEN_API char *cen_inspect_metrics(size_t *length);

#ifdef __cplusplus
}
#endif
#endif
