/* SPDX-License-Identifier: MIT */
/*
 * Socket system calls.
 *
 * A socket stays in non-blocking mode for its whole life, so any thread may send and receive on it while the loop
 * watches it. Waiting uses ppoll, whose timeout is exact to the nanosecond. A receive timeout of the socket would be
 * rounded to the system's tick.
 *
 * Tested by tests/unit/net/socket_test.c.
 */
#include "net/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/plant.h"
#include "port/port.h"

static bool is_path(const ceni_endpoint *endpoint)
{
    return endpoint->at.ss_family == AF_UNIX;
}

/* Set TCP_NODELAY: a reply may travel in the same segment as the next request, and waiting to fill a segment would
 * delay both. A Unix socket has no such option. */
static void send_at_once(int fd)
{
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

int ceni_socket_new(const ceni_endpoint *endpoint)
{
    int fd = socket(endpoint->at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && !is_path(endpoint)) send_at_once(fd);
    return fd;
}

/* A connect that a signal interrupts goes on in the background. A second call would only fail with EALREADY. */
int ceni_socket_connect(int fd, const ceni_endpoint *endpoint)
{
    int held = ceni_cancel_hold();
    int result = connect(fd, (const struct sockaddr *)&endpoint->at, endpoint->size);
    if (result != 0 && errno == EINTR) errno = EINPROGRESS;
    ceni_cancel_release(held);
    return result;
}

int ceni_socket_error(int fd)
{
    int code = 0;
    socklen_t size = sizeof code;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) == 0 ? code : errno;
}

bool ceni_socket_is_itself(int fd)
{
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t here_size = sizeof here, there_size = sizeof there;
    return getsockname(fd, (struct sockaddr *)&here, &here_size) == 0 &&
           getpeername(fd, (struct sockaddr *)&there, &there_size) == 0 && here.ss_family != AF_UNIX &&
           here_size == there_size && memcmp(&here, &there, here_size) == 0;
}

static void set_number(int fd, int level, int name, int64_t number)
{
    int value = number > INT32_MAX ? INT32_MAX : (int)number;
    setsockopt(fd, level, name, &value, sizeof value);
}

/* Errors of the settings are ignored: without them a silent failure of the peer is only noticed later. A Unix socket
 * needs none of them and ignores them. */
void ceni_socket_keep_alive(int fd, int64_t ns)
{
    enum { QUESTIONS = 3, LONGEST_S = 32767 }; /* the system rejects a longer one and would use its default, 2 hours */
    if (ns <= 0) return;
    int64_t s = ns / 1000000000 + (ns % 1000000000 != 0);
    if (s > LONGEST_S) s = LONGEST_S;
    int64_t pause = (s + QUESTIONS - 1) / QUESTIONS;
    set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, s);
    set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, pause);
    set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, QUESTIONS);
    /* TCP_USER_TIMEOUT covers data that was sent and not acknowledged */
    set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (s + pause * QUESTIONS) * 1000);
    set_number(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

/* ---- Listening sockets ----------------------------------------------------------------------- */

/* A killed server leaves its socket file behind. If a connect to it is refused, the file may be removed. */
static void remove_left_file(const ceni_endpoint *endpoint)
{
    const struct sockaddr_un *path = (const struct sockaddr_un *)(const void *)&endpoint->at;
    struct stat found;
    if (lstat(path->sun_path, &found) != 0 || !S_ISSOCK(found.st_mode)) return;
    int fd = ceni_socket_new(endpoint);
    if (fd < 0) return;
    if (ceni_socket_connect(fd, endpoint) != 0 && errno == ECONNREFUSED) unlink(path->sun_path);
    ceni_socket_close(fd);
}

int ceni_socket_listen(const ceni_endpoint *endpoint, int backlog)
{
    int yes = 1;
    if (is_path(endpoint)) remove_left_file(endpoint);
    int fd = ceni_socket_new(endpoint);
    if (fd < 0) return -1;
    if (!is_path(endpoint)) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (const struct sockaddr *)&endpoint->at, endpoint->size) == 0 && listen(fd, backlog) == 0) return fd;
    int code = errno;
    ceni_socket_close(fd);
    errno = code;
    return -1;
}

int ceni_socket_accept(int fd)
{
    int held = ceni_cancel_hold();
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof peer;
    int taken = accept4(fd, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (taken >= 0 && peer.ss_family != AF_UNIX) send_at_once(taken);
    ceni_cancel_release(held);
    return taken;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* The C library's send and receive are cancellation points. Disabling cancellation around them takes two more calls
 * each time, and the cancellation point itself costs two locked instructions, though these calls never wait. So the
 * system calls are made directly. Sanitizers intercept the C library's functions, so builds with a sanitizer use
 * those. */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#define BY_LIBRARY 1
#elif defined __has_feature
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define BY_LIBRARY 1
#endif
#endif
#if !defined BY_LIBRARY && (!defined SYS_sendto || !defined SYS_recvfrom)
#define BY_LIBRARY 1
#endif

#ifdef BY_LIBRARY
static ssize_t send_some(int fd, const void *bytes, size_t size, int flags)
{
    int held = ceni_cancel_hold();
    ssize_t sent = send(fd, bytes, size, flags);
    ceni_cancel_release(held);
    return sent;
}

static ssize_t receive_some(int fd, void *bytes, size_t room, int flags)
{
    int held = ceni_cancel_hold();
    ssize_t got = recv(fd, bytes, room, flags);
    ceni_cancel_release(held);
    return got;
}
#else
static ssize_t send_some(int fd, const void *bytes, size_t size, int flags)
{
    return (ssize_t)syscall(SYS_sendto, fd, bytes, size, flags, NULL, 0);
}

static ssize_t receive_some(int fd, void *bytes, size_t room, int flags)
{
    return (ssize_t)syscall(SYS_recvfrom, fd, bytes, room, flags, NULL, NULL);
}
#endif

ssize_t ceni_socket_send(int fd, const void *bytes, size_t size)
{
    ssize_t sent;
    do sent = send_some(fd, bytes, size, (ceni_planted(net_write_raises_a_signal) ? 0 : MSG_NOSIGNAL) | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    return sent;
}

ssize_t ceni_socket_send_parts(int fd, struct iovec *parts, size_t count)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
    int held = ceni_cancel_hold();
    ssize_t sent;
    do sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    ceni_cancel_release(held);
    return sent;
}

ssize_t ceni_socket_receive(int fd, void *bytes, size_t room)
{
    ssize_t got;
    do got = receive_some(fd, bytes, room, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    return got;
}

bool ceni_socket_wait(int fd, int64_t moment)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    struct timespec left = {0}, *limit = NULL;
    if (moment != CENI_FOREVER) {
        int64_t ns = moment - ceni_clock_now();
        if (ns < 0) ns = 0;
        left = (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
        limit = &left;
    }
    int held = ceni_cancel_hold();
    int ready = ppoll(&one, 1, limit, NULL);
    ceni_cancel_release(held);
    return ready != 0;
}

void ceni_socket_shut(int fd)
{
    if (!ceni_planted(net_ends_without_a_word)) shutdown(fd, SHUT_RDWR);
}

void ceni_socket_close(int fd)
{
    int held = ceni_cancel_hold();
    close(fd);
    ceni_cancel_release(held);
}
