/* SPDX-License-Identifier: MIT */
/*
 * The pool when memory cannot be had and when sleepers wake for no reason:
 * whatever fails, nothing leaks, nothing changes and the pool stays usable.
 */
#include "support/faults.h"
#include "unit/pool/ledger.h"
#include "unit/pool/takers.h"

static cen_pool *pool;
static workshop shop;

static const char *no_memory(cen_status status)
{
    return status == CEN_NO_MEMORY ? NULL : "it does not say NO_MEMORY";
}

static const char *done_all_the_same(cen_status status)
{
    return status == CEN_OK ? NULL : "a fault it should not notice changes the answer";
}

static void free_it(void)
{
    expect_equal(cen_pool_free(pool), CEN_OK);
    pool = NULL;
}

/* ---- Making one --------------------------------------------------------------------------- */

static cen_pool_options to_make;

static cen_status make_one(void)
{
    cen_error error = {.status = CEN_OK};
    shop = (workshop){0};
    cen_status status = cen_pool_new(&to_make, &pool, &error);
    if (status != CEN_OK) expect_error(&error, status, "out of memory");
    return status;
}

static const char *nothing_was_made(cen_status status)
{
    if (pool) return "the output was written although it failed";
    if (shop.opened != shop.closed) return "an object was opened and not closed";
    return no_memory(status);
}

/* guarantees: pool-api.allocator */
TEST(a_pool_that_gets_no_memory_leaves_none_behind)
{
    static const uint32_t maxima[] = {1, 10, 5000};
    for (int i = 0; i < 18; i++) {
        to_make = CEN_POOL_OPTIONS(.max = maxima[i % 3], .order = (cen_order)(i / 3 % 3), .eager = i >= 9,
                                   .driver = driver_of(&shop));
        fault_sweep sweep = {
            .mask = CENI_FAULT_ALLOC, .operation = make_one, .check = nothing_was_made, .undo = free_it};
        expect_equal(fault_sweep_check(&sweep), 4); /* its slots, its times and their two stocks; the struct is there */
    }
}

/* A world has lines for three pools; the fourth needs a block of them, which is never given back. */
TEST(a_pool_for_which_there_is_no_line_is_not_made)
{
    cen_pool *others[3];
    for (int i = 0; i < 3; i++) others[i] = make_pool(.max = 2);
    size_t before = ceni_world_bytes();
    to_make = CEN_POOL_OPTIONS(.max = 2, .driver = driver_of(&shop), .eager = true);
    ceni_fault_arm(CENI_FAULT_ALLOC, 5);
    cen_status status = make_one();
    expect(ceni_fault_disarm());
    expect_equal(status, CEN_NO_MEMORY);
    expect(!pool && shop.opens == 0);
    expect_equal(ceni_world_bytes(), before);
    free_pool(others[1]);
    expect_equal(make_one(), CEN_OK); /* there is a line now */
    free_it();
    free_pool(others[0]);
    free_pool(others[2]);
}

/* guarantees: pool-api.allocator */
TEST(all_memory_of_a_pool_is_asked_of_its_allocator_and_none_elsewhere)
{
    for (unsigned allowed = 0; allowed < 5; allowed++) { /* but its struct, which stays with the process */
        ledger book = {.bytes = 0};
        cen_allocator allocator = allocator_of(&book);
        to_make = CEN_POOL_OPTIONS(.max = 3, .driver = driver_of(&shop), .allocator = &allocator);
        ceni_fault_arm(CENI_FAULT_ALLOC, allowed + 1);
        cen_status status = make_one();
        bool fired = ceni_fault_disarm();
        expect_equal(status, fired ? CEN_NO_MEMORY : CEN_OK);
        expect_equal(fired, allowed < 4);
        expect_equal(book.given, allowed);
        if (!fired) free_it();
        expect_equal(book.bytes, 0);
        expect_equal(ceni_world_allocations(), 0);
    }
}

/* ---- Growing ---------------------------------------------------------------------------------- */

static cen_lease leases[300];
static uint32_t wanted;

static void make_and_take_two(void)
{
    shop = (workshop){0};
    pool = make_pool(.name = "grown", .max = 2, .driver = driver_of(&shop));
    leases[0] = take_now(pool);
    leases[1] = take_now(pool);
}

