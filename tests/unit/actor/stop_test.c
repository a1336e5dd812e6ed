/* SPDX-License-Identifier: MIT */
/* The end of an actor: drained, dropped, from within, twice. */
#include "support/world.h"
#include "unit/actor/actors.h"

static cen_future stopped;

static void stop(cen_stop how)
{
    cen_future_init(&stopped);
    expect_equal(cen_actor_stop(actor, how, &stopped, NULL), CEN_OK);
}

static void expect_ended(void)
{
    expect(cen_future_is_done(&stopped));
    expect_equal(stopped.status, CEN_OK);
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: actor.stop */
TEST(a_drain_handles_what_is_there_and_refuses_the_rest)
{
    letter three[3];
    init_letters(three, 3);
    make_actor(.runtime = make_manual());
    tell(&three[0]);
    tell(&three[1]);
    stop(CEN_STOP_DRAIN);
    expect(!cen_future_is_done(&stopped));
    expect(look().is_stopped);
    expect_equal(cen_actor_tell(actor, &three[2].message, NULL), CEN_CLOSED);
    expect_equal(cen_actor_tell_after(actor, &three[2].message, 1, NULL), CEN_CLOSED);
    expect_equal(cen_actor_free(actor), CEN_BUSY);
    poll();
    expect_text(order, "ab");
    expect_equal(look().dropped, 0);
    expect_ended();
}

/* guarantees: actor.stop */
TEST(a_drop_hands_each_message_to_dropped_once_and_handles_none)
{
    letter three[3];
    init_letters(three, 3);
    make_actor(.runtime = make_manual());
    for (int i = 0; i < 3; i++) tell(&three[i]);
    stop(CEN_STOP_DROP);
    poll();
    expect_text(order, "ABC");
    expect_equal(look().dropped, 3);
    expect_equal(look().handled, 0);
    expect_ended();
}

/* guarantees: actor.stop */
TEST(a_question_that_is_dropped_is_told_closed_and_is_the_askers)
{
    letter two[2];
    cen_future futures[2];
    cen_error error = {.text = ""};
    init_letters(two, 2);
    make_actor(.runtime = make_manual(), .name = "oracle");
    for (int i = 0; i < 2; i++) {
        cen_future_init(&futures[i]);
        futures[i].error = &error;
        expect_equal(cen_actor_ask(actor, &two[i].message, &futures[i], NULL), CEN_OK);
    }
    expect(cen_future_cancel(&futures[1]));
    stop(CEN_STOP_DROP);
    poll();
    expect(cen_future_is_done(&futures[0]));
    expect_equal(futures[0].status, CEN_CLOSED);
    expect_text(error.text, "actor \"oracle\": stopped before it handled the message");
    expect_equal(two[0].dropped, 0);
    expect_equal(two[1].dropped, 1); /* nobody waits for it: the program is told */
    expect_equal(look().dropped, 2);
    expect_ended();
}

TEST(an_actor_without_dropped_drops_all_the_same)
{
    letter one;
    init_letter(&one, 'a');
    cen_actor_options options =
        CEN_ACTOR_OPTIONS(.handle = handle_letter, .argument = &order, .runtime = make_manual());
    order[0] = '\0';
    expect_equal(cen_actor_new(&options, &actor, NULL), CEN_OK);
    tell(&one);
    stop(CEN_STOP_DROP);
    poll();
    expect_text(order, "");
    expect_equal(look().dropped, 1);
    expect_ended();
}

TEST(an_actor_that_has_nothing_to_do_ends_at_its_next_turn)
{
    make_actor(.runtime = make_manual());
    expect_equal(cen_actor_free(actor), CEN_BUSY); /* it has not been stopped */
    stop(CEN_STOP_DROP);
    expect_equal(cen_actor_free(actor), CEN_BUSY);
    poll();
    expect_ended();
}

static void drop_all(letter *self)
{
    (void)self;
    stop(CEN_STOP_DROP);
    expect_equal(cen_actor_free(actor), CEN_BUSY);
}

/* guarantees: actor.stop */
TEST(a_handler_can_stop_its_actor)
{
    letter three[3];
    init_letters(three, 3);
    make_actor(.runtime = make_manual());
    three[1].inside = drop_all;
    for (int i = 0; i < 3; i++) tell(&three[i]);
    poll();
    expect_text(order, "abC");
    expect_ended();
}

/* guarantees: actor.stop */
TEST(a_drain_that_takes_too_long_can_become_a_drop)
{
    letter three[3];
    cen_future other;
    init_letters(three, 3);
    make_actor(.runtime = make_manual(), .batch = 1);
    for (int i = 0; i < 3; i++) tell(&three[i]);
    stop(CEN_STOP_DRAIN);
    cen_future_init(&other);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, NULL, NULL), CEN_CLOSED);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DROP, &other, NULL), CEN_MISUSE);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DROP, NULL, NULL), CEN_OK);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DROP, NULL, NULL), CEN_CLOSED);
    poll();
    expect_text(order, "ABC");
    expect_ended();
}

