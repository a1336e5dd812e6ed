/* SPDX-License-Identifier: MIT */
/*
 * The server of the loop_*.c examples: a process that listens on loopback and returns whatever it receives. It ends
 * when the process that started it does.
 */
#ifndef EXAMPLES_ECHO_H
#define EXAMPLES_ECHO_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ECHO_MOST = 32 };

typedef struct echo_server {
    struct sockaddr_in address;
    pid_t process;
    int lifeline; /* the process ends when this is closed, also by the death of its parent */
} echo_server;

static void echo_serve(int listener, int lifeline)
{
    struct pollfd fds[2 + ECHO_MOST] = {{.fd = listener, .events = POLLIN}, {.fd = lifeline, .events = POLLIN}};
    nfds_t count = 2;
    while (poll(fds, count, -1) > 0 && !fds[1].revents) {
        for (nfds_t i = count - 1; i > 1; i--) {
            char bytes[4096];
            if (!fds[i].revents) continue;
            ssize_t n = recv(fds[i].fd, bytes, sizeof bytes, 0);
            if (n > 0 && send(fds[i].fd, bytes, (size_t)n, MSG_NOSIGNAL) == n) continue;
            close(fds[i].fd);
            fds[i] = fds[--count];
        }
        int fd = fds[0].revents && count < 2 + ECHO_MOST ? accept(listener, NULL, NULL) : -1;
        if (fd >= 0) fds[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
}

/* Start the server by fork. Call it while the program has one thread. */
static bool echo_start(echo_server *echo)
{
    socklen_t length = sizeof echo->address;
    int ends[2], listener = socket(AF_INET, SOCK_STREAM, 0);
    echo->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (listener < 0 || bind(listener, (struct sockaddr *)&echo->address, length) != 0 ||
        listen(listener, ECHO_MOST) != 0 || getsockname(listener, (struct sockaddr *)&echo->address, &length) != 0 ||
        pipe(ends) != 0)
        return false;
    echo->process = fork();
    if (echo->process == 0) {
        close(ends[1]);
        echo_serve(listener, ends[0]);
        _exit(0);
    }
    close(listener);
    close(ends[0]);
    echo->lifeline = ends[1];
    return echo->process > 0;
}

static void echo_stop(echo_server *echo)
{
    close(echo->lifeline);
    waitpid(echo->process, NULL, 0);
}

/* Return a connection to the server, or -1. It waits, but not long on loopback. With SOCK_NONBLOCK it may not be
 * connected yet. */
static int echo_connect(const echo_server *echo, int flags)
{
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | flags, 0);
    if (fd < 0) return -1;
    if (connect(fd, (const struct sockaddr *)&echo->address, sizeof echo->address) == 0 ||
        (flags && errno == EINPROGRESS)) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* a request is small and must be sent at once */
        return fd;
    }
    close(fd);
    return -1;
}

/* A request is one number. On loopback its 4 bytes arrive together. */
static bool echo_send(int fd, uint32_t number)
{
    return send(fd, &number, sizeof number, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof number;
}

static bool echo_receive(int fd, uint32_t expected, int flags)
{
    uint32_t number = ~expected;
    return recv(fd, &number, sizeof number, flags) == sizeof number && number == expected;
}

#endif
