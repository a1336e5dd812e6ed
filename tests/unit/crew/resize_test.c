/* SPDX-License-Identifier: MIT */
/* More and fewer workers while there is work. */
#include "unit/crew/crews.h"

static void init_slow(work *first, unsigned count, int64_t ns)
{
    init_works(first, count);
    for (unsigned i = 0; i < count; i++) {
        first[i].inside = take_long;
        first[i].ns = ns;
    }
}

/* guarantees: crew.resize */
TEST(more_workers_are_there_at_once_for_what_waits)
{
    work four[4];
    init_slow(four, 4, SECOND);
    make_crew(.workers = 1);
    submit_works(four, 4);
    settle();
    expect_equal(sound_look().running, 1);
    expect_equal(cen_crew_resize(crew, 4, NULL), CEN_OK);
    settle();
    cen_crew_stats s = sound_look();
    expect_equal(s.running, 4);
    expect_equal(s.workers, 4);
    finish();
}

/* guarantees: crew.resize, task-bugs.scale-down */
TEST(a_worker_that_is_too_many_finishes_its_step_leaves_the_rest_to_the_others_and_ends)
{
    work twelve[12];
    init_slow(twelve, 12, SECOND);
    make_crew(.workers = 4);
    submit_works(twelve, 12);
    settle();
    expect_equal(sound_look().running, 4);
    expect_equal(cen_crew_resize(crew, 1, NULL), CEN_OK);
    settle();
    expect_equal(sound_look().running, 4);
    nap(SECOND + SECOND / 2);
    cen_crew_stats s = sound_look();
    expect_equal(s.running, 1);
    expect_equal(s.finished, 4);
    expect_equal(s.threads, 1);
    int64_t now = ceni_clock_now();
    for (int i = 0; i < 12; i++) expect_end(&twelve[i], CEN_OK);
    expect_equal(ceni_clock_now(), now + 8 * SECOND - SECOND / 2);
    finish();
}

/* guarantees: crew.resize, task-bugs.scale-down */
TEST(those_who_sleep_and_are_too_many_end_at_once)
{
    make_crew(.workers = 4);
    settle();
    expect_equal(look().threads, 4);
    expect_equal(cen_crew_resize(crew, 2, NULL), CEN_OK);
    settle();
    cen_crew_stats s = sound_look();
    expect_equal(s.threads, 2);
    expect_equal(s.idle, 2);
    finish();
}

static cen_status make_nothing(void *argument, uint32_t worker, void **out, cen_error *error)
{
    (void)argument, (void)worker, (void)error;
    *out = story;
    return CEN_OK;
}

static void destroy_slowly(void *argument, void *data)
{
    (void)argument, (void)data;
    nap(SECOND);
}

/* guarantees: crew.resize, task-bugs.scale-down */
TEST(not_more_end_than_are_too_many_although_each_takes_its_time)
{
    make_crew(.workers = 4, .context = {.create = make_nothing, .destroy = destroy_slowly});
    settle();
    expect_equal(cen_crew_resize(crew, 1, NULL), CEN_OK);
    nap(10 * SECOND);
    expect_equal(look().threads, 1);
    expect_equal(look().idle, 1);
    finish();
}

/* guarantees: crew.resize */
TEST(fewer_and_more_again_is_as_before)
{
    work four[4];
    make_crew(.workers = 4);
    expect_equal(cen_crew_resize(crew, 1, NULL), CEN_OK);
    settle();
    expect_equal(cen_crew_resize(crew, 4, NULL), CEN_OK);
    init_slow(four, 4, SECOND);
    submit_works(four, 4);
    settle();
    expect_equal(sound_look().running, 4);
    for (int i = 0; i < 4; i++) expect_end(&four[i], CEN_OK);
    nap(100 * SECOND);
    expect_equal(look().threads, 4); /* min has come up again */
    finish();
}

/* guarantees: crew.resize, task-bugs.scale-down */
TEST(a_size_that_cannot_be_is_refused_and_changes_nothing)
{
    make_crew(.workers = 2, .max = 3);
    expect_equal(cen_crew_resize(NULL, 1, NULL), CEN_INVALID);
    expect_equal(cen_crew_resize(crew, 0, NULL), CEN_INVALID);
    expect_equal(cen_crew_resize(crew, 4, NULL), CEN_INVALID);
    expect_equal(look().workers, 2);
    expect_equal(cen_crew_resize(crew, 3, NULL), CEN_OK);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    expect_equal(cen_crew_resize(crew, 1, NULL), CEN_CLOSED);
    finish();
}

static void grow(work *self)
{
    (void)self;
    expect_equal(cen_crew_resize(crew, 3, NULL), CEN_OK);
}

/* guarantees: crew.resize */
TEST(a_task_may_resize_its_own_crew)
{
    work one, three[3];
    init_work(&one, 'g', run_once);
    one.inside = grow;
    make_crew(.workers = 1);
    submit(&one);
    expect_end(&one, CEN_OK);
    init_slow(three, 3, SECOND);
    submit_works(three, 3);
    settle();
    expect_equal(sound_look().running, 3);
    finish();
}

/* What the departing had in their queues can still be taken back. */
static work own[4];

static void submit_own(work *self)
{
    init_works(own, 4);
    for (int i = 0; i < 4; i++) expect_equal(cen_crew_submit(crew, &own[i].task, NULL), CEN_OK);
    nap(self->ns);
}

/* guarantees: crew.cancel */
TEST(what_a_departing_worker_has_left_can_be_taken_back)
{
    work one, two[2];
    init_work(&one, 'o', run_once);
    one.inside = submit_own;
    one.ns = SECOND;
    init_slow(two, 2, 10 * SECOND);
    make_crew(.workers = 2);
    submit_works(two, 1);
    submit(&one);
    settle();
    submit(&two[1]);
    expect_equal(cen_crew_resize(crew, 1, NULL), CEN_OK);
    nap(2 * SECOND);
    settle();
    expect_equal(look().threads, 1);
    for (int i = 3; i >= 0; i--) expect(cen_task_cancel(&own[i].task));
    expect(cen_task_cancel(&two[1].task));
    expect_equal(sound_look().queued, 0);
    finish();
    expect_story("ao");
}
