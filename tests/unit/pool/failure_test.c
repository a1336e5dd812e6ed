/* SPDX-License-Identifier: MIT */
/* Openings that fail: back-off, breaker, who is told what, and recovery (L11). */
#include "pool/gate.h"
#include "unit/pool/scripted.h"

static script s;

static void fail_opens(void)
{
    s = (script){.of[CALL_OPEN] = {.fail_from = 1, .fail_to = UINT32_MAX, .failure = CEN_SYSTEM, .code = 111}};
    s.of[CALL_OPEN].text = "nobody listens";
}

static void expect_cause(taker *one)
{
    expect_answer(one, CEN_SYSTEM);
    expect_equal(one->error.code, 111);
    expect_error(&one->error, CEN_SYSTEM, "nobody listens");
}

/* A take of this thread. */
static void expect_take_fails(cen_pool *pool, cen_deadline deadline)
{
    cen_lease none;
    cen_error error;
    expect_equal(cen_pool_take(pool, deadline, &none, &error), CEN_SYSTEM);
    expect_equal(error.code, 111);
}

/* ---- Back-off ----------------------------------------------------------------------------- */

/* guarantees: life.L11, life-bugs.F */
TEST(L11_after_a_failure_the_next_opening_waits_for_up_to_a_part_of_how_long_nothing_could_be_opened)
{
    fail_opens();
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2, .backoff_initial_ns = 10 * MS, .backoff_max_ns = 160 * MS,
                                .breaker_failures = CEN_OFF);
    taker one;
    int64_t began = cen_clock(), most = 0;
    begin_take(&one, pool, CEN_NEVER);
    for (unsigned failures = 1; failures <= 400; failures++) {
        cen_pool_stats n = look(pool);
        int64_t bound = (cen_clock() - began) / CENI_GATE_PART;
        bound = bound < 10 * MS ? 10 * MS : bound > 160 * MS ? 160 * MS : bound;
        expect_equal(s.of[CALL_OPEN].calls, failures);
        expect(n.open_failures == failures && n.open_failed == failures && n.waiting == 1);
        expect(n.next_open_ns > 0 && n.next_open_ns <= bound);
        if (n.next_open_ns > most) most = n.next_open_ns;
        if (n.next_open_ns > 1) pass(n.next_open_ns - 1);
        expect_equal(s.of[CALL_OPEN].calls, failures);
        pass(1);
    }
    expect(most > 10 * MS); /* it has grown */
    recover(&s, CALL_OPEN);
    pass(160 * MS);
    expect_taken(&one, 1);
    expect_equal(look(pool).open_failures, 0);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* guarantees: life.L11, life-bugs.F */
TEST(F_a_server_that_is_down_for_ten_minutes_is_asked_less_and_less_often_and_not_in_a_loop)
{
    fail_opens();
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 8, .max_concurrent_opens = 8, .breaker_failures = CEN_OFF);
    taker takers[4];
    for (int i = 0; i < 4; i++) begin_take(&takers[i], pool, CEN_NEVER);
    /* Half a bound between two on average: 128 while it is 50 ms, 128 each time that the outage is e times as long, and
     * then one a second. Twice as many in each part would be too many. */
    static const struct {
        int64_t seconds;
        unsigned least, most;
    } parts[] = {{3, 60, 240}, {125, 240, 940}, {472, 400, 560}};
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        unsigned before = s.of[CALL_OPEN].calls;
        pass(parts[i].seconds * SECOND);
        unsigned tried = s.of[CALL_OPEN].calls - before;
        expect(tried > parts[i].least && tried < parts[i].most);
    }
    expect(s.of[CALL_OPEN].most <= 4);
    recover(&s, CALL_OPEN);
    pass(3 * SECOND);
    for (int i = 0; i < 4; i++) expect_answer(&takers[i], CEN_OK);
    for (int i = 0; i < 4; i++) give_back(&takers[i].lease);
    end_life(&s, pool);
}

/* guarantees: life.L7 */
TEST(L7_a_take_keeps_its_deadline_although_nothing_can_be_opened)
{
    fail_opens();
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 1, .breaker_failures = CEN_OFF);
    taker one;
    begin_take(&one, pool, cen_in_s(2));
    pass(2 * SECOND - 1);
    expect_waiting(&one);
    pass(1);
    expect_answer(&one, CEN_TIMEOUT);
    end_life(&s, pool);
}

