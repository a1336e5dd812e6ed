/* SPDX-License-Identifier: MIT */
/* Jobs under every schedule: posted while helpers come and go, and while the runtime ends. */
#include "explore/runtimes.h"

typedef struct task {
    cen_job job;
    cen_executor *executor;
    struct task *waits_for;
    _Atomic uint32_t runs;
} task;

static task first, second;

static void task_runs(cen_job *part)
{
    task *self = (task *)(void *)part;
    if (self->waits_for) await_count(&self->waits_for->runs, 1);
    count_up(&self->runs);
}

static void init_task(task *self, cen_executor *executor)
{
    *self = (task){.job = {.run = task_runs}, .executor = executor};
}

static void post_task(void *argument)
{
    task *self = argument;
    self->executor->post(self->executor, &self->job);
}

static void begin(cen_executor *executor)
{
    init_task(&first, executor);
    init_task(&second, executor);
}

/* guarantees: runtime.jobs */
EXPLORE(a_job_that_blocks_holds_up_no_other, 2)
{
    cen_runtime *runtime = make_lingering(CEN_OFF);
    begin(cen_runtime_executor(runtime));
    first.waits_for = &second;
    post_task(&first);
    post_task(&second);
    await_count(&first.runs, 1);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    await_departed();
}

/* Whoever sees that both have run may free the runtime, although another thread is still in post. */
/* guarantees: runtime.jobs */
EXPLORE(a_runtime_can_be_freed_as_soon_as_its_jobs_have_run, 2)
{
    cen_runtime *runtime = make_lingering(CEN_OFF);
    begin(cen_runtime_executor(runtime));
    ceni_thread other = start("other", post_task, &second);
    post_task(&first);
    await_count(&first.runs, 1);
    await_count(&second.runs, 1);
    expect_equal(cen_runtime_free(runtime), CEN_OK);
    join(other);
    await_departed();
}

EXPLORE(free_is_refused_while_a_job_is_queued_and_waits_for_one_that_runs, 3)
{
    cen_runtime *runtime = make_lingering(CEN_OFF);
    begin(cen_runtime_executor(runtime));
    post_task(&first);
    cen_status status = cen_runtime_free(runtime);
    if (status == CEN_BUSY) {
        await_count(&first.runs, 1);
        status = cen_runtime_free(runtime);
    }
    expect_equal(status, CEN_OK);
    expect_equal(ceni_load_seq_cst(&first.runs), 1);
    await_departed();
}

EXPLORE(the_process_own_ends_with_its_last_job, 3)
{
    begin(cen_runtime_executor(NULL));
    post_task(&first);
    await_count(&first.runs, 1);
    await_departed();
}

/* guarantees: runtime.jobs */
EXPLORE(a_job_that_is_posted_while_the_last_one_ends_the_process_own_is_run, 2)
{
    begin(cen_runtime_executor(NULL));
    post_task(&first);
    await_count(&first.runs, 1);
    post_task(&second);
    await_count(&second.runs, 1);
    await_departed();
}
