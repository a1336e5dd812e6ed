/* SPDX-License-Identifier: MIT */
/* The server, against a client that has none of our code. */
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "port/rank.h"
#include "unit/net/servers.h"

enum { KEPT = 1000 };

static cen_mux_server *server;
static unsigned char bytes[1 << 21], reply[1 << 21];
static uint64_t id;

/* ---- Frames --------------------------------------------------------------------------------------- */

static void ask_and_hear(const char *address, const char *text)
{
    int fd = raw_connect(address);
    send_all(fd, bytes, frame_to(bytes, 77, text, strlen(text)));
    expect_equal(receive_frame(fd, &id, reply, sizeof reply), strlen(text));
    expect_equal(id, 77);
    expect(memcmp(reply, text, strlen(text)) == 0);
    close(fd);
}

TEST(a_request_is_answered_over_tcp)
{
    server = SERVE(.name = "echo");
    expect(strncmp(cen_mux_server_address(server), "127.0.0.1:", 10) == 0);
    expect(port_of(cen_mux_server_address(server)) > 0);
    ask_and_hear(cen_mux_server_address(server), "hello");
    ask_and_hear(cen_mux_server_address(server), "");
    cen_mux_server_stop(server);
}

TEST(a_request_is_answered_over_a_unix_socket_whose_file_goes_with_the_server)
{
    struct stat found;
    server = SERVE(.address = socket_path());
    expect_text(cen_mux_server_address(server), socket_path());
    ask_and_hear(cen_mux_server_address(server), "hello");
    expect(stat(socket_path() + 5, &found) == 0);
    cen_mux_server_stop(server);
    expect(stat(socket_path() + 5, &found) != 0);
}

TEST(a_file_that_a_killed_server_left_is_replaced_and_a_live_one_is_not)
{
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    snprintf(path.sun_path, sizeof path.sun_path, "%s", socket_path() + 5);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    expect(bind(fd, (void *)&path, sizeof path) == 0 && listen(fd, 1) == 0);
    cen_mux_server_options options = CEN_MUX_SERVER_OPTIONS(.address = socket_path(), .handle = echo);
    cen_error error;
    expect_equal(cen_mux_server_start(&options, &server, &error), CEN_SYSTEM);
    expect_equal(error.code, EADDRINUSE);
    expect(strstr(error.text, socket_path()) && strstr(error.text, "EADDRINUSE"));
    close(fd);
    server = serve_with(&options);
    ask_and_hear(socket_path(), "hello");
    cen_mux_server_stop(server);
}

/* guarantees: mux.segments */
TEST(frames_that_come_byte_by_byte_are_answered)
{
    server = SERVE(.name = "echo");
    int fd = raw_connect(cen_mux_server_address(server));
    size_t size = frame_to(bytes, 1, "one", 3);
    size += frame_to(bytes + size, UINT64_MAX, "another", 7);
    for (size_t i = 0; i < size; i++) {
        send_all(fd, bytes + i, 1);
        if (i % 5 == 0) ceni_sleep_until(ceni_clock_now() + ms);
    }
    expect_equal(receive_frame(fd, &id, reply, sizeof reply), 3);
    expect_equal(id, 1);
    expect_equal(receive_frame(fd, &id, reply, sizeof reply), 7);
    expect(id == UINT64_MAX);
    close(fd);
    cen_mux_server_stop(server);
}

/* guarantees: mux.segments */
TEST(many_frames_in_one_segment_are_all_answered)
{
    server = SERVE(.name = "echo");
    int fd = raw_connect(cen_mux_server_address(server));
    size_t size = 0;
    for (uint64_t i = 0; i < 2000; i++) size += frame_to(bytes + size, i, &i, sizeof i);
    send_all(fd, bytes, size);
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t value;
        expect_equal(receive_frame(fd, &id, &value, sizeof value), sizeof value);
        expect(id == i && value == i);
    }
    close(fd);
    cen_mux_server_stop(server);
}

