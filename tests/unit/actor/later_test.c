/* SPDX-License-Identifier: MIT */
/* Messages for later, in virtual time. */
#include "support/world.h"
#include "unit/actor/actors.h"

static void tell_after(letter *self, int64_t delay_ns)
{
    expect_equal(cen_actor_tell_after(actor, &self->message, delay_ns, NULL), CEN_OK);
}

static void advance(int64_t ns)
{
    expect_equal(cen_runtime_advance(runtime, ns), CEN_OK);
}

/* guarantees: actor.later */
TEST(a_message_for_later_is_handled_at_its_moment_and_not_a_nanosecond_earlier)
{
    letter one;
    init_letter(&one, 'a');
    make_actor(.runtime = make_manual());
    int64_t now = cen_runtime_now(runtime);
    tell_after(&one, 5 * second);
    expect_equal(look().queued, 1);
    advance(5 * second - 1);
    expect_equal(one.handled, 0);
    advance(1);
    expect_equal(one.handled, 1);
    expect_equal(one.at, now + 5 * second);
    expect_equal(look().queued, 0);
    finish();
}

TEST(messages_for_later_come_in_the_order_of_their_moments)
{
    letter three[3];
    init_letters(three, 3);
    make_actor(.runtime = make_manual());
    tell_after(&three[0], 3 * second);
    tell_after(&three[1], 1 * second);
    tell_after(&three[2], 0);
    advance(4 * second);
    expect_text(order, "cba");
    finish();
}

static void again_in_a_second(letter *self)
{
    if (self->handled < 4) tell_after(self, second);
}

TEST(a_handler_can_send_itself_a_message_for_later)
{
    letter tick;
    init_letter(&tick, 't');
    tick.inside = again_in_a_second;
    make_actor(.runtime = make_manual());
    int64_t now = cen_runtime_now(runtime);
    tell(&tick);
    advance(10 * second);
    expect_equal(tick.handled, 4);
    expect_equal(tick.at, now + 3 * second);
    finish();
}

/* guarantees: actor.later */
TEST(a_message_for_later_that_is_cancelled_is_not_handled_and_can_be_sent_again)
{
    letter one;
    init_letter(&one, 'a');
    make_actor(.runtime = make_manual(), .capacity = 1);
    tell_after(&one, second);
    expect(cen_message_cancel(&one.message));
    expect(!cen_message_cancel(&one.message));
    expect_equal(look().queued, 0);
    advance(2 * second);
    expect_equal(one.handled, 0);
    tell(&one);
    expect(!cen_message_cancel(&one.message)); /* it was not told for later */
    poll();
    expect_equal(one.handled, 1);
    tell_after(&one, second);
    advance(second);
    expect(!cen_message_cancel(&one.message));
    expect_equal(one.handled, 2);
    finish();
}

/* guarantees: actor.capacity */
TEST(a_message_for_later_has_its_place_from_the_beginning)
{
    letter two[2];
    init_letters(two, 2);
    make_actor(.runtime = make_manual(), .capacity = 1);
    tell_after(&two[0], second);
    expect_equal(cen_actor_tell(actor, &two[1].message, NULL), CEN_FULL);
    expect_equal(cen_actor_tell_after(actor, &two[1].message, second, NULL), CEN_FULL);
    advance(second);
    expect_equal(two[0].handled, 1);
    tell(&two[1]);
    poll();
    finish();
}

TEST(a_negative_delay_is_invalid_and_an_endless_one_never_comes)
{
    letter one;
    init_letter(&one, 'a');
    make_actor(.runtime = make_manual());
    expect_equal(cen_actor_tell_after(actor, &one.message, -1, NULL), CEN_INVALID);
    tell_after(&one, INT64_MAX);
    advance(1000000 * second);
    expect_equal(one.handled, 0);
    expect(cen_message_cancel(&one.message));
    finish();
}

TEST(a_drain_handles_at_once_what_was_told_for_later)
{
    letter three[3];
    init_letters(three, 3);
    make_actor(.runtime = make_manual());
    tell_after(&three[0], 3600 * second);
    tell_after(&three[1], 60 * second);
    tell(&three[2]);
    int64_t now = cen_runtime_now(runtime);
    finish();
    expect_text(order, "cab");
    expect_equal(three[0].at, now);
}

TEST(a_drop_drops_what_was_told_for_later)
{
    letter two[2];
    init_letters(two, 2);
    make_actor(.runtime = make_manual());
    tell_after(&two[0], second);
    tell_after(&two[1], second);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DROP, NULL, NULL), CEN_OK);
    expect(!cen_message_cancel(&two[0].message)); /* it is mailed */
    poll();
    expect_text(order, "AB");
    advance(2 * second);
    expect_text(order, "AB");
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
}
