/* SPDX-License-Identifier: MIT */
/*
 * Options of a pool that another thread changes at the moment of a fork (L14).
 * The child has the set before the change or the set after it, never a mix.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "pool/internal.h"
#include "unit/pool/pools.h"

static cen_status open_number(void *unused, void **out, cen_error *error)
{
    (void)unused, (void)error;
    *out = object_of(1);
    return CEN_OK;
}

static const cen_driver_calls number_calls = {.size = sizeof number_calls, .open = open_number, .closes_nothing = true};
static cen_pool *pool;
static cen_pool_options sets[2]; /* as the pool returns them */

/* Every field that may change and needs no runtime is `number`, in its unit. */
static cen_pool_options options_of(int number)
{
    int64_t ms = number * INT64_C(1000000);
    return CEN_POOL_OPTIONS(.name = "changed", .driver = {&number_calls, NULL}, .on_fork = CEN_FORK_RENEW,
                            .max = (uint32_t)number, .default_deadline = cen_in_ms(number), .max_barging_ns = ms,
                            .max_concurrent_opens = (uint32_t)number, .open_timeout_ns = ms, .breaker_failures = number,
                            .lifetime_jitter = (uint32_t)number, .test_after_idle_ns = ms, .test_interval_ns = ms,
                            .test_timeout_ns = ms, .max_concurrent_tests = (uint32_t)number, .max_waiters = number,
                            .aging_ns = ms, .shed_interval_ns = ms, .breaker_wait_ns = ms);
}

static void prepare(void)
{
    pool = make_from(options_of(3));
    for (int i = 1; i >= 0; i--) {
        cen_pool_options wanted = options_of(i ? 50 : 3);
        expect_equal(cen_pool_options_set(pool, &wanted, NULL), CEN_OK);
        sets[i] = CEN_SIZED(cen_pool_options);
        expect_equal(cen_pool_options_get(pool, &sets[i]), CEN_OK);
    }
}

static void set_one(int which)
{
    expect_equal(cen_pool_options_set(pool, &sets[which], NULL), CEN_OK);
}

static bool has(const cen_pool_options *o, const cen_pool_options *set)
{
    return o->max == set->max && o->default_deadline.ns_ == set->default_deadline.ns_ &&
           o->max_barging_ns == set->max_barging_ns && o->max_concurrent_opens == set->max_concurrent_opens &&
           o->open_timeout_ns == set->open_timeout_ns && o->breaker_failures == set->breaker_failures &&
           o->lifetime_jitter == set->lifetime_jitter && o->test_after_idle_ns == set->test_after_idle_ns &&
           o->test_interval_ns == set->test_interval_ns && o->test_timeout_ns == set->test_timeout_ns &&
           o->max_concurrent_tests == set->max_concurrent_tests && o->max_waiters == set->max_waiters &&
           o->aging_ns == set->aging_ns && o->shed_interval_ns == set->shed_interval_ns &&
           o->breaker_wait_ns == set->breaker_wait_ns;
}

/* In a forked child: which set it has; 2 if it is a mix. */
static int which_set(void)
{
    cen_pool_options o = CEN_SIZED(cen_pool_options);
    if (cen_pool_options_get(pool, &o) != CEN_OK || cen_pool_max(pool) != o.max) return 2;
    return has(&o, &sets[0]) ? 0 : has(&o, &sets[1]) ? 1 : 2;
}

