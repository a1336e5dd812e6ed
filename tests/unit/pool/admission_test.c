/* SPDX-License-Identifier: MIT */
/* Who may wait: every refusal says its cause and when to try again, and what it does not know it does not refuse. */
#include "unit/pool/comers.h"

/* ---- How quickly the line is served ------------------------------------------------------------ */

/* A pool of one object whose line was served every `step`: the estimate is exact. */
static cen_lease begin_paced(cen_pool_options options, int64_t step)
{
    cen_lease lease = begin_with(options);
    for (int i = 0; i < 4; i++) come('A', i % 2 ? PENDING : THREAD, CEN_PRIORITY_NORMAL);
    for (int i = 0; i < 4; i++) {
        ceni_world_advance(step);
        give_back(&lease);
        lease = lease_of(next_told());
    }
    return lease;
}

#define begin_pace(step, ...) begin_paced((cen_pool_options){__VA_ARGS__}, step)

static int64_t estimate(void)
{
    return expect_sound(pool).estimated_wait_ns;
}

/* guarantees: overload.estimate */
TEST(the_estimate_is_the_number_of_those_who_come_first_and_one_times_the_time_between_two_servings)
{
    cen_lease lease = begin_pace(10 * MS, .max_barging_ns = 0);
    expect_equal(estimate(), 10 * MS);
    come('A', THREAD, CEN_PRIORITY_NORMAL);
    come('B', PENDING, CEN_PRIORITY_HIGH);
    expect_equal(estimate(), 30 * MS);
    come('C', THREAD, CEN_PRIORITY_LOW); /* behind a normal one ... */
    expect_equal(estimate(), 30 * MS);
    ceni_world_advance(5 * MS);
    expect_equal(estimate(), 30 * MS);
    ceni_world_advance(95 * MS); /* ... until it has waited for long, and nobody was served in this time */
    expect_equal(estimate(), 100 * MS);
    expect_order(&lease, "BAC");
    free_pool(pool);
}

/* guarantees: overload.estimate */
TEST(of_a_long_line_of_low_ones_those_count_that_have_waited_for_long)
{
    cen_lease lease = begin_pace(1 * MS, .aging_ns = 50 * MS);
    for (int i = 0; i < 21; i++) {
        come('L', PENDING, CEN_PRIORITY_LOW);
        ceni_world_advance(i < 20 ? 5 * MS : 0);
    }
    ceni_waiters_lock(pool->waiters);
    ceni_pool_waiter normal = {.priority = CEN_PRIORITY_NORMAL}, high = {.priority = CEN_PRIORITY_HIGH},
                     low = {.priority = CEN_PRIORITY_LOW};
    int64_t now = ceni_clock_now();
    expect_equal(ceni_turn_ahead_locked(pool, &low, now), 21);
    expect_equal(ceni_turn_ahead_locked(pool, &normal, now), 11); /* who came 50 ms ago or before */
    expect_equal(ceni_turn_ahead_locked(pool, &high, now), 1);
    expect_equal(ceni_turn_ahead_locked(pool, &high, now + 100 * MS), 21);
    expect_equal(ceni_turn_ahead_locked(pool, &normal, now - 51 * MS), 0);
    ceni_waiters_unlock(pool->waiters);
    expect_order(&lease, "LLLLLLLLLLLLLLLLLLLLL");
    free_pool(pool);
}

/* guarantees: overload.estimate */
TEST(the_average_follows_and_the_latest_counts_most)
{
    cen_lease lease = begin_pace(8 * MS, .max_barging_ns = 0);
    come('A', THREAD, CEN_PRIORITY_NORMAL);
    ceni_world_advance(16 * MS);
    expect_order(&lease, "A");
    expect_equal(estimate(), 9 * MS);
    free_pool(pool);
}

/* ---- Too late --------------------------------------------------------------------------------------- */

static comer *refused(cen_priority priority, cen_deadline deadline)
{
    comer *self = come_until('X', THREAD, priority, deadline);
    ceni_world_settle();
    return self->told && next_told() == self ? self : NULL;
}

