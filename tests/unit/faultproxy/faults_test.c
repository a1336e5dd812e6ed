/* SPDX-License-Identifier: MIT */
/* The faults that slow bytes down or end connections, on real sockets. Times have lower bounds only: a machine may be slow. */
#include "unit/faultproxy/ends.h"

/* What goes from one to the other takes at least so long. */
static int64_t time_to_pass(int from, int to)
{
    int64_t begin = now_ms();
    send_text(from, "x");
    expect_received(to, "x");
    return now_ms() - begin;
}

TEST(a_delay_holds_bytes_on_both_ways_of_connections_old_and_new)
{
    test_rig rig = rig_start();
    ends old = rig_connect(&rig);
    proxy_say(rig.proxy, "delay 80");
    ends new = rig_connect(&rig);
    expect(time_to_pass(old.client, old.server) >= 79);
    expect(time_to_pass(old.server, old.client) >= 79);
    expect(time_to_pass(new.client, new.server) >= 79);
    proxy_say(rig.proxy, "clear");
    int64_t least = 1000;
    for (int i = 0; i < 10; i++) { /* one of them finds the machine idle */
        int64_t time = time_to_pass(old.client, old.server);
        least = time < least ? time : least;
    }
    expect(least < 79);
    ends_close(&old);
    ends_close(&new);
    rig_stop(&rig);
}

TEST(a_delay_on_one_way_leaves_the_other_alone)
{
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    proxy_say(rig.proxy, "delay 5000 to-client");
    send_text(one.server, "late");
    send_text(one.client, "soon");
    expect_received(one.server, "soon");
    expect_silence(one.client, 50);
    proxy_say(rig.proxy, "clear"); /* what was held comes at once */
    expect_received(one.client, "late");
    ends_close(&one);
    rig_stop(&rig);
}

TEST(a_fault_for_new_connections_leaves_old_ones_alone)
{
    test_rig rig = rig_start();
    ends old = rig_connect(&rig);
    proxy_say(rig.proxy, "delay 5000 new");
    ends new = rig_connect(&rig);
    send_text(new.client, "late");
    send_text(old.client, "soon");
    expect_received(old.server, "soon");
    expect_silence(new.server, 50);
    proxy_say(rig.proxy, "clear new"); /* and so does its end */
    expect_silence(new.server, 50);
    ends newest = rig_connect(&rig);
    send_text(newest.client, "soon");
    expect_received(newest.server, "soon");
    ends_close(&old);
    ends_close(&new);
    ends_close(&newest);
    rig_stop(&rig);
}

TEST(a_throttled_way_is_no_faster_than_its_rate_and_not_much_slower)
{
    static char bytes[20000];
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    proxy_say(rig.proxy, "throttle 50000");
    int64_t quickest = INT64_MAX; /* a busy machine only adds to it */
    for (int tries = 0; tries < 10 && quickest >= 4000; tries++) {
        int64_t begin = now_ms();
        send_all(one.client, bytes, sizeof bytes);
        receive_all(one.server, bytes, sizeof bytes);
        int64_t took = now_ms() - begin;
        expect(took >= 360); /* 400, but for what may be made up for */
        if (took < quickest) quickest = took;
    }
    expect(quickest < 4000);
    ends_close(&one);
    rig_stop(&rig);
}

TEST(slices_arrive_one_by_one)
{
    char bytes[20];
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    proxy_say(rig.proxy, "slice 2 10 to-client");
    int64_t begin = now_ms();
    send_text(one.server, "01234567890123456789");
    unsigned reads = receive_all(one.client, bytes, sizeof bytes);
    expect(now_ms() - begin >= 9 * 10 - 5);
    expect(memcmp(bytes, "01234567890123456789", sizeof bytes) == 0);
    expect(reads > 1 && reads <= 10); /* a reader that is held up finds several in one */
    ends_close(&one);
    rig_stop(&rig);
}

TEST(slices_without_a_pause_lose_nothing)
{
    static char sent[50000], got[50000];
    uint64_t seed = 5;
    for (size_t i = 0; i < sizeof sent; i++) sent[i] = (char)test_random(&seed);
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    proxy_say(rig.proxy, "slice 7");
    send_all(one.client, sent, sizeof sent);
    receive_all(one.server, got, sizeof got);
    expect(memcmp(sent, got, sizeof got) == 0);
    ends_close(&one);
    rig_stop(&rig);
}

TEST(a_slow_close_passes_a_half_close_on_and_closes_the_rest_later)
{
    test_rig rig = rig_start();
    proxy_say(rig.proxy, "close-slowly 200");
    ends one = rig_connect(&rig);
    int64_t begin = now_ms();
    close(one.server);
    expect_end(one.client);
    expect_equal(proxy_stat(rig.proxy, "open"), 1);
    send_text(one.client, "x");
    proxy_await(rig.proxy, "open", 0);
    expect(now_ms() - begin >= 199);
    close(one.client);
    rig_stop(&rig);
}

