/* SPDX-License-Identifier: MIT */
/* How long things took, in virtual time: leases, waits, openings. */
#include <cenote/pool_async.h>

#include "pool/slot.h"
#include "unit/pool/scripted.h"
#include "unit/pool/watchers.h"

/* Holds an object for so long. */
static void hold(cen_pool *pool, int64_t ns)
{
    cen_lease lease = take_now(pool);
    ceni_world_advance(ns);
    give_back(&lease);
}

/* ---- Which leases ----------------------------------------------------------------------- */

static bool is_sampled(uint64_t generation)
{
    return ceni_word_is_sampled(ceni_word(generation, CENI_SLOT_HELD | CENI_LISTED));
}

/* guarantees: pool-api.use-times */
TEST(one_generation_in_64_is_sampled_in_every_stretch)
{
    const uint64_t begins[] = {1, 1000, 123456789, UINT64_C(1) << 40};
    for (int i = 0; i < 4; i++) {
        int sampled = 0;
        for (uint64_t g = begins[i]; g < begins[i] + 6400; g++) {
            sampled += is_sampled(g);
            expect_equal(ceni_word_next_is_sampled(ceni_word(g, CENI_SLOT_HELD | CENI_LISTED)), is_sampled(g + 1));
        }
        expect(sampled >= 98 && sampled <= 102);
    }
}

/* Were it every 64th, a program that does 64 things in turn would have one of them timed, and the others never. */
/* guarantees: pool-api.use-times */
TEST(whatever_a_program_does_in_turn_is_met_as_often_as_the_rest)
{
    const unsigned periods[] = {2, 3, 5, 8, 10, 13, 21, 32, 34, 55, 60, 64, 89, 100, 128, 144, 256};
    for (size_t i = 0; i < sizeof periods / sizeof periods[0]; i++) {
        unsigned met[256] = {0}, period = periods[i];
        for (uint64_t g = 1; g <= 64 * UINT64_C(40) * period; g++) met[g % period] += is_sampled(g);
        for (unsigned part = 0; part < period; part++)
            if (met[part] < 20 || met[part] > 60)
                test_fail(__FILE__, __LINE__, "of %u parts, part %u was met %u times instead of 40", period, part,
                          met[part]);
    }
}

/* guarantees: pool-api.use-times */
TEST(one_lease_in_64_is_counted_with_its_exact_time_in_every_order)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "used", .max = 1, .order = order), 1);
        for (int i = 0; i < 640; i++) hold(pool, 5000);
        const times *t = times_of(pool, "use");
        expect_equal(t->timing.one_in, 64);
        expect(t->histogram.count >= 9 && t->histogram.count <= 11);
        expect(t->histogram.smallest == 5000 && t->histogram.largest == 5000);
        expect_equal(t->histogram.sum, 5000 * (int64_t)t->histogram.count);
        expect_equal(expect_sound(pool).idle, 1);
        free_pool(pool);
    }
}

/* Those of an ask, and of a driver that looks at what comes back. */
/* guarantees: pool-api.use-times */
TEST(a_lease_that_was_asked_for_or_is_looked_at_is_counted_as_any_other)
{
    static script s;
    for (int only_reads = 0; only_reads < 2; only_reads++) {
        s = (script){.opened = 0};
        checks_only_read = only_reads;
        cen_pool *pool = begin_life(&s, HAS_CHECK, .name = "used", .max = 1);
        for (int i = 0; i < 640; i++) {
            cen_take_op asked;
            cen_take_op_init(&asked, NULL, NULL);
            expect_equal(cen_pool_take_async(pool, CEN_NOW, &asked), CEN_OK);
            expect_equal(asked.future.status, CEN_OK);
            ceni_world_advance(70);
            give_back(&asked.lease);
        }
        const times *t = times_of(pool, "use");
        expect(t->histogram.count >= 9 && t->histogram.count <= 11);
        expect(t->histogram.smallest == 70 && t->histogram.largest == 70);
        expect_equal(s.of[CALL_CHECK].calls, 640);
        end_life(&s, pool);
    }
    checks_only_read = false;
}

/* ---- All of them ------------------------------------------------------------------------- */

/* guarantees: pool-api.use-times */
TEST(with_exact_times_every_lease_is_counted_in_every_order)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_pool *pool =
            make_stocked(CEN_POOL_OPTIONS(.name = "exact", .max = 2, .order = order, .exact_times = true), 2);
        int64_t sum = 0;
        for (int i = 1; i <= 100; i++) {
            hold(pool, i * 10);
            sum += i * 10;
        }
        const times *t = times_of(pool, "use");
        expect_equal(t->timing.one_in, 1);
        expect_equal(t->histogram.count, expect_sound(pool).ended);
        expect(t->histogram.sum == sum && t->histogram.smallest == 10 && t->histogram.largest == 1000);
        free_pool(pool);
    }
}

