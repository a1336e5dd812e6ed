/* SPDX-License-Identifier: MIT */
/* Black holes: silence, and what becomes of connections when it is over. */
#include "unit/faultproxy/ends.h"

TEST(nothing_comes_out_of_a_black_hole_and_no_end_either)
{
    test_rig rig = rig_start();
    ends one = rig_connect(&rig), other = rig_connect(&rig);
    proxy_say(rig.proxy, "blackhole");
    send_text(one.client, "question");
    send_text(one.server, "answer");
    shutdown(other.client, SHUT_WR);
    expect_silence(one.server, 100);
    expect_silence(one.client, 100);
    expect_silence(other.server, 100);
    proxy_await(rig.proxy, "swallowed", 14);
    expect_equal(proxy_stat(rig.proxy, "to_server"), 0);
    ends_close(&one);
    ends_close(&other);
    rig_stop(&rig);
}

TEST(a_new_connection_into_a_black_hole_is_accepted_and_reaches_no_server)
{
    test_rig rig = rig_start();
    proxy_say(rig.proxy, "blackhole");
    int fd = connect_to(proxy_port(rig.proxy)), other = connect_to(proxy_port(rig.proxy));
    send_text(fd, "anybody?");
    proxy_await(rig.proxy, "swallowed", 8);
    expect_silence(rig.listener, 100);
    expect_silence(fd, 0);
    expect_equal(proxy_stat(rig.proxy, "accepted"), 2);
    expect_equal(proxy_stat(rig.proxy, "connected"), 0);
    close(other); /* who leaves is let go: there is no server that could still wait for it */
    proxy_await(rig.proxy, "open", 1);
    close(fd);
    rig_stop(&rig);
}

TEST(after_a_black_hole_those_that_lost_bytes_are_reset_and_others_go_on)
{
    test_rig rig = rig_start();
    ends quiet = rig_connect(&rig), talker = rig_connect(&rig);
    proxy_say(rig.proxy, "blackhole");
    send_text(talker.client, "lost");
    int late = connect_to(proxy_port(rig.proxy));
    proxy_await(rig.proxy, "swallowed", 4);
    proxy_say(rig.proxy, "clear");
    expect_reset(talker.client);
    expect_reset(talker.server);
    int late_server = accept_one(rig.listener);
    send_text(late, "at last");
    expect_received(late_server, "at last");
    send_text(quiet.client, "going on");
    expect_received(quiet.server, "going on");
    expect_equal(proxy_stat(rig.proxy, "resets"), 1);
    ends_close(&quiet);
    ends_close(&talker);
    close(late);
    close(late_server);
    rig_stop(&rig);
}

TEST(an_end_that_fell_into_a_black_hole_is_passed_on_when_it_is_lifted)
{
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    proxy_say(rig.proxy, "blackhole");
    close(one.server);
    expect_silence(one.client, 100);
    proxy_say(rig.proxy, "clear");
    expect_end(one.client);
    close(one.client);
    rig_stop(&rig);
}

TEST(a_black_hole_that_holds_fills_the_senders_window_and_loses_nothing)
{
    static char sent[64 * 1024], got[64 * 1024];
    memset(sent, 'x', sizeof sent);
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    proxy_say(rig.proxy, "blackhole hold");
    size_t total = 0;
    for (struct pollfd wait = {.fd = one.client, .events = POLLOUT}; poll(&wait, 1, 200) == 1;) {
        ssize_t count = send(one.client, sent, sizeof sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0) total += (size_t)count;
        expect(total < 100u * 1000 * 1000);
    }
    expect_silence(one.server, 0);
    expect_equal(proxy_stat(rig.proxy, "swallowed"), 0);
    proxy_say(rig.proxy, "clear");
    for (size_t left = total; left;) {
        ssize_t count = recv(one.server, got, left < sizeof got ? left : sizeof got, 0);
        expect(count > 0);
        for (ssize_t i = 0; i < count; i++) expect(got[i] == 'x');
        left -= (size_t)count;
    }
    expect_equal(proxy_stat(rig.proxy, "to_server"), total);
    ends_close(&one);
    rig_stop(&rig);
}

TEST(what_a_black_hole_holds_is_not_even_read)
{
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    proxy_say(rig.proxy, "blackhole hold");
    send_text(one.client, "x");
    expect_silence(one.server, 100);
    proxy_say(rig.proxy, "quit"); /* a socket that is closed with bytes unread is reset by the system */
    expect_reset(one.client);
    ends_close(&one);
    rig_stop(&rig);
}

TEST(a_new_connection_into_one_that_holds_is_connected_later_with_all_it_said)
{
    test_rig rig = rig_start();
    proxy_say(rig.proxy, "blackhole hold");
    int fd = connect_to(proxy_port(rig.proxy));
    send_text(fd, "patient");
    proxy_await(rig.proxy, "accepted", 1);
    expect_silence(rig.listener, 100);
    proxy_say(rig.proxy, "clear");
    int server = accept_one(rig.listener);
    expect_received(server, "patient");
    close(fd);
    close(server);
    rig_stop(&rig);
}

TEST(a_black_hole_on_one_way_lets_the_other_through)
{
    test_rig rig = rig_start();
    proxy_say(rig.proxy, "blackhole to-client");
    ends one = rig_connect(&rig);
    send_text(one.client, "request");
    expect_received(one.server, "request");
    send_text(one.server, "answer");
    proxy_await(rig.proxy, "swallowed", 6);
    expect_silence(one.client, 50);
    ends_close(&one);
    rig_stop(&rig);
}

TEST(a_black_hole_for_new_connections_leaves_old_ones_alone)
{
    test_rig rig = rig_start();
    ends old = rig_connect(&rig);
    proxy_say(rig.proxy, "blackhole new");
    int fd = connect_to(proxy_port(rig.proxy));
    send_text(fd, "lost");
    proxy_await(rig.proxy, "swallowed", 4);
    send_text(old.client, "heard");
    expect_received(old.server, "heard");
    close(fd);
    ends_close(&old);
    rig_stop(&rig);
}

TEST(a_reset_ends_connections_in_a_black_hole_too)
{
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    proxy_say(rig.proxy, "blackhole");
    int fd = connect_to(proxy_port(rig.proxy));
    proxy_await(rig.proxy, "accepted", 2);
    proxy_say(rig.proxy, "reset");
    expect_reset(one.client);
    expect_reset(one.server);
    expect_reset(fd);
    expect_equal(proxy_stat(rig.proxy, "open"), 0);
    close(fd);
    ends_close(&one);
    rig_stop(&rig);
}
