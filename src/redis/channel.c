/* SPDX-License-Identifier: MIT */
/*
 * The bytes of an asynchronous connection, and its life.
 *
 * hiredis' own handlers free a context as soon as the server hangs up. A pool cannot have that: its holder, and the pool
 * itself, would be left with a pointer to nothing. So they are never called. A redisAsyncContext is used as what it is, a
 * connection with a list of callbacks: hiredis formats, queues and parses, and this file reads, writes and calls back. When
 * the connection is lost, callbacks are told so with a reply of NULL, as hiredis would, further commands are refused, and the
 * context stays until its holder gave it back and the pool closes it. Subscriptions are hiredis' own secret and are not
 * served; a context that has some is closed when it comes back.
 *
 * A line is held once for its object and once for each watch; whoever drops the last hold frees it. A watch's hold is dropped at
 * the very end of its `ready`, so nothing is freed beneath a callback, even one that gives its own connection back.
 *
 * Locks: the line's own, then the pool's. No call of cenote that may call back is made with either: cen_driver_done comes
 * last. The program's callbacks are called with the line's, which it can take again. cen_poller_unwatch may wait for a
 * `ready`, which takes the line's, and so is called without it, except within a `ready`, where it does not wait.
 */
#include "redis/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- Watches and life ---------------------------------------------------------------------------------- */

bool ceni_redis_channel_watch(ceni_redis_channel *line, cen_watch *watch, int fd, unsigned events,
                              cen_deadline deadline)
{
    if (line->is_closing) return false;
    if (cen_poller_watch(line->pool->poller, watch, fd, events, deadline) != CEN_OK) return false;
    line->holds++;
    return true;
}

static void destroy(ceni_redis_channel *line)
{
    redisAsyncContext *context = line->context;
    context->ev.addWrite = NULL;
    /* Tells callbacks that are left, those of subscriptions, and closes the descriptor. */
    redisAsyncFree(context);
    if (line->second >= 0) close(line->second);
    ceni_redis_talk_fini(&line->talk);
    ceni_redis_ledger_fini(&line->ledger);
    pthread_mutex_destroy(&line->lock);
    free(line);
}

static void drop(ceni_redis_channel *line, unsigned count)
{
    pthread_mutex_lock(&line->lock);
    line->holds -= count;
    bool is_last = line->holds == 0;
    pthread_mutex_unlock(&line->lock);
    if (!is_last) return;
    bool has_farewell = line->has_farewell;
    cen_ticket farewell = line->farewell;
    destroy(line);
    if (has_farewell) cen_driver_done(farewell, CEN_OK, NULL, NULL); /* the pool may be gone after this */
}

void ceni_redis_channel_drop(ceni_redis_channel *line)
{
    drop(line, 1);
}

void ceni_redis_channel_release(ceni_redis_channel *line)
{
    cen_poller *poller = line->pool->poller;
    pthread_mutex_lock(&line->lock);
    line->is_closing = true; /* nothing is watched anew */
    pthread_mutex_unlock(&line->lock);
    unsigned count = 1; /* the object's own */
    if (cen_poller_unwatch(poller, &line->reading)) count++;
    if (cen_poller_unwatch(poller, &line->writing)) count++;
    if (cen_poller_unwatch(poller, &line->timing)) count++;
    drop(line, count);
}

/* ---- Callbacks ----------------------------------------------------------------------------------------- */

static bool shift(redisCallbackList *list, redisCallback *out)
{
    redisCallback *first = list->head;
    if (!first) return false;
    *out = *first;
    list->head = first->next;
    if (list->tail == first) list->tail = NULL;
    ceni_redis_free(first);
    return true;
}

/* While it is marked so, redisAsyncFree by a callback frees nothing. */
static void call(redisAsyncContext *context, const redisCallback *callback, void *reply)
{
    if (!callback->fn) return;
    context->c.flags |= REDIS_IN_CALLBACK;
    callback->fn(context, reply, callback->privdata);
    context->c.flags &= ~REDIS_IN_CALLBACK;
}

void ceni_redis_channel_lose(ceni_redis_channel *line, int err, const char *text)
{
    redisAsyncContext *context = line->context;
    redisCallback callback;
    if (line->is_lost) return;
    line->is_lost = true;
    if (err && !context->c.err) {
        context->c.err = err;
        snprintf(context->c.errstr, sizeof context->c.errstr, "%s", text);
    }
    context->err = context->c.err;
    context->errstr = context->c.errstr;
    context->c.flags |= REDIS_DISCONNECTING; /* no further commands */
    while (shift(&context->replies, &callback)) call(context, &callback, NULL);
    if (context->onDisconnect && context->c.flags & REDIS_CONNECTED) {
        redisDisconnectCallback *told = context->onDisconnect;
        context->onDisconnect = NULL;
        context->c.flags |= REDIS_IN_CALLBACK;
        told(context, REDIS_ERR);
        context->c.flags &= ~REDIS_IN_CALLBACK;
    }
}

