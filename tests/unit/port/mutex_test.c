/* SPDX-License-Identifier: MIT */
#include "port/mutex.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "port/port.h"
#include "support/test.h"

static ceni_mutex outer, inner;

TEST(a_zeroed_mutex_is_free_and_a_held_one_cannot_be_tried)
{
    expect(ceni_mutex_try_lock(&outer, CENI_RANK_DIRECTORY));
    expect(!ceni_mutex_try_lock(&outer, CENI_RANK_WAITLIST)); /* another rank, to see the mutex refuse */
    ceni_mutex_unlock(&outer, CENI_RANK_DIRECTORY);
    ceni_mutex_lock(&outer, CENI_RANK_DIRECTORY);
    ceni_mutex_unlock(&outer, CENI_RANK_DIRECTORY);
    expect(ceni_mutex_try_lock(&outer, CENI_RANK_DIRECTORY));
    ceni_mutex_unlock(&outer, CENI_RANK_DIRECTORY);
}

enum { THREADS = 4, ROUNDS = 2000 };
static long counted; /* plain: the mutex is all that protects it */

static void count(void *argument)
{
    (void)argument;
    for (int i = 0; i < ROUNDS; i++) {
        ceni_mutex_lock(&inner, CENI_RANK_WAITLIST);
        long now = counted;
        if (i % 64 == 0) ceni_thread_yield(); /* lets others come, spin and sleep */
        counted = now + 1;
        ceni_mutex_unlock(&inner, CENI_RANK_WAITLIST);
    }
}

TEST(threads_exclude_one_another_and_none_sleeps_forever)
{
    ceni_thread threads[THREADS];
    int code;
    for (int i = 0; i < THREADS; i++) expect_equal(ceni_thread_start(&threads[i], "count", count, NULL, &code), CEN_OK);
    for (int i = 0; i < THREADS; i++) ceni_thread_join(&threads[i]);
    expect_equal(counted, THREADS * ROUNDS);
    expect(ceni_mutex_try_lock(&inner, CENI_RANK_WAITLIST));
}

/* ---- Ranks --------------------------------------------------------------- */

/* Runs the body in a child and expects it to abort after printing `text`. */
static void expect_abort(void (*body)(void), const char *text)
{
    int ends[2];
    expect(pipe(ends) == 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        body();
        _exit(0);
    }
    close(ends[1]);
    char printed[256] = {0};
    size_t length = 0;
    for (ssize_t got; length < sizeof printed - 1; length += (size_t)got) {
        got = read(ends[0], printed + length, sizeof printed - 1 - length);
        if (got <= 0) break;
    }
    int status;
    expect(waitpid(child, &status, 0) == child);
    expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    expect_text(printed, text);
}

static void lock_downwards(void)
{
    ceni_mutex_lock(&inner, CENI_RANK_WAITLIST);
    ceni_mutex_lock(&outer, CENI_RANK_DIRECTORY);
}

static void lock_one_rank_twice(void)
{
    ceni_mutex_lock(&outer, CENI_RANK_WAITLIST);
    ceni_mutex_lock(&inner, CENI_RANK_WAITLIST);
}

static void try_downwards(void)
{
    ceni_mutex_lock(&inner, CENI_RANK_WAITLIST);
    ceni_mutex_try_lock(&outer, CENI_RANK_DIRECTORY);
}

static void call_out_locked(void)
{
    ceni_mutex_lock(&outer, CENI_RANK_DIRECTORY);
    ceni_mutex_lock(&inner, CENI_RANK_WAITLIST);
    ceni_rank_expect_none("a visitor");
}

static void unlock_what_is_not_held(void)
{
    ceni_mutex_unlock(&outer, CENI_RANK_DIRECTORY);
}

/* guarantees: park.ranks */
TEST(breaking_the_order_of_ranks_prints_them_and_aborts)
{
    expect_abort(lock_downwards, "lock order: taking DIRECTORY while holding WAITLIST\n");
    expect_abort(lock_one_rank_twice, "lock order: taking WAITLIST while holding WAITLIST\n");
    expect_abort(try_downwards, "lock order: taking DIRECTORY while holding WAITLIST\n");
    expect_abort(unlock_what_is_not_held, "lock order: releasing DIRECTORY while holding nothing\n");
}

/* guarantees: park.ranks */
TEST(calling_out_with_a_lock_held_prints_it_and_aborts)
{
    expect_abort(call_out_locked, "lock order: calling a visitor while holding DIRECTORY WAITLIST\n");
}

static void allocate_locked(void)
{
    ceni_mutex_lock(&inner, CENI_RANK_WAITLIST);
    ceni_free(NULL, ceni_alloc(NULL, 1, 1), 1, 1);
}

static void free_locked(void)
{
    void *memory = ceni_alloc(NULL, 1, 1);
    ceni_mutex_lock(&inner, CENI_RANK_WAITLIST);
    ceni_free(NULL, memory, 1, 1);
}

/* guarantees: pool.allocator-unlocked */
TEST(a_call_of_the_allocator_with_a_lock_held_stops_the_program)
{
    expect_abort(allocate_locked, "lock order: calling the allocator while holding WAITLIST\n");
    expect_abort(free_locked, "lock order: calling the allocator's free while holding WAITLIST\n");
    ceni_mutex_lock(&inner, CENI_RANK_WAITLIST);
    ceni_own_free(ceni_own_alloc(1, 1), 1, 1); /* which is never the program's */
    ceni_mutex_unlock(&inner, CENI_RANK_WAITLIST);
}

TEST(ranks_taken_upwards_and_released_in_any_order_are_fine)
{
    ceni_mutex_lock(&outer, CENI_RANK_DIRECTORY);
    ceni_mutex_lock(&inner, CENI_RANK_WAITLIST);
    ceni_mutex_unlock(&outer, CENI_RANK_DIRECTORY);
    ceni_mutex_unlock(&inner, CENI_RANK_WAITLIST);
    ceni_rank_expect_none("nobody");
    expect_equal(*ceni_rank_mask(), 0);
}