/* guarantees: pool-api.use-times */
TEST(a_lease_is_counted_once_however_it_ends)
{
    static script s;
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, 0, .name = "ends", .max = 4, .exact_times = true, .leak_after_ns = 10 * SECOND,
                                .on_leak = CEN_LEAK_RECLAIM);
    cen_lease given = take_now(pool), discarded = take_now(pool), reclaimed = take_now(pool);
    ceni_world_advance(SECOND);
    give_back(&given);
    expect_times(pool, "use", 1, SECOND);
    expect_equal(cen_pool_discard(&discarded), CEN_OK);
    expect_times(pool, "use", 2, 2 * SECOND);
    ceni_world_advance(20 * SECOND); /* rounds see that it leaks */
    ceni_world_settle();
    expect_equal(look(pool).reclaimed, 1);
    expect_equal(times_of(pool, "use")->histogram.count, 3);
    int64_t until = times_of(pool, "use")->histogram.sum - 2 * SECOND;
    expect(until >= 10 * SECOND && until <= 21 * SECOND);
    expect_equal(cen_pool_give(&reclaimed), CEN_REVOKED);
    expect_equal(times_of(pool, "use")->histogram.count, 3);
    cen_lease revoked = take_now(pool);
    ceni_world_advance(SECOND);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    expect_equal(times_of(pool, "use")->histogram.count, 3); /* it is still out */
    ceni_world_advance(SECOND);
    expect_equal(cen_pool_give(&revoked), CEN_REVOKED);
    expect_times(pool, "use", 4, 2 * SECOND + until + 2 * SECOND);
    expect_equal(look(pool).ended, 4);
    free_pool(pool);
    free_runtime(s.runtime);
}

static void take_and_end(void *argument)
{
    cen_pool *pool = argument;
    cen_lease lease = take_now(pool);
    ceni_sleep_until(cen_clock() + 3 * SECOND + (lease.object == NULL));
}

/* guarantees: pool-api.use-times */
TEST(what_a_thread_held_when_it_ended_is_counted_by_every_policy)
{
    for (cen_holder_end_policy policy = CEN_HOLDER_END_CLOSE; policy <= CEN_HOLDER_END_REUSE; policy++) {
        static script s;
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, HAS_TEST | HAS_CHECK, .name = "left", .max = 1, .exact_times = true,
                                    .on_holder_end = policy);
        ceni_thread thread = start("ends", take_and_end, pool);
        ceni_world_advance(3 * SECOND);
        join(thread);
        expect_times(pool, "use", 1, 3 * SECOND);
        end_life(&s, pool);
    }
}

/* Found unfit before it was lent: nobody had it, and what was there before it is another's time. */
/* guarantees: pool-api.use-times */
TEST(an_object_that_fails_its_test_before_it_is_lent_counts_as_no_use)
{
    static script s;
    s = (script){.opened = 0};
    cen_pool *pool =
        begin_life(&s, HAS_TEST, .name = "unfit", .max = 1, .exact_times = true, .test_interval_ns = CEN_OFF);
    hold(pool, SECOND);
    pass(10 * SECOND);
    s.things[1].broken = true;
    hold(pool, 2 * SECOND);
    expect(s.things[1].tests > 0 && s.opened == 2);
    expect_times(pool, "use", 2, 3 * SECOND);
    end_life(&s, pool);
}

/* guarantees: pool-api.use-times */
TEST(a_change_of_exact_times_begins_the_times_of_use_anew)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "changes", .max = 1), 1);
    for (int i = 0; i < 640; i++) hold(pool, 10);
    expect(times_of(pool, "use")->histogram.count > 0);
    cen_pool_options o = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &o), CEN_OK);
    cen_lease before = take_now(pool);
    o.exact_times = true;
    expect_equal(cen_pool_options_set(pool, &o, NULL), CEN_OK);
    const times *t = times_of(pool, "use");
    expect(t->histogram.count == 0 && t->histogram.sum == 0 && t->timing.one_in == 1);
    give_back(&before); /* nobody knows when it began */
    hold(pool, 20);
    hold(pool, 30);
    expect_times(pool, "use", 2, 50);
    o.exact_times = false;
    expect_equal(cen_pool_options_set(pool, &o, NULL), CEN_OK);
    t = times_of(pool, "use");
    expect(t->histogram.count == 0 && t->timing.one_in == 64);
    free_pool(pool);
}

