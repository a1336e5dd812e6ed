/* SPDX-License-Identifier: MIT */
/*
 * The asynchronous form: objects are redisAsyncContext *, and the driver's calls are led by watches.
 *
 *     open    connect, watch until it is writable, then talk
 *     test    talk
 *     reset   talk; replies that were left to come reach their callbacks first
 *     close   watch no more, and free when nobody is inside any more
 *
 * A call has a watch of its own for its deadline. It ends within a `ready`, in `settle`, and in one place: the ticket is done
 * after the line's lock and the watch's hold are gone.
 */
#include "redis/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* How a call ended, for its ticket, once nothing of the line is needed. */
typedef struct outcome {
    bool is_over, is_failed_open;
    ceni_redis_talk talk; /* that opened it; only its numbers */
    cen_ticket ticket;
    cen_status status;
    void *object;
    cen_error error;
} outcome;

static const char *name_of(ceni_redis_call call)
{
    return call == CENI_REDIS_OPENS ? "opening a connection" : call == CENI_REDIS_TESTS ? "a test" : "a reset";
}

/* ---- The call under way -------------------------------------------------------------------------------- */

static void over(ceni_redis_channel *line, cen_status status, const cen_error *error)
{
    if (line->call == CENI_REDIS_IDLE || line->is_over) return;
    line->is_over = true;
    line->status = status;
    if (error && error != &line->error) line->error = *error;
}

static void over_lost(ceni_redis_channel *line)
{
    if (line->call == CENI_REDIS_IDLE || line->is_over) return;
    over(line, ceni_redis_context_failed(line->pool, name_of(line->call), &line->context->c, ECONNRESET, &line->error),
         NULL);
}

static bool say_all(ceni_redis_channel *line);

static void on_talk(redisAsyncContext *context, void *reply, void *argument)
{
    ceni_redis_channel *line = argument;
    (void)context;
    if (line->call == CENI_REDIS_IDLE || line->is_over) return;
    if (!reply) {
        over_lost(line);
        return;
    }
    switch (ceni_redis_talk_hear(&line->ledger, &line->talk, reply)) {
    case CENI_REDIS_MORE: break;
    case CENI_REDIS_DONE: over(line, CEN_OK, NULL); break;
    case CENI_REDIS_FAILED: over(line, line->talk.status, &line->talk.error); break;
    case CENI_REDIS_AGAIN: (void)say_all(line); break; /* what still answers the first talk passes before the mark */
    }
}

static cen_status begin_talk(ceni_redis_channel *line, cen_error *error)
{
    ceni_redis_talk_fini(&line->talk);
    if (line->call == CENI_REDIS_OPENS) return ceni_redis_talk_open(line->pool, &line->talk, error);
    if (line->call == CENI_REDIS_TESTS) return ceni_redis_talk_test(line->pool, &line->talk, error);
    return ceni_redis_talk_reset(&line->ledger, &line->talk, error);
}

/* False: the call is over. */
static bool say_all(ceni_redis_channel *line)
{
    cen_error error = {0};
    cen_status status = begin_talk(line, &error);
    line->is_corked = true;
    for (unsigned i = 0; status == CEN_OK && i < line->talk.count; i++)
        if (redisAsyncFormattedCommand(line->context, on_talk, line, line->talk.says[i].bytes,
                                       line->talk.says[i].size) != REDIS_OK)
            status = ceni_redis_wrong(line->pool, CEN_LOST, CEN_REDIS_HUNG_UP, "the connection is lost", &error);
    line->is_corked = false;
    if (status != CEN_OK) over(line, status, &error);
    else ceni_redis_channel_flush(line);
    return status == CEN_OK;
}

/* A cancel may come before its call is in the list, or after it has left it, and nobody can tell which: so the last few that found
 * nothing are remembered. One that is forgotten runs to its own limit. */
static bool was_cancelled_locked(const ceni_redis_server *pool, uint64_t number)
{
    for (int i = 0; i < CENI_REDIS_UNKNOWN; i++)
        if (pool->unknown[i] == number) return true;
    return false;
}

static void enlist(ceni_redis_channel *line, ceni_redis_call call, cen_ticket ticket, int64_t limit_ns)
{
    ceni_redis_server *pool = line->pool;
    line->limit_ns = limit_ns;
    line->is_over = false;
    line->ledger.is_quiet = true;
    pthread_mutex_lock(&pool->lock);
    line->call = call;
    line->ticket = ticket;
    line->next = pool->calls;
    line->link = &pool->calls;
    if (line->next) line->next->link = &line->next;
    pool->calls = line;
    if (was_cancelled_locked(pool, ticket.number)) shutdown(line->fd, SHUT_RDWR);
    pthread_mutex_unlock(&pool->lock);
}

