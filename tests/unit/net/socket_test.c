/* SPDX-License-Identifier: MIT */
/* Sockets as the room wants them. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>

#include "net/socket.h"
#include "unit/net/servers.h"

static ceni_endpoint loopback(void)
{
    ceni_address address;
    ceni_endpoints found;
    expect_equal(ceni_address_parse(&address, "127.0.0.1:0", true, "who", NULL), CEN_OK);
    expect_equal(ceni_address_resolve(&address, true, &found, NULL), CEN_OK);
    return found.each[0];
}

static void expect_flags(int fd)
{
    int delays = 0;
    socklen_t size = sizeof delays;
    expect(fd >= 0);
    expect(fcntl(fd, F_GETFL) & O_NONBLOCK);
    expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    expect(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &delays, &size) == 0 && delays != 0);
}

/* Two ends of one connection, and the socket that listens. */
static void connect_two(int *listener, int *one, int *other)
{
    ceni_endpoint place = loopback();
    *listener = ceni_socket_listen(&place, 5);
    expect_flags(*listener);
    place.size = sizeof place.at;
    expect(getsockname(*listener, (struct sockaddr *)&place.at, &place.size) == 0);
    *one = ceni_socket_new(&place);
    expect_flags(*one);
    int result = ceni_socket_connect(*one, &place);
    expect(result == 0 || errno == EINPROGRESS);
    AWAIT((*other = ceni_socket_accept(*listener)) >= 0);
    expect_flags(*other);
    AWAIT(ceni_socket_error(*one) == 0);
}

/* guarantees: mux.well-behaved */
TEST(every_socket_is_non_blocking_closed_on_exec_and_sends_at_once)
{
    int listener, one, other;
    connect_two(&listener, &one, &other);
    expect_equal(ceni_socket_accept(listener), -1);
    expect(errno == EAGAIN);
    ceni_socket_close(listener);
    ceni_socket_close(one);
    ceni_socket_close(other);
}

static int number_of(int fd, int level, int name)
{
    int value = -1;
    socklen_t size = sizeof value;
    expect(getsockopt(fd, level, name, &value, &size) == 0);
    return value;
}

