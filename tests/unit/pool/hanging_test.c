/* SPDX-License-Identifier: MIT */
/*
 * A driver whose open and test never end holds up nobody (L9): while they hang,
 * each call that a program can make returns although no time passes, and its
 * thread does not sleep. The program is linked so that every sleep is seen.
 */
#include "unit/pool/clerks.h"

ceni_woken __real_ceni_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t moment);
ceni_woken __wrap_ceni_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t moment);

static uint64_t watched; /* the number of the thread that must not sleep; 0: none */

ceni_woken __wrap_ceni_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t moment)
{
    if (watched && cen_thread_number() == watched && moment > cen_clock()) test_fail(__FILE__, __LINE__, "it sleeps");
    return __real_ceni_futex_wait(word, expected, moment);
}

static int64_t began;
static unsigned calls;

static void begin_call(void)
{
    began = cen_clock();
    watched = cen_thread_number();
    calls++;
}

static void end_call(void)
{
    watched = 0;
    expect_equal(cen_clock(), began);
}

/* The call returns at once, and answers so. */
#define at_once(call, answer) \
    do { \
        begin_call(); \
        long long answer_ = (long long)(call); \
        end_call(); \
        expect_equal(answer_, (long long)(answer)); \
    } while (0)

static bool visit_all(void *unused, const cen_object_view *holding)
{
    (void)unused, (void)holding;
    return true;
}

static void hear(void *unused, const cen_event *event, uint64_t missed)
{
    (void)missed;
    (void)unused, (void)event;
}

/* One object is out, one hangs in its test, one in its opening; `held` is the first's lease. */
static void call_everything(cen_pool *pool, cen_runtime *runtime, cen_lease held)
{
    cen_lease lease;
    cen_scope scope;
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    cen_pool_options options = CEN_SIZED(cen_pool_options);
    cen_object_view holdings[8];
    size_t count;
    uint32_t reaped;
    char text[2000];
    cen_pool_stats n = look(pool);
    expect(n.held == 1 && n.testing == 1 && n.opening == 1);
    at_once(cen_pool_take(pool, CEN_NOW, &lease, NULL), CEN_TIMEOUT);
    at_once(cen_pool_try_take(pool, &lease, NULL), CEN_EMPTY);
    at_once(cen_pool_enter(pool, CEN_NOW, &scope, NULL), CEN_TIMEOUT);
    at_once(cen_pool_give(&held), CEN_OK);
    at_once(cen_pool_try_take(pool, &lease, NULL), CEN_OK);
    at_once(cen_pool_detach(&lease), CEN_OK);
    at_once(cen_pool_interrupt(pool, 12345), false);
    at_once(cen_pool_stats_get(pool, &stats), CEN_OK);
    at_once(cen_pool_explain(pool, text, sizeof text) > 0, true);
    at_once(cen_pool_holders(pool, holdings, 8, &count), CEN_OK);
    at_once(cen_pool_each(pool, visit_all, NULL), CEN_OK);
    at_once(cen_pool_listen(pool, hear, NULL, NULL), CEN_OK);
    at_once(cen_pool_listen(pool, NULL, NULL, NULL), CEN_OK);
    at_once(cen_pool_options_get(pool, &options), CEN_OK);
    options.max_concurrent_tests = 3;
    at_once(cen_pool_options_set(pool, &options, NULL), CEN_OK);
    at_once(cen_pool_test_idle(pool, NULL), CEN_OK);
    at_once(cen_pool_reload(pool, 0, NULL), CEN_OK);
    at_once(cen_pool_reload(pool, SECOND, NULL), CEN_OK);
    at_once(cen_pool_reap(pool, 0, &reaped, NULL), CEN_OK);
    at_once(cen_pool_resize(pool, 1, NULL), CEN_OK);
    at_once(cen_pool_resize(pool, 9, NULL), CEN_OK);
    at_once(cen_pool_pause(pool, NULL), CEN_OK);
    at_once(cen_pool_resume(pool, NULL), CEN_OK);
    at_once(cen_pool_adopt(pool, object_of(50), NULL), CEN_OK);
    at_once(cen_runtime_poll(runtime) != -2, true);
    at_once(cen_pool_discard(&lease), CEN_OK);
    at_once(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    at_once(cen_pool_free(pool), CEN_OK);
    expect(calls >= 28);
}

static clerk c;

static void hang_later(bool alone)
{
    c = (clerk){.at_once = AT_ONCE_OPEN};
    cen_runtime *runtime = alone ? make_runtime(.manual = true) : make_runtime(.idle_timeout_ns = CEN_OFF);
    cen_pool *pool = begin_clerk(&c, TESTS_TOO, .max = 4, .runtime = runtime, .min_idle = 2);
    cen_runtime_poll(runtime);
    ceni_world_settle();
    cen_lease held = take_now(pool);
    c.at_once = 0;
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    cen_runtime_poll(runtime);
    ceni_world_settle(); /* of two that should be idle one is out: another is opened */
    if (look(pool).opening == 0) expect_none(pool);
    cen_runtime_poll(runtime);
    c.open[50] = true; /* what is adopted */
    call_everything(pool, runtime, held);
    cen_runtime_poll(runtime);
    ceni_world_settle();
    finish_all(&c);
    cen_runtime_poll(runtime);
    ceni_world_settle();
    expect_equal(c.closes[50], 1);
    expect_all_ended(&c);
}

/* guarantees: async.L9, later.L9 */
TEST(L9_no_call_waits_for_an_open_or_a_test_that_are_never_done)
{
    hang_later(false);
}

/* guarantees: async.L9, later.L9 */
TEST(L9_no_call_waits_for_an_open_or_a_test_that_are_never_done_where_there_are_no_threads)
{
    hang_later(true);
}

/* guarantees: async.L9, later.L9 */
TEST(L9_no_call_waits_for_an_open_or_a_test_that_block_for_ever)
{
    static script s;
    s = (script){.of[CALL_OPEN] = {.hang_from = 3, .hang_to = UINT32_MAX},
                 .of[CALL_TEST] = {.hang_from = 1, .hang_to = UINT32_MAX}};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_TEST, .max = 4);
    cen_lease one = take(pool), two = take(pool);
    give_back(&two);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    ceni_world_settle();
    expect_none(pool);
    s.things[50] = (thing){.open = true}; /* what is adopted */
    call_everything(pool, s.runtime, one);
    for (int kind = 0; kind < CALL_KINDS; kind++) let_all_go(&s, (call_kind)kind);
    expect(s.finis == 1 && s.things[50].closes == 1);
    for (int i = 1; i <= s.opened; i++) expect_equal(s.things[i].closes, 1);
    free_runtime(s.runtime);
}
