/* SPDX-License-Identifier: MIT */
/*
 * The test harness. A file of tests is a list of
 *
 *     TEST(give_twice_reports_stale_and_changes_nothing)
 *     {
 *         expect(1 + 1 == 2);
 *         expect_equal(cen_queue_length(q), 3);
 *     }
 *
 * Each test runs in a child process of its own, so that a crash, a hang or a
 * sanitizer's report fails that test and no other. A program linked with the
 * world library runs each test as the first thread of a controlled world:
 * threads are fibers and time is virtual (tests/support/world.h).
 *
 * What all tests of a program share, such as a server, is made once:
 *
 *     void test_program_begin(void) { ... }    before the first test
 *     void test_program_end(void) { ... }      after the last
 *
 * They run in the program's first process, which the tests are forks of, with
 * expectations of their own: when one fails, the program has failed.
 *
 *     prog                 runs all        prog --list   names them
 *     prog NAME...         runs those whose name contains NAME
 *     CENOTE_PLANT=bug     switches a planted bug on
 *     CENOTE_TEST_LOG=file appends "pass NAME" or "fail NAME"
 *     CENOTE_SEED=n        the seed tests draw from; printed by those that do
 */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct test_entry {
    const char *name;
    void (*run)(void);
    struct test_entry *next;
    int plain;   /* run outside the world even in a world program */
    int seconds; /* after which a hang is a failure; 0 means 120 */
} test_entry;

void test_register(test_entry *entry);

#define TEST_ENTRY_(test_name, is_plain) \
    static void test_name(void); \
    static test_entry test_name##_entry = {#test_name, test_name, NULL, is_plain, 0}; \
    __attribute__((constructor)) static void test_name##_register(void) \
    { \
        test_register(&test_name##_entry); \
    } \
    static void test_name(void)

#define TEST(test_name) TEST_ENTRY_(test_name, 0)

/* A test that makes worlds itself: not run inside one. */
#define PLAIN_TEST(test_name) TEST_ENTRY_(test_name, 1)

/* A program defines them or does without; not called for --list. */
__attribute__((weak)) void test_program_begin(void);
__attribute__((weak)) void test_program_end(void);

/* Reports the failure and ends this test's process; in a world, prints the
 * story of the schedule first. */
__attribute__((noreturn, format(printf, 3, 4))) void test_fail(const char *file, int line, const char *format, ...);

#define expect(condition) \
    do { \
        if (!(condition)) test_fail(__FILE__, __LINE__, "expected %s", #condition); \
    } while (0)

#define expect_equal(actual, expected) \
    do { \
        long long actual_ = (long long)(actual), expected_ = (long long)(expected); \
        if (actual_ != expected_) \
            test_fail(__FILE__, __LINE__, "%s is %lld, expected %s = %lld", #actual, actual_, #expected, expected_); \
    } while (0)

#define expect_text(actual, expected) \
    do { \
        const char *actual_ = (actual), *expected_ = (expected); \
        if (strcmp(actual_, expected_) != 0) \
            test_fail(__FILE__, __LINE__, "%s is \"%s\", expected \"%s\"", #actual, actual_, expected_); \
    } while (0)

/* CENOTE_SEED if set, else a number from the clock; prints it once. */
uint64_t test_seed(void);

/* A small generator for tests: the next number of *state. */
uint64_t test_random(uint64_t *state);

#endif
