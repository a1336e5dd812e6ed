/* SPDX-License-Identifier: MIT */
/* Awaiting: a worker helps meanwhile, unless its task holds something. */
#include "unit/crew/crews.h"
#include "unit/pool/pools.h"

static work child[8];
static cen_pool *pool;

static void await_child(work *self)
{
    work *mine = self->other;
    expect_equal(cen_crew_submit(crew, &mine->task, NULL), CEN_OK);
    self->got = cen_await(&mine->task.future, CEN_NEVER);
    expect(cen_task_current() == &self->task);
    mark((char)(self->mark - 'a' + 'A'));
}

/* guarantees: crew.await */
TEST(one_worker_runs_what_its_task_awaits)
{
    work parent;
    init_work(&parent, 'p', run_once);
    parent.inside = await_child;
    parent.other = &child[0];
    init_works(child, 1);
    make_crew(.workers = 1, .max = 1);
    submit(&parent);
    expect_end(&parent, CEN_OK);
    expect_equal(parent.got, CEN_OK);
    expect_story("paP");
    expect_equal(look().steps, 2);
    finish();
}

static void await_the_last(work *self)
{
    for (int i = 0; i < 4; i++) expect_equal(cen_crew_submit(crew, &child[i].task, NULL), CEN_OK);
    self->got = cen_await(&child[3].task.future, CEN_NEVER);
    mark('P');
}

/* guarantees: crew.await */
TEST(the_one_that_is_awaited_is_run_before_the_others)
{
    work parent;
    init_work(&parent, 'p', run_once);
    parent.inside = await_the_last;
    init_works(child, 4);
    make_crew(.workers = 1, .max = 1);
    submit(&parent);
    expect_end(&parent, CEN_OK);
    finish();
    expect_story("pdPabc");
}

static void await_the_eighth(work *self)
{
    for (int i = 0; i < 8; i++) expect_equal(cen_crew_submit(crew, &child[i].task, NULL), CEN_OK);
    self->got = cen_await(&child[7].task.future, CEN_NEVER);
    mark('P');
}

/* Its worker's own queue has room for four. */
TEST(the_one_that_is_awaited_is_run_first_wherever_it_is_queued)
{
    work parent;
    init_work(&parent, 'p', run_once);
    parent.inside = await_the_eighth;
    init_works(child, 8);
    make_crew(.workers = 1, .max = 1);
    submit(&parent);
    expect_end(&parent, CEN_OK);
    finish();
    expect_equal(strncmp(story, "phP", 3), 0);
    expect_equal(strlen(story), 10);
}

static void await_a_timer(work *self)
{
    cen_timer_init(&self->timer);
    expect_equal(cen_timer_start(&self->timer, NULL, cen_in_s(2), NULL), CEN_OK);
    self->got = cen_await(&self->timer.future, self->ns ? cen_in_ns(self->ns) : CEN_NEVER);
    mark('T');
    if (self->got == CEN_TIMEOUT) expect(cen_future_cancel(&self->timer.future));
}

/* guarantees: crew.await */
TEST(a_worker_runs_other_tasks_while_its_own_awaits_and_sleeps_when_there_are_none)
{
    work one, two[2];
    init_work(&one, 'o', run_once);
    one.inside = await_a_timer;
    init_works(two, 2);
    make_crew(.workers = 1, .max = 1);
    int64_t now = ceni_clock_now();
    submit(&one);
    submit(&two[0]);
    settle();
    cen_crew_stats s = sound_look();
    expect_equal(s.running, 1);
    expect_equal(s.idle, 1);
    nap(SECOND);
    submit(&two[1]);
    expect_end(&two[1], CEN_OK);
    expect_equal(ceni_clock_now(), now + SECOND);
    expect_end(&one, CEN_OK);
    expect_equal(ceni_clock_now(), now + 2 * SECOND);
    expect_equal(one.got, CEN_OK);
    expect_story("oabT");
    finish();
}

/* guarantees: crew.await */
TEST(an_await_whose_deadline_passes_says_so_and_the_future_is_still_pending)
{
    work one;
    init_work(&one, 'o', run_once);
    one.inside = await_a_timer;
    one.ns = SECOND;
    make_crew(.workers = 1, .max = 1);
    int64_t now = ceni_clock_now();
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_equal(one.got, CEN_TIMEOUT);
    expect_equal(ceni_clock_now(), now + SECOND);
    finish();
}

