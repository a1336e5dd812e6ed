/* SPDX-License-Identifier: MIT */
/* Which of several idle objects is lent: warm, last given first, longest idle first. */
#include "unit/pool/takers.h"

enum { COUNT = 6 };

static cen_pool *make_ordered(cen_order order, int count)
{
    return make_stocked(CEN_POOL_OPTIONS(.max = COUNT, .order = order), count);
}

static void take_all(cen_pool *pool, cen_lease *leases, int count)
{
    for (int i = 0; i < count; i++) leases[i] = take_now(pool);
}

/* Gives the objects in the order of the digits of `numbers`. */
static void give_in_order(cen_lease *leases, int count, const char *numbers)
{
    for (const char *digit = numbers; *digit; digit++) {
        int i = 0;
        while (i < count && (!leases[i].pool || number_of(&leases[i]) != *digit - '0')) i++;
        expect(i < count);
        give_back(&leases[i]);
    }
}

static void expect_lent(cen_pool *pool, const char *numbers)
{
    char lent[COUNT + 1] = "";
    cen_lease leases[COUNT];
    int count = (int)strlen(numbers);
    for (int i = 0; i < count; i++) {
        leases[i] = take_now(pool);
        lent[i] = (char)('0' + number_of(&leases[i]));
    }
    lent[count] = '\0';
    expect_text(lent, numbers);
    for (int i = 0; i < count; i++) give_back(&leases[i]);
}

/* ---- Exact orders ---------------------------------------------------------------------- */

/* guarantees: pool-api.order */
TEST(lifo_lends_exactly_the_one_that_was_given_last)
{
    static const char *const given[] = {"123456", "654321", "415263", "362514"};
    static const char *const lent[] = {"654321", "123456", "362514", "415263"};
    cen_pool *pool = make_ordered(CEN_ORDER_LIFO, COUNT);
    cen_lease leases[COUNT];
    expect_lent(pool, "654321"); /* adopted last, lent first */
    for (int i = 0; i < 4; i++) {
        take_all(pool, leases, COUNT);
        give_in_order(leases, COUNT, given[i]);
        expect_lent(pool, lent[i]);
    }
    free_pool(pool);
}

/* guarantees: pool-api.order */
TEST(fifo_lends_exactly_the_one_that_has_been_idle_longest)
{
    static const char *const given[] = {"123456", "654321", "415263", "362514"};
    cen_pool *pool = make_ordered(CEN_ORDER_FIFO, COUNT);
    cen_lease leases[COUNT];
    expect_lent(pool, "123456"); /* adopted first, lent first */
    for (int i = 0; i < 4; i++) {
        take_all(pool, leases, COUNT);
        give_in_order(leases, COUNT, given[i]);
        expect_lent(pool, given[i]);
    }
    free_pool(pool);
}

TEST(fifo_goes_round_and_lifo_stays_where_it_is)
{
    cen_pool *fifo = make_ordered(CEN_ORDER_FIFO, 3), *lifo = make_ordered(CEN_ORDER_LIFO, 3);
    for (int i = 0; i < 10; i++) {
        cen_lease lease = take_now(fifo);
        expect_equal(number_of(&lease), i % 3 + 1);
        give_back(&lease);
        lease = take_now(lifo);
        expect_equal(number_of(&lease), 3);
        give_back(&lease);
    }
    free_pool(fifo);
    free_pool(lifo);
}

static void take_and_give(void *argument)
{
    taker *one = argument;
    one->lease = take_now(one->pool);
    cen_lease copy = one->lease;
    give_back(&copy);
}

TEST(an_exact_order_is_the_same_for_every_thread)
{
    cen_pool *fifo = make_ordered(CEN_ORDER_FIFO, 3), *lifo = make_ordered(CEN_ORDER_LIFO, 3);
    for (int i = 0; i < 9; i++) {
        taker one = {.pool = fifo};
        join(start("other", take_and_give, &one));
        expect_equal(number_of(&one.lease), i % 3 + 1);
        one.pool = lifo;
        join(start("other", take_and_give, &one));
        expect_equal(number_of(&one.lease), 3);
    }
    free_pool(fifo);
    free_pool(lifo);
}

