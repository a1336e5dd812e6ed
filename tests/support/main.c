/* SPDX-License-Identifier: MIT */
/* Runs the registered tests, each in a child process of its own. */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/plant.h"
#include "support/forks.h"
#include "support/run.h"
#include "support/test.h"

/* Names it, so that the linker takes it out of its archive. */
void (*const main_needs)(void) = forks_register;

static test_entry *first, **last = &first;
static const char *current = "";
static FILE *results; /* CENOTE_TEST_LOG, or NULL */
static int passed, failed;
static bool around; /* in test_program_begin or test_program_end */

void test_register(test_entry *entry)
{
    *last = entry;
    last = &entry->next;
}

uint64_t test_seed(void)
{
    const char *text = getenv("CENOTE_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = text ? strtoull(text, NULL, 0) : (uint64_t)now.tv_sec * 1000003u ^ (uint64_t)now.tv_nsec;
    printf("     %s: CENOTE_SEED=%" PRIu64 "\n", current, seed);
    fflush(stdout);
    return seed;
}

uint64_t test_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static void note(bool ok, const char *name)
{
    printf("%s %s\n", ok ? "ok  " : "FAIL", name);
    if (results) fprintf(results, "%s %s\n", ok ? "pass" : "fail", name);
    if (results) fflush(results); /* or the next child would write it again */
    if (ok) passed++;
    else failed++;
}

void test_fail(const char *file, int line, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    run_failed(file, line, text);
    printf("     %s:%d: %s\n", file, line, text);
    if (around) {
        note(false, current);
        printf("%d passed, %d failed\n", passed, failed);
    }
    fflush(stdout);
    _exit(1);
}

/* Runs what is around the tests here, where they find what it makes. */
static void run_around(void (*body)(void), const char *name)
{
    if (!body) return;
    around = true;
    current = name;
    run_limit(600);
    body();
    run_limit(0);
    around = false;
}

static int run_in_child(const test_entry *entry)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        current = entry->name;
        run_limit((unsigned)(entry->seconds ? entry->seconds : 120));
        if (entry->plain) entry->run();
        else run_body(entry->run);
        exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        printf("     %s\n", number == SIGALRM || number == SIGPROF ? "did not end in time" : strsignal(number));
    }
    return status;
}

static bool wanted(const char *name, int count, char **patterns)
{
    if (count == 0) return true;
    for (int i = 0; i < count; i++)
        if (strstr(name, patterns[i])) return true;
    return false;
}

static void choose_plant(void)
{
    const char *plant = getenv("CENOTE_PLANT");
    if (plant && !ceni_plant_choose(plant)) {
        fprintf(stderr, "there is no planted bug named %s\n", plant);
        exit(2);
    }
}

int main(int count, char **arguments)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    choose_plant();
    if (count > 1 && strcmp(arguments[1], "--list") == 0) {
        for (test_entry *entry = first; entry; entry = entry->next) puts(entry->name);
        return 0;
    }
    const char *path = getenv("CENOTE_TEST_LOG");
    results = path ? fopen(path, "a") : NULL;
    run_around(test_program_begin, "test_program_begin");
    for (test_entry *entry = first; entry; entry = entry->next)
        if (wanted(entry->name, count - 1, arguments + 1)) note(run_in_child(entry) == 0, entry->name);
    run_around(test_program_end, "test_program_end");
    if (results) fclose(results);
    printf("%d passed, %d failed\n", passed, failed);
    if (passed + failed == 0) fprintf(stderr, "no test has such a name\n");
    return failed || passed == 0;
}
