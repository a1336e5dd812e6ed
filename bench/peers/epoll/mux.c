/* SPDX-License-Identifier: MIT */
/*
 * What one would write by hand. Many: one thread with epoll, which reads
 * whatever has come on a connection, begins a new request for each reply and
 * sends all of them at once. One: a blocking send and a blocking recv.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../rules/echo.h"

#define ROOM (256 << 10)

struct connection {
    int fd;
    size_t in_size, out_size;
    unsigned char in[ROOM], out[ECHO_SLOTS_MAX * ECHO_FRAME];
};

/* As in the server: what is in flight fits into the sockets. */
static void flush(struct connection *connection)
{
    const unsigned char *bytes = connection->out;
    size_t size = connection->out_size;
    while (size > 0) {
        ssize_t sent = send(connection->fd, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            struct pollfd wait = {connection->fd, POLLOUT, 0};
            poll(&wait, 1, -1);
        } else if (sent < 0) {
            bench_fail("cannot send");
        } else {
            bytes += sent;
            size -= (size_t)sent;
        }
    }
    connection->out_size = 0;
}

static void put(struct connection *connection, unsigned slot)
{
    echo_frame(connection->out + connection->out_size, slot);
    connection->out_size += ECHO_FRAME;
}

static void receive(struct connection *connection)
{
    ssize_t got = recv(connection->fd, connection->in + connection->in_size, ROOM - connection->in_size, 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) bench_fail("the server hung up");
    connection->in_size += (size_t)got;
    size_t at = 0, whole;
    while ((whole = echo_whole(connection->in + at, connection->in_size - at)) > 0) {
        const unsigned char *frame = connection->in + at;
        uint64_t id = echo_get64(frame + 4);
        if (echo_end(id < ECHO_SLOTS_MAX ? (unsigned)id : ECHO_SLOTS_MAX, frame + ECHO_HEAD, whole - ECHO_HEAD))
            put(connection, (unsigned)id);
        at += whole;
    }
    connection->in_size -= at;
    memmove(connection->in, connection->in + at, connection->in_size);
    flush(connection);
}

void echo_many(uint16_t port, unsigned connections, unsigned in_flight)
{
    struct connection *all = bench_zeroed(connections, sizeof *all);
    int poller = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; i < connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = &all[i]}};
        all[i].fd = echo_connect(port);
        fcntl(all[i].fd, F_SETFL, O_NONBLOCK);
        if (epoll_ctl(poller, EPOLL_CTL_ADD, all[i].fd, &event) != 0) bench_fail("cannot watch a connection");
    }
    for (unsigned slot = 0; slot < in_flight; slot++) put(&all[slot % connections], slot);
    for (unsigned i = 0; i < connections; i++) flush(&all[i]);
    while (echo_left() > 0) {
        struct epoll_event events[ECHO_CONNECTIONS_MAX];
        int count = epoll_wait(poller, events, ECHO_CONNECTIONS_MAX, -1);
        for (int i = 0; i < count; i++) receive(events[i].data.ptr);
    }
    for (unsigned i = 0; i < connections; i++) close(all[i].fd);
    close(poller);
}

void echo_one(uint16_t port)
{
    unsigned char frame[ECHO_FRAME];
    int fd = echo_connect(port);
    do {
        echo_frame(frame, 0);
        if (send(fd, frame, ECHO_FRAME, MSG_NOSIGNAL) != ECHO_FRAME) bench_fail("cannot send");
        for (size_t got = 0; got < ECHO_FRAME;) {
            ssize_t more = recv(fd, frame + got, ECHO_FRAME - got, 0);
            if (more <= 0) bench_fail("the server hung up");
            got += (size_t)more;
        }
        if (echo_whole(frame, ECHO_FRAME) != ECHO_FRAME || echo_get64(frame + 4) != 0)
            bench_fail("a reply that is not what was sent");
    } while (echo_end(0, frame + ECHO_HEAD, ECHO_PAYLOAD));
    close(fd);
}
