/* SPDX-License-Identifier: MIT */
/*
 * The shared declarations of this room.
 *
 * site     where requests go and how: options that were read once; constant, shared by handles and loops
 * record   what belongs to one handle of a pool
 */
#ifndef CENI_CURL_INTERNAL_H
#define CENI_CURL_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/curl.h>

/* ---- words.c ------------------------------------------------------------------------------ */

/* Fill in the error, unless it is NULL, and return the status. */
__attribute__((format(printf, 4, 5))) cen_status ceni_curl_error(cen_error *error, cen_status status, int code,
                                                                 const char *format, ...);

/* Return the status for a CURLcode. */
cen_status ceni_curl_status(CURLcode code);

/* ---- process.c ------------------------------------------------------------------------------ */

/* Initialise curl for this process, once. Returns false if that fails. */
bool ceni_curl_begin(void);

/* Return a number of this process that changes with every fork. */
unsigned ceni_curl_process(void);

/* ---- exit.c ---------------------------------------------------------------------------------- */

/* Register the exit handler that stops the loops of HTTP/2 clients, after curl's initialisation. Returns false if out
 * of memory. */
bool ceni_http_exit_register(void);
void ceni_http_exit_forget(void); /* in a forked child */

/* ---- site.c --------------------------------------------------------------------------------- */

typedef struct ceni_curl_site {
    char *base;   /* the URL without credentials and without a trailing slash */
    char *warmer; /* the complete URL of the warm-up request */
    struct curl_slist *headers;
    char *user_agent, *proxy, *ca_file, *ca_path, *certificate, *key;
    cen_curl_credentials *from_url; /* or NULL */
    cen_status (*credentials)(void *argument, cen_curl_credentials *out, cen_error *error);
    void *argument;
    long connect_ms, total_ms, test_ms, reset_ms;
    long version;       /* curl's number, for transfers on an existing connection ... */
    long opens_version; /* ... and for the one that opens it */
    bool tls, insecure, only_open_connects;
    cen_curl_warm warm;
    cen_curl_test test;
    /* any thread */
    atomic_bool exits; /* the process exits: the driver's own requests are cancelled */
} ceni_curl_site;

/* Read the options. The caller frees the site. A size of 0 means the current size. */
cen_status ceni_curl_site_new(const cen_curl_options *options, ceni_curl_site **out, cen_error *error);
void ceni_curl_site_free(ceni_curl_site *site);

/* Get the credentials for a new connection; *out is NULL if there are none. Free them with ceni_curl_forget. */
cen_status ceni_curl_site_ask(const ceni_curl_site *site, cen_curl_credentials **out, cen_error *error);
void ceni_curl_forget(cen_curl_credentials *credentials);

/* Set the options of the site; all others get curl's defaults. Connections stay. Returns false if out of memory. */
bool ceni_curl_site_apply(const ceni_curl_site *site, const cen_curl_credentials *credentials, CURL *easy);

/* Make the handle's next transfer a warm-up request that ends within `ms` milliseconds. `opens`: it opens the
 * connection. */
void ceni_curl_site_warm(const ceni_curl_site *site, CURL *easy, long ms, bool opens);

/* Return the result of a warm-up request. `said`: curl's error message. */
cen_status ceni_curl_site_judge(const ceni_curl_site *site, const cen_curl_credentials *credentials, CURL *easy,
                                CURLcode code, const char *said, cen_error *error);

/* Return base and path in new memory; NULL: out of memory. */
char *ceni_curl_site_url(const ceni_curl_site *site, const char *path);

/* ---- sockets.c ------------------------------------------------------------------------------ */

/* The sockets that curl has opened for a handle or a loop. */
enum { CENI_CURL_SOCKETS = 8 };
typedef struct ceni_curl_sockets {
    pthread_mutex_t *mutex; /* protects everything below */
    bool refuses;           /* no further socket may be opened */
    unsigned count;
    int fds[CENI_CURL_SOCKETS];
} ceni_curl_sockets;

/* Set the callbacks by which curl opens and closes sockets of this handle. */
void ceni_curl_sockets_watch(ceni_curl_sockets *sockets, CURL *easy);

/* Shut the sockets down: their user, on any thread, soon finds them at their end. */
void ceni_curl_sockets_shut(ceni_curl_sockets *sockets, bool refuses);
void ceni_curl_sockets_shut_locked(ceni_curl_sockets *sockets, bool refuses);

/* In a forked child: close its copies. */
void ceni_curl_sockets_leave(ceni_curl_sockets *sockets);

/* Check the socket. EMPTY: no input; OK: input; LOST: at its end. */
cen_status ceni_curl_socket_look(curl_socket_t fd);

/* ---- record.c --------------------------------------------------------------------------------- */

typedef struct ceni_curl_record {
    struct ceni_curl_record *next; /* under its shelf's mutex */
    CURL *easy;
    unsigned process;
    const ceni_curl_site *site;
    cen_curl_credentials *credentials;
    /* only the holder */
    curl_xferinfo_callback progress;
    void *progress_argument;
    char said[CURL_ERROR_SIZE];
    /* any thread, under sockets.mutex */
    bool interrupted;
    bool is_warming; /* a call of the driver makes a request */
    ceni_curl_sockets sockets;
} ceni_curl_record;

/* Add the record of record->easy. It can be found by the handle until it is removed. */
void ceni_curl_record_add(ceni_curl_record *record);
void ceni_curl_record_remove(ceni_curl_record *record);
ceni_curl_record *ceni_curl_record_of(CURL *easy); /* or NULL */

/* End the requests that the driver itself makes for a site. */
void ceni_curl_records_cancel(const ceni_curl_site *site);

/* Take and release all locks of this file, around a fork. */
void ceni_curl_records_lock(void);
void ceni_curl_records_unlock(void);

/* ---- driver.c --------------------------------------------------------------------------------- */

/* Set the options that a handle is lent with. Returns false if out of memory. */
bool ceni_curl_record_apply(ceni_curl_record *record);

/* ---- body.c ------------------------------------------------------------------------------------ */

/* A body being received, up to a limit. */
typedef struct ceni_curl_body {
    char *bytes; /* ends with a zero; NULL: nothing received */
    size_t size, room, most;
    bool too_large, no_memory;
} ceni_curl_body;

/* curl's write callback; its argument is a body. */
size_t ceni_curl_body_write(char *bytes, size_t size, size_t count, void *body);
size_t ceni_curl_body_drop(char *bytes, size_t size, size_t count, void *nothing);

#endif
