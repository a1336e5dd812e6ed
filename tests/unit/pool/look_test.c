/* SPDX-License-Identifier: MIT */
/* Looking at a pool: numbers, holders, visitors. */
#include "pool/internal.h"
#include "unit/pool/takers.h"

static cen_pool *pool;

/* ---- Arguments ----------------------------------------------------------------------------- */

static bool count_visit(void *argument, const cen_object_view *holding)
{
    (void)holding;
    ++*(int *)argument;
    return true;
}

TEST(looking_needs_a_pool_and_a_place_to_write_to)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    cen_object_view holding;
    size_t count = 99;
    int visits = 0;
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 2), 1);
    expect_equal(cen_pool_stats_get(NULL, &stats), CEN_INVALID);
    expect_equal(cen_pool_stats_get(pool, NULL), CEN_INVALID);
    expect_equal(cen_pool_stats_get(NULL, NULL), CEN_INVALID);
    expect_equal(cen_pool_holders(NULL, &holding, 1, &count), CEN_INVALID);
    expect_equal(cen_pool_holders(pool, &holding, 1, NULL), CEN_INVALID);
    expect_equal(cen_pool_holders(pool, NULL, 1, &count), CEN_INVALID);
    expect_equal(count, 99);
    expect_equal(cen_pool_holders(pool, NULL, 0, &count), CEN_OK);
    expect_equal(count, 0);
    expect_equal(cen_pool_each(NULL, count_visit, &visits), CEN_INVALID);
    expect_equal(cen_pool_each(pool, NULL, NULL), CEN_INVALID);
    expect_equal(visits, 0);
    free_pool(pool);
}

static void take_number(void *argument)
{
    *(uint64_t *)argument = cen_thread_number();
}

TEST(each_thread_has_a_number_of_its_own_and_none_is_zero)
{
    uint64_t mine = cen_thread_number(), others[3];
    expect(mine != 0 && mine == cen_thread_number());
    for (int i = 0; i < 3; i++) {
        join(start("other", take_number, &others[i]));
        expect(others[i] != 0 && others[i] != mine);
        for (int j = 0; j < i; j++) expect(others[i] != others[j]);
    }
}

/* ---- Holders ---------------------------------------------------------------------------------- */

static void take_in_thread(void *argument)
{
    taker *one = argument;
    expect_equal(cen_pool_take_at(one->pool, CEN_NOW, &one->lease, NULL, "the kitchen"), CEN_OK);
    expect_equal(cen_pool_detach(&one->lease), CEN_OK);
}

/* guarantees: pool-api.holders */
TEST(holders_are_listed_in_the_order_of_indexes_with_who_and_where)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        pool = make_stocked(CEN_POOL_OPTIONS(.max = 4, .order = order), 3);
        taker other = {.pool = pool};
        uint64_t other_number = 0;
        cen_lease mine;
        const char *here = "the cellar";
        expect_equal(cen_pool_take_at(pool, CEN_NOW, &mine, NULL, here), CEN_OK);
        ceni_thread thread = start("other", take_in_thread, &other);
        join(thread);
        other_number = thread.handle + 1; /* a world numbers its threads from 1 */
        cen_object_view holdings[4];
        size_t count = 0;
        expect_equal(cen_pool_holders(pool, holdings, 4, &count), CEN_OK);
        expect_equal(count, 2);
        expect(holdings[0].index < holdings[1].index);
        for (int i = 0; i < 2; i++) {
            bool is_mine = holdings[i].object == mine.object;
            expect(is_mine || holdings[i].object == other.lease.object);
            expect_equal(holdings[i].state, CEN_OBJECT_HELD);
            expect_equal(holdings[i].holder, is_mine ? cen_thread_number() : other_number);
            expect_equal(holdings[i].is_detached, !is_mine);
            expect_text(holdings[i].where, is_mine ? here : "the kitchen");
            expect_equal(holdings[i].generation, (is_mine ? mine : other.lease).generation);
        }
        give_back(&mine);
        give_back(&other.lease);
        expect_equal(cen_pool_holders(pool, holdings, 4, &count), CEN_OK);
        expect_equal(count, 0);
        free_pool(pool);
    }
}

TEST(with_little_room_the_first_holders_are_written_and_all_are_counted)
{
    cen_lease leases[5];
    cen_object_view holdings[5];
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 5), 5);
    for (int i = 0; i < 5; i++) leases[i] = take_now(pool);
    for (size_t room = 0; room <= 5; room++) {
        size_t count = 0;
        memset(holdings, 0x11, sizeof holdings);
        expect_equal(cen_pool_holders(pool, room ? holdings : NULL, room, &count), CEN_OK);
        expect_equal(count, 5);
        for (size_t i = 0; i < 5; i++) expect_equal(holdings[i].index, i < room ? (uint32_t)i : 0x11111111u);
    }
    for (int i = 0; i < 5; i++) give_back(&leases[i]);
    free_pool(pool);
}

