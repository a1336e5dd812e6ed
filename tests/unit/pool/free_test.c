/* SPDX-License-Identifier: MIT */
/* Free in every state of a pool: what is out keeps the memory until the last of it is back (L15). */
#include "record/directory.h"
#include "unit/pool/ledger.h"
#include "unit/pool/takers.h"

static workshop shop;
static ledger book;
static cen_allocator allocator;
static cen_pool *pool;

static void prepare(uint32_t max, cen_order order)
{
    shop = (workshop){0};
    book = (ledger){.bytes = 0};
    allocator = allocator_of(&book);
    pool = make_pool(.max = max, .order = order, .driver = driver_of(&shop), .allocator = &allocator);
}

/* ---- Nothing is out -------------------------------------------------------------------- */

static void make_idle(int count)
{
    cen_lease leases[8];
    for (int i = 0; i < count; i++) leases[i] = take_now(pool);
    for (int i = 0; i < count; i++) give_back(&leases[i]);
}

static void state_fresh(void)
{
}

static void state_idle(void)
{
    make_idle(3);
}

static void state_closed(void)
{
    make_idle(3);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
}

static void state_closed_and_returned(void)
{
    cen_lease lease = take_now(pool);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
}

static void state_discarded(void)
{
    make_idle(2);
    cen_lease lease = take_now(pool);
    expect_equal(cen_pool_discard(&lease), CEN_OK);
}

static void state_adopted(void)
{
    expect_equal(cen_pool_adopt(pool, object_of(50), NULL), CEN_OK);
    shop.opened++; /* to be closed like one of its own */
}

static void state_grown(void)
{
    expect_equal(cen_pool_resize(pool, 300, NULL), CEN_OK);
    make_idle(8);
    expect_equal(cen_pool_resize(pool, 1000, NULL), CEN_OK);
}

static void state_shrunk(void)
{
    make_idle(4);
    expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
}

static void state_failed_open(void)
{
    shop.fail_from = shop.fail_to = 1;
    cen_lease lease;
    expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_DRIVER);
}

static void state_timed_out(void)
{
    cen_lease leases[4], lease;
    for (int i = 0; i < 4; i++) leases[i] = take_now(pool);
    expect_equal(cen_pool_take(pool, cen_in_s(1), &lease, NULL), CEN_TIMEOUT);
    for (int i = 0; i < 4; i++) give_back(&leases[i]);
}

/* guarantees: pool-api.allocator */
TEST(free_closes_every_object_and_gives_back_every_byte_whatever_happened_before)
{
    static void (*const states[])(void) = {state_fresh,       state_idle,     state_closed, state_closed_and_returned,
                                           state_discarded,   state_adopted,  state_grown,  state_shrunk,
                                           state_failed_open, state_timed_out};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
            prepare(4, order);
            states[i]();
            free_pool(pool);
            expect_equal(shop.closed, shop.opened);
            expect_equal(book.bytes, 0);
            expect_equal(book.given, book.taken);
        }
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- Leases are out ------------------------------------------------------------------------ */

/* guarantees: pool.L15 */
TEST(what_is_held_when_the_pool_is_freed_keeps_the_memory_until_the_last_is_given)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int i = 0; i < 6; i++)
        for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
            prepare(5, order);
            cen_lease leases[3];
            for (int j = 0; j < 3; j++) leases[j] = take_now(pool);
            expect_equal(cen_pool_adopt(pool, object_of(4), NULL), CEN_OK);
            shop.log[0] = '\0';
            free_pool(pool);
            expect_log(&shop, "-4 !1 !2 !3 ");
            for (int j = 0; j < 3; j++) {
                expect(book.bytes > 0 && book.taken == 0);
                cen_lease *lease = &leases[orders[i][j]];
                if (j == 1) expect_equal(cen_pool_discard(lease), CEN_REVOKED);
                else expect_equal(cen_pool_give(lease), CEN_REVOKED);
                expect(lease->pool == NULL);
                expect_equal(shop.closed, j + 2);
            }
            expect_equal(book.bytes, 0);
            expect_equal(book.given, book.taken);
        }
}

TEST(a_copy_of_a_lease_is_stale_as_long_as_another_keeps_the_memory)
{
    prepare(2, CEN_ORDER_WARM);
    cen_lease a = take_now(pool), b = take_now(pool), copy = a;
    free_pool(pool);
    expect_equal(cen_pool_give(&a), CEN_REVOKED);
    expect_equal(cen_pool_give(&copy), CEN_STALE);
    expect_equal(cen_pool_give(&a), CEN_STALE);
    expect_equal(cen_pool_give(&b), CEN_REVOKED);
    expect_equal(book.bytes, 0);
}

TEST(the_last_leave_gives_the_memory_back)
{
    prepare(2, CEN_ORDER_WARM);
    cen_scope outer, inner;
    expect_equal(cen_pool_enter(pool, CEN_NOW, &outer, NULL), CEN_OK);
    expect_equal(cen_pool_enter(pool, CEN_NOW, &inner, NULL), CEN_OK);
    free_pool(pool);
    expect_equal(cen_pool_leave(&outer), CEN_OK);
    expect(book.bytes > 0);
    expect_equal(cen_pool_leave(&inner), CEN_REVOKED);
    expect_equal(book.bytes, 0);
}

