/* SPDX-License-Identifier: MIT */
/* Stop tokens that are set by signal handlers, on real threads. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/future.h>
#include <cenote/pool.h>
#include <cenote/queue.h>
#include <cenote/stop.h>

#include "base/atomic.h"
#include "port/port.h"
#include "support/test.h"

enum { ROUNDS = 2000 };

static cen_stop_token token;
static sem_t go, over;
static cen_pool *pool;
static cen_queue *queue;
static cen_future future;
static cen_promise promise;
static _Atomic uint32_t wrong, handled;

static void await(sem_t *sem)
{
    while (sem_wait(sem) != 0) continue; /* a signal may come here, too */
}

static void set_in_handler(int signal)
{
    (void)signal;
    int before = errno;
    errno = 77;
    cen_stop_token_set(&token);
    if (errno != 77) ceni_add_relaxed(&wrong, 1); /* counts only; carries nothing */
    errno = before;
    ceni_add_relaxed(&handled, 1); /* likewise; carries nothing */
}

/* The kinds of waits, in turn. */
static cen_status wait_somehow(unsigned round)
{
    cen_lease lease;
    int element;
    size_t which;
    cen_case pop = cen_case_pop(queue, &element);
    if (round % 3 == 0) return cen_pool_take_stoppable(pool, CEN_NEVER, &token, &lease, NULL);
    if (round % 3 == 1) return cen_future_wait_stoppable(&future, CEN_NEVER, &token);
    return cen_select_stoppable(&pop, 1, CEN_NEVER, &token, &which);
}

static void *wait_again_and_again(void *unused)
{
    (void)unused;
    for (unsigned round = 0; round < ROUNDS; round++) {
        await(&go);
        /* read after the join; carries nothing */
        if (wait_somehow(round) != CEN_INTERRUPTED) ceni_add_relaxed(&wrong, 1);
        sem_post(&over);
    }
    await(&go); /* all signals have come */
    return NULL;
}

static void prepare(void)
{
    cen_stop_token_init(&token);
    expect(sem_init(&go, 0, 0) == 0 && sem_init(&over, 0, 0) == 0);
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 1);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    cen_queue_options of_queue = CEN_QUEUE_OPTIONS(.element_size = sizeof(int), .capacity = 1);
    expect_equal(cen_queue_new(&of_queue, &queue, NULL), CEN_OK);
    cen_future_init(&future);
    expect_equal(cen_promise_init(&promise, &future), CEN_OK);
    struct sigaction action = {.sa_handler = set_in_handler};
    expect_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

static void end(void)
{
    expect(cen_future_cancel(&future));
    cen_queue_free(queue);
    expect_equal(cen_pool_free(pool), CEN_OK);
    sem_destroy(&go);
    sem_destroy(&over);
}

/* The signal comes before, while or after the thread begins to wait: it is never lost. In some rounds there is a
 * second one, which meets the thread as it leaves. */
/* guarantees: stop.signal */
TEST(a_handler_on_the_waiting_thread_itself_ends_its_wait_whenever_the_signal_comes)
{
    prepare();
    pthread_t thread;
    expect_equal(pthread_create(&thread, NULL, wait_again_and_again, NULL), 0);
    uint32_t sent = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        sem_post(&go);
        for (unsigned steps = round * 7 % 512; steps > 0; steps--) ceni_pause();
        for (unsigned signals = 1 + round % 2; signals > 0; signals--, sent++) {
            expect_equal(pthread_kill(thread, SIGUSR1), 0);
            /* or two would become one; carries nothing */
            while (ceni_load_relaxed(&handled) <= sent) ceni_thread_yield();
        }
        await(&over);
        cen_stop_token_reset(&token);
    }
    sem_post(&go);
    expect_equal(pthread_join(thread, NULL), 0);
    expect_equal(wrong, 0);
    end();
}

static void *wait_once(void *unused)
{
    (void)unused;
    if (cen_future_wait_stoppable(&future, CEN_NEVER, &token) != CEN_INTERRUPTED)
        ceni_add_relaxed(&wrong, 1); /* carries nothing */
    return NULL;
}

/* guarantees: stop.fork */
TEST(a_set_in_a_forked_child_touches_no_waiter_of_the_parent)
{
    prepare();
    pthread_t thread;
    expect_equal(pthread_create(&thread, NULL, wait_once, NULL), 0);
    while (!ceni_load_acquire(&token.first_)) ceni_thread_yield();
    pid_t child = fork();
    if (child == 0) {
        cen_future mine;
        cen_promise kept;
        cen_future_init(&mine);
        cen_promise_init(&kept, &mine);
        bool forked = cen_future_wait_stoppable(&mine, CEN_NEVER, &token) == CEN_FORKED;
        cen_stop_token_set(&token);
        bool set = cen_stop_token_is_set(&token);
        cen_stop_token_init(&token);
        bool again = cen_future_wait_stoppable(&mine, cen_in_ns(1), &token) == CEN_TIMEOUT;
        _exit(forked && set && again ? 0 : 1);
    }
    int status = 1;
    expect(child > 0 && waitpid(child, &status, 0) == child);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    expect(!cen_stop_token_is_set(&token));
    cen_stop_token_set(&token);
    expect_equal(pthread_join(thread, NULL), 0);
    expect_equal(wrong, 0);
    end();
}