/* guarantees: life-bugs.D */
TEST(D_fifty_openings_that_failed_leave_room_for_max_objects)
{
    s = (script){.of[CALL_OPEN] = {.fail_from = 1, .fail_to = 50}};
    cen_pool *pool =
        begin_life(&s, BLOCKS, .max = 3, .backoff_initial_ns = MS, .backoff_max_ns = MS, .breaker_failures = CEN_OFF);
    cen_lease leases[3];
    for (int i = 0; i < 3; i++) leases[i] = take(pool);
    cen_pool_stats n = look(pool);
    expect(n.open_failed == 50 && n.opened == 3 && n.held == 3 && n.opening == 0);
    for (int i = 0; i < 3; i++) give_back(&leases[i]);
    end_life(&s, pool);
}

/* ---- Without back-off ------------------------------------------------------------------------ */

/* guarantees: life.L11-no-backoff */
TEST(L11_without_back_off_a_waiting_take_fails_with_the_first_openings_error_as_with_an_inline_driver)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        fail_opens();
        cen_pool *pool = begin_life(&s, blocks, .max = 2, .backoff_initial_ns = CEN_OFF);
        for (unsigned i = 1; i <= 20; i++) {
            cen_lease none;
            cen_error error;
            int64_t began = cen_clock();
            expect_equal(cen_pool_take(pool, cen_in_s(30), &none, &error), CEN_SYSTEM);
            expect(cen_clock() - began <= MS); /* the floor: no other opening begins sooner after one that failed */
            expect_error(&error, CEN_SYSTEM, "nobody listens");
            expect_equal(error.code, 111);
            expect(error.cause == CEN_CAUSE_OPENING_FAILED &&
                   error.retry_after_ns == 0); /* the server refused it, the pool did not */
            expect_equal(s.of[CALL_OPEN].calls, i);
        }
        cen_pool_stats n = look(pool);
        expect(n.open_failed == 20 && n.breaker == CEN_BREAKER_CLOSED && n.timed_out == 0);
        recover(&s, CALL_OPEN);
        pass(MS);
        cen_lease lease = take(pool);
        give_back(&lease);
        end_life(&s, pool);
    }
}

typedef struct vain {
    cen_pool *pool;
    int64_t until;
} vain;

static void take_in_vain_until(void *argument)
{
    const vain *self = argument;
    cen_lease none;
    while (cen_clock() < self->until) expect_equal(cen_pool_take(self->pool, cen_in_s(30), &none, NULL), CEN_SYSTEM);
}

/* Openings that fail in half a second: one in a millisecond, where they were some hundreds of thousands. */
/* guarantees: life.L11-no-backoff */
TEST(L11_without_back_off_openings_are_a_millisecond_apart_however_many_takes_come)
{
    fail_opens();
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 8, .max_concurrent_opens = 8, .backoff_initial_ns = CEN_OFF);
    int64_t began = cen_clock(), until = began + 500 * MS;
    vain all = {pool, until};
    ceni_thread others[4];
    for (int i = 0; i < 4; i++) others[i] = start("other", take_in_vain_until, &all);
    for (int i = 0; i < 4; i++) join(others[i]);
    expect(look(pool).failed > 500);
    expect(s.of[CALL_OPEN].calls > 100 && s.of[CALL_OPEN].calls <= (cen_clock() - began) / MS + 8);
    end_life(&s, pool);
}

/* Others that are held may come back, and a take of an inline driver fails all the same. */
/* guarantees: life.L11-no-backoff */
TEST(L11_without_back_off_all_who_wait_fail_with_an_opening_even_while_others_are_held)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 3, .max_concurrent_opens = 1, .backoff_initial_ns = CEN_OFF);
    cen_lease held = take(pool);
    s.of[CALL_OPEN] = (call_plan){.calls = 1,
                                  .fail_from = 2,
                                  .fail_to = 9,
                                  .hang_from = 2,
                                  .hang_to = 2,
                                  .failure = CEN_SYSTEM,
                                  .code = 111,
                                  .text = "nobody listens"};
    taker one, two, late;
    begin_take(&one, pool, CEN_NEVER);
    begin_take(&two, pool, CEN_NEVER);
    expect_waiting(&one);
    expect_waiting(&two);
    let_all_go(&s, CALL_OPEN);
    expect_cause(&one);
    expect_cause(&two);
    s.of[CALL_OPEN].fail_to = 2;
    begin_take(&late, pool, CEN_NEVER); /* that one failed before it came counts for nothing */
    expect_waiting(&late);
    pass(MS);
    expect_taken(&late, 2);
    give_back(&late.lease);
    give_back(&held);
    end_life(&s, pool);
}

