/* SPDX-License-Identifier: MIT */
/* What whoever watches is told of an actor. */
#include "support/description.h"
#include "support/world.h"
#include "unit/actor/actors.h"

static description inside;

static void draw_itself(letter *self)
{
    (void)self;
    cen_runtime_advance(runtime, 0); /* refused from in here: time stands still while a message is handled */
    description_take(&inside, "actor", "clerk", 10);
}

TEST(an_idle_actor_shows_its_settings_and_one_that_handles_what_and_for_how_long)
{
    letter one;
    description s;
    make_actor(.name = "clerk", .runtime = make_manual(), .capacity = 9, .batch = 3, .slow_ns = second);
    init_letter(&one, 'a');
    one.inside = draw_itself;
    description_take(&s, "actor", "clerk", 10);
    expect_text(description_words(&s, "state"), "idle");
    expect_equal(description_number(&s, "capacity"), 9);
    expect_equal(description_number(&s, "batch"), 3);
    expect_equal(description_number(&s, "slow_ns"), second);
    expect(!description_has(&s, "message"));
    description_drop(&s);
    tell(&one);
    expect_equal(metric_of("actor", "clerk", "queued"), 1);
    expect_equal(metric_of("actor", "clerk", "running"), 0);
    poll();
    expect_text(description_words(&inside, "state"), "running");
    expect_text(description_words(&inside, "message"), "letter");
    expect_equal(description_number(&inside, "handled_for_ns"), 0);
    description_drop(&inside);
    expect_equal(metric_of("actor", "clerk", "handled"), 1);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, NULL, NULL), CEN_OK);
    poll();
    description_take(&s, "actor", "clerk", 10);
    expect_text(description_words(&s, "state"), "stopped");
    expect(description_truth(&s, "stopped"));
    description_drop(&s);
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

static void rest(letter *self)
{
    (void)self;
    ceni_sleep_until(ceni_clock_now() + 5 * second);
}

TEST(how_long_a_message_has_been_handled_is_shown_while_it_is_also_after_it_was_reported)
{
    letter one;
    description s;
    runtime = NULL;
    events_begin();
    make_actor(.name = "sleeper", .slow_ns = 2 * second);
    init_letter(&one, 'a');
    one.message.name = "siesta";
    one.inside = rest;
    tell(&one);
    ceni_world_settle();
    for (int64_t seconds = 1; seconds < 5; seconds += 2) {
        ceni_sleep_until(one.at + seconds * second);
        description_take(&s, "actor", "sleeper", 10);
        expect_text(description_words(&s, "message"), "siesta");
        expect_equal(description_number(&s, "handled_for_ns"), seconds * second);
        description_drop(&s);
    }
    cen_future stopped;
    cen_future_init(&stopped);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL), CEN_OK);
    expect_equal(cen_future_wait(&stopped, CEN_NEVER), CEN_OK);
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_event("actor", "message_slow", CEN_LEVEL_WARNING, "actor \"sleeper\": handling siesta has taken 2.000 s");
    expect_event("actor", "stopped", CEN_LEVEL_DETAIL, "messages sent before are handled");
}
