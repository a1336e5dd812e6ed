/* SPDX-License-Identifier: MIT */
/* Sections that block: others are run meanwhile, up to the crew's max. */
#include "unit/crew/crews.h"

static void block(work *self)
{
    cen_blocking_begin();
    nap(self->ns);
    cen_blocking_end();
}

static void init_blockers(work *first, unsigned count, int64_t ns)
{
    init_works(first, count);
    for (unsigned i = 0; i < count; i++) {
        first[i].inside = block;
        first[i].ns = ns;
    }
}

/* guarantees: crew.blocking, task-bugs.blocking */
TEST(what_waits_is_run_by_another_worker_while_one_blocks)
{
    work one, other;
    init_blockers(&one, 1, 10 * SECOND);
    init_work(&other, 'o', run_once);
    make_crew(.workers = 1);
    cen_task *both[] = {&one.task, &other.task};
    int64_t now = ceni_clock_now();
    expect_equal(cen_crew_submit_all(crew, both, 2, NULL), CEN_OK);
    expect_end(&other, CEN_OK);
    expect_equal(ceni_clock_now(), now);
    cen_crew_stats s = sound_look();
    expect_equal(s.blocked, 1);
    expect_equal(s.threads, 2);
    expect_equal(s.workers, 1);
    finish();
}

/* guarantees: crew.blocking, task-bugs.blocking */
TEST(what_comes_while_one_blocks_is_run_by_another_worker)
{
    work one, other;
    init_blockers(&one, 1, 10 * SECOND);
    init_work(&other, 'o', run_once);
    make_crew(.workers = 1);
    int64_t now = ceni_clock_now();
    submit(&one);
    settle();
    submit(&other);
    expect_end(&other, CEN_OK);
    expect_equal(ceni_clock_now(), now);
    finish();
}

/* guarantees: crew.blocking, task-bugs.too-many */
TEST(as_many_block_at_a_time_as_there_may_be_threads)
{
    work ten[10];
    init_blockers(ten, 10, SECOND);
    make_crew(.workers = 1, .max = 5);
    int64_t now = ceni_clock_now();
    submit_works(ten, 10);
    settle();
    cen_crew_stats s = sound_look();
    expect_equal(s.blocked, 5);
    expect_equal(s.threads, 5);
    expect_equal(s.queued, 5);
    for (int i = 0; i < 10; i++) expect_end(&ten[i], CEN_OK);
    expect_equal(ceni_clock_now(), now + 2 * SECOND);
    finish();
}

/* ... so that those who only compute are not more than the workers. */
/* guarantees: crew.resize, task-bugs.too-many */
TEST(those_who_come_back_from_a_block_are_too_many_and_take_no_more_work)
{
    work four[4], slow[6];
    init_blockers(four, 4, SECOND);
    make_crew(.workers = 1, .idle_timeout_ns = 100 * SECOND);
    submit_works(four, 4);
    for (int i = 0; i < 4; i++) expect_end(&four[i], CEN_OK);
    settle();
    expect_equal(look().idle, look().threads);
    init_works(slow, 6);
    for (int i = 0; i < 6; i++) {
        slow[i].inside = take_long;
        slow[i].ns = SECOND;
    }
    int64_t now = ceni_clock_now();
    submit_works(slow, 6);
    settle();
    expect_equal(sound_look().running, 1);
    for (int i = 0; i < 6; i++) expect_end(&slow[i], CEN_OK);
    expect_equal(ceni_clock_now(), now + 6 * SECOND);
    finish();
}

/* guarantees: crew.resize */
TEST(surplus_workers_linger_and_then_end)
{
    work four[4];
    init_blockers(four, 4, SECOND);
    make_crew(.workers = 1, .idle_timeout_ns = 5 * SECOND);
    submit_works(four, 4);
    for (int i = 0; i < 4; i++) expect_end(&four[i], CEN_OK);
    settle();
    expect_equal(look().threads, 4);
    nap(4 * SECOND);
    expect_equal(look().threads, 4);
    nap(2 * SECOND);
    settle();
    expect_equal(look().threads, 1);
    init_blockers(four, 4, SECOND);
    submit_works(four, 4);
    finish();
}

/* guarantees: crew.resize */
TEST(surplus_workers_that_may_linger_for_ever_stay)
{
    work four[4];
    init_blockers(four, 4, SECOND);
    make_crew(.workers = 1, .idle_timeout_ns = CEN_OFF);
    submit_works(four, 4);
    for (int i = 0; i < 4; i++) expect_end(&four[i], CEN_OK);
    nap(1000 * SECOND);
    expect_equal(look().threads, 4);
    finish();
}

TEST(surplus_workers_that_may_not_linger_end_with_their_work)
{
    work four[4];
    init_blockers(four, 4, SECOND);
    make_crew(.workers = 1, .idle_timeout_ns = CEN_NONE);
    submit_works(four, 4);
    for (int i = 0; i < 4; i++) expect_end(&four[i], CEN_OK);
    settle();
    expect_equal(look().threads, 1);
    finish();
}

static void block_nested(work *self)
{
    (void)self;
    cen_blocking_end(); /* there is none to end */
    cen_blocking_begin();
    cen_blocking_begin();
    cen_blocking_end();
    nap(SECOND);
    expect_equal(look().blocked, 1);
    cen_blocking_end();
    expect_equal(look().blocked, 0);
    cen_blocking_begin();
    cen_blocking_begin();
}

/* guarantees: crew.blocking */
TEST(sections_nest_and_what_a_step_leaves_open_is_closed_at_its_end)
{
    work one;
    init_work(&one, 'a', run_once);
    one.inside = block_nested;
    make_crew(.workers = 1);
    submit(&one);
    expect_end(&one, CEN_OK);
    settle();
    expect_equal(look().blocked, 0);
    keep_busy(SECOND);
    expect_equal(look().blocked, 0);
    finish();
}

/* guarantees: crew.blocking */
TEST(not_on_a_worker_a_section_does_nothing)
{
    cen_blocking_begin();
    make_crew(.workers = 1);
    cen_blocking_end();
    cen_blocking_begin();
    expect_equal(look().blocked, 0);
    finish();
}
