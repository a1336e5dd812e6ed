/* SPDX-License-Identifier: MIT */
/* Sending, turns and answers, one thread at a time. */
#include "support/world.h"
#include "unit/actor/actors.h"

/* ---- Making one -------------------------------------------------------------------------- */

static void expect_refused(cen_actor_options options, const char *word)
{
    cen_actor *made = NULL;
    cen_error error = {.text = ""};
    expect_equal(cen_actor_new(&options, &made, &error), CEN_INVALID);
    expect(made == NULL);
    if (!strstr(error.text, word)) test_fail(__FILE__, __LINE__, "\"%s\" does not name %s", error.text, word);
}

TEST(options_that_make_no_sense_are_refused_by_name)
{
    cen_executor none = {NULL};
    cen_allocator half = {NULL, NULL, NULL};
    cen_actor_options usual = CEN_ACTOR_OPTIONS(.handle = handle_letter);
    expect_refused(CEN_ACTOR_OPTIONS(.name = NULL), "options.handle");
    expect_refused(CEN_ACTOR_OPTIONS(.handle = handle_letter, .executor = &none), "options.executor");
    expect_refused(CEN_ACTOR_OPTIONS(.handle = handle_letter, .slow_ns = -1), "options.slow_ns");
    expect_refused(CEN_ACTOR_OPTIONS(.handle = handle_letter, .allocator = &half), "options.allocator");
    expect_refused((cen_actor_options){.handle = handle_letter}, "options.size");
    expect_equal(cen_actor_new(NULL, &actor, NULL), CEN_INVALID);
    expect_equal(cen_actor_new(&usual, NULL, NULL), CEN_INVALID);
    expect_equal(cen_actor_free(NULL), CEN_OK);
}

TEST(calls_without_an_actor_or_a_message_are_invalid)
{
    letter one;
    cen_future future;
    cen_actor_stats stats = CEN_SIZED(cen_actor_stats);
    init_letter(&one, 'a');
    cen_future_init(&future);
    make_actor(.runtime = make_manual());
    expect_equal(cen_actor_tell(NULL, &one.message, NULL), CEN_INVALID);
    expect_equal(cen_actor_tell(actor, NULL, NULL), CEN_INVALID);
    expect_equal(cen_actor_ask(actor, &one.message, NULL, NULL), CEN_INVALID);
    expect_equal(cen_actor_ask(NULL, &one.message, &future, NULL), CEN_INVALID);
    expect_equal(cen_actor_tell_after(actor, NULL, 1, NULL), CEN_INVALID);
    expect_equal(cen_actor_stop(NULL, CEN_STOP_DRAIN, NULL, NULL), CEN_INVALID);
    expect_equal(cen_actor_stop(actor, (cen_stop)0, NULL, NULL), CEN_INVALID);
    expect_equal(cen_actor_stats_get(NULL, &stats), CEN_INVALID);
    expect_equal(cen_actor_stats_get(actor, NULL), CEN_INVALID);
    expect(!cen_message_cancel(NULL) && !cen_message_cancel(&one.message));
    expect(!cen_message_reply(NULL, NULL) && !cen_message_fail(NULL, NULL) && !cen_message_keep(NULL));
    expect(!cen_message_is_wanted(NULL));
    expect(cen_actor_executor(NULL) == NULL);
    cen_message_init(NULL, NULL);
    finish();
}

/* ---- Telling -------------------------------------------------------------------------------- */

/* guarantees: actor.one-at-a-time */
TEST(messages_are_handled_once_each_in_their_order)
{
    letter four[4];
    init_letters(four, 4);
    make_actor(.runtime = make_manual());
    for (int i = 0; i < 4; i++) tell(&four[i]);
    expect_text(order, "");
    expect_equal(look().queued, 4);
    poll();
    expect_text(order, "abcd");
    expect_equal(look().queued, 0);
    expect_equal(look().handled, 4);
    expect(!look().is_running);
    tell(&four[0]); /* it is the program's again */
    poll();
    expect_text(order, "abcda");
    finish();
}

