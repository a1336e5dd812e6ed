/* SPDX-License-Identifier: MIT */
/* A driver that fails, is slow or has only some of the functions. */
#include "unit/pool/takers.h"

static workshop shop;

/* ---- Opens that fail --------------------------------------------------------------------- */

/* guarantees: pool-api.driver-error */
TEST(what_the_driver_said_is_the_answer_with_the_pools_name_before_it)
{
    shop = (workshop){.fail_from = 1, .fail_to = 99, .failure = CEN_SYSTEM, .failure_code = 111};
    shop.failure_text = "no route to the moon";
    cen_pool *pool = make_pool(.name = "rockets", .max = 2, .driver = driver_of(&shop));
    cen_lease untouched, lease;
    memset(&untouched, 0x66, sizeof untouched);
    lease = untouched;
    cen_error error = {.status = CEN_OK};
    expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, &error), CEN_SYSTEM);
    expect_error(&error, CEN_SYSTEM, "\"rockets\"");
    expect_error(&error, CEN_SYSTEM, "no route to the moon");
    expect_equal(error.code, 111);
    memset(&error, 0, sizeof error);
    expect_equal(cen_pool_try_take(pool, &lease, &error), CEN_SYSTEM);
    expect_error(&error, CEN_SYSTEM, "no route to the moon");
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_SYSTEM);
    cen_scope scope;
    expect_equal(cen_pool_enter(pool, CEN_NOW, &scope, NULL), CEN_SYSTEM);
    expect(memcmp(&lease, &untouched, sizeof lease) == 0);
    cen_pool_stats s = expect_sound(pool);
    expect(s.open_failed == 4 && s.opened == 0 && s.taken == 0 && s.vacant == s.places);
    free_pool(pool);
    expect_log(&shop, "x x x x ");
}

/* guarantees: pool-api.driver-error */
TEST(a_driver_that_says_nothing_is_answered_for_by_the_codes_sentence)
{
    for (int status = CEN_TIMEOUT; status <= CEN_DRIVER; status++) {
        shop = (workshop){.fail_from = 1, .fail_to = 1, .failure = (cen_status)status};
        cen_pool *pool = make_pool(.name = "mute", .max = 1, .driver = driver_of(&shop));
        cen_lease lease;
        cen_error error;
        memset(&error, 0x7E, sizeof error);
        expect_equal(cen_pool_take(pool, cen_in_s(1), &lease, &error), status);
        expect_error(&error, (cen_status)status, "\"mute\"");
        expect_error(&error, (cen_status)status, cen_status_text((cen_status)status));
        expect_equal(error.code, 0);
        lease = take_now(pool);
        give_back(&lease);
        free_pool(pool);
    }
}

TEST(a_long_complaint_is_cut_and_still_ends)
{
    char complaint[CEN_ERROR_TEXT_SIZE];
    memset(complaint, 'a', sizeof complaint - 1);
    complaint[sizeof complaint - 1] = '\0';
    shop = (workshop){.fail_from = 1, .fail_to = 1, .failure_text = complaint};
    cen_pool *pool = make_pool(.name = "0123456789012345678901234567890", .max = 1, .driver = driver_of(&shop));
    cen_lease lease;
    cen_error error;
    memset(&error, 0x7E, sizeof error);
    expect_equal(cen_pool_take(pool, ZERO, &lease, &error), CEN_DRIVER);
    expect(memchr(error.text, '\0', sizeof error.text) != NULL);
    expect_error(&error, CEN_DRIVER, "\"0123456789012345678901234567890\"");
    expect_error(&error, CEN_DRIVER, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    free_pool(pool);
}

/* The bug this looks for: the count of live objects is raised before the open and never lowered when it fails. */
/* guarantees: pool.L2, pool-bugs.count-leak */
TEST(L2_an_open_that_fails_leaves_its_place_to_the_next)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        shop = (workshop){.fail_from = 1, .fail_to = 50};
        cen_pool *pool = make_pool(.max = 3, .driver = driver_of(&shop), .order = order);
        cen_lease leases[3];
        for (int i = 0; i < 50; i++) {
            expect_equal(cen_pool_try_take(pool, &leases[0], NULL), CEN_DRIVER);
            expect_counts(pool, 0, 0);
        }
        for (int i = 0; i < 3; i++) leases[i] = take_now(pool);
        expect_none(pool);
        for (int i = 0; i < 3; i++) give_back(&leases[i]);
        free_pool(pool);
        expect_equal(shop.closed, 3);
    }
}