/* guarantees: mux.backpressure */
TEST(a_client_that_sends_a_larger_payload_than_allowed_is_cut_off)
{
    server = SERVE(.max_payload = 100);
    int fd = raw_connect(cen_mux_server_address(server));
    send_all(fd, bytes, frame_to(bytes, 1, reply, 100));
    expect_equal(receive_frame(fd, &id, reply, sizeof reply), 100);
    send_all(fd, bytes, frame_to(bytes, 2, reply, 101));
    expect_equal(receive_frame(fd, &id, reply, sizeof reply), -1);
    cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
    AWAIT(cen_mux_server_stats_get(server, &stats) == CEN_OK && stats.clients == 0);
    expect_equal(stats.broken, 1);
    expect_equal(stats.calls, 1);
    close(fd);
    cen_mux_server_stop(server);
}

TEST(a_large_payload_comes_back_whole)
{
    uint64_t seed = 7;
    size_t size = 1 << 20;
    for (size_t i = 0; i < size; i++) reply[i] = (unsigned char)test_random(&seed);
    server = SERVE(.name = "echo");
    int fd = raw_connect(cen_mux_server_address(server));
    size_t whole = frame_to(bytes, 9, reply, size);
    send_all(fd, bytes, whole);
    memset(reply, 0, size);
    expect_equal(receive_frame(fd, &id, reply, sizeof reply), size);
    expect(memcmp(reply, bytes + 12, size) == 0);
    close(fd);
    cen_mux_server_stop(server);
}

/* ---- Answers later ----------------------------------------------------------------------------------- */

static cen_mux_call *kept[KEPT];
static _Atomic uint32_t kept_count;

static void keep(void *argument, cen_mux_call *call)
{
    (void)argument;
    kept[ceni_load_seq_cst(&kept_count)] = call;
    ceni_add_seq_cst(&kept_count, 1u);
}

static void answer_kept(void *argument)
{
    unsigned from = *(unsigned *)argument;
    for (unsigned i = KEPT; i-- > 0;) /* the last first */
        if (i % 2 == from) expect_equal(cen_mux_call_reply(kept[i], kept[i]->payload, kept[i]->payload_size), CEN_OK);
}

/* guarantees: mux.server */
TEST(calls_are_answered_in_any_order_by_any_thread)
{
    static bool seen[KEPT];
    unsigned odds[2] = {0, 1};
    ceni_thread threads[2];
    int code;
    server = SERVE(.handle = keep);
    int fd = raw_connect(cen_mux_server_address(server));
    size_t size = 0;
    for (uint64_t i = 0; i < KEPT; i++) size += frame_to(bytes + size, i, &i, sizeof i);
    send_all(fd, bytes, size);
    AWAIT(ceni_load_seq_cst(&kept_count) == KEPT);
    for (unsigned i = 0; i < 2; i++)
        expect_equal(ceni_thread_start(&threads[i], NULL, answer_kept, &odds[i], &code), CEN_OK);
    for (unsigned i = 0; i < KEPT; i++) {
        uint64_t value;
        expect_equal(receive_frame(fd, &id, &value, sizeof value), sizeof value);
        expect(id == value && id < KEPT && !seen[id]);
        seen[id] = true;
    }
    for (unsigned i = 0; i < 2; i++) ceni_thread_join(&threads[i]);
    close(fd);
    cen_mux_server_stop(server);
}

/* guarantees: mux.server */
TEST(a_call_outlives_its_client_and_its_server)
{
    server = SERVE(.handle = keep);
    int fd = raw_connect(cen_mux_server_address(server));
    for (uint64_t i = 0; i < 3; i++) send_all(fd, bytes, frame_to(bytes, i, "abc", 3));
    AWAIT(ceni_load_seq_cst(&kept_count) == 3);
    close(fd);
    cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
    AWAIT(cen_mux_server_stats_get(server, &stats) == CEN_OK && stats.clients == 0);
    expect_equal(cen_mux_call_reply(kept[0], "late", 4), CEN_LOST);
    cen_mux_server_stop(server);
    expect(memcmp(kept[1]->payload, "abc", 3) == 0);
    expect_equal(cen_mux_call_reply(kept[1], "late", 4), CEN_LOST);
    cen_mux_call_drop(kept[2]);
}

