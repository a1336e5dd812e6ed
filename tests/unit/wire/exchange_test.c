/* SPDX-License-Identifier: MIT */
/* Requests, replies, cancels, deadlines, room, the end: as one thread sees them, and a few. */
#include <cenote/timer.h>

#include "support/tube.h"

static cen_request requests[8];

static cen_status status_of(int i)
{
    expect(cen_future_is_done(&requests[i].future));
    return requests[i].future.status;
}

/* ---- Asking ------------------------------------------------------------------------------ */

TEST(replies_in_any_order_go_to_their_requests)
{
    tube_open(.name = NULL);
    for (int i = 0; i < 3; i++) ask(&requests[i], "ping");
    tube_poll(0);
    tube_reply(tube_id(2), "two");
    tube_reply(tube_id(0), "zero");
    tube_poll(CENI_LOOP_READ);
    expect_reply(&requests[2], "two");
    expect_reply(&requests[0], "zero");
    expect(!cen_future_is_done(&requests[1].future));
    tube_reply(tube_id(1), "one");
    tube_poll(CENI_LOOP_READ);
    expect_reply(&requests[1], "one");
    expect_equal(tube_stats().replied, 3);
    expect_equal(tube_stats().in_flight, 0);
    tube_close();
}

TEST(a_reply_that_comes_byte_by_byte_is_a_reply)
{
    tube_open(.codec = cen_codec_lines());
    tube.piece = 1;
    ask(&requests[0], "ping");
    for (int i = 0; i < 20 && tube_poll(CENI_LOOP_WRITE) & CENI_LOOP_WRITE; i++) continue;
    tube_reply(tube_id(0), "pong");
    for (int i = 0; i < 20; i++) tube_poll(CENI_LOOP_READ);
    expect_reply(&requests[0], "pong");
    tube_close();
}

TEST(three_hundred_replies_that_come_at_once_are_all_told)
{
    static cen_request many[300];
    tube_open(.name = NULL);
    tube_poll(0);
    for (int i = 0; i < 300; i++) ask(&many[i], "a");
    tube.echoes = true;
    tube_look();
    tube_poll(CENI_LOOP_READ);
    for (int i = 0; i < 300; i++) expect_reply(&many[i], "a");
    expect_equal(tube_stats().reads, 1);
    tube_close();
}

TEST(a_reply_goes_into_the_buffer_that_was_given_or_into_memory_of_its_own)
{
    char buffer[8];
    tube_open(.name = NULL);
    tube_poll(0);
    tube.echoes = true;
    ready(&requests[0], "12345678");
    requests[0].reply = buffer;
    requests[0].capacity = sizeof buffer;
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], NULL), CEN_OK);
    uint64_t before = ceni_world_allocations();
    tube_poll(CENI_LOOP_READ);
    expect_equal(ceni_world_allocations(), before + 1); /* the input's first memory, once and for all */
    expect_reply(&requests[0], "12345678");
    expect(requests[0].reply == buffer);
    expect(requests[0].future.value == buffer);

    ask(&requests[1], "");
    tube_poll(CENI_LOOP_READ);
    expect(requests[1].reply != NULL);
    expect_reply(&requests[1], "");
    cen_request_free_reply(&requests[1]);
    cen_request_free_reply(NULL);
    tube_close();
}

TEST(a_reply_that_is_too_large_for_its_buffer_says_how_large_it_is_and_brings_its_beginning)
{
    char buffer[4];
    cen_error error;
    tube_open(.name = NULL);
    tube_poll(0);
    tube.echoes = true;
    ready(&requests[0], "12345");
    requests[0].reply = buffer;
    requests[0].capacity = sizeof buffer;
    requests[0].future.error = &error;
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], NULL), CEN_OK);
    tube_poll(CENI_LOOP_READ);
    expect_equal(status_of(0), CEN_FULL);
    expect_equal(error.status, CEN_FULL);
    expect_equal(requests[0].reply_size, 5);
    expect(memcmp(buffer, "1234", 4) == 0);
    tube_close();
}

