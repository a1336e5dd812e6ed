/* SPDX-License-Identifier: MIT */
/* Mailboxes under every schedule: senders, a turn that ends, a stop, an answer. */
#include "base/alloc.h"
#include "explore/actors.h"

/* ---- Sending ---------------------------------------------------------------------------- */

static void tell_second(void *unused)
{
    (void)unused;
    tell(1);
}

/* guarantees: actor.one-at-a-time */
EXPLORE(what_two_tell_at_once_is_handled_once_each_and_one_at_a_time, 4)
{
    make_actor(.name = NULL);
    ceni_thread other = start("other", tell_second, NULL);
    tell(0);
    join(other);
    expect_equal(handled(0), 1);
    expect_equal(handled(1), 1);
    end_actor();
}

static void tell_two_of_b(void *unused)
{
    (void)unused;
    tell(2);
    tell(3);
}

static void address(int i, char sender, unsigned number)
{
    letters[i].sender = sender;
    letters[i].number = number;
}

/* guarantees: actor.one-at-a-time */
EXPLORE(messages_of_one_sender_are_handled_in_their_order, 3)
{
    make_actor(.name = NULL);
    for (int i = 0; i < 4; i++) address(i, i < 2 ? 'a' : 'b', (unsigned)(i % 2 + 1));
    ceni_thread other = start("other", tell_two_of_b, NULL);
    tell(0);
    tell(1);
    join(other);
    for (int i = 0; i < 4; i++) expect_equal(handled(i), 1);
    end_actor();
}

static void tell_third(void *unused)
{
    (void)unused;
    tell(2);
}

/* guarantees: actor.one-at-a-time */
EXPLORE(what_three_tell_at_once_is_handled_once_each, 3)
{
    make_actor(.name = NULL);
    ceni_thread one = start("one", tell_second, NULL), two = start("two", tell_third, NULL);
    tell(0);
    join(one);
    join(two);
    for (int i = 0; i < 3; i++) expect_equal(handled(i), 1);
    end_actor();
}

static void tell_next(letter *self)
{
    if (self == &letters[0]) tell(1);
}

/* guarantees: actor.one-at-a-time */
EXPLORE(a_handler_that_tells_its_own_actor_is_not_entered_again, 4)
{
    make_actor(.name = NULL);
    in_handler = tell_next;
    ceni_thread other = start("other", tell_third, NULL);
    tell(0);
    join(other);
    for (int i = 0; i < 3; i++) expect_equal(handled(i), 1);
    end_actor();
}

/* ---- Capacity ----------------------------------------------------------------------------- */

static _Atomic uint32_t answers[2];

static void try_tell(void *argument)
{
    int i = (int)(intptr_t)argument;
    ceni_store_seq_cst(&answers[i], (uint32_t)cen_actor_tell(actor, &letters[i].message, NULL));
}

/* guarantees: actor.capacity */
EXPLORE(of_two_who_want_the_last_place_one_has_it_and_one_is_told_full, 4)
{
    shelf kept = {.executor = {keep_on_shelf}};
    make_actor(.executor = &kept.executor, .capacity = 1);
    ceni_thread other = start("other", try_tell, (void *)1);
    try_tell(NULL);
    join(other);
    uint32_t first = ceni_load_seq_cst(&answers[0]), second = ceni_load_seq_cst(&answers[1]);
    expect((first == CEN_OK && second == CEN_FULL) || (first == CEN_FULL && second == CEN_OK));
    expect(run_shelf(&kept));
    expect_equal(handled(0) + handled(1), 1);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, NULL, NULL), CEN_OK);
    expect(run_shelf(&kept));
    expect_equal(cen_actor_free(actor), CEN_OK);
}

/* guarantees: actor.capacity */
EXPLORE(what_is_let_in_is_handled_and_what_is_not_is_told_full, 4)
{
    make_actor(.capacity = 1);
    ceni_thread other = start("other", try_tell, (void *)1);
    try_tell(NULL);
    join(other);
    uint32_t refused = 0;
    for (int i = 0; i < 2; i++) {
        uint32_t answer = ceni_load_seq_cst(&answers[i]);
        expect_equal(handled(i), answer == CEN_OK);
        refused += answer == CEN_FULL;
    }
    expect(refused <= 1);
    end_actor();
}

