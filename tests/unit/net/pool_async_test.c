/* SPDX-License-Identifier: MIT */
/* Requests of a routing pool: waiting, deadlines, limits, cancel. */
#include "unit/net/pools.h"

enum { MANY = 200 };

static cen_mux_server *server;
static cen_mux_pool *pool;
static cen_error error;
static cen_mux_call *kept[MANY * 100];
static _Atomic uint32_t kept_count;
static inquiry all[MANY];

static void keep(void *argument, cen_mux_call *call)
{
    (void)argument;
    kept[ceni_load_seq_cst(&kept_count)] = call;
    ceni_add_seq_cst(&kept_count, 1u);
}

static unsigned replied; /* the first so many of the kept */

static void reply_kept(void)
{
    for (unsigned count = ceni_load_seq_cst(&kept_count); replied < count; replied++)
        expect_equal(cen_mux_call_reply(kept[replied], kept[replied]->payload, kept[replied]->payload_size), CEN_OK);
}

static void drop_kept(void)
{
    for (unsigned count = ceni_load_seq_cst(&kept_count); replied < count; replied++) cen_mux_call_drop(kept[replied]);
}

static void ask(unsigned i)
{
    ready_inquiry(&all[i], i);
    expect_equal(cen_mux_pool_request_async(pool, &all[i].asking), CEN_OK);
}

static cen_status outcome(unsigned i)
{
    expect_equal(cen_future_wait(&all[i].asking.future, cen_in_s(20)), CEN_OK);
    return all[i].asking.future.status;
}

static void end(void)
{
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
    cen_mux_server_stop(server);
    drop_kept();
    AWAIT(cen_loop_users(NULL) == 0);
}

TEST(an_empty_set_is_an_error_at_once_for_whoever_does_not_wait)
{
    server = SERVE(.name = "gone");
    char address[64];
    snprintf(address, sizeof address, "%s", cen_mux_server_address(server));
    cen_mux_server_stop(server);
    pool = POOL(.address = address, .at_start = CEN_AT_START_EMPTY, .connections = 2);
    expect_equal(request_number(pool, 1, &error), CEN_EMPTY);
    expect_equal(error.cause, CEN_CAUSE_NO_MEMBER);
    ask(0);
    expect_equal(outcome(0), CEN_EMPTY);
    expect_equal(all[0].error.cause, CEN_CAUSE_NO_MEMBER);
    expect_equal(pool_stats(pool).refused, 2);
    expect_equal(cen_mux_pool_free(pool), CEN_OK);
}

/* guarantees: mux-pool.absent */
TEST(who_waits_for_a_connection_is_served_when_the_server_comes)
{
    server = SERVE(.address = socket_path());
    cen_mux_server_stop(server);
    pool = POOL(.address = socket_path(), .at_start = CEN_AT_START_EMPTY, .connections = 2,
                .wait_deadline = cen_in_s(20), .backoff_initial_ns = ms, .backoff_max_ns = 5 * ms);
    for (unsigned i = 0; i < 50; i++) ask(i);
    expect_equal(pool_stats(pool).waiting, 50);
    server = SERVE(.address = socket_path());
    for (unsigned i = 0; i < 50; i++) {
        expect_equal(outcome(i), CEN_OK);
        expect(all[i].answer == i);
    }
    expect_equal(request_number(pool, 77, &error), CEN_OK);
    end();
}

/* guarantees: mux-pool.deadline */
TEST(the_deadline_of_a_request_is_for_its_wait_and_its_reply_together)
{
    server = SERVE(.address = socket_path());
    cen_mux_server_stop(server);
    pool = POOL(.address = socket_path(), .at_start = CEN_AT_START_EMPTY, .wait_deadline = cen_in_s(20),
                .backoff_initial_ns = CEN_OFF);
    question q;
    ready_question(&q, 1);
    q.request.deadline = cen_in_ms(30);
    int64_t began = ceni_clock_now();
    expect_equal(cen_mux_pool_request(pool, NULL, &q.request, &error), CEN_TIMEOUT);
    expect(ceni_clock_now() - began >= 30 * ms);
    ready_inquiry(&all[0], 0);
    all[0].asking.request.deadline = cen_in_ms(30);
    expect_equal(cen_mux_pool_request_async(pool, &all[0].asking), CEN_OK);
    expect_equal(outcome(0), CEN_TIMEOUT);
    expect_equal(pool_stats(pool).timed_out, 2);
    server = SERVE(.address = socket_path(), .handle = keep);
    AWAIT(pool_stats(pool).up == 8);
    began = ceni_clock_now();
    ready_question(&q, 1);
    q.request.deadline = cen_in_ms(30);
    expect_equal(cen_mux_pool_request(pool, NULL, &q.request, &error), CEN_TIMEOUT);
    expect(ceni_clock_now() - began >= 30 * ms);
    expect_equal(pool_stats(pool).timed_out, 3);
    end();
}

