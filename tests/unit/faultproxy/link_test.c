/* SPDX-License-Identifier: MIT */
/* The proxy without faults: what goes in comes out, and so do ends and errors. */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "unit/faultproxy/ends.h"

TEST(bytes_go_both_ways_and_are_counted)
{
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    send_text(one.client, "question");
    expect_received(one.server, "question");
    send_text(one.server, "answer");
    expect_received(one.client, "answer");
    expect_equal(proxy_stat(rig.proxy, "to_server"), 8);
    expect_equal(proxy_stat(rig.proxy, "to_client"), 6);
    expect_equal(proxy_stat(rig.proxy, "accepted"), 1);
    expect_equal(proxy_stat(rig.proxy, "connected"), 1);
    expect_equal(proxy_stat(rig.proxy, "open"), 1);
    ends_close(&one);
    proxy_await(rig.proxy, "open", 0);
    expect_equal(proxy_stat(rig.proxy, "most_open"), 1);
    expect_equal(proxy_stat(rig.proxy, "resets"), 0);
    proxy_say(rig.proxy, "forget");
    expect_equal(
        proxy_stat(rig.proxy, "accepted") + proxy_stat(rig.proxy, "most_open") + proxy_stat(rig.proxy, "to_server"), 0);
    rig_stop(&rig);
}

TEST(a_client_that_ends_its_way_still_hears_the_server)
{
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    send_text(one.client, "last words");
    shutdown(one.client, SHUT_WR);
    expect_received(one.server, "last words");
    expect_end(one.server);
    send_text(one.server, "heard");
    expect_received(one.client, "heard");
    expect_silence(one.client, 50); /* the server has not ended */
    shutdown(one.server, SHUT_WR);
    expect_end(one.client);
    proxy_await(rig.proxy, "open", 0);
    ends_close(&one);
    rig_stop(&rig);
}

TEST(a_server_that_ends_its_way_still_hears_the_client)
{
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    shutdown(one.server, SHUT_WR);
    expect_end(one.client);
    send_text(one.client, "still here");
    expect_received(one.server, "still here");
    close(one.client);
    expect_end(one.server);
    close(one.server);
    rig_stop(&rig);
}

static void close_hard(int fd)
{
    struct linger hard = {.l_onoff = 1};
    expect(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard) == 0);
    close(fd);
}

TEST(a_reset_by_either_side_reaches_the_other_after_the_bytes_before_it)
{
    test_rig rig = rig_start();
    ends one = rig_connect(&rig), other = rig_connect(&rig);
    send_text(one.server, "dying");
    expect_received(one.client, "dying");
    close_hard(one.server);
    expect_reset(one.client);
    close_hard(other.client);
    expect_reset(other.server);
    proxy_await(rig.proxy, "open", 0);
    expect_equal(proxy_stat(rig.proxy, "resets"), 0); /* it made none itself */
    close(one.client);
    close(other.server);
    rig_stop(&rig);
}

TEST(a_side_that_has_ended_its_way_may_still_reset_the_other)
{
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    shutdown(one.client, SHUT_WR);
    expect_end(one.server);
    close_hard(one.client);
    proxy_await(rig.proxy, "open", 0); /* nobody had to send anything to find out */
    struct pollfd wait = {.fd = one.server, .events = 0};
    expect(poll(&wait, 1, PATIENCE) == 1 && (wait.revents & POLLERR));
    close(one.server);
    rig_stop(&rig);
}

TEST(a_client_is_closed_and_counted_when_there_is_no_server)
{
    test_rig rig = rig_start();
    close(rig.listener);
    int fd = connect_to(proxy_port(rig.proxy));
    expect_end(fd);
    expect_equal(proxy_stat(rig.proxy, "failed_connects"), 1);
    expect_equal(proxy_stat(rig.proxy, "accepted"), 1);
    expect_equal(proxy_stat(rig.proxy, "connected"), 0);
    expect_equal(proxy_stat(rig.proxy, "open"), 0);
    close(fd);
    proxy_stop(rig.proxy);
}

TEST(new_connections_go_where_the_proxy_is_told_and_old_ones_stay)
{
    test_rig rig = rig_start();
    unsigned port;
    char command[64];
    int other = listen_here(&port);
    ends old = rig_connect(&rig);
    snprintf(command, sizeof command, "to 127.0.0.1:%u", port);
    proxy_say(rig.proxy, command);
    ends new = {.client = connect_to(proxy_port(rig.proxy)), .server = accept_one(other)};
    send_text(new.client, "new");
    expect_received(new.server, "new");
    send_text(old.client, "old");
    expect_received(old.server, "old");
    ends_close(&old);
    ends_close(&new);
    close(other);
    rig_stop(&rig);
}