/* guarantees: mux.server */
TEST(an_answer_the_codec_cannot_carry_leaves_the_call_to_the_handler)
{
    server = SERVE(.handle = keep, .codec = cen_codec_lines());
    int fd = raw_connect(cen_mux_server_address(server));
    char line[16] = "";
    send_all(fd, "12 hi\n", 6);
    AWAIT(ceni_load_seq_cst(&kept_count) == 1);
    expect_equal(cen_mux_call_reply(kept[0], "two\nlines", 9), CEN_INVALID);
    expect_equal(cen_mux_call_reply(kept[0], NULL, 9), CEN_INVALID);
    expect_equal(cen_mux_call_reply(kept[0], "ho", 2), CEN_OK);
    expect(receive_all(fd, line, 6));
    expect_text(line, "12 ho\n");
    close(fd);
    cen_mux_server_stop(server);
}

/* ---- Too much ------------------------------------------------------------------------------------------ */

/* guarantees: mux.backpressure */
TEST(a_client_that_does_not_fetch_its_answers_is_read_no_more_until_it_does)
{
    enum { FRAMES = 400, SIZE = 50000 }; /* 20 MB, more than the system's buffers take */
    server = SERVE(.max_output = 100000);
    int fd = raw_connect(cen_mux_server_address(server));
    size_t size = frame_to(bytes, 5, reply, SIZE);
    unsigned sent = 0;
    size_t at = 0;
    for (int64_t idle = 0; idle < 300 * ms && sent < FRAMES;) { /* until it has taken nothing for a while */
        ssize_t count = send(fd, bytes + at, size - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count > 0) at += (size_t)count, idle = 0;
        else idle += ms, ceni_sleep_until(ceni_clock_now() + ms);
        if (at == size) at = 0, sent++;
    }
    expect(sent < FRAMES);
    cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
    expect_equal(cen_mux_server_stats_get(server, &stats), CEN_OK);
    uint64_t called = stats.calls;
    expect(called < sent + 1);
    for (uint64_t i = 0; i < called; i++) expect_equal(receive_frame(fd, &id, reply, sizeof reply), SIZE);
    send_all(fd, bytes + at, at ? size - at : 0);
    for (uint64_t i = called; i < sent + (at != 0); i++)
        expect_equal(receive_frame(fd, &id, reply, sizeof reply), SIZE);
    close(fd);
    cen_mux_server_stop(server);
}

enum { LARGE = 50000 };

static void answer_at_length(void *argument, cen_mux_call *call)
{
    static const char answer[LARGE];
    (void)argument;
    expect_equal(cen_mux_call_reply(call, answer, LARGE), CEN_OK);
}

static uint64_t calls_of(void)
{
    cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
    expect_equal(cen_mux_server_stats_get(server, &stats), CEN_OK);
    return stats.calls;
}

TEST(small_requests_with_large_answers_are_handled_as_fast_as_these_are_fetched)
{
    enum { FRAMES = 1000 }; /* in one read, and 50 MB of answers */
    server = SERVE(.address = socket_path(), .handle = answer_at_length, .max_output = 100000);
    int fd = raw_connect(cen_mux_server_address(server));
    size_t size = 0;
    for (unsigned i = 0; i < FRAMES; i++) size += frame_to(bytes + size, i, "", 0);
    send_all(fd, bytes, size);
    uint64_t calls = 0;
    for (int idle = 0; idle < 100; idle++, ceni_sleep_until(ceni_clock_now() + ms))
        if (calls_of() != calls) calls = calls_of(), idle = 0;
    expect(calls < FRAMES / 4);
    for (unsigned i = 0; i < FRAMES; i++) {
        expect_equal(receive_frame(fd, &id, reply, sizeof reply), LARGE);
        expect_equal(id, i);
    }
    expect_equal(calls_of(), FRAMES);
    close(fd);
    cen_mux_server_stop(server);
}