/* ---- Breaker -------------------------------------------------------------------------------- */

/* guarantees: life.L11 */
TEST(L11_when_the_breaker_opens_all_who_wait_for_an_opening_only_are_told_the_cause_at_once)
{
    fail_opens();
    s.of[CALL_OPEN].hang_from = 3, s.of[CALL_OPEN].hang_to = 3;
    cen_pool *pool =
        begin_life(&s, BLOCKS, .max = 5, .max_concurrent_opens = 1, .breaker_failures = 3, .open_timeout_ns = CEN_OFF,
                   .breaker_wait_ns = CEN_OFF, .backoff_max_ns = 100 * MS, .backoff_initial_ns = 100 * MS);
    taker takers[3];
    for (int i = 0; i < 3; i++) begin_take(&takers[i], pool, CEN_NEVER);
    pass(SECOND);
    cen_pool_stats n = look(pool);
    expect(n.open_failures == 2 && n.breaker == CEN_BREAKER_CLOSED && n.waiting == 3 && n.opening == 1);
    let_all_go(&s, CALL_OPEN);
    for (int i = 0; i < 3; i++) expect_cause(&takers[i]);
    n = look(pool);
    expect(n.breaker == CEN_BREAKER_OPEN && n.failed == 3 && n.waiting == 0 && n.opening == 0);
    int64_t began = cen_clock(); /* and whoever comes later hears the same, and asks nobody */
    cen_lease lease;
    cen_error error;
    expect_equal(cen_pool_take(pool, cen_in_s(9), &lease, &error), CEN_SYSTEM);
    expect_error(&error, CEN_SYSTEM, "nobody listens");
    expect_equal(cen_clock(), began);
    expect_equal(s.of[CALL_OPEN].calls, 3);
    end_life(&s, pool);
}

/* guarantees: life.L11 */
TEST(L11_while_an_object_is_out_those_who_wait_go_on_waiting_and_get_it)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 3, .breaker_failures = 1);
    cen_lease held = take(pool);
    fail_all(&s, CALL_OPEN);
    taker one, two;
    begin_take(&one, pool, CEN_NEVER);
    expect_equal(look(pool).breaker, CEN_BREAKER_OPEN);
    begin_take(&two, pool, CEN_NEVER);
    pass(60 * SECOND);
    expect_waiting(&one);
    expect_waiting(&two);
    give_back(&held);
    expect_taken(&one, 1);
    give_back(&one.lease);
    expect_taken(&two, 1);
    give_back(&two.lease);
    end_life(&s, pool);
}

/* A server that has no room for more is not one that was away: one object serves, and for a second tries are rare. */
/* guarantees: life.L11 */
TEST(L11_a_server_that_is_full_is_asked_for_more_ever_more_rarely_while_other_objects_serve)
{
    s = (script){.of[CALL_OPEN] = {.failure = CEN_SYSTEM, .code = 111, .text = "nobody listens"}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 3);
    cen_lease held = take(pool);
    fail_all(&s, CALL_OPEN);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    unsigned before = s.of[CALL_OPEN].calls;
    pass(60 * SECOND);
    unsigned tried = s.of[CALL_OPEN].calls - before;
    expect(tried > 30 && tried < 120);             /* a second between two on average, and some at first */
    expect_equal(cen_pool_discard(&held), CEN_OK); /* now nothing serves: what may be tried soon is tried more often */
    before = s.of[CALL_OPEN].calls;
    taker two;
    for (int i = 0; i < 20; i++) {
        begin_take(&two, pool, cen_in_s(1));
        pass(SECOND);
        expect_cause(&two);
    }
    expect(s.of[CALL_OPEN].calls - before >= 10); /* for those who came when the gate was open */
    expect_cause(&one);
    end_life(&s, pool);
}

