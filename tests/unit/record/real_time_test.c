/* SPDX-License-Identifier: MIT */
/*
 * Two threads of real-time priority on one processor: one makes something that the other, of a higher priority, needs.
 * A thread that waits by yielding the processor never lets the first one go on, and the test never ends.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cenote/pool.h>

#include "record/owned.h"
#include "support/test.h"

enum { LOW = 1, HIGH = 2 };

static sem_t may_need; /* the maker is in the middle */
static bool was_needed;

/* False: not permitted here. */
static bool start_real_time(pthread_t *thread, int priority, void *(*run)(void *))
{
    pthread_attr_t attributes;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    struct sched_param parameters = {.sched_priority = priority};
    expect(pthread_attr_init(&attributes) == 0);
    expect(pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED) == 0);
    expect(pthread_attr_setschedpolicy(&attributes, SCHED_FIFO) == 0);
    expect(pthread_attr_setschedparam(&attributes, &parameters) == 0);
    bool pinned = pthread_attr_setaffinity_np(&attributes, sizeof one, &one) == 0;
    int code = pinned ? pthread_create(thread, &attributes, run, NULL) : -1;
    pthread_attr_destroy(&attributes);
    return code == 0;
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0) continue;
}

/* The high one first: it sleeps until the low one is in the middle, and then runs before that goes on. */
static bool run_both(void *(*need)(void *), void *(*make)(void *))
{
    pthread_t high, low;
    was_needed = false;
    expect(sem_init(&may_need, 0, 0) == 0);
    if (!start_real_time(&high, HIGH, need)) {
        printf("     skipped: SCHED_FIFO on processor 0 is not permitted here\n");
        return false;
    }
    expect(start_real_time(&low, LOW, make));
    expect(pthread_join(low, NULL) == 0);
    expect(pthread_join(high, NULL) == 0);
    expect(was_needed);
    return true;
}

/* ---- What a process makes once --------------------------------------------------------------- */

static ceni_owned owned;

static void *make_owned(void *unused)
{
    expect(ceni_owned_begin(&owned));
    expect(sem_post(&may_need) == 0); /* the other one runs, and waits for what comes now */
    ceni_owned_ready(&owned);
    return unused;
}

static void *need_owned(void *unused)
{
    wait_for(&may_need);
    expect(!ceni_owned_begin(&owned));
    was_needed = true;
    return unused;
}

/* guarantees: park.owned */
TEST(a_thread_of_high_priority_sleeps_until_one_of_low_priority_has_made_what_it_needs)
{
    run_both(need_owned, make_owned);
}

/* ---- A pool in a forked child ------------------------------------------------------------------- */

static cen_pool *pool;
static bool is_child;

static void *alloc_in_the_middle(void *context, size_t size, size_t alignment)
{
    (void)context;
    static bool told;
    if (is_child && !told) {
        told = true;
        expect(sem_post(&may_need) == 0);
    }
    size_t whole = (size + alignment - 1) / alignment * alignment;
    return aligned_alloc(alignment < sizeof(void *) ? sizeof(void *) : alignment, whole);
}

static void free_plainly(void *context, void *memory, size_t size, size_t alignment)
{
    (void)context, (void)size, (void)alignment;
    free(memory);
}

static void use_pool(void)
{
    cen_lease lease;
    /* the first call renews the pool, which has no object */
    expect_equal(cen_pool_try_take(pool, &lease, NULL), CEN_EMPTY);
}

static void *renew_pool(void *unused)
{
    use_pool();
    return unused;
}

static void *need_pool(void *unused)
{
    wait_for(&may_need);
    use_pool();
    was_needed = true;
    return unused;
}

/* guarantees: park.owned */
TEST(a_thread_of_high_priority_sleeps_until_one_of_low_priority_has_renewed_their_pool)
{
    static const cen_allocator allocator = {.alloc = alloc_in_the_middle, .free = free_plainly};
    cen_pool_options options = CEN_POOL_OPTIONS(.max = 1, .on_fork = CEN_FORK_RENEW, .allocator = &allocator);
    expect_equal(cen_pool_new(&options, &pool, NULL), CEN_OK);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        is_child = true;
        run_both(need_pool, renew_pool);
        fflush(stdout);
        _exit(0);
    }
    int status = -1;
    expect_equal(waitpid(child, &status, 0), child);
    expect_equal(status, 0);
    expect_equal(cen_pool_close(pool, CEN_NOW, NULL, NULL), CEN_OK);
    expect_equal(cen_pool_free(pool), CEN_OK);
}
