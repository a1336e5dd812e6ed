/* SPDX-License-Identifier: MIT */
/*
 * A driver for Redis: pooled connections of hiredis, with threads that wait or in an event loop. libcenote-redis.
 *
 *     cen_pool_options options = CEN_POOL_OPTIONS(.name = "cache", .driver = cen_redis("redis://app:secret@10.0.0.7/2"), .max = 8);
 *     if (cen_pool_new(&options, &pool, &error) != CEN_OK) die(error.text);
 *
 *     CEN_WITH (pool, cen_in_ms(500), redisContext *, redis, &error) {
 *         redisReply *reply = cen_redis_command(redis, "GET %s", key);
 *         // ...
 *         if (reply) freeReplyObject(reply);
 *     } else {
 *         puts(error.text);
 *     }
 *
 * Objects are what hiredis has: redisContext *, or redisAsyncContext * if options.poller is set. They are connected,
 * authenticated and in their database; when they come back in another state they are mended before anybody else has them.
 *
 * What a connection was used for is known from memory, without asking the server, if commands go through cen_redis_command
 * and its kin: they look at the command's name and at its reply. Commands that are given to hiredis directly work as well. The
 * driver notices them and resets the connection when it comes back; options.reset opts out.
 *
 * Not allowed on what a pool lends: redisFree, redisReconnect, redisAsyncFree, redisAsyncDisconnect, another event loop, other
 * functions or private data of its reader.
 *
 * Threads: a connection is used by its holder alone. Of the asynchronous form: callbacks are called on the poller's thread, or in
 * cen_poller_poll; but those of commands that are under way when their connection is discarded, or closed with its pool, are
 * called with a reply of NULL by whoever closes it, on a thread of the pool's runtime. Its holder may call
 * cen_redis_command_async from any thread, and hiredis' own functions on the poller's only, or in a callback. Callbacks of one
 * connection are called one at a time while it is locked: they must not wait for another thread that sends on the same
 * connection. The allocator of the poller may be called while a connection is locked, too: do not send on a connection while you
 * hold a lock that this allocator takes.
 * Fork: a child closes the descriptors that it has inherited, and the server hears nothing.
 * TLS: there is none; a rediss:// URL is refused.
 */
#ifndef CENOTE_REDIS_H
#define CENOTE_REDIS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#include <cenote/deadline.h>
#include <cenote/driver.h>
#include <cenote/poller.h>
#include <cenote/sized.h>
#include <cenote/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Making one ---------------------------------------------------------------------------------------- */

/* What the server must be, by its own word (ROLE), when a connection is opened and when it is tested. */
typedef enum cen_redis_role {
    CEN_REDIS_ANY = 0,
    CEN_REDIS_PRIMARY, /* one that answers READONLY to its holder is closed, too: its server was demoted */
    CEN_REDIS_REPLICA,
} cen_redis_role;

/* Which connections are reset when they come back, beside those that a command of cen_redis_command's kin has changed, that
 * have replies unread, or are subscribed. A reset is one round trip, on a helper thread; nobody waits for it but who wants
 * that connection. */
typedef enum cen_redis_reset_policy {
    /* Default: every connection that was used directly, i.e. whose context was given to redisCommand, redisAppendCommand,
     * redisAsyncCommand or their kin. The driver notices the bytes that hiredis wrote, and replies to commands it did not
     * see. A program that calls hiredis directly pays one reset per use: call cen_redis_command instead, or opt out below. */
    CEN_REDIS_RESET_DIRECT = 0,
    CEN_REDIS_RESET_NOTHING, /* opt out: direct use is ignored, unless replies lie unread in the reader's buffer */
    CEN_REDIS_RESET_ALL,     /* every connection, after each use */
    /* Opt out of part: direct use is ignored unless a reply could be that of a command that changes the connection: OK, QUEUED,
     * RESET, the arrays of SUBSCRIBE and HELLO. Replies that were left unread and have not arrived reach the next holder. */
    CEN_REDIS_RESET_CHANGES,
} cen_redis_reset_policy;

/* A pool's max beside what the server has. */
typedef struct cen_redis_capacity_report {
    size_t size;          /* sizeof(cen_redis_capacity_report), set by CEN_SIZED; in on_capacity, the library's */
    uint32_t pool_max;    /* what the pool may open; 0: unknown */
    uint32_t max_clients; /* the server's */
    uint32_t in_use;      /* connections of clients now, of whatever program, this one included */
    uint32_t free;        /* that can still be opened */
    bool fits;            /* the pool can reach its max: with what it has, pool_max is not more than 1 + free */
    char text[320];       /* all that as one sentence */
} cen_redis_capacity_report;

/* Zero means default in every field, and CEN_OFF in a time means no limit. Fields are only ever appended. All that is pointed
 * to, but the poller and `argument`, need only live until cen_pool_new has returned. */
