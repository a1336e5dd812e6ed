/* SPDX-License-Identifier: MIT */
/*
 * What it costs that many takes have one deadline, beside a condition variable.
 *
 *     pool-deadlines ROUNDS WAITERS [looks]
 *
 * All wait until the same moment, for a pool whose only object is held or for a condition that nobody signals. Timed is when
 * the last of them is told, after that moment, and how much of a processor each of them uses, from its call to its return.
 * The contestants take turns: cenote with an error to write into, cenote without one, the condition variable. With "looks"
 * another thread looks at the pool all the while.
 */
#include <cenote/pool.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../rules/bench.h"

#define WAITERS_MAX 10000
#define ROUNDS_MAX 1000
#define AHEAD_NS 100000000 /* in which all of them begin to wait */

enum { EXPLAINED, SILENT, CONDVAR, KINDS };
static const char *const names[KINDS] = {"explained", "silent", "condvar"};

struct waiter {
    _Alignas(64) int64_t late, cpu;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static pthread_barrier_t barrier;
static cen_pool *pool;
static int64_t deadline;
static unsigned rounds;
static atomic_bool over;
static int object;

static void wait_for_pool(cen_error *error)
{
    cen_lease lease;
    if (cen_pool_take(pool, cen_at(deadline), &lease, error) != CEN_TIMEOUT)
        bench_fail("a take was given the object that is held");
    if (error != NULL && error->cause == CEN_CAUSE_NONE) bench_fail("a take was not told why: %s", error->text);
}

static void wait_for_condition(void)
{
    struct timespec until = {deadline / 1000000000, deadline % 1000000000};
    pthread_mutex_lock(&mutex);
    while (pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT) continue;
    pthread_mutex_unlock(&mutex);
}

static void wait_once(unsigned kind)
{
    cen_error error;
    if (kind == CONDVAR) wait_for_condition();
    else wait_for_pool(kind == EXPLAINED ? &error : NULL);
}

/* All round: the first barrier is when the deadline is known, the second when all have been told. */
static void body(void *worker)
{
    struct waiter *self = worker;
    bench_line_up();
    for (unsigned i = 0; i < rounds * KINDS; i++) {
        pthread_barrier_wait(&barrier);
        int64_t before = bench_cpu();
        wait_once(i % KINDS);
        self->late = bench_now() - deadline;
        self->cpu = bench_cpu() - before;
        pthread_barrier_wait(&barrier);
    }
}

static struct waiter *waiters;
static unsigned count;
static int64_t last[KINDS][ROUNDS_MAX], used[KINDS][ROUNDS_MAX];

static void direct(void)
{
    for (unsigned i = 0; i < rounds * KINDS; i++) {
        int64_t latest = 0, sum = 0;
        deadline = bench_now() + AHEAD_NS;
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
        for (unsigned each = 0; each < count; each++) {
            latest = waiters[each].late > latest ? waiters[each].late : latest;
            sum += waiters[each].cpu;
        }
        last[i % KINDS][i / KINDS] = latest;
        used[i % KINDS][i / KINDS] = sum / count;
    }
}

static void *look(void *unused)
{
    (void)unused;
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    while (!atomic_load(&over)) cen_pool_stats_get(pool, &stats);
    return NULL;
}

static void prepare(cen_lease *held)
{
    cen_error error;
    pthread_condattr_t monotonic;
    cen_pool_options options = CEN_POOL_OPTIONS(.name = "bench", .max = 1);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&condition, &monotonic);
    pthread_barrier_init(&barrier, NULL, count + 1);
    if (cen_pool_new(&options, &pool, &error) != CEN_OK || cen_pool_adopt(pool, &object, &error) != CEN_OK ||
        cen_pool_try_take(pool, held, &error) != CEN_OK)
        bench_fail("%s", error.text);
}

int main(int argc, char **argv)
{
    bool looks = argc == 4 && strcmp(argv[3], "looks") == 0;
    if (argc != 3 && !looks) bench_fail("usage: pool-deadlines ROUNDS WAITERS [looks]");
    rounds = (unsigned)bench_number(argv[1], 1, ROUNDS_MAX);
    count = (unsigned)bench_number(argv[2], 1, WAITERS_MAX);
    waiters = bench_zeroed(count, sizeof *waiters);
    cen_lease held;
    prepare(&held);
    pthread_t looker;
    if (looks && pthread_create(&looker, NULL, look, NULL) != 0) bench_fail("no thread that looks");
    bench_together(count, waiters, sizeof *waiters, body, direct);
    atomic_store(&over, true);
    if (looks) pthread_join(looker, NULL);
    for (unsigned kind = 0; kind < KINDS; kind++)
        printf("%s%s_last_ms=%.3f %s_cpu_us=%.3f", kind > 0 ? " " : "", names[kind],
               (double)bench_median(last[kind], rounds) / 1e6, names[kind],
               (double)bench_median(used[kind], rounds) / 1e3);
    printf("\n");
    cen_pool_give(&held);
    cen_pool_free(pool);
    free(waiters);
    return 0;
}