/* The last live object goes while the breaker is open: now nothing will come. */
/* guarantees: life.L11 */
TEST(L11_those_who_wait_are_told_when_the_last_object_is_gone_while_the_breaker_is_open)
{
    s = (script){.of[CALL_OPEN] = {.failure = CEN_SYSTEM, .code = 111, .text = "nobody listens"}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 3, .breaker_failures = 1, .backoff_initial_ns = 600 * SECOND,
                                .breaker_wait_ns = CEN_OFF);
    cen_lease held = take(pool);
    fail_all(&s, CALL_OPEN);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    expect_equal(look(pool).breaker, CEN_BREAKER_OPEN);
    expect_equal(cen_pool_discard(&held), CEN_OK);
    ceni_world_settle();
    expect_cause(&one);
    end_life(&s, pool);
}

/* guarantees: life.L11, life-bugs.failover */
TEST(L11_after_the_back_off_the_first_who_comes_probes_and_the_others_are_refused_meanwhile)
{
    fail_opens();
    cen_pool *pool =
        begin_life(&s, BLOCKS, .max = 5, .breaker_failures = 1, .open_timeout_ns = CEN_OFF, .breaker_wait_ns = CEN_OFF);
    taker one, two;
    begin_take(&one, pool, CEN_NEVER);
    expect_cause(&one);
    pass(look(pool).next_open_ns);
    expect_equal(look(pool).breaker, CEN_BREAKER_HALF_OPEN);
    pass(100 * SECOND);
    expect_equal(s.of[CALL_OPEN].calls, 1); /* nobody wants anything: nobody is asked */
    s.of[CALL_OPEN].hang_from = 2, s.of[CALL_OPEN].hang_to = 2;
    begin_take(&one, pool, CEN_NEVER);
    expect_waiting(&one);
    expect_equal(s.of[CALL_OPEN].in_flight, 1);
    begin_take(&two, pool, CEN_NEVER);
    expect_cause(&two);
    let_all_go(&s, CALL_OPEN);
    expect_cause(&one);
    expect_equal(look(pool).breaker, CEN_BREAKER_OPEN);
    pass(look(pool).next_open_ns);
    recover(&s, CALL_OPEN);
    begin_take(&one, pool, CEN_NEVER);
    expect_taken(&one, 1);
    cen_pool_stats n = look(pool);
    expect(n.breaker == CEN_BREAKER_CLOSED && n.open_failures == 0 && n.open_failed == 2);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* guarantees: life.L11, life-bugs.G */
TEST(G_after_an_outage_a_server_sees_1_2_4_openings_at_a_time_and_not_all)
{
    s = (script){.of[CALL_OPEN] = {.fail_from = 1, .fail_to = 1, .hang_from = 2, .hang_to = 99}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 12, .max_concurrent_opens = 12, .breaker_failures = CEN_OFF,
                                .open_timeout_ns = CEN_OFF, .max_barging_ns = CEN_NONE);
    taker takers[12];
    begin_take(&takers[0], pool, CEN_NEVER);
    for (int i = 1; i < 12; i++) begin_take(&takers[i], pool, CEN_NEVER);
    expect_equal(s.of[CALL_OPEN].calls, 1);
    pass(SECOND);
    static const unsigned at_a_time[] = {1, 2, 4, 8};
    for (unsigned i = 0; i < 4; i++) {
        expect_equal(s.of[CALL_OPEN].in_flight, at_a_time[i]);
        let_go(&s, CALL_OPEN, 2 + i);
    }
    let_all_go(&s, CALL_OPEN);
    for (int i = 0; i < 12; i++) expect_answer(&takers[i], CEN_OK);
    for (int i = 0; i < 12; i++) give_back(&takers[i].lease);
    end_life(&s, pool);
}

/* ---- Hope while the breaker is open --------------------------------------------------------- */

static void hope_for(cen_pool *pool, int64_t ns)
{
    cen_pool_options o = CEN_SIZED(cen_pool_options);
    expect_equal(cen_pool_options_get(pool, &o), CEN_OK);
    o.breaker_wait_ns = ns;
    expect_equal(cen_pool_options_set(pool, &o, NULL), CEN_OK);
}

/* The gate is shut for `next` from now on. A take whose deadline comes before that try fails at once; all others wait for it,
 * until the breaker has been open for breaker_wait_ns. */
/* guarantees: life.L11-breaker */
TEST(L11_while_the_breaker_is_open_a_take_waits_if_a_try_comes_in_its_time_and_is_told_at_once_if_none_does)
{
    enum { AT_ONCE, IN_VAIN, SERVED };
    static const struct {
        int64_t wait, deadline; /* more than the time to the next try, or less */
        int fate;
    } cases[] = {
        {1, 1, SERVED},        {0, 1, SERVED},    {SECOND, SECOND, SERVED}, {1, 0, AT_ONCE},
        {SECOND, -1, AT_ONCE}, {-1, -1, AT_ONCE}, {-1, 1, IN_VAIN},         {-1, SECOND, IN_VAIN},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        fail_opens();
        cen_pool *pool =
            begin_life(&s, BLOCKS, .max = 2, .breaker_failures = 1, .breaker_wait_ns = CEN_OFF,
                       .idle_timeout_ns = CEN_OFF, .backoff_initial_ns = 900 * MS, .backoff_max_ns = 900 * MS);
        taker one;
        expect_take_fails(pool, CEN_NEVER);
        int64_t next = look(pool).next_open_ns;
        hope_for(pool, next + cases[i].wait);
        begin_take(&one, pool, cen_in_ns(next + cases[i].deadline));
        if (cases[i].fate == AT_ONCE) {
            expect_cause(&one);
            expect_equal(one.error.cause, CEN_CAUSE_BREAKER_OPEN);
            expect_equal(s.of[CALL_OPEN].calls, 1);
            end_life(&s, pool);
            continue;
        }
        expect_waiting(&one);
        recover(&s, CALL_OPEN);
        pass(next - 2);
        expect_waiting(&one);
        pass(2);
        if (cases[i].fate == IN_VAIN) {
            expect_cause(&one);
        } else {
            expect_taken(&one, 1);
            give_back(&one.lease);
        }
        end_life(&s, pool);
    }
}

/* It waits through tries that fail, and not for longer than the breaker may be open, whatever its deadline is. */
/* guarantees: life.L11-breaker */
TEST(L11_one_who_waits_is_told_the_cause_when_the_breaker_has_been_open_for_long_and_from_then_on_takes_fail_at_once)
{
    static const cen_priority priorities[] = {CEN_PRIORITY_HIGH, CEN_PRIORITY_NORMAL, CEN_PRIORITY_LOW};
    for (unsigned i = 0; i < 5; i++) {
        fail_opens();
        cen_pool *pool = begin_life(&s, BLOCKS, .max = 2, .breaker_failures = 1, .breaker_wait_ns = 300 * MS,
                                    .backoff_initial_ns = 100 * MS, .backoff_max_ns = 100 * MS);
        taker one, two;
        expect_take_fails(pool, cen_in_ns(1)); /* it knows after the first that there is no time for another */
        int64_t began = cen_clock();
        begin_take_as(&one, pool, priorities[i % 3], CEN_NEVER);
        pass(200 * MS);
        begin_take_as(&two, pool, priorities[i % 3], CEN_NEVER);
        pass(100 * MS - 1);
        expect_waiting(&one);
        expect_waiting(&two);
        pass(1);
        expect_cause(&one);
        expect_cause(&two); /* the breaker is as old for it, though it came later */
        expect(one.returned_at == began + 300 * MS && two.returned_at == began + 300 * MS);
        expect(s.of[CALL_OPEN].calls >= 4);
        for (int later = 0; later < 20; later++) {
            pass(33 * MS);
            int64_t came = cen_clock();
            expect_take_fails(pool, CEN_NEVER);
            expect_equal(cen_clock(), came);
        }
        cen_pool_stats n = look(pool);
        expect(n.waiting == 0 && n.timed_out == 0);
        end_life(&s, pool);
    }
}

/* The server is away for 300 ms, and the takes have 2.8 s. */
static void outlive(int64_t wait, bool served)
{
    s = (script){.of[CALL_OPEN] = {.failure = CEN_SYSTEM, .code = 111, .text = "nobody listens"}};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4, .breaker_wait_ns = wait);
    cen_lease lost = take(pool);
    fail_all(&s, CALL_OPEN);
    expect_equal(cen_pool_discard(&lost), CEN_OK);
    taker takers[4];
    int64_t began = cen_clock();
    for (int i = 0; i < 4; i++) begin_take(&takers[i], pool, cen_in_ms(2800));
    pass(300 * MS);
    expect(s.of[CALL_OPEN].calls > 5);
    expect(look(pool).breaker != CEN_BREAKER_CLOSED);
    recover(&s, CALL_OPEN);
    pass(100 * MS);
    for (int i = 0; i < 4; i++) {
        if (served) expect_answer(&takers[i], CEN_OK);
        else expect_cause(&takers[i]);
        expect(takers[i].returned_at <= began + 350 * MS); /* within one back-off of the end */
        if (served) give_back(&takers[i].lease);
    }
    end_life(&s, pool);
}

