/* SPDX-License-Identifier: MIT */
/* Requests and replies on one connection. */
#include <pthread.h>

#include "record/directory.h"
#include "unit/net/muxes.h"

enum { MANY = 1000 };

static cen_mux_server *server;
static cen_mux *mux;
static cen_error error;
static question questions[MANY];

static void begin(void (*handle)(void *argument, cen_mux_call *call))
{
    server = SERVE(.handle = handle);
    mux = OPEN(.address = cen_mux_server_address(server));
}

static void end(void)
{
    end_mux(mux);
    cen_mux_server_stop(server);
}

static void await_answer(question *q)
{
    expect_equal(cen_future_wait(&q->request.future, cen_in_s(20)), CEN_OK);
    expect_equal(q->request.future.status, CEN_OK);
    expect(q->answer == q->number);
}

/* ---- Any order ----------------------------------------------------------------------------------------- */

static cen_mux_call *kept[MANY];
static _Atomic uint32_t kept_count;

static void keep(void *argument, cen_mux_call *call)
{
    (void)argument;
    kept[ceni_load_seq_cst(&kept_count)] = call;
    ceni_add_seq_cst(&kept_count, 1u);
}

static void reply_kept(unsigned i)
{
    expect_equal(cen_mux_call_reply(kept[i], kept[i]->payload, kept[i]->payload_size), CEN_OK);
}

static void ask_many(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        ready_question(&questions[i], i);
        expect_equal(cen_mux_request_async(mux, &questions[i].request, &error), CEN_OK);
    }
}

/* guarantees: mux.once */
TEST(replies_come_in_any_order)
{
    begin(keep);
    ask_many(MANY);
    AWAIT(ceni_load_seq_cst(&kept_count) == MANY);
    for (unsigned i = MANY; i-- > 0;) reply_kept(i); /* the last first */
    for (unsigned i = 0; i < MANY; i++) await_answer(&questions[i]);
    cen_mux_stats stats = stats_of(mux);
    expect(stats.sent == MANY && stats.replied == MANY && stats.in_flight == 0 && stats.late == 0);
    end();
}

/* guarantees: mux.once */
TEST(a_late_reply_is_dropped_and_given_to_nobody)
{
    begin(keep);
    ready_question(&questions[0], 7);
    questions[0].request.deadline = cen_in_ms(20);
    expect_equal(cen_mux_request(mux, &questions[0].request, &error), CEN_TIMEOUT);
    ready_question(&questions[1], 8);
    expect_equal(cen_mux_request_async(mux, &questions[1].request, &error), CEN_OK);
    AWAIT(ceni_load_seq_cst(&kept_count) == 2);
    reply_kept(0);
    AWAIT(stats_of(mux).late == 1);
    expect(!cen_future_is_done(&questions[1].request.future));
    reply_kept(1);
    await_answer(&questions[1]);
    expect_equal(stats_of(mux).timed_out, 1);
    end();
}

/* guarantees: mux.once */
TEST(a_cancelled_request_is_never_told)
{
    begin(keep);
    ask_many(2);
    AWAIT(ceni_load_seq_cst(&kept_count) == 2);
    expect(cen_future_cancel(&questions[0].request.future));
    reply_kept(0);
    reply_kept(1);
    await_answer(&questions[1]);
    expect(questions[0].answer != questions[0].number);
    cen_mux_stats stats = stats_of(mux);
    expect(stats.cancelled == 1 && stats.late == 1);
    end();
}

/* ---- Segments -------------------------------------------------------------------------------------------- */

typedef struct dribble {
    int listener;
    unsigned frames;
    size_t at_a_time; /* bytes per send; 0: all in one */
} dribble;

/* A server without our code, that sends its answers in pieces. */
static void serve_in_pieces(void *argument)
{
    dribble *self = argument;
    static unsigned char out[MANY * 64], payload[64];
    size_t size = 0;
    int yes = 1, fd = accept(self->listener, NULL, NULL);
    expect(fd >= 0);
    setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &yes, sizeof yes);
    for (unsigned i = 0; i < self->frames; i++) {
        uint64_t id;
        long length = receive_frame(fd, &id, payload, sizeof payload);
        expect(length >= 0);
        size += frame_to(out + size, id, payload, (size_t)length);
    }
    size_t step = self->at_a_time ? self->at_a_time : size;
    for (size_t sent = 0; sent < size; sent += step) send_all(fd, out + sent, size - sent < step ? size - sent : step);
    uint64_t id;
    expect_equal(receive_frame(fd, &id, payload, sizeof payload), -1);
    close(fd);
}

