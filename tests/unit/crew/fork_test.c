/* SPDX-License-Identifier: MIT */
/* What a forked child may do with its parent's crew (L14). */
#include <sys/wait.h>
#include <unistd.h>

#include "port/rank.h"
#include "unit/crew/crews.h"

static work waiting, sent;
static cen_promise promise;
static cen_future future;
static _Atomic uint32_t jobs;

static void expect_clean_end(pid_t child)
{
    int status = -1;
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
}

static void in_a_child(void (*run)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        *ceni_rank_mask() = 0; /* a lock may be held by a thread that is not here */
        run();
        _exit(0);
    }
    expect_clean_end(child);
}

static cen_next wait_for_promise(cen_task *task)
{
    return cen_task_wait(task, &future, run_once);
}

static void prepare(cen_fork_policy policy)
{
    cen_future_init(&future);
    expect_equal(cen_promise_init(&promise, &future), CEN_OK);
    init_work(&waiting, 0, wait_for_promise);
    init_work(&sent, 0, run_once);
    make_crew(.workers = 2, .on_fork = policy);
    submit(&waiting);
    while (look().waiting == 0) ceni_thread_yield();
}

static void end_parent(void)
{
    expect(cen_promise_complete(&promise, NULL));
    submit(&sent);
    expect_end(&sent, CEN_OK);
    expect_end(&waiting, CEN_OK);
    finish();
}

static void run_job(cen_job *job)
{
    (void)job;
    ceni_add_seq_cst(&jobs, 1);
    ceni_futex_wake(&jobs, 1);
}

static void expect_refused(void)
{
    work one;
    cen_crew_stats stats = CEN_SIZED(cen_crew_stats);
    cen_job job = {.run = run_job};
    init_work(&one, 0, run_once);
    expect_equal(cen_crew_submit(crew, &one.task, NULL), CEN_FORKED);
    expect_equal(cen_crew_submit_all(crew, (cen_task *[]){&one.task}, 1, NULL), CEN_FORKED);
    expect_equal(cen_crew_resize(crew, 1, NULL), CEN_FORKED);
    expect_equal(cen_crew_stats_get(crew, &stats), CEN_FORKED);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DROP, CEN_NEVER, NULL, NULL), CEN_FORKED);
    expect(!cen_task_cancel(&waiting.task));
    expect(!cen_future_is_done(&waiting.task.future));
    cen_executor *executor = cen_crew_executor(crew);
    executor->post(executor, &job);
    while (ceni_load_seq_cst(&jobs) == 0) ceni_futex_wait(&jobs, 0, CENI_FOREVER);
    expect_equal(cen_crew_free(crew), CEN_OK);
}

/* guarantees: crew.L14 */
TEST(in_a_child_a_crew_that_refuses_answers_forked_and_its_memory_can_be_given_back)
{
    prepare(CEN_FORK_REFUSE);
    in_a_child(expect_refused);
    end_parent();
}

static void expect_renewed(void)
{
    work ten[10];
    init_works(ten, 10);
    submit_works(ten, 10);
    for (int i = 0; i < 10; i++) expect_end(&ten[i], CEN_OK);
    cen_crew_stats s = sound_look();
    expect_equal(s.submitted, 10);
    expect_equal(s.waiting, 0);
    expect(!cen_future_is_done(&waiting.task.future));
    expect(!cen_task_cancel(&waiting.task));
    finish();
}

/* guarantees: crew.L14 */
TEST(in_a_child_a_crew_that_renews_has_workers_of_its_own_and_no_task)
{
    prepare(CEN_FORK_RENEW);
    in_a_child(expect_renewed);
    end_parent();
}

static void free_at_once(void)
{
    expect_equal(cen_crew_free(crew), CEN_OK);
}

/* guarantees: crew.L14 */
TEST(a_child_may_give_the_memory_back_without_having_used_it)
{
    prepare(CEN_FORK_RENEW);
    in_a_child(free_at_once);
    end_parent();
}

static void child_with_child(void)
{
    work one;
    init_works(&one, 1);
    submit(&one);
    expect_end(&one, CEN_OK);
    in_a_child(expect_renewed);
    finish();
}

/* guarantees: crew.L14 */
TEST(a_child_s_child_has_another_crew_again)
{
    prepare(CEN_FORK_RENEW);
    in_a_child(child_with_child);
    end_parent();
}

static void have_its_own(void)
{
    work one;
    init_works(&one, 1);
    make_crew(.workers = 1);
    submit(&one);
    expect_end(&one, CEN_OK);
    finish();
}

/* guarantees: crew.L14 */
TEST(a_child_can_have_a_crew_of_its_own)
{
    prepare(CEN_FORK_REFUSE);
    in_a_child(have_its_own);
    end_parent();
}

/* ---- In a step ---------------------------------------------------------------------------- */

static void fork_inside(work *self)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        work one;
        alarm(60);
        *ceni_rank_mask() = 0;
        init_works(&one, 1);
        cen_blocking_begin();
        cen_blocking_end();
        if (self->mark == 'r') {
            submit(&one);
            expect_equal(cen_await(&one.task.future, cen_in_s(30)), CEN_OK);
            expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
        } else {
            expect_equal(cen_crew_submit(crew, &one.task, NULL), CEN_FORKED);
        }
        if (self->mark != 'e') _exit(0);
        return; /* the thread's way out of its crew is the process' end */
    }
    expect_clean_end(child);
}

static void fork_in_a_step(char letter, cen_fork_policy policy)
{
    work one, after;
    init_work(&one, letter, run_once);
    one.inside = fork_inside;
    init_work(&after, 0, run_once);
    make_crew(.workers = 2, .on_fork = policy);
    submit(&one);
    submit(&after);
    expect_end(&one, CEN_OK);
    expect_end(&after, CEN_OK);
    finish();
}

/* guarantees: crew.L14 */
TEST(a_step_that_forks_goes_on_in_the_parent_and_ends_the_child_when_it_returns)
{
    fork_in_a_step('e', CEN_FORK_REFUSE);
}

/* guarantees: crew.L14 */
TEST(the_child_of_a_step_may_exit)
{
    fork_in_a_step('q', CEN_FORK_REFUSE);
}

/* guarantees: crew.L14 */
TEST(the_child_of_a_step_may_use_the_crew_that_is_made_anew)
{
    fork_in_a_step('r', CEN_FORK_RENEW);
}