/* guarantees: life.L11-breaker */
TEST(L11_a_take_with_2800_ms_is_served_after_an_outage_of_300_ms)
{
    outlive(0, true);
    outlive(CEN_WHOLE_DEADLINE, true);
    outlive(CEN_OFF, false);
}

/* guarantees: life.L11-breaker */
TEST(L11_for_the_whole_deadline_no_take_is_told_early_however_long_the_breaker_has_been_open)
{
    fail_opens();
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2, .breaker_wait_ns = CEN_WHOLE_DEADLINE);
    taker one;
    for (int i = 0; i < 20; i++) {
        int64_t began = cen_clock();
        begin_take(&one, pool, cen_in_s(10));
        pass(10 * SECOND - 1);
        expect_waiting(&one);
        pass(1);
        expect_answer(&one, CEN_TIMEOUT);
        expect_equal(one.returned_at, began + 10 * SECOND);
        expect_error(&one.error, CEN_TIMEOUT, "nobody listens");
    }
    expect_equal(look(pool).breaker != CEN_BREAKER_CLOSED, true);
    end_life(&s, pool);
}

/* The breaker has been open since 0. The last try failed after `took`; the next one hangs, from 100 ms after that on. */
static void expect_told_at(int64_t took, int64_t told)
{
    fail_opens();
    s.of[CALL_OPEN].takes_ns = took;
    s.of[CALL_OPEN].hang_from = 2, s.of[CALL_OPEN].hang_to = 2;
    cen_pool *pool =
        begin_life(&s, BLOCKS, .max = 2, .breaker_failures = 1, .breaker_wait_ns = 300 * MS, .max_concurrent_opens = 1,
                   .backoff_initial_ns = 100 * MS, .backoff_max_ns = 100 * MS, .open_timeout_ns = CEN_OFF);
    taker first, one, two, three;
    begin_take(&first, pool, cen_in_ns(took + 1));
    pass(took);
    expect_cause(&first);
    s.of[CALL_OPEN].takes_ns = 0;
    pass(100 * MS);
    begin_take(&one, pool, CEN_NEVER);
    pass(told - 150 * MS);
    begin_take(&two, pool, CEN_NEVER); /* it came later, and waits for the same */
    pass(50 * MS - 1);
    expect_waiting(&one);
    expect_waiting(&two);
    pass(1);
    expect_cause(&one);
    expect_cause(&two);
    expect_equal(look(pool).breaker, CEN_BREAKER_HALF_OPEN);
    expect_equal(s.of[CALL_OPEN].calls, 2);
    begin_take(&three, pool, CEN_NEVER);
    expect_cause(&three); /* that try does not promise anything any more */
    recover(&s, CALL_OPEN);
    let_all_go(&s, CALL_OPEN);
    begin_take(&three, pool, CEN_NEVER);
    expect_taken(&three, 1);
    give_back(&three.lease);
    end_life(&s, pool);
}