static void await_odd_futures(work *self)
{
    cen_future future;
    cen_promise promise;
    (void)self;
    expect_equal(cen_await(NULL, CEN_NEVER), CEN_INVALID);
    cen_future_init(&future);
    expect_equal(cen_await(&future, cen_in_s(1)), CEN_INVALID);
    expect_equal(cen_promise_init(&promise, &future), CEN_OK);
    expect_equal(cen_await(&future, CEN_NOW), CEN_TIMEOUT);
    expect_equal(cen_await(&future, cen_in_s(1)), CEN_TIMEOUT);
    expect(cen_promise_complete(&promise, story));
    expect_equal(cen_await(&future, CEN_NOW), CEN_OK);
    expect(future.value == story);
}

/* guarantees: crew.await */
TEST(an_await_answers_as_a_wait_does)
{
    work one;
    init_work(&one, 'o', run_once);
    one.inside = await_odd_futures;
    make_crew(.workers = 1, .max = 1);
    submit(&one);
    expect_end(&one, CEN_OK);
    await_odd_futures(NULL);
    finish();
}

/* guarantees: crew.await */
TEST(from_outside_it_is_a_wait)
{
    work one;
    init_work(&one, 'o', run_once);
    one.inside = take_long;
    one.ns = SECOND;
    make_crew(.workers = 1);
    submit(&one);
    expect_equal(cen_await(&one.task.future, cen_in_ms(10)), CEN_TIMEOUT);
    expect_equal(cen_await(&one.task.future, CEN_NEVER), CEN_OK);
    expect(one.task.future.value == &one);
    finish();
}

/* Each awaits the next. */
/* guarantees: crew.await */
TEST(helped_tasks_await_too)
{
    work parent;
    init_work(&parent, 'p', run_once);
    init_works(child, 4);
    parent.inside = child[0].inside = child[1].inside = child[2].inside = await_child;
    parent.other = &child[0];
    for (int i = 0; i < 3; i++) child[i].other = &child[i + 1];
    make_crew(.workers = 1, .max = 1, .stack_size = 1 << 20);
    submit(&parent);
    expect_end(&parent, CEN_OK);
    expect_story("pabcdCBAP");
    finish();
}

/* ---- With a lease ------------------------------------------------------------------- */

static void hold_and_await(work *self)
{
    expect_equal(cen_pool_try_take(pool, &self->lease, NULL), CEN_OK);
    uint64_t owner = cen_holder_number();
    expect(cen_holder_is_task(owner));
    if (self->mark == 'd') cen_pool_detach(&self->lease);
    await_a_timer(self);
    expect(cen_holder_number() == owner);
    give_back(&self->lease);
}

static cen_crew_stats stats_during_await(char letter, const char *marks)
{
    work one, other;
    init_work(&one, letter, run_once);
    one.inside = hold_and_await;
    init_work(&other, 'o', run_once);
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    make_crew(.workers = 1, .max = 1);
    submit(&one);
    submit(&other);
    settle();
    cen_crew_stats s = sound_look();
    expect_end(&one, CEN_OK);
    expect_end(&other, CEN_OK);
    expect_story(marks);
    free_pool(pool);
    finish();
    return s;
}

/* guarantees: crew.await-lease */
TEST(a_worker_does_not_help_while_its_task_holds_a_lease)
{
    cen_crew_stats s = stats_during_await('h', "hTo");
    expect_equal(s.blocked, 1);
    expect_equal(s.queued, 1);
}

/* guarantees: crew.await-lease */
TEST(a_detached_lease_does_not_keep_a_worker_from_helping)
{
    cen_crew_stats s = stats_during_await('d', "doT");
    expect_equal(s.blocked, 0);
    expect_equal(s.idle, 1);
}

/* guarantees: crew.await-lease */
TEST(one_that_awaits_with_a_lease_leaves_its_place_to_another_worker)
{
    work one, other;
    init_work(&one, 'h', run_once);
    one.inside = hold_and_await;
    init_work(&other, 'o', run_once);
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    make_crew(.workers = 1, .max = 2);
    submit(&one);
    submit(&other);
    expect_end(&other, CEN_OK);
    expect(!cen_future_is_done(&one.task.future));
    expect_end(&one, CEN_OK);
    expect_story("hoT");
    free_pool(pool);
    finish();
}

