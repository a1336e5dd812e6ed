/* SPDX-License-Identifier: MIT */
/* See bench.h. A contestant stands outside the library and must not borrow from it. */
#include "bench.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CACHES (64 << 20)

int64_t bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t bench_cpu(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

void bench_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    fflush(stderr);
    _Exit(1); /* other workers may be in the middle of anything */
}

uint64_t bench_number(const char *text, uint64_t least, uint64_t most)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end != 0 || value < least || value > most)
        bench_fail("%s is not a number from %llu to %llu", text, (unsigned long long)least, (unsigned long long)most);
    return value;
}

void *bench_zeroed(size_t count, size_t size)
{
    size_t bytes = (count * size + 127) / 128 * 128;
    void *memory = aligned_alloc(128, bytes);
    if (memory == NULL) bench_fail("no memory");
    return memset(memory, 0, bytes);
}

static pthread_barrier_t line;

void bench_line_up(void)
{
    pthread_barrier_wait(&line);
}

struct start {
    void (*body)(void *worker);
    void *worker;
};

static void *thread_main(void *argument)
{
    struct start *start = argument;
    start->body(start->worker);
    return NULL;
}

void bench_together(unsigned count, void *workers, size_t size, void (*body)(void *worker), void (*meanwhile)(void))
{
    pthread_t *threads = bench_zeroed(count, sizeof *threads);
    struct start *starts = bench_zeroed(count, sizeof *starts);
    if (pthread_barrier_init(&line, NULL, count + (meanwhile != NULL)) != 0) bench_fail("no memory");
    for (unsigned i = 0; i < count; i++) {
        starts[i] = (struct start){body, (char *)workers + i * size};
        if (pthread_create(&threads[i], NULL, thread_main, &starts[i]) != 0) bench_fail("cannot start thread %u", i);
    }
    if (meanwhile != NULL) {
        bench_line_up();
        meanwhile();
    }
    for (unsigned i = 0; i < count; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&line);
    free(starts);
    free(threads);
}

void bench_sleep(int64_t ns)
{
    struct timespec pause = {ns / 1000000000, ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, &pause) == EINTR)
        ;
}

void bench_pin(unsigned number)
{
    cpu_set_t allowed, mine;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && number-- == 0) CPU_SET(cpu, &mine);
    if (sched_setaffinity(0, sizeof mine, &mine) != 0) bench_fail("wake-up rounds need two processors");
}

void bench_empty_caches(void)
{
    static char *memory;
    if (memory == NULL) {
        memory = bench_zeroed(CACHES, 1);
        memset(memory, 1, CACHES); /* pages of their own, not the one of zeroes */
    }
    for (size_t at = 0; at < CACHES; at += 64) (void)*(volatile char *)&memory[at];
}

void bench_shuffle(unsigned *order, unsigned count, uint64_t *noise)
{
    for (unsigned i = 0; i < count; i++) order[i] = i;
    for (unsigned i = count - 1; i > 0; i--) {
        *noise = *noise * 6364136223846793005u + 1442695040888963407u;
        unsigned j = (unsigned)(*noise >> 33) % (i + 1), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static int ascending(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

int64_t bench_median(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, ascending);
    return values[count / 2];
}

double bench_middle(int64_t *values, size_t count)
{
    size_t cut = count / 10;
    double sum = 0;
    qsort(values, count, sizeof *values, ascending);
    for (size_t i = cut; i < count - cut; i++) sum += (double)values[i];
    return sum / (double)(count - 2 * cut);
}
