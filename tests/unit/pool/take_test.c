/* SPDX-License-Identifier: MIT */
/* Take, give, discard and adopt, when nobody has to wait. */
#include "pool/internal.h"
#include "unit/pool/takers.h"

static workshop shop;

static cen_pool *make_shop(uint32_t max)
{
    shop = (workshop){0};
    return make_pool(.name = "tools", .max = max, .driver = driver_of(&shop));
}

/* ---- Growing on demand --------------------------------------------------------------- */

/* guarantees: pool-api.lazy */
TEST(an_object_is_made_when_it_is_wanted_and_none_is_idle_and_not_before)
{
    cen_pool *pool = make_shop(3);
    cen_lease a = take_now(pool);
    expect_log(&shop, "+1 ");
    expect_counts(pool, 0, 1);
    give_back(&a);
    expect_counts(pool, 1, 0);
    a = take_now(pool);
    expect_log(&shop, "");
    expect_equal(number_of(&a), 1);
    cen_lease b = take_now(pool);
    expect_log(&shop, "+2 ");
    give_back(&a);
    cen_lease c = take_now(pool);
    expect_log(&shop, "");
    expect(number_of(&c) == 1 && number_of(&b) == 2);
    give_back(&b);
    give_back(&c);
    expect_counts(pool, 2, 0);
    free_pool(pool);
    expect_log(&shop, "-1 -2 ");
}

/* guarantees: pool-api.lazy */
TEST(a_pool_lends_exactly_its_max_and_each_object_once)
{
    static const uint32_t maxima[] = {1, 2, 3, 31, 32, 33, 64, 65, 300};
    static cen_lease leases[300];
    for (int m = 0; m < 9; m++) {
        cen_pool *pool = make_shop(maxima[m]);
        for (int round = 0; round < 3; round++) {
            bool lent[301] = {false};
            for (uint32_t i = 0; i < maxima[m]; i++) {
                leases[i] = take_now(pool);
                expect(!lent[number_of(&leases[i])]);
                lent[number_of(&leases[i])] = true;
            }
            expect_none(pool);
            expect_counts(pool, 0, maxima[m]);
            for (uint32_t i = 0; i < maxima[m]; i++) give_back(&leases[round == 1 ? maxima[m] - 1 - i : i]);
            expect_counts(pool, maxima[m], 0);
        }
        expect_equal(shop.opened, maxima[m]);
        free_pool(pool);
        expect_equal(shop.closed, maxima[m]);
    }
}

TEST(a_take_lends_another_object_than_those_the_caller_holds)
{
    cen_pool *pool = make_shop(2);
    cen_lease a = take_now(pool), b;
    expect_equal(cen_pool_take(pool, CEN_NOW, &b, NULL), CEN_OK);
    expect(a.object != b.object);
    give_back(&a);
    give_back(&b);
    free_pool(pool);
}

TEST(one_idle_object_among_many_held_is_found)
{
    static cen_lease leases[200];
    cen_pool *pool = make_shop(200);
    for (int i = 0; i < 200; i++) leases[i] = take_now(pool);
    for (int i = 0; i < 200; i = i * 3 + 1) {
        int number = number_of(&leases[i]);
        give_back(&leases[i]);
        expect_counts(pool, 1, 199);
        leases[i] = take_now(pool);
        expect_equal(number_of(&leases[i]), number);
        expect_none(pool);
    }
    for (int i = 0; i < 200; i++) give_back(&leases[i]);
    expect_equal(shop.opened, 200);
    free_pool(pool);
}

static void take_and_give(void *argument)
{
    cen_pool *pool = argument;
    for (int i = 0; i < 3; i++) {
        cen_lease lease = take_now(pool), second = take_now(pool);
        give_back(&second);
        give_back(&lease);
    }
}

/* guarantees: pool.L9, pool.L17 */
TEST(L9_taking_and_giving_what_is_idle_needs_no_lock_in_warm_order)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 3), 3);
    ceni_waiters_lock(pool->waiters); /* a call that needs it now hangs, and the world reports that */
    join(start("other", take_and_give, pool));
    ceni_waiters_unlock(pool->waiters);
    expect_counts(pool, 3, 0);
    free_pool(pool);
}

/* ---- Objects are any values --------------------------------------------------------------- */

/* guarantees: pool-bugs.null-object, pool-api.lazy */
TEST(null_and_numbers_are_objects_like_any_other)
{
    static const intptr_t values[] = {0, 1, -1, INTPTR_MAX, INTPTR_MIN};
    cen_pool *pool = make_pool(.max = 5, .order = CEN_ORDER_FIFO);
    for (int i = 0; i < 5; i++) expect_equal(cen_pool_adopt(pool, (void *)values[i], NULL), CEN_OK);
    for (int round = 0; round < 12; round++) {
        cen_lease lease = {.object = &shop};
        expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_OK);
        expect(lease.object == (void *)values[round % 5]);
        give_back(&lease);
        expect(lease.object == (void *)values[round % 5]); /* only lease.pool is cleared */
    }
    free_pool(pool);
}

