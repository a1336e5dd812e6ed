/* SPDX-License-Identifier: MIT */
/* Options: defaults, what is refused and under which name, and changes while the pool is in use (L16). */
#include <cenote/pool_async.h>

#include "unit/pool/ledger.h"
#include "unit/pool/scripted.h"

static script s;

static cen_pool_options get(cen_pool *pool)
{
    cen_pool_options o = CEN_SIZED(cen_pool_options);
    memset(&o, 0x6B, sizeof o);
    o.size = sizeof o;
    expect_equal(cen_pool_options_get(pool, &o), CEN_OK);
    expect_equal(o.size, sizeof o);
    return o;
}

static void set(cen_pool *pool, const cen_pool_options *o)
{
    cen_error error;
    if (cen_pool_options_set(pool, o, &error) != CEN_OK) test_fail(__FILE__, __LINE__, "%s", error.text);
}

/* guarantees: life-api.options */
TEST(every_option_has_the_default_that_the_header_says)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, blocks, .name = NULL);
        cen_pool_options o = get(pool);
        expect_text(o.name, "pool");
        expect(o.max == 10 && !o.eager && o.order == CEN_ORDER_WARM && o.max_barging_ns == MS && !o.exact_times);
        expect(o.default_deadline.ns_ == cen_in_s(30).ns_ && o.allocator == NULL && o.on_fork == CEN_FORK_REFUSE);
        expect(o.max_concurrent_opens == 2 && o.open_timeout_ns == 10 * SECOND && o.breaker_failures == 5);
        expect_equal(o.breaker_wait_ns, 5 * SECOND);
        expect_equal(o.backoff_initial_ns, blocks ? 50 * MS : CEN_OFF);
        expect_equal(o.backoff_max_ns, 2 * SECOND);
        expect(o.min_idle == 0 && o.max_idle == CEN_OFF && o.lifetime_jitter == 10 && o.max_uses == CEN_OFF);
        expect_equal(o.idle_timeout_ns, blocks ? 600 * SECOND : CEN_OFF);
        expect_equal(o.max_lifetime_ns, blocks ? 1800 * SECOND : CEN_OFF);
        expect(o.test_after_idle_ns == SECOND && o.test_interval_ns == 30 * SECOND && o.test_timeout_ns == 5 * SECOND &&
               o.max_concurrent_tests == 2);
        expect(o.leak_after_ns == CEN_OFF && o.on_leak == CEN_LEAK_REPORT && o.max_hold_ns == CEN_OFF);
        expect(o.on_holder_end == CEN_HOLDER_END_ORPHAN && o.on_max_hold == CEN_HOLD_REVOKE &&
               o.max_waiters == CEN_OFF && o.on_self_wait == CEN_SELF_WAIT_REPORT);
        expect(!o.backtraces);
        set(pool, &o); /* what was got can be set */
        cen_pool_options again = get(pool);
        expect(memcmp(&o, &again, sizeof o) == 0);
        end_life(&s, pool);
    }
}

/* guarantees: life-api.options */
TEST(a_take_without_a_deadline_waits_thirty_seconds_or_as_long_as_patience_says)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 1);
    cen_lease held = take(pool);
    for (int i = 0; i < 2; i++) {
        taker one;
        begin_take(&one, pool, ZERO);
        pass((i ? 7 : 30) * SECOND - 1);
        expect_waiting(&one);
        pass(1);
        expect_answer(&one, CEN_TIMEOUT);
        cen_pool_options o = get(pool);
        o.default_deadline = cen_in_s(7);
        set(pool, &o);
    }
    give_back(&held);
    end_life(&s, pool);
}

/* guarantees: life-api.options */
TEST(when_only_the_larger_back_off_is_given_the_smaller_has_its_default_and_the_other_way_round)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, 0, .max = 1, .backoff_max_ns = SECOND);
    expect_equal(get(pool).backoff_initial_ns, 50 * MS);
    end_life(&s, pool);
    s = (script){.opened = 0};
    pool = begin_life(&s, 0, .max = 1, .backoff_initial_ns = 60 * SECOND);
    expect_equal(get(pool).backoff_max_ns, 60 * SECOND);
    end_life(&s, pool);
}

