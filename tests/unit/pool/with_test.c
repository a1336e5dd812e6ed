/* SPDX-License-Identifier: MIT */
/* CEN_WITH: the block, the else part, and every way out. */
#include <setjmp.h>

#include "unit/pool/takers.h"

static workshop shop;
static cen_pool *pool;

static void prepare(uint32_t max)
{
    shop = (workshop){0};
    pool = make_pool(.name = "scoped", .max = max, .driver = driver_of(&shop));
}

static void expect_free(void)
{
    cen_pool_stats s = expect_sound(pool);
    expect_equal(s.held, 0);
    expect_equal(s.idle + s.vacant, s.places);
}

/* ---- The block and the else part ---------------------------------------------------------------------------- */

TEST(with_lends_the_object_to_its_block_and_gives_it_back_at_the_end)
{
    prepare(2);
    int runs = 0;
    cen_error error = {.status = CEN_OK};
    CEN_WITH (pool, CEN_NOW, void *, object, &error) {
        runs++;
        expect(object == object_of(1));
        expect_counts(pool, 0, 1);
    } else {
        unexpected(NULL, "the else part of a success");
    }
    expect_equal(runs, 1);
    expect_counts(pool, 1, 0);
    free_pool(pool);
}

TEST(with_gives_any_type_as_large_as_a_pointer)
{
    prepare(1);
    struct tool;
    CEN_WITH (pool, CEN_NOW, struct tool *, tool, NULL) expect((void *)tool == object_of(1));
    CEN_WITH (pool, CEN_NOW, uintptr_t, number, NULL) expect_equal(number, 1);
    CEN_WITH (pool, CEN_NOW, const char *, text, NULL) {
        expect((const void *)text == object_of(1));
    }
    expect_free();
    free_pool(pool);
}

static int leave_by_return(void)
{
    CEN_WITH (pool, CEN_NOW, void *, object, NULL) {
        if (object) return 7;
    }
    return 0;
}

static int leave_by_goto(void)
{
    int passed = 0;
    CEN_WITH (pool, CEN_NOW, void *, object, NULL) {
        if (object) goto out;
        passed = 100;
    }
    passed += 10;
out:
    return passed + 1;
}

static int leave_by_break(void)
{
    int rounds = 0;
    for (int i = 0; i < 3; i++) {
        CEN_WITH (pool, CEN_NOW, void *, object, NULL) {
            rounds++;
            if (object) break; /* leaves the block */
            rounds += 100;
        }
        expect_equal(expect_sound(pool).held, 0);
    }
    return rounds;
}

static int leave_by_continue(void)
{
    int rounds = 0;
    for (int i = 0; i < 3; i++) {
        CEN_WITH (pool, CEN_NOW, void *, object, NULL) {
            rounds++;
            if (object) continue;
            rounds += 100;
        }
        expect_equal(expect_sound(pool).held, 0);
    }
    return rounds;
}

/* guarantees: pool-api.scopes */
TEST(with_gives_the_object_back_on_every_way_out)
{
    prepare(1);
    expect_equal(leave_by_return(), 7);
    expect_free();
    expect_equal(leave_by_goto(), 1);
    expect_free();
    expect_equal(leave_by_break(), 3);
    expect_free();
    expect_equal(leave_by_continue(), 3);
    expect_free();
    cen_pool_stats s = expect_sound(pool);
    expect(s.taken == 8 && s.ended == 8);
    free_pool(pool);
}

static int leave_two_by_return(cen_pool *other)
{
    CEN_WITH (pool, CEN_NOW, void *, outer, NULL) {
        CEN_WITH (other, CEN_NOW, void *, of_other, NULL) {
            CEN_WITH (pool, CEN_NOW, void *, inner, NULL) {
                expect(inner == outer && of_other == object_of(2));
                return 5;
            }
        }
    }
    return 0;
}