TEST(a_pool_that_was_closed_before_it_is_freed_interrupts_nothing_twice)
{
    prepare(2, CEN_ORDER_WARM);
    cen_lease lease = take_now(pool);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    free_pool(pool);
    expect_log(&shop, "+1 !1 ");
    expect(book.bytes > 0);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    expect_log(&shop, "-1 ");
    expect_equal(book.bytes, 0);
}

TEST(a_pool_that_grew_keeps_all_its_memory_until_the_last_is_given)
{
    prepare(1, CEN_ORDER_WARM);
    expect_equal(cen_pool_resize(pool, 200, NULL), CEN_OK);
    static cen_lease leases[200];
    for (int i = 0; i < 200; i++) leases[i] = take_now(pool);
    free_pool(pool);
    for (int i = 0; i < 200; i++) {
        expect(book.bytes > 0);
        expect_equal(cen_pool_give(&leases[(i * 77) % 200]), CEN_REVOKED);
    }
    expect_equal(book.bytes, 0);
    expect_equal(shop.closed, 200);
}

static void count_entries(void *argument, ceni_directory_entry *entry)
{
    (void)entry;
    ++*(int *)argument;
}

TEST(a_freed_pool_is_not_listed_although_its_memory_is_still_there)
{
    prepare(1, CEN_ORDER_WARM);
    cen_lease lease = take_now(pool);
    int entries = 0;
    ceni_directory_each(ceni_directory_process(), count_entries, &entries);
    expect_equal(entries, 1);
    free_pool(pool);
    entries = 0;
    ceni_directory_each(ceni_directory_process(), count_entries, &entries);
    expect_equal(entries, 0);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
}

/* A line is lent to one pool after another; a late give of an old one must not touch the new one's. */
/* guarantees: pool-api.outlives */
TEST(what_comes_back_to_a_freed_pool_does_not_disturb_the_pools_made_since)
{
    for (int round = 0; round < 10; round++) {
        prepare(2, CEN_ORDER_WARM);
        cen_lease late[2] = {take_now(pool), take_now(pool)};
        free_pool(pool);
        workshop other_shop = {0};
        cen_pool *other = make_pool(.max = 1, .driver = driver_of(&other_shop));
        cen_lease held = take_now(other);
        taker one;
        begin_take(&one, other, CEN_NEVER);
        expect_equal(cen_pool_give(&late[0]), CEN_REVOKED);
        expect_equal(cen_pool_give(&late[1]), CEN_REVOKED);
        expect_equal(book.bytes, 0);
        expect_waiting(&one);
        expect_equal(expect_sound(other).waiting, 1);
        give_back(&held);
        expect_taken(&one, 1);
        give_back(&one.lease);
        free_pool(other);
    }
}

static void free_it(void *argument)
{
    free_pool(argument);
}

TEST(any_thread_may_free_a_pool)
{
    prepare(2, CEN_ORDER_WARM);
    make_idle(2);
    join(start("other", free_it, pool));
    expect_equal(book.bytes, 0);
    expect_equal(shop.closed, 2);
}

/* ---- Gives that are going on meanwhile ----------------------------------------------------------- */

static cen_lease racing[2];
static cen_status answers[2];

static void give_racing(void *argument)
{
    int which = (int)(intptr_t)argument;
    answers[which] = which ? cen_pool_discard(&racing[which]) : cen_pool_give(&racing[which]);
}

static void prepare_race(int count)
{
    pool = make_pool(.max = 2);
    for (int i = 0; i < count; i++) expect_equal(cen_pool_adopt(pool, object_of(i + 1), NULL), CEN_OK);
    for (int i = 0; i < count; i++) racing[i] = take_now(pool);
}

static void expect_ended(int which)
{
    expect(answers[which] == CEN_OK || answers[which] == CEN_REVOKED);
    expect(racing[which].pool == NULL);
}

/* guarantees: pool.L15 */
EXPLORE(a_give_that_races_free_ends_its_lease_and_nothing_is_left, 4)
{
    prepare_race(1);
    ceni_thread giver = start("giver", give_racing, object_of(0));
    expect_equal(cen_pool_free(pool), CEN_OK);
    join(giver);
    expect_ended(0);
    expect_equal(ceni_world_bytes(), 0);
}

EXPLORE(a_give_and_a_discard_that_race_free_end_their_leases_and_nothing_is_left, 2)
{
    prepare_race(2);
    ceni_thread giver = start("giver", give_racing, object_of(0)),
                discarder = start("discarder", give_racing, object_of(1));
    expect_equal(cen_pool_free(pool), CEN_OK);
    join(giver);
    join(discarder);
    expect_ended(0);
    expect_ended(1);
    expect_equal(ceni_world_bytes(), 0);
}