static cen_status open_nothing(void *argument, void **out, cen_error *error)
{
    (void)error;
    ++*(int *)argument;
    *out = NULL;
    return CEN_OK;
}

/* guarantees: pool-bugs.null-object */
TEST(a_driver_may_make_null_and_it_is_lent_as_an_object)
{
    int opened = 0;
    cen_driver_calls calls = {.size = sizeof calls, .open = open_nothing, .closes_nothing = true};
    cen_pool *pool = make_pool(.max = 1, .driver = {&calls, &opened});
    cen_lease lease = {.object = &opened};
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_OK);
    expect(lease.object == NULL && opened == 1);
    expect_none(pool);
    give_back(&lease);
    expect_counts(pool, 1, 0);
    lease = take_now(pool);
    expect_equal(opened, 1);
    give_back(&lease);
    free_pool(pool);
}

/* ---- When there is none --------------------------------------------------------------------- */

TEST(a_take_that_finds_nothing_says_so_and_writes_nothing)
{
    cen_pool *pool = make_shop(2);
    cen_lease a = take_now(pool), b = take_now(pool), untouched;
    memset(&untouched, 0x77, sizeof untouched);
    cen_lease lease = untouched;
    cen_error error;
    expect_equal(cen_pool_try_take(pool, &lease, &error), CEN_EMPTY);
    expect_error(&error, CEN_EMPTY, "\"tools\"");
    expect_error(&error, CEN_EMPTY, "max is 2");
    expect_equal(error.code, 0);
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, &error), CEN_TIMEOUT);
    expect_error(&error, CEN_TIMEOUT, "\"tools\"");
    expect_equal(cen_pool_take(pool, cen_in_ms(5), &lease, &error), CEN_TIMEOUT);
    expect_error(&error, CEN_TIMEOUT, "max is 2");
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_TIMEOUT);
    expect(memcmp(&lease, &untouched, sizeof lease) == 0);
    cen_pool_stats s = expect_sound(pool);
    expect(s.waited == 1 && s.timed_out == 1); /* only the one that waited */
    give_back(&a);
    give_back(&b);
    free_pool(pool);
}

TEST(a_successful_call_leaves_the_error_alone)
{
    cen_pool *pool = make_shop(2);
    cen_error error, before;
    cen_lease lease;
    memset(&error, 0x3C, sizeof error);
    before = error;
    expect_equal(cen_pool_take(pool, CEN_NOW, &lease, &error), CEN_OK); /* which opens one */
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(cen_pool_try_take(pool, &lease, &error), CEN_OK);
    expect_equal(cen_pool_adopt(pool, NULL, &error), CEN_OK);
    expect_equal(cen_pool_resize(pool, 3, &error), CEN_OK);
    expect_equal(cen_pool_give(&lease), CEN_OK);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, &error), CEN_OK);
    expect(memcmp(&error, &before, sizeof error) == 0);
    free_pool(pool);
}

TEST(a_pool_without_a_driver_makes_nothing_and_lends_what_it_was_given)
{
    cen_driver_calls no_open = workshop_calls;
    no_open.open = NULL;
    no_open.opens_nothing = true;
    shop = (workshop){0};
    for (int with_calls = 0; with_calls < 2; with_calls++) {
        cen_driver driver = {with_calls ? &no_open : NULL, &shop};
        cen_pool *pool = make_pool(.max = 3, .driver = driver);
        expect_none(pool);
        expect_equal(cen_pool_adopt(pool, object_of(9), NULL), CEN_OK);
        cen_lease lease = take_now(pool);
        expect_equal(number_of(&lease), 9);
        expect_none(pool);
        give_back(&lease);
        expect_counts(pool, 1, 0);
        free_pool(pool);
        expect_log(&shop, with_calls ? "-9 " : "");
    }
}

/* ---- Discard ------------------------------------------------------------------------------------ */

TEST(discard_closes_the_object_and_a_new_one_may_be_made_in_its_place)
{
    cen_pool *pool = make_shop(2);
    cen_lease a = take_now(pool), b = take_now(pool);
    expect_equal(cen_pool_discard(&a), CEN_OK);
    expect(a.pool == NULL);
    expect_log(&shop, "+1 +2 -1 ");
    cen_pool_stats s = expect_sound(pool);
    expect(s.discarded == 1 && s.closed == 1 && s.held == 1 && s.taken == 2 && s.ended == 1 &&
           s.vacant == s.places - 1);
    a = take_now(pool);
    expect_equal(number_of(&a), 3);
    expect_log(&shop, "+3 ");
    expect_none(pool);
    give_back(&a);
    give_back(&b);
    free_pool(pool);
}

