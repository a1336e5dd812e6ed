/* SPDX-License-Identifier: MIT */
/* Every schedule of those who write and read: no output is left unwritten, no reply unread, and nobody sleeps beside it. */
#include "support/tube.h"

static cen_request requests[4];

static void block(void *number)
{
    cen_request *request = &requests[(intptr_t)number];
    ready(request, "a");
    request->deadline = CEN_NEVER;
    expect_equal(ceni_exchange_request(&tube.exchange, request, NULL), CEN_OK);
    expect_reply(request, "a");
}

static void ask_one(void *number)
{
    cen_request *request = &requests[(intptr_t)number];
    ready(request, "a");
    request->deadline = CEN_NEVER;
    expect_equal(ceni_exchange_request_async(&tube.exchange, request, NULL), CEN_OK);
}

static void await(int i)
{
    expect_equal(cen_future_wait(&requests[i].future, CEN_NEVER), CEN_OK);
    expect_reply(&requests[i], "a");
}

static void expect_all_done(uint64_t replied)
{
    ceni_exchange_stats stats = tube_stats();
    expect_equal(stats.replied, replied);
    expect_equal(stats.in_flight + stats.waiting, 0);
    expect_equal(stats.output, 0);
}

/* ---- Writing ------------------------------------------------------------------------------------- */

EXPLORE(what_two_ask_at_once_is_written, 4)
{
    tube_open(.max_in_flight = 2);
    tube.echoes = true;
    ceni_thread other = start("other", ask_one, (void *)(intptr_t)1);
    ask_one((void *)(intptr_t)0);
    join(other);
    expect_equal(tube_stats().output, 0);
    tube_poll(CENI_LOOP_READ);
    await(0);
    await(1);
    expect_all_done(2);
    tube_close();
}

static void poll_write(void *unused)
{
    (void)unused;
    ceni_store_seq_cst(&tube.room, UINT32_MAX);
    ceni_exchange_loop(&tube.exchange, CENI_LOOP_WRITE);
}

EXPLORE(what_was_stuck_goes_on_when_it_can_and_what_is_added_meanwhile_goes_with_it, 4)
{
    tube_open(.max_in_flight = 2);
    tube.echoes = true;
    ceni_store_seq_cst(&tube.room, 3);
    ask_one((void *)(intptr_t)0);
    ceni_thread other = start("loop", poll_write, NULL);
    ask_one((void *)(intptr_t)1);
    join(other);
    expect_equal(tube_stats().output, 0);
    tube_poll(CENI_LOOP_READ);
    await(0);
    await(1);
    tube_close();
}

/* The one that echoes asks again from its `done`. */
static void ask_second(cen_request *request)
{
    cen_request_free_reply(request);
    if (request->future.status == CEN_OK) ask_one((void *)(intptr_t)1);
}

static void poll_read(void *unused)
{
    (void)unused;
    ceni_exchange_loop(&tube.exchange, CENI_LOOP_READ);
}

EXPLORE(what_is_asked_by_a_done_is_written_though_others_ask_meanwhile, 3)
{
    tube_open(.max_in_flight = 3);
    tube.echoes = true;
    cen_request_init(&requests[0], ask_second, cen_inline());
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], NULL), CEN_OK);
    ceni_thread loop = start("loop", poll_read, NULL);
    ask_one((void *)(intptr_t)2);
    join(loop);
    expect_equal(tube_stats().output, 0);
    tube_poll(CENI_LOOP_READ);
    await(1);
    await(2);
    tube_close();
}

/* ---- Reading --------------------------------------------------------------------------------------- */

EXPLORE(two_blocked_callers_read_for_each_other, 4)
{
    tube_open(.max_in_flight = 2);
    tube_without_loop();
    tube.echoes = true;
    ceni_thread other = start("other", block, (void *)(intptr_t)1);
    block((void *)(intptr_t)0);
    join(other);
    expect_all_done(2);
    tube_close();
}

EXPLORE(a_blocked_caller_waits_for_the_place_of_another, 3)
{
    tube_open(.max_in_flight = 1);
    tube_without_loop();
    tube.echoes = true;
    ceni_thread other = start("other", block, (void *)(intptr_t)1);
    block((void *)(intptr_t)0);
    join(other);
    expect_all_done(2);
    tube_close();
}

EXPLORE(the_loop_and_a_blocked_caller_leave_no_reply_unread, 3)
{
    tube_open(.max_in_flight = 2);
    tube.echoes = true;
    ceni_thread loop = start("loop", tube_loop, NULL);
    block((void *)(intptr_t)0);
    block((void *)(intptr_t)0);
    tube_stop();
    join(loop);
    expect_all_done(2);
    tube_close();
}

EXPLORE(the_loop_is_woken_for_what_is_asked, 3)
{
    tube_open(.max_in_flight = 2);
    tube.echoes = true;
    ceni_thread loop = start("loop", tube_loop, NULL);
    ask_one((void *)(intptr_t)0);
    await(0);
    tube_stop();
    join(loop);
    expect_all_done(1);
    tube_close();
}
