/* SPDX-License-Identifier: MIT */
/* Openings that fail: back-off, breaker, who is told what, and recovery (L11). */
#include "unit/pool/scripted.h"

static script s;

static void fail_opens(void)
{
    s = (script){.of[CALL_OPEN] = {.fail_from = 1, .fail_to = UINT32_MAX, .failure = CEN_SYSTEM, .code = 111}};
    s.of[CALL_OPEN].text = "nobody listens";
}

static void expect_cause(taker *one)
{
    expect_answer(one, CEN_SYSTEM);
    expect_equal(one->error.code, 111);
    expect_error(&one->error, CEN_SYSTEM, "nobody listens");
}

/* ---- Back-off ----------------------------------------------------------------------------- */

TEST(L11_after_a_failure_the_next_opening_waits_for_up_to_twice_as_long_as_the_last)
{
    fail_opens();
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2, .backoff_least_ns = 100 * MS, .backoff_most_ns = 1600 * MS,
                                .breaker_failures = CEN_OFF);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    int64_t bound = 100 * MS;
    for (unsigned failures = 1; failures <= 8; failures++) {
        cen_pool_stats n = look(pool);
        expect_equal(s.of[CALL_OPEN].calls, failures);
        expect(n.open_failures == failures && n.open_failed == failures && n.waiting == 1);
        expect(n.next_open_ns > 0 && n.next_open_ns <= bound);
        if (n.next_open_ns > 1) pass(n.next_open_ns - 1);
        expect_equal(s.of[CALL_OPEN].calls, failures);
        pass(1);
        bound = bound * 2 < 1600 * MS ? bound * 2 : 1600 * MS;
    }
    recover(&s, CALL_OPEN);
    pass(1600 * MS);
    expect_taken(&one, 1);
    expect_equal(look(pool).open_failures, 0);
    give_back(&one.lease);
    end_life(&s, pool);
}

TEST(F_a_server_that_is_down_for_ten_minutes_is_asked_about_once_a_second_and_not_in_a_loop)
{
    fail_opens();
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 8, .openers = 8, .breaker_failures = CEN_OFF);
    taker takers[4];
    for (int i = 0; i < 4; i++) begin_take(&takers[i], pool, CEN_NEVER);
    pass(600 * SECOND);
    expect(s.of[CALL_OPEN].calls > 300 && s.of[CALL_OPEN].calls < 900);
    expect(s.of[CALL_OPEN].most <= 4);
    recover(&s, CALL_OPEN);
    pass(3 * SECOND);
    for (int i = 0; i < 4; i++) expect_answer(&takers[i], CEN_OK);
    for (int i = 0; i < 4; i++) give_back(&takers[i].lease);
    end_life(&s, pool);
}

TEST(L7_a_take_keeps_its_deadline_although_nothing_can_be_opened)
{
    fail_opens();
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 1, .breaker_failures = CEN_OFF);
    taker one;
    begin_take(&one, pool, cen_in_s(2));
    pass(2 * SECOND - 1);
    expect_waiting(&one);
    pass(1);
    expect_answer(&one, CEN_TIMEOUT);
    end_life(&s, pool);
}

TEST(D_fifty_openings_that_failed_leave_room_for_max_objects)
{
    s = (script){.of[CALL_OPEN] = {.fail_from = 1, .fail_to = 50}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 3, .backoff_least_ns = CEN_OFF);
    cen_lease leases[3];
    for (int i = 0; i < 3; i++) leases[i] = take(pool);
    cen_pool_stats n = look(pool);
    expect(n.open_failed == 50 && n.opened == 3 && n.held == 3 && n.opening == 0);
    for (int i = 0; i < 3; i++) give_back(&leases[i]);
    end_life(&s, pool);
}

/* ---- Breaker -------------------------------------------------------------------------------- */

