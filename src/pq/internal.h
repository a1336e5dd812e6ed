/* SPDX-License-Identifier: MIT */
/* The shared declarations of this room. */
#ifndef CENI_PQ_INTERNAL_H
#define CENI_PQ_INTERNAL_H

#include <pthread.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cenote/deadline.h>
#include <cenote/executor.h>
#include <cenote/pq.h>
#include <cenote/timer.h>

/* One of the servers in an address. NULL: libpq's default. */
typedef struct ceni_pq_host {
    char *host, *hostaddr, *port;
    bool is_name; /* needs a name lookup, which may take any time */
} ceni_pq_host;

/* ---- options.c: the state of a pool's driver --------------------------------------------------- */

struct ceni_pq_later;

typedef struct ceni_pq_state {
    /* fixed by prepare */
    cen_pq_options options; /* with defaults; its strings are the two below */
    char *uri, *setup;
    ceni_pq_host *hosts;
    uint32_t host_count; /* at least 1 */
    int is_nonblocking;  /* the mode of lent connections, as PQisnonblocking returns it */
    bool looks_briefly;  /* no role and no reset at every give: the short check is enough */
    pid_t process;
    int exits; /* an eventfd that becomes readable when the process exits; -1: none, and calls are not cancelled then */
    /* any thread */
    _Atomic uint32_t capacitys; /* not 0: the capacity report was made, or is being made */
    _Atomic uint32_t condemned; /* connections that cen_pq_run found broken and that are not closed yet */
    /* under the lock: later.c */
    pthread_mutex_t lock;
    struct ceni_pq_later *works;
    /* numbers of cancelled tickets that are not among `works`: they may be about to begin */

    uint64_t unknown[16];
    uint32_t unknown_count;
} ceni_pq_state;

cen_status ceni_pq_prepare_uri(void *uri, void **out, cen_error *error);
cen_status ceni_pq_prepare_with(void *options, void **out, cen_error *error);
void ceni_pq_fini(void *state);

/* ---- stop.c: ending a query of another thread --------------------------------------------------- */

typedef struct ceni_pq_stop {
    /* fixed */
    PGcancel *cancel;
    struct sockaddr_storage peer; /* the server's address */
    socklen_t peer_size;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    /* under the lock */
    uint32_t refs;
    int fd; /* our own descriptor of the connection's socket; -1: closed */
    bool is_interrupted;
    bool has_timer;
    bool is_running; /* the cancel request is queued or running */
    bool was_sent;   /* the last request reached the server */
    void (*then)(void *argument, bool sent);
    void *argument;
    struct ceni_pq_stop *next; /* under the lock of queue.c */
    /* for the thread that posts or starts them */
    cen_job job;
    cen_timer timer;
} ceni_pq_stop;

/* Create a stop. NULL: out of memory or descriptors (errno). */
ceni_pq_stop *ceni_pq_stop_new(PGconn *conn);

/* Cancel the holder's query, and shut the connection down after `grace_ns`. */
void ceni_pq_interrupt(ceni_pq_stop *stop, int64_t grace_ns);

/* Send a cancel request from a helper. `then`, if not NULL, is called on that helper with the success. */
void ceni_pq_cancel(ceni_pq_stop *stop, void (*then)(void *argument, bool sent), void *argument);

/* Wait for the request until `deadline`, on the clock of cen_clock. Returns false if it was not sent by then. */
bool ceni_pq_await_cancel(ceni_pq_stop *stop, int64_t deadline);

/* Shut the socket down in both directions: its user finds the connection broken. */
void ceni_pq_cut(ceni_pq_stop *stop);

/* The connection is about to be closed, and its socket is not touched any longer. If the server still works for it, the
 * connection is shut down and its query cancelled. */
void ceni_pq_stop_release(ceni_pq_stop *stop, bool is_working);

/* The same in a forked child, where no other thread has it. */
void ceni_pq_stop_abandon(ceni_pq_stop *stop);

/* ---- tls.c: initialises OpenSSL, if libpq uses it, once in a process ---------------------------- */

void ceni_pq_tls_begin(void);

/* ---- queue.c: limits of concurrent cancel requests ---------------------------------------------- */

/* Post stop->job, now or when a place is free. The job calls ceni_pq_queue_ended. Returns false, without posting, if
 * too many wait. */
bool ceni_pq_queue_add(ceni_pq_stop *stop);
void ceni_pq_queue_ended(ceni_pq_stop *stop);

/* ---- statements.c: the prepared statements of a connection -------------------------------------- */

typedef struct ceni_pq_statement {
    char *sql; /* NULL: free */
    uint64_t hash;
    uint64_t used;   /* the cache's count at the last use */
    uint32_t number; /* in its name */
    bool changes_session;
    uint32_t next; /* the next in its bucket: index + 1 */
} ceni_pq_statement;

typedef struct ceni_pq_statements {
    ceni_pq_statement *places;
    uint32_t *buckets; /* index + 1 of the first one; their number is a power of two */
    uint32_t room, count, mask;
    uint32_t last_number; /* names are never reused within a session */
    uint64_t uses;
} ceni_pq_statements;

