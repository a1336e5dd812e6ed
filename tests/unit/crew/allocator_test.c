/* SPDX-License-Identifier: MIT */
/* The program's allocator is called with no lock held when a worker is started: by new, by a submit, by a section that blocks. */
#include "support/unlocked.h"
#include "unit/crew/crews.h"

static cen_next run_blocking(cen_task *task)
{
    cen_blocking_begin();
    ceni_sleep_until(ceni_clock_now() + SECOND);
    cen_blocking_end();
    return cen_task_done(task, task);
}

/* guarantees: pool.allocator-unlocked */
TEST(the_allocator_is_called_with_no_lock_held_by_a_crew)
{
    enum { TASKS = 12 };
    work works[TASKS];
    make_crew(.workers = 4, .min = 1, .max = 16, .allocator = &unlocked);
    unsigned before = ceni_load_seq_cst(&unlocked_allocs);
    for (unsigned i = 0; i < TASKS; i++) init_work(&works[i], 0, run_blocking);
    submit_works(works, TASKS);
    for (unsigned i = 0; i < TASKS; i++) expect_equal(cen_future_wait(&works[i].task.future, CEN_NEVER), CEN_OK);
    expect(ceni_load_seq_cst(&unlocked_allocs) >= before + 4); /* a record for each seat that had none */
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    cen_crew_free(crew);
    expect_equal(ceni_load_seq_cst(&unlocked_allocs), ceni_load_seq_cst(&unlocked_frees));
}