static int64_t processor_time(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static void send_numbers(int fd, uint64_t from, uint64_t to)
{
    size_t size = 0;
    for (uint64_t i = from; i < to; i++) size += frame_to(bytes + size, i, &i, sizeof i);
    send_all(fd, bytes, size);
}

/* guarantees: mux.backpressure */
TEST(a_client_whose_calls_are_not_answered_is_read_no_more_until_one_is)
{
    enum { MOST = 3, ALL = 20 };
    ceni_store_seq_cst(&kept_count, 0u);
    server = SERVE(.handle = keep, .max_calls = MOST);
    int fd = raw_connect(cen_mux_server_address(server)), other = raw_connect(cen_mux_server_address(server));
    send_numbers(fd, 0, ALL);
    AWAIT(ceni_load_seq_cst(&kept_count) == MOST);
    send_numbers(other, 100, 101); /* the other's is handled, and no more of the first's before it */
    AWAIT(ceni_load_seq_cst(&kept_count) == MOST + 1);
    expect_equal(kept[MOST]->id, 100);
    cen_mux_call_drop(kept[MOST]);
    int64_t used = processor_time();
    ceni_sleep_until(ceni_clock_now() + 200 * ms);
    expect(processor_time() - used < 100 * ms);
    expect_equal(calls_of(), MOST + 1);
    /* One is answered, one is dropped, one cannot be answered and still counts. */
    expect_equal(cen_mux_call_reply(kept[0], kept[0]->payload, sizeof(uint64_t)), CEN_OK);
    AWAIT(calls_of() == MOST + 2);
    cen_mux_call_drop(kept[1]);
    AWAIT(calls_of() == MOST + 3);
    expect_equal(cen_mux_call_reply(kept[2], NULL, 9), CEN_INVALID);
    for (unsigned i = 2; i < ALL + 1; i++) {
        if (i == MOST) continue;
        AWAIT(ceni_load_seq_cst(&kept_count) > i);
        expect_equal(cen_mux_call_reply(kept[i], kept[i]->payload, sizeof(uint64_t)), CEN_OK);
    }
    for (unsigned i = 0; i < ALL - 1; i++) expect_equal(receive_frame(fd, &id, reply, sizeof reply), sizeof(uint64_t));
    expect_equal(id, ALL - 1);
    close(fd);
    close(other);
    cen_mux_server_stop(server);
}

/* guarantees: mux.backpressure */
TEST(a_client_that_goes_while_its_calls_are_not_answered_is_noticed)
{
    cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
    ceni_store_seq_cst(&kept_count, 0u);
    server = SERVE(.handle = keep, .max_calls = 2);
    int fd = raw_connect(cen_mux_server_address(server));
    send_numbers(fd, 0, 10);
    AWAIT(ceni_load_seq_cst(&kept_count) == 2);
    close(fd);
    AWAIT(cen_mux_server_stats_get(server, &stats) == CEN_OK && stats.clients == 0);
    expect_equal(stats.calls, 2);
    expect_equal(cen_mux_call_reply(kept[0], "late", 4), CEN_LOST);
    cen_mux_server_stop(server);
    cen_mux_call_drop(kept[1]);
}

TEST(a_codec_that_lacks_a_function_is_refused)
{
    cen_codec_calls calls = *cen_codec_binary().calls;
    cen_error error;
    calls.encode = NULL;
    cen_mux_server_options options =
        CEN_MUX_SERVER_OPTIONS(.address = "127.0.0.1:0", .handle = echo, .codec = {&calls, NULL});
    expect_equal(cen_mux_server_start(&options, &server, &error), CEN_INVALID);
    expect_text(error.text, "cen_mux_server_start: options.codec lacks its name or one of its functions");
}

TEST(clients_beyond_the_limit_are_closed_as_they_come)
{
    server = SERVE(.max_clients = 1);
    int first = raw_connect(cen_mux_server_address(server));
    send_all(first, bytes, frame_to(bytes, 1, "a", 1));
    expect_equal(receive_frame(first, &id, reply, sizeof reply), 1);
    int second = raw_connect(cen_mux_server_address(server));
    expect_equal(receive_frame(second, &id, reply, sizeof reply), -1);
    cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
    expect_equal(cen_mux_server_stats_get(server, &stats), CEN_OK);
    expect(stats.clients == 1 && stats.accepted == 2 && stats.refused == 1);
    close(first);
    close(second);
    cen_mux_server_stop(server);
}

static int taken[1 << 16];
static unsigned taken_count;

/* Takes every descriptor that there is. */
static void exhaust_descriptors(void)
{
    struct rlimit few = {.rlim_cur = 64, .rlim_max = 64};
    expect(setrlimit(RLIMIT_NOFILE, &few) == 0);
    for (int fd; (fd = open("/dev/null", O_RDONLY)) >= 0;) taken[taken_count++] = fd;
    expect_equal(errno, EMFILE);
}

static void give_descriptors_back(void)
{
    while (taken_count > 0) close(taken[--taken_count]);
}

/* accept4, with an errno to fail with, for as long as it is not 0; else by accept, which sanitizers know. */
static _Atomic int accept_fails;
static _Atomic uint32_t accept_failed;

int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    int code = ceni_load_seq_cst(&accept_fails);
    if (code != 0) {
        ceni_add_seq_cst(&accept_failed, 1u);
        errno = code;
        return -1;
    }
    int accepted = accept(fd, address, size);
    if (accepted >= 0 && flags & SOCK_NONBLOCK) fcntl(accepted, F_SETFL, O_RDWR | O_NONBLOCK);
    if (accepted >= 0 && flags & SOCK_CLOEXEC) fcntl(accepted, F_SETFD, FD_CLOEXEC);
    return accepted;
}