cen_status ceni_pq_statements_init(ceni_pq_statements *self, uint32_t room);
void ceni_pq_statements_fini(ceni_pq_statements *self);
ceni_pq_statement *ceni_pq_statements_find(ceni_pq_statements *self, const char *sql);
/* Return the least recently used statement; NULL while there is room. */
ceni_pq_statement *ceni_pq_statements_victim(ceni_pq_statements *self);
/* Add a statement. There must be room. NULL: out of memory. */
ceni_pq_statement *ceni_pq_statements_add(ceni_pq_statements *self, const char *sql);
void ceni_pq_statements_remove(ceni_pq_statements *self, ceni_pq_statement *statement);
void ceni_pq_statements_clear(ceni_pq_statements *self);

/* ---- book.c: a connection's link, by its PGconn --------------------------------------------------- */

typedef struct ceni_pq_link {
    PGconn *conn;
    ceni_pq_state *state;
    ceni_pq_stop *stop;
    ceni_pq_statements statements; /* only the holder touches them */
    pid_t process;
    bool reports_role;       /* the role that the server reports by itself has been true so far */
    bool is_broken;          /* set by the holder: close it when it is given back */
    bool is_changed;         /* set by the holder: a statement of cen_pq_run changed the session */
    unsigned reported_names; /* the settings that the server reports, as bits, */
    uint64_t reported_sum;   /* and a hash of their values at the start of the session */
} ceni_pq_link;

cen_status ceni_pq_book_add(ceni_pq_link *link);
ceni_pq_link *ceni_pq_book_find(const PGconn *conn);
void ceni_pq_book_remove(const PGconn *conn);

/* link.c */
cen_status ceni_pq_link_new(ceni_pq_state *state, PGconn *conn, ceni_pq_link **out, cen_error *error);
void ceni_pq_finish(PGconn *conn); /* also frees its link, if it has one */
/* Compare the role with the server's reports. Returns false if they are known to differ. */
bool ceni_pq_role_fits(PGconn *conn, cen_pq_role role);

/* ---- session.c: changes of the session --------------------------------------------------------------- */

/* Return true if a statement in the text changes session state that the next holder would see. */
bool ceni_pq_changes_session(const char *sql);
void ceni_pq_session_begins(ceni_pq_link *link);           /* after open and setup, or after a reset */
bool ceni_pq_session_is_changed(const ceni_pq_link *link); /* reads memory only */

/* ---- words.c: errors ------------------------------------------------------------------------------- */

/* Write "PostgreSQL at HOST:PORT, database D, user U: WHAT (SQLSTATE S): CAUSE" and the other fields into *error, and
 * return the status. `sqlstate` may be "". */
cen_status ceni_pq_say(cen_error *error, const PGconn *conn, cen_status status, const char *sqlstate, const char *what,
                       const char *cause);
/* Report a failed result, or NULL: the connection's error. */
cen_status ceni_pq_say_result(cen_error *error, const PGconn *conn, const PGresult *result, const char *what);
/* Report a failed open with libpq's message and the SQLSTATE in it. */
cen_status ceni_pq_say_opening(cen_error *error, const PGconn *conn);
/* Report that libpq could not parse an address. Its message may contain a password. */
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
    uint32_t host;   /* the one being tried */
    bool may_wait;   /* the driving thread may wait in START while a name is looked up */
    bool is_asked;   /* a query was sent */
    bool is_refused; /* its result is an error, in `error` */
    bool was_sent;   /* the cancel request reached the server */
    bool undone_twice;
    bool rolled_back; /* a transaction was left open */
    bool makes_report;
    int64_t deadline;  /* of the whole call */
    int64_t until;     /* of the current step: never after deadline */
    PGresult *answer;  /* the last result with rows */
    cen_status status; /* the result of the call */
    cen_error error;
} ceni_pq_work;

/* What a call waits for, besides CEN_READABLE (1) and CEN_WRITABLE (2) of the connection's socket. */
enum { CENI_PQ_DONE = 0, CENI_PQ_READ = 1, CENI_PQ_WRITE = 2, CENI_PQ_CANCEL = 4, CENI_PQ_LOOKUP = 8 };

void ceni_pq_work_init(ceni_pq_work *work, ceni_pq_state *state, PGconn *conn, ceni_pq_kind kind);

/* Do what is possible now. Returns what to wait for, until work->until. CANCEL: the end of the cancel request; LOOKUP:
 * continue, with work->may_wait set, on a thread that may wait. DONE: work->status has the result, and after a
 * successful open work->conn is the connection. */
int ceni_pq_go(ceni_pq_work *work);

/* Continue after work->until has passed. */
int ceni_pq_late(ceni_pq_work *work);

/* Give the call up, with this status. */
void ceni_pq_give_up(ceni_pq_work *work, cen_status status, const char *why);

/* ---- capacity.c ---------------------------------------------------------------------------------------------- */

extern const char ceni_pq_capacity_question[];
cen_status ceni_pq_capacity_read(const PGconn *conn, const PGresult *answer, uint32_t max, cen_pq_capacity_report *out,
                                 cen_error *error);

/* ---- block.c, later.c: the two forms of the calls ------------------------------------------------------------ */

cen_status ceni_pq_open(void *state, void **out, cen_error *error);
cen_status ceni_pq_test(void *state, void *conn, cen_error *error);
cen_status ceni_pq_reset(void *state, void *conn, cen_error *error);
void ceni_pq_cancel_all(void *state); /* the process exits: calls that wait for a server fail */

void ceni_pq_open_async(void *state, cen_ticket ticket);
void ceni_pq_test_async(void *state, void *conn, cen_ticket ticket);
void ceni_pq_reset_async(void *state, void *conn, cen_ticket ticket);
void ceni_pq_cancel_call(void *state, cen_ticket ticket);

#endif
