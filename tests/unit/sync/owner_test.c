/* SPDX-License-Identifier: MIT */
/*
 * Owners without a pool: who is the current one, numbers, and when the pools
 * are asked. A stand-in says what they hold.
 */
#include "sync/owner.h"

#include "support/world.h"

static int looks, ends;
static uint64_t looked_for, ended;
static bool answer;

static bool asks;

static ceni_holding stand_in_holds(uint64_t owner)
{
    looks++;
    looked_for = owner;
    return answer ? CENI_HOLDS_SOMETHING : asks ? CENI_HOLDS_ASKS : CENI_HOLDS_NOTHING;
}

static void stand_in_ended(uint64_t owner)
{
    ends++;
    ended = owner;
}

static const ceni_owner_calls stand_in = {.holds = stand_in_holds, .ended = stand_in_ended};

static void begin(void)
{
    looks = ends = 0;
    looked_for = ended = 0;
    answer = false;
    ceni_owner_publish(&stand_in);
}

TEST(a_thread_is_its_own_owner_by_its_own_number)
{
    expect_equal(ceni_owner_known(), 0);
    expect_equal(ceni_owner_number(), ceni_thread_id());
    expect_equal(ceni_owner_known(), ceni_thread_id());
    expect(!ceni_owner_is_task(ceni_owner_current()));
}

TEST(a_task_has_a_number_when_it_wants_one_and_not_before)
{
    ceni_owner one = {0}, other = {0};
    ceni_owner_before before;
    ceni_owner_enter(&one, &before); /* wants none */
    expect(ceni_owner_is_task(ceni_owner_current()));
    expect_equal(ceni_owner_known(), 0);
    ceni_owner_leave(&one, &before);
    ceni_owner_enter(&other, &before);
    uint64_t number = ceni_owner_number();
    expect_equal(number, CENI_OWNER_TASK | 1); /* the first that there is */
    expect_equal(ceni_owner_number(), number);
    ceni_owner_leave(&other, &before);
    expect_equal(ceni_owner_number(), ceni_thread_id());
    ceni_owner_enter(&one, &before); /* a second step, and still none */
    expect(ceni_owner_is_task(ceni_owner_current()));
    expect_equal(ceni_owner_number(), CENI_OWNER_TASK | 2);
    ceni_owner_leave(&one, &before);
}

enum { TASKS = 200 };

static void number_tasks(void *into)
{
    uint64_t *numbers = into;
    for (int i = 0; i < TASKS; i++) {
        ceni_owner owner = {0};
        ceni_owner_before before;
        ceni_owner_enter(&owner, &before);
        numbers[i] = ceni_owner_number();
        ceni_owner_leave(&owner, &before);
        ceni_thread_yield();
    }
}

TEST(no_two_tasks_have_the_same_number_on_whatever_threads_they_get_it)
{
    static uint64_t numbers[2][TASKS];
    ceni_thread threads[2];
    for (int t = 0; t < 2; t++) threads[t] = start("numbers", number_tasks, numbers[t]);
    for (int t = 0; t < 2; t++) join(threads[t]);
    const uint64_t *all = numbers[0];
    for (int i = 0; i < 2 * TASKS; i++) {
        expect(all[i] & CENI_OWNER_TASK && all[i] >> (CENI_THREAD_ID_BITS + 1) == 0);
        for (int j = 0; j < i; j++) expect(all[i] != all[j]);
    }
}

typedef struct passed {
    ceni_owner owner;
    uint64_t number;
} passed;

static void go_on(void *argument)
{
    passed *task = argument;
    ceni_owner_before before;
    ceni_owner_enter(&task->owner, &before);
    expect_equal(ceni_owner_number(), task->number);
    expect_equal(ceni_owner_current()->held, 3);
    ceni_owner_current()->held--;
    ceni_owner_leave(&task->owner, &before);
    expect_equal(ceni_owner_number(), ceni_thread_id());
}

TEST(a_task_that_goes_on_on_another_thread_is_the_same_owner_there)
{
    passed task = {.number = 0};
    ceni_owner_before before;
    ceni_owner_enter(&task.owner, &before);
    task.number = ceni_owner_number();
    ceni_owner_current()->held = 3;
    ceni_owner_leave(&task.owner, &before);
    expect_equal(ceni_owner_current()->held, 0);
    join(start("other", go_on, &task));
    expect_equal(task.owner.held, 2);
}

