/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room know of one another.
 *
 *     start     options and an address become a socket, a server and its thread
 *     serve     the thread: who comes, who is too slow, who is one too many
 *     answer    a request becomes an answer: door (who may), query, then components, events, tell, metrics, page
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
    CENI_INSPECT_PATIENCE_MS = 10000,               /* for a request to come, and for its answer to go */
    CENI_INSPECT_SENDING_MOST = 2 * CENI_TEXT_MOST, /* bytes of answers that clients have not read, of all of them */
    CENI_INSPECT_REQUEST_MOST = 16384,
    CENI_INSPECT_BODY_MOST = 4096,
    CENI_INSPECT_CLIENTS_MOST = 256,
    CENI_INSPECT_LOBBY = 8, /* connections beyond options.clients, which are told so */
};

/* Where a server is: sun_path, or a host and a port. */
typedef struct ceni_inspect_endpoint {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_storage room;
    } socket;
    socklen_t length;
    bool is_local;    /* a Unix socket */
    bool is_loopback; /* or one of these */
} ceni_inspect_endpoint;

typedef enum ceni_client_phase {
    CENI_CLIENT_NONE = 0,
    CENI_CLIENT_IDLE,   /* nothing has come, or not enough of it to know what is asked */
    CENI_CLIENT_ASKED,  /* the rest of the request is coming */
    CENI_CLIENT_TOLD,   /* its answer is going */
    CENI_CLIENT_LEAVES, /* has been shut down, and is about to be closed */
} ceni_client_phase;

typedef struct ceni_client {
    /* written by the thread; read by a forked child, too */
    atomic_int socket; /* -1: none */
    /* the thread's */
    ceni_client_phase phase;
    bool was_answered; /* once at least */
    bool has_zero;     /* there is a %00 in what it asks for now, and libmicrohttpd shows us only what is before it */
    unsigned refused;  /* with which HTTP status all it asks is answered; 0: it is welcome */
    int64_t since_ms;  /* in this phase */
} ceni_client;

struct cen_inspect {
    /* fixed before the thread starts */
    pid_t process;
    int64_t began_ns; /* the process, since 1970 */
    ceni_inspect_endpoint at;
    char address[160]; /* as cen_inspect_address says */
    char *title, *token;
    bool control, anywhere;
    uint32_t clients;    /* that are welcome at a time */
    int64_t patience_ms; /* CENI_INSPECT_PATIENCE_MS, but in tests */
    int listener, waker;
    struct MHD_Daemon *daemon;
    int polled; /* the daemon's own epoll */
    pthread_t thread;
    dev_t device; /* of a Unix socket's file */
    ino_t inode;
    char place[160]; /* the file that says where it is, or "" */
    /* the thread's, with what ceni_client says */
    ceni_client *coming;   /* is being handed to the daemon */
    size_t sending;        /* bytes of answers that are not gone */
    int64_t deaf_until_ms; /* there was no descriptor for one who came */
    ceni_history *history;
    int64_t sample_at_ms; /* when its next sample is due */
    ceni_client client[CENI_INSPECT_CLIENTS_MOST + CENI_INSPECT_LOBBY];
};

/* ---- options.c, address.c, place.c -------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) cen_status ceni_inspect_error(cen_error *error, cen_status status, int code,
                                                                    const char *format, ...);

/* Fills what the options decide, strings in memory of malloc's; the address aside. */
cen_status ceni_inspect_settle(cen_inspect *inspect, const cen_inspect_options *options, cen_error *error);

cen_status ceni_inspect_address_read(const char *at, bool anywhere, ceni_inspect_endpoint *out, cen_error *error);
/* A socket that listens there. EXISTS: somebody else does. */
cen_status ceni_inspect_listen(cen_inspect *inspect, cen_error *error);
/* Removes the file of a Unix socket, if it is still this one's. */
void ceni_inspect_unlink(const cen_inspect *inspect);

/* The directory of this user's addresses, made if need be, without a slash at its end. */
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
void ceni_inspect_told(struct MHD_Connection *connection); /* its answer begins to go */
void ceni_inspect_answered(void *inspect, struct MHD_Connection *connection, void **request,
                           enum MHD_RequestTerminationCode how);

/* ---- answer.c, door.c -------------------------------------------------------------------------- */

/* One request, while it is there. */
typedef struct ceni_visit {
    const cen_inspect *inspect;
    struct MHD_Connection *connection;
    const char *method, *path, *version;
    size_t length;  /* of the body, what was beyond its bound included */
    size_t sending; /* of its answer: its part of inspect->sending */
    char body[CENI_INSPECT_BODY_MOST + 1];
} ceni_visit;

/* What it is answered. */
typedef struct ceni_answer {
    unsigned code;
    const char *type;
    const char *allow, *tag, *cache; /* headers, or NULL */
    ceni_json json;
    const void *fixed; /* or these bytes, which live forever */
    size_t size;
} ceni_answer;

enum MHD_Result ceni_inspect_answer(void *inspect, struct MHD_Connection *connection, const char *path,
                                    const char *method, const char *version, const char *upload, size_t *upload_size,
                                    void **visit);
/* Makes it an error, whatever was in it before. */
__attribute__((format(printf, 4, 5))) void ceni_answer_error(ceni_answer *answer, unsigned code, cen_status status,
                                                             const char *format, ...);

/* The same, with an error that is there already. */
void ceni_answer_failure(ceni_answer *answer, unsigned code, const cen_error *error);

/* Whether the request may be answered; else it is, with an error. */
bool ceni_inspect_admits(const ceni_visit *visit, ceni_answer *answer);
bool ceni_inspect_host_is_ours(const char *host); /* "localhost", or an address in numbers */

/* ---- query.c, tell.c: what a request says, without who says it -------------------------------------- */

enum {
    CENI_QUERY_PARTS = 1,
    CENI_QUERY_MOST = 2,
    CENI_QUERY_AFTER = 4,
    CENI_QUERY_LIMIT = 8,
    CENI_QUERY_LEVEL = 16,
    CENI_QUERY_AFTER_TRACE = 32
};

typedef struct ceni_query {
    unsigned allowed; /* CENI_QUERY_... */
    unsigned given;
    bool parts;
    uint64_t most, after, limit, after_trace;
    int level; /* cen_event_level */
} ceni_query;

/* Takes one argument in; false: it is wrong, and the error says how. `value` may be NULL. */
bool ceni_query_take(ceni_query *query, const char *name, const char *value, cen_error *error);
/* A decimal number, nothing before it and nothing after it. */
bool ceni_query_number(const char *text, uint64_t most, uint64_t *out);

typedef struct ceni_telling {
    char action[32];
    int64_t value;
} ceni_telling;

/* {"action": "resize", "value": 20}: an object with these members and no others; value may be left out. `body` ends with a zero. */
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
int64_t ceni_inspect_now_ms(void);   /* only goes forward */
int64_t ceni_inspect_began_ns(void); /* the process; 0: not known */
const char *ceni_inspect_program(void);

#endif
