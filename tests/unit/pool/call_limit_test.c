/* SPDX-License-Identifier: MIT */
/* Pools whose runtime has reached its limit of helpers (max_helpers). */
#include "pool/internal.h"
#include "unit/pool/scripted.h"

enum { HUNG = 3, WORDS = 4096 };

static script silent[HUNG], works;
static cen_pool *hung[HUNG];
static taker takers[16];

/* `count` pools whose servers do not answer, each with one take. */
static cen_runtime *begin(int32_t max_helpers, int count)
{
    cen_runtime *runtime = make_runtime(.name = "few", .max_helpers = max_helpers);
    for (int i = 0; i < count; i++) {
        silent[i] = (script){.of[CALL_OPEN] = {.hang_from = 1, .hang_to = 1000}};
        hung[i] = begin_life(&silent[i], BLOCKS, .max = 2, .runtime = runtime);
        begin_take(&takers[i], hung[i], cen_in_s(1));
    }
    works = (script){.opened = 0};
    return runtime;
}

static void finish(cen_runtime *runtime, int count)
{
    for (int i = 0; i < count; i++) let_all_go(&silent[i], CALL_OPEN);
    for (int i = 0; i < count; i++) end_life(&silent[i], hung[i]);
    free_runtime(runtime);
}

/* guarantees: runtime.helper-limit */
TEST(L9_one_pool_uses_half_of_the_helpers_and_another_opens_beside_it)
{
    cen_runtime *runtime = make_runtime(.name = "few", .max_helpers = 8);
    silent[0] = (script){.of[CALL_OPEN] = {.hang_from = 1, .hang_to = 1000}};
    works = (script){.opened = 0};
    hung[0] = begin_life(&silent[0], BLOCKS, .max = 16, .max_concurrent_opens = 16, .runtime = runtime);
    cen_pool *pool = begin_life(&works, BLOCKS, .max = 2, .runtime = runtime);
    for (int i = 0; i < 10; i++) begin_take(&takers[i], hung[0], cen_in_s(1));
    expect_equal(silent[0].of[CALL_OPEN].in_flight, 4);
    int64_t began = cen_clock();
    for (int round = 0; round < 3; round++) {
        cen_lease lease = take(pool);
        expect_equal(cen_pool_discard(&lease), CEN_OK);
    }
    expect_equal(cen_clock(), began);
    end_life(&works, pool);
    pass(SECOND);
    for (int i = 0; i < 10; i++) expect_answer(&takers[i], CEN_TIMEOUT);
    finish(runtime, 1);
}

TEST(a_pool_that_used_its_share_goes_on_when_a_call_ends)
{
    cen_runtime *runtime = make_runtime(.name = "few", .max_helpers = 4);
    silent[0] = (script){.of[CALL_OPEN] = {.hang_from = 1, .hang_to = 1000}};
    hung[0] = begin_life(&silent[0], BLOCKS, .max = 6, .max_concurrent_opens = 6, .runtime = runtime);
    for (int i = 0; i < 6; i++) begin_take(&takers[i], hung[0], cen_in_s(1));
    expect_equal(silent[0].of[CALL_OPEN].in_flight, 2);
    let_all_go(&silent[0], CALL_OPEN);
    for (int i = 0; i < 6; i++) expect_answer(&takers[i], CEN_OK);
    expect_equal(silent[0].of[CALL_OPEN].most, 2);
    for (int i = 0; i < 6; i++) give_back(&takers[i].lease);
    finish(runtime, 1);
}

/* guarantees: runtime.helper-limit */
TEST(L18_a_take_that_waits_for_a_helper_says_so)
{
    cen_runtime *runtime = begin(2, 3); /* one call at a time beside closings */
    char text[WORDS];
    expect_equal(silent[0].of[CALL_OPEN].in_flight, 1);
    expect_equal(silent[1].of[CALL_OPEN].calls + silent[2].of[CALL_OPEN].calls, 0);
    cen_pool_explain(hung[1], text, sizeof text);
    expect(strstr(text, " 1 driver call waits for a helper thread (max_helpers = 2).") != NULL);
    expect_equal(ceni_pool_explain_briefly(hung[1], NULL, 0), CEN_CAUSE_NO_HELPER);
    pass(SECOND);
    for (int i = 0; i < HUNG; i++) expect_answer(&takers[i], CEN_TIMEOUT);
    expect_because(&takers[0].error, CEN_CAUSE_OPENING_SLOW); /* its own call goes on */
    expect(strstr(takers[0].error.text, "helper") == NULL);
    for (int i = 1; i < HUNG; i++) {
        expect_because(&takers[i].error, CEN_CAUSE_NO_HELPER);
        expect(strstr(takers[i].error.text, " 1 driver call waits for a helper thread (max_helpers = 2).") != NULL);
    }
    let_all_go(&silent[0], CALL_OPEN);
    cen_pool_explain(hung[1], text, sizeof text);
    expect(strstr(text, "helper") == NULL);
    finish(runtime, HUNG);
}