static void ask_one_that_answers_in_pieces(unsigned frames, size_t at_a_time, bool blocking)
{
    dribble self = {.listener = socket(AF_INET, SOCK_STREAM, 0), .frames = frames, .at_a_time = at_a_time};
    struct sockaddr_in place = {.sin_family = AF_INET};
    socklen_t length = sizeof place;
    char address[32];
    ceni_thread thread;
    int code;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    expect(bind(self.listener, (void *)&place, sizeof place) == 0 && listen(self.listener, 1) == 0);
    expect(getsockname(self.listener, (void *)&place, &length) == 0);
    snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(place.sin_port));
    expect_equal(ceni_thread_start(&thread, NULL, serve_in_pieces, &self, &code), CEN_OK);
    mux = OPEN(.address = address);
    ask_many(blocking ? frames - 1 : frames);
    if (blocking) ask_number(mux, 99);
    for (unsigned i = 0; i < (blocking ? frames - 1 : frames); i++) await_answer(&questions[i]);
    end_mux(mux);
    ceni_thread_join(&thread);
    close(self.listener);
}

/* guarantees: mux.segments */
TEST(replies_that_come_byte_by_byte_are_put_together)
{
    ask_one_that_answers_in_pieces(50, 1, false);
    ask_one_that_answers_in_pieces(50, 1, true);
}

/* guarantees: mux.segments */
TEST(replies_that_are_cut_anywhere_are_put_together)
{
    for (size_t step = 2; step < 45; step += 3) ask_one_that_answers_in_pieces(40, step, step % 2);
}

/* guarantees: mux.segments */
TEST(replies_that_come_in_one_segment_are_told_apart)
{
    ask_one_that_answers_in_pieces(MANY, 0, false);
    ask_one_that_answers_in_pieces(MANY, 0, true);
}

/* ---- Sizes ------------------------------------------------------------------------------------------------- */

static void grow(void *argument, cen_mux_call *call)
{
    static unsigned char large[1 << 20];
    (void)argument;
    uint64_t size;
    memcpy(&size, call->payload, sizeof size);
    memset(large, (int)(size % 251), (size_t)size);
    expect_equal(cen_mux_call_reply(call, large, (size_t)size), CEN_OK);
}

TEST(a_reply_is_allocated_if_the_request_names_no_buffer)
{
    begin(grow);
    for (uint64_t size = 0; size < 700000; size = size * 3 + 1) {
        ready_question(&questions[0], size);
        cen_request *request = &questions[0].request;
        request->reply = NULL;
        request->capacity = 0;
        expect_equal(cen_mux_request(mux, request, &error), CEN_OK);
        expect_equal(request->reply_size, size);
        for (uint64_t i = 0; i < size; i += 997) expect_equal(((unsigned char *)request->reply)[i], size % 251);
        cen_request_free_reply(request);
    }
    end();
}

TEST(a_reply_that_is_larger_than_its_buffer_says_how_large)
{
    begin(grow);
    ready_question(&questions[0], 100);
    expect_equal(cen_mux_request(mux, &questions[0].request, &error), CEN_FULL);
    expect_equal(questions[0].request.reply_size, 100);
    ready_question(&questions[1], 8);
    expect_equal(cen_mux_request(mux, &questions[1].request, &error), CEN_OK); /* the connection goes on */
    end();
}

/* guarantees: mux.backpressure */
TEST(a_request_that_is_too_large_is_refused_and_a_reply_that_is_ends_the_connection)
{
    static unsigned char large[101];
    server = SERVE(.handle = grow);
    mux = OPEN(.address = cen_mux_server_address(server), .max_payload = 100, .max_reply = 1000);
    ready_question(&questions[0], 1);
    questions[0].request.payload = large;
    questions[0].request.size = sizeof large;
    expect_equal(cen_mux_request(mux, &questions[0].request, &error), CEN_INVALID);
    expect(strstr(error.text, "101") && strstr(error.text, cen_mux_server_address(server)));
    ready_question(&questions[1], 1001);
    expect_equal(cen_mux_request(mux, &questions[1].request, &error), CEN_LOST);
    expect_equal(error.cause, CEN_CAUSE_PROTOCOL_ERROR);
    expect(strstr(error.text, cen_mux_server_address(server)) != NULL);
    AWAIT(stats_of(mux).state == CEN_MUX_ENDED);
    cen_mux_free(mux);
    cen_mux_server_stop(server);
}

