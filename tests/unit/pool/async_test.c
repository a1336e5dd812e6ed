/* SPDX-License-Identifier: MIT */
/* Asking without waiting: each sentence of cenote/pool_async.h; its ends are in ask_end_test.c. */
#include "unit/pool/askers.h"
#include "unit/pool/scripted.h"

static workshop shop;
static cen_pool *pool;

static void prepare(uint32_t max, int64_t max_barging_ns)
{
    shop = (workshop){0};
    pool = make_pool(.max = max, .driver = driver_of(&shop), .max_barging_ns = max_barging_ns);
}

/* The process' own runtime keeps deadlines; it goes with its last user. */
static void finish(void)
{
    expect_sound(pool);
    free_pool(pool);
    ceni_world_settle();
}

/* ---- Where it is told ------------------------------------------------------------------------ */

/* guarantees: async.told-once */
TEST(what_is_idle_is_taken_here_and_now_and_done_still_goes_to_the_executor)
{
    cen_inbox *inbox;
    asker one;
    prepare(1, 0);
    expect_equal(cen_pool_adopt(pool, object_of(9), NULL), CEN_OK);
    expect_equal(cen_inbox_new(NULL, &inbox, NULL), CEN_OK);
    for (int i = 0; i < 3; i++) { /* the slow way, and twice the quick one */
        ready(&one, cen_inbox_executor(inbox));
        expect_equal(cen_pool_take_async(pool, CEN_NOW, &one.take), CEN_OK);
        expect_counts(pool, 0, 1);
        expect_equal(one.told, 0);
        expect_equal(cen_inbox_poll(inbox, 0), 1);
        expect_lent(&one, 9);
        give_asked(&one);
    }
    cen_pool_stats s = expect_sound(pool);
    expect(s.waited == 0 && s.taken == 3);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
    finish();
}

/* guarantees: async.told-once */
TEST(done_is_called_once_on_the_executor_that_was_named)
{
    cen_inbox *inbox;
    asker one, two;
    prepare(1, 0);
    expect_equal(cen_inbox_new(NULL, &inbox, NULL), CEN_OK);
    cen_lease held = take_now(pool);
    ready(&one, cen_inbox_executor(inbox));
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &one.take), CEN_OK);
    ask(&two, pool, CEN_NEVER);
    give_back(&held);
    expect_equal(one.told, 0);
    expect_equal(cen_inbox_poll(inbox, 0), 1);
    expect_lent(&one, 1);
    give_asked(&one);
    expect_lent(&two, 1); /* by the give, inline */
    expect_equal(two.by, cen_thread_number());
    give_asked(&two);
    expect_equal(cen_inbox_poll(inbox, 0), 0);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
    finish();
}

static void wait_for_it(void *argument)
{
    asker *self = argument;
    expect_equal(cen_future_wait(&self->take.future, CEN_NEVER), CEN_OK);
    self->told++;
}

/* guarantees: async.told-once */
TEST(without_a_done_it_is_waited_for_asked_or_grouped_by_its_future)
{
    asker one, two, three;
    prepare(1, 0);
    cen_lease held = take_now(pool);
    asker *all[] = {&one, &two, &three};
    cen_group group;
    for (int i = 0; i < 3; i++) {
        ready(all[i], NULL);
        expect_equal(cen_pool_take_async(pool, CEN_NEVER, &all[i]->take), CEN_OK);
        expect(!cen_future_is_done(&all[i]->take.future));
    }
    ceni_thread waiter = start("waiter", wait_for_it, &one);
    cen_future *members[] = {&three.take.future};
    expect_equal(cen_any_of(&group, members, 1), CEN_OK);
    ceni_world_settle();
    expect_equal(one.told, 0);
    give_back(&held);
    join(waiter);
    expect_lent(&one, 1);
    give_asked(&one);
    expect(cen_future_is_done(&two.take.future));
    give_asked(&two);
    expect(cen_future_is_done(&group.future));
    cen_group_leave(&group);
    give_asked(&three);
    finish();
}

/* ---- One line --------------------------------------------------------------------------------- */

