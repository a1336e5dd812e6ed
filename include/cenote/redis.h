/* SPDX-License-Identifier: MIT */
/*
 * A driver for pools of Redis connections, based on hiredis, for threads or for an event loop. Part of libcenote-redis.
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
 * A lease holds a redisContext of hiredis, or a redisAsyncContext if options.poller is set. It is connected and
 * authenticated, and its database is selected. A connection that is given back in any other state is reset before it is
 * lent again.
 *
 * If all commands go through cen_redis_command and its variants, the driver knows the state of a connection from
 * memory, without asking the server, because these functions inspect the name of each command and its reply. Commands
 * may also be passed to hiredis directly. The driver notices this and resets the connection when it is given back;
 * options.reset can turn this off.
 *
 * Not allowed on a pool's connection: redisFree, redisReconnect, redisAsyncFree, redisAsyncDisconnect, attaching
 * another event loop, and replacing the functions or private data of its reader.
 *
 * Threads: a connection is used only by its holder. The rest of this paragraph applies to the asynchronous form.
 * Callbacks run on the poller's thread, or in cen_poller_poll. If a connection is discarded, or closed with its pool,
 * the callbacks of its pending commands run with a reply of NULL on the thread of the pool's runtime that closes it.
 * The holder may call cen_redis_command_async from any thread, and hiredis's own functions only on the poller's thread
 * or in a callback. Callbacks of one connection run one at a time while the connection is locked, so they must not wait
 * for another thread that sends on the same connection. The poller's allocator may also be called while a connection is
 * locked, so do not send on a connection while holding a lock that the allocator takes.
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
    CEN_REDIS_PRIMARY, /* a connection whose server replied READONLY, because it was demoted, is closed as well */
    CEN_REDIS_REPLICA,
} cen_redis_role;

/* Which connections are reset when they are given back. Every policy resets a connection that was changed by a command
 * sent with cen_redis_command or a variant, that has unread replies, or that is subscribed. A reset takes one round
 * trip, on a helper thread or through the poller. The give does not wait for it. */
typedef enum cen_redis_reset_policy {
    /* Default: also every connection that was used directly, by redisCommand, redisAppendCommand, redisAsyncCommand or
     * their variants. The driver notices bytes that hiredis wrote, as well as replies to commands that the driver did
     * not see. A program that calls hiredis directly pays for one reset per use. To avoid this, call cen_redis_command
     * instead, or opt out with a policy below. */
    CEN_REDIS_RESET_DIRECT = 0,
    CEN_REDIS_RESET_NOTHING, /* opt out: direct use is ignored, unless the reader's buffer contains unread replies */
    CEN_REDIS_RESET_ALL,     /* every connection, after each use */
    /* Opt out in part: direct use is ignored, unless a reply could be that of a command that changes the connection:
     * OK, QUEUED, RESET, or the arrays of SUBSCRIBE and HELLO. Replies that were left unread and have not arrived yet
     * reach the next holder. */
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
    char text[320];       /* the same information as one sentence */
} cen_redis_capacity_report;

/* In every field, zero means the default. In a time field, CEN_OFF means no limit. Fields are only ever appended.
 * cen_pool_new copies everything that the fields point to, except the poller and `argument`. */
