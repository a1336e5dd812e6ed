/* SPDX-License-Identifier: MIT */
/*
 * Whether the cost of cenote's pool grows with its size, or with the number of
 * those who wait.
 *
 *     pool-growth pairs ROUNDS SIZE...            an uncontended take and give
 *     pool-growth find ROUNDS SIZE...             a give, and a take that must look for the only idle object
 *     pool-growth hand ROUNDS overtake|strict WAITERS...   a give while so many wait
 *     pool-growth leave TIMES WAITERS...          a take that times out in the middle of so many who stay
 *
 * `find`: all objects are held; in turns one of sixteen of them, chosen at
 * random, is given and taken again by the same thread, which uses 16 other
 * pools in between. A thread remembers its last slot of a few pools only, so by
 * then it has none of this one, like a thread that comes for the first time;
 * that this is so is asserted. What the other pools take is measured in the
 * same way and left out.
 *
 * `hand` and `leave` must not measure how the kernel juggles ten thousand
 * threads: they print the CPU time of the one who gives, and of the one who
 * leaves, from call to return. The latter joins, sleeps, wakes and leaves with
 * a written error. Both are printed twice: in all, and "own", less what was
 * spent in system calls. For that the library's calls of syscall() go through
 * this program.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ours.h"

#define PAIRS 200000
#define OTHERS 16
#define VICTIMS 16
#define FINDS 1000
#define LOOKS 100
#define SAMPLES_MAX 100000
#define LEAVERS 100
#define APART_NS 500000
#define STACK (64 << 10)
#define SETTLE_NS 40000 /* who has joined needs as long to fall asleep */

static int64_t samples[SAMPLES_MAX], own_samples[SAMPLES_MAX];

/* ---- Clocks and system calls --------------------------------------------- */

static _Thread_local bool timing_calls;
static _Thread_local int64_t in_calls; /* CPU time that this thread spent in system calls */

static long (*real_syscall)(long number, ...);

long syscall(long number, ...)
{
    long word[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) word[i] = va_arg(arguments, long);
    va_end(arguments);
    if (real_syscall == NULL) real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    int64_t start = timing_calls ? bench_cpu() : 0;
    long result = real_syscall(number, word[0], word[1], word[2], word[3], word[4], word[5]);
    if (timing_calls) in_calls += bench_cpu() - start;
    return result;
}

/* What two looks at the thread's clock cost. */
static double cost_of_looking(void)
{
    int64_t looks[LOOKS];
    for (int i = 0; i < LOOKS; i++) {
        int64_t start = bench_cpu();
        looks[i] = bench_cpu() - start;
    }
    return bench_middle(looks, LOOKS);
}

/* ---- Size ---------------------------------------------------------------- */

static cen_pool *sized(const char *word)
{
    uint32_t size = (uint32_t)bench_number(word, 1, CEN_POOL_MAX);
    free(lend_objects);
    lend_objects = bench_zeroed(size, sizeof *lend_objects);
    for (uint32_t i = 0; i < size; i++) lend_objects[i].index = i;
    return ours_new(size, 0, NULL);
}

static int pairs(unsigned rounds, int count, char **sizes)
{
    cen_pool *pools[16];
    static int64_t took[16][1000];
    for (int i = 0; i < count; i++) pools[i] = sized(sizes[i]);
    for (unsigned round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++) {
            cen_lease lease;
            pool = pools[i];
            int64_t start = bench_now();
            for (int pair = 0; pair < PAIRS; pair++) {
                pool_take(&lease);
                pool_give(&lease);
            }
            took[i][round] = bench_now() - start;
        }
    for (int i = 0; i < count; i++) printf("ns_%s=%.3f ", sizes[i], (double)bench_median(took[i], rounds) / PAIRS);
    putchar('\n');
    return 0;
}

/* The calling thread forgets which slot it had last, of any other pool. */
static void use_others(cen_pool **others)
{
    cen_pool *before = pool;
    for (int i = 0; i < OTHERS; i++) {
        cen_lease passing;
        pool = others[i];
        pool_take(&passing);
        pool_give(&passing);
    }
    pool = before;
}

/* A thread that remembers gets the object it had last, one that does not gets
 * the lowest. All are held by the caller. */
static void assert_forgotten(cen_pool **others, cen_lease *leases)
{
    pool_give(&leases[0]);
    pool_give(&leases[1]);
    use_others(others);
    uint64_t got = pool_take(&leases[0])->index;
    uint64_t rest = pool_take(&leases[1])->index;
    if (got > rest) bench_fail("the thread still knows its last slot after the use of %d other pools", OTHERS);
}

/* Time of FINDS turns: one of the victims is given and taken again, unless the
 * pool is to be left alone. */
