/* SPDX-License-Identifier: MIT */
/* What the files of this room share. */
#ifndef CENI_PQ_INTERNAL_H
#define CENI_PQ_INTERNAL_H

#include <pthread.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cenote/deadline.h>
#include <cenote/executor.h>
#include <cenote/pq.h>
#include <cenote/timer.h>

/* One of the servers that an address names. NULL: as libpq has it. */
typedef struct ceni_pq_host {
    char *host, *hostaddr, *port;
    bool is_name; /* somebody must be asked for its address, for as long as that takes */
} ceni_pq_host;

/* ---- options.c: what a pool's driver calls have as their argument ------------------------------ */

struct ceni_pq_later;

typedef struct ceni_pq_state {
    /* fixed by prepare */
    cen_pq_options options; /* with defaults filled in; its strings are the two below */
    char *uri, *setup;
    ceni_pq_host *hosts;
    uint32_t host_count; /* at least 1 */
    int is_nonblocking;  /* the mode in which connections are lent, as PQisnonblocking says it */
    bool looks_briefly;  /* neither a role nor a reset at every give is asked for */
    pid_t process;
    int exits; /* an eventfd that is readable when the process exits; -1: there is none, and calls are not cancelled */
    /* any thread */
    _Atomic uint32_t capacitys; /* not 0: the report was made, or is being made */
    _Atomic uint32_t condemned; /* connections that cen_pq_run found broken and that are not closed yet */
    /* under the lock: later.c */
    pthread_mutex_t lock;
    struct ceni_pq_later *works;
    /* numbers of tickets that were cancelled and are not among them: they may be about to begin */
    uint64_t unknown[16];
    uint32_t unknown_count;
} ceni_pq_state;

cen_status ceni_pq_prepare_uri(void *uri, void **out, cen_error *error);
cen_status ceni_pq_prepare_with(void *options, void **out, cen_error *error);
void ceni_pq_fini(void *state);

/* ---- stop.c: how somebody else's use of a connection is ended ----------------------------------- */

typedef struct ceni_pq_stop {
    /* fixed */
    PGcancel *cancel;
    struct sockaddr_storage peer; /* the server's address */
    socklen_t peer_size;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    /* under the lock */
    uint32_t refs;
    int fd; /* a descriptor of our own for the connection's socket; -1: closed */
    bool is_interrupted;
    bool has_timer;
    bool is_running; /* the request waits for its turn or is under way */
    bool was_sent;   /* of the last one: the server has heard it */
    void (*then)(void *argument, bool sent);
    void *argument;
    struct ceni_pq_stop *next; /* under the lock of queue.c */
    /* whoever posts or starts them */
    cen_job job;
    cen_timer timer;
} ceni_pq_stop;

/* NULL: no memory, or no descriptor (errno). */
ceni_pq_stop *ceni_pq_stop_new(PGconn *conn);

/* Cancels what the holder runs, and cuts it off after `grace_ns`. */
void ceni_pq_interrupt(ceni_pq_stop *stop, int64_t grace_ns);

/* Sends a cancel request from a helper. `then`, if not NULL, is told on that helper whether the server has heard it. */
void ceni_pq_cancel(ceni_pq_stop *stop, void (*then)(void *argument, bool sent), void *argument);

/* Waits for it until `deadline`, on the clock of cen_clock: false if it was not sent by then. */
bool ceni_pq_await_cancel(ceni_pq_stop *stop, int64_t deadline);

/* Ends the conversation in both directions: whoever uses the connection finds it broken. */
void ceni_pq_cut(ceni_pq_stop *stop);

/* The connection is about to be closed: its socket is touched no more. If the server is working for it that is cut off, and what it
 * runs is cancelled. */
void ceni_pq_stop_release(ceni_pq_stop *stop, bool is_working);

/* The same in the child of a fork, where nobody else has it. */
void ceni_pq_stop_abandon(ceni_pq_stop *stop);

/* ---- tls.c: initialises OpenSSL, if libpq uses it, once in a process ---------------------------- */

