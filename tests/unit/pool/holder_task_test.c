/* SPDX-License-Identifier: MIT */
/*
 * Tasks as holders of leases (L13, L20): what they hold goes with them, and their
 * end is as that of a thread. An holder's count is never lower than what it has:
 * each odd way in which a lease ends is tried.
 */
#include "unit/pool/askers.h"
#include "unit/pool/tasks.h"

static workshop shop;

static cen_pool *pool_with(cen_holder_end_policy policy)
{
    shop = (workshop){0};
    return make_pool(.max = 3, .driver = driver_of(&shop), .on_holder_end = policy);
}

/* ---- From thread to thread ------------------------------------------------------------- */

typedef struct journey {
    task task;
    cen_pool *pool;
    cen_lease lease;
    uint64_t number;
} journey;

static void first_step(void *argument)
{
    journey *j = argument;
    begin_step(&j->task);
    j->lease = take_now(j->pool);
    j->number = cen_holder_number();
    end_step(&j->task);
    expect(cen_holder_number() == cen_thread_number() && cen_holder_is_task(j->number));
}

static void second_step(void *argument)
{
    journey *j = argument;
    begin_step(&j->task);
    expect(ceni_holder_holds());
    expect_equal(cen_holder_number(), j->number);
    give_back(&j->lease);
    expect(!ceni_holder_holds());
    end_step(&j->task);
}

/* guarantees: pool.L13-task */
TEST(L13_what_a_task_took_stays_its_own_when_the_thread_ends_and_another_goes_on_with_it)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_CLOSE);
    journey j = {.pool = pool};
    join(start("first", first_step, &j));
    expect_counts(pool, 0, 1);
    cen_object_view holding = holder_of(pool);
    expect(holding.holder == j.number && !holding.is_detached);
    expect(cen_holder_is_task(holding.holder) && !cen_holder_is_task(cen_thread_number()));
    join(start("second", second_step, &j));
    expect_counts(pool, 1, 0);
    end_task(&j.task);
    expect_log(&shop, "+1 ");
    free_pool(pool);
}

/* guarantees: pool.L13-task */
TEST(L13_what_a_task_holds_when_it_ends_goes_the_way_of_the_policy)
{
    for (cen_holder_end_policy policy = CEN_HOLDER_END_CLOSE; policy <= CEN_HOLDER_END_REUSE; policy++) {
        cen_pool *pool = pool_with(policy),
                 *other = make_stocked(CEN_POOL_OPTIONS(.max = 1, .on_holder_end = CEN_HOLDER_END_CLOSE), 1);
        task one = {.holder = {0}}, two = {.holder = {0}};
        cen_lease first = take_in_step(&one, pool), second = take_in_step(&one, pool), third = take_in_step(&two, pool);
        cen_lease elsewhere = take_in_step(&one, other);
        end_task(&one);
        expect_counts(pool, policy == CEN_HOLDER_END_CLOSE ? 0 : 2, 1);
        expect_log(&shop, policy == CEN_HOLDER_END_CLOSE ? "+1 +2 +3 -1 -2 " : "+1 +2 +3 ");
        expect_equal(cen_pool_give(&first), CEN_STALE);
        expect_equal(cen_pool_give(&second), CEN_STALE);
        expect_equal(cen_pool_give(&elsewhere), CEN_STALE);
        give_in_step(&two, &third);
        end_task(&two);
        free_pool(pool);
        free_pool(other);
    }
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: pool.L13-task */
TEST(L3_whoever_waits_for_what_a_task_held_is_served_when_it_ends)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .on_holder_end = CEN_HOLDER_END_REUSE), 1);
    task one = {.holder = {0}};
    take_in_step(&one, pool);
    taker waiter;
    begin_take(&waiter, pool, cen_in_s(1));
    expect_waiting(&waiter);
    end_task(&one);
    expect_taken(&waiter, 1);
    give_back(&waiter.lease);
    free_pool(pool);
}