TEST(a_slow_close_that_is_called_off_is_over_at_once)
{
    test_rig rig = rig_start();
    proxy_say(rig.proxy, "close-slowly 60000");
    ends one = rig_connect(&rig), half = rig_connect(&rig);
    ends_close(&one);
    shutdown(half.server, SHUT_WR);
    expect_end(half.client);
    expect_equal(proxy_stat(rig.proxy, "open"), 2);
    proxy_say(rig.proxy, "clear");
    proxy_await(rig.proxy, "open", 1);
    send_text(half.client, "half open as ever");
    expect_received(half.server, "half open as ever");
    ends_close(&half);
    rig_stop(&rig);
}

TEST(a_slow_close_of_all_is_seen_by_clients_whose_servers_are_well)
{
    test_rig rig = rig_start();
    ends one = rig_connect(&rig);
    int64_t begin = now_ms();
    proxy_say(rig.proxy, "close-slowly 200 now");
    expect_end(one.client);
    send_text(one.client, "still going");
    expect_received(one.server, "still going");
    expect_end(one.server);
    expect(now_ms() - begin >= 199);
    ends other = rig_connect(&rig); /* those to come are not meant */
    expect_silence(other.client, 300);
    ends_close(&one);
    ends_close(&other);
    proxy_await(rig.proxy, "open", 0); /* at once, not after a while */
    proxy_say(rig.proxy, "close-slowly 60000 now");
    ends after = rig_connect(&rig);
    ends_close(&after);
    proxy_await(rig.proxy, "open", 0);
    expect_text(proxy_answer(rig.proxy, "close-slowly 9 now new"),
                "error: New connections cannot be closed now; use now without new.");
    rig_stop(&rig);
}

/* ---- Resets --------------------------------------------------------------------------------- */

TEST(a_reset_of_all_is_seen_on_both_sides_and_counted)
{
    test_rig rig = rig_start();
    ends all[3];
    for (int i = 0; i < 3; i++) all[i] = rig_connect(&rig);
    proxy_say(rig.proxy, "reset");
    for (int i = 0; i < 3; i++) {
        expect_reset(all[i].client);
        expect_reset(all[i].server);
        ends_close(&all[i]);
    }
    expect_equal(proxy_stat(rig.proxy, "resets"), 3);
    expect_equal(proxy_stat(rig.proxy, "open"), 0);
    ends after = rig_connect(&rig); /* now, and no longer */
    send_text(after.client, "x");
    expect_received(after.server, "x");
    ends_close(&after);
    rig_stop(&rig);
}

TEST(a_connection_to_be_reset_passes_just_so_many_bytes_before)
{
    test_rig rig = rig_start();
    proxy_say(rig.proxy, "reset 100% after 10");
    ends one = rig_connect(&rig);
    send_text(one.client, "1234567");
    expect_received(one.server, "1234567");
    send_text(one.server, "89abcdef");
    expect_received(one.client, "89a");
    expect_reset(one.client);
    expect_reset(one.server);
    expect_equal(proxy_stat(rig.proxy, "to_server") + proxy_stat(rig.proxy, "to_client"), 10);
    ends_close(&one);
    rig_stop(&rig);
}

enum { TOSSES = 64 };

/* Which of the connections are reset, as bits. */
static uint64_t toss(const char *seed)
{
    unsigned port;
    char to[64];
    int listener = listen_here(&port);
    snprintf(to, sizeof to, "127.0.0.1:%u", port);
    const char *arguments[] = {"--listen", "127.0.0.1:0", "--to", to, "--seed", seed, "reset 50%", NULL};
    fault_proxy *proxy = proxy_start_with(arguments);
    uint64_t hit = 0;
    for (int i = 0; i < TOSSES; i++) {
        int client = -1, error = try_connect(proxy_port(proxy), &client);
        expect(error == 0 || error == ECONNRESET);
        proxy_await(proxy, "accepted", (uint64_t)i + 1);
        if (error || readable(client, 0)) hit |= (uint64_t)1 << i;
        if (!error) close(client);
    }
    expect_equal(proxy_stat(proxy, "resets"), __builtin_popcountll(hit));
    proxy_stop(proxy);
    close(listener);
    return hit;
}

TEST(a_share_of_new_connections_is_reset_and_the_seed_says_which)
{
    uint64_t first = toss("42"), again = toss("42"), other = toss("43");
    expect(first == again);
    expect(first != other);
    int hit = __builtin_popcountll(first);
    expect(hit >= TOSSES / 4 && hit <= TOSSES * 3 / 4);
}

TEST(kill_resets_so_many_of_the_oldest)
{
    test_rig rig = rig_start();
    ends all[3];
    for (int i = 0; i < 3; i++) all[i] = rig_connect(&rig);
    expect_text(proxy_answer(rig.proxy, "kill 2"), "ok killed=2");
    expect_reset(all[0].client);
    expect_reset(all[1].server);
    expect_equal(proxy_stat(rig.proxy, "open"), 1);
    send_text(all[2].client, "alive");
    expect_received(all[2].server, "alive");
    expect_text(proxy_answer(rig.proxy, "kill 2"), "ok killed=1");
    for (int i = 0; i < 3; i++) ends_close(&all[i]);
    rig_stop(&rig);
}