/* guarantees: mux.out-of-memory */
TEST(a_server_without_descriptors_rests_and_takes_clients_in_when_there_are_some)
{
    struct sockaddr_in place = {.sin_family = AF_INET};
    cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
    server = SERVE(.name = "echo");
    place.sin_port = htons((uint16_t)port_of(cen_mux_server_address(server)));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    exhaust_descriptors();
    expect(connect(fd, (void *)&place, sizeof place) == 0);
    int64_t used = processor_time();
    ceni_sleep_until(ceni_clock_now() + 200 * ms);
    expect(processor_time() - used < 100 * ms);
    expect_equal(cen_mux_server_stats_get(server, &stats), CEN_OK);
    expect_equal(stats.accepted, 0);
    give_descriptors_back();
    send_all(fd, bytes, frame_to(bytes, 1, "a", 1));
    expect_equal(receive_frame(fd, &id, reply, sizeof reply), 1);
    close(fd);
    cen_mux_server_stop(server);
}

/* guarantees: mux.out-of-memory */
TEST(a_server_that_cannot_accept_rests_whatever_the_system_says_and_however_long)
{
    /* Of the first the next client may be free, of the others not; the last nobody has heard of. */
    const int codes[] = {ECONNABORTED, EPROTO, ENETDOWN, ENOBUFS, EPERM, 500};
    for (unsigned i = 0; i < sizeof codes / sizeof *codes; i++) {
        server = SERVE(.name = "echo");
        int64_t begun = ceni_clock_now();
        ceni_store_seq_cst(&accept_failed, 0u);
        ceni_store_seq_cst(&accept_fails, codes[i]);
        int fd = raw_connect(cen_mux_server_address(server)); /* by the system: it is in the line */
        AWAIT(ceni_load_seq_cst(&accept_failed) > 0);
        ceni_sleep_until(ceni_clock_now() + 200 * ms);
        uint32_t failed = ceni_load_seq_cst(&accept_failed);
        /* It tries 64 times at most, and then again after 50 ms. */
        expect(failed <= 64 * (uint32_t)((ceni_clock_now() - begun) / (50 * ms) + 2));
        ceni_store_seq_cst(&accept_fails, 0);
        send_all(fd, bytes, frame_to(bytes, 1, "a", 1));
        expect_equal(receive_frame(fd, &id, reply, sizeof reply), 1);
        close(fd);
        cen_mux_server_stop(server);
    }
}

/* ---- The end --------------------------------------------------------------------------------------------- */

static char told[8][160];
static _Atomic uint32_t told_count;

static void note_client(void *argument, uint64_t client, const char *cause)
{
    (void)argument;
    unsigned at = ceni_load_seq_cst(&told_count);
    snprintf(told[at], sizeof told[at], "%llu %s", (unsigned long long)client, cause ? cause : "came");
    ceni_add_seq_cst(&told_count, 1u);
}