/* guarantees: life.L11-breaker */
TEST(L11_a_try_that_hangs_keeps_nobody_for_longer_than_it_may_wait_and_serves_who_comes_next)
{
    expect_told_at(300 * MS, 300 * MS);
}

/* guarantees: life.L11-breaker */
TEST(L11_a_try_that_does_not_fail_as_quickly_as_the_last_is_awaited_for_as_long_again)
{
    expect_told_at(0, 400 * MS);
}

/* One try hangs for ever: with another opener left, the takes that come later are tried for, and the server's return is noticed. */
/* guarantees: life.L11-breaker */
TEST(L11_a_try_that_hangs_for_ever_does_not_keep_later_takes_from_being_tried_for)
{
    fail_opens();
    s.of[CALL_OPEN].hang_from = s.of[CALL_OPEN].hang_to = 2;
    cen_pool *pool =
        begin_life(&s, BLOCKS, .max = 4, .breaker_failures = 1, .breaker_wait_ns = 300 * MS, .max_concurrent_opens = 2,
                   .backoff_initial_ns = 10 * MS, .backoff_max_ns = 10 * MS, .open_timeout_ns = SECOND);
    taker one;
    for (int i = 0; i < 2; i++) {
        begin_take(&one, pool, CEN_NEVER);
        pass(2 * SECOND);
        expect_cause(&one);
    }
    expect(look(pool).opening == 1 && look(pool).breaker == CEN_BREAKER_HALF_OPEN);
    begin_take(&one, pool, CEN_NEVER);
    pass(20 * MS);
    expect_cause(&one);
    unsigned tried = s.of[CALL_OPEN].calls;
    expect(tried >= 3);
    recover(&s, CALL_OPEN);
    begin_take(&one, pool, CEN_NEVER);
    expect_taken(&one, 1);
    give_back(&one.lease);
    let_all_go(&s, CALL_OPEN);
    end_life(&s, pool);
}

