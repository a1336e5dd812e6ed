/* SPDX-License-Identifier: MIT */
/* Who writes, who reads, and what the loop is to watch. */
#include "support/tube.h"

static cen_request requests[8];

static void block(void *number)
{
    cen_request *request = &requests[(intptr_t)number];
    expect_equal(ceni_exchange_request(&tube.exchange, request, NULL), CEN_OK);
}

/* ---- Writing --------------------------------------------------------------------------------- */

TEST(a_request_is_written_by_the_thread_that_makes_it)
{
    tube_open(.name = NULL);
    tube_poll(0);
    ask(&requests[0], "a");
    expect_equal(tube.writes, 1);
    expect_equal(tube_stats().output, 0);
    expect_equal(tube.wakes, 0);
    tube_close();
}

TEST(requests_that_are_asked_together_go_in_one_write)
{
    cen_request *all[8];
    size_t asked = 0;
    tube_open(.name = NULL);
    tube_poll(0);
    for (int i = 0; i < 8; i++) ready(all[i] = &requests[i], "abc");
    expect_equal(ceni_exchange_request_all_async(&tube.exchange, all, 8, &asked, NULL), CEN_OK);
    expect_equal(asked, 8);
    expect_equal(tube.writes, 1);
    tube.echoes = true;
    tube_look();
    tube_poll(CENI_LOOP_READ);
    for (int i = 0; i < 8; i++) expect_reply(&requests[i], "abc");
    tube_close();
}

TEST(of_requests_asked_together_those_before_the_first_that_cannot_be_are_asked)
{
    cen_request *all[3];
    size_t asked = 0;
    tube_open(.codec = cen_codec_lines());
    tube_poll(0);
    for (int i = 0; i < 3; i++) ready(all[i] = &requests[i], i == 1 ? "\n" : "x");
    expect_equal(ceni_exchange_request_all_async(&tube.exchange, all, 3, &asked, NULL), CEN_INVALID);
    expect_equal(asked, 1);
    expect_equal(tube_stats().in_flight, 1);
    expect(cen_future_cancel(&requests[0].future));
    expect(cen_future_cancel(&requests[2].future)); /* nobody has promised it */
    tube_close();
}

static int chained;

static void ask_again(cen_request *request)
{
    cen_request_free_reply(request);
    if (request->future.status != CEN_OK) return; /* it is over */
    chained++;
    cen_request_init(request, ask_again, cen_inline());
    request->payload = "again";
    request->size = 5;
    expect_equal(ceni_exchange_request_async(&tube.exchange, request, NULL), CEN_OK);
}

TEST(what_is_asked_while_replies_are_told_is_written_once_for_all_of_them)
{
    tube_open(.name = NULL);
    tube_poll(0);
    for (int i = 0; i < 4; i++) {
        cen_request_init(&requests[i], ask_again, cen_inline());
        requests[i].payload = "first";
        requests[i].size = 5;
        expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[i], NULL), CEN_OK);
    }
    expect_equal(tube.writes, 4);
    for (uint32_t i = 0; i < 4; i++) tube_reply(tube_id(i), "x");
    expect_equal(tube_poll(CENI_LOOP_READ), CENI_LOOP_READ);
    expect_equal(chained, 4);
    expect_equal(tube.writes, 5);
    expect_equal(tube_stats().output, 0);
    expect_equal(tube.wakes, 0);
    tube_close();
}

TEST(what_could_not_be_written_is_watched_for_and_written_later)
{
    tube_open(.name = NULL);
    tube_poll(0);
    ceni_store_seq_cst(&tube.room, 3);
    ask(&requests[0], "abc");
    expect_equal(tube.wakes, 1);
    expect_equal(tube_poll(0), CENI_LOOP_READ | CENI_LOOP_WRITE);
    ask(&requests[1], "def"); /* behind it, and nobody is woken again */
    expect_equal(tube.wakes, 1);
    ceni_store_seq_cst(&tube.room, UINT32_MAX);
    expect_equal(tube_poll(CENI_LOOP_WRITE), CENI_LOOP_READ);
    tube.echoes = true;
    tube_look();
    tube_poll(CENI_LOOP_READ);
    expect_reply(&requests[0], "abc");
    expect_reply(&requests[1], "def");
    tube_close();
}

