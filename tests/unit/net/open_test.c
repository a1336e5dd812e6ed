/* SPDX-License-Identifier: MIT */
/* Opening a connection: where the server is, where it is not, and where nobody answers. */
#include <fcntl.h>
#include <netdb.h>
#include <sys/resource.h>

#include "net/mux.h"
#include "unit/net/muxes.h"

static cen_mux_server *server;
static cen_mux *mux;
static cen_error error;

/* ---- A resolver of the test's own ------------------------------------------------------------------- */

static _Atomic uint32_t lookups, lookup_held; /* while it is held, a lookup does not return */
static unsigned lookup_port;

/* Takes the place of the system's in this program. "two.test" is at two addresses, of which the first has no server. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result)
{
    static _Thread_local struct sockaddr_in places[2];
    static _Thread_local struct addrinfo found[2];
    struct in_addr number;
    bool two = strcmp(node, "two.test") == 0;
    bool is_number = inet_pton(AF_INET, node, &number) == 1;
    if (!is_number && hints->ai_flags & AI_NUMERICHOST) return EAI_NONAME;
    if (!is_number) {
        ceni_add_seq_cst(&lookups, 1u);
        while (ceni_load_seq_cst(&lookup_held)) ceni_futex_wait(&lookup_held, 1, CENI_FOREVER);
    }
    if (!is_number && !two && strcmp(node, "one.test") != 0) return EAI_NONAME;
    for (unsigned i = 0; i < 2; i++) {
        places[i] =
            (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(service, NULL, 10))};
        places[i].sin_addr.s_addr = is_number ? number.s_addr : htonl(INADDR_LOOPBACK + (two ? 1 - i : 0));
        found[i] =
            (struct addrinfo){.ai_family = AF_INET, .ai_addrlen = sizeof places[i], .ai_addr = (void *)&places[i]};
    }
    if (two) found[0].ai_next = &found[1];
    *result = found;
    return 0;
}

void freeaddrinfo(struct addrinfo *result)
{
    (void)result;
}

static void hold_lookups(bool held)
{
    ceni_store_seq_cst(&lookup_held, held ? 1u : 0u);
    ceni_futex_wake(&lookup_held, 100);
}

static const char *at(const char *host, unsigned port)
{
    static char text[64];
    snprintf(text, sizeof text, "%s:%u", host, port);
    return text;
}

static unsigned free_port(void)
{
    cen_mux_server *gone = SERVE(.name = "gone");
    unsigned port = port_of(cen_mux_server_address(gone));
    cen_mux_server_stop(gone);
    return port;
}

/* ---- Where it is --------------------------------------------------------------------------------------- */

TEST(a_connection_over_tcp_carries_a_request)
{
    server = SERVE(.name = "echo");
    mux = OPEN(.address = cen_mux_server_address(server));
    expect_text(cen_mux_address(mux), cen_mux_server_address(server));
    expect_text(cen_mux_name(mux), cen_mux_server_address(server));
    expect_equal(stats_of(mux).state, CEN_MUX_OPEN);
    ask_number(mux, 42);
    end_mux(mux);
    cen_mux_server_stop(server);
}

TEST(a_connection_over_a_unix_socket_carries_a_request)
{
    server = SERVE(.address = socket_path());
    mux = OPEN(.address = socket_path(), .name = "local");
    expect_text(cen_mux_name(mux), "local");
    ask_number(mux, 42);
    end_mux(mux);
    cen_mux_server_stop(server);
}

TEST(a_name_is_looked_up_by_a_helper)
{
    server = SERVE(.name = "echo");
    mux = OPEN(.address = at("one.test", port_of(cen_mux_server_address(server))));
    expect_equal(ceni_load_seq_cst(&lookups), 1);
    ask_number(mux, 42);
    end_mux(mux);
    cen_mux_server_stop(server);
}

/* guarantees: mux.addresses */
TEST(the_addresses_of_a_name_are_tried_one_after_the_other)
{
    server = SERVE(.name = "echo");
    mux = OPEN(.address = at("two.test", port_of(cen_mux_server_address(server))));
    ask_number(mux, 42);
    end_mux(mux);
    cen_mux_server_stop(server);
}

TEST(a_name_is_looked_up_by_the_thread_that_waits_if_the_runtime_is_manual)
{
    cen_runtime *runtime;
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.manual = true);
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    server = SERVE(.name = "echo");
    mux = OPEN(.address = at("one.test", port_of(cen_mux_server_address(server))), .runtime = runtime);
    ask_number(mux, 42);
    end_mux(mux);
    cen_mux_server_stop(server);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

