/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of this room: what a pool's driver keeps, what is noted of a connection, and the talk of the driver itself
 * with a server, which both forms lead, each in its way.
 */
#ifndef CENI_REDIS_REDIS_H
#define CENI_REDIS_REDIS_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include <cenote/redis.h>

/* ---- hiredis: 0.14, and what 1.x calls otherwise ------------------------------------------------------------ */

#if HIREDIS_MAJOR >= 1
typedef size_t ceni_redis_elements;
typedef long long ceni_redis_size; /* of a command that was formatted */
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
    char *user, *password; /* NULL if there is none */
    char *host, *path;     /* one of them */
    int port, database;
} ceni_redis_url;

/* INVALID with a sentence that never shows what may be a password, or NO_MEMORY; *out is for ceni_redis_url_fini only if OK. */
cen_status ceni_redis_url_parse(const char *text, ceni_redis_url *out, cen_error *error);
void ceni_redis_url_fini(ceni_redis_url *url);

/* ---- What a pool's driver keeps: driver.c -------------------------------------------------------------- */

struct ceni_redis_channel;

enum { CENI_REDIS_UNKNOWN = 32 };

typedef struct ceni_redis_server {
    /* fixed once it is prepared */
    ceni_redis_url url;
    char *name;
    cen_redis_role role;
    cen_redis_reset_policy reset;
    int64_t connect_ns, command_ns, test_ns, reset_ns;
    cen_status (*password)(void *argument, char *out, size_t room, cen_error *error);
    void (*on_capacity)(void *argument, const cen_redis_capacity_report *report);
    void *argument; /* of these two */
    uint32_t capacity_max;
    cen_poller *poller;
    char where[200]; /* "Redis at 10.0.0.7:6379 (user app, database 2)" for sentences */
    pid_t process;   /* whose lock it is; a child does without */
    /* an eventfd that is readable when the process exits; -1: there is none, and calls are not cancelled */
    int exits;
    pthread_mutex_t lock;
    /* under the lock */
    bool has_told;                        /* its capacity */
    struct ceni_redis_channel *calls;     /* asynchronous connections with a call under way */
    uint64_t unknown[CENI_REDIS_UNKNOWN]; /* numbers of tickets that were cancelled and are not theirs */
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
void ceni_redis_cancel_all(void *state); /* the process exits: calls that wait for an answer fail */

/* Of the asynchronous one: later.c. */
void ceni_redis_later_open(void *state, cen_ticket ticket);
void ceni_redis_later_test(void *state, void *object, cen_ticket ticket);
void ceni_redis_later_reset(void *state, void *object, cen_ticket ticket);
void ceni_redis_later_close(void *state, void *object, cen_ticket ticket);
void ceni_redis_later_cancel(void *state, cen_ticket ticket);
void ceni_redis_later_interrupt(void *state, void *object);
cen_condition ceni_redis_later_check(void *state, void *object);
void ceni_redis_later_abandon(void *state, void *object);

/* ---- What is noted of a connection: ledger.c ----------------------------------------------------------- */

/* What a command does to its connection, by its name. */
typedef enum ceni_redis_effect {
    CENI_REDIS_NONE = 0,
    CENI_REDIS_MULTI,
    CENI_REDIS_EXEC,
    CENI_REDIS_DISCARD,
    CENI_REDIS_WATCH,
    CENI_REDIS_UNWATCH,
    CENI_REDIS_SELECT,
    CENI_REDIS_SELECT_OWN, /* the database that the connection was opened for */
    CENI_REDIS_SETTING,    /* user, name, tracking, protocol: what only a RESET undoes */
    CENI_REDIS_STREAM,     /* replies come in another number than commands from now on */
    CENI_REDIS_SILENCE,    /* no replies come from now on */
    CENI_REDIS_END,        /* nothing makes it new: the server hangs up, speaks another protocol, or has no way back */
} ceni_redis_effect;

enum { CENI_REDIS_FEW = 32 };

/* Of one connection; hangs on its reader, which gives every reply to the functions here before hiredis has it. Touched by
 * whoever may use the connection. */
typedef struct ceni_redis_ledger {
    ceni_redis_server *pool;
    redisContext *context; /* that it hangs on; fixed */
    /* fixed, and of its own: a holder that has lost it may outlive the pool */
    int fd, database;
    pid_t process;     /* who opened it */
    bool is_quiet;     /* the driver itself talks: nothing is noted */
    bool has_no_reset; /* its server does not know RESET */
    bool is_direct;    /* the reply that is being read answers no command of ours */
    bool has_seal;     /* blocking form only: seal.c */
    size_t appended;   /* bytes in the output buffer that came through cen_redis_append */
    unsigned marks;
    /* Effects of commands whose replies are to come: a ring of a power of two. */
    unsigned char few[CENI_REDIS_FEW], *ring;
    size_t room, first, count;
    redisReplyObjectFunctions *beneath, above; /* hiredis' own, and ours that call these */
} ceni_redis_ledger;

void ceni_redis_ledger_attach(ceni_redis_ledger *ledger, ceni_redis_server *pool, redisContext *context);
void ceni_redis_ledger_fini(ceni_redis_ledger *ledger);
void ceni_redis_ledger_clear(ceni_redis_ledger *ledger); /* it is as it was opened */
/* NULL if it has none: the context is not a pool's, or its reader was exchanged. */
ceni_redis_ledger *ceni_redis_ledger_of(const redisContext *context);
void ceni_redis_ledger_lose(ceni_redis_ledger *ledger);          /* count: dirty until it was reset */
void ceni_redis_ledger_used_directly(ceni_redis_ledger *ledger); /* hiredis was given a command by the program */
/* A command was, or is about to be, sent. */
void ceni_redis_ledger_sent(ceni_redis_ledger *ledger, ceni_redis_effect effect);
cen_condition ceni_redis_ledger_condition(const ceni_redis_ledger *ledger, const redisContext *context);
bool ceni_redis_ledger_needs_reset(const ceni_redis_ledger *ledger); /* what nothing but RESET undoes */
/* Of a command in RESP, as hiredis formats it. */
ceni_redis_effect ceni_redis_effect_of(const char *command, size_t size, int own_database);

/* ---- What hiredis wrote by itself: seal.c --------------------------------------------------------------- */

bool ceni_redis_seal_is_intact(const ceni_redis_ledger *ledger); /* always, of the asynchronous form */
bool ceni_redis_seal_renew(ceni_redis_ledger *ledger);           /* false: out of memory */
/* Before the driver appends or sends a command of the holder: notes what was used directly until now. */
void ceni_redis_seal_before_command(ceni_redis_ledger *ledger);
void ceni_redis_seal_at_reply(ceni_redis_ledger *ledger);

/* ---- The driver's own talk: talk.c --------------------------------------------------------------------- */

typedef enum ceni_redis_step {
    CENI_REDIS_STEP_PASS = 0, /* whatever the answer is */
    CENI_REDIS_STEP_RESET,    /* this and the next let pass what was left unread, until their own answer comes */
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

/* Commands in a row, sent at once, and what their replies must be. */
typedef struct ceni_redis_talk {
    struct {
        ceni_redis_step step;
        char *bytes;
        size_t size;
    } says[CENI_REDIS_STEPS];
    unsigned count, at;
    char mark[20];         /* what PING must bring back: no reply that was left unread is taken for it */
    int64_t most, present; /* clients; -1: not known */
    bool has_capacity;
    cen_status status;
    cen_error error;
} ceni_redis_talk;

cen_status ceni_redis_talk_open(ceni_redis_server *pool, ceni_redis_talk *talk, cen_error *error);
cen_status ceni_redis_talk_test(ceni_redis_server *pool, ceni_redis_talk *talk, cen_error *error);
/* With or without RESET, as the server can. Fails if it cannot, and what the ledger has needs it. */
cen_status ceni_redis_talk_reset(const ceni_redis_ledger *ledger, ceni_redis_talk *talk, cen_error *error);
void ceni_redis_talk_fini(ceni_redis_talk *talk);
/* The next reply: MORE are awaited, all is DONE, it FAILED (talk->status, talk->error), or reset is to be begun AGAIN, because the
 * server has no RESET. */
ceni_redis_told ceni_redis_talk_hear(ceni_redis_ledger *ledger, ceni_redis_talk *talk, const redisReply *reply);

/* ---- How many connections: capacity.c -------------------------------------------------------------------- */

void ceni_redis_capacity_hear(const redisReply *reply, int64_t *most, int64_t *present);
bool ceni_redis_capacity_fill(const char *where, uint32_t max, int64_t most, int64_t present,
                              cen_redis_capacity_report *out);
bool ceni_redis_capacity_is_wanted(ceni_redis_server *pool);
void ceni_redis_capacity_tell(ceni_redis_server *pool,
                              const ceni_redis_talk *talk); /* if it was asked for, once for a pool */

/* ---- Sentences: words.c -------------------------------------------------------------------------------- */

/* Each fills *error and answers its status. */
cen_status ceni_redis_no_memory(const ceni_redis_server *pool, cen_error *error);
cen_status ceni_redis_timed_out(const ceni_redis_server *pool, const char *what, int64_t ns, cen_error *error);
cen_status ceni_redis_system(const ceni_redis_server *pool, const char *what, int code, cen_error *error);
cen_status ceni_redis_answered(const ceni_redis_server *pool, const char *what, const char *text, bool is_secret,
                               cen_error *error);
cen_status ceni_redis_wrong(const ceni_redis_server *pool, cen_status status, int code, const char *sentence,
                            cen_error *error);
/* A context whose err is set; `code` is errno as it was then. */
cen_status ceni_redis_context_failed(const ceni_redis_server *pool, const char *what, const redisContext *context,
                                     int code, cen_error *error);
/* Of the error that a server leaves when it hangs up at once, if there is one in the socket; else of `code`. */
cen_status ceni_redis_last_words(const ceni_redis_server *pool, const char *what, int fd, int code, cen_error *error);

#endif