TEST(the_place_is_the_callers_file_and_line_unless_it_says_otherwise)
{
    cen_lease lease;
    cen_object_view holding;
    size_t count;
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    char waiters[40];
    for (int i = 0; i < 2; i++) { /* the second time by the quick way */
        snprintf(waiters, sizeof waiters, "look_test.c:%d", __LINE__ + 1);
        expect_equal(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_OK);
        expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
        expect(strstr(holding.where, waiters) != NULL);
        give_back(&lease);
    }
    expect_equal(cen_pool_try_take_at(pool, &lease, NULL, NULL), CEN_OK);
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect(holding.where == NULL && holding.holder == cen_thread_number());
    give_back(&lease);
    free_pool(pool);
}

/* ---- How long ------------------------------------------------------------------------------------- */

static int64_t held_for(void)
{
    cen_object_view holding;
    size_t count = 0;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect_equal(count, 1);
    return holding.held_ns;
}

/* guarantees: pool-api.holders */
TEST(without_exact_times_a_lease_is_as_old_as_its_first_listing)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    for (int i = 0; i < 3; i++) {
        cen_lease lease = take_now(pool);
        ceni_world_advance(10 * SECOND);
        expect_equal(held_for(), 0); /* nobody has met it before */
        ceni_world_advance(3);
        expect_equal(held_for(), 3);
        ceni_world_advance(SECOND);
        expect_equal(held_for(), SECOND + 3);
        give_back(&lease);
    }
    free_pool(pool);
}

/* guarantees: pool-api.holders */
TEST(with_exact_times_a_lease_is_exactly_as_old_as_it_is)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .order = order, .exact_times = true), 1);
        for (int i = 0; i < 3; i++) {
            cen_lease lease = take_now(pool);
            expect_equal(held_for(), 0);
            ceni_world_advance(7 * SECOND + 1);
            expect_equal(held_for(), 7 * SECOND + 1);
            taker one;
            begin_take(&one, pool, CEN_NEVER);
            ceni_world_advance(5);
            give_back(&lease); /* handed over */
            expect_answer(&one, CEN_OK);
            ceni_world_advance(2);
            expect_equal(held_for(), 2);
            give_back(&one.lease);
        }
        free_pool(pool);
    }
}

/* ---- Visits ------------------------------------------------------------------------------------------ */

typedef struct walk {
    cen_object_view seen[8];
    int count, limit;
    void (*meanwhile)(struct walk *walk);
    cen_lease lease;
} walk;

static bool note_visit(void *argument, const cen_object_view *holding)
{
    walk *one = argument;
    expect(one->count < 8);
    one->seen[one->count++] = *holding;
    if (one->meanwhile) one->meanwhile(one);
    return one->count < one->limit;
}

/* guarantees: pool-api.holders */
TEST(every_object_is_visited_once_in_the_order_of_indexes_whether_idle_or_held)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 6), 4);
    cen_lease a = take_now(pool), b = take_now(pool);
    give_back(&a);
    uint64_t allocations = ceni_world_allocations();
    walk one = {.limit = 99};
    expect_equal(cen_pool_each(pool, note_visit, &one), CEN_OK);
    expect_equal(one.count, 4);
    for (int i = 0; i < 4; i++) {
        bool held = one.seen[i].object == b.object;
        expect_equal(one.seen[i].index, i);
        expect(one.seen[i].object == object_of(i + 1));
        expect_equal(one.seen[i].state, held ? CEN_OBJECT_HELD : CEN_OBJECT_IDLE);
        expect_equal(one.seen[i].holder, held ? cen_thread_number() : 0);
        expect_equal(one.seen[i].where != NULL, held);
        expect_equal(one.seen[i].held_ns, 0);
        expect_equal(one.seen[i].generation, i < 2 ? 1 : 0); /* how often each was lent */
    }
    expect_equal(ceni_world_allocations(), allocations);
    give_back(&b);
    free_pool(pool);
}

TEST(a_visit_that_returns_false_is_the_last)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 6), 5);
    for (int limit = 1; limit <= 5; limit++) {
        walk one = {.limit = limit};
        expect_equal(cen_pool_each(pool, note_visit, &one), CEN_OK);
        expect_equal(one.count, limit);
    }
    free_pool(pool);
    pool = make_pool(.max = 3);
    walk one = {.limit = 1};
    expect_equal(cen_pool_each(pool, note_visit, &one), CEN_OK);
    expect_equal(one.count, 0);
    free_pool(pool);
}

static void visit_and_list(void *argument)
{
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect_equal(count, 1);
    expect_equal(cen_pool_each(pool, note_visit, argument), CEN_OK);
}

/* guarantees: pool.L9 */
TEST(neither_a_visit_nor_a_list_of_holders_needs_a_lock)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 2), 2);
    cen_lease lease = take_now(pool);
    walk one = {.limit = 99}, two = {.limit = 99};
    ceni_mutex_lock(&pool->looking, CENI_RANK_LOOK); /* a call that needs it now hangs, and the world reports that */
    join(start("visitor", visit_and_list, &one));
    ceni_mutex_unlock(&pool->looking, CENI_RANK_LOOK);
    ceni_waiters_lock(pool->waiters);
    join(start("visitor", visit_and_list, &two));
    ceni_waiters_unlock(pool->waiters);
    expect(one.count == 2 && two.count == 2);
    give_back(&lease);
    free_pool(pool);
}