/* guarantees: async.L4 */
TEST(L4_those_who_ask_and_threads_that_take_stand_in_one_line_in_one_order)
{
    for (int strict = 0; strict < 2; strict++) {
        asker first, third;
        taker second, fourth;
        prepare(1, strict ? CEN_NONE : 0);
        cen_lease held = take_now(pool);
        ask(&first, pool, cen_in_s(9));
        begin_take(&second, pool, CEN_NEVER);
        ask(&third, pool, CEN_NEVER);
        begin_take(&fourth, pool, cen_in_s(9));
        expect_equal(expect_sound(pool).waiting, 4);
        give_back(&held);
        expect_lent(&first, 1);
        expect_waiting(&second);
        give_asked(&first);
        expect_taken(&second, 1);
        expect_pending(&third);
        give_back(&second.lease);
        expect_lent(&third, 1);
        give_asked(&third);
        expect_taken(&fourth, 1);
        give_back(&fourth.lease);
        expect_equal(expect_sound(pool).served, 4);
        finish();
    }
}

/* guarantees: async.L4 */
TEST(L4_with_exact_orders_those_who_ask_get_the_object_whose_turn_it_is)
{
    for (int fifo = 0; fifo < 2; fifo++) {
        asker one, two, three;
        pool = make_stocked(CEN_POOL_OPTIONS(.max = 2, .order = fifo ? CEN_ORDER_FIFO : CEN_ORDER_LIFO), 2);
        cen_lease a = take_now(pool), b = take_now(pool);
        int first = number_of(&a), second = number_of(&b);
        give_back(&a);
        give_back(&b);
        ask(&one, pool, CEN_NOW);
        expect_lent(&one, fifo ? first : second);
        ask(&two, pool, CEN_NOW);
        ask(&three, pool, CEN_NEVER);
        give_asked(&one);
        expect_lent(&three, fifo ? first : second);
        give_asked(&two);
        give_asked(&three);
        finish();
    }
}

TEST(a_driver_that_blocks_is_called_on_helpers_and_the_ask_returns_at_once)
{
    script s = {.of[CALL_OPEN] = {.takes_ns = 5 * MS}};
    asker one, two;
    pool = begin_life(&s, BLOCKS, .max = 1);
    int64_t now = cen_clock();
    ask(&one, pool, cen_in_s(1));
    ask(&two, pool, cen_in_s(1));
    expect_equal(cen_clock(), now);
    expect_pending(&one);
    pass(5 * MS);
    expect_lent(&one, 1);
    expect(s.of[CALL_OPEN].thread != cen_thread_number() && one.by == s.of[CALL_OPEN].thread);
    give_asked(&one);
    expect_lent(&two, 1);
    give_asked(&two);
    end_life(&s, pool);
}

TEST(a_quick_driver_opens_an_object_here_and_now_whatever_the_deadline)
{
    asker one, two, three;
    prepare(2, 0);
    ask(&one, pool, CEN_NOW);
    expect_lent(&one, 1);
    ask(&two, pool, cen_in_s(1));
    expect_lent(&two, 2);
    ask(&three, pool, CEN_NOW);
    expect_told(&three, CEN_TIMEOUT);
    expect_log(&shop, "+1 +2 ");
    give_asked(&one);
    give_asked(&two);
    finish();
}

/* ---- Whose the lease is --------------------------------------------------------------------------- */

static asker asked_by_another;
static uint64_t another;

static void ask_and_end(void *argument)
{
    (void)argument;
    another = cen_thread_number();
    ask(&asked_by_another, pool, CEN_NEVER);
}

/* Asked for in a thread that has ended since: at once if something is idle, else in line. */
static void ask_in_a_thread(bool in_line)
{
    prepare(1, 0);
    cen_lease held = take_now(pool);
    if (!in_line) give_back(&held);
    join(start("asker", ask_and_end, NULL));
    ceni_world_settle();
    if (in_line) give_back(&held);
    expect_lent(&asked_by_another, 1);
}

/* guarantees: async.L13 */
TEST(L13_a_lease_that_was_asked_for_is_not_taken_back_when_the_thread_ends_and_says_who_asked)
{
    for (int in_line = 0; in_line < 2; in_line++) {
        cen_object_view holding;
        size_t count;
        ask_in_a_thread(in_line);
        expect_counts(pool, 0, 1);
        expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
        expect(count == 1 && holding.holder == another && holding.is_detached);
        expect_text(holding.where, "asked here");
        give_asked(&asked_by_another);
        expect_log(&shop, "+1 ");
        finish();
    }
}

