/* SPDX-License-Identifier: MIT */
/*
 * A driver for pools of HTTP clients: curl easy handles, each with its own connection. Part of libcenote-curl.
 *
 *     cen_pool_options options = CEN_POOL_OPTIONS(.name = "search", .driver = cen_curl("http://127.0.0.1:8080"), .max = 8);
 *     cen_pool_new(&options, &pool, &error);
 *
 *     CEN_WITH (pool, cen_in_ms(500), CURL *, curl, &error) {
 *         cen_curl_response response = {0};
 *         if (cen_curl_get(curl, "/items?id=7", &response, &error) == CEN_OK) puts(response.body);
 *         cen_curl_response_free(&response);
 *
 *         curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "...");     // or use it like any curl handle
 *         CURLcode code = curl_easy_perform(curl);
 *     }
 *
 * Opening a handle connects it by sending one small request. The open therefore fails if the server cannot be reached
 * or is full, or if the credentials are wrong. When a handle is given back, its options are restored, its cookies are
 * dropped, and its connection stays open. Handles share nothing, so none of them waits for a lock inside curl.
 *
 * For many concurrent requests over a few HTTP/2 connections, see http.h.
 *
 * Threads: a handle is used only by its holder. Give it back only when it is not part of a multi handle or a transfer.
 * Fork: if the pool's on_fork is CEN_FORK_RENEW, a child closes its copies of the sockets, sends nothing to the server,
 * and opens its own handles.
 */
#ifndef CENOTE_CURL_H
#define CENOTE_CURL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cenote/deadline.h>
#include <cenote/driver.h>
#include <cenote/sized.h>
#include <cenote/status.h>
#include <curl/curl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of HTTP. */
typedef enum cen_curl_version {
    CEN_CURL_VERSION_ANY = 0, /* HTTP/2 if the server offers it over TLS, otherwise HTTP/1.1 */
    CEN_CURL_VERSION_1_1,
    /* HTTP/2. Over TLS it is negotiated. Without TLS it is assumed ("prior knowledge"), which implies
     * only_open_connects and rules out CEN_CURL_COLD. */
    CEN_CURL_VERSION_2,
} cen_curl_version;

/* The warm-up request, which establishes a connection and checks the server. Any response passes except 401, 403, 407
 * (wrong credentials), 429, 503 (the server is full) and any other 5xx except 501. */
typedef enum cen_curl_warm {
    CEN_CURL_WARM_HEAD = 0,
    CEN_CURL_WARM_OPTIONS,
    CEN_CURL_WARM_GET,
    CEN_CURL_COLD, /* none: the first use connects and reports any errors */
} cen_curl_warm;

/* The health check of an idle handle. */
typedef enum cen_curl_test {
    /* one system call checks whether the server has closed the connection; if that is inconclusive, a request
     * follows */
    CEN_CURL_TEST_SOCKET = 0,
    CEN_CURL_TEST_REQUEST, /* the warm-up request */
} cen_curl_test;

/* Credentials. If all texts are empty, there are none. */
typedef struct cen_curl_credentials {
    char user[256], password[1024]; /* either these, ... */
    char bearer[4096];              /* ... or a token */
} cen_curl_credentials;

/* In every field, zero means the default. Fields are only ever appended. cen_pool_new copies everything that the fields
 * point to, except `argument`. */
typedef struct cen_curl_options {
    size_t size; /* sizeof(cen_curl_options), set by the macro */
    /* Required: "http://host:port" or "https://...". A path in this URL is prepended to the path of every request.
     * Write a / in a password as %2F, and an @ in a path as %40. */
    const char *url;

    int64_t connect_timeout_ns; /* time limit of an open, including the warm-up request; default 5 s */
    /* time limit of a transfer, unless the program sets one; default 30 s, CEN_OFF: no limit */
    int64_t total_timeout_ns;
    int64_t test_timeout_ns;  /* time limit of a health check by a request; default 2 s */
    int64_t reset_timeout_ns; /* time limit for reconnecting a handle that lost its connection in use; default 2 s */

    cen_curl_version version;
    const char *const *headers; /* "Name: value", sent with every request; ends with NULL */
    const char *user_agent;     /* default "cenote" */
    const char *proxy;          /* as for CURLOPT_PROXY; default none, even if the environment names one */

    const char *ca_file, *ca_path; /* trusted authorities; default those that curl was built with */
    const char *certificate, *key; /* of the client, PEM files; default none */
    bool insecure;                 /* do not verify the server's certificate */

    /* Fills in *out, which initially contains the user and password from the URL, if any. Called for each open, on the
     * thread that opens the handle, so the credentials may change. It may wait. If the status is not OK, the open fails
     * with that status. */
    cen_status (*credentials)(void *argument, cen_curl_credentials *out, cen_error *error);
    void *argument;

    cen_curl_warm warm;
    const char *warm_path; /* default "/" */
    cen_curl_test test;

    /* Only opens connect. A transfer whose connection is gone fails with LOST, and the pool opens another handle. All
     * connection attempts are therefore subject to the pool's limits, back-off and circuit breaker. Default: curl
     * reconnects by itself, which rescues a request that is sent just as the server closes an idle connection. Not
     * allowed with CEN_CURL_COLD. */
    bool only_open_connects;
} cen_curl_options;