TEST(an_exact_order_survives_discards_and_new_objects)
{
    workshop shop = {0};
    for (cen_order order = CEN_ORDER_LIFO; order <= CEN_ORDER_FIFO; order++) {
        shop = (workshop){0};
        cen_pool *pool = make_pool(.max = 4, .driver = driver_of(&shop), .order = order);
        cen_lease leases[4];
        take_all(pool, leases, 4);
        give_in_order(leases, 4, "1234");
        cen_lease gone = take_now(pool);
        expect_equal(number_of(&gone), order == CEN_ORDER_LIFO ? 4 : 1);
        expect_equal(cen_pool_discard(&gone), CEN_OK);
        expect_lent(pool, order == CEN_ORDER_LIFO ? "321" : "234");
        take_all(pool, leases, 4);
        give_in_order(leases, 4, order == CEN_ORDER_LIFO ? "5123" : "5234");
        expect_lent(pool, order == CEN_ORDER_LIFO ? "3215" : "5234");
        free_pool(pool);
    }
}

/* A stack with a deadline: the pool without a driver does it. */
/* guarantees: pool-api.adopt */
TEST(a_pool_without_a_driver_is_a_stack_that_can_be_waited_for)
{
    cen_pool *pool = make_ordered(CEN_ORDER_LIFO, 2);
    cen_lease top = take_now(pool), bottom = take_now(pool);
    expect(number_of(&top) == 2 && number_of(&bottom) == 1);
    taker one;
    begin_take(&one, pool, cen_in_s(3));
    ceni_world_advance(2 * SECOND);
    expect_waiting(&one);
    expect_equal(cen_pool_adopt(pool, object_of(8), NULL), CEN_OK); /* pushed */
    expect_taken(&one, 8);
    expect_equal(cen_pool_discard(&one.lease), CEN_OK); /* popped for good */
    begin_take(&one, pool, cen_in_s(3));
    ceni_world_advance(3 * SECOND);
    expect_answer(&one, CEN_TIMEOUT);
    give_back(&bottom);
    give_back(&top);
    expect_lent(pool, "21");
    free_pool(pool);
}

/* ---- Warm ------------------------------------------------------------------------------------ */

/* guarantees: pool-api.order */
TEST(warm_lends_the_one_this_thread_had_last_while_it_is_idle)
{
    cen_pool *pool = make_ordered(CEN_ORDER_WARM, 4);
    cen_lease leases[4];
    take_all(pool, leases, 4);
    give_in_order(leases, 4, "1234"); /* the last that it took is 4 */
    for (int i = 0; i < 5; i++) expect_lent(pool, "4");
    expect_lent(pool, "41"); /* and then 1 is the one it had last */
    for (int i = 0; i < 5; i++) expect_lent(pool, "1");
    free_pool(pool);
}

/* The quick way to the last slot is not open in these: with exact times, beyond the first chunk, after somebody else. */
TEST(warm_lends_the_one_this_thread_had_last_by_the_slow_way_too)
{
    for (int grown = 0; grown < 2; grown++) {
        cen_pool *pool = make_pool(.max = grown ? 1 : 4, .exact_times = !grown);
        expect_equal(cen_pool_resize(pool, 4, NULL), CEN_OK);
        for (int i = 1; i <= 4; i++) expect_equal(cen_pool_adopt(pool, object_of(i), NULL), CEN_OK);
        cen_lease leases[4];
        take_all(pool, leases, 4);
        give_in_order(leases, 4, "1234");
        for (int i = 0; i < 5; i++) expect_lent(pool, "4");
        free_pool(pool);
    }
}

TEST(warm_lends_the_one_this_thread_had_last_although_another_had_it_meanwhile)
{
    cen_pool *pool = make_ordered(CEN_ORDER_WARM, 4);
    cen_lease leases[4];
    take_all(pool, leases, 4);
    give_in_order(leases, 4, "4");
    taker one = {.pool = pool};
    join(start("other", take_and_give, &one));
    expect_equal(number_of(&one.lease), 4);
    give_in_order(leases, 4, "123");
    expect_lent(pool, "4");
    free_pool(pool);
}