/* guarantees: life.L11-breaker */
TEST(a_pool_that_is_paused_while_the_breaker_is_open_tells_those_who_wait_when_it_goes_on)
{
    fail_opens();
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2, .breaker_failures = 1, .breaker_wait_ns = 300 * MS);
    taker first, one;
    begin_take(&first, pool, cen_in_ns(1));
    expect_cause(&first);
    begin_take(&one, pool, CEN_NEVER);
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    pass(10 * SECOND);
    expect_waiting(&one);
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
    pass(SECOND);
    expect_cause(&one);
    end_life(&s, pool);
}

/* ---- A server that is silent ------------------------------------------------------------------ */

/* The longest time between the beginnings of twenty tries. */
static int64_t longest_gap(void)
{
    unsigned before = s.of[CALL_OPEN].calls;
    int64_t longest = 0, last = cen_clock();
    while (s.of[CALL_OPEN].calls < before + 20) {
        unsigned seen = s.of[CALL_OPEN].calls;
        pass(MS);
        if (s.of[CALL_OPEN].calls == seen) continue;
        if (cen_clock() - last > longest) longest = cen_clock() - last;
        last = cen_clock();
    }
    return longest;
}

/* Each try takes a second to be given up. They are spread over that second, so that its end is noticed after a part of it. */
static void expect_spread(uint32_t max_concurrent_opens)
{
    fail_opens();
    s.of[CALL_OPEN].takes_ns = SECOND;
    cen_pool *pool =
        begin_life(&s, BLOCKS, .max = 6, .max_concurrent_opens = max_concurrent_opens, .breaker_failures = 1,
                   .backoff_initial_ns = 10 * MS, .backoff_max_ns = 10 * MS, .breaker_wait_ns = CEN_WHOLE_DEADLINE);
    taker takers[6];
    for (int i = 0; i < 6; i++) begin_take(&takers[i], pool, CEN_NEVER);
    pass(20 * SECOND);
    expect(longest_gap() <= SECOND / max_concurrent_opens + 50 * MS);
    expect_equal(s.of[CALL_OPEN].most, max_concurrent_opens);
    expect(look(pool).breaker != CEN_BREAKER_CLOSED);
    recover(&s, CALL_OPEN);
    pass(10 * SECOND);
    expect_equal(s.of[CALL_OPEN].most, max_concurrent_opens);
    cen_pool_stats n = look(pool);
    expect(n.breaker == CEN_BREAKER_CLOSED && n.open_failures == 0);
    for (int i = 0; i < 6; i++) expect_answer(&takers[i], CEN_OK);
    for (int i = 0; i < 6; i++) give_back(&takers[i].lease);
    end_life(&s, pool);
}

/* guarantees: life.L11-hanging */
TEST(L11_tries_that_hang_are_spread_evenly_and_at_most_openers_go_on_at_a_time)
{
    expect_spread(2);
}

/* guarantees: life.L11-hanging */
TEST(L11_more_openers_try_a_silent_server_more_often)
{
    expect_spread(4);
}

