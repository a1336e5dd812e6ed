/* SPDX-License-Identifier: MIT */
/* The end of a crew: to drain, to drop, by deadline, from inside. */
#include "unit/crew/crews.h"

static cen_crew_report report;

static void expect_report(uint64_t finished, uint64_t dropped, uint64_t running, uint64_t waiting, uint64_t queued)
{
    expect_equal(report.finished, finished);
    expect_equal(report.dropped, dropped);
    expect_equal(report.running, running);
    expect_equal(report.waiting, waiting);
    expect_equal(report.queued, queued);
}

static cen_status stop(cen_stop how, cen_deadline deadline)
{
    memset(&report, 0x5A, sizeof report);
    report.size = sizeof report;
    return cen_crew_stop(crew, how, deadline, &report, NULL);
}

static void free_it(void)
{
    expect_equal(cen_crew_free(crew), CEN_OK);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: crew.stop-report */
TEST(to_drain_what_is_there_is_run_to_its_end)
{
    work ten[10], before;
    init_works(ten, 10);
    init_work(&before, 'z', run_once);
    make_crew(.workers = 1);
    submit(&before);
    expect_end(&before, CEN_OK);
    keep_busy(SECOND);
    submit_works(ten, 10);
    expect_equal(stop(CEN_STOP_DRAIN, CEN_NEVER), CEN_OK);
    expect_report(11, 0, 0, 0, 0);
    expect_story("zabcdefghij");
    free_it();
}

/* guarantees: crew.stop-report */
TEST(to_drop_what_has_not_begun_fails_with_closed_and_what_has_is_asked_to_end)
{
    work twelve[12];
    init_works(twelve, 12);
    make_crew(.workers = 1, .name = "shut");
    keep_busy(SECOND);
    submit_works(twelve, 12);
    expect_equal(stop(CEN_STOP_DROP, CEN_NEVER), CEN_OK);
    expect_report(1, 12, 0, 0, 0);
    for (int i = 0; i < 12; i++) expect_end(&twelve[i], CEN_CLOSED);
    expect_text(twelve[3].error.text, "crew \"shut\": a task did not start before the crew was stopped");
    expect_story("");
    free_it();
}

static void note_asked(work *self)
{
    nap(self->ns);
    self->asked = cen_task_check_stop(&self->task);
}

/* guarantees: crew.stop-report */
TEST(what_runs_when_the_crew_drops_is_told_closed_and_when_it_drains_nothing)
{
    for (int round = 0; round < 2; round++) {
        work one;
        init_work(&one, 'a', run_once);
        one.inside = note_asked;
        one.ns = SECOND;
        make_crew(.workers = 1);
        submit(&one);
        settle();
        expect_equal(stop(round ? CEN_STOP_DROP : CEN_STOP_DRAIN, CEN_NEVER), CEN_OK);
        expect_end(&one, CEN_OK);
        expect_equal(one.asked, round ? CEN_CLOSED : CEN_OK);
        expect_report(1, 0, 0, 0, 0);
        free_it();
    }
}

/* guarantees: crew.stop-report */
TEST(submits_are_refused_after_a_stop)
{
    work three[3];
    init_works(three, 3);
    make_crew(.workers = 1);
    expect_equal(stop(CEN_STOP_DRAIN, CEN_NEVER), CEN_OK);
    expect_equal(cen_crew_submit(crew, &three[0].task, NULL), CEN_CLOSED);
    cen_task *all[] = {&three[1].task, &three[2].task};
    expect_equal(cen_crew_submit_all(crew, all, 2, NULL), CEN_CLOSED);
    expect(!cen_future_is_done(&three[0].task.future));
    free_it();
    make_crew(.workers = 1); /* what was refused is the caller's */
    submit(&three[0]);
    expect_end(&three[0], CEN_OK);
    finish();
}

static work offspring[5];
static cen_status answers[5];

static void have_offspring(work *self)
{
    nap(self->ns);
    for (int i = 0; i < 5; i++) answers[i] = cen_crew_submit(crew, &offspring[i].task, NULL);
}

/* guarantees: crew.stop-report */
TEST(what_tasks_submit_while_the_crew_drains_is_run_too)
{
    work one;
    init_work(&one, 'p', run_once);
    one.inside = have_offspring;
    one.ns = SECOND;
    init_works(offspring, 5);
    make_crew(.workers = 1);
    submit(&one);
    settle();
    expect_equal(stop(CEN_STOP_DRAIN, CEN_NEVER), CEN_OK);
    expect_report(6, 0, 0, 0, 0);
    for (int i = 0; i < 5; i++) expect_end(&offspring[i], CEN_OK);
    free_it();
}

/* guarantees: crew.stop-report */
TEST(what_tasks_submit_while_the_crew_drops_is_refused)
{
    work one;
    init_work(&one, 'p', run_once);
    one.inside = have_offspring;
    one.ns = SECOND;
    init_works(offspring, 5);
    make_crew(.workers = 1);
    submit(&one);
    settle();
    expect_equal(stop(CEN_STOP_DROP, CEN_NEVER), CEN_OK);
    for (int i = 0; i < 5; i++) expect_equal(answers[i], CEN_CLOSED);
    expect_report(1, 0, 0, 0, 0);
    free_it();
}

static cen_next woken(cen_task *task)
{
    work *self = (work *)task;
    self->asked = cen_task_check_stop(task);
    mark(self->mark);
    return cen_task_done(task, self);
}

static cen_next wait_for_timer(cen_task *task)
{
    work *self = (work *)task;
    cen_timer_init(&self->timer);
    expect_equal(cen_timer_start(&self->timer, NULL, cen_in_ns(self->ns), NULL), CEN_OK);
    return cen_task_wait(task, &self->timer.future, woken);
}

/* guarantees: crew.stop-report */
TEST(when_the_deadline_has_passed_the_rest_is_dropped_and_the_report_says_what_is_left)
{
    work running, waiting, queued[6];
    init_work(&running, 'r', run_once);
    init_work(&waiting, 'w', wait_for_timer);
    running.inside = note_asked;
    running.ns = waiting.ns = 10 * SECOND;
    init_works(queued, 6);
    make_crew(.workers = 1);
    submit(&waiting);
    settle();
    submit(&running);
    settle();
    submit_works(queued, 6);
    int64_t now = ceni_clock_now();
    expect_equal(stop(CEN_STOP_DRAIN, cen_in_s(2)), CEN_TIMEOUT);
    expect_equal(ceni_clock_now(), now + 2 * SECOND);
    expect_report(0, 7, 1, 0, 0);
    for (int i = 0; i < 6; i++) expect_end(&queued[i], CEN_CLOSED);
    expect_equal(cen_crew_free(crew), CEN_BUSY);
    expect_equal(stop(CEN_STOP_DRAIN, CEN_NEVER), CEN_OK); /* again, to wait */
    expect_report(1, 7, 0, 0, 0);
    expect_equal(running.asked, CEN_CLOSED);
    expect_end(&waiting, CEN_CLOSED);
    free_it();
}

/* guarantees: crew.stop-report */
TEST(a_zero_deadline_is_thirty_seconds)
{
    make_crew(.workers = 1);
    keep_busy(100 * SECOND);
    int64_t now = ceni_clock_now();
    expect_equal(stop(CEN_STOP_DRAIN, CEN_DEADLINE_(0)), CEN_TIMEOUT);
    expect_equal(ceni_clock_now(), now + 30 * SECOND);
    expect_report(0, 0, 1, 0, 0);
    expect_equal(stop(CEN_STOP_DROP, CEN_NEVER), CEN_OK);
    free_it();
}

/* guarantees: crew.stop-report */
TEST(a_stop_may_be_called_again_and_again_and_by_several_at_once)
{
    make_crew(.workers = 2);
    expect_equal(stop(CEN_STOP_DRAIN, CEN_NEVER), CEN_OK);
    expect_equal(stop(CEN_STOP_DRAIN, CEN_NEVER), CEN_OK);
    expect_equal(stop(CEN_STOP_DROP, CEN_NEVER), CEN_OK);
    expect_report(0, 0, 0, 0, 0);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NOW, NULL, NULL), CEN_OK);
    expect_equal(cen_crew_stop(NULL, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_INVALID);
    expect_equal(cen_crew_stop(crew, (cen_stop)7, CEN_NEVER, NULL, NULL), CEN_INVALID);
    free_it();
}

