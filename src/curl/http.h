/* SPDX-License-Identifier: MIT */
/*
 * The shared declarations of the HTTP/2 client.
 *
 *     http     the client: a router and its loops
 *     loop     a thread, a multi handle, one connection; a member of the router
 *     flight   one request, from start to end
 *
 * A flight is in one place at a time: waiting in the router, in a loop's inbox, or among a loop's active flights. The
 * thread that takes it out of a place has it, and puts it into the next one or ends it.
 */
#ifndef CENI_CURL_HTTP_H
#define CENI_CURL_HTTP_H

#include <limits.h>

#include <cenote/http.h>

#include "curl/internal.h"

typedef struct ceni_http_loop ceni_http_loop;

enum { CENI_HTTP_GOODBYES = 8 };

typedef struct ceni_http_flight {
    cen_route_op routing; /* first member: the router's future is a pointer to the flight */
    cen_http *http;
    cen_promise promise;
    /* under the client's mutex */
    int holds; /* references: its place, and a sweep; freed with the last */
    struct ceni_http_flight *next_waiting, **link_waiting;
    /* only the thread that has it */
    struct ceni_http_flight *next, **link; /* in the loop's list */
    cen_error error;
    cen_route_hint pick;
    int64_t moment, begun; /* its deadline, INT64_MAX for none; the start of the request */
    int64_t tries;
    bool sent;     /* it may have been sent */
    uint64_t turn; /* the number of its connection among the loop's */
    long stream;   /* its stream id; -1: unknown */
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
    bool has_stopped; /* for good, because the process exits */
    /* under mutex */
    pthread_mutex_t mutex;
    ceni_http_flight *inbox, **inbox_end;
    bool sleeps, stops, ended;
    /* only the loop's thread */
    ceni_http_flight *active;
    int64_t active_count;
    CURL **spares; /* idle handles */
    size_t spare_count;
    cen_curl_credentials *credentials;
    CURL *probe;
    bool probing, opening; /* opening: the probe opens the connection */
    bool up, tried;
    bool suspect;  /* a request was late: check the connection */
    bool unusable; /* a request found no connection, or the server is ending it */
    uint64_t turn; /* the number of connections tried */
    struct {
        uint64_t turn;
        long last;                  /* the last stream that the server handles; LONG_MAX: no GOAWAY yet */
    } goodbyes[CENI_HTTP_GOODBYES]; /* of the last few connections, which may end while later ones exist */
    int64_t heard, probed, next_try, backoff;
    cen_error cause; /* the last error */
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
    cen_error failure;         /* of the last failed attempt */
    ceni_http_flight *waiting; /* flights in the router */
    uint64_t flights;          /* their number */
    cen_http_stats counts;
};

/* ---- flight.c ------------------------------------------------------------------------------------ */

/* Pass the flight to the router, which passes it to a loop. */
void ceni_http_flight_route(ceni_http_flight *flight);

/* End its use of a member. */
void ceni_http_flight_leave(ceni_http_flight *flight, cen_outcome outcome);

/* Report the end of a flight and release it. It has no route and no handle. */
void ceni_http_flight_answer(ceni_http_flight *flight, cen_http_reply *reply);
__attribute__((format(printf, 4, 5))) void ceni_http_flight_fail(ceni_http_flight *flight, cen_status status, int code,
                                                                 const char *format, ...);

/* Build the reply from what its handle has received. NULL: out of memory. */
cen_http_reply *ceni_http_flight_reply(ceni_http_flight *flight, const char *member);

/* Cancel waiting flights whose future was cancelled. Returns true if any wait. */
bool ceni_http_flights_sweep(cen_http *http);

/* ---- loop.c ---------------------------------------------------------------------------------------- */

cen_status ceni_http_loop_init(ceni_http_loop *loop, cen_http *http, uint32_t index, cen_error *error);
bool ceni_http_loop_start(ceni_http_loop *loop);
void ceni_http_loop_stop(ceni_http_loop *loop); /* and wait for its thread */
void ceni_http_loop_fini(ceni_http_loop *loop);

/* Return true on a loop's thread of that client. */
bool ceni_http_on_loop(const cen_http *http);

/* exit.c: a loop's thread begins and ends. Once around it checks whether it must stop for good, because the process
 * exits. */
void ceni_http_exit_enter(ceni_http_loop *loop);
void ceni_http_exit_is_here(const ceni_http_loop *loop); /* on the loop's own thread */
void ceni_http_exit_leave(ceni_http_loop *loop);
void ceni_http_exit_look(ceni_http_loop *loop);
bool ceni_http_exit_has_stopped(const ceni_http_loop *loop);

/* From any thread: pass a flight, which has a route to this loop, to the loop. */
void ceni_http_loop_push(ceni_http_loop *loop, ceni_http_flight *flight);

/* ---- stream.c: on the loop's thread ------------------------------------------------------------------ */

void ceni_http_stream_start(ceni_http_loop *loop, ceni_http_flight *flight);
void ceni_http_stream_done(ceni_http_loop *loop, ceni_http_flight *flight, CURLcode code);
/* Read a line of curl's verbose output, of a flight or, if NULL, of the probe. */
void ceni_http_listen_to(ceni_http_loop *loop, ceni_http_flight *flight, const char *text, size_t size);
void ceni_http_streams_sweep(ceni_http_loop *loop);                        /* cancelled ones */
void ceni_http_streams_end(ceni_http_loop *loop, ceni_http_flight *inbox); /* all, and the inbox's, with CLOSED */

/* ---- link.c: on the loop's thread -------------------------------------------------------------------- */

void ceni_http_link_mind(ceni_http_loop *loop); /* set up or down, and start probes as needed */
void ceni_http_link_probed(ceni_http_loop *loop, CURLcode code);
long ceni_http_link_pause(const ceni_http_loop *loop); /* milliseconds until the next ceni_http_link_mind */
void ceni_http_link_idle_input(ceni_http_loop *loop);  /* input has arrived without a request */
void ceni_http_link_end(ceni_http_loop *loop);

#endif