TEST(discard_without_a_driver_takes_the_object_out_for_good)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 3), 3);
    cen_lease lease = take_now(pool);
    int number = number_of(&lease);
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    expect(lease.pool == NULL);
    cen_lease rest[2] = {take_now(pool), take_now(pool)};
    expect(number_of(&rest[0]) != number && number_of(&rest[1]) != number);
    expect_none(pool);
    expect_equal(cen_pool_adopt(pool, object_of(4), NULL), CEN_OK); /* there is room for another */
    expect_equal(cen_pool_adopt(pool, object_of(5), NULL), CEN_FULL);
    give_back(&rest[0]);
    give_back(&rest[1]);
    free_pool(pool);
}

/* guarantees: pool-bugs.count-leak */
TEST(every_object_can_be_discarded_and_made_anew_again_and_again)
{
    cen_pool *pool = make_shop(3);
    for (int round = 1; round <= 30; round++) {
        cen_lease lease = take_now(pool);
        expect_equal(number_of(&lease), round);
        expect_equal(cen_pool_discard(&lease), CEN_OK);
        cen_pool_stats s = expect_sound(pool);
        expect(s.vacant == s.places && s.opened == (uint64_t)round && s.closed == (uint64_t)round);
        expect_equal(s.discarded, round);
    }
    free_pool(pool);
    expect_equal(shop.closed, 30);
}

/* ---- Adopt ------------------------------------------------------------------------------------------- */

/* guarantees: pool-api.adopt */
TEST(an_adopted_object_counts_and_is_lent_given_and_closed_like_any_other)
{
    cen_pool *pool = make_shop(3);
    expect_equal(cen_pool_adopt(pool, object_of(70), NULL), CEN_OK);
    expect_counts(pool, 1, 0);
    cen_lease a = take_now(pool), b = take_now(pool);
    expect(number_of(&a) == 70 && number_of(&b) == 1);
    expect_equal(cen_pool_adopt(pool, object_of(71), NULL), CEN_OK);
    cen_error error;
    expect_equal(cen_pool_adopt(pool, object_of(72), &error), CEN_FULL);
    expect_error(&error, CEN_FULL, "\"tools\"");
    expect_equal(cen_pool_adopt(pool, object_of(72), NULL), CEN_FULL);
    cen_pool_stats s = expect_sound(pool);
    expect(s.adopted == 2 && s.opened == 1 && s.idle == 1 && s.held == 2);
    expect_log(&shop, "+1 ");
    cen_lease c = take_now(pool);
    expect_equal(number_of(&c), 71);
    expect_none(pool);
    expect_equal(cen_pool_discard(&a), CEN_OK);
    give_back(&b);
    give_back(&c);
    expect_log(&shop, "-70 ");
    free_pool(pool);
    expect_log(&shop, "-1 -71 "); /* and 72 stayed the caller's */
}

/* guarantees: pool-api.adopt */
TEST(adopt_needs_a_pool_and_is_refused_when_it_is_closed)
{
    cen_error error;
    expect_equal(cen_pool_adopt(NULL, object_of(1), &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "pool is NULL");
    cen_pool *pool = make_shop(2);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    expect_equal(cen_pool_adopt(pool, object_of(1), &error), CEN_CLOSED);
    expect_error(&error, CEN_CLOSED, "\"tools\"");
    cen_pool_stats s = expect_sound(pool);
    expect(s.adopted == 0 && s.vacant == s.places);
    free_pool(pool);
    expect_log(&shop, "");
}

/* ---- Numbers at every step ------------------------------------------------------------------------------ */

/* guarantees: pool.L19 */
TEST(the_equations_hold_after_every_step_of_a_long_random_life)
{
    enum { MAX = 7 };
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        uint64_t seed = 11 + (uint64_t)order;
        shop = (workshop){0};
        cen_pool *pool = make_pool(.max = MAX, .driver = driver_of(&shop), .order = order);
        cen_lease leases[MAX];
        uint32_t held = 0;
        uint64_t taken = 0, discarded = 0, adopted = 0;
        for (int step = 0; step < 600; step++) {
            uint64_t choice = test_random(&seed) % 8;
            if (choice < 4 && held < MAX) {
                leases[held++] = take_now(pool);
                taken++;
            } else if (choice < 7 && held > 0) {
                uint32_t which = (uint32_t)(test_random(&seed) % held);
                if (choice < 6) give_back(&leases[which]);
                else expect_equal(cen_pool_discard(&leases[which]), CEN_OK);
                discarded += choice == 6;
                leases[which] = leases[--held];
            } else if (choice == 7) {
                adopted += cen_pool_adopt(pool, object_of(1000 + step), NULL) == CEN_OK;
            }
            cen_pool_stats s = expect_sound(pool);
            expect(s.held == held && s.taken == taken && s.discarded == discarded && s.adopted == adopted);
            expect(s.opened == (uint64_t)shop.opened && s.closed == (uint64_t)shop.closed);
        }
        while (held > 0) give_back(&leases[--held]);
        free_pool(pool);
        expect_equal((uint64_t)shop.closed, (uint64_t)shop.opened + adopted);
    }
}
