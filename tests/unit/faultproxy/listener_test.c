/* SPDX-License-Identifier: MIT */
/* Refusing, and accepting slowly. */
#include <fcntl.h>

#include "unit/faultproxy/ends.h"

TEST(connects_are_refused_until_the_proxy_listens_again_on_the_same_port)
{
    test_rig rig = rig_start();
    ends old = rig_connect(&rig);
    int fd = -1;
    unsigned port = proxy_port(rig.proxy);
    proxy_say(rig.proxy, "refuse");
    proxy_say(rig.proxy, "refuse"); /* again is nothing */
    expect_equal(try_connect(port, &fd), ECONNREFUSED);
    send_text(old.client, "still there");
    expect_received(old.server, "still there");
    proxy_say(rig.proxy, "clear");
    ends new = rig_connect(&rig);
    send_text(new.client, "back");
    expect_received(new.server, "back");
    expect_equal(proxy_stat(rig.proxy, "accepted"), 2);
    ends_close(&old);
    ends_close(&new);
    rig_stop(&rig);
}

TEST(nobody_is_given_the_port_while_it_refuses)
{
    test_rig rig = rig_start();
    struct sockaddr_in at = loopback(proxy_port(rig.proxy));
    proxy_say(rig.proxy, "refuse");
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(bind(fd, (struct sockaddr *)&at, sizeof at) != 0);
    expect_equal(errno, EADDRINUSE);
    close(fd);
    rig_stop(&rig);
}

TEST(a_proxy_may_refuse_from_the_start)
{
    unsigned port;
    char to[64];
    int listener = listen_here(&port), fd = -1;
    snprintf(to, sizeof to, "127.0.0.1:%u", port);
    const char *arguments[] = {"--listen", "127.0.0.1:0", "--to", to, "--seed", "1", "refuse", NULL};
    test_rig rig = {.listener = listener, .port = port, .proxy = proxy_start_with(arguments)};
    expect_equal(try_connect(proxy_port(rig.proxy), &fd), ECONNREFUSED);
    proxy_say(rig.proxy, "clear");
    ends one = rig_connect(&rig);
    ends_close(&one);
    rig_stop(&rig);
}

TEST(connections_are_accepted_no_sooner_than_every_so_often)
{
    test_rig rig = rig_start();
    proxy_say(rig.proxy, "accept-every 200");
    int64_t begin = now_ms();
    ends first = rig_connect(&rig);
    ends second = rig_connect(&rig); /* the system completes the connect; the proxy comes for it later */
    expect(now_ms() - begin >= 198);
    proxy_say(rig.proxy, "accept-every 60000");
    ends third = rig_connect(&rig);
    int fourth = connect_to(proxy_port(rig.proxy));
    expect_silence(rig.listener, 100);
    proxy_say(rig.proxy, "clear"); /* who waits is accepted now */
    int server = accept_one(rig.listener);
    expect_equal(proxy_stat(rig.proxy, "accepted"), 4);
    ends_close(&first);
    ends_close(&second);
    ends_close(&third);
    close(fourth);
    close(server);
    rig_stop(&rig);
}

enum { CROWD = 10 };

TEST(behind_a_slow_accept_few_connects_get_as_far_as_the_line)
{
    test_rig rig = rig_start();
    struct pollfd all[CROWD];
    proxy_say(rig.proxy, "accept-every 60000");
    struct sockaddr_in at = loopback(proxy_port(rig.proxy));
    for (int i = 0; i < CROWD; i++) {
        all[i] =
            (struct pollfd){.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), .events = POLLOUT};
        expect(connect(all[i].fd, (struct sockaddr *)&at, sizeof at) == 0 || errno == EINPROGRESS);
    }
    sleep_ms(100);
    int through = 0;
    poll(all, CROWD, 0);
    for (int i = 0; i < CROWD; i++) through += all[i].revents != 0;
    expect(through >= 1 && through <= 4); /* one was accepted, and a line of 1 has room for two on Linux */
    for (int i = 0; i < CROWD; i++) close(all[i].fd);
    rig_stop(&rig);
}

TEST(the_most_accepts_in_a_second_are_counted_and_not_those_of_two)
{
    test_rig rig = rig_start();
    for (int i = 0; i < 5; i++) {
        ends one = rig_connect(&rig);
        ends_close(&one);
    }
    sleep_ms(1050);
    for (int i = 0; i < 3; i++) {
        ends one = rig_connect(&rig);
        ends_close(&one);
    }
    uint64_t peak = proxy_stat(rig.proxy, "peak_per_second");
    expect(peak >= 3 && peak <= 5); /* 3 if the machine stood still between the first */
    expect_equal(proxy_stat(rig.proxy, "accepted"), 8);
    rig_stop(&rig);
}
