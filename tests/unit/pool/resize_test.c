/* SPDX-License-Identifier: MIT */
/* Another max while the pool is in use (L16). */
#include "unit/pool/ledger.h"
#include "unit/pool/takers.h"

enum { MANY = 400 };

static workshop shop;
static cen_pool *pool;
static cen_lease leases[MANY];

static void prepare(uint32_t max, cen_order order)
{
    shop = (workshop){0};
    pool = make_pool(.name = "elastic", .max = max, .driver = driver_of(&shop), .order = order);
}

static void resize(uint32_t max)
{
    expect_equal(cen_pool_resize(pool, max, NULL), CEN_OK);
    expect_equal(cen_pool_max(pool), max);
    expect_sound(pool);
}

static void take_some(int first, int last)
{
    for (int i = first; i <= last; i++) leases[i] = take_now(pool);
}

static void give_some(int first, int last)
{
    for (int i = first; i <= last; i++) give_back(&leases[i]);
}

/* ---- Larger ------------------------------------------------------------------------------- */

TEST(a_larger_max_lets_more_be_taken_and_not_one_more)
{
    static const uint32_t maxima[] = {2, 3, 4, 64, 65, 66, 67, 130, 131, 200, 201, 399, 400};
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        prepare(1, order);
        take_some(0, 0);
        for (size_t i = 0; i < sizeof maxima / sizeof maxima[0]; i++) {
            expect_none(pool);
            uint32_t before = expect_sound(pool).held;
            resize(maxima[i]);
            take_some((int)before, (int)maxima[i] - 1);
            expect_counts(pool, 0, maxima[i]);
        }
        expect_none(pool);
        expect_equal(shop.opened, 400); /* each object once */
        give_some(0, 399);
        expect_counts(pool, 400, 0);
        free_pool(pool);
        expect_equal(shop.closed, 400);
    }
}

TEST(objects_beyond_the_first_chunk_are_lent_given_and_refused_like_the_others)
{
    prepare(1, CEN_ORDER_WARM);
    resize(200);
    take_some(0, 199);
    for (int i = 0; i < 200; i += 33) {
        cen_lease copy = leases[i], wrong = leases[i];
        give_back(&leases[i]);
        expect_equal(cen_pool_give(&copy), CEN_STALE);
        leases[i] = take_now(pool);
        expect(leases[i].object == copy.object);
        expect_equal(cen_pool_give(&copy), CEN_STALE);
        wrong.slot = (char *)wrong.slot + 8;
        expect_equal(cen_pool_give(&wrong), CEN_FOREIGN);
        expect_equal(cen_pool_discard(&leases[i]), CEN_OK);
        leases[i] = take_now(pool);
    }
    cen_object_view holdings[200];
    size_t count;
    expect_equal(cen_pool_holders(pool, holdings, 200, &count), CEN_OK);
    expect_equal(count, 200);
    for (uint32_t i = 0; i < 200; i++) expect_equal(holdings[i].index, i);
    give_some(0, 199);
    free_pool(pool);
}

/* guarantees: pool.L16 */
TEST(a_larger_max_serves_those_who_wait_at_once)
{
    for (int strict = 0; strict < 2; strict++) {
        shop = (workshop){0};
        pool = make_pool(.max = 1, .driver = driver_of(&shop), .max_barging_ns = strict ? CEN_NONE : 0);
        take_some(0, 0);
        taker takers[4];
        for (int i = 0; i < 4; i++) begin_take(&takers[i], pool, CEN_NEVER);
        int64_t began = cen_clock();
        resize(3);
        expect_taken(&takers[0], 2);
        expect_taken(&takers[1], 3);
        expect_waiting(&takers[2]);
        expect_waiting(&takers[3]);
        resize(100); /* a new chunk */
        expect_taken(&takers[2], 4);
        expect_taken(&takers[3], 5);
        expect_equal(cen_clock(), began);
        cen_pool_stats s = expect_sound(pool);
        expect(s.served == 4 && s.waiting == 0 && s.held == 5);
        for (int i = 0; i < 4; i++) give_back(&takers[i].lease);
        give_some(0, 0);
        free_pool(pool);
    }
}

TEST(a_larger_max_makes_room_for_objects_to_be_adopted)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    expect_equal(cen_pool_adopt(pool, NULL, NULL), CEN_FULL);
    resize(3);
    for (int i = 2; i <= 3; i++) expect_equal(cen_pool_adopt(pool, object_of(i), NULL), CEN_OK);
    expect_equal(cen_pool_adopt(pool, NULL, NULL), CEN_FULL);
    expect_counts(pool, 3, 0);
    free_pool(pool);
}

TEST(an_eager_pool_that_is_enlarged_makes_the_new_objects_when_they_are_wanted)
{
    shop = (workshop){0};
    pool = make_pool(.max = 2, .driver = driver_of(&shop), .eager = true);
    resize(4);
    expect_log(&shop, "+1 +2 ");
    take_some(0, 3);
    expect_log(&shop, "+3 +4 ");
    give_some(0, 3);
    free_pool(pool);
}

