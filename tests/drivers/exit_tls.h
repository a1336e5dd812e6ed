/* SPDX-License-Identifier: MIT */
/*
 * A driver whose objects are TLS sessions with a local server, each opened by many handshakes: for the end of a process in the
 * middle of one. Its argument is the server's address.
 */
#ifndef TESTS_DRIVERS_EXIT_TLS_H
#define TESTS_DRIVERS_EXIT_TLS_H

#include <openssl/ssl.h>

#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cenote/cenote.h>

enum { OBJECTS = 4, HANDSHAKES = 50, ENDED_AS_IT_SHOULD = 7 };

static SSL_CTX *context;
static _Atomic unsigned begun;
static _Atomic bool is_cancelled;
static bool exits_in_open;

static cen_status prepare(void *argument, void **state, cen_error *error)
{
    (void)error;
    *state = argument;
    return OPENSSL_init_ssl(0, NULL) == 1 ? CEN_OK : CEN_NO_MEMORY;
}

static SSL *shake_hands(void *argument)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&once);
    if (!context) context = SSL_CTX_new(TLS_client_method());
    pthread_mutex_unlock(&once);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)argument, sizeof(struct sockaddr_in)) != 0) return NULL;
    SSL *session = SSL_new(context);
    SSL_set_fd(session, fd);
    if (SSL_connect(session) == 1) return session;
    SSL_free(session);
    close(fd);
    return NULL;
}

static void close_session(void *argument, void *object)
{
    (void)argument;
    int fd = SSL_get_fd(object);
    SSL_free(object);
    close(fd);
}

/* Many handshakes, so that the process ends in the middle of one. */
static cen_status open_session(void *argument, void **out, cen_error *error)
{
    (void)error;
    SSL *session = NULL;
    unsigned mine = ++begun;
    if (exits_in_open && mine == OBJECTS) exit(ENDED_AS_IT_SHOULD); /* one of them, beside the others */
    for (int i = 0; i < HANDSHAKES && !is_cancelled; i++) {
        if (session) close_session(argument, session);
        session = shake_hands(argument);
        if (!session) return CEN_LOST;
    }
    *out = session;
    return session ? CEN_OK : CEN_LOST;
}

static void cancel_all(void *argument)
{
    (void)argument;
    is_cancelled = true;
}

static const cen_driver_calls calls = {.size = sizeof calls,
                                       .blocks = true,
                                       .prepare = prepare,
                                       .open = open_session,
                                       .close = close_session,
                                       .cancel_all = cancel_all};

static cen_pool *make_pool(struct sockaddr_in *server, cen_runtime *runtime)
{
    cen_pool *pool;
    cen_error error;
    cen_pool_options options =
        CEN_POOL_OPTIONS(.name = "tls", .driver = {&calls, server}, .max = OBJECTS, .min_idle = OBJECTS,
                         .max_concurrent_opens = OBJECTS, .runtime = runtime);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK) abort();
    return pool;
}

/* Random, so that the ends meet every part of a handshake. */
static void stay_a_little(unsigned run)
{
    uint32_t mixed = (run + 1) * UINT32_C(2654435761);
    struct timespec pause = {.tv_nsec = (long)(mixed % 4000000)};
    while (begun == 0) sched_yield();
    nanosleep(&pause, NULL);
}

#endif