/* ---- Waits ----------------------------------------------------------------------------------- */

/* Prometheus and the page take a number that falls for one of another pool, and all of it for new. */
TEST(instant_takes_do_not_fall_while_one_who_waited_opens_an_object)
{
    static script s;
    s = (script){.of[CALL_OPEN] = {.hang_from = 2, .hang_to = 2}};
    cen_pool *pool = begin_life(&s, 0, .name = "falls", .max = 1);
    for (int i = 0; i < 5; i++) hold(pool, 1);
    cen_lease held = take_now(pool);
    taker opens;
    begin_take(&opens, pool, CEN_NEVER);
    expect_equal(times_of(pool, "wait")->timing.instant, 6);
    expect_equal(cen_pool_discard(&held), CEN_OK);
    ceni_world_settle();
    expect_equal(expect_sound(pool).opening, 1);
    expect_equal(times_of(pool, "wait")->timing.instant, 6);
    let_all_go(&s, CALL_OPEN);
    expect_taken(&opens, 2);
    expect_equal(times_of(pool, "wait")->timing.instant, 6);
    give_back(&opens.lease);
    hold(pool, 1);
    expect_equal(times_of(pool, "wait")->timing.instant, 7);
    end_life(&s, pool);
}

/* guarantees: pool-api.wait-times */
TEST(every_take_that_waited_is_counted_and_the_others_are_instant)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "waits", .max = 1), 1);
    for (int i = 0; i < 5; i++) hold(pool, 1);
    cen_lease held = take_now(pool);
    taker served, expired, sent_away;
    begin_take(&expired, pool, cen_in_s(1));
    begin_take(&served, pool, CEN_NEVER);
    ceni_world_advance(SECOND);
    expect_answer(&expired, CEN_TIMEOUT);
    expect_times(pool, "wait", 1, SECOND);
    ceni_world_advance(SECOND);
    give_back(&held);
    expect_taken(&served, 1);
    begin_take(&sent_away, pool, CEN_NEVER);
    ceni_world_advance(5 * SECOND);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    expect_answer(&sent_away, CEN_CLOSED);
    cen_pool_stats s = expect_sound(pool);
    const times *t = times_of(pool, "wait");
    expect_equal(t->timing.one_in, 1);
    expect_equal(t->timing.instant, 6);
    expect_equal(t->timing.instant, s.taken - s.served);
    expect_equal(t->histogram.count, s.waited - s.waiting);
    expect_equal(t->histogram.sum, s.wait_total_ns);
    expect_equal(t->histogram.largest, s.wait_longest_ns);
    expect(t->histogram.sum == 8 * SECOND && t->histogram.smallest == SECOND && t->histogram.largest == 5 * SECOND);
    expect_equal(cen_histogram_percentile(&t->histogram, 500000), s.wait_p50_ns);
    expect_equal(cen_histogram_percentile(&t->histogram, 990000), s.wait_p99_ns);
    expect_equal(cen_pool_give(&served.lease), CEN_REVOKED);
    free_pool(pool);
}

/* ---- Openings ---------------------------------------------------------------------------------- */

/* guarantees: pool-api.wait-times */
TEST(each_opening_that_succeeded_is_counted_and_none_that_failed)
{
    for (unsigned kind = 0; kind <= BLOCKS; kind++) {
        static script s;
        s = (script){.opened = 0, .of[CALL_OPEN] = {.takes_ns = 40 * MS, .fail_from = 2, .fail_to = 2}};
        cen_pool *pool = begin_life(&s, kind, .name = "opens", .max = 3, .backoff_initial_ns = CEN_OFF);
        cen_lease first = take(pool), second = {0}, third = {0};
        expect_times(pool, "create", 1, 40 * MS);
        expect_equal(cen_pool_take(pool, cen_in_s(1), &second, NULL), CEN_DRIVER);
        second = take(pool);
        third = take(pool);
        const times *t = times_of(pool, "create");
        expect_equal(t->histogram.count, look(pool).opened);
        expect_equal(t->histogram.sum, 3 * 40 * MS);
        expect(t->timing.one_in == 1 && t->timing.instant == 0);
        expect_equal(look(pool).open_failed, 1);
        give_back(&first);
        give_back(&second);
        give_back(&third);
        end_life(&s, pool);
    }
}

/* guarantees: pool-api.wait-times */
TEST(what_is_adopted_was_not_created_here)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.name = "adopts", .max = 3), 3);
    expect_times(pool, "create", 0, 0);
    free_pool(pool);
}
