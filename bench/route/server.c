/* SPDX-License-Identifier: MIT */
/*
 * The echo server for both clients: one thread, epoll, one recv and one send for
 * whatever has come, which is looked through frame by frame.
 *
 * With BENCH_BROKEN it does something wrong with one frame, once, which the
 * harness of the clients must notice: lose, double, corrupt, or swap, which gives two replies
 * each other's id.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../rules/echo.h"

#define ROOM (256 << 10)
#define VICTIM 500 /* which frame goes wrong */

struct connection {
    int fd;
    size_t size;
    unsigned char bytes[ROOM];
};

/* What is in flight is bounded and fits into the sockets, so to wait here for
 * a client that does not read is no danger. */
static void send_all(int fd, const unsigned char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            struct pollfd wait = {fd, POLLOUT, 0};
            poll(&wait, 1, -1);
        } else if (sent < 0) {
            return; /* the next recv says so too */
        } else {
            bytes += sent;
            size -= (size_t)sent;
        }
    }
}

/* Once, with the first of the frames that are answered together. True if it is sent already. */
static bool go_wrong(int fd, unsigned char *bytes, size_t whole)
{
    static const char *fault;
    static unsigned batches;
    if (batches == 0) fault = getenv("BENCH_BROKEN");
    size_t first = echo_whole(bytes, whole), second = first < whole ? echo_whole(bytes + first, whole - first) : 0;
    if (++batches < VICTIM || fault == NULL || (strcmp(fault, "swap") == 0 && second == 0)) return false;
    if (strcmp(fault, "lose") == 0) {
        send_all(fd, bytes + first, whole - first);
    } else if (strcmp(fault, "double") == 0) {
        send_all(fd, bytes, first);
        send_all(fd, bytes, whole);
    } else if (strcmp(fault, "corrupt") == 0) {
        bytes[first - 1] ^= 1;
        send_all(fd, bytes, whole);
    } else {
        uint64_t id = echo_get64(bytes + 4);
        echo_put64(bytes + 4, echo_get64(bytes + first + 4));
        echo_put64(bytes + first + 4, id);
        send_all(fd, bytes, whole);
    }
    fault = NULL;
    return true;
}

static bool serve(struct connection *connection, bool is_broken)
{
    ssize_t got = recv(connection->fd, connection->bytes + connection->size, ROOM - connection->size, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) return false;
    size_t whole = 0, next;
    connection->size += (size_t)got;
    while ((next = echo_whole(connection->bytes + whole, connection->size - whole)) > 0) whole += next;
    if (whole == 0) return true;
    if (!is_broken || !go_wrong(connection->fd, connection->bytes, whole))
        send_all(connection->fd, connection->bytes, whole);
    connection->size -= whole;
    memmove(connection->bytes, connection->bytes + whole, connection->size);
    return true;
}

static void watch(int poller, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = what}};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event) != 0) bench_fail("cannot watch a descriptor");
}

static void welcome(int poller, int listener)
{
    int yes = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    struct connection *connection = bench_zeroed(1, sizeof *connection);
    connection->fd = fd;
    watch(poller, fd, connection);
}

int main(void)
{
    static char for_input, for_listener;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), poller = epoll_create1(EPOLL_CLOEXEC);
    bool is_broken = getenv("BENCH_BROKEN") != NULL;
    if (listener < 0 || poller < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 ||
        listen(listener, 64) != 0 || getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        bench_fail("cannot listen");
    watch(poller, 0, &for_input);
    watch(poller, listener, &for_listener);
    printf("%u\n", (unsigned)ntohs(address.sin_port));
    fflush(stdout);
    for (;;) {
        struct epoll_event events[ECHO_CONNECTIONS_MAX];
        int count = epoll_wait(poller, events, ECHO_CONNECTIONS_MAX, -1);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (events[i].data.ptr == &for_input) return 0;
            if (events[i].data.ptr == &for_listener) {
                welcome(poller, listener);
            } else if (!serve(connection, is_broken)) {
                close(connection->fd);
                free(connection);
            }
        }
    }
}