/* guarantees: pool-api.scopes */
TEST(a_return_from_nested_blocks_leaves_all_of_them)
{
    prepare(1);
    cen_pool *other = make_pool(.max = 1, .driver = driver_of(&shop));
    expect_equal(leave_two_by_return(other), 5);
    expect_free();
    expect_counts(other, 1, 0);
    free_pool(other);
    free_pool(pool);
}

/* guarantees: pool-api.scopes */
TEST(with_runs_the_else_part_and_not_the_block_if_there_is_no_object)
{
    prepare(1);
    cen_lease held = take_now(pool);
    int others = 0;
    cen_error error = {.status = CEN_OK};
    CEN_WITH (pool, CEN_NOW, void *, object, &error) {
        unexpected(object, "the block of a failure");
    } else {
        others++;
    }
    expect_error(&error, CEN_TIMEOUT, "\"scoped\"");
    for (int i = 0; i < 2; i++) {
        CEN_WITH (pool, cen_in_s(1), void *, object, NULL) { /* and there may be none */
            unexpected(object, "the block of a failure");
        }
    }
    CEN_WITH (NULL, CEN_NOW, void *, object, &error) {
        expect(object != NULL);
    } else {
        others++;
    }
    expect_error(&error, CEN_INVALID, "NULL");
    expect_equal(others, 2);
    expect_counts(pool, 0, 1);
    give_back(&held);
    free_pool(pool);
}

/* guarantees: pool-bugs.nesting */
TEST(an_inner_with_borrows_the_same_object_and_only_the_outermost_gives_it_back)
{
    prepare(1);
    CEN_WITH (pool, CEN_NOW, void *, outer, NULL) {
        for (int i = 0; i < 3; i++) {
            CEN_WITH (pool, CEN_NOW, void *, inner, NULL) {
                expect(inner == outer);
                CEN_WITH (pool, CEN_NOW, void *, innermost, NULL) expect(innermost == outer);
            } else {
                unexpected(NULL, "an inner block waits");
            }
            expect_counts(pool, 0, 1);
        }
    }
    cen_pool_stats s = expect_sound(pool);
    expect(s.taken == 1 && s.ended == 1 && s.idle == 1);
    free_pool(pool);
}

TEST(with_is_listed_with_the_place_in_the_program)
{
    prepare(1);
    CEN_WITH (pool, CEN_NOW, void *, object, NULL) {
        cen_object_view holding;
        size_t count;
        expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
        expect(count == 1 && holding.object == object && holding.holder == cen_thread_number());
        expect(strstr(holding.where, "with_test.c:") != NULL);
    }
    free_pool(pool);
}

/* ---- longjmp ------------------------------------------------------------------------------------------------ */

static cen_scope enter_now(void)
{
    cen_scope scope;
    expect_equal(cen_pool_enter(pool, CEN_NOW, &scope, NULL), CEN_OK);
    return scope;
}

static jmp_buf out_of_scope;
static cen_lease jumped_over;

static void jump_out(void)
{
    CEN_WITH (pool, CEN_NOW, void *, object, NULL) {
        cen_object_view holding;
        size_t count;
        expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
        jumped_over = cen_scope_of_object.lease;
        expect(object == jumped_over.object);
        longjmp(out_of_scope, 1);
    }
}

/* guarantees: pool-api.scopes */
TEST(longjmp_leaves_the_object_held_and_does_no_harm_to_later_scopes)
{
    prepare(2);
    if (setjmp(out_of_scope) == 0) jump_out();
    expect_counts(pool, 0, 1);
    for (int i = 0; i < 3; i++) {
        cen_scope scope = enter_now();
        expect(scope.lease.object == jumped_over.object); /* its scope has not ended */
        expect_equal(cen_pool_leave(&scope), CEN_OK);
        expect_counts(pool, 0, 1);
    }
    give_back(&jumped_over); /* whoever has the lease can still end it */
    expect_free();
    cen_scope scope = enter_now();
    expect_counts(pool, 0, 1);
    expect_equal(cen_pool_leave(&scope), CEN_OK);
    expect_free();
    free_pool(pool);
}
