/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "port/port.h"
#include "support/test.h"

enum { THREADS = 6 };

/* A child's child inherits the pipe, so that each generation reports its
 * epoch to the test. */
typedef struct generations {
    int fds[2];
} generations;

static void report(const generations *line, uint64_t epoch)
{
    if (write(line->fds[1], &epoch, sizeof epoch) != sizeof epoch) _exit(1);
}

static uint64_t reported(const generations *line)
{
    uint64_t epoch = 0;
    expect(read(line->fds[0], &epoch, sizeof epoch) == sizeof epoch);
    return epoch;
}

/* Each turn of the loop is one generation: the parent waits, the child goes on. */
static void descend(const generations *line, int depth)
{
    uint64_t epoch;
    pid_t child = 0;
    int status = 0;
    do {
        epoch = ceni_fork_epoch();
        report(line, epoch);
        child = --depth ? fork() : -1;
    } while (child == 0);
    if (depth && (waitpid(child, &status, 0) != child || status)) _exit(1);
    _exit(ceni_fork_epoch() == epoch ? 0 : 1);
}

static void expect_lineage_of_different_epochs(void)
{
    enum { DEPTH = 4 };
    generations line;
    uint64_t epochs[DEPTH + 1];
    int status;
    expect(pipe(line.fds) == 0);
    epochs[0] = ceni_fork_epoch();
    expect(epochs[0] != 0);
    pid_t child = fork();
    if (child == 0) descend(&line, DEPTH);
    for (int i = 1; i <= DEPTH; i++) epochs[i] = reported(&line);
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
    for (int i = 0; i <= DEPTH; i++)
        for (int k = 0; k < i; k++) expect(epochs[i] != 0 && epochs[i] != epochs[k]);
    expect_equal(ceni_fork_epoch(), epochs[0]);
}

TEST(the_epoch_is_another_in_the_child_and_in_the_grandchild_and_the_parents_stays)
{
    expect_lineage_of_different_epochs();
}

TEST(the_epoch_works_where_the_page_cannot_be_marked)
{
    ceni_fault_arm(CENI_FAULT_MAP, 1);
    ceni_fork_epoch();
    expect(ceni_fault_disarm());
    expect_lineage_of_different_epochs();
}

TEST(a_child_made_without_the_libc_has_another_epoch)
{
    uint64_t own = ceni_fork_epoch();
    int status;
    long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) _exit(ceni_fork_epoch() == own ? 1 : 0);
    expect(waitpid((pid_t)child, &status, 0) == (pid_t)child);
    expect_equal(status, 0);
}

TEST(a_fork_before_the_first_question_is_no_trouble)
{
    int status;
    pid_t child = fork();
    if (child == 0) _exit(ceni_fork_epoch() != 0 ? 0 : 1);
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
    expect(ceni_fork_epoch() != 0);
}

static void keep_epoch(void *argument)
{
    *(uint64_t *)argument = ceni_fork_epoch();
}

static int threads_agree(void)
{
    uint64_t epochs[THREADS];
    ceni_thread threads[THREADS];
    int code;
    for (int i = 0; i < THREADS; i++)
        if (ceni_thread_start(&threads[i], NULL, keep_epoch, &epochs[i], &code) != CEN_OK) return 1;
    for (int i = 0; i < THREADS; i++) ceni_thread_join(&threads[i]);
    for (int i = 0; i < THREADS; i++)
        if (epochs[i] != ceni_fork_epoch()) return 1;
    return 0;
}

TEST(all_threads_that_ask_first_see_the_same_epoch)
{
    int status;
    expect_equal(threads_agree(), 0);
    pid_t child = fork();
    if (child == 0) _exit(threads_agree());
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
}

/* ---- Words that a child finds at 0 ------------------------------------------------------ */

static int look_at_word_in_the_child(_Atomic uint64_t *parents)
{
    if (ceni_load_relaxed(parents) != 0) return 1; /* one thread; carries nothing */
    uint64_t count = 0;
    for (_Atomic uint64_t *own; (own = ceni_fork_take_word()) != NULL; count++) {
        if (own == parents) return 2;
        ceni_store_relaxed(own, 5); /* the same; carries nothing */
    }
    return count > 0 && ceni_load_relaxed(parents) == 0 ? 0 : 3; /* the same; carries nothing */
}

static void expect_a_word_to_be_wiped(void)
{
    int status;
    _Atomic uint64_t *word = ceni_fork_take_word();
    expect(word && ceni_load_relaxed(word) == 0); /* one thread; carries nothing */
    ceni_store_relaxed(word, 7);                  /* the same; carries nothing */
    pid_t child = fork();
    if (child == 0) _exit(look_at_word_in_the_child(word));
    expect(waitpid(child, &status, 0) == child);
    expect_equal(status, 0);
    expect_equal(ceni_load_relaxed(word), 7); /* the same; carries nothing */
    ceni_fork_give_word(word);
}

TEST(a_word_is_wiped_in_the_child_which_never_has_it_and_stays_in_the_parent)
{
    expect_a_word_to_be_wiped();
}

TEST(a_word_is_wiped_where_the_page_cannot_be_marked)
{
    ceni_fault_arm(CENI_FAULT_MAP, 1);
    ceni_fork_epoch();
    expect(ceni_fault_disarm());
    expect_a_word_to_be_wiped();
}

TEST(words_are_different_come_to_an_end_and_are_zero_when_they_are_taken_again)
{
    enum { MOST = 10000 };
    static _Atomic uint64_t *words[MOST];
    uint64_t epoch = ceni_fork_epoch();
    for (int round = 0; round < 2; round++) {
        size_t count = 0;
        while (count < MOST && (words[count] = ceni_fork_take_word()) != NULL) count++;
        expect(count > 100 && count < MOST);
        for (size_t i = 0; i < count; i++) {
            expect_equal(ceni_load_relaxed(words[i]), 0); /* one thread; carries nothing */
            ceni_store_relaxed(words[i], i + 1);          /* the same; carries nothing */
        }
        /* the same; carries nothing */
        for (size_t i = 0; i < count; i++) expect_equal(ceni_load_relaxed(words[i]), i + 1);
        while (count > 0) ceni_fork_give_word(words[--count]);
    }
    expect_equal(ceni_fork_epoch(), epoch);
}
