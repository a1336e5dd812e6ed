/* SPDX-License-Identifier: MIT */
/*
 * The bytes of an asynchronous connection, and its lifetime.
 *
 * hiredis' own event handlers free a context as soon as the server hangs up. That would leave the holder and the pool
 * with a dangling pointer. So these handlers are never called. A redisAsyncContext is used only as a connection with a
 * list of callbacks: hiredis formats, queues and parses, and this file reads, writes and calls the callbacks. When the
 * connection is lost, callbacks get a reply of NULL, as hiredis does it, further commands are refused, and the context
 * stays until its holder has given it back and the pool closes it. Subscriptions are internal to hiredis and not
 * supported: a context that has some is closed when it is given back.
 *
 * A channel has one reference for its object and one for each watch. The thread that drops the last one frees it. A
 * watch's reference is dropped at the very end of its `ready`, so nothing is freed beneath a callback, even one that
 * gives its own connection back.
 *
 * Locks: the channel's own, then the pool's. No call of cenote that may call back is made with either, so
 * cen_driver_done comes last. The program's callbacks are called with the channel's lock, which is recursive.
 * cen_poller_unwatch may wait for a `ready`, which takes the channel's lock. So it is called without that lock, except
 * within a `ready`, where it does not wait.
 */
#include "redis/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- Watches and lifetime ------------------------------------------------------------------------------ */

bool ceni_redis_channel_watch(ceni_redis_channel *channel, cen_watch *watch, int fd, unsigned events,
                              cen_deadline deadline)
{
    if (channel->is_closing) return false;
    if (cen_poller_watch(channel->pool->poller, watch, fd, events, deadline, NULL) != CEN_OK) return false;
    channel->holds++;
    return true;
}

static void destroy(ceni_redis_channel *channel)
{
    redisAsyncContext *context = channel->context;
    context->ev.addWrite = NULL;
    /* Calls the remaining callbacks, those of subscriptions, and closes the descriptor. */
    redisAsyncFree(context);
    if (channel->second >= 0) close(channel->second);
    ceni_redis_talk_fini(&channel->talk);
    ceni_redis_ledger_fini(&channel->ledger);
    pthread_mutex_destroy(&channel->lock);
    free(channel);
}

static void drop(ceni_redis_channel *channel, unsigned count)
{
    pthread_mutex_lock(&channel->lock);
    channel->holds -= count;
    bool is_last = channel->holds == 0;
    pthread_mutex_unlock(&channel->lock);
    if (!is_last) return;
    bool has_farewell = channel->has_farewell;
    cen_ticket farewell = channel->farewell;
    destroy(channel);
    if (has_farewell) cen_driver_done(farewell, CEN_OK, NULL, NULL); /* the pool may be gone after this */
}

void ceni_redis_channel_drop(ceni_redis_channel *channel)
{
    drop(channel, 1);
}

