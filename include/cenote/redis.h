/* SPDX-License-Identifier: MIT */
/*
 * A driver for pools of Redis connections, over hiredis, for threads or for an event loop. Part of libcenote-redis.
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
 * A lease holds a redisContext of hiredis, or a redisAsyncContext if options.poller is set. It is connected,
 * authenticated and in its database. A connection that comes back in another state is reset before it is lent again.
 *
 * The driver knows the state of a connection from memory, without asking the server, if all commands go through
 * cen_redis_command and its variants: they look at the command's name and at its reply. Commands may also be given to
 * hiredis directly. The driver notices them and resets the connection when it comes back; options.reset opts out.
 *
 * Not allowed on a connection of a pool: redisFree, redisReconnect, redisAsyncFree, redisAsyncDisconnect, another event
 * loop, other functions or private data of its reader.
 *
 * Threads: a connection is used by its holder alone. The rest is about the asynchronous form. Callbacks run on the
 * poller's thread, or in cen_poller_poll. If a connection is discarded, or closed with its pool, the callbacks of its
 * pending commands run with a reply of NULL on the thread of the pool's runtime that closes it. The holder may call
 * cen_redis_command_async from any thread, and hiredis' own functions only on the poller's thread or in a callback.
 * Callbacks of one connection run one at a time, while the connection is locked: they must not wait for another thread
 * that sends on the same connection. The poller's allocator may be called while a connection is locked, too: do not
 * send on a connection while you hold a lock that this allocator takes.
 * Fork: the child closes its copies of the parent's descriptors. The server notices nothing.
 * TLS: not supported. A rediss:// URL is refused.
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

/* ---- The driver ---------------------------------------------------------------------------------------- */

/* The role that the server must report (ROLE) when a connection is opened and when it is tested. */
typedef enum cen_redis_role {
    CEN_REDIS_ANY = 0,
    CEN_REDIS_PRIMARY, /* a connection whose server replied READONLY is closed, too: it was demoted */
    CEN_REDIS_REPLICA,
} cen_redis_role;

/* Which connections are reset when they come back. Every policy resets a connection that a command of cen_redis_command
 * or a variant has changed, that has unread replies, or that is subscribed. A reset is one round trip, on a helper
 * thread or over the poller. The give does not wait for it. */
typedef enum cen_redis_reset_policy {
    /* Default: also every connection that was used directly, by redisCommand, redisAppendCommand, redisAsyncCommand or
     * their variants. The driver notices the bytes that hiredis wrote, and replies to commands that it did not see. A
     * program that calls hiredis directly pays one reset per use. Call cen_redis_command instead, or opt out below. */
    CEN_REDIS_RESET_DIRECT = 0,
    CEN_REDIS_RESET_NOTHING, /* opt out: direct use is ignored, unless the reader's buffer has unread replies */
    CEN_REDIS_RESET_ALL,     /* every connection, after each use */
    /* Opt out in part: direct use is ignored, unless a reply could be that of a command that changes the connection:
     * OK, QUEUED, RESET, the arrays of SUBSCRIBE and HELLO. Replies that were left unread and have not arrived reach
     * the next holder. */
    CEN_REDIS_RESET_CHANGES,
} cen_redis_reset_policy;

/* A pool's max compared with the connections that the server allows. */
typedef struct cen_redis_capacity_report {
    size_t size;          /* sizeof(cen_redis_capacity_report), set by CEN_SIZED; in on_capacity, by cenote */
    uint32_t pool_max;    /* connections that the pool may open; 0: unknown */
    uint32_t max_clients; /* the server's limit */
    uint32_t in_use;      /* open connections of all clients, this one included */
    uint32_t free;        /* connections that can still be opened */
    bool fits;            /* the pool can reach its max: pool_max is at most `free` plus this connection */
    char text[320];       /* all of this as one sentence */
} cen_redis_capacity_report;

/* Zero means the default in every field, and CEN_OFF in a time means no limit. Fields are only ever appended.
 * cen_pool_new copies all that the fields point to, except the poller and `argument`. */
typedef struct cen_redis_options {
    size_t size; /* sizeof(cen_redis_options), set by the macro */
    /* redis://[user[:password]@]host[:port][/database] or unix://[user[:password]@]/path[?db=database]; %41 stands for
     * A, except in numbers. Default redis://127.0.0.1:6379/0 */
    const char *url;
    const char *name; /* of each connection, in the server's CLIENT LIST; default none */
    cen_redis_role role;
    cen_redis_reset_policy reset;
    /* Limit for connecting, authenticating and selecting; default 5 s. Looking up a name comes before and has no limit.
     * If the name has several addresses, the blocking form tries one after the other, each with this limit to connect.
     * The asynchronous form tries only the first. */
    int64_t connect_timeout_ns;
    /* Blocking form only: how long a holder's command waits for the server. Then it fails, and the connection is
     * broken. Default 30 s. Blocking commands such as BLPOP need a shorter timeout of their own. */
    int64_t command_timeout_ns;
    int64_t test_timeout_ns;  /* of a health check; default 2 s */
    int64_t reset_timeout_ns; /* of a reset; default 2 s */
    /* Writes the password, with its final zero at most `room` bytes; replaces the URL's. Called whenever a connection
     * is opened or reset, on that thread, so that the password may change. With a poller it must not wait. Any status
     * but OK fails the opening, or the reset, with that status. An empty password means no AUTH. */
    cen_status (*password)(void *argument, char *out, size_t room, cen_error *error);
    /* Called once, when the first connection was opened, on the thread that opened it. */
    void (*on_capacity)(void *argument, const struct cen_redis_capacity_report *report);
    void *argument;        /* passed to these two */
    uint32_t capacity_max; /* the pool's max, for on_capacity */
    cen_poller *poller;    /* leases hold a redisAsyncContext over this poller, which outlives the pool; default none */
} cen_redis_options;