TEST(a_thread_does_not_write_for_others_without_end)
{
    static cen_request many[300];
    tube_open(.max_output = 16, .max_in_flight = 1000);
    tube_poll(0);
    ceni_store_seq_cst(&tube.room, 0);
    for (int i = 0; i < 300; i++) ask(&many[i], "abc"); /* two go out, the others wait for room */
    tube_poll(0);
    ceni_store_seq_cst(&tube.room, UINT32_MAX);
    uint32_t rounds = 0;
    for (unsigned watch = CENI_LOOP_WRITE; watch & CENI_LOOP_WRITE; rounds++) watch = tube_poll(CENI_LOOP_WRITE);
    expect(rounds > 3);
    expect_equal(tube_stats().output, 0);
    expect_equal(tube_stats().waiting, 0);
    tube_close();
}

/* ---- Reading ------------------------------------------------------------------------------------ */

TEST(one_caller_at_a_time_reads_for_itself_and_wakes_nobody)
{
    tube_open(.name = NULL);
    expect_equal(tube_poll(0), CENI_LOOP_READ);
    tube.echoes = true;
    for (int i = 0; i < 100; i++) {
        ready(&requests[0], "abc");
        expect_equal(ceni_exchange_request(&tube.exchange, &requests[0], NULL), CEN_OK);
        expect_reply(&requests[0], "abc");
        /* The loop, which watched, was told too, came too late, and keeps out of the way. */
        if (i == 0) expect_equal(tube_poll(CENI_LOOP_READ), CENI_LOOP_SOON);
    }
    expect_equal(tube.wakes, 0);
    expect_equal(tube_stats().thread_reads, 100);
    expect_equal(tube_stats().reads, 100);
    expect_equal(tube_stats().writes, 100);
    tube_close();
}

TEST(the_loop_stays_out_of_the_way_while_threads_read_and_comes_back_when_they_do_not)
{
    tube_open(.name = NULL);
    tube_poll(0);
    tube.echoes = true;
    for (int i = 0; i < 5; i++) {
        ready(&requests[0], "abc");
        expect_equal(ceni_exchange_request(&tube.exchange, &requests[0], NULL), CEN_OK);
        expect_reply(&requests[0], "abc");
        expect_equal(tube_poll(i ? CENI_LOOP_SOON : CENI_LOOP_READ), CENI_LOOP_SOON);
    }
    expect_equal(tube_poll(CENI_LOOP_SOON), CENI_LOOP_READ);
    expect_equal(tube.wakes, 0);
    tube_close();
}

TEST(an_ask_while_the_loop_does_not_watch_wakes_it_once)
{
    tube_open(.name = NULL);
    tube_poll(0);
    tube.echoes = true;
    ready(&requests[0], "abc");
    expect_equal(ceni_exchange_request(&tube.exchange, &requests[0], NULL), CEN_OK);
    expect_reply(&requests[0], "abc");
    expect_equal(tube_poll(CENI_LOOP_READ), CENI_LOOP_SOON);
    ask(&requests[1], "x");
    ask(&requests[2], "y");
    expect_equal(tube.wakes, 1);
    expect_equal(tube_poll(0), CENI_LOOP_READ);
    tube_poll(CENI_LOOP_READ);
    expect_reply(&requests[1], "x");
    expect_reply(&requests[2], "y");
    tube_close();
}

TEST(while_the_loop_reads_for_those_who_asked_a_blocked_caller_lets_it)
{
    tube_open(.name = NULL);
    tube_poll(0);
    ask(&requests[0], "a");
    ready(&requests[1], "b");
    ceni_thread thread = start("blocked", block, (void *)(intptr_t)1);
    ceni_world_settle();
    tube_reply(tube_id(1), "B");
    tube_reply(tube_id(0), "A");
    tube_poll(CENI_LOOP_READ);
    join(thread);
    expect_reply(&requests[0], "A");
    expect_reply(&requests[1], "B");
    expect_equal(tube_stats().thread_reads, 0);
    tube_close();
}

