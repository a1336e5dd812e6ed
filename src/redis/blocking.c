/* SPDX-License-Identifier: MIT */
/*
 * The blocking form: objects are redisContext *.
 *
 * The driver's own commands bypass hiredis' buffer and use send and poll. So each call ends by its own deadline,
 * however slowly a server responds, and a dead connection raises no SIGPIPE, as hiredis' write would.
 */
#include "redis/redis.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int64_t due_in(int64_t ns)
{
    int64_t now = cen_clock();
    return ns > INT64_MAX - now ? INT64_MAX : now + ns;
}

static struct timeval as_time(int64_t ns)
{
    return (struct timeval){.tv_sec = ns / 1000000000, .tv_usec = ns % 1000000000 / 1000};
}

/* Wait until the descriptor is ready. Returns 0 or an errno value: ETIMEDOUT at the deadline, ECANCELED when the
 * process exits. */
static int await(const ceni_redis_server *pool, int fd, short events, int64_t due)
{
    for (;;) {
        int64_t ns = due == INT64_MAX ? INT64_MAX : due - cen_clock();
        if (ns <= 0) return ETIMEDOUT;
        int ms = ns / 1000000 >= INT_MAX ? INT_MAX : (int)(ns / 1000000) + 1;
        struct pollfd fds[] = {{.fd = fd, .events = events}, {.fd = pool->exits, .events = POLLIN}};
        int count = poll(fds, 2, ms);
        if (count > 0) return fds[1].revents ? ECANCELED : 0;
        if (count < 0 && errno != EINTR) return errno;
    }
}