/* ---- Much of it ----------------------------------------------------------------------------- */

enum { LARGE = 100 * 1000 * 1000, CHUNK = 256 * 1024 };

static uint64_t sum_on(uint64_t sum, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) sum = (sum ^ bytes[i]) * 1099511628211u;
    return sum;
}

typedef struct stream {
    int fd;
    uint64_t sum, count;
} stream;

static void *send_large(void *argument)
{
    static unsigned char chunk[CHUNK];
    stream *to = argument;
    uint64_t state = 7;
    while (to->count < LARGE) {
        size_t size = LARGE - to->count < CHUNK ? LARGE - to->count : CHUNK;
        for (size_t i = 0; i + 8 <= size; i += 8) {
            uint64_t word = test_random(&state);
            memcpy(chunk + i, &word, 8);
        }
        to->sum = sum_on(to->sum, chunk, size);
        to->count += size;
        send_all(to->fd, chunk, size);
    }
    shutdown(to->fd, SHUT_WR);
    return NULL;
}

static void *receive_large(void *argument)
{
    static unsigned char chunk[CHUNK];
    stream *from = argument;
    ssize_t count;
    while ((count = recv(from->fd, chunk, sizeof chunk, 0)) > 0) {
        from->sum = sum_on(from->sum, chunk, (size_t)count);
        from->count += (uint64_t)count;
    }
    expect_equal(count, 0);
    return NULL;
}

/* One end writes while the other reads what comes back. */
static void *echo_until_end(void *argument)
{
    static unsigned char chunk[CHUNK];
    int fd = *(int *)argument;
    ssize_t count;
    while ((count = recv(fd, chunk, sizeof chunk, 0)) > 0) send_all(fd, chunk, (size_t)count);
    shutdown(fd, SHUT_WR);
    return NULL;
}

static long resident_kilobytes(pid_t process)
{
    char path[64], line[256];
    long kilobytes = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "r");
    expect(file != NULL);
    while (fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0) kilobytes = strtol(line + 6, NULL, 10);
    fclose(file);
    return kilobytes;
}

