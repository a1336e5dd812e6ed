/* SPDX-License-Identifier: MIT */
/*
 * Leases that have ended, were copied, were made by hand or belong elsewhere
 * (L8): each is told from a live one, and nothing changes.
 */
#include "unit/pool/takers.h"

static workshop shop;

static cen_pool *make_shop(uint32_t max, cen_order order)
{
    shop = (workshop){0};
    return make_pool(.name = "tools", .max = max, .driver = driver_of(&shop), .order = order);
}

/* One whose objects have all been lent before: an object's first lease takes another path than the later ones. */
static cen_pool *make_used(uint32_t max, cen_order order)
{
    cen_pool *pool = make_shop(max, order);
    cen_lease leases[8];
    for (uint32_t i = 0; i < max; i++) leases[i] = take_now(pool);
    for (uint32_t i = 0; i < max; i++) give_back(&leases[i]);
    shop.log[0] = '\0';
    return pool;
}

static cen_pool *(*const makers[])(uint32_t, cen_order) = {make_shop, make_used};

/* Giving and discarding it both say `status`, and neither the lease nor the pool is changed. */
static void expect_refused(const cen_lease *lease, cen_status status, cen_pool *pool)
{
    cen_pool_stats before = expect_sound(pool);
    cen_lease copy = *lease;
    expect_equal(cen_pool_give(&copy), status);
    expect(memcmp(&copy, lease, sizeof copy) == 0);
    expect_equal(cen_pool_discard(&copy), status);
    expect(memcmp(&copy, lease, sizeof copy) == 0);
    cen_pool_stats after = expect_sound(pool);
    expect(same_stats(&before, &after));
}

/* ---- Ended leases ----------------------------------------------------------------------- */

/* guarantees: pool.L8 */
TEST(give_twice_reports_stale_and_changes_nothing)
{
    for (int used = 0; used < 2; used++)
        for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
            cen_pool *pool = makers[used](2, order);
            cen_lease lease = take_now(pool), copy = lease;
            give_back(&lease);
            expect_refused(&lease, CEN_STALE, pool);
            expect_refused(&copy, CEN_STALE, pool);
            expect_counts(pool, used ? 2 : 1, 0);
            free_pool(pool);
            expect_log(&shop, used ? "-1 -2 " : "+1 -1 ");
        }
}

/* guarantees: pool.L8 */
TEST(a_copy_of_a_lease_is_stale_although_its_slot_was_lent_again)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_pool *pool = make_shop(1, order);
        cen_lease first = take_now(pool), copy = first;
        give_back(&first);
        cen_lease second = take_now(pool);
        expect(second.object == copy.object);
        expect_refused(&copy, CEN_STALE, pool);
        expect_counts(pool, 0, 1);
        give_back(&second);
        expect_refused(&copy, CEN_STALE, pool);
        free_pool(pool);
    }
}

/* guarantees: pool.L8 */
TEST(each_of_many_leases_of_one_slot_ends_once)
{
    enum { ROUNDS = 300 };
    static cen_lease copies[ROUNDS];
    cen_pool *pool = make_shop(1, CEN_ORDER_WARM);
    for (int i = 0; i < ROUNDS; i++) {
        cen_lease lease = take_now(pool);
        copies[i] = lease;
        for (int old = 0; old < i; old += 17) expect_equal(cen_pool_give(&copies[old]), CEN_STALE);
        expect_counts(pool, 0, 1);
        give_back(&lease);
    }
    for (int i = 0; i < ROUNDS; i++) expect_refused(&copies[i], CEN_STALE, pool);
    cen_pool_stats s = expect_sound(pool);
    expect(s.taken == ROUNDS && s.ended == ROUNDS);
    free_pool(pool);
}

TEST(a_copy_of_a_discarded_lease_is_stale_although_another_object_has_its_place)
{
    cen_pool *pool = make_shop(1, CEN_ORDER_WARM);
    cen_lease first = take_now(pool), copy = first;
    expect_equal(cen_pool_discard(&first), CEN_OK);
    expect(first.pool == NULL);
    expect_refused(&first, CEN_STALE, pool);
    expect_refused(&copy, CEN_STALE, pool);
    cen_lease second = take_now(pool);
    expect_equal(number_of(&second), 2);
    expect_refused(&copy, CEN_STALE, pool);
    give_back(&second);
    free_pool(pool);
    expect_log(&shop, "+1 -1 +2 -2 ");
}

TEST(of_several_copies_the_first_that_is_given_ends_the_lease)
{
    cen_pool *pool = make_shop(1, CEN_ORDER_WARM);
    cen_lease lease = take_now(pool), copies[3] = {lease, lease, lease};
    give_back(&copies[1]);
    expect_refused(&copies[0], CEN_STALE, pool);
    expect_refused(&copies[2], CEN_STALE, pool);
    expect_refused(&lease, CEN_STALE, pool);
    free_pool(pool);
}

