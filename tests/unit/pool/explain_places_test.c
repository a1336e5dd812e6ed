/* SPDX-License-Identifier: MIT */
/* What a take that timed out says of places that serve nobody: revoked, being closed, being reset. */
#include "unit/pool/scripted.h"

static script s;

/* The text of a take that times out, and its cause. */
static void expect_timeout_says(cen_pool *pool, cen_cause cause, const char *words, cen_error *error)
{
    taker one;
    begin_take(&one, pool, cen_in_ms(500));
    pass(500 * MS);
    expect_answer(&one, CEN_TIMEOUT);
    expect_error(&one.error, CEN_TIMEOUT, words);
    if (strstr(one.error.text, "all objects are in use")) test_fail(__FILE__, __LINE__, "%s", one.error.text);
    expect_because(&one.error, cause);
    *error = one.error;
}

TEST(L18_a_timeout_while_all_places_are_revoked_says_so_and_names_who_has_not_given_back)
{
    s = (script){.opened = 0};
    cen_pool *pool = begin_life(&s, BLOCKS, .name = "orders", .max = 2, .max_hold_ns = SECOND);
    cen_lease leases[2];
    cen_error error;
    for (int i = 0; i < 2; i++)
        expect_equal(cen_pool_take_at(pool, cen_in_s(1), &leases[i], NULL, "cellar.c:11"), CEN_OK);
    pass(100 * SECOND);
    expect_timeout_says(
        pool, CEN_CAUSE_REVOKED,
        "pool \"orders\": no object after 500 ms. No object is available: 2 are revoked and not given back. max is 2: "
        "0 held, 0 idle, 0 opening, 2 revoked and not given back; 0 waiting. Held longest: object ",
        &error);
    expect_error(&error, CEN_TIMEOUT, ", revoked, held by thread ");
    expect_error(&error, CEN_TIMEOUT, ", taken at cellar.c:11.");
    char text[2000];
    expect(cen_pool_explain(pool, text, sizeof text) < sizeof text);
    expect(strstr(text, "pool \"orders\": No object is available: 2 are revoked and not given back.\n"));
    for (int i = 0; i < 2; i++) expect_equal(cen_pool_give(&leases[i]), CEN_REVOKED);
    end_life(&s, pool);
}

TEST(L18_a_timeout_counts_places_that_are_revoked_closing_and_resetting_and_does_not_say_that_all_are_in_use)
{
    s = (script){.of[CALL_CLOSE] = {.hang_from = 1, .hang_to = 9}, .of[CALL_RESET] = {.hang_from = 1, .hang_to = 9}};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_CHECK | HAS_RESET, .max = 4, .max_hold_ns = 10 * SECOND,
                                .max_lifetime_ns = CEN_OFF);
    cen_lease revoked = take(pool);
    cen_error error;
    pass(60 * SECOND);
    cen_lease held = take(pool), closing = take(pool), resetting = take(pool);
    expect_equal(cen_pool_discard(&closing), CEN_OK);
    s.things[number_of(&resetting)].condition = CEN_DIRTY;
    give_back(&resetting);
    expect_timeout_says(
        pool, CEN_CAUSE_EXHAUSTED,
        "Exhausted: 1 is in use, 1 is revoked and not given back, 1 is being closed, 1 is being reset. max is 4: ",
        &error);
    expect_equal(cen_pool_discard(&held), CEN_OK);
    expect_timeout_says(
        pool, CEN_CAUSE_REVOKED,
        "No object is available: 1 is revoked and not given back, 2 are being closed, 1 is being reset. ", &error);
    let_all_go(&s, CALL_CLOSE);
    let_all_go(&s, CALL_RESET);
    expect_equal(cen_pool_give(&revoked), CEN_REVOKED);
    end_life(&s, pool);
}

/* Nobody has to give anything back: what the driver takes its time for is named. */
/* guarantees: overload.causes */
TEST(L18_a_timeout_while_nothing_is_in_use_names_the_call_of_the_driver_that_goes_on)
{
    s = (script){.of[CALL_CLOSE] = {.hang_from = 1, .hang_to = 9}, .of[CALL_RESET] = {.hang_from = 1, .hang_to = 9}};
    cen_pool *pool = begin_life(&s, BLOCKS | HAS_CHECK | HAS_RESET, .max = 2, .max_lifetime_ns = CEN_OFF);
    cen_lease closing = take(pool), resetting = take(pool);
    cen_error error;
    s.things[number_of(&resetting)].condition = CEN_DIRTY;
    give_back(&resetting);
    expect_equal(cen_pool_discard(&closing), CEN_OK);
    expect_timeout_says(pool, CEN_CAUSE_RESETTING, "No object is available: 1 is being closed, 1 is being reset. ",
                        &error);
    s.of[CALL_RESET].fail_from = 1, s.of[CALL_RESET].fail_to = 9;
    let_all_go(&s, CALL_RESET);
    pass(SECOND);
    expect_timeout_says(pool, CEN_CAUSE_CLOSING, "No object is available: ", &error);
    let_all_go(&s, CALL_CLOSE);
    end_life(&s, pool);
}