/* ---- Stop ------------------------------------------------------------------------------------ */

static void stop_against_tell(cen_stop how)
{
    make_actor(.name = NULL);
    ceni_thread other = start("other", try_tell, (void *)1);
    expect_equal(cen_actor_stop(actor, how, NULL, NULL), CEN_OK);
    join(other);
    uint32_t answer = ceni_load_seq_cst(&answers[1]);
    expect(answer == CEN_OK || answer == CEN_CLOSED);
    expect_equal(handled(1) + dropped(1), answer == CEN_OK);
    if (how == CEN_STOP_DRAIN) expect_equal(dropped(1), 0);
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: actor.stop */
EXPLORE(what_is_told_while_an_actor_is_drained_is_handled_or_refused, 4)
{
    stop_against_tell(CEN_STOP_DRAIN);
}

/* guarantees: actor.stop */
EXPLORE(what_is_told_while_an_actor_drops_is_handled_or_dropped_or_refused, 4)
{
    stop_against_tell(CEN_STOP_DROP);
}

static cen_future answer_of[2];

static void run_shelf_there(void *argument)
{
    expect(run_shelf(argument));
}

static void ask_second(void *unused)
{
    (void)unused;
    ceni_store_seq_cst(&answers[1], (uint32_t)cen_actor_ask(actor, &letters[1].message, &answer_of[1], NULL));
}

static void reply_to(letter *self)
{
    cen_message_reply(&self->message, self);
}

/* guarantees: actor.stop */
EXPLORE(what_is_asked_while_an_actor_drops_is_answered_or_told_closed_and_never_both, 4)
{
    make_actor(.name = NULL);
    in_handler = reply_to;
    cen_future_init(&answer_of[1]);
    ceni_thread other = start("other", ask_second, NULL);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DROP, NULL, NULL), CEN_OK);
    join(other);
    if (ceni_load_seq_cst(&answers[1]) == CEN_OK) {
        expect(cen_future_is_done(&answer_of[1]));
        expect_equal(answer_of[1].status, handled(1) ? CEN_OK : CEN_CLOSED);
    } else {
        expect_equal(ceni_load_seq_cst(&answers[1]), CEN_CLOSED);
        expect_equal(handled(1), 0);
    }
    expect_equal(dropped(1), 0);
    expect_equal(cen_actor_free(actor), CEN_OK);
}

/* The other thread is still in its turn when the future is done. */
/* guarantees: actor.free */
EXPLORE(an_actor_can_be_freed_as_soon_as_its_stop_is_done, 4)
{
    cen_future stopped;
    make_actor(.batch = 1);
    cen_future_init(&stopped);
    ceni_thread other = start("other", tell_second, NULL);
    await_handled(1);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL), CEN_OK);
    expect_equal(cen_future_wait(&stopped, CEN_NEVER), CEN_OK);
    expect_equal(cen_actor_free(actor), CEN_OK);
    join(other);
    expect_equal(ceni_world_bytes(), 0);
}

/* Nothing but free itself says that the other thread has done with it. */
/* guarantees: actor.free */
EXPLORE(an_actor_that_is_freed_as_soon_as_it_lets_itself_be_is_not_touched_afterwards, 3)
{
    make_actor(.name = NULL);
    ceni_thread other = start("other", tell_second, NULL);
    await_handled(1);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, NULL, NULL), CEN_OK);
    cen_status status;
    while ((status = cen_actor_free(actor)) == CEN_BUSY) ceni_thread_yield();
    expect_equal(status, CEN_OK);
    join(other);
    expect_equal(ceni_world_bytes(), 0);
}

EXPLORE(a_stop_that_is_cancelled_tells_nobody_and_one_that_is_done_is_not_cancelled, 4)
{
    cen_future stopped;
    shelf kept = {.executor = {keep_on_shelf}};
    make_actor(.executor = &kept.executor);
    cen_future_init(&stopped);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL), CEN_OK);
    ceni_thread other = start("other", run_shelf_there, &kept);
    bool cancelled = cen_future_cancel(&stopped);
    join(other);
    expect_equal(cen_future_is_done(&stopped), !cancelled);
    expect_equal(cen_actor_free(actor), CEN_OK);
}

