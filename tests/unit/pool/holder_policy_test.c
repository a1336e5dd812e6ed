/* SPDX-License-Identifier: MIT */
/*
 * What becomes of leases whose thread has ended (L13), by every policy; detach;
 * and a thread that holds everything itself (L20).
 */
#include "base/fault.h"
#include "pool/internal.h"
#include "support/world.h"
#include "unit/pool/listeners.h"

/* ---- A driver with everything -------------------------------------------------------- */

static workshop shop;
static cen_condition condition; /* what check says */
static cen_status reset_answer, test_answer;
static cen_driver_calls calls;

static cen_condition check_object(void *unused, void *object)
{
    (void)unused;
    workshop_log(&shop, '?', (int)(intptr_t)object);
    return condition;
}

static cen_status reset_object(void *unused, void *object, cen_error *error)
{
    (void)unused, (void)error;
    workshop_log(&shop, '~', (int)(intptr_t)object);
    return reset_answer;
}

static cen_status test_object(void *unused, void *object, cen_error *error)
{
    (void)unused, (void)error;
    workshop_log(&shop, '=', (int)(intptr_t)object);
    return test_answer;
}

/* A driver that opens and closes, and has those of check, reset and test that are named: "cr" has no test. */
static cen_driver driver_with(const char *functions)
{
    shop = (workshop){0};
    condition = CEN_CLEAN;
    reset_answer = test_answer = CEN_OK;
    calls = workshop_calls;
    if (strchr(functions, 'c')) calls.check = check_object;
    if (strchr(functions, 'r')) calls.reset = reset_object;
    if (strchr(functions, 't')) calls.test = test_object;
    return (cen_driver){&calls, &shop};
}

static cen_pool *pool_with(cen_holder_end_policy policy, const char *functions, cen_order order)
{
    return make_pool(.max = 2, .driver = driver_with(functions), .on_holder_end = policy, .order = order);
}

/* ---- Threads that end -------------------------------------------------------------------- */

typedef struct holder {
    cen_pool *pools[3];
    int takes; /* from each */
    bool detaches;
    cen_lease leases[3][2];
    uint64_t number;
} holder;

static void take_and_end(void *argument)
{
    holder *one = argument;
    one->number = cen_thread_number();
    for (int p = 0; p < 3 && one->pools[p]; p++) {
        for (int i = 0; i < one->takes; i++) {
            one->leases[p][i] = take_now(one->pools[p]);
            if (one->detaches) expect_equal(cen_pool_detach(&one->leases[p][i]), CEN_OK);
        }
    }
}

/* A thread takes one object of the pool and ends. */
static holder end_with_one(cen_pool *pool)
{
    holder one = {.pools = {pool}, .takes = 1};
    join(start("holder", take_and_end, &one));
    return one;
}

/* guarantees: pool.L13, life-bugs.J */
TEST(L13_with_the_policy_close_what_an_ended_thread_held_is_closed)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_pool *pool = pool_with(CEN_HOLDER_END_CLOSE, "crt", order);
        holder one = end_with_one(pool);
        expect_log(&shop, "+1 -1 ");
        expect_counts(pool, 0, 0);
        expect_equal(cen_pool_give(&one.leases[0][0]), CEN_STALE);
        cen_lease next = take_now(pool); /* its place is free */
        expect_equal(number_of(&next), 2);
        give_back(&next);
        free_pool(pool);
    }
}

/* guarantees: pool.L13 */
TEST(L13_reuse_gives_it_back_as_it_is)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_pool *pool = pool_with(CEN_HOLDER_END_REUSE, "crt", order);
        holder one = end_with_one(pool);
        expect_log(&shop, "+1 ");
        expect_counts(pool, 1, 0);
        expect_equal(cen_pool_give(&one.leases[0][0]), CEN_STALE);
        free_pool(pool);
    }
}

static void expect_tested(const char *functions, cen_condition says, const char *log, uint32_t idle)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_LIFO; order++) {
        cen_pool *pool = pool_with(CEN_HOLDER_END_TEST, functions, order);
        condition = says;
        holder one = end_with_one(pool);
        expect_log(&shop, log);
        expect_counts(pool, idle, 0);
        expect_equal(cen_pool_give(&one.leases[0][0]), CEN_STALE);
        free_pool(pool);
    }
}

