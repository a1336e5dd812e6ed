/* SPDX-License-Identifier: MIT */
/* The threads of a crew as the system sees them: their names, processors, stacks and signals. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "unit/crew/crews.h"

static char name[32];
static cpu_set_t allowed;
static sigset_t blocked;
static size_t stack_size;

static void look_about(work *self)
{
    pthread_attr_t attributes;
    self->worker = cen_worker_current();
    expect(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
    expect(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    expect(pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0);
    expect(pthread_getattr_np(pthread_self(), &attributes) == 0);
    expect(pthread_attr_getstacksize(&attributes, &stack_size) == 0);
    pthread_attr_destroy(&attributes);
}

static void run_there(void)
{
    work one;
    init_work(&one, 0, run_once);
    one.inside = look_about;
    submit(&one);
    expect_end(&one, CEN_OK);
}

/* guarantees: crew.threads */
TEST(the_threads_are_named_after_the_crew_and_their_number)
{
    make_crew(.workers = 1, .name = "orders");
    run_there();
    expect_text(name, "orders:0");
    finish();
    make_crew(.workers = 1, .name = "a name that is longer than a thread's");
    run_there();
    expect(strncmp(name, "a name tha", 10) == 0);
    finish();
    make_crew(.workers = 1);
    run_there();
    expect_text(name, "crew:0");
    finish();
}

/* guarantees: crew.threads */
TEST(workers_block_all_signals)
{
    make_crew(.workers = 1);
    run_there();
    expect(sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGUSR1));
    finish();
}

/* guarantees: crew.threads */
TEST(a_worker_runs_on_the_processors_that_are_named_only)
{
    cpu_set_t own;
    uint32_t cpu = 0;
    expect(sched_getaffinity(0, sizeof own, &own) == 0);
    while (!CPU_ISSET(cpu, &own)) cpu++;
    uint32_t cpus[1] = {cpu};
    make_crew(.workers = 1, .cpus = cpus, .cpu_count = 1);
    cpus[0] = 77777; /* they were copied */
    run_there();
    expect_equal(CPU_COUNT(&allowed), 1);
    expect(CPU_ISSET(cpu, &allowed));
    finish();
}

/* guarantees: crew.threads */
TEST(a_processor_that_is_not_there_is_an_error_of_the_system_and_nothing_is_left)
{
    uint32_t cpu = CPU_SETSIZE - 1;
    cen_error error = {.status = CEN_OK};
    cen_crew_options options = CEN_CREW_OPTIONS(.workers = 2, .cpus = &cpu, .cpu_count = 1, .name = "far");
    expect_equal(cen_crew_new(&options, &crew, &error), CEN_SYSTEM);
    expect(error.code != 0);
    expect(strstr(error.text, "crew \"far\": cannot start a worker thread") != NULL);
}

/* guarantees: crew.threads */
TEST(a_stack_is_as_large_as_was_asked_for)
{
    make_crew(.workers = 1, .stack_size = 512 * 1024);
    run_there();
    expect(stack_size >= 512 * 1024 && stack_size < 1024 * 1024);
    finish();
}

static void await_next(work *self)
{
    if (self->steps < 400 && self->other) {
        work next;
        init_work(&next, 0, run_once);
        next.inside = await_next;
        next.other = self->other;
        next.steps = self->steps;
        submit(&next);
        expect_equal(cen_await(&next.task.future, CEN_NEVER), CEN_OK);
        self->got = next.got;
    }
}

/* On top of one another they would need more than the stack has: from some depth on another worker has to help. */
/* guarantees: crew.threads */
TEST(awaits_that_are_nested_too_deeply_go_on_on_other_workers)
{
    work one;
    init_work(&one, 0, run_once);
    one.inside = await_next;
    one.other = &one;
    make_crew(.workers = 1, .stack_size = 512 * 1024, .max = 200);
    submit(&one);
    expect_end(&one, CEN_OK);
    expect(look().threads > 1);
    finish();
}