TEST(what_cannot_be_asked_is_refused_and_nothing_is_told)
{
    cen_error error;
    tube_open(.codec = cen_codec_lines(), .max_payload = 10, .name = "tube");
    tube_poll(0);
    ready(&requests[0], "a\nb");
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], &error), CEN_INVALID);
    expect_text(error.text, "payload contains a newline, the end of a line");
    ready(&requests[0], "12345678901");
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], &error), CEN_INVALID);
    expect_text(error.text, "connection \"tube\": payload too large (11 bytes, limit 10)");
    ready(&requests[0], "");
    requests[0].payload = NULL;
    requests[0].size = 3;
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], &error), CEN_INVALID);
    expect_equal(ceni_exchange_request_async(&tube.exchange, NULL, &error), CEN_INVALID);
    cen_request_init(&requests[0], (void (*)(cen_request *))1, NULL);
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], NULL), CEN_INVALID);

    ask(&requests[1], "x");
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[1], &error), CEN_MISUSE);
    expect_equal(ceni_exchange_request(&tube.exchange, &requests[1], &error), CEN_MISUSE);
    expect_equal(tube_stats().in_flight, 1);
    expect_equal(tube_stats().sent, 1);
    tube_close();
    expect_equal(status_of(1), CEN_CLOSED);
}

TEST(in_a_child_it_answers_forked_and_a_cancel_says_true)
{
    tube_open(.name = NULL);
    ask(&requests[0], "x");
    ready(&requests[1], "y");
    ceni_world_fork();
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[1], NULL), CEN_FORKED);
    expect_equal(ceni_exchange_request(&tube.exchange, &requests[1], NULL), CEN_FORKED);
    expect(cen_future_cancel(&requests[0].future));
    ceni_exchange_abandon(&tube.exchange);
    cen_runtime_free(tube.runtime);
}

/* ---- Giving up ------------------------------------------------------------------------------ */

TEST(a_cancelled_request_never_completes_and_its_reply_is_dropped_and_counted)
{
    tube_open(.max_in_flight = 1);
    tube_poll(0);
    ask(&requests[0], "a");
    expect(cen_future_cancel(&requests[0].future));
    ask(&requests[1], "b");
    tube_reply(tube_id(0), "late");
    tube_poll(CENI_LOOP_READ);
    expect(!cen_future_is_done(&requests[0].future));
    expect(!cen_future_is_done(&requests[1].future));
    expect_equal(tube_stats().late, 1);
    tube_reply(tube_id(1), "in time");
    tube_poll(CENI_LOOP_READ);
    expect_reply(&requests[1], "in time");
    expect(!cen_future_cancel(&requests[1].future));
    expect_equal(tube_stats().cancelled, 1);
    tube_close();
}

TEST(a_deadline_ends_a_request_at_its_moment_and_its_reply_comes_too_late)
{
    cen_error error;
    tube_open_virtual(.name = NULL);
    tube_poll(0);
    ready(&requests[0], "a");
    requests[0].deadline = cen_in_ms(100);
    requests[0].future.error = &error;
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], NULL), CEN_OK);
    cen_runtime_advance(tube.runtime, 99999999);
    expect(!cen_future_is_done(&requests[0].future));
    cen_runtime_advance(tube.runtime, 1);
    expect_equal(status_of(0), CEN_TIMEOUT);
    expect_equal(error.status, CEN_TIMEOUT);
    tube_reply(tube_id(0), "late");
    tube_poll(CENI_LOOP_READ);
    expect_equal(tube_stats().late, 1);
    expect_equal(tube_stats().timed_out, 1);
    tube_close();
}

TEST(each_deadline_comes_at_its_own_moment_however_they_were_asked)
{
    static const int64_t ms[] = {300, 100, 5000, 200, 90000};
    tube_open_virtual(.deadline = cen_in_s(60));
    tube_poll(0);
    for (int i = 0; i < 5; i++) {
        ready(&requests[i], "a");
        requests[i].deadline = cen_in_ms(ms[i]);
        expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[i], NULL), CEN_OK);
    }
    ask(&requests[5], "b"); /* the connection's own deadline */
    int64_t now = 0;
    static const int64_t steps[] = {99, 100, 199, 200, 299, 300, 4999, 5000, 59999, 60000, 89999, 90000};
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
        cen_runtime_advance(tube.runtime, (steps[s] - now) * 1000000);
        now = steps[s];
        for (int i = 0; i < 6; i++)
            expect_equal(cen_future_is_done(&requests[i].future), now >= (i < 5 ? ms[i] : 60000));
    }
    tube_close();
}

static void pass(int64_t seconds)
{
    cen_runtime_advance(tube.runtime, seconds * 1000000000);
}

