/* SPDX-License-Identifier: MIT */
/*
 * What the files of the HTTP/2 client know of one another.
 *
 *     http     the client: a router and its loops
 *     loop     a thread, a multi handle, one connection; a member of the router
 *     flight   one request, from ask to its end
 *
 * A flight is in one place at a time: in the router's hands (waiting), in a loop's inbox, or among a loop's active ones. Whoever
 * takes it out of one place has it, and puts it into the next, or ends it.
 */
#ifndef CENI_CURL_HTTP_H
#define CENI_CURL_HTTP_H

#include <limits.h>

#include <cenote/http.h>

#include "curl/internal.h"

typedef struct ceni_http_loop ceni_http_loop;

enum { CENI_HTTP_GOODBYES = 8 };

typedef struct ceni_http_flight {
    cen_route_op routing; /* first: the router tells of it by its address */
    cen_http *http;
    cen_promise promise;
    /* under the client's mutex */
    int holds; /* its place, and whoever sweeps; with the last it is freed */
    struct ceni_http_flight *next_waiting, **link_waiting;
    /* of whoever has it */
    struct ceni_http_flight *next, **link; /* in a loop */
    cen_error error;
    cen_pick pick;
    int64_t moment, begun; /* its deadline, INT64_MAX for never; when it was asked */
    int64_t tries;
    bool sent;     /* or maybe */
    uint64_t turn; /* which of the loop's connections it is on */
    long stream;   /* its number there; -1: none is known */
    CURL *easy;
    char *url, *method;
    struct curl_slist *headers;
    void *body;
    size_t body_size;
    ceni_curl_body reply;
    char said[CURL_ERROR_SIZE];
} ceni_http_flight;

struct ceni_http_loop {
    /* fixed */
    cen_http *http;
    char name[64];
    cen_member *member;
    CURLM *multi;
    pthread_t thread;
    pthread_mutex_t sockets_mutex;
    ceni_curl_sockets sockets;
    /* under the mutex of exit.c */
    struct ceni_http_loop *next_running;
    bool has_stopped; /* since the process exits */
    /* under mutex */
    pthread_mutex_t mutex;
    ceni_http_flight *inbox, **inbox_end;
    bool sleeps, stops, ended;
    /* the loop's thread's */
    ceni_http_flight *active;
    int64_t active_count;
    CURL **spares; /* handles that have nothing to do */
    size_t spare_count;
    cen_curl_credentials *credentials;
    CURL *probe;
    bool probing, opening; /* opening: the probe makes the connection */
    bool up, tried;
    bool suspect;  /* a request was late: is the connection there? */
    bool unusable; /* a request found no connection, or the server ends it */
    uint64_t turn; /* counts the connections that were tried */
    struct {
        uint64_t turn;
        long last;                  /* stream that the server sees to; LONG_MAX: it has not said so */
    } goodbyes[CENI_HTTP_GOODBYES]; /* of the last few connections: some end while their successors are there */
    int64_t heard, probed, next_try, backoff;
    cen_error cause; /* the last thing that went wrong */
    char said[CURL_ERROR_SIZE];
};

struct cen_http {
    /* fixed */
    char name[48];
    unsigned process;
    ceni_curl_site *site;
    cen_router *router;
    uint32_t loop_count;
    int64_t streams, reroutes, backoff, backoff_max, quiet;
    size_t most;
    cen_deadline deadline;
    ceni_http_loop *loops;
    /* under mutex */
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* a loop has tried, or the last flight is over */
    uint32_t tried, up;
    bool closing, closed;
    cen_error failure;         /* of the last attempt that failed */
    ceni_http_flight *waiting; /* those that the router has */
    uint64_t flights;          /* that are there */
    cen_http_stats counts;
};

/* ---- flight.c ------------------------------------------------------------------------------------ */

/* Hands it to the router, which hands it to a loop. */
void ceni_http_flight_route(ceni_http_flight *flight);

/* Ends its use of a member. */
void ceni_http_flight_leave(ceni_http_flight *flight, cen_outcome outcome);

/* Tells how it ended, and lets go of it. It has no route, and no handle. */
void ceni_http_flight_answer(ceni_http_flight *flight, cen_http_reply *reply);
__attribute__((format(printf, 4, 5))) void ceni_http_flight_fail(ceni_http_flight *flight, cen_status status, int code,
                                                                 const char *format, ...);

/* The reply, of what its handle has received; NULL: no memory. */
cen_http_reply *ceni_http_flight_reply(ceni_http_flight *flight, const char *member);

/* Takes those out of the router's line that nobody wants any more. True: some wait. */
bool ceni_http_flights_sweep(cen_http *http);

/* ---- loop.c ---------------------------------------------------------------------------------------- */

cen_status ceni_http_loop_init(ceni_http_loop *loop, cen_http *http, uint32_t index, cen_error *error);
bool ceni_http_loop_start(ceni_http_loop *loop);
void ceni_http_loop_stop(ceni_http_loop *loop); /* and waits for its end */
void ceni_http_loop_fini(ceni_http_loop *loop);

/* Whether this thread is a loop's of that client. */
bool ceni_http_on_loop(const cen_http *http);

/* exit.c: the loop's thread begins and ends; once around it looks whether it is to stop for good, because the process exits. */
void ceni_http_exit_enter(ceni_http_loop *loop);
void ceni_http_exit_is_here(const ceni_http_loop *loop); /* on the loop's own thread */
void ceni_http_exit_leave(ceni_http_loop *loop);
void ceni_http_exit_look(ceni_http_loop *loop);
bool ceni_http_exit_has_stopped(const ceni_http_loop *loop);

/* From any thread: the flight, which has a route to this loop, is the loop's. */
void ceni_http_loop_push(ceni_http_loop *loop, ceni_http_flight *flight);

/* ---- stream.c: on the loop's thread ------------------------------------------------------------------ */

void ceni_http_stream_start(ceni_http_loop *loop, ceni_http_flight *flight);
void ceni_http_stream_done(ceni_http_loop *loop, ceni_http_flight *flight, CURLcode code);
/* Something that curl says, about a flight or, with NULL, the probe. */
void ceni_http_listen_to(ceni_http_loop *loop, ceni_http_flight *flight, const char *text, size_t size);
void ceni_http_streams_sweep(ceni_http_loop *loop);                        /* those that nobody wants any more */
void ceni_http_streams_end(ceni_http_loop *loop, ceni_http_flight *inbox); /* all of them, and these, with CLOSED */

/* ---- link.c: on the loop's thread -------------------------------------------------------------------- */

void ceni_http_link_mind(ceni_http_loop *loop); /* up or down, and what is to be done about it */
void ceni_http_link_probed(ceni_http_loop *loop, CURLcode code);
long ceni_http_link_pause(const ceni_http_loop *loop); /* milliseconds until it is to be minded again */
void ceni_http_link_idle_input(ceni_http_loop *loop);  /* something came while nothing was asked */
void ceni_http_link_end(ceni_http_loop *loop);

#endif
