/* SPDX-License-Identifier: MIT */
/* Why a call of an actor failed, in words. */
#include "support/world.h"
#include "unit/actor/actors.h"

static cen_error error;

static void expect_why(cen_status got, cen_status status, cen_cause cause, const char *words)
{
    expect_equal(got, status);
    expect_equal(error.status, status);
    expect_equal(error.cause, cause);
    if (!strstr(error.text, words)) test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.text, words);
    error = (cen_error){.text = ""};
}

TEST(a_message_that_is_refused_says_why)
{
    letter one, two;
    init_letter(&one, 'a');
    init_letter(&two, 'b');
    make_actor(.name = "books", .capacity = 1, .runtime = make_manual());
    expect_why(cen_actor_tell(NULL, &one.message, &error), CEN_INVALID, CEN_CAUSE_NONE, "the actor is NULL");
    expect_why(cen_actor_tell(actor, NULL, &error), CEN_INVALID, CEN_CAUSE_NONE,
               "actor \"books\": the message is NULL");
    tell(&one);
    expect_why(cen_actor_tell(actor, &one.message, &error), CEN_MISUSE, CEN_CAUSE_NONE, "the message is queued");
    expect_equal(cen_actor_tell(actor, &two.message, &error), CEN_FULL);
    expect_equal(error.max, 1);
    expect_why(CEN_FULL, CEN_FULL, CEN_CAUSE_QUEUE_FULL, "actor \"books\": mailbox full (capacity = 1)");
    expect_why(cen_actor_tell_after(actor, &two.message, -1, &error), CEN_INVALID, CEN_CAUSE_NONE,
               "must not be negative");
    expect_why(cen_actor_tell_after(actor, &two.message, 1, &error), CEN_FULL, CEN_CAUSE_QUEUE_FULL, "mailbox full");
    expect_equal(cen_actor_tell(actor, &two.message, NULL), CEN_FULL);
    poll();
    finish();
}

TEST(an_ask_that_is_refused_says_whether_message_or_future_is_to_blame)
{
    letter one;
    cen_future future;
    init_letter(&one, 'a');
    cen_future_init(&future);
    make_actor(.name = "books", .runtime = make_manual());
    expect_why(cen_actor_ask(actor, &one.message, NULL, &error), CEN_INVALID, CEN_CAUSE_NONE, "the future is NULL");
    cen_promise promise;
    expect_equal(cen_promise_init(&promise, &future), CEN_OK);
    expect_why(cen_actor_ask(actor, &one.message, &future, &error), CEN_MISUSE, CEN_CAUSE_NONE,
               "the future has been used before");
    expect(cen_promise_complete(&promise, NULL));
    finish();
}

TEST(after_a_stop_each_call_says_that_it_has_been_stopped_and_how)
{
    letter one;
    cen_future future;
    init_letter(&one, 'a');
    cen_future_init(&future);
    make_actor(.name = "books", .runtime = make_manual());
    expect_why(cen_actor_stop(NULL, CEN_STOP_DRAIN, NULL, &error), CEN_INVALID, CEN_CAUSE_NONE, "the actor is NULL");
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, NULL, &error), CEN_OK);
    expect_why(cen_actor_tell(actor, &one.message, &error), CEN_CLOSED, CEN_CAUSE_CLOSED, "it has been stopped");
    expect_why(cen_actor_stop(actor, CEN_STOP_DRAIN, NULL, &error), CEN_CLOSED, CEN_CAUSE_CLOSED,
               "already been stopped");
    expect_why(cen_actor_stop(actor, CEN_STOP_DROP, &future, &error), CEN_MISUSE, CEN_CAUSE_NONE, "takes no future");
    expect_equal(cen_actor_stop(actor, CEN_STOP_DROP, NULL, &error), CEN_OK);
    expect_why(cen_actor_tell(actor, &one.message, &error), CEN_CLOSED, CEN_CAUSE_CLOSED, "drops its messages");
    poll();
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}
