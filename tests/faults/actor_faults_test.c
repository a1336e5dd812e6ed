/* SPDX-License-Identifier: MIT */
/* Actors when memory or threads cannot be had: nothing leaks, and what was let in is handled. */
#include "support/faults.h"
#include "support/world.h"
#include "unit/actor/actors.h"

static void end_it(void)
{
    if (!actor) return;
    cen_future stopped;
    cen_future_init(&stopped);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL), CEN_OK);
    expect_equal(cen_future_wait(&stopped, CEN_NEVER), CEN_OK);
    expect_equal(cen_actor_free(actor), CEN_OK);
    actor = NULL;
}

static cen_status make_one(void)
{
    cen_error error = {.status = CEN_OK};
    cen_actor_options options = CEN_ACTOR_OPTIONS(.handle = handle_letter, .argument = &order);
    cen_status status = cen_actor_new(&options, &actor, &error);
    expect(status == CEN_OK || (error.status == status && strstr(error.text, "cen_actor_new: ")));
    return status;
}

static const char *nothing_was_made(cen_status status)
{
    return status != CEN_NO_MEMORY ? "it does not say NO_MEMORY" : actor ? "the output was written" : NULL;
}

TEST(an_actor_that_gets_no_memory_leaves_nothing_behind)
{
    fault_sweep sweep = {.mask = CENI_FAULT_ALLOC, .operation = make_one, .check = nothing_was_made, .undo = end_it};
    expect_equal(fault_sweep_check(&sweep), 2);
}

/* guarantees: actor.later */
TEST(a_message_for_later_for_which_nobody_keeps_time_is_refused_and_can_be_sent_again)
{
    letter one;
    init_letter(&one, 'a');
    runtime = NULL;
    make_actor(.name = NULL);
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    expect_equal(cen_actor_tell_after(actor, &one.message, second, NULL), CEN_SYSTEM);
    expect(ceni_fault_disarm());
    expect_equal(look().queued, 0);
    expect(!cen_message_cancel(&one.message));
    expect_equal(cen_actor_tell_after(actor, &one.message, second, NULL), CEN_OK);
    ceni_sleep_until(ceni_clock_now() + 2 * second);
    ceni_world_settle();
    expect_equal(one.handled, 1);
    end_it();
}

TEST(what_is_told_while_no_thread_can_be_had_is_handled_when_one_can)
{
    letter one;
    init_letter(&one, 'a');
    runtime = NULL;
    make_actor(.name = NULL);
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    tell(&one);
    expect(ceni_fault_disarm());
    ceni_world_settle();
    expect_equal(one.handled, 0);
    ceni_sleep_until(ceni_clock_now() + second);
    ceni_world_settle();
    expect_equal(one.handled, 1);
    end_it();
    expect_equal(ceni_world_bytes(), 0);
}

static void sleep_long(letter *self)
{
    (void)self;
    ceni_sleep_until(ceni_clock_now() + 3 * second);
}

static _Atomic uint32_t reports;

static void note_slow(void *argument, const char *text, const char *message, int64_t ns)
{
    (void)argument, (void)text, (void)message, (void)ns;
    ceni_add_seq_cst(&reports, 1);
}

/* The helper is the first thread, the keeper the second. */
TEST(a_slow_message_that_nobody_watched_is_reported_when_it_has_been_handled)
{
    letter one;
    init_letter(&one, 'a');
    one.inside = sleep_long;
    runtime = NULL;
    make_actor(.slow_ns = second, .slow = note_slow);
    ceni_fault_arm(CENI_FAULT_THREAD, 2);
    tell(&one);
    ceni_world_settle();
    expect(ceni_fault_disarm());
    ceni_sleep_until(ceni_clock_now() + 2 * second);
    expect_equal(ceni_load_seq_cst(&reports), 0);
    ceni_sleep_until(ceni_clock_now() + 2 * second);
    ceni_world_settle();
    expect_equal(ceni_load_seq_cst(&reports), 1);
    end_it();
}
