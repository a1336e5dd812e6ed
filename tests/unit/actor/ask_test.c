/* SPDX-License-Identifier: MIT */
/* Questions and their answers: at once, later, wrong, forgotten, cancelled. */
#include "support/world.h"
#include "unit/actor/actors.h"

static letter one;
static cen_future future;
static bool told;

static void begin(void (*inside)(letter *))
{
    init_letter(&one, 'a');
    one.inside = inside;
    cen_future_init(&future);
    told = false;
    make_actor(.runtime = make_manual(), .name = "oracle");
}

static void ask(void)
{
    expect_equal(cen_actor_ask(actor, &one.message, &future, NULL), CEN_OK);
}

static void reply(letter *self)
{
    expect(cen_message_is_wanted(&self->message));
    told = cen_message_reply(&self->message, &one);
    expect(!cen_message_reply(&self->message, NULL)); /* it is answered, and that is all */
    expect(!cen_message_keep(&self->message));
    expect(!cen_message_is_wanted(&self->message));
}

/* guarantees: actor.question */
TEST(what_is_asked_is_done_by_the_reply)
{
    begin(reply);
    ask();
    expect(!cen_future_is_done(&future));
    poll();
    expect(cen_future_is_done(&future) && told);
    expect_equal(future.status, CEN_OK);
    expect(future.value == &one);
    cen_future_init(&future);
    ask(); /* message and future can be used again */
    poll();
    expect(cen_future_is_done(&future));
    expect_equal(one.handled, 2);
    finish();
}

static void fail(letter *self)
{
    cen_error error = {.status = CEN_EMPTY, .code = 7, .text = "there is none left"};
    told = cen_message_fail(&self->message, &error);
}

TEST(an_answer_can_be_an_error)
{
    cen_error error = {.text = ""};
    begin(fail);
    future.error = &error;
    ask();
    poll();
    expect(cen_future_is_done(&future) && told);
    expect_equal(future.status, CEN_EMPTY);
    expect_equal(future.code, 7);
    expect_text(error.text, "there is none left");
    finish();
}

/* guarantees: actor.question */
TEST(a_question_that_its_handler_forgets_fails_with_a_text_that_names_it)
{
    cen_error error = {.text = ""};
    begin(NULL);
    future.error = &error;
    one.message.name = "riddle";
    ask();
    poll();
    expect(cen_future_is_done(&future));
    expect_equal(future.status, CEN_MISUSE);
    expect_text(error.text, "actor \"oracle\": the handler returned without a reply to riddle");
    tell(&one); /* it is nobody's but the program's */
    poll();
    finish();
}

static void keep(letter *self)
{
    expect(cen_message_keep(&self->message));
    expect(!cen_message_keep(&self->message));
}

/* guarantees: actor.question */
TEST(a_question_that_is_kept_is_answered_later_and_outlives_its_actor)
{
    begin(keep);
    ask();
    poll();
    expect(!cen_future_is_done(&future));
    expect(cen_message_is_wanted(&one.message));
    expect_equal(cen_actor_tell(actor, &one.message, NULL), CEN_MISUSE); /* it waits for its answer */
    finish();
    expect(!cen_future_is_done(&future));
    expect(cen_message_reply(&one.message, &one));
    expect(cen_future_is_done(&future));
    expect(future.value == &one);
}

/* guarantees: actor.question */
TEST(a_cancelled_question_is_handled_and_its_answer_goes_nowhere)
{
    begin(NULL);
    ask();
    expect(cen_future_cancel(&future));
    expect(!cen_message_is_wanted(&one.message));
    poll();
    expect_equal(one.handled, 1);
    expect(!cen_future_is_done(&future));
    cen_future_init(&future);
    one.inside = keep;
    ask();
    poll();
    expect(cen_future_cancel(&future));
    expect(!cen_message_reply(&one.message, &one));
    expect(cen_future_cancel(&future)); /* it stays so */
    finish();
}

TEST(an_answered_question_cannot_be_cancelled)
{
    begin(reply);
    ask();
    poll();
    expect(!cen_future_cancel(&future));
    finish();
}

/* guarantees: actor.question */
TEST(a_question_that_is_refused_leaves_its_future_as_it_was)
{
    letter other;
    begin(reply);
    init_letter(&other, 'b');
    ask();
    expect_equal(cen_actor_ask(actor, &other.message, &future, NULL), CEN_MISUSE); /* it is promised */
    poll();
    cen_future_init(&future);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, NULL, NULL), CEN_OK);
    expect_equal(cen_actor_ask(actor, &one.message, &future, NULL), CEN_CLOSED);
    cen_promise promise;
    expect_equal(cen_promise_init(&promise, &future), CEN_OK); /* nobody has promised it */
    poll();
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

static void reply_to_told(letter *self)
{
    expect(!cen_message_is_wanted(&self->message));
    expect(!cen_message_reply(&self->message, NULL));
    expect(!cen_message_fail(&self->message, NULL));
    expect(!cen_message_keep(&self->message));
}

TEST(what_was_told_has_no_answer)
{
    begin(reply_to_told);
    tell(&one);
    poll();
    expect_equal(one.handled, 1);
    finish();
}
