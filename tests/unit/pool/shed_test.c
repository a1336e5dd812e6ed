/* SPDX-License-Identifier: MIT */
/* Shedding: it begins when the waits were too long for a whole interval, goes on at CoDel's pace, and ends when they are short. */
#include "unit/pool/listeners.h"

#include "unit/pool/comers.h"

#define TARGET (10 * MS)
#define INTERVAL (100 * MS)

/* ---- The law ---------------------------------------------------------------------------------- */

static ceni_shed law;

static bool judge(int64_t now, int64_t waited)
{
    return ceni_shed_judge(&law, TARGET, INTERVAL, waited, false, now);
}

/* guarantees: overload.shedding */
TEST(it_begins_exactly_when_the_waits_were_at_the_target_for_a_whole_interval)
{
    law = (ceni_shed){0};
    expect(!judge(1000, TARGET - 1));
    expect(!judge(2000, TARGET)); /* from now on */
    expect(!judge(2000 + INTERVAL - 1, 5 * TARGET));
    expect(!law.active);
    expect(judge(2000 + INTERVAL, TARGET));
    expect(law.active && law.count == 1);
}

/* guarantees: overload.shedding */
TEST(one_short_wait_in_between_begins_the_interval_anew)
{
    law = (ceni_shed){0};
    expect(!judge(0, TARGET) && !judge(INTERVAL - 1, TARGET - 1) && !judge(INTERVAL, TARGET));
    expect(!judge(2 * INTERVAL - 1, TARGET));
    expect(judge(2 * INTERVAL, TARGET));
}

/* The next after interval, interval/√2, interval/√3 ... */
/* guarantees: overload.shedding */
TEST(the_longer_it_lasts_the_more_often_it_sheds)
{
    law = (ceni_shed){0};
    judge(0, TARGET);
    expect(judge(INTERVAL, TARGET));
    int64_t next = 2 * INTERVAL;
    /* 256 times the roots of 2, 3 and 4 */
    const int64_t pauses[] = {INTERVAL * 256 / 362, INTERVAL * 256 / 443, INTERVAL / 2};
    for (int i = 0; i < 4; i++) {
        expect(!judge(next - 1, TARGET));
        expect(judge(next, TARGET));
        expect(!judge(next, TARGET)); /* one */
        if (i < 3) next += pauses[i];
    }
    expect_equal(law.count, 5);
}

/* guarantees: overload.shedding */
TEST(it_ends_with_one_short_wait_and_the_next_time_soon_after_goes_on_nearly_where_it_was)
{
    law = (ceni_shed){0};
    judge(0, TARGET);
    int64_t now = INTERVAL;
    for (; law.step < 10; now += MS) judge(now, TARGET);
    expect(!judge(now, TARGET - 1) && !law.active);
    expect(!judge(now, TARGET) && judge(now + INTERVAL, TARGET));
    expect_equal(law.step, 8);
    expect_equal(law.count, 1);
    expect(!judge(now + INTERVAL, 0));
    /* long after: from the beginning */
    expect(!judge(now + 100 * INTERVAL, TARGET) && judge(now + 101 * INTERVAL, TARGET));
    expect_equal(law.step, 1);
}

/* guarantees: overload.shedding */
TEST(the_only_one_is_never_shed)
{
    law = (ceni_shed){0};
    judge(0, TARGET);
    expect(judge(INTERVAL, TARGET));
    expect(!ceni_shed_judge(&law, TARGET, INTERVAL, 100 * TARGET, true, 10 * INTERVAL));
    expect(!law.active && !law.above);
}

TEST(an_interval_however_long_does_not_overflow)
{
    law = (ceni_shed){0};
    int64_t interval = INT64_MAX / 4;
    expect(!ceni_shed_judge(&law, 1, interval, 1, false, 0));
    expect(ceni_shed_judge(&law, 1, interval, 1, false, interval));
    expect(ceni_shed_judge(&law, 1, interval, 1, false, 2 * interval));
    expect(law.next > 2 * interval && law.next < 3 * interval);
}

/* ---- A pool --------------------------------------------------------------------------------------- */

