/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "port/port.h"
#include "support/test.h"
#include "unit/port/asleep.h"

/* Each destructor and hook writes one letter; threads are joined before it is
 * read. p and q are the program's destructors, of a key made before and of
 * one made after the library's; L and C are the hooks. */
static char story[32];
static pthread_key_t early_key, late_key;
static unsigned early_waves; /* how often the destructor of the early key sets it again */

static void tell(char letter)
{
    size_t length = strlen(story);
    expect(length + 1 < sizeof story);
    story[length] = letter;
}

static void leases_hook(void)
{
    tell('L');
}

static void counters_hook(void)
{
    tell('C');
}

static void early_destructor(void *value)
{
    tell('p');
    if (early_waves && early_waves--) pthread_setspecific(early_key, value);
}

static void late_destructor(void *value)
{
    (void)value;
    tell('q');
}

static void make_program_keys_around_the_librarys(void)
{
    expect(pthread_key_create(&early_key, early_destructor) == 0);
    expect(ceni_thread_at_exit(CENI_EXIT_ENTRIES, counters_hook) == CEN_OK);
    expect(pthread_key_create(&late_key, late_destructor) == 0);
}

static void arm_everything(void)
{
    expect(ceni_thread_at_exit(CENI_EXIT_ENTRIES, counters_hook) == CEN_OK);
    expect(ceni_thread_at_exit(CENI_EXIT_LEASES, leases_hook) == CEN_OK);
    expect(pthread_setspecific(early_key, story) == 0);
    expect(pthread_setspecific(late_key, story) == 0);
}

static void *arm_and_return(void *argument)
{
    arm_everything();
    return argument;
}

static void *arm_and_exit(void *argument)
{
    arm_everything();
    pthread_exit(argument);
}

static void *arm_and_await_cancellation(void *argument)
{
    arm_everything();
    bedside_sign(argument);
    for (;;) pause();
    return NULL;
}

static void run(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    expect(pthread_create(&thread, NULL, body, argument) == 0);
    expect(pthread_join(thread, NULL) == 0);
}

/* The order of p and q among themselves is the libc's business. */
static void expect_hooks_last(const char *programs_part)
{
    size_t programs = strlen(programs_part);
    expect_equal(strlen(story), programs + 2);
    expect_equal(strspn(story, "pq"), programs);
    expect_text(story + programs, "LC");
}

TEST(hooks_run_after_the_programs_own_destructors_in_the_order_of_rank)
{
    make_program_keys_around_the_librarys();
    run(arm_and_return, NULL);
    expect_hooks_last("pq");
}

TEST(hooks_run_after_a_destructor_that_came_round_a_second_time)
{
    make_program_keys_around_the_librarys();
    early_waves = 1;
    run(arm_and_return, NULL);
    expect_hooks_last("pqp");
}

TEST(hooks_run_when_a_thread_ends_by_pthread_exit)
{
    make_program_keys_around_the_librarys();
    run(arm_and_exit, NULL);
    expect_hooks_last("pq");
}

TEST(hooks_run_when_a_thread_ends_by_pthread_cancel)
{
    pthread_t thread;
    void *end;
    bedside sign = 0;
    make_program_keys_around_the_librarys();
    expect(pthread_create(&thread, NULL, arm_and_await_cancellation, &sign) == 0);
    await_asleep(&sign);
    expect(pthread_cancel(thread) == 0);
    expect(pthread_join(thread, &end) == 0);
    expect(end == PTHREAD_CANCELED);
    expect_hooks_last("pq");
}

static void arm_in_library_thread(void *argument)
{
    (void)argument;
    arm_everything();
}

TEST(hooks_run_when_a_thread_of_the_librarys_ends)
{
    int code;
    ceni_thread thread;
    make_program_keys_around_the_librarys();
    expect(ceni_thread_start(&thread, "ending", arm_in_library_thread, NULL, &code) == CEN_OK);
    ceni_thread_join(&thread);
    expect_hooks_last("pq");
}

static void *arm_often(void *argument)
{
    for (int i = 0; i < 3; i++) arm_everything();
    return argument;
}

TEST(a_hook_armed_twice_runs_once)
{
    make_program_keys_around_the_librarys();
    run(arm_often, NULL);
    expect_hooks_last("pq");
}

TEST(a_thread_that_armed_nothing_runs_no_hook)
{
    make_program_keys_around_the_librarys();
    int code;
    ceni_thread thread;
    expect(ceni_thread_start(&thread, NULL, (void (*)(void *))ceni_thread_yield, NULL, &code) == CEN_OK);
    ceni_thread_join(&thread);
    expect_text(story, "");
}

static void arm_from_a_destructor(void *value)
{
    (void)value;
    tell('p');
    expect(ceni_thread_at_exit(CENI_EXIT_LEASES, leases_hook) == CEN_OK);
}

static void *set_early_and_late(void *argument)
{
    expect(pthread_setspecific(early_key, story) == 0);
    expect(pthread_setspecific(late_key, story) == 0);
    return argument;
}

