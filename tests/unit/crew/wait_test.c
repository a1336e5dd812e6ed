/* SPDX-License-Identifier: MIT */
/* Tasks that wait for futures of all kinds, in virtual time, and keep no worker meanwhile. */
#include "unit/crew/crews.h"
#include "unit/pool/pools.h"

/* Waits for self->future, and ends with its value as `got`. */
static cen_next after(cen_task *task)
{
    work *self = (work *)task;
    self->steps++;
    self->got = self->future->status;
    self->asked = cen_task_check_stop(task);
    mark(self->mark);
    return cen_task_done(task, self);
}

static cen_next wait_for_future(cen_task *task)
{
    work *self = (work *)task;
    self->steps++;
    return cen_task_wait(task, self->future, after);
}

static void init_waiter(work *self, char letter, cen_future *future)
{
    init_work(self, letter, wait_for_future);
    self->future = future;
}

/* guarantees: crew.wait */
TEST(a_task_waits_for_a_future_that_is_done_later)
{
    cen_future future;
    cen_promise promise;
    work one;
    cen_future_init(&future);
    expect_equal(cen_promise_init(&promise, &future), CEN_OK);
    init_waiter(&one, 'a', &future);
    make_crew(.workers = 1);
    submit(&one);
    settle();
    cen_crew_stats s = sound_look();
    expect_equal(s.waiting, 1);
    expect_equal(s.running, 0);
    expect_equal(s.idle, 1);
    expect(cen_promise_complete(&promise, story));
    expect_end(&one, CEN_OK);
    expect_equal(one.steps, 2);
    expect_equal(one.got, CEN_OK);
    expect(future.value == story);
    finish();
}

/* guarantees: crew.wait */
TEST(a_task_that_waits_for_what_is_done_goes_on_at_once)
{
    cen_future future;
    cen_promise promise;
    work one;
    cen_future_init(&future);
    expect_equal(cen_promise_init(&promise, &future), CEN_OK);
    expect(cen_promise_fail(&promise, NULL));
    init_waiter(&one, 'a', &future);
    make_crew(.workers = 1);
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_equal(one.got, CEN_DRIVER);
    finish();
}

static void ignore(cen_future *future)
{
    (void)future;
}

/* guarantees: crew.misuse */
TEST(a_future_that_somebody_else_waits_for_ends_the_task_with_misuse)
{
    cen_future future;
    cen_promise promise;
    work one;
    cen_future_init(&future);
    expect_equal(cen_promise_init(&promise, &future), CEN_OK);
    expect_equal(cen_future_then(&future, ignore, cen_inline()), CEN_OK);
    init_waiter(&one, 'a', &future);
    make_crew(.workers = 1, .name = "strict");
    submit(&one);
    expect_end(&one, CEN_MISUSE);
    expect_text(one.error.text,
                "crew \"strict\": a task waited for a future without a promise, or with another waiter");
    expect(cen_promise_complete(&promise, NULL));
    finish();
}

/* guarantees: crew.misuse */
TEST(a_future_that_nobody_promised_or_that_was_given_up_ends_the_task_with_misuse)
{
    cen_future future, given_up;
    cen_promise promise;
    work three[3];
    cen_future_init(&future);
    cen_future_init(&given_up);
    expect_equal(cen_promise_init(&promise, &given_up), CEN_OK);
    expect(cen_future_cancel(&given_up));
    init_waiter(&three[0], 'a', &future);
    init_waiter(&three[1], 'b', NULL);
    init_waiter(&three[2], 'c', &given_up);
    make_crew(.workers = 1);
    for (int i = 0; i < 3; i++) submit(&three[i]);
    for (int i = 0; i < 3; i++) expect_end(&three[i], CEN_MISUSE);
    expect_equal(look().waiting, 0);
    finish();
}

/* guarantees: crew.wait */
TEST(a_task_waits_for_another_and_both_come_to_their_end_with_one_worker)
{
    work first, other;
    init_work(&other, 'o', run_once);
    init_waiter(&first, 'f', &other.task.future);
    make_crew(.workers = 1);
    keep_busy(SECOND);
    submit(&first);
    submit(&other);
    expect_end(&first, CEN_OK);
    expect_equal(other.task.future.status, CEN_OK);
    expect_story("of");
    finish();
}

static cen_next wait_by_timer(cen_task *task)
{
    work *self = (work *)task;
    self->steps++;
    cen_timer_init(&self->timer);
    expect_equal(cen_timer_start(&self->timer, NULL, cen_in_ns(self->ns), NULL), CEN_OK);
    self->future = &self->timer.future;
    return cen_task_wait(task, self->future, after);
}

/* guarantees: crew.wait */
TEST(a_thousand_tasks_wait_for_their_timers_with_one_worker)
{
    static work many[1000];
    make_crew(.workers = 1);
    int64_t began = ceni_clock_now();
    for (int i = 0; i < 1000; i++) {
        init_work(&many[i], 0, wait_by_timer);
        many[i].ns = SECOND;
        submit(&many[i]);
    }
    settle();
    expect_equal(sound_look().waiting, 1000);
    for (int i = 0; i < 1000; i++) expect_end(&many[i], CEN_OK);
    expect(ceni_clock_now() - began < 2 * SECOND);
    expect_equal(sound_look().waiting, 0);
    finish();
}

static cen_pool *pool;

static cen_next give_it(cen_task *task)
{
    work *self = (work *)task;
    self->got = self->take.future.status;
    mark(self->mark);
    if (self->got == CEN_OK) expect_equal(cen_pool_give(&self->take.lease), CEN_OK);
    return cen_task_done(task, self);
}

static cen_next ask_pool(cen_task *task)
{
    work *self = (work *)task;
    cen_take_op_init(&self->take, NULL, NULL);
    expect_equal(cen_pool_take_async(pool, cen_in_s(5), &self->take), CEN_OK);
    return cen_task_wait(task, &self->take.future, give_it);
}

/* guarantees: crew.wait */
TEST(tasks_wait_for_a_pool_and_get_its_object_one_after_the_other)
{
    work three[3];
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    cen_lease lease = take_now(pool);
    make_crew(.workers = 1);
    for (int i = 0; i < 3; i++) {
        init_work(&three[i], (char)('a' + i), ask_pool);
        submit(&three[i]);
    }
    settle();
    expect_equal(look().waiting, 3);
    give_back(&lease);
    for (int i = 0; i < 3; i++) {
        expect_end(&three[i], CEN_OK);
        expect_equal(three[i].got, CEN_OK);
    }
    expect_story("abc");
    free_pool(pool);
    finish();
}

/* guarantees: crew.deadline */
TEST(a_task_that_waits_for_a_pool_hears_that_its_deadline_has_passed)
{
    work one;
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    cen_lease lease = take_now(pool);
    make_crew(.workers = 1);
    init_work(&one, 'a', ask_pool);
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_equal(one.got, CEN_TIMEOUT);
    give_back(&lease);
    free_pool(pool);
    finish();
}
