/* SPDX-License-Identifier: MIT */
/*
 * Every schedule of a request, its reply, its cancel, its deadline and the connection's end: it is over exactly once, and
 * whoever is told may free what it has.
 */
#include "support/tube.h"

static cen_request requests[3];
static _Atomic uint32_t told[3];

static void count_told(cen_request *request)
{
    cen_request_free_reply(request);
    ceni_add_seq_cst(&told[request - requests], 1);
}

/* Asks with a `done` that counts. */
static cen_status ask_counted(int i)
{
    ceni_store_seq_cst(&told[i], 0);
    cen_request_init(&requests[i], count_told, cen_inline());
    requests[i].payload = "a";
    requests[i].size = 1;
    return ceni_exchange_request_async(&tube.exchange, &requests[i], NULL);
}

static uint32_t times_told(int i)
{
    return ceni_load_seq_cst(&told[i]);
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

static void move_time(void *unused)
{
    (void)unused;
    cen_runtime_advance(tube.runtime, 1000000000);
}

EXPLORE(a_request_is_cancelled_or_told_and_never_both, 4)
{
    tube_open(.max_in_flight = 2);
    tube.echoes = true;
    expect_equal(ask_counted(0), CEN_OK);
    ceni_thread other = start("loop", poll_read, NULL);
    bool cancelled = cen_future_cancel(&requests[0].future);
    join(other);
    expect_equal(times_told(0), !cancelled);
    ceni_exchange_stats stats = tube_stats();
    expect_equal(stats.cancelled + stats.replied, 1);
    expect_equal(stats.late, cancelled);
    tube_close();
    expect_equal(times_told(0), !cancelled);
}

EXPLORE(a_reply_and_a_deadline_tell_once, 4)
{
    tube_open_virtual(.max_in_flight = 2, .deadline = cen_in_ms(1));
    tube.echoes = true;
    expect_equal(ask_counted(0), CEN_OK);
    ceni_thread other = start("time", move_time, NULL);
    poll_read(NULL);
    join(other);
    expect_equal(times_told(0), 1);
    expect_equal(tube_stats().replied + tube_stats().timed_out, 1);
    tube_close();
    expect_equal(times_told(0), 1);
}

EXPLORE(a_cancel_and_a_deadline_are_one, 4)
{
    tube_open_virtual(.max_in_flight = 2, .deadline = cen_in_ms(1));
    expect_equal(ask_counted(0), CEN_OK);
    ceni_thread other = start("time", move_time, NULL);
    bool cancelled = cen_future_cancel(&requests[0].future);
    join(other);
    expect_equal(times_told(0), !cancelled);
    tube_close();
    expect_equal(times_told(0), !cancelled);
}

EXPLORE(a_reply_and_the_end_tell_once, 4)
{
    tube_open(.max_in_flight = 2);
    tube.echoes = true;
    expect_equal(ask_counted(0), CEN_OK);
    ceni_thread other = start("end", end_it, NULL);
    poll_read(NULL);
    join(other);
    expect_equal(times_told(0), 1);
    expect_equal(tube_stats().replied + tube_stats().failed, 1);
    tube_close();
}

EXPLORE(a_reply_a_cancel_and_the_end_are_one, 3)
{
    tube_open(.max_in_flight = 2);
    tube.echoes = true;
    expect_equal(ask_counted(0), CEN_OK);
    ceni_thread end = start("end", end_it, NULL);
    ceni_thread loop = start("loop", poll_read, NULL);
    bool cancelled = cen_future_cancel(&requests[0].future);
    join(end);
    join(loop);
    expect_equal(times_told(0), !cancelled);
    tube_close();
    expect_equal(times_told(0), !cancelled);
}

EXPLORE(who_asks_while_the_connection_ends_is_refused_or_told, 4)
{
    tube_open(.max_in_flight = 2);
    ceni_thread other = start("end", end_it, NULL);
    cen_status status = ask_counted(0);
    join(other);
    expect(status == CEN_OK || status == CEN_LOST);
    expect_equal(times_told(0), status == CEN_OK);
    expect_equal(ceni_load_seq_cst(&tube.broken), 1);
    tube_close();
}

/* One in flight, one that waits for its place. */
EXPLORE(one_who_waits_for_room_is_let_in_or_gives_up, 4)
{
    tube_open(.max_in_flight = 1);
    expect_equal(ask_counted(0), CEN_OK);
    expect_equal(ask_counted(1), CEN_OK);
    tube_reply(tube_id(0), "A");
    ceni_thread other = start("loop", poll_read, NULL);
    bool cancelled = cen_future_cancel(&requests[1].future);
    join(other);
    expect_equal(times_told(0), 1);
    ceni_exchange_stats stats = tube_stats();
    expect_equal(stats.waiting, 0);
    expect(cancelled);
    expect_equal(stats.in_flight, 0);
    tube_close();
    expect_equal(times_told(1), 0);
}

static void cancel_first(void *unused)
{
    (void)unused;
    cen_future_cancel(&requests[0].future);
}

EXPLORE(room_that_becomes_free_while_one_asks_is_had, 4)
{
    tube_open(.max_in_flight = 1);
    tube.echoes = false;
    expect_equal(ask_counted(0), CEN_OK);
    ceni_thread other = start("cancel", cancel_first, NULL);
    expect_equal(ask_counted(1), CEN_OK);
    join(other);
    expect_equal(tube_stats().waiting, 0);
    expect_equal(tube_stats().in_flight, 1);
    expect_equal(tube_stats().sent, 2);
    expect_equal(tube_stats().output, 0);
    tube_close();
    expect_equal(times_told(0), 0);
    expect_equal(times_told(1), 1);
}

/* ---- Blocked threads --------------------------------------------------------------------------- */

static cen_status request(int i, cen_deadline deadline)
{
    ready(&requests[i], "a");
    requests[i].deadline = deadline;
    cen_status status = ceni_exchange_request(&tube.exchange, &requests[i], NULL);
    bool refused = !cen_future_is_done(&requests[i].future);
    if (!refused) expect_equal(requests[i].future.status, status);
    if (refused) expect_equal(status, CEN_LOST);
    if (status == CEN_OK) expect_reply(&requests[i], "a");
    return status;
}

EXPLORE(a_blocked_request_is_answered_or_told_of_the_end, 4)
{
    tube_open(.max_in_flight = 2);
    tube.echoes = true;
    ceni_thread other = start("end", end_it, NULL);
    cen_status status = request(0, CEN_NEVER);
    join(other);
    expect(status == CEN_OK || status == CEN_LOST);
    expect_equal(tube_stats().replied, status == CEN_OK);
    tube_close();
}

/* The loop watches for another's reply, and so reads for this one. */
EXPLORE(a_blocked_request_is_answered_by_the_loop_or_misses_its_deadline, 4)
{
    tube_open(.max_in_flight = 2);
    tube_poll(0);
    expect_equal(ask_counted(1), CEN_OK);
    tube.echoes = true;
    ceni_thread loop = start("loop", tube_loop, NULL);
    cen_status status = request(0, cen_in_ms(1));
    expect(status == CEN_OK || status == CEN_TIMEOUT);
    expect_equal(tube_stats().timed_out, status == CEN_TIMEOUT);
    tube_stop();
    join(loop);
    tube_poll(CENI_LOOP_READ); /* it may have stopped early */
    expect_equal(tube_stats().in_flight, 0);
    tube_close();
    expect_equal(times_told(1), 1);
}

/* ---- Freeing ------------------------------------------------------------------------------------- */

EXPLORE(who_was_told_may_end_the_exchange_while_the_teller_is_still_inside, 4)
{
    tube_open(.max_in_flight = 2);
    tube.echoes = true;
    ask(&requests[0], "a");
    ceni_thread other = start("loop", poll_read, NULL);
    expect_equal(cen_future_wait(&requests[0].future, CEN_NEVER), CEN_OK);
    expect_reply(&requests[0], "a");
    cen_error cause;
    ceni_error_set(&cause, CEN_CLOSED, 0, "It is over.");
    ceni_exchange_fail(&tube.exchange, &cause);
    ceni_exchange_fini(&tube.exchange);
    memset(&tube.exchange, 0xee, sizeof tube.exchange); /* nobody may touch it: the loop's thread would trip */
    join(other);
    expect_equal(cen_runtime_free(tube.runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

EXPLORE(an_alarm_that_rings_while_the_exchange_ends_is_awaited, 4)
{
    tube_open_virtual(.max_in_flight = 2, .deadline = cen_in_ms(1));
    expect_equal(ask_counted(0), CEN_OK);
    ceni_thread other = start("time", move_time, NULL);
    end_it(NULL);
    ceni_exchange_fini(&tube.exchange);
    memset(&tube.exchange, 0xee, sizeof tube.exchange);
    join(other); /* what was taken out by then is told without the exchange */
    expect_equal(times_told(0), 1);
    expect_equal(cen_runtime_free(tube.runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}
