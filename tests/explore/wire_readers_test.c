/* SPDX-License-Identifier: MIT */
/* Three threads that read for one another, under every schedule: no reply is left unread, and the role is never lost. */
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

EXPLORE(three_blocked_callers_read_for_one_another, 2)
{
    tube_open(.max_in_flight = 3);
    tube_without_loop();
    tube.echoes = true;
    ceni_thread others[2];
    for (int i = 0; i < 2; i++) others[i] = start("other", block, (void *)(intptr_t)(i + 1));
    block((void *)(intptr_t)0);
    for (int i = 0; i < 2; i++) join(others[i]);
    expect_all_done(3);
    tube_close();
}

EXPLORE(a_blocked_caller_an_asker_and_the_loop_leave_no_reply_unread, 2)
{
    tube_open(.max_in_flight = 3);
    tube.echoes = true;
    ceni_thread loop = start("loop", tube_loop, NULL);
    ceni_thread other = start("other", block, (void *)(intptr_t)1);
    ask_one((void *)(intptr_t)0);
    await(0);
    join(other);
    tube_stop();
    join(loop);
    expect_all_done(2);
    tube_close();
}

/* One that has the role, or is given it, when its deadline comes: it must not take it with it. */
static void block_shortly(void *number)
{
    cen_request *request = &requests[(intptr_t)number];
    ready(request, "a");
    request->deadline = cen_in_ms(1);
    cen_status status = ceni_exchange_request(&tube.exchange, request, NULL);
    if (status == CEN_OK) expect_reply(request, "a");
    else expect_equal(status, CEN_TIMEOUT);
}

static void answer_second(void *unused)
{
    (void)unused;
    tube_reply(ceni_sent_of(&requests[1])->id, "a");
}

EXPLORE(one_whose_deadline_comes_passes_the_role_on, 3)
{
    tube_open(.max_in_flight = 2);
    tube_without_loop();
    ceni_thread brief = start("brief", block_shortly, (void *)(intptr_t)0);
    tube.echoes = false;
    ready(&requests[1], "a");
    requests[1].deadline = cen_in_s(1);
    ceni_thread other = start("other", block, (void *)(intptr_t)1);
    join(brief);
    while (tube_stats().sent < 2) ceni_sleep_until(ceni_clock_now() + 1000);
    answer_second(NULL);
    join(other);
    tube_close();
}