/* ---- Smaller ------------------------------------------------------------------------------------ */

/* guarantees: pool.L16 */
TEST(a_smaller_max_closes_idle_objects_the_highest_first)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        prepare(6, order);
        take_some(0, 5);
        give_some(0, 5);
        shop.log[0] = '\0';
        resize(4);
        expect_log(&shop, "-6 -5 ");
        expect_equal(cen_pool_adopt(pool, NULL, NULL), CEN_FULL); /* there are places, and max objects */
        resize(4);
        expect_log(&shop, "");
        resize(1);
        expect_log(&shop, "-4 -3 -2 ");
        expect_counts(pool, 1, 0);
        take_some(0, 0);
        expect_equal(number_of(&leases[0]), 1);
        expect_none(pool);
        give_some(0, 0);
        free_pool(pool);
    }
}

/* guarantees: pool.L16 */
TEST(a_smaller_max_closes_those_in_use_when_they_are_given_until_enough_are_gone)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        prepare(5, order);
        take_some(0, 4);
        shop.log[0] = '\0';
        resize(2);
        expect_counts(pool, 0, 5); /* nobody loses what it holds */
        expect_none(pool);
        expect_equal(cen_pool_adopt(pool, NULL, NULL), CEN_FULL);
        give_some(1, 1);
        expect_log(&shop, "-2 ");
        expect_equal(cen_pool_discard(&leases[3]), CEN_OK);
        expect_log(&shop, "-4 ");
        expect_counts(pool, 0, 3);
        give_some(0, 0);
        expect_log(&shop, "-1 ");
        give_some(4, 4);
        give_some(2, 2);
        expect_log(&shop, ""); /* two are there: enough are gone */
        expect_counts(pool, 2, 0);
        free_pool(pool);
    }
}

TEST(only_as_many_idle_objects_are_closed_as_are_too_many)
{
    prepare(6, CEN_ORDER_WARM);
    take_some(0, 5);
    give_some(2, 5); /* two are in use */
    shop.log[0] = '\0';
    resize(4);
    expect_log(&shop, "-6 -5 ");
    expect_counts(pool, 2, 2);
    resize(1);
    expect_log(&shop, "-4 -3 ");
    give_some(0, 0);
    expect_log(&shop, "-1 ");
    give_some(1, 1);
    expect_log(&shop, "");
    expect_counts(pool, 1, 0);
    free_pool(pool);
}

/* guarantees: pool.L16 */
TEST(those_who_wait_when_max_becomes_smaller_are_served_when_enough_are_gone)
{
    for (int strict = 0; strict < 2; strict++) {
        shop = (workshop){0};
        pool = make_pool(.max = 3, .driver = driver_of(&shop), .max_barging_ns = strict ? CEN_NONE : 0);
        take_some(0, 2);
        taker one;
        begin_take(&one, pool, CEN_NEVER);
        resize(1);
        give_some(0, 0);
        expect_waiting(&one);
        give_some(1, 1);
        expect_waiting(&one);
        expect_counts(pool, 0, 1);
        give_some(2, 2);
        expect_taken(&one, 3);
        expect_equal(shop.closed, 2);
        give_back(&one.lease);
        free_pool(pool);
    }
}

TEST(a_max_that_is_raised_again_spares_those_in_use)
{
    prepare(4, CEN_ORDER_WARM);
    take_some(0, 3);
    resize(1);
    resize(4);
    give_some(0, 3);
    expect_counts(pool, 4, 0);
    expect_equal(shop.closed, 0);
    free_pool(pool);
}

TEST(an_exact_order_survives_a_resize)
{
    for (cen_order order = CEN_ORDER_LIFO; order <= CEN_ORDER_FIFO; order++) {
        prepare(2, order);
        resize(80);
        take_some(0, 5);
        static const int given[] = {3, 0, 5, 1, 4, 2};
        for (int i = 0; i < 6; i++) give_some(given[i], given[i]);
        resize(4); /* objects 6 and 5 go */
        static const int fifo[] = {4, 1, 2, 3};
        take_some(0, 3);
        for (int i = 0; i < 4; i++)
            expect_equal(number_of(&leases[i]), order == CEN_ORDER_FIFO ? fifo[i] : fifo[3 - i]);
        give_some(0, 3);
        free_pool(pool);
    }
}

/* ---- Back and forth -------------------------------------------------------------------------------- */