TEST(a_lease_that_was_never_taken_is_stale)
{
    cen_pool *pool = make_shop(1, CEN_ORDER_WARM);
    cen_lease zero = {.object = NULL};
    expect_refused(&zero, CEN_STALE, pool);
    free_pool(pool);
}

TEST(no_lease_at_all_is_invalid)
{
    expect_equal(cen_pool_give(NULL), CEN_INVALID);
    expect_equal(cen_pool_discard(NULL), CEN_INVALID);
}

/* ---- Foreign and handmade leases ------------------------------------------------------------ */

/* guarantees: pool.L8, pool-bugs.double-give */
TEST(a_lease_of_another_pool_is_foreign)
{
    cen_pool *pool = make_used(2, CEN_ORDER_WARM);
    cen_pool *other = make_pool(.max = 2, .driver = driver_of(&shop));
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_pool *third = make_pool(.max = 2, .driver = driver_of(&shop), .order = order);
        cen_lease lease = take_now(pool), mine = take_now(third), crossed = lease;
        crossed.pool = third;
        crossed.generation = mine.generation; /* a smaller one would be a lease of a pool that had the struct before */
        expect_refused(&crossed, CEN_FOREIGN, third);
        crossed = lease;
        crossed.pool = other;
        expect_refused(&crossed, CEN_FOREIGN, other);
        expect_counts(pool, 1, 1);
        give_back(&lease);
        give_back(&mine);
        free_pool(third);
    }
    free_pool(other);
    free_pool(pool);
}

/* guarantees: pool.L8, pool-bugs.double-give */
TEST(a_slot_that_is_none_of_the_pools_is_foreign)
{
    cen_pool *pool = make_used(3, CEN_ORDER_WARM);
    cen_lease lease = take_now(pool), wrong = lease;
    static char elsewhere[4096];
    const uintptr_t right = (uintptr_t)lease.slot;
    const uintptr_t slots[] = {0,
                               1,
                               UINTPTR_MAX,
                               right + 1,
                               right + 8,
                               right - 1,
                               right + 128 * 1000000,
                               right - 128 * 1000,
                               (uintptr_t)elsewhere,
                               (uintptr_t)&lease,
                               (uintptr_t)pool};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        wrong.slot = (void *)slots[i];
        expect_refused(&wrong, CEN_FOREIGN, pool);
    }
    give_back(&lease);
    free_pool(pool);
}

TEST(a_lease_with_another_generation_is_none)
{
    cen_pool *pool = make_shop(2, CEN_ORDER_WARM);
    cen_lease lease = take_now(pool);
    give_back(&lease);
    lease = take_now(pool);
    const uint64_t generations[] = {0, lease.generation - 1, lease.generation + 1, UINT64_MAX, UINT64_C(1) << 55};
    for (size_t i = 0; i < sizeof generations / sizeof generations[0]; i++) {
        cen_lease wrong = lease;
        wrong.generation = generations[i];
        expect_refused(&wrong, CEN_STALE, pool);
    }
    give_back(&lease);
    free_pool(pool);
}

/* guarantees: pool.L8 */
TEST(the_place_of_an_idle_or_a_missing_object_makes_no_lease)
{
    cen_pool *pool = make_shop(3, CEN_ORDER_WARM);
    cen_lease a = take_now(pool), b = take_now(pool), made = b;
    give_back(&b); /* idle now */
    for (uint64_t generation = 0; generation < 4; generation++) {
        made.generation = generation;
        expect_refused(&made, CEN_STALE, pool);
    }
    made.slot = (char *)made.slot + 128; /* the third place has never had an object */
    for (uint64_t generation = 0; generation < 4; generation++) {
        made.generation = generation;
        expect_refused(&made, CEN_STALE, pool);
    }
    give_back(&a);
    free_pool(pool);
}

/* ---- Who gives ----------------------------------------------------------------------------------- */

static void give_it(void *argument)
{
    give_back(argument);
}

TEST(any_thread_may_give_any_lease)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_pool *pool = make_shop(1, order);
        cen_lease lease = take_now(pool);
        join(start("giver", give_it, &lease));
        expect(lease.pool == NULL);
        expect_counts(pool, 1, 0);
        lease = take_now(pool);
        expect_equal(number_of(&lease), 1);
        give_back(&lease);
        free_pool(pool);
    }
}

static void take_and_end(void *argument)
{
    taker *one = argument;
    one->lease = take_now(one->pool);
    expect_equal(cen_pool_detach(&one->lease), CEN_OK);
}

