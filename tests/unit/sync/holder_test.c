/* SPDX-License-Identifier: MIT */
/*
 * Holders without a pool: who is the current one, numbers, and when the pools
 * are asked. A stand-in says what they hold.
 */
#include "sync/holder.h"

#include "support/world.h"

static int looks, ends;
static uint64_t looked_for, ended;
static bool answer;

static bool asks;

static ceni_holding stand_in_holds(uint64_t holder)
{
    looks++;
    looked_for = holder;
    return answer ? CENI_HOLDS_SOMETHING : asks ? CENI_HOLDS_ASKS : CENI_HOLDS_NOTHING;
}

static void stand_in_ended(uint64_t holder)
{
    ends++;
    ended = holder;
}

static const ceni_holder_calls stand_in = {.holds = stand_in_holds, .ended = stand_in_ended};

static void begin(void)
{
    looks = ends = 0;
    looked_for = ended = 0;
    answer = false;
    ceni_holder_publish(&stand_in);
}

/* guarantees: pool.holder-count */
TEST(a_thread_is_its_own_holder_by_its_own_number)
{
    expect_equal(ceni_holder_known(), 0);
    expect_equal(ceni_holder_number(), ceni_thread_id());
    expect_equal(ceni_holder_known(), ceni_thread_id());
    expect(!ceni_own_is_task(ceni_holder_current()));
}

/* guarantees: pool.holder-count */
TEST(a_task_has_a_number_when_it_wants_one_and_not_before)
{
    ceni_holder one = {0}, other = {0};
    ceni_holder_before before;
    ceni_holder_enter(&one, &before); /* wants none */
    expect(ceni_own_is_task(ceni_holder_current()));
    expect_equal(ceni_holder_known(), 0);
    ceni_holder_leave(&one, &before);
    ceni_holder_enter(&other, &before);
    uint64_t number = ceni_holder_number();
    expect_equal(number, CENI_HOLDER_TASK | 1); /* the first that there is */
    expect_equal(ceni_holder_number(), number);
    ceni_holder_leave(&other, &before);
    expect_equal(ceni_holder_number(), ceni_thread_id());
    ceni_holder_enter(&one, &before); /* a second step, and still none */
    expect(ceni_own_is_task(ceni_holder_current()));
    expect_equal(ceni_holder_number(), CENI_HOLDER_TASK | 2);
    ceni_holder_leave(&one, &before);
}

enum { TASKS = 200 };

static void number_tasks(void *into)
{
    uint64_t *numbers = into;
    for (int i = 0; i < TASKS; i++) {
        ceni_holder holder = {0};
        ceni_holder_before before;
        ceni_holder_enter(&holder, &before);
        numbers[i] = ceni_holder_number();
        ceni_holder_leave(&holder, &before);
        ceni_thread_yield();
    }
}

/* guarantees: pool.holder-count */
TEST(no_two_tasks_have_the_same_number_on_whatever_threads_they_get_it)
{
    static uint64_t numbers[2][TASKS];
    ceni_thread threads[2];
    for (int t = 0; t < 2; t++) threads[t] = start("numbers", number_tasks, numbers[t]);
    for (int t = 0; t < 2; t++) join(threads[t]);
    const uint64_t *all = numbers[0];
    for (int i = 0; i < 2 * TASKS; i++) {
        expect(all[i] & CENI_HOLDER_TASK && all[i] >> (CENI_THREAD_ID_BITS + 1) == 0);
        for (int j = 0; j < i; j++) expect(all[i] != all[j]);
    }
}

typedef struct passed {
    ceni_holder holder;
    uint64_t number;
} passed;

static void go_on(void *argument)
{
    passed *task = argument;
    ceni_holder_before before;
    ceni_holder_enter(&task->holder, &before);
    expect_equal(ceni_holder_number(), task->number);
    expect_equal(ceni_holder_current()->held, 3);
    ceni_holder_current()->held--;
    ceni_holder_leave(&task->holder, &before);
    expect_equal(ceni_holder_number(), ceni_thread_id());
}

/* guarantees: pool.holder-count */
TEST(a_task_that_goes_on_on_another_thread_is_the_same_holder_there)
{
    passed task = {.number = 0};
    ceni_holder_before before;
    ceni_holder_enter(&task.holder, &before);
    task.number = ceni_holder_number();
    ceni_holder_current()->held = 3;
    ceni_holder_leave(&task.holder, &before);
    expect_equal(ceni_holder_current()->held, 0);
    join(start("other", go_on, &task));
    expect_equal(task.holder.held, 2);
}