static void await_in_a_section(work *self)
{
    cen_blocking_begin();
    await_a_timer(self);
    cen_blocking_end();
}

/* guarantees: crew.await-lease */
TEST(in_a_section_that_blocks_nothing_is_run_on_top)
{
    work one, other;
    init_work(&one, 's', run_once);
    one.inside = await_in_a_section;
    init_work(&other, 'o', run_once);
    make_crew(.workers = 1, .max = 1);
    submit(&one);
    submit(&other);
    expect_end(&one, CEN_OK);
    expect_end(&other, CEN_OK);
    expect_story("sTo");
    finish();
}

/* ---- Owners ---------------------------------------------------------------------------- */

static uint64_t helped_owner, outer_owner;

static void note_owner(work *self)
{
    (void)self;
    helped_owner = cen_holder_number();
    expect(cen_holder_is_task(helped_owner));
    cen_lease lease = take_now(pool);
    give_back(&lease);
}

static void await_owner(work *self)
{
    outer_owner = cen_holder_number();
    await_child(self);
    expect(cen_holder_number() == outer_owner);
}

/* guarantees: crew.L13 */
TEST(what_a_helped_task_takes_is_its_own)
{
    work parent;
    init_work(&parent, 'p', run_once);
    parent.inside = await_owner;
    parent.other = &child[0];
    init_works(child, 1);
    child[0].inside = note_owner;
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    make_crew(.workers = 1, .max = 1);
    submit(&parent);
    expect_end(&parent, CEN_OK);
    expect(helped_owner != outer_owner);
    free_pool(pool);
    finish();
}

static uint64_t owners[3];
static uint32_t workers[3];

static cen_next give_elsewhere(cen_task *task)
{
    work *self = (work *)task;
    owners[1] = cen_holder_number();
    workers[1] = cen_worker_current();
    expect_equal(cen_pool_give(&self->lease), CEN_OK);
    return cen_task_done(task, self);
}

static cen_next take_and_wait(cen_task *task)
{
    work *self = (work *)task;
    expect_equal(cen_pool_try_take(pool, &self->lease, NULL), CEN_OK);
    owners[0] = cen_holder_number();
    workers[0] = cen_worker_current();
    expect_equal(cen_crew_submit(crew, &self->other->task, NULL), CEN_OK); /* which keeps this worker busy */
    cen_timer_init(&self->timer);
    expect_equal(cen_timer_start(&self->timer, NULL, cen_in_s(1), NULL), CEN_OK);
    return cen_task_wait(task, &self->timer.future, give_elsewhere);
}

/* guarantees: crew.L13 */
TEST(what_a_step_takes_belongs_to_the_task_whichever_worker_runs_the_next)
{
    work one, busy;
    init_work(&one, 'o', take_and_wait);
    init_work(&busy, 'b', run_once);
    busy.inside = take_long;
    busy.ns = 10 * SECOND;
    one.other = &busy;
    pool = make_stocked(CEN_POOL_OPTIONS(.max = 1), 1);
    make_crew(.workers = 2);
    submit(&one);
    settle();
    expect_counts(pool, 0, 1);
    expect_end(&one, CEN_OK);
    expect(owners[0] == owners[1]);
    expect(workers[0] != workers[1]);
    expect_counts(pool, 1, 0);
    free_pool(pool);
    finish();
}

static void keep_it(work *self)
{
    expect_equal(cen_pool_try_take(pool, &self->lease, NULL), CEN_OK);
}

/* guarantees: crew.L13 */
TEST(what_a_task_holds_at_its_end_goes_the_way_of_the_pool_s_policy)
{
    work one;
    init_work(&one, 'o', run_once);
    one.inside = keep_it;
    workshop shop = {.opens = 0};
    pool = make_pool(.driver = driver_of(&shop), .max = 1, .on_holder_end = CEN_HOLDER_END_CLOSE);
    make_crew(.workers = 1);
    submit(&one);
    expect_end(&one, CEN_OK);
    expect_counts(pool, 0, 0);
    expect_log(&shop, "+1 -1 ");
    free_pool(pool);
    finish();
}
