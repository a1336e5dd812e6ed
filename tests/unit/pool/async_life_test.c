/* SPDX-License-Identifier: MIT */
/*
 * Those who ask while the pool changes: it is paused, resized and reloaded, its
 * driver fails, the process forks, memory runs out.
 */
#include "support/faults.h"
#include "unit/pool/askers.h"
#include "unit/pool/scripted.h"

static workshop shop;
static cen_pool *pool;

static void prepare(uint32_t max)
{
    shop = (workshop){0};
    pool = make_pool(.max = max, .driver = driver_of(&shop));
}

static void finish(void)
{
    expect_sound(pool);
    free_pool(pool);
    ceni_world_settle();
}

/* ---- A pool that changes -------------------------------------------------------------------------- */

TEST(a_paused_pool_lends_nothing_to_who_asks_and_keeps_its_deadline)
{
    asker one, two, now;
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    expect_equal(cen_pool_pause(pool, NULL), CEN_OK);
    ask(&now, pool, CEN_NOW);
    expect_told(&now, CEN_TIMEOUT);
    ask(&one, pool, cen_in_ms(5));
    ask(&two, pool, CEN_NEVER);
    pass(5 * MS);
    expect_told(&one, CEN_TIMEOUT);
    expect_because(&one.error, CEN_CAUSE_PAUSED);
    expect_equal(one.take.cause, CEN_CAUSE_PAUSED);
    expect_pending(&two);
    expect_equal(cen_pool_resume(pool, NULL), CEN_OK);
    expect_lent(&two, 1);
    give_asked(&two);
    finish();
}

/* guarantees: async.L10-L12-L16 */
TEST(L16_a_larger_max_opens_for_those_who_asked_and_a_smaller_one_lets_them_wait)
{
    asker one, two, three;
    prepare(1);
    cen_lease held = take_now(pool);
    ask(&one, pool, CEN_NEVER);
    ask(&two, pool, CEN_NEVER);
    ask(&three, pool, CEN_NEVER);
    expect_equal(cen_pool_resize(pool, 3, NULL), CEN_OK);
    expect_lent(&one, 2);
    expect_lent(&two, 3);
    expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
    give_asked(&one);
    give_asked(&two);
    expect_pending(&three);
    give_back(&held);
    expect_told(&three, CEN_OK);
    give_asked(&three);
    expect_counts(pool, 1, 0);
    finish();
}

static void discard_it(void *lease)
{
    expect_equal(cen_pool_discard(lease), CEN_OK);
}

/* One waits, for whom an object is being opened, and another place is free: who asks then is not one too many. */
TEST(an_ask_is_not_refused_for_those_in_line_while_a_place_is_left)
{
    static script s;
    asker one, two;
    s = (script){.of[CALL_OPEN] = {.hang_from = 3, .hang_to = 3}};
    pool = begin_life(&s, 0, .max = 2, .max_waiters = 1);
    cen_lease first = take_now(pool), second = take_now(pool);
    ask(&one, pool, CEN_NEVER);
    ceni_thread opener = start("opener", discard_it, &first);
    ceni_world_settle();
    expect_equal(s.of[CALL_OPEN].calls, 3);
    discard_it(&second);
    ask(&two, pool, CEN_NEVER);
    expect_told(&two, CEN_OK);
    expect_pending(&one);
    let_all_go(&s, CALL_OPEN);
    ceni_thread_join(&opener);
    expect_told(&one, CEN_OK);
    give_asked(&one);
    give_asked(&two);
    end_life(&s, pool);
}

/* guarantees: async.L10-L12-L16 */
TEST(L12_after_a_reload_those_who_asked_get_a_new_object)
{
    asker one;
    prepare(1);
    cen_lease held = take_now(pool);
    ask(&one, pool, CEN_NEVER);
    expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK);
    give_back(&held);
    expect_lent(&one, 2);
    expect_log(&shop, "+1 -1 +2 ");
    give_asked(&one);
    finish();
}

/* A second thread changes the pool during an open, because the driver itself may not. */
typedef struct changer {
    void (*change)(int turn);
    int turns; /* opens, or opens and closes, during which it does so */
    bool in_close;
    uintptr_t first_frame;
    _Atomic uint32_t wanted, done;
    ceni_thread thread;
} changer;

static changer changing;