static void make_grown(void)
{
    make_and_take_two();
    expect_equal(cen_pool_resize(pool, 100, NULL), CEN_OK);
    expect_equal(cen_pool_resize(pool, 2, NULL), CEN_OK);
}

static cen_status grow(void)
{
    return cen_pool_resize(pool, wanted, NULL);
}

/* Nothing has changed, and now that there is memory it grows. */
static const char *unchanged_and_usable(cen_status status)
{
    cen_pool_stats s = expect_sound(pool);
    cen_lease lease;
    if (s.max != 2 || s.held != 2 || cen_pool_max(pool) != 2) return "max or the holders have changed";
    if (cen_pool_try_take(pool, &lease, NULL) != CEN_EMPTY) return "there is more than max";
    if (cen_pool_resize(pool, wanted, NULL) != CEN_OK) return "a later resize does not go through";
    for (uint32_t i = 2; i < wanted; i++)
        if (cen_pool_try_take(pool, &leases[i], NULL) != CEN_OK) return "there is less than max";
    if (cen_pool_try_take(pool, &lease, NULL) != CEN_EMPTY) return "there is more than the new max";
    for (uint32_t i = 2; i < wanted; i++) give_back(&leases[i]);
    return no_memory(status);
}

static void give_and_free(void)
{
    give_back(&leases[0]);
    give_back(&leases[1]);
    free_it();
}

/* guarantees: pool-bugs.count-leak */
TEST(a_resize_that_gets_no_memory_changes_nothing)
{
    for (int grown = 0; grown < 2; grown++) {
        wanted = grown ? 300 : 3;
        fault_sweep sweep = {.mask = CENI_FAULT_ALLOC,
                             .setup = grown ? make_grown : make_and_take_two,
                             .operation = grow,
                             .check = unchanged_and_usable,
                             .undo = give_and_free};
        expect_equal(fault_sweep_check(&sweep), 1);
    }
}

/* ---- Nothing else allocates ----------------------------------------------------------------------- */

static bool visit_all(void *argument, const cen_object_view *holding)
{
    (void)argument;
    (void)holding;
    return true;
}

/* guarantees: pool.L17 */
TEST(nothing_but_new_and_a_growing_resize_needs_memory)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_lease a, b, c;
        cen_scope scope;
        cen_object_view holding;
        size_t count;
        shop = (workshop){0};
        pool = make_pool(.max = 2, .driver = driver_of(&shop), .order = order);
        uint64_t before = ceni_world_allocations();
        ceni_fault_arm(CENI_FAULT_ALLOC, 1);
        a = take_now(pool);
        b = take_now(pool);
        expect_equal(cen_pool_take(pool, cen_in_ms(1), &c, NULL), CEN_TIMEOUT);
        expect_equal(cen_pool_discard(&a), CEN_OK);
        give_back(&b);
        expect_equal(cen_pool_adopt(pool, NULL, NULL), CEN_OK);
        expect_equal(cen_pool_enter(pool, CEN_NEVER, &scope, NULL), CEN_OK);
        expect_equal(cen_pool_leave(&scope), CEN_OK);
        expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
        expect_equal(cen_pool_resize(pool, 2, NULL), CEN_OK);
        a = take_now(pool);
        expect_sound(pool);
        expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
        expect_equal(cen_pool_each(pool, visit_all, NULL), CEN_OK);
        expect_equal(cen_pool_close(pool, cen_in_ms(1), NULL, NULL), CEN_TIMEOUT);
        free_it();
        expect_equal(cen_pool_give(&a), CEN_REVOKED);
        expect(!ceni_fault_disarm());
        expect_equal(ceni_world_allocations(), before);
        expect_equal(shop.closed, shop.opened + 1);
    }
}

/* ---- Sleepers that wake for no reason ------------------------------------------------------------------ */

static int64_t max_barging_ns;
static taker sleeper;

static void make_taken(void)
{
    shop = (workshop){0};
    pool = make_pool(.max = 1, .driver = driver_of(&shop), .max_barging_ns = max_barging_ns);
    leases[0] = take_now(pool);
}

