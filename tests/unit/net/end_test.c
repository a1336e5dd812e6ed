/* SPDX-License-Identifier: MIT */
/* How connections end: lost, closed, freed; and who is told. */
#include <signal.h>

#include "base/error.h"
#include "net/loop.h"
#include "net/mux.h"
#include "unit/net/muxes.h"
#include "wire/internal.h"

enum { MANY = 1000 };

static cen_mux_server *server;
static cen_mux *mux;
static cen_error error;
static question questions[MANY];
static cen_mux_call *kept[MANY];
static _Atomic uint32_t kept_count;

static void keep(void *argument, cen_mux_call *call)
{
    (void)argument;
    kept[ceni_load_seq_cst(&kept_count)] = call;
    ceni_add_seq_cst(&kept_count, 1u);
}

static void drop_kept(void)
{
    for (unsigned i = 0; i < ceni_load_seq_cst(&kept_count); i++) cen_mux_call_drop(kept[i]);
}

static void begin(void)
{
    server = SERVE(.handle = keep);
    mux = OPEN(.address = cen_mux_server_address(server));
}

static void ask_many(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        ready_question(&questions[i], i);
        expect_equal(cen_mux_request_async(mux, &questions[i].request, &error), CEN_OK);
    }
    AWAIT(ceni_load_seq_cst(&kept_count) == count);
}

/* ---- Lost --------------------------------------------------------------------------------------------- */

typedef struct waiter {
    ceni_thread thread;
    question q;
    cen_status status;
    cen_error error;
} waiter;

static void wait_in_vain(void *argument)
{
    waiter *self = argument;
    ready_question(&self->q, 1);
    self->status = cen_mux_request(mux, &self->q.request, &self->error);
}

static void expect_lost(cen_status status, const cen_error *cause)
{
    expect_equal(status, CEN_LOST);
    expect_equal(cause->cause, CEN_CAUSE_PEER_CLOSED);
    if (!strstr(cause->text, cen_mux_address(mux)) || !strstr(cause->text, "closed by the other side"))
        test_fail(__FILE__, __LINE__, "the cause is not in: %s", cause->text);
}

/* guarantees: mux.lost */
TEST(a_thousand_in_flight_fail_at_once_when_the_connection_dies_and_are_told_why)
{
    waiter waiters[4] = {{.status = CEN_OK}};
    int code;
    begin();
    ask_many(MANY - 4);
    for (unsigned i = 0; i < 4; i++)
        expect_equal(ceni_thread_start(&waiters[i].thread, NULL, wait_in_vain, &waiters[i], &code), CEN_OK);
    AWAIT(ceni_load_seq_cst(&kept_count) == MANY);
    expect_equal(stats_of(mux).in_flight, MANY);
    expect_equal(cen_mux_server_kill(server, 0), CEN_OK);
    for (unsigned i = 0; i < MANY - 4; i++) {
        expect_equal(cen_future_wait(&questions[i].request.future, cen_in_s(20)), CEN_OK);
        expect_lost(questions[i].request.future.status, &questions[i].error);
    }
    for (unsigned i = 0; i < 4; i++) {
        ceni_thread_join(&waiters[i].thread);
        expect_lost(waiters[i].status, &waiters[i].error);
    }
    cen_mux_stats stats = stats_of(mux);
    expect(stats.state == CEN_MUX_ENDED && stats.in_flight == 0 && stats.failed == MANY);
    ready_question(&questions[0], 1);
    expect_lost(cen_mux_request(mux, &questions[0].request, &error), &error);
    expect_lost(cen_mux_close(mux, CEN_NEVER, &error), &error);
    cen_mux_free(mux);
    cen_mux_server_stop(server);
    drop_kept();
}

/* guarantees: mux.lost */
TEST(a_connection_that_nobody_uses_is_noticed_when_it_dies)
{
    cen_future ended;
    cen_error cause;
    begin();
    cen_future_init(&ended);
    ended.error = &cause;
    expect_equal(cen_mux_watch(mux, &ended), CEN_OK);
    expect(!cen_mux_error_get(mux, &cause));
    expect_equal(cen_mux_server_kill(server, 0), CEN_OK);
    expect_equal(cen_future_wait(&ended, cen_in_s(20)), CEN_OK);
    expect_lost(ended.status, &cause);
    expect(cen_mux_error_get(mux, &cause));
    expect_lost(cause.status, &cause);
    cen_mux_free(mux);
    cen_mux_server_stop(server);
}