static void run_changes(void *unused)
{
    (void)unused;
    for (int turn = 1; turn <= changing.turns; turn++) {
        while (ceni_load_acquire(&changing.wanted) < (uint32_t)turn)
            ceni_futex_wait(&changing.wanted, (uint32_t)turn - 1, CENI_FOREVER);
        changing.change(turn);
        ceni_add_acq_rel(&changing.done, 1);
        ceni_futex_wake(&changing.done, 1);
    }
}

enum { MOST_STACK = 16384 }; /* of an open, below the first one */

static void change_inside(workshop *of, char what, void *object)
{
    (void)object;
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (what == '+' && !changing.first_frame) changing.first_frame = frame;
    if (what == '+') expect(changing.first_frame - frame < MOST_STACK);
    of->log[0] = '\0';
    uint32_t turn = ceni_load_relaxed(&changing.wanted) + 1;
    if (turn > (uint32_t)changing.turns || (what == '-' && !changing.in_close)) return;
    ceni_add_acq_rel(&changing.wanted, 1);
    ceni_futex_wake(&changing.wanted, 1);
    while (ceni_load_acquire(&changing.done) < turn) ceni_futex_wait(&changing.done, turn - 1, CENI_FOREVER);
}

static void begin_changes(void (*change)(int turn), int turns, bool in_close)
{
    changing = (changer){.change = change, .turns = turns, .in_close = in_close};
    changing.thread = start("changer", run_changes, NULL);
    shop.inside = change_inside;
}

static void reload_again(int turn)
{
    (void)turn;
    expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK);
}

/* guarantees: async.L10-L12-L16 */
TEST(L12_any_number_of_reloads_during_an_open_costs_no_stack)
{
    enum { RELOADS = 100000 };
    asker one;
    prepare(1);
    cen_lease held = take_now(pool);
    ask(&one, pool, CEN_NEVER);
    begin_changes(reload_again, RELOADS, false);
    discard_it(&held);
    expect_lent(&one, RELOADS + 2);
    expect_equal(shop.closed, RELOADS + 1);
    join(changing.thread);
    give_asked(&one);
    finish();
}

/* The pool shrinks during each open, and grows during each close. */
static void shrink_or_grow(int turn)
{
    expect_equal(cen_pool_resize(pool, turn % 2 ? 2 : 1, NULL), CEN_OK);
}

/* guarantees: async.L10-L12-L16 */
TEST(L16_any_number_of_resizes_during_an_open_costs_no_stack)
{
    enum { PAIRS = 50000 };
    asker one;
    prepare(2);
    cen_lease held = take_now(pool), other = take_now(pool);
    ask(&one, pool, CEN_NEVER);
    begin_changes(shrink_or_grow, 2 * PAIRS + 1, true);
    discard_it(&other);
    expect_lent(&one, PAIRS + 3);
    expect_equal(shop.closed, PAIRS + 1);
    join(changing.thread);
    give_back(&held);
    give_asked(&one);
    finish();
}

/* guarantees: async.L10-L12-L16 */
TEST(L11_when_the_breaker_opens_those_who_asked_are_told_what_the_driver_said)
{
    for (int with_text = 0; with_text < 2; with_text++) {
        script s = {
            .of[CALL_OPEN] = {.fail_from = 2, .fail_to = 99, .failure = CEN_SYSTEM, .code = 61, .text = "refused"}};
        asker one, two, late;
        pool = begin_life(&s, BLOCKS, .max = 2, .breaker_failures = 1, .breaker_wait_ns = CEN_OFF);
        cen_lease held = take(pool);
        ready(&one, cen_inline());
        if (!with_text) one.take.future.error = NULL;
        expect_equal(cen_pool_take_async(pool, cen_in_s(1), &one.take), CEN_OK); /* a second object is tried for it */
        ask(&two, pool, CEN_NEVER);
        ceni_world_settle();
        expect_pending(&one); /* what is out may come back */
        expect_equal(cen_pool_discard(&held), CEN_OK);
        ceni_world_settle();
        expect(one.told == 1 && one.take.future.status == CEN_SYSTEM && one.take.future.code == 61);
        if (with_text) expect_error(&one.error, CEN_SYSTEM, "refused");
        expect_told(&two, CEN_SYSTEM);
        ready(&late, cen_inline());
        if (!with_text) late.take.future.error = NULL;
        expect_equal(cen_pool_take_async(pool, CEN_NEVER, &late.take), CEN_OK);
        expect(late.told == 1 && late.take.future.status == CEN_SYSTEM && late.take.future.code == 61);
        end_life(&s, pool);
    }
}