/* guarantees: async.L13 */
TEST(a_lost_asynchronous_lease_is_reclaimed_as_a_leak_and_its_late_give_is_revoked)
{
    script s = {.opened = 0};
    asker one;
    pool = begin_life(&s, 0, .max = 1, .leak_after_ns = 10 * MS, .on_leak = CEN_LEAK_RECLAIM);
    ask(&one, pool, CEN_NOW);
    pass(100 * MS);
    cen_pool_stats n = look(pool);
    expect(n.leaked == 1 && n.reclaimed == 1 && n.held == 0 && n.orphans == 1);
    expect(s.things[1].open); /* its holder may still be using it */
    expect_equal(cen_pool_give(&one.take.lease), CEN_REVOKED);
    expect(!s.things[1].open);
    end_life(&s, pool);
}

/* ---- How it ends -------------------------------------------------------------------------------------- */

/* guarantees: async.L5 */
TEST(L5_one_whose_deadline_passes_is_told_so_at_its_moment_and_gets_nothing)
{
    asker one, two, three;
    prepare(1, 0);
    cen_lease held = take_now(pool);
    int64_t now = cen_clock();
    ask(&one, pool, cen_in_ms(50));
    ask(&two, pool, cen_in_ms(20)); /* earlier than the one before it */
    ask(&three, pool, cen_at(now + 90 * MS));
    pass_until(now + 20 * MS - 1);
    expect_pending(&two);
    pass_until(now + 20 * MS);
    expect_told(&two, CEN_TIMEOUT);
    expect_error(&two.error, CEN_TIMEOUT, "20 ms");
    expect_equal(two.at, now + 20 * MS);
    expect_pending(&one);
    pass_until(now + 50 * MS);
    expect_told(&one, CEN_TIMEOUT);
    give_back(&held);
    expect_lent(&three, 1);
    give_asked(&three);
    pass_until(now + 200 * MS);
    cen_pool_stats s = expect_sound(pool);
    expect(s.timed_out == 2 && s.served == 1);
    finish();
}

TEST(a_zero_deadline_is_the_pools_patience_and_never_is_never)
{
    asker one, two;
    shop = (workshop){0};
    pool = make_pool(.max = 1, .driver = driver_of(&shop), .default_deadline = cen_in_ms(70));
    cen_lease held = take_now(pool);
    ask(&one, pool, ZERO);
    ask(&two, pool, CEN_NEVER);
    pass(70 * MS);
    expect_told(&one, CEN_TIMEOUT);
    pass(3600 * SECOND);
    expect_pending(&two);
    give_back(&held);
    give_asked(&two);
    finish();
}

TEST(now_does_not_wait_and_lets_a_blocking_driver_open_one_for_whoever_comes_next)
{
    script s = {.opened = 0};
    asker one, two;
    pool = begin_life(&s, BLOCKS, .max = 1);
    ask(&one, pool, CEN_NOW);
    expect_told(&one, CEN_TIMEOUT);
    ceni_world_settle();
    ask(&two, pool, CEN_NOW);
    expect_lent(&two, 1);
    give_asked(&two);
    end_life(&s, pool);
}

/* guarantees: async.L15 */
TEST(L15_close_tells_those_who_asked_at_once_and_one_who_comes_later_too)
{
    asker one, two, late;
    cen_close_report report = CEN_SIZED(cen_close_report);
    prepare(1, 0);
    cen_lease held = take_now(pool);
    ask(&one, pool, cen_in_s(1));
    ask(&two, pool, CEN_NEVER);
    expect_equal(cen_pool_close(pool, CEN_NOW, &report, NULL), CEN_TIMEOUT);
    expect_equal(report.waiting, 2);
    expect_told(&one, CEN_CLOSED);
    expect_error(&one.error, CEN_CLOSED, "has been closed");
    expect_told(&two, CEN_CLOSED);
    expect(one.turn < two.turn);
    ask(&late, pool, CEN_NEVER);
    expect_told(&late, CEN_CLOSED);
    expect_equal(cen_pool_give(&held), CEN_REVOKED);
    finish();
}