/* One reply, to whoever asked. False: the connection is lost. */
static bool deliver(ceni_redis_channel *line, redisReply *reply)
{
    redisAsyncContext *context = line->context;
    redisCallback callback;
    bool is_asked = shift(&context->replies, &callback);
    if (is_asked) {
        call(context, &callback, reply);
        if (context->c.flags & REDIS_FREEING)
            ceni_redis_channel_lose(line, REDIS_ERR_OTHER, "The program freed what a pool has lent");
    } else if (reply->type == REDIS_REPLY_ERROR) {
        ceni_redis_channel_lose(line, REDIS_ERR_OTHER, reply->str);
    } else if (!(context->c.flags & (REDIS_SUBSCRIBED | REDIS_MONITORING))) {
        ceni_redis_channel_lose(line, REDIS_ERR_PROTOCOL, "A reply to no question");
    }
    context->c.reader->fn->freeObject(reply);
    return !line->is_lost;
}

/* ---- Bytes --------------------------------------------------------------------------------------------- */

void ceni_redis_channel_receive(ceni_redis_channel *line)
{
    redisContext *context = &line->context->c;
    void *reply = NULL;
    if (line->is_lost) return;
    if (redisBufferRead(context) != REDIS_OK) {
        ceni_redis_channel_lose(line, REDIS_ERR_IO, "The connection is lost");
        return;
    }
    while (redisGetReplyFromReader(context, &reply) == REDIS_OK && reply)
        if (!deliver(line, reply)) return;
    if (context->err) ceni_redis_channel_lose(line, context->err, context->errstr);
}

static void await_room(ceni_redis_channel *line)
{
    /* A descriptor is watched once at a time, and the first one is for reading. */
    if (line->is_awaiting_room) return;
    if (line->second < 0) line->second = fcntl(line->fd, F_DUPFD_CLOEXEC, 0);
    if (line->second >= 0)
        line->is_awaiting_room = ceni_redis_channel_watch(line, &line->writing, line->second, CEN_WRITABLE, CEN_NEVER);
    if (!line->is_awaiting_room) shutdown(line->fd, SHUT_RDWR);
}

/* What cannot be sent because the server is gone is not told here, where a holder is in the middle of a call: whoever reads
 * finds out, after the last words that may still be there. */
void ceni_redis_channel_flush(ceni_redis_channel *line)
{
    redisContext *context = &line->context->c;
    if (!line->is_connected || line->is_corked || line->is_lost) return;
    while (ceni_redis_unsent(context) > 0) {
        ssize_t count = send(line->fd, context->obuf, ceni_redis_unsent(context), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count >= 0) {
            if ((size_t)count == ceni_redis_unsent(context)) ceni_redis_sent_all(context);
            else ceni_redis_sent_some(context, count);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            await_room(line);
            return;
        } else if (errno != EINTR) {
            shutdown(line->fd, SHUT_RDWR);
            return;
        }
    }
}

void ceni_redis_channel_on_writing(cen_watch *watch, unsigned events)
{
    ceni_redis_channel *line = watch->argument;
    (void)events;
    pthread_mutex_lock(&line->lock);
    line->is_awaiting_room = false;
    ceni_redis_channel_flush(line);
    pthread_mutex_unlock(&line->lock);
    ceni_redis_channel_drop(line);
}

/* ---- hiredis' side ------------------------------------------------------------------------------------- */

/* hiredis calls it for every command. One that comes neither from the driver nor through cenote was given directly. */
static void add_write(void *argument)
{
    ceni_redis_channel *line = argument;
    pthread_mutex_lock(&line->lock);
    if (!line->is_sending && !line->ledger.is_quiet) ceni_redis_ledger_used_directly(&line->ledger);
    ceni_redis_channel_flush(line);
    pthread_mutex_unlock(&line->lock);
}

ceni_redis_channel *ceni_redis_channel_of(const redisAsyncContext *context)
{
    return context->ev.addWrite == add_write ? context->ev.data : NULL;
}

ceni_redis_channel *ceni_redis_channel_new(ceni_redis_server *pool, redisAsyncContext *context)
{
    ceni_redis_channel *line = calloc(1, sizeof *line);
    pthread_mutexattr_t kind;
    if (!line) {
        redisAsyncFree(context);
        return NULL;
    }
    line->pool = pool;
    line->context = context;
    line->fd = context->c.fd;
    line->second = -1;
    line->holds = 1;
    line->reading.argument = line->writing.argument = line->timing.argument = line;
    line->writing.ready = ceni_redis_channel_on_writing;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&line->lock, &kind);
    pthread_mutexattr_destroy(&kind);
    ceni_redis_ledger_attach(&line->ledger, pool, &context->c);
    line->ledger.process = getpid();
    context->ev.data = line;
    context->ev.addWrite = add_write;
    fcntl(line->fd, F_SETFD, FD_CLOEXEC);
    return line;
}

int ceni_redis_channel_send(redisAsyncContext *context, redisCallbackFn *done, void *argument, const char *bytes,
                            size_t size)
{
    ceni_redis_channel *line = ceni_redis_channel_of(context);
    if (!line) return redisAsyncFormattedCommand(context, done, argument, bytes, size);
    ceni_redis_effect effect = ceni_redis_effect_of(bytes, size, line->ledger.database);
    if (effect == CENI_REDIS_STREAM || effect == CENI_REDIS_SILENCE) return REDIS_ERR;
    pthread_mutex_lock(&line->lock);
    /* Its reply cannot come before the lock is free. */
    line->is_sending = true;
    int answer = redisAsyncFormattedCommand(context, done, argument, bytes, size);
    line->is_sending = false;
    if (answer == REDIS_OK) ceni_redis_ledger_sent(&line->ledger, effect);
    pthread_mutex_unlock(&line->lock);
    return answer;
}
