/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "port/port.h"
#include "support/test.h"
#include "unit/port/tasks.h"

static void start(ceni_thread *thread, const char *name, void (*run)(void *), void *argument)
{
    int code = 0;
    cen_status status = ceni_thread_start(thread, name, run, argument, &code);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "no thread: %s", strerror(code));
}

static void set_flag(void *argument)
{
    *(bool *)argument = true;
}

TEST(a_started_thread_has_run_when_it_was_joined)
{
    bool ran = false;
    ceni_thread thread;
    start(&thread, NULL, set_flag, &ran);
    ceni_thread_join(&thread);
    expect(ran);
}

static void expect_start_fails(ceni_fault_kind kind, int expected_code)
{
    sigset_t before, after;
    bool ran = false;
    int code = 0;
    ceni_thread thread = {.handle = 12345};
    unsigned threads = count_threads();
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    ceni_fault_arm((unsigned)kind, 1);
    expect_equal(ceni_thread_start(&thread, "never", set_flag, &ran, &code), CEN_SYSTEM);
    expect(ceni_fault_disarm());
    expect_equal(code, expected_code);
    expect_equal(thread.handle, 12345);
    expect_equal(count_threads(), threads);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int number = 1; number < 32; number++) expect_equal(sigismember(&after, number), sigismember(&before, number));
    expect(!ran);
}

TEST(a_start_that_fails_says_why_and_leaves_nothing)
{
    expect_start_fails(CENI_FAULT_THREAD, EAGAIN);
    expect_start_fails(CENI_FAULT_ALLOC, ENOMEM);
}

static void keep_mask(void *argument)
{
    pthread_sigmask(SIG_SETMASK, NULL, argument);
}

TEST(a_started_thread_blocks_all_signals_and_the_starter_keeps_its_mask)
{
    sigset_t before, after, inside;
    ceni_thread thread;
    sigemptyset(&before);
    sigaddset(&before, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    start(&thread, NULL, keep_mask, &inside);
    ceni_thread_join(&thread);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int number = 1; number < 32; number++) {
        bool cannot_be_blocked = number == SIGKILL || number == SIGSTOP;
        expect(sigismember(&inside, number) == !cannot_be_blocked);
        expect_equal(sigismember(&after, number), sigismember(&before, number));
    }
}

static void keep_name(void *argument)
{
    expect(pthread_getname_np(pthread_self(), argument, 16) == 0);
}

static void expect_name(const char *given, const char *shown)
{
    char name[16] = "";
    ceni_thread thread;
    start(&thread, given, keep_name, name);
    ceni_thread_join(&thread);
    expect_text(name, shown);
}

TEST(a_name_is_cut_to_what_the_system_shows)
{
    char inherited[16];
    expect(pthread_getname_np(pthread_self(), inherited, sizeof inherited) == 0);
    expect_name("short", "short");
    expect_name("fifteen-letters", "fifteen-letters");
    expect_name("sixteen--letters", "sixteen--letter");
    expect_name("a name far longer than the system can show", "a name far long");
    expect_name("", inherited);
    expect_name(NULL, inherited);
}

static void keep_self(void *argument)
{
    *(ceni_thread *)argument = ceni_thread_self();
}

TEST(a_thread_names_itself_as_its_starter_does)
{
    ceni_thread thread, inside = {0};
    start(&thread, NULL, keep_self, &inside);
    ceni_thread_join(&thread);
    expect_equal(inside.handle, thread.handle);
}

static void detach_self(void *argument)
{
    ceni_thread self = ceni_thread_self();
    ceni_thread_detach(&self);
    ceni_store_seq_cst((_Atomic uint32_t *)argument, 1);
}

