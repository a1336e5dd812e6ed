/* SPDX-License-Identifier: MIT */
/*
 * The shared declarations of this room: the server of a pool, a connection, and a piece of work on a connection.
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

/* One per pool. It exists from prepare until the pool and the jobs that end queries are gone. */
typedef struct ceni_mariadb_server {
    /* fixed by prepare */
    cen_mariadb_options options; /* with defaults; their texts are in `texts` */
    const char *host, *user, *password, *database, *socket;
    uint16_t port;
    char address[160]; /* for messages: host:port or the socket's path */
    char *texts[64];   /* all copied texts */
    bool has_port;     /* a port was given: then "localhost" means TCP, too */
    int text_count;
    bool starts_with_a_job; /* an open over a poller would block */
    pid_t process;          /* the process that the poller belongs to */
    int exits; /* an eventfd that becomes readable when the process exits; -1: none, and calls are not cancelled then */
    /* any thread */
    atomic_uint users; /* references: the pool's and those of jobs */
    atomic_flag told_capacity;
    /* under the lock */
    pthread_mutex_t lock;
    struct ceni_mariadb_call *calls;        /* in progress, over the poller */
    uint64_t unknown[CENI_MARIADB_UNKNOWN]; /* numbers of cancelled tickets that are not among `calls` */
    uint32_t unknown_count;
} ceni_mariadb_server;

typedef struct ceni_mariadb_statement {
    MYSQL_STMT *handle;
    struct ceni_mariadb_statement *next; /* the next older one */
    uint64_t hash;
    uint64_t turn; /* the connection's turn at its last use */
    char sql[];
} ceni_mariadb_statement;

/* What a holder left behind: found by check, for the reset that follows. */
enum { CENI_MARIADB_TRANSACTION = 1, CENI_MARIADB_SESSION = 2 };

/* One per MYSQL. */
typedef struct ceni_mariadb_connection {
    MYSQL mysql; /* first member: the pool's object is a pointer to it */
    /* constant after open */
    ceni_mariadb_server *server;
    pid_t process;
    unsigned long id; /* the server's id of the session */
    /* our own descriptor of its socket, because the library may close its own at any moment; -1: none yet */
    int own;
    int theirs;          /* the library's descriptor at that time */
    uint16_t local_port; /* 0: a Unix socket */
    bool autocommit;
    const MARIADB_CHARSET_INFO *charset; /* the one in which the library writes and escapes texts */
    /* only the holder, or the driver's call that has it */
    /* never prepared: the library sets its MYSQL to NULL when the session is reset or the user changes, so it shows
     * that */
    MYSQL_STMT *sentry;
    bool changed; /* the server reported a change of the session */
    unsigned dirt;
    ceni_mariadb_statement *newest;
    uint32_t kept;
    uint64_t turn; /* the number of gives */
    uint64_t hits, misses;
    char password[CENI_MARIADB_PASSWORD]; /* during an open */
    struct ceni_mariadb_stop *stop;       /* ends its query; NULL if it was closed before the stop's job had begun */
    struct ceni_mariadb_connection *next; /* in the list of lost connections */
} ceni_mariadb_connection;

/* The job that ends a connection's query. Each connection has one from the start, because an interrupt must not
 * fail. */
typedef struct ceni_mariadb_stop {
    cen_job job;
    ceni_mariadb_server *server;
    pthread_mutex_t lock;
    /* under the lock */
    pthread_cond_t changed;
    enum { CENI_MARIADB_QUIET, CENI_MARIADB_POSTED, CENI_MARIADB_RUNNING } state;
    ceni_mariadb_connection *victim; /* NULL: closed before the job had begun; then the job frees this */
    struct ceni_mariadb_call *close; /* begun by the job at its end */
    atomic_bool is_back;             /* the holder has given it back; also read without the lock */
} ceni_mariadb_stop;

/* ---- words.c: error texts ---------------------------------------------------------- */

/* Write "MariaDB at ADDRESS, database D, user U: WHAT: CAUSE" and return the status. The error number may imply another
 * status and WHAT. */
cen_status ceni_mariadb_say(cen_error *error, const ceni_mariadb_server *server, cen_status status, unsigned number,
                            const char *what, const char *cause);
cen_status ceni_mariadb_say_mysql(cen_error *error, const ceni_mariadb_server *server, MYSQL *mysql, const char *what);

/* Return true if a server that refuses a connection with this error number refuses the user, the password, the database
 * or the client's host. */
bool ceni_mariadb_refuses_login(unsigned number);

/* Write the status and the text, unless error is NULL. The value is the status. */
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

/* Prepare the calling thread before it calls the client library. */
void ceni_mariadb_thread(void);

/* tls.c: initialises OpenSSL once per process, if the connector uses it. */
void ceni_mariadb_tls_begin(void);

ceni_mariadb_connection *ceni_mariadb_connection_new(ceni_mariadb_server *server, cen_error *error);

/* Store what is known after the connect. */
cen_status ceni_mariadb_connection_note(ceni_mariadb_connection *connection, cen_error *error);

/* The driver has reset the session: drop what depended on the old one. */
cen_status ceni_mariadb_connection_renew(ceni_mariadb_connection *connection, cen_error *error);

/* Free a connection. Its MYSQL was closed already, unless `is_open`. */
void ceni_mariadb_connection_free(ceni_mariadb_connection *connection, bool is_open);