/* guarantees: pool.holder-count */
TEST(holders_nest_and_each_finds_what_it_had)
{
    enum { DEEP = 5 };
    ceni_holder holders[DEEP] = {{0}};
    ceni_holder_before before[DEEP];
    uint64_t numbers[DEEP];
    ceni_holder_current()->held = 100;
    for (int i = 0; i < DEEP; i++) {
        ceni_holder_enter(&holders[i], &before[i]);
        expect_equal(ceni_holder_current()->held, 0);
        expect_equal(ceni_holder_current()->scope, 0);
        if (i % 2) numbers[i] = ceni_holder_number(); /* every other one wants none */
        ceni_holder_current()->held = (uint64_t)i + 1;
        ceni_holder_current()->scope = (uint64_t)i + 10;
    }
    for (int i = DEEP - 1; i >= 0; i--) {
        expect_equal(ceni_holder_current()->held, i + 1);
        expect_equal(ceni_holder_current()->scope, i + 10);
        expect_equal(ceni_holder_known(), i % 2 ? numbers[i] : 0);
        ceni_holder_leave(&holders[i], &before[i]);
        expect_equal(holders[i].held, i + 1);
    }
    expect_equal(ceni_holder_current()->held, 100);
    expect(!ceni_own_is_task(ceni_holder_current()));
}

/* guarantees: pool.holder-count */
TEST(who_surely_holds_nothing_is_answered_without_a_look_and_who_may_is_looked_for_once)
{
    begin();
    ceni_holder holder = {0};
    ceni_holder_before before;
    ceni_holder_enter(&holder, &before);
    expect(!ceni_holder_holds());
    expect_equal(looks, 0);
    uint64_t number = ceni_holder_number();
    ceni_holder_current()->held = 2;
    answer = true;
    expect(ceni_holder_holds() && ceni_holder_holds());
    expect_equal(looks, 2);
    expect_equal(looked_for, number);
    expect_equal(ceni_holder_current()->held, 2);
    answer = false; /* another has given them */
    expect(!ceni_holder_holds());
    expect(!ceni_holder_holds());
    expect_equal(looks, 3);
    ceni_holder_leave(&holder, &before);
    ceni_holder_end(&holder);
    expect_equal(ends, 0);
}

/* guarantees: pool.holder-count */
TEST(a_holder_that_holds_nothing_and_has_asked_keeps_its_count)
{
    begin();
    ceni_holder holder = {0};
    ceni_holder_before before;
    ceni_holder_enter(&holder, &before);
    ceni_holder_number();
    ceni_holder_current()->held = 1;
    answer = false;
    asks = true;
    expect(!ceni_holder_holds());
    expect_equal(ceni_holder_current()->held, 1);
    asks = false;
    expect(!ceni_holder_holds());
    expect_equal(ceni_holder_current()->held, 0);
    ceni_holder_leave(&holder, &before);
}

/* guarantees: pool.holder-count */
TEST(a_holder_that_ends_is_told_to_the_pools_if_it_may_hold_something)
{
    begin();
    ceni_holder none = {0}, some = {0};
    ceni_holder_end(&none);
    expect_equal(ends, 0);
    ceni_holder_before before;
    ceni_holder_enter(&some, &before);
    uint64_t number = ceni_holder_number();
    ceni_holder_current()->held = 1;
    ceni_holder_leave(&some, &before);
    ceni_holder_end(&some);
    expect(ends == 1 && ended == number);
    expect(some.note == 0 && some.held == 0 && some.scope == 0);
    ceni_holder_end(&some); /* twice is the same as once */
    expect_equal(ends, 1);
}

/* guarantees: pool.holder-count */
TEST(before_there_is_a_pool_nobody_is_asked)
{
    ceni_holder_publish(NULL);
    ceni_holder_current()->held = 1;
    expect(!ceni_holder_holds());
    ceni_holder holder = {.note = 7u << CENI_HOLDER_SHIFT, .held = 1};
    ceni_holder_end(&holder);
    expect_equal(holder.held, 0);
}

static void is_a_worker(void *worker)
{
    expect(*ceni_thread_worker() == NULL);
    *ceni_thread_worker() = worker;
    ceni_holder holder = {0};
    ceni_holder_before before;
    ceni_holder_enter(&holder, &before);
    ceni_holder_number();
    ceni_thread_yield();
    expect(*ceni_thread_worker() == worker);
    ceni_holder_leave(&holder, &before);
    expect(*ceni_thread_worker() == worker);
}

/* guarantees: pool.holder-count */
TEST(each_thread_has_a_word_for_its_worker)
{
    int one, other;
    ceni_thread first = start("first", is_a_worker, &one), second = start("second", is_a_worker, &other);
    join(first);
    join(second);
    expect(*ceni_thread_worker() == NULL);
}