/* With the lock: takes the outcome of a call that is over. `inside`: within a `ready`, where a deadline may be watched for it. */
static void settle(ceni_redis_channel *line, outcome *out, bool inside)
{
    ceni_redis_server *pool = line->pool;
    if (line->call == CENI_REDIS_IDLE || !line->is_over) return;
    bool is_ok = line->status == CEN_OK;
    out->is_over = true;
    out->is_failed_open = line->call == CENI_REDIS_OPENS && !is_ok;
    out->ticket = line->ticket;
    out->status = line->status;
    out->object = line->context;
    out->error = line->error;
    if (is_ok && line->call == CENI_REDIS_OPENS) out->talk = line->talk;
    if (line->call == CENI_REDIS_RESETS && is_ok) ceni_redis_ledger_clear(&line->ledger);
    line->ledger.is_quiet = false;
    pthread_mutex_lock(&pool->lock); /* a cancel that comes now finds nothing */
    *line->link = line->next;
    if (line->next) line->next->link = line->link;
    line->call = CENI_REDIS_IDLE;
    pthread_mutex_unlock(&pool->lock);
    ceni_redis_talk_fini(&line->talk);
    if (inside && cen_poller_unwatch(pool->poller, &line->timing)) line->holds--; /* this watch has its own */
}

/* Without the lock. The line may be gone afterwards, and with cen_driver_done the pool. */
static void finish(ceni_redis_channel *line, outcome *out, bool drops)
{
    if (out->is_failed_open) ceni_redis_channel_release(line);
    else if (out->is_over) ceni_redis_capacity_tell(line->pool, &out->talk);
    if (drops) ceni_redis_channel_drop(line);
    if (out->is_over) cen_driver_done(out->ticket, out->status, out->object, &out->error);
}

/* ---- What comes ---------------------------------------------------------------------------------------- */