/* guarantees: mux.well-behaved */
TEST(a_socket_is_closed_in_a_program_that_is_executed)
{
    server = SERVE(.address = socket_path());
    mux = OPEN(.address = socket_path());
    char command[128];
    snprintf(command, sizeof command, "ls -l /proc/self/fd | grep -c socket: | grep -qx 0");
    expect_equal(system(command), 0);
    end_mux(mux);
    cen_mux_server_stop(server);
}

static int keeps_alive(cen_mux *opened_mux)
{
    int yes = -1;
    socklen_t size = sizeof yes;
    expect(getsockopt(opened_mux->fd, SOL_SOCKET, SO_KEEPALIVE, &yes, &size) == 0);
    end_mux(opened_mux);
    return yes;
}

/* guarantees: mux.lost */
TEST(a_silent_server_is_asked_whether_it_is_there_unless_that_is_off)
{
    server = SERVE(.name = "echo");
    expect(keeps_alive(OPEN(.address = cen_mux_server_address(server))) == 1);
    expect(keeps_alive(OPEN(.address = cen_mux_server_address(server), .keepalive_ns = CEN_OFF)) == 0);
    cen_mux_server_stop(server);
}

/* ---- Where it is not -------------------------------------------------------------------------------------- */

static cen_status fail_to_open(const char *address, cen_deadline connect)
{
    cen_mux_options options = CEN_MUX_OPTIONS(.address = address, .connect_deadline = connect);
    error = (cen_error){.text = ""};
    return cen_mux_open(&options, &mux, &error);
}

static void expect_words(const char *one, const char *other)
{
    if (!strstr(error.text, one) || !strstr(error.text, other))
        test_fail(__FILE__, __LINE__, "\"%s\" and \"%s\" are not in: %s", one, other, error.text);
}

/* guarantees: mux.connect-error */
TEST(a_server_that_is_absent_is_named_with_what_the_system_says)
{
    unsigned port = free_port();
    expect_equal(fail_to_open(at("127.0.0.1", port), cen_in_s(20)), CEN_SYSTEM);
    expect_equal(error.code, ECONNREFUSED);
    expect_equal(error.cause, CEN_CAUSE_CONNECT_FAILED);
    expect_words(at("127.0.0.1", port), "connection refused (ECONNREFUSED)");
    expect_equal(fail_to_open("unix:/tmp/cenote-nobody.sock", cen_in_s(20)), CEN_SYSTEM);
    expect_equal(error.code, ENOENT);
    expect_words("unix:/tmp/cenote-nobody.sock", "no such file or directory (ENOENT)");
    expect_equal(cen_loop_users(NULL), 0);
}

/* guarantees: mux.connect-error */
TEST(of_a_name_whose_addresses_all_refuse_the_last_is_named_too)
{
    unsigned port = free_port();
    expect_equal(fail_to_open(at("two.test", port), cen_in_s(20)), CEN_SYSTEM);
    expect_words(at("two.test", port), at("127.0.0.1", port));
}

/* guarantees: mux.connect-error */
TEST(a_name_that_nobody_knows_is_named)
{
    expect_equal(fail_to_open("nobody.test:80", cen_in_s(20)), CEN_SYSTEM);
    expect_equal(error.cause, CEN_CAUSE_LOOKUP_FAILED);
    expect_words("nobody.test:80", "cannot look up nobody.test:80: ");
}

/* guarantees: mux.connect-error */
TEST(a_program_without_descriptors_is_told_so)
{
    static int taken[64];
    struct rlimit few = {.rlim_cur = 64, .rlim_max = 64};
    unsigned count = 0;
    cen_loop *loop, *none;
    expect_equal(cen_loop_new(NULL, &loop, NULL), CEN_OK);
    expect(setrlimit(RLIMIT_NOFILE, &few) == 0);
    for (int fd; count < 64 && (fd = open("/dev/null", O_RDONLY)) >= 0;) taken[count++] = fd;
    cen_mux_options options = CEN_MUX_OPTIONS(.address = "127.0.0.1:1", .loop = loop);
    expect_equal(cen_mux_open(&options, &mux, &error), CEN_SYSTEM);
    expect_equal(error.code, EMFILE);
    expect_equal(error.cause, CEN_CAUSE_NONE);
    expect_words("127.0.0.1:1", "EMFILE");
    expect_equal(cen_loop_new(NULL, &none, &error), CEN_SYSTEM);
    expect_equal(error.code, EMFILE);
    while (count > 0) close(taken[--count]);
    expect_equal(cen_loop_free(loop), CEN_OK);
}