/* guarantees: pool.L16 */
TEST(the_equations_hold_while_max_goes_up_and_down_under_load)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        uint64_t seed = 5;
        uint32_t held = 0, max = 3;
        prepare(max, order);
        for (int step = 0; step < 700; step++) {
            uint64_t choice = test_random(&seed) % 8;
            if (choice < 4) {
                cen_status status = cen_pool_try_take(pool, &leases[held], NULL);
                cen_pool_stats s = expect_sound(pool);
                expect(status == CEN_OK || (s.idle == 0 && s.held >= max));
                held += status == CEN_OK;
            } else if (choice < 7 && held > 0) {
                uint32_t which = (uint32_t)(test_random(&seed) % held);
                give_back(&leases[which]);
                leases[which] = leases[--held];
            } else if (choice == 7) {
                max = 1 + (uint32_t)(test_random(&seed) % 150);
                resize(max);
            }
            cen_pool_stats s = expect_sound(pool);
            expect_equal(s.held, held);
            expect(s.idle == 0 || s.idle + s.held <= max); /* what is too many is in use */
            expect_equal(shop.opened - shop.closed, s.idle + s.held);
        }
        if (held) give_some(0, (int)held - 1);
        free_pool(pool);
        expect_equal(shop.closed, shop.opened);
    }
}

TEST(memory_grows_with_the_largest_max_and_not_with_the_number_of_resizes)
{
    ledger book = {.bytes = 0};
    cen_allocator allocator = allocator_of(&book);
    pool = make_pool(.max = 10, .allocator = &allocator);
    resize(100);
    size_t bytes = book.bytes;
    unsigned given = book.given;
    for (uint32_t i = 0; i < 200; i++) resize(1 + i % 100);
    expect(book.bytes == bytes && book.given == given);
    free_pool(pool);
    expect_equal(book.bytes, 0);
}

/* ---- Errors --------------------------------------------------------------------------------------------- */

static void expect_refused(uint32_t max, cen_status status, const char *words)
{
    cen_pool_stats before = expect_sound(pool);
    cen_error error;
    expect_equal(cen_pool_resize(pool, max, &error), status);
    expect_error(&error, status, words);
    expect_equal(cen_pool_resize(pool, max, NULL), status);
    cen_pool_stats after = expect_sound(pool);
    expect(same_stats(&before, &after));
}

/* guarantees: pool-api.options */
TEST(a_max_that_is_not_allowed_changes_nothing)
{
    prepare(2, CEN_ORDER_WARM);
    take_some(0, 0);
    expect_refused(0, CEN_INVALID, "max must be 1 to 1000000 (got 0)");
    expect_refused(CEN_POOL_MAX + 1, CEN_INVALID, "(got 1000001)");
    expect_refused(UINT32_MAX, CEN_INVALID, "max must be");
    give_some(0, 0);
    free_pool(pool);
    cen_error error;
    expect_equal(cen_pool_resize(NULL, 5, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "pool is NULL");
}

TEST(a_pool_that_gets_no_memory_stays_as_it_is_and_can_be_tried_again)
{
    ledger book = {.bytes = 0};
    cen_allocator allocator = allocator_of(&book);
    shop = (workshop){0};
    pool = make_pool(.name = "elastic", .max = 2, .driver = driver_of(&shop), .allocator = &allocator);
    take_some(0, 1);
    book.exhausted = true;
    expect_refused(3, CEN_NO_MEMORY, "\"elastic\"");
    expect_refused(200, CEN_NO_MEMORY, "200");
    expect_none(pool);
    resize(1); /* needs none */
    resize(2);
    book.exhausted = false;
    resize(200);
    take_some(2, 199);
    give_some(0, 199);
    free_pool(pool);
    expect_equal(book.bytes, 0);
}

/* ---- Two at a time ------------------------------------------------------------------------------------------- */

static void resize_to(void *argument)
{
    expect_equal(cen_pool_resize(pool, (uint32_t)(uintptr_t)argument, NULL), CEN_OK);
}

EXPLORE(two_resizes_at_once_leave_one_of_the_two_and_leak_nothing, 4)
{
    pool = make_pool(.max = 1);
    ceni_thread other = start("other", resize_to, (void *)(uintptr_t)3);
    expect_equal(cen_pool_resize(pool, 2, NULL), CEN_OK);
    join(other);
    expect(cen_pool_max(pool) == 2 || cen_pool_max(pool) == 3);
    expect_sound(pool);
    free_pool(pool);
    expect_equal(ceni_world_bytes(), 0);
}

static cen_status other_answer;
static cen_lease other_lease;

static void take_other(void *unused)
{
    (void)unused;
    other_answer = cen_pool_try_take(pool, &other_lease, NULL);
}

/* There are two places and one object may be made: two who look at the same time must not both make one. */
/* guarantees: pool.L2, pool-bugs.limit */
EXPLORE(L2_two_takes_at_once_do_not_make_more_than_max_although_there_are_more_places, 4)
{
    ceni_world_without_hooks(); /* the other ends and leaves its lease to this one */
    shop = (workshop){0};
    pool = make_pool(.max = 2, .driver = driver_of(&shop));
    expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
    ceni_thread other = start("other", take_other, NULL);
    cen_lease lease;
    cen_status answer = cen_pool_try_take(pool, &lease, NULL);
    join(other);
    expect((answer == CEN_OK && other_answer == CEN_EMPTY) || (answer == CEN_EMPTY && other_answer == CEN_OK));
    expect_equal(shop.opened, 1);
    give_back(answer == CEN_OK ? &lease : &other_lease);
    free_pool(pool);
}