/* guarantees: pool-api.order */
TEST(warm_lends_a_thread_that_had_none_the_lowest)
{
    cen_pool *pool = make_ordered(CEN_ORDER_WARM, 4);
    cen_lease leases[4];
    take_all(pool, leases, 4);
    give_in_order(leases, 4, "432");
    for (int i = 0; i < 3; i++) {
        taker one = {.pool = pool};
        join(start("newcomer", take_and_give, &one));
        expect_equal(number_of(&one.lease), 2);
    }
    give_in_order(leases, 4, "1");
    taker one = {.pool = pool};
    join(start("newcomer", take_and_give, &one));
    expect_equal(number_of(&one.lease), 1);
    free_pool(pool);
}

TEST(warm_lends_the_lowest_when_the_one_it_had_last_is_in_use_or_gone)
{
    cen_pool *pool = make_ordered(CEN_ORDER_WARM, 5);
    cen_lease leases[5];
    take_all(pool, leases, 5);
    give_in_order(leases, 5, "35");
    cen_lease own = take_now(pool);
    expect_equal(number_of(&own), 5);
    expect_lent(pool, "3");
    give_back(&own);
    own = take_now(pool); /* 3 was the last it took */
    expect_equal(number_of(&own), 3);
    expect_equal(cen_pool_discard(&own), CEN_OK);
    give_in_order(leases, 5, "42");
    expect_lent(pool, "2");
    give_in_order(leases, 5, "1");
    free_pool(pool);
}

/* guarantees: pool-api.order */
TEST(warm_lends_the_lowest_however_many_were_passed_by_before)
{
    enum { MANY = 100 };
    static cen_lease leases[MANY];
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = MANY), MANY);
    for (int i = 0; i < MANY; i++) leases[i] = take_now(pool);
    for (int round = 0; round < 3; round++) {
        expect_none(pool); /* a search that passed all by */
        give_back(&leases[70]);
        give_back(&leases[20]);
        taker one = {.pool = pool};
        join(start("newcomer", take_and_give, &one));
        expect_equal(number_of(&one.lease), 21);
        leases[20] = take_now(pool);
        leases[70] = take_now(pool);
        cen_lease swap = leases[20];
        if (number_of(&swap) != 21) {
            leases[20] = leases[70];
            leases[70] = swap;
        }
        expect(number_of(&leases[20]) == 21 && number_of(&leases[70]) == 71);
    }
    for (int i = 0; i < MANY; i++) give_back(&leases[i]);
    free_pool(pool);
}

TEST(warm_objects_are_made_in_the_lowest_free_place)
{
    workshop shop = {0};
    cen_pool *pool = make_pool(.max = 4, .driver = driver_of(&shop));
    cen_lease leases[4];
    take_all(pool, leases, 4);
    expect_equal(cen_pool_discard(&leases[3]), CEN_OK);
    expect_equal(cen_pool_discard(&leases[1]), CEN_OK);
    cen_lease made[2] = {take_now(pool), take_now(pool)};
    cen_object_view holdings[4];
    size_t count;
    expect_equal(cen_pool_holders(pool, holdings, 4, &count), CEN_OK);
    expect_equal(count, 4);
    expect(holdings[1].object == made[0].object && holdings[1].index == 1);
    expect(holdings[3].object == made[1].object && holdings[3].index == 3);
    give_back(&made[0]);
    give_back(&made[1]);
    give_back(&leases[0]);
    give_back(&leases[2]);
    free_pool(pool);
}

TEST(two_pools_whose_notes_share_a_place_each_still_lend_their_own)
{
    enum { POOLS = 3 };
    cen_pool *pools[POOLS];
    workshop shops[POOLS] = {{0}};
    for (int round = 0; round < 10; round++) { /* numbers of pools go round the places of the notes */
        for (int i = 0; i < POOLS; i++) {
            shops[i] = (workshop){.opened = 10 * i};
            pools[i] = make_pool(.max = 2, .driver = driver_of(&shops[i]));
        }
        for (int i = 0; i < 4 * POOLS; i++) {
            cen_lease a = take_now(pools[i % POOLS]), b = take_now(pools[i % POOLS]);
            expect(number_of(&a) / 10 == i % POOLS && number_of(&b) / 10 == i % POOLS && a.object != b.object);
            give_back(&a);
            give_back(&b);
        }
        for (int i = 0; i < POOLS; i++) free_pool(pools[i]);
    }
}