static void connected(ceni_redis_channel *line)
{
    int code = 0;
    socklen_t size = sizeof code;
    if (getsockopt(line->fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0) code = errno;
    struct sockaddr_storage peer;
    socklen_t room = sizeof peer;
    /* A connect that was cancelled by shutdown has no error, and no other end. */
    if (code == 0 && getpeername(line->fd, (struct sockaddr *)&peer, &room) != 0) code = errno;
    if (code) {
        over(line, ceni_redis_system(line->pool, "connecting", code, &line->error), NULL);
        ceni_redis_channel_lose(line, REDIS_ERR_IO, "It could not be connected");
        return;
    }
    line->is_connected = true;
    line->context->c.flags |= REDIS_CONNECTED;
    if (!line->pool->url.path) redisEnableKeepAlive(&line->context->c);
    (void)say_all(line);
}

static void on_reading(cen_watch *watch, unsigned events)
{
    ceni_redis_channel *line = watch->argument;
    outcome out = {0};
    (void)events;
    pthread_mutex_lock(&line->lock);
    if (line->is_lost) over_lost(line);
    else if (!line->is_connected) connected(line);
    else ceni_redis_channel_receive(line);
    bool goes_on = !line->is_lost && !line->is_closing;
    if (goes_on && !ceni_redis_channel_watch(line, &line->reading, line->fd, CEN_READABLE, CEN_NEVER)) {
        ceni_redis_channel_lose(line, REDIS_ERR_OTHER, "It cannot be watched");
        over_lost(line);
    }
    settle(line, &out, true);
    pthread_mutex_unlock(&line->lock);
    finish(line, &out, true);
}

static void on_timing(cen_watch *watch, unsigned events)
{
    ceni_redis_channel *line = watch->argument;
    outcome out = {0};
    (void)events;
    pthread_mutex_lock(&line->lock);
    if (line->call != CENI_REDIS_IDLE && !line->is_over) {
        over(line, ceni_redis_timed_out(line->pool, name_of(line->call), line->limit_ns, &line->error), NULL);
        ceni_redis_channel_lose(line, REDIS_ERR_OTHER, "It took too long");
        shutdown(line->fd, SHUT_RDWR);
    }
    settle(line, &out, true);
    pthread_mutex_unlock(&line->lock);
    finish(line, &out, true);
}

/* ---- The driver's calls -------------------------------------------------------------------------------- */

/* The deadline of the call. Without one it would perhaps never end, so that it is not begun then. */
static bool watch_time(ceni_redis_channel *line)
{
    cen_error error = {0};
    line->timing.ready = on_timing;
    if (line->limit_ns == INT64_MAX || ceni_redis_channel_watch(line, &line->timing, -1, 0, cen_in_ns(line->limit_ns)))
        return true;
    over(line, ceni_redis_wrong(line->pool, CEN_SYSTEM, 0, "its poller does not watch deadlines", &error), &error);
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
    if (pool->process != getpid()) { /* the poller watches nothing here, and the lock may be nobody's */
        const char *sentence = "its poller belongs to the process that this one was forked from";
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
        cen_status status = ceni_redis_context_failed(pool, "connecting", &context->c, code, &error);
        redisAsyncFree(context);
        refuse(ticket, status, &error);
        return;
    }
    ceni_redis_channel *line = ceni_redis_channel_new(pool, context);
    if (!line) {
        refuse(ticket, ceni_redis_no_memory(pool, &error), &error);
        return;
    }
    pthread_mutex_lock(&line->lock);
    line->holds++; /* until this has returned: it may all be over before */
    line->reading.ready = on_reading;
    enlist(line, CENI_REDIS_OPENS, ticket, pool->connect_ns);
    /* The deadline last: if that cannot be watched, nothing is left that could end the call beside this. */
    if (!ceni_redis_channel_watch(line, &line->reading, line->fd, CEN_WRITABLE, CEN_NEVER))
        over(line, ceni_redis_wrong(pool, CEN_SYSTEM, 0, "its poller does not watch the connection", &error), &error);
    else (void)watch_time(line);
    settle(line, &out, false);
    pthread_mutex_unlock(&line->lock);
    finish(line, &out, true);
}

static void start(ceni_redis_channel *line, ceni_redis_call call, cen_ticket ticket, int64_t limit_ns)
{
    outcome out = {0};
    pthread_mutex_lock(&line->lock);
    line->holds++;
    enlist(line, call, ticket, limit_ns);
    if (line->is_lost) over_lost(line);
    else if (say_all(line)) (void)watch_time(line);
    settle(line, &out, false);
    pthread_mutex_unlock(&line->lock);
    finish(line, &out, true);
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
    ceni_redis_channel *line = ceni_redis_channel_of(object);
    (void)state;
    pthread_mutex_lock(&line->lock);
    line->has_farewell = true;
    line->farewell = ticket;
    pthread_mutex_unlock(&line->lock);
    ceni_redis_channel_release(line);
}

/* Makes it fail: what reads then finds out, and ends the call in its place. */
void ceni_redis_later_cancel(void *state, cen_ticket ticket)
{
    ceni_redis_server *pool = state;
    if (pool->process != getpid()) return;
    pthread_mutex_lock(&pool->lock);
    ceni_redis_channel *line = pool->calls;
    while (line && line->ticket.number != ticket.number) line = line->next;
    if (line) shutdown(line->fd, SHUT_RDWR);
    else pool->unknown[pool->unknown_count++ % CENI_REDIS_UNKNOWN] = ticket.number;
    pthread_mutex_unlock(&pool->lock);
}

/* As in the blocking form; callbacks are told by the poller a moment later. */
void ceni_redis_later_interrupt(void *state, void *object)
{
    ceni_redis_channel *line = ceni_redis_channel_of(object);
    (void)state;
    shutdown(line->fd, SHUT_RDWR);
}

cen_condition ceni_redis_later_check(void *state, void *object)
{
    redisAsyncContext *context = object;
    ceni_redis_channel *line = ceni_redis_channel_of(context);
    enum { ENDS = REDIS_DISCONNECTING | REDIS_FREEING, STREAMS = REDIS_SUBSCRIBED | REDIS_MONITORING };
    cen_condition condition = CEN_BROKEN;
    (void)state;
    if (!line || !ceni_redis_ledger_of(&context->c)) return CEN_BROKEN;
    pthread_mutex_lock(&line->lock);
    if (!line->is_lost && !(context->c.flags & (ENDS | STREAMS)))
        condition = ceni_redis_ledger_condition(&line->ledger, &context->c);
    if (condition == CEN_CLEAN && (context->replies.head || ceni_redis_unsent(&context->c) > 0)) condition = CEN_DIRTY;
    pthread_mutex_unlock(&line->lock);
    return condition;
}

/* In a child: the memory and the descriptors that are its own; the lock may be a thread's that is not there. Nobody is told.
 * In the same process, as in the blocking form. */
void ceni_redis_later_abandon(void *state, void *object)
{
    redisAsyncContext *context = object;
    ceni_redis_channel *line = ceni_redis_channel_of(context);
    (void)state;
    if (line->ledger.process == getpid()) {
        shutdown(line->fd, SHUT_RDWR);
        return;
    }
    if (line->second >= 0) close(line->second);
    redisFree(&context->c);
    ceni_redis_ledger_fini(&line->ledger);
    free(line);
}