/* guarantees: pool.L13, life-bugs.J */
TEST(L13_test_checks_resets_and_tests_as_the_driver_can)
{
    expect_tested("crt", CEN_CLEAN, "+1 ?1 =1 ", 1);
    expect_tested("crt", CEN_DIRTY, "+1 ?1 ~1 =1 ", 1);
    expect_tested("crt", CEN_BROKEN, "+1 ?1 -1 ", 0);
    expect_tested("ct", CEN_DIRTY, "+1 ?1 -1 ", 0); /* it cannot be reset */
    expect_tested("t", CEN_CLEAN, "+1 =1 ", 1);
    expect_tested("cr", CEN_DIRTY, "+1 ?1 ~1 ", 1);
    expect_tested("c", CEN_CLEAN, "+1 ?1 ", 1);
    expect_tested("", CEN_CLEAN, "+1 ", 1);
}

/* guarantees: pool.L13 */
TEST(L13_what_fails_its_reset_or_its_test_is_closed)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_TEST, "crt", CEN_ORDER_WARM);
    test_answer = CEN_DRIVER;
    end_with_one(pool);
    expect_log(&shop, "+1 ?1 =1 -1 ");
    condition = CEN_DIRTY;
    reset_answer = CEN_DRIVER;
    end_with_one(pool);
    expect_log(&shop, "+2 ?2 ~2 -2 ");
    expect_counts(pool, 0, 0);
    free_pool(pool);
}

/* Only then: an object that is given is checked and reset as ever. */
TEST(what_is_given_is_not_tested)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_TEST, "crt", CEN_ORDER_WARM);
    end_with_one(pool);
    expect_log(&shop, "+1 ?1 =1 ");
    cen_lease lease = take_now(pool);
    condition = CEN_DIRTY;
    give_back(&lease);
    expect_log(&shop, "?1 ~1 ");
    free_pool(pool);
}

static void take_reload_and_end(void *argument)
{
    holder *one = argument;
    one->leases[0][0] = take_now(one->pools[0]);
    expect_equal(cen_pool_reload(one->pools[0], 0, NULL), CEN_OK);
}

/* guarantees: pool.L13 */
TEST(L13_what_was_reloaded_while_it_was_out_is_closed_whatever_the_policy)
{
    for (cen_holder_end_policy policy = CEN_HOLDER_END_CLOSE; policy <= CEN_HOLDER_END_REUSE; policy++) {
        cen_pool *pool = pool_with(policy, "crt", CEN_ORDER_WARM);
        holder one = {.pools = {pool}};
        join(start("holder", take_reload_and_end, &one));
        expect_log(&shop, "+1 -1 ");
        free_pool(pool);
    }
}

/* guarantees: pool.L13 */
TEST(L13_a_thread_that_ends_is_asked_for_in_every_pool)
{
    cen_pool *first = pool_with(CEN_HOLDER_END_CLOSE, "", CEN_ORDER_WARM);
    cen_pool *second = make_pool(.max = 2, .driver = {&calls, &shop}, .on_holder_end = CEN_HOLDER_END_REUSE);
    cen_pool *third =
        make_pool(.max = 2, .driver = {&calls, &shop}, .order = CEN_ORDER_FIFO, .on_holder_end = CEN_HOLDER_END_CLOSE);
    cen_lease mine = take_now(second); /* another thread's stays where it is */
    holder one = {.pools = {first, second, third}, .takes = 1};
    join(start("holder", take_and_end, &one));
    expect_counts(first, 0, 0);
    expect_counts(second, 1, 1);
    expect_counts(third, 0, 0);
    give_back(&mine);
    free_pool(first);
    free_pool(second);
    free_pool(third);
}

/* guarantees: pool.L13 */
TEST(L13_all_that_a_thread_holds_in_one_pool_is_taken_back)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_REUSE, "", CEN_ORDER_WARM);
    holder one = {.pools = {pool}, .takes = 2};
    join(start("holder", take_and_end, &one));
    expect_counts(pool, 2, 0);
    expect(cen_pool_give(&one.leases[0][0]) == CEN_STALE && cen_pool_give(&one.leases[0][1]) == CEN_STALE);
    free_pool(pool);
}

typedef struct late_holder {
    cen_pool *pool;
    cen_lease lease;
    _Atomic uint32_t may_end;
} late_holder;

static void hold_until_told(void *argument)
{
    late_holder *one = argument;
    one->lease = take_now(one->pool);
    while (ceni_load_acquire(&one->may_end) == 0) ceni_futex_wait(&one->may_end, 0, CENI_FOREVER);
}

static void tell_to_end(void *argument)
{
    late_holder *one = argument;
    ceni_store_release(&one->may_end, 1);
    ceni_futex_wake(&one->may_end, 1);
}

