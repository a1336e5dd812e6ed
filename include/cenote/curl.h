/* SPDX-License-Identifier: MIT */
/*
 * Pools of HTTP clients: curl's easy handles, each with its own connection to one server that it keeps. libcenote-curl.
 *
 *     cen_pool_options options = CEN_POOL_OPTIONS(.name = "search", .driver = cen_curl("http://127.0.0.1:8080"), .max = 8);
 *     cen_pool_new(&options, &pool, &error);
 *
 *     CEN_WITH (pool, cen_in_ms(500), CURL *, curl, &error) {
 *         cen_curl_response response = {0};
 *         if (cen_curl_get(curl, "/items?id=7", &response, &error) == CEN_OK) puts(response.body);
 *         cen_curl_response_free(&response);
 *
 *         curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "...");     // or as with any handle of curl
 *         CURLcode code = curl_easy_perform(curl);
 *     }
 *
 * Opening makes the connection, by one small request, so that a server that is absent or full, and credentials that are wrong,
 * are noticed there. When a handle is given back its options are put back to what they were when it was lent, cookies are
 * forgotten, and the connection stays. No two handles share anything, so that no lock of curl is ever waited for.
 *
 * For many requests at once over few connections, by HTTP/2: http.h.
 *
 * Threads: a handle is used by whoever holds it, one at a time. It is given back when it is in no multi handle and no transfer.
 * Fork: with CEN_FORK_RENEW a child closes its copies of the sockets, says nothing to the server, and makes handles of its
 * own.
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

/* How requests are made. */
typedef enum cen_curl_version {
    CEN_CURL_VERSION_ANY = 0, /* what the server speaks: HTTP/2 if it offers that over TLS, else HTTP/1.1 */
    CEN_CURL_VERSION_1_1,
    /* HTTP/2: over TLS if it is agreed upon there, and else without asking ("prior knowledge"), with
     * only_open_connects, and not with CEN_CURL_COLD */
    CEN_CURL_VERSION_2,
} cen_curl_version;

/* By which request a connection is made, and whether the server is well: any answer will do but 401, 403, 407 (the credentials
 * are wrong), 429, 503 (it is full) and, but for 501, what else begins with 5. */
typedef enum cen_curl_warm {
    CEN_CURL_WARM_HEAD = 0,
    CEN_CURL_WARM_OPTIONS,
    CEN_CURL_WARM_GET,
    CEN_CURL_COLD, /* none: the first use makes the connection, and finds out */
} cen_curl_warm;

/* How an idle handle is tested. */
typedef enum cen_curl_test {
    /* one system call: has the server ended the connection? By a request if that cannot be told */
    CEN_CURL_TEST_SOCKET = 0,
    CEN_CURL_TEST_REQUEST, /* the request that warms */
} cen_curl_test;

/* Who asks. Empty texts: nobody in particular. */
typedef struct cen_curl_credentials {
    char user[256], password[1024]; /* either these, ... */
    char bearer[4096];              /* ... or a token */
} cen_curl_credentials;

/* Zero means default in every field. Fields are only ever appended. All is copied before cen_pool_new returns. */
typedef struct cen_curl_options {
    size_t size; /* sizeof(cen_curl_options), set by the macro */
    /* "http://host:port" or "https://..."; a path is put before all others; required. A / in a password is written %2F, and an @
     * in a path %40. */
    const char *url;

    int64_t connect_timeout_ns; /* of an opening, all of it; default 5 s */
    int64_t total_timeout_ns;   /* of the program's own transfers, if it sets none; default 30 s, CEN_OFF: none */
    int64_t test_timeout_ns;    /* of the driver's test; default 2 s */
    int64_t reset_timeout_ns;   /* of making the connection anew that a use has lost; default 2 s */

    cen_curl_version version;
    const char *const *headers; /* "Name: value", of every request; ends with NULL */
    const char *user_agent;     /* default "cenote" */
    const char *proxy;          /* as curl's CURLOPT_PROXY; default none, whatever the environment says */

    const char *ca_file, *ca_path; /* whom to trust; default as curl was built */
    const char *certificate, *key; /* the client's own, PEM files; default none */
    bool insecure;                 /* the server may be anybody */

    /* Fills in *out, which is empty, for each handle that is opened: so they may change. Not OK: the opening fails with
     * it. On whatever thread opens; it may wait. Instead of a user and password in the URL. */
    cen_status (*credentials)(void *argument, cen_curl_credentials *out, cen_error *error);
    void *argument;

    cen_curl_warm warm;
    const char *warm_path; /* default "/" */
    cen_curl_test test;

    /* Only openings connect. A transfer whose connection is gone fails with LOST, and the pool makes another handle: so the server
     * sees no attempt but the pool's, with its limits, back-off and breaker. Default: curl connects anew by itself, which
     * saves a request that meets a server just ending an idle connection. Not with CEN_CURL_COLD. */
    bool only_open_connects;
} cen_curl_options;

