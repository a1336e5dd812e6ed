/* SPDX-License-Identifier: MIT */
/*
 * Faults that task pools of others have had, each under a name of its own. Those of
 * limits and counts of admitted tasks are in the lanes' tests.
 */
#include "unit/crew/crews.h"

static cen_next woken(cen_task *task)
{
    return cen_task_done(task, task);
}

static cen_next wait_for_timer(cen_task *task)
{
    work *self = (work *)task;
    cen_timer_init(&self->timer);
    expect_equal(cen_timer_start(&self->timer, NULL, cen_in_ns(self->ns), NULL), CEN_OK);
    return cen_task_wait(task, &self->timer.future, woken);
}

/* Tasks that waited for a snapshot were counted as running, until the limit of those was reached and nothing ran. */
/* guarantees: task-bugs.suspended */
TEST(tasks_that_wait_are_not_counted_as_running_and_keep_nobody_from_running)
{
    static work many[500];
    work one;
    make_crew(.workers = 2);
    for (int i = 0; i < 500; i++) {
        init_work(&many[i], 0, wait_for_timer);
        many[i].ns = 60 * SECOND;
        submit(&many[i]);
    }
    settle();
    cen_crew_stats s = sound_look();
    expect_equal(s.waiting, 500);
    expect_equal(s.running, 0);
    int64_t now = ceni_clock_now();
    init_works(&one, 1);
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_equal(ceni_clock_now(), now);
    finish();
}

/* The count of running tasks did not come down on some ways out. */
static cen_next fail(cen_task *task)
{
    return cen_task_fail(task, NULL);
}

static cen_next misuse(cen_task *task)
{
    return cen_task_wait(task, NULL, woken);
}

/* guarantees: task-bugs.count */
TEST(on_every_way_out_the_counts_come_down)
{
    work ok, failed, misused, cancelled, late, waited;
    init_work(&ok, 'o', run_once);
    init_work(&failed, 'f', fail);
    init_work(&misused, 'm', misuse);
    init_work(&cancelled, 'c', run_once);
    init_work(&late, 'l', run_once);
    init_work(&waited, 'w', wait_for_timer);
    waited.ns = 100 * SECOND;
    late.task.deadline = cen_in_s(1);
    make_crew(.workers = 1);
    submit(&waited);
    settle();
    keep_busy(2 * SECOND);
    work *rest[] = {&ok, &failed, &misused, &cancelled, &late};
    for (int i = 0; i < 5; i++) submit(rest[i]);
    expect(cen_task_cancel(&cancelled.task));
    expect_end(&misused, CEN_MISUSE);
    expect(!cen_task_cancel(&waited.task));
    expect_end(&waited, CEN_OK);
    cen_crew_stats s = sound_look();
    expect_equal(s.finished, 7);
    expect_equal(s.running + s.waiting + s.queued, 0);
    finish();
}

/* Big queries that went on rescheduling themselves starved the small ones. */
static cen_next go_on(cen_task *task)
{
    work *self = (work *)task;
    if (self->steps++ < 2000) return cen_task_yield(task, go_on);
    mark(self->mark);
    return cen_task_done(task, self);
}

/* guarantees: task-bugs.starvation */
TEST(long_tasks_that_go_on_yielding_do_not_starve_short_ones_from_outside)
{
    work big[3], small[5];
    init_works(small, 5);
    make_crew(.workers = 1);
    for (int i = 0; i < 3; i++) {
        init_work(&big[i], 'B', go_on);
        submit(&big[i]);
    }
    for (int i = 0; i < 5; i++) submit(&small[i]);
    finish();
    expect_story("abcdeBBB");
}

static void submit_next(work *self)
{
    if (self->steps < 2000 && !cen_future_is_done(&self->other->task.future)) {
        static work links[2000];
        work *next = &links[self->steps];
        init_work(next, 0, run_once);
        next->inside = submit_next;
        next->other = self->other;
        next->steps = self->steps;
        submit(next);
    } else {
        mark(self->steps < 2000 ? 'e' : 'L');
    }
}

/* guarantees: task-bugs.starvation */
TEST(a_chain_of_tasks_each_of_which_submits_the_next_does_not_starve_one_from_outside)
{
    work first, outside;
    init_work(&first, 0, run_once);
    init_work(&outside, 'o', run_once);
    first.inside = submit_next;
    first.other = &outside;
    make_crew(.workers = 1);
    submit(&first);
    submit(&outside);
    expect_end(&outside, CEN_OK);
    finish();
    expect_story("oe");
}