/* guarantees: pool.L13 */
TEST(L13_whoever_waits_gets_what_an_ended_thread_held)
{
    for (cen_holder_end_policy policy = CEN_HOLDER_END_CLOSE; policy <= CEN_HOLDER_END_REUSE; policy++) {
        cen_pool *pool = make_pool(.max = 1, .driver = driver_with("crt"), .on_holder_end = policy);
        late_holder one = {.pool = pool};
        ceni_thread thread = start("holder", hold_until_told, &one);
        ceni_world_settle();
        ceni_thread teller = start("teller", tell_to_end, &one);
        cen_lease lease;
        expect_equal(cen_pool_take(pool, cen_in_s(1), &lease, NULL), CEN_OK);
        expect_equal(number_of(&lease), policy == CEN_HOLDER_END_CLOSE ? 2 : 1);
        join(thread);
        join(teller);
        give_back(&lease);
        free_pool(pool);
    }
}

/* ---- Passing and detaching ------------------------------------------------------------------ */

/* guarantees: pool.L13 */
TEST(L13_a_detached_lease_survives_its_thread_and_still_says_who_took_it)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_CLOSE, "", CEN_ORDER_WARM);
    holder one = {.pools = {pool}, .takes = 1, .detaches = true};
    join(start("holder", take_and_end, &one));
    expect_counts(pool, 0, 1);
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect(count == 1 && holding.is_detached && holding.holder == one.number);
    give_back(&one.leases[0][0]);
    expect_counts(pool, 1, 0);
    cen_lease next = take_now(pool); /* which is another lease, and attached */
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect(count == 1 && !holding.is_detached && holding.holder == cen_thread_number());
    give_back(&next);
    free_pool(pool);
}

static void give_in_thread(void *lease)
{
    give_back(lease);
}

/* guarantees: pool.L13 */
TEST(L13_a_lease_that_another_thread_gave_is_not_taken_back_twice)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_CLOSE, "", CEN_ORDER_WARM);
    cen_lease lease = take_now(pool);
    join(start("giver", give_in_thread, &lease));
    expect_counts(pool, 1, 0);
    holder one = {.pools = {pool}, .takes = 1, .detaches = true};
    join(start("holder", take_and_end, &one));
    join(start("giver", give_in_thread, &one.leases[0][0])); /* after its taker has ended */
    expect_counts(pool, 1, 0);
    expect_log(&shop, "+1 ");
    free_pool(pool);
}

/* guarantees: pool.L13 */
TEST(detach_of_what_is_no_lease_any_more_is_refused)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_CLOSE, "", CEN_ORDER_WARM),
             *other = pool_with(CEN_HOLDER_END_CLOSE, "", CEN_ORDER_WARM);
    cen_lease lease = take_now(pool), copy = lease, foreign = lease;
    foreign.pool = other;
    expect_equal(cen_pool_detach(NULL), CEN_INVALID);
    expect_equal(cen_pool_detach(&foreign), CEN_FOREIGN);
    expect_equal(cen_pool_detach(&lease), CEN_OK);
    expect_equal(cen_pool_detach(&lease), CEN_OK); /* twice is the same as once */
    give_back(&lease);
    expect_equal(cen_pool_detach(&lease), CEN_STALE);
    expect_equal(cen_pool_detach(&copy), CEN_STALE);
    cen_lease next = take_now(pool);
    expect_equal(cen_pool_detach(&copy), CEN_STALE); /* although its slot has been lent again */
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect(count == 1 && !holding.is_detached);
    give_back(&next);
    free_pool(pool);
    free_pool(other);
}

/* ---- Scopes ------------------------------------------------------------------------------------- */

static void end_in_scopes(void *argument)
{
    static cen_scope scopes[3];
    for (int i = 0; i < 3; i++) expect_equal(cen_pool_enter(argument, CEN_NOW, &scopes[i], NULL), CEN_OK);
    expect(scopes[0].lease.object == scopes[2].lease.object);
}

/* guarantees: pool.L13 */
TEST(L13_a_thread_that_ends_in_nested_scopes_leaves_one_lease_to_the_policy)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_REUSE, "", CEN_ORDER_WARM);
    join(start("inside", end_in_scopes, pool));
    expect_counts(pool, 1, 0);
    cen_scope scope;
    expect_equal(cen_pool_enter(pool, CEN_NOW, &scope, NULL), CEN_OK); /* its scopes are nobody's */
    expect_equal(cen_pool_leave(&scope), CEN_OK);
    expect_counts(pool, 1, 0);
    free_pool(pool);
}

