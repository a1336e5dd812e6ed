/* SPDX-License-Identifier: MIT */
/*
 * The shared declarations of this room: the state of a pool's driver, the ledger of a connection, and the talk, the
 * driver's own commands to a server, which both forms use.
 */
#ifndef CENI_REDIS_REDIS_H
#define CENI_REDIS_REDIS_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include <cenote/redis.h>

/* ---- hiredis: 0.14, and the other names of 1.x -------------------------------------------------------------- */

#if HIREDIS_MAJOR >= 1
typedef size_t ceni_redis_elements;
typedef long long ceni_redis_size; /* of a formatted command */
#define ceni_redis_unsent(context) hi_sdslen((context)->obuf)
#define ceni_redis_sent_all(context) hi_sdsclear((context)->obuf)
#define ceni_redis_sent_some(context, count) hi_sdsrange((context)->obuf, (count), -1)
#define ceni_redis_first_task(reader) ((reader)->task[0])
#define ceni_redis_free(memory) hi_free(memory)
#else
typedef int ceni_redis_elements;
typedef int ceni_redis_size;
#define ceni_redis_unsent(context) sdslen((context)->obuf)
#define ceni_redis_sent_all(context) sdsclear((context)->obuf)
#define ceni_redis_sent_some(context, count) sdsrange((context)->obuf, (int)(count), -1)
#define ceni_redis_first_task(reader) (&(reader)->rstack[0])
#define ceni_redis_free(memory) free(memory)
#endif

/* ---- The address: url.c -------------------------------------------------------------------------------- */

typedef struct ceni_redis_url {
    char *user, *password; /* NULL: none */
    char *host, *path;     /* one of them is NULL */
    int port, database;
} ceni_redis_url;

/* Parse an address. Errors: INVALID, with a text that never shows what may be a password, or NO_MEMORY. *out needs
 * ceni_redis_url_fini only after OK. */
cen_status ceni_redis_url_parse(const char *text, ceni_redis_url *out, cen_error *error);
void ceni_redis_url_fini(ceni_redis_url *url);

/* ---- The state of a pool's driver: driver.c ------------------------------------------------------------ */

struct ceni_redis_channel;

enum { CENI_REDIS_UNKNOWN = 32 };

typedef struct ceni_redis_server {
    /* constant after prepare */
    ceni_redis_url url;
    char *name;
    cen_redis_role role;
    cen_redis_reset_policy reset;
    int64_t connect_ns, command_ns, test_ns, reset_ns;
    cen_status (*password)(void *argument, char *out, size_t room, cen_error *error);
    void (*on_capacity)(void *argument, const cen_redis_capacity_report *report);
    void *argument; /* of these two functions */
    uint32_t capacity_max;
    cen_poller *poller;
    char where[200]; /* "Redis at 10.0.0.7:6379, database 2, user \"app\"", for messages */
    pid_t process;   /* the process that the lock belongs to; a child does not use it */
    /* an eventfd that becomes readable when the process exits; -1: none, and calls are not cancelled then */
    int exits;
    pthread_mutex_t lock;
    /* under the lock */
    bool has_told;                        /* the capacity was reported */
    struct ceni_redis_channel *calls;     /* asynchronous connections with a current call */
    uint64_t unknown[CENI_REDIS_UNKNOWN]; /* numbers of cancelled tickets that are not among them */
    uint32_t unknown_count;
} ceni_redis_server;

cen_status ceni_redis_prepare(const cen_redis_options *options, ceni_redis_server **out, cen_error *error);
void ceni_redis_fini(void *state);

/* The calls of the blocking form: blocking.c. */
cen_status ceni_redis_open(void *state, void **out, cen_error *error);
void ceni_redis_close(void *state, void *object);
void ceni_redis_interrupt(void *state, void *object);
cen_condition ceni_redis_check(void *state, void *object);
cen_status ceni_redis_reset(void *state, void *object, cen_error *error);
cen_status ceni_redis_test(void *state, void *object, cen_error *error);
void ceni_redis_abandon(void *state, void *object);
void ceni_redis_cancel_all(void *state); /* the process exits: calls that wait for a reply fail */