TEST(who_has_read_its_own_reply_passes_the_role_to_another_who_is_blocked)
{
    tube_open(.name = NULL);
    tube_without_loop();
    ready(&requests[0], "a");
    ready(&requests[1], "b");
    ceni_thread first = start("first", block, (void *)(intptr_t)0);
    ceni_world_settle();
    ceni_thread second = start("second", block, (void *)(intptr_t)1);
    ceni_world_settle();
    expect_equal(tube.wakes, 0);
    tube_reply(tube_id(0), "A");
    join(first);
    ceni_world_settle();
    tube_reply(tube_id(1), "B");
    join(second);
    expect_reply(&requests[0], "A");
    expect_reply(&requests[1], "B");
    expect_equal(tube_stats().thread_reads, 2);
    tube_close();
}

TEST(who_reads_tells_the_others_whose_replies_come_first)
{
    tube_open(.name = NULL);
    tube_without_loop();
    ready(&requests[0], "a");
    ready(&requests[1], "b");
    ceni_thread first = start("first", block, (void *)(intptr_t)0);
    ceni_world_settle();
    ceni_thread second = start("second", block, (void *)(intptr_t)1);
    ceni_world_settle();
    tube_reply(tube_id(1), "B");
    join(second);
    tube_reply(tube_id(0), "A");
    join(first);
    expect_reply(&requests[1], "B");
    expect_reply(&requests[0], "A");
    tube_close();
}

TEST(who_has_read_its_own_reply_leaves_those_who_asked_to_the_loop)
{
    tube_open(.name = NULL);
    ready(&requests[0], "a");
    ceni_thread first = start("first", block, (void *)(intptr_t)0);
    ceni_world_settle();
    expect_equal(tube.wakes, 0);
    ask(&requests[1], "b");
    expect_equal(tube.wakes, 0); /* somebody reads */
    tube_reply(tube_id(0), "A");
    join(first);
    expect_equal(tube.wakes, 1);
    expect_equal(tube_poll(0), CENI_LOOP_READ);
    tube_reply(tube_id(1), "B");
    tube_poll(CENI_LOOP_READ);
    expect_reply(&requests[0], "A");
    expect_reply(&requests[1], "B");
    tube_close();
}

static void request_within(cen_request *request)
{
    cen_request inner;
    cen_request_free_reply(request);
    ready(&inner, "inner");
    tube.echoes = true;
    inner.deadline = cen_in_ms(100);
    expect_equal(ceni_exchange_request(&tube.exchange, &inner, NULL), CEN_OK);
    expect_reply(&inner, "inner");
    chained++;
}

TEST(a_done_that_makes_a_blocking_request_on_its_own_connection_gets_its_reply)
{
    tube_open(.name = NULL);
    tube_poll(0);
    cen_request_init(&requests[0], request_within, cen_inline());
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], NULL), CEN_OK);
    ask(&requests[1], "b");
    tube_reply(tube_id(0), "x");
    tube_poll(CENI_LOOP_READ);
    expect_equal(chained, 1);
    expect(cen_future_cancel(&requests[1].future));
    tube_close();
}

TEST(a_blocked_caller_whose_request_is_stuck_has_the_loop_write_the_rest)
{
    tube_open(.name = NULL);
    tube_poll(0);
    tube.echoes = true;
    ceni_store_seq_cst(&tube.room, 3);
    ready(&requests[0], "abc");
    ceni_thread thread = start("blocked", block, (void *)(intptr_t)0);
    ceni_world_settle();
    expect_equal(tube.wakes, 1);
    expect(tube_poll(0) & CENI_LOOP_WRITE);
    ceni_store_seq_cst(&tube.room, UINT32_MAX);
    expect(!(tube_poll(CENI_LOOP_WRITE) & CENI_LOOP_WRITE));
    join(thread);
    expect_reply(&requests[0], "abc");
    expect_equal(tube_stats().thread_reads, 1);
    tube_close();
}

static void hang(cen_request *request)
{
    cen_request_free_reply(request);
    ceni_sleep_until(ceni_clock_now() + 1000000000);
    chained++;
}

static void poll_read(void *unused)
{
    (void)unused;
    tube_poll(CENI_LOOP_READ);
}