/* A socket that listens, and whose queue is full: what comes next is neither taken nor refused. */
static void fill_queue(int listener, int *fds, unsigned count, const void *place, socklen_t size, int family)
{
    expect(bind(listener, place, size) == 0 && listen(listener, 0) == 0);
    for (unsigned i = 0; i < count; i++) {
        struct sockaddr_in bound;
        socklen_t length = sizeof bound;
        fds[i] = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (family == AF_INET) {
            expect(getsockname(listener, (void *)&bound, &length) == 0);
            lookup_port = ntohs(bound.sin_port);
            connect(fds[i], (void *)&bound, length);
        } else {
            connect(fds[i], place, size);
        }
    }
    ceni_sleep_until(ceni_clock_now() + 20 * ms);
}

/* guarantees: mux.connect-error */
TEST(an_opening_that_takes_too_long_is_a_timeout)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0), fds[8];
    struct sockaddr_in any = {.sin_family = AF_INET};
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fill_queue(listener, fds, 8, &any, sizeof any, AF_INET);
    int64_t began = ceni_clock_now();
    expect_equal(fail_to_open(at("127.0.0.1", lookup_port), cen_in_ms(80)), CEN_TIMEOUT);
    int64_t took = ceni_clock_now() - began;
    expect(took >= 80 * ms);
    expect_equal(error.cause, CEN_CAUSE_CONNECT_TIMEOUT);
    expect_words(at("127.0.0.1", lookup_port), "timed out");
}

/* guarantees: mux.addresses */
TEST(an_address_from_which_nothing_comes_back_leaves_time_for_the_next)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0), fds[8];
    struct sockaddr_in first = {.sin_family = AF_INET};
    server = SERVE(.name = "echo");
    first.sin_port = htons((uint16_t)port_of(cen_mux_server_address(server)));
    first.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
    fill_queue(listener, fds, 8, &first, sizeof first, AF_INET);
    mux = OPEN(.address = at("two.test", lookup_port), .connect_deadline = cen_in_ms(600));
    ask_number(mux, 1);
    end_mux(mux);
    cen_mux_server_stop(server);
}

/* guarantees: mux.addresses */
TEST(a_unix_server_whose_queue_is_full_is_asked_again)
{
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), fds[4];
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    snprintf(path.sun_path, sizeof path.sun_path, "%s", socket_path() + 5);
    unlink(path.sun_path);
    fill_queue(listener, fds, 4, &path, sizeof path, AF_UNIX);
    expect_equal(fail_to_open(socket_path(), cen_in_ms(50)), CEN_TIMEOUT);
    cen_mux_options options = CEN_MUX_OPTIONS(.address = socket_path(), .connect_deadline = cen_in_s(20));
    cen_future opened;
    cen_future_init(&opened);
    expect_equal(cen_mux_open_async(&options, &mux, &opened, &error), CEN_OK);
    expect_equal(cen_future_wait(&opened, cen_in_ms(30)), CEN_TIMEOUT);
    for (unsigned i = 0; i < 4; i++) {
        int taken = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        if (taken >= 0) close(taken);
    }
    expect_equal(cen_future_wait(&opened, cen_in_s(20)), CEN_OK);
    expect_equal(opened.status, CEN_OK);
    cen_mux_free(mux);
    unlink(path.sun_path);
}

/* guarantees: mux.connect-error */
TEST(a_lookup_that_hangs_ends_with_the_deadline_and_is_left_to_its_helper)
{
    hold_lookups(true);
    expect_equal(fail_to_open("one.test:80", cen_in_ms(30)), CEN_TIMEOUT);
    expect_words("one.test:80", "name lookup still running");
    expect_equal(cen_loop_users(NULL), 0);
    hold_lookups(false);
}

TEST(what_cannot_be_an_address_is_refused_by_name)
{
    expect_equal(fail_to_open("127.0.0.1", cen_in_s(1)), CEN_INVALID);
    expect_words("cen_mux_open: options.address", "127.0.0.1");
    cen_mux_options small = {.size = 3}, many = CEN_MUX_OPTIONS(.address = "127.0.0.1:1", .max_in_flight = 1 << 21);
    expect_equal(cen_mux_open(&small, &mux, &error), CEN_INVALID);
    expect_words("options.size", "CEN_SIZED");
    expect_equal(cen_mux_open(&many, &mux, &error), CEN_INVALID);
    expect_words("options.max_in_flight", "");
    expect_equal(cen_mux_open(NULL, &mux, &error), CEN_INVALID);
}