/* Options with the given fields set and all others zero. */
#define CEN_REDIS_OPTIONS(...) CEN_OPTIONS_(cen_redis_options, __VA_ARGS__)

/* Return a driver for connections to a server, with default options or with the given ones. It always succeeds:
 * cen_pool_new parses and copies, and reports INVALID if the URL or an option is wrong. The string, or the options,
 * must stay valid until cen_pool_new has returned. */
CEN_API cen_driver cen_redis(const char *url);
CEN_API cen_driver cen_redis_with(const cen_redis_options *options);

/* Values of error->code for this driver, and the status of each. A code below 1000 is the system's errno. */
typedef enum cen_redis_code {
    CEN_REDIS_ERROR = 1000,   /* the server replied with any other error: DRIVER */
    CEN_REDIS_NO_AUTH,        /* it requires a password: DRIVER */
    CEN_REDIS_WRONG_PASSWORD, /* the password or the user is wrong: DRIVER */
    CEN_REDIS_NOT_PERMITTED,  /* the user lacks the permission: DRIVER */
    CEN_REDIS_LOADING,        /* it is loading its data: DRIVER */
    CEN_REDIS_READ_ONLY,      /* it is a replica: DRIVER */
    CEN_REDIS_PRIMARY_DOWN,   /* it is a replica without a link to its primary: DRIVER */
    CEN_REDIS_MAX_CLIENTS,    /* it has reached its limit of clients: FULL */
    CEN_REDIS_WRONG_ROLE,     /* it does not have options.role: DRIVER */
    CEN_REDIS_HUNG_UP,        /* it closed the connection: LOST */
    CEN_REDIS_NONSENSE,       /* its reply is not RESP, or matches no command: DRIVER */
    CEN_REDIS_NO_ADDRESS,     /* the host's name could not be looked up: DOWN */
} cen_redis_code;

/* ---- Commands ------------------------------------------------------------------------------------------ */

/* Send a command and wait for its reply, like redisvCommand, redisCommand and redisCommandArgv. Blocking form only;
 * they also work on a context that no pool lent. They raise no SIGPIPE. Return the reply, to be freed with
 * freeReplyObject, or NULL if the connection is lost or the command cannot be formatted: context->err says which.
 * CLIENT REPLY OFF and SKIP have no reply: NULL is returned at once, with context->err 0. */
CEN_API redisReply *cen_redis_vcommand(redisContext *context, const char *format, va_list list);
CEN_API redisReply *cen_redis_command(redisContext *context, const char *format, ...);
CEN_API redisReply *cen_redis_command_argv(redisContext *context, int count, const char **arguments,
                                           const size_t *lengths);

/* Append a command to a pipeline, like redisAppendCommand and redisAppendCommandArgv. redisGetReply returns the replies
 * in order. Do not append a command directly to hiredis before the first reply: the driver notices it only if its reply
 * arrives with the others. Return REDIS_OK or REDIS_ERR. */
CEN_API int cen_redis_append(redisContext *context, const char *format, ...);
CEN_API int cen_redis_append_argv(redisContext *context, int count, const char **arguments, const size_t *lengths);

/* Send a command without waiting, like redisAsyncCommand and redisAsyncCommandArgv, but from any thread.
 * Callbacks: `done` may be NULL. Its reply is freed when it returns. If the connection is lost the reply is NULL; the
 * context is still valid then, and is given back as usual.
 *
 * Return REDIS_OK; or REDIS_ERR, and nothing was sent: the
 * connection is lost, out of memory, or the command is SUBSCRIBE or a variant, MONITOR or CLIENT REPLY. Their
 * replies do not match commands one to one, so they need a connection outside the pool. */
CEN_API int cen_redis_command_async(redisAsyncContext *context, redisCallbackFn *done, void *argument,
                                    const char *format, ...);
CEN_API int cen_redis_command_argv_async(redisAsyncContext *context, redisCallbackFn *done, void *argument, int count,
                                         const char **arguments, const size_t *lengths);

/* ---- Capacity -------------------------------------------------------------------------------------------- */

/* Compare a pool of `max` connections (0: unknown) with the server's maxclients. Waits for the server. Blocking form
 * only.
 *
 * Returns:
 *   OK       the report is filled in
 *   LOST     the connection is lost, or was lost while waiting
 *   DRIVER   the server does not report its number of clients, or its limit
 *   INVALID  context or out is NULL, or out->size is wrong
 */
CEN_API cen_status cen_redis_capacity(redisContext *context, uint32_t max, cen_redis_capacity_report *out,
                                      cen_error *error);

#ifdef __cplusplus
}
#endif
#endif
