/* SPDX-License-Identifier: MIT */
/*
 * Orphans: leases that end without their holder, because their holder ends or a limit reclaims them, while another thread may
 * still be using the object (L13).
 */
#include "base/fault.h"
#include "pool/internal.h"
#include "support/printed.h"
#include "support/world.h"
#include "unit/pool/listeners.h"

static workshop shop;
static cen_driver_calls calls;

static void abandon_object(void *unused, void *object)
{
    (void)unused;
    workshop_log(&shop, '/', (int)(intptr_t)object);
}

static cen_driver driver_that(bool abandons)
{
    shop = (workshop){0};
    calls = workshop_calls;
    if (abandons) calls.abandon = abandon_object;
    return (cen_driver){&calls, &shop};
}

typedef struct holder {
    cen_pool *pool;
    cen_lease lease;
    cen_scope scope;
    uint64_t number;
} holder;

static void take_and_end(void *argument)
{
    holder *one = argument;
    one->number = cen_thread_number();
    expect_equal(cen_pool_take_at(one->pool, CEN_NOW, &one->lease, NULL, "orders.c:40"), CEN_OK);
}

static void enter_and_end(void *argument)
{
    holder *one = argument;
    expect_equal(cen_pool_enter(one->pool, CEN_NOW, &one->scope, NULL), CEN_OK);
}

/* A thread takes an object, hands the lease to this thread and ends. */
static cen_lease handed_over(cen_pool *pool)
{
    holder one = {.pool = pool};
    join(start("producer", take_and_end, &one));
    return one.lease;
}

/* guarantees: pool.L13-orphan */
TEST(L13_by_default_a_lease_taken_by_hand_becomes_an_orphan_when_its_thread_ends)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_pool *pool = make_pool(.max = 1, .driver = driver_that(true), .order = order);
        cen_lease lease = handed_over(pool), copy = lease;
        expect_log(&shop, "+1 !1 /1 "); /* cut off, and not closed: this thread may be using it */
        cen_pool_stats s = expect_sound(pool);
        expect(s.vacant == 1 && s.orphaned == 1 && s.orphans == 1 && s.taken == s.ended);
        cen_lease next = take_now(pool);
        expect_equal(number_of(&next), 2);
        expect_equal(cen_pool_give(&lease), CEN_REVOKED);
        expect(lease.pool == NULL);
        expect_log(&shop, "+2 -1 ");
        expect_equal(cen_pool_give(&copy), CEN_STALE);
        expect_counts(pool, 0, 1);
        expect_equal(expect_sound(pool).orphans, 0);
        give_back(&next);
        free_pool(pool);
    }
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: pool.L13-orphan */
TEST(L13_a_driver_without_abandon_keeps_the_place_of_an_orphan_until_the_give)
{
    cen_pool *pool = make_pool(.max = 1, .driver = driver_that(false));
    cen_lease lease = handed_over(pool);
    expect_log(&shop, "+1 !1 ");
    cen_pool_stats s = expect_sound(pool);
    expect(s.revoked == 1 && s.orphaned == 1 && s.vacant == 0);
    cen_lease next;
    expect_equal(cen_pool_try_take(pool, &next, NULL), CEN_EMPTY);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    expect_log(&shop, "-1 ");
    next = take_now(pool);
    give_back(&next);
    free_pool(pool);
}

/* guarantees: pool.L13-orphan */
TEST(L13_what_a_scope_holds_when_its_thread_ends_is_closed_at_once)
{
    for (int abandons = 0; abandons < 2; abandons++) {
        cen_pool *pool = make_pool(.max = 1, .driver = driver_that(abandons));
        holder one = {.pool = pool};
        join(start("inside", enter_and_end, &one));
        expect_log(&shop, "+1 -1 ");
        expect_equal(expect_sound(pool).orphaned, 0);
        expect_counts(pool, 0, 0);
        free_pool(pool);
    }
}

