/* SPDX-License-Identifier: MIT */
/*
 * Every schedule of what a batch of replies asks, without the lock, and of others who cancel it, end the connection, close it, or ask
 * themselves: it is over exactly once.
 */
#include "support/batches.h"

static _Atomic uint32_t asked;

static uint32_t times_told(int i)
{
    return ceni_load_seq_cst(&told[i]);
}

/* On the loop's thread, in a batch. */
static void ask_fourth(int i)
{
    (void)i;
    cen_status status = ask_acting(4, NULL);
    ceni_store_seq_cst(&asked, status == CEN_OK ? 1 : 2);
    ceni_futex_wake(&asked, UINT32_MAX);
}

static void poll_read(void *unused)
{
    (void)unused;
    ceni_exchange_loop(&tube.exchange, CENI_LOOP_READ);
}

static void end_it(void *unused)
{
    (void)unused;
    cen_error cause;
    ceni_error_set(&cause, CEN_LOST, 0, "Gone.");
    ceni_exchange_fail(&tube.exchange, &cause);
}

/* A reply has come whose `done` asks the fourth. */
static void begin(void)
{
    tube_open(.name = NULL);
    warm_up();
    ceni_store_seq_cst(&asked, 0);
    ceni_store_seq_cst(&told[4], 0);
    expect_equal(ask_acting(0, ask_fourth), CEN_OK);
    tube_look();
    tube_reply(tube_id(tube.ids_seen - 1), "x");
    tube.echoes = true;
}

EXPLORE(what_a_batch_asks_is_cancelled_by_another_thread_or_told_and_never_both, 4)
{
    begin();
    ceni_thread other = start("loop", poll_read, NULL);
    while (!ceni_load_seq_cst(&asked)) ceni_futex_wait(&asked, 0, CENI_FOREVER);
    bool cancelled = cen_future_cancel(&requests[4].future);
    join(other);
    poll_read(NULL);
    expect_equal(times_told(4), !cancelled);
    expect_equal(tube_stats().cancelled, cancelled);
    expect_equal(tube_stats().in_flight, 0);
    tube_close();
    expect_equal(times_told(4), !cancelled);
}

EXPLORE(what_a_batch_asks_while_the_connection_ends_is_told_once, 4)
{
    begin();
    ceni_thread other = start("end", end_it, NULL);
    poll_read(NULL);
    join(other);
    expect_equal(times_told(0), 1);
    expect_equal(times_told(4), ceni_load_seq_cst(&asked) == 1);
    expect_equal(tube_stats().in_flight, 0);
    tube_close();
    expect_equal(times_told(4), ceni_load_seq_cst(&asked) == 1);
}

EXPLORE(what_a_batch_asks_while_the_connection_refuses_is_awaited_or_refused, 4)
{
    cen_future drained;
    begin();
    cen_future_init(&drained);
    ceni_thread other = start("loop", poll_read, NULL);
    ceni_exchange_refuse(&tube.exchange, &drained);
    join(other);
    poll_read(NULL);
    expect(cen_future_is_done(&drained));
    expect_equal(times_told(4), ceni_load_seq_cst(&asked) == 1);
    tube_close();
}

static void ask_fifth(void *unused)
{
    (void)unused;
    expect_equal(ask_acting(5, NULL), CEN_OK);
}

EXPLORE(what_a_batch_and_another_thread_ask_at_once_is_written_and_told, 3)
{
    begin();
    ceni_thread loop = start("loop", poll_read, NULL), other = start("other", ask_fifth, NULL);
    join(loop);
    join(other);
    poll_read(NULL);
    poll_read(NULL);
    expect_equal(times_told(4), 1);
    expect_equal(times_told(5), 1);
    expect_equal(tube_stats().output, 0);
    expect_equal(tube_stats().in_flight, 0);
    tube_close();
}