void ceni_redis_channel_release(ceni_redis_channel *channel)
{
    cen_poller *poller = channel->pool->poller;
    pthread_mutex_lock(&channel->lock);
    channel->is_closing = true; /* no new watches */
    pthread_mutex_unlock(&channel->lock);
    unsigned count = 1; /* the object's reference */
    if (cen_poller_unwatch(poller, &channel->reading)) count++;
    if (cen_poller_unwatch(poller, &channel->writing)) count++;
    if (cen_poller_unwatch(poller, &channel->timing)) count++;
    drop(channel, count);
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

/* While this flag is set, redisAsyncFree in a callback frees nothing. */
static void call(redisAsyncContext *context, const redisCallback *callback, void *reply)
{
    if (!callback->fn) return;
    context->c.flags |= REDIS_IN_CALLBACK;
    callback->fn(context, reply, callback->privdata);
    context->c.flags &= ~REDIS_IN_CALLBACK;
}

void ceni_redis_channel_lose(ceni_redis_channel *channel, int err, const char *text)
{
    redisAsyncContext *context = channel->context;
    redisCallback callback;
    if (channel->is_lost) return;
    channel->is_lost = true;
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

/* Deliver a reply to its callback. Returns false if the connection is lost. */
static bool deliver(ceni_redis_channel *channel, redisReply *reply)
{
    redisAsyncContext *context = channel->context;
    redisCallback callback;
    bool is_asked = shift(&context->replies, &callback);
    if (is_asked) {
        call(context, &callback, reply);
        if (context->c.flags & REDIS_FREEING)
            ceni_redis_channel_lose(channel, REDIS_ERR_OTHER, "The program freed a connection of a pool");
    } else if (reply->type == REDIS_REPLY_ERROR) {
        ceni_redis_channel_lose(channel, REDIS_ERR_OTHER, reply->str);
    } else if (!(context->c.flags & (REDIS_SUBSCRIBED | REDIS_MONITORING))) {
        ceni_redis_channel_lose(channel, REDIS_ERR_PROTOCOL, "Reply without a command");
    }
    context->c.reader->fn->freeObject(reply);
    return !channel->is_lost;
}

/* ---- Bytes --------------------------------------------------------------------------------------------- */

void ceni_redis_channel_receive(ceni_redis_channel *channel)
{
    redisContext *context = &channel->context->c;
    void *reply = NULL;
    if (channel->is_lost) return;
    if (redisBufferRead(context) != REDIS_OK) {
        ceni_redis_channel_lose(channel, REDIS_ERR_IO, "Connection lost");
        return;
    }
    while (redisGetReplyFromReader(context, &reply) == REDIS_OK && reply)
        if (!deliver(channel, reply)) return;
    if (context->err) ceni_redis_channel_lose(channel, context->err, context->errstr);
}

static void await_room(ceni_redis_channel *channel)
{
    /* A descriptor can only be watched once at a time, and the first one is watched for reading. */
    if (channel->is_awaiting_room) return;
    if (channel->second < 0) channel->second = fcntl(channel->fd, F_DUPFD_CLOEXEC, 0);
    if (channel->second >= 0)
        channel->is_awaiting_room =
            ceni_redis_channel_watch(channel, &channel->writing, channel->second, CEN_WRITABLE, CEN_NEVER);
    if (!channel->is_awaiting_room) shutdown(channel->fd, SHUT_RDWR);
}

/* A failed send is not reported here, where a holder is in the middle of a call. The next read reports it, after the
 * server's last bytes, if there are any. */
void ceni_redis_channel_flush(ceni_redis_channel *channel)
{
    redisContext *context = &channel->context->c;
    if (!channel->is_connected || channel->is_corked || channel->is_lost) return;
    while (ceni_redis_unsent(context) > 0) {
        ssize_t count = send(channel->fd, context->obuf, ceni_redis_unsent(context), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count >= 0) {
            if ((size_t)count == ceni_redis_unsent(context)) ceni_redis_sent_all(context);
            else ceni_redis_sent_some(context, count);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            await_room(channel);
            return;
        } else if (errno != EINTR) {
            shutdown(channel->fd, SHUT_RDWR);
            return;
        }
    }
}

void ceni_redis_channel_on_writing(cen_watch *watch, unsigned events)
{
    ceni_redis_channel *channel = watch->argument;
    (void)events;
    pthread_mutex_lock(&channel->lock);
    channel->is_awaiting_room = false;
    ceni_redis_channel_flush(channel);
    pthread_mutex_unlock(&channel->lock);
    ceni_redis_channel_drop(channel);
}

/* ---- Interface to hiredis ------------------------------------------------------------------------------ */

/* hiredis calls this for every command. A command that comes neither from the driver nor through cenote was given to
 * hiredis directly. */
static void add_write(void *argument)
{
    ceni_redis_channel *channel = argument;
    pthread_mutex_lock(&channel->lock);
    if (!channel->is_sending && !channel->ledger.is_quiet) ceni_redis_ledger_used_directly(&channel->ledger);
    ceni_redis_channel_flush(channel);
    pthread_mutex_unlock(&channel->lock);
}

ceni_redis_channel *ceni_redis_channel_of(const redisAsyncContext *context)
{
    return context->ev.addWrite == add_write ? context->ev.data : NULL;
}

ceni_redis_channel *ceni_redis_channel_new(ceni_redis_server *pool, redisAsyncContext *context)
{
    ceni_redis_channel *channel = calloc(1, sizeof *channel);
    pthread_mutexattr_t kind;
    if (!channel) {
        redisAsyncFree(context);
        return NULL;
    }
    channel->pool = pool;
    channel->context = context;
    channel->fd = context->c.fd;
    channel->second = -1;
    channel->holds = 1;
    channel->reading.argument = channel->writing.argument = channel->timing.argument = channel;
    channel->writing.ready = ceni_redis_channel_on_writing;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&channel->lock, &kind);
    pthread_mutexattr_destroy(&kind);
    ceni_redis_ledger_attach(&channel->ledger, pool, &context->c);
    channel->ledger.process = getpid();
    context->ev.data = channel;
    context->ev.addWrite = add_write;
    fcntl(channel->fd, F_SETFD, FD_CLOEXEC);
    return channel;
}

int ceni_redis_channel_send(redisAsyncContext *context, redisCallbackFn *done, void *argument, const char *bytes,
                            size_t size)
{
    ceni_redis_channel *channel = ceni_redis_channel_of(context);
    if (!channel) return redisAsyncFormattedCommand(context, done, argument, bytes, size);
    ceni_redis_effect effect = ceni_redis_effect_of(bytes, size, channel->ledger.database);
    if (effect == CENI_REDIS_STREAM || effect == CENI_REDIS_SILENCE) return REDIS_ERR;
    pthread_mutex_lock(&channel->lock);
    /* Its reply cannot arrive before the lock is released. */
    channel->is_sending = true;
    int answer = redisAsyncFormattedCommand(context, done, argument, bytes, size);
    channel->is_sending = false;
    if (answer == REDIS_OK) ceni_redis_ledger_sent(&channel->ledger, effect);
    pthread_mutex_unlock(&channel->lock);
    return answer;
}
