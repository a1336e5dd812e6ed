/* SPDX-License-Identifier: MIT */
/* Runtimes as executors, in virtual time. */
#include "support/world.h"
#include "unit/runtime/tasks.h"

static const int64_t second = 1000000000;

/* guarantees: runtime.jobs */
TEST(a_job_runs_once_on_a_thread_of_the_runtimes_and_is_not_touched_afterwards)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    task one;
    init_task(&one, cen_runtime_executor(runtime));
    expect(one.executor == cen_runtime_executor(runtime));
    for (uint32_t round = 1; round <= 3; round++) {
        post_task(&one);
        ceni_world_settle();
        expect_equal(ceni_load_seq_cst(&one.ended), round);
        expect(ceni_load_seq_cst(&one.thread) != ceni_thread_id());
    }
    expect_equal(look_at(runtime).helpers, 1);
    free_runtime(runtime);
    expect_equal(ceni_world_waiting(), 0);
}

/* guarantees: runtime.jobs */
TEST(a_job_that_blocks_holds_up_no_other)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    task blocked[4], quick;
    for (int i = 0; i < 4; i++) {
        init_task(&blocked[i], cen_runtime_executor(runtime));
        block_task(&blocked[i]);
        post_task(&blocked[i]);
    }
    init_task(&quick, cen_runtime_executor(runtime));
    post_task(&quick);
    ceni_world_settle();
    expect_equal(ceni_load_seq_cst(&quick.ended), 1);
    expect_equal(look_at(runtime).busy, 4);
    for (int i = 0; i < 4; i++) unblock_task(&blocked[i]);
    free_runtime(runtime); /* which waits for those that run */
    for (int i = 0; i < 4; i++) expect_equal(ceni_load_seq_cst(&blocked[i].ended), 1);
}

static char order[16];

static void note(task *self)
{
    size_t length = strlen(order);
    if (length + 1 < sizeof order) memcpy(order + length, (char[]){(char)ceni_load_seq_cst(&self->gate), '\0'}, 2);
}

/* guarantees: runtime.jobs */
TEST(a_manual_runtime_runs_jobs_in_poll_in_the_order_in_which_they_were_posted)
{
    cen_runtime *runtime = make_runtime(.manual = true);
    task three[3];
    order[0] = '\0';
    for (int i = 0; i < 3; i++) {
        init_task(&three[i], cen_runtime_executor(runtime));
        ceni_store_seq_cst(&three[i].gate, (uint32_t)('a' + i));
        three[i].inside = note;
        post_task(&three[i]);
    }
    expect_equal(runs_of(&three[0]), 0);
    expect_equal(cen_runtime_free(runtime), CEN_BUSY);
    expect_equal(look_at(runtime).queued, 3);
    expect_equal(cen_runtime_poll(runtime), -1);
    expect_text(order, "abc");
    expect_equal(ceni_load_seq_cst(&three[2].thread), ceni_thread_id());
    post_task(&three[0]);
    post_task(&three[1]);
    expect_equal(cen_runtime_poll(runtime), -1);
    expect_text(order, "abcab");
    free_runtime(runtime);
}

TEST(advance_runs_jobs_too)
{
    cen_runtime *runtime = make_runtime(.manual = true, .virtual_time = true);
    task one;
    init_task(&one, cen_runtime_executor(runtime));
    post_task(&one);
    expect_equal(cen_runtime_advance(runtime, 1), CEN_OK);
    expect_equal(ceni_load_seq_cst(&one.ended), 1);
    free_runtime(runtime);
}

static void post_again(task *self)
{
    if (runs_of(self) < 5) post_task(self);
}

TEST(a_job_that_posts_itself_while_the_runtime_is_freed_is_run_before_that_ends)
{
    cen_runtime *runtime = make_runtime(.name = NULL);
    task one;
    init_task(&one, cen_runtime_executor(runtime));
    block_task(&one);
    one.inside = post_again;
    post_task(&one);
    await_count(&one.runs, 1);
    unblock_task(&one);
    free_runtime(runtime);
    expect_equal(ceni_load_seq_cst(&one.ended), 5);
    expect_equal(ceni_world_waiting(), 0);
}

static cen_runtime *freed_inside;
static _Atomic uint32_t answer;

static void free_inside(task *self)
{
    (void)self;
    ceni_store_seq_cst(&answer, (uint32_t)cen_runtime_free(freed_inside));
}

TEST(a_job_cannot_free_the_runtime_that_runs_it)
{
    for (int manual = 0; manual < 2; manual++) {
        freed_inside = make_runtime(.manual = manual);
        task one;
        init_task(&one, cen_runtime_executor(freed_inside));
        one.inside = free_inside;
        post_task(&one);
        cen_runtime_poll(freed_inside);
        ceni_world_settle();
        expect_equal(ceni_load_seq_cst(&answer), CEN_MISUSE);
        free_runtime(freed_inside);
    }
}

/* ---- The process' own --------------------------------------------------------------- */

/* guarantees: runtime.jobs */
TEST(the_process_own_is_there_while_there_are_jobs_and_goes_with_the_last)
{
    task one, two;
    init_task(&one, cen_runtime_executor(NULL));
    init_task(&two, cen_runtime_executor(NULL));
    expect(one.executor == two.executor);
    expect_equal(look_at(NULL).users, 0);
    block_task(&one);
    block_task(&two);
    post_task(&one);
    post_task(&two);
    ceni_world_settle();
    expect_equal(look_at(NULL).users, 2);
    expect_equal(look_at(NULL).busy, 2);
    unblock_task(&one);
    ceni_world_settle();
    expect_equal(look_at(NULL).users, 1);
    unblock_task(&two);
    ceni_world_settle();
    expect_equal(look_at(NULL).users, 0);
    expect_equal(ceni_world_waiting(), 0);
    expect_equal(ceni_world_bytes(), 0);
}

TEST(a_job_of_the_process_own_may_post_others)
{
    task one;
    init_task(&one, cen_runtime_executor(NULL));
    one.inside = post_again;
    post_task(&one);
    await_count(&one.ended, 5);
    ceni_world_settle();
    expect_equal(ceni_world_bytes(), 0);
}

TEST(jobs_and_others_share_the_process_own)
{
    cen_runtime *own = join_own();
    task one;
    init_task(&one, cen_runtime_executor(NULL));
    post_task(&one);
    ceni_world_settle();
    expect_equal(runs_of(&one), 1);
    expect_equal(look_at(NULL).users, 1);
    expect_equal(look_at(own).helpers, 1);
    ceni_runtime_leave(own);
    expect_equal(ceni_world_bytes(), 0);
}

/* ---- In a forked child ----------------------------------------------------------------- */

TEST(in_a_child_jobs_posted_to_the_parents_runtime_run_on_the_childs_own)
{
    cen_runtime *parents = make_runtime(.manual = true);
    task one, old;
    init_task(&old, cen_runtime_executor(parents));
    post_task(&old);
    ceni_world_fork();
    init_task(&one, cen_runtime_executor(parents));
    post_task(&one);
    ceni_world_settle();
    expect_equal(runs_of(&one), 1);
    expect_equal(runs_of(&old), 0);
    free_runtime(parents);
    pass(second);
    expect_equal(ceni_world_bytes(), 0);
}