/* guarantees: runtime.helper-limit */
TEST(L15_a_pool_closes_its_objects_while_calls_hang_at_the_limit)
{
    cen_runtime *runtime = begin(2, 0);
    cen_pool *pool = begin_life(&works, BLOCKS, .max = 2, .runtime = runtime);
    warm_up(pool, 2);
    silent[0] = (script){.of[CALL_OPEN] = {.hang_from = 1, .hang_to = 1000}};
    hung[0] = begin_life(&silent[0], BLOCKS, .max = 2, .runtime = runtime);
    begin_take(&takers[0], hung[0], cen_in_s(1));
    int64_t began = cen_clock();
    expect_equal(cen_pool_close(pool, cen_in_s(600), NULL, NULL), CEN_OK);
    expect_equal(cen_clock(), began);
    expect_equal(works.of[CALL_CLOSE].calls, 2);
    end_life(&works, pool);
    pass(SECOND);
    expect_answer(&takers[0], CEN_TIMEOUT);
    finish(runtime, 1);
}

/* The calls of silent pools use all that is not kept; one that worked has the rest. */
/* guarantees: runtime.helper-limit */
TEST(L9_many_silent_pools_do_not_stop_one_whose_last_call_succeeded)
{
    cen_runtime *runtime = make_runtime(.name = "few", .max_helpers = 4); /* two for unproven pools */
    works = (script){.opened = 0};
    cen_pool *pool = begin_life(&works, BLOCKS, .max = 2, .runtime = runtime);
    warm_up(pool, 1);
    for (int i = 0; i < 2; i++) {
        silent[i] = (script){.of[CALL_OPEN] = {.hang_from = 1, .hang_to = 1000}};
        hung[i] = begin_life(&silent[i], BLOCKS, .max = 2, .runtime = runtime);
        begin_take(&takers[2 * i], hung[i], cen_in_s(1));
        begin_take(&takers[2 * i + 1], hung[i], cen_in_s(1));
    }
    expect_equal(silent[0].of[CALL_OPEN].in_flight + silent[1].of[CALL_OPEN].in_flight, 2);
    int64_t began = cen_clock();
    cen_lease first = take(pool), second = take(pool);
    expect_equal(cen_clock(), began);
    give_back(&first);
    give_back(&second);
    end_life(&works, pool);
    pass(SECOND);
    for (int i = 0; i < 4; i++) expect_answer(&takers[i], CEN_TIMEOUT);
    finish(runtime, 2);
}

TEST(a_pool_is_proven_from_a_success_until_a_call_fails_or_takes_too_long)
{
    works = (script){.of[CALL_OPEN] = {.fail_from = 2, .fail_to = 2, .hang_from = 4, .hang_to = 4}};
    cen_pool *pool = begin_life(&works, BLOCKS, .max = 8, .open_timeout_ns = SECOND);
    expect(!ceni_load_relaxed(&pool->errand.proven));
    cen_lease leases[3], none;
    leases[0] = take(pool);
    expect(ceni_load_relaxed(&pool->errand.proven));
    expect_equal(cen_pool_take(pool, cen_in_ms(10), &none, NULL), CEN_TIMEOUT); /* the second fails */
    expect(!ceni_load_relaxed(&pool->errand.proven));
    leases[1] = take(pool);
    expect(ceni_load_relaxed(&pool->errand.proven));
    expect_equal(cen_pool_take(pool, cen_in_ms(10), &none, NULL), CEN_TIMEOUT); /* the fourth hangs */
    expect(ceni_load_relaxed(&pool->errand.proven));
    pass(SECOND);
    expect(!ceni_load_relaxed(&pool->errand.proven));
    for (int i = 0; i < 2; i++) give_back(&leases[i]);
    end_life(&works, pool);
}

/* Two pools share the one helper that is for calls, each with many resets: neither keeps it. */
/* guarantees: runtime.helper-limit */
TEST(a_pool_with_much_to_do_lets_others_have_the_helper_at_the_limit)
{
    cen_runtime *runtime = make_runtime(.name = "few", .max_helpers = 2);
    static script busy;
    busy = (script){.of[CALL_RESET] = {.takes_ns = MS}};
    works = (script){.of[CALL_RESET] = {.takes_ns = MS}};
    cen_pool *one = begin_life(&busy, BLOCKS | HAS_CHECK | HAS_RESET, .max = 8, .runtime = runtime);
    cen_pool *other = begin_life(&works, BLOCKS | HAS_CHECK | HAS_RESET, .max = 8, .runtime = runtime);
    cen_lease leases[8], last;
    for (int i = 0; i < 8; i++) leases[i] = take(one);
    last = take(other);
    for (int i = 1; i <= busy.opened; i++) busy.things[i].condition = CEN_DIRTY;
    works.things[1].condition = CEN_DIRTY;
    for (int i = 0; i < 8; i++) give_back(&leases[i]);
    give_back(&last);
    pass(5 * MS);
    expect_equal(works.of[CALL_RESET].calls, 1);
    expect(busy.of[CALL_RESET].calls < 7);
    pass(20 * MS);
    expect_equal(look(one).idle, 8);
    expect_equal(look(other).idle, 1);
    end_life(&busy, one);
    end_life(&works, other);
    free_runtime(runtime);
}