static void discard_the_second(void *argument)
{
    expect_equal(cen_pool_discard(argument), CEN_OK);
}

static void change_others(walk *one)
{
    if (one->count == 1) join(start("other", discard_the_second, &one->lease));
}

TEST(what_stays_is_visited_although_others_go_meanwhile)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 4), 4);
    cen_lease first = take_now(pool);
    walk one = {.limit = 99, .meanwhile = change_others};
    one.lease = take_now(pool); /* the one with index 1 */
    give_back(&first);
    expect_equal(cen_pool_each(pool, note_visit, &one), CEN_OK);
    expect_equal(one.count, 3);
    expect(one.seen[0].index == 0 && one.seen[1].index == 2 && one.seen[2].index == 3);
    free_pool(pool);
}

static void take_the_next(walk *one)
{
    if (one->count > 1) return;
    ceni_world_advance(SECOND);
    one->lease = take_now(pool);
}

TEST(an_object_that_is_taken_during_the_visit_has_not_been_held_for_a_negative_time)
{
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 2, .exact_times = true), 2);
    cen_lease first = take_now(pool);
    walk one = {.limit = 99, .meanwhile = take_the_next};
    expect_equal(cen_pool_each(pool, note_visit, &one), CEN_OK);
    expect_equal(one.count, 2);
    expect_equal(one.seen[1].state, CEN_OBJECT_HELD);
    expect_equal(one.seen[1].held_ns, 0);
    give_back(&first);
    give_back(&one.lease);
    free_pool(pool);
}

/* ---- Numbers while others are at it ---------------------------------------------------------------------- */

/* What holds at every moment, others being in the middle of whatever they do. */
static void expect_equations(void)
{
    cen_pool_stats s = CEN_SIZED(cen_pool_stats);
    expect_equal(cen_pool_stats_get(pool, &s), CEN_OK);
    expect_equal(s.idle + s.held + s.moving + s.revoked + s.opening + s.resetting + s.closing + s.vacant, s.places);
    expect(s.places >= s.max);
    expect(s.held + s.revoked <= s.taken - s.ended && s.taken - s.ended <= s.held + s.revoked + s.moving);
    if (s.moving + s.opening + s.closing == 0) expect_equal(s.opened + s.adopted - s.closed, s.places - s.vacant);
    expect_equal(s.waited, s.served + s.timed_out + s.sent_away + s.failed + s.shed + s.cancelled + s.waiting);
    expect(s.served <= s.waited && s.failed <= s.waited && s.sent_away <= s.waited);
}

static void take_give_discard(void *unused)
{
    (void)unused;
    cen_lease lease = take_now(pool);
    give_back(&lease);
    lease = take_now(pool);
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    expect_equal(cen_pool_adopt(pool, object_of(9), NULL), CEN_OK);
}

/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_the_equations_hold_while_another_thread_takes_gives_and_discards, 4)
{
    ceni_world_without_hooks();
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 2), 1);
    ceni_thread other = start("other", take_give_discard, NULL);
    expect_equations();
    expect_equations();
    join(other);
    free_pool(pool);
}

static void grow_and_take(void *unused)
{
    (void)unused;
    expect_equal(cen_pool_resize(pool, 2, NULL), CEN_OK);
    expect_equal(cen_pool_adopt(pool, object_of(9), NULL), CEN_OK);
}

/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_the_equations_hold_while_another_thread_makes_the_pool_larger, 4)
{
    ceni_world_without_hooks();
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    ceni_thread other = start("other", grow_and_take, NULL);
    expect_equations();
    join(other);
    free_pool(pool);
}

static cen_status close_answer;

static void close_it(void *unused)
{
    (void)unused;
    close_answer = cen_pool_close(pool, CEN_NEVER, NULL, NULL);
}

/* One who waits and can open an object, just when the pool is closed: it is counted once. */
/* guarantees: pool.L19, pool-bugs.numbers */
EXPLORE(L19_a_take_that_waits_for_a_pool_that_is_closed_is_counted_once, 3)
{
    ceni_world_without_hooks();
    workshop shop = {0};
    pool = make_pool(.max = 1, .driver = driver_of(&shop));
    cen_lease held = take_now(pool), lease;
    ceni_thread closer = start("closer", close_it, NULL);
    ceni_thread giver = start("discarder", discard_the_second, &held);
    cen_status status = cen_pool_take(pool, CEN_NEVER, &lease, NULL);
    if (status == CEN_OK) give_back(&lease);
    else expect_equal(status, CEN_CLOSED);
    join(closer);
    join(giver);
    expect_equal(close_answer, CEN_OK);
    expect_equations();
    expect_equal(shop.opened, shop.closed);
    free_pool(pool);
}
