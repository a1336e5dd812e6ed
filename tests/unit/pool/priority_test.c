/* SPDX-License-Identifier: MIT */
/* Priorities: one order for threads and pending waiters of three classes, and nobody starves. */
#include "unit/pool/comers.h"

#define HIGH CEN_PRIORITY_HIGH
#define NORMAL CEN_PRIORITY_NORMAL
#define LOW CEN_PRIORITY_LOW

/* ---- The order ----------------------------------------------------------------------------- */

/* guarantees: overload.priority-order */
TEST(L4_those_of_higher_priority_come_first_and_each_class_keeps_its_order)
{
    for (int strict = 0; strict < 2; strict++)
        for (int kinds = 0; kinds < 2; kinds++) {
            cen_lease lease = begin_one(.max_barging_ns = strict ? CEN_NONE : 0);
            way one = kinds ? PENDING : THREAD, other = kinds ? THREAD : PENDING;
            come('L', one, LOW);
            come('M', other, LOW);
            come('N', one, NORMAL);
            come('O', other, NORMAL);
            come('H', one, HIGH);
            come('I', other, HIGH);
            come('P', other, NORMAL);
            come('J', one, HIGH);
            come('K', one, LOW);
            expect_order(&lease, "HIJNOPLMK");
            free_pool(pool);
        }
}

/* guarantees: overload.priority-order */
TEST(L4_those_of_one_class_are_served_in_the_order_they_came_whichever_class_it_is)
{
    const cen_priority all[] = {NORMAL, HIGH, LOW};
    for (int i = 0; i < 3; i++) {
        cen_lease lease = begin_one(.max_barging_ns = 0);
        come('A', THREAD, all[i]);
        come('B', PENDING, all[i]);
        come('C', PENDING, all[i]);
        come('D', THREAD, all[i]);
        expect_order(&lease, "ABCD");
        free_pool(pool);
    }
}

TEST(a_take_without_a_priority_is_a_normal_one)
{
    cen_lease lease = begin_one(.max_barging_ns = 0);
    come('L', THREAD, LOW);
    taker plain;
    begin_take(&plain, pool, CEN_NEVER);
    come('H', THREAD, HIGH);
    give_back(&lease);
    comer *first = next_told();
    expect(first && first->letter == 'H' && !plain.returned);
    lease = lease_of(first);
    give_back(&lease);
    expect_taken(&plain, 1);
    expect(next_told() == NULL);
    give_back(&plain.lease);
    comer *last = next_told();
    lease = lease_of(last);
    expect_equal(last->letter, 'L');
    give_back(&lease);
    free_pool(pool);
}

/* An uncontended take has nothing to be before. */
TEST(with_an_idle_object_the_priority_changes_nothing_and_one_that_is_none_is_refused)
{
    cen_lease lease = begin_one(.max_barging_ns = 0);
    give_back(&lease);
    for (int priority = NORMAL; priority <= LOW; priority++) {
        expect_equal(cen_pool_take_priority(pool, (cen_priority)priority, CEN_NOW, &lease, NULL), CEN_OK);
        give_back(&lease);
    }
    const int none[] = {-1, 3, 4, 100};
    for (int i = 0; i < 4; i++) {
        cen_error error;
        expect_equal(cen_pool_take_priority(pool, (cen_priority)none[i], CEN_NOW, &lease, &error), CEN_INVALID);
        expect_error(&error, CEN_INVALID, "priority");
    }
    expect_counts(pool, 1, 0);
    free_pool(pool);
}

/* ---- Aging ------------------------------------------------------------------------------------- */

/* The bound: those of the next higher class who come within less than aging_ns after it, and no other. */
/* guarantees: overload.aging */
TEST(one_who_waits_is_passed_by_those_of_the_next_class_within_its_aging_and_by_no_other)
{
    const struct {
        cen_priority low, high;
        int64_t bound;
    } pairs[] = {{NORMAL, HIGH, 100 * MS}, {LOW, NORMAL, 100 * MS}, {LOW, HIGH, 200 * MS}};
    for (int i = 0; i < 3; i++)
        for (int strict = 0; strict < 2; strict++) {
            cen_lease lease = begin_one(.max_barging_ns = strict ? CEN_NONE : 0);
            come('A', THREAD, pairs[i].low);
            come('B', PENDING, pairs[i].high);
            ceni_world_advance(pairs[i].bound - 1);
            come('C', THREAD, pairs[i].high); /* the last that may */
            ceni_world_advance(1);
            come('D', PENDING, pairs[i].high); /* came exactly so much later */
            come('E', THREAD, pairs[i].high);
            expect_order(&lease, "BCADE");
            free_pool(pool);
        }
}