/* Options with the given fields set and all others zero. */
#define CEN_CURL_OPTIONS(...) CEN_OPTIONS_(cen_curl_options, __VA_ARGS__)

/* Return a driver for HTTP clients of a server, with default options or with the given ones. It always succeeds:
 * cen_pool_new reports INVALID if an option is wrong, and the text names that option. It reports SYSTEM if curl cannot
 * be initialised. The string or the options must stay valid until cen_pool_new has returned.
 *
 * An open fails with TIMEOUT, FULL (429, 503), DOWN (nothing is listening at the address, or the host name has no
 * address), NO_MEMORY, DRIVER, INTERRUPTED (the process is exiting), or the status that options.credentials returned.
 * error->code is curl's error number or, if it is 100 or more, the server's HTTP status. */
CEN_API cen_driver cen_curl(const char *url);
CEN_API cen_driver cen_curl_with(const cen_curl_options *options);

/* ---- For holders of a handle ------------------------------------------------------------- */

/* The response to a GET. Before its first use, all fields except max_body must be zero. */
typedef struct cen_curl_response {
    size_t max_body; /* limit on the body, in bytes, set by the program; 0: 1 MiB */
    long status;     /* the HTTP status: 200, 404, ... */
    char *body;      /* ends with a zero byte that `size` does not count; NULL before the get */
    size_t size;
    char type[96]; /* Content-Type, "application/json"; cut to this size; empty if there is none */
} cen_curl_response;

/* Send a GET request for a path, which must begin with a slash, and wait for the response. The handle's options are
 * restored to those with which it was lent, both before and after the request.
 *
 * Ownership: the body belongs to the caller. Free it with cen_curl_response_free.
 * Blocking: until the response has arrived, at most options.total_timeout_ns.
 * Returns:
 *   OK           the response is filled in, whatever its HTTP status
 *   TIMEOUT      the time limit passed first
 *   FULL         the body is larger than max_body; the connection is closed
 *   LOST         the connection ended
 *   DOWN         there was no connection, and the server cannot be reached
 *   INTERRUPTED  the handle was revoked
 *   NO_MEMORY    out of memory
 *   DRIVER       any other curl error; error->code is its number
 *   INVALID      an argument is NULL, the path has no slash, or the handle does not belong to a pool
 */
CEN_API cen_status cen_curl_get(CURL *handle, const char *path, cen_curl_response *response, cen_error *error);

/* Free the body. This may be called more than once, and before a get. NULL is allowed. */
CEN_API void cen_curl_response_free(cen_curl_response *response);

/* Set the URL of the next transfer: the URL of the options, followed by the path, which must begin with a slash.
 *
 * Returns:
 *   OK         the URL is set
 *   INVALID    an argument is NULL, the path has no slash, or the handle does not belong to a pool
 *   NO_MEMORY  out of memory
 */
CEN_API cen_status cen_curl_path(CURL *handle, const char *path);

/* Convert curl's code for a transfer that the program performed itself into a status and a sentence.
 *
 * Returns:
 *   OK           the code is CURLE_OK; *error is not written
 *   INVALID      the handle is NULL or does not belong to a pool
 *   INTERRUPTED  the handle was revoked, or the program's progress function ended the transfer
 *   others       as cen_curl_get
 */
CEN_API cen_status cen_curl_result(CURL *handle, CURLcode code, cen_error *error);

/* Set the program's own progress function, until the handle is given back or passed to cen_curl_get. The driver has its
 * own progress function, which ends a transfer when the handle is revoked and calls the program's function. A function
 * set with CURLOPT_XFERINFOFUNCTION replaces the driver's; a transfer that is connecting then notices a revocation
 * later.
 *
 * Returns:
 *   OK       the function is set
 *   INVALID  the handle is NULL or does not belong to a pool
 */
CEN_API cen_status cen_curl_progress(CURL *handle, curl_xferinfo_callback progress, void *argument);

/* ---- Caveats --------------------------------------------------------------------------------
 * A CURLOPT_OPENSOCKETFUNCTION that the program sets replaces the driver's. The pool then does not know the sockets, so
 * an interrupt takes up to a second, and the child of a fork keeps its copies of the sockets. CURLOPT_PRIVATE is free
 * for the program.
 *
 * A transfer to another server closes the connection to the pool's server, because a handle keeps only one connection.
 *
 * The parent's handles are never freed in the child of a fork. A handle that CEN_LEAK_RECLAIM took away from its holder
 * is freed only when it is given back or when the pool is freed.
 */

#ifdef __cplusplus
}
#endif
#endif
