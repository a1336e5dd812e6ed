/* SPDX-License-Identifier: MIT */
/* When the memory of a crew can be given back. */
#include "unit/crew/crews.h"

/* guarantees: crew.free */
TEST(a_crew_that_was_not_stopped_is_busy_and_works_on)
{
    work one;
    init_works(&one, 1);
    expect_equal(cen_crew_free(NULL), CEN_OK);
    make_crew(.workers = 2);
    expect_equal(cen_crew_free(crew), CEN_BUSY);
    submit(&one);
    expect_end(&one, CEN_OK);
    finish();
}

/* guarantees: crew.free */
TEST(a_crew_of_which_something_is_left_is_busy)
{
    make_crew(.workers = 1);
    keep_busy(10 * SECOND);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DROP, CEN_NOW, NULL, NULL), CEN_TIMEOUT);
    expect_equal(cen_crew_free(crew), CEN_BUSY);
    expect_end(&blocker, CEN_OK);
    finish();
}

static void free_inside(work *self)
{
    self->got = cen_crew_free(crew);
}

/* guarantees: crew.free */
TEST(a_task_cannot_free_its_own_crew)
{
    work one;
    init_work(&one, 'a', run_once);
    one.inside = free_inside;
    make_crew(.workers = 1);
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_equal(one.got, CEN_MISUSE);
    finish();
}

static cen_crew *other_crew;

static void free_other(work *self)
{
    expect_equal(cen_crew_stop(other_crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    self->got = cen_crew_free(other_crew);
}

/* guarantees: crew.free */
TEST(a_task_may_stop_and_free_another_crew)
{
    work one;
    cen_crew_options options = CEN_CREW_OPTIONS(.workers = 2);
    init_work(&one, 'a', run_once);
    one.inside = free_other;
    expect_equal(cen_crew_new(&options, &other_crew, NULL), CEN_OK);
    make_crew(.workers = 1);
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_equal(one.got, CEN_OK);
    finish();
}
