/* SPDX-License-Identifier: MIT */
/*
 * The asynchronous form: objects are redisAsyncContext *, and watches drive the driver's calls.
 *
 *     open    connect, watch until it is writable, then talk
 *     test    talk
 *     reset   talk; replies that were still to come reach their callbacks first
 *     close   watch no more, and free when no thread is inside any longer
 *
 * A call has a watch of its own for its deadline. It ends within a `ready`, in `settle`. The ticket is completed in one
 * place, after the channel's lock and the watch's reference were released.
 */
#include "redis/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* The result of a call, for its ticket, when the channel is not needed any longer. */
typedef struct outcome {
    bool is_over, is_failed_open;
    ceni_redis_talk talk; /* of the open; only its numbers are valid */
    cen_ticket ticket;
    cen_status status;
    void *object;
    cen_error error;
} outcome;

static const char *name_of(ceni_redis_call call)
{
    return call == CENI_REDIS_OPENS ? "open" : call == CENI_REDIS_TESTS ? "test" : "reset";
}

/* ---- The current call ---------------------------------------------------------------------------------- */

static void over(ceni_redis_channel *channel, cen_status status, const cen_error *error)
{
    if (channel->call == CENI_REDIS_IDLE || channel->is_over) return;
    channel->is_over = true;
    channel->status = status;
    if (error && error != &channel->error) channel->error = *error;
}

static void over_lost(ceni_redis_channel *channel)
{
    if (channel->call == CENI_REDIS_IDLE || channel->is_over) return;
    over(channel,
         ceni_redis_context_failed(channel->pool, name_of(channel->call), &channel->context->c, ECONNRESET,
                                   &channel->error),
         NULL);
}

static bool say_all(ceni_redis_channel *channel);

static void on_talk(redisAsyncContext *context, void *reply, void *argument)
{
    ceni_redis_channel *channel = argument;
    (void)context;
    if (channel->call == CENI_REDIS_IDLE || channel->is_over) return;
    if (!reply) {
        over_lost(channel);
        return;
    }
    switch (ceni_redis_talk_hear(&channel->ledger, &channel->talk, reply)) {
    case CENI_REDIS_MORE: break;
    case CENI_REDIS_DONE: over(channel, CEN_OK, NULL); break;
    case CENI_REDIS_FAILED: over(channel, channel->talk.status, &channel->talk.error); break;
    case CENI_REDIS_AGAIN: (void)say_all(channel); break; /* remaining replies to the first talk pass before the mark */
    }
}

static cen_status begin_talk(ceni_redis_channel *channel, cen_error *error)
{
    ceni_redis_talk_fini(&channel->talk);
    if (channel->call == CENI_REDIS_OPENS) return ceni_redis_talk_open(channel->pool, &channel->talk, error);
    if (channel->call == CENI_REDIS_TESTS) return ceni_redis_talk_test(channel->pool, &channel->talk, error);
    return ceni_redis_talk_reset(&channel->ledger, &channel->talk, error);
}

/* Send all commands of the talk. Returns false if the call is over. */
static bool say_all(ceni_redis_channel *channel)
{
    cen_error error = {0};
    cen_status status = begin_talk(channel, &error);
    channel->is_corked = true;
    for (unsigned i = 0; status == CEN_OK && i < channel->talk.count; i++)
        if (redisAsyncFormattedCommand(channel->context, on_talk, channel, channel->talk.says[i].bytes,
                                       channel->talk.says[i].size) != REDIS_OK)
            status = ceni_redis_wrong(channel->pool, CEN_LOST, CEN_REDIS_HUNG_UP, "connection lost", &error);
    channel->is_corked = false;
    if (status != CEN_OK) over(channel, status, &error);
    else ceni_redis_channel_flush(channel);
    return status == CEN_OK;
}

/* A cancel may come before its call is in the list or after it has left it. Since these cannot be told apart, the last
 * few that found nothing are remembered. A call whose number was dropped runs to its own timeout. */