/* Its threads have read for themselves, and the loop has looked away. */
/* guarantees: mux.lost */
TEST(a_connection_whose_thread_reads_for_itself_is_noticed_when_it_dies)
{
    cen_future ended;
    server = SERVE(.name = "echo");
    mux = OPEN(.address = cen_mux_server_address(server));
    cen_future_init(&ended);
    expect_equal(cen_mux_watch(mux, &ended), CEN_OK);
    for (uint64_t i = 0; i < 500; i++) ask_number(mux, i);
    expect_equal(cen_mux_server_kill(server, 0), CEN_OK);
    expect_equal(cen_future_wait(&ended, cen_in_s(20)), CEN_OK);
    expect_equal(ended.status, CEN_LOST);
    cen_mux_free(mux);
    cen_mux_server_stop(server);
}

/* guarantees: mux.free-in-callback */
TEST(one_future_at_a_time_hears_of_the_end_also_of_one_that_has_ended)
{
    cen_future one, other, late;
    begin();
    cen_future_init(&one);
    cen_future_init(&other);
    cen_future_init(&late);
    expect_equal(cen_mux_watch(mux, &one), CEN_OK);
    expect_equal(cen_mux_watch(mux, &other), CEN_MISUSE);
    expect_equal(cen_mux_watch(mux, &one), CEN_MISUSE);
    expect(cen_future_cancel(&one));
    expect_equal(cen_mux_watch(mux, &other), CEN_OK);
    expect_equal(cen_mux_close(mux, CEN_NOW, NULL), CEN_OK);
    expect_equal(cen_future_wait(&other, cen_in_s(20)), CEN_OK);
    expect_equal(other.status, CEN_OK);
    expect_equal(cen_mux_watch(mux, &late), CEN_OK);
    expect_equal(cen_future_wait(&late, cen_in_s(20)), CEN_OK);
    cen_mux_free(mux);
    cen_mux_server_stop(server);
}

static _Atomic uint32_t freed;

static void free_here(cen_future *ended)
{
    expect_equal(ended->status, CEN_LOST);
    cen_mux_free(mux);
    ceni_store_seq_cst(&freed, 1u);
}

/* Whoever notices it, a thread that waits for its reply or the loop, is not inside any more. */
/* guarantees: mux.free-in-callback */
TEST(who_hears_of_the_end_may_free_the_connection_right_there)
{
    for (unsigned round = 0; round < 20; round++) {
        waiter one = {.status = CEN_OK};
        cen_future ended;
        int code;
        ceni_store_seq_cst(&kept_count, 0u);
        ceni_store_seq_cst(&freed, 0u);
        begin();
        cen_future_init(&ended);
        expect_equal(cen_future_then(&ended, free_here, cen_inline()), CEN_OK);
        expect_equal(cen_mux_watch(mux, &ended), CEN_OK);
        if (round % 2) expect_equal(ceni_thread_start(&one.thread, NULL, wait_in_vain, &one, &code), CEN_OK);
        if (round % 2) AWAIT(ceni_load_seq_cst(&kept_count) == 1);
        expect_equal(cen_mux_server_kill(server, 0), CEN_OK);
        AWAIT(ceni_load_seq_cst(&freed));
        if (round % 2) ceni_thread_join(&one.thread);
        if (round % 2) expect_equal(one.status, CEN_LOST);
        AWAIT(cen_loop_users(NULL) == 1); /* the server's */
        cen_mux_server_stop(server);
        drop_kept();
    }
}

/* guarantees: mux.well-behaved */
TEST(writing_to_a_connection_whose_other_side_is_gone_raises_no_signal)
{
    static unsigned char payload[100000];
    signal(SIGPIPE, SIG_DFL);
    for (unsigned round = 0; round < 20; round++) {
        ceni_store_seq_cst(&kept_count, 0u);
        begin();
        expect_equal(cen_mux_server_kill(server, 0), CEN_OK);
        for (cen_status status = CEN_OK; status == CEN_OK;) {
            cen_request request;
            cen_request_init(&request, NULL, NULL);
            request.payload = payload;
            request.size = sizeof payload;
            request.deadline = cen_in_s(20);
            status = cen_mux_request(mux, &request, &error);
            expect_equal(status, CEN_LOST);
        }
        cen_mux_free(mux);
        cen_mux_server_stop(server);
        drop_kept();
    }
}

/* ---- Closed -------------------------------------------------------------------------------------------- */

