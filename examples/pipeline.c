/* SPDX-License-Identifier: MIT */
/*
 * A pipeline of three stages over queues:
 *
 *     readers ──▶ [ lines: bounded ] ──▶ counters ──▶ [ results: unbounded ] ──▶ main
 *
 * Two threads produce lines, three count words, and main adds up the results, while a tick every 20 ms prints the
 * progress. The bounded queue holds the readers back when the counters are slow. Closing it ends the counters. The last
 * counter closes the second queue, which ends main.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cenote/cenote.h>

enum { READERS = 2, COUNTERS = 3, LINES = 100000 };

struct line {
    char text[56];
};

struct result {
    int counter, words;
};

static cen_queue *lines, *results;
static atomic_int readers_left = READERS, counters_left = COUNTERS;

static void die(const char *what, cen_status status)
{
    fprintf(stderr, "%s: %s\n", what, cen_status_text(status));
    exit(1);
}

static const char *text_of(int reader, int line)
{
    static const char *const texts[] = {"a cenote is a natural pool", "fed by water under ground", "clear and deep"};
    return texts[(line + reader) % 3];
}

static void *read_lines(void *number)
{
    for (int i = 0; i < LINES; i++) {
        struct line line;
        snprintf(line.text, sizeof line.text, "%s", text_of((int)(intptr_t)number, i));
        cen_status status = cen_queue_push(lines, &line); /* waits while the queue is full */
        if (status != CEN_OK) die("push", status);
    }
    if (atomic_fetch_sub(&readers_left, 1) == 1) cen_queue_close(lines);
    return NULL;
}

static int count_words(const char *text)
{
    int words = 0;
    for (const char *at = text; *at; at += strspn(at, " ")) {
        words++;
        at += strcspn(at, " ");
    }
    return words;
}

/* The expected result, counted without a queue. */
static long words_written(void)
{
    long words = 0;
    for (int reader = 0; reader < READERS; reader++)
        for (int line = 0; line < LINES; line++) words += count_words(text_of(reader, line));
    return words;
}

static void *count(void *number)
{
    struct line line;
    while (cen_queue_pop(lines, &line) == CEN_OK) { /* CLOSED once it is closed and empty */
        struct result result = {(int)(intptr_t)number, count_words(line.text)};
        cen_status status = cen_queue_push(results, &result);
        if (status != CEN_OK) die("push", status);
    }
    if (atomic_fetch_sub(&counters_left, 1) == 1) cen_queue_close(results);
    return NULL;
}

static cen_queue *make(cen_queue_options options)
{
    cen_queue *queue;
    cen_error error;
    if (cen_queue_new(&options, &queue, &error) != CEN_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    return queue;
}

/* Take results until there are no more, and print their number every 20 ms. */
static long add_up(long words_by[COUNTERS])
{
    cen_queue *tick;
    cen_status status = cen_queue_tick(20 * 1000 * 1000, &tick, NULL);
    if (status != CEN_OK) die("tick", status);
    struct result result;
    int64_t moment;
    long taken = 0;
    for (;;) {
        cen_case cases[] = {cen_case_pop(results, &result), cen_case_pop(tick, &moment)};
        size_t which;
        status = cen_select(cases, 2, cen_in_s(30), &which);
        if (status == CEN_CLOSED) break;
        if (status != CEN_OK) die("select", status);
        if (which == 1) {
            printf("  ... %6ld results taken; %4zu lines and %4zu results are waiting\n", taken,
                   cen_queue_length(lines), cen_queue_length(results));
            continue;
        }
        words_by[result.counter] += result.words;
        taken++;
    }
    cen_queue_free(tick);
    return taken;
}

int main(void)
{
    lines = make(CEN_QUEUE_OPTIONS(.name = "lines", .element_size = sizeof(struct line), .capacity = 256));
    results =
        make(CEN_QUEUE_OPTIONS(.name = "results", .element_size = sizeof(struct result), .kind = CEN_QUEUE_UNBOUNDED));
    printf("%d threads write %d lines each into a queue with room for %zu;\n", READERS, LINES,
           cen_queue_capacity(lines));
    printf("%d threads count the words of each line and pass the counts on;\n", COUNTERS);
    printf("the main thread adds them up and prints the progress every 20 ms.\n\n");

    int64_t start = cen_clock();
    pthread_t readers[READERS], counters[COUNTERS];
    for (int i = 0; i < READERS; i++) pthread_create(&readers[i], NULL, read_lines, (void *)(intptr_t)i);
    for (int i = 0; i < COUNTERS; i++) pthread_create(&counters[i], NULL, count, (void *)(intptr_t)i);
    long words_by[COUNTERS] = {0};
    long taken = add_up(words_by);
    for (int i = 0; i < READERS; i++) pthread_join(readers[i], NULL);
    for (int i = 0; i < COUNTERS; i++) pthread_join(counters[i], NULL);

    long words = 0;
    for (int i = 0; i < COUNTERS; i++) words += words_by[i];
    printf("\n%ld lines with %ld words went through two queues in %.1f ms, each exactly once.\n", taken, words,
           (double)(cen_clock() - start) / 1e6);
    for (int i = 0; i < COUNTERS; i++) printf("  counter %d had %ld words\n", i, words_by[i]);
    bool right = taken == (long)READERS * LINES && words == words_written();
    cen_queue_free(lines);
    cen_queue_free(results);
    if (!right) fprintf(stderr, "the results are wrong\n");
    return right ? 0 : 1;
}