/* Asks one, and what comes after it in its batch takes a second. */
static void ask_and_take_a_second(cen_request *request)
{
    cen_request_free_reply(request);
    ask(request + 1, "b");
    pass(1);
}

TEST(what_the_dones_of_a_batch_ask_has_the_connections_deadline_from_when_they_are_through)
{
    tube_open_virtual(.deadline = cen_in_s(60));
    tube_poll(0);
    for (int i = 0; i < 6; i += 2) {
        cen_request_init(&requests[i], ask_and_take_a_second, cen_inline());
        expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[i], NULL), CEN_OK);
    }
    for (uint32_t i = 0; i < 3; i++) tube_reply(tube_id(i), "a");
    tube_poll(CENI_LOOP_READ); /* three seconds */
    expect_equal(tube_stats().in_flight, 3);
    cen_runtime_advance(tube.runtime, INT64_C(59999999999));
    for (int i = 1; i < 6; i += 2) expect(!cen_future_is_done(&requests[i].future));
    cen_runtime_advance(tube.runtime, 1);
    for (int i = 1; i < 6; i += 2) expect_equal(status_of(i), CEN_TIMEOUT);
    tube_close();
}

static bool is_alarm_over;

static void take_long(cen_request *request)
{
    cen_request_free_reply(request);
    if (is_alarm_over) pass(60); /* the alarm that was set for the request itself comes, and none is left */
    ask(&requests[1], "b");
    pass(is_alarm_over ? 59 : 119);
    expect(!cen_future_is_done(&requests[1].future));
    pass(1);
    expect_equal(status_of(1), CEN_TIMEOUT);
    is_alarm_over = !is_alarm_over;
}

TEST(while_a_done_takes_long_what_was_asked_in_its_batch_ends_all_the_same)
{
    is_alarm_over = false;
    for (uint32_t i = 0; i < 2; i++) {
        tube_open_virtual(.deadline = cen_in_s(60));
        tube_poll(0);
        cen_request_init(&requests[0], take_long, cen_inline());
        expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], NULL), CEN_OK);
        tube_reply(tube_id(0), "a");
        tube_poll(CENI_LOOP_READ);
        expect_equal(is_alarm_over, i == 0);
        tube_close();
    }
}

TEST(a_blocked_request_ends_at_its_deadline_and_its_reply_is_dropped)
{
    cen_error error;
    tube_open(.name = "tube");
    tube_poll(0);
    ready(&requests[0], "a");
    requests[0].deadline = cen_in_ms(100);
    int64_t before = ceni_clock_now();
    expect_equal(ceni_exchange_request(&tube.exchange, &requests[0], &error), CEN_TIMEOUT);
    expect(ceni_clock_now() - before >= 100000000);
    expect(ceni_clock_now() - before < 110000000);
    expect_text(error.text, "connection \"tube\": no reply before the deadline");
    expect_equal(status_of(0), CEN_TIMEOUT);
    tube_reply(tube_id(0), "late");
    tube.echoes = true;
    ready(&requests[1], "b");
    expect_equal(ceni_exchange_request(&tube.exchange, &requests[1], &error), CEN_OK);
    expect_reply(&requests[1], "b");
    expect_equal(tube_stats().late, 1);
    tube_close();
}

static void block(void *number)
{
    cen_request *request = &requests[(intptr_t)number];
    ceni_exchange_request(&tube.exchange, request, NULL);
}

TEST(one_who_waits_for_its_reply_runs_what_is_due_in_a_manual_runtime)
{
    tube_open(.name = NULL);
    tube.exchange.is_manual = tube.exchange.loop_reads = true; /* as init has said, and tube_open has not left it */
    tube_poll(0);
    cen_timer timer;
    cen_timer_init(&timer);
    expect_equal(cen_timer_start(&timer, tube.runtime, cen_in_ms(50), NULL), CEN_OK);
    ready(&requests[0], "a");
    requests[0].deadline = cen_in_ms(100);
    expect_equal(ceni_exchange_request(&tube.exchange, &requests[0], NULL), CEN_TIMEOUT);
    expect(cen_future_is_done(&timer.future));
    tube_close();
}