TEST(a_failed_open_does_not_touch_what_others_hold)
{
    shop = (workshop){.fail_from = 2, .fail_to = 2};
    cen_pool *pool = make_pool(.max = 2, .driver = driver_of(&shop));
    cen_lease held = take_now(pool), lease;
    expect_equal(cen_pool_take(pool, CEN_NEVER, &lease, NULL), CEN_DRIVER);
    expect_counts(pool, 0, 1);
    lease = take_now(pool);
    expect_equal(number_of(&lease), 2);
    give_back(&lease);
    give_back(&held);
    free_pool(pool);
}

/* guarantees: pool-api.driver-error */
TEST(each_of_those_who_wait_hears_of_the_failure_it_met)
{
    for (int strict = 0; strict < 2; strict++) {
        shop = (workshop){.fail_from = 2, .fail_to = 3, .failure_text = "the harbour is closed"};
        cen_pool *pool =
            make_pool(.name = "ships", .max = 1, .driver = driver_of(&shop), .max_barging_ns = strict ? CEN_NONE : 0);
        cen_lease held = take_now(pool);
        taker takers[4];
        for (int i = 0; i < 4; i++) begin_take(&takers[i], pool, CEN_NEVER);
        expect_equal(cen_pool_discard(&held), CEN_OK);
        expect_answer(&takers[0], CEN_DRIVER);
        expect_answer(&takers[1], CEN_DRIVER);
        for (int i = 0; i < 2; i++) expect_error(&takers[i].error, CEN_DRIVER, "\"ships\"");
        for (int i = 0; i < 2; i++) expect_error(&takers[i].error, CEN_DRIVER, "the harbour is closed");
        expect_taken(&takers[2], 2);
        expect_waiting(&takers[3]);
        cen_pool_stats s = expect_sound(pool);
        expect(s.waited == 4 && s.failed == 2 && s.served == 1 && s.waiting == 1 && s.open_failed == 2);
        give_back(&takers[2].lease);
        expect_taken(&takers[3], 2);
        give_back(&takers[3].lease);
        free_pool(pool);
    }
}

/* ---- Opens that take long ------------------------------------------------------------------- */

static char slow_call; /* which function of the driver takes ten seconds; 0: none */

static void be_slow(workshop *unused, char what, void *object)
{
    (void)unused;
    (void)object;
    if (what == slow_call) ceni_sleep_until(cen_clock() + 10 * SECOND);
}

static cen_pool *make_slow(char what, uint32_t max)
{
    shop = (workshop){.inside = be_slow};
    slow_call = what;
    return make_pool(.max = max, .driver = driver_of(&shop));
}

TEST(an_opening_that_the_call_began_is_awaited_beyond_its_deadline)
{
    cen_pool *pool = make_slow('+', 1);
    cen_lease lease;
    int64_t began = cen_clock();
    expect_equal(cen_pool_take(pool, cen_in_s(1), &lease, NULL), CEN_OK);
    expect_equal(cen_clock() - began, 10 * SECOND);
    give_back(&lease);
    free_pool(pool);
}

/* guarantees: pool.L2 */
TEST(L2_an_object_that_is_being_opened_counts)
{
    cen_pool *pool = make_slow('+', 1);
    taker slow, next;
    begin_take(&slow, pool, CEN_NEVER);
    cen_pool_stats s = expect_sound(pool);
    expect(s.opening == 1 && s.held == 0 && s.vacant == s.places - 1);
    expect_none(pool);
    expect_equal(cen_pool_adopt(pool, NULL, NULL), CEN_FULL);
    begin_take(&next, pool, CEN_NEVER);
    ceni_world_advance(10 * SECOND);
    expect_taken(&slow, 1);
    expect_waiting(&next);
    give_back(&slow.lease);
    expect_taken(&next, 1);
    give_back(&next.lease);
    free_pool(pool);
    expect_equal(shop.opened, 1);
}