/* guarantees: life.L16 */
TEST(with_every_limit_off_nothing_is_closed_tested_reported_or_refused_for_a_day)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_TEST, .max = 4, .max_barging_ns = CEN_NONE, .open_timeout_ns = CEN_OFF,
                                .backoff_initial_ns = CEN_OFF, .breaker_failures = CEN_OFF, .max_idle = CEN_OFF,
                                .idle_timeout_ns = CEN_OFF, .max_lifetime_ns = CEN_OFF,
                                .lifetime_jitter = CEN_NO_JITTER, .max_uses = CEN_OFF, .test_after_idle_ns = CEN_OFF,
                                .test_interval_ns = CEN_OFF, .test_timeout_ns = CEN_OFF, .leak_after_ns = CEN_OFF,
                                .max_hold_ns = CEN_OFF, .max_waiters = CEN_OFF);
    cen_lease held = take(pool);
    warm_up(pool, 3);
    pass(86400 * SECOND);
    cen_pool_stats n = look(pool);
    expect(n.idle == 3 && n.held == 1 && n.closed == 0 && n.tested == 0 && n.leaked == 0 && n.expired == 0 &&
           n.refused == 0);
    expect_equal(look_at(s.runtime).timers, 0); /* and the keeper has nothing to come for */
    give_back(&held);
    end_life(&s, pool);
}

/* ---- None ---------------------------------------------------------------------------------------- */

/* Where a helper opens, the take that was refused has an object opened for the next one. */
TEST(with_max_waiters_none_no_take_and_no_ask_waits)
{
    for (unsigned blocks = 0; blocks <= BLOCKS; blocks++) {
        s = (script){.opened = 0};
        cen_pool *pool = begin_life(&s, blocks, .max = 1, .max_waiters = CEN_NONE);
        cen_lease held, refused;
        cen_error error;
        if (blocks) expect_equal(cen_pool_take(pool, cen_in_s(60), &held, &error), CEN_FULL);
        ceni_world_settle();
        held = take(pool);
        expect_equal(cen_pool_take(pool, cen_in_s(60), &refused, &error), CEN_FULL);
        expect(error.cause == CEN_CAUSE_QUEUE_FULL && error.current == 0 && error.max == 0);
        cen_take_op ask;
        cen_take_op_init(&ask, NULL, NULL);
        expect_equal(cen_pool_take_async(pool, CEN_NEVER, &ask), CEN_OK);
        expect(cen_future_is_done(&ask.future) && ask.future.status == CEN_FULL && ask.cause == CEN_CAUSE_QUEUE_FULL);
        expect_equal(look(pool).waited, 0);
        expect_equal(get(pool).max_waiters, CEN_NONE);
        give_back(&held);
        end_life(&s, pool);
    }
}

TEST(with_max_idle_none_what_is_given_back_is_closed_by_the_next_round)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 4, .max_idle = CEN_NONE);
    warm_up(pool, 3);
    pass(60 * SECOND);
    expect(look(pool).idle == 0 && look(pool).closed == 3);
    cen_pool_options o = get(pool);
    o.min_idle = 1;
    cen_error error;
    expect_equal(cen_pool_options_set(pool, &o, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "options.min_idle must not exceed max_idle (got 1)");
    end_life(&s, pool);
}

/* ---- Refused ------------------------------------------------------------------------------------ */

typedef struct bad {
    const char *field;
    size_t offset;
    int width;
    int64_t value;
} bad;

#define BAD(field, value) \
    { \
#field, offsetof(cen_pool_options, field), sizeof(((cen_pool_options *)0)->field), value \
    }