TEST(L11_when_the_breaker_opens_all_who_wait_for_an_opening_only_are_told_the_cause_at_once)
{
    fail_opens();
    s.of[CALL_OPEN].hang_from = 3, s.of[CALL_OPEN].hang_to = 3;
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 5, .openers = 1, .breaker_failures = 3, .open_timeout_ns = CEN_OFF,
                                .backoff_most_ns = 100 * MS, .backoff_least_ns = 100 * MS);
    taker takers[3];
    for (int i = 0; i < 3; i++) begin_take(&takers[i], pool, CEN_NEVER);
    pass(SECOND);
    cen_pool_stats n = look(pool);
    expect(n.open_failures == 2 && n.breaker == CEN_BREAKER_CLOSED && n.waiting == 3 && n.opening == 1);
    let_all_go(&s, CALL_OPEN);
    for (int i = 0; i < 3; i++) expect_cause(&takers[i]);
    n = look(pool);
    expect(n.breaker == CEN_BREAKER_OPEN && n.failed == 3 && n.waiting == 0 && n.opening == 0);
    int64_t began = cen_clock(); /* and whoever comes later hears the same, and asks nobody */
    cen_lease lease;
    cen_error error;
    expect_equal(cen_pool_take(pool, cen_in_s(9), &lease, &error), CEN_SYSTEM);
    expect_error(&error, CEN_SYSTEM, "nobody listens");
    expect_equal(cen_clock(), began);
    expect_equal(s.of[CALL_OPEN].calls, 3);
    end_life(&s, pool);
}

TEST(L11_while_an_object_is_out_those_who_wait_go_on_waiting_and_get_it)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 3, .breaker_failures = 1);
    cen_lease held = take(pool);
    fail_all(&s, CALL_OPEN);
    taker one, two;
    begin_take(&one, pool, CEN_NEVER);
    expect_equal(look(pool).breaker, CEN_BREAKER_OPEN);
    begin_take(&two, pool, CEN_NEVER);
    pass(60 * SECOND);
    expect_waiting(&one);
    expect_waiting(&two);
    give_back(&held);
    expect_taken(&one, 1);
    give_back(&one.lease);
    expect_taken(&two, 1);
    give_back(&two.lease);
    end_life(&s, pool);
}

/* The last live object goes while the breaker is open: now nothing will come. */
TEST(L11_those_who_wait_are_told_when_the_last_object_is_gone_while_the_breaker_is_open)
{
    s = (script){.of[CALL_OPEN] = {.failure = CEN_SYSTEM, .code = 111, .text = "nobody listens"}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 3, .breaker_failures = 1, .backoff_least_ns = 600 * SECOND);
    cen_lease held = take(pool);
    fail_all(&s, CALL_OPEN);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_equal(look(pool).breaker, CEN_BREAKER_OPEN);
    expect_equal(cen_pool_discard(&held), CEN_OK);
    ceni_world_settle();
    expect_cause(&one);
    end_life(&s, pool);
}

TEST(L11_after_the_back_off_the_first_who_comes_probes_and_the_others_are_refused_meanwhile)
{
    fail_opens();
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 5, .breaker_failures = 1, .open_timeout_ns = CEN_OFF);
    taker one, two;
    begin_take(&one, pool, CEN_NEVER);
    expect_cause(&one);
    pass(look(pool).next_open_ns);
    expect_equal(look(pool).breaker, CEN_BREAKER_PROBING);
    pass(100 * SECOND);
    expect_equal(s.of[CALL_OPEN].calls, 1); /* nobody wants anything: nobody is asked */
    s.of[CALL_OPEN].hang_from = 2, s.of[CALL_OPEN].hang_to = 2;
    begin_take(&one, pool, CEN_NEVER);
    expect_waiting(&one);
    expect_equal(s.of[CALL_OPEN].in_flight, 1);
    begin_take(&two, pool, CEN_NEVER);
    expect_cause(&two);
    let_all_go(&s, CALL_OPEN);
    expect_cause(&one);
    expect_equal(look(pool).breaker, CEN_BREAKER_OPEN);
    pass(look(pool).next_open_ns);
    recover(&s, CALL_OPEN);
    begin_take(&one, pool, CEN_NEVER);
    expect_taken(&one, 1);
    cen_pool_stats n = look(pool);
    expect(n.breaker == CEN_BREAKER_CLOSED && n.open_failures == 0 && n.open_failed == 2);
    give_back(&one.lease);
    end_life(&s, pool);
}