TEST(a_hook_first_armed_by_a_destructor_of_the_programs_still_runs)
{
    expect(pthread_key_create(&early_key, arm_from_a_destructor) == 0);
    expect(ceni_thread_at_exit(CENI_EXIT_ENTRIES, counters_hook) == CEN_OK);
    expect(pthread_key_create(&late_key, arm_from_a_destructor) == 0);
    run(set_early_and_late, NULL);
    expect_text(story, "ppL");
    story[0] = story[1] = story[2] = 0;
    expect(pthread_key_delete(early_key) == 0); /* only the key behind the library's is left */
    early_key = late_key;
    run(set_early_and_late, NULL);
    expect_text(story, "pL");
}

static void hook_that_arms_the_next(void)
{
    tell('L');
    expect(ceni_thread_at_exit(CENI_EXIT_ENTRIES, counters_hook) == CEN_OK);
}

static void *arm_hook_that_arms(void *argument)
{
    expect(ceni_thread_at_exit(CENI_EXIT_LEASES, hook_that_arms_the_next) == CEN_OK);
    return argument;
}

TEST(a_hook_may_arm_one_of_a_higher_rank)
{
    run(arm_hook_that_arms, NULL);
    expect_text(story, "LC");
}

static void hook_that_arms_the_one_before(void)
{
    tell('C');
    expect(ceni_thread_at_exit(CENI_EXIT_LEASES, leases_hook) == CEN_OK);
}

static void *arm_hook_that_arms_back(void *argument)
{
    expect(ceni_thread_at_exit(CENI_EXIT_ENTRIES, hook_that_arms_the_one_before) == CEN_OK);
    return argument;
}

TEST(a_hook_may_arm_one_of_a_lower_rank)
{
    run(arm_hook_that_arms_back, NULL);
    expect_text(story, "CL");
}

static _Atomic uint32_t main_has_ended;

static void say_that_main_ends(void)
{
    ceni_store_release(&main_has_ended, 1);
    ceni_futex_wake(&main_has_ended, 1);
}

static void *end_the_process_after_main(void *argument)
{
    (void)argument;
    while (!ceni_load_acquire(&main_has_ended)) ceni_futex_wait(&main_has_ended, 0, CENI_FOREVER);
    _exit(0);
}

/* Without the hook nobody ends the process with 0. */
TEST(the_main_threads_hooks_run_when_it_calls_pthread_exit)
{
    pthread_t other;
    alarm(60);
    expect(ceni_thread_at_exit(CENI_EXIT_LEASES, say_that_main_ends) == CEN_OK);
    expect(pthread_create(&other, NULL, end_the_process_after_main, NULL) == 0);
    pthread_exit(NULL);
}

/* What was made stays made, so each time the first question that is left fails. */
TEST(a_key_that_cannot_be_made_or_set_is_reported_and_asked_for_again)
{
    for (unsigned nth = 1; nth <= 2; nth++) {
        ceni_fault_arm(CENI_FAULT_KEY, nth);
        expect_equal(ceni_thread_at_exit(CENI_EXIT_LEASES, leases_hook), CEN_SYSTEM);
        expect(ceni_fault_disarm());
    }
    ceni_fault_arm(CENI_FAULT_KEY, 2);
    expect_equal(ceni_thread_at_exit(CENI_EXIT_LEASES, leases_hook), CEN_OK);
    expect(!ceni_fault_disarm());
}

enum { RACERS = 8, RACES = 100 };

static _Atomic unsigned hook_runs;
static pthread_barrier_t starting_line;

static void count_run(void)
{
    ceni_add_relaxed(&hook_runs, 1);
}

static void *arm_counting(void *argument)
{
    pthread_barrier_wait(&starting_line);
    expect(ceni_thread_at_exit(CENI_EXIT_ENTRIES, count_run) == CEN_OK);
    return argument;
}

static unsigned count_keys_left(void)
{
    static pthread_key_t keys[PTHREAD_KEYS_MAX];
    unsigned left = 0;
    while (pthread_key_create(&keys[left], NULL) == 0) left++;
    for (unsigned i = 0; i < left; i++) pthread_key_delete(keys[i]);
    return left;
}

static void race_for_the_first_key(void)
{
    pthread_t threads[RACERS];
    unsigned left_before = count_keys_left();
    expect(pthread_barrier_init(&starting_line, NULL, RACERS) == 0);
    for (int i = 0; i < RACERS; i++) expect(pthread_create(&threads[i], NULL, arm_counting, NULL) == 0);
    for (int i = 0; i < RACERS; i++) expect(pthread_join(threads[i], NULL) == 0);
    expect_equal(ceni_load_relaxed(&hook_runs), RACERS);
    expect_equal(count_keys_left(), left_before - 1);
    _exit(0);
}

/* A process makes its key once, so each race needs a process. */
TEST(threads_that_all_arm_first_share_one_key)
{
    for (int i = 0; i < RACES; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) race_for_the_first_key();
        expect(waitpid(child, &status, 0) == child);
        expect_equal(status, 0);
    }
}