/* One object, out; `count` come at once, every other one pending. */
static cen_lease begin_crowded(int count, bool strict)
{
    cen_lease lease =
        begin_one(.shed_target_ns = TARGET, .shed_interval_ns = INTERVAL, .max_barging_ns = strict ? CEN_NONE : 0);
    for (int i = 0; i < count; i++) come((char)('A' + i), i % 2 ? PENDING : THREAD, CEN_PRIORITY_NORMAL);
    return lease;
}

/* The object goes to the next; who is shed instead is counted. */
static comer *pass_on(cen_lease *lease, int *shed)
{
    give_back(lease);
    comer *served = NULL;
    for (comer *told; (told = next_told());) {
        expect(told->status == CEN_OK || told->status == CEN_OVERLOAD);
        if (told->status == CEN_OVERLOAD) ++*shed;
        else served = told;
    }
    if (served) *lease = lease_of(served);
    return served;
}

/* guarantees: overload.shedding */
TEST(a_pool_sheds_after_target_and_interval_and_not_a_moment_earlier)
{
    for (int strict = 0; strict < 2; strict++)
        for (int early = 0; early < 2; early++) {
            int shed = 0;
            cen_lease lease = begin_crowded(6, strict);
            ceni_world_advance(TARGET);
            expect_equal(pass_on(&lease, &shed)->letter, 'A'); /* the first that has waited for so long */
            ceni_world_advance(INTERVAL - early);
            comer *next = pass_on(&lease, &shed);
            expect_equal(shed, !early);
            expect_equal(next->letter, early ? 'B' : 'C');
            cen_pool_stats s = expect_sound(pool);
            expect(s.shed == (uint64_t)!early && s.is_shedding == !early && s.served == 2);
            while (pass_on(&lease, &shed)) continue; /* within no time: no other is shed */
            expect_equal(shed, !early);
            expect(!expect_sound(pool).is_shedding);
            free_pool(pool);
        }
}

/* guarantees: overload.shedding */
TEST(by_default_nobody_is_shed_however_long_the_waits_are)
{
    int shed = 0;
    cen_lease lease = begin_one(.max_barging_ns = 0);
    for (int i = 0; i < 6; i++) come('A', i % 2 ? PENDING : THREAD, CEN_PRIORITY_NORMAL);
    do ceni_world_advance(100 * SECOND);
    while (pass_on(&lease, &shed));
    expect(shed == 0 && expect_sound(pool).served == 6);
    free_pool(pool);
}

/* guarantees: overload.refusal */
TEST(one_that_is_shed_is_told_the_cause_after_how_long_and_when_to_try_again)
{
    int shed = 0;
    cen_lease lease = begin_crowded(6, false);
    ceni_world_advance(TARGET);
    pass_on(&lease, &shed);
    pass_on(&lease, &shed); /* the pending one, too, was served: the next is a thread */
    ceni_world_advance(INTERVAL);
    pass_on(&lease, &shed);
    expect_equal(shed, 1);
    const comer *one = &comers[2];
    expect(one->letter == 'C' && one->status == CEN_OVERLOAD);
    expect(one->take.error.cause == CEN_CAUSE_SHED && one->take.error.retry_after_ns == INTERVAL);
    expect_error(&one->take.error, CEN_OVERLOAD,
                 "load shedding: refused after 110 ms; waits stayed above shed_target_ns for shed_interval_ns; ");
    expect_error(&one->take.error, CEN_OVERLOAD, "shed_interval_ns; try again in about 100 ms. ");
    char text[2000];
    cen_pool_explain(pool, text, sizeof text);
    expect(strstr(text, "Load shedding is active: some waiters are refused (shed_target_ns).\n"));
    expect(strstr(text, "Takes refused by load shedding (shed_target_ns): 1.\n"));
    while (pass_on(&lease, &shed)) continue;
    cen_pool_explain(pool, text, sizeof text);
    expect(!strstr(text, "some waiters are refused"));
    free_pool(pool);
}

