/* SPDX-License-Identifier: MIT */
/*
 * The life of a pool whose driver blocks, when memory or threads cannot be had
 * and when sleepers wake for no reason: nothing is lost, leaked or forgotten.
 */
#include "support/faults.h"
#include "unit/pool/scripted.h"

static script s;
static cen_pool *pool;
static cen_pool_options to_make;

/* ---- Making one ---------------------------------------------------------------------------- */

static cen_status make_one(void)
{
    s = (script){.opened = 0};
    to_make.driver = scripted_driver(&s, BLOCKS | HAS_TEST | HAS_CHECK | HAS_RESET);
    cen_error error = {.status = CEN_OK};
    cen_status status = cen_pool_new(&to_make, &pool, &error);
    if (status != CEN_OK) expect_equal(error.status, status);
    return status;
}

static const char *nothing_was_made(cen_status status)
{
    if (pool) return "the output was written although it failed";
    for (int i = 1; i <= s.opened; i++)
        if (s.things[i].open) return "an object was opened and not closed";
    if (s.inits != s.finis) return "init without fini";
    return status == CEN_NO_MEMORY ? NULL : "it does not say NO_MEMORY";
}

static void free_it(void)
{
    if (pool) free_pool(pool);
    pool = NULL;
    ceni_world_settle();
    pass(30 * SECOND); /* helpers linger */
}

/* guarantees: life-api.out-of-memory */
TEST(a_pool_with_a_runtime_that_gets_no_memory_leaves_none_behind)
{
    for (int eager = 0; eager < 2; eager++) {
        to_make = CEN_POOL_OPTIONS(.max = 3, .eager = eager);
        fault_sweep sweep = {
            .mask = CENI_FAULT_ALLOC, .operation = make_one, .check = nothing_was_made, .undo = free_it};
        expect(fault_sweep_check(&sweep) >= 3); /* the pool, its slots and the runtime */
    }
}

/* ---- A whole life ----------------------------------------------------------------------------- */

static cen_runtime *shared; /* by all lives of a test; NULL: each has its own */

static void begin(void)
{
    s = (script){.of[CALL_OPEN] = {.fail_from = 3, .fail_to = 4}};
    pool = begin_life(&s, BLOCKS | HAS_TEST | HAS_CHECK | HAS_RESET, .max = 3, .min_idle = 1,
                      .leak_after_ns = 50 * SECOND, .runtime = shared);
}

/* Everything that a helper or the keeper does, once at least. */
static cen_status live(void)
{
    cen_lease a = take(pool), b = take(pool), c = take(pool);
    s.things[number_of(&a)].condition = CEN_DIRTY;
    give_back(&a);
    give_back(&b);
    pass(3 * SECOND);
    expect_equal(cen_pool_test_idle(pool, NULL), CEN_OK);
    pass(3 * SECOND);
    expect_equal(cen_pool_discard(&c), CEN_OK);
    a = take(pool);
    b = take(pool);
    expect_equal(cen_pool_reload(pool, 0, NULL), CEN_OK);
    give_back(&b);
    b = take(pool);
    c = take(pool);
    give_back(&b);
    give_back(&c);
    pass(60 * SECOND);
    expect_equal(look(pool).leaked, 1);
    give_back(&a);
    pass(2 * SECOND);
    expect(s.of[CALL_RESET].calls == 1 && s.of[CALL_TEST].calls > 0 && s.of[CALL_CLOSE].calls >= 3);
    expect(look(pool).idle >= 1);
    return cen_pool_close(pool, cen_in_s(60), NULL, NULL);
}

static const char *lived_all_the_same(cen_status status)
{
    return status == CEN_OK ? NULL : "a fault that it should live with changes the answer";
}

static void end(void)
{
    end_life(&s, pool);
    pool = NULL;
}

/* guarantees: life-api.out-of-memory */
TEST(a_pool_lives_on_when_one_of_its_threads_cannot_be_started)
{
    fault_sweep sweep = {
        .mask = CENI_FAULT_THREAD, .setup = begin, .operation = live, .check = lived_all_the_same, .undo = end};
    expect(fault_sweep_check(&sweep) >= 2);
}

/* guarantees: life-api.out-of-memory */
TEST(a_pool_lives_on_when_its_first_thread_cannot_be_started)
{
    ceni_fault_arm(CENI_FAULT_THREAD, 1);
    begin();
    expect(ceni_fault_disarm());
    expect_equal(live(), CEN_OK);
    end();
}

/* guarantees: life-api.out-of-memory */
TEST(the_life_of_a_pool_needs_no_memory_once_it_is_made)
{
    begin();
    uint64_t before = ceni_world_allocations();
    ceni_fault_arm(CENI_FAULT_ALLOC, 1);
    expect_equal(live(), CEN_OK);
    expect(!ceni_fault_disarm());
    expect_equal(ceni_world_allocations(), before);
    end();
}

/* guarantees: life-api.out-of-memory */
TEST(a_pool_lives_on_when_a_sleeper_wakes_for_no_reason)
{
    shared = make_runtime(.idle_timeout_ns = CEN_OFF); /* a world has room for few threads */
    fault_sweep sweep = {
        .mask = CENI_FAULT_WAIT, .setup = begin, .operation = live, .check = lived_all_the_same, .undo = end};
    expect(fault_sweep_check(&sweep) > 20);
    free_runtime(shared);
}

/* ---- No thread for a long time ------------------------------------------------------------------ */

/* guarantees: life-api.out-of-memory */
TEST(who_waits_is_served_when_a_helper_can_be_had_at_last)
{
    s = (script){.opened = 0};
    pool = begin_life(&s, BLOCKS, .max = 1);
    pass(1);
    for (int i = 0; i < 5; i++) {
        taker one;
        ceni_fault_arm(CENI_FAULT_THREAD, 2); /* the taker itself, and then the helper */
        begin_take(&one, pool, cen_in_s(30));
        bool refused = ceni_fault_disarm();
        if (i == 0) expect(refused);
        pass(3 * SECOND);
        expect_answer(&one, CEN_OK);
        give_back(&one.lease);
    }
    end();
}

/* Nothing has run on a helper yet, and there is none to be had: what is to be closed is closed all the same. */
/* guarantees: life-api.out-of-memory */
TEST(a_close_and_a_free_that_get_no_helper_close_everything)
{
    for (int closes = 0; closes < 2; closes++) {
        s = (script){.opened = 0};
        pool = begin_life(&s, BLOCKS, .max = 3, .eager = true);
        pass(1);
        expect_equal(look_at(s.runtime).helpers, 0);
        ceni_fault_arm(CENI_FAULT_THREAD, 1);
        if (closes) expect_equal(cen_pool_close(pool, cen_in_s(30), NULL, NULL), CEN_OK);
        free_pool(pool);
        expect(ceni_fault_disarm());
        ceni_world_settle();
        for (int i = 1; i <= 3; i++) expect_equal(s.things[i].closes, 1);
        expect_equal(s.finis, 1);
        free_runtime(s.runtime);
    }
}
