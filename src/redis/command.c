/* SPDX-License-Identifier: MIT */
/*
 * Commands that the ledger tracks. A command is formatted as hiredis would, its name is read from the bytes, and the
 * ledger of the connection notes it. Replies update the ledger by themselves as they pass the reader.
 *
 * The blocking form sends the bytes itself, past hiredis' buffer: that saves a copy and an allocation, and raises no
 * SIGPIPE.
 */
#include "redis/redis.h"
#include "redis/channel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void fail(redisContext *context, int err, const char *text)
{
    context->err = err;
    snprintf(context->errstr, sizeof context->errstr, "%s", text);
}

/* ---- The blocking form --------------------------------------------------------------------------------- */

static bool send_bytes(redisContext *context, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t count = send(context->fd, bytes, size, MSG_NOSIGNAL);
        if (count >= 0) {
            bytes += count;
            size -= (size_t)count;
        } else if (errno != EINTR) {
            char reason[100];
            fail(context, REDIS_ERR_IO, strerror_r(errno, reason, sizeof reason));
            return false;
        }
    }
    return true;
}

/* Send the command, after the commands in the buffer if there are any. */
static bool send_now(redisContext *context, const char *bytes, size_t size)
{
    if (ceni_redis_unsent(context) > 0) {
        if (!send_bytes(context, context->obuf, ceni_redis_unsent(context))) return false;
        ceni_redis_sent_all(context);
        ceni_redis_ledger *ledger = ceni_redis_ledger_of(context);
        if (ledger) ledger->appended = 0;
    }
    return send_bytes(context, bytes, size);
}

/* Note the command in the ledger. */
static ceni_redis_effect note(redisContext *context, const char *bytes, size_t size)
{
    ceni_redis_ledger *ledger = ceni_redis_ledger_of(context);
    ceni_redis_effect effect = ceni_redis_effect_of(bytes, size, ledger ? ledger->database : 0);
    if (!ledger) return effect;
    ceni_redis_seal_before_command(ledger);
    ceni_redis_ledger_sent(ledger, effect);
    return effect;
}

static int append(redisContext *context, const char *bytes, size_t size)
{
    if (context->err) return REDIS_ERR;
    (void)note(context, bytes, size);
    int answer = redisAppendFormattedCommand(context, bytes, size);
    ceni_redis_ledger *ledger = ceni_redis_ledger_of(context);
    if (ledger) ledger->appended = ceni_redis_unsent(context);
    return answer;
}

/* Send one command and wait for its reply. */
static redisReply *exchange(redisContext *context, const char *bytes, size_t size)
{
    void *reply = NULL;
    if (context->err) return NULL;
    ceni_redis_effect effect = note(context, bytes, size);
    if (!send_now(context, bytes, size)) return NULL;
    if (effect == CENI_REDIS_SILENCE) return NULL;
    return redisGetReply(context, &reply) == REDIS_OK ? reply : NULL;
}

/* Set hiredis' error if the command could not be formatted. */
static bool is_formatted(redisContext *context, ceni_redis_size size)
{
    if (size >= 0) return true;
    if (size == -2) fail(context, REDIS_ERR_OTHER, "Invalid format string");
    else fail(context, REDIS_ERR_OOM, "Out of memory");
    return false;
}

redisReply *cen_redis_vcommand(redisContext *context, const char *format, va_list list)
{
    char *bytes = NULL;
    int size = redisvFormatCommand(&bytes, format, list);
    if (!is_formatted(context, size)) return NULL;
    redisReply *reply = exchange(context, bytes, (size_t)size);
    redisFreeCommand(bytes);
    return reply;
}

redisReply *cen_redis_command(redisContext *context, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    redisReply *reply = cen_redis_vcommand(context, format, list);
    va_end(list);
    return reply;
}

redisReply *cen_redis_command_argv(redisContext *context, int count, const char **arguments, const size_t *lengths)
{
    char *bytes = NULL;
    ceni_redis_size size = redisFormatCommandArgv(&bytes, count, arguments, lengths);
    if (!is_formatted(context, size)) return NULL;
    redisReply *reply = exchange(context, bytes, (size_t)size);
    redisFreeCommand(bytes);
    return reply;
}

int cen_redis_append(redisContext *context, const char *format, ...)
{
    char *bytes = NULL;
    va_list list;
    va_start(list, format);
    int size = redisvFormatCommand(&bytes, format, list);
    va_end(list);
    if (!is_formatted(context, size)) return REDIS_ERR;
    int answer = append(context, bytes, (size_t)size);
    redisFreeCommand(bytes);
    return answer;
}

int cen_redis_append_argv(redisContext *context, int count, const char **arguments, const size_t *lengths)
{
    char *bytes = NULL;
    ceni_redis_size size = redisFormatCommandArgv(&bytes, count, arguments, lengths);
    if (!is_formatted(context, size)) return REDIS_ERR;
    int answer = append(context, bytes, (size_t)size);
    redisFreeCommand(bytes);
    return answer;
}

/* ---- The asynchronous form ----------------------------------------------------------------------------- */

int cen_redis_command_async(redisAsyncContext *context, redisCallbackFn *done, void *argument, const char *format, ...)
{
    char *bytes = NULL;
    va_list list;
    va_start(list, format);
    int size = redisvFormatCommand(&bytes, format, list);
    va_end(list);
    if (size < 0) return REDIS_ERR;
    int answer = ceni_redis_channel_send(context, done, argument, bytes, (size_t)size);
    redisFreeCommand(bytes);
    return answer;
}

int cen_redis_command_argv_async(redisAsyncContext *context, redisCallbackFn *done, void *argument, int count,
                                 const char **arguments, const size_t *lengths)
{
    char *bytes = NULL;
    ceni_redis_size size = redisFormatCommandArgv(&bytes, count, arguments, lengths);
    if (size < 0) return REDIS_ERR;
    int answer = ceni_redis_channel_send(context, done, argument, bytes, (size_t)size);
    redisFreeCommand(bytes);
    return answer;
}