TEST(what_a_thread_detached_is_held_after_its_end)
{
    cen_pool *pool = make_shop(1, CEN_ORDER_WARM);
    taker one = {.pool = pool};
    join(start("holder", take_and_end, &one));
    expect_counts(pool, 0, 1);
    expect_none(pool);
    give_back(&one.lease); /* but whoever has the lease may */
    cen_lease lease = take_now(pool);
    give_back(&lease);
    free_pool(pool);
}

TEST(what_a_holder_wrote_is_there_for_the_next)
{
    int box = 0;
    cen_pool *pool = make_pool(.max = 1);
    expect_equal(cen_pool_adopt(pool, &box, NULL), CEN_OK);
    for (int i = 0; i < 20; i++) {
        taker one;
        begin_take(&one, pool, CEN_NEVER);
        expect_answer(&one, CEN_OK);
        expect_equal((*(int *)one.lease.object)++, i);
        give_back(&one.lease);
    }
    free_pool(pool);
}

/* ---- A lease that lives in its object -------------------------------------------------------------- */

typedef struct tool {
    cen_lease lease;
} tool;

static tool tools[2];
static int tools_made;

static cen_status make_tool(void *argument, void **out, cen_error *error)
{
    (void)argument;
    (void)error;
    *out = &tools[tools_made++ % 2];
    return CEN_OK;
}

static void scrap_tool(void *argument, void *object)
{
    (void)argument;
    memset(object, 0xEE, sizeof(tool)); /* as free would */
}

static bool is_scrapped(const tool *one)
{
    const unsigned char *bytes = (const unsigned char *)one;
    for (size_t i = 0; i < sizeof *one; i++)
        if (bytes[i] != 0xEE) return false;
    return true;
}

static const cen_driver_calls tool_calls = {.size = sizeof(cen_driver_calls), .open = make_tool, .close = scrap_tool};

static tool *take_tool(cen_pool *pool)
{
    cen_lease lease = take_now(pool);
    tool *one = lease.object;
    one->lease = lease;
    return one;
}

/* After the object is somebody else's, or has been closed, the lease in it is not touched. */
TEST(a_lease_that_lives_in_its_object_is_not_touched_after_the_object_was_closed)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        tools_made = 0;
        cen_pool *pool = make_pool(.max = 2, .driver = {&tool_calls, NULL}, .order = order);
        tool *one = take_tool(pool), *two = take_tool(pool);
        expect_equal(cen_pool_discard(&one->lease), CEN_OK);
        expect(is_scrapped(one));
        one = take_tool(pool);
        expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
        expect_equal(cen_pool_give(&one->lease), CEN_OK); /* one too many */
        expect(is_scrapped(one));
        expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
        expect_equal(cen_pool_give(&two->lease), CEN_REVOKED);
        expect(is_scrapped(two));
        free_pool(pool);
    }
}

static void take_and_give_tool(void *argument)
{
    cen_lease lease;
    expect_equal(cen_pool_take(argument, CEN_NEVER, &lease, NULL), CEN_OK);
    tool *one = lease.object;
    one->lease = lease;
    expect_equal(cen_pool_give(&one->lease), CEN_OK);
}

EXPLORE(a_lease_that_lives_in_its_object_is_the_next_holders_after_the_give, 4)
{
    ceni_world_without_hooks();
    tools_made = 0;
    cen_pool *pool = make_pool(.max = 1, .driver = {&tool_calls, NULL}, .order = CEN_ORDER_LIFO);
    ceni_thread other = start("other", take_and_give_tool, pool);
    take_and_give_tool(pool);
    join(other);
    free_pool(pool);
}

/* ---- Arguments -------------------------------------------------------------------------------------- */

TEST(take_needs_a_pool_and_a_place_for_the_lease)
{
    cen_lease lease;
    cen_error error;
    expect_equal(cen_pool_take(NULL, CEN_NEVER, &lease, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "pool is NULL");
    expect_equal(cen_pool_try_take(NULL, &lease, NULL), CEN_INVALID);
    expect_equal(cen_pool_try_take(NULL, NULL, NULL), CEN_INVALID);
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_pool *pool = make_shop(1, order);
        for (int warm = 0; warm < 2; warm++) {
            expect_equal(cen_pool_take(pool, CEN_NEVER, NULL, &error), CEN_INVALID);
            expect_error(&error, CEN_INVALID, "out is NULL");
            expect_equal(cen_pool_try_take(pool, NULL, &error), CEN_INVALID);
            expect_error(&error, CEN_INVALID, "out is NULL");
            expect_counts(pool, (uint32_t)warm, 0);
            lease = take_now(pool); /* from now on this thread has a slot it had last */
            give_back(&lease);
        }
        free_pool(pool);
    }
}