static void stop_second(void *argument)
{
    ceni_store_seq_cst(&answers[1], (uint32_t)cen_actor_stop(actor, (cen_stop)(intptr_t)argument, NULL, NULL));
}

EXPLORE(of_two_who_stop_one_is_told_that_it_was, 4)
{
    make_actor(.name = NULL);
    ceni_thread other = start("other", stop_second, (void *)CEN_STOP_DRAIN);
    uint32_t first = (uint32_t)cen_actor_stop(actor, CEN_STOP_DRAIN, NULL, NULL);
    join(other);
    expect_equal(first + ceni_load_seq_cst(&answers[1]), CEN_CLOSED);
    expect_equal(cen_actor_free(actor), CEN_OK);
}

/* ---- Answers ------------------------------------------------------------------------------------ */

/* guarantees: actor.question */
EXPLORE(a_question_that_is_cancelled_is_not_answered_and_one_that_is_answered_not_cancelled, 4)
{
    shelf kept = {.executor = {keep_on_shelf}};
    make_actor(.executor = &kept.executor);
    in_handler = reply_to;
    cen_future_init(&answer_of[1]);
    ask_second(NULL);
    ceni_thread other = start("other", run_shelf_there, &kept);
    bool cancelled = cen_future_cancel(&answer_of[1]);
    join(other);
    expect_equal(handled(1), 1);
    expect_equal(cen_future_is_done(&answer_of[1]), !cancelled);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, NULL, NULL), CEN_OK);
    expect(run_shelf(&kept));
    expect_equal(cen_actor_free(actor), CEN_OK);
}

typedef struct question {
    cen_message message;
    cen_future future;
} question;

static void reply_at_once(void *argument, cen_message *message)
{
    (void)argument;
    cen_message_reply(message, argument);
}

/* The question is the asker's, in memory that is gone as soon as its future is done. */
/* guarantees: actor.question-memory */
EXPLORE(a_question_is_not_touched_once_its_future_is_done_although_it_was_cancelled_too_late, 4)
{
    shelf kept = {.executor = {keep_on_shelf}};
    cen_actor_options options = CEN_ACTOR_OPTIONS(.handle = reply_at_once, .executor = &kept.executor);
    expect_equal(cen_actor_new(&options, &actor, NULL), CEN_OK);
    question *asked = ceni_alloc(NULL, sizeof *asked, _Alignof(question));
    expect(asked != NULL);
    cen_message_init(&asked->message, "question");
    cen_future_init(&asked->future);
    expect_equal(cen_actor_ask(actor, &asked->message, &asked->future, NULL), CEN_OK);
    ceni_thread other = start("other", run_shelf_there, &kept);
    bool cancelled = cen_future_cancel(&asked->future);
    if (!cancelled) {
        expect_equal(cen_future_wait(&asked->future, CEN_NEVER), CEN_OK);
        ceni_free(NULL, asked, sizeof *asked, _Alignof(question));
    }
    join(other);
    if (cancelled) ceni_free(NULL, asked, sizeof *asked, _Alignof(question));
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, NULL, NULL), CEN_OK);
    expect(run_shelf(&kept));
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

static void post_job(cen_job *job)
{
    (void)job;
    expect_equal(ceni_add_seq_cst(&inside, 1), 0);
    expect_equal(ceni_sub_seq_cst(&inside, 1), 1);
    ceni_add_seq_cst(&handled_in_all, 1);
}

static void post_one(void *argument)
{
    cen_executor *executor = cen_actor_executor(actor);
    executor->post(executor, argument);
}

/* guarantees: actor.one-at-a-time */
EXPLORE(jobs_and_messages_are_run_one_at_a_time, 4)
{
    cen_job job = {.run = post_job};
    make_actor(.name = NULL);
    ceni_thread other = start("other", post_one, &job);
    tell(0);
    join(other);
    expect_equal(ceni_load_seq_cst(&handled_in_all), 2);
    end_actor();
}