static cen_status slept_and_got(int number)
{
    expect_taken(&sleeper, number);
    give_back(&sleeper.lease);
    expect_sound(pool);
    return sleeper.status;
}

static cen_status give_to_a_sleeper(void)
{
    begin_take(&sleeper, pool, CEN_NEVER);
    give_back(&leases[0]);
    return slept_and_got(1);
}

static cen_status discard_for_a_sleeper(void)
{
    begin_take(&sleeper, pool, CEN_NEVER);
    expect_equal(cen_pool_discard(&leases[0]), CEN_OK);
    return slept_and_got(2);
}

static cen_status grow_for_a_sleeper(void)
{
    begin_take(&sleeper, pool, CEN_NEVER);
    expect_equal(cen_pool_resize(pool, 2, NULL), CEN_OK);
    cen_status status = slept_and_got(2);
    give_back(&leases[0]);
    return status;
}

static cen_status close_on_a_sleeper(void)
{
    begin_take(&sleeper, pool, CEN_NEVER);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    expect_answer(&sleeper, CEN_CLOSED);
    return cen_pool_give(&leases[0]) == CEN_REVOKED ? CEN_OK : CEN_SYSTEM;
}

static cen_status pass_through_three(void)
{
    taker takers[3];
    for (int i = 0; i < 3; i++) begin_take(&takers[i], pool, CEN_NEVER);
    give_back(&leases[0]);
    for (int i = 0; i < 3; i++) {
        expect_taken(&takers[i], 1);
        give_back(&takers[i].lease);
    }
    expect_sound(pool);
    return CEN_OK;
}

static cen_status time_out(void)
{
    cen_lease lease;
    int64_t began = cen_clock();
    if (cen_pool_take(pool, cen_in_s(2), &lease, NULL) != CEN_TIMEOUT || cen_clock() != began + 2 * SECOND)
        return CEN_SYSTEM;
    expect_equal(expect_sound(pool).timed_out, 1);
    give_back(&leases[0]);
    return CEN_OK;
}

static void give_after_a_second(void *unused)
{
    (void)unused;
    ceni_sleep_until(cen_clock() + SECOND);
    give_back(&leases[0]);
}

static cen_status close_and_await(void)
{
    int64_t began = cen_clock();
    ceni_thread giver = start("giver", give_after_a_second, NULL);
    cen_status status = cen_pool_close(pool, cen_in_s(10), NULL, NULL);
    expect_equal(cen_clock() - began, SECOND);
    join(giver);
    return status;
}

static cen_status close_and_time_out(void)
{
    int64_t began = cen_clock();
    if (cen_pool_close(pool, cen_in_s(10), NULL, NULL) != CEN_TIMEOUT || cen_clock() != began + 10 * SECOND)
        return CEN_SYSTEM;
    return cen_pool_give(&leases[0]) == CEN_REVOKED ? CEN_OK : CEN_SYSTEM;
}

static void sweep_waking(cen_status (*operation)(void))
{
    for (int strict = 0; strict < 2; strict++) {
        max_barging_ns = strict ? CEN_NONE : 0;
        fault_sweep sweep = {.mask = CENI_FAULT_WAIT,
                             .setup = make_taken,
                             .operation = operation,
                             .check = done_all_the_same,
                             .undo = free_it};
        fault_sweep_check(&sweep);
    }
}

TEST(a_take_that_wakes_for_no_reason_sleeps_on_until_something_is_given)
{
    sweep_waking(give_to_a_sleeper);
    sweep_waking(discard_for_a_sleeper);
}

TEST(a_take_that_wakes_for_no_reason_sleeps_on_until_max_is_larger)
{
    sweep_waking(grow_for_a_sleeper);
}

/* guarantees: pool.L3 */
TEST(several_that_wake_for_no_reason_are_still_served_in_their_order)
{
    sweep_waking(pass_through_three);
}

TEST(close_reaches_a_take_that_woke_for_no_reason)
{
    sweep_waking(close_on_a_sleeper);
}

/* guarantees: pool.L7 */
TEST(waking_for_no_reason_does_not_shorten_a_take)
{
    sweep_waking(time_out);
}

TEST(a_close_that_wakes_for_no_reason_still_awaits_the_holders)
{
    sweep_waking(close_and_await);
    sweep_waking(close_and_time_out);
}