typedef struct cen_redis_options {
    size_t size; /* sizeof(cen_redis_options), set by the macro */
    /* redis://[user[:password]@]host[:port][/database] or unix://[user[:password]@]/path[?db=database]; %41 stands for
     * A, except in numbers. Default redis://127.0.0.1:6379/0 */
    const char *url;
    const char *name; /* the name of each connection in the server's CLIENT LIST; default none */
    cen_redis_role role;
    cen_redis_reset_policy reset;
    /* Time limit for connecting, authenticating and selecting the database; default 5 s. The host name is looked up
     * before that, with no time limit. If the host has several addresses, the blocking form tries one after another,
     * with this limit for each connection attempt. The asynchronous form tries only the first address. */
    int64_t connect_timeout_ns;
    /* Blocking form only: how long a holder's command waits for the server before it fails and the connection counts as
     * broken. Default 30 s. Blocking commands such as BLPOP must be given a shorter timeout. */
    int64_t command_timeout_ns;
    int64_t test_timeout_ns;  /* time limit of a health check; default 2 s */
    int64_t reset_timeout_ns; /* time limit of a reset; default 2 s */
    /* Writes the password to `out`, at most `room` bytes including the terminating zero. This password replaces the one
     * in the URL. Called each time a connection is opened or reset, on the thread that does this, so the password may
     * change. If there is a poller, this call must not wait. If the status is not OK, the open or the reset fails with
     * that status. An empty password means no AUTH. */
    cen_status (*password)(void *argument, char *out, size_t room, cen_error *error);
    /* Called once, after the first connection has been opened, on the thread that opened it. */
    void (*on_capacity)(void *argument, const struct cen_redis_capacity_report *report);
    void *argument;        /* passed to these two callbacks */
    uint32_t capacity_max; /* the pool's max, for on_capacity */
    /* leases hold a redisAsyncContext attached to this poller, which must outlive the pool; default none */
    cen_poller *poller;
} cen_redis_options;

/* Options with the given fields set and all others zero. */
#define CEN_REDIS_OPTIONS(...) CEN_OPTIONS_(cen_redis_options, __VA_ARGS__)

/* Return a driver for connections to a server, with default options or with the given ones. It always succeeds:
 * cen_pool_new parses and copies the settings, and reports INVALID if the URL or an option is wrong. The string or the
 * options must stay valid until cen_pool_new has returned. */
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
    CEN_REDIS_MAX_CLIENTS,    /* it has reached its client limit: FULL */
    CEN_REDIS_WRONG_ROLE,     /* it does not have options.role: DRIVER */
    CEN_REDIS_HUNG_UP,        /* it closed the connection: LOST */
    CEN_REDIS_NONSENSE,       /* its reply is not RESP, or matches no command: DRIVER */
    CEN_REDIS_NO_ADDRESS,     /* the host's name could not be looked up: DOWN */
} cen_redis_code;

/* ---- Commands ------------------------------------------------------------------------------------------ */

/* Send a command and wait for its reply, like redisvCommand, redisCommand and redisCommandArgv. Blocking form only.
 * These functions also work on a context that was not lent by a pool, and raise no SIGPIPE. Return the reply, to be
 * freed with freeReplyObject, or NULL if the connection is lost or the command cannot be formatted; context->err states
 * which. CLIENT REPLY OFF and SKIP have no reply: NULL is returned immediately, and context->err is 0. */
CEN_API redisReply *cen_redis_vcommand(redisContext *context, const char *format, va_list list);
CEN_API redisReply *cen_redis_command(redisContext *context, const char *format, ...);
CEN_API redisReply *cen_redis_command_argv(redisContext *context, int count, const char **arguments,
                                           const size_t *lengths);

/* Append a command to a pipeline, like redisAppendCommand and redisAppendCommandArgv. redisGetReply returns the replies
 * in order. Do not append a command directly to hiredis before reading the first reply: the driver notices such a
 * command only if its reply arrives together with the other replies. Return REDIS_OK or REDIS_ERR. */
CEN_API int cen_redis_append(redisContext *context, const char *format, ...);
CEN_API int cen_redis_append_argv(redisContext *context, int count, const char **arguments, const size_t *lengths);

/* Send a command without waiting, like redisAsyncCommand and redisAsyncCommandArgv, but from any thread.
 * Callbacks: `done` may be NULL. The reply passed to it is freed when it returns. If the connection is lost, the reply
 * is NULL; the context is still valid and is given back as usual.
 *
 * Return REDIS_OK, or REDIS_ERR if nothing was sent because the connection is lost, memory ran out, or the command is
 * SUBSCRIBE or a variant, MONITOR or CLIENT REPLY. Replies to these commands do not match commands one to one, so they
 * need a connection outside the pool. */
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
