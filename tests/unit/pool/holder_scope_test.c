/* SPDX-License-Identifier: MIT */
/* Scopes of tasks: each borrows its own, wherever it goes on; and what lists, texts and events say of tasks. */
#include "unit/pool/tasks.h"

#include "unit/pool/listeners.h"

static workshop shop;

static cen_pool *make_for_scopes(void)
{
    shop = (workshop){0};
    return make_pool(.name = "orders", .max = 3, .driver = driver_of(&shop), .on_holder_end = CEN_HOLDER_END_REUSE);
}

static cen_scope enter_now(cen_pool *pool)
{
    cen_scope scope;
    expect_equal(cen_pool_enter(pool, CEN_NOW, &scope, NULL), CEN_OK);
    return scope;
}

static void leave_now(cen_scope *scope)
{
    expect_equal(cen_pool_leave(scope), CEN_OK);
}

/* An inner scope has the object of the outer one. */
static void expect_borrows(cen_pool *pool, const cen_scope *outer)
{
    cen_scope inner = enter_now(pool);
    expect(inner.lease.object == outer->lease.object);
    leave_now(&inner);
}

/* ---- Whose scope it is ----------------------------------------------------------------- */

/* guarantees: pool.task-scopes */
TEST(a_task_within_another_does_not_borrow_what_the_outer_one_has)
{
    for (int detached = 0; detached < 2; detached++) {
        cen_pool *pool = make_for_scopes();
        task outer = {.holder = {0}}, inner = {.holder = {0}};
        cen_scope threads = enter_now(pool); /* and neither does a task what its thread has */
        begin_step(&outer);
        cen_scope outers = enter_now(pool);
        if (detached) expect_equal(cen_pool_detach(&outers.lease), CEN_OK);
        begin_step(&inner);
        cen_scope inners = enter_now(pool);
        expect(inners.lease.object != outers.lease.object && inners.lease.object != threads.lease.object);
        expect(outers.lease.object != threads.lease.object);
        expect_borrows(pool, &inners);
        expect_equal(cen_pool_leave(&outers), CEN_MISUSE); /* it is not the inner one's to leave */
        expect_equal(cen_pool_leave(&threads), CEN_MISUSE);
        leave_now(&inners);
        end_step(&inner);
        expect_borrows(pool, &outers);
        leave_now(&outers);
        expect(!ceni_holder_holds());
        end_step(&outer);
        expect_borrows(pool, &threads);
        leave_now(&threads);
        expect_counts(pool, 3, 0);
        free_pool(pool);
    }
}

typedef struct journey {
    task task;
    cen_pool *pools[3];
    cen_scope scopes[3];
} journey;

static void enter_all(void *argument)
{
    journey *j = argument;
    begin_step(&j->task);
    for (int i = 0; i < 3; i++) expect_equal(cen_pool_enter(j->pools[i], CEN_NOW, &j->scopes[i], NULL), CEN_OK);
    end_step(&j->task);
}

static void borrow_and_leave_all(void *argument)
{
    journey *j = argument;
    begin_step(&j->task);
    for (int i = 0; i < 3; i++) {
        for (int k = i; k < 3; k++) expect_borrows(j->pools[k], &j->scopes[k]);
        leave_now(&j->scopes[i]);
    }
    expect_equal(ceni_holder_current()->scope, 0); /* nothing is left to be searched for */
    end_step(&j->task);
}

/* guarantees: pool.task-scopes */
TEST(scopes_of_a_task_are_borrowed_and_left_on_another_thread)
{
    journey j = {.pools = {make_for_scopes(), make_for_scopes(), make_for_scopes()}};
    join(start("first", enter_all, &j));
    for (int i = 0; i < 3; i++) { /* nobody else finds them */
        cen_scope mine = enter_now(j.pools[i]);
        expect(mine.lease.object != j.scopes[i].lease.object);
        leave_now(&mine);
    }
    join(start("second", borrow_and_leave_all, &j));
    end_task(&j.task);
    for (int i = 0; i < 3; i++) {
        expect_counts(j.pools[i], 2, 0);
        free_pool(j.pools[i]);
    }
}

/* guarantees: pool.task-scopes */
TEST(L13_a_task_that_ends_in_its_scopes_leaves_one_lease_to_the_policy)
{
    cen_pool *pool = make_for_scopes();
    task one = {.holder = {0}}, next = {.holder = {0}};
    begin_step(&one);
    cen_scope outer = enter_now(pool), inner = enter_now(pool);
    end_step(&one);
    expect_counts(pool, 0, 1);
    end_task(&one);
    expect_counts(pool, 1, 0);
    begin_step(&next); /* the scopes of the former are nobody's */
    cen_scope mine = enter_now(pool);
    expect(mine.lease.object == outer.lease.object && mine.lease.generation != inner.lease.generation);
    leave_now(&mine);
    end_step(&next);
    expect_counts(pool, 1, 0);
    free_pool(pool);
}

/* guarantees: pool.task-scopes */
TEST(a_scope_of_a_task_that_was_given_by_hand_does_not_use_up_its_note)
{
    cen_pool *pool = make_for_scopes();
    task one = {.holder = {0}};
    begin_step(&one);
    for (int i = 0; i < 10; i++) {
        cen_scope scope = enter_now(pool);
        expect_equal(ceni_holder_current()->scope >> 20 & 0xFFF, 0);
        cen_lease copy = scope.lease;
        give_back(&copy);
    }
    end_step(&one);
    end_task(&one);
    expect_counts(pool, 1, 0);
    free_pool(pool);
}

