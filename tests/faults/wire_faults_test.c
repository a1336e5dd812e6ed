/* SPDX-License-Identifier: MIT */
/* An exchange when memory cannot be had: nothing leaks, and each request says so once. */
#include "support/faults.h"
#include "support/tube.h"

static cen_request requests[3];
static ceni_exchange *made;

static cen_status make(void)
{
    static ceni_exchange exchange;
    cen_error error = {.status = CEN_OK};
    ceni_exchange_settings settings = {.transport = &tube_transport, .runtime = tube.runtime};
    cen_status status = ceni_exchange_init(&exchange, &settings, &error);
    expect(status == CEN_OK || (error.status == status && error.text[0]));
    made = status == CEN_OK ? &exchange : NULL;
    return status;
}

static const char *says_no_memory(cen_status status)
{
    return status == CEN_NO_MEMORY ? NULL : "it does not say NO_MEMORY";
}

static void unmake(void)
{
    if (made) ceni_exchange_fini(made);
    made = NULL;
}

TEST(an_exchange_that_gets_no_memory_leaves_nothing_behind)
{
    tube_open(.name = NULL);
    fault_sweep sweep = {.mask = CENI_FAULT_ALLOC, .operation = make, .check = says_no_memory, .undo = unmake};
    expect_equal(fault_sweep_check(&sweep), 1);
    tube_close();
}

static void begin(void)
{
    tube_open(.max_in_flight = 1);
    tube_poll(0);
    for (int i = 0; i < 3; i++) ready(&requests[i], "abc");
}

/* One that is sent, for which the output must grow, and one that waits with a copy. */
static cen_status ask_two(void)
{
    cen_status status = ceni_exchange_request_async(&tube.exchange, &requests[0], NULL);
    return status == CEN_OK ? ceni_exchange_request_async(&tube.exchange, &requests[1], NULL) : status;
}

/* What was refused can be asked again at once. */
static const char *can_be_asked_again(cen_status status)
{
    if (status != CEN_NO_MEMORY) return "it does not say NO_MEMORY";
    int refused = cen_future_cancel(&requests[0].future) ? 1 : 0;
    cen_request_init(&requests[2], NULL, NULL);
    if (ceni_exchange_request_async(&tube.exchange, &requests[2], NULL) != CEN_OK) return "it cannot be asked again";
    return refused ? NULL : "one that was refused, or is in flight, cannot be cancelled";
}

TEST(a_request_that_gets_no_memory_is_refused_and_can_be_asked_again)
{
    for (int nth = 1; nth <= 2; nth++) {
        begin();
        ceni_fault_arm(CENI_FAULT_ALLOC, (unsigned)nth);
        cen_status status = ask_two();
        expect(ceni_fault_disarm());
        expect(can_be_asked_again(status) == NULL);
        expect_equal(tube_stats().in_flight, 1);
        tube_close();
    }
}

TEST(one_who_waits_and_for_whom_the_output_cannot_grow_is_told_so)
{
    static char large[5000]; /* more than the output's first memory */
    begin();
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], NULL), CEN_OK);
    cen_error error;
    requests[1].payload = large;
    requests[1].size = sizeof large;
    requests[1].future.error = &error;
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[1], NULL), CEN_OK);
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[2], NULL), CEN_OK);
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    expect(cen_future_cancel(&requests[0].future));
    expect(ceni_fault_disarm());
    expect_equal(requests[1].future.status, CEN_NO_MEMORY);
    expect_equal(error.status, CEN_NO_MEMORY);
    expect_equal(tube_stats().in_flight, 1); /* the next came in instead */
    expect_equal(tube_stats().waiting, 0);
    tube_close();
}

TEST(a_reply_for_which_there_is_no_memory_is_told_so_and_the_connection_goes_on)
{
    begin();
    tube.echoes = true;
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], NULL), CEN_OK);
    ceni_fault_arm(CENI_FAULT_ALLOC, 2); /* the first is the input's */
    tube_poll(CENI_LOOP_READ);
    expect(ceni_fault_disarm());
    expect_equal(requests[0].future.status, CEN_NO_MEMORY);
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[1], NULL), CEN_OK);
    tube_poll(CENI_LOOP_READ);
    expect_reply(&requests[1], "abc");
    tube_close();
}

TEST(a_connection_that_gets_no_memory_for_what_comes_in_is_lost)
{
    begin();
    tube.echoes = true;
    cen_error error;
    requests[0].future.error = &error;
    expect_equal(ceni_exchange_request_async(&tube.exchange, &requests[0], NULL), CEN_OK);
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    tube_poll(CENI_LOOP_READ);
    expect(ceni_fault_disarm());
    expect_equal(requests[0].future.status, CEN_LOST);
    expect(strstr(error.text, "out of memory for input"));
    tube_close();
}