/* guarantees: async.L10-L12-L16 */
TEST(L11_a_driver_that_says_closed_is_not_taken_for_a_pool_that_is)
{
    script s = {.of[CALL_OPEN] = {.fail_from = 2, .fail_to = 99, .failure = CEN_CLOSED, .code = 7, .text = "hung up"}};
    asker one;
    pool = begin_life(&s, BLOCKS, .max = 2, .breaker_failures = 1, .breaker_wait_ns = CEN_OFF);
    cen_lease held = take(pool);
    ask(&one, pool, CEN_NEVER);
    ceni_world_settle();
    expect_equal(cen_pool_discard(&held), CEN_OK);
    ceni_world_settle();
    expect_told(&one, CEN_CLOSED);
    expect_equal(one.take.cause, CEN_CAUSE_BREAKER_OPEN);
    expect_error(&one.error, CEN_CLOSED, "hung up");
    expect(one.error.code == 7 && one.error.cause == CEN_CAUSE_BREAKER_OPEN && one.error.retry_after_ns > 0);
    end_life(&s, pool);
}

/* guarantees: async.L10-L12-L16 */
TEST(L11_an_opening_that_takes_too_long_is_no_timeout_of_who_asked)
{
    script s = {.of[CALL_OPEN] = {.hang_from = 1, .hang_to = 1}};
    asker one;
    pool = begin_life(&s, BLOCKS, .max = 1, .breaker_failures = 1, .open_timeout_ns = 10 * MS,
                      .breaker_wait_ns = 250 * MS);
    ask(&one, pool, cen_in_s(60));
    pass(259 * MS);
    expect_pending(&one); /* another may yet be tried in its time */
    pass(1 * MS);
    expect_told(&one, CEN_DRIVER);
    expect_error(&one.error, CEN_DRIVER, "takes longer");
    end_life(&s, pool);
}

/* With deadlines and without; and one that comes when an attempt may begin is served by it. */
/* guarantees: life.L11-breaker */
TEST(L11_who_asks_while_the_breaker_is_open_is_told_after_breaker_wait_ns_or_served_before)
{
    script s = {.of[CALL_OPEN] = {.fail_from = 1, .fail_to = 99, .failure = CEN_SYSTEM, .code = 61, .text = "refused"}};
    asker first, one, two, three, four;
    pool = begin_life(&s, BLOCKS, .max = 1, .breaker_failures = 1, .breaker_wait_ns = 300 * MS,
                      .backoff_initial_ns = 10 * MS, .backoff_max_ns = 10 * MS);
    ask(&first, pool, cen_in_ns(1));
    ceni_world_settle();
    expect_told(&first, CEN_SYSTEM); /* no other try comes in its time */
    ask(&one, pool, CEN_NEVER);
    pass(100 * MS);
    ask(&two, pool, cen_in_s(60));
    ask(&three, pool, cen_in_ms(150));
    pass(149 * MS);
    expect_pending(&three);
    pass(1 * MS);
    expect(three.told == 1); /* by its deadline, or just before it, by the last try in its time */
    expect_pending(&one);
    pass(50 * MS);
    expect_told(&one, CEN_SYSTEM);
    expect(one.take.cause == CEN_CAUSE_BREAKER_OPEN && one.error.code == 61);
    expect_told(&two, CEN_SYSTEM);
    recover(&s, CALL_OPEN);
    pass(10 * MS);
    ask(&four, pool, CEN_NEVER);
    ceni_world_settle();
    expect_lent(&four, 1);
    give_asked(&four);
    end_life(&s, pool);
}

/* guarantees: async.L10-L12-L16 */
TEST(L10_the_opening_of_one_who_cancelled_goes_on_and_serves_the_next)
{
    script s = {.of[CALL_OPEN] = {.takes_ns = 10 * MS}};
    asker one, two;
    pool = begin_life(&s, BLOCKS, .max = 1);
    ask(&one, pool, CEN_NEVER);
    pass(5 * MS);
    expect(cen_future_cancel(&one.take.future));
    ask(&two, pool, CEN_NOW);
    expect_told(&two, CEN_TIMEOUT);
    ask(&two, pool, cen_in_ms(20));
    pass(5 * MS);
    expect_lent(&two, 1);
    expect(one.told == 0 && s.of[CALL_OPEN].calls == 1);
    give_asked(&two);
    end_life(&s, pool);
}

