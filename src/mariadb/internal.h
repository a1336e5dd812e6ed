/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share: the server that a pool speaks with, a connection's own, and a piece of work for one.
 */
#ifndef CENI_MARIADB_INTERNAL_H
#define CENI_MARIADB_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <cenote/executor.h>
#include <cenote/mariadb.h>
#include <cenote/poller.h>
#include <cenote/runtime.h>
#include <errmsg.h>
#include <mysqld_error.h>

enum { CENI_MARIADB_STEPS = 7, CENI_MARIADB_PASSWORD = 256, CENI_MARIADB_UNKNOWN = 32 };

/* One for each pool, from prepare until the pool is gone and so are the jobs that end queries. */
typedef struct ceni_mariadb_server {
    /* fixed by prepare */
    cen_mariadb_options options; /* defaults filled in; texts are in `texts` */
    const char *host, *user, *password, *database, *socket;
    uint16_t port;
    char address[160]; /* for people: host:port, or the socket's path */
    char *texts[64];   /* all copies, to be freed */
    bool has_port;     /* one was given: "localhost" then means TCP, too */
    int text_count;
    bool starts_with_a_job; /* opening over a poller would block */
    pid_t process;          /* whose the poller is */
    int exits; /* an eventfd that is readable when the process exits; -1: there is none, and calls are not cancelled */
    /* any thread */
    atomic_uint users; /* the pool, and jobs */
    atomic_flag told_capacity;
    /* under the lock */
    pthread_mutex_t lock;
    struct ceni_mariadb_call *calls;        /* under way, over the poller */
    uint64_t unknown[CENI_MARIADB_UNKNOWN]; /* numbers of tickets that were cancelled and are not among them */
    uint32_t unknown_count;
} ceni_mariadb_server;

typedef struct ceni_mariadb_statement {
    MYSQL_STMT *handle;
    struct ceni_mariadb_statement *next; /* the one used before this one */
    uint64_t hash;
    uint64_t turn; /* of the connection when it was had last */
    char sql[];
} ceni_mariadb_statement;

/* What a holder has left behind, seen by check for the reset that follows. */
enum { CENI_MARIADB_TRANSACTION = 1, CENI_MARIADB_SESSION = 2 };

/* One for each MYSQL. */
typedef struct ceni_mariadb_connection {
    MYSQL mysql; /* the pool's object, and so the first */
    /* fixed by open */
    ceni_mariadb_server *server;
    pid_t process;
    unsigned long id; /* by which the server knows it */
    /* a descriptor of ours for its socket: the library may close its own at any moment; -1: none yet */
    int own;
    int theirs;          /* the library's at that time */
    uint16_t local_port; /* 0: a Unix socket */
    bool autocommit;
    const MARIADB_CHARSET_INFO *charset; /* in which the library writes and escapes texts */
    /* the holder, or the driver's call that has it */
    /* never prepared: the library takes its MYSQL away when the session begins anew, and so tells of that */
    MYSQL_STMT *sentry;
    bool changed; /* the server told of a change in the session */
    unsigned dirt;
    ceni_mariadb_statement *newest;
    uint32_t kept;
    uint64_t turn; /* how often it was given back */
    uint64_t hits, misses;
    char password[CENI_MARIADB_PASSWORD]; /* while it is opened */
    struct ceni_mariadb_stop *stop;       /* how its query is ended; NULL when it was closed before that had begun */
    struct ceni_mariadb_connection *next; /* in the list of those that are lost */
} ceni_mariadb_connection;

/* The job that ends a connection's query: one for each connection, since an interrupt must not fail. */
typedef struct ceni_mariadb_stop {
    cen_job job;
    ceni_mariadb_server *server;
    pthread_mutex_t lock;
    /* under the lock */
    pthread_cond_t changed;
    enum { CENI_MARIADB_QUIET, CENI_MARIADB_POSTED, CENI_MARIADB_RUNNING } state;
    ceni_mariadb_connection *victim; /* NULL: it was closed before the job had begun, which frees this, then */
    struct ceni_mariadb_call *close; /* to be begun by the job when that ends */
    atomic_bool is_back;             /* the holder has given it back; also read without the lock */
} ceni_mariadb_stop;