static int send_all(const ceni_redis_server *pool, int fd, const char *bytes, size_t size, int64_t due)
{
    while (size > 0) {
        ssize_t count = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count >= 0) {
            bytes += count;
            size -= (size_t)count;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            int code = await(pool, fd, POLLOUT, due);
            if (code) return code;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

/* A call of the driver on a connection, and its deadline. */
typedef struct dialogue {
    ceni_redis_server *pool;
    redisContext *context;
    const char *what;
    int64_t due, limit_ns;
} dialogue;

/* Receive the next reply. On failure the error describes it. */
static cen_status receive(const dialogue *now, redisReply **out, cen_error *error)
{
    ceni_redis_server *pool = now->pool;
    redisContext *context = now->context;
    for (;;) {
        void *reply = NULL;
        if (redisGetReplyFromReader(context, &reply) != REDIS_OK)
            return ceni_redis_context_failed(pool, now->what, context, 0, error);
        *out = reply;
        if (reply) return CEN_OK;
        int code = await(pool, context->fd, POLLIN, now->due);
        if (code == ETIMEDOUT) return ceni_redis_timed_out(pool, now->what, now->limit_ns, error);
        if (code) return ceni_redis_system(pool, now->what, code, error);
        if (redisBufferRead(context) != REDIS_OK)
            return ceni_redis_context_failed(pool, now->what, context, errno, error);
    }
}

/* Send all commands of the talk and receive all replies. CEN_STALE: the reset must be started again. */
static cen_status talk_over(const dialogue *now, ceni_redis_talk *talk, cen_error *error)
{
    int fd = now->context->fd;
    for (unsigned i = 0; i < talk->count; i++) {
        int code = send_all(now->pool, fd, talk->says[i].bytes, talk->says[i].size, now->due);
        if (code == ETIMEDOUT) return ceni_redis_timed_out(now->pool, now->what, now->limit_ns, error);
        if (code) return ceni_redis_last_words(now->pool, now->what, fd, code, error);
    }
    for (;;) {
        redisReply *reply = NULL;
        cen_status status = receive(now, &reply, error);
        if (status != CEN_OK) return status;
        ceni_redis_told told = ceni_redis_talk_hear(ceni_redis_ledger_of(now->context), talk, reply);
        freeReplyObject(reply);
        if (told == CENI_REDIS_DONE) return CEN_OK;
        if (told == CENI_REDIS_AGAIN) return CEN_STALE;
        if (told == CENI_REDIS_FAILED) {
            *error = talk->error;
            return talk->status;
        }
    }
}

/* ---- Open and close ------------------------------------------------------------------------------------ */

static cen_status connect_to(ceni_redis_server *pool, redisContext **out, cen_error *error)
{
    const ceni_redis_url *url = &pool->url;
    struct timeval time = as_time(pool->connect_ns);
    bool is_limited = pool->connect_ns != INT64_MAX;
    redisContext *context;
    errno = 0;
    if (url->path) context = is_limited ? redisConnectUnixWithTimeout(url->path, time) : redisConnectUnix(url->path);
    else
        context = is_limited ? redisConnectWithTimeout(url->host, url->port, time) : redisConnect(url->host, url->port);
    int code = errno;
    if (!context) return ceni_redis_no_memory(pool, error);
    if (context->err) {
        cen_status status = ceni_redis_context_failed(pool, "connect", context, code, error);
        redisFree(context);
        return status;
    }
    fcntl(context->fd, F_SETFD, FD_CLOEXEC);
    if (!url->path) redisEnableKeepAlive(context);
    /* For the holders. The driver's own calls have deadlines instead. */
    if (pool->command_ns != INT64_MAX)
        redisSetTimeout(context, as_time(pool->command_ns < 1000 ? 1000 : pool->command_ns));
    *out = context;
    return CEN_OK;
}

cen_status ceni_redis_open(void *state, void **out, cen_error *error)
{
    ceni_redis_server *pool = state;
    dialogue now = {pool, NULL, "open", due_in(pool->connect_ns), pool->connect_ns};
    redisContext *context = NULL;
    ceni_redis_talk talk;
    cen_status status = connect_to(pool, &context, error);
    if (status != CEN_OK) return status;
    ceni_redis_ledger *ledger = calloc(1, sizeof *ledger);
    if (!ledger) {
        redisFree(context);
        return ceni_redis_no_memory(pool, error);
    }
    ceni_redis_ledger_attach(ledger, pool, context);
    ledger->process = getpid();
    ledger->is_quiet = true;
    now.context = context;
    status = ceni_redis_talk_open(pool, &talk, error);
    if (status == CEN_OK) {
        status = talk_over(&now, &talk, error);
        if (status == CEN_OK) ceni_redis_capacity_tell(pool, &talk);
        ceni_redis_talk_fini(&talk);
    }
    ledger->is_quiet = false;
    if (status == CEN_OK && !ceni_redis_seal_renew(ledger)) status = ceni_redis_no_memory(pool, error);
    *out = context;
    if (status != CEN_OK) ceni_redis_close(pool, context);
    return status;
}

void ceni_redis_close(void *state, void *object)
{
    redisContext *context = object;
    ceni_redis_ledger *ledger = ceni_redis_ledger_of(context);
    (void)state;
    redisFree(context);
    if (!ledger) return;
    ceni_redis_ledger_fini(ledger);
    free(ledger);
}

/* The server ends the work of a client whose connection is gone, even if it is blocked in BLPOP. So no CLIENT KILL over
 * another connection is needed, which might not be available.
 * hiredis' own write on a shut-down socket raises SIGPIPE, and a program with the default handler would be killed
 * because a lease was revoked. With the default handler only reading is shut down, and the server notices when the
 * connection is given back. */
void ceni_redis_interrupt(void *state, void *object)
{
    ceni_redis_ledger *ledger = ceni_redis_ledger_of(object);
    struct sigaction now;
    bool kills = sigaction(SIGPIPE, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
    (void)state;
    if (ledger) shutdown(ledger->fd, kills ? SHUT_RD : SHUT_RDWR);
}

/* Replace the socket by /dev/null. The server sees the end of the connection at once. The holder reads an end of file,
 * and a write raises no SIGPIPE, as one on a socket shut down for writing would. */
static void replace_socket(int fd)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0) return; /* reading has ended; the server notices at the close */
    dup3(nothing, fd, O_CLOEXEC);
    close(nothing);
}

/* In a child the descriptor is closed. The server does not notice, because the parent has the connection, too. In the
 * same process the holder may use its context again at any time: it finds a connection that has ended. A close
 * follows. */
void ceni_redis_abandon(void *state, void *object)
{
    ceni_redis_ledger *ledger = ceni_redis_ledger_of(object);
    if (!ledger || ledger->process != getpid()) {
        ceni_redis_close(state, object);
        return;
    }
    ceni_redis_interrupt(state, object); /* wakes a holder that is reading */
    replace_socket(ledger->fd);
}

void ceni_redis_cancel_all(void *state)
{
    const ceni_redis_server *pool = state;
    if (pool->exits >= 0 && pool->process == getpid()) (void)!write(pool->exits, &(uint64_t){1}, sizeof(uint64_t));
}

/* ---- Check, reset, test -------------------------------------------------------------------------------- */

cen_condition ceni_redis_check(void *state, void *object)
{
    const redisContext *context = object;
    const ceni_redis_ledger *ledger = ceni_redis_ledger_of(context);
    (void)state;
    if (!ledger || context->fd != ledger->fd) return CEN_BROKEN; /* the program has reconnected it */
    /* Commands that were not sent must not be sent later, because their holder is gone. One may have been sent in
     * part. */
    if (ceni_redis_unsent(context) > 0) return CEN_BROKEN;
    return ceni_redis_ledger_condition(ledger, context);
}

cen_status ceni_redis_test(void *state, void *object, cen_error *error)
{
    ceni_redis_server *pool = state;
    redisContext *context = object;
    ceni_redis_ledger *ledger = ceni_redis_ledger_of(context);
    dialogue now = {pool, context, "test", due_in(pool->test_ns), pool->test_ns};
    ceni_redis_talk talk;
    cen_status status = ceni_redis_talk_test(pool, &talk, error);
    if (status != CEN_OK) return status;
    ledger->is_quiet = true;
    status = talk_over(&now, &talk, error);
    ledger->is_quiet = false;
    ceni_redis_talk_fini(&talk);
    return status;
}

cen_status ceni_redis_reset(void *state, void *object, cen_error *error)
{
    ceni_redis_server *pool = state;
    redisContext *context = object;
    ceni_redis_ledger *ledger = ceni_redis_ledger_of(context);
    dialogue now = {pool, context, "reset", due_in(pool->reset_ns), pool->reset_ns};
    cen_status status;
    ledger->is_quiet = true;
    for (int tries = 0; tries < 2; tries++) {
        ceni_redis_talk talk;
        status = ceni_redis_talk_reset(ledger, &talk, error);
        if (status != CEN_OK) return status;
        status = talk_over(&now, &talk, error);
        ceni_redis_talk_fini(&talk);
        if (status != CEN_STALE) break;
    }
    ledger->is_quiet = false;
    ceni_redis_ledger_clear(ledger);
    if (status == CEN_OK && !ceni_redis_seal_renew(ledger)) status = ceni_redis_no_memory(pool, error);
    return status;
}
