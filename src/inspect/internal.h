/* SPDX-License-Identifier: MIT */
/*
 * The shared declarations of this room.
 *
 * start     options and an address become a socket, a server and its thread
 * serve     the thread: accepts, enforces time limits, limits the number of clients
 * answer    a request becomes a response: door (admission), query, then components, events, tell, metrics, page
 */
#ifndef CENI_INSPECT_INTERNAL_H
#define CENI_INSPECT_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <microhttpd.h>

#include <cenote/inspect.h>

#include "inspect/history.h"
#include "inspect/text.h"

enum {
    CENI_INSPECT_PATIENCE_MS = 10000,               /* for a request to arrive, and for its response to be read */
    CENI_INSPECT_SENDING_MOST = 2 * CENI_TEXT_MOST, /* bytes of unread responses, of all clients */
    CENI_INSPECT_REQUEST_MOST = 16384,
    CENI_INSPECT_BODY_MOST = 4096,
    CENI_INSPECT_CLIENTS_MOST = 256,
    CENI_INSPECT_LOBBY = 8, /* connections beyond options.clients, which get 503 */
};

/* The address of a server: sun_path, or a host and a port. */
typedef struct ceni_inspect_endpoint {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_storage room;
    } socket;
    socklen_t length;
    bool is_local;    /* a Unix socket */
    bool is_loopback; /* a Unix socket, or a loopback address */
} ceni_inspect_endpoint;

typedef enum ceni_client_phase {
    CENI_CLIENT_NONE = 0,
    CENI_CLIENT_IDLE,   /* no input, or not yet a complete first line */
    CENI_CLIENT_ASKED,  /* the rest of the request is arriving */
    CENI_CLIENT_TOLD,   /* its response is being sent */
    CENI_CLIENT_LEAVES, /* was shut down and is about to be closed */
} ceni_client_phase;

typedef struct ceni_client {
    /* written by the thread; also read by a forked child */
    atomic_int socket; /* -1: none */
    /* only the thread */
    ceni_client_phase phase;
    bool was_answered; /* at least one request */
    /* the current request's path contains %00; libmicrohttpd gives us only the part before it */
    bool has_zero;
    unsigned refused; /* the HTTP status of all its responses; 0: admitted */
    int64_t since_ms; /* since when in this phase */
} ceni_client;

struct cen_inspect {
    /* fixed before the thread starts */
    pid_t process;
    int64_t began_ns; /* the start of the process, since 1970 */
    ceni_inspect_endpoint at;
    char address[160]; /* the result of cen_inspect_address */
    char *title, *token;
    bool control, anywhere;
    uint32_t clients;    /* admitted at a time */
    int64_t patience_ms; /* CENI_INSPECT_PATIENCE_MS, except in tests */
    int listener, waker;
    struct MHD_Daemon *daemon;
    int polled; /* the daemon's own epoll descriptor */
    pthread_t thread;
    dev_t device; /* of a Unix socket's file */
    ino_t inode;
    char place[160]; /* the file with its address, or "" */
    /* only the thread, except as noted in ceni_client */
    ceni_client *coming;   /* is being handed to the daemon */
    size_t sending;        /* bytes of unread responses */
    int64_t deaf_until_ms; /* the listener pauses until then, because there were no descriptors */
    ceni_history *history;
    int64_t sample_at_ms; /* when the next sample is due */
    ceni_client client[CENI_INSPECT_CLIENTS_MOST + CENI_INSPECT_LOBBY];
};

/* ---- options.c, address.c, place.c -------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) cen_status ceni_inspect_error(cen_error *error, cen_status status, int code,
                                                                    const char *format, ...);

/* Set everything that the options decide, except the address. Strings are allocated with malloc. */
cen_status ceni_inspect_settle(cen_inspect *inspect, const cen_inspect_options *options, cen_error *error);

cen_status ceni_inspect_address_read(const char *at, bool anywhere, ceni_inspect_endpoint *out, cen_error *error);
/* Create a socket that listens there. EXISTS: another socket does. */
cen_status ceni_inspect_listen(cen_inspect *inspect, cen_error *error);
/* Remove the file of a Unix socket if it is still this server's. */
void ceni_inspect_unlink(const cen_inspect *inspect);

/* Return the directory of this user's address files, created if needed, without a trailing slash. */
cen_status ceni_inspect_place(char *out, size_t room, cen_error *error);
cen_status ceni_inspect_announce(cen_inspect *inspect, cen_error *error);
void ceni_inspect_withdraw(const cen_inspect *inspect);