static const bad bads[] = {
    BAD(max, CEN_POOL_MAX + 1),
    BAD(order, 3),
    BAD(order, -1),
    BAD(max_barging_ns, -3),
    BAD(max_barging_ns, CEN_OFF),
    BAD(on_fork, 2),
    BAD(max_concurrent_opens, 65),
    BAD(open_timeout_ns, -2),
    BAD(backoff_initial_ns, -2),
    BAD(backoff_max_ns, -2),
    BAD(backoff_max_ns, CEN_OFF),
    BAD(breaker_failures, -2),
    BAD(min_idle, 11),
    BAD(max_idle, -3),
    BAD(idle_timeout_ns, -2),
    BAD(max_lifetime_ns, -2),
    BAD(lifetime_jitter, 102),
    BAD(max_uses, -2),
    BAD(test_after_idle_ns, -2),
    BAD(test_interval_ns, -2),
    BAD(test_timeout_ns, -2),
    BAD(max_concurrent_tests, 65),
    BAD(leak_after_ns, INT64_MIN),
    BAD(on_leak, 2),
    BAD(max_hold_ns, -2),
    BAD(on_holder_end, 4),
    BAD(on_max_hold, 2),
    BAD(max_waiters, -3),
    BAD(on_self_wait, 2),
};

static cen_pool_options with(cen_pool_options o, const bad *b)
{
    int32_t narrow = (int32_t)b->value;
    memcpy((char *)&o + b->offset, b->width == 8 ? (const void *)&b->value : (const void *)&narrow, (size_t)b->width);
    return o;
}

static void expect_names(cen_pool_options o, const char *field, const char *name)
{
    cen_pool *pool = NULL;
    cen_error error = {.status = CEN_OK};
    expect_equal(cen_pool_new(&o, &pool, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, field);
    expect_error(&error, CEN_INVALID, name);
}

TEST(off_where_a_limit_is_needed_and_none_where_some_is_needed_are_refused_and_the_text_names_the_other)
{
    expect_names(CEN_POOL_OPTIONS(.max_barging_ns = CEN_OFF), "options.max_barging_ns must not be CEN_OFF; ",
                 "CEN_NONE");
    expect_names(CEN_POOL_OPTIONS(.leak_after_ns = CEN_NONE), "options.leak_after_ns must not be CEN_NONE; ",
                 "CEN_OFF");
    expect_names(CEN_POOL_OPTIONS(.max_uses = CEN_NONE), "options.max_uses must not be CEN_NONE; ", "CEN_OFF");
    expect_names(CEN_POOL_OPTIONS(.breaker_failures = CEN_NONE), "options.breaker_failures must not be CEN_NONE; ",
                 "CEN_OFF");
}

TEST(a_tiny_time_in_an_option_of_seconds_is_refused_with_its_unit_and_options_of_short_times_take_any)
{
    static const size_t long_ones[] = {
        offsetof(cen_pool_options, open_timeout_ns),  offsetof(cen_pool_options, idle_timeout_ns),
        offsetof(cen_pool_options, max_lifetime_ns),  offsetof(cen_pool_options, test_after_idle_ns),
        offsetof(cen_pool_options, test_interval_ns), offsetof(cen_pool_options, test_timeout_ns),
        offsetof(cen_pool_options, leak_after_ns),    offsetof(cen_pool_options, max_hold_ns)};
    for (size_t i = 0; i < sizeof long_ones / sizeof long_ones[0]; i++) {
        for (int k = 0; k < 3; k++) {
            const int64_t times[] = {1, 99999, 100000};
            cen_pool_options o = CEN_POOL_OPTIONS(.max = 1);
            memcpy((char *)&o + long_ones[i], &times[k], sizeof times[k]);
            cen_pool *pool = NULL;
            cen_error error;
            expect_equal(cen_pool_new(&o, &pool, &error), k < 2 ? CEN_INVALID : CEN_OK);
            if (k < 2) expect_error(&error, CEN_INVALID, k ? " (got 99999 ns); " : " (got 1 ns); ");
            else expect_equal(cen_pool_free(pool), CEN_OK);
        }
    }
    expect_names(CEN_POOL_OPTIONS(.leak_after_ns = 30), "options.leak_after_ns must be at least 100,000 ns (got 30 ns)",
                 "CEN_SECONDS(n)");
    cen_pool *pool = NULL;
    cen_pool_options o = CEN_POOL_OPTIONS(.backoff_initial_ns = 1, .backoff_max_ns = 2, .max_barging_ns = 1,
                                          .aging_ns = 1, .shed_target_ns = 1, .shed_interval_ns = 1, .max_uses = 1);
    expect_equal(cen_pool_new(&o, &pool, NULL), CEN_OK);
    expect_equal(cen_pool_free(pool), CEN_OK);
}

/* guarantees: life-api.options */
TEST(each_value_that_is_not_allowed_is_refused_by_the_fields_name_and_changes_nothing)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_TEST, .max = 10), *other = NULL;
    cen_pool_options before = get(pool);
    for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
        cen_pool_options o = with(before, &bads[i]);
        char words[60];
        snprintf(words, sizeof words, "options.%s must ", bads[i].field);
        cen_error error = {.status = CEN_OK};
        expect_equal(cen_pool_options_set(pool, &o, &error), CEN_INVALID);
        expect_error(&error, CEN_INVALID, words);
        expect_equal(cen_pool_new(&o, &other, &error), CEN_INVALID);
        expect_error(&error, CEN_INVALID, words);
        expect(!other);
        cen_pool_options after = get(pool);
        expect(memcmp(&before, &after, sizeof before) == 0);
    }
    end_life(&s, pool);
}