void ceni_pq_tls_begin(void);

/* ---- queue.c: how many requests are under way --------------------------------------------------- */

/* Posts stop->job, now or when it is its turn, which calls ended. False: too many wait, and it is not posted. */
bool ceni_pq_queue_add(ceni_pq_stop *stop);
void ceni_pq_queue_ended(ceni_pq_stop *stop);

/* ---- statements.c: what a connection keeps prepared --------------------------------------------- */

typedef struct ceni_pq_statement {
    char *sql; /* NULL: the place is free */
    uint64_t hash;
    uint64_t used;   /* when last, by the cache's count */
    uint32_t number; /* of its name */
    bool changes_session;
    uint32_t next; /* in its bucket; index + 1 */
} ceni_pq_statement;

typedef struct ceni_pq_statements {
    ceni_pq_statement *places;
    uint32_t *buckets; /* index + 1 of the first; a power of two of them */
    uint32_t room, count, mask;
    uint32_t last_number; /* names are never used twice in a session */
    uint64_t uses;
} ceni_pq_statements;

cen_status ceni_pq_statements_init(ceni_pq_statements *self, uint32_t room);
void ceni_pq_statements_fini(ceni_pq_statements *self);
ceni_pq_statement *ceni_pq_statements_find(ceni_pq_statements *self, const char *sql);
/* The one that was not used for longest; NULL while there is room. */
ceni_pq_statement *ceni_pq_statements_victim(ceni_pq_statements *self);
/* There must be room. NULL: no memory. */
ceni_pq_statement *ceni_pq_statements_add(ceni_pq_statements *self, const char *sql);
void ceni_pq_statements_remove(ceni_pq_statements *self, ceni_pq_statement *statement);
void ceni_pq_statements_clear(ceni_pq_statements *self);

/* ---- book.c: what we know of a connection, by its PGconn ------------------------------------------ */

typedef struct ceni_pq_link {
    PGconn *conn;
    ceni_pq_state *state;
    ceni_pq_stop *stop;
    ceni_pq_statements statements; /* the holder's */
    pid_t process;
    bool reports_role;       /* what the server tells by itself about its role has been true until now */
    bool is_broken;          /* the holder's: to be closed when it comes back */
    bool is_changed;         /* the holder's: a statement of cen_pq_run changed the session */
    unsigned reported_names; /* settings that the server reports, as bits; */
    uint64_t reported_sum;   /* and a hash of their values, as they were when the session began */
} ceni_pq_link;

cen_status ceni_pq_book_add(ceni_pq_link *link);
ceni_pq_link *ceni_pq_book_find(const PGconn *conn);
void ceni_pq_book_remove(const PGconn *conn);

/* link.c */
cen_status ceni_pq_link_new(ceni_pq_state *state, PGconn *conn, ceni_pq_link **out, cen_error *error);
void ceni_pq_finish(PGconn *conn); /* with its link, if it has one */
/* From what the server has reported: false if it is known to be another than the role says. */
bool ceni_pq_role_fits(PGconn *conn, cen_pq_role role);

/* ---- session.c: what a holder changed ---------------------------------------------------------------- */

/* Whether the statement, or one of them, changes what the next holder would find in the session. */
bool ceni_pq_changes_session(const char *sql);
void ceni_pq_session_begins(ceni_pq_link *link);           /* it is open and set up, or was reset */
bool ceni_pq_session_is_changed(const ceni_pq_link *link); /* reads memory only */

/* ---- words.c: errors ------------------------------------------------------------------------------- */

/* Writes "PostgreSQL at ... : WHAT: CAUSE" and all else into *error, and answers the status. `sqlstate` may be "". */
cen_status ceni_pq_say(cen_error *error, const PGconn *conn, cen_status status, const char *sqlstate, const char *what,
                       const char *cause);
