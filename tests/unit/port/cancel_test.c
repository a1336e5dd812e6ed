/* SPDX-License-Identifier: MIT */
/*
 * A request to cancel whose signal is late. The signal by which libc cancels a sleeping thread is held back, as if the thread that
 * sends it had been interrupted before. The wait ends by its wake. If it came back, the signal would find the thread in the
 * program's code.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "port/port.h"
#include "support/test.h"
#include "unit/port/asleep.h"

static _Atomic uint32_t word, returned;
static bedside sign;
static int times_left;

static sigset_t of_libc(void)
{
    sigset_t signals;
    memset(&signals, 0, sizeof signals);
    *(uint64_t *)(void *)&signals = UINT64_C(3) << 31; /* 32 and 33, which sigaddset refuses */
    return signals;
}

static void let_them_through(int signal, siginfo_t *unused, void *context)
{
    (void)signal, (void)unused;
    uint64_t *mask = (uint64_t *)(void *)&((ucontext_t *)context)->uc_sigmask;
    *mask &= ~(UINT64_C(3) << 31);
}

static void count_left(void *times)
{
    ++*(int *)times;
}

static void *wait_and_be_cancelled_late(void *argument)
{
    (void)argument;
    sigset_t signals = of_libc();
    expect(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signals, NULL, sizeof(uint64_t)) == 0);
    bedside_sign(&sign);
    ceni_futex_wait_cancellable(&word, 0, CENI_FOREVER, count_left, &times_left);
    ceni_store_release(&returned, 1);
    return NULL;
}

static bool is_under_way(void)
{
    char state = thread_state(ceni_load_acquire(&sign));
    return state && state != 'S' && !ceni_load_acquire(&returned);
}

/* guarantees: park.late-cancel */
TEST(a_request_to_cancel_whose_signal_is_late_ends_the_wait_that_it_came_for)
{
    struct sigaction action = {.sa_sigaction = let_them_through, .sa_flags = SA_SIGINFO | SA_RESTART};
    pthread_t thread;
    void *end;
    expect(sigaction(SIGUSR1, &action, NULL) == 0);
    expect(pthread_create(&thread, NULL, wait_and_be_cancelled_late, NULL) == 0);
    await_asleep(&sign);
    expect(pthread_cancel(thread) == 0);
    ceni_store_seq_cst(&word, 1);
    ceni_futex_wake(&word, 1);
    /* It is awake now, and sleeps again only if it waits for the signal, as with glibc before 2.41; or it ends at once. */
    while (is_under_way()) ceni_thread_yield();
    expect_equal(ceni_load_acquire(&returned), 0);
    (void)pthread_kill(thread, SIGUSR1);
    expect(pthread_join(thread, &end) == 0);
    expect(end == PTHREAD_CANCELED);
    expect_equal(times_left, 1);
}
