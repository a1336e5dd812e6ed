/* SPDX-License-Identifier: MIT */
/* Scopes: enter and leave in whatever order, and leases of scopes that end by hand or are taken away. */
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

/* ---- Enter and leave ------------------------------------------------------------------------------ */

static cen_scope enter_now(void)
{
    cen_scope scope;
    expect_equal(cen_pool_enter(pool, CEN_NOW, &scope, NULL), CEN_OK);
    return scope;
}

/* guarantees: pool-bugs.nesting, pool-api.scopes */
TEST(scopes_may_end_in_any_order_and_the_last_gives_back)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    prepare(2);
    for (int i = 0; i < 6; i++) {
        cen_scope scopes[3] = {enter_now(), enter_now(), enter_now()};
        for (int j = 0; j < 3; j++) {
            expect(scopes[j].lease.object == object_of(1));
            expect_counts(pool, 0, 1);
        }
        for (int j = 0; j < 3; j++) {
            expect_equal(expect_sound(pool).held, 1);
            expect_equal(cen_pool_leave(&scopes[orders[i][j]]), CEN_OK);
            expect(scopes[orders[i][j]].lease.pool == NULL);
        }
        expect_free();
        for (int j = 0; j < 3; j++) expect_equal(cen_pool_leave(&scopes[j]), CEN_STALE);
    }
    expect_equal(shop.opened, 1);
    free_pool(pool);
}

TEST(a_hundred_scopes_of_one_thread_are_one_lease)
{
    static cen_scope scopes[100];
    prepare(1);
    for (int i = 0; i < 100; i++) scopes[i] = enter_now();
    for (int i = 0; i < 100; i++) {
        expect_equal(expect_sound(pool).held, 1);
        expect_equal(cen_pool_leave(&scopes[i]), CEN_OK);
    }
    expect_free();
    expect_equal(expect_sound(pool).taken, 1);
    free_pool(pool);
}

TEST(a_lease_taken_by_hand_is_not_borrowed)
{
    prepare(2);
    cen_lease by_hand = take_now(pool);
    cen_scope scope = enter_now();
    expect(scope.lease.object != by_hand.object);
    cen_lease another;
    expect_equal(cen_pool_try_take(pool, &another, NULL), CEN_EMPTY); /* nor does a take borrow */
    expect_equal(cen_pool_leave(&scope), CEN_OK);
    give_back(&by_hand);
    free_pool(pool);
}

static void enter_and_leave(void *argument)
{
    void **object = argument;
    cen_scope outer, inner;
    expect_equal(cen_pool_enter(pool, CEN_NEVER, &outer, NULL), CEN_OK);
    expect_equal(cen_pool_enter(pool, CEN_NOW, &inner, NULL), CEN_OK);
    expect(inner.lease.object == outer.lease.object);
    *object = outer.lease.object;
    expect_equal(cen_pool_leave(&outer), CEN_OK);
    expect_equal(cen_pool_leave(&inner), CEN_OK);
}

TEST(another_thread_does_not_borrow_but_takes_or_waits)
{
    prepare(2);
    cen_scope scope = enter_now();
    void *object = NULL;
    join(start("other", enter_and_leave, &object));
    expect(object != scope.lease.object);
    expect_equal(cen_pool_resize(pool, 1, NULL), CEN_OK);
    object = NULL;
    ceni_thread other = start("other", enter_and_leave, &object);
    ceni_world_settle();
    expect(object == NULL);        /* it waits */
    cen_scope inner = enter_now(); /* and this one still borrows at once, although somebody is in line */
    expect_equal(cen_pool_leave(&inner), CEN_OK);
    expect_equal(cen_pool_leave(&scope), CEN_OK);
    join(other);
    expect(object == object_of(1));
    expect_free();
    free_pool(pool);
}

/* The enter said `status`, and the scope is as one that was never entered. */
static void expect_not_entered(cen_status answer, cen_status status, cen_scope *scope)
{
    expect_equal(answer, status);
    expect_equal(cen_pool_leave(scope), CEN_STALE);
    memset(scope, 0x77, sizeof *scope); /* whatever was in it before does not matter */
}

TEST(a_scope_whose_enter_failed_is_not_entered)
{
    prepare(1);
    cen_lease held = take_now(pool);
    cen_scope scope;
    cen_error error;
    memset(&scope, 0x77, sizeof scope);
    expect_not_entered(cen_pool_enter(pool, CEN_NOW, &scope, &error), CEN_TIMEOUT, &scope);
    expect_not_entered(cen_pool_enter(pool, cen_in_s(1), &scope, &error), CEN_TIMEOUT, &scope);
    expect_error(&error, CEN_TIMEOUT, "\"scoped\"");
    expect_equal(cen_pool_enter(pool, CEN_NOW, NULL, &error), CEN_INVALID);
    expect_error(&error, CEN_INVALID, "scope is NULL");
    expect_not_entered(cen_pool_enter(NULL, CEN_NOW, &scope, &error), CEN_INVALID, &scope);
    expect_error(&error, CEN_INVALID, "pool is NULL");
    expect_counts(pool, 0, 1);
    give_back(&held);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    expect_not_entered(cen_pool_enter(pool, CEN_NEVER, &scope, &error), CEN_CLOSED, &scope);
    expect_error(&error, CEN_CLOSED, "\"scoped\"");
    free_pool(pool);
}

