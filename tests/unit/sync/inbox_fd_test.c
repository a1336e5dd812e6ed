/* SPDX-License-Identifier: MIT */
/* The descriptor of an inbox, in loops of the system's own: poll(2) and epoll. */
#include <cenote/future.h>
#include <cenote/inbox.h>

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "support/test.h"

static cen_inbox *inbox;
static _Atomic uint32_t runs;

static void begin(void)
{
    expect_equal(cen_inbox_new(NULL, &inbox, NULL), CEN_OK);
    expect(cen_inbox_fd(inbox) >= 0);
}

static void count_run(cen_job *job)
{
    (void)job;
    ceni_add_seq_cst(&runs, 1);
}

static void count_done(cen_future *future)
{
    (void)future;
    ceni_add_seq_cst(&runs, 1);
}

static void post(cen_job *job)
{
    job->run = count_run;
    cen_inbox_executor(inbox)->post(cen_inbox_executor(inbox), job);
}

static bool readable(void)
{
    struct pollfd one = {.fd = cen_inbox_fd(inbox), .events = POLLIN};
    int ready = poll(&one, 1, 0);
    expect(ready >= 0);
    return ready == 1;
}

/* guarantees: inbox.one-write */
TEST(the_descriptor_is_readable_after_an_arm_and_a_post_until_the_next_poll_and_at_no_other_time)
{
    begin();
    cen_job jobs[6];
    expect(!readable());
    post(&jobs[0]); /* not armed */
    expect(!readable());
    expect(!cen_inbox_arm(inbox));
    expect(!readable());
    expect_equal(cen_inbox_poll(inbox, 0), 1);
    expect(cen_inbox_arm(inbox));
    expect(!readable());
    post(&jobs[1]);
    expect(readable());
    post(&jobs[2]);
    expect_equal(cen_inbox_poll(inbox, 1), 1);
    expect(!readable()); /* the loop knows: it polls until arm says that it may sleep */
    expect(!cen_inbox_arm(inbox));
    expect_equal(cen_inbox_poll(inbox, 1), 1);
    expect_equal(cen_inbox_run_ready(inbox), 0);
    post(&jobs[3]);
    expect(readable());
    expect_equal(cen_inbox_run_ready(inbox), 1);
    expect(!readable());
    expect_equal(cen_inbox_wait(inbox, CEN_NOW), 0); /* takes the arming back */
    post(&jobs[4]);
    expect(!readable());
    expect_equal(cen_inbox_wait(inbox, CEN_NOW), 1);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

/* An edge-triggered watch reports each write: one for all that arrives in one sleep, none while the loop is awake. */
/* guarantees: inbox.one-write */
TEST(many_completions_are_one_wake_up_and_none_while_the_loop_is_awake)
{
    begin();
    int loop = epoll_create1(EPOLL_CLOEXEC);
    expect(loop >= 0);
    struct epoll_event edge = {.events = EPOLLIN | EPOLLET};
    expect_equal(epoll_ctl(loop, EPOLL_CTL_ADD, cen_inbox_fd(inbox), &edge), 0);
    enum { FUTURES = 1000 };
    static cen_future futures[FUTURES];
    static cen_promise promises[FUTURES];
    for (int round = 0; round < 3; round++) {
        expect_equal(cen_inbox_run_ready(inbox), 0);
        for (int i = 0; i < FUTURES; i++) {
            cen_future_init(&futures[i]);
            expect_equal(cen_promise_init(&promises[i], &futures[i]), CEN_OK);
            expect_equal(cen_future_then(&futures[i], count_done, cen_inbox_executor(inbox)), CEN_OK);
        }
        expect_equal(epoll_wait(loop, &edge, 1, 0), 0);
        int wakes = 0;
        for (int i = 0; i < FUTURES; i++) {
            expect(cen_promise_complete(&promises[i], NULL));
            wakes += epoll_wait(loop, &edge, 1, 0);
        }
        expect_equal(wakes, 1);
        expect_equal(cen_inbox_poll(inbox, 0), FUTURES);
        cen_job awake;
        post(&awake);
        expect_equal(epoll_wait(loop, &edge, 1, 0), 0);
        expect_equal(cen_inbox_poll(inbox, 0), 1);
    }
    close(loop);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}

/* ---- A loop that sleeps, and threads that post ------------------------------------------------------- */

enum { POSTERS = 3, EACH = 20000 };

static cen_job posted[POSTERS][EACH];

static void *post_all(void *row)
{
    cen_job *jobs = row;
    for (int i = 0; i < EACH; i++) post(&jobs[i]);
    return NULL;
}

static void start_posters(pthread_t *threads)
{
    for (int i = 0; i < POSTERS; i++) expect_equal(pthread_create(&threads[i], NULL, post_all, posted[i]), 0);
}

/* guarantees: inbox.wakes */
TEST(a_loop_of_epoll_and_drain_runs_all_that_others_post)
{
    begin();
    pthread_t threads[POSTERS];
    int loop = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    expect_equal(epoll_ctl(loop, EPOLL_CTL_ADD, cen_inbox_fd(inbox), &event), 0);
    size_t ran = cen_inbox_run_ready(inbox);
    start_posters(threads);
    while (ran < POSTERS * EACH) {
        expect_equal(epoll_wait(loop, &event, 1, -1), 1);
        ran += cen_inbox_run_ready(inbox);
    }
    expect_equal(ceni_load_seq_cst(&runs), POSTERS * EACH);
    expect_equal(cen_inbox_free(inbox), CEN_OK); /* the last may still be ringing */
    for (int i = 0; i < POSTERS; i++) pthread_join(threads[i], NULL);
    close(loop);
}

/* guarantees: inbox.wakes */
TEST(a_loop_that_polls_and_arms_runs_all_that_others_post)
{
    begin();
    pthread_t threads[POSTERS];
    struct pollfd one = {.fd = cen_inbox_fd(inbox), .events = POLLIN};
    start_posters(threads);
    while (ceni_load_seq_cst(&runs) < POSTERS * EACH) {
        while (cen_inbox_poll(inbox, 7) > 0 || !cen_inbox_arm(inbox)) continue;
        if (ceni_load_seq_cst(&runs) < POSTERS * EACH) expect_equal(poll(&one, 1, -1), 1);
    }
    expect_equal(cen_inbox_free(inbox), CEN_OK);
    for (int i = 0; i < POSTERS; i++) pthread_join(threads[i], NULL);
}

/* guarantees: inbox.wait */
TEST(a_thread_that_waits_runs_all_that_others_post)
{
    begin();
    pthread_t threads[POSTERS];
    start_posters(threads);
    size_t ran = 0;
    while (ran < POSTERS * EACH) ran += cen_inbox_wait(inbox, CEN_NEVER);
    expect_equal(ran, POSTERS * EACH);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
    for (int i = 0; i < POSTERS; i++) pthread_join(threads[i], NULL);
}

/* ---- Descriptors and processes ---------------------------------------------------------------------------- */

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *open_now = opendir("/proc/self/fd");
    expect(open_now != NULL);
    for (struct dirent *entry; (entry = readdir(open_now));) count += entry->d_name[0] != '.';
    closedir(open_now);
    return count;
}