typedef struct cen_redis_options {
    size_t size; /* sizeof(cen_redis_options), set by the macro */
    /* redis://[user[:password]@]host[:port][/database] or unix://[user[:password]@]/path[?db=database]; %41 is A in all but the
     * numbers. Default redis://127.0.0.1:6379/0 */
    const char *url;
    const char *name; /* of each connection, in the server's CLIENT LIST; default none */
    cen_redis_role role;
    cen_redis_reset_policy reset;
    /* To connect, authenticate and select; default 5 s. A name is looked up before, in the system's own time. If it has several
     * addresses, the blocking form tries one after the other, each for so long; the asynchronous one tries the first. */
    int64_t connect_timeout_ns;
    /* of the blocking form: a holder's command fails when the server says nothing for so long, and the connection is
     * broken; default 30 s; BLPOP and its like must wait for less */
    int64_t command_timeout_ns;
    int64_t test_timeout_ns;  /* default 2 s */
    int64_t reset_timeout_ns; /* default 2 s */
    /* Writes the password, with a final zero, of at most `room` bytes; instead of the URL's. Asked whenever a connection
     * is opened or reset, on that thread, so that passwords may change; of the asynchronous form it must not wait. Anything
     * but OK fails the opening with that status. An empty one: no AUTH. */
    cen_status (*password)(void *argument, char *out, size_t room, cen_error *error);
    /* Told once, when the first connection was opened, on that thread. */
    void (*on_capacity)(void *argument, const struct cen_redis_capacity_report *report);
    void *argument;        /* of these two */
    uint32_t capacity_max; /* the pool's max, for on_capacity */
    cen_poller *poller; /* objects are redisAsyncContext *, driven by this; lives longer than the pool; default none */
} cen_redis_options;

#define CEN_REDIS_OPTIONS(...) CEN_OPTIONS_(cen_redis_options, __VA_ARGS__)

/* Driver values for cen_pool_options.driver: nothing is parsed or copied before cen_pool_new, which answers INVALID, with a
 * sentence, if something is wrong with it. The second has to have its options until then. */
CEN_API cen_driver cen_redis(const char *url);
CEN_API cen_driver cen_redis_with(const cen_redis_options *options);

/* error->code of what this driver answers: below 1000 the system's errno; then DOWN, if nobody listens there. */
typedef enum cen_redis_code {
    CEN_REDIS_ERROR = 1000,   /* the server answered with an error that is none of these: DRIVER */
    CEN_REDIS_NO_AUTH,        /* it wants a password: DRIVER */
    CEN_REDIS_WRONG_PASSWORD, /* or there is no such user: DRIVER */
    CEN_REDIS_NOT_PERMITTED,  /* the user may not do that: DRIVER */
    CEN_REDIS_LOADING,        /* it is reading its file: DRIVER */
    CEN_REDIS_READ_ONLY,      /* it is a replica: DRIVER */
    CEN_REDIS_PRIMARY_DOWN,   /* it is a replica that does not reach its primary: DRIVER */
    CEN_REDIS_MAX_CLIENTS,    /* it has as many clients as it may have: FULL */
    CEN_REDIS_WRONG_ROLE,     /* it is not what options.role asks for: DRIVER */
    CEN_REDIS_HUNG_UP,        /* it closed the connection: LOST */
    CEN_REDIS_NONSENSE,       /* what it said is not RESP, or answers no question: DRIVER */
    CEN_REDIS_NO_ADDRESS,     /* the host's name could not be looked up: DOWN */
} cen_redis_code;

/* ---- Commands ------------------------------------------------------------------------------------------ */

/* As redisCommand, redisvCommand and redisCommandArgv, of the blocking form; on a context of no pool they are the same. Replies are
 * hiredis' and freed by freeReplyObject. No SIGPIPE is raised. After CLIENT REPLY OFF or SKIP, to which there is no reply, they
 * answer NULL at once, with context->err 0. */
CEN_API redisReply *cen_redis_vcommand(redisContext *context, const char *format, va_list list);
CEN_API redisReply *cen_redis_command(redisContext *context, const char *format, ...);
CEN_API redisReply *cen_redis_command_argv(redisContext *context, int count, const char **arguments,
                                           const size_t *lengths);

/* As redisAppendCommand and redisAppendCommandArgv: redisGetReply returns the replies in order. REDIS_OK or REDIS_ERR. Do not
 * append directly before the first reply: such a command is noticed only when its reply arrives with the others. */
CEN_API int cen_redis_append(redisContext *context, const char *format, ...);
CEN_API int cen_redis_append_argv(redisContext *context, int count, const char **arguments, const size_t *lengths);

/* As redisAsyncCommand and redisAsyncCommandArgv, from any thread. `done` may be NULL, and is called with a reply of NULL if the
 * connection was lost; the context is still there then, and is given back as usual. The reply is freed when it returns.
 * REDIS_ERR, and nothing was sent: the connection is lost, there is no memory, or it is a command whose replies do not come one for
 * each command: SUBSCRIBE and its kin, MONITOR, CLIENT REPLY. Those need a connection of their own, and not of a pool. */
CEN_API int cen_redis_command_async(redisAsyncContext *context, redisCallbackFn *done, void *argument,
                                    const char *format, ...);
CEN_API int cen_redis_command_argv_async(redisAsyncContext *context, redisCallbackFn *done, void *argument, int count,
                                         const char **arguments, const size_t *lengths);

/* ---- Capacity -------------------------------------------------------------------------------------------- */

/* Asks the server, over a connection of the blocking form, how a pool of `max` connections, 0 if that is unknown, goes
 * with its maxclients. Errors: LOST, DRIVER (it does not say), INVALID (NULL). */
CEN_API cen_status cen_redis_capacity(redisContext *context, uint32_t max, cen_redis_capacity_report *out,
                                      cen_error *error);

#ifdef __cplusplus
}
#endif
#endif