/* However many of a higher class come, and however long that goes on. */
/* guarantees: overload.aging */
TEST(a_low_one_does_not_starve_beside_a_stream_of_high_ones)
{
    cen_lease lease = begin_one(.aging_ns = 50 * MS);
    comer *low = come('L', THREAD, LOW);
    come('H', THREAD, HIGH);
    come('H', PENDING, HIGH); /* two wait, and one more comes whenever one is served, every 10 ms */
    int passed = 0;
    for (comer *next = NULL; next != low; passed++) {
        expect(passed < 40);
        give_back(&lease);
        next = next_told();
        lease = lease_of(next);
        if (next == low) break;
        ceni_world_advance(10 * MS);
        come('H', passed % 2 ? THREAD : PENDING, HIGH);
    }
    expect_equal(passed, 11); /* two at once, and those who came 10 to 90 ms after it */
    expect_order(&lease, "HH");
    free_pool(pool);
}

/* guarantees: overload.aging */
TEST(another_aging_holds_for_those_who_come_later)
{
    cen_lease lease = begin_one(.aging_ns = 10 * MS);
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    come('A', THREAD, NORMAL);
    expect_equal(cen_pool_options_get(pool, &options), CEN_OK);
    expect_equal(options.aging_ns, 10 * MS);
    options.aging_ns = SECOND;
    expect_equal(cen_pool_options_set(pool, &options, NULL), CEN_OK);
    come('B', PENDING, NORMAL);
    ceni_world_advance(10 * MS);
    come('C', THREAD, HIGH); /* too late to pass the first, and not the second */
    expect_order(&lease, "ACB");
    free_pool(pool);
}

/* ---- Newcomers that become the first ------------------------------------------------------------ */

/* guarantees: overload.L5-passed */
TEST(one_who_passes_the_first_and_gives_up_leaves_the_others_as_they_were)
{
    for (int strict = 0; strict < 2; strict++)
        for (int first = THREAD; first <= PENDING; first++) {
            cen_lease lease = begin_one(.max_barging_ns = strict ? CEN_NONE : 0);
            come('A', (way)first, NORMAL);
            comer *late = come_until('X', THREAD, HIGH, cen_in_ms(5));
            ceni_world_advance(5 * MS);
            expect(next_told() == late);
            expect_equal(late->status, CEN_TIMEOUT);
            come('B', THREAD, NORMAL);
            expect_order(&lease, "AB");
            expect(expect_sound(pool).timed_out == 1);
            free_pool(pool);
        }
}

TEST(interrupt_finds_those_who_wait_in_every_class_and_close_sends_all_of_them_away)
{
    cen_lease lease = begin_one(.max_barging_ns = 0);
    cen_priority all[] = {NORMAL, HIGH, LOW};
    for (int i = 0; i < 3; i++) {
        comer *self = come('A', THREAD, all[i]);
        uint64_t number = 0;
        for (unsigned class = 0; class < CENI_CLASSES; class ++) {
            ceni_list *link = ceni_list_first(&pool->waiters->classes[class].waiters);
            if (link) number = CENI_LIST_ENTRY(link, ceni_pool_waiter, link)->holder;
        }
        expect(cen_pool_interrupt(pool, number));
        expect(next_told() == self);
        expect_equal(self->status, CEN_INTERRUPTED);
    }
    for (int i = 0; i < 3; i++) come('A', i == 1 ? PENDING : THREAD, all[i]);
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_close(pool, CEN_NOW, &report, NULL), CEN_TIMEOUT);
    expect_equal(report.waiting, 3);
    for (int i = 0; i < 3; i++) expect_equal(next_told()->status, CEN_CLOSED);
    expect_equal(cen_pool_give(&lease), CEN_REVOKED);
    free_pool(pool);
}

TEST(the_oldest_wait_is_that_of_whoever_waits_longest_and_not_of_the_first)
{
    cen_lease lease = begin_one(.max_barging_ns = 0);
    come('L', THREAD, LOW);
    ceni_world_advance(3 * MS);
    come('H', THREAD, HIGH);
    ceni_world_advance(2 * MS);
    expect_equal(expect_sound(pool).oldest_wait_ns, 5 * MS);
    expect_order(&lease, "HL");
    free_pool(pool);
}

TEST(aging_must_be_a_time)
{
    const int64_t bad[] = {CEN_OFF, -2, INT64_MAX};
    for (int i = 0; i < 3; i++) {
        cen_pool *none;
        cen_error error;
        cen_pool_options options = CEN_POOL_OPTIONS(.aging_ns = bad[i]);
        expect_equal(cen_pool_new(&options, &none, &error), CEN_INVALID);
        expect_error(&error, CEN_INVALID, "options.aging_ns");
    }
}