/* ---- The count --------------------------------------------------------------------------- */

/* Takes and gives in one step, or in two, by the quick path or the slow one: nobody looks. */
static void expect_no_looks(cen_pool *pool)
{
    task one = {.holder = {0}}, idle = {.holder = {0}};
    walks_since();
    for (int i = 0; i < 3; i++) {
        begin_step(&one);
        for (int k = 0; k < 10; k++) {
            cen_lease lease = take_now(pool), other = take_now(pool);
            give_back(&lease);
            give_back(&other);
            expect(!ceni_holder_holds());
        }
        end_step(&one);
    }
    cen_lease kept = take_in_step(&one, pool);
    give_in_step(&one, &kept);
    expect(!holds_in_step(&one) && !holds_in_step(&idle));
    end_task(&one);
    end_task(&idle);
    expect_equal(walks_since(), 0);
}

/* guarantees: pool.holder-count */
TEST(a_task_that_gave_all_that_it_took_is_never_looked_for)
{
    for (cen_order order = CEN_ORDER_WARM; order <= CEN_ORDER_FIFO; order++) {
        cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 2, .order = order), 2);
        expect_no_looks(pool);
        expect_no_looks(pool); /* the thread knows the pool now */
        free_pool(pool);
    }
}

static cen_condition is_clean(void *unused, void *object)
{
    (void)unused, (void)object;
    return CEN_CLEAN;
}

/* guarantees: pool.holder-count */
TEST(a_task_that_gave_or_discarded_all_that_it_took_from_a_pool_with_a_check_is_never_looked_for)
{
    cen_driver_calls calls = workshop_calls;
    calls.check = is_clean;
    shop = (workshop){0};
    cen_pool *pool = make_pool(.max = 2, .driver = {&calls, &shop});
    expect_no_looks(pool);
    task one = {.holder = {0}};
    cen_lease lease = take_in_step(&one, pool);
    begin_step(&one);
    expect_equal(cen_pool_discard(&lease), CEN_OK);
    expect(!ceni_holder_holds());
    end_step(&one);
    end_task(&one);
    expect_equal(walks_since(), 0);
    free_pool(pool);
}

static void take_and_give_all(void *pool)
{
    for (int i = 0; i < 3; i++) {
        cen_lease lease = take_now(pool), other = take_now(pool);
        give_back(&lease);
        give_back(&other);
    }
}

static void take_and_keep_one(void *pool)
{
    take_and_give_all(pool);
    take_now(pool);
}

/* guarantees: pool.holder-count */
TEST(a_thread_that_gave_all_that_it_took_ends_without_a_look)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_REUSE);
    walks_since();
    join(start("thrifty", take_and_give_all, pool));
    expect_equal(walks_since(), 0);
    join(start("careless", take_and_keep_one, pool));
    expect_equal(walks_since(), 0); /* it knows where that one is (noted_test.c) */
    expect_counts(pool, 2, 0);
    free_pool(pool);
}

static void give_in_thread(void *lease)
{
    give_back(lease);
}

/* guarantees: pool.holder-count */
TEST(what_another_thread_gave_is_found_out_with_one_look)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_CLOSE);
    task one = {.holder = {0}};
    cen_lease lease = take_in_step(&one, pool);
    expect(holds_in_step(&one));
    join(start("giver", give_in_thread, &lease));
    walks_since();
    expect(!holds_in_step(&one));
    expect(walks_since() > 0);
    expect(!holds_in_step(&one));
    end_task(&one);
    expect_equal(walks_since(), 0);
    expect_counts(pool, 1, 0);
    free_pool(pool);
}

