/* SPDX-License-Identifier: MIT */
/*
 * Both ends of a connection through the proxy, in the test's own hands: the server is a socket that it listens on.
 *
 *     test_rig rig = rig_start();
 *     ends one = rig_connect(&rig);      one.client is connected to the proxy, one.server was accepted from it
 *     ...
 *     ends_close(&one);
 *     rig_stop(&rig);
 */
#ifndef TESTS_UNIT_FAULTPROXY_ENDS_H
#define TESTS_UNIT_FAULTPROXY_ENDS_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "support/faultproxy.h"
#include "support/test.h"

#define UNUSED __attribute__((unused))

enum { PATIENCE = 10000 /* ms */ };

typedef struct test_rig {
    int listener;
    unsigned port;
    fault_proxy *proxy;
} test_rig;

typedef struct ends {
    int client, server;
} ends;

UNUSED static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

UNUSED static void sleep_ms(int64_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* ---- Sockets -------------------------------------------------------------------------------- */

UNUSED static struct sockaddr_in loopback(unsigned port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
}

/* A socket that listens at a free port, with a long line. */
UNUSED static int listen_here(unsigned *port)
{
    struct sockaddr_in at = loopback(0);
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 1024) == 0);
    expect(getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    *port = ntohs(at.sin_port);
    return fd;
}

/* 0, or the error that connect gave. */
UNUSED static int try_connect(unsigned port, int *out)
{
    struct sockaddr_in at = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    expect(fd >= 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    int error = connect(fd, (struct sockaddr *)&at, sizeof at) == 0 ? 0 : errno;
    if (error) close(fd);
    else *out = fd;
    return error;
}

UNUSED static int connect_to(unsigned port)
{
    int fd = -1;
    expect_equal(try_connect(port, &fd), 0);
    return fd;
}

/* Whether it can be read from within so many milliseconds; an end and an error can. */
UNUSED static bool readable(int fd, int ms)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    return poll(&wait, 1, ms) == 1;
}

UNUSED static int accept_one(int listener)
{
    expect(readable(listener, PATIENCE));
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), yes = 1;
    expect(fd >= 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

UNUSED static void send_all(int fd, const void *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t count = send(fd, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);
        if (count <= 0) test_fail(__FILE__, __LINE__, "a send failed: %s", strerror(errno));
        sent += (size_t)count;
    }
}

UNUSED static void send_text(int fd, const char *text)
{
    send_all(fd, text, strlen(text));
}

/* So many bytes; the number of reads that it took. */
UNUSED static unsigned receive_all(int fd, void *into, size_t size)
{
    unsigned reads = 0;
    for (size_t got = 0; got < size; reads++) {
        expect(readable(fd, PATIENCE));
        ssize_t count = recv(fd, (char *)into + got, size - got, 0);
        if (count <= 0)
            test_fail(__FILE__, __LINE__, "%zu of %zu bytes came, and then %s", got, size,
                      count ? strerror(errno) : "the end");
        got += (size_t)count;
    }
    return reads;
}

UNUSED static void expect_received(int fd, const char *text)
{
    char got[256] = "";
    receive_all(fd, got, strlen(text));
    expect_text(got, text);
}

/* The other side has ended its way, and nothing came before. */
UNUSED static void expect_end(int fd)
{
    char byte;
    expect(readable(fd, PATIENCE));
    expect_equal(recv(fd, &byte, 1, 0), 0);
}

/* The connection was reset. */
UNUSED static void expect_reset(int fd)
{
    char byte;
    expect(readable(fd, PATIENCE));
    expect_equal(recv(fd, &byte, 1, 0), -1);
    expect_equal(errno, ECONNRESET);
}

UNUSED static void expect_silence(int fd, int ms)
{
    expect(!readable(fd, ms));
}

/* ---- The rig -------------------------------------------------------------------------------- */

UNUSED static test_rig rig_start(void)
{
    test_rig rig = {0};
    rig.listener = listen_here(&rig.port);
    rig.proxy = proxy_start("127.0.0.1", rig.port);
    return rig;
}

UNUSED static ends rig_connect(test_rig *rig)
{
    ends one;
    one.client = connect_to(proxy_port(rig->proxy));
    one.server = accept_one(rig->listener);
    return one;
}

UNUSED static void ends_close(ends *one)
{
    close(one->client);
    close(one->server);
}

UNUSED static void rig_stop(test_rig *rig)
{
    proxy_stop(rig->proxy);
    close(rig->listener);
}

#endif
