/* SPDX-License-Identifier: MIT */
/* A stop that drops, and the tasks that wait for a future. */
#include "sync/future.h"
#include "unit/crew/crews.h"
#include "unit/pool/pools.h"

static cen_crew_report report = {.size = sizeof report};
static cen_future promised;
static cen_promise promise;
static unsigned told; /* completions, over all tasks */
static cen_status told_status;

static void promise_it(void)
{
    cen_future_init(&promised);
    expect_equal(cen_promise_init(&promise, &promised), CEN_OK);
}

static cen_next after_wait(cen_task *task)
{
    work *self = (work *)task;
    self->steps++;
    self->asked = cen_task_check_stop(task);
    mark(self->mark);
    return cen_task_done(task, self);
}

static cen_next wait_for_future(cen_task *task)
{
    work *self = (work *)task;
    if (self->inside) self->inside(self);
    return cen_task_wait(task, self->future, after_wait);
}

static void count_told(cen_future *future)
{
    told++;
    told_status = future->status;
}

static void suspend(work *self, char letter, cen_future *future)
{
    init_work(self, letter, wait_for_future);
    self->future = future;
    submit(self);
    settle();
}

static void drop_all(void)
{
    expect_equal(cen_crew_stop(crew, CEN_STOP_DROP, cen_in_s(5), &report, NULL), CEN_OK);
    cen_crew_stats stats = sound_look();
    expect_equal(stats.submitted, stats.finished);
    expect_equal(stats.waiting, 0);
}

static void free_it(void)
{
    expect_equal(cen_crew_free(crew), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: crew.stop-suspended */
TEST(a_stop_drops_a_suspended_task_with_closed_and_runs_no_further_step)
{
    work one;
    told = 0;
    promise_it();
    make_crew(.workers = 1, .name = "shut");
    init_work(&one, 'a', wait_for_future);
    one.future = &promised;
    expect_equal(cen_future_then(&one.task.future, count_told, cen_inline()), CEN_OK);
    submit(&one);
    settle();
    int64_t now = ceni_clock_now();
    drop_all();
    expect_equal(ceni_clock_now(), now);
    expect_equal(report.dropped, 1);
    expect_equal(report.finished, 0);
    expect_equal(told, 1);
    expect_equal(told_status, CEN_CLOSED);
    expect_text(one.error.text, "crew \"shut\": a task was suspended when the crew was stopped");
    expect_equal(one.steps, 0);
    expect(!cen_promise_is_wanted(&promise));
    expect(!cen_promise_complete(&promise, NULL)); /* touches no task */
    expect(!cen_future_is_done(&promised));
    free_it();
}

/* guarantees: crew.stop-suspended */
TEST(a_stop_drops_every_one_of_many_suspended_tasks_once)
{
    enum { MANY = 40 };
    static work many[MANY];
    static cen_future futures[MANY];
    static cen_promise promises[MANY];
    told = 0;
    make_crew(.workers = 2);
    for (unsigned i = 0; i < MANY; i++) {
        cen_future_init(&futures[i]);
        expect_equal(cen_promise_init(&promises[i], &futures[i]), CEN_OK);
        init_work(&many[i], 0, wait_for_future);
        many[i].future = &futures[i];
        expect_equal(cen_future_then(&many[i].task.future, count_told, cen_inline()), CEN_OK);
        submit(&many[i]);
    }
    settle();
    expect_equal(look().waiting, MANY);
    drop_all();
    expect_equal(told, MANY);
    expect_equal(report.dropped, MANY);
    free_it();
}

/* guarantees: crew.stop-suspended */
TEST(a_drain_whose_deadline_passes_drops_suspended_tasks)
{
    work one;
    promise_it();
    make_crew(.workers = 1);
    suspend(&one, 'a', &promised);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, cen_in_s(2), &report, NULL), CEN_TIMEOUT);
    expect_equal(report.dropped, 1);
    expect_equal(report.waiting, 0);
    expect_end(&one, CEN_CLOSED);
    drop_all();
    free_it();
}

/* guarantees: crew.stop-suspended */
TEST(a_task_that_waits_for_a_dropped_task_of_its_crew_is_woken)
{
    work parent, child;
    promise_it();
    make_crew(.workers = 1);
    suspend(&child, 'c', &promised);
    suspend(&parent, 'p', &child.task.future);
    drop_all();
    expect_equal(child.task.future.status, CEN_CLOSED);
    expect_end(&parent, CEN_OK);
    expect_equal(parent.asked, CEN_CLOSED);
    expect_story("p");
    expect_equal(report.dropped, 1);
    expect_equal(report.finished, 1);
    free_it();
}