static void reply_all_later(void *argument)
{
    (void)argument;
    ceni_sleep_until(ceni_clock_now() + 30 * ms);
    for (unsigned i = 0; i < ceni_load_seq_cst(&kept_count); i++)
        expect_equal(cen_mux_call_reply(kept[i], kept[i]->payload, kept[i]->payload_size), CEN_OK);
}

/* guarantees: mux.close */
TEST(close_waits_for_what_is_under_way)
{
    ceni_thread thread;
    int code;
    begin();
    ask_many(100);
    expect_equal(ceni_thread_start(&thread, NULL, reply_all_later, NULL, &code), CEN_OK);
    expect_equal(cen_mux_close(mux, cen_in_s(20), &error), CEN_OK);
    for (unsigned i = 0; i < 100; i++) {
        /* it may be just being told */
        expect_equal(cen_future_wait(&questions[i].request.future, cen_in_s(20)), CEN_OK);
        expect_equal(questions[i].request.future.status, CEN_OK);
    }
    ready_question(&questions[0], 1);
    expect_equal(cen_mux_request(mux, &questions[0].request, &error), CEN_CLOSED);
    expect_equal(cen_mux_close(mux, CEN_NOW, &error), CEN_CLOSED);
    ceni_thread_join(&thread);
    cen_mux_free(mux);
    cen_mux_server_stop(server);
}

/* guarantees: mux.close */
TEST(close_fails_what_is_left_at_its_deadline_and_says_how_many)
{
    begin();
    ask_many(3);
    int64_t began = ceni_clock_now();
    expect_equal(cen_mux_close(mux, cen_in_ms(40), &error), CEN_TIMEOUT);
    expect(ceni_clock_now() - began >= 40 * ms);
    expect(strstr(error.text, "3 requests without a reply") && strstr(error.text, cen_mux_address(mux)));
    for (unsigned i = 0; i < 3; i++) {
        expect(cen_future_is_done(&questions[i].request.future));
        expect_equal(questions[i].request.future.status, CEN_CLOSED);
    }
    cen_mux_free(mux);
    cen_mux_server_stop(server);
    drop_kept();
}

static void request_while_closing(void *argument)
{
    waiter *self = argument;
    AWAIT(stats_of(mux).state == CEN_MUX_CLOSING);
    ready_question(&self->q, 1);
    self->status = cen_mux_request(mux, &self->q.request, &self->error);
    reply_all_later(NULL);
}

/* guarantees: mux.close */
TEST(a_request_made_while_it_is_being_closed_is_refused)
{
    waiter late = {.status = CEN_OK};
    int code;
    begin();
    ask_many(1);
    expect_equal(ceni_thread_start(&late.thread, NULL, request_while_closing, &late, &code), CEN_OK);
    expect_equal(cen_mux_close(mux, cen_in_s(20), &error), CEN_OK);
    ceni_thread_join(&late.thread);
    expect_equal(late.status, CEN_CLOSED);
    cen_mux_free(mux);
    cen_mux_server_stop(server);
}

/* guarantees: mux.lost */
TEST(the_end_of_the_other_side_ends_a_close_that_waits)
{
    begin();
    ask_many(2);
    cen_future ended;
    cen_future_init(&ended);
    expect_equal(cen_mux_watch(mux, &ended), CEN_OK);
    cen_mux_server_stop(server);
    expect_lost(cen_mux_close(mux, CEN_NEVER, &error), &error);
    expect_equal(cen_future_wait(&ended, cen_in_s(20)), CEN_OK);
    expect_equal(ended.status, CEN_LOST);
    cen_mux_free(mux);
    drop_kept();
}

/* ---- Freed ------------------------------------------------------------------------------------------------ */

/* guarantees: mux.close */
TEST(free_tells_those_that_are_in_flight_that_it_was_closed)
{
    begin();
    ask_many(10);
    cen_mux_free(mux);
    for (unsigned i = 0; i < 10; i++) {
        expect(cen_future_is_done(&questions[i].request.future));
        expect_equal(questions[i].request.future.status, CEN_CLOSED);
    }
    cen_mux_server_stop(server);
    drop_kept();
    cen_mux_free(NULL);
}

static cen_status closed_inside, opened_inside, asked_inside;

static void close_inside(void *argument)
{
    (void)argument;
    cen_mux *other;
    cen_mux_options options = CEN_MUX_OPTIONS(.address = cen_mux_server_address(server));
    opened_inside = cen_mux_open(&options, &other, &error);
    ready_question(&questions[5], 5);
    asked_inside = cen_mux_request(mux, &questions[5].request, &error);
    closed_inside = cen_mux_close(mux, CEN_NEVER, NULL);
    cen_mux_free(mux);
}