/* ---- Leaving wrongly -------------------------------------------------------------------------------- */

TEST(a_scope_that_has_ended_or_was_never_entered_is_stale)
{
    prepare(1);
    cen_scope scope = enter_now(), never = {.status = CEN_OK};
    expect_equal(cen_pool_leave(&never), CEN_STALE);
    expect_equal(cen_pool_leave(NULL), CEN_INVALID);
    expect_counts(pool, 0, 1);
    expect_equal(cen_pool_leave(&scope), CEN_OK);
    expect_equal(cen_pool_leave(&scope), CEN_STALE);
    expect_free();
    free_pool(pool);
}

static void leave_wrongly(void *argument)
{
    expect_equal(cen_pool_leave(argument), CEN_MISUSE);
}

/* guarantees: pool-api.scopes */
TEST(a_scope_that_another_thread_entered_cannot_be_left)
{
    prepare(1);
    cen_scope outer = enter_now(), inner = enter_now();
    join(start("other", leave_wrongly, &outer));
    join(start("other", leave_wrongly, &inner));
    expect_counts(pool, 0, 1);
    cen_scope third = enter_now();
    expect(third.lease.object == outer.lease.object);
    expect_equal(cen_pool_leave(&third), CEN_OK);
    expect_equal(cen_pool_leave(&inner), CEN_OK);
    expect_equal(cen_pool_leave(&outer), CEN_OK);
    expect_free();
    free_pool(pool);
}

TEST(a_scope_made_by_hand_is_foreign_or_stale_and_changes_nothing)
{
    prepare(2);
    cen_scope scope = enter_now(), wrong = scope;
    wrong.lease.slot = &scope;
    expect_equal(cen_pool_leave(&wrong), CEN_FOREIGN);
    wrong = scope;
    wrong.lease.generation++;
    expect_equal(cen_pool_leave(&wrong), CEN_STALE);
    expect_counts(pool, 0, 1);
    cen_scope inner = enter_now(); /* the thread still knows what it has entered */
    expect(inner.lease.object == scope.lease.object);
    expect_equal(cen_pool_leave(&inner), CEN_OK);
    expect_equal(cen_pool_leave(&scope), CEN_OK);
    free_pool(pool);
}

/* ---- Leases of scopes that end by hand ------------------------------------------------------------------ */

TEST(a_scope_whose_lease_was_given_by_hand_is_stale_and_the_next_enter_takes_anew)
{
    prepare(1);
    for (int i = 0; i < 3; i++) {
        cen_scope outer = enter_now(), inner = enter_now();
        if (i < 2) give_back(i ? &outer.lease : &inner.lease);
        else expect_equal(cen_pool_discard(&outer.lease), CEN_OK);
        expect_equal(expect_sound(pool).held, 0);
        expect_equal(cen_pool_leave(&inner), CEN_STALE);
        expect_equal(cen_pool_leave(&outer), CEN_STALE);
        cen_scope next = enter_now();
        expect_counts(pool, 0, 1);
        expect_equal(cen_pool_leave(&next), CEN_OK);
        expect_free();
    }
    free_pool(pool);
}

TEST(leaving_a_scope_that_was_given_by_hand_does_not_end_the_one_entered_since)
{
    prepare(2);
    cen_scope old = enter_now();
    cen_lease copy = old.lease;
    give_back(&copy);
    cen_scope outer = enter_now(); /* the same object in a new lease */
    expect_equal(cen_pool_leave(&old), CEN_STALE);
    cen_scope inner = enter_now();
    expect(inner.lease.object == outer.lease.object); /* still borrowed */
    expect_equal(expect_sound(pool).held, 1);
    expect_equal(cen_pool_leave(&inner), CEN_OK);
    expect_equal(cen_pool_leave(&outer), CEN_OK);
    expect_free();
    free_pool(pool);
}

/* ---- Taken away ------------------------------------------------------------------------------------------- */

static void close_now(void *argument)
{
    (void)argument;
    expect_equal(cen_pool_close(pool, cen_in_s(1), NULL, NULL), CEN_TIMEOUT);
}

TEST(an_object_in_a_closed_pool_is_borrowed_until_it_is_taken_away)
{
    prepare(1);
    cen_scope outer = enter_now();
    ceni_thread closer = start("closer", close_now, NULL);
    ceni_world_settle();
    expect(cen_pool_is_closed(pool));
    cen_scope inner = enter_now(), never;
    ceni_world_advance(SECOND);
    join(closer);
    cen_error error;
    expect_equal(cen_pool_enter(pool, CEN_NEVER, &never, &error), CEN_REVOKED);
    expect_error(&error, CEN_REVOKED, "\"scoped\"");
    expect_because(&error, CEN_CAUSE_REVOKED);
    expect_log(&shop, "+1 !1 ");
    expect_equal(cen_pool_leave(&inner), CEN_OK); /* not the last */
    expect_equal(cen_pool_leave(&outer), CEN_REVOKED);
    expect_log(&shop, "-1 ");
    expect_equal(cen_pool_leave(&outer), CEN_STALE);
    free_pool(pool);
}