/* ---- Runtimes -------------------------------------------------------------------------------------------- */

/* guarantees: async.deadline */
TEST(the_deadline_of_an_ask_is_one_of_its_pools_clock)
{
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    asker one, two;
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .runtime = runtime), 1);
    cen_lease held = take_now(pool);
    ask(&one, pool, cen_in_s(7));
    ask(&two, pool, cen_in_s(8));
    pass(100 * SECOND); /* of another clock */
    cen_runtime_poll(runtime);
    expect_pending(&one);
    expect_equal(cen_runtime_advance(runtime, 7 * SECOND - 1), CEN_OK);
    expect_pending(&one);
    expect_equal(cen_runtime_advance(runtime, 1), CEN_OK);
    expect_told(&one, CEN_TIMEOUT);
    expect_error(&one.error, CEN_TIMEOUT, "7000 ms");
    expect_pending(&two);
    give_back(&held);
    give_asked(&two);
    finish();
    free_runtime(runtime);
}

/* guarantees: async.deadline */
TEST(with_a_manual_runtime_deadlines_pass_in_poll_on_its_thread)
{
    cen_runtime *runtime = make_runtime(.manual = true);
    static asker many[200];
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .runtime = runtime), 1);
    cen_lease held = take_now(pool);
    for (int i = 0; i < 200; i++) ask(&many[i], pool, cen_in_ms(4));
    pass(4 * MS);
    expect_pending(&many[0]);
    cen_runtime_poll(runtime);
    for (int i = 0; i < 200; i++) expect_told(&many[i], CEN_TIMEOUT);
    for (int i = 1; i < 200; i++) expect(many[i].turn > many[i - 1].turn);
    give_back(&held);
    finish();
    free_runtime(runtime);
}

/* guarantees: async.deadline */
TEST(a_pool_that_needed_no_runtime_has_one_from_the_first_deadline_until_it_is_freed)
{
    asker one, two;
    prepare(1);
    cen_lease held = take_now(pool);
    ask(&one, pool, CEN_NEVER);
    expect_equal(look_at(NULL).users, 0);
    ask(&two, pool, cen_in_s(1));
    expect_equal(look_at(NULL).users, 1);
    expect(cen_future_cancel(&two.take.future) && cen_future_cancel(&one.take.future));
    give_back(&held);
    finish();
    expect_equal(look_at(NULL).users, 0);
}

/* ---- Fork ---------------------------------------------------------------------------------------------------- */

/* guarantees: async.L14 */
TEST(L14_in_a_child_an_ask_of_the_parents_can_be_left_and_the_pool_is_another)
{
    for (int renews = 0; renews < 2; renews++) {
        asker one, two, three;
        cen_runtime *runtime = make_runtime(.manual = true);
        shop = (workshop){0};
        pool = make_pool(.max = 1, .driver = driver_of(&shop), .on_fork = renews ? CEN_FORK_RENEW : CEN_FORK_REFUSE,
                         .runtime = runtime);
        cen_lease held = take_now(pool);
        ask(&one, pool, cen_in_s(1));
        ask(&two, pool, CEN_NEVER);
        ceni_world_fork();
        ready(&three, cen_inline());
        expect_equal(cen_pool_take_async(pool, cen_in_s(1), &three.take), renews ? CEN_OK : CEN_FORKED);
        expect_equal(three.told, renews);
        expect(cen_future_cancel(&one.take.future) && cen_future_cancel(&two.take.future));
        expect(one.told == 0 && two.told == 0);
        expect_equal(cen_pool_give(&held), CEN_FORKED);
        if (renews) give_asked(&three);
        free_pool(pool);
        free_runtime(runtime);
    }
}

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

static asker sweeper;
static cen_lease swept;
static cen_runtime *sweeps_in;

static void sweep_begin(void)
{
    sweeps_in = make_runtime(.manual = true);
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .runtime = sweeps_in), 1);
    swept = take_now(pool);
}

static void sweep_begin_threaded(void)
{
    sweeps_in = make_runtime(.name = "threads");
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .runtime = sweeps_in), 1);
    swept = take_now(pool);
}

static cen_status sweep_ask(void)
{
    ask(&sweeper, pool, cen_in_s(1));
    return sweeper.told ? sweeper.take.future.status : CEN_OK;
}