/* guarantees: overload.refusal */
TEST(a_take_that_would_be_served_after_its_deadline_is_refused_at_once_and_told_when_to_try_again)
{
    cen_lease lease = begin_pace(10 * MS, .refuse_late = true);
    come('A', THREAD, CEN_PRIORITY_NORMAL);
    come('B', PENDING, CEN_PRIORITY_NORMAL);
    comer *late = refused(CEN_PRIORITY_NORMAL, cen_in_ns(30 * MS - 1));
    expect(late && late->status == CEN_OVERLOAD);
    const cen_error *error = &late->take.error;
    expect(error->status == CEN_OVERLOAD && error->cause == CEN_CAUSE_LATE && error->retry_after_ns == 1);
    expect_error(error, CEN_OVERLOAD, "refused at once: the estimated wait exceeds the deadline (refuse_late)");
    late = refused(CEN_PRIORITY_NORMAL, cen_in_ms(12));
    expect(late && late->take.error.retry_after_ns == 18 * MS);
    expect_error(&late->take.error, CEN_OVERLOAD, "; try again in about 18 ms. Exhausted: ");
    expect(!refused(CEN_PRIORITY_NORMAL, cen_in_ms(30))); /* exactly in time: it waits */
    expect(!refused(CEN_PRIORITY_HIGH, cen_in_ms(12)));   /* comes first */
    cen_pool_stats s = expect_sound(pool);
    expect(s.refused_late == 2 && s.refused == 0 && s.waited == 8);
    char text[2000];
    cen_pool_explain(pool, text, sizeof text);
    expect(strstr(text, "Takes refused because of their deadlines (refuse_late): 2.\n"));
    expect_order(&lease, "XABX");
    free_pool(pool);
}

/* guarantees: overload.estimate */
TEST(
    nobody_is_refused_who_has_no_deadline_or_finds_nobody_in_line_or_before_anything_is_known_or_while_the_pool_is_paused)
{
    cen_lease lease = begin_one(.refuse_late = true);
    come('A', THREAD, CEN_PRIORITY_NORMAL);
    ceni_world_advance(SECOND);
    expect(!refused(CEN_PRIORITY_NORMAL, cen_in_ns(1))); /* nobody was served yet */
    ceni_world_advance(1);
    expect(next_told()->status == CEN_TIMEOUT);
    expect_order(&lease, "A");
    free_pool(pool);

    lease = begin_pace(10 * MS, .refuse_late = true);
    expect(!refused(CEN_PRIORITY_NORMAL, cen_in_ms(1))); /* nobody is in line: this is how it is learnt */
    expect(!refused(CEN_PRIORITY_NORMAL, CEN_NEVER));
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    expect(!refused(CEN_PRIORITY_NORMAL, cen_in_ms(1)));
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
    expect(refused(CEN_PRIORITY_NORMAL, cen_in_ms(1)));
    comer *past = refused(CEN_PRIORITY_NORMAL, cen_at(ceni_clock_now() - 1));
    expect(past && past->status == CEN_TIMEOUT);
    ceni_world_advance(MS);
    expect_equal(next_told()->status, CEN_TIMEOUT);
    expect_equal(next_told()->status, CEN_TIMEOUT);
    expect_order(&lease, "X");
    free_pool(pool);
}

/* guarantees: overload.estimate */
TEST(while_nobody_is_served_the_estimate_grows)
{
    cen_lease lease = begin_pace(1 * MS, .refuse_late = true);
    come('A', THREAD, CEN_PRIORITY_NORMAL);
    expect(!refused(CEN_PRIORITY_NORMAL, cen_in_s(2)));
    ceni_world_advance(SECOND);
    comer *late = refused(CEN_PRIORITY_NORMAL, cen_in_ms(900));
    expect(late && late->take.error.retry_after_ns == 100 * MS);
    expect_order(&lease, "AX");
    free_pool(pool);
}

/* guarantees: overload.estimate */
TEST(a_time_in_which_the_pool_was_paused_does_not_count)
{
    cen_lease lease = begin_pace(10 * MS, .max_barging_ns = 0);
    come('A', THREAD, CEN_PRIORITY_NORMAL);
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    ceni_world_advance(SECOND);
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
    ceni_world_advance(10 * MS);
    expect_order(&lease, "A");
    expect_equal(estimate(), 10 * MS);
    free_pool(pool);
}

/* ---- The other rules --------------------------------------------------------------------------------- */

/* guarantees: overload.refusal */
TEST(a_full_line_says_in_which_time_it_would_be_served)
{
    cen_lease lease = begin_pace(10 * MS, .max_waiters = 4);
    for (int i = 0; i < 4; i++) come('A', THREAD, CEN_PRIORITY_NORMAL);
    comer *full = refused(CEN_PRIORITY_NORMAL, CEN_NEVER);
    expect(full && full->status == CEN_FULL && full->take.error.cause == CEN_CAUSE_QUEUE_FULL);
    expect_equal(full->take.error.retry_after_ns, 50 * MS);
    expect(full->take.error.current == 4 && full->take.error.max == 4);
    full = refused(CEN_PRIORITY_HIGH, CEN_NEVER); /* a high one is refused as well, and would be served sooner */
    expect(full && full->take.error.retry_after_ns == 10 * MS);
    expect(expect_sound(pool).refused == 2);
    expect_order(&lease, "AAAA");
    free_pool(pool);
}