/* guarantees: life-api.options */
TEST(values_that_contradict_one_another_are_refused)
{
    static const struct {
        cen_pool_options o;
        const char *words;
    } pairs[] = {
        {{.backoff_initial_ns = 2 * SECOND, .backoff_max_ns = SECOND}, "backoff_initial_ns"},
        {{.min_idle = 3, .max_idle = 2}, "min_idle"},
        {{.min_idle = 3, .max = 2}, "min_idle"},
    };
    s = (script){.opened = 0};
    for (int i = 0; i < 3; i++) {
        cen_pool_options o = pairs[i].o;
        o.size = sizeof o;
        o.driver = scripted_driver(&s, 0);
        cen_pool *pool = NULL;
        cen_error error;
        expect_equal(cen_pool_new(&o, &pool, &error), CEN_INVALID);
        expect_error(&error, CEN_INVALID, pairs[i].words);
    }
    cen_pool_options o = CEN_POOL_OPTIONS(.min_idle = 1);
    cen_pool *pool = NULL;
    cen_error error;
    expect_equal(cen_pool_new(&o, &pool, &error), CEN_INVALID); /* without a driver nothing can be opened */
    expect_error(&error, CEN_INVALID, "min_idle");
}

/* guarantees: life.L16 */
TEST(what_is_fixed_is_refused_by_its_name_if_it_differs)
{
    static const char *const names[] = {"driver", "driver", "runtime", "allocator", "on_fork", "backtraces", "name"};
    ledger book = {.bytes = 0};
    cen_allocator allocator = allocator_of(&book);
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, 0, .max = 2);
    for (int i = 0; i < 7; i++) {
        cen_pool_options o = get(pool);
        if (i == 0) o.driver = driver_of(NULL);
        if (i == 1) o.driver.argument = &o;
        if (i == 2) o.runtime = NULL;
        if (i == 3) o.allocator = &allocator;
        if (i == 4) o.on_fork = CEN_FORK_RENEW;
        if (i == 5) o.backtraces = true;
        if (i == 6) o.name = "another";
        o.max = 5;
        cen_error error;
        expect_equal(cen_pool_options_set(pool, &o, &error), CEN_INVALID);
        expect_error(&error, CEN_INVALID, names[i]);
        expect_error(&error, CEN_INVALID, " cannot be changed");
        expect_equal(cen_pool_max(pool), 2);
    }
    end_life(&s, pool);
}

/* guarantees: life-api.options */
TEST(programs_that_know_fewer_fields_are_served_and_the_rest_has_its_defaults)
{
    s = (script){.opened = 0};
    cen_runtime *runtime = make_runtime(.manual = true);
    cen_pool_options o = CEN_POOL_OPTIONS(.max = 3, .runtime = runtime, .max_uses = 77, .leak_after_ns = -55);
    o.driver = scripted_driver(&s, HAS_CHECK | HAS_TEST);
    o.size = offsetof(cen_pool_options, max_uses);
    s.calls.size = offsetof(cen_driver_calls, check); /* a driver that never heard of check */
    s.own_runtime = true;
    cen_pool *pool = make_from(o);
    cen_pool_options filled = get(pool);
    expect(filled.max_uses == CEN_OFF && filled.leak_after_ns == CEN_OFF && filled.max == 3);
    cen_lease lease = take(pool);
    give_back(&lease);
    expect(s.of[CALL_OPEN].calls == 1 && s.of[CALL_CHECK].calls == 0);
    end_life(&s, pool);
    free_runtime(runtime);
}

