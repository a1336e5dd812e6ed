/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "port/port.h"
#include "support/test.h"
#include "unit/port/asleep.h"

enum { MANY = 4096 }; /* words: more than there are buckets in any table, many times over */

typedef struct sleeping {
    ceni_thread thread;
    _Atomic uint32_t *word;
    int64_t moment;
    bedside sign;
    _Atomic uint32_t returned; /* how often the wait has come back */
    ceni_woken result;
} sleeping;

static _Atomic uint32_t words[MANY];

/* Waits from deep down its stack, so that what the wait leaves there is not
 * overwritten by what the thread, or the next one on that stack, does. */
__attribute__((noinline)) static ceni_woken wait_deep_down(_Atomic uint32_t *word, int64_t moment)
{
    volatile char depth[32768];
    depth[0] = 0;
    ceni_woken result = ceni_futex_wait(word, 0, moment);
    return depth[0] ? CENI_WOKEN : result;
}

static void sleep_deep_down(void *argument)
{
    sleeping *self = argument;
    bedside_sign(&self->sign);
    self->result = wait_deep_down(self->word, self->moment);
    ceni_store_release(&self->returned, 1);
}

static void sleep_once(void *argument)
{
    sleeping *self = argument;
    bedside_sign(&self->sign);
    self->result = ceni_futex_wait(self->word, 0, self->moment);
    ceni_store_release(&self->returned, 1);
}

static void start_asleep_in(void (*how)(void *), sleeping *one, _Atomic uint32_t *word, int64_t moment)
{
    int code;
    *one = (sleeping){.word = word, .moment = moment};
    expect(ceni_thread_start(&one->thread, "sleeper", how, one, &code) == CEN_OK);
    await_asleep(&one->sign);
}

static void start_asleep(sleeping *one, _Atomic uint32_t *word, int64_t moment)
{
    start_asleep_in(sleep_once, one, word, moment);
}

static unsigned count_returned(sleeping *all, unsigned count)
{
    unsigned returned = 0;
    for (unsigned i = 0; i < count; i++) returned += ceni_load_acquire(&all[i].returned);
    return returned;
}

static unsigned count_asleep(sleeping *all, unsigned count)
{
    unsigned asleep = 0;
    for (unsigned i = 0; i < count; i++) asleep += is_asleep(&all[i].sign);
    return asleep;
}

/* guarantees: park.atomic */
TEST(a_wait_on_a_changed_word_returns_at_once)
{
    _Atomic uint32_t word = 1;
    expect_equal(ceni_futex_wait(&word, 0, CENI_FOREVER), CENI_WOKEN);
    expect_equal(ceni_futex_wait(&word, 2, CENI_FOREVER), CENI_WOKEN);
}

/* guarantees: park.deadline */
TEST(a_moment_in_the_past_times_out)
{
    _Atomic uint32_t word = 0;
    expect_equal(ceni_futex_wait(&word, 0, ceni_clock_now() - 1), CENI_TIMED_OUT);
    expect_equal(ceni_futex_wait(&word, 0, 1), CENI_TIMED_OUT);
    expect_equal(ceni_futex_wait(&word, 0, 0), CENI_TIMED_OUT);
    expect_equal(ceni_futex_wait(&word, 0, -1), CENI_TIMED_OUT);
    expect_equal(ceni_futex_wait(&word, 0, INT64_MIN), CENI_TIMED_OUT);
}

/* guarantees: park.deadline */
TEST(a_wait_times_out_at_its_moment_and_not_before)
{
    _Atomic uint32_t word = 0;
    int64_t moment = ceni_clock_now() + 3 * 1000 * 1000;
    while (ceni_futex_wait(&word, 0, moment) == CENI_WOKEN) continue;
    expect(ceni_clock_now() >= moment);
}

