/* SPDX-License-Identifier: MIT */
/*
 * An HTTP server inside the process, for metrics, JSON and a live page of every pool, crew, router and supervisor. It
 * has a thread of its own. libcenote-inspect.
 *
 *     cen_inspect *inspect;
 *     cen_inspect_options o = CEN_INSPECT_OPTIONS(.at = "127.0.0.1:9911");
 *     if (cen_inspect_start(&o, &inspect, &error) != CEN_OK) die(error.text);
 *     printf("see %s\n", cen_inspect_address(inspect));
 *     // ...
 *     cen_inspect_stop(inspect);
 *
 * Nothing is served until the program starts the server. By default only programs of this user can connect, through a
 * Unix socket at a path where `cenote top PID` looks, and they can only read. Other machines can connect only if the
 * options allow it and have a token.
 *
 * Limits: at most `clients` connections, and a few more, which are answered with 503; 16 KiB for a request and 16 MiB
 * for a response; ten seconds to receive a request and ten to send the response. Anything beyond a limit is refused.
 * The server adds no instruction to a take or a give.
 *
 *     GET  /                        the page
 *     GET  /metrics                 OpenMetrics
 *     GET  /api/process             the process, its start, and what is allowed
 *     GET  /api/components              every component: metrics, histograms, actions; ?parts=1: with descriptions
 *     GET  /api/components/NUMBER       one component, with its description
 *     GET  /api/events?after=N        events; &limit=, &level=
 *     POST /api/components/NUMBER/invoke  {"action": "resize", "value": 20}; only with options.control
 *
 * While the server runs, it keeps the last five minutes of up to 64 components, in at most 8 KiB each. Components with
 * trouble come first. Its thread reads them every 2.5 s.
 *
 *     GET  /api/history             the last five minutes
 *
 * docs/inspect.md describes the responses. An error is {"error": {"status": "ABSENT", "text": "..."}}.
 *
 * Fork: a child has no server. There cen_inspect_stop only closes the inherited descriptors and frees memory.
 * Threads: start and stop from any thread. Stop once.
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

/* Options of the server. Zero means default in every field. */
typedef struct cen_inspect_options {
    size_t size; /* sizeof(cen_inspect_options), set by the macro */
    /* The address: "127.0.0.1:9911", "[::1]:0", "localhost:9911" (port 0: a free port), or "unix:/path/to/socket".
     * Default: a Unix socket in $XDG_RUNTIME_DIR/cenote, or in /tmp/cenote-UID, for this user only. */
    const char *at;
    /* Default none. If it is set, requests to /api and /metrics need it: "Authorization: Bearer TOKEN", or
     * ?token=TOKEN. 1 to 256 letters, digits and - . _ ~ */
    const char *token;
    /* Allow actions: pause, resume, resize, reload, evict and test. Default: read-only. Over TCP it requires a token,
     * because every user of this machine can connect; over a Unix socket it does not. */
    bool control;
    bool anywhere;     /* `at` may be an address that other machines reach; needs a token of at least 16 bytes */
    uint32_t clients;  /* maximum concurrent connections, 1 to 256; default 32 */
    const char *title; /* of the page, at most 120 bytes; default the program's name */
} cen_inspect_options;

/* Options with `size` set. */
#define CEN_INSPECT_OPTIONS(...) CEN_OPTIONS_(cen_inspect_options, __VA_ARGS__)

/* Start the server. options may be NULL.
 * Returns:
 *   OK         the server runs
 *   INVALID    out is NULL, or an option is invalid; the text names it; control over TCP without a token is one
 *   EXISTS     another process listens at the address, or a file at the path is not a socket
 *   SYSTEM     a system call failed
 *   NO_MEMORY  out of memory
 */
CEN_API cen_status cen_inspect_start(const cen_inspect_options *options, cen_inspect **out, cen_error *error);

/* Return the server's address: "http://127.0.0.1:9911/" or "unix:/path/to/socket". The text is valid until
 * cen_inspect_stop. */
CEN_API const char *cen_inspect_address(const cen_inspect *inspect);

/* Stop the server. When this returns, no request is being served and the socket is gone. NULL is allowed. */
CEN_API void cen_inspect_stop(cen_inspect *inspect);

/* The Content-Type of the text of cen_inspect_metrics. Under another one Prometheus refuses it. */
#define CEN_INSPECT_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Return the metrics, the text that /metrics returns to a client that accepts OpenMetrics. It is for a program that has
 * an HTTP server already. That server must send it with CEN_INSPECT_METRICS_TYPE. *length, if length is not NULL: the
 * length of the text. Return NULL if memory is lacking or the text has more than 16 MiB.
 * Ownership: the caller frees the text with free. */
CEN_API char *cen_inspect_metrics(size_t *length);

#ifdef __cplusplus
}
#endif
#endif