/* guarantees: pool.task-scopes */
TEST(more_scopes_than_can_be_counted_are_still_borrowed)
{
    enum { MANY = 4200, PERIOD = 3 };
    cen_pool *pools[PERIOD];
    for (int i = 0; i < PERIOD; i++) pools[i] = make_for_scopes();
    task one = {.holder = {0}};
    begin_step(&one);
    cen_scope first = enter_now(pools[0]);
    for (int i = 1; i < MANY; i++) { /* left behind by a longjmp, say, and their leases given by hand */
        cen_scope scope = enter_now(pools[1 + i % (PERIOD - 1)]);
        cen_lease copy = scope.lease;
        give_back(&copy);
    }
    expect_borrows(pools[0], &first);
    cen_scope last = enter_now(pools[1]);
    expect_borrows(pools[1], &last);
    leave_now(&last);
    leave_now(&first);
    expect(!ceni_holder_holds());
    end_step(&one);
    for (int i = 0; i < PERIOD; i++) free_pool(pools[i]);
}

/* ---- What is said of tasks ---------------------------------------------------------------- */

/* guarantees: pool.task-scopes */
TEST(a_text_and_an_event_say_that_it_is_a_task_and_which)
{
    static ear listener;
    memset(&listener, 0, sizeof listener);
    cen_pool *pool = make_for_scopes();
    listen_with(pool, &listener);
    task one = {.holder = {0}};
    begin_step(&one);
    cen_lease lease = take_now(pool);
    uint64_t holder = cen_holder_number();
    end_step(&one);
    char words[40], text[2000];
    snprintf(words, sizeof words, "by task %u", (unsigned)(holder & ~CEN_HOLDER_TASK));
    cen_pool_explain(pool, text, sizeof text);
    expect(strstr(text, words) != NULL);
    expect_heard(&listener, "opened ");
    end_task(&one);
    ceni_world_settle();
    expect(listener.count == 1 && listener.events[0].kind == CEN_EVENT_HOLDER_ENDED &&
           listener.events[0].holder == holder);
    snprintf(words, sizeof words, "task %u ended while holding object 0", (unsigned)(holder & ~CEN_HOLDER_TASK));
    expect(strstr(listener.events[0].text, words) != NULL);
    expect_equal(cen_pool_give(&lease), CEN_STALE);
    free_pool(pool);
}

/* guarantees: pool.task-scopes */
TEST(what_a_task_held_is_closed_with_a_word_on_the_task)
{
    static ear listener;
    memset(&listener, 0, sizeof listener);
    shop = (workshop){0};
    cen_pool *pool =
        make_pool(.name = "orders", .max = 1, .driver = driver_of(&shop), .on_holder_end = CEN_HOLDER_END_CLOSE);
    listen_with(pool, &listener);
    task one = {.holder = {0}};
    take_in_step(&one, pool);
    end_task(&one);
    ceni_world_settle();
    expect_equal(listener.events[2].kind, CEN_EVENT_CLOSED);
    expect(strstr(listener.events[2].text, "holder task ended") != NULL);
    free_pool(pool);
}

/* guarantees: pool.task-scopes */
TEST(a_leak_of_a_task_is_told_with_its_number)
{
    static ear listener;
    memset(&listener, 0, sizeof listener);
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .leak_after_ns = SECOND), 1);
    listen_with(pool, &listener);
    task one = {.holder = {0}};
    begin_step(&one);
    cen_lease lease = take_now(pool);
    uint64_t holder = cen_holder_number();
    end_step(&one);
    ceni_sleep_until(ceni_clock_now() + 10 * SECOND);
    ceni_world_settle();
    expect(listener.count == 1 && listener.events[0].kind == CEN_EVENT_LEAK && listener.events[0].holder == holder);
    char words[60];
    snprintf(words, sizeof words, "held by task %u for at least ", (unsigned)(holder & ~CEN_HOLDER_TASK));
    expect(strstr(listener.events[0].text, words) != NULL);
    give_in_step(&one, &lease);
    free_pool(pool);
}

/* guarantees: pool.task-scopes */
TEST(L20_a_task_that_waits_for_itself_is_told_of_as_a_task)
{
    static ear listener;
    memset(&listener, 0, sizeof listener);
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    listen_with(pool, &listener);
    task one = {.holder = {0}};
    cen_lease lease = take_in_step(&one, pool), other;
    begin_step(&one);
    cen_error error;
    expect_equal(cen_pool_take(pool, cen_in_ms(1), &other, &error), CEN_TIMEOUT);
    give_back(&lease);
    end_step(&one);
    ceni_world_settle();
    expect_equal(listener.events[0].kind, CEN_EVENT_SELF_WAIT);
    expect(cen_holder_is_task(listener.events[0].holder) && strstr(listener.events[0].text, "task 1 waits") != NULL);
    expect_error(&error, CEN_TIMEOUT, "this task holds all of them itself");
    expect_equal(walks_since(), 0);
    free_pool(pool);
}