static int set_in_a_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(which_set());
    }
    int status = -1;
    expect(waitpid(child, &status, 0) == child);
    expect(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* ---- A fork at every step ------------------------------------------------------------------- */

/* Not under a sanitizer: its own instructions are stepped through, too, and there it does not end. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define HAS_SANITIZER 1
#endif

#if defined(__x86_64__) && defined(__linux__) && !defined(HAS_SANITIZER)

/* The setter runs one instruction at a time. After each that changed the pool it waits until main has forked. */
enum { RUNS, STOPPED, ENDED };
static _Atomic uint32_t setter;
static unsigned char seen[sizeof(cen_pool)];

static void after_each_instruction(int signal_number, siginfo_t *about, void *context)
{
    (void)signal_number, (void)about, (void)context;
    if (memcmp(seen, pool, sizeof seen) == 0) return;
    memcpy(seen, pool, sizeof seen);
    ceni_store_release(&setter, STOPPED);
    ceni_futex_wake(&setter, 1);
    while (ceni_load_acquire(&setter) == STOPPED) ceni_futex_wait(&setter, STOPPED, CENI_FOREVER);
}

/* The trap flag; the 128 bytes below the stack pointer are the compiler's. */
#define STEP_BEGIN() \
    __asm__ volatile("sub $128, %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n add $128, %%rsp" ::: "memory", "cc")
#define STEP_END() \
    __asm__ volatile("sub $128, %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n add $128, %%rsp" ::: "memory", "cc")

static void *set_step_by_step(void *which)
{
    cen_status status;
    memcpy(seen, pool, sizeof seen);
    STEP_BEGIN();
    status = cen_pool_options_set(pool, &sets[(intptr_t)which], NULL);
    STEP_END();
    expect_equal(status, CEN_OK);
    ceni_store_release(&setter, ENDED);
    ceni_futex_wake(&setter, 1);
    return NULL;
}

/* How many children were forked. They have the old set, and from some step on the new one. */
static int fork_while_setting(int which)
{
    pthread_t thread;
    int forks = 0, before = 1 - which;
    ceni_store_release(&setter, RUNS);
    expect_equal(pthread_create(&thread, NULL, set_step_by_step, (void *)(intptr_t)which), 0);
    for (;;) {
        uint32_t state = ceni_load_acquire(&setter);
        if (state == ENDED) break;
        if (state == RUNS) {
            ceni_futex_wait(&setter, RUNS, CENI_FOREVER);
            continue;
        }
        int found = set_in_a_child();
        forks++;
        expect(found == before || found == which);
        before = found; /* never back */
        ceni_store_release(&setter, RUNS);
        ceni_futex_wake(&setter, 1);
    }
    expect_equal(pthread_join(thread, NULL), 0);
    expect_equal(before, which);
    return forks;
}

/* guarantees: pool.L14-options */
TEST(L14_a_child_forked_at_any_step_of_a_change_has_the_options_before_or_after_it)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO}, former;
    action.sa_sigaction = after_each_instruction;
    prepare();
    expect_equal(sigaction(SIGTRAP, &action, &former), 0);
    expect(fork_while_setting(1) > 10); /* so many steps, at least, change the pool */
    expect(fork_while_setting(0) > 10);
    expect_equal(sigaction(SIGTRAP, &former, NULL), 0);
    free_pool(pool);
}
#endif

/* ---- Forks beside a thread that changes them all the time ------------------------------------ */

static _Atomic uint32_t stop, changes;

static void *set_and_set(void *unused)
{
    (void)unused;
    for (int i = 1; !ceni_load_relaxed(&stop); i++) {
        set_one(i % 2);
        ceni_add_relaxed(&changes, 1);
    }
    return NULL;
}

/* guarantees: pool.L14-options */
TEST(L14_children_forked_beside_changes_have_one_set_of_options)
{
    enum { FORKS = 300 };
    pthread_t thread;
    prepare();
    stop = changes = 0;
    expect_equal(pthread_create(&thread, NULL, set_and_set, NULL), 0);
    for (int i = 0; i < FORKS; i++) {
        uint32_t before = ceni_load_relaxed(&changes);
        while (ceni_load_relaxed(&changes) == before) ceni_thread_yield(); /* each fork meets another change */
        expect(set_in_a_child() < 2);
    }
    ceni_store_relaxed(&stop, 1);
    expect_equal(pthread_join(thread, NULL), 0);
    free_pool(pool);
}