/* ---- Changed ------------------------------------------------------------------------------------------ */

/* guarantees: life.L16 */
TEST(L16_tighter_limits_take_hold_at_once_and_nothing_in_use_is_taken_away)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 8);
    cen_lease a = take(pool), b = take(pool);
    warm_up(pool, 4);
    cen_pool_options o = get(pool);
    o.max_idle = 1;
    o.max = 5;
    set(pool, &o);
    pass(1);
    cen_pool_stats n = look(pool);
    expect(n.idle == 1 && n.held == 2 && n.max == 5);
    o = get(pool);
    o.max_uses = 1;
    o.exact_times = true;
    o.max_waiters = 1;
    set(pool, &o);
    give_back(&a);
    give_back(&b);
    expect(look(pool).held == 0);
    expect(s.things[1].closes == 1 && s.things[2].closes == 1); /* used once each */
    end_life(&s, pool);
}

static cen_pool *watched;
static unsigned halves, seen;

static void look_at_options(workshop *unused, char what, void *object)
{
    (void)unused;
    (void)object;
    if (what != '-') return;
    cen_pool_options o = get(watched);
    seen++;
    halves += (o.max == 1) != (o.max_uses == 5);
}

/* The driver is called while objects become too many: whoever looks then sees all that was set, or nothing. */
/* guarantees: life.L16 */
TEST(L16_nobody_sees_half_of_what_is_set)
{
    workshop shop = {.opens = 0};
    watched = make_pool(.max = 4, .driver = driver_of(&shop));
    warm_up(watched, 4);
    shop.inside = look_at_options;
    cen_pool_options o = get(watched);
    o.max = 1;
    o.max_uses = 5;
    halves = seen = 0;
    set(watched, &o);
    expect_equal(seen, 3);
    expect_equal(halves, 0);
    shop.inside = NULL;
    free_pool(watched);
}

/* guarantees: life.L16 */
TEST(L16_an_inline_pool_that_needed_no_runtime_gets_one_when_a_limit_asks_for_it)
{
    s = (script){.opened = 0};
    cen_pool_options o = CEN_POOL_OPTIONS(.max = 2);
    o.driver = scripted_driver(&s, 0);
    cen_pool *pool = make_from(o);
    warm_up(pool, 2);
    o = get(pool);
    o.idle_timeout_ns = 10 * SECOND;
    set(pool, &o);
    pass(20 * SECOND);
    expect_equal(look(pool).closed, 2);
    free_pool(pool);
    ceni_world_settle();
}

/* guarantees: life.L16 */
TEST(L16_switching_the_back_off_off_lets_those_who_wait_open_at_once)
{
    s = (script){.opened = 0};
    fail_all(&s, CALL_OPEN);
    cen_pool *pool = begin_life(&s, BLOCKS, .max = 2, .backoff_initial_ns = 600 * SECOND, .breaker_failures = CEN_OFF);
    taker one;
    begin_take(&one, pool, CEN_NEVER);
    recover(&s, CALL_OPEN);
    pass(MS);
    expect_waiting(&one);
    cen_pool_options o = get(pool);
    o.backoff_initial_ns = CEN_OFF;
    set(pool, &o);
    expect_taken(&one, 1);
    give_back(&one.lease);
    end_life(&s, pool);
}

/* guarantees: life.L16 */
TEST(a_closed_pool_and_a_missing_one_can_be_asked_for_options_but_not_set)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, 0, .max = 2);
    expect_equal(cen_pool_options_get(pool, NULL), CEN_INVALID);
    expect_equal(cen_pool_options_set(pool, NULL, NULL), CEN_INVALID);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    cen_pool_options o = get(pool);
    expect_equal(cen_pool_options_set(pool, &o, NULL), CEN_CLOSED);
    expect_equal(cen_pool_options_get(NULL, &o), CEN_INVALID);
    expect_equal(cen_pool_options_set(NULL, &o, NULL), CEN_INVALID);
    end_life(&s, pool);
}