/* guarantees: inbox.free */
TEST(free_closes_every_descriptor)
{
    unsigned before = count_descriptors();
    begin();
    expect(count_descriptors() > before);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
    expect_equal(count_descriptors(), before);
}

static void use_in_the_child(void)
{
    cen_job job;
    post(&job); /* the parent's inbox was armed */
    bool quiet =
        cen_inbox_poll(inbox, 0) == 0 && cen_inbox_wait(inbox, CEN_NEVER) == 0 && ceni_load_seq_cst(&runs) == 0;
    bool freed = cen_inbox_free(inbox) == CEN_OK;
    cen_inbox *own;
    bool made = cen_inbox_new(NULL, &own, NULL) == CEN_OK;
    inbox = own;
    post(&job);
    _exit(quiet && freed && made && cen_inbox_poll(own, 0) == 1 && cen_inbox_free(own) == CEN_OK ? 0 : 1);
}

/* guarantees: inbox.L14 */
TEST(a_child_does_not_ring_its_parents_bell_and_the_parent_notices_nothing)
{
    begin();
    cen_job job;
    expect(cen_inbox_arm(inbox));
    pid_t child = fork();
    if (child == 0) use_in_the_child();
    int status = -1;
    expect_equal(waitpid(child, &status, 0), child);
    expect_equal(status, 0);
    expect(!readable());
    post(&job);
    expect(readable());
    expect_equal(cen_inbox_run_ready(inbox), 1);
    expect_equal(cen_inbox_free(inbox), CEN_OK);
}
