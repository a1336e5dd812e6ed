/* SPDX-License-Identifier: MIT */
/*
 * A look into the running process: metrics, JSON and a live page of every pool,
 * crew, router and supervisor, served over HTTP by a thread of its own. libcenote-inspect.
 *
 *     cen_inspect *inspect;
 *     cen_inspect_options o = CEN_INSPECT_OPTIONS(.at = "127.0.0.1:9911");
 *     if (cen_inspect_start(&o, &inspect, &error) != CEN_OK) die(error.text);
 *     printf("see %s\n", cen_inspect_address(inspect));
 *     // ...
 *     cen_inspect_stop(inspect);
 *
 * Nothing is served unless it is started. By default only this user's programs reach it, by a Unix socket
 * at a place where `cenote top PID` looks, and they may only look. Beyond this machine it
 * is reached only if the options say so and have a token.
 *
 * It cannot hurt its host: at most `clients` connections, and a few more that are told so; 16 KiB of request, ten seconds
 * for each and for its answer, 16 MiB of answer; what is beyond is refused. It adds no instruction to a take or a give.
 *
 *     GET  /                        the page
 *     GET  /metrics                 OpenMetrics
 *     GET  /api/process             which process, since when, what may be done
 *     GET  /api/components              every component: metrics, histograms, actions; ?parts=1: with its description
 *     GET  /api/components/NUMBER       one, with its description
 *     GET  /api/events?after=N        what happened; &limit=, &level=
 *     POST /api/components/NUMBER/invoke  {"action": "resize", "value": 20}; only with options.control
 *
 * While it runs it keeps the last five minutes of up to 64 components, those with trouble first, in at most
 * 8 KiB each. Its thread looks at them every 2.5 s.
 *
 *     GET  /api/history             these five minutes
 *
 * docs/inspect.md describes the answers. An error is {"error": {"status": "ABSENT", "text": "..."}}.
 *
 * Fork: a child has no server; what it inherited is only closed there, by cen_inspect_stop.
 * Threads: start and stop from any thread, stop once.
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

typedef struct cen_inspect_options {
    size_t size;
    /* Where: "127.0.0.1:9911", "[::1]:0", "localhost:9911" (0: a free port), or "unix:/path/to/socket".
     * Default: a Unix socket of its own below $XDG_RUNTIME_DIR/cenote, or /tmp/cenote-UID, for this user only. */
    const char *at;
    /* If set, /api and /metrics need it: "Authorization: Bearer TOKEN", or ?token=TOKEN. Letters, digits, - . _ ~ */
    const char *token;
    /* Allow pause, resume, resize, reload and evict. Default: read-only. Over TCP it requires a token, because every user of
     * this machine can connect; over a Unix socket it does not. */
    bool control;
    bool anywhere;     /* `at` may be an address that others reach; needs a token of at least 16 bytes */
    uint32_t clients;  /* connections at a time, 1 to 256; default 32 */
    const char *title; /* of the page; default the program's name */
} cen_inspect_options;

#define CEN_INSPECT_OPTIONS(...) CEN_OPTIONS_(cen_inspect_options, __VA_ARGS__)

/* Start the server. options may be NULL.
 * Returns:
 *   OK
 *   INVALID    an option is invalid, and the text names it; control over TCP without a token is one
 *   EXISTS     another process listens at the address
 *   SYSTEM     a system call failed
 *   NO_MEMORY  out of memory */
CEN_API cen_status cen_inspect_start(const cen_inspect_options *options, cen_inspect **out, cen_error *error);

/* Where it is: "http://127.0.0.1:9911/" or "unix:/path/to/socket"; as long as it runs. */
CEN_API const char *cen_inspect_address(const cen_inspect *inspect);

/* Ends it: when this returns no request is being answered and the socket is gone. NULL is allowed. */
CEN_API void cen_inspect_stop(cen_inspect *inspect);

/* The text that /metrics answers to who accepts OpenMetrics, in memory of malloc's, with its length in *length if that is
 * not NULL; for a server that the program has already, which must send it with this Content-Type: under another one
 * Prometheus refuses it. NULL: no memory, or more than 16 MiB of it. */
#define CEN_INSPECT_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
CEN_API char *cen_inspect_metrics(size_t *length);

#ifdef __cplusplus
}
#endif
#endif
