/* SPDX-License-Identifier: MIT */
/* What a loop that watches the one descriptor sees, level-triggered and edge-triggered. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "unit/pollable/pollables.h"

/* ---- Jobs ------------------------------------------------------------------------------------------- */

/* guarantees: pollable.A1 */
TEST(a_job_that_is_posted_before_the_first_run_makes_the_descriptor_readable_until_it_was_run)
{
    cen_pollable *pollable = make_pollable();
    letter one = letter_to(pollable);
    expect(!is_readable(pollable));
    for (unsigned i = 1; i <= 3; i++) {
        post(&one);
        expect(is_readable(pollable) && one.runs == i - 1);
        expect_equal(run_ready(pollable, false), 1);
        expect(!is_readable(pollable) && one.runs == i);
    }
    expect_equal(run_ready(pollable, false), 0);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

static void post_to_the_runtime(letter *self)
{
    static letter other;
    other = letter_to(self->pollable);
    cen_executor *executor = cen_runtime_executor(cen_pollable_runtime(self->pollable));
    executor->post(executor, &other.job);
}

TEST(what_a_job_causes_in_the_runtime_is_run_by_the_same_run_and_wakes_nobody)
{
    cen_pollable *pollable = make_pollable();
    letter one = letter_to(pollable);
    one.act = post_to_the_runtime;
    one.again = 2;
    post(&one);
    expect_equal(run_ready(pollable, false), 6);
    expect(!is_readable(pollable));
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

/* ---- More than one run does ---------------------------------------------------------------------------- */

/* guarantees: pollable.A3 */
TEST(a_run_ends_although_each_job_posts_another_says_so_and_makes_an_edge)
{
    enum { JOBS = 20000 };
    cen_pollable *pollable = make_pollable();
    int edges = watch_edges(pollable);
    letter one = letter_to(pollable);
    one.again = JOBS - 1;
    post(&one);
    bool more = true;
    unsigned runs = 0;
    for (; more; runs++) {
        size_t ran;
        expect(has_edge(edges, 0));
        expect_equal(cen_pollable_run_ready(pollable, &ran, &more), CEN_OK);
        expect(ran > 0 && ran < JOBS / 2);
        expect_equal(is_readable(pollable), more);
        expect_equal(cen_pollable_next_deadline(pollable), more ? 0 : -1);
    }
    expect_equal(one.runs, JOBS);
    expect(runs > 2 && !has_edge(edges, 0));
    close(edges);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

/* guarantees: pollable.A3 */
TEST(of_a_burst_of_jobs_a_run_leaves_some_and_the_edges_bring_all_in_their_order)
{
    enum { JOBS = 10000 };
    static letter jobs[JOBS];
    cen_pollable *pollable = make_pollable();
    int edges = watch_edges(pollable);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = letter_to(pollable);
        post(&jobs[i]);
    }
    size_t all = 0, ran;
    while (all < JOBS) {
        expect(has_edge(edges, 0));
        expect_equal(cen_pollable_run_ready(pollable, &ran, NULL), CEN_OK);
        all += ran;
        expect(jobs[all - 1].runs == 1 && (all == JOBS || jobs[all].runs == 0));
    }
    expect(!has_edge(edges, 0) && !is_readable(pollable));
    close(edges);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

typedef struct ear {
    cen_watch watch; /* first */
    unsigned told;
    int fd;
} ear;

static void hear(cen_watch *watch, unsigned events)
{
    (void)events;
    ((ear *)watch)->told++;
}

/* guarantees: pollable.A3 */
TEST(more_descriptors_than_one_turn_takes_are_all_told_by_edges)
{
    enum { PIPES = 300 };
    static ear ears[PIPES];
    cen_pollable *pollable = make_pollable();
    cen_poller *poller = cen_pollable_poller(pollable);
    int edges = watch_edges(pollable), pairs[PIPES][2];
    for (int i = 0; i < PIPES; i++) {
        ears[i].watch.ready = hear;
        expect_equal(pipe(pairs[i]), 0);
        expect_equal(cen_poller_watch(poller, &ears[i].watch, pairs[i][0], CEN_READABLE, CEN_NEVER, NULL), CEN_OK);
        expect_equal(write(pairs[i][1], "a", 1), 1);
    }
    size_t told = 0, ran;
    while (told < PIPES) {
        expect(has_edge(edges, 0));
        expect_equal(cen_pollable_run_ready(pollable, &ran, NULL), CEN_OK);
        told += ran;
    }
    expect(!is_readable(pollable));
    for (int i = 0; i < PIPES; i++) expect_equal(ears[i].told, 1);
    close(edges);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

static bool watches_again = true;

static void watch_writable(cen_watch *watch, unsigned events)
{
    hear(watch, events);
    int fd = ((ear *)watch)->fd;
    if (watches_again)
        expect_equal(cen_poller_watch(watch->argument, watch, fd, CEN_WRITABLE, CEN_NEVER, NULL), CEN_OK);
}

/* guarantees: pollable.A3 */
TEST(descriptors_that_are_always_ready_do_not_keep_jobs_from_being_run)
{
    enum { PIPES = 100 };
    static ear ears[PIPES];
    int writable[2];
    cen_pollable *pollable = make_pollable();
    letter one = letter_to(pollable);
    for (int i = 0; i < PIPES; i++) {
        expect_equal(pipe(writable), 0);
        ears[i] =
            (ear){.watch = {.ready = watch_writable, .argument = cen_pollable_poller(pollable)}, .fd = writable[1]};
        expect_equal(
            cen_poller_watch(cen_pollable_poller(pollable), &ears[i].watch, writable[1], CEN_WRITABLE, CEN_NEVER, NULL),
            CEN_OK);
    }
    post(&one);
    run_ready(pollable, true);
    expect_equal(one.runs, 1);
    watches_again = false;
    bool more = true;
    while (more) expect_equal(cen_pollable_run_ready(pollable, NULL, &more), CEN_OK);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

/* ---- Time ------------------------------------------------------------------------------------------------ */

static void count_future(cen_future *future)
{
    ++*(unsigned *)future->user;
}

static void start_timer(cen_timer *timer, cen_pollable *pollable, int64_t moment, unsigned *done)
{
    cen_timer_init(timer);
    timer->future.user = done;
    expect_equal(cen_future_then(&timer->future, count_future, cen_pollable_executor(pollable)), CEN_OK);
    expect_equal(cen_timer_start(timer, cen_pollable_runtime(pollable), cen_at(moment), NULL), CEN_OK);
}

/* guarantees: pollable.A2 */
TEST(deadlines_of_runtime_and_poller_make_the_descriptor_readable_by_themselves)
{
    cen_pollable *pollable = make_pollable();
    cen_timer timers[3];
    ear late = {.watch = {.ready = hear}};
    unsigned done = 0;
    int64_t begun = cen_clock(), last = begun + CEN_MS(30);
    for (int i = 0; i < 3; i++) start_timer(&timers[i], pollable, last - i * CEN_MS(10), &done);
    expect_equal(cen_poller_watch(cen_pollable_poller(pollable), &late.watch, -1, 0, cen_at(last), NULL), CEN_OK);
    run_ready(pollable, false);
    while (done < 3 || late.told < 1) {
        await_readable(pollable); /* and no timeout of the loop's own */
        run_ready(pollable, false);
    }
    expect(cen_clock() >= last);
    expect_equal(cen_pollable_next_deadline(pollable), -1);
    expect(!is_readable(pollable));
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

/* guarantees: pollable.A2 */
TEST(an_earlier_deadline_that_is_set_between_two_runs_makes_an_edge_in_time)
{
    cen_pollable *pollable = make_pollable();
    cen_timer far, near;
    unsigned done = 0;
    int edges = watch_edges(pollable);
    start_timer(&far, pollable, cen_clock() + CEN_HOURS(1), &done);
    run_ready(pollable, false);
    (void)has_edge(edges, 0);
    start_timer(&near, pollable, cen_clock() + CEN_MS(5), &done);
    while (done < 1) {
        expect(has_edge(edges, LIMIT_MS));
        run_ready(pollable, false);
    }
    expect(cen_future_cancel(&far.future));
    close(edges);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

/* guarantees: pollable.next */
TEST(the_next_deadline_is_the_first_of_runtime_and_poller_and_0_if_something_is_due)
{
    cen_pollable *pollable = make_pollable();
    cen_timer timer;
    ear watch = {.watch = {.ready = hear}};
    letter one = letter_to(pollable);
    unsigned done = 0;
    expect_equal(cen_pollable_next_deadline(pollable), -1);
    expect_equal(cen_pollable_next_deadline(NULL), -1);
    start_timer(&timer, pollable, cen_clock() + CEN_HOURS(2), &done);
    int64_t ns = cen_pollable_next_deadline(pollable);
    expect(ns > 0 && ns <= CEN_HOURS(2));
    expect_equal(
        cen_poller_watch(cen_pollable_poller(pollable), &watch.watch, -1, 0, cen_at(cen_clock() + CEN_HOURS(1)), NULL),
        CEN_OK);
    ns = cen_pollable_next_deadline(pollable);
    expect(ns > 0 && ns <= CEN_HOURS(1));
    post(&one);
    expect_equal(cen_pollable_next_deadline(pollable), 0);
    run_ready(pollable, false);
    expect(cen_pollable_next_deadline(pollable) > 0);
    expect(cen_future_cancel(&timer.future) && cen_poller_unwatch(cen_pollable_poller(pollable), &watch.watch));
    expect_equal(cen_pollable_next_deadline(pollable), -1);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

/* ---- Who may run ----------------------------------------------------------------------------------------- */

static void run_within(letter *self)
{
    size_t ran = 77;
    bool more = true;
    expect_equal(cen_pollable_run_ready(self->pollable, &ran, &more), CEN_MISUSE);
    expect(ran == 77 && more);
    expect_equal(cen_pollable_free(self->pollable, NULL), CEN_MISUSE);
}

/* guarantees: pollable.A4 */
TEST(a_run_from_within_is_misuse_and_the_descriptor_is_readable_once_more)
{
    cen_pollable *pollable = make_pollable();
    int edges = watch_edges(pollable);
    letter one = letter_to(pollable);
    one.act = run_within;
    post(&one);
    expect(has_edge(edges, 0));
    expect_equal(cen_pollable_run_ready(pollable, NULL, NULL), CEN_OK);
    expect(has_edge(edges, 0));
    expect_equal(run_ready(pollable, false), 0);
    expect(!has_edge(edges, 0) && !is_readable(pollable));
    close(edges);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

static _Atomic uint32_t entered, refused;

static void stay_until_another_was_refused(letter *self)
{
    (void)self;
    ceni_store_seq_cst(&entered, 1u);
    while (!ceni_load_seq_cst(&refused)) sched_yield();
}

static void *run_it(void *pollable)
{
    expect_equal(cen_pollable_run_ready(pollable, NULL, NULL), CEN_OK);
    return NULL;
}

/* guarantees: pollable.A4 */
TEST(a_second_thread_is_refused_and_what_it_was_woken_for_makes_another_edge)
{
    pthread_t thread;
    cen_pollable *pollable = make_pollable();
    int edges = watch_edges(pollable);
    letter one = letter_to(pollable);
    one.act = stay_until_another_was_refused;
    post(&one);
    expect(has_edge(edges, 0));
    expect_equal(pthread_create(&thread, NULL, run_it, pollable), 0);
    while (!ceni_load_seq_cst(&entered)) sched_yield();
    expect_equal(cen_pollable_run_ready(pollable, NULL, NULL), CEN_BUSY);
    cen_error error;
    expect_equal(cen_pollable_free(pollable, &error), CEN_BUSY);
    expect(strstr(error.text, "pollable \"loop\": another thread is in cen_pollable_run_ready") != NULL);
    expect(!has_edge(edges, 0));
    ceni_store_seq_cst(&refused, 1u);
    pthread_join(thread, NULL);
    expect(has_edge(edges, 0));
    expect_equal(run_ready(pollable, false), 0);
    close(edges);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}

/* ---- Other threads -------------------------------------------------------------------------------------------- */

enum { POSTERS = 3, EACH = 20000 };

typedef struct poster {
    pthread_t thread;
    cen_pollable *pollable;
    cen_job jobs[EACH];
} poster;

static unsigned arrived; /* the loop's own */

static void arrive(cen_job *job)
{
    (void)job;
    arrived++;
}

static void *post_all(void *argument)
{
    poster *self = argument;
    for (int i = 0; i < EACH; i++) {
        /* One in two by way of the runtime, whose jobs run in the same loop. */
        cen_executor *executor =
            i % 2 ? cen_pollable_executor(self->pollable) : cen_runtime_executor(cen_pollable_runtime(self->pollable));
        self->jobs[i].run = arrive;
        executor->post(executor, &self->jobs[i]);
    }
    return NULL;
}

/* guarantees: pollable.A1 */
TEST(an_edge_triggered_loop_without_a_timeout_runs_all_that_other_threads_post)
{
    static poster posters[POSTERS];
    cen_pollable *pollable = make_pollable();
    int edges = watch_edges(pollable);
    for (int i = 0; i < POSTERS; i++) {
        posters[i].pollable = pollable;
        expect_equal(pthread_create(&posters[i].thread, NULL, post_all, &posters[i]), 0);
    }
    while (arrived < POSTERS * EACH) {
        expect(has_edge(edges, LIMIT_MS));
        expect_equal(cen_pollable_run_ready(pollable, NULL, NULL), CEN_OK);
    }
    for (int i = 0; i < POSTERS; i++) pthread_join(posters[i].thread, NULL);
    expect_equal(arrived, POSTERS * EACH);
    close(edges);
    expect_equal(cen_pollable_free(pollable, NULL), CEN_OK);
}