/* A query's result that is a failure, or NULL: what the connection says. */
cen_status ceni_pq_say_result(cen_error *error, const PGconn *conn, const PGresult *result, const char *what);
/* The opening failed: what libpq says, with the SQLSTATE from its words. */
cen_status ceni_pq_say_opening(cen_error *error, const PGconn *conn);
/* libpq could not read an address. Its words may repeat a password. */
cen_status ceni_pq_say_unreadable(cen_error *error, const char *words);

/* ---- work.c: opening, testing and resetting, without waiting ------------------------------------------- */

typedef enum ceni_pq_stage {
    CENI_PQ_START = 0,
    CENI_PQ_CONNECT,
    CENI_PQ_GREET,
    CENI_PQ_SETUP,
    CENI_PQ_ROLE,
    CENI_PQ_CAPACITY,
    CENI_PQ_PROBE,
    CENI_PQ_TIDY,
    CENI_PQ_CANCELLED,
    CENI_PQ_DRAIN,
    CENI_PQ_UNDO,
    CENI_PQ_DISCARD,
    CENI_PQ_END,
} ceni_pq_stage;

typedef enum ceni_pq_kind { CENI_PQ_OPENING, CENI_PQ_TESTING, CENI_PQ_RESETTING } ceni_pq_kind;

typedef struct ceni_pq_work {
    ceni_pq_state *state;
    PGconn *conn;
    ceni_pq_link *link; /* NULL: a connection that the program adopted, or none yet */
    ceni_pq_kind kind;
    ceni_pq_stage stage;
    uint32_t host;   /* that is being tried */
    bool may_wait;   /* whoever drives it may wait in START while a name is looked up */
    bool is_asked;   /* a question is out */
    bool is_refused; /* and the answer is an error, in `error` */
    bool was_sent;   /* the server has heard the cancel request */
    bool undone_twice;
    bool rolled_back; /* a transaction that was left open */
    bool makes_report;
    int64_t deadline;  /* of all */
    int64_t until;     /* of what is going on: never later */
    PGresult *answer;  /* the last rows */
    cen_status status; /* how it ended */
    cen_error error;
} ceni_pq_work;

/* What it waits for beside CEN_READABLE (1) and CEN_WRITABLE (2) of the connection's socket. */
enum { CENI_PQ_DONE = 0, CENI_PQ_READ = 1, CENI_PQ_WRITE = 2, CENI_PQ_CANCEL = 4, CENI_PQ_LOOKUP = 8 };

void ceni_pq_work_init(ceni_pq_work *work, ceni_pq_state *state, PGconn *conn, ceni_pq_kind kind);

/* Does what can be done now and says what to wait for, until work->until; CANCEL: that a cancel request was sent, or not; LOOKUP:
 * somebody who may wait, which work->may_wait is to say, and nothing else. DONE: work->status says how it ended, and of an
 * opening that went well work->conn is what was opened. */
int ceni_pq_go(ceni_pq_work *work);

/* work->until has come: the same, after that. */
int ceni_pq_late(ceni_pq_work *work);

/* Nobody wants it any more. */
void ceni_pq_give_up(ceni_pq_work *work, cen_status status, const char *why);

/* ---- capacity.c ---------------------------------------------------------------------------------------------- */

extern const char ceni_pq_capacity_question[];
cen_status ceni_pq_capacity_read(const PGconn *conn, const PGresult *answer, uint32_t max, cen_pq_capacity_report *out,
                                 cen_error *error);

/* ---- block.c, later.c: the two forms of the calls ------------------------------------------------------------ */

cen_status ceni_pq_open(void *state, void **out, cen_error *error);
cen_status ceni_pq_test(void *state, void *conn, cen_error *error);
cen_status ceni_pq_reset(void *state, void *conn, cen_error *error);
void ceni_pq_cancel_all(void *state); /* the process exits: those that wait for a server fail */

void ceni_pq_open_async(void *state, cen_ticket ticket);
void ceni_pq_test_async(void *state, void *conn, cen_ticket ticket);
void ceni_pq_reset_async(void *state, void *conn, cen_ticket ticket);
void ceni_pq_cancel_call(void *state, cen_ticket ticket);

#endif