TEST(a_stop_needs_a_future_that_nobody_has_promised)
{
    cen_future other;
    cen_promise promise;
    make_actor(.runtime = make_manual());
    cen_future_init(&other);
    expect_equal(cen_promise_init(&promise, &other), CEN_OK);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, &other, NULL), CEN_MISUSE);
    expect(!look().is_stopped);
    finish();
}

TEST(a_stop_whose_future_is_cancelled_goes_on_and_tells_nobody)
{
    letter one;
    init_letter(&one, 'a');
    make_actor(.runtime = make_manual());
    tell(&one);
    stop(CEN_STOP_DRAIN);
    expect(cen_future_cancel(&stopped));
    poll();
    expect_equal(one.handled, 1);
    expect(!cen_future_is_done(&stopped));
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

static void note_job(cen_job *job)
{
    (void)job;
    note('j');
}

TEST(jobs_are_run_although_the_actor_drops_and_after_it_is_over)
{
    letter one;
    cen_job before = {.run = note_job}, after = {.run = note_job};
    init_letter(&one, 'a');
    make_actor(.runtime = make_manual());
    cen_executor *executor = cen_actor_executor(actor);
    tell(&one);
    executor->post(executor, &before);
    stop(CEN_STOP_DROP);
    poll();
    expect_text(order, "Aj");
    executor->post(executor, &after);
    expect_equal(cen_actor_free(actor), CEN_BUSY);
    poll();
    expect_text(order, "Ajj");
    expect_ended();
}

static void free_it(cen_future *future)
{
    (void)future;
    note('f');
    expect_equal(cen_actor_free(actor), CEN_OK);
}

/* guarantees: actor.free */
TEST(the_actor_can_be_freed_where_its_end_is_told)
{
    letter one;
    init_letter(&one, 'a');
    make_actor(.runtime = make_manual(), .batch = 1);
    tell(&one);
    cen_future_init(&stopped);
    expect_equal(cen_future_then(&stopped, free_it, cen_inline()), CEN_OK);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL), CEN_OK);
    poll();
    expect_text(order, "af");
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: actor.free */
TEST(the_last_user_of_the_process_own_runtime_may_be_an_actor_that_one_of_its_threads_frees)
{
    letter one;
    init_letter(&one, 'a');
    runtime = NULL;
    make_actor(.name = NULL);
    cen_future_init(&stopped);
    expect_equal(cen_future_then(&stopped, free_it, cen_inline()), CEN_OK);
    tell(&one);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL), CEN_OK);
    ceni_world_settle();
    expect_text(order, "af");
    expect_equal(ceni_world_waiting(), 0);
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_runtime_with_an_actor_cannot_be_freed)
{
    make_actor(.runtime = make_manual());
    expect_equal(cen_runtime_free(runtime), CEN_BUSY);
    finish();
}