/* Get the current password, for the open. */
cen_status ceni_mariadb_connection_password(ceni_mariadb_connection *connection, cen_error *error);

/* Keep the connection for the rest of the process's life, because a user of it may remain. */
void ceni_mariadb_connection_lose(ceni_mariadb_connection *connection);

/* Return our record of a MYSQL that belongs to this process. */
cen_status ceni_mariadb_connection_of(MYSQL *mysql, ceni_mariadb_connection **out, cen_error *error);

/* ---- work.c ----------------------------------------------------------------------------------- */

typedef enum ceni_mariadb_step {
    CENI_MARIADB_END = 0,
    CENI_MARIADB_CONNECT,
    CENI_MARIADB_QUIT,
    CENI_MARIADB_PING,
    CENI_MARIADB_RESET,
    CENI_MARIADB_SINGLE, /* multi-statements off */
    CENI_MARIADB_DATABASE,
    CENI_MARIADB_TRACK, /* from here on: a statement and its result */
    CENI_MARIADB_SETUP,
    CENI_MARIADB_ROLLBACK,
    CENI_MARIADB_ROLE,
    CENI_MARIADB_LIMIT,
    CENI_MARIADB_USED,
    CENI_MARIADB_FIND,
    CENI_MARIADB_KILL,
} ceni_mariadb_step;

/* A sequence of client library calls on one connection, each of which may have to wait for the socket. */
typedef struct ceni_mariadb_work {
    ceni_mariadb_connection *connection;
    ceni_mariadb_step plan[CENI_MARIADB_STEPS + 1];
    int at;
    bool reads;          /* reading the result of plan[at] */
    const char *doing;   /* such as "connection test failed" */
    int64_t due;         /* the deadline, on cen_clock */
    int64_t timeout_ns;  /* the time from start to due */
    bool is_hurried;     /* due, or given up: every further wait fails */
    cen_status given_up; /* the reason; OK: it is due */
    char sql[160];
    const ceni_mariadb_connection *victim; /* for FIND and KILL */
    cen_mariadb_capacity_report capacity;  /* for LIMIT and USED */
    /* where the library stores its results */
    MYSQL *connected;
    int code;
    MYSQL_RES *result;
    /* the result of the work */
    cen_status status;
    cen_error error;
} ceni_mariadb_work;

void ceni_mariadb_work_init(ceni_mariadb_work *work, ceni_mariadb_connection *connection, int64_t timeout_ns,
                            const char *doing);
void ceni_mariadb_work_add(ceni_mariadb_work *work, ceni_mariadb_step step);

/* The plans of the driver's calls. */
void ceni_mariadb_plan_open(ceni_mariadb_work *work, ceni_mariadb_connection *connection);
void ceni_mariadb_plan_test(ceni_mariadb_work *work, ceni_mariadb_connection *connection);
void ceni_mariadb_plan_reset(ceni_mariadb_work *work, ceni_mariadb_connection *connection);
void ceni_mariadb_plan_close(ceni_mariadb_work *work, ceni_mariadb_connection *connection);

/* Continue until the work has to wait. Returns what for (MYSQL_WAIT_READ and so on), or 0 when everything is done.
 * `events`: what has occurred; 0 on the first call. */
int ceni_mariadb_work_on(ceni_mariadb_work *work, int events);

/* Do all of the work on this thread. Checks *cancelled from time to time, if it is not NULL. */
void ceni_mariadb_work_do(ceni_mariadb_work *work, const atomic_bool *cancelled);

/* Finish an open, successful or not. Returns the connection, or NULL if it was freed. */
ceni_mariadb_connection *ceni_mariadb_opened(ceni_mariadb_work *work);

/* ---- statements.c --------------------------------------------------------------------------------- */

/* Close all statements of the cache; only free their memory if the session was closed or reset. */
void ceni_mariadb_statements_end(ceni_mariadb_connection *connection);

/* ---- capacity.c ------------------------------------------------------------------------------------------ */

void ceni_mariadb_capacity_tell(const ceni_mariadb_server *server, cen_mariadb_capacity_report *report);

/* ---- interrupt.c -------------------------------------------------------------------------------------- */

void ceni_mariadb_interrupt(void *server, void *object);
void ceni_mariadb_abandon(void *server, void *object);

ceni_mariadb_stop *ceni_mariadb_stop_new(ceni_mariadb_connection *victim);
void ceni_mariadb_stop_free(ceni_mariadb_stop *stop);

/* The holder has given the connection back. Returns true if no job has it. Without `later` it waits for a running job.
 * With `later` it does not: the job begins that call at its end. */
bool ceni_mariadb_regain(ceni_mariadb_connection *connection, struct ceni_mariadb_call *later);

/* ---- later.c: over a poller ------------------------------------------------------------------------------- */

void ceni_mariadb_open_async(void *server, cen_ticket ticket);
void ceni_mariadb_test_async(void *server, void *object, cen_ticket ticket);
void ceni_mariadb_reset_async(void *server, void *object, cen_ticket ticket);
void ceni_mariadb_close_async(void *server, void *object, cen_ticket ticket);
void ceni_mariadb_cancel(void *server, cen_ticket ticket);
void ceni_mariadb_call_begin(struct ceni_mariadb_call *call);

#endif