/* guarantees: mux.free-in-callback */
TEST(on_the_loops_own_thread_close_does_not_wait_and_what_must_wait_is_refused)
{
    cen_loop *loop;
    begin();
    ask_many(2);
    expect_equal(ceni_loop_join(NULL, &loop, NULL), CEN_OK);
    ceni_loop_do(loop, close_inside, NULL);
    expect_equal(opened_inside, CEN_MISUSE);
    expect_equal(asked_inside, CEN_MISUSE);
    expect_equal(closed_inside, CEN_TIMEOUT);
    for (unsigned i = 0; i < 2; i++) {
        expect_equal(cen_future_wait(&questions[i].request.future, cen_in_s(20)), CEN_OK);
        expect_equal(questions[i].request.future.status, CEN_CLOSED);
    }
    AWAIT(cen_loop_users(NULL) == 2);
    ceni_loop_leave(loop);
    cen_mux_server_stop(server);
    drop_kept();
}

/* ---- Memory -------------------------------------------------------------------------------------------------- */

static _Atomic int64_t out_bytes;
static _Atomic uint32_t given, fails_at; /* allocations, and which of them fails; 0: none */

static void *count_alloc(void *argument, size_t size, size_t align)
{
    (void)argument;
    void *memory = NULL;
    if (ceni_add_seq_cst(&given, 1u) + 1 == ceni_load_seq_cst(&fails_at)) return NULL;
    if (posix_memalign(&memory, align < sizeof(void *) ? sizeof(void *) : align, size) != 0) return NULL;
    memset(memory, 0xA5, size);
    ceni_add_seq_cst(&out_bytes, (int64_t)size);
    return memory;
}

static void count_free(void *argument, void *memory, size_t size, size_t align)
{
    (void)argument, (void)align;
    ceni_sub_seq_cst(&out_bytes, (int64_t)size);
    memset(memory, 0x5A, size);
    free(memory);
}

/* guarantees: mux.out-of-memory */
TEST(all_memory_comes_back_to_the_allocator_it_came_from)
{
    cen_allocator allocator = {.alloc = count_alloc, .free = count_free};
    for (unsigned round = 0; round < 4; round++) {
        ceni_store_seq_cst(&kept_count, 0u);
        server = SERVE(.handle = keep, .allocator = &allocator);
        mux = OPEN(.address = cen_mux_server_address(server), .allocator = &allocator, .max_in_flight = 16);
        for (unsigned i = 0; i < 40; i++) { /* some in flight, some waiting */
            ready_question(&questions[i], i);
            questions[i].request.reply = NULL;
            expect_equal(cen_mux_request_async(mux, &questions[i].request, &error), CEN_OK);
        }
        AWAIT(ceni_load_seq_cst(&kept_count) == 16);
        for (unsigned i = 0; i < 8; i++) expect_equal(cen_mux_call_reply(kept[i], "abc", 3), CEN_OK);
        AWAIT(ceni_load_seq_cst(&kept_count) == 24);
        expect(ceni_load_seq_cst(&out_bytes) > 0);
        if (round % 2) expect_equal(cen_mux_server_kill(server, 0), CEN_OK);
        if (round / 2) expect(cen_mux_close(mux, CEN_NOW, NULL) != CEN_OK);
        cen_mux_free(mux);
        cen_mux_server_stop(server);
        for (unsigned i = 8; i < ceni_load_seq_cst(&kept_count); i++) cen_mux_call_drop(kept[i]);
        for (unsigned i = 0; i < 40; i++) cen_request_free_reply(&questions[i].request);
        expect_equal(ceni_load_seq_cst(&out_bytes), 0);
    }
}

static void expect_failed(cen_status status, const cen_error *why)
{
    expect_equal(status, CEN_NO_MEMORY);
    expect_equal(why->status, CEN_NO_MEMORY);
    expect(strstr(why->text, "memory") != NULL);
    expect_equal(ceni_load_seq_cst(&out_bytes), 0);
}

static void fail_next(uint32_t nth)
{
    ceni_store_seq_cst(&given, 0u);
    ceni_store_seq_cst(&fails_at, nth);
}