static unsigned long mapped_pages(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    expect(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return pages;
}

static void detach_many(unsigned count)
{
    unsigned at_rest = threads_at_rest();
    for (unsigned round = 0; round < count; round++) {
        _Atomic uint32_t ended = 0;
        ceni_thread thread;
        start(&thread, NULL, detach_self, &ended);
        while (!ceni_load_seq_cst(&ended)) ceni_thread_yield();
        await_threads(at_rest);
    }
}

/* The libc keeps some stacks to use them again; of those that nobody gave back there would be one for each thread. */
TEST(a_thread_that_is_detached_leaves_nothing_behind)
{
    enum { MANY = 200 };
    pthread_attr_t attributes;
    size_t stack_size = 0;
    expect(pthread_attr_init(&attributes) == 0 && pthread_attr_getstacksize(&attributes, &stack_size) == 0);
    detach_many(10);
    unsigned long before = mapped_pages(), all_stacks = MANY * (stack_size / (size_t)sysconf(_SC_PAGESIZE));
    detach_many(MANY);
    expect(mapped_pages() - before < all_stacks / 2);
}

enum { THREADS = 8, PER_THREAD = 50 };

static void keep_id(void *argument)
{
    uint64_t *kept = argument;
    *kept = ceni_thread_id();
    expect_equal(ceni_thread_id(), *kept);
}

TEST(ids_are_never_zero_and_never_used_again)
{
    uint64_t ids[PER_THREAD][THREADS];
    ceni_thread threads[THREADS];
    uint64_t own = ceni_thread_id();
    for (unsigned round = 0; round < PER_THREAD; round++) {
        for (unsigned i = 0; i < THREADS; i++) start(&threads[i], NULL, keep_id, &ids[round][i]);
        for (unsigned i = 0; i < THREADS; i++) ceni_thread_join(&threads[i]);
    }
    uint64_t *all = ids[0];
    for (unsigned i = 0; i < PER_THREAD * THREADS; i++) {
        expect(all[i] != 0 && all[i] != own);
        for (unsigned k = 0; k < i; k++) expect(all[i] != all[k]);
    }
    expect_equal(ceni_thread_id(), own);
}

TEST(the_cpu_count_is_what_the_process_may_use)
{
    cpu_set_t allowed;
    expect(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    expect_equal(ceni_cpu_count(), CPU_COUNT(&allowed));
    expect_equal(ceni_cpu_count(), CPU_COUNT(&allowed));
}

static void keep_random(void *argument)
{
    uint64_t *kept = argument;
    for (unsigned i = 0; i < PER_THREAD; i++) kept[i] = ceni_random();
}

TEST(random_numbers_differ_within_and_between_threads)
{
    uint64_t numbers[THREADS][PER_THREAD];
    ceni_thread threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) start(&threads[i], NULL, keep_random, numbers[i]);
    for (unsigned i = 0; i < THREADS; i++) ceni_thread_join(&threads[i]);
    uint64_t *all = numbers[0], ones = 0, zeros = 0;
    for (unsigned i = 0; i < THREADS * PER_THREAD; i++) {
        ones |= all[i];
        zeros |= ~all[i];
        for (unsigned k = 0; k < i; k++) expect(all[i] != all[k]);
    }
    expect(ones == UINT64_MAX && zeros == UINT64_MAX);
}

TEST(a_forked_child_draws_other_random_numbers_than_its_parent)
{
    int fds[2], status;
    uint64_t childs, own;
    ceni_random();
    expect(pipe(fds) == 0);
    pid_t child = fork();
    if (child == 0) {
        childs = ceni_random();
        _exit(write(fds[1], &childs, sizeof childs) != sizeof childs);
    }
    own = ceni_random();
    expect(read(fds[0], &childs, sizeof childs) == sizeof childs);
    expect(waitpid(child, &status, 0) == child && status == 0);
    expect(childs != own);
}

static volatile sig_atomic_t interruptions;

static void interrupt(int number)
{
    (void)number;
    interruptions = interruptions + 1;
}

/* The timer is not what is waited for: it is there to interrupt the wait. */
TEST(a_sleep_goes_on_after_an_interruption_until_its_moment)
{
    struct sigaction action = {.sa_handler = interrupt};
    struct sigevent by_signal = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec in_two_ms = {.it_value = {.tv_nsec = 2 * 1000 * 1000}};
    timer_t timer;
    expect(sigaction(SIGUSR1, &action, NULL) == 0);
    expect(timer_create(CLOCK_MONOTONIC, &by_signal, &timer) == 0);
    int64_t moment = ceni_clock_now() + 10 * 1000 * 1000;
    expect(timer_settime(timer, 0, &in_two_ms, NULL) == 0);
    ceni_sleep_until(moment);
    expect(ceni_clock_now() >= moment);
    expect_equal(interruptions, 1);
    timer_delete(timer);
}

TEST(a_sleep_until_a_past_moment_returns)
{
    ceni_sleep_until(1);
    ceni_sleep_until(0);
    ceni_sleep_until(-1);
    ceni_sleep_until(INT64_MIN);
    expect(ceni_clock_now() > 0);
}