TEST(lines_of_text_are_carried_too)
{
    char reply[32] = "";
    server = SERVE(.codec = cen_codec_lines());
    mux = OPEN(.address = cen_mux_server_address(server), .codec = cen_codec_lines());
    cen_request request;
    cen_request_init(&request, NULL, NULL);
    request.payload = "hello";
    request.size = 5;
    request.reply = reply;
    request.capacity = sizeof reply;
    expect_equal(cen_mux_request(mux, &request, &error), CEN_OK);
    expect_text(reply, "hello");
    cen_request_init(&request, NULL, NULL);
    request.payload = "two\nlines";
    request.size = 9;
    expect_equal(cen_mux_request(mux, &request, &error), CEN_INVALID);
    end();
}

/* ---- Threads ------------------------------------------------------------------------------------------------- */

static _Atomic uint32_t told;

static void ask_in_turn(void *argument)
{
    uint64_t from = *(uint64_t *)argument;
    for (uint64_t i = 0; i < 2000; i++) ask_number(mux, from + i);
}

static void check_and_count(cen_request *request)
{
    question *q = (question *)(void *)request;
    expect_equal(request->future.status, CEN_OK);
    expect(q->answer == q->number);
    ceni_add_seq_cst(&told, 1u);
    ceni_futex_wake(&told, 1);
}

static void ask_in_bulk(void *argument)
{
    uint64_t from = *(uint64_t *)argument;
    question *own = calloc(200, sizeof *own);
    for (unsigned round = 0; round < 20; round++) {
        ceni_store_seq_cst(&told, 0u);
        for (unsigned i = 0; i < 200; i++) {
            ready_question(&own[i], from + i);
            cen_request_init(&own[i].request, check_and_count, cen_inline());
            own[i].request.payload = &own[i].number;
            own[i].request.size = sizeof own[i].number;
            own[i].request.reply = &own[i].answer;
            own[i].request.capacity = sizeof own[i].answer;
            expect_equal(cen_mux_request_async(mux, &own[i].request, NULL), CEN_OK);
        }
        for (uint32_t seen; (seen = ceni_load_seq_cst(&told)) < 200;) ceni_futex_wait(&told, seen, CENI_FOREVER);
    }
    free(own);
}

/* guarantees: mux.share */
TEST(threads_that_wait_and_threads_that_ask_share_one_connection)
{
    uint64_t from[4] = {1000000, 2000000, 3000000, 4000000};
    ceni_thread threads[4];
    int code;
    begin(echo);
    for (unsigned i = 0; i < 4; i++)
        expect_equal(ceni_thread_start(&threads[i], NULL, i == 0 ? ask_in_bulk : ask_in_turn, &from[i], &code), CEN_OK);
    for (unsigned i = 0; i < 4; i++) ceni_thread_join(&threads[i]);
    cen_mux_stats stats = stats_of(mux);
    expect_equal(stats.replied, 4000 + 3 * 2000);
    expect_equal(stats.in_flight, 0);
    end();
}

/* guarantees: mux.share */
TEST(one_thread_that_asks_and_waits_reads_for_itself_and_does_not_wake_the_loop)
{
    begin(echo);
    for (uint64_t i = 0; i < 3000; i++) ask_number(mux, i);
    cen_mux_stats stats = stats_of(mux);
    /* As a rule: where others have the processors, the loop's thread is first now and then. */
    expect(stats.own_reads > 2000);
    expect(stats.wakes < 1000);
    end();
}

/* guarantees: mux.share */
TEST(several_requests_are_written_together)
{
    cen_request *all[64];
    size_t asked;
    begin(echo);
    for (unsigned i = 0; i < 64; i++) {
        ready_question(&questions[i], i);
        all[i] = &questions[i].request;
    }
    uint64_t before = stats_of(mux).writes;
    expect_equal(cen_mux_request_all_async(mux, all, 64, &asked, &error), CEN_OK);
    expect_equal(asked, 64);
    for (unsigned i = 0; i < 64; i++) await_answer(&questions[i]);
    expect_equal(stats_of(mux).writes, before + 1);
    end();
}

