/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "base/fault.h"
#include "port/port.h"
#include "support/test.h"
#include "unit/port/tasks.h"

static void run_with(const ceni_thread_options *options, void (*run)(void *), void *argument)
{
    int code = 0;
    ceni_thread thread;
    cen_status status = ceni_thread_start_with(&thread, options, run, argument, &code);
    if (status != CEN_OK) test_fail(__FILE__, __LINE__, "no thread: %s", strerror(code));
    ceni_thread_join(&thread);
}

static void set_flag(void *argument)
{
    *(bool *)argument = true;
}

static void expect_refused(const ceni_thread_options *options, int expected_code)
{
    bool ran = false;
    int code = 0;
    unsigned at_rest = threads_at_rest();
    ceni_thread thread = {.handle = 12345};
    expect_equal(ceni_thread_start_with(&thread, options, set_flag, &ran, &code), CEN_SYSTEM);
    expect_equal(code, expected_code);
    expect_equal(thread.handle, 12345);
    await_threads(at_rest);
    expect(!ran);
}

/* ---- Processors -------------------------------------------------------------------- */

static void keep_allowed(void *argument)
{
    expect(sched_getaffinity(0, sizeof(cpu_set_t), argument) == 0);
}

/* The nth processor that this process may use, from 0. */
static uint32_t allowed_cpu(int nth)
{
    cpu_set_t allowed;
    keep_allowed(&allowed);
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && nth-- == 0) return cpu;
    test_fail(__FILE__, __LINE__, "the process may not use so many processors");
}

static void expect_placed(const uint32_t *cpus, size_t count)
{
    cpu_set_t wanted, inside, before, after;
    CPU_ZERO(&wanted);
    for (size_t i = 0; i < count; i++) CPU_SET(cpus[i], &wanted);
    keep_allowed(&before);
    run_with(&(ceni_thread_options){.name = "placed", .cpus = cpus, .cpu_count = count}, keep_allowed, &inside);
    expect(CPU_EQUAL(&inside, &wanted));
    keep_allowed(&after);
    expect(CPU_EQUAL(&after, &before));
}

TEST(a_thread_runs_on_the_processors_it_was_started_for)
{
    uint32_t all[CPU_SETSIZE];
    unsigned count = ceni_cpu_count();
    for (unsigned i = 0; i < count; i++) all[i] = allowed_cpu((int)i);
    for (unsigned i = 0; i < count; i++) expect_placed(&all[i], 1);
    expect_placed(all, count);
}

TEST(a_processor_that_is_named_twice_counts_once)
{
    uint32_t cpu = allowed_cpu(0);
    expect_placed((uint32_t[]){cpu, cpu, cpu}, 3);
}

TEST(a_thread_without_processors_of_its_own_has_its_starters)
{
    cpu_set_t before, inside;
    keep_allowed(&before);
    run_with(&(ceni_thread_options){.name = "anywhere"}, keep_allowed, &inside);
    expect(CPU_EQUAL(&inside, &before));
}

static void expect_not_taken(uint32_t cpu)
{
    expect_refused(&(ceni_thread_options){.cpus = &cpu, .cpu_count = 1}, EINVAL);
    expect_refused(&(ceni_thread_options){.cpus = (uint32_t[]){allowed_cpu(0), cpu}, .cpu_count = 2}, EINVAL);
}

/* Together with one that is there as well: the kernel alone would forget the other. */
TEST(a_processor_that_does_not_exist_is_refused_and_nothing_runs)
{
    expect_not_taken(8191);
    expect_not_taken(8192);
    expect_not_taken(UINT32_MAX);
    expect_not_taken((uint32_t)sysconf(_SC_NPROCESSORS_CONF));
}

static void start_one_for(void *argument)
{
    expect_placed(argument, 1);
}

/* What is allowed is the process' matter, not that of the thread that starts one. */
TEST(a_thread_that_is_bound_to_one_processor_starts_threads_for_another)
{
    if (ceni_cpu_count() < 2) {
        printf("skipped: this process has one processor\n");
        return;
    }
    uint32_t first = allowed_cpu(0), second = allowed_cpu(1);
    run_with(&(ceni_thread_options){.cpus = &first, .cpu_count = 1}, start_one_for, &second);
}