/* guarantees: mux-pool.deadline */
TEST(with_a_maximum_the_rest_wait_and_more_than_the_backlog_are_refused)
{
    server = SERVE(.handle = keep);
    pool = POOL(.address = cen_mux_server_address(server), .connections = 2, .max_in_flight = 3, .max_waiters = 4,
                .wait_deadline = cen_in_s(20));
    AWAIT(pool_stats(pool).up == 2);
    for (unsigned i = 0; i < 11; i++) ask(i);
    AWAIT(ceni_load_seq_cst(&kept_count) == 6);
    cen_mux_pool_stats now = pool_stats(pool);
    expect_equal(now.in_flight, 6);
    expect_equal(now.waiting, 4);
    expect_equal(outcome(10), CEN_FULL);
    expect_equal(all[10].error.cause, CEN_CAUSE_QUEUE_FULL);
    reply_kept();
    AWAIT(ceni_load_seq_cst(&kept_count) == 10);
    reply_kept();
    for (unsigned i = 0; i < 10; i++) expect_equal(outcome(i), CEN_OK);
    expect_equal(pool_stats(pool).refused, 1);
    end();
}

/* ---- Cancel -------------------------------------------------------------------------------------------------- */

/* guarantees: mux-pool.cancel */
TEST(a_request_that_was_sent_can_be_given_up)
{
    server = SERVE(.handle = keep);
    pool = POOL(.address = cen_mux_server_address(server), .connections = 1);
    for (unsigned i = 0; i < 10; i++) ask(i);
    AWAIT(ceni_load_seq_cst(&kept_count) == 10);
    for (unsigned i = 0; i < 5; i++) expect(cen_future_cancel(&all[i].asking.future));
    expect_equal(pool_stats(pool).in_flight, 5);
    reply_kept();
    for (unsigned i = 5; i < 10; i++) expect_equal(outcome(i), CEN_OK);
    for (unsigned i = 0; i < 5; i++)
        expect(!cen_future_is_done(&all[i].asking.future) && all[i].answer == ~(uint64_t)i);
    cen_mux_pool_stats now = pool_stats(pool);
    expect(now.cancelled == 5 && now.answered == 5 && now.in_flight == 0);
    end();
}

/* guarantees: mux-pool.cancel */
TEST(a_request_that_waits_for_a_connection_can_be_given_up)
{
    server = SERVE(.handle = keep);
    pool = POOL(.address = cen_mux_server_address(server), .connections = 1, .max_in_flight = 1,
                .wait_deadline = cen_in_s(20));
    for (unsigned i = 0; i < 10; i++) ask(i);
    expect_equal(pool_stats(pool).waiting, 9);
    for (unsigned i = 1; i < 10; i++) expect(cen_future_cancel(&all[i].asking.future));
    expect_equal(pool_stats(pool).waiting, 0);
    AWAIT(ceni_load_seq_cst(&kept_count) == 1);
    reply_kept();
    expect_equal(outcome(0), CEN_OK);
    expect_equal(pool_stats(pool).cancelled, 9);
    end();
}

static _Atomic uint32_t told[MANY];

static void note_told(cen_future *future)
{
    ceni_add_seq_cst(&told[(inquiry *)(void *)future - all], 1u);
}