static void stop_too(void *argument)
{
    (void)argument;
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
}

/* guarantees: crew.stop-report */
TEST(two_threads_stop_one_crew)
{
    work ten[10];
    init_works(ten, 10);
    make_crew(.workers = 2);
    keep_busy(SECOND);
    submit_works(ten, 10);
    ceni_thread other = start("stopper", stop_too, NULL);
    expect_equal(stop(CEN_STOP_DRAIN, CEN_NEVER), CEN_OK);
    join(other);
    for (int i = 0; i < 10; i++) expect_end(&ten[i], CEN_OK);
    free_it();
}

static void drop_too(void *argument)
{
    (void)argument;
    nap(SECOND);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DROP, CEN_NEVER, NULL, NULL), CEN_OK);
}

/* guarantees: crew.stop-report */
TEST(one_who_drains_is_helped_by_one_who_drops)
{
    work ten[10];
    init_works(ten, 10);
    make_crew(.workers = 1);
    keep_busy(2 * SECOND);
    submit_works(ten, 10);
    ceni_thread other = start("stopper", drop_too, NULL);
    expect_equal(stop(CEN_STOP_DRAIN, CEN_NEVER), CEN_OK);
    join(other);
    for (int i = 0; i < 10; i++) expect_end(&ten[i], CEN_CLOSED);
    expect_report(1, 10, 0, 0, 0);
    free_it();
}