/* The giver must not count it as its own: it would seem to hold nothing, and would be helped into its own waiting. */
/* guarantees: pool.holder-count */
TEST(what_another_holder_gave_on_the_same_thread_is_not_taken_for_the_givers_own)
{
    for (int giver = 0; giver < 3; giver++) { /* another task; a task that runs within; the thread itself */
        cen_pool *pool = pool_with(CEN_HOLDER_END_REUSE);
        task one = {.holder = {0}}, two = {.holder = {0}};
        cen_lease theirs = take_in_step(&one, pool), mine;
        if (giver == 1) begin_step(&one);
        if (giver < 2) begin_step(&two);
        mine = take_now(pool);
        give_back(&theirs);
        expect(ceni_holder_holds());
        expect_equal(holder_of(pool).holder, cen_holder_number());
        if (giver < 2) end_step(&two);
        if (giver == 1) end_step(&one);
        if (giver == 2) expect(ceni_holder_holds());
        if (giver == 2) give_back(&mine);
        end_task(&one);
        expect_counts(pool, giver == 2 ? 2 : 1, giver == 2 ? 0 : 1);
        end_task(&two);
        expect_counts(pool, 2, 0);
        free_pool(pool);
    }
}

/* One after the other takes the slot that is warm: a give of the former lease, which has ended, is nobody's. */
/* guarantees: pool.holder-count */
TEST(a_stale_give_changes_no_count)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_REUSE);
    task one = {.holder = {0}};
    begin_step(&one);
    cen_lease lease = take_now(pool), copy = lease;
    give_back(&lease);
    cen_lease next = take_now(pool);
    expect_equal(cen_pool_give(&copy), CEN_STALE);
    expect_equal(cen_pool_discard(&copy), CEN_STALE);
    expect_equal(cen_pool_detach(&copy), CEN_STALE);
    expect(ceni_holder_holds() && next.pool);
    end_step(&one);
    end_task(&one);
    expect_counts(pool, 1, 0);
    free_pool(pool);
}

/* guarantees: pool.L13-task */
TEST(L13_a_detached_lease_is_not_held_by_its_task_and_survives_it)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_CLOSE);
    task one = {.holder = {0}}, two = {.holder = {0}};
    begin_step(&one);
    uint64_t number = cen_holder_number();
    cen_lease lease = take_now(pool), kept = take_now(pool);
    expect_equal(cen_pool_detach(&lease), CEN_OK);
    expect_equal(cen_pool_detach(&lease), CEN_OK); /* twice is the same as once */
    expect(ceni_holder_holds());                   /* the other */
    give_back(&kept);
    walks_since();
    expect(!ceni_holder_holds());
    end_step(&one);
    end_task(&one);
    expect_equal(walks_since(), 0);
    expect_counts(pool, 1, 1);
    expect(holder_of(pool).holder == number && holder_of(pool).is_detached);
    kept = take_in_step(&two, pool);
    give_in_step(&two, &lease); /* which is not its own: it still has one */
    expect(holds_in_step(&two));
    give_in_step(&two, &kept);
    end_task(&two);
    expect_log(&shop, "+1 +2 ");
    free_pool(pool);
}

static void detach_in_thread(void *lease)
{
    expect_equal(cen_pool_detach(lease), CEN_OK);
}

/* guarantees: pool.holder-count */
TEST(what_another_thread_detached_is_not_held_any_more)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_CLOSE);
    task one = {.holder = {0}};
    cen_lease lease = take_in_step(&one, pool);
    join(start("detaches", detach_in_thread, &lease));
    expect(!holds_in_step(&one));
    end_task(&one);
    give_back(&lease);
    expect_log(&shop, "+1 ");
    free_pool(pool);
}

/* guarantees: pool.L13-task */
TEST(L13_what_a_task_asked_for_belongs_to_the_task_and_ends_with_it)
{
    for (int i = 0; i < 2; i++) { /* the second by the quick path */
        cen_pool *pool = pool_with(CEN_HOLDER_END_CLOSE);
        task one = {.holder = {0}}, before = {.holder = {0}};
        asker taking;
        if (i) {
            cen_lease lease = take_in_step(&before, pool);
            give_in_step(&before, &lease);
        }
        begin_step(&one);
        uint64_t number = cen_holder_number();
        ask(&taking, pool, CEN_NOW);
        expect(ceni_holder_holds());
        end_step(&one);
        expect_told(&taking, CEN_OK);
        expect(holder_of(pool).holder == number && !holder_of(pool).is_detached);
        end_task(&one);
        expect_counts(pool, 0, 0);
        expect_equal(cen_pool_give(&taking.take.lease), CEN_STALE);
        free_pool(pool);
    }
}