TEST(a_hundred_megabytes_go_there_and_back_unharmed_in_bounded_memory)
{
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    long before = resident_kilobytes(proxy_process(rig.proxy));
    pthread_t threads[3];
    stream out = {.fd = one.client}, in = {.fd = one.client};
    expect(pthread_create(&threads[0], NULL, echo_until_end, &one.server) == 0);
    expect(pthread_create(&threads[1], NULL, send_large, &out) == 0);
    expect(pthread_create(&threads[2], NULL, receive_large, &in) == 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    expect_equal(in.count, LARGE);
    expect(in.sum == out.sum);
    expect_equal(proxy_stat(rig.proxy, "to_server"), LARGE);
    expect_equal(proxy_stat(rig.proxy, "to_client"), LARGE);
    expect(resident_kilobytes(proxy_process(rig.proxy)) - before < 4096);
    ends_close(&one);
    rig_stop(&rig);
}

TEST(one_who_does_not_read_stops_the_sender_and_the_proxy_keeps_little)
{
    static char bytes[64 * 1024];
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    long before = resident_kilobytes(proxy_process(rig.proxy));
    size_t sent = 0;
    for (;;) {
        struct pollfd wait = {.fd = one.client, .events = POLLOUT};
        if (poll(&wait, 1, 300) != 1) break;
        ssize_t count = send(one.client, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0) sent += (size_t)count;
        expect(sent < 200u * 1000 * 1000); /* the sockets' own buffers are far smaller */
    }
    expect(resident_kilobytes(proxy_process(rig.proxy)) - before < 4096);
    for (size_t got = 0; got < sent;) {
        ssize_t count = recv(one.server, bytes, sizeof bytes, 0);
        expect(count > 0);
        got += (size_t)count;
    }
    ends_close(&one);
    rig_stop(&rig);
}

enum { MANY = 1000 };

TEST(a_thousand_connections_at_once_each_have_their_own_bytes)
{
    static ends all[MANY];
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    test_rig rig = rig_start();
    for (int i = 0; i < MANY; i++) all[i].client = connect_to(proxy_port(rig.proxy));
    for (int i = 0; i < MANY; i++) send_all(all[i].client, &i, sizeof i);
    for (int i = 0; i < MANY; i++) {
        int number, fd = accept_one(rig.listener);
        receive_all(fd, &number, sizeof number);
        all[number].server = fd;
    }
    for (int i = 0; i < MANY; i++) send_all(all[i].server, &i, sizeof i);
    for (int i = 0; i < MANY; i++) {
        int number;
        receive_all(all[i].client, &number, sizeof number);
        expect_equal(number, i);
    }
    expect_equal(proxy_stat(rig.proxy, "most_open"), MANY);
    expect_equal(proxy_stat(rig.proxy, "accepted"), MANY);
    expect(proxy_stat(rig.proxy, "peak_per_second") >= 100);
    for (int i = 0; i < MANY; i++) ends_close(&all[i]);
    proxy_await(rig.proxy, "open", 0);
    rig_stop(&rig);
}

/* ---- Unix sockets --------------------------------------------------------------------------- */

static int unix_socket(const char *path, struct sockaddr_un *at)
{
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(at->sun_path, sizeof at->sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(fd >= 0);
    return fd;
}

TEST(a_unix_server_whose_line_is_full_is_tried_again)
{
    char folder[] = "/tmp/cenote-faultproxy-XXXXXX", back[64], to[80];
    struct sockaddr_un at;
    int clients[6];
    expect(mkdtemp(folder) != NULL);
    snprintf(back, sizeof back, "%s/back", folder);
    snprintf(to, sizeof to, "unix:%s", back);
    int listener = unix_socket(back, &at);
    expect(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 0) == 0);
    const char *arguments[] = {"--listen", "127.0.0.1:0", "--to", to, "--seed", "1", NULL};
    fault_proxy *proxy = proxy_start_with(arguments);
    for (int i = 0; i < 6; i++) clients[i] = connect_to(proxy_port(proxy));
    proxy_await(proxy, "accepted", 6);
    sleep_ms(50);
    expect(proxy_stat(proxy, "connected") < 6); /* the line is full indeed */
    for (int i = 0; i < 6; i++) close(accept_one(listener));
    for (int i = 0; i < 6; i++) expect_end(clients[i]);
    for (int i = 0; i < 6; i++) close(clients[i]);
    expect_equal(proxy_stat(proxy, "connected"), 6);
    expect_equal(proxy_stat(proxy, "failed_connects"), 0);
    proxy_stop(proxy);
    close(listener);
    unlink(back);
    rmdir(folder);
}

TEST(both_sides_may_be_unix_sockets_and_a_half_close_passes_there_too)
{
    char folder[] = "/tmp/cenote-faultproxy-XXXXXX", front[64], back[64], listens[80], to[80];
    struct sockaddr_un at;
    expect(mkdtemp(folder) != NULL);
    snprintf(front, sizeof front, "%s/front", folder);
    snprintf(back, sizeof back, "%s/back", folder);
    snprintf(listens, sizeof listens, "unix:%s", front);
    snprintf(to, sizeof to, "unix:%s", back);
    int listener = unix_socket(back, &at);
    expect(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 5) == 0);
    const char *arguments[] = {"--listen", listens, "--to", to, "--seed", "1", NULL};
    fault_proxy *proxy = proxy_start_with(arguments);
    expect_text(proxy_address(proxy), listens);
    ends one = {.client = unix_socket(front, &at)};
    expect(connect(one.client, (struct sockaddr *)&at, sizeof at) == 0);
    one.server = accept_one(listener);
    send_text(one.client, "question");
    shutdown(one.client, SHUT_WR);
    expect_received(one.server, "question");
    expect_end(one.server);
    send_text(one.server, "answer");
    expect_received(one.client, "answer");
    proxy_say(proxy, "refuse");
    int fd = unix_socket(front, &at);
    expect(connect(fd, (struct sockaddr *)&at, sizeof at) != 0);
    expect_equal(errno, ECONNREFUSED);
    proxy_say(proxy, "clear");
    expect(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    close(fd);
    ends_close(&one);
    proxy_stop(proxy);
    struct stat gone;
    expect(stat(front, &gone) != 0); /* the proxy's, and taken away */
    close(listener);
    unlink(back);
    rmdir(folder);
}