/* ---- start.c ----------------------------------------------------------------------------------- */

cen_status ceni_inspect_start(const cen_inspect_options *options, int64_t patience_ms, cen_inspect **out,
                              cen_error *error);

/* ---- serve.c --------------------------------------------------------------------------------- */

void *ceni_inspect_serve(void *inspect);
void ceni_inspect_connection(void *inspect, struct MHD_Connection *connection, void **client,
                             enum MHD_ConnectionNotificationCode what);
void *ceni_inspect_asked(void *inspect, const char *uri, struct MHD_Connection *connection);
void ceni_inspect_told(struct MHD_Connection *connection); /* its response begins to be sent */
void ceni_inspect_answered(void *inspect, struct MHD_Connection *connection, void **request,
                           enum MHD_RequestTerminationCode how);

/* ---- answer.c, door.c -------------------------------------------------------------------------- */

/* One request while it is handled. */
typedef struct ceni_visit {
    const cen_inspect *inspect;
    struct MHD_Connection *connection;
    const char *method, *path, *version;
    size_t length;  /* of the body, including what exceeded the limit */
    size_t sending; /* of its response: its part of inspect->sending */
    char body[CENI_INSPECT_BODY_MOST + 1];
} ceni_visit;

/* The response to a request. */
typedef struct ceni_answer {
    unsigned code;
    const char *type;
    const char *allow, *tag, *cache; /* headers or NULL */
    ceni_json json;
    const void *fixed; /* instead of json: constant bytes */
    size_t size;
} ceni_answer;

enum MHD_Result ceni_inspect_answer(void *inspect, struct MHD_Connection *connection, const char *path,
                                    const char *method, const char *version, const char *upload, size_t *upload_size,
                                    void **visit);
/* Replace the response by an error. */
__attribute__((format(printf, 4, 5))) void ceni_answer_error(ceni_answer *answer, unsigned code, cen_status status,
                                                             const char *format, ...);

/* The same, with an existing error. */
void ceni_answer_failure(ceni_answer *answer, unsigned code, const cen_error *error);

/* Return true if the request is admitted. Otherwise the response is an error. */
bool ceni_inspect_admits(const ceni_visit *visit, ceni_answer *answer);
bool ceni_inspect_host_is_ours(const char *host); /* "localhost" or a numeric address */

/* ---- query.c, tell.c: parsing, independent of the connection ---------------------------------------- */

enum {
    CENI_QUERY_PARTS = 1,
    CENI_QUERY_MOST = 2,
    CENI_QUERY_AFTER = 4,
    CENI_QUERY_LIMIT = 8,
    CENI_QUERY_LEVEL = 16,
    CENI_QUERY_AFTER_TRACE = 32
};

typedef struct ceni_query {
    unsigned allowed; /* CENI_QUERY_... bits */
    unsigned given;
    bool parts;
    uint64_t most, after, limit, after_trace;
    int level; /* cen_event_level */
} ceni_query;

/* Read one argument. Returns false with an error if it is invalid. `value` may be NULL. */
bool ceni_query_take(ceni_query *query, const char *name, const char *value, cen_error *error);
/* Read a decimal number. Nothing may precede or follow it. */
bool ceni_query_number(const char *text, uint64_t most, uint64_t *out);

typedef struct ceni_telling {
    char action[32];
    int64_t value;
} ceni_telling;

/* Parse {"action": "resize", "value": 20}: an object with exactly these members; value is optional. `body` ends with a
 * zero. */
bool ceni_telling_read(const char *body, size_t length, ceni_telling *out, cen_error *error);

/* ---- components.c, events.c, process.c, metrics.c ------------------------------------------------------------ */

void ceni_answer_process(const cen_inspect *inspect, ceni_answer *answer);
void ceni_answer_components(const cen_inspect *inspect, const ceni_query *query, ceni_answer *answer);
void ceni_answer_component(uint64_t number, const ceni_query *query, ceni_answer *answer);
void ceni_answer_events(const ceni_query *query, ceni_answer *answer);
void ceni_answer_history(const cen_inspect *inspect, ceni_answer *answer);
void ceni_answer_tell(uint64_t number, const ceni_telling *telling, ceni_answer *answer);
void ceni_answer_metrics(bool openmetrics, ceni_answer *answer);

int64_t ceni_inspect_now_ns(void);   /* since 1970 */
int64_t ceni_inspect_now_ms(void);   /* monotonic */
int64_t ceni_inspect_began_ns(void); /* the start of the process; 0: unknown */
const char *ceni_inspect_program(void);

#endif