/* guarantees: crew.stop-suspended */
TEST(a_thread_that_waits_for_a_dropped_task_is_woken)
{
    work one;
    promise_it();
    make_crew(.workers = 1);
    suspend(&one, 'a', &promised);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DROP, cen_in_s(1), NULL, NULL), CEN_OK);
    expect_equal(cen_future_wait(&one.task.future, CEN_NOW), CEN_OK);
    free_it();
}

static cen_group group;
static cen_future *members[1];

/* guarantees: crew.stop-suspended */
TEST(a_task_that_waits_for_a_group_goes_on_at_once_and_can_cancel_the_members)
{
    work one;
    promise_it();
    members[0] = &promised;
    expect_equal(cen_all_of(&group, members, 1), CEN_OK);
    make_crew(.workers = 1);
    suspend(&one, 'a', &group.future);
    drop_all();
    expect_end(&one, CEN_OK);
    expect_equal(one.asked, CEN_CLOSED);
    expect(!cen_future_is_done(&group.future));
    expect(cen_promise_is_wanted(&promise)); /* still pending, and the program's to cancel */
    expect(cen_future_cancel(&promised));
    free_it();
}

static bool refuse(cen_future *future)
{
    (void)future;
    return false;
}

/* guarantees: crew.stop-suspended */
TEST(a_task_whose_future_cannot_be_cancelled_goes_on_when_that_is_done)
{
    work one;
    cen_future stubborn;
    cen_future_init(&stubborn);
    ceni_future_begin(&stubborn, refuse, NULL);
    make_crew(.workers = 1);
    suspend(&one, 'a', &stubborn);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DROP, cen_in_s(1), &report, NULL), CEN_TIMEOUT);
    expect_equal(report.waiting, 1);
    expect_equal(report.dropped, 0);
    ceni_future_complete(&stubborn);
    drop_all();
    expect_end(&one, CEN_OK);
    expect_equal(one.asked, CEN_CLOSED);
    free_it();
}

/* ---- A task that waits after the stop ------------------------------------------------------- */

static void run_through_the_stop(work *self)
{
    nap(self->ns);
}

/* guarantees: crew.stop-suspended */
TEST(a_task_that_begins_to_wait_after_the_stop_is_dropped)
{
    work one;
    promise_it();
    make_crew(.workers = 1);
    init_work(&one, 'a', wait_for_future);
    one.future = &promised;
    one.inside = run_through_the_stop;
    one.ns = SECOND;
    submit(&one);
    settle();
    drop_all();
    expect_end(&one, CEN_CLOSED);
    expect_equal(one.steps, 0);
    free_it();
}

static void hear_of_the_stop(work *self)
{
    nap(self->ns);
    self->got = cen_task_check_stop(&self->task);
}

static void keep_later(void *unused)
{
    (void)unused;
    nap(3 * SECOND);
    expect(cen_promise_complete(&promise, NULL));
}

/* guarantees: crew.stop-suspended */
TEST(a_task_that_has_heard_of_the_stop_may_still_wait)
{
    work one;
    promise_it();
    make_crew(.workers = 1);
    init_work(&one, 'a', wait_for_future);
    one.future = &promised;
    one.inside = hear_of_the_stop;
    one.ns = SECOND;
    submit(&one);
    settle();
    ceni_thread keeper = start("keeper", keep_later, NULL);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DROP, cen_in_s(2), &report, NULL), CEN_TIMEOUT);
    expect_equal(report.waiting, 1);
    drop_all(); /* a second stop does not drop it either */
    join(keeper);
    expect_end(&one, CEN_OK);
    expect_equal(one.got, CEN_CLOSED);
    expect_equal(one.steps, 1);
    free_it();
}

/* guarantees: crew.stop-suspended */
TEST(a_cancelled_task_that_has_heard_of_the_stop_is_cut_short_once)
{
    work one;
    promise_it();
    make_crew(.workers = 1);
    init_work(&one, 'a', wait_for_future);
    one.future = &promised;
    one.inside = hear_of_the_stop;
    one.ns = SECOND;
    submit(&one);
    settle();
    expect_equal(cen_crew_stop(crew, CEN_STOP_DROP, cen_in_s(2), &report, NULL), CEN_TIMEOUT);
    expect(!cen_task_cancel(&one.task));
    drop_all();
    expect_end(&one, CEN_OK);
    expect_equal(one.asked, CEN_INTERRUPTED);
    free_it();
}