/* The second try hangs; the third, beside it, succeeds: that the second fails then says nothing about now. */
/* guarantees: life.L11-hanging */
TEST(L11_a_try_of_the_outage_that_fails_after_its_end_is_in_nobodys_way)
{
    fail_opens();
    s.of[CALL_OPEN].fail_to = 2;
    s.of[CALL_OPEN].takes_ns = SECOND;
    s.of[CALL_OPEN].hang_from = s.of[CALL_OPEN].hang_to = 2;
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 6, .max_concurrent_opens = 2, .breaker_failures = 1,
                                .backoff_initial_ns = 10 * MS, .backoff_max_ns = 10 * MS,
                                .breaker_wait_ns = CEN_WHOLE_DEADLINE, .open_timeout_ns = CEN_OFF);
    taker takers[4];
    for (int i = 0; i < 2; i++) begin_take(&takers[i], pool, i == 0 ? CEN_NEVER : cen_in_ns(1));
    expect_equal(s.of[CALL_OPEN].calls, 2);
    pass(1); /* the second who came does not wait */
    expect_answer(&takers[1], CEN_TIMEOUT);
    pass(SECOND + 10 * MS);
    expect_equal(s.of[CALL_OPEN].in_flight, 2); /* the one that hangs, and the next */
    pass(SECOND);
    expect_taken(&takers[0], 1);
    for (int i = 2; i < 4; i++) begin_take(&takers[i], pool, CEN_NEVER);
    pass(SECOND / 2);
    let_all_go(&s, CALL_OPEN);
    cen_pool_stats n = look(pool);
    expect(n.open_failed == 2 && n.open_failures == 0 && n.breaker == CEN_BREAKER_CLOSED && n.next_open_ns == 0);
    pass(SECOND / 2);
    expect_taken(&takers[2], 2);
    pass(SECOND / 2);
    expect_taken(&takers[3], 3);
    for (int i = 0; i < 4; i++)
        if (i != 1) give_back(&takers[i].lease);
    end_life(&s, pool);
}

/* ---- Drivers that do not block ------------------------------------------------------------------- */

/* guarantees: life.L11 */
TEST(an_inline_driver_has_no_back_off_unless_it_is_asked_for)
{
    fail_opens();
    cen_pool *pool = begin_life(&s, 0, .max = 1);
    cen_lease lease;
    for (unsigned i = 1; i <= 20; i++) {
        expect_equal(cen_pool_take(pool, cen_in_s(1), &lease, NULL), CEN_SYSTEM);
        expect_equal(s.of[CALL_OPEN].calls, i);
    }
    expect_equal(look(pool).breaker, CEN_BREAKER_CLOSED);
    end_life(&s, pool);
}

/* guarantees: life.L11 */
TEST(with_back_off_an_inline_driver_is_asked_by_a_waiting_take_when_the_time_has_come)
{
    fail_opens();
    cen_pool *pool = begin_life(&s, 0, .max = 1, .backoff_initial_ns = SECOND);
    cen_lease lease;
    expect_equal(cen_pool_take(pool, cen_in_s(9), &lease, NULL), CEN_SYSTEM);
    recover(&s, CALL_OPEN);
    int64_t next = look(pool).next_open_ns;
    expect(next > 0 && next <= SECOND);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    if (next > 1) pass(next - 1);
    expect_waiting(&one);
    pass(1);
    expect_taken(&one, 1);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* The gate admits one; when that has succeeded it admits more, and those who wait must hear of it. */
/* guarantees: life.L3, life-bugs.A-B */
TEST(L3_after_the_first_success_of_an_inline_driver_those_who_wait_open_too)
{
    s = (script){.of[CALL_OPEN] = {.fail_from = 1, .fail_to = 1, .hang_from = 2, .hang_to = 2}};
    cen_pool *pool = begin_life(&s, 0, .max = 4, .backoff_initial_ns = SECOND);
    taker takers[3];
    begin_take(&takers[0], pool, CEN_NEVER);
    expect_answer(&takers[0], CEN_DRIVER);
    pass(SECOND);
    for (int i = 0; i < 3; i++) begin_take(&takers[i], pool, CEN_NEVER);
    expect_equal(s.of[CALL_OPEN].in_flight, 1);
    let_all_go(&s, CALL_OPEN);
    for (int i = 0; i < 3; i++) expect_answer(&takers[i], CEN_OK);
    for (int i = 0; i < 3; i++) give_back(&takers[i].lease);
    end_life(&s, pool);
}