/* ---- Without waiting ---------------------------------------------------------------------------------------- */

static cen_future opened, ended;
static cen_error opened_error, ended_error;

static void begin_to_open(const char *address)
{
    cen_mux_options options = CEN_MUX_OPTIONS(.address = address, .connect_deadline = cen_in_s(20));
    cen_future_init(&opened);
    cen_future_init(&ended);
    opened.error = &opened_error;
    ended.error = &ended_error;
    expect_equal(cen_mux_open_async(&options, &mux, &opened, &error), CEN_OK);
    expect_equal(cen_mux_watch(mux, &ended), CEN_OK);
}

TEST(an_opening_tells_its_future_and_until_then_a_request_is_misuse)
{
    question q;
    server = SERVE(.name = "echo");
    hold_lookups(true);
    begin_to_open(at("one.test", port_of(cen_mux_server_address(server))));
    expect_equal(stats_of(mux).state, CEN_MUX_OPENING);
    ready_question(&q, 1);
    expect_equal(cen_mux_request(mux, &q.request, &error), CEN_MISUSE);
    expect_equal(cen_mux_request_async(mux, &q.request, &error), CEN_MISUSE);
    hold_lookups(false);
    expect_equal(cen_future_wait(&opened, cen_in_s(20)), CEN_OK);
    expect_equal(opened.status, CEN_OK);
    expect(opened.value == mux);
    ask_number(mux, 5);
    end_mux(mux);
    expect_equal(cen_future_wait(&ended, cen_in_s(20)), CEN_OK);
    expect_equal(ended.status, CEN_OK);
    cen_mux_server_stop(server);
}

/* guarantees: mux.connect-error */
TEST(an_opening_that_fails_tells_both_futures_why_and_requests_are_lost)
{
    question q;
    cen_error cause;
    begin_to_open(at("127.0.0.1", free_port()));
    expect_equal(cen_future_wait(&opened, cen_in_s(20)), CEN_OK);
    expect_equal(opened.status, CEN_SYSTEM);
    expect_equal(cen_future_wait(&ended, cen_in_s(20)), CEN_OK);
    expect_equal(ended.status, CEN_SYSTEM);
    expect_text(ended_error.text, opened_error.text);
    expect(cen_mux_error_get(mux, &cause));
    expect_text(cause.text, opened_error.text);
    ready_question(&q, 1);
    expect_equal(cen_mux_request(mux, &q.request, &error), CEN_LOST);
    expect_text(error.text, opened_error.text);
    expect_equal(stats_of(mux).state, CEN_MUX_ENDED);
    expect_equal(cen_mux_close(mux, CEN_NOW, &error), CEN_LOST);
    cen_mux_free(mux);
}

/* guarantees: mux.close */
TEST(an_opening_is_given_up_by_close_and_by_free)
{
    hold_lookups(true);
    begin_to_open("one.test:80");
    expect_equal(cen_mux_close(mux, CEN_NEVER, &error), CEN_OK);
    expect_equal(cen_future_wait(&opened, cen_in_s(20)), CEN_OK);
    expect_equal(opened.status, CEN_CLOSED);
    expect_equal(cen_future_wait(&ended, cen_in_s(20)), CEN_OK);
    expect_equal(ended.status, CEN_OK);
    cen_mux_free(mux);
    begin_to_open("one.test:80");
    cen_mux_free(mux);
    expect(cen_future_is_done(&opened) && cen_future_is_done(&ended));
    expect_equal(opened.status, CEN_CLOSED);
    hold_lookups(false);
}

TEST(an_opening_whose_future_is_cancelled_goes_on)
{
    server = SERVE(.name = "echo");
    hold_lookups(true);
    begin_to_open(at("one.test", port_of(cen_mux_server_address(server))));
    expect(cen_future_cancel(&opened));
    hold_lookups(false);
    AWAIT(stats_of(mux).state == CEN_MUX_OPEN);
    ask_number(mux, 5);
    expect(cen_future_cancel(&ended));
    end_mux(mux);
    cen_mux_server_stop(server);
}