TEST(a_done_that_takes_long_on_the_loop_does_not_hold_up_a_blocked_caller)
{
    tube_open(.name = NULL);
    tube_poll(0);
    cen_request_init(&requests[0], hang, cen_inline());
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], NULL), CEN_OK);
    ready(&requests[1], "b");
    ceni_thread blocked = start("blocked", block, (void *)(intptr_t)1);
    ceni_world_settle();
    tube_reply(tube_id(0), "A");
    ceni_thread loop = start("loop", poll_read, NULL);
    ceni_world_settle();
    expect_equal(chained, 0);
    tube_reply(tube_id(1), "B");
    ceni_world_settle();
    expect(cen_future_is_done(&requests[1].future));
    join(blocked);
    join(loop);
    expect_reply(&requests[1], "B");
    tube_close();
}

TEST(where_only_the_loop_reads_blocked_callers_wait_for_it)
{
    tube_open(.loop_reads = true);
    tube.echoes = true;
    ceni_thread loop = start("loop", tube_loop, NULL);
    ceni_world_settle();
    for (int i = 0; i < 5; i++) {
        ready(&requests[0], "abc");
        expect_equal(ceni_exchange_request(&tube.exchange, &requests[0], NULL), CEN_OK);
        expect_reply(&requests[0], "abc");
    }
    expect_equal(tube_stats().thread_reads, 0);
    tube_stop();
    join(loop);
    tube_close();
}

TEST(a_long_read_by_a_thread_leaves_the_loop_in_peace_and_its_end_wakes_it)
{
    tube_open(.name = NULL);
    tube_poll(0);
    ready(&requests[0], "a");
    ceni_thread first = start("first", block, (void *)(intptr_t)0);
    ceni_world_settle();
    expect_equal(tube_poll(0), CENI_LOOP_SOON);
    expect_equal(tube_poll(CENI_LOOP_SOON), 0); /* the same still reads */
    tube_reply(tube_id(0), "A");
    join(first);
    expect_equal(tube.wakes, 1);
    expect_equal(tube_poll(0), CENI_LOOP_READ);
    expect_reply(&requests[0], "A");
    tube_close();
}

TEST(many_threads_and_a_loop_all_get_their_replies)
{
    tube_open(.max_in_flight = 3);
    tube.echoes = true;
    ceni_thread loop = start("loop", tube_loop, NULL), threads[6];
    for (int i = 0; i < 6; i++) ready(&requests[i], "abc");
    for (int i = 0; i < 6; i++) threads[i] = start("blocked", block, (void *)(intptr_t)i);
    ask(&requests[6], "x");
    ask(&requests[7], "y");
    for (int i = 0; i < 6; i++) join(threads[i]);
    for (int i = 6; i < 8; i++) expect_equal(cen_future_wait(&requests[i].future, cen_in_s(1)), CEN_OK);
    for (int i = 0; i < 6; i++) expect_reply(&requests[i], "abc");
    expect_reply(&requests[6], "x");
    expect_reply(&requests[7], "y");
    tube_stop();
    join(loop);
    tube_close();
}

static void ask_and_wait(cen_request *request)
{
    cen_request inner;
    cen_request_free_reply(request);
    ceni_sleep_until(ceni_clock_now() + 1000000); /* the loop, to which the reading was left, has come by then */
    ask(&inner, "inner");
    expect_equal(cen_future_wait(&inner.future, cen_in_s(1)), CEN_OK);
    expect_reply(&inner, "INNER");
    chained++;
}

TEST(a_done_on_the_thread_of_a_blocked_caller_may_wait_for_what_it_asks)
{
    tube_open(.name = NULL);
    ready(&requests[0], "a");
    ceni_thread first = start("first", block, (void *)(intptr_t)0);
    ceni_world_settle();
    cen_request_init(&requests[1], ask_and_wait, cen_inline());
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[1], NULL), CEN_OK);
    ask(&requests[2], "c");      /* for which the loop reads, afterwards */
    tube_reply(tube_id(1), "b"); /* which the blocked caller reads */
    ceni_world_settle();
    expect_equal(tube_poll(0), CENI_LOOP_READ);
    ceni_sleep_until(ceni_clock_now() + 2000000);
    tube_reply(tube_id(3), "INNER");
    tube_poll(CENI_LOOP_READ);
    ceni_world_settle();
    expect_equal(chained, 1);
    tube_reply(tube_id(0), "A");
    tube_poll(CENI_LOOP_READ);
    join(first);
    expect(cen_future_cancel(&requests[2].future));
    expect_reply(&requests[0], "A");
    tube_close();
}