/* The calls of the asynchronous form: later.c. */
void ceni_redis_later_open(void *state, cen_ticket ticket);
void ceni_redis_later_test(void *state, void *object, cen_ticket ticket);
void ceni_redis_later_reset(void *state, void *object, cen_ticket ticket);
void ceni_redis_later_close(void *state, void *object, cen_ticket ticket);
void ceni_redis_later_cancel(void *state, cen_ticket ticket);
void ceni_redis_later_interrupt(void *state, void *object);
cen_condition ceni_redis_later_check(void *state, void *object);
void ceni_redis_later_abandon(void *state, void *object);

/* ---- The state of a connection: ledger.c --------------------------------------------------------------- */

/* The effect of a command on its connection, by its name. */
typedef enum ceni_redis_effect {
    CENI_REDIS_NONE = 0,
    CENI_REDIS_MULTI,
    CENI_REDIS_EXEC,
    CENI_REDIS_DISCARD,
    CENI_REDIS_WATCH,
    CENI_REDIS_UNWATCH,
    CENI_REDIS_SELECT,
    CENI_REDIS_SELECT_OWN, /* the database that the connection was opened for */
    CENI_REDIS_SETTING,    /* user, name, tracking, protocol: only RESET undoes them */
    CENI_REDIS_STREAM,     /* from now on the number of replies differs from that of commands */
    CENI_REDIS_SILENCE,    /* from now on there are no replies */
    CENI_REDIS_END,        /* cannot be undone: the server hangs up, speaks another protocol, or has no way back */
} ceni_redis_effect;

enum { CENI_REDIS_FEW = 32 };

/* The ledger of one connection. It is attached to the reader, which passes every reply to the functions here before
 * hiredis. Only the current user of the connection touches it. */
typedef struct ceni_redis_ledger {
    ceni_redis_server *pool;
    redisContext *context; /* constant; the context it is attached to */
    /* constant copies: a holder that has lost the connection may outlive the pool */
    int fd, database;
    pid_t process;     /* the process that opened it */
    bool is_quiet;     /* the driver itself talks: nothing is noted */
    bool has_no_reset; /* the server does not support RESET */
    bool is_direct;    /* the reply being read belongs to no command of ours */
    bool has_seal;     /* blocking form only: seal.c */
    size_t appended;   /* bytes in the output buffer that came through cen_redis_append */
    unsigned marks;
    /* The effects of commands whose replies are to come: a ring whose size is a power of two. */
    unsigned char few[CENI_REDIS_FEW], *ring;
    size_t room, first, count;
    redisReplyObjectFunctions *beneath, above; /* hiredis' functions, and ours, which call them */
} ceni_redis_ledger;

void ceni_redis_ledger_attach(ceni_redis_ledger *ledger, ceni_redis_server *pool, redisContext *context);
void ceni_redis_ledger_fini(ceni_redis_ledger *ledger);
void ceni_redis_ledger_clear(ceni_redis_ledger *ledger); /* the connection is as it was opened */
/* NULL: the context is not a pool's, or its reader was replaced. */
ceni_redis_ledger *ceni_redis_ledger_of(const redisContext *context);
void ceni_redis_ledger_lose(ceni_redis_ledger *ledger);          /* the count: dirty until it was reset */
void ceni_redis_ledger_used_directly(ceni_redis_ledger *ledger); /* the program gave hiredis a command */
/* Note a command that was, or is about to be, sent. */
void ceni_redis_ledger_sent(ceni_redis_ledger *ledger, ceni_redis_effect effect);
cen_condition ceni_redis_ledger_condition(const ceni_redis_ledger *ledger, const redisContext *context);
bool ceni_redis_ledger_needs_reset(const ceni_redis_ledger *ledger); /* there are changes that only RESET undoes */
/* `command` is in RESP, as hiredis formats it. */
ceni_redis_effect ceni_redis_effect_of(const char *command, size_t size, int own_database);

/* ---- Writes by hiredis itself: seal.c ------------------------------------------------------------------- */

bool ceni_redis_seal_is_intact(const ceni_redis_ledger *ledger); /* always true in the asynchronous form */
bool ceni_redis_seal_renew(ceni_redis_ledger *ledger);           /* false: out of memory */
/* Note direct use until now, before the driver appends or sends a command of the holder. */
void ceni_redis_seal_before_command(ceni_redis_ledger *ledger);
void ceni_redis_seal_at_reply(ceni_redis_ledger *ledger);