/* guarantees: mux.lost */
TEST(a_socket_asks_after_a_silence_whether_the_other_side_is_there)
{
    int listener, one, other, fds[2];
    connect_two(&listener, &one, &other);
    ceni_socket_keep_alive(other, 0);
    expect_equal(number_of(other, SOL_SOCKET, SO_KEEPALIVE), 0);
    ceni_socket_keep_alive(one, 29500 * ms); /* the system counts whole seconds */
    expect(number_of(one, SOL_SOCKET, SO_KEEPALIVE) != 0);
    expect_equal(number_of(one, IPPROTO_TCP, TCP_KEEPIDLE), 30);
    expect_equal(number_of(one, IPPROTO_TCP, TCP_KEEPINTVL) * number_of(one, IPPROTO_TCP, TCP_KEEPCNT), 30);
    expect_equal(number_of(one, IPPROTO_TCP, TCP_USER_TIMEOUT), 60000);
    expect(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    ceni_socket_keep_alive(fds[0], 1000 * ms);
    expect_equal(ceni_socket_send(fds[0], "x", 1), 1);
    ceni_socket_close(listener);
    ceni_socket_close(one);
    ceni_socket_close(other);
}

TEST(a_silence_that_is_longer_than_the_system_counts_is_the_longest_that_it_does)
{
    const int64_t silences[] = {10 * 3600 * 1000 * ms, INT64_MAX};
    for (int i = 0; i < 2; i++) {
        int listener, one, other;
        connect_two(&listener, &one, &other);
        ceni_socket_keep_alive(one, silences[i]);
        expect(number_of(one, SOL_SOCKET, SO_KEEPALIVE) != 0);
        expect_equal(number_of(one, IPPROTO_TCP, TCP_KEEPIDLE), 32767);
        expect_equal(number_of(one, IPPROTO_TCP, TCP_KEEPINTVL), 10923);
        expect_equal(number_of(one, IPPROTO_TCP, TCP_USER_TIMEOUT), 65536000);
        ceni_socket_close(listener);
        ceni_socket_close(one);
        ceni_socket_close(other);
    }
}

/* guarantees: mux.connect-error */
TEST(a_socket_that_is_connected_to_itself_is_noticed)
{
    int listener, one, other, self = socket(AF_INET, SOCK_STREAM, 0);
    ceni_endpoint place = loopback();
    connect_two(&listener, &one, &other);
    expect(!ceni_socket_is_itself(one) && !ceni_socket_is_itself(other));
    expect(bind(self, (struct sockaddr *)&place.at, place.size) == 0);
    expect(getsockname(self, (struct sockaddr *)&place.at, &place.size) == 0);
    expect(connect(self, (struct sockaddr *)&place.at, place.size) == 0); /* nobody listens there */
    expect(ceni_socket_is_itself(self));
    ceni_socket_close(self);
    ceni_socket_close(listener);
    ceni_socket_close(one);
    ceni_socket_close(other);
}

/* guarantees: mux.well-behaved */
TEST(a_write_to_one_that_is_gone_is_an_error_and_no_signal)
{
    int fds[2];
    signal(SIGPIPE, SIG_DFL);
    expect(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    ceni_socket_close(fds[1]);
    expect_equal(ceni_socket_send(fds[0], "x", 1), -1);
    expect_equal(errno, EPIPE);
    struct iovec part = {"x", 1};
    expect_equal(ceni_socket_send_parts(fds[0], &part, 1), -1);
    expect_equal(errno, EPIPE);
    ceni_socket_close(fds[0]);
}

TEST(neither_sending_nor_receiving_waits)
{
    static char bytes[100000];
    int listener, one, other;
    connect_two(&listener, &one, &other);
    expect_equal(ceni_socket_receive(one, bytes, sizeof bytes), -1);
    expect_equal(errno, EAGAIN);
    ssize_t sent;
    while ((sent = ceni_socket_send(one, bytes, sizeof bytes)) > 0) continue;
    expect_equal(sent, -1);
    expect_equal(errno, EAGAIN);
    ceni_socket_close(listener);
    ceni_socket_close(one);
    ceni_socket_close(other);
}

TEST(a_wait_ends_with_its_moment_or_when_there_is_something)
{
    int listener, one, other;
    connect_two(&listener, &one, &other);
    int64_t moment = ceni_clock_now() + 20 * ms + 300000;
    expect(!ceni_socket_wait(one, moment));
    expect(ceni_clock_now() >= moment);
    expect(!ceni_socket_wait(one, 1)); /* long ago */
    expect_equal(ceni_socket_send(other, "x", 1), 1);
    expect(ceni_socket_wait(one, CENI_FOREVER));
    ceni_socket_close(listener);
    ceni_socket_close(one);
    ceni_socket_close(other);
}

static void shut_later(void *argument)
{
    ceni_sleep_until(ceni_clock_now() + 20 * ms);
    ceni_socket_shut(*(int *)argument);
}

TEST(a_wait_ends_when_its_own_side_is_shut)
{
    char byte;
    int listener, one, other, code;
    ceni_thread thread;
    connect_two(&listener, &one, &other);
    expect_equal(ceni_thread_start(&thread, NULL, shut_later, &one, &code), CEN_OK);
    expect(ceni_socket_wait(one, CENI_FOREVER));
    expect_equal(ceni_socket_receive(one, &byte, 1), 0);
    ceni_thread_join(&thread);
    ceni_socket_close(listener);
    ceni_socket_close(one);
    ceni_socket_close(other);
}

__attribute__((noinline)) static void use_a_socket(int *fds)
{
    char byte;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    AWAIT(ceni_socket_receive(fds[0], &byte, 1) == 1); /* it has been cancelled by now */
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    ceni_socket_send(fds[0], "a", 1);
    ceni_socket_receive(fds[0], &byte, 1);
    ceni_socket_wait(fds[0], ceni_clock_now() + ms);
    ceni_socket_send(fds[0], "b", 1);
}

/* Ends in a frame without variables: those of one that is left so would stay marked for AddressSanitizer. */
static void *use_it_and_end(void *argument)
{
    use_a_socket(argument);
    pthread_testcancel();
    return NULL;
}

/* guarantees: mux.well-behaved */
TEST(none_of_it_is_a_cancellation_point)
{
    int fds[2];
    char bytes[3] = "";
    void *result;
    pthread_t thread;
    expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) == 0);
    expect(pthread_create(&thread, NULL, use_it_and_end, fds) == 0);
    expect(pthread_cancel(thread) == 0);
    expect_equal(ceni_socket_send(fds[1], "x", 1), 1);
    expect(pthread_join(thread, &result) == 0);
    expect(result == PTHREAD_CANCELED);
    expect_equal(ceni_socket_receive(fds[1], bytes, 2), 2);
    expect_text(bytes, "ab");
    ceni_socket_close(fds[0]);
    ceni_socket_close(fds[1]);
}
