/* SPDX-License-Identifier: MIT */
/*
 * Random load on an exchange by threads of the system, over a pair of sockets: blocking requests, asks that are awaited,
 * cancelled, told inline or missed, by threads that share one connection with a loop, while the other side answers in
 * whatever order; and connection after connection is cut off under them.
 *
 * The oracle: each request is over once; its reply is its own; the exchange counts as many replies, deadlines, cancels
 * and failures as the threads do.
 *
 *     CENOTE_STRESS_SECONDS=n   for all tests of the program together
 *     CENOTE_SEED=n             the same choices, though not the same schedule
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cenote/runtime.h>

#include "base/error.h"
#include "port/port.h"
#include "support/test.h"
#include "wire/exchange.h"

enum { CLIENTS = 3, TESTS = 2, BAG = 8 };

static struct {
    ceni_exchange exchange;
    cen_codec codec;
    int ours, theirs;
    ceni_bell bell;
    _Atomic uint32_t stops, loops_on;
    /* what the threads count */
    _Atomic uint64_t ok, timed_out, cancelled, lost, refused;
} it;

/* ---- The transport --------------------------------------------------------------------------- */

static ceni_moved outcome(ssize_t count, size_t *moved, cen_error *cause)
{
    if (count > 0) {
        *moved = (size_t)count;
        return CENI_MOVED;
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return CENI_MOVED_NONE;
    ceni_error_set(cause, CEN_LOST, count ? errno : 0, "The socket has ended.");
    return CENI_MOVED_NEVER;
}

static ceni_moved write_some(void *argument, const void *bytes, size_t size, size_t *moved, cen_error *cause)
{
    (void)argument;
    return outcome(send(it.ours, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL), moved, cause);
}

static ceni_moved read_some(void *argument, void *into, size_t size, int64_t moment, size_t *moved, cen_error *cause)
{
    (void)argument;
    if (moment) {
        struct pollfd fd = {.fd = it.ours, .events = POLLIN};
        int64_t ns = moment == CENI_FOREVER ? 1000000000 : moment - ceni_clock_now();
        struct timespec time = {.tv_sec = ns > 0 ? ns / 1000000000 : 0, .tv_nsec = ns > 0 ? ns % 1000000000 : 0};
        if (ppoll(&fd, 1, &time, NULL) <= 0) return CENI_MOVED_NONE;
    }
    return outcome(recv(it.ours, into, size, MSG_DONTWAIT), moved, cause);
}

static void wake(void *argument)
{
    (void)argument;
    ceni_bell_ring(&it.bell);
}

static void broken(void *argument, const cen_error *cause)
{
    (void)argument, (void)cause;
    shutdown(it.ours, SHUT_RDWR);
}

static const ceni_transport transport = {write_some, read_some, wake, broken};

static void run_loop(void *unused)
{
    (void)unused;
    unsigned watch = ceni_exchange_loop(&it.exchange, 0);
    while (ceni_load_seq_cst(&it.loops_on)) {
        struct pollfd fds[] = {{.fd = it.bell.read_fd, .events = POLLIN}, {.fd = it.ours, .events = 0}};
        if (watch & CENI_LOOP_READ) fds[1].events |= POLLIN;
        if (watch & CENI_LOOP_WRITE) fds[1].events |= POLLOUT;
        if (!fds[1].events) fds[1].fd = -1;
        int count = poll(fds, 2, watch & CENI_LOOP_SOON ? 5 : 1000);
        unsigned happened = 0;
        if (count == 0 && !(watch & CENI_LOOP_SOON)) continue;
        if (count == 0) happened = CENI_LOOP_SOON;
        if (fds[0].revents) ceni_bell_silence(&it.bell);
        if (fds[1].revents & (POLLIN | POLLHUP | POLLERR)) happened |= CENI_LOOP_READ;
        if (fds[1].revents & POLLOUT) happened |= CENI_LOOP_WRITE;
        watch = ceni_exchange_loop(&it.exchange, happened & (watch | CENI_LOOP_SOON));
    }
}

/* ---- The other side ----------------------------------------------------------------------------- */

typedef struct held {
    uint64_t id, body;
} held;

static bool answer(held *bag, unsigned *count, uint64_t *random)
{
    unsigned char frame[32];
    size_t written = 0;
    cen_error error;
    unsigned which = (unsigned)(test_random(random) % *count);
    held one = bag[which];
    bag[which] = bag[--*count];
    it.codec.calls->encode(it.codec.argument, one.id, &one.body, sizeof one.body, frame, &written, &error);
    return send(it.theirs, frame, written, MSG_NOSIGNAL) == (ssize_t)written;
}

static bool more_is_there(void)
{
    struct pollfd fd = {.fd = it.theirs, .events = POLLIN};
    return poll(&fd, 1, 0) > 0;
}

/* Keeps some requests back as long as there are more, and answers in any order. */
static void serve(void *seed)
{
    ceni_input input;
    held bag[BAG];
    unsigned count = 0;
    uint64_t random = *(uint64_t *)seed;
    ceni_input_init(&input, it.codec, 64, NULL);
    for (;;) {
        void *into;
        size_t room;
        cen_decoding frame;
        cen_error error;
        expect_equal(ceni_input_room(&input, &into, &room), CEN_OK);
        ssize_t got = recv(it.theirs, into, room, 0);
        if (got <= 0) break;
        ceni_input_added(&input, (size_t)got);
        bool goes_on = true;
        while (ceni_input_next(&input, &frame, &error) == CEN_DECODED_FRAME) {
            expect_equal(frame.size, sizeof bag[0].body);
            bag[count].id = frame.id;
            memcpy(&bag[count++].body, frame.payload, frame.size);
            if (count == BAG) goes_on = answer(bag, &count, &random);
        }
        while (goes_on && count && !more_is_there()) goes_on = answer(bag, &count, &random);
        if (!goes_on) break;
    }
    ceni_input_fini(&input);
}

/* ---- The threads that ask ---------------------------------------------------------------------------- */

typedef struct question {
    cen_request request;
    uint64_t body, reply;
    _Atomic uint32_t over;
} question;

static void count(question *self)
{
    cen_status status = self->request.future.status;
    if (status == CEN_OK) {
        expect(self->request.reply_size == sizeof self->reply && self->reply == self->body);
        ceni_add_seq_cst(&it.ok, 1);
    } else if (status == CEN_TIMEOUT) ceni_add_seq_cst(&it.timed_out, 1);
    else {
        expect_equal(status, CEN_LOST);
        ceni_add_seq_cst(&it.lost, 1);
    }
    expect_equal(ceni_add_seq_cst(&self->over, 1), 0); /* from now on it may be gone */
}

static void told(cen_request *request)
{
    count((question *)(void *)request);
}

static void prepare(question *self, void (*done)(cen_request *), uint64_t random)
{
    cen_request_init(&self->request, done, done ? cen_inline() : NULL);
    self->body = random;
    self->request.payload = &self->body;
    self->request.size = sizeof self->body;
    self->request.reply = &self->reply;
    self->request.capacity = sizeof self->reply;
    self->request.deadline = random % 16 == 0 ? cen_in_us((int64_t)(random >> 8 & 127)) : cen_in_s(20);
    ceni_store_seq_cst(&self->over, 0);
}

/* False: refused, because the connection has ended. */
static bool asked(cen_status status)
{
    if (status == CEN_OK) return true;
    expect(status == CEN_LOST || status == CEN_FULL);
    ceni_add_seq_cst(&it.refused, 1);
    return false;
}

static void block_once(uint64_t random)
{
    question one;
    prepare(&one, NULL, random);
    cen_status status = ceni_exchange_request(&it.exchange, &one.request, NULL);
    if (cen_future_is_done(&one.request.future)) count(&one);
    else asked(status);
}

static void ask_and_wait(uint64_t random, bool cancels)
{
    question one;
    prepare(&one, NULL, random);
    if (!asked(ceni_exchange_request_async(&it.exchange, &one.request, NULL))) return;
    if (cancels && cen_future_cancel(&one.request.future)) {
        ceni_add_seq_cst(&it.cancelled, 1);
        return;
    }
    expect_equal(cen_future_wait(&one.request.future, cen_in_s(60)), CEN_OK);
    count(&one);
}

static void ask_several(uint64_t random)
{
    question many[BAG];
    cen_request *requests[BAG];
    size_t done = 0;
    for (unsigned i = 0; i < BAG; i++) {
        prepare(&many[i], told, random + i);
        requests[i] = &many[i].request;
    }
    asked(ceni_exchange_request_all_async(&it.exchange, requests, BAG, &done, NULL));
    for (size_t i = 0; i < done; i++)
        while (!ceni_load_seq_cst(&many[i].over)) ceni_thread_yield();
}

static void ask_on(void *seed)
{
    uint64_t random = *(uint64_t *)seed;
    while (!ceni_load_seq_cst(&it.stops)) {
        uint64_t choice = test_random(&random);
        switch (choice >> 32 & 3) {
        case 0: block_once(choice); break;
        case 1: ask_and_wait(choice, false); break;
        case 2: ask_and_wait(choice, true); break;
        default: ask_several(choice); break;
        }
    }
}

/* ---- One connection --------------------------------------------------------------------------------------- */

static void clear_counts(void)
{
    ceni_store_seq_cst(&it.stops, 0);
    ceni_store_seq_cst(&it.loops_on, 1);
    ceni_store_seq_cst(&it.ok, 0);
    ceni_store_seq_cst(&it.timed_out, 0);
    ceni_store_seq_cst(&it.cancelled, 0);
    ceni_store_seq_cst(&it.lost, 0);
    ceni_store_seq_cst(&it.refused, 0);
}

static void compare_counts(void)
{
    ceni_exchange_stats stats;
    ceni_exchange_look(&it.exchange, &stats);
    expect_equal(stats.in_flight + stats.waiting, 0);
    expect_equal(stats.replied, ceni_load_seq_cst(&it.ok));
    expect_equal(stats.timed_out, ceni_load_seq_cst(&it.timed_out));
    expect_equal(stats.cancelled, ceni_load_seq_cst(&it.cancelled));
    expect_equal(stats.failed, ceni_load_seq_cst(&it.lost));
}

static void start(ceni_thread *thread, const char *name, void (*run)(void *), void *argument)
{
    int code;
    expect_equal(ceni_thread_start(thread, name, run, argument, &code), CEN_OK);
}

static uint64_t run_connection(cen_codec codec, uint64_t *random, int64_t ns, bool cut)
{
    ceni_thread loop, server, clients[CLIENTS];
    uint64_t seeds[CLIENTS + 1];
    int fds[2], code;
    cen_runtime *runtime;
    cen_runtime_options options = CEN_RUNTIME_OPTIONS(.name = "stress");
    expect_equal(cen_runtime_new(&options, &runtime, NULL), CEN_OK);
    expect_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    it.ours = fds[0], it.theirs = fds[1], it.codec = codec;
    expect_equal(ceni_bell_init(&it.bell, &code), CEN_OK);
    clear_counts();
    ceni_exchange_settings settings = {
        .transport = &transport, .runtime = runtime, .codec = codec, .max_in_flight = 10};
    expect_equal(ceni_exchange_init(&it.exchange, &settings, NULL), CEN_OK);
    for (int i = 0; i <= CLIENTS; i++) seeds[i] = test_random(random);
    start(&server, "server", serve, &seeds[CLIENTS]);
    start(&loop, "loop", run_loop, NULL);
    for (int i = 0; i < CLIENTS; i++) start(&clients[i], "client", ask_on, &seeds[i]);
    ceni_sleep_until(ceni_clock_now() + ns);
    if (cut) {
        shutdown(it.theirs, SHUT_RDWR);
        ceni_sleep_until(ceni_clock_now() + 1000000);
    }
    ceni_store_seq_cst(&it.stops, 1);
    for (int i = 0; i < CLIENTS; i++) ceni_thread_join(&clients[i]);
    compare_counts();
    cen_error cause;
    ceni_error_set(&cause, CEN_CLOSED, 0, "It is over.");
    ceni_exchange_fail(&it.exchange, &cause);
    ceni_store_seq_cst(&it.loops_on, 0);
    ceni_bell_ring(&it.bell);
    ceni_thread_join(&loop);
    ceni_thread_join(&server);
    ceni_exchange_fini(&it.exchange);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    ceni_bell_fini(&it.bell);
    close(fds[0]);
    close(fds[1]);
    return ceni_load_seq_cst(&it.ok);
}

static int64_t share_ns(void)
{
    const char *seconds = getenv("CENOTE_STRESS_SECONDS");
    return (seconds ? strtol(seconds, NULL, 10) : 2) * INT64_C(1000000000) / TESTS;
}

TEST(many_threads_share_a_connection_whose_replies_come_in_any_order)
{
    uint64_t random = test_seed();
    uint64_t done = run_connection(cen_codec_binary(), &random, share_ns(), false);
    printf("     %llu replies\n", (unsigned long long)done);
    expect(done > 0);
}

TEST(connections_are_cut_off_under_those_who_use_them)
{
    uint64_t random = test_seed();
    unsigned connections = 0;
    for (int64_t end = ceni_clock_now() + share_ns(); ceni_clock_now() < end; connections++)
        run_connection(cen_codec_binary(), &random, (int64_t)(test_random(&random) % 20000000), true);
    printf("     %u connections\n", connections);
}
