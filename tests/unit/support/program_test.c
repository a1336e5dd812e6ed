/* SPDX-License-Identifier: MIT */
/* What is around the tests of a program: once, in its first process, and failing for all of them. */
#include "unit/support/clients.h"

static pid_t program;
static int begun;

void test_program_begin(void)
{
    const char *how = getenv("PROGRAM_TEST");
    program = getpid();
    begun++;
    if (how) puts("it begins");
    expect(!how || strcmp(how, "fail in begin") != 0);
}

void test_program_end(void)
{
    const char *how = getenv("PROGRAM_TEST");
    if (how) puts("it ends");
    expect(getpid() == program && begun == 1);
    expect(!how || strcmp(how, "fail in end") != 0);
}

TEST(what_the_program_began_with_is_there_in_each_test)
{
    expect_equal(begun, 1);
    expect_equal(program, getppid());
    begun++; /* of this child, and of no other test */
}

TEST(what_a_test_changes_does_not_reach_the_next)
{
    expect_equal(begun, 1);
}

/* Runs this program once more, with its one test of that name and a log. */
static outcome run_again(const char *how, const char *argument, char *results, size_t room)
{
    char path[] = "/tmp/cenote-program-XXXXXX";
    int log = mkstemp(path);
    expect(log >= 0);
    setenv("PROGRAM_TEST", how, 1);
    setenv("CENOTE_TEST_LOG", path, 1);
    outcome heard = COMMAND("/proc/self/exe", argument);
    ssize_t size = read(log, results, room - 1);
    results[size > 0 ? size : 0] = 0;
    close(log);
    unlink(path);
    return heard;
}

TEST(an_expectation_that_fails_at_the_beginning_fails_the_program)
{
    char results[512];
    outcome heard = run_again("fail in begin", "does_not_reach", results, sizeof results);
    expect(WIFEXITED(heard.status) && WEXITSTATUS(heard.status) == 1);
    expect_has(heard.text, "FAIL test_program_begin\n0 passed, 1 failed\n");
    expect_text(results, "fail test_program_begin\n");
}

TEST(an_expectation_that_fails_at_the_end_fails_the_program)
{
    char results[512];
    outcome heard = run_again("fail in end", "does_not_reach", results, sizeof results);
    expect(WIFEXITED(heard.status) && WEXITSTATUS(heard.status) == 1);
    expect_has(heard.text, "FAIL test_program_end\n1 passed, 1 failed\n");
    expect_text(results, "pass what_a_test_changes_does_not_reach_the_next\nfail test_program_end\n");
}

TEST(the_beginning_and_the_end_run_once_around_the_tests)
{
    char results[512];
    outcome heard = run_again("well", "does_not_reach", results, sizeof results);
    expect_equal(heard.status, 0);
    expect_text(heard.text,
                "it begins\nok   what_a_test_changes_does_not_reach_the_next\nit ends\n1 passed, 0 failed\n");
}

TEST(a_list_of_the_tests_begins_nothing)
{
    char results[512];
    outcome heard = run_again("well", "--list", results, sizeof results);
    expect_equal(heard.status, 0);
    expect(!strstr(heard.text, "it begins") && !strstr(heard.text, "it ends"));
}