TEST(G_after_an_outage_a_server_sees_1_2_4_openings_at_a_time_and_not_all)
{
    s = (script){.of[CALL_OPEN] = {.fail_from = 1, .fail_to = 1, .hang_from = 2, .hang_to = 99}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 12, .openers = 12, .breaker_failures = CEN_OFF, .open_timeout_ns = CEN_OFF,
                                .overtake_ns = CEN_OFF);
    taker takers[12];
    begin_take(&takers[0], pool, CEN_NEVER);
    for (int i = 1; i < 12; i++) begin_take(&takers[i], pool, CEN_NEVER);
    expect_equal(s.of[CALL_OPEN].calls, 1);
    pass(SECOND);
    static const unsigned at_a_time[] = {1, 2, 4, 8};
    for (unsigned i = 0; i < 4; i++) {
        expect_equal(s.of[CALL_OPEN].in_flight, at_a_time[i]);
        let_go(&s, CALL_OPEN, 2 + i);
    }
    let_all_go(&s, CALL_OPEN);
    for (int i = 0; i < 12; i++) expect_answer(&takers[i], CEN_OK);
    for (int i = 0; i < 12; i++) give_back(&takers[i].lease);
    end_life(&s, pool);
}

/* ---- Drivers that do not block ------------------------------------------------------------------- */

TEST(an_inline_driver_has_no_back_off_unless_it_is_asked_for)
{
    fail_opens();
    cen_pool *pool = begin_life(&s, 0, .max = 1);
    cen_lease lease;
    for (unsigned i = 1; i <= 20; i++) {
        expect_equal(cen_pool_take(pool, cen_in_s(1), &lease, NULL), CEN_SYSTEM);
        expect_equal(s.of[CALL_OPEN].calls, i);
    }
    expect_equal(look(pool).breaker, CEN_BREAKER_CLOSED);
    end_life(&s, pool);
}

TEST(with_back_off_an_inline_driver_is_asked_by_a_waiting_take_when_the_time_has_come)
{
    fail_opens();
    cen_pool *pool = begin_life(&s, 0, .max = 1, .backoff_least_ns = SECOND);
    cen_lease lease;
    expect_equal(cen_pool_take(pool, cen_in_s(9), &lease, NULL), CEN_SYSTEM);
    recover(&s, CALL_OPEN);
    int64_t next = look(pool).next_open_ns;
    expect(next > 0 && next <= SECOND);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    if (next > 1) pass(next - 1);
    expect_waiting(&one);
    pass(1);
    expect_taken(&one, 1);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* The gate admits one; when that has succeeded it admits more, and those who wait must hear of it. */
TEST(L3_after_the_first_success_of_an_inline_driver_those_who_wait_open_too)
{
    s = (script){.of[CALL_OPEN] = {.fail_from = 1, .fail_to = 1, .hang_from = 2, .hang_to = 2}};
    cen_pool *pool = begin_life(&s, 0, .max = 4, .backoff_least_ns = SECOND);
    taker takers[3];
    begin_take(&takers[0], pool, CEN_NEVER);
    expect_answer(&takers[0], CEN_DRIVER);
    pass(SECOND);
    for (int i = 0; i < 3; i++) begin_take(&takers[i], pool, CEN_NEVER);
    expect_equal(s.of[CALL_OPEN].in_flight, 1);
    let_all_go(&s, CALL_OPEN);
    for (int i = 0; i < 3; i++) expect_answer(&takers[i], CEN_OK);
    for (int i = 0; i < 3; i++) give_back(&takers[i].lease);
    end_life(&s, pool);
}