static void cancel_some(unsigned round, unsigned *given_up)
{
    for (unsigned i = 0; i < MANY; i++) {
        ceni_store_seq_cst(&told[i], 0u);
        ready_inquiry(&all[i], i);
        cen_future_then(&all[i].asking.future, note_told, cen_inline());
        expect_equal(cen_mux_pool_request_async(pool, &all[i].asking), CEN_OK);
    }
    bool cancelled[MANY] = {false};
    for (unsigned i = 0; i < MANY; i++) {
        unsigned which = (i * 7 + round) % MANY;
        cancelled[which] = cen_future_cancel(&all[which].asking.future);
        *given_up += cancelled[which];
    }
    for (unsigned i = 0; i < MANY; i++)
        if (!cancelled[i]) AWAIT(ceni_load_seq_cst(&told[i]));
    AWAIT(pool_stats(pool).in_flight == 0);
    for (unsigned i = 0; i < MANY; i++) expect_equal(ceni_load_seq_cst(&told[i]), !cancelled[i]);
}

/* guarantees: mux-pool.once */
TEST(a_cancel_beside_a_reply_is_one_of_the_two)
{
    server = SERVE(.name = "echo");
    pool = POOL(.address = cen_mux_server_address(server), .connections = 4, .max_in_flight = 20,
                .wait_deadline = cen_in_s(20));
    unsigned given_up = 0;
    for (unsigned round = 0; round < 60; round++) cancel_some(round, &given_up);
    cen_mux_pool_stats now = pool_stats(pool);
    expect(given_up > 0 && now.answered > 0);
    expect_equal(now.answered + now.cancelled, 60 * MANY);
    end();
}

/* A codec and a strategy from within which the asking is given up, as another thread may do in that very moment. */
static cen_codec_calls hasty_calls;
static cen_strategy_type hasty_type;
static const cen_codec_calls *plain_calls;
static cen_future *hasty;
static unsigned said_true, said_false;

static void give_up_hasty(void)
{
    if (!hasty) return;
    bool given_up = cen_future_cancel(hasty);
    said_true += given_up;
    said_false += !given_up;
    hasty = NULL;
}

static cen_status hasty_encode(void *argument, uint64_t id, const void *payload, size_t size, void *out,
                               size_t *written, cen_error *why)
{
    give_up_hasty();
    return plain_calls->encode(argument, id, payload, size, out, written, why);
}

static cen_member *hasty_pick(void *state, const cen_member_set *set, const cen_route_hint *pick, bool used)
{
    (void)state, (void)pick, (void)used;
    give_up_hasty();
    return cen_member_set_at(set, 0);
}

/* The one that is given up has no reply that could be there first. */
static void echo_all_but_one(void *argument, cen_mux_call *call)
{
    uint64_t number;
    memcpy(&number, call->payload, sizeof number);
    if (number == 1) keep(argument, call);
    else echo(argument, call);
}

static void expect_interrupted(void)
{
    ask(0);
    expect_equal(outcome(0), CEN_OK);
    ready_inquiry(&all[1], 1);
    hasty = &all[1].asking.future;
    expect_equal(cen_mux_pool_request_async(pool, &all[1].asking), CEN_OK);
    expect_equal(outcome(1), CEN_INTERRUPTED);
    expect(strstr(all[1].error.text, "cancelled"));
    expect(said_true == 0 && said_false == 1);
    ask(2);
    expect_equal(outcome(2), CEN_OK);
    cen_mux_pool_stats now = pool_stats(pool);
    expect(now.answered == 2 && now.cancelled == 1 && now.in_flight == 0);
    end();
}

/* guarantees: mux-pool.cancel */
TEST(a_cancel_while_the_request_is_being_sent_says_false_and_it_ends_as_interrupted)
{
    cen_codec codec = cen_codec_binary();
    plain_calls = codec.calls;
    hasty_calls = *codec.calls;
    hasty_calls.encode = hasty_encode;
    server = SERVE(.handle = echo_all_but_one);
    pool = POOL(.address = cen_mux_server_address(server), .connections = 1,
                .mux = &CEN_MUX_OPTIONS(.codec = {&hasty_calls, codec.argument}));
    expect_interrupted();
}

