/* SPDX-License-Identifier: MIT */
/* What each worker has for itself. */
#include "unit/crew/crews.h"

enum { MOST = 16 };

typedef struct desk {
    uint32_t worker;
    unsigned created, destroyed, ticks, pauses, resumes;
    ceni_thread thread;
} desk;

static desk desks[MOST];
static unsigned creates, destroys, fail_from, fail_to;

static cen_status create(void *argument, uint32_t worker, void **out, cen_error *error)
{
    expect(argument == story);
    expect(worker < MOST);
    if (++creates >= fail_from && creates <= fail_to) {
        if (fail_from % 2) return CEN_FULL;
        error->status = CEN_DRIVER;
        error->code = 5;
        snprintf(error->text, sizeof error->text, "no desk");
        return CEN_DRIVER;
    }
    desk *own = &desks[worker];
    own->worker = worker;
    own->created++;
    own->thread = ceni_thread_self();
    expect_equal(cen_worker_current(), worker);
    *out = own;
    return CEN_OK;
}

static void at_own_desk(void *argument, desk *own)
{
    expect(argument == story);
    expect(own->created == own->destroyed + 1);
    expect(own->thread.handle == ceni_thread_self().handle);
}

static void destroy(void *argument, void *data)
{
    at_own_desk(argument, data);
    ((desk *)data)->destroyed++;
    destroys++;
}

static void tick(void *argument, void *data)
{
    at_own_desk(argument, data);
    ((desk *)data)->ticks++;
}

static void before_pause(void *argument, void *data)
{
    desk *own = data;
    at_own_desk(argument, own);
    expect_equal(own->pauses, own->resumes);
    own->pauses++;
}

static void after_resume(void *argument, void *data)
{
    desk *own = data;
    at_own_desk(argument, own);
    own->resumes++;
    expect_equal(own->pauses, own->resumes);
}

static const cen_context_type type = {create, destroy, tick, before_pause, after_resume, story};

static void expect_all_gone(void)
{
    unsigned created = 0;
    for (int i = 0; i < MOST; i++) {
        expect_equal(desks[i].created, desks[i].destroyed);
        expect_equal(desks[i].pauses, desks[i].resumes);
        created += desks[i].created;
    }
    expect_equal(created, destroys);
}

/* guarantees: crew.context */
TEST(each_worker_has_one_context_from_its_begin_to_its_end)
{
    make_crew(.workers = 3, .context = type);
    expect_equal(creates, 3);
    finish();
    expect_equal(creates, 3);
    expect_equal(destroys, 3);
    expect_all_gone();
}

static void use_desk(work *self)
{
    desk *own = cen_context_data(cen_context_current());
    expect(own == &desks[cen_worker_current()]);
    self->worker = own->worker;
}

/* guarantees: crew.context */
TEST(a_step_finds_the_context_of_its_worker)
{
    work four[4];
    init_works(four, 4);
    for (int i = 0; i < 4; i++) four[i].inside = use_desk;
    make_crew(.workers = 2, .context = type);
    submit_works(four, 4);
    for (int i = 0; i < 4; i++) expect_end(&four[i], CEN_OK);
    finish();
    expect_all_gone();
}

static void context_across_await(work *self)
{
    cen_context context = cen_context_current();
    void *data = cen_context_data(context);
    expect_equal(cen_crew_submit(crew, &self->other->task, NULL), CEN_OK);
    expect_equal(cen_await(&self->other->task.future, CEN_NEVER), CEN_OK);
    expect(cen_context_data(context) == data);
    use_desk(self);
}

/* guarantees: crew.context */
TEST(a_context_is_good_for_the_whole_step_although_others_run_on_top)
{
    work one, other;
    init_work(&one, 'a', run_once);
    init_work(&other, 'b', run_once);
    one.inside = context_across_await;
    one.other = &other;
    other.inside = use_desk;
    make_crew(.workers = 1, .context = type);
    submit(&one);
    expect_end(&one, CEN_OK);
    finish();
}

/* guarantees: crew.context */
TEST(a_crew_whose_first_contexts_cannot_be_made_is_not_made_and_nothing_is_left)
{
    cen_error error = {.status = CEN_OK};
    cen_crew_options options = CEN_CREW_OPTIONS(.workers = 4, .context = type);
    fail_from = fail_to = 2;
    crew = NULL;
    expect_equal(cen_crew_new(&options, &crew, &error), CEN_DRIVER);
    expect(crew == NULL);
    expect_equal(error.status, CEN_DRIVER);
    expect_equal(error.code, 5);
    expect(strstr(error.text, "no desk") != NULL);
    expect_all_gone();
    expect_equal(ceni_world_bytes(), 0);
    creates = 0;
    fail_from = fail_to = 3;
    expect_equal(cen_crew_new(&options, &crew, &error), CEN_FULL);
    expect(strstr(error.text, "the context of worker") != NULL);
    expect_all_gone();
    expect_equal(ceni_world_bytes(), 0);
}

/* guarantees: crew.context */
TEST(a_context_that_cannot_be_made_later_is_tried_again_when_a_worker_is_needed)
{
    work two[2], more;
    init_works(two, 2);
    for (int i = 0; i < 2; i++) {
        two[i].inside = take_long;
        two[i].ns = 5 * SECOND;
    }
    fail_from = fail_to = 2;
    make_crew(.workers = 2, .min = 1, .context = type);
    submit(&two[0]);
    submit(&two[1]);
    settle();
    expect_equal(creates, 2);
    expect_equal(sound_look().threads, 1);
    expect_equal(look().queued, 1);
    expect_end(&two[0], CEN_OK);
    expect_end(&two[1], CEN_OK); /* by the one there is */
    settle();
    keep_busy(5 * SECOND);
    init_work(&more, 'm', run_once);
    int64_t now = ceni_clock_now();
    submit(&more);
    expect_end(&more, CEN_OK);
    expect_equal(ceni_clock_now(), now);
    expect_equal(creates, 3);
    expect_equal(look().threads, 2);
    finish();
    expect_all_gone();
}

static _Atomic uint32_t ended_jobs;

static void end_job(cen_job *job)
{
    (void)job;
    ceni_add_seq_cst(&ended_jobs, 1);
}

static cen_job last_jobs[MOST];

static void post_a_last_job(void *argument, void *data)
{
    desk *own = data;
    at_own_desk(argument, own);
    own->destroyed++;
    destroys++;
    last_jobs[own->worker].run = end_job;
    cen_executor *executor = cen_crew_executor(crew);
    executor->post(executor, &last_jobs[own->worker]);
}

/* guarantees: crew.context */
TEST(a_job_that_is_posted_while_a_context_is_destroyed_runs_somewhere)
{
    cen_context_type posting = {.create = create, .destroy = post_a_last_job, .argument = story};
    make_crew(.workers = 3, .context = posting);
    expect_equal(cen_crew_resize(crew, 2, NULL), CEN_OK);
    settle();
    expect_equal(destroys, 1);
    expect_equal(ceni_load_seq_cst(&ended_jobs), 1);
    expect_equal(cen_crew_stop(crew, CEN_STOP_DRAIN, CEN_NEVER, NULL, NULL), CEN_OK);
    settle();
    nap(SECOND);
    expect_equal(ceni_load_seq_cst(&ended_jobs), 3);
    expect_equal(cen_crew_free(crew), CEN_OK);
}
