/* SPDX-License-Identifier: MIT */
/*
 * What a driver's functions and a visitor may call: look, give, and take what
 * is idle; all else on the same pool is MISUSE and changes nothing, and other
 * pools are free to use.
 */
#include "unit/pool/takers.h"

static workshop shop;
static cen_pool *pool;
static cen_lease spare; /* a lease of the pool, to be given or tried from inside */
static char when;       /* in which function of the driver to look */
static int looked;      /* how often it did */
static void (*look_inside)(void);

static void at_call(workshop *unused, char what, void *object)
{
    (void)unused;
    (void)object;
    if (what != when) return;
    looked++;
    when = 0;
    look_inside();
}

static void prepare(uint32_t max, int held, char what, void (*look)(void))
{
    shop = (workshop){.inside = at_call};
    looked = 0;
    when = 0;
    look_inside = look;
    pool = make_pool(.name = "own", .max = max, .driver = driver_of(&shop));
    for (int i = 0; i < held; i++) spare = take_now(pool);
    when = what;
}

static bool visit_once(void *argument, const cen_object_view *holding)
{
    (void)argument;
    (void)holding;
    looked++;
    look_inside();
    return false;
}

/* ---- What is refused ----------------------------------------------------------------------- */

static void expect_misuse(cen_status status, const cen_error *error)
{
    expect_equal(status, CEN_MISUSE);
    expect_error(error, CEN_MISUSE, "\"own\"");
    expect_because(error, CEN_CAUSE_INSIDE_CALL);
}

static void try_all_that_is_refused(void)
{
    cen_pool_stats before = expect_sound(pool);
    bool closed = cen_pool_is_closed(pool);
    cen_lease copy = spare;
    cen_error error;
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_discard(&spare), CEN_MISUSE);
    expect(memcmp(&copy, &spare, sizeof copy) == 0);
    expect_misuse(cen_pool_adopt(pool, NULL, &error), &error);
    expect_misuse(cen_pool_resize(pool, 9, &error), &error);
    expect_misuse(cen_pool_resize(pool, 1, &error), &error);
    expect_misuse(cen_pool_close(pool, CEN_NEVER, &report, &error), &error);
    expect_equal(cen_pool_adopt(pool, NULL, NULL), CEN_MISUSE);
    expect_equal(cen_pool_free(pool), CEN_MISUSE);
    expect_equal(cen_pool_is_closed(pool), closed);
    cen_pool_stats after = expect_sound(pool);
    expect(same_stats(&before, &after));
}

/* guarantees: pool-api.reentrancy */
TEST(from_open_all_that_changes_the_pool_is_refused)
{
    prepare(3, 1, '+', try_all_that_is_refused);
    cen_lease lease = take_now(pool);
    expect_equal(looked, 1);
    give_back(&lease);
    give_back(&spare);
    free_pool(pool);
}

TEST(from_an_open_that_fails_all_that_changes_the_pool_is_refused)
{
    prepare(3, 1, 'x', try_all_that_is_refused);
    shop.fail_from = shop.fail_to = 2;
    cen_lease lease;
    expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_DRIVER);
    expect_equal(looked, 1);
    give_back(&spare);
    free_pool(pool);
}

/* guarantees: pool-api.reentrancy */
TEST(from_close_all_that_changes_the_pool_is_refused)
{
    prepare(3, 1, 0, try_all_that_is_refused);
    cen_lease discarded = take_now(pool), surplus = take_now(pool);
    when = '-';
    expect_equal(cen_pool_discard(&discarded), CEN_OK);
    expect_equal(looked, 1);
    expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
    when = '-';
    give_back(&surplus); /* closed by the give */
    expect_equal(looked, 2);
    give_back(&spare);
    free_pool(pool);
    expect_log(&shop, "+1 +2 +3 -2 -3 -1 ");
}

/* guarantees: pool-api.reentrancy */
TEST(from_interrupt_all_that_changes_the_pool_is_refused)
{
    prepare(3, 1, '!', try_all_that_is_refused);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    expect_equal(looked, 1);
    expect_equal(cen_pool_give(&spare), CEN_REVOKED);
    free_pool(pool);
}

/* guarantees: pool-api.reentrancy */
TEST(from_a_visitor_all_that_changes_the_pool_is_refused)
{
    prepare(3, 1, 0, try_all_that_is_refused);
    expect_equal(cen_pool_each(pool, visit_once, NULL), CEN_OK);
    expect_equal(looked, 1);
    give_back(&spare);
    free_pool(pool);
}