/* ---- words.c: sentences ------------------------------------------------------------ */

/* "MariaDB at ADDRESS, database D, user U: WHAT: CAUSE (NUMBER)". The number may have a status of its own. */
cen_status ceni_mariadb_say(cen_error *error, const ceni_mariadb_server *server, cen_status status, unsigned number,
                            const char *what, const char *cause);
cen_status ceni_mariadb_say_mysql(cen_error *error, const ceni_mariadb_server *server, MYSQL *mysql, const char *what);

/* Writes the status and the sentence, if there is an error to write to, and is the status. */
#define ceni_mariadb_text(error, status, ...) (ceni_mariadb_write((error), (status), __VA_ARGS__), (cen_status)(status))
__attribute__((format(printf, 3, 4))) void ceni_mariadb_write(cen_error *error, cen_status status, const char *format,
                                                              ...);

/* ---- url.c, server.c ------------------------------------------------------------------- */

char *ceni_mariadb_keep(ceni_mariadb_server *server, const char *text, size_t length);
cen_status ceni_mariadb_url(ceni_mariadb_server *server, const char *url, cen_error *error);
cen_status ceni_mariadb_server_new(const cen_mariadb_options *options, ceni_mariadb_server **out, cen_error *error);
void ceni_mariadb_server_hold(ceni_mariadb_server *server);
void ceni_mariadb_server_drop(ceni_mariadb_server *server);
void ceni_mariadb_cancel_all(void *server); /* the process exits: calls that wait for a server fail */

/* ---- connection.c ------------------------------------------------------------------------- */

/* For the calling thread, before it calls the client library. */
void ceni_mariadb_thread(void);

/* tls.c: initialises OpenSSL, if the connector uses it, once in a process. */
void ceni_mariadb_tls_begin(void);

ceni_mariadb_connection *ceni_mariadb_connection_new(ceni_mariadb_server *server, cen_error *error);

/* It is connected: what is remembered of that. */
cen_status ceni_mariadb_connection_note(ceni_mariadb_connection *connection, cen_error *error);

/* The session was reset, by the driver: what hung on the old one ends. */
cen_status ceni_mariadb_connection_renew(ceni_mariadb_connection *connection, cen_error *error);

/* Frees it; its MYSQL was closed, unless `is_open`. */
void ceni_mariadb_connection_free(ceni_mariadb_connection *connection, bool is_open);

/* The password of now, to open it with. */
cen_status ceni_mariadb_connection_password(ceni_mariadb_connection *connection, cen_error *error);

/* Keeps it for the rest of the process' life: somebody may still have it. */
void ceni_mariadb_connection_lose(ceni_mariadb_connection *connection);

/* Ours behind it, if it is one of this process'. */
cen_status ceni_mariadb_connection_of(MYSQL *mysql, ceni_mariadb_connection **out, cen_error *error);

/* ---- work.c ----------------------------------------------------------------------------------- */

typedef enum ceni_mariadb_step {
    CENI_MARIADB_END = 0,
    CENI_MARIADB_CONNECT,
    CENI_MARIADB_QUIT,
    CENI_MARIADB_PING,
    CENI_MARIADB_RESET,
    CENI_MARIADB_SINGLE, /* statements, one in a text */
    CENI_MARIADB_DATABASE,
    CENI_MARIADB_TRACK, /* from here on: a statement, and its result */
    CENI_MARIADB_SETUP,
    CENI_MARIADB_ROLLBACK,
    CENI_MARIADB_ROLE,
    CENI_MARIADB_LIMIT,
    CENI_MARIADB_USED,
    CENI_MARIADB_FIND,
    CENI_MARIADB_KILL,
} ceni_mariadb_step;