/* guarantees: pool.L13 */
TEST(scopes_of_a_detached_lease_borrow_and_the_last_gives_back)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_CLOSE, "", CEN_ORDER_WARM);
    cen_scope outer, inner;
    expect_equal(cen_pool_enter(pool, CEN_NOW, &outer, NULL), CEN_OK);
    expect_equal(cen_pool_detach(&outer.lease), CEN_OK);
    expect_equal(cen_pool_enter(pool, CEN_NOW, &inner, NULL), CEN_OK);
    expect(inner.lease.object == outer.lease.object);
    expect_equal(cen_pool_leave(&inner), CEN_OK);
    expect_counts(pool, 0, 1);
    expect_equal(cen_pool_leave(&outer), CEN_OK);
    expect_counts(pool, 1, 0);
    free_pool(pool);
}

/* ---- Closed pools ------------------------------------------------------------------------------------ */

/* guarantees: pool.L15 */
TEST(L15_close_goes_on_when_a_holder_ends)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_REUSE, "", CEN_ORDER_WARM);
    late_holder one = {.pool = pool};
    ceni_thread thread = start("holder", hold_until_told, &one);
    ceni_world_settle();
    ceni_thread teller = start("teller", tell_to_end, &one);
    cen_close_report report = CEN_SIZED(cen_close_report);
    expect_equal(cen_pool_close(pool, cen_in_s(1), &report, NULL), CEN_OK);
    join(thread);
    join(teller);
    expect_log(&shop, "+1 -1 ");
    expect(report.revoked == 0 && report.given == 1);
    free_pool(pool);
}

/* guarantees: pool.L15 */
TEST(L15_what_was_revoked_is_closed_when_its_holder_ends)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_REUSE, "", CEN_ORDER_WARM);
    late_holder one = {.pool = pool};
    ceni_thread thread = start("holder", hold_until_told, &one);
    ceni_world_settle();
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    expect_log(&shop, "+1 !1 ");
    tell_to_end(&one);
    join(thread);
    expect_log(&shop, "-1 ");
    expect_equal(cen_pool_give(&one.lease), CEN_STALE);
    free_pool(pool);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: pool.L15 */
TEST(L15_a_freed_pool_is_gone_when_the_last_holder_has_ended)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_REUSE, "", CEN_ORDER_WARM);
    late_holder one = {.pool = pool};
    ceni_thread thread = start("holder", hold_until_told, &one);
    ceni_world_settle();
    free_pool(pool);
    expect(ceni_world_bytes() > 0);
    tell_to_end(&one);
    join(thread);
    expect_log(&shop, "+1 !1 -1 ");
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- The driver on a thread that ends ------------------------------------------------------------------ */

static cen_pool *used_inside;
static cen_lease kept_inside;

static void take_inside(workshop *unused, char what, void *object)
{
    (void)unused, (void)object;
    if (what != '-') return;
    kept_inside = take_now(used_inside);
    expect_equal(cen_pool_detach(&kept_inside), CEN_OK);
}

TEST(a_driver_that_is_called_at_a_threads_end_may_use_other_pools)
{
    cen_pool *other = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    cen_pool *pool = pool_with(CEN_HOLDER_END_CLOSE, "", CEN_ORDER_WARM);
    used_inside = other;
    shop.inside = take_inside;
    end_with_one(pool);
    shop.inside = NULL;
    expect_counts(other, 0, 1);
    give_back(&kept_inside);
    free_pool(pool);
    free_pool(other);
}

static void free_inside(workshop *unused, char what, void *object)
{
    (void)unused, (void)object;
    if (what == '-') free_pool(used_inside);
}