/* guarantees: park.deadline */
TEST(a_huge_moment_does_not_time_out)
{
    static const int64_t moments[] = {CENI_FOREVER, CENI_FOREVER - 1, CENI_FOREVER / 2};
    for (unsigned i = 0; i < 3; i++) {
        sleeping one;
        start_asleep(&one, &words[0], moments[i]);
        ceni_futex_wake(&words[0], 1);
        ceni_thread_join(&one.thread);
        expect_equal(one.result, CENI_WOKEN);
    }
}

/* guarantees: park.wake */
TEST(a_wake_reaches_exactly_the_sleepers_of_its_address)
{
    sleeping here, there;
    start_asleep(&here, &words[1000], CENI_FOREVER);
    start_asleep(&there, &words[1001], CENI_FOREVER);
    for (unsigned i = 0; i < MANY; i++)
        if (i != 1000 && i != 1001) ceni_futex_wake(&words[i], UINT32_MAX);
    expect(is_asleep(&here.sign));
    expect(is_asleep(&there.sign));
    ceni_futex_wake(&words[1001], 1);
    ceni_thread_join(&there.thread);
    expect_equal(there.result, CENI_WOKEN);
    expect(is_asleep(&here.sign));
    ceni_futex_wake(&words[1000], 1);
    ceni_thread_join(&here.thread);
}

/* guarantees: park.wake */
TEST(a_wake_wakes_no_more_than_its_count)
{
    sleeping all[5];
    for (unsigned i = 0; i < 5; i++) start_asleep(&all[i], &words[7], CENI_FOREVER);
    ceni_futex_wake(&words[7], 0);
    expect_equal(count_asleep(all, 5), 5);
    ceni_futex_wake(&words[7], 2);
    while (count_returned(all, 5) < 2) ceni_thread_yield();
    expect_equal(count_asleep(all, 5), 3);
    expect_equal(count_returned(all, 5), 2);
    ceni_futex_wake(&words[7], UINT32_MAX);
    for (unsigned i = 0; i < 5; i++) ceni_thread_join(&all[i].thread);
    expect_equal(count_returned(all, 5), 5);
}

/* guarantees: park.wake */
TEST(a_wake_is_not_spent_on_a_sleeper_whose_time_ran_out)
{
    sleeping one;
    for (int i = 0; i < 3; i++) expect_equal(wait_deep_down(&words[9], 1), CENI_TIMED_OUT);
    ceni_futex_wake(&words[9], 1); /* finds nobody, and ends */
    start_asleep(&one, &words[9], CENI_FOREVER);
    ceni_futex_wake(&words[9], 1);
    ceni_thread_join(&one.thread);
    expect_equal(one.result, CENI_WOKEN);
}

/* guarantees: park.wake */
TEST(a_wake_on_memory_that_is_gone_is_harmless)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(page != MAP_FAILED);
    expect(munmap(page, size) == 0);
    ceni_futex_wake(page, 1);
    ceni_futex_wake(page, UINT32_MAX);
}

TEST(a_faulted_wait_returns_at_once_for_no_reason)
{
    _Atomic uint32_t word = 0;
    ceni_fault_arm(CENI_FAULT_WAIT, 1);
    expect_equal(ceni_futex_wait(&word, 0, CENI_FOREVER), CENI_WOKEN);
    expect(ceni_fault_disarm());
}

static _Atomic uint32_t turn;

static void play_pong(void *argument)
{
    uint32_t rounds = *(uint32_t *)argument;
    for (uint32_t i = 0; i < rounds; i++) {
        while (ceni_load_acquire(&turn) != 2 * i + 1) ceni_futex_wait(&turn, 2 * i, CENI_FOREVER);
        ceni_store_release(&turn, 2 * i + 2);
        ceni_futex_wake(&turn, 1);
    }
}

