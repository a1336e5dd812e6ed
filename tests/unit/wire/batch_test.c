/* SPDX-License-Identifier: MIT */
/* What is asked while a batch of replies is told. */
#include "support/batches.h"

/* How many were asked without the lock in this batch. */
static uint32_t added(void)
{
    return tube.exchange.batch.added;
}

/* The other side answers the last of the requests that were written, so many of them. */
static void answer_last(uint32_t count)
{
    tube_look();
    uint32_t seen = tube.ids_seen;
    for (uint32_t i = 0; i < count; i++) tube_reply(tube_id(seen - count + i), "x");
    tube_poll(CENI_LOOP_READ);
}

static void ask_three(int i)
{
    for (int k = 1; k <= 3; k++) expect_equal(ask_acting(i + k, NULL), CEN_OK);
    expect_equal(added(), 1);
    expect_equal(tube_stats().in_flight, 3);
    expect_equal(tube_stats().sent, 8);
}

TEST(what_finds_no_place_in_the_batch_goes_the_other_way_and_all_in_one_write)
{
    tube_open(.name = NULL);
    warm_up();
    expect_equal(ask_acting(0, ask_three), CEN_OK);
    uint32_t writes = tube.writes;
    answer_last(1);
    expect_equal(tube.writes, writes + 1);
    expect_equal(tube_stats().output, 0);
    answer_last(3);
    for (int i = 0; i < 4; i++) expect_equal(ceni_load_seq_cst(&told[i]), 1);
    expect_equal(tube_stats().replied, 8);
    tube_close();
}

static void ask_fourth(int i)
{
    (void)i;
    expect_equal(ask_acting(4, NULL), CEN_OK);
    expect_equal(added(), 1);
}

static void cancel_fourth(int i)
{
    (void)i;
    expect(cen_future_cancel(&requests[4].future));
}

TEST(a_later_done_of_the_batch_may_cancel_what_an_earlier_one_asked)
{
    tube_open(.name = NULL);
    warm_up();
    expect_equal(ask_acting(0, ask_fourth), CEN_OK);
    expect_equal(ask_acting(1, cancel_fourth), CEN_OK);
    answer_last(2);
    expect_equal(tube_stats().in_flight, 0);
    answer_last(1);
    expect_equal(ceni_load_seq_cst(&told[4]), 0);
    expect_equal(tube_stats().late, 1);
    expect_equal(tube_stats().cancelled, 1);
    tube_close();
}

static void ask_and_end(int i)
{
    cen_error cause;
    ask_fourth(i);
    ceni_error_set(&cause, CEN_LOST, 7, "It broke.");
    ceni_exchange_fail(&tube.exchange, &cause);
    expect_equal(ask_acting(5, NULL), CEN_LOST);
}

TEST(what_was_asked_in_a_batch_is_told_of_the_end_in_it_and_nothing_more_can_be_asked)
{
    tube_open(.name = NULL);
    warm_up();
    expect_equal(ask_acting(0, ask_and_end), CEN_OK);
    answer_last(1);
    expect_equal(ceni_load_seq_cst(&told[4]), 1);
    expect_equal(requests[4].future.status, CEN_LOST);
    expect_equal(requests[4].future.code, 7);
    expect_equal(ceni_load_seq_cst(&told[5]), 0);
    expect_equal(tube_stats().output, 0);
    tube_close();
}

static cen_future drained;

static void ask_and_refuse(int i)
{
    ask_fourth(i);
    cen_future_init(&drained);
    ceni_exchange_refuse(&tube.exchange, &drained);
    expect_equal(ask_acting(5, NULL), CEN_CLOSED);
    expect(!cen_future_is_done(&drained));
}

TEST(what_was_asked_in_a_batch_before_the_connection_refuses_is_awaited)
{
    tube_open(.name = NULL);
    warm_up();
    expect_equal(ask_acting(0, ask_and_refuse), CEN_OK);
    answer_last(1);
    expect(!cen_future_is_done(&drained));
    answer_last(1);
    expect_equal(ceni_load_seq_cst(&told[4]), 1);
    expect_equal(requests[4].future.status, CEN_OK);
    expect(cen_future_is_done(&drained));
    tube_close();
}

static uint32_t added_then;

static void ask_next(int i)
{
    expect_equal(ask_acting(i + 4, NULL), CEN_OK);
    added_then = added();
}

TEST(what_a_batch_asks_while_nothing_can_be_written_goes_when_it_can)
{
    tube_open(.name = NULL);
    warm_up();
    for (int i = 0; i < 3; i++) expect_equal(ask_acting(i, ask_next), CEN_OK);
    tube_look();
    uint32_t seen = tube.ids_seen;
    ceni_store_seq_cst(&tube.room, ceni_load_seq_cst(&tube.out_size) + 3);
    for (uint32_t i = 0; i < 3; i++) {
        tube_reply(tube_id(seen - 3 + i), "x");
        expect_equal(tube_poll(CENI_LOOP_READ), CENI_LOOP_READ | CENI_LOOP_WRITE);
        expect_equal(tube_stats().output, 15 * (i + 1) - 3);
        expect_equal(added_then, i < 2); /* where one batch waits to be written the next goes the other way */
    }
    ceni_store_seq_cst(&tube.room, UINT32_MAX);
    expect_equal(tube_poll(CENI_LOOP_WRITE), CENI_LOOP_READ);
    expect_equal(tube_stats().output, 0);
    answer_last(3);
    for (int i = 4; i < 7; i++) expect_equal(ceni_load_seq_cst(&told[i]), 1);
    tube_close();
}

static void ask_twice_and_take_long(int i)
{
    ask_fourth(i);
    cen_runtime_advance(tube.runtime, INT64_C(70000000000)); /* the alarm comes at 60 s, and dates it */
    expect_equal(ask_acting(5, NULL), CEN_OK);
    expect_equal(added(), 1);
    cen_runtime_advance(tube.runtime, INT64_C(50000000000)); /* again at 120 s, for the first, and dates the second */
    expect_equal(tube_stats().timed_out, 1);
    cen_runtime_advance(tube.runtime, INT64_C(60000000000));
    expect_equal(tube_stats().timed_out, 2);
    expect_equal(ceni_load_seq_cst(&told[4]), 0); /* it is told when this one has returned */
}

TEST(an_alarm_in_a_batch_dates_what_was_asked_and_whoever_comes_later_goes_the_other_way)
{
    tube_open_virtual(.deadline = cen_in_s(60));
    warm_up();
    expect_equal(ask_acting(0, ask_twice_and_take_long), CEN_OK);
    answer_last(1);
    for (int i = 4; i < 6; i++) {
        expect_equal(ceni_load_seq_cst(&told[i]), 1);
        expect_equal(requests[i].future.status, CEN_TIMEOUT);
    }
    tube_close();
}

TEST(a_batch_reserves_no_slots_where_that_would_be_more_than_half)
{
    tube_open(.max_in_flight = 2);
    warm_up();
    expect_equal(ask_acting(0, NULL), CEN_OK);
    expect_equal(ask_acting(1, ask_next), CEN_OK); /* one is still in flight, which is half */
    tube_look();
    tube_reply(tube_id(tube.ids_seen - 1), "x");
    tube_poll(CENI_LOOP_READ);
    expect_equal(added_then, 0);
    expect_equal(tube_stats().in_flight, 2);
    tube_close();
}