/* Whichever allocation fails: nothing is left behind, and what is lost is said. */
/* guarantees: mux.out-of-memory */
TEST(an_opening_that_gets_no_memory_leaves_none_behind)
{
    cen_allocator allocator = {.alloc = count_alloc, .free = count_free};
    unsigned failed = 0;
    server = SERVE(.name = "echo");
    cen_mux_options options = CEN_MUX_OPTIONS(.address = cen_mux_server_address(server), .allocator = &allocator);
    for (uint32_t nth = 1;; nth++) {
        fail_next(nth);
        cen_status status = cen_mux_open(&options, &mux, &error);
        fail_next(0);
        if (status == CEN_OK) break;
        expect_failed(status, &error);
        failed++;
    }
    expect(failed >= 2);
    ask_number(mux, 1);
    end_mux(mux);
    expect_equal(ceni_load_seq_cst(&out_bytes), 0);
    cen_mux_server_stop(server);
}

/* guarantees: mux.out-of-memory */
TEST(a_server_that_gets_no_memory_leaves_none_behind)
{
    cen_allocator allocator = {.alloc = count_alloc, .free = count_free};
    cen_mux_server_options options =
        CEN_MUX_SERVER_OPTIONS(.address = "127.0.0.1:0", .handle = echo, .allocator = &allocator);
    fail_next(1);
    expect_failed(cen_mux_server_start(&options, &server, &error), &error);
    expect_equal(cen_loop_users(NULL), 0);
}

/* A server that has no memory for one client cuts that one off, and goes on. */
/* guarantees: mux.out-of-memory */
TEST(a_client_for_which_a_server_has_no_memory_is_cut_off_and_the_next_is_not)
{
    cen_allocator allocator = {.alloc = count_alloc, .free = count_free};
    fail_next(0);
    server = SERVE(.allocator = &allocator);
    for (uint32_t nth = 1; nth <= 3; nth++) {
        fail_next(nth);
        mux = OPEN(.address = cen_mux_server_address(server));
        ready_question(&questions[0], 1);
        questions[0].request.deadline = cen_in_s(20);
        expect_equal(cen_mux_request(mux, &questions[0].request, &error), CEN_LOST);
        cen_mux_free(mux);
        fail_next(0);
        mux = OPEN(.address = cen_mux_server_address(server));
        ask_number(mux, 2);
        end_mux(mux);
    }
    cen_mux_server_stop(server);
    expect_equal(ceni_load_seq_cst(&out_bytes), 0);
}

static void free_it(void *unused)
{
    (void)unused;
    cen_mux_free(mux);
}

/* The loop waits for those who are inside the exchange. */
static bool is_being_freed(void)
{
    ceni_exchange_lock(&mux->exchange);
    bool is_ending = mux->exchange.is_ending;
    ceni_exchange_unlock(&mux->exchange);
    return is_ending;
}

TEST(who_waits_for_the_end_is_told_although_it_was_found_just_before_the_loop_freed_the_connection)
{
    cen_future ended;
    cen_error cause;
    ceni_after after;
    begin();
    cen_future_init(&ended);
    expect_equal(cen_mux_watch(mux, &ended), CEN_OK);
    /* As a thread does that reads its reply: it has found the end, and has not said so yet. */
    ceni_error_set(&cause, CEN_LOST, 0, "The other side is gone.");
    ceni_after_init(&after);
    ceni_exchange_enter(&mux->exchange);
    ceni_exchange_break(&mux->exchange, &after, &cause);
    ceni_exchange_unlock(&mux->exchange);
    ceni_loop_do(mux->loop, free_it, NULL);
    AWAIT(is_being_freed());
    ceni_exchange_lock(&mux->exchange);
    ceni_exchange_leave(&mux->exchange, &after);
    AWAIT(cen_future_is_done(&ended));
    expect_equal(ended.status, CEN_LOST);
    cen_mux_server_stop(server);
}

TEST(a_close_says_that_the_connection_was_lost_although_nobody_has_been_told_yet)
{
    cen_error cause;
    ceni_after after;
    begin();
    ceni_error_set(&cause, CEN_LOST, 0, "The other side is gone.");
    ceni_after_init(&after);
    ceni_exchange_enter(&mux->exchange);
    ceni_exchange_break(&mux->exchange, &after, &cause);
    ceni_exchange_unlock(&mux->exchange);
    expect_equal(cen_mux_close(mux, CEN_NOW, &error), CEN_LOST);
    expect_text(error.text, "The other side is gone.");
    ceni_exchange_lock(&mux->exchange);
    ceni_exchange_leave(&mux->exchange, &after);
    cen_mux_free(mux);
    cen_mux_server_stop(server);
}