/* Few tasks and many threads: waking and stealing cost more than the work. Who was woken has paused. */
static unsigned resumes;

static void count_resume(void *argument, void *data)
{
    (void)argument, (void)data;
    resumes++;
}

/* guarantees: crew.burst, task-bugs.waking */
TEST(few_tasks_and_many_workers_wake_few)
{
    work one;
    make_crew(.workers = 16, .context = {.after_resume = count_resume});
    settle();
    resumes = 0;
    for (int i = 0; i < 100; i++) {
        init_work(&one, 0, run_once);
        submit(&one);
        expect_end(&one, CEN_OK);
        settle();
    }
    expect(resumes <= 200); /* the one that runs it, and, now and then, one that looks whether there is more */
    expect_equal(look().idle, 16);
    finish();
}

/* guarantees: crew.burst, task-bugs.waking */
TEST(a_burst_wakes_no_more_than_have_work)
{
    work four[4];
    make_crew(.workers = 16, .context = {.after_resume = count_resume});
    settle();
    resumes = 0;
    init_works(four, 4);
    submit_works(four, 4);
    settle();
    expect(resumes <= 8);
    finish();
}

/* Threads that were scaled down kept working. */
static uint32_t seen_workers;

static void note_worker(work *self)
{
    nap(MS);
    seen_workers |= 1u << cen_worker_current();
    (void)self;
}

/* guarantees: task-bugs.scale-down */
TEST(workers_that_were_scaled_down_do_no_work)
{
    work thirty[30];
    make_crew(.workers = 8);
    settle();
    expect_equal(cen_crew_resize(crew, 1, NULL), CEN_OK);
    settle();
    init_works(thirty, 30);
    for (int i = 0; i < 30; i++) thirty[i].inside = note_worker;
    submit_works(thirty, 30);
    for (int i = 0; i < 30; i++) expect_end(&thirty[i], CEN_OK);
    expect_equal(__builtin_popcount(seen_workers), 1);
    expect_equal(look().threads, 1);
    finish();
}

/* Tasks that were queued before the start ran on all threads, whatever had been set. */
/* guarantees: task-bugs.too-many */
TEST(what_is_queued_first_runs_on_as_many_workers_as_are_set_and_no_more)
{
    work ten[10];
    init_works(ten, 10);
    for (int i = 0; i < 10; i++) {
        ten[i].inside = take_long;
        ten[i].ns = SECOND;
    }
    make_crew(.workers = 2, .max = 16);
    submit_works(ten, 10);
    for (int i = 0; i < 5; i++) {
        settle();
        cen_crew_stats s = sound_look();
        expect_equal(s.running, 2);
        expect_equal(s.threads, 2);
        nap(SECOND + 1);
    }
    finish();
}

/* A scale-down waited for a long task. */
/* guarantees: task-bugs.scale-down */
TEST(a_resize_does_not_wait_for_a_long_task)
{
    make_crew(.workers = 2);
    keep_busy(100 * SECOND);
    int64_t now = ceni_clock_now();
    expect_equal(cen_crew_resize(crew, 1, NULL), CEN_OK);
    expect_equal(ceni_clock_now(), now);
    finish();
}

/* Tasks that block on I/O were capped at the number of processors. */
static void block(work *self)
{
    cen_blocking_begin();
    nap(self->ns);
    cen_blocking_end();
}

/* guarantees: task-bugs.blocking */
TEST(tasks_that_block_are_not_capped_at_the_number_of_processors)
{
    static work many[24];
    ceni_world_set_cpus(2);
    init_works(many, 24);
    make_crew(.max = 26);
    for (int i = 0; i < 24; i++) {
        many[i].mark = 0;
        many[i].inside = block;
        many[i].ns = SECOND;
    }
    int64_t now = ceni_clock_now();
    submit_works(many, 24);
    for (int i = 0; i < 24; i++) expect_end(&many[i], CEN_OK);
    expect_equal(ceni_clock_now(), now + SECOND);
    finish();
}

/* What was told of a pool's load was of a window of minutes: here each number is of now. */
/* guarantees: task-bugs.wait-times */
TEST(what_a_look_says_is_of_this_moment)
{
    work five[5];
    init_works(five, 5);
    make_crew(.workers = 1);
    keep_busy(SECOND);
    submit_works(five, 5);
    expect_equal(look().queued, 5);
    expect_end(&blocker, CEN_OK);
    settle();
    expect_equal(look().queued, 0);
    expect_equal(look().idle, 1);
    finish();
}