/* ---- A take that cannot be done at once -------------------------------------------------------- */

static void try_to_wait(void)
{
    cen_pool_stats before = expect_sound(pool);
    cen_error error;
    cen_lease lease;
    cen_scope scope;
    int64_t began = cen_clock();
    expect_misuse(cen_pool_take(pool, cen_in_s(5), &lease, &error), &error);
    expect_misuse(cen_pool_take(pool, CEN_NEVER, &lease, &error), &error);
    expect_misuse(cen_pool_take(pool, ZERO, &lease, &error), &error);
    expect_misuse(cen_pool_enter(pool, CEN_NEVER, &scope, &error), &error);
    expect_equal(cen_clock(), began);
    cen_pool_stats after = expect_sound(pool);
    expect(same_stats(&before, &after));
}

/* guarantees: pool-api.reentrancy */
TEST(from_open_a_take_that_would_have_to_wait_is_refused)
{
    prepare(2, 1, '+', try_to_wait); /* the place being opened is the last */
    cen_lease lease = take_now(pool);
    expect_equal(looked, 1);
    give_back(&lease);
    give_back(&spare);
    free_pool(pool);
}

TEST(from_a_visitor_a_take_that_would_have_to_wait_is_refused)
{
    prepare(1, 1, 0, try_to_wait);
    expect_equal(cen_pool_each(pool, visit_once, NULL), CEN_OK);
    expect_equal(looked, 1);
    give_back(&spare);
    free_pool(pool);
}

static void try_to_open(void)
{
    cen_pool_stats before = expect_sound(pool);
    cen_error error;
    cen_lease lease;
    expect_misuse(cen_pool_take(pool, CEN_NEVER, &lease, &error), &error);
    expect_misuse(cen_pool_take(pool, CEN_NOW, &lease, &error), &error);
    expect_misuse(cen_pool_try_take(pool, &lease, &error), &error);
    cen_pool_stats after = expect_sound(pool);
    expect(same_stats(&before, &after));
}

/* guarantees: pool-api.reentrancy */
TEST(from_open_a_take_that_would_have_to_open_is_refused)
{
    prepare(3, 1, '+', try_to_open);
    cen_lease lease = take_now(pool);
    expect_equal(looked, 1);
    expect_equal(shop.opened, 2);
    give_back(&lease);
    give_back(&spare);
    free_pool(pool);
}

/* ---- What is allowed ------------------------------------------------------------------------------ */

static bool count_visits(void *argument, const cen_object_view *holding)
{
    (void)holding;
    ++*(int *)argument;
    return true;
}

static void look_give_and_take(void)
{
    int visits = 0;
    size_t count = 99;
    cen_pool_stats s = expect_sound(pool);
    expect_equal(cen_pool_each(pool, count_visits, &visits), CEN_OK);
    expect_equal(visits, s.idle + s.held + s.revoked + s.resetting + s.testing + s.closing);
    expect_equal(cen_pool_holders(pool, NULL, 0, &count), CEN_OK);
    expect_equal(count, s.held + s.revoked);
    expect_text(cen_pool_name(pool), "own");
    void *object = spare.object;
    give_back(&spare);
    spare = take_now(pool);
    expect(spare.object == object);
    give_back(&spare);
    cen_scope outer, inner;
    expect_equal(cen_pool_enter(pool, CEN_NEVER, &outer, NULL), CEN_OK);
    expect_equal(cen_pool_enter(pool, CEN_NEVER, &inner, NULL), CEN_OK);
    expect(outer.lease.object == object && inner.lease.object == object);
    expect_equal(cen_pool_leave(&outer), CEN_OK);
    expect_equal(cen_pool_leave(&inner), CEN_OK);
    expect_equal(cen_pool_take(pool, CEN_NEVER, &spare, NULL), CEN_OK);
    expect(spare.object == object);
    expect_sound(pool);
}

TEST(from_open_one_may_look_give_and_take_what_is_idle)
{
    prepare(3, 1, '+', look_give_and_take);
    cen_lease lease = take_now(pool);
    expect_equal(looked, 1);
    expect(lease.object != spare.object);
    give_back(&lease);
    give_back(&spare);
    free_pool(pool);
}