/* ---- What a dropped task has ------------------------------------------------------------------ */

/* guarantees: crew.stop-suspended */
TEST(a_dropped_task_s_deadline_never_comes)
{
    work one;
    promise_it();
    make_crew(.workers = 1);
    init_work(&one, 'a', wait_for_future);
    one.future = &promised;
    one.task.deadline = cen_in_s(10);
    submit(&one);
    settle();
    drop_all();
    expect_end(&one, CEN_CLOSED);
    free_it();
    memset(&one, 0x5A, sizeof one);
    nap(20 * SECOND);
    expect_equal(one.steps, 0x5A5A5A5A);
}

static cen_pool *pool;

static void take_one(work *self)
{
    self->got = cen_pool_try_take(pool, &self->lease, NULL);
}

/* guarantees: crew.stop-suspended */
TEST(what_a_dropped_task_held_goes_back_to_its_pool)
{
    work one;
    workshop shop = {0};
    pool = make_pool(.driver = driver_of(&shop), .max = 1, .on_holder_end = CEN_HOLDER_END_REUSE);
    promise_it();
    make_crew(.workers = 1);
    init_work(&one, 'a', wait_for_future);
    one.future = &promised;
    one.inside = take_one;
    submit(&one);
    settle();
    expect_equal(one.got, CEN_OK);
    expect_counts(pool, 0, 1);
    drop_all();
    expect_end(&one, CEN_CLOSED);
    expect_counts(pool, 1, 0);
    expect_equal(cen_pool_give(&one.lease), CEN_STALE);
    expect_equal(cen_crew_free(crew), CEN_OK);
    free_pool(pool);
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- Observers and `done` ---------------------------------------------------------------------- */

static unsigned overs;
static bool over_begun;
static cen_status over_status;

static void note_over(void *argument, cen_task *task, cen_status status, bool begun)
{
    (void)argument;
    (void)task;
    overs++;
    over_begun = begun;
    over_status = status;
}

/* guarantees: crew.stop-suspended */
TEST(an_observer_is_told_once_that_a_suspended_task_was_dropped)
{
    work one;
    overs = 0;
    promise_it();
    make_crew(.workers = 1, .observer = {.over = note_over});
    suspend(&one, 'a', &promised);
    drop_all();
    expect_equal(overs, 1);
    expect(over_begun);
    expect_equal(over_status, CEN_CLOSED);
    free_it();
}

static work pair[2];

static void cancel_the_other(cen_future *future)
{
    told++;
    work *other = &pair[future == &pair[0].task.future];
    expect(!cen_task_cancel(&other->task));
}

/* guarantees: crew.stop-suspended */
TEST(a_done_may_cancel_another_suspended_task_that_the_stop_drops)
{
    static cen_future futures[2];
    static cen_promise promises[2];
    told = 0;
    make_crew(.workers = 1);
    for (int i = 0; i < 2; i++) {
        cen_future_init(&futures[i]);
        expect_equal(cen_promise_init(&promises[i], &futures[i]), CEN_OK);
        init_work(&pair[i], 0, wait_for_future);
        pair[i].future = &futures[i];
        expect_equal(cen_future_then(&pair[i].task.future, cancel_the_other, cen_inline()), CEN_OK);
        submit(&pair[i]);
    }
    settle();
    drop_all();
    expect_equal(told, 2);
    expect_equal(report.dropped, 2);
    free_it();
}

static void drop_own_crew(work *self)
{
    self->got = cen_crew_stop(crew, CEN_STOP_DROP, cen_in_s(5), &report, NULL);
}

/* guarantees: crew.stop-suspended */
TEST(a_task_that_drops_its_own_crew_drops_the_suspended_ones)
{
    work one, stopper;
    promise_it();
    make_crew(.workers = 1, .max = 1);
    suspend(&one, 'a', &promised);
    init_work(&stopper, 's', run_once);
    stopper.inside = drop_own_crew;
    submit(&stopper);
    expect_end(&stopper, CEN_OK);
    expect_equal(stopper.got, CEN_OK);
    expect_end(&one, CEN_CLOSED);
    while (cen_crew_free(crew) == CEN_BUSY) nap(MS);
}