/* ---- Too much --------------------------------------------------------------------------------------------------- */

/* guarantees: mux.backpressure */
TEST(more_than_may_be_in_flight_wait_and_more_than_may_wait_are_refused)
{
    server = SERVE(.handle = keep);
    mux = OPEN(.address = cen_mux_server_address(server), .max_in_flight = 4, .max_waiters = 2);
    ask_many(6);
    ready_question(&questions[6], 6);
    expect_equal(cen_mux_request_async(mux, &questions[6].request, &error), CEN_FULL);
    expect_equal(error.cause, CEN_CAUSE_REQUESTS_FULL);
    AWAIT(ceni_load_seq_cst(&kept_count) == 4);
    cen_mux_stats stats = stats_of(mux);
    expect(stats.in_flight == 4 && stats.waiting == 2);
    for (unsigned i = 0; i < 6; i++) {
        AWAIT(ceni_load_seq_cst(&kept_count) > i);
        reply_kept(i);
    }
    for (unsigned i = 0; i < 6; i++) await_answer(&questions[i]);
    end();
}

static void hold_up(void *argument, cen_mux_call *call)
{
    _Atomic uint32_t *gate = argument;
    while (ceni_load_seq_cst(gate)) ceni_futex_wait(gate, 1, CENI_FOREVER);
    echo(NULL, call);
}

/* guarantees: mux.backpressure */
TEST(a_server_that_does_not_read_makes_requests_wait_and_none_is_lost)
{
    enum { BIG = 60000, COUNT = 300 }; /* 18 MB, more than the system's buffers take */
    static unsigned char payload[BIG], replies[COUNT][16];
    static cen_request requests[COUNT];
    _Atomic uint32_t gate = 1;
    cen_loop *loop;
    expect_equal(cen_loop_new(NULL, &loop, NULL), CEN_OK);
    server = SERVE(.handle = hold_up, .argument = &gate, .loop = loop);
    mux = OPEN(.address = cen_mux_server_address(server), .max_output = 100000);
    for (unsigned i = 0; i < COUNT; i++) {
        cen_request_init(&requests[i], NULL, NULL);
        requests[i].payload = payload;
        requests[i].size = BIG;
        requests[i].reply = replies[i];
        requests[i].capacity = sizeof replies[i];
        expect_equal(cen_mux_request_async(mux, &requests[i], &error), CEN_OK);
    }
    AWAIT(stats_of(mux).waiting > 10);
    expect(stats_of(mux).output < 100000 + 2 * BIG);
    ceni_store_seq_cst(&gate, 0u);
    ceni_futex_wake(&gate, 1);
    for (unsigned i = 0; i < COUNT; i++) {
        expect_equal(cen_future_wait(&requests[i].future, cen_in_s(30)), CEN_OK);
        expect_equal(requests[i].future.status, CEN_FULL); /* the buffer has the beginning of the reply */
        expect_equal(requests[i].reply_size, BIG);
    }
    end();
    expect_equal(cen_loop_free(loop), CEN_OK);
}

/* ---- The directory ------------------------------------------------------------------------------------------------ */

static int64_t seen_sent = -1, seen_calls = -1;

static void note_metrics(void *argument, ceni_directory_entry *entry)
{
    cen_metric metrics[32];
    (void)argument;
    size_t count = entry->snapshot(entry->object, metrics, 32);
    for (size_t i = 0; i < count && i < 32; i++) {
        if (strcmp(entry->kind, "mux") == 0 && strcmp(metrics[i].name, "sent") == 0) seen_sent = metrics[i].value;
        if (strcmp(entry->kind, "mux_server") == 0 && strcmp(metrics[i].name, "calls") == 0)
            seen_calls = metrics[i].value;
    }
}

TEST(connections_and_servers_are_in_the_directory_while_they_are_there)
{
    begin(echo);
    ask_number(mux, 1);
    ask_number(mux, 2);
    ceni_directory_each(ceni_directory_process(), note_metrics, NULL);
    expect_equal(seen_sent, 2);
    expect_equal(seen_calls, 2);
    end();
    expect_equal(ceni_directory_count(ceni_directory_process()), 0);
}