TEST(owners_nest_and_each_finds_what_it_had)
{
    enum { DEEP = 5 };
    ceni_owner owners[DEEP] = {{0}};
    ceni_owner_before before[DEEP];
    uint64_t numbers[DEEP];
    ceni_owner_current()->held = 100;
    for (int i = 0; i < DEEP; i++) {
        ceni_owner_enter(&owners[i], &before[i]);
        expect_equal(ceni_owner_current()->held, 0);
        expect_equal(ceni_owner_current()->scope, 0);
        if (i % 2) numbers[i] = ceni_owner_number(); /* every other one wants none */
        ceni_owner_current()->held = (uint64_t)i + 1;
        ceni_owner_current()->scope = (uint64_t)i + 10;
    }
    for (int i = DEEP - 1; i >= 0; i--) {
        expect_equal(ceni_owner_current()->held, i + 1);
        expect_equal(ceni_owner_current()->scope, i + 10);
        expect_equal(ceni_owner_known(), i % 2 ? numbers[i] : 0);
        ceni_owner_leave(&owners[i], &before[i]);
        expect_equal(owners[i].held, i + 1);
    }
    expect_equal(ceni_owner_current()->held, 100);
    expect(!ceni_owner_is_task(ceni_owner_current()));
}

TEST(who_surely_holds_nothing_is_answered_without_a_look_and_who_may_is_looked_for_once)
{
    begin();
    ceni_owner owner = {0};
    ceni_owner_before before;
    ceni_owner_enter(&owner, &before);
    expect(!ceni_owner_holds());
    expect_equal(looks, 0);
    uint64_t number = ceni_owner_number();
    ceni_owner_current()->held = 2;
    answer = true;
    expect(ceni_owner_holds() && ceni_owner_holds());
    expect_equal(looks, 2);
    expect_equal(looked_for, number);
    expect_equal(ceni_owner_current()->held, 2);
    answer = false; /* another has given them */
    expect(!ceni_owner_holds());
    expect(!ceni_owner_holds());
    expect_equal(looks, 3);
    ceni_owner_leave(&owner, &before);
    ceni_owner_end(&owner);
    expect_equal(ends, 0);
}

TEST(an_owner_that_holds_nothing_and_has_asked_keeps_its_count)
{
    begin();
    ceni_owner owner = {0};
    ceni_owner_before before;
    ceni_owner_enter(&owner, &before);
    ceni_owner_number();
    ceni_owner_current()->held = 1;
    answer = false;
    asks = true;
    expect(!ceni_owner_holds());
    expect_equal(ceni_owner_current()->held, 1);
    asks = false;
    expect(!ceni_owner_holds());
    expect_equal(ceni_owner_current()->held, 0);
    ceni_owner_leave(&owner, &before);
}

TEST(an_owner_that_ends_is_told_to_the_pools_if_it_may_hold_something)
{
    begin();
    ceni_owner none = {0}, some = {0};
    ceni_owner_end(&none);
    expect_equal(ends, 0);
    ceni_owner_before before;
    ceni_owner_enter(&some, &before);
    uint64_t number = ceni_owner_number();
    ceni_owner_current()->held = 1;
    ceni_owner_leave(&some, &before);
    ceni_owner_end(&some);
    expect(ends == 1 && ended == number);
    expect(some.note == 0 && some.held == 0 && some.scope == 0);
    ceni_owner_end(&some); /* twice is the same as once */
    expect_equal(ends, 1);
}

TEST(before_there_is_a_pool_nobody_is_asked)
{
    ceni_owner_publish(NULL);
    ceni_owner_current()->held = 1;
    expect(!ceni_owner_holds());
    ceni_owner owner = {.note = 7u << CENI_OWNER_SHIFT, .held = 1};
    ceni_owner_end(&owner);
    expect_equal(owner.held, 0);
}

static void is_a_worker(void *worker)
{
    expect(*ceni_thread_worker() == NULL);
    *ceni_thread_worker() = worker;
    ceni_owner owner = {0};
    ceni_owner_before before;
    ceni_owner_enter(&owner, &before);
    ceni_owner_number();
    ceni_thread_yield();
    expect(*ceni_thread_worker() == worker);
    ceni_owner_leave(&owner, &before);
    expect(*ceni_thread_worker() == worker);
}

TEST(each_thread_has_a_word_for_its_worker)
{
    int one, other;
    ceni_thread first = start("first", is_a_worker, &one), second = start("second", is_a_worker, &other);
    join(first);
    join(second);
    expect(*ceni_thread_worker() == NULL);
}