/* ---- From inside ------------------------------------------------------------------------ */

static void stop_inside(work *self)
{
    self->got = stop(self->mark == 'd' ? CEN_STOP_DROP : CEN_STOP_DRAIN, self->ns ? cen_in_ns(self->ns) : CEN_NEVER);
    mark('!');
    expect_equal(cen_crew_free(crew), CEN_MISUSE);
}

static void free_when_it_can_be(void)
{
    while (cen_crew_free(crew) == CEN_BUSY) nap(MS);
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: crew.stop-report */
TEST(a_task_may_drain_its_own_crew_and_runs_the_others_itself)
{
    work one, six[6];
    init_work(&one, 's', run_once);
    one.inside = stop_inside;
    init_works(six, 6);
    make_crew(.workers = 1, .max = 1);
    submit(&one);
    submit_works(six, 6);
    expect_end(&one, CEN_OK);
    expect_equal(one.got, CEN_OK);
    expect_report(6, 0, 1, 0, 0);
    expect_story("sabcdef!");
    free_when_it_can_be();
}

/* guarantees: crew.stop-report */
TEST(a_task_may_drop_its_own_crew)
{
    work one, six[6];
    init_work(&one, 'd', run_once);
    one.inside = stop_inside;
    init_works(six, 6);
    make_crew(.workers = 1, .max = 1);
    submit(&one);
    submit_works(six, 6);
    expect_end(&one, CEN_OK);
    for (int i = 0; i < 6; i++) expect_end(&six[i], CEN_CLOSED);
    expect_report(0, 6, 1, 0, 0);
    free_when_it_can_be();
}

/* guarantees: crew.stop-report */
TEST(a_task_that_drains_its_crew_waits_for_one_that_waits_itself)
{
    work one, waiting;
    init_work(&one, 's', run_once);
    one.inside = stop_inside;
    init_work(&waiting, 'w', wait_for_timer);
    waiting.ns = 5 * SECOND;
    make_crew(.workers = 1, .max = 1);
    submit(&waiting);
    settle();
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_equal(one.got, CEN_OK);
    expect_story("sw!");
    expect_end(&waiting, CEN_OK);
    free_when_it_can_be();
}

/* guarantees: crew.stop-report */
TEST(a_task_that_drains_its_crew_gives_up_at_its_deadline)
{
    work one, long_one;
    init_work(&one, 's', run_once);
    one.inside = stop_inside;
    one.ns = SECOND;
    init_work(&long_one, 'l', run_once);
    long_one.inside = take_long;
    long_one.ns = 10 * SECOND;
    make_crew(.workers = 2);
    submit(&long_one);
    settle();
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_equal(one.got, CEN_TIMEOUT);
    expect_report(0, 0, 2, 0, 0);
    expect_end(&long_one, CEN_OK);
    free_when_it_can_be();
}

/* guarantees: crew.stop-report */
TEST(two_tasks_may_stop_their_crew_at_once)
{
    work two[2], six[6];
    init_works(six, 6);
    for (int i = 0; i < 2; i++) {
        init_work(&two[i], 's', run_once);
        two[i].inside = stop_inside;
        two[i].ns = 100 * SECOND;
    }
    make_crew(.workers = 2);
    cen_task *both[] = {&two[0].task, &two[1].task};
    expect_equal(cen_crew_submit_all(crew, both, 2, NULL), CEN_OK);
    submit_works(six, 6);
    int64_t now = ceni_clock_now();
    expect_end(&two[0], CEN_OK);
    expect_end(&two[1], CEN_OK);
    expect_equal(two[0].got, CEN_OK);
    expect_equal(two[1].got, CEN_OK);
    expect_equal(ceni_clock_now(), now);
    free_when_it_can_be();
}

/* ---- Jobs ---------------------------------------------------------------------------------- */

static unsigned jobs_run;
static cen_status answer;

static void count_job(cen_job *job)
{
    (void)job;
    jobs_run++;
}

/* guarantees: crew.stop-report */
TEST(jobs_are_run_whether_the_crew_drains_or_drops)
{
    for (int round = 0; round < 2; round++) {
        cen_job jobs[10];
        make_crew(.workers = 1);
        keep_busy(SECOND);
        cen_executor *executor = cen_crew_executor(crew);
        for (int i = 0; i < 10; i++) {
            jobs[i] = (cen_job){.run = count_job};
            executor->post(executor, &jobs[i]);
        }
        expect_equal(stop(round ? CEN_STOP_DROP : CEN_STOP_DRAIN, CEN_NEVER), CEN_OK);
        expect_equal(jobs_run, 10 * (round + 1));
        expect_report(1, 0, 0, 0, 0);
        free_it();
    }
}

static work late;

static void submit_late(cen_job *job)
{
    (void)job;
    nap(SECOND);
    answer = cen_crew_submit(crew, &late.task, NULL);
}

/* guarantees: crew.stop-report */
TEST(a_job_cannot_submit_to_a_crew_that_drains)
{
    cen_job job = {.run = submit_late};
    init_work(&late, 'l', run_once);
    make_crew(.workers = 1);
    cen_executor *executor = cen_crew_executor(crew);
    executor->post(executor, &job);
    settle();
    expect_equal(stop(CEN_STOP_DRAIN, CEN_NEVER), CEN_OK);
    expect_equal(answer, CEN_CLOSED);
    free_it();
}

static void stop_in_a_job(cen_job *job)
{
    (void)job;
    answer = cen_crew_stop(crew, CEN_STOP_DRAIN, cen_in_s(100), NULL, NULL);
    jobs_run++;
}

/* guarantees: crew.stop-report */
TEST(a_job_may_stop_its_crew_and_does_not_wait_for_its_own_worker)
{
    cen_job job = {.run = stop_in_a_job};
    work six[6];
    init_works(six, 6);
    make_crew(.workers = 1); /* a job helps nobody, but another worker may come */
    submit_works(six, 6);
    cen_executor *executor = cen_crew_executor(crew);
    int64_t now = ceni_clock_now();
    executor->post(executor, &job);
    settle();
    expect_equal(jobs_run, 1);
    expect_equal(answer, CEN_OK);
    expect_equal(ceni_clock_now(), now);
    for (int i = 0; i < 6; i++) expect_end(&six[i], CEN_OK);
    free_when_it_can_be();
}