/* ---- The driver's own talk: talk.c --------------------------------------------------------------------- */

typedef enum ceni_redis_step {
    CENI_REDIS_STEP_PASS = 0, /* the reply does not matter */
    CENI_REDIS_STEP_RESET,    /* this and the next let unread replies pass until their own arrives */
    CENI_REDIS_STEP_MARK,
    CENI_REDIS_STEP_AUTH,
    CENI_REDIS_STEP_SELECT,
    CENI_REDIS_STEP_NAME,
    CENI_REDIS_STEP_ROLE,
    CENI_REDIS_STEP_INFO, /* these two may fail */
    CENI_REDIS_STEP_MOST,
    CENI_REDIS_STEP_PING,
} ceni_redis_step;

typedef enum ceni_redis_told {
    CENI_REDIS_MORE = 0,
    CENI_REDIS_DONE,
    CENI_REDIS_FAILED,
    CENI_REDIS_AGAIN
} ceni_redis_told;

enum { CENI_REDIS_STEPS = 10 };

/* Commands that are sent at once, and the rules for their replies. */
typedef struct ceni_redis_talk {
    struct {
        ceni_redis_step step;
        char *bytes;
        size_t size;
    } says[CENI_REDIS_STEPS];
    unsigned count, at;
    char mark[20];         /* the text that PING must return, so that no unread reply is taken for it */
    int64_t most, present; /* clients; -1: unknown */
    bool has_capacity;
    cen_status status;
    cen_error error;
} ceni_redis_talk;

cen_status ceni_redis_talk_open(ceni_redis_server *pool, ceni_redis_talk *talk, cen_error *error);
cen_status ceni_redis_talk_test(ceni_redis_server *pool, ceni_redis_talk *talk, cen_error *error);
/* With or without RESET, as the server supports it. Fails if it does not, and the ledger has changes that need it. */
cen_status ceni_redis_talk_reset(const ceni_redis_ledger *ledger, ceni_redis_talk *talk, cen_error *error);
void ceni_redis_talk_fini(ceni_redis_talk *talk);
/* Handle the next reply. MORE: others follow; DONE: all have come; FAILED: see talk->status and talk->error; AGAIN:
 * start the reset again, because the server does not support RESET. */
ceni_redis_told ceni_redis_talk_hear(ceni_redis_ledger *ledger, ceni_redis_talk *talk, const redisReply *reply);

/* ---- The server's capacity: capacity.c ------------------------------------------------------------------- */

void ceni_redis_capacity_hear(const redisReply *reply, int64_t *most, int64_t *present);
bool ceni_redis_capacity_fill(const char *where, uint32_t max, int64_t most, int64_t present,
                              cen_redis_capacity_report *out);
bool ceni_redis_capacity_is_wanted(ceni_redis_server *pool);
void ceni_redis_capacity_tell(ceni_redis_server *pool, const ceni_redis_talk *talk); /* if it was read; once per pool */

/* ---- Error texts: words.c ------------------------------------------------------------------------------ */

/* Each fills *error and returns its status. */
cen_status ceni_redis_no_memory(const ceni_redis_server *pool, cen_error *error);
cen_status ceni_redis_timed_out(const ceni_redis_server *pool, const char *what, int64_t ns, cen_error *error);
cen_status ceni_redis_system(const ceni_redis_server *pool, const char *what, int code, cen_error *error);
cen_status ceni_redis_answered(const ceni_redis_server *pool, const char *what, const char *text, bool is_secret,
                               cen_error *error);
cen_status ceni_redis_wrong(const ceni_redis_server *pool, cen_status status, int code, const char *sentence,
                            cen_error *error);
/* For a context whose err is set; `code`: errno at that time. */
cen_status ceni_redis_context_failed(const ceni_redis_server *pool, const char *what, const redisContext *context,
                                     int code, cen_error *error);
/* Use the error that a server sends before it hangs up, if there is one in the socket; else `code`. */
cen_status ceni_redis_last_words(const ceni_redis_server *pool, const char *what, int fd, int code, cen_error *error);

#endif