/* guarantees: overload.refusal */
TEST(a_pending_waiter_is_shed_as_a_thread_is_and_knows_the_cause)
{
    int shed = 0;
    cen_lease lease = begin_crowded(4, false);
    ceni_world_advance(TARGET);
    pass_on(&lease, &shed);
    ceni_world_advance(INTERVAL);
    pass_on(&lease, &shed);
    const comer *one = &comers[1];
    expect(shed == 1 && one->by == PENDING && one->status == CEN_OVERLOAD);
    expect(one->waiter.cause == CEN_CAUSE_SHED && one->waiter.retry_after_ns == INTERVAL);
    while (pass_on(&lease, &shed)) continue;
    free_pool(pool);
}

/* Otherwise the short waits of the high ones would end what the long ones of the others began. */
/* guarantees: overload.shedding */
TEST(each_class_has_its_own_episode)
{
    int shed = 0;
    cen_lease lease = begin_crowded(6, false);
    ceni_world_advance(TARGET);
    pass_on(&lease, &shed);
    ceni_world_advance(INTERVAL - MS);
    come('X', THREAD, CEN_PRIORITY_HIGH);
    ceni_world_advance(MS);
    comer *high = come('Y', THREAD, CEN_PRIORITY_HIGH);
    pass_on(&lease, &shed); /* the others have waited for longer than aging_ns, and come first */
    expect_equal(shed, 1);
    expect_equal(expect_sound(pool).is_shedding, true);
    while (!high->counted) pass_on(&lease, &shed);
    expect(high->status == CEN_OK && shed == 1);
    while (pass_on(&lease, &shed)) continue;
    free_pool(pool);
}

/* guarantees: overload.shed-result */
TEST(what_begins_and_what_it_came_to_is_told_the_event_stream)
{
    static ear listener;
    listener = (ear){.count = 0};
    int shed = 0;
    cen_lease lease = begin_crowded(8, false);
    listen_with(pool, &listener);
    ceni_world_advance(TARGET);
    pass_on(&lease, &shed);
    expect_heard(&listener, "");
    ceni_world_advance(INTERVAL);
    pass_on(&lease, &shed);
    ceni_world_advance(INTERVAL);
    pass_on(&lease, &shed);
    expect_equal(shed, 2);
    expect_heard(&listener, "shed ");
    expect(strstr(listener.events[0].text, "load shedding began: waits stayed above shed_target_ns"));
    while (pass_on(&lease, &shed)) continue; /* nobody waits any more */
    expect_heard(&listener, "shed ");
    expect(strstr(listener.events[0].text, "load shedding ended: 2 takes were refused"));
    free_pool(pool);
}

/* guarantees: overload.shedding */
TEST(switched_off_it_sheds_no_more_at_once)
{
    int shed = 0;
    cen_lease lease = begin_crowded(8, false);
    ceni_world_advance(TARGET);
    pass_on(&lease, &shed);
    ceni_world_advance(INTERVAL);
    pass_on(&lease, &shed);
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &options), CEN_OK);
    options.shed_target_ns = CEN_OFF;
    expect_equal(cen_pool_options_set(pool, &options, NULL), CEN_OK);
    expect(!expect_sound(pool).is_shedding);
    do ceni_world_advance(SECOND);
    while (pass_on(&lease, &shed));
    expect_equal(shed, 1);
    free_pool(pool);
}

/* On the clock of a runtime that a program moves itself. */
/* guarantees: overload.shedding */
TEST(with_a_virtual_clock_it_is_that_clock_that_counts)
{
    cen_runtime *runtime;
    cen_runtime_options manual = CEN_RUNTIME_OPTIONS(.manual = true, .virtual_time = true);
    expect_equal(cen_runtime_new(&manual, &runtime, NULL), CEN_OK);
    int shed = 0;
    cen_lease lease = begin_one(.shed_target_ns = TARGET, .shed_interval_ns = INTERVAL, .runtime = runtime);
    for (int i = 0; i < 4; i++) come((char)('A' + i), PENDING, CEN_PRIORITY_NORMAL);
    ceni_world_advance(10 * SECOND); /* means nothing to it */
    pass_on(&lease, &shed);
    cen_runtime_advance(runtime, TARGET);
    pass_on(&lease, &shed);
    cen_runtime_advance(runtime, INTERVAL);
    pass_on(&lease, &shed);
    expect_equal(shed, 1);
    while (pass_on(&lease, &shed)) continue;
    free_pool(pool);
    cen_runtime_free(runtime);
}