TEST(under_virtual_time_a_blocked_request_ends_when_time_is_moved)
{
    tube_open_virtual(.name = NULL);
    tube_poll(0);
    ready(&requests[0], "a");
    requests[0].deadline = cen_in_s(10);
    ceni_thread thread = start("blocked", block, (void *)(intptr_t)0);
    ceni_world_settle();
    cen_runtime_advance(tube.runtime, 9999999999);
    ceni_world_settle();
    expect(!cen_future_is_done(&requests[0].future));
    cen_runtime_advance(tube.runtime, 1);
    join(thread);
    expect_equal(status_of(0), CEN_TIMEOUT);
    tube_close();
}

/* ---- Room -------------------------------------------------------------------------------------- */

TEST(what_finds_no_room_waits_in_line_with_a_copy_of_its_payload)
{
    char payload[] = "first";
    tube_open(.max_in_flight = 1);
    tube_poll(0);
    tube.echoes = true;
    ask(&requests[0], "x");
    ready(&requests[1], payload);
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[1], NULL), CEN_OK);
    memcpy(payload, "gone!", 5);
    ask(&requests[2], "second");
    expect_equal(tube_stats().in_flight, 1);
    expect_equal(tube_stats().waiting, 2);
    for (int i = 0; i < 3; i++) tube_poll(CENI_LOOP_READ);
    expect_reply(&requests[0], "x");
    expect_reply(&requests[1], "first");
    expect_reply(&requests[2], "second");
    tube_close();
}

TEST(a_newcomer_does_not_overtake_those_who_wait)
{
    tube_open(.max_in_flight = 2);
    tube_poll(0);
    for (int i = 0; i < 3; i++) ask(&requests[i], i == 0 ? "0" : i == 1 ? "1" : "2");
    expect(cen_future_cancel(&requests[0].future)); /* lets the third in */
    ask(&requests[3], "3");
    expect_equal(tube_stats().waiting, 1);
    expect(cen_future_cancel(&requests[1].future));
    tube.echoes = true;
    tube_look();
    tube_poll(CENI_LOOP_READ);
    expect_reply(&requests[2], "2");
    expect_reply(&requests[3], "3");
    expect_equal(tube_stats().late, 2);
    tube_close();
}

TEST(too_many_who_wait_and_one_who_will_not_are_told_that_it_is_full)
{
    cen_error error;
    tube_open(.max_in_flight = 1, .max_waiters = 1, .name = "tube");
    tube_poll(0);
    ask(&requests[0], "a");
    ready(&requests[1], "b");
    requests[1].only_if_room = true;
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[1], &error), CEN_FULL);
    expect_text(error.text, "connection \"tube\": full (1 requests in flight, 0 waiting, 0 bytes unsent)");
    ask(&requests[2], "c");
    ready(&requests[3], "d");
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[3], &error), CEN_FULL);
    expect_equal(ceni_exchange_request(&tube.exchange, &requests[3], &error), CEN_FULL);
    tube_close();
    expect_equal(status_of(2), CEN_CLOSED);
}

TEST(with_waiting_off_its_number_has_no_limit)
{
    tube_open(.max_in_flight = 1, .max_waiters = CEN_OFF);
    static cen_request many[1100];
    for (int i = 0; i < 1100; i++) {
        ready(&many[i], "a");
        expect_equal(ceni_exchange_request_async(&tube.exchange, &many[i], NULL), CEN_OK);
    }
    expect_equal(tube_stats().waiting, 1099);
    tube_close();
}

TEST(with_max_waiting_none_nobody_waits)
{
    tube_open(.max_in_flight = 1, .max_waiters = CEN_NONE);
    ask(&requests[0], "a");
    ready(&requests[1], "b");
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[1], NULL), CEN_FULL);
    tube_close();
}

TEST(one_who_waits_for_room_can_give_up_or_miss_its_deadline)
{
    tube_open_virtual(.max_in_flight = 1);
    tube_poll(0);
    ask(&requests[0], "a");
    ask(&requests[1], "b");
    ready(&requests[2], "c");
    requests[2].deadline = cen_in_ms(5);
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[2], NULL), CEN_OK);
    expect(cen_future_cancel(&requests[1].future));
    cen_runtime_advance(tube.runtime, 5000000);
    expect_equal(status_of(2), CEN_TIMEOUT);
    expect_equal(tube_stats().waiting, 0);
    expect_equal(tube_stats().sent, 1);
    tube_close();
}

