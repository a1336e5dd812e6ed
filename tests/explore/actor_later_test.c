/* SPDX-License-Identifier: MIT */
/* Messages for later under every schedule: their alarm, a cancel and a stop meet. */
#include "explore/actors.h"

static void tell_after(int i, int64_t delay_ns)
{
    expect_equal(cen_actor_tell_after(actor, &letters[i].message, delay_ns, NULL), CEN_OK);
}

static uint64_t queued(void)
{
    cen_actor_stats stats = CEN_SIZED(cen_actor_stats);
    expect_equal(cen_actor_stats_get(actor, &stats), CEN_OK);
    return stats.queued;
}

/* guarantees: actor.later */
EXPLORE(a_message_for_later_is_cancelled_or_handled_and_never_both, 4)
{
    make_actor(.name = NULL);
    tell_after(0, 0);
    bool cancelled = cen_message_cancel(&letters[0].message);
    if (!cancelled) await_handled(1);
    expect_equal(queued(), 0);
    cen_future stopped;
    cen_future_init(&stopped);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL), CEN_OK); /* the keeper may be in the turn */
    expect_equal(cen_future_wait(&stopped, CEN_NEVER), CEN_OK);
    expect_equal(handled(0), !cancelled);
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

static _Atomic uint32_t other_cancelled;

static void cancel_there(void *unused)
{
    (void)unused;
    ceni_store_seq_cst(&other_cancelled, cen_message_cancel(&letters[0].message));
}

/* guarantees: actor.later */
EXPLORE(of_two_who_cancel_a_message_for_later_at_most_one_is_told_so, 2)
{
    make_actor(.name = NULL);
    tell_after(0, 0);
    ceni_thread other = start("other", cancel_there, NULL);
    bool cancelled = cen_message_cancel(&letters[0].message);
    join(other);
    uint32_t count = cancelled + ceni_load_seq_cst(&other_cancelled);
    expect(count <= 1);
    if (count == 0) await_handled(1);
    cen_future stopped;
    cen_future_init(&stopped);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL), CEN_OK);
    expect_equal(cen_future_wait(&stopped, CEN_NEVER), CEN_OK);
    expect_equal(handled(0), 1 - count);
    expect_equal(cen_actor_free(actor), CEN_OK);
}

static void stop_against_alarm(cen_stop how)
{
    cen_future stopped;
    make_actor(.name = NULL);
    cen_future_init(&stopped);
    tell_after(0, 0);
    expect_equal(cen_actor_stop(actor, how, &stopped, NULL), CEN_OK);
    expect_equal(cen_future_wait(&stopped, CEN_NEVER), CEN_OK);
    expect_equal(handled(0) + dropped(0), 1);
    if (how == CEN_STOP_DRAIN) expect_equal(dropped(0), 0);
    expect_equal(cen_actor_free(actor), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: actor.stop */
EXPLORE(a_message_for_later_that_is_due_while_an_actor_is_drained_is_handled_once, 3)
{
    stop_against_alarm(CEN_STOP_DRAIN);
}

/* guarantees: actor.stop */
EXPLORE(a_message_for_later_that_is_due_while_an_actor_drops_is_handled_or_dropped_once, 3)
{
    stop_against_alarm(CEN_STOP_DROP);
}

/* Nobody waits for the moment, which never comes. */
/* guarantees: actor.stop */
EXPLORE(a_stop_does_not_wait_for_what_was_told_for_later, 3)
{
    cen_future stopped;
    make_actor(.name = NULL);
    cen_future_init(&stopped);
    tell_after(0, INT64_MAX);
    tell_after(1, INT64_MAX);
    ceni_thread other = start("other", cancel_there, NULL);
    expect_equal(cen_actor_stop(actor, CEN_STOP_DRAIN, &stopped, NULL), CEN_OK);
    expect_equal(cen_future_wait(&stopped, CEN_NEVER), CEN_OK);
    join(other);
    expect_equal(handled(0) + ceni_load_seq_cst(&other_cancelled), 1);
    expect_equal(handled(1), 1);
    expect_equal(cen_actor_free(actor), CEN_OK);
}
