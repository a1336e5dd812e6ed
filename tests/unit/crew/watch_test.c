/* SPDX-License-Identifier: MIT */
/* The watchdog, in virtual time. */
#include <unistd.h>

#include "unit/crew/crews.h"

static unsigned reports;
static char last_text[256], last_task[64], last_thread[64];
static int64_t last_ns, last_at;

static void note_slow(void *argument, const char *text, const char *task, const char *thread, int64_t ns)
{
    expect(argument == story);
    snprintf(last_text, sizeof last_text, "%s", text);
    snprintf(last_task, sizeof last_task, "%s", task);
    snprintf(last_thread, sizeof last_thread, "%s", thread);
    last_ns = ns;
    last_at = ceni_clock_now();
    reports++;
}

static void init_slow(work *self, int64_t ns)
{
    init_work(self, 'a', run_once);
    self->inside = take_long;
    self->ns = ns;
}

/* guarantees: crew.slow */
TEST(a_step_that_runs_for_too_long_is_reported_once_with_its_name_and_thread)
{
    work one;
    init_slow(&one, 10 * SECOND);
    one.task.name = "siesta";
    make_crew(.workers = 1, .name = "iberia", .slow_ns = 2 * SECOND, .slow = note_slow, .argument = story);
    int64_t now = ceni_clock_now();
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_equal(reports, 1);
    expect(last_at >= now + 2 * SECOND && last_at <= now + 3 * SECOND);
    expect(last_ns >= 2 * SECOND && last_ns <= 3 * SECOND);
    expect_text(last_task, "siesta");
    expect_text(last_thread, "iberia:0");
    expect(
        strstr(last_text, "crew \"iberia\": a step of siesta has been running on thread \"iberia:0\" for at least "));
    expect_equal(look().slow, 1);
    finish();
}

/* guarantees: crew.slow */
TEST(steps_that_are_quick_are_not_reported_however_many)
{
    work one;
    make_crew(.workers = 1, .slow_ns = 2 * SECOND, .slow = note_slow, .argument = story);
    for (int i = 0; i < 20; i++) {
        init_slow(&one, SECOND + SECOND / 2);
        submit(&one);
        expect_end(&one, CEN_OK);
    }
    expect_equal(reports, 0);
    finish();
}

/* guarantees: crew.slow */
TEST(each_slow_step_is_reported)
{
    work two[2];
    make_crew(.workers = 2, .slow_ns = 2 * SECOND, .slow = note_slow, .argument = story);
    for (int i = 0; i < 2; i++) {
        init_slow(&two[i], 7 * SECOND);
        submit(&two[i]);
    }
    expect_end(&two[0], CEN_OK);
    expect_end(&two[1], CEN_OK);
    expect_equal(reports, 2);
    expect_text(last_task, "a task");
    init_slow(&two[0], 7 * SECOND);
    submit(&two[0]);
    expect_end(&two[0], CEN_OK);
    expect_equal(reports, 3);
    finish();
}

static cen_next woken(cen_task *task)
{
    return cen_task_done(task, task);
}

static cen_next wait_long(cen_task *task)
{
    work *self = (work *)task;
    cen_timer_init(&self->timer);
    expect_equal(cen_timer_start(&self->timer, NULL, cen_in_s(100), NULL), CEN_OK);
    if (self->mark == 'w') return cen_task_wait(task, &self->timer.future, woken);
    expect_equal(cen_await(&self->timer.future, CEN_NEVER), CEN_OK);
    return cen_task_done(task, self);
}

/* guarantees: crew.slow */
TEST(a_task_that_waits_or_awaits_is_not_slow)
{
    work two[2];
    init_work(&two[0], 'w', wait_long);
    init_work(&two[1], 'a', wait_long);
    make_crew(.workers = 2, .slow_ns = 2 * SECOND, .slow = note_slow, .argument = story);
    submit(&two[0]);
    submit(&two[1]);
    expect_end(&two[0], CEN_OK);
    expect_end(&two[1], CEN_OK);
    expect_equal(reports, 0);
    finish();
}

/* guarantees: crew.slow */
TEST(without_a_function_the_report_is_one_line_on_stderr)
{
    work one;
    char text[256] = "";
    init_slow(&one, 3 * SECOND);
    FILE *file = tmpfile();
    expect(file != NULL);
    int before = dup(STDERR_FILENO);
    expect(dup2(fileno(file), STDERR_FILENO) == STDERR_FILENO);
    make_crew(.workers = 1, .name = "loud", .slow_ns = SECOND);
    submit(&one);
    finish();
    fflush(stderr);
    expect(dup2(before, STDERR_FILENO) == STDERR_FILENO);
    rewind(file);
    expect(fgets(text, sizeof text, file) != NULL);
    expect(strstr(text, "cenote: crew \"loud\": a step of a task has been running on thread \"loud:0\" for at least "));
    expect(fgets(text, sizeof text, file) == NULL);
    fclose(file);
}