TEST(when_nothing_can_be_written_requests_wait_and_go_on_when_it_can)
{
    tube_open(.max_output = 20, .max_in_flight = 100);
    tube_poll(0);
    ceni_store_seq_cst(&tube.room, 5);
    for (int i = 0; i < 4; i++) ask(&requests[i], "12345678"); /* 20 bytes each */
    expect_equal(tube_stats().waiting, 2);                     /* 5 were written, 15 are left, and 20 more went in */
    expect_equal(tube_stats().output, 35);
    expect_equal(tube_poll(0), CENI_LOOP_READ | CENI_LOOP_WRITE);
    tube.echoes = true;
    ceni_store_seq_cst(&tube.room, UINT32_MAX);
    expect_equal(tube_poll(CENI_LOOP_WRITE), CENI_LOOP_READ);
    expect_equal(tube_stats().waiting, 0);
    expect_equal(tube_stats().output, 0);
    tube_poll(CENI_LOOP_READ);
    for (int i = 0; i < 4; i++) expect_reply(&requests[i], "12345678");
    tube_close();
}

TEST(a_blocked_request_waits_for_room_and_is_served)
{
    tube_open(.max_in_flight = 1);
    tube_poll(0);
    ask(&requests[0], "a");
    ready(&requests[1], "b");
    ceni_thread thread = start("blocked", block, (void *)(intptr_t)1);
    ceni_world_settle();
    expect_equal(tube_stats().waiting, 1);
    tube_reply(tube_id(0), "A");
    tube_poll(CENI_LOOP_READ);
    expect_reply(&requests[0], "A");
    tube_reply(tube_id(1), "B");
    tube_poll(CENI_LOOP_READ);
    join(thread);
    expect_reply(&requests[1], "B");
    tube_close();
}

/* ---- The end --------------------------------------------------------------------------------------- */

TEST(when_the_connection_is_lost_all_are_told_at_once_with_the_cause)
{
    cen_error errors[3];
    tube_open(.max_in_flight = 2, .name = "tube");
    tube_poll(0);
    for (int i = 0; i < 3; i++) {
        ready(&requests[i], "x");
        requests[i].future.error = &errors[i];
        expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[i], NULL), CEN_OK);
    }
    tube_end();
    expect_equal(tube_poll(CENI_LOOP_READ), 0);
    for (int i = 0; i < 3; i++) {
        expect_equal(status_of(i), CEN_LOST);
        expect_equal(requests[i].future.code, 104);
        expect_text(errors[i].text, "connection \"tube\": lost: The other side has hung up.");
    }
    expect_equal(ceni_load_seq_cst(&tube.broken), 1);
    expect_text(tube.cause.text, errors[0].text);
    ready(&requests[3], "y");
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[3], &errors[0]), CEN_LOST);
    expect_equal(ceni_exchange_request(&tube.exchange, &requests[3], &errors[0]), CEN_LOST);
    expect_text(errors[0].text, "connection \"tube\": lost: The other side has hung up.");
    expect_equal(tube_stats().failed, 3);
    tube_close();
}

TEST(a_write_that_fails_ends_the_connection)
{
    tube_open(.name = NULL);
    tube_poll(0);
    ask(&requests[0], "x");
    tube_end();
    ask(&requests[1], "y");
    expect_equal(status_of(0), CEN_LOST);
    expect_equal(status_of(1), CEN_LOST);
    tube_close();
}

TEST(replies_that_came_before_the_end_are_replies)
{
    tube_open(.name = NULL);
    tube_poll(0);
    ask(&requests[0], "x");
    ask(&requests[1], "y");
    tube_reply(tube_id(0), "X");
    tube_end();
    tube_poll(CENI_LOOP_READ);
    expect_reply(&requests[0], "X");
    expect_equal(tube_poll(CENI_LOOP_READ), 0);
    expect_equal(status_of(1), CEN_LOST);
    tube_close();
}

TEST(garbage_ends_the_connection_and_says_so)
{
    cen_error error;
    tube_open(.codec = cen_codec_lines(), .name = "tube");
    tube_poll(0);
    ready(&requests[0], "x");
    requests[0].future.error = &error;
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], NULL), CEN_OK);
    tube_feed("HTTP/1.1 400 Bad Request\r\n", 26);
    tube_poll(CENI_LOOP_READ);
    expect_equal(status_of(0), CEN_LOST);
    expect_text(error.text, "connection \"tube\": lost: invalid line: no id and space at its beginning");
    tube_close();
}