TEST(a_driver_that_is_called_at_a_threads_end_may_free_another_pool)
{
    used_inside = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    cen_pool *pool = pool_with(CEN_HOLDER_END_CLOSE, "", CEN_ORDER_WARM);
    shop.inside = free_inside;
    end_with_one(pool);
    shop.inside = NULL;
    free_pool(pool);
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- Without the system's help -------------------------------------------------------------------------- */

static void take_twice_and_end(void *argument)
{
    holder *one = argument;
    ceni_fault_arm(CENI_FAULT_KEY, 1);
    one->leases[0][0] = take_now(one->pools[0]);
    expect(ceni_fault_disarm());
    if (one->takes > 1) one->leases[0][1] = take_now(one->pools[0]);
}

/* guarantees: pool.L13 */
TEST(a_thread_whose_end_cannot_be_noticed_is_tried_again_with_the_next_take)
{
    for (int takes = 1; takes <= 2; takes++) {
        cen_pool *pool = pool_with(CEN_HOLDER_END_CLOSE, "", CEN_ORDER_WARM);
        holder one = {.pools = {pool}, .takes = takes};
        join(start("holder", take_twice_and_end, &one));
        expect_counts(pool, 0, takes == 1);
        if (takes == 1) give_back(&one.leases[0][0]);
        free_pool(pool);
    }
}

/* ---- What is told ---------------------------------------------------------------------------------------- */

TEST(L13_the_event_stream_hears_who_ended_and_where_it_took_the_object)
{
    static ear listener;
    memset(&listener, 0, sizeof listener);
    cen_pool *pool = pool_with(CEN_HOLDER_END_REUSE, "", CEN_ORDER_WARM);
    listen_with(pool, &listener);
    holder one = end_with_one(pool), other = {.pools = {pool}, .takes = 1, .detaches = true};
    ceni_world_settle();
    expect_equal(listener.events[1].kind, CEN_EVENT_HOLDER_ENDED);
    expect(listener.events[1].holder == one.number && listener.events[1].value == 0);
    expect(strstr(listener.events[1].text, "pools.h:") && strstr(listener.events[1].text, "; the object is reused"));
    expect_heard(&listener, "opened holder_ended ");
    join(start("holder", take_and_end, &other));
    expect_heard(&listener, ""); /* it was detached, and is not taken back */
    give_back(&other.leases[0][0]);
    free_pool(pool);
}

/* ---- L20: whoever holds everything ------------------------------------------------------------------------ */

TEST(L20_a_thread_that_holds_everything_is_told_at_once)
{
    cen_pool *pool = make_pool(.max = 2, .driver = driver_with(""), .on_self_wait = CEN_SELF_WAIT_FAIL);
    cen_lease first = take_now(pool), second, third;
    cen_error error;
    expect_equal(cen_pool_take(pool, CEN_NEVER, &second, &error), CEN_OK); /* one could be opened */
    expect_equal(cen_pool_take(pool, CEN_NEVER, &third, &error), CEN_MISUSE);
    expect_error(&error, CEN_MISUSE, "holds all 2 objects itself");
    expect_because(&error, CEN_CAUSE_SELF_WAIT);
    expect_equal(cen_pool_detach(&second), CEN_OK); /* somebody else may have it now */
    expect_equal(cen_pool_take(pool, cen_in_ms(1), &third, &error), CEN_TIMEOUT);
    give_back(&first);
    holder one = {.pools = {pool}, .takes = 1, .detaches = true};
    join(start("holder", take_and_end, &one));
    expect_equal(cen_pool_take(pool, cen_in_ms(1), &third, &error), CEN_TIMEOUT); /* another has one */
    give_back(&second);
    give_back(&one.leases[0][0]);
    free_pool(pool);
}

/* ---- Backtraces ---------------------------------------------------------------------------------------------- */

TEST(with_backtraces_a_holder_is_listed_with_the_calls_that_led_to_its_take)
{
    cen_pool *pool = make_pool(.max = 2, .driver = driver_with(""), .backtraces = true);
    cen_lease lease = take_now(pool);
    cen_object_view holding;
    size_t count;
    for (int i = 0; i < 2; i++) { /* the second of them would have been quick */
        expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
        expect(count == 1 && holding.backtrace_count == 3);
        expect((uintptr_t)holding.backtrace[0] == (cen_thread_number() << 8 | 1)); /* as the fake seam makes them */
        give_back(&lease);
        lease = take_now(pool);
    }
    expect_equal(cen_pool_resize(pool, 9, NULL), CEN_OK); /* slots that came later have room, too */
    cen_lease more[8];
    for (int i = 0; i < 8; i++) more[i] = take_now(pool);
    cen_object_view all[9];
    expect_equal(cen_pool_holders(pool, all, 9, &count), CEN_OK);
    for (size_t i = 0; i < 9; i++) expect_equal(all[i].backtrace_count, 3);
    for (int i = 0; i < 8; i++) give_back(&more[i]);
    give_back(&lease);
    free_pool(pool);
}

TEST(without_backtraces_there_are_none)
{
    cen_pool *pool = make_pool(.max = 1, .driver = driver_with(""));
    cen_lease lease = take_now(pool);
    cen_object_view holding;
    size_t count;
    expect_equal(cen_pool_holders(pool, &holding, 1, &count), CEN_OK);
    expect_equal(holding.backtrace_count, 0);
    give_back(&lease);
    free_pool(pool);
}