TEST(beyond_max_waiters_it_is_told_that_the_line_is_full)
{
    asker one, two;
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .max_waiters = 1), 1);
    cen_lease held = take_now(pool);
    ask(&one, pool, CEN_NEVER);
    ask(&two, pool, CEN_NEVER);
    expect_told(&two, CEN_FULL);
    expect_pending(&one);
    expect_equal(expect_sound(pool).refused, 1);
    give_back(&held);
    give_asked(&one);
    finish();
}

TEST(what_the_drivers_open_answered_is_told_with_its_text_and_its_number)
{
    for (int in_line = 0; in_line < 2; in_line++) {
        asker one;
        prepare(1, 0);
        shop.failure = CEN_SYSTEM;
        shop.failure_code = 113;
        shop.failure_text = "no route";
        shop.fail_from = shop.fail_to = in_line ? 2 : 1;
        cen_lease held = {.pool = NULL};
        if (in_line) held = take_now(pool);
        ask(&one, pool, cen_in_s(1));
        if (in_line) expect_equal(cen_pool_discard(&held), CEN_OK);
        expect_told(&one, CEN_SYSTEM);
        expect_error(&one.error, CEN_SYSTEM, "no route");
        expect(one.error.code == 113 && one.take.future.code == 113);
        expect_equal(expect_sound(pool).open_failed, 1);
        finish();
    }
}

/* ---- Errors, after which nothing is told ----------------------------------------------------------------- */

TEST(what_cannot_be_asked_is_refused_and_nothing_is_told)
{
    asker one;
    prepare(1, 0);
    ready(&one, cen_inline());
    expect_equal(cen_pool_take_async(NULL, CEN_NOW, &one.take), CEN_INVALID);
    expect_equal(cen_pool_take_async(pool, CEN_NOW, NULL), CEN_INVALID);
    expect_equal(one.told, 0);
    cen_take_op_init(&one.take, tell, NULL); /* nobody would call it */
    expect_equal(cen_pool_take_async(pool, CEN_NOW, &one.take), CEN_INVALID);
    cen_take_op_init(NULL, tell, cen_inline());
    expect(!cen_future_cancel(NULL));
    expect_counts(pool, 0, 0);
    finish();
}

TEST(a_take_that_was_asked_for_is_not_asked_for_again_before_it_is_made_ready)
{
    asker one;
    prepare(1, 0);
    cen_lease held = take_now(pool);
    ask(&one, pool, CEN_NEVER);
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &one.take), CEN_MISUSE);
    expect_equal(expect_sound(pool).waiting, 1);
    give_back(&held);
    expect_lent(&one, 1);
    expect_equal(cen_pool_take_async(pool, CEN_NEVER, &one.take), CEN_MISUSE); /* it is done */
    give_asked(&one);
    ready(&one, cen_inline());
    expect_equal(cen_pool_take_async(pool, CEN_NOW, &one.take), CEN_OK);
    give_asked(&one);
    finish();
}

static asker asks_inside;
static cen_status answered_inside;
static cen_pool *asked_inside;

static void ask_from_the_driver(workshop *from, char what, void *object)
{
    (void)from, (void)object;
    if (what != '-') return;
    ready(&asks_inside, cen_inline());
    answered_inside = cen_pool_take_async(asked_inside, CEN_NEVER, &asks_inside.take);
}

TEST(inside_a_call_that_the_pool_itself_made_it_is_a_misuse_even_if_something_is_idle)
{
    prepare(2, 0);
    asked_inside = pool;
    cen_lease a = take_now(pool), b = take_now(pool);
    give_back(&a); /* what this thread would get by the quick path */
    a = take_now(pool);
    give_back(&a);
    shop.inside = ask_from_the_driver;
    expect_equal(cen_pool_discard(&b), CEN_OK);
    expect_equal(answered_inside, CEN_MISUSE);
    expect_equal(asks_inside.told, 0);
    expect_error(&asks_inside.error, CEN_MISUSE, "inside");
    expect_counts(pool, 1, 0);
    cen_pool *another_pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    asked_inside = another_pool; /* which is free to use */
    a = take_now(pool);
    expect_equal(cen_pool_discard(&a), CEN_OK);
    expect_equal(answered_inside, CEN_OK);
    expect_lent(&asks_inside, 1);
    give_asked(&asks_inside);
    shop.inside = NULL;
    free_pool(another_pool);
    finish();
}