static letter *others;

static void tell_two(letter *self)
{
    expect(look().is_running);
    tell(&others[0]);
    tell(&others[1]);
    tell(self); /* itself too: the handler has it */
    self->inside = NULL;
    expect_text(order, "c");
}

/* guarantees: actor.one-at-a-time */
TEST(what_the_handler_tells_its_own_actor_is_handled_after_it)
{
    letter three[3];
    init_letters(three, 3);
    make_actor(.runtime = make_manual());
    others = three;
    three[2].inside = tell_two;
    tell(&three[2]);
    poll();
    expect_text(order, "cabc");
    finish();
}

/* guarantees: actor.no-allocation */
TEST(telling_and_handling_need_no_memory)
{
    letter many[100];
    make_actor(.runtime = make_manual(), .capacity = 1000);
    uint64_t before = ceni_world_allocations();
    for (int i = 0; i < 100; i++) {
        init_letter(&many[i], '\0');
        tell(&many[i]);
    }
    poll();
    expect_equal(ceni_world_allocations(), before);
    finish();
}

TEST(a_message_that_is_on_its_way_cannot_be_sent_again)
{
    letter one;
    cen_future future;
    init_letter(&one, 'a');
    cen_future_init(&future);
    make_actor(.runtime = make_manual());
    tell(&one);
    expect_equal(cen_actor_tell(actor, &one.message, NULL), CEN_MISUSE);
    expect_equal(cen_actor_ask(actor, &one.message, &future, NULL), CEN_MISUSE);
    expect_equal(cen_actor_tell_after(actor, &one.message, 0, NULL), CEN_MISUSE);
    poll();
    expect_equal(one.handled, 1);
    finish();
}

/* guarantees: actor.capacity */
TEST(a_mailbox_takes_exactly_its_capacity_and_then_is_full)
{
    letter four[4];
    init_letters(four, 4);
    make_actor(.runtime = make_manual(), .capacity = 3);
    for (int i = 0; i < 3; i++) tell(&four[i]);
    expect_equal(cen_actor_tell(actor, &four[3].message, NULL), CEN_FULL);
    expect_equal(look().queued, 3);
    poll();
    tell(&four[3]); /* what was refused is still the sender's */
    poll();
    expect_text(order, "abcd");
    finish();
}

static void tell_until_full(letter *self)
{
    (void)self;
    tell(&others[1]);
    expect_equal(cen_actor_tell(actor, &others[2].message, NULL), CEN_FULL);
}

/* guarantees: actor.capacity */
TEST(the_message_that_is_being_handled_takes_no_place)
{
    letter three[3];
    init_letters(three, 3);
    make_actor(.runtime = make_manual(), .capacity = 1);
    others = three;
    three[0].inside = tell_until_full;
    tell(&three[0]);
    poll();
    expect_text(order, "ab");
    finish();
}

/* ---- Turns ------------------------------------------------------------------------------------ */

typedef struct bystander {
    cen_job job;
    size_t seen; /* how many had been handled when it ran */
} bystander;

static void stand_by(cen_job *job)
{
    ((bystander *)(void *)job)->seen = strlen(order);
}

/* guarantees: actor.batch */
TEST(after_a_batch_others_on_the_executor_come_first)
{
    letter seven[7];
    bystander other = {.job = {.run = stand_by}};
    init_letters(seven, 7);
    make_actor(.runtime = make_manual(), .batch = 3);
    for (int i = 0; i < 7; i++) tell(&seven[i]);
    cen_executor *executor = cen_runtime_executor(runtime);
    executor->post(executor, &other.job);
    poll();
    expect_equal(other.seen, 3);
    expect_text(order, "abcdefg");
    finish();
}

static void tell_itself(letter *self)
{
    if (self->handled < 5) tell(self);
}