/* guarantees: park.atomic */
TEST(no_wake_is_lost_between_comparing_and_sleeping)
{
    uint32_t rounds = 5000;
    int code;
    ceni_thread thread;
    expect(ceni_thread_start(&thread, "pong", play_pong, &rounds, &code) == CEN_OK);
    for (uint32_t i = 0; i < rounds; i++) {
        ceni_store_release(&turn, 2 * i + 1);
        ceni_futex_wake(&turn, 1);
        while (ceni_load_acquire(&turn) != 2 * i + 2) ceni_futex_wait(&turn, 2 * i + 1, CENI_FOREVER);
    }
    ceni_thread_join(&thread);
    expect_equal(ceni_load_relaxed(&turn), 2 * rounds);
}

/* A pending request must stay pending: the wait comes back by the wake and
 * not by the request, and the thread ends where it says so itself. */
static void *wait_with_cancellation_on(void *argument)
{
    sleep_once(argument);
    pthread_testcancel();
    return NULL;
}

/* guarantees: park.no-cancellation */
TEST(a_wait_is_no_cancellation_point)
{
    sleeping one = {.word = &words[3], .moment = CENI_FOREVER};
    pthread_t thread;
    void *end;
    expect(pthread_create(&thread, NULL, wait_with_cancellation_on, &one) == 0);
    await_asleep(&one.sign);
    expect(pthread_cancel(thread) == 0);
    while (!ceni_load_acquire(&one.returned)) ceni_futex_wake(&words[3], 1);
    expect(pthread_join(thread, &end) == 0);
    expect(end == PTHREAD_CANCELED);
    expect_equal(one.result, CENI_WOKEN);
}

static _Atomic uint32_t handled, ends;

static void wake_in_handler(int signal)
{
    (void)signal;
    ceni_futex_wake(&words[4], 1);
    ceni_add_relaxed(&handled, 1); /* counts only; carries nothing */
}

static void compare_and_wake_again_and_again(void *unused)
{
    (void)unused;
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    while (!ceni_load_acquire(&ends)) {
        ceni_futex_wait(&words[4], 1, CENI_FOREVER); /* it is not 1: the thread never sleeps, and is met in any step */
        ceni_futex_wake(&words[4], 1);
    }
}

/* A handler may interrupt a wait or a wake of the same word on its own thread. */
/* guarantees: park.signal */
TEST(a_wake_in_a_signal_handler_never_waits_for_the_thread_that_it_interrupted)
{
    enum { SIGNALS = 5000 };
    struct sigaction action = {.sa_handler = wake_in_handler, .sa_flags = SA_RESTART};
    expect_equal(sigaction(SIGUSR2, &action, NULL), 0);
    ceni_thread thread;
    int code;
    expect_equal(ceni_thread_start(&thread, "signalled", compare_and_wake_again_and_again, NULL, &code), CEN_OK);
    for (uint32_t i = 0; i < SIGNALS; i++) {
        expect_equal(pthread_kill((pthread_t)(uintptr_t)thread.handle, SIGUSR2), 0);
        while (ceni_load_relaxed(&handled) <= i) ceni_thread_yield(); /* carries nothing */
    }
    ceni_store_release(&ends, 1);
    ceni_thread_join(&thread);
}

/* The child below starts a thread, which ThreadSanitizer refuses unless told otherwise. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "die_after_fork=0";
}

static void wake_own_sleeper_with_one_wake(void)
{
    sleeping one;
    start_asleep(&one, &words[5], CENI_FOREVER);
    ceni_futex_wake(&words[5], 1);
    ceni_thread_join(&one.thread);
    _exit(one.result == CENI_WOKEN ? 0 : 1);
}

TEST(a_wake_in_a_forked_child_is_not_spent_on_the_parents_sleepers)
{
    sleeping parents;
    int status;
    start_asleep_in(sleep_deep_down, &parents, &words[5], CENI_FOREVER);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        wake_own_sleeper_with_one_wake();
    }
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
    expect(is_asleep(&parents.sign));
    ceni_futex_wake(&words[5], 1);
    ceni_thread_join(&parents.thread);
}