static bool was_cancelled_locked(const ceni_redis_server *pool, uint64_t number)
{
    for (int i = 0; i < CENI_REDIS_UNKNOWN; i++)
        if (pool->unknown[i] == number) return true;
    return false;
}

static void enlist(ceni_redis_channel *channel, ceni_redis_call call, cen_ticket ticket, int64_t limit_ns)
{
    ceni_redis_server *pool = channel->pool;
    channel->limit_ns = limit_ns;
    channel->is_over = false;
    channel->ledger.is_quiet = true;
    pthread_mutex_lock(&pool->lock);
    channel->call = call;
    channel->ticket = ticket;
    channel->next = pool->calls;
    channel->link = &pool->calls;
    if (channel->next) channel->next->link = &channel->next;
    pool->calls = channel;
    if (was_cancelled_locked(pool, ticket.number)) shutdown(channel->fd, SHUT_RDWR);
    pthread_mutex_unlock(&pool->lock);
}

/* Take the result of a call that is over. With the lock. `inside`: within a `ready`, where its deadline may be
 * watched. */
static void settle(ceni_redis_channel *channel, outcome *out, bool inside)
{
    ceni_redis_server *pool = channel->pool;
    if (channel->call == CENI_REDIS_IDLE || !channel->is_over) return;
    bool is_ok = channel->status == CEN_OK;
    out->is_over = true;
    out->is_failed_open = channel->call == CENI_REDIS_OPENS && !is_ok;
    out->ticket = channel->ticket;
    out->status = channel->status;
    out->object = channel->context;
    out->error = channel->error;
    if (is_ok && channel->call == CENI_REDIS_OPENS) out->talk = channel->talk;
    if (channel->call == CENI_REDIS_RESETS && is_ok) ceni_redis_ledger_clear(&channel->ledger);
    channel->ledger.is_quiet = false;
    pthread_mutex_lock(&pool->lock); /* a cancel that comes now finds nothing */
    *channel->link = channel->next;
    if (channel->next) channel->next->link = channel->link;
    channel->call = CENI_REDIS_IDLE;
    pthread_mutex_unlock(&pool->lock);
    ceni_redis_talk_fini(&channel->talk);
    if (inside && cen_poller_unwatch(pool->poller, &channel->timing)) channel->holds--; /* it has its own reference */
}

/* Without the lock. The channel may be freed here, and the pool in cen_driver_done. */
static void finish(ceni_redis_channel *channel, outcome *out, bool drops)
{
    if (out->is_failed_open) ceni_redis_channel_release(channel);
    else if (out->is_over) ceni_redis_capacity_tell(channel->pool, &out->talk);
    if (drops) ceni_redis_channel_drop(channel);
    if (out->is_over) cen_driver_done(out->ticket, out->status, out->object, &out->error);
}

/* ---- Callbacks of the poller --------------------------------------------------------------------------- */