TEST(a_reply_that_is_larger_than_allowed_ends_the_connection)
{
    tube_open(.max_reply = 8);
    tube_poll(0);
    ask(&requests[0], "x");
    tube_reply(tube_id(0), "123456789");
    tube_poll(CENI_LOOP_READ);
    expect_equal(status_of(0), CEN_LOST);
    tube_close();
}

TEST(one_who_refuses_lets_the_others_finish_and_then_is_drained)
{
    cen_future drained, again;
    cen_future_init(&drained);
    cen_future_init(&again);
    tube_open(.max_in_flight = 1);
    tube_poll(0);
    ask(&requests[0], "x");
    ask(&requests[1], "y");
    expect(ceni_exchange_refuse(&tube.exchange, &drained));
    expect(!ceni_exchange_refuse(&tube.exchange, &again));
    expect(!cen_future_cancel(&drained));
    ready(&requests[2], "z");
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[2], NULL), CEN_CLOSED);
    tube_reply(tube_id(0), "X");
    tube_poll(CENI_LOOP_READ);
    expect(!cen_future_is_done(&drained));
    tube_reply(tube_id(1), "Y");
    tube_poll(CENI_LOOP_READ);
    expect(cen_future_is_done(&drained));
    expect_reply(&requests[0], "X");
    expect_reply(&requests[1], "Y");
    tube_close();
}

TEST(one_without_requests_is_drained_at_once_and_so_is_one_that_is_lost_or_given_up)
{
    cen_future drained;
    for (int how = 0; how < 4; how++) {
        cen_future_init(&drained);
        tube_open_virtual(.name = NULL);
        tube_poll(0);
        if (how) ask(&requests[0], "x");
        expect(ceni_exchange_refuse(&tube.exchange, &drained));
        expect_equal(cen_future_is_done(&drained), how == 0);
        if (how == 1) expect(cen_future_cancel(&requests[0].future));
        if (how == 2) cen_runtime_advance(tube.runtime, 30000000000);
        if (how == 3) tube_end(), tube_poll(CENI_LOOP_READ);
        expect(cen_future_is_done(&drained));
        tube_close();
    }
}

static void fail_it(void *unused)
{
    (void)unused;
    cen_error cause;
    ceni_error_set(&cause, CEN_CLOSED, 0, "Enough.");
    ceni_exchange_fail(&tube.exchange, &cause);
}

TEST(a_blocked_request_is_told_of_the_end)
{
    cen_error error;
    tube_open(.name = NULL);
    tube_poll(0);
    ready(&requests[0], "x");
    ceni_thread thread = start("other", fail_it, NULL);
    expect_equal(ceni_exchange_request(&tube.exchange, &requests[0], &error), CEN_CLOSED);
    expect_text(error.text, "Enough.");
    join(thread);
    tube_close();
}

/* ---- Settings ------------------------------------------------------------------------------------------ */

TEST(with_a_manual_runtime_only_the_loop_reads)
{
    ceni_exchange exchange;
    tube_open(.name = NULL);
    ceni_exchange_settings settings = {.transport = &tube_transport, .runtime = tube.runtime};
    expect_equal(ceni_exchange_init(&exchange, &settings, NULL), CEN_OK);
    expect(exchange.loop_reads);
    ceni_exchange_fini(&exchange);
    tube_close();
}

TEST(settings_that_cannot_be_are_refused_by_name)
{
    ceni_exchange exchange;
    cen_error error;
    cen_codec_calls lame = {.size = sizeof lame, .name = "lame"};
    tube_open(.name = NULL);
    ceni_exchange_settings good = {.transport = &tube_transport, .runtime = tube.runtime}, bad = good;
    bad.max_in_flight = CENI_WIRE_MAX_IN_FLIGHT + 1;
    expect_equal(ceni_exchange_init(&exchange, &bad, &error), CEN_INVALID);
    expect(strstr(error.text, "max_in_flight"));
    bad = good;
    bad.max_waiters = -3;
    expect_equal(ceni_exchange_init(&exchange, &bad, &error), CEN_INVALID);
    expect(strstr(error.text, "max_waiters"));
    bad = good;
    bad.codec = (cen_codec){&lame, NULL};
    expect_equal(ceni_exchange_init(&exchange, &bad, &error), CEN_INVALID);
    expect(strstr(error.text, "codec"));
    bad = good;
    bad.transport = NULL;
    expect_equal(ceni_exchange_init(&exchange, &bad, &error), CEN_INVALID);
    tube_close();
}