/* guarantees: mux-pool.cancel */
TEST(a_cancel_while_the_request_is_being_routed_says_false_and_it_ends_as_interrupted)
{
    hasty_type = (cen_strategy_type){.size = sizeof hasty_type, .name = "hasty", .pick = hasty_pick};
    server = SERVE(.handle = echo_all_but_one);
    pool = POOL(.address = cen_mux_server_address(server), .connections = 1, .strategy = {&hasty_type, NULL});
    expect_interrupted();
}

/* ---- From within ------------------------------------------------------------------------------------------------ */

static _Atomic uint32_t chain;

static void ask_again(cen_future *future)
{
    inquiry *self = (inquiry *)(void *)future;
    expect_equal(future->status, CEN_OK);
    if (ceni_add_seq_cst(&chain, 1u) >= 5000) return;
    ready_inquiry(self, self->number + 1);
    expect_equal(cen_future_then(&self->asking.future, ask_again, cen_inline()), CEN_OK);
    expect_equal(cen_mux_pool_request_async(pool, &self->asking), CEN_OK);
}

TEST(who_is_told_of_a_reply_may_ask_again_with_the_same_struct)
{
    server = SERVE(.name = "echo");
    pool = POOL(.address = cen_mux_server_address(server), .connections = 2);
    for (unsigned i = 0; i < 8; i++) {
        ready_inquiry(&all[i], i);
        expect_equal(cen_future_then(&all[i].asking.future, ask_again, cen_inline()), CEN_OK);
        expect_equal(cen_mux_pool_request_async(pool, &all[i].asking), CEN_OK);
    }
    AWAIT(ceni_load_seq_cst(&chain) == 5008);
    expect_equal(pool_stats(pool).answered, 5008);
    end();
}

TEST(what_cannot_be_asked_is_refused)
{
    server = SERVE(.name = "echo");
    pool =
        POOL(.address = cen_mux_server_address(server), .connections = 1, .mux = &CEN_MUX_OPTIONS(.max_payload = 100));
    question q;
    ready_question(&q, 1);
    q.request.size = 101;
    expect_equal(cen_mux_pool_request(pool, NULL, &q.request, &error), CEN_INVALID);
    ready_inquiry(&all[0], 0);
    all[0].asking.request.size = 101;
    expect_equal(cen_mux_pool_request_async(pool, &all[0].asking), CEN_OK);
    expect_equal(outcome(0), CEN_INVALID);
    expect_equal(cen_mux_pool_request_async(pool, &all[0].asking), CEN_MISUSE);
    expect_equal(cen_mux_pool_request_async(NULL, &all[0].asking), CEN_INVALID);
    expect_equal(cen_mux_pool_request_async(pool, NULL), CEN_INVALID);
    expect_equal(cen_mux_pool_request(NULL, NULL, &q.request, &error), CEN_INVALID);
    expect_equal(cen_mux_pool_request(pool, NULL, NULL, &error), CEN_INVALID);
    expect_equal(pool_stats(pool).failed, 2);
    expect_equal(pool_stats(pool).in_flight, 0);
    end();
}

/* ---- A callback of the operation's own ------------------------------------------------------------------- */

static _Atomic uint32_t called;

static void note_called(cen_mux_pool_request_op *op)
{
    expect_equal(op->future.status, CEN_OK);
    ceni_add_seq_cst(&called, 1u);
}

TEST(an_operation_calls_its_own_done_once)
{
    uint64_t number = 7, answer = 0;
    cen_mux_pool_request_op op;
    server = SERVE(.name = "echo");
    pool = POOL(.address = cen_mux_server_address(server), .connections = 2);
    cen_mux_pool_request_op_init(&op, note_called, cen_runtime_executor(NULL));
    op.request.payload = &number, op.request.size = sizeof number;
    op.request.reply = &answer, op.request.capacity = sizeof answer;
    expect_equal(cen_mux_pool_request_async(pool, &op), CEN_OK);
    AWAIT(ceni_load_seq_cst(&called) == 1);
    expect_equal(answer, number);
    cen_mux_pool_request_op_init(&op, note_called, NULL);
    expect_equal(cen_mux_pool_request_async(pool, &op), CEN_INVALID);
    end();
    expect_equal(ceni_load_seq_cst(&called), 1);
}