/* guarantees: actor.batch */
TEST(a_batch_of_one_gives_way_after_every_message)
{
    letter one;
    bystander other = {.job = {.run = stand_by}};
    init_letter(&one, 'a');
    one.inside = tell_itself;
    make_actor(.runtime = make_manual(), .batch = 1);
    tell(&one);
    cen_executor *executor = cen_runtime_executor(runtime);
    executor->post(executor, &other.job);
    poll();
    expect_equal(other.seen, 1);
    expect_equal(one.handled, 5);
    finish();
}

TEST(an_actor_takes_its_turns_on_the_executor_that_is_named)
{
    letter two[2];
    cen_inbox *inbox;
    init_letters(two, 2);
    expect_equal(cen_inbox_new(NULL, &inbox, NULL), CEN_OK);
    make_actor(.runtime = make_manual(), .executor = cen_inbox_executor(inbox));
    tell(&two[0]);
    tell(&two[1]);
    poll();
    expect_text(order, "");
    expect_equal(cen_inbox_poll(inbox, 0), 1); /* one turn for both */
    expect_text(order, "ab");
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, NULL, NULL), CEN_OK);
    expect_equal(cen_inbox_poll(inbox, 0), 1);
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}

TEST(an_actor_on_the_inline_executor_handles_what_is_told_before_tell_returns)
{
    letter three[3];
    init_letters(three, 3);
    make_actor(.runtime = make_manual(), .executor = cen_inline());
    others = three;
    three[2].inside = tell_two;
    tell(&three[2]);
    expect_text(order, "cabc");
    finish();
}

static _Atomic uint64_t handler_thread;

static void note_thread(letter *self)
{
    (void)self;
    ceni_store_seq_cst(&handler_thread, ceni_thread_id());
}

TEST(an_actor_that_names_nothing_has_helpers_of_the_process_own_runtime_while_it_lives)
{
    letter one;
    cen_future stopped;
    cen_runtime_stats stats = CEN_SIZED(cen_runtime_stats);
    init_letter(&one, 'a');
    cen_future_init(&stopped);
    one.inside = note_thread;
    runtime = NULL;
    make_actor(.name = NULL);
    tell(&one);
    ceni_world_settle();
    expect_equal(one.handled, 1);
    expect(ceni_load_seq_cst(&handler_thread) != ceni_thread_id());
    expect_equal(cen_runtime_stats_get(NULL, &stats), CEN_OK);
    expect(stats.users == 1 && stats.helpers == 1);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL), CEN_OK);
    expect_equal(cen_future_wait(&stopped, CEN_NEVER), CEN_OK);
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(ceni_world_waiting(), 0);
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- Jobs ------------------------------------------------------------------------------------- */

TEST(jobs_posted_to_an_actor_run_among_its_messages_in_their_order)
{
    letter two[2];
    bystander job = {.job = {.run = stand_by}};
    init_letters(two, 2);
    make_actor(.runtime = make_manual(), .capacity = 2);
    cen_executor *executor = cen_actor_executor(actor);
    tell(&two[0]);
    executor->post(executor, &job.job);
    tell(&two[1]); /* a job takes no place */
    poll();
    expect_equal(job.seen, 1);
    expect_text(order, "ab");
    expect_equal(look().handled, 2);
    finish();
}

static void run_done(cen_future *future)
{
    expect_equal(depth, 0);
    note(*(const char *)future->value);
}

TEST(a_future_can_be_told_to_an_actor)
{
    letter one;
    cen_future future;
    cen_promise promise;
    init_letter(&one, 'a');
    make_actor(.runtime = make_manual());
    cen_future_init(&future);
    expect_equal(cen_promise_init(&promise, &future), CEN_OK);
    expect_equal(cen_future_then(&future, run_done, cen_actor_executor(actor)), CEN_OK);
    tell(&one);
    expect(cen_promise_complete(&promise, "x"));
    expect_text(order, "");
    poll();
    expect_text(order, "ax");
    finish();
}
