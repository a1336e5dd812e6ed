/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room know of one another.
 *
 *     site     where requests go and how: options that were read once; never changes, shared by handles and loops
 *     record   what belongs to one handle of a pool
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

/* Fills in the error, if there is one, and answers the status. */
__attribute__((format(printf, 4, 5))) cen_status ceni_curl_error(cen_error *error, cen_status status, int code,
                                                                 const char *format, ...);

/* The status for one of curl's codes. */
cen_status ceni_curl_status(CURLcode code);

/* ---- process.c ------------------------------------------------------------------------------ */

/* Makes curl ready for this process, once. False: it cannot be. */
bool ceni_curl_begin(void);

/* Which process this is, counted by forks: another number in a child. */
unsigned ceni_curl_process(void);

/* ---- exit.c ---------------------------------------------------------------------------------- */

/* Registers the handler that stops the loops of HTTP/2 clients when the process exits; after curl has begun. False: no memory. */
bool ceni_http_exit_register(void);
void ceni_http_exit_forget(void); /* in the child of a fork */

/* ---- site.c --------------------------------------------------------------------------------- */

typedef struct ceni_curl_site {
    char *base;   /* the URL without credentials and without a slash at its end */
    char *warmer; /* the whole URL of the request that warms */
    struct curl_slist *headers;
    char *user_agent, *proxy, *ca_file, *ca_path, *certificate, *key;
    cen_curl_credentials *from_url; /* or NULL */
    cen_status (*credentials)(void *argument, cen_curl_credentials *out, cen_error *error);
    void *argument;
    long connect_ms, total_ms, test_ms, reset_ms;
    long version;       /* curl's number, of a transfer that has a connection ... */
    long opens_version; /* ... and of one that makes it */
    bool tls, insecure, only_open_connects;
    cen_curl_warm warm;
    cen_curl_test test;
    /* any thread's */
    atomic_bool exits; /* the process does: the driver's own requests are cancelled */
} ceni_curl_site;

/* Reads options; the site is the caller's to free. A size of 0 is taken for the present one. */
cen_status ceni_curl_site_new(const cen_curl_options *options, ceni_curl_site **out, cen_error *error);
void ceni_curl_site_free(ceni_curl_site *site);

/* The credentials for something that is opened; NULL in *out: there are none. To be given back by _forget. */
cen_status ceni_curl_site_ask(const ceni_curl_site *site, cen_curl_credentials **out, cen_error *error);
void ceni_curl_forget(cen_curl_credentials *credentials);

/* Gives a handle the options of the site; all others are curl's own. Connections stay. False: no memory. */
bool ceni_curl_site_apply(const ceni_curl_site *site, const cen_curl_credentials *credentials, CURL *easy);

/* Makes the handle's next transfer the one that warms, to end within so many milliseconds. `opens`: it makes the connection. */
void ceni_curl_site_warm(const ceni_curl_site *site, CURL *easy, long ms, bool opens);

/* What a transfer that warmed has come to. `said` is what curl wrote about it. */
cen_status ceni_curl_site_judge(const ceni_curl_site *site, const cen_curl_credentials *credentials, CURL *easy,
                                CURLcode code, const char *said, cen_error *error);

/* base and path in new memory; NULL: none could be had. */
char *ceni_curl_site_url(const ceni_curl_site *site, const char *path);

/* ---- sockets.c ------------------------------------------------------------------------------ */

/* The sockets that curl has opened for a handle or a loop. */
enum { CENI_CURL_SOCKETS = 8 };
typedef struct ceni_curl_sockets {
    pthread_mutex_t *mutex; /* of all that follows */
    bool refuses;           /* no further socket is opened */
    unsigned count;
    int fds[CENI_CURL_SOCKETS];
} ceni_curl_sockets;

/* Lets curl tell of the sockets that it opens for transfers of this handle, and closes. */
void ceni_curl_sockets_watch(ceni_curl_sockets *sockets, CURL *easy);

/* Whoever uses them, on whatever thread, soon finds them at their end. */
void ceni_curl_sockets_shut(ceni_curl_sockets *sockets, bool refuses);
void ceni_curl_sockets_shut_locked(ceni_curl_sockets *sockets, bool refuses);

/* In a child of a fork: closes its copies. */
void ceni_curl_sockets_leave(ceni_curl_sockets *sockets);

/* By a look at the socket: EMPTY: nothing has come; OK: something has; LOST: it is at its end. */
cen_status ceni_curl_socket_look(curl_socket_t fd);

/* ---- record.c --------------------------------------------------------------------------------- */

typedef struct ceni_curl_record {
    struct ceni_curl_record *next; /* under its shelf's mutex */
    CURL *easy;
    unsigned process;
    const ceni_curl_site *site;
    cen_curl_credentials *credentials;
    /* the holder's */
    curl_xferinfo_callback progress;
    void *progress_argument;
    char said[CURL_ERROR_SIZE];
    /* any thread's, under sockets.mutex */
    bool interrupted;
    bool is_warming; /* in a call of the driver */
    ceni_curl_sockets sockets;
} ceni_curl_record;

/* Puts a record for record->easy in. It stays until remove, and is found by the handle. */
void ceni_curl_record_add(ceni_curl_record *record);
void ceni_curl_record_remove(ceni_curl_record *record);
ceni_curl_record *ceni_curl_record_of(CURL *easy); /* or NULL */

/* Ends the requests that the driver itself makes for a site. */
void ceni_curl_records_cancel(const ceni_curl_site *site);

/* All locks of this file, around a fork. */
void ceni_curl_records_lock(void);
void ceni_curl_records_unlock(void);

/* ---- driver.c --------------------------------------------------------------------------------- */

/* The options that a handle is lent with. False: no memory. */
bool ceni_curl_record_apply(ceni_curl_record *record);

/* ---- body.c ------------------------------------------------------------------------------------ */

/* A body that is received, up to a limit. */
typedef struct ceni_curl_body {
    char *bytes; /* ends with a zero; NULL: nothing has come */
    size_t size, room, most;
    bool too_large, no_memory;
} ceni_curl_body;

/* curl's function for what is received; its argument is a body. */
size_t ceni_curl_body_write(char *bytes, size_t size, size_t count, void *body);
size_t ceni_curl_body_drop(char *bytes, size_t size, size_t count, void *nothing);

#endif
