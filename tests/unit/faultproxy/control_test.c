/* SPDX-License-Identifier: MIT */
/* Who talks to the proxy, and how. */
#include <fcntl.h>
#include <sys/stat.h>

#include "unit/faultproxy/ends.h"

typedef struct test_desk {
    char folder[40], path[64];
    fault_proxy *proxy;
} test_desk;

static test_desk desk_open(void)
{
    test_desk desk = {.folder = "/tmp/cenote-faultproxy-XXXXXX"};
    expect(mkdtemp(desk.folder) != NULL);
    snprintf(desk.path, sizeof desk.path, "%s/control", desk.folder);
    const char *arguments[] = {"--listen", "127.0.0.1:0", "--to",    "127.0.0.1:1", "--seed",
                               "1",        "--control",   desk.path, NULL};
    desk.proxy = proxy_start_with(arguments);
    return desk;
}

static void desk_close(test_desk *desk)
{
    struct stat gone;
    proxy_stop(desk->proxy);
    expect(stat(desk->path, &gone) != 0);
    expect(rmdir(desk->folder) == 0);
}

static int desk_connect(const test_desk *desk)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof at.sun_path, "%s", desk->path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    expect(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    return fd;
}

TEST(the_control_socket_answers_each_line_to_whoever_said_it)
{
    test_desk desk = desk_open();
    int one = desk_connect(&desk), other = desk_connect(&desk);
    send_text(one, "delay 5\n");
    send_text(other, "nonsense\n");
    expect_received(one, "ok\n");
    expect_received(other, "error: Unknown command \"nonsense\"; help lists all commands.\n");
    send_text(one, "delay 5\nthrottle 9\nsli"); /* two at once, and part of a third */
    expect_received(one, "ok\nok\n");
    expect_silence(one, 50);
    send_text(one, "ce 1 5\n");
    expect_received(one, "ok\n");
    expect_text(proxy_answer(desk.proxy, "kill 1"), "ok killed=0"); /* the standard input is heard beside it */
    close(one);
    send_text(other, "clear\n");
    expect_received(other, "ok\n");
    close(other);
    desk_close(&desk);
}

TEST(the_control_socket_is_for_its_owner_alone)
{
    test_desk desk = desk_open();
    struct stat file;
    expect(stat(desk.path, &file) == 0);
    expect_equal(file.st_mode & 0777, 0600);
    desk_close(&desk);
}

TEST(a_line_that_is_too_long_is_one_error_and_the_next_is_read)
{
    test_desk desk = desk_open();
    char line[1000];
    int fd = desk_connect(&desk);
    memset(line, 'x', sizeof line);
    send_all(fd, line, sizeof line);
    expect_silence(fd, 50);
    send_text(fd, "\nclear\n");
    expect_received(fd, "error: The line is longer than 255 bytes.\nok\n");
    close(fd);
    desk_close(&desk);
}

TEST(more_talks_than_there_is_room_for_are_hung_up_on_until_one_leaves)
{
    test_desk desk = desk_open();
    int all[15];
    for (int i = 0; i < 15; i++) {
        all[i] = desk_connect(&desk);
        send_text(all[i], "clear\n");
        expect_received(all[i], "ok\n");
    }
    int fd = desk_connect(&desk);
    expect_end(fd);
    close(fd);
    close(all[3]);
    for (bool served = false; !served;) { /* as soon as the proxy has seen it leave */
        char answer[3];
        fd = desk_connect(&desk);
        served = send(fd, "clear\n", 6, MSG_NOSIGNAL) == 6 && recv(fd, answer, 3, 0) == 3;
        close(fd);
    }
    for (int i = 0; i < 15; i++)
        if (i != 3) close(all[i]);
    desk_close(&desk);
}

TEST(one_who_never_reads_the_answers_holds_nobody_up)
{
    test_desk desk = desk_open();
    int fd = desk_connect(&desk);
    for (int i = 0; i < 100000; i++)
        if (send(fd, "help\n", 5, MSG_NOSIGNAL) != 5) break; /* it was hung up on */
    expect_text(proxy_answer(desk.proxy, "clear"), "ok");
    close(fd);
    desk_close(&desk);
}

TEST(stats_name_every_count)
{
    static const char *const names[] = {"accepted",        "open",      "most_open", "peak_per_second", "connected",
                                        "failed_connects", "to_server", "to_client", "swallowed",       "resets"};
    test_desk desk = desk_open();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) expect_equal(proxy_stat(desk.proxy, names[i]), 0);
    expect_equal(proxy_stat(desk.proxy, "seed"), 1);
    expect(strstr(proxy_answer(desk.proxy, "stats"), " refused=uncountable ") != NULL);
    expect(strstr(proxy_answer(desk.proxy, "help"), "ok delay MS [jitter MS] [WAY] [WHICH] | ") != NULL);
    desk_close(&desk);
}

TEST(quit_is_answered_and_then_all_is_closed)
{
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    proxy_say(rig.proxy, "quit");
    expect_end(one.client);
    expect_end(one.server);
    int fd;
    expect_equal(try_connect(proxy_port(rig.proxy), &fd), ECONNREFUSED);
    ends_close(&one);
    rig_stop(&rig);
}

TEST(a_url_is_led_through_the_proxy)
{
    test_rig rig = rig_start();
    char expected[128];
    snprintf(expected, sizeof expected, "postgresql://me:p%%40ss@%s/test?a=b@c", proxy_address(rig.proxy));
    expect_text(proxy_url(rig.proxy, "postgresql://me:p%40ss@127.0.0.1:5432/test?a=b@c"), expected);
    snprintf(expected, sizeof expected, "redis://%s", proxy_address(rig.proxy));
    expect_text(proxy_url(rig.proxy, "redis://localhost:6379"), expected);
    rig_stop(&rig);
}