static int64_t find_some(cen_pool **others, cen_lease **victims)
{
    int64_t start = bench_now();
    for (int i = 0; i < FINDS; i++) {
        cen_lease *victim = victims != NULL ? victims[i % VICTIMS] : NULL;
        if (victim != NULL) pool_give(victim);
        use_others(others);
        if (victim != NULL) pool_take(victim);
    }
    return bench_now() - start;
}

static double find_in(unsigned rounds, uint64_t size, cen_pool **others)
{
    cen_lease *leases = bench_zeroed(size, sizeof *leases), *victims[VICTIMS];
    uint64_t noise = 1;
    for (uint64_t i = 0; i < size; i++) pool_take(&leases[i]);
    assert_forgotten(others, leases);
    for (int i = 0; i < VICTIMS; i++) {
        noise = lend_spin(3, noise);
        victims[i] = &leases[(noise >> 32) % size];
    }
    for (unsigned i = 0; i < rounds; i++) {
        int64_t with = find_some(others, victims);
        samples[i] = with - find_some(others, NULL);
    }
    for (uint64_t i = 0; i < size; i++) pool_give(&leases[i]);
    free(leases);
    return (double)bench_median(samples, rounds) / FINDS;
}

static int find(unsigned rounds, int count, char **sizes)
{
    cen_pool *others[OTHERS];
    for (int i = 0; i < OTHERS; i++) others[i] = sized("1");
    for (int i = 0; i < count; i++) {
        pool = sized(sizes[i]);
        printf("ns_%s=%.1f ", sizes[i], find_in(rounds, bench_number(sizes[i], 2, CEN_POOL_MAX), others));
        cen_pool_free(pool);
    }
    putchar('\n');
    return 0;
}

/* ---- Those who wait ------------------------------------------------------ */

static struct {
    unsigned count;
    pthread_t *threads;
    bool over;     /* whoever is served now gives and ends */
    bool returned; /* the lease is in `lease`, for main to take over */
    cen_lease lease;
} standers;

static void *stand(void *unused)
{
    (void)unused;
    for (;;) {
        cen_lease lease;
        if (cen_pool_take(pool, CEN_NEVER, &lease, NULL) != CEN_OK) bench_fail("a take without a deadline failed");
        if (__atomic_load_n(&standers.over, __ATOMIC_ACQUIRE)) {
            pool_give(&lease);
            return NULL;
        }
        standers.lease = lease;
        __atomic_store_n(&standers.returned, true, __ATOMIC_RELEASE);
    }
}

static void start_thread(pthread_t *thread, void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    if (pthread_create(thread, &attributes, body, argument) != 0) bench_fail("cannot start so many threads");
    pthread_attr_destroy(&attributes);
}

static void await_standing(unsigned count)
{
    cen_pool_stats stats = CEN_SIZED(cen_pool_stats);
    int64_t limit = bench_now() + INT64_C(60000000000);
    do {
        if (cen_pool_stats_get(pool, &stats) != CEN_OK || bench_now() > limit)
            bench_fail("%u do not stand in line within a minute", count);
        if (stats.waiting != count) bench_sleep(10000);
    } while (stats.waiting != count);
    for (int64_t until = bench_now() + SETTLE_NS; bench_now() < until;)
        ;
}

/* Adds `count` threads to the line and waits until all stand there. */
static void stand_in_line(unsigned count, unsigned standing)
{
    standers.threads = realloc(standers.threads, (standers.count + count) * sizeof *standers.threads);
    if (standers.threads == NULL) bench_fail("no memory");
    for (unsigned i = 0; i < count; i++) start_thread(&standers.threads[standers.count++], stand, NULL);
    await_standing(standing + count);
}

static void send_home(cen_lease *lease)
{
    __atomic_store_n(&standers.over, true, __ATOMIC_RELEASE);
    pool_give(lease);
    for (unsigned i = 0; i < standers.count; i++) pthread_join(standers.threads[i], NULL);
    standers.count = 0;
    standers.over = false;
}

/* One give while `waiters` stand in line; whoever got the object passes it to
 * main and goes to the end of the line. */
static void hand_once(cen_lease *lease, unsigned waiters, unsigned round)
{
    standers.returned = false;
    bench_empty_caches(); /* a line of ten would stay in them from round to round, and one of ten thousand would not */
    cost_of_looking();    /* the clock is not to be cold */
    timing_calls = true;
    in_calls = 0;
    int64_t start = bench_cpu();
    pool_give(lease);
    samples[round] = bench_cpu() - start;
    timing_calls = false;
    own_samples[round] = samples[round] - in_calls;
    while (!__atomic_load_n(&standers.returned, __ATOMIC_ACQUIRE)) sched_yield();
    *lease = standers.lease;
    await_standing(waiters);
}