/* guarantees: pool.L13-orphan */
TEST(L13_free_closes_orphans_that_were_never_given)
{
    for (int abandons = 0; abandons < 2; abandons++) {
        cen_pool *pool = make_pool(.max = 3, .driver = driver_that(abandons));
        handed_over(pool);
        handed_over(pool);
        expect_log(&shop, abandons ? "+1 !1 /1 +2 !2 /2 " : "+1 !1 +2 !2 ");
        free_pool(pool);
        expect_log(&shop, "-1 -2 ");
    }
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: pool.L13-orphan */
TEST(L13_without_memory_for_an_orphan_its_place_is_kept_and_nothing_is_lost)
{
    cen_pool *pool = make_pool(.max = 1, .driver = driver_that(true));
    holder one = {.pool = pool};
    ceni_thread thread = start("producer", take_and_end, &one);
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    join(thread);
    expect(ceni_fault_disarm());
    expect_equal(expect_sound(pool).revoked, 1);
    expect_equal(cen_pool_give(&one.lease), CEN_REVOKED);
    expect_log(&shop, "+1 !1 -1 ");
    free_pool(pool);
}

/* guarantees: pool.L13-orphan */
TEST(L3_whoever_waits_gets_the_place_of_an_orphan)
{
    cen_pool *pool = make_pool(.max = 1, .driver = driver_that(true));
    holder one = {.pool = pool};
    ceni_thread thread = start("producer", take_and_end, &one);
    cen_lease mine;
    ceni_world_settle();
    expect_equal(cen_pool_take(pool, cen_in_s(1), &mine, NULL), CEN_OK);
    join(thread);
    expect_equal(number_of(&mine), 2);
    expect_equal(cen_pool_give(&one.lease), CEN_REVOKED);
    give_back(&mine);
    free_pool(pool);
}

/* guarantees: pool.L13-orphan */
TEST(a_late_give_does_not_count_for_the_lease_that_has_the_slot_now)
{
    cen_pool *pool = make_pool(.max = 1, .driver = driver_that(true));
    cen_lease late = handed_over(pool), mine = take_now(pool);
    expect(mine.slot == late.slot);
    uint64_t held = ceni_holder_current()->held;
    expect_equal(cen_pool_give(&late), CEN_REVOKED);
    expect_equal(ceni_holder_current()->held, held);
    give_back(&mine);
    free_pool(pool);
}

/* guarantees: pool.L13-orphan */
TEST(L8_a_second_give_of_a_later_lease_of_the_slot_does_not_close_an_orphan)
{
    cen_pool *pool = make_pool(.max = 1, .driver = driver_that(true));
    cen_lease late = handed_over(pool), mine = take_now(pool), copy = mine;
    expect(mine.slot == late.slot);
    give_back(&mine);
    expect_equal(cen_pool_give(&copy), CEN_STALE);
    expect_log(&shop, "+1 !1 /1 +2 ");
    expect_equal(cen_pool_give(&late), CEN_REVOKED);
    free_pool(pool);
}

/* guarantees: pool.L13-orphan */
TEST(L15_close_drains_when_the_holder_of_what_it_revoked_ends)
{
    for (int abandons = 0; abandons < 2; abandons++) {
        cen_pool *pool = make_pool(.max = 1, .driver = driver_that(abandons));
        holder one = {.pool = pool};
        join(start("producer", take_and_end, &one)); /* the first orphan */
        expect_equal(cen_pool_give(&one.lease), CEN_REVOKED);
        cen_close_report report = CEN_SIZED(cen_close_report);
        expect_equal(cen_pool_close(pool, CEN_NOW, &report, NULL), CEN_OK);
        free_pool(pool);
    }
}

TEST(the_first_orphan_of_a_pool_is_printed_if_nobody_listens)
{
    cen_pool *pool = make_pool(.name = "orders", .max = 3, .driver = driver_that(true));
    cen_lease leases[3];
    printed captured = printed_begin();
    ceni_pool_tells = true;
    for (int i = 0; i < 3; i++) leases[i] = handed_over(pool);
    ceni_pool_tells = false;
    char text[600];
    printed_end(&captured, text, sizeof text);
    expect(strncmp(text, "ORPHANED-LEASE pool \"orders\": ", 30) == 0 && strstr(text, "taken at orders.c:40"));
    expect(strchr(text, '\n') && strchr(text, '\n')[1] == '\0'); /* one line */
    expect_equal(expect_sound(pool).orphaned, 3);
    for (int i = 0; i < 3; i++) expect_equal(cen_pool_give(&leases[i]), CEN_REVOKED);
    free_pool(pool);
}

/* guarantees: pool.L13-orphan */
TEST(an_orphan_is_told_as_an_event_and_explained_with_the_take_s_place)
{
    static ear listener;
    memset(&listener, 0, sizeof listener);
    for (int abandons = 0; abandons < 2; abandons++) {
        cen_pool *pool = make_pool(.name = "orders", .max = 1, .driver = driver_that(abandons));
        listen_with(pool, &listener);
        holder one = {.pool = pool};
        join(start("producer", take_and_end, &one));
        ceni_world_settle();
        cen_event *last = &listener.events[listener.count - 1];
        expect_equal(last->kind, CEN_EVENT_ORPHANED);
        expect(last->holder == one.number && last->value == 0);
        expect(strstr(last->text, "without giving object 0, taken at orders.c:40") != NULL);
        char text[2000];
        cen_pool_explain(pool, text, sizeof text);
        expect(strstr(text, "taken by thread") != NULL && strstr(text, "orders.c:40") != NULL);
        expect_equal(cen_pool_give(&one.lease), CEN_REVOKED);
        cen_pool_explain(pool, text, sizeof text);
        expect(strstr(text, "orders.c:40") == NULL);
        expect_equal(cen_pool_listen(pool, NULL, NULL, NULL), CEN_OK);
        free_pool(pool);
    }
}