/* More may wait than the limit says, once it was made smaller. */
TEST(a_full_line_says_how_many_wait_and_how_many_may)
{
    cen_lease lease = begin_one(.max_waiters = 3), other;
    for (int i = 0; i < 3; i++) come('A', THREAD, CEN_PRIORITY_NORMAL);
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &options), CEN_OK);
    options.max_waiters = 2;
    expect_equal(cen_pool_options_set(pool, &options, NULL), CEN_OK);
    cen_error error = {.current = 77, .max = 77};
    expect_equal(cen_pool_take(pool, cen_in_ms(1), &other, &error), CEN_FULL);
    expect_equal(error.current, 3);
    expect_equal(error.max, 2);
    expect_equal(cen_pool_take(pool, CEN_NOW, &other, &error), CEN_TIMEOUT);
    expect(error.current == 0 && error.max == 0);
    expect_order(&lease, "AAA");
    free_pool(pool);
}

/* The first limit in order is named, though others would refuse, too. */
/* guarantees: overload.refusal */
TEST(max_waiters_is_asked_before_the_deadline)
{
    cen_lease lease = begin_pace(10 * MS, .max_waiters = 4, .refuse_late = true);
    for (int i = 0; i < 4; i++) come('A', THREAD, CEN_PRIORITY_NORMAL);
    comer *full = refused(CEN_PRIORITY_NORMAL, cen_in_ms(1));
    expect(full && full->status == CEN_FULL && full->take.error.cause == CEN_CAUSE_QUEUE_FULL);
    expect_order(&lease, "AAAA");
    free_pool(pool);
}

/* guarantees: overload.refusal */
TEST(one_that_is_refused_because_nothing_can_be_opened_is_told_when_that_is_tried_again)
{
    static workshop shop;
    shop = (workshop){.fail_from = 1, .fail_to = 1000};
    comer_count = 0;
    pool = make_pool(.max = 1, .driver = driver_of(&shop), .breaker_failures = 1, .backoff_initial_ns = 100 * MS,
                     .breaker_wait_ns = CEN_OFF);
    cen_error error = {.cause = CEN_CAUSE_SHED, .retry_after_ns = 5};
    cen_lease lease;
    /* its own opening failed: it was not refused */
    expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, &error), CEN_DRIVER);
    expect(error.cause == CEN_CAUSE_OPENING_FAILED && error.retry_after_ns == 0);
    int64_t next = expect_sound(pool).next_open_ns;
    expect(next > 0 && next <= 100 * MS);
    expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, &error), CEN_DRIVER);
    expect(error.cause == CEN_CAUSE_BREAKER_OPEN && error.retry_after_ns == next);
    free_pool(pool);
}

/* guarantees: overload.refusal */
TEST(a_timeout_and_a_misuse_are_no_refusal_and_an_error_that_is_used_again_forgets_its_cause)
{
    cen_lease lease = begin_one(.max_waiters = 1), other;
    come('A', THREAD, CEN_PRIORITY_NORMAL);
    cen_error error;
    expect_equal(cen_pool_take(pool, cen_in_ms(1), &other, &error), CEN_FULL);
    expect(error.cause == CEN_CAUSE_QUEUE_FULL && error.retry_after_ns > 0);
    expect_equal(cen_pool_take(pool, CEN_NOW, &other, &error), CEN_TIMEOUT);
    expect(error.cause == CEN_CAUSE_SELF_WAIT && error.retry_after_ns == 0);
    expect_equal(cen_pool_take(pool, cen_in_ms(1), &other, &error), CEN_FULL);
    expect_equal(cen_pool_take(NULL, CEN_NOW, &other, &error), CEN_INVALID);
    expect(error.cause == CEN_CAUSE_NONE && error.retry_after_ns == 0);
    expect_order(&lease, "A");
    free_pool(pool);
}

TEST(the_options_have_defaults_and_can_be_changed_and_what_is_wrong_is_named)
{
    pool = make_pool(.max = 1);
    cen_pool_options o = CEN_SIZED(cen_pool_options), bad = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &o), CEN_OK);
    expect(o.aging_ns == 100 * MS && o.shed_target_ns == CEN_OFF && o.shed_interval_ns == 100 * MS && !o.refuse_late);
    o.shed_target_ns = 5 * MS;
    o.shed_interval_ns = 50 * MS;
    o.refuse_late = true;
    expect_equal(cen_pool_options_set(pool, &o, NULL), CEN_OK);
    expect_equal(cen_pool_options_get(pool, &bad), CEN_OK);
    expect(bad.shed_target_ns == 5 * MS && bad.shed_interval_ns == 50 * MS && bad.refuse_late);
    cen_error error;
    bad.shed_target_ns = -2;
    expect_equal(cen_pool_options_set(pool, &bad, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "options.shed_target_ns");
    bad = o;
    bad.shed_interval_ns = CEN_OFF;
    expect_equal(cen_pool_options_set(pool, &bad, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "options.shed_interval_ns");
    free_pool(pool);
}