/* Some steps of the client library for one connection, each of which may have to wait for the socket. */
typedef struct ceni_mariadb_work {
    ceni_mariadb_connection *connection;
    ceni_mariadb_step plan[CENI_MARIADB_STEPS + 1];
    int at;
    bool reads;          /* the result of plan[at] */
    const char *doing;   /* "it could not be tested" */
    int64_t due;         /* on cen_clock */
    int64_t timeout_ns;  /* due is so long after the beginning */
    bool is_hurried;     /* due, or given up: everything fails from now on */
    cen_status given_up; /* why; OK: it is due */
    char sql[160];
    const ceni_mariadb_connection *victim; /* FIND, KILL */
    cen_mariadb_capacity_report capacity;  /* LIMIT, USED */
    /* where the library puts its answers */
    MYSQL *connected;
    int code;
    MYSQL_RES *result;
    /* how it ended */
    cen_status status;
    cen_error error;
} ceni_mariadb_work;

void ceni_mariadb_work_init(ceni_mariadb_work *work, ceni_mariadb_connection *connection, int64_t timeout_ns,
                            const char *doing);
void ceni_mariadb_work_add(ceni_mariadb_work *work, ceni_mariadb_step step);

/* Plans for the driver's calls. */
void ceni_mariadb_plan_open(ceni_mariadb_work *work, ceni_mariadb_connection *connection);
void ceni_mariadb_plan_test(ceni_mariadb_work *work, ceni_mariadb_connection *connection);
void ceni_mariadb_plan_reset(ceni_mariadb_work *work, ceni_mariadb_connection *connection);
void ceni_mariadb_plan_close(ceni_mariadb_work *work, ceni_mariadb_connection *connection);

/* Goes on until it has to wait for something of the socket, MYSQL_WAIT_READ and so on, which it answers, or until all
 * is done: 0. `events` is what has come, 0 at first. */
int ceni_mariadb_work_on(ceni_mariadb_work *work, int events);

/* All of it, on this thread. Looks now and then whether *cancelled, if it is not NULL. */
void ceni_mariadb_work_do(ceni_mariadb_work *work, const atomic_bool *cancelled);

/* The work of an opening has ended, well or not: the connection, or NULL if it was freed. */
ceni_mariadb_connection *ceni_mariadb_opened(ceni_mariadb_work *work);

/* ---- statements.c --------------------------------------------------------------------------------- */

/* All that were kept; only memory if the session has been closed or reset. */
void ceni_mariadb_statements_end(ceni_mariadb_connection *connection);

/* ---- capacity.c ------------------------------------------------------------------------------------------ */

void ceni_mariadb_capacity_tell(const ceni_mariadb_server *server, cen_mariadb_capacity_report *report);

/* ---- interrupt.c -------------------------------------------------------------------------------------- */

void ceni_mariadb_interrupt(void *server, void *object);
void ceni_mariadb_abandon(void *server, void *object);

ceni_mariadb_stop *ceni_mariadb_stop_new(ceni_mariadb_connection *victim);
void ceni_mariadb_stop_free(ceni_mariadb_stop *stop);

/* The holder has given it back. True: no job has it, now. With `later` it does not wait: the job begins that call when
 * it ends. */
bool ceni_mariadb_regain(ceni_mariadb_connection *connection, struct ceni_mariadb_call *later);

/* ---- later.c: over a poller ------------------------------------------------------------------------------- */

void ceni_mariadb_open_async(void *server, cen_ticket ticket);
void ceni_mariadb_test_async(void *server, void *object, cen_ticket ticket);
void ceni_mariadb_reset_async(void *server, void *object, cen_ticket ticket);
void ceni_mariadb_close_async(void *server, void *object, cen_ticket ticket);
void ceni_mariadb_cancel(void *server, cen_ticket ticket);
void ceni_mariadb_call_begin(struct ceni_mariadb_call *call);

#endif