TEST(one_client_is_killed_and_the_others_are_not)
{
    server = SERVE(.client = note_client);
    int one = raw_connect(cen_mux_server_address(server));
    AWAIT(ceni_load_seq_cst(&told_count) == 1);
    int other = raw_connect(cen_mux_server_address(server));
    AWAIT(ceni_load_seq_cst(&told_count) == 2);
    expect_equal(cen_mux_server_kill(server, 1), CEN_OK);
    expect_equal(cen_mux_server_kill(server, 1), CEN_ABSENT);
    expect_equal(cen_mux_server_kill(server, 99), CEN_ABSENT);
    expect_equal(receive_frame(one, &id, reply, sizeof reply), -1);
    send_all(other, bytes, frame_to(bytes, 3, "b", 1));
    expect_equal(receive_frame(other, &id, reply, sizeof reply), 1);
    close(other);
    AWAIT(ceni_load_seq_cst(&told_count) == 4);
    expect_text(told[0], "1 came");
    expect_text(told[1], "2 came");
    expect_text(told[2], "1 killed");
    expect_text(told[3], "2 closed by the client");
    close(one);
    cen_mux_server_stop(server);
}

static void stop_here(void *argument, cen_mux_call *call)
{
    (void)argument;
    ceni_add_seq_cst(&kept_count, 1u);
    cen_mux_call_drop(call);
    cen_mux_server_stop(server);
}

/* guarantees: mux.server */
TEST(a_handler_may_stop_its_server_and_no_other_call_is_handled)
{
    server = SERVE(.handle = stop_here);
    int fd = raw_connect(cen_mux_server_address(server));
    size_t size = frame_to(bytes, 1, "a", 1);
    size += frame_to(bytes + size, 2, "b", 1);
    send_all(fd, bytes, size);
    expect_equal(receive_frame(fd, &id, reply, sizeof reply), -1);
    AWAIT(cen_loop_users(NULL) == 0);
    expect_equal(ceni_load_seq_cst(&kept_count), 1);
    close(fd);
}

/* guarantees: mux.L14 */
TEST(a_child_cannot_use_the_server_and_the_parent_notices_nothing)
{
    server = SERVE(.handle = keep);
    int fd = raw_connect(cen_mux_server_address(server));
    send_all(fd, bytes, frame_to(bytes, 1, "a", 1));
    AWAIT(ceni_load_seq_cst(&kept_count) == 1);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        cen_mux_server_stats stats = CEN_SIZED(cen_mux_server_stats);
        alarm(60);
        *ceni_rank_mask() = 0;
        expect_equal(cen_mux_server_stats_get(server, &stats), CEN_FORKED);
        expect_equal(cen_mux_server_kill(server, 0), CEN_FORKED);
        expect_equal(cen_mux_call_reply(kept[0], "x", 1), CEN_FORKED);
        cen_mux_call_drop(kept[0]);
        cen_mux_server_stop(server);
        _exit(0);
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
    expect_equal(cen_mux_call_reply(kept[0], "y", 1), CEN_OK);
    expect_equal(receive_frame(fd, &id, reply, sizeof reply), 1);
    expect_equal(reply[0], 'y');
    close(raw_connect(cen_mux_server_address(server)));
    close(fd);
    cen_mux_server_stop(server);
}

TEST(wrong_options_are_refused_by_name)
{
    cen_error error;
    cen_mux_server_options small = {.size = 3}, nobody = CEN_MUX_SERVER_OPTIONS(.address = "127.0.0.1:0"),
                           nowhere = CEN_MUX_SERVER_OPTIONS(.handle = echo);
    expect_equal(cen_mux_server_start(&small, &server, &error), CEN_INVALID);
    expect(strstr(error.text, "options.size") != NULL);
    expect_equal(cen_mux_server_start(&nobody, &server, &error), CEN_INVALID);
    expect(strstr(error.text, "options.handle") != NULL);
    expect_equal(cen_mux_server_start(&nowhere, &server, &error), CEN_INVALID);
    expect(strstr(error.text, "options.address") != NULL);
    cen_mux_server_stop(NULL);
}

TEST(an_address_that_is_taken_is_named_with_what_the_system_says)
{
    cen_mux_server *other;
    cen_error error;
    server = SERVE(.name = "first");
    cen_mux_server_options options = CEN_MUX_SERVER_OPTIONS(.address = cen_mux_server_address(server), .handle = echo);
    expect_equal(cen_mux_server_start(&options, &other, &error), CEN_SYSTEM);
    expect_equal(error.code, EADDRINUSE);
    expect(strstr(error.text, cen_mux_server_address(server)) && strstr(error.text, "EADDRINUSE"));
    cen_mux_server_stop(server);
}