TEST(from_close_one_may_look_give_and_take_what_is_idle)
{
    prepare(3, 1, 0, look_give_and_take);
    cen_lease lease = take_now(pool);
    when = '-';
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    expect_equal(looked, 1);
    give_back(&spare);
    free_pool(pool);
}

TEST(from_a_visitor_one_may_look_give_and_take_what_is_idle)
{
    prepare(3, 1, 0, look_give_and_take);
    expect_equal(cen_pool_each(pool, visit_once, NULL), CEN_OK);
    expect_equal(looked, 1);
    give_back(&spare);
    free_pool(pool);
}

static void give_spare(void)
{
    expect_equal(cen_pool_give(&spare), CEN_REVOKED);
    expect_log(&shop, "+1 !1 "); /* not closed under the interrupt that is running */
}

TEST(from_interrupt_one_may_give_the_very_object_and_it_is_closed_afterwards)
{
    prepare(2, 1, '!', give_spare);
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_close(pool, CEN_NOW, &report, NULL), CEN_OK); /* nothing is out any more */
    expect(looked == 1 && report.revoked == 0 && report.given == 1);
    expect_log(&shop, "-1 ");
    expect_equal(expect_sound(pool).vacant, 2);
    free_pool(pool);
}

/* ---- Other pools ------------------------------------------------------------------------------------- */

static void use_another_pool(void)
{
    workshop other_shop = {0};
    cen_pool *other = make_pool(.max = 2, .driver = driver_of(&other_shop));
    cen_lease lease, second;
    expect_equal(cen_pool_take(other, CEN_NEVER, &lease, NULL), CEN_OK);
    expect_equal(cen_pool_try_take(other, &second, NULL), CEN_OK);
    int64_t began = cen_clock();
    cen_lease third;
    expect_equal(cen_pool_take(other, cen_in_s(1), &third, NULL), CEN_TIMEOUT); /* one may even wait */
    expect_equal(cen_clock() - began, SECOND);
    expect_equal(cen_pool_discard(&second), CEN_OK);
    give_back(&lease);
    expect_equal(cen_pool_adopt(other, NULL, NULL), CEN_OK);
    expect_equal(cen_pool_resize(other, 1, NULL), CEN_OK);
    expect_equal(cen_pool_close(other, CEN_NOW, NULL, NULL), CEN_OK);
    free_pool(other);
    expect_equal(other_shop.closed, 3);
    try_all_that_is_refused(); /* and this is still inside the call of the first */
}

TEST(from_open_other_pools_are_free_to_use)
{
    prepare(3, 1, '+', use_another_pool);
    cen_lease lease = take_now(pool);
    expect_equal(looked, 1);
    give_back(&lease);
    give_back(&spare);
    free_pool(pool);
}

static cen_pool *between;

static void try_through_another_pool(workshop *unused, char what, void *object)
{
    (void)unused;
    (void)object;
    if (what == '+') try_all_that_is_refused();
}

static void go_through_another_pool(void)
{
    cen_lease lease = take_now(between);
    give_back(&lease);
}

/* guarantees: pool-api.reentrancy */
TEST(the_driver_of_another_pool_that_is_called_from_inside_is_inside_too)
{
    workshop other_shop = {.inside = try_through_another_pool};
    between = make_pool(.max = 1, .driver = driver_of(&other_shop));
    prepare(3, 1, '+', go_through_another_pool);
    cen_lease lease = take_now(pool);
    expect_equal(looked, 1);
    give_back(&lease);
    give_back(&spare);
    free_pool(pool);
    free_pool(between);
}

/* ---- Only the thread that is inside -------------------------------------------------------------------- */

static void from_another_thread(void *argument)
{
    (void)argument;
    expect_equal(cen_pool_adopt(pool, object_of(50), NULL), CEN_OK);
    expect_equal(cen_pool_resize(pool, 5, NULL), CEN_OK);
    cen_lease lease = take_now(pool);
    expect_equal(cen_pool_discard(&lease), CEN_OK);
}

static void start_another_thread(void)
{
    join(start("other", from_another_thread, NULL));
}

/* guarantees: pool.L9, pool-bugs.callback-lock */
TEST(other_threads_may_use_the_pool_while_one_is_inside)
{
    prepare(3, 1, '+', start_another_thread);
    cen_lease lease = take_now(pool);
    expect_equal(looked, 1);
    expect_equal(cen_pool_max(pool), 5);
    give_back(&lease);
    give_back(&spare);
    free_pool(pool);
}
