/* SPDX-License-Identifier: MIT */
/* Waiters that do not park: they ask, and are told by a call, in one line with the threads. */
#include "pool/internal.h"
#include "support/pending.h"
#include "unit/pool/takers.h"

static workshop shop;
static cen_pool *pool;

/* One that asks, and what it was told. */
typedef struct asker {
    ceni_pool_waiter waiter;
    int told;
    cen_status status;
    uint64_t by; /* the thread that told it */
} asker;

static void tell(ceni_pool_waiter *waiter, cen_status status)
{
    asker *one = (asker *)(void *)waiter;
    ceni_rank_expect_none("a delivery");
    one->told++;
    one->status = status;
    one->by = cen_thread_number();
}

static cen_status ask(asker *one)
{
    *one = (asker){.waiter = {.pending = true, .holder = 77, .where = "asked", .deliver = tell}};
    return join_pending(pool, &one->waiter);
}

/* What was granted to it, as a lease. */
static cen_lease granted(const asker *one)
{
    expect(one->told == 1 && one->status == CEN_OK);
    return (cen_lease){.object = one->waiter.slot->object,
                       .pool = pool,
                       .generation = one->waiter.generation,
                       .slot = one->waiter.slot};
}

static void expect_got(asker *one, int number)
{
    cen_lease lease = granted(one);
    expect_equal(number_of(&lease), number);
    give_back(&lease);
}

static void prepare(uint32_t max, int64_t max_barging_ns)
{
    shop = (workshop){0};
    pool = make_pool(.max = max, .driver = driver_of(&shop), .max_barging_ns = max_barging_ns);
}

/* ---- Served at once --------------------------------------------------------------------------- */

TEST(one_that_asks_is_granted_what_is_idle_before_the_call_returns)
{
    for (int strict = 0; strict < 2; strict++) {
        asker one;
        prepare(1, strict ? CEN_NONE : 0);
        expect_equal(cen_pool_adopt(pool, object_of(9), NULL), CEN_OK);
        expect_equal(ask(&one), CEN_OK);
        expect_equal(one.by, cen_thread_number());
        expect_got(&one, 9);
        cen_pool_stats s = expect_sound(pool);
        expect(s.waited == 1 && s.served == 1 && s.taken == 1);
        free_pool(pool);
    }
}

TEST(an_object_is_opened_for_one_that_asks_on_the_thread_that_asks)
{
    asker one, two, three;
    prepare(2, 0);
    expect_equal(ask(&one), CEN_OK);
    expect_equal(ask(&two), CEN_OK);
    expect_equal(ask(&three), CEN_OK);
    expect_log(&shop, "+1 +2 ");
    expect(one.told == 1 && two.told == 1 && three.told == 0);
    cen_lease lease = granted(&one);
    expect_equal(number_of(&lease), 1);
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect(count == 2 && holding.holder == 77); /* it is listed as the asker's */
    expect_text(holding.where, "asked");
    expect_got(&two, 2); /* which serves the third */
    expect_got(&three, 2);
    give_back(&lease);
    expect_sound(pool);
    free_pool(pool);
}

/* ---- In line ---------------------------------------------------------------------------------------- */

/* guarantees: pool.L4 */
TEST(askers_and_threads_are_served_in_the_order_they_came)
{
    for (int strict = 0; strict < 2; strict++) {
        asker first, third;
        taker second, fourth;
        prepare(1, strict ? CEN_NONE : 0);
        cen_lease held = take_now(pool);
        expect_equal(ask(&first), CEN_OK);
        begin_take(&second, pool, CEN_NEVER);
        expect_equal(ask(&third), CEN_OK);
        begin_take(&fourth, pool, CEN_NEVER);
        expect_equal(expect_sound(pool).waiting, 4);
        give_back(&held);
        expect(first.told == 1 && third.told == 0);
        expect_got(&first, 1);
        expect_taken(&second, 1);
        expect_equal(third.told, 0);
        give_back(&second.lease);
        expect_got(&third, 1);
        expect_taken(&fourth, 1);
        give_back(&fourth.lease);
        expect_equal(expect_sound(pool).served, 4);
        free_pool(pool);
    }
}

/* guarantees: pool.L6 */
TEST(one_that_cancels_gets_nothing_and_the_next_is_served)
{
    asker one, two;
    prepare(1, 0);
    cen_lease held = take_now(pool);
    expect_equal(ask(&one), CEN_OK);
    expect_equal(ask(&two), CEN_OK);
    expect(ceni_waiters_withdraw(pool->waiters, &one.waiter));
    expect(!ceni_waiters_withdraw(pool->waiters, &one.waiter)); /* once */
    give_back(&held);
    expect_equal(one.told, 0);
    expect(!ceni_waiters_withdraw(pool->waiters, &two.waiter)); /* too late: it is its own */
    expect_got(&two, 1);
    cen_pool_stats s = expect_sound(pool);
    expect(s.cancelled == 1 && s.failed == 0 && s.served == 1);
    free_pool(pool);
}

TEST(a_larger_max_and_a_discard_open_an_object_for_one_that_asks)
{
    asker one, two;
    prepare(1, 0);
    cen_lease held = take_now(pool);
    expect_equal(ask(&one), CEN_OK);
    expect_equal(ask(&two), CEN_OK);
    expect_equal(cen_pool_resize(pool, 2, NULL), CEN_OK);
    expect(one.told == 1 && two.told == 0);
    expect_equal(cen_pool_discard(&held), CEN_OK);
    expect_equal(two.told, 1);
    expect_log(&shop, "+1 +2 -1 +3 ");
    expect_got(&one, 2);
    expect_got(&two, 3);
    expect_counts(pool, 2, 0);
    free_pool(pool);
}

/* ---- Told that there is nothing ------------------------------------------------------------------------ */

TEST(an_open_that_fails_tells_one_asker_and_the_next_is_tried_for)
{
    asker one, two;
    prepare(1, 0);
    shop.fail_from = 2;
    shop.fail_to = 2;
    cen_lease held = take_now(pool);
    expect_equal(ask(&one), CEN_OK);
    expect_equal(ask(&two), CEN_OK);
    expect_equal(cen_pool_discard(&held), CEN_OK);
    expect(one.told == 1 && one.status == CEN_DRIVER);
    expect_got(&two, 2);
    cen_pool_stats s = expect_sound(pool);
    expect(s.failed == 1 && s.served == 1 && s.open_failed == 1);
    expect_log(&shop, "+1 -1 x +2 ");
    free_pool(pool);
}

TEST(close_tells_all_who_asked_and_refuses_the_next)
{
    asker one, two, late;
    prepare(1, 0);
    cen_lease held = take_now(pool);
    expect_equal(ask(&one), CEN_OK);
    expect_equal(ask(&two), CEN_OK);
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_close(pool, CEN_NOW, &report, NULL), CEN_TIMEOUT);
    expect(report.waiting == 2 && one.told == 1 && two.told == 1);
    expect(one.status == CEN_CLOSED && two.status == CEN_CLOSED);
    expect_equal(ask(&late), CEN_CLOSED);
    expect_equal(late.told, 0);
    expect_equal(cen_pool_give(&held), CEN_REVOKED);
    expect_equal(expect_sound(pool).sent_away, 2);
    free_pool(pool);
}