static const char *sweep_check(cen_status status)
{
    if (sweeper.error.status != status || !strstr(sweeper.error.text, "deadline")) return "the text does not say why";
    cen_pool_stats s = expect_sound(pool);
    if (s.waiting + s.waited != 0) return "it stands in line";
    return status == CEN_NO_MEMORY ? NULL : "another status";
}

static const char *sweep_check_threaded(cen_status status)
{
    const char *wrong = sweep_check(status);
    return status == CEN_SYSTEM && wrong && strcmp(wrong, "another status") == 0 ? NULL : "not SYSTEM, or not why";
}

static void sweep_end(void)
{
    if (!sweeper.told) expect(cen_future_cancel(&sweeper.take.future));
    give_back(&swept);
    finish();
    free_runtime(sweeps_in);
}

/* guarantees: async.deadline */
TEST(an_ask_whose_deadline_cannot_be_kept_for_want_of_memory_is_told_so)
{
    fault_sweep sweep = {.mask = CENI_FAULT_ALLOC,
                         .setup = sweep_begin,
                         .operation = sweep_ask,
                         .check = sweep_check,
                         .undo = sweep_end};
    expect_equal(fault_sweep_check(&sweep), 1); /* what keeps deadlines, and nothing else */
}

/* guarantees: async.deadline */
TEST(an_ask_whose_deadline_nobody_could_keep_for_want_of_a_thread_is_told_so)
{
    fault_sweep sweep = {.mask = CENI_FAULT_THREAD,
                         .setup = sweep_begin_threaded,
                         .operation = sweep_ask,
                         .check = sweep_check_threaded,
                         .undo = sweep_end};
    expect_equal(fault_sweep_check(&sweep), 1);
}

static cen_close_op sweep_closing;

static cen_status sweep_close(void)
{
    cen_close_op_init(&sweep_closing, NULL, NULL);
    return cen_pool_close_async(pool, cen_in_s(1), &sweep_closing);
}

static const char *sweep_check_open(cen_status status)
{
    if (cen_pool_is_closed(pool)) return "it is closed";
    return status == CEN_SYSTEM ? NULL : "another status";
}

static void sweep_end_closed(void)
{
    cen_pool_give(&swept);
    finish();
    free_runtime(sweeps_in);
}

/* guarantees: async.deadline */
TEST(a_close_whose_deadline_nobody_could_keep_for_want_of_a_thread_changes_nothing)
{
    fault_sweep sweep = {.mask = CENI_FAULT_THREAD,
                         .setup = sweep_begin_threaded,
                         .operation = sweep_close,
                         .check = sweep_check_open,
                         .undo = sweep_end_closed};
    expect_equal(fault_sweep_check(&sweep), 1);
}

/* ---- What is told about it ------------------------------------------------------------------------------------- */

TEST(with_backtraces_an_ask_that_is_served_at_once_has_its_calls_listed)
{
    asker one;
    cen_object_view holding;
    size_t count;
    shop = (workshop){0};
    pool = make_pool(.max = 1, .driver = driver_of(&shop), .backtraces = true);
    ask(&one, pool, CEN_NOW);
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect(count == 1 && holding.backtrace_count > 0);
    give_asked(&one);
    finish();
}

/* guarantees: async.told-once */
TEST(L19_every_ask_is_counted_once_however_it_ends)
{
    asker served, expired, cancelled, sent_away, thread_like;
    prepare(1);
    cen_lease held = take_now(pool);
    ask(&served, pool, CEN_NEVER);
    ask(&expired, pool, cen_in_ms(1));
    ask(&cancelled, pool, CEN_NEVER);
    ask(&sent_away, pool, CEN_NEVER);
    cen_pool_stats s = expect_sound(pool);
    expect(s.waiting == 4 && s.waited == 4);
    pass(MS);
    expect(cen_future_cancel(&cancelled.take.future));
    give_back(&held);
    ask(&thread_like, pool, CEN_NOW);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    s = expect_sound(pool);
    expect(s.served == 1 && s.timed_out == 1 && s.cancelled == 1 && s.sent_away == 1 && s.waited == 4 && s.taken == 2);
    expect_equal(s.wait_longest_ns, MS);
    expect_equal(cen_pool_give(&served.take.lease), CEN_REVOKED);
    finish();
}
