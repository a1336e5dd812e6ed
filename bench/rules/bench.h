/* SPDX-License-Identifier: MIT */
/*
 * What every C and C++ program of the benchmarks shares: the clock, giving up,
 * arguments, and workers that start together.
 *
 * The rules of a measurement are elsewhere: transfer.h for queues, lend.h for
 * pools. The Rust, Go and Java contestants follow them in their own words.
 */
#ifndef BENCH_RULES_BENCH_H
#define BENCH_RULES_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Nanoseconds on the monotonic clock. */
int64_t bench_now(void);

/* Nanoseconds of processor time that the calling thread has used. */
int64_t bench_cpu(void);

/* Ends the program with a sentence on stderr. */
void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* The whole number that `text` is, or the end of the program. */
uint64_t bench_number(const char *text, uint64_t least, uint64_t most);

/* Zeroed memory on cache lines of its own, or the end of the program. */
void *bench_zeroed(size_t count, size_t size);

/* Runs body(worker) for each of `count` workers of `size` bytes, in a thread
 * each, and returns when all have ended. If `meanwhile` is not NULL the caller
 * lines up with them and then runs it. */
void bench_together(unsigned count, void *workers, size_t size, void (*body)(void *worker), void (*meanwhile)(void));

/* In such a worker: waits until all have come here. */
void bench_line_up(void);

void bench_sleep(int64_t ns);

/* The calling thread stays on the processor of that number, of those it may use.
 * Waker and sleeper need one each: left to the scheduler they sometimes share
 * one, where a wake-up is a mere switch and several times quicker. */
void bench_pin(unsigned number);

/* Reads its way through a memory larger than the caches, so that what is
 * measured next finds them alike, however much it works on. */
void bench_empty_caches(void);

/* 0 to count - 1 in random order; the same for the same noise. */
void bench_shuffle(unsigned *order, unsigned count, uint64_t *noise);

/* Both sort `values`, of which there must be one at least. The middle is the
 * mean without the tenth at either end: for times so short that the clock's
 * steps show in a median. */
int64_t bench_median(int64_t *values, size_t count);
double bench_middle(int64_t *values, size_t count);

#ifdef __cplusplus
}
#endif
#endif