/* guarantees: pool.L13-task */
TEST(L13_what_a_task_asked_for_and_waited_for_belongs_to_the_task)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .on_holder_end = CEN_HOLDER_END_REUSE), 1);
    cen_lease held = take_now(pool);
    task one = {.holder = {0}};
    asker taking;
    begin_step(&one);
    ask(&taking, pool, CEN_NEVER);
    expect(!ceni_holder_holds()); /* it waits, and may help others meanwhile; the look does not forget it */
    end_step(&one);
    give_back(&held); /* on a thread that is not the task's */
    expect_told(&taking, CEN_OK);
    expect(!holder_of(pool).is_detached);
    begin_step(&one);
    expect(ceni_holder_holds());
    end_step(&one);
    end_task(&one);
    expect_counts(pool, 1, 0);
    expect_equal(cen_pool_give(&taking.take.lease), CEN_STALE);
    free_pool(pool);
}

/* guarantees: pool.L13-task */
TEST(L13_an_ask_that_waits_when_its_task_ends_belongs_to_nobody)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .on_holder_end = CEN_HOLDER_END_REUSE), 1);
    cen_lease held = take_now(pool);
    task one = {.holder = {0}};
    asker taking;
    begin_step(&one);
    ask(&taking, pool, CEN_NEVER);
    end_step(&one);
    end_task(&one);
    give_back(&held);
    expect_told(&taking, CEN_OK);
    expect(holder_of(pool).is_detached);
    give_back(&taking.take.lease);
    free_pool(pool);
}

/* guarantees: pool.L13-task */
TEST(L13_a_task_that_gave_what_it_asked_for_is_not_looked_for)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    task one = {.holder = {0}};
    walks_since();
    for (int i = 0; i < 3; i++) {
        asker taking;
        begin_step(&one);
        ask(&taking, pool, CEN_NOW);
        expect_told(&taking, CEN_OK);
        give_back(&taking.take.lease);
        end_step(&one);
    }
    end_task(&one);
    expect_equal(walks_since(), 0);
    free_pool(pool);
}

/* guarantees: pool.L13-task */
TEST(L15_what_close_has_revoked_is_held_until_it_is_brought_back)
{
    for (int ends = 0; ends < 2; ends++) { /* by a give, or by the end of the task */
        cen_pool *pool = pool_with(CEN_HOLDER_END_REUSE);
        task one = {.holder = {0}};
        cen_lease lease = take_in_step(&one, pool);
        expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
        free_pool(pool);
        expect(holds_in_step(&one)); /* a pool that was freed is looked at, too */
        walks_since();
        begin_step(&one);
        if (!ends) expect_equal(cen_pool_give(&lease), CEN_REVOKED);
        if (!ends) expect(!ceni_holder_holds());
        end_step(&one);
        end_task(&one);
        expect_equal(walks_since() > 0, ends);
        expect_log(&shop, "+1 !1 -1 ");
        expect_equal(ceni_world_bytes(), 0);
    }
}

/* ---- Within one another ---------------------------------------------------------------------- */

/* guarantees: pool.L13-task */
TEST(a_task_that_runs_within_another_holds_what_it_took_and_nothing_else)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_REUSE);
    task outer = {.holder = {0}}, inner = {.holder = {0}};
    cen_lease threads = take_now(pool);
    begin_step(&outer);
    expect(!ceni_holder_holds());
    cen_lease outers = take_now(pool);
    begin_step(&inner);
    expect(!ceni_holder_holds());
    cen_lease inners = take_now(pool);
    expect(ceni_holder_holds());
    end_step(&inner);
    give_back(&outers);
    expect(!ceni_holder_holds());
    end_step(&outer);
    expect(ceni_holder_holds());
    end_task(&outer);
    expect_counts(pool, 1, 2);
    end_task(&inner);
    expect_counts(pool, 2, 1);
    expect_equal(cen_pool_give(&inners), CEN_STALE);
    give_back(&threads);
    free_pool(pool);
}