TEST(a_start_that_fails_after_the_thread_was_made_leaves_nothing)
{
    uint32_t cpu = allowed_cpu(0);
    bool ran = false;
    int code = 0;
    ceni_thread thread = {.handle = 12345};
    ceni_thread_options options = {.name = "never", .cpus = &cpu, .cpu_count = 1};
    unsigned at_rest = threads_at_rest();
    for (unsigned nth = 1; nth <= 2; nth++) {
        ceni_fault_arm(CENI_FAULT_THREAD, nth);
        expect_equal(ceni_thread_start_with(&thread, &options, set_flag, &ran, &code), CEN_SYSTEM);
        expect(ceni_fault_disarm());
        expect_equal(code, EAGAIN);
    }
    await_threads(at_rest);
    expect_equal(thread.handle, 12345);
    expect(!ran);
}

/* ---- Stacks ------------------------------------------------------------------------ */

static void keep_stack_size(void *argument)
{
    pthread_attr_t attributes;
    expect(pthread_getattr_np(pthread_self(), &attributes) == 0);
    expect(pthread_attr_getstacksize(&attributes, argument) == 0);
    pthread_attr_destroy(&attributes);
}

static size_t stack_size_of(size_t wanted)
{
    size_t inside = 0;
    run_with(&(ceni_thread_options){.stack_size = wanted}, keep_stack_size, &inside);
    return inside;
}

/* A libc may add what it needs there for itself, which is less than a page. */
static void expect_stack(size_t seen, size_t expected)
{
    if (seen < expected || seen >= expected + (size_t)sysconf(_SC_PAGESIZE))
        test_fail(__FILE__, __LINE__, "the stack has %zu bytes, expected %zu", seen, expected);
}

TEST(a_thread_has_the_stack_it_was_started_with)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), wanted = 1024 * 1024;
    expect_stack(stack_size_of(wanted), wanted);
    expect_stack(stack_size_of(wanted + 1), wanted + page);
    expect_stack(stack_size_of(wanted + page - 1), wanted + page);
}

static void *keep_defaults_size(void *argument)
{
    keep_stack_size(argument);
    return NULL;
}

TEST(a_thread_that_asks_for_no_stack_size_has_the_systems)
{
    pthread_t plain;
    size_t systems = 0;
    expect(pthread_create(&plain, NULL, keep_defaults_size, &systems) == 0);
    pthread_join(plain, NULL);
    expect_equal(stack_size_of(0), systems);
    expect_stack(systems, ceni_thread_stack_size());
}

TEST(a_stack_too_small_for_the_system_is_made_as_small_as_it_can_be)
{
    size_t least = (size_t)PTHREAD_STACK_MIN, page = (size_t)sysconf(_SC_PAGESIZE);
    expect(stack_size_of(1) >= least);
    expect(stack_size_of(1) < 1024 * 1024);
    expect(stack_size_of(least + 1) >= least / page * page + page);
}

TEST(a_stack_larger_than_all_memory_is_refused)
{
    expect_refused(&(ceni_thread_options){.stack_size = SIZE_MAX}, EINVAL);
    expect_refused(&(ceni_thread_options){.stack_size = SIZE_MAX / 4}, EAGAIN);
}

typedef struct inside {
    cpu_set_t allowed;
    size_t stack_size;
    char name[16];
} inside;

static void keep_all(void *argument)
{
    inside *seen = argument;
    keep_allowed(&seen->allowed);
    keep_stack_size(&seen->stack_size);
    expect(pthread_getname_np(pthread_self(), seen->name, sizeof seen->name) == 0);
}

TEST(a_thread_can_have_a_name_a_stack_and_a_processor_of_its_own)
{
    inside seen = {.stack_size = 0};
    uint32_t cpu = allowed_cpu(0);
    ceni_thread_options options = {.name = "all of it", .stack_size = 2 * 1024 * 1024, .cpus = &cpu, .cpu_count = 1};
    run_with(&options, keep_all, &seen);
    expect(CPU_ISSET(cpu, &seen.allowed) && CPU_COUNT(&seen.allowed) == 1);
    expect_stack(seen.stack_size, 2 * 1024 * 1024);
    expect_text(seen.name, "all of it");
}