/* The clock was looked at around the whole and around the one system call that there is: a wake, or a sleep. */
static void print_middles(unsigned waiters, unsigned count)
{
    double all = bench_middle(samples, count), own = bench_middle(own_samples, count), looks = 2 * cost_of_looking();
    printf("all_%u=%.0f own_%u=%.0f ", waiters, all - looks, waiters, own - looks);
}

static int hand(unsigned rounds, int64_t max_barging_ns, int count, char **numbers)
{
    for (int i = 0; i < count; i++) {
        unsigned waiters = (unsigned)bench_number(numbers[i], 1, 30000);
        cen_lease lease;
        lend_objects = bench_zeroed(1, sizeof *lend_objects);
        pool = ours_new(1, max_barging_ns, NULL);
        pool_take(&lease);
        stand_in_line(waiters, 0);
        for (unsigned round = 0; round < rounds; round++) hand_once(&lease, waiters, round);
        send_home(&lease);
        print_middles(waiters, rounds);
        cen_pool_free(pool);
    }
    putchar('\n');
    return 0;
}

struct leaver {
    pthread_t thread;
    cen_deadline deadline;
    int64_t cpu_ns, own_ns;
};

static void *leave_on_time(void *argument)
{
    struct leaver *me = argument;
    cen_lease lease;
    cen_error error;
    cen_pool_take(pool, cen_in_us(1), &lease, &error); /* the thread's first touch of its stack is not the pool's */
    timing_calls = true;
    int64_t start = bench_cpu();
    cen_status status = cen_pool_take(pool, me->deadline, &lease, &error);
    me->cpu_ns = bench_cpu() - start;
    me->own_ns = me->cpu_ns - in_calls;
    if (status != CEN_TIMEOUT) bench_fail("a take of an object that is held answers %s", cen_status_name(status));
    return NULL;
}

/* LEAVERS stand in the middle of those who stay; they leave in random order and
 * far enough apart not to meet. */
static unsigned leave_from_the_middle(unsigned waiters, unsigned done)
{
    static struct leaver leaver[LEAVERS];
    cen_lease lease;
    uint64_t noise = done + 1;
    pool_take(&lease);
    stand_in_line(waiters / 2, 0);
    int64_t first = bench_now() + INT64_C(100000000) + INT64_C(200000) * waiters; /* when all stand there */
    for (unsigned i = 0; i < LEAVERS; i++) {
        noise = lend_spin(3, noise);
        leaver[i].deadline = cen_at(first + (int64_t)((noise >> 32) * LEAVERS * APART_NS >> 32));
        start_thread(&leaver[i].thread, leave_on_time, &leaver[i]);
    }
    await_standing(waiters / 2 + LEAVERS);
    stand_in_line(waiters - waiters / 2, waiters / 2 + LEAVERS);
    if (bench_now() > first) bench_fail("the line was too long in the making");
    for (unsigned i = 0; i < LEAVERS; i++) {
        pthread_join(leaver[i].thread, NULL);
        samples[done] = leaver[i].cpu_ns;
        own_samples[done++] = leaver[i].own_ns;
    }
    send_home(&lease);
    return done;
}

static int leave(unsigned times, int count, char **numbers)
{
    for (int i = 0; i < count; i++) {
        unsigned waiters = (unsigned)bench_number(numbers[i], 2, 30000), done = 0;
        lend_objects = bench_zeroed(1, sizeof *lend_objects);
        pool = ours_new(1, 0, NULL);
        while (done < times) done = leave_from_the_middle(waiters, done);
        print_middles(waiters, done);
        cen_pool_free(pool);
    }
    putchar('\n');
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        bench_fail("usage: %s pairs|find|leave TIMES NUMBER... | hand TIMES overtake|strict NUMBER...", argv[0]);
    unsigned times = (unsigned)bench_number(argv[2], 1, SAMPLES_MAX - LEAVERS);
    if (strcmp(argv[1], "pairs") == 0 && times <= 1000 && argc - 3 <= 16) return pairs(times, argc - 3, argv + 3);
    if (strcmp(argv[1], "find") == 0) return find(times, argc - 3, argv + 3);
    if (strcmp(argv[1], "hand") == 0)
        return hand(times, strcmp(argv[3], "strict") == 0 ? CEN_NONE : 0, argc - 4, argv + 4);
    if (strcmp(argv[1], "leave") == 0) return leave(times, argc - 3, argv + 3);
    bench_fail("%s is none of: pairs, find, hand, leave", argv[1]);
}