/* guarantees: pool.L2 */
TEST(L2_an_object_that_is_being_closed_counts)
{
    cen_pool *pool = make_slow('-', 1);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_taken(&one, 1);
    cen_lease lease = one.lease;
    taker next = {.pool = pool, .deadline = CEN_NEVER};
    next.thread = start("next", run_taker, &next);
    expect_equal(cen_pool_discard(&lease), CEN_OK); /* ten seconds, in which the other thread runs */
    expect_taken(&next, 2);
    expect_text(shop.log, "+1 -1 +2 ");
    slow_call = 0;
    give_back(&next.lease);
    free_pool(pool);
}

/* guarantees: pool.L9, pool-bugs.callback-lock */
TEST(L9_a_slow_open_holds_nobody_up)
{
    cen_pool *pool = make_slow(0, 3);
    cen_lease a = take_now(pool);
    slow_call = '+';
    taker slow;
    begin_take(&slow, pool, CEN_NEVER);
    int64_t began = cen_clock();
    for (int i = 0; i < 5; i++) {
        give_back(&a);
        a = take_now(pool);
        expect_sound(pool);
    }
    expect_equal(cen_pool_adopt(pool, object_of(9), NULL), CEN_OK);
    cen_lease adopted = take_now(pool);
    expect_equal(number_of(&adopted), 9);
    expect_equal(cen_pool_discard(&adopted), CEN_OK);
    expect_equal(cen_clock(), began);
    expect(!slow.returned);
    ceni_world_advance(10 * SECOND);
    expect_taken(&slow, 2);
    give_back(&a);
    give_back(&slow.lease);
    free_pool(pool);
}

/* guarantees: pool.L9 */
TEST(two_objects_may_be_opened_at_the_same_time)
{
    cen_pool *pool = make_slow('+', 2);
    taker one, two;
    begin_take(&one, pool, CEN_NEVER);
    begin_take(&two, pool, CEN_NEVER);
    expect_equal(expect_sound(pool).opening, 2);
    ceni_world_advance(10 * SECOND);
    expect_answer(&one, CEN_OK);
    expect_answer(&two, CEN_OK);
    expect(one.lease.object != two.lease.object);
    give_back(&one.lease);
    give_back(&two.lease);
    free_pool(pool);
}

/* guarantees: pool-bugs.open-after-close */
TEST(an_object_that_was_being_opened_when_the_pool_was_closed_is_closed_again)
{
    cen_pool *pool = make_slow('+', 2);
    taker slow;
    begin_take(&slow, pool, CEN_NEVER);
    int64_t began = cen_clock();
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_close(pool, cen_in_s(60), &report, NULL), CEN_OK);
    expect_equal(cen_clock() - began, 10 * SECOND); /* it was awaited */
    expect_answer(&slow, CEN_CLOSED);
    expect_error(&slow.error, CEN_CLOSED, "closed");
    expect_log(&shop, "+1 -1 ");
    cen_pool_stats s = expect_sound(pool);
    expect(s.opened == 1 && s.closed == 1 && s.taken == 0 && s.waited == 0);
    free_pool(pool);
}

/* ---- Drivers with few functions ------------------------------------------------------------------ */

TEST(any_function_of_a_driver_may_be_missing)
{
    for (int missing = 0; missing < 8; missing++) {
        cen_driver_calls calls = workshop_calls;
        shop = (workshop){0};
        if (missing & 1) calls.open = NULL, calls.opens_nothing = true;
        if (missing & 2) calls.close = NULL, calls.closes_nothing = true;
        if (missing & 4) calls.interrupt = NULL;
        cen_pool *pool = make_pool(.max = 2, .driver = {&calls, &shop});
        cen_lease lease, kept;
        if (missing & 1) expect_none(pool);
        expect_equal(cen_pool_adopt(pool, object_of(40), NULL), CEN_OK);
        lease = take_now(pool);
        expect_equal(cen_pool_discard(&lease), CEN_OK);
        expect_equal(cen_pool_adopt(pool, object_of(41), NULL), CEN_OK);
        kept = take_now(pool);
        expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
        expect_equal(cen_pool_give(&kept), CEN_REVOKED);
        expect_equal(expect_sound(pool).closed, 2);
        free_pool(pool);
        char log[40] = "";
        if (!(missing & 2)) strcat(log, "-40 ");
        if (!(missing & 4)) strcat(log, "!41 ");
        if (!(missing & 2)) strcat(log, "-41 ");
        expect_log(&shop, log);
    }
}