static void connected(ceni_redis_channel *channel)
{
    int code = 0;
    socklen_t size = sizeof code;
    if (getsockopt(channel->fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0) code = errno;
    struct sockaddr_storage peer;
    socklen_t room = sizeof peer;
    /* A connect that was cancelled by shutdown has no error, and no peer. */
    if (code == 0 && getpeername(channel->fd, (struct sockaddr *)&peer, &room) != 0) code = errno;
    if (code) {
        over(channel, ceni_redis_system(channel->pool, "connect", code, &channel->error), NULL);
        ceni_redis_channel_lose(channel, REDIS_ERR_IO, "Cannot connect");
        return;
    }
    channel->is_connected = true;
    channel->context->c.flags |= REDIS_CONNECTED;
    if (!channel->pool->url.path) redisEnableKeepAlive(&channel->context->c);
    (void)say_all(channel);
}

static void on_reading(cen_watch *watch, unsigned events)
{
    ceni_redis_channel *channel = watch->argument;
    outcome out = {0};
    (void)events;
    pthread_mutex_lock(&channel->lock);
    if (channel->is_lost) over_lost(channel);
    else if (!channel->is_connected) connected(channel);
    else ceni_redis_channel_receive(channel);
    bool goes_on = !channel->is_lost && !channel->is_closing;
    if (goes_on && !ceni_redis_channel_watch(channel, &channel->reading, channel->fd, CEN_READABLE, CEN_NEVER)) {
        ceni_redis_channel_lose(channel, REDIS_ERR_OTHER, "Cannot watch the socket");
        over_lost(channel);
    }
    settle(channel, &out, true);
    pthread_mutex_unlock(&channel->lock);
    finish(channel, &out, true);
}

static void on_timing(cen_watch *watch, unsigned events)
{
    ceni_redis_channel *channel = watch->argument;
    outcome out = {0};
    (void)events;
    pthread_mutex_lock(&channel->lock);
    if (channel->call != CENI_REDIS_IDLE && !channel->is_over) {
        over(channel, ceni_redis_timed_out(channel->pool, name_of(channel->call), channel->limit_ns, &channel->error),
             NULL);
        ceni_redis_channel_lose(channel, REDIS_ERR_OTHER, "Timed out");
        shutdown(channel->fd, SHUT_RDWR);
    }
    settle(channel, &out, true);
    pthread_mutex_unlock(&channel->lock);
    finish(channel, &out, true);
}

/* ---- The driver's calls -------------------------------------------------------------------------------- */

/* Watch the deadline of the call. Without a deadline the call might never end, so it fails then. */
static bool watch_time(ceni_redis_channel *channel)
{
    cen_error error = {0};
    channel->timing.ready = on_timing;
    if (channel->limit_ns == INT64_MAX ||
        ceni_redis_channel_watch(channel, &channel->timing, -1, 0, cen_in_ns(channel->limit_ns)))
        return true;
    over(channel, ceni_redis_wrong(channel->pool, CEN_SYSTEM, 0, "the poller cannot watch a deadline", &error), &error);
    return false;
}

static void refuse(cen_ticket ticket, cen_status status, const cen_error *error)
{
    cen_driver_done(ticket, status, NULL, error);
}

void ceni_redis_later_open(void *state, cen_ticket ticket)
{
    ceni_redis_server *pool = state;
    const ceni_redis_url *url = &pool->url;
    cen_error error = {0};
    outcome out = {0};
    /* the poller watches nothing here, and the lock may be held by a thread that does not exist here */
    if (pool->process != getpid()) {
        const char *sentence = "the poller belongs to the parent process";
        refuse(ticket, ceni_redis_wrong(pool, CEN_FORKED, 0, sentence, &error), &error);
        return;
    }
    errno = 0;
    redisAsyncContext *context = url->path ? redisAsyncConnectUnix(url->path) : redisAsyncConnect(url->host, url->port);
    int code = errno;
    if (!context) {
        refuse(ticket, ceni_redis_no_memory(pool, &error), &error);
        return;
    }
    if (context->err) {
        cen_status status = ceni_redis_context_failed(pool, "connect", &context->c, code, &error);
        redisAsyncFree(context);
        refuse(ticket, status, &error);
        return;
    }
    ceni_redis_channel *channel = ceni_redis_channel_new(pool, context);
    if (!channel) {
        refuse(ticket, ceni_redis_no_memory(pool, &error), &error);
        return;
    }
    pthread_mutex_lock(&channel->lock);
    channel->holds++; /* until this returns: the call may end before */
    channel->reading.ready = on_reading;
    enlist(channel, CENI_REDIS_OPENS, ticket, pool->connect_ns);
    /* The deadline last: if it cannot be watched, only this thread can end the call. */
    if (!ceni_redis_channel_watch(channel, &channel->reading, channel->fd, CEN_WRITABLE, CEN_NEVER))
        over(channel, ceni_redis_wrong(pool, CEN_SYSTEM, 0, "the poller cannot watch the connection", &error), &error);
    else (void)watch_time(channel);
    settle(channel, &out, false);
    pthread_mutex_unlock(&channel->lock);
    finish(channel, &out, true);
}

static void start(ceni_redis_channel *channel, ceni_redis_call call, cen_ticket ticket, int64_t limit_ns)
{
    outcome out = {0};
    pthread_mutex_lock(&channel->lock);
    channel->holds++;
    enlist(channel, call, ticket, limit_ns);
    if (channel->is_lost) over_lost(channel);
    else if (say_all(channel)) (void)watch_time(channel);
    settle(channel, &out, false);
    pthread_mutex_unlock(&channel->lock);
    finish(channel, &out, true);
}

void ceni_redis_later_test(void *state, void *object, cen_ticket ticket)
{
    ceni_redis_server *pool = state;
    start(ceni_redis_channel_of(object), CENI_REDIS_TESTS, ticket, pool->test_ns);
}

void ceni_redis_later_reset(void *state, void *object, cen_ticket ticket)
{
    ceni_redis_server *pool = state;
    start(ceni_redis_channel_of(object), CENI_REDIS_RESETS, ticket, pool->reset_ns);
}

void ceni_redis_later_close(void *state, void *object, cen_ticket ticket)
{
    ceni_redis_channel *channel = ceni_redis_channel_of(object);
    (void)state;
    pthread_mutex_lock(&channel->lock);
    channel->has_farewell = true;
    channel->farewell = ticket;
    pthread_mutex_unlock(&channel->lock);
    ceni_redis_channel_release(channel);
}

/* Shut the socket down: its reader finds out and ends the call. */
void ceni_redis_later_cancel(void *state, cen_ticket ticket)
{
    ceni_redis_server *pool = state;
    if (pool->process != getpid()) return;
    pthread_mutex_lock(&pool->lock);
    ceni_redis_channel *channel = pool->calls;
    while (channel && channel->ticket.number != ticket.number) channel = channel->next;
    if (channel) shutdown(channel->fd, SHUT_RDWR);
    else pool->unknown[pool->unknown_count++ % CENI_REDIS_UNKNOWN] = ticket.number;
    pthread_mutex_unlock(&pool->lock);
}

/* As in the blocking form. The poller calls the callbacks a moment later. */
void ceni_redis_later_interrupt(void *state, void *object)
{
    ceni_redis_channel *channel = ceni_redis_channel_of(object);
    (void)state;
    shutdown(channel->fd, SHUT_RDWR);
}

cen_condition ceni_redis_later_check(void *state, void *object)
{
    redisAsyncContext *context = object;
    ceni_redis_channel *channel = ceni_redis_channel_of(context);
    enum { ENDS = REDIS_DISCONNECTING | REDIS_FREEING, STREAMS = REDIS_SUBSCRIBED | REDIS_MONITORING };
    cen_condition condition = CEN_BROKEN;
    (void)state;
    if (!channel || !ceni_redis_ledger_of(&context->c)) return CEN_BROKEN;
    pthread_mutex_lock(&channel->lock);
    if (!channel->is_lost && !(context->c.flags & (ENDS | STREAMS)))
        condition = ceni_redis_ledger_condition(&channel->ledger, &context->c);
    if (condition == CEN_CLEAN && (context->replies.head || ceni_redis_unsent(&context->c) > 0)) condition = CEN_DIRTY;
    pthread_mutex_unlock(&channel->lock);
    return condition;
}

/* In a child: free the memory and close the descriptors without any callback; the lock may be held by a thread that
 * does not exist there. In the same process: as in the blocking form. */
void ceni_redis_later_abandon(void *state, void *object)
{
    redisAsyncContext *context = object;
    ceni_redis_channel *channel = ceni_redis_channel_of(context);
    (void)state;
    if (channel->ledger.process == getpid()) {
        shutdown(channel->fd, SHUT_RDWR);
        return;
    }
    if (channel->second >= 0) close(channel->second);
    redisFree(&context->c);
    ceni_redis_ledger_fini(&channel->ledger);
    free(channel);
}
