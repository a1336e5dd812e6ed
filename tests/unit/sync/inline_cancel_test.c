/* SPDX-License-Identifier: MIT */
/* A thread of the system's that is cancelled while it runs what others have posted inline. */
#include <cenote/future.h>

#include <pthread.h>

#include "base/atomic.h"
#include "support/test.h"

static cen_future futures[2];
static cen_promise promises[2];
static _Atomic uint32_t entered, left, afterwards;

static void come_to_a_cancellation_point(cen_future *future)
{
    ceni_add_seq_cst(&entered, 1);
    if (future == &futures[0]) expect(cen_promise_complete(&promises[1], NULL));
    pthread_testcancel();
    ceni_add_seq_cst(&left, 1);
}

static void *keep_while_a_request_is_pending(void *unused)
{
    (void)unused;
    pthread_cancel(pthread_self());
    expect(cen_promise_complete(&promises[0], NULL));
    ceni_add_seq_cst(&afterwards, 1);
    pthread_testcancel();
    return NULL;
}

/* guarantees: future.inline */
TEST(a_thread_that_is_cancelled_in_an_inline_job_ends_after_it)
{
    for (int i = 0; i < 2; i++) {
        cen_future_init(&futures[i]);
        expect_equal(cen_promise_init(&promises[i], &futures[i]), CEN_OK);
        expect_equal(cen_future_then(&futures[i], come_to_a_cancellation_point, cen_inline()), CEN_OK);
    }
    pthread_t thread;
    void *end;
    expect_equal(pthread_create(&thread, NULL, keep_while_a_request_is_pending, NULL), 0);
    expect_equal(pthread_join(thread, &end), 0);
    expect(end == PTHREAD_CANCELED);
    expect_equal(ceni_load_seq_cst(&entered), 2);
    expect_equal(ceni_load_seq_cst(&left), 2);
    expect_equal(ceni_load_seq_cst(&afterwards), 1);
}
