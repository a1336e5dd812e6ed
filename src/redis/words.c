/* SPDX-License-Identifier: MIT */
/*
 * Errors: statuses, codes and texts. Every text begins with the server's address and the user, and none contains a
 * password: a server without AUTH repeats its arguments, so of a reply to AUTH only known harmless ones are shown.
 */
#include "redis/redis.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* The beginnings of a server's errors, and their meanings. */
static const struct kind {
    const char *begins;
    int code;
    cen_status status;
    const char *phrase;
} kinds[] = {
    {"NOAUTH", CEN_REDIS_NO_AUTH, CEN_DRIVER, "password required"},
    {"WRONGPASS", CEN_REDIS_WRONG_PASSWORD, CEN_DRIVER, "authentication failed"},
    {"ERR invalid password", CEN_REDIS_WRONG_PASSWORD, CEN_DRIVER, "authentication failed"},
    {"ERR AUTH <password> called without any password", CEN_REDIS_WRONG_PASSWORD, CEN_DRIVER,
     "no password set on the server"},
    {"ERR Client sent AUTH, but no password is set", CEN_REDIS_WRONG_PASSWORD, CEN_DRIVER,
     "no password set on the server"},
    {"NOPERM", CEN_REDIS_NOT_PERMITTED, CEN_DRIVER, "permission denied"},
    {"LOADING", CEN_REDIS_LOADING, CEN_DRIVER, "server still loading its data"},
    {"READONLY", CEN_REDIS_READ_ONLY, CEN_DRIVER, "server is a read-only replica"},
    {"MASTERDOWN", CEN_REDIS_PRIMARY_DOWN, CEN_DRIVER, "server is a replica without a link to its primary"},
    {"ERR max number of clients", CEN_REDIS_MAX_CLIENTS, CEN_FULL, "too many clients"},
};

static cen_status say(cen_status status, int code, cen_error *error)
{
    error->status = status;
    error->code = code;
    return status;
}

cen_status ceni_redis_no_memory(const ceni_redis_server *pool, cen_error *error)
{
    snprintf(error->text, sizeof error->text, "%s: out of memory", pool->where);
    return say(CEN_NO_MEMORY, ENOMEM, error);
}

cen_status ceni_redis_timed_out(const ceni_redis_server *pool, const char *what, int64_t ns, cen_error *error)
{
    snprintf(error->text, sizeof error->text, "%s: %s timed out (limit %lld ms)", pool->where, what,
             (long long)(ns / 1000000));
    return say(CEN_TIMEOUT, ETIMEDOUT, error);
}

cen_status ceni_redis_system(const ceni_redis_server *pool, const char *what, int code, cen_error *error)
{
    if (code == ECANCELED) {
        snprintf(error->text, sizeof error->text, "%s: %s failed: process is exiting", pool->where, what);
        return say(CEN_CLOSED, code, error);
    }
    char reason[120];
    /* GNU's form may return a text that is not in the buffer. */
    snprintf(error->text, sizeof error->text, "%s: %s failed: %s", pool->where, what,
             strerror_r(code, reason, sizeof reason));
    switch (code) {
    case ECONNRESET:
    case EPIPE:
    case ENOTCONN: return say(CEN_LOST, code, error);
    case ECONNREFUSED:
    case ENOENT: /* no such socket */
    case EHOSTUNREACH:
    case ENETUNREACH: return say(CEN_DOWN, code, error);
    default: return say(CEN_SYSTEM, code, error);
    }
}

cen_status ceni_redis_wrong(const ceni_redis_server *pool, cen_status status, int code, const char *sentence,
                            cen_error *error)
{
    snprintf(error->text, sizeof error->text, "%s: %s", pool->where, sentence);
    return say(status, code, error);
}

cen_status ceni_redis_answered(const ceni_redis_server *pool, const char *what, const char *text, bool is_secret,
                               cen_error *error)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strncmp(text, kinds[i].begins, strlen(kinds[i].begins)) != 0) continue;
        snprintf(error->text, sizeof error->text, "%s: %s failed: %s (%.200s)", pool->where, what, kinds[i].phrase,
                 text);
        return say(kinds[i].status, kinds[i].code, error);
    }
    if (is_secret) {
        int word = (int)strcspn(text, " ");
        snprintf(error->text, sizeof error->text,
                 "%s: %s failed: the server replied %.*s (rest not shown, may contain the password)", pool->where, what,
                 word > 40 ? 40 : word, text);
    } else {
        snprintf(error->text, sizeof error->text, "%s: %s failed: the server replied \"%.200s\"", pool->where, what,
                 text);
    }
    return say(CEN_DRIVER, CEN_REDIS_ERROR, error);
}

cen_status ceni_redis_context_failed(const ceni_redis_server *pool, const char *what, const redisContext *context,
                                     int code, cen_error *error)
{
    char sentence[240];
    switch (context->err) {
    case REDIS_ERR_IO:
        return code == ETIMEDOUT || code == EAGAIN || code == EINPROGRESS
                   ? ceni_redis_timed_out(pool, what, pool->connect_ns, error)
                   : ceni_redis_system(pool, what, code, error);
    case REDIS_ERR_EOF:
        snprintf(sentence, sizeof sentence, "%s failed: connection closed by the server", what);
        return ceni_redis_wrong(pool, CEN_LOST, CEN_REDIS_HUNG_UP, sentence, error);
    case REDIS_ERR_OOM: return ceni_redis_no_memory(pool, error);
    case REDIS_ERR_PROTOCOL:
        snprintf(sentence, sizeof sentence, "%s failed: reply is not RESP: %.100s", what, context->errstr);
        return ceni_redis_wrong(pool, CEN_DRIVER, CEN_REDIS_NONSENSE, sentence, error);
    default: break; /* hiredis' own message: a failed name lookup, or an error that the server sent unasked */
    }
    if (strncmp(context->errstr, "ERR ", 4) == 0) return ceni_redis_answered(pool, what, context->errstr, false, error);
    snprintf(sentence, sizeof sentence, "%s failed: %.130s", what, context->errstr);
    if (context->flags & REDIS_CONNECTED) return ceni_redis_wrong(pool, CEN_LOST, CEN_REDIS_HUNG_UP, sentence, error);
    return ceni_redis_wrong(pool, CEN_DOWN, CEN_REDIS_NO_ADDRESS, sentence, error);
}

cen_status ceni_redis_last_words(const ceni_redis_server *pool, const char *what, int fd, int code, cen_error *error)
{
    char text[256];
    ssize_t size = recv(fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_PEEK);
    if (size <= 1 || text[0] != '-') return ceni_redis_system(pool, what, code, error);
    text[size] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    return ceni_redis_answered(pool, what, text + 1, true, error);
}