/* ---- The end of a thread in the middle ---------------------------------------------------------- */

static void end_in_a_step(void *argument)
{
    static task one;
    one = (task){.holder = {0}};
    take_now(argument); /* the thread's own */
    begin_step(&one);
    take_now(argument);
}

/* guarantees: pool.L13-task */
TEST(L13_a_thread_that_ends_in_the_middle_of_a_task_gives_back_what_both_had)
{
    cen_pool *pool = pool_with(CEN_HOLDER_END_REUSE);
    join(start("ends", end_in_a_step, pool));
    expect_counts(pool, 2, 0);
    free_pool(pool);
}

/* ---- Waiting ---------------------------------------------------------------------------------------- */

typedef struct waiting_task {
    task task;
    cen_pool *pool;
    uint64_t number;
    cen_status status;
    cen_lease lease;
} waiting_task;

static void wait_in_step(void *argument)
{
    waiting_task *self = argument;
    begin_step(&self->task);
    self->number = cen_holder_number();
    self->status = cen_pool_take(self->pool, CEN_NEVER, &self->lease, NULL);
    end_step(&self->task);
}

/* guarantees: pool.L13-task */
TEST(L13_what_a_waiting_task_is_granted_is_the_tasks)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 1, .max_barging_ns = CEN_NONE), 1);
    cen_lease mine = take_now(pool);
    waiting_task one = {.pool = pool};
    ceni_thread thread = start("waits", wait_in_step, &one);
    ceni_world_settle();
    give_back(&mine);
    join(thread);
    expect_equal(one.status, CEN_OK);
    expect_equal(holder_of(pool).holder, one.number);
    expect(holds_in_step(&one.task));
    give_in_step(&one.task, &one.lease);
    free_pool(pool);
}

/* guarantees: pool.L13-task */
TEST(a_task_that_waits_is_interrupted_by_its_number)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    cen_lease mine = take_now(pool);
    waiting_task one = {.pool = pool};
    ceni_thread thread = start("waits", wait_in_step, &one);
    ceni_world_settle();
    expect(!cen_pool_interrupt(pool, one.number & ~CEN_HOLDER_TASK));
    expect(cen_pool_interrupt(pool, one.number));
    join(thread);
    expect_equal(one.status, CEN_INTERRUPTED);
    give_back(&mine);
    free_pool(pool);
}

/* guarantees: pool.L13-task */
TEST(L20_a_task_that_holds_everything_is_told_and_one_whose_thread_does_is_not)
{
    cen_pool *pool = make_stocked(CEN_POOL_OPTIONS(.max = 2, .on_self_wait = CEN_SELF_WAIT_FAIL), 2);
    task one = {.holder = {0}}, two = {.holder = {0}};
    cen_lease first = take_in_step(&one, pool), second = take_in_step(&one, pool), third;
    cen_error error;
    expect_equal(cen_pool_take(pool, cen_in_ms(1), &third, &error), CEN_TIMEOUT); /* the thread has nothing */
    begin_step(&two);
    expect_equal(cen_pool_take(pool, cen_in_ms(1), &third, &error), CEN_TIMEOUT); /* nor has another task */
    end_step(&two);
    begin_step(&one);
    expect_equal(cen_pool_take(pool, CEN_NEVER, &third, &error), CEN_MISUSE);
    expect_error(&error, CEN_MISUSE, "this task holds all 2 objects itself");
    give_back(&first);
    give_back(&second);
    end_step(&one);
    free_pool(pool);
}