#define CEN_CURL_OPTIONS(...) CEN_OPTIONS_(cen_curl_options, __VA_ARGS__)

/* Drivers, for cen_pool_options. Nothing is copied before cen_pool_new is called: text and options must be there until it has
 * returned. cen_pool_new answers INVALID if they are wrong, and the text names what is.
 * Openings fail with TIMEOUT, FULL (429, 503), DOWN (nobody listens there, or its name has no address), NO_MEMORY and DRIVER;
 * error.code is curl's number, or, from 100 on, the server's status. */
CEN_API cen_driver cen_curl(const char *url);
CEN_API cen_driver cen_curl_with(const cen_curl_options *options);

/* ---- With a handle of such a pool -------------------------------------------------------- */

typedef struct cen_curl_response {
    size_t max_body; /* bytes of the body, at most; set by the program; 0: 1 MiB */
    long status;     /* 200, 404, ... */
    char *body;      /* ends with a zero that size does not count; NULL only before */
    size_t size;
    char type[96]; /* of the body, "application/json"; cut if it is longer; empty if the server does not say */
} cen_curl_response;

/* Gets a path, which begins with a slash. OK whatever the server answered: the response has its status. The handle's options
 * are afterwards those it was lent with.
 * Errors: TIMEOUT, FULL (the body is larger than `max_body`: the connection is closed), LOST (the connection ended), DOWN (there
 * was none, and nobody listens there), INTERRUPTED (the handle was taken away), NO_MEMORY, DRIVER (whatever else; error.code is
 * curl's), INVALID (NULL, or not a pool's handle). */
CEN_API cen_status cen_curl_get(CURL *handle, const char *path, cen_curl_response *response, cen_error *error);

/* Gives the body back; it may be called again, and before a get. NULL is allowed. */
CEN_API void cen_curl_response_free(cen_curl_response *response);

/* Sets the whole URL of a path, as the next transfer's. Errors: INVALID, NO_MEMORY. */
CEN_API cen_status cen_curl_path(CURL *handle, const char *path);

/* What a transfer of the program's own has come to: the status for curl's code, as get has it, and the sentence. OK for
 * CURLE_OK. */
CEN_API cen_status cen_curl_result(CURL *handle, CURLcode code, cen_error *error);

/* The program's own progress function, until the handle is given back. The driver has one itself, by which a transfer is ended when
 * the handle is taken away; this one is called by it. One that is set by CURLOPT_XFERINFOFUNCTION takes its place: then a
 * transfer that is connecting notices later. Errors: INVALID. */
CEN_API cen_status cen_curl_progress(CURL *handle, curl_xferinfo_callback progress, void *argument);

/* ---- Caveats --------------------------------------------------------------------------------
 * Of what the program sets, CURLOPT_OPENSOCKETFUNCTION takes the place of the driver's: then the pool does not know the sockets, an
 * interrupt takes up to a second, and the child of a fork keeps its copies. CURLOPT_PRIVATE is the program's.
 * A transfer to another server closes the connection to this one: a handle keeps one.
 * A handle that CEN_LEAK_RECLAIM takes away is never freed, since its holder may be using it, and neither are a parent's in a
 * child.
 */

#ifdef __cplusplus
}
#endif
#endif
